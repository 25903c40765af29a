//! Why a promise cannot be made, and what could be promised instead.

use std::fmt;

use thiserror::Error;
use units::{BitRate, DataSize, Delay};

use super::ledger::FlowId;
use super::request::Malformed;
use super::stage::{FailureId, StageId};

/// Why a flow was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{constraint}")]
pub struct Refusal {
    /// The stage that cannot take the flow, or nothing if it is no matter of one.
    pub stage: Option<StageId>,
    /// The failure under which it could not, or nothing if it cannot anyway.
    pub failure: Option<FailureId>,
    /// What would not hold, with what is needed and what is allowed.
    #[source]
    pub constraint: Constraint,
    /// The promised flow whose deadline would be missed, or nothing if it is no matter
    /// of another one.
    pub flow: Option<FlowId>,
    /// What would have been admitted.
    pub fits: Fits,
}

/// By how much a constraint is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// So much later than allowed.
    Delay(Delay),
    /// So many bits a second more than the link carries.
    Rate {
        /// Bits a second.
        bps: u64,
    },
    /// So much more than the queue holds.
    Size(DataSize),
    /// So many frames more than the buffer holds.
    Frames(u64),
    /// So many frames a second more than can be processed.
    FrameRate {
        /// Frames a second.
        per_second: u64,
    },
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delay(delay) => write!(f, "{delay}"),
            Self::Rate { bps } => write!(f, "{bps} bit/s"),
            Self::Size(size) => write!(f, "{size}"),
            Self::Frames(frames) => write!(f, "{frames} frames"),
            Self::FrameRate { per_second } => write!(f, "{per_second} frames/s"),
        }
    }
}

/// What would have been admitted instead, by the whole network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fits {
    /// The highest rate with the burst that was asked for, if there is one.
    pub rate: Option<BitRate>,
    /// The largest burst with the rate that was asked for, if there is one. It
    /// has room for the largest frame.
    pub burst: Option<DataSize>,
}

/// What a new flow would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Constraint {
    /// The request makes no sense in any network.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The class has no budget at this port.
    #[error(
        "class {class} has no delay budget here: none is given, or none was found that admits \
         its flows beside the others"
    )]
    NoBudget {
        /// The class.
        class: u8,
    },
    /// The budgets on the way add up to more than the deadline.
    #[error("the way takes up to {needed}, the deadline is {allowed}")]
    Deadline {
        /// The sum of the budgets and the links.
        needed: Delay,
        /// The deadline.
        allowed: Delay,
    },
    /// The link cannot carry the sum of the rates.
    #[error("class {class} and those above need {needed_bps} bit/s, the link has {allowed}")]
    Rate {
        /// The most urgent class that does not fit.
        class: u8,
        /// What it and the more urgent classes need.
        needed_bps: u64,
        /// The rate of the link.
        allowed: BitRate,
    },
    /// The processor cannot keep up with the sum of the frames.
    #[error("{needed_per_second} frames/s need processing, {allowed_per_second} can be done")]
    FrameRate {
        /// The frames a second that arrive, rounded up.
        needed_per_second: u64,
        /// The frames a second that can be processed, rounded down.
        allowed_per_second: u64,
    },
    /// A frame could be here longer than the budget.
    #[error("class {class} would wait up to {needed}, its budget is {allowed}")]
    Delay {
        /// The class whose budget breaks. At a processor all classes are one and
        /// this is the class of the flow.
        class: u8,
        /// The bound with the new flow.
        needed: Delay,
        /// The budget.
        allowed: Delay,
    },
    /// The link has so little left that a frame could be here for months.
    #[error("class {class} would wait without bound, its budget is {allowed}")]
    Unbounded {
        /// The class whose budget breaks.
        class: u8,
        /// The budget.
        allowed: Delay,
    },
    /// The queue of a class could overflow.
    #[error("class {class} would queue up to {needed}, its buffer holds {allowed}")]
    Buffer {
        /// The class whose queue is too small.
        class: u8,
        /// The bound with the new flow.
        needed: DataSize,
        /// What the queue holds.
        allowed: DataSize,
    },
    /// The queue of a class, which holds so many frames, could overflow.
    #[error("class {class} would queue up to {needed} frames, its queue holds {allowed}")]
    Frames {
        /// The class whose queue is too small.
        class: u8,
        /// The bound with the new flow, rounded up.
        needed: u64,
        /// The frames that the queue holds.
        allowed: u64,
    },
    /// Frames that a higher level of criticality gives up could stand before frames that
    /// it serves: whoever keeps a ledger for each level finds that.
    #[error(
        "frames that a higher level gives up could wait in class {class} or above, in front of \
         those which it serves in class {class}: give these a more urgent class at that level"
    )]
    NotReserved {
        /// The class.
        class: u8,
    },
    /// At a higher level of criticality the flow would overtake frames of its own that still
    /// wait: whoever keeps a ledger for each level finds that.
    #[error(
        "what the flow sent in class {below} at a lower level could still wait while class {class} \
         overtakes it: give the flow class {class} there, too, or none above {below} here"
    )]
    Overtaken {
        /// The class at the higher level.
        class: u8,
        /// The least urgent class of a level below.
        below: u8,
    },
    /// The class is the one in which switches tell each other of a change of level, where a
    /// change has a bound: whoever keeps a ledger for each level finds that.
    #[error(
        "class {class} is for the signals of a change of level, in front of which nothing may \
         wait: give the flow a less urgent class"
    )]
    ForSignals {
        /// The class.
        class: u8,
    },
    /// Signals of a change of level have to pass a processor that may work without end on
    /// what nothing is promised for: whoever keeps a ledger for each level finds that.
    #[error(
        "signals of a change of level pass it, and probes and traffic without promise alone may \
         exceed its processor or its buffer"
    )]
    UnboundedChange,
    /// No way leads to the receiver.
    #[error("no way leads to the receiver")]
    NoWay,
    /// The queue in front of the processor could overflow.
    #[error("up to {needed} frames would wait for processing, the buffer holds {allowed}")]
    FrameBuffer {
        /// The bound with the new flow, rounded up.
        needed: u64,
        /// The frames that the buffer holds.
        allowed: u64,
    },
}

impl Constraint {
    /// Returns by how much it would be missed; nothing where that is no matter of
    /// more or less.
    #[must_use]
    pub fn margin(&self) -> Option<Margin> {
        match *self {
            Self::Malformed(_)
            | Self::NoBudget { .. }
            | Self::Unbounded { .. }
            | Self::NotReserved { .. }
            | Self::UnboundedChange
            | Self::Overtaken { .. }
            | Self::ForSignals { .. }
            | Self::NoWay => None,
            Self::Deadline { needed, allowed }
            | Self::Delay {
                needed, allowed, ..
            } => Some(Margin::Delay(needed.saturating_sub(allowed))),
            Self::Rate {
                needed_bps,
                allowed,
                ..
            } => Some(Margin::Rate {
                bps: needed_bps.saturating_sub(allowed.as_bps()),
            }),
            Self::FrameRate {
                needed_per_second,
                allowed_per_second,
            } => Some(Margin::FrameRate {
                per_second: needed_per_second.saturating_sub(allowed_per_second),
            }),
            Self::Buffer {
                needed, allowed, ..
            } => Some(Margin::Size(needed.saturating_sub(allowed))),
            Self::FrameBuffer { needed, allowed }
            | Self::Frames {
                needed, allowed, ..
            } => Some(Margin::Frames(needed.saturating_sub(allowed))),
        }
    }

    /// Returns whether more arrives than can be served, whatever the budgets.
    #[must_use]
    pub fn is_overload(&self) -> bool {
        match self {
            Self::Rate { .. } | Self::FrameRate { .. } => true,
            Self::Malformed(_)
            | Self::NoBudget { .. }
            | Self::Deadline { .. }
            | Self::Delay { .. }
            | Self::Unbounded { .. }
            | Self::Buffer { .. }
            | Self::Frames { .. }
            | Self::FrameBuffer { .. }
            | Self::NotReserved { .. }
            | Self::UnboundedChange
            | Self::Overtaken { .. }
            | Self::ForSignals { .. }
            | Self::NoWay => false,
        }
    }
}

impl Constraint {
    /// Returns whether less at once would help, or the knowledge that there is.
    pub(super) fn is_a_matter_of_bursts(&self) -> bool {
        matches!(
            self,
            Self::Delay { .. } | Self::Buffer { .. } | Self::Frames { .. }
        )
    }
}

/// A constraint that would not hold, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Breach {
    pub(super) stage: Option<StageId>,
    pub(super) failure: Option<FailureId>,
    pub(super) constraint: Constraint,
}

impl Breach {
    /// Returns the refusal for this breach.
    pub(super) fn refuse(self, fits: Fits) -> Refusal {
        let Self {
            stage,
            failure,
            constraint,
        } = self;
        Refusal {
            stage,
            failure,
            constraint,
            flow: None,
            fits,
        }
    }
}

impl From<Malformed> for Breach {
    fn from(malformed: Malformed) -> Self {
        Self {
            stage: None,
            failure: None,
            constraint: Constraint::Malformed(malformed),
        }
    }
}
