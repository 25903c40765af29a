//! What one flow reserves at one stage.
//!
//! What it brings there comes with all of its frames over one way, in two copies
//! by two ways, or after a failure in another window or from elsewhere than
//! otherwise. The last takes the place of what always counts, in the sums of that
//! failure: contract and peak hold for all that a flow brings, so none of the two
//! may be counted for a part of it and the other one for the rest.

use units::DataSize;

use super::stage::{FailureId, StageId};
use crate::bounds::processing::FrameBucket;
use crate::min_plus::TokenBucket;

/// What one flow reserves at one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) stage: StageId,
    /// The failure under which it counts, or nothing if it always does.
    pub(super) failure: Option<FailureId>,
    pub(super) class: u8,
    pub(super) largest_frame: DataSize,
    pub(super) part: ReservedPart,
}

/// What a flow brings to a stage by one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StageArrival {
    /// What it brings in the long run.
    pub(super) share: Share,
    /// What its peak allows; the same again if it has none.
    pub(super) peak: Share,
    /// Where all of its frames come from.
    pub(super) origin: FlowOrigin,
}

/// Where all frames of a flow come from, as far as that is one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowOrigin {
    /// The stage before.
    pub(super) stage: Option<StageId>,
    /// The port over whose link they came to that stage, if it is a processor.
    pub(super) link: Option<StageId>,
}

/// An amount in what the stage counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    Processing(FrameBucket),
    /// A link counts in bits, and a queue perhaps in frames.
    Port(TokenBucket, FrameBucket),
}

/// How much of what the flow has at the stage a reservation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReservedPart {
    /// All of it.
    Whole(StageArrival),
    /// All of it: two copies of each frame.
    Copies([StageArrival; 2]),
    /// What comes, under the failure, in place of what always counts otherwise.
    Instead {
        /// What always counts.
        of: StageArrival,
        /// What comes, which is no less.
        by: StageArrival,
    },
}

impl FlowOrigin {
    /// Returns where frames come from that leave a switch, to which they came over the
    /// link of a port.
    pub(super) fn leaving(processor: Option<StageId>, port: Option<StageId>) -> Self {
        Self {
            stage: processor.or(port),
            link: port.filter(|_| processor.is_some()),
        }
    }
}

impl StageArrival {
    /// Returns what comes if this and `other` do, from more than one place.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            share: self.share.plus(other.share),
            peak: self.peak.plus(other.peak),
            origin: FlowOrigin::default(),
        }
    }
}

impl Reservation {
    /// Returns what it adds to the sum of its stage.
    pub(super) fn share(&self) -> Share {
        match &self.part {
            ReservedPart::Whole(arrival) => arrival.share,
            ReservedPart::Copies([first, second]) => first.share.plus(second.share),
            ReservedPart::Instead { of, by } => by.share.above(of.share),
        }
    }

    /// Returns what comes by the first way of the flow, where it is.
    pub(super) fn first(&self) -> &StageArrival {
        match &self.part {
            ReservedPart::Whole(arrival)
            | ReservedPart::Copies([arrival, _])
            | ReservedPart::Instead { of: _, by: arrival } => arrival,
        }
    }

    /// Returns whether some of it comes out of a processor and over one link before.
    pub(super) fn has_link(&self) -> bool {
        match &self.part {
            ReservedPart::Whole(arrival) => arrival.origin.link.is_some(),
            ReservedPart::Copies(copies) => copies.iter().any(|copy| copy.origin.link.is_some()),
            ReservedPart::Instead { of, by } => of.origin.link.or(by.origin.link).is_some(),
        }
    }

    /// Returns what it brings to a processor, and nothing if it is for a port.
    pub(super) fn frames(&self) -> FrameBucket {
        match self.share() {
            Share::Processing(frames) => frames,
            Share::Port(..) => FrameBucket::default(),
        }
    }

    /// Returns what it brings to a port, and nothing if it is for a processor.
    pub(super) fn traffic(&self) -> TokenBucket {
        match self.share() {
            Share::Processing(_) => TokenBucket::NOTHING,
            Share::Port(traffic, _) => traffic,
        }
    }

    /// Returns all that the flow has at the stage in the case of this reservation.
    pub(super) fn whole(&self) -> Self {
        let part = match self.part {
            ReservedPart::Instead { of: _, by } => ReservedPart::Whole(by),
            part @ (ReservedPart::Whole(_) | ReservedPart::Copies(_)) => part,
        };
        Self { part, ..*self }
    }

    /// Returns whether the flow has nothing else at the stage, whatever is broken.
    pub(super) fn is_whole(&self) -> bool {
        match self.part {
            ReservedPart::Whole(_) | ReservedPart::Copies(_) => true,
            ReservedPart::Instead { .. } => false,
        }
    }
}

impl Share {
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Processing(this), Self::Processing(other)) => Self::Processing(this + other),
            (Self::Port(bits, frames), Self::Port(other, others)) => {
                Self::Port(bits + other, frames + others)
            }
            (Self::Processing(_), Self::Port(..)) | (Self::Port(..), Self::Processing(_)) => {
                kinds_differ()
            }
        }
    }

    /// Returns what this is above `other`, which is no more.
    fn above(self, other: Self) -> Self {
        match (self, other) {
            (Self::Processing(this), Self::Processing(other)) => Self::Processing(this - other),
            (Self::Port(bits, frames), Self::Port(other, others)) => {
                Self::Port(bits - other, frames - others)
            }
            (Self::Processing(_), Self::Port(..)) | (Self::Port(..), Self::Processing(_)) => {
                kinds_differ()
            }
        }
    }
}

fn kinds_differ() -> ! {
    unreachable!("both are shares of one stage")
}
