//! What a flow says of levels of criticality (S2-1).
//!
//! A flow with a contract is watched: its first switch looks at the size of its messages
//! and the time between them, and one that exceeds what its present level grants demands
//! the level that does. So its traffic has to have room for what the contract allows;
//! at a level that says no traffic, it follows from the contract.
//!
//! Its frames are counted as those of messages, all of which but the last are as large as
//! its largest frame, or as an untagged frame may be; and in what rate and burst have
//! beside that, as many of the smallest as fit.

use std::collections::BTreeMap;
use std::fmt;

use calculus::admission::{FrameBucket, MAX_BURST, MAX_DELAY, MAX_RATE};
use calculus::min_plus::TokenBucket;
use controller::modes::{ModalFlow, Treatment};
use controller::northbound::Traffic;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{DataSize, Delay, Duration};
use wire::mode_signal::LEVELS;
use wire::openflow::taktos::MonitorContract;

use super::Unusable;
use super::requirement::{TrafficDocument, check_name, deadline, within};

/// The most critical that a flow can be.
const MOST_CRITICAL: u8 = 7;
/// The shortest period: no rate of a message is beyond what can be computed with.
const SHORTEST_PERIOD: Duration = Duration::from_us(1);
/// What a level at which a flow gets nothing is called.
const DROP: &str = "drop";

/// What a flow gets at levels of criticality.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModesDocument {
    /// How critical it is, 7 the most: at a level of which it says nothing it is served
    /// if that is enough.
    pub criticality: u8,
    /// How much later than its time a message may leave the host.
    pub jitter_ns: u64,
    /// What it may send at the lowest level; with one, it is watched.
    pub contract: Option<ContractDocument>,
    /// What it gets at levels, by their names.
    pub levels: BTreeMap<String, LevelDocument>,
}

/// What a flow of messages may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractDocument {
    /// The least time between two messages.
    pub period_ns: u64,
    /// The most of a message, headers not counted.
    pub size_bytes: u32,
}

/// What a flow gets at a level: `"drop"`, or how it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum LevelDocument {
    /// Its frames are dropped.
    #[schemars(with = "DropWord")]
    Drop,
    /// It is served.
    Serve(ServedDocument),
}

/// The word for a level at which frames are dropped.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "it stands for the word in the schema")]
enum DropWord {
    Drop,
}

/// How a flow is served at a level; what is left out is as at the level below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServedDocument {
    /// The queue in which it travels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// How late a frame may be; for flows that have a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// What messages it may send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<ContractDocument>,
    /// The rate that it never exceeds for long; if left out, what the contract needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// The amount by which it may exceed the rate at any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u64>,
    /// Its largest frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_frame_bytes: Option<u64>,
    /// Its smallest frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_frame_bytes: Option<u64>,
}

impl ModesDocument {
    /// Returns what is meant, for a flow that never exceeds `traffic` at the lowest
    /// level.
    ///
    /// # Errors
    ///
    /// If a number is beyond what can be computed with, or the traffic has no room for
    /// what the contract allows.
    pub fn flow(self, traffic: Traffic, has_deadline: bool) -> Result<ModalFlow, Unusable> {
        let most = u64::from(MOST_CRITICAL);
        within("modes.criticality", u64::from(self.criticality), 0, most)?;
        let longest = MAX_DELAY.round_up().as_ns();
        within("modes.jitter_ns", self.jitter_ns, 0, longest)?;
        within(
            "modes.levels",
            self.levels.len() as u64,
            0,
            u64::from(LEVELS),
        )?;
        let jitter = Duration::from_ns(self.jitter_ns);
        let place = "modes.contract";
        let contract = self.contract.map(|it| it.read(place)).transpose()?;
        let base = Base {
            traffic,
            jitter,
            contract,
            has_deadline,
        };
        if let Some(contract) = contract {
            has_room(place, traffic, base.needed(place, contract, traffic)?)?;
        }
        let mut levels = BTreeMap::new();
        for (level, document) in self.levels {
            let place = format!("modes.levels.{level}");
            check_name(&place, &level)?;
            levels.insert(level, document.treatment(&place, base)?);
        }
        Ok(ModalFlow {
            criticality: self.criticality,
            jitter,
            contract,
            levels,
        })
    }
}

impl From<&ModalFlow> for ModesDocument {
    fn from(flow: &ModalFlow) -> Self {
        let levels = flow.levels.iter();
        Self {
            criticality: flow.criticality,
            jitter_ns: flow.jitter.as_ns(),
            contract: flow.contract.map(Into::into),
            levels: levels
                .map(|(level, treatment)| (level.clone(), treatment.into()))
                .collect(),
        }
    }
}

/// What holds of a flow at its lowest level.
#[derive(Clone, Copy)]
struct Base {
    traffic: Traffic,
    jitter: Duration,
    contract: Option<MonitorContract>,
    has_deadline: bool,
}

impl Base {
    /// Returns what messages of a contract need on the wire, cut into frames of the largest
    /// size that `traffic` has.
    fn needed(
        &self,
        place: &str,
        contract: MonitorContract,
        traffic: Traffic,
    ) -> Result<Traffic, Unusable> {
        let messages = scenario::Message {
            size: DataSize::from_bytes(u64::from(contract.size_bytes)),
            period: contract.period,
            jitter: Duration::ZERO,
        };
        let needs = messages.in_frames_up_to(traffic.largest_frame);
        if needs.rate > MAX_RATE {
            let reason = format!("it needs {}, and {MAX_RATE} is the most", needs.rate);
            return Err(Unusable::new(place, reason));
        }
        let jitter = Delay::from(self.jitter);
        let burst = (needs.burst + needs.rate.most_in(jitter)).bytes_up();
        let burst = DataSize::from_bytes(burst);
        if burst > MAX_BURST {
            let reason = format!("it needs a burst of {burst}, and {MAX_BURST} is the most");
            return Err(Unusable::new(place, reason));
        }
        let period = Delay::from(contract.period);
        let frames = needs.frames.map(|it| it.of_message);
        Ok(Traffic {
            rate: needs.rate,
            burst,
            largest_frame: needs.largest_frame,
            smallest_frame: needs.smallest_frame,
            frames: frames.map(|each| FrameBucket::of_messages(each, period, jitter)),
        })
    }

    /// Returns the same with its frames counted, if the flow is one of messages.
    fn counted(
        &self,
        place: &str,
        contract: Option<MonitorContract>,
        traffic: Traffic,
    ) -> Result<Traffic, Unusable> {
        let contract = contract.or(self.contract);
        let needs = contract
            .map(|it| self.needed(place, it, traffic))
            .transpose()?;
        Ok(needs.map_or(traffic, |needs| counted(traffic, needs)))
    }
}

impl LevelDocument {
    fn treatment(self, place: &str, base: Base) -> Result<Treatment, Unusable> {
        let served = match self {
            Self::Drop => return Ok(Treatment::Drop),
            Self::Serve(served) => served,
        };
        if let Some(class) = served.class {
            within(&format!("{place}.class"), u64::from(class), 0, 7)?;
        }
        if served.deadline_ns.is_some() && !base.has_deadline {
            let reason = "the flow has none at the lowest level: say `deadline_ns` there, too";
            return Err(Unusable::new(format!("{place}.deadline_ns"), reason));
        }
        let within_level = |error: Unusable| {
            let field = format!("{place}.{}", error.field);
            Unusable { field, ..error }
        };
        let deadline = served.deadline_ns.map(deadline).transpose();
        let of_contract = format!("{place}.contract");
        let contract = served
            .contract
            .map(|it| it.read(&of_contract))
            .transpose()?;
        let said = served.traffic(base.traffic).transpose();
        let said = said.map_err(within_level)?;
        let needs = contract.map(|it| base.needed(&of_contract, it, said.unwrap_or(base.traffic)));
        let needs = needs.transpose()?;
        if let (Some(said), Some(needs)) = (said, needs) {
            has_room(&of_contract, said, needs)?;
        }
        let traffic = said.or_else(|| needs.map(|needs| greater(base.traffic, needs)));
        let traffic = traffic.map(|it| base.counted(&of_contract, contract, it));
        Ok(Treatment::Serve {
            class: served.class,
            traffic: traffic.transpose()?,
            deadline: deadline.map_err(within_level)?,
            contract,
        })
    }
}

impl ServedDocument {
    /// Returns what it never exceeds, if anything of that is said; the rest is as at the
    /// lowest level.
    fn traffic(self, base: Traffic) -> Option<Result<Traffic, Unusable>> {
        let sizes = [
            self.burst_bytes,
            self.largest_frame_bytes,
            self.smallest_frame_bytes,
        ];
        let is_said = self.rate_bps.is_some() || sizes.iter().any(Option::is_some);
        let or = |said: Option<u64>, base: DataSize| Some(said.unwrap_or(base.bytes_up()));
        is_said.then(|| {
            let document = TrafficDocument {
                rate_bps: self.rate_bps.unwrap_or(base.rate.as_bps()),
                burst_bytes: or(self.burst_bytes, base.burst),
                largest_frame_bytes: or(self.largest_frame_bytes, base.largest_frame),
                smallest_frame_bytes: or(self.smallest_frame_bytes, base.smallest_frame),
            };
            document.traffic()
        })
    }
}

impl From<&Treatment> for LevelDocument {
    fn from(treatment: &Treatment) -> Self {
        match treatment {
            Treatment::Drop => Self::Drop,
            Treatment::Serve {
                class,
                traffic,
                deadline,
                contract,
            } => Self::Serve(ServedDocument {
                class: *class,
                deadline_ns: deadline.map(|it| it.round_up().as_ns()),
                contract: contract.map(Into::into),
                rate_bps: traffic.map(|it| it.rate.as_bps()),
                burst_bytes: traffic.map(|it| it.burst.bytes_up()),
                largest_frame_bytes: traffic.map(|it| it.largest_frame.bytes_up()),
                smallest_frame_bytes: traffic.map(|it| it.smallest_frame.bytes_up()),
            }),
        }
    }
}

impl ContractDocument {
    fn read(self, place: &str) -> Result<MonitorContract, Unusable> {
        let longest = MAX_DELAY.round_up().as_ns();
        let period = format!("{place}.period_ns");
        within(&period, self.period_ns, SHORTEST_PERIOD.as_ns(), longest)?;
        let size = u64::from(self.size_bytes);
        within(&format!("{place}.size_bytes"), size, 1, u64::from(u32::MAX))?;
        Ok(MonitorContract {
            period: Duration::from_ns(self.period_ns),
            size_bytes: self.size_bytes,
        })
    }
}

impl From<MonitorContract> for ContractDocument {
    fn from(contract: MonitorContract) -> Self {
        Self {
            period_ns: contract.period.as_ns(),
            size_bytes: contract.size_bytes,
        }
    }
}

/// Returns what a flow never exceeds at its lowest level, with its frames counted.
///
/// # Errors
///
/// If its messages need more than can be computed with.
pub fn counted_at_lowest(traffic: Traffic, flow: &ModalFlow) -> Result<Traffic, Unusable> {
    let base = Base {
        traffic,
        jitter: flow.jitter,
        contract: flow.contract,
        has_deadline: true,
    };
    base.counted("modes.contract", None, traffic)
}

/// Counts the frames of a flow of messages, if it has room for what these need.
fn counted(traffic: Traffic, needs: Traffic) -> Traffic {
    let bucket = |it: Traffic| TokenBucket::new(it.rate, it.burst);
    let in_smallest = |it: TokenBucket| FrameBucket::of(it, traffic.smallest_frame);
    let beside = || bucket(traffic) - bucket(needs);
    let messages = needs.frames.filter(|_| fits(traffic, needs));
    let frames = messages.map(|messages| messages + in_smallest(beside()));
    Traffic {
        frames: frames.map(|frames| frames.least(in_smallest(bucket(traffic)))),
        ..traffic
    }
}

/// Tells whether messages of a contract fit into what the flow never exceeds.
fn fits(traffic: Traffic, needs: Traffic) -> bool {
    traffic.rate >= needs.rate && traffic.burst >= needs.burst
}

/// Checks that messages of a contract fit into what the flow never exceeds.
fn has_room(place: &str, traffic: Traffic, needs: Traffic) -> Result<(), Unusable> {
    if fits(traffic, needs) {
        return Ok(());
    }
    let (rate, burst) = (needs.rate.as_bps(), needs.burst.bytes_up());
    let reason = format!(
        "its messages do not fit into rate and burst: say at least `rate_bps` {rate} and \
         `burst_bytes` {burst}"
    );
    Err(Unusable::new(place, reason))
}

/// Returns what has room for both.
fn greater(one: Traffic, other: Traffic) -> Traffic {
    Traffic {
        rate: one.rate.max(other.rate),
        burst: one.burst.max(other.burst),
        largest_frame: one.largest_frame.max(other.largest_frame),
        smallest_frame: one.smallest_frame.min(other.smallest_frame),
        frames: None,
    }
}

impl Serialize for LevelDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Drop => serializer.serialize_str(DROP),
            Self::Serve(served) => served.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LevelDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrServed)
    }
}

/// Reads a word or an object, and says which are known.
struct WordOrServed;

impl<'de> Visitor<'de> for WordOrServed {
    type Value = LevelDocument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the word `drop`, or an object that says how the flow is served")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<LevelDocument, E> {
        match word {
            DROP => Ok(LevelDocument::Drop),
            other => Err(E::unknown_variant(other, &[DROP])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LevelDocument, A::Error> {
        let served = ServedDocument::deserialize(MapAccessDeserializer::new(map))?;
        Ok(LevelDocument::Serve(served))
    }
}

#[cfg(test)]
mod tests;
