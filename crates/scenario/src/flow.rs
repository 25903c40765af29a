//! Flows: who sends what to whom, how late it may be, and how it is protected.

use std::net::Ipv4Addr;
use std::sync::Arc;

use units::{BitRate, DataSize, Duration, Seeded};

use crate::format::{
    PROTECTION_FAST_FAILOVER, PROTECTION_HEART_BEAT, PROTECTION_RESTORE, PROTECTION_SEAMLESS,
};
use crate::limits::MOST_CHANGES;
use crate::{ClassIndex, HostIndex, Recording, Treatment};

/// How late a frame may leave its host if nothing else is said.
pub(crate) const DEFAULT_JITTER: Duration = Duration::from_us(250);
/// Beyond this the burst of an absurd rate could not be counted.
pub(crate) const LONGEST_JITTER: Duration = Duration::from_secs(1);
pub(crate) const DEFAULT_MIN_TIME: Duration = Duration::from_ms(4);
pub(crate) const DEFAULT_MAX_TIME: Duration = Duration::from_secs(1);
/// The mean interval between the state changes of a GOOSE stream.
pub(crate) const DEFAULT_CHANGES: Duration = Duration::from_secs(1);
/// Samples are counted within a second, in 16 bits (9-2LE clause 7).
pub(crate) const SAMPLE_PERIODS: (Duration, Duration) =
    (Duration::from_ns(15_259), Duration::from_secs(1));
/// The value that stations of MMS read if nothing else is said.
pub(crate) const DEFAULT_VALUE: DataSize = DataSize::from_bytes(200);
/// What an answer in one segment carries.
pub(crate) const LARGEST_VALUE: DataSize = DataSize::from_bytes(1_400);
/// Ethernet 14, IPv4 20, UDP 8.
pub(crate) const UDP_HEADERS: DataSize = DataSize::from_bytes(42);

/// A flow of frames from one host to one or several others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    pub name: String,
    pub traffic: Traffic,
    pub source: HostIndex,
    /// Who receives; at least one, each once, never the source.
    pub receivers: Vec<HostIndex>,
    /// The addresses that its frames carry.
    pub destination: Destination,
    /// The class that it travels in.
    pub class: ClassIndex,
    /// Whether nobody has named a class, so that it may travel in another one.
    pub is_class_free: bool,
    /// How late a frame may be; never zero. Best-effort flows have none.
    pub deadline: Option<Duration>,
    pub criticality: Criticality,
    /// What happens to it when a link breaks.
    pub protection: Protection,
    /// Whether frames that exceed its contract may go on without a promise.
    pub excess_goes_on: bool,
    /// How it is treated at each level of the network, the lowest first; empty if the
    /// network has no levels.
    pub by_level: Vec<Treatment>,
    /// When it begins, after the start of traffic.
    pub start: Duration,
    /// When it ends, after the start of traffic; with the run if absent.
    pub stop: Option<Duration>,
}

/// What a flow sends. All frame sizes are those of Ethernet frames without
/// their check sequence, a VLAN tag included if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// IEC 61850 Sampled Values: one frame a period.
    SampledValues(SampledValues),
    /// IEC 61850 GOOSE: state changes, each repeated at growing intervals.
    Goose(Goose),
    /// UDP datagrams as a token bucket lets them pass.
    Udp(TokenBucket),
    /// Messages longer than a frame, one a period (S2-2).
    Message(Message),
    /// The frames of a recording, at their times.
    Trace(Trace),
    /// Reads of a value over TCP port 102, one a period (S0-5).
    Mms(Mms),
    /// As much as there is room for, as TCP does, without a promise.
    BestEffort(BestEffort),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledValues {
    /// The size of each frame.
    pub frame: DataSize,
    /// The time between two frames.
    pub period: Duration,
    /// How much later than its time a frame may leave the host.
    pub jitter: Duration,
}

impl SampledValues {
    /// Returns how many samples are sent in a second, rounded down: at least
    /// one, and no more than 16 bits count.
    #[must_use]
    pub fn samples_per_second(&self) -> u32 {
        let rate = Duration::from_secs(1) / self.period;
        u32::try_from(rate).expect("the period has a lower limit")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goose {
    /// The size of each frame.
    pub frame: DataSize,
    /// The time from a state change to its first repetition; it doubles with
    /// each further one.
    pub min_time: Duration,
    /// The longest time between two repetitions.
    pub max_time: Duration,
    /// The shortest time between two state changes.
    pub min_spacing: Duration,
    pub changes: StateChanges,
    /// How much later than its time a frame may leave the host.
    pub jitter: Duration,
}

impl Goose {
    /// Returns when the state changes if the stream runs from `start` to `end`,
    /// in order and at least `min_spacing` apart, also from the start. Random
    /// times follow from `seed`: each interval is drawn evenly between
    /// `min_spacing` and what makes the mean right.
    #[must_use]
    pub fn change_times(&self, seed: u64, start: Duration, end: Duration) -> Vec<Duration> {
        match &self.changes {
            StateChanges::At(times) => {
                let times = times.iter().copied();
                times.filter(|time| (start..end).contains(time)).collect()
            }
            StateChanges::Every(mean) => {
                let mut random = Seeded::new(seed);
                let spread = (mean.as_ns() - self.min_spacing.as_ns()) * 2;
                let mut next = || self.min_spacing + Duration::from_ns(random.up_to(spread));
                let mut times = Vec::new();
                let mut time = start + next();
                while time < end && times.len() < MOST_CHANGES {
                    times.push(time);
                    time += next();
                }
                times
            }
        }
    }
}

/// When the state that a GOOSE stream publishes changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChanges {
    /// At random, at this mean interval, never closer than `min_spacing`.
    Every(Duration),
    /// At these times after the start of traffic, in order, never closer than
    /// `min_spacing`.
    At(Vec<Duration>),
}

/// Datagrams of one size, as a token bucket lets them pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// The size of each frame.
    pub frame: DataSize,
    /// The rate on the wire, overhead included.
    pub rate: BitRate,
    /// The depth of the bucket on the wire, overhead included; at least one
    /// frame.
    pub burst: DataSize,
    /// How much later than its time a frame may leave the host.
    pub jitter: Duration,
}

/// Messages that are cut into frames of the largest size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The size of each message, headers not counted.
    pub size: DataSize,
    /// The time between two messages.
    pub period: Duration,
    /// How much later than its time a frame may leave the host.
    pub jitter: Duration,
}

/// The frames of a recording, as datagrams of their sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub recording: Arc<Recording>,
    /// The rate on the wire, overhead included.
    pub rate: BitRate,
    /// The smallest burst with which the recording conforms to that rate.
    pub burst: DataSize,
    /// How much later than its time a frame may leave the host.
    pub jitter: Duration,
}

/// A station that reads a value from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mms {
    /// How many bytes the value has.
    pub value: DataSize,
    /// The time between two requests.
    pub period: Duration,
    /// How much later than its time a frame may leave the host.
    pub jitter: Duration,
}

/// A flood without a promise, which gives way to losses as TCP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestEffort {
    /// The size of each frame.
    pub frame: DataSize,
    /// The most that it sends, on the wire, overhead included; if absent, as
    /// much as its link carries.
    pub rate: Option<BitRate>,
}

/// The addresses that a flow's frames carry.
///
/// Generated: unique for each flow to a group, and for each flow to the same
/// host by its port, so that a switch can tell all flows apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination {
    /// Frames of their own EtherType to a group address (GOOSE, Sampled Values).
    Ethernet {
        mac: [u8; 6],
        /// The application id, which both protocols carry.
        application: u16,
    },
    /// UDP datagrams to one host or to a group.
    Udp {
        /// The host's hardware address or the group's.
        mac: [u8; 6],
        /// The host's network address or the group's.
        ip: Ipv4Addr,
        port: u16,
    },
    /// A connection of TCP to one host: all between the same two hosts to this port
    /// are one.
    Tcp {
        mac: [u8; 6],
        ip: Ipv4Addr,
        port: u16,
    },
}

/// How much a flow matters: 0 least. A network that has to choose serves the
/// flows of higher levels (S2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Criticality(pub u8);

/// What happens to a flow when a link on its path breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// It is interrupted until the link is back.
    #[default]
    None,
    /// It moves to an alternative path computed beforehand (S0-3).
    Restore {
        /// The longest interruption that is no broken promise.
        interruption: Duration,
        /// Whether it has to hold for faults that nobody reports, too.
        covers_any_fault: bool,
    },
    /// The switch at which its path breaks sends its frames on by another port, by itself
    /// (S0-4).
    FastFailover {
        /// The longest interruption that is no broken promise.
        interruption: Duration,
        /// Whether it has to hold for faults that nobody reports, too.
        covers_any_fault: bool,
    },
    /// The same, where its own frames are heart-beats: a link that brings none of them, when
    /// they are sent all the time, is broken, whatever its ends see of it (S0-4).
    HeartBeat {
        /// The longest interruption that is no broken promise, whatever fails.
        interruption: Duration,
    },
    /// Nothing: two ways carry it at the same time (S0-4).
    Seamless {
        /// Whether frames are numbered in trailers of PRP, and not in redundancy tags.
        by_prp: bool,
        /// Whether they reach the receiver in the order in which they were sent.
        keeps_order: bool,
    },
}

impl Protection {
    /// Returns the longest interruption that is no broken promise, which may be none;
    /// nothing if it waits.
    #[must_use]
    pub const fn interruption(self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Seamless { .. } => Some(Duration::ZERO),
            Self::Restore { interruption, .. }
            | Self::FastFailover { interruption, .. }
            | Self::HeartBeat { interruption } => Some(interruption),
        }
    }

    /// Returns its name, as scenarios spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Restore { .. } => PROTECTION_RESTORE,
            Self::FastFailover { .. } => PROTECTION_FAST_FAILOVER,
            Self::HeartBeat { .. } => PROTECTION_HEART_BEAT,
            Self::Seamless { .. } => PROTECTION_SEAMLESS,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn random_state_changes_keep_their_spacing_and_their_mean(
            seed: u64,
            spacing_ms in 1u64..100,
            more_ms in 0u64..1000,
        ) {
            let (spacing, more) = (Duration::from_ms(spacing_ms), Duration::from_ms(more_ms));
            let mean = spacing + more;
            let goose = Goose {
                frame: DataSize::from_bytes(160),
                min_time: spacing,
                max_time: Duration::from_secs(1),
                min_spacing: spacing,
                changes: StateChanges::Every(mean),
                jitter: Duration::ZERO,
            };
            let (start, end) = (Duration::from_ms(5), Duration::from_ms(5) + mean * 1000u64);

            let times = goose.change_times(seed, start, end);

            let befores = std::iter::once(&start).chain(&times);
            for (before, time) in befores.zip(&times) {
                prop_assert!(*before + spacing <= *time && *time < end);
            }
            prop_assert!((900..=1100).contains(&times.len()), "{}", times.len());
        }
    }
}
