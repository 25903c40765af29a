//! What a promise rests on, hop by hop.

use units::{DataSize, Delay};

use super::check::worst_delay;
use super::ledger::{FlowId, Ledger};
use super::load::ReservedLoad;
use super::plan::ReservationPlanner;
use super::reservation::{Reservation, Share};
use super::stage::{FailureId, Stage, StageId};
use crate::bounds::processing::FrameBucket;
use crate::bounds::strict_priority;
use crate::min_plus::TokenBucket;

/// What a flow was promised and what each hop of its base tree takes of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The deadline that was asked for.
    pub deadline: Delay,
    /// What the first link takes.
    pub initial: Delay,
    /// The hops of the base tree, in its order.
    pub hops: Vec<HopShare>,
}

/// What one hop takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopShare {
    /// The stage.
    pub stage: StageId,
    /// The place of the hop before this one.
    pub parent: Option<usize>,
    /// What the promise counts for the stage.
    pub budget: Delay,
    /// What the stage takes at most with the flows that are admitted now.
    pub bound: Delay,
    /// The failure under which that is so, if it is not always.
    pub bound_under: Option<FailureId>,
    /// What the link behind the stage takes.
    pub propagation: Delay,
    /// What the flow shares the stage with while nothing is broken.
    pub competition: Competition,
}

/// Who competes with a flow at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Competition {
    /// All frames compete for a processor.
    Processing {
        /// The flow's own frames; of two copies those of the base tree.
        own: FrameBucket,
        /// Those of all others.
        others: FrameBucket,
        /// The part of these that has no promise.
        unpromised: FrameBucket,
    },
    /// Those of its own class and of more urgent ones compete for a port.
    Port {
        /// The flow's own traffic as it arrives here; of two copies that of the base
        /// tree.
        own: TokenBucket,
        /// That of all others of its class.
        own_class: TokenBucket,
        /// That of the more urgent classes.
        more_urgent: TokenBucket,
        /// The largest frame that may be in the way when it arrives.
        blocking_frame: DataSize,
    },
}

impl Ledger {
    /// Explains the promise to flow `id`, or returns nothing if there is none.
    #[must_use]
    pub fn explain(&self, id: FlowId) -> Option<Explanation> {
        let request = self.request(id)?;
        let mut plan = ReservationPlanner::new(self.stages().len());
        let drawn = plan.draw(request, request.traffic(), self.stages());
        drawn.expect("it was drawn when it was admitted");
        let hops = request.base.hops.iter().zip(&plan.reservations);
        Some(Explanation {
            deadline: request.deadline,
            initial: request.initial,
            hops: hops
                .map(|(hop, reservation)| self.share_of(hop.parent, reservation))
                .collect(),
        })
    }

    fn share_of(&self, parent: Option<usize>, reservation: &Reservation) -> HopShare {
        let Reservation {
            stage: id, class, ..
        } = *reservation;
        let stage = &self.stages()[id.index()];
        let (bound, bound_under) = worst_delay(id, self.stages(), self.load(id), class)
            .expect("what was admitted has a bound");
        HopShare {
            stage: id,
            parent,
            budget: stage.budget(class).expect("what was admitted has a budget"),
            bound,
            bound_under,
            propagation: stage.propagation(),
            competition: self.competition(stage, reservation),
        }
    }

    fn competition(&self, stage: &Stage, reservation: &Reservation) -> Competition {
        let load = self.load(reservation.stage);
        match (stage, load.total(None), reservation.first().share) {
            (
                Stage::Processing { .. },
                ReservedLoad::Processing(frames),
                Share::Processing(own),
            ) => Competition::Processing {
                own,
                others: frames - own,
                unpromised: load.unpromised(),
            },
            (
                Stage::Port { largest_frame, .. },
                ReservedLoad::Port(classes),
                Share::Port(own, _),
            ) => {
                let class = usize::from(reservation.class);
                let more_urgent = classes[class + 1..].iter().map(|load| load.traffic);
                Competition::Port {
                    own,
                    own_class: classes[class].traffic - own,
                    more_urgent: more_urgent.sum(),
                    blocking_frame: strict_priority::blocking_frames(&classes, *largest_frame)
                        [class],
                }
            }
            (Stage::Processing { .. } | Stage::Port { .. }, _, _) => {
                unreachable!("loads and reservations are made for the kind of their stage")
            }
        }
    }
}
