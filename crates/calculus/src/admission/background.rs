//! What frames really meet with the flows that there are: the second tier of
//! `calculus`, slower than a decision and run beside it.
//!
//! A promise counts the budget of each stage, whoever else is admitted later. With
//! the flows that are there now, frames are late by less, and come in smaller
//! bursts to the stages behind. Let `F(D)` be the bounds of all stages for flows
//! that are late by no more than `D` at each. Admission has seen to it that
//! `F(B) <= B` for the budgets `B`. As `F` never falls where `D` grows,
//!
//! ```text
//! D(0) = B,    D(k+1) = F(D(k)) <= D(k)
//! ```
//!
//! and each of them is a bound: where `F(D) <= D`, nobody can be the first to be
//! later than `D`, which is the proof in `docs/promises.md` word for word, also on
//! cycles. So it may stop after any round, and stops where nothing changes. All
//! that the ledger counts is in it: trees once at each stage, copies, peaks, what
//! comes over one link, frames without promise and those in the way.
//!
//! # Left out
//!
//! The least fixed point, if there are several: this one is approached from above.

use units::Delay;

use super::budgets::loads_of;
use super::check::worst_delay;
use super::ledger::{FlowId, Ledger};
use super::plan::ReservationPlanner;
use super::refusal::Refusal;
use super::request::Request;
use super::stage::{Stage, StageId};
use crate::bounds::strict_priority::CLASSES;

/// After how many rounds it stops, whether or not anything changes.
const ROUNDS: usize = 64;

/// Which failures the bounds hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureScope {
    /// None: each flow is on its base tree.
    Unbroken,
    /// Any one of those that are provided for, and the change of trees.
    AnyFailure,
}

/// Bounds of the flows that there are.
#[derive(Clone, Debug)]
pub struct Background {
    network: FailureScope,
    /// The stages, with what frames meet there in place of the budgets.
    stages: Vec<Stage>,
    rounds: usize,
}

/// What a flow meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// The longest that any frame takes to any receiver.
    pub delay: Delay,
    /// The same for each leaf of the base tree, by its place in the tree, while
    /// nothing is broken.
    pub leaves: Vec<(usize, Delay)>,
}

impl Background {
    /// Bounds what the flows of a ledger meet.
    #[must_use]
    pub fn of(ledger: &Ledger, network: FailureScope) -> Self {
        let requests: Vec<_> = ledger
            .requests()
            .map(|(_, it)| seen_in(it, network))
            .collect();
        let mut plan = ReservationPlanner::new(ledger.stages().len());
        let mut background = Self {
            network,
            stages: ledger.stages().to_vec(),
            rounds: 0,
        };
        while background.rounds < ROUNDS {
            let bounds = bounds_after(&background.stages, ledger, &requests, &mut plan);
            let Some(stages) = bounds.filter(|it| no_longer(it, &background.stages)) else {
                break;
            };
            background.rounds += 1;
            if stages == background.stages {
                break;
            }
            background.stages = stages;
        }
        background
    }

    /// Bounds what the flows of a ledger would meet with one more, and returns its
    /// number there. The ledger is not changed.
    ///
    /// # Errors
    ///
    /// Why the flow would not be admitted.
    pub fn what_if(
        ledger: &Ledger,
        request: &Request,
        network: FailureScope,
    ) -> Result<(Self, FlowId, Ledger), Refusal> {
        let mut ledger = ledger.clone();
        let admitted = ledger.admit(request.clone())?;
        Ok((Self::of(&ledger, network), admitted.id, ledger))
    }

    /// Returns the longest that a frame of `class` is at a stage, its propagation
    /// not counted; no time at all for a class without promises there.
    #[must_use]
    pub fn at(&self, stage: StageId, class: u8) -> Delay {
        self.stages[stage.index()].budget(class).unwrap_or_default()
    }

    /// Returns what a flow of the ledger meets, or nothing if there is no such flow.
    #[must_use]
    pub fn of_flow(&self, ledger: &Ledger, id: FlowId) -> Option<Met> {
        let request = seen_in(ledger.request(id)?, self.network);
        let mut plan = ReservationPlanner::new(self.stages.len());
        let drawn = plan.draw(&request, request.traffic(), &self.stages);
        drawn.expect("what is met takes no longer than the budgets");
        let leaves = plan.leaves().iter();
        let latest = leaves.clone().map(|leaf| leaf.latest);
        let base = leaves.filter(|leaf| leaf.failure.is_none());
        Some(Met {
            delay: latest.chain(plan.second_copy).max()?,
            leaves: base.map(|leaf| (leaf.hop, leaf.latest)).collect(),
        })
    }

    /// Returns after how many rounds it stopped.
    #[must_use]
    pub const fn rounds(&self) -> usize {
        self.rounds
    }
}

/// Returns what a flow reserves in the network.
fn seen_in(request: &Request, network: FailureScope) -> Request {
    let mut request = request.clone();
    match network {
        FailureScope::Unbroken => request.alternatives.clear(),
        FailureScope::AnyFailure => {}
    }
    request
}

/// Returns the stages with the bounds for flows that are late by the budgets of
/// `stages`, or nothing if there are none.
fn bounds_after(
    stages: &[Stage],
    ledger: &Ledger,
    requests: &[Request],
    plan: &mut ReservationPlanner,
) -> Option<Vec<Stage>> {
    let unpromised: Vec<_> = ledger.unpromised_work().collect();
    let loads = loads_of(stages, &unpromised, requests, plan)?;
    let bounds = stages.iter().zip(&loads).zip((0..).map(StageId));
    bounds
        .map(|((stage, load), id)| {
            let bound = |class| Some(worst_delay(id, stages, load, class)?.0);
            with_budgets(stage, bound)
        })
        .collect()
}

fn with_budgets(stage: &Stage, bound: impl Fn(u8) -> Option<Delay>) -> Option<Stage> {
    let mut stage = stage.clone();
    match &mut stage {
        Stage::Processing { budget, .. } => *budget = bound(0)?,
        Stage::Port { budgets, .. } => {
            for (class, budget) in (0u8..).zip(budgets) {
                if budget.is_some() {
                    *budget = Some(bound(class)?);
                }
            }
        }
    }
    Some(stage)
}

/// Returns whether no stage delays any class for longer than the same one of
/// `others`.
fn no_longer(stages: &[Stage], others: &[Stage]) -> bool {
    let mut pairs = stages.iter().zip(others);
    pairs.all(|(stage, other)| {
        let mut classes = (0u8..).take(CLASSES);
        classes.all(|class| stage.budget(class) <= other.budget(class))
    })
}

#[cfg(test)]
mod tests {
    use units::{BitRate, DataSize};

    use super::super::request::Tree;
    use super::*;

    const FRAME: DataSize = DataSize::from_bytes(1_250);

    #[test]
    fn room_in_budgets_is_not_met_by_frames() {
        let mut ledger = ledger();
        let id = ledger.admit(flow()).unwrap().id;

        let background = Background::of(&ledger, FailureScope::Unbroken);

        // 100 us behind a frame in the way, and at the next port the same again: its
        // own frame has not grown by a bit.
        let sent = BitRate::from_mbps(100).time_to_send(FRAME);
        assert_eq!(background.at(StageId(0), 5), sent * 2u64);
        let met = background.of_flow(&ledger, id).unwrap();
        assert!(met.delay >= sent * 4u64 && met.delay < sent * 4u64 + Delay::from_us(10));
        assert_eq!(met.leaves, [(1, met.delay)]);
    }

    #[test]
    fn one_flow_more_delays_others_and_is_only_tried() {
        let mut ledger = ledger();
        let id = ledger.admit(flow()).unwrap().id;
        let before = ledger.clone();
        let alone = Background::of(&ledger, FailureScope::Unbroken);

        let (beside, new, with) =
            Background::what_if(&ledger, &flow(), FailureScope::Unbroken).unwrap();

        assert_eq!(ledger, before);
        let delay = |background: &Background, ledger| background.of_flow(ledger, id).unwrap().delay;
        assert!(delay(&beside, &with) > delay(&alone, &ledger));
        assert!(beside.of_flow(&with, new).is_some());
        assert!(alone.of_flow(&ledger, new).is_none());
    }

    #[test]
    fn what_would_be_refused_meets_nothing() {
        let mut ledger = ledger();
        ledger.admit(flow()).unwrap();
        let hasty = Request {
            deadline: Delay::from_us(1),
            ..flow()
        };

        assert!(Background::what_if(&ledger, &hasty, FailureScope::AnyFailure).is_err());
    }

    /// Two ports of 100 Mbit/s with 10 ms each for class 5.
    fn ledger() -> Ledger {
        let mut budgets = [None; CLASSES];
        budgets[5] = Some(Delay::from_us(10_000));
        let port = Stage::Port {
            rate: BitRate::from_mbps(100),
            propagation: Delay::ZERO,
            budgets,
            buffers: [None; CLASSES],
            largest_frame: FRAME,
        };
        Ledger::new(vec![port; 2])
    }

    fn flow() -> Request {
        Request {
            class: 5,
            rate: BitRate::from_mbps(1),
            burst: FRAME,
            peak: None,
            frames: None,
            largest_frame: FRAME,
            smallest_frame: FRAME,
            deadline: Delay::from_us(50_000),
            initial: Delay::ZERO,
            base: Tree::path([StageId(0), StageId(1)]),
            alternatives: Vec::new(),
            is_held_back: false,
            redundant: None,
        }
    }
}
