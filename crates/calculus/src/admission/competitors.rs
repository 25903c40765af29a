//! Who is at a stage, and how much each takes of its time.

use units::{DataSize, Delay};

use super::check::worst_delay;
use super::ledger::{FlowId, Ledger};
use super::load::ReservedLoad;
use super::plan::ReservationPlanner;
use super::reservation::Share;
use super::stage::{Stage, StageId};
use crate::bounds::processing::{FRAME, FrameBucket};
use crate::min_plus::TokenBucket;

/// A flow at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Competitor {
    /// Which.
    pub flow: FlowId,
    /// Its class.
    pub class: u8,
    /// Its largest frame.
    pub largest_frame: DataSize,
    /// How long the stage works on its burst, rounded up. At a port that is what
    /// more urgent classes leave of the link for those of `class` and below.
    pub takes: Delay,
}

impl Ledger {
    /// Returns the numbers of all flows that have a promise, in their order.
    pub fn ids(&self) -> impl Iterator<Item = FlowId> {
        self.requests().map(|(id, _)| id)
    }

    /// Returns the longest that a frame of `class` is at a stage with what is
    /// promised now, whatever is broken of what is provided for; at a processor
    /// all classes are one. Nothing if there is no bound.
    ///
    /// # Panics
    ///
    /// If there is no such stage.
    #[must_use]
    pub fn bound(&self, stage: StageId, class: u8) -> Option<Delay> {
        worst_delay(stage, self.stages(), self.load(stage), class).map(|(bound, _)| bound)
    }

    /// Returns the frames without promise that are counted at a stage.
    ///
    /// # Panics
    ///
    /// If there is no such stage.
    #[must_use]
    pub fn unpromised(&self, stage: StageId) -> FrameBucket {
        self.load(stage).unpromised()
    }

    /// Returns the flows that pass a stage while nothing is broken, the one that
    /// takes the most of its time first. `class` is that of the flow to which they
    /// are competitors.
    ///
    /// # Panics
    ///
    /// If there is no such stage.
    #[must_use]
    pub fn competitors(&self, stage: StageId, class: u8) -> Vec<Competitor> {
        let mut plan = ReservationPlanner::new(self.stages().len());
        let mut competitors: Vec<Competitor> = Vec::new();
        for (flow, request) in self.requests() {
            if !request.base.hops.iter().any(|hop| hop.stage == stage) {
                continue;
            }
            let drawn = plan.draw(request, request.traffic(), self.stages());
            drawn.expect("it was drawn when it was admitted");
            let here = plan.reservations.iter();
            let here = here.filter(|part| part.stage == stage && part.failure.is_none());
            competitors.extend(here.map(|part| Competitor {
                flow,
                class: request.class,
                largest_frame: request.largest_frame,
                takes: self.time_for(stage, class, part.share()),
            }));
        }
        competitors.sort_by_key(|competitor| std::cmp::Reverse(competitor.takes));
        competitors
    }

    /// Returns how long a stage works on a burst.
    fn time_for(&self, id: StageId, class: u8, share: Share) -> Delay {
        match (&self.stages()[id.index()], share) {
            (Stage::Processing { per_frame, .. }, Share::Processing(frames)) => {
                let work = u128::from(frames.burst) * u128::from(per_frame.as_ps());
                let ps = u64::try_from(work.div_ceil(u128::from(FRAME)));
                ps.map_or(Delay::from_ps(u64::MAX), Delay::from_ps)
            }
            (Stage::Port { rate, .. }, Share::Port(traffic, _)) => {
                let ReservedLoad::Port(classes) = self.load(id).total(None) else {
                    unreachable!("a load is made for the kind of its stage")
                };
                let above = classes.iter().skip(usize::from(class) + 1);
                let above: TokenBucket = above.map(|load| load.traffic).sum();
                let left = rate.left_after(above.rate_bps()).unwrap_or(*rate);
                left.time_to_send(traffic.burst())
            }
            (Stage::Processing { .. }, Share::Port(..))
            | (Stage::Port { .. }, Share::Processing(_)) => {
                unreachable!("reservations are made for the kind of their stage")
            }
        }
    }
}
