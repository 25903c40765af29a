//! Reads what a flow sends: which keys its kind has, and what they come to.

use std::sync::Arc;

use units::{BitRate, DataSize, Delay, Duration};

use crate::contract::{LARGEST_FRAME, LARGEST_UNTAGGED_FRAME, SMALLEST_FRAME};
use crate::flow::{
    DEFAULT_CHANGES, DEFAULT_JITTER, DEFAULT_MAX_TIME, DEFAULT_MIN_TIME, DEFAULT_VALUE,
    LARGEST_VALUE, LONGEST_JITTER, SAMPLE_PERIODS, UDP_HEADERS,
};
use crate::limits::MOST_CHANGES;
use crate::mistake::Mistake;
use crate::problem::{Problems, TextSpan};
use crate::record::LayeredTable;
use crate::shape::{ValueShape, Zero, list};
use crate::{
    BestEffort, Goose, Message, Mms, Recording, SampledValues, StateChanges, TokenBucket, Trace,
    Traffic, wire_size,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrafficKind {
    SampledValues,
    Goose,
    Udp,
    Message,
    Trace,
    Mms,
    BestEffort,
}

/// What a kind of flow is called, what it has, and how it travels.
struct KindFacts {
    word: &'static str,
    class: &'static str,
    largest_frame: DataSize,
    /// The keys of its traffic.
    keys: &'static [&'static str],
}

impl TrafficKind {
    /// Returns the kind of the record, if it states one.
    pub(super) fn of(record: &LayeredTable<'_>) -> Option<Self> {
        let word = record.choice("kind")?;
        let kinds = [
            Self::SampledValues,
            Self::Goose,
            Self::Udp,
            Self::Message,
            Self::Trace,
            Self::Mms,
            Self::BestEffort,
        ];
        kinds.into_iter().find(|kind| kind.facts().word == word)
    }

    /// Returns the class of flows that state none.
    pub(super) fn default_class(self) -> &'static str {
        self.facts().class
    }

    /// Returns whether its frames may go to several receivers.
    pub(super) fn has_groups(self) -> bool {
        match self {
            Self::SampledValues | Self::Goose | Self::Udp | Self::Trace => true,
            Self::Message | Self::Mms | Self::BestEffort => false,
        }
    }

    fn facts(self) -> KindFacts {
        match self {
            Self::SampledValues => KindFacts {
                word: "sampled-values",
                class: "sampled-values",
                largest_frame: LARGEST_FRAME,
                keys: &["frame", "period", "jitter"],
            },
            Self::Goose => KindFacts {
                word: "goose",
                class: "protection",
                largest_frame: LARGEST_FRAME,
                keys: &[
                    "frame",
                    "jitter",
                    "min_time",
                    "max_time",
                    "min_spacing",
                    "changes",
                ],
            },
            Self::Udp => KindFacts {
                word: "udp",
                class: "control",
                largest_frame: LARGEST_UNTAGGED_FRAME,
                keys: &["frame", "payload", "rate", "burst", "period", "jitter"],
            },
            Self::Message => KindFacts {
                word: "message",
                class: "control",
                largest_frame: LARGEST_UNTAGGED_FRAME,
                keys: &["size", "period", "jitter"],
            },
            Self::Trace => KindFacts {
                word: "trace",
                class: "control",
                largest_frame: LARGEST_UNTAGGED_FRAME,
                keys: &["file", "rate", "jitter"],
            },
            Self::Mms => KindFacts {
                word: "mms",
                class: "control",
                largest_frame: LARGEST_UNTAGGED_FRAME,
                keys: &["value", "period", "jitter"],
            },
            Self::BestEffort => KindFacts {
                word: "best-effort",
                class: "best-effort",
                largest_frame: LARGEST_UNTAGGED_FRAME,
                keys: &["frame", "payload", "rate"],
            },
        }
    }

    fn required(self) -> &'static [&'static str] {
        match self {
            Self::SampledValues => &["frame", "period", "deadline"],
            Self::Goose => &["frame", "deadline"],
            Self::Udp => &["deadline"],
            Self::Message => &["size", "period", "deadline"],
            Self::Trace => &["file", "deadline"],
            Self::Mms => &["period", "deadline"],
            Self::BestEffort => &[],
        }
    }

    /// Reports keys that the kind has not, and those that it needs, of a flow
    /// or of a flow set.
    pub(super) fn check_keys(self, record: &LayeredTable<'_>, problems: &mut Problems) {
        self.check_meaning(record, problems);
        for key in self.required() {
            if !record.has(key) {
                problems.report(record.place.clone(), record.missing(key));
            }
        }
        if self == Self::Udp {
            check_udp_keys(record, problems);
        }
        if record.has("frame") && record.has("payload") {
            let sentence = "`frame` and `payload` both give the size of a frame";
            contradict(record, "payload", sentence, "remove one of them", problems);
        }
    }

    /// Reports keys that the kind has not, of a flow, a flow set or a template.
    pub(super) fn check_meaning(self, record: &LayeredTable<'_>, problems: &mut Problems) {
        const TRAFFIC: [&str; 13] = [
            "frame",
            "payload",
            "size",
            "file",
            "value",
            "period",
            "rate",
            "burst",
            "jitter",
            "min_time",
            "max_time",
            "min_spacing",
            "changes",
        ];
        const PROMISE: [&str; 7] = [
            "deadline",
            "protection",
            "interruption",
            "covers",
            "encoding",
            "order",
            "excess",
        ];
        let facts = self.facts();
        let promised = self != Self::BestEffort;
        for (key, place) in record.own_keys() {
            let misplaced = match key {
                key if TRAFFIC.contains(&key) => !facts.keys.contains(&key),
                key if PROMISE.contains(&key) => !promised,
                _ => false,
            };
            if misplaced {
                let promise = PROMISE.into_iter().filter(|_| promised);
                let mistake = Mistake::KeyOfAnotherKind {
                    key: key.to_owned(),
                    kind: facts.word,
                    known: list(facts.keys.iter().copied().chain(promise)),
                };
                problems.report(place, mistake);
            }
        }
    }

    /// Returns the default size of a frame, where the kind has one.
    fn default_frame(self) -> Option<DataSize> {
        match self {
            Self::Message | Self::BestEffort => Some(LARGEST_UNTAGGED_FRAME),
            Self::SampledValues | Self::Goose | Self::Udp | Self::Trace | Self::Mms => None,
        }
    }

    /// Returns the period if the kind may have it; reports otherwise.
    pub(super) fn check_period(
        self,
        period: Duration,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Option<Duration> {
        let (least, most) = SAMPLE_PERIODS;
        if self != Self::SampledValues || (least..=most).contains(&period) {
            return Some(period);
        }
        let mistake = Mistake::OutOfRange {
            value: period.to_string(),
            least: least.to_string(),
            most: most.to_string(),
        };
        problems.report(place, mistake);
        None
    }

    /// Returns the size if a frame may have it; reports otherwise.
    pub(super) fn check_frame(
        self,
        size: DataSize,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Option<DataSize> {
        let (least, most) = (SMALLEST_FRAME, self.facts().largest_frame);
        if (least..=most).contains(&size) {
            return Some(size);
        }
        problems.report(place, Mistake::FrameSize { size, least, most });
        None
    }
}

fn check_udp_keys(record: &LayeredTable<'_>, problems: &mut Problems) {
    if !record.has("frame") && !record.has("payload") {
        problems.report(record.place.clone(), record.missing("frame"));
    }
    match (record.has("rate"), record.has("period")) {
        (true, true) => {
            let sentence = "a token bucket has a `rate`, or sends one frame a `period`, not both";
            contradict(record, "period", sentence, "remove one of them", problems);
        }
        (false, false) => {
            // A flow set knows periods only.
            let key = if record.knows("rate") {
                "rate"
            } else {
                "period"
            };
            problems.report(record.place.clone(), record.missing(key));
        }
        (false, true) if record.has("burst") => {
            let sentence = "with a `period` there is one frame at a time and no `burst`";
            contradict(
                record,
                "burst",
                sentence,
                "give a `rate` instead of `period`",
                problems,
            );
        }
        (true, false) | (false, true) => {}
    }
}

fn contradict(
    record: &LayeredTable<'_>,
    key: &str,
    sentence: &str,
    help: &str,
    problems: &mut Problems,
) {
    let (sentence, help) = (sentence.to_owned(), help.to_owned());
    let mistake = Mistake::Contradiction { sentence, help };
    problems.report(record.place_of(key), mistake);
}

/// The values of the keys of traffic, as far as they are there and right.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) frame: Option<DataSize>,
    pub(super) size: Option<DataSize>,
    pub(super) period: Option<Duration>,
    pub(super) recording: Option<Arc<Recording>>,
    value: Option<DataSize>,
    rate: Option<BitRate>,
    burst: Option<DataSize>,
    jitter: Option<Duration>,
    min_time: Duration,
    max_time: Duration,
    min_spacing: Duration,
    changes: Option<StateChanges>,
}

impl Values {
    /// Reads the values of a single flow; reports those that do not fit
    /// together.
    pub(super) fn of_flow(
        kind: TrafficKind,
        record: &LayeredTable<'_>,
        problems: &mut Problems,
    ) -> Self {
        let payload = record.size("payload").map(|payload| payload + UDP_HEADERS);
        let key = if record.has("frame") {
            "frame"
        } else {
            "payload"
        };
        let frame = record.size("frame").or(payload);
        let frame = frame.and_then(|frame| {
            let place = record.place_of(key);
            kind.check_frame(frame, place, problems)
        });
        let values = Self {
            frame: match record.has(key) {
                true => frame,
                false => kind.default_frame(),
            },
            size: record.size("size"),
            period: record
                .time("period")
                .and_then(|period| kind.check_period(period, record.place_of("period"), problems)),
            rate: record.rate("rate"),
            burst: record.size("burst"),
            ..Self::shared(kind, record, problems)
        };
        values.check_burst(kind, record, problems);
        values
    }

    /// Reads the values that flows and flow sets have alike.
    pub(super) fn shared(
        kind: TrafficKind,
        record: &LayeredTable<'_>,
        problems: &mut Problems,
    ) -> Self {
        let min_time = record.time("min_time").unwrap_or(DEFAULT_MIN_TIME);
        let max_time = record
            .time("max_time")
            .unwrap_or(DEFAULT_MAX_TIME.max(min_time));
        if min_time > max_time {
            let sentence = format!("`min_time` {min_time} is longer than `max_time` {max_time}");
            let help = "repetitions begin at `min_time` apart and end at `max_time`";
            contradict(record, "max_time", &sentence, help, problems);
        }
        let jitter = record.time("jitter");
        if let Some(jitter) = jitter.filter(|jitter| *jitter > LONGEST_JITTER) {
            let mistake = Mistake::OutOfRange {
                value: jitter.to_string(),
                least: Duration::ZERO.to_string(),
                most: LONGEST_JITTER.to_string(),
            };
            problems.report(record.place_of("jitter"), mistake);
        }
        let spacing = spacing(record).unwrap_or(min_time);
        let changes = match kind {
            TrafficKind::Goose => changes(record, spacing, problems),
            TrafficKind::SampledValues
            | TrafficKind::Udp
            | TrafficKind::Message
            | TrafficKind::Trace
            | TrafficKind::Mms
            | TrafficKind::BestEffort => None,
        };
        Self {
            value: value(record, problems),
            jitter: jitter.filter(|jitter| *jitter <= LONGEST_JITTER),
            min_time,
            max_time: max_time.max(min_time),
            min_spacing: spacing,
            changes,
            ..Self::default()
        }
    }

    /// Returns the traffic, if everything that it needs is there.
    pub(super) fn traffic(&self, kind: TrafficKind) -> Option<Traffic> {
        let frame = || self.frame.or(kind.default_frame());
        let jitter = self.jitter.unwrap_or(DEFAULT_JITTER);
        Some(match kind {
            TrafficKind::SampledValues => Traffic::SampledValues(SampledValues {
                frame: frame()?,
                period: self.period?,
                jitter: self.jitter.or(self.period)?,
            }),
            TrafficKind::Goose => Traffic::Goose(Goose {
                frame: frame()?,
                min_time: self.min_time,
                max_time: self.max_time,
                min_spacing: self.min_spacing,
                changes: self.changes.clone()?,
                jitter,
            }),
            TrafficKind::Udp => Traffic::Udp(TokenBucket {
                frame: frame()?,
                rate: self.token_rate(frame()?)?,
                burst: self.burst.unwrap_or(wire_size(frame()?)),
                jitter,
            }),
            TrafficKind::Message => Traffic::Message(Message {
                size: self.size?,
                period: self.period?,
                jitter,
            }),
            TrafficKind::Trace => Traffic::Trace(self.trace(jitter)?),
            TrafficKind::Mms => Traffic::Mms(Mms {
                value: self.value?,
                period: self.period?,
                jitter,
            }),
            TrafficKind::BestEffort => Traffic::BestEffort(BestEffort {
                frame: frame()?,
                rate: self.rate,
            }),
        })
    }

    /// Lets the burst follow from the rate: a quarter above the mean lets a recording
    /// that pauses now and then catch up.
    fn trace(&self, jitter: Duration) -> Option<Trace> {
        let recording = Arc::clone(self.recording.as_ref()?);
        let mean = recording.mean_rate().as_bps();
        let rate = self
            .rate
            .unwrap_or(BitRate::from_bps(mean + mean.div_ceil(4)));
        Some(Trace {
            burst: recording.burst_at(rate),
            rate,
            jitter,
            recording,
        })
    }

    fn token_rate(&self, frame: DataSize) -> Option<BitRate> {
        let by_period = |period| BitRate::of(wire_size(frame), Delay::from(period));
        self.rate.or_else(|| self.period.and_then(by_period))
    }

    fn check_burst(&self, kind: TrafficKind, record: &LayeredTable<'_>, problems: &mut Problems) {
        let (TrafficKind::Udp, Some(frame), Some(burst)) = (kind, self.frame, self.burst) else {
            return;
        };
        let frame = wire_size(frame);
        if burst < frame {
            let mistake = Mistake::BurstBelowFrame { burst, frame };
            problems.report(record.place_of("burst"), mistake);
        }
    }
}

/// Returns the shortest time between state changes, which flow sets leave to
/// the default.
fn spacing(record: &LayeredTable<'_>) -> Option<Duration> {
    record
        .knows("min_spacing")
        .then(|| record.time("min_spacing"))?
}

/// Returns the size of the value that is read; reports one that an answer cannot carry.
fn value(record: &LayeredTable<'_>, problems: &mut Problems) -> Option<DataSize> {
    let value = record.size("value").unwrap_or(DEFAULT_VALUE);
    let (least, most) = (DataSize::from_bytes(1), LARGEST_VALUE);
    if (least..=most).contains(&value) {
        return Some(value);
    }
    let (least, most) = (least.to_string(), most.to_string());
    let mistake = Mistake::OutOfRange {
        value: value.to_string(),
        least,
        most,
    };
    problems.report(record.place_of("value"), mistake);
    None
}

/// Returns when the flow starts; those of flow sets start with the run.
fn start(record: &LayeredTable<'_>) -> Duration {
    let start = record.knows("start").then(|| record.time("start"));
    start.flatten().unwrap_or_default()
}

fn changes(
    record: &LayeredTable<'_>,
    spacing: Duration,
    problems: &mut Problems,
) -> Option<StateChanges> {
    if !record.has("changes") {
        return Some(StateChanges::Every(DEFAULT_CHANGES.max(spacing)));
    }
    if let Some(mean) = record.time("changes") {
        if mean < spacing {
            let sentence =
                format!("the mean interval {mean} is below the shortest spacing {spacing}");
            let help = "a state changes no oftener than `min_spacing`, by default `min_time`";
            contradict(record, "changes", &sentence, help, problems);
        }
        return Some(StateChanges::Every(mean.max(spacing)));
    }
    let items = record.items("changes");
    if items.len() > MOST_CHANGES {
        let (what, count, limit) = ("state changes", items.len(), MOST_CHANGES);
        let mistake = Mistake::TooMany { what, count, limit };
        problems.report(record.place_of("changes"), mistake);
        return None;
    }
    // The first state is published at the start, as a change is.
    let mut before = start(record);
    let mut times: Vec<Duration> = Vec::with_capacity(items.len());
    for item in items {
        let time = ValueShape::Time(Zero::Allowed).time(item.get_ref()).ok()?;
        let earliest = before + spacing;
        if time < earliest {
            let mistake = Mistake::Contradiction {
                sentence: format!("the state change at {time} comes before {earliest}"),
                help: format!(
                    "state changes are listed in order, at least {spacing} apart (`min_spacing`) \
                     and after the start"
                ),
            };
            problems.report(item.span(), mistake);
        }
        before = time;
        times.push(time);
    }
    Some(StateChanges::At(times))
}
