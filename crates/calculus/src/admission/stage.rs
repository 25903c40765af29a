//! The stages of a network and the budgets they have.

use units::{BitRate, DataSize, Delay};

use super::request::{MAX_BURST, MAX_DELAY, MAX_RATE, MIN_FRAME, Malformed};
use crate::bounds::processing::FrameBucket;
use crate::bounds::strict_priority::CLASSES;
use crate::min_plus::TokenBucket;

/// The number of a stage: its place in the list the ledger was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StageId(pub u32);

impl StageId {
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).expect("a stage number fits an address")
    }
}

/// The number of a failure that is provided for, given by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FailureId(pub u32);

/// Something that flows pass through and wait for.
#[expect(clippy::large_enum_variant, reason = "most stages are ports")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The processor of a switch, shared by all its ports, first in first out.
    Processing {
        /// The longest time before it works at its pace.
        latency: Delay,
        /// The longest time that a frame occupies it. Zero for hardware that
        /// delays frames and never queues them.
        per_frame: Delay,
        /// The shortest time that a frame occupies it, as far as that is known,
        /// and zero if it is not: it hands on no two frames closer together.
        fastest_per_frame: Delay,
        /// How long a frame may be here, from its arrival to its completion.
        budget: Delay,
        /// How many frames may be here, if that is limited.
        buffer_frames: Option<u64>,
    },
    /// A port with a queue a class, the most urgent served first.
    Port {
        /// The rate of the link.
        rate: BitRate,
        /// How long the link takes from end to end.
        propagation: Delay,
        /// For each class how long a frame may be here, from its arrival to the
        /// departure of its last bit, and nothing for a class without promises.
        /// Class 7 is the most urgent; class 0 never has promises.
        budgets: [Option<Delay>; CLASSES],
        /// For each class how much may be queued here, if that is limited. A
        /// frame counts until its last bit has left.
        buffers: [Option<Room>; CLASSES],
        /// The largest frame of traffic that has no promise, as on the wire.
        largest_frame: DataSize,
    },
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Frames of this size together, as on the wire.
    Size(DataSize),
    /// So many frames, whatever their size.
    Frames(u64),
}

impl Room {
    /// Returns how much surely fits, whatever the frames are.
    pub(super) fn least_size(self) -> DataSize {
        match self {
            Self::Size(size) => size,
            Self::Frames(frames) => DataSize::from_bits(MIN_FRAME.as_bits().saturating_mul(frames)),
        }
    }
}

impl Stage {
    /// Returns how long a frame of `class` may be here, or nothing if the class
    /// has no promises here.
    #[must_use]
    pub fn budget(&self, class: u8) -> Option<Delay> {
        match self {
            Self::Processing { budget, .. } => Some(*budget),
            Self::Port { budgets, .. } => budgets.get(usize::from(class)).copied().flatten(),
        }
    }

    /// Returns how long the link behind the stage takes from end to end.
    #[must_use]
    pub fn propagation(&self) -> Delay {
        match self {
            Self::Processing { .. } => Delay::ZERO,
            Self::Port { propagation, .. } => *propagation,
        }
    }

    /// Returns the longest time that a frame of any class is here by the budgets.
    pub(super) fn longest_delay(&self) -> Delay {
        match self {
            Self::Processing { budget, .. } => *budget,
            Self::Port { budgets, .. } => {
                budgets.iter().flatten().copied().max().unwrap_or_default()
            }
        }
    }

    /// Returns the least time that a frame is here, no more than its budget, which
    /// may not be chosen yet.
    pub(super) fn least_delay(&self) -> Delay {
        match self {
            Self::Processing {
                fastest_per_frame,
                budget,
                ..
            } => (*fastest_per_frame).min(*budget),
            Self::Port { .. } => Delay::ZERO,
        }
    }

    /// Panics if the stage is beyond what the arithmetic is laid out for.
    pub(super) fn assert_within_limits(&self) {
        match self {
            Self::Processing {
                latency,
                per_frame,
                fastest_per_frame,
                budget,
                buffer_frames: _,
            } => {
                for delay in [latency, per_frame, budget] {
                    assert!(*delay <= MAX_DELAY, "{delay} is more than {MAX_DELAY}");
                }
                assert!(
                    fastest_per_frame <= per_frame,
                    "the shortest is no longer than the longest"
                );
            }
            Self::Port {
                rate,
                propagation,
                budgets,
                buffers: _,
                largest_frame,
            } => {
                assert!(*rate <= MAX_RATE, "{rate} is more than {MAX_RATE}");
                assert!(*largest_frame <= MAX_BURST, "no frame has {largest_frame}");
                assert!(budgets[0].is_none(), "class 0 never has promises");
                for delay in budgets.iter().flatten().chain([propagation]) {
                    assert!(*delay <= MAX_DELAY, "{delay} is more than {MAX_DELAY}");
                }
            }
        }
    }
}

/// Work at a processing stage for which nothing is promised: best-effort
/// traffic, messages of the controller, probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestEffort {
    /// What arrives at most.
    pub traffic: TokenBucket,
    /// The smallest of its frames.
    pub smallest_frame: DataSize,
}

impl BestEffort {
    /// Returns the work in frames, or nothing if it makes no sense.
    pub(super) fn frames(&self) -> Option<FrameBucket> {
        self.validate().ok()?;
        Some(FrameBucket::of(self.traffic, self.smallest_frame))
    }

    pub(super) fn validate(&self) -> Result<(), Malformed> {
        let burst = self.traffic.burst();
        let smallest_frame = self.smallest_frame;
        if burst > MAX_BURST {
            return Err(Malformed::Burst { burst });
        }
        if let Some(rate) = self.traffic.rate().filter(|rate| *rate > MAX_RATE) {
            return Err(Malformed::Rate { rate });
        }
        if smallest_frame < MIN_FRAME {
            let largest_frame = burst;
            return Err(Malformed::Frames {
                smallest_frame,
                largest_frame,
            });
        }
        Ok(())
    }
}
