//! Flows with a promise, and how their promises stand.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Delay, Duration, Instant};
use wire::openflow::DatapathId;
use wire::openflow::taktos::SequenceEncoding;

use crate::place::{LinkEnds, Place, PortId};

/// A flow that was admitted; never given twice in the life of a network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(inline, with = "u32")]
pub struct FlowId(pub u32);

/// A flow in a list. What it requires is of type `R`: what the controller goes by, or what
/// a document says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FlowDocument")]
pub struct FlowSummary<R> {
    /// What was accepted.
    #[serde(flatten)]
    pub accepted: Accepted,
    /// Which way it takes.
    pub travels: Travels,
    /// How its promise stands.
    #[serde(flatten)]
    pub promise: Promise,
    /// Whether every switch that carries it has confirmed its entries.
    pub installed: bool,
    /// Who claims to be an end of it, and is not where that is; at most
    /// [`MAX_DISPUTES_SHOWN`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disputes: Vec<Dispute>,
    /// What it requires.
    pub requirement: R,
}

/// How long frames of a flow have stayed at each hop of the way that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FlowHopsDocument")]
pub struct FlowHops {
    /// Its number.
    pub id: FlowId,
    /// Its name.
    pub name: String,
    /// What was promised; nothing for best effort.
    #[serde(rename = "guarantee_ns", default, with = "units::whole_ns")]
    #[schemars(with = "Option<u64>")]
    pub guarantee: Option<Delay>,
    /// The longest that a frame may have been on its way: the first link, the longest stay at
    /// each hop, and the propagation between, for the receiver that is worst off. Nothing if
    /// a hop has not said anything.
    #[serde(rename = "observed_ns", default)]
    #[schemars(with = "Option<u64>")]
    pub observed: Option<Duration>,
    /// The hops, each behind the one before it.
    pub hops: Vec<HopSeen>,
}

/// A hop: a switch, and a port by which frames leave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HopDocument")]
pub struct HopSeen {
    /// The switch and the port.
    pub at: Place,
    /// The queue of the port.
    pub queue: u8,
    /// What the switch said last; nothing if it does not watch, or was not asked yet.
    pub seen: Option<HopCount>,
}

/// How long frames of a flow stayed at a hop, from the arrival of the last bit to the departure
/// behind the queue, by the clock of the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HopCountDocument")]
pub struct HopCount {
    /// How many.
    pub frames: u64,
    /// The longest stay.
    #[serde(rename = "longest_ns")]
    #[schemars(with = "u64")]
    pub longest: Duration,
    /// How long they may stay.
    #[serde(rename = "budget_ns", default)]
    #[schemars(with = "Option<u64>")]
    pub budget: Option<Duration>,
    /// How many stayed longer.
    pub above: u64,
    /// Frames more whose stay is not known.
    pub untimed: u64,
}

/// The most disputes that are shown at one flow.
pub const MAX_DISPUTES_SHOWN: usize = 16;

/// Frames with the address of an end of a flow, at a port where that is not: a forged
/// address, a loop, or a host that is somewhere else than somebody has said. They go nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DisputeDocument")]
pub struct Dispute {
    /// The name of the host.
    pub host: String,
    /// The port where they come in: the switch's datapath id in hexadecimal, and its number.
    pub at: PortId,
    /// How many came to the controller; a minute after the last, the dispute is over.
    pub frames: u64,
    /// When the first of them came.
    #[serde(skip)]
    pub since: Instant,
}

/// A flow that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Admitted")]
pub struct Accepted {
    /// Its number.
    pub id: FlowId,
    /// Its name.
    pub name: String,
    /// The longest time from the first bit on the wire at the source to the last
    /// bit at any destination, on every path that it may take, rounded up; nothing
    /// for a best-effort flow.
    #[serde(rename = "guarantee_ns", default, with = "units::whole_ns")]
    #[schemars(with = "Option<u64>")]
    pub guarantee: Option<Delay>,
    /// What it uses while nothing is broken.
    #[serde(with = "shared")]
    #[schemars(with = "Route")]
    pub route: Arc<Route>,
    /// What it uses when a link of the route breaks.
    #[serde(with = "shared")]
    #[schemars(with = "Vec<Alternative>")]
    pub alternatives: Arc<Vec<Alternative>>,
    /// Which failures the promised interruption covers; nothing if none was promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover: Option<Cover>,
    /// Whether the switch that it enters first drops what exceeds its contract. Where that is
    /// not so, the promises of others trust its source.
    #[serde(default)]
    pub enforced: bool,
}

/// What many share, written as what it is.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(
        shared: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        T::serialize(shared, serializer)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(from).map(Arc::new)
    }
}

/// The switches and links of a path or a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RouteDocument")]
pub struct Route {
    /// The names of the switches, from the source on.
    pub switches: Vec<String>,
    /// The ids of the links between them.
    pub links: Vec<LinkEnds>,
}

/// What a flow uses when a link breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AlternativeDocument")]
pub struct Alternative {
    /// The id of the link that is broken.
    pub without: LinkEnds,
    /// The way around it.
    pub route: Route,
}

/// What happens to a flow when a link on its way breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
#[schemars(rename = "ProtectionDocument")]
pub enum Protection {
    /// It waits until the link is back.
    #[default]
    None,
    /// It moves to an alternative that was computed, reserved and encoded beforehand
    /// (S0-3).
    Restore {
        /// The longest interruption that is no broken promise.
        #[serde(rename = "interruption_ns")]
        #[schemars(with = "u64")]
        interruption: Duration,
        /// Which failures it has to hold for; it may hold for more.
        #[serde(default)]
        covers: Cover,
    },
    /// The switch at which its way breaks sends its frames on by another port, without
    /// being told: all alternatives are in its tables beforehand (S0-4).
    FastFailover {
        /// The longest interruption that is no broken promise.
        #[serde(rename = "interruption_ns")]
        #[schemars(with = "u64")]
        interruption: Duration,
        /// Which failures it has to hold for; it may hold for more.
        #[serde(default)]
        covers: Cover,
        /// The longest time between two of its frames, if it is sent all the time: with it
        /// a link that is silent in one direction is noticed after three of them.
        #[serde(
            rename = "heart_beat_ns",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        #[schemars(with = "Option<u64>")]
        heart_beat: Option<Duration>,
    },
    /// Nothing: two ways without a common link carry it at the same time, and the last
    /// switch hands each frame on once (IEEE 802.1CB, S0-4).
    Seamless {
        /// Where its frames have their numbers: `r-tag`, or `prp` (IEC 62439-3).
        #[serde(default)]
        #[schemars(with = "String")]
        encoding: SequenceEncoding,
        /// Whether frames reach the receiver in the order in which they were sent (RFC 9550).
        #[serde(default, skip_serializing_if = "FrameOrder::is_any")]
        order: FrameOrder,
    },
}

/// In which order frames reach a receiver.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "FrameOrderDocument")]
pub enum FrameOrder {
    /// As they come.
    #[default]
    Any,
    /// As they were sent: those that are ahead of missing ones are held back.
    Kept,
}

impl FrameOrder {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    const fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }
}

impl Protection {
    /// Returns the longest interruption that is no broken promise, and which failures it
    /// has to hold for; nothing if the flow waits, or is never interrupted.
    #[must_use]
    pub const fn interruption(self) -> Option<(Duration, Cover)> {
        match self {
            Self::None | Self::Seamless { .. } => None,
            Self::Restore {
                interruption,
                covers,
            }
            | Self::FastFailover {
                interruption,
                covers,
                ..
            } => Some((interruption, covers)),
        }
    }

    /// Returns its name, as programs and scenarios spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Restore { .. } => "restore",
            Self::FastFailover { .. } => "fast-failover",
            Self::Seamless { .. } => "seamless",
        }
    }
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProtocolDocument")]
pub enum TransportProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// Which failures the promise of an interruption covers. The greater covers more.
///
/// A switch says at once that a port has lost its carrier. A fault that is silent (a
/// cable that carries nothing while both ends see a carrier, a switch whose process has
/// died) is found by probes and echoes, and that takes as long as their timers say.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CoverDocument")]
pub enum Cover {
    /// Links whose ends lose the carrier.
    #[default]
    CarrierLoss,
    /// As well a link that brings nothing in one direction, which nobody reports.
    OneWay,
    /// All silent faults of a link as well.
    Any,
}

impl Cover {
    /// Returns its name, as programs and scenarios spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CarrierLoss => "carrier-loss",
            Self::OneWay => "one-way",
            Self::Any => "any",
        }
    }
}

impl fmt::Display for Cover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CarrierLoss => "carrier loss only",
            Self::OneWay => "carrier loss and silence in one direction",
            Self::Any => "carrier loss and silent faults",
        })
    }
}

/// Which way a flow takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "way")]
#[schemars(rename = "TravelsDocument")]
pub enum Travels {
    /// The one it was admitted on.
    Base,
    /// The alternative for the failure of a link.
    Alternative {
        /// The id of that link.
        without: LinkEnds,
    },
    /// A way that was found after failures for which nothing was prepared.
    Detour,
    /// None: it waits for a link to come back.
    Nowhere,
}

impl fmt::Display for Travels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("the usual way"),
            Self::Alternative { without } => write!(f, "the way around {without}"),
            Self::Detour => f.write_str("a detour"),
            Self::Nowhere => f.write_str("nowhere"),
        }
    }
}

/// How a promise stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromiseDocument")]
pub struct Promise {
    /// Whether it holds.
    #[serde(rename = "promise")]
    pub state: PromiseState,
    /// Since when that is so, or was last known to be otherwise, in nanoseconds since the
    /// beginning of 1970.
    #[serde(rename = "promise_since_ns", default)]
    #[schemars(with = "u64")]
    pub since: Instant,
    /// What says so; nothing if there is none, or it holds and nothing is broken.
    #[serde(
        rename = "promise_cause",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cause: Option<Cause>,
}

/// Whether a promise holds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PromiseState {
    /// The flow is best effort: there is none.
    None,
    /// Everything that it rests on was confirmed within the time in which a failure is
    /// noticed: sessions, probes, entries, the carriers of its ends.
    Holds,
    /// What it rests on cannot be seen now; frames may arrive as before.
    Unknown,
    /// Something that it rests on is not as it should be, and is being mended.
    Disturbed,
    /// More has failed than it covers.
    NotCovered,
    /// The network does not do what was promised, though nothing has failed that the
    /// promise does not cover.
    Broken,
}

impl PromiseState {
    /// Returns its name, as programs spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Holds => "holds",
            Self::Unknown => "unknown",
            Self::Disturbed => "disturbed",
            Self::NotCovered => "not-covered",
            Self::Broken => "broken",
        }
    }
}

impl fmt::Display for PromiseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "best effort",
            Self::NotCovered => "not covered",
            Self::Holds | Self::Unknown | Self::Disturbed | Self::Broken => self.name(),
        })
    }
}

/// Why a promise is not said to hold, or holds by one way alone: in documents, in words. Switches are told by the
/// names that the controller calls them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub enum Cause {
    /// A switch on its way is not heard: its session is gone or silent.
    NotHeard {
        /// Its datapath id.
        datapath: DatapathId,
        /// What it is called.
        switch: String,
    },
    /// Another controller is the master of a switch on its way.
    OtherMaster {
        /// What the switch is called.
        switch: String,
    },
    /// A switch on its way is connected again, and what it has was not compared yet.
    NotCompared {
        /// What it is called.
        switch: String,
    },
    /// A switch on its way has not confirmed its entry, or has lost it.
    NotConfirmed {
        /// What it is called.
        switch: String,
    },
    /// Frames with the address of one of its hosts come in where that is not.
    Disputed {
        /// The name of the host.
        host: String,
        /// Where they come in.
        at: PortId,
    },
    /// Its frames are being led around a link that is broken.
    Moving,
    /// A link on its way is not known to be up.
    LinkNotUp(LinkEnds),
    /// A link on one of its two ways is broken, and the other way carries it: it holds, and a
    /// second failure would end that.
    OneWayLeft(LinkEnds),
    /// The port of one of its hosts is not there, or has no carrier.
    NoCarrier(PortId),
    /// So many links that carry promises are broken at once, and a promise covers one.
    TooMuchBroken(usize),
    /// Nothing that was prepared for it is whole.
    NothingPrepared,
    /// A switch refuses its entry, or somebody else has one in its place.
    Refused,
    /// What is known of the network or of its hosts has changed, and nothing is reserved
    /// for it any more.
    NotReserved,
    /// A switch on its way is slower than its profile explains.
    ProfileContradicted {
        /// What it is called.
        switch: String,
    },
    /// Frames stayed at a switch on its way for longer than its profile explains, and it is
    /// not known whether the switch or what came to it is why.
    StayUnexplained {
        /// What it is called.
        switch: String,
    },
    /// A switch is slower than was taken when it was promised: it may miss its deadline by
    /// this.
    TooLate(Duration),
    /// What a document says.
    Said(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHeard { switch, .. } => write!(f, "switch {switch} is not heard"),
            Self::OtherMaster { switch } => {
                write!(f, "another controller is master of switch {switch}")
            }
            Self::NotCompared { switch } => {
                write!(f, "what switch {switch} has was not compared yet")
            }
            Self::NotConfirmed { switch } => {
                write!(f, "switch {switch} has not confirmed its entry")
            }
            Self::Disputed { host, at } => write!(f, "somebody is {host} at port {at}, too"),
            Self::Moving => f.write_str("its frames are being led around what is broken"),
            Self::LinkNotUp(link) => write!(f, "link {link} is not known to be up"),
            Self::OneWayLeft(link) => {
                write!(f, "link {link} on one of its two ways is broken")
            }
            Self::NoCarrier(port) => write!(f, "port {port} of one of its hosts has no carrier"),
            Self::TooMuchBroken(links) => {
                write!(f, "{links} links are broken at once, a promise covers one")
            }
            Self::NothingPrepared => f.write_str("nothing that was prepared for it is whole"),
            Self::Refused => f.write_str("a switch does not take its entry"),
            Self::NotReserved => f.write_str("nothing is reserved for it any more"),
            Self::ProfileContradicted { switch } => {
                write!(f, "switch {switch} is slower than its profile says")
            }
            Self::StayUnexplained { switch } => write!(
                f,
                "frames stayed at switch {switch} for longer than its profile explains"
            ),
            Self::TooLate(by) => write!(f, "frames may be {by} later than its deadline"),
            Self::Said(words) => f.write_str(words),
        }
    }
}

impl From<String> for Cause {
    fn from(words: String) -> Self {
        Self::Said(words)
    }
}

impl From<Cause> for String {
    fn from(cause: Cause) -> Self {
        cause.to_string()
    }
}
