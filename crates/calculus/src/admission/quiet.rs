//! For how long what a flow has sent plays a role after it has stopped.
//!
//! Its last frame has left after its guarantee. But it may have filled a stage that has
//! worked without a pause since, and frames that it has held up may hold up others. So
//! budgets may forget it only when
//!
//! - no stage has worked since it was there: after the longest time for which one can;
//! - what is under way was held up by no more than the delays with which all others bound
//!   each other: after as many rounds of `D <- F(D)`, from the budgets, as it takes until
//!   nothing changes, each a busy period and a way through the network long.
//!
//! The proof is in `docs/promises.md`, "Budgets that follow the flows".

use units::Delay;

use super::budgets::loads_of;
use super::growth::{Headroom, needed_budget};
use super::ledger::{FlowId, Ledger};
use super::load::ReservedLoad;
use super::plan::ReservationPlanner;
use super::request::Request;
use super::stage::{Stage, StageId};
use crate::bounds::processing::FRAME;

/// How many rounds are gone at most.
const ROUNDS: u32 = 64;
const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Ledger {
    /// Returns how long after all of `leaving` have stopped nothing that they have sent
    /// plays a role, so that they may be withdrawn and budgets be chosen without them;
    /// nothing if that may be never, as a stage may have no pause.
    #[must_use]
    pub fn quiet_after(&self, leaving: &[FlowId]) -> Option<Delay> {
        let busy = self.longest_busy()?;
        let mut plan = ReservationPlanner::new(self.stages.len());
        let mut way = Delay::ZERO;
        for request in self.flows.values() {
            plan.draw(request, request.traffic(), &self.stages).ok()?;
            let latest = plan.leaves().iter().map(|leaf| leaf.latest);
            way = latest.chain(plan.second_copy).fold(way, Delay::max);
        }
        let rounds = self.rounds_without(leaving, &mut plan)?;
        Some(way + (busy + way) * u64::from(rounds))
    }

    /// Returns after how many rounds from the budgets delays do not change any more
    /// without some of the flows.
    fn rounds_without(&self, leaving: &[FlowId], plan: &mut ReservationPlanner) -> Option<u32> {
        let staying = self.requests().filter(|(id, _)| !leaving.contains(id));
        let staying: Vec<Request> = staying.map(|(_, request)| request.clone()).collect();
        let unpromised: Vec<_> = self.unpromised_work().collect();
        let mut delays = self.stages.clone();
        for round in 1..=ROUNDS {
            let loads = loads_of(&delays, &unpromised, &staying, plan)?;
            let mut changed = false;
            let mut met = delays.clone();
            for (id, load) in (0..).map(StageId).zip(&loads) {
                let needed = |class, budget: Delay| {
                    let needed = needed_budget(id, &delays, load, class, Headroom::default());
                    needed.map_or(budget, |needed| needed.min(budget))
                };
                match &mut met[id.index()] {
                    Stage::Processing { budget, .. } => *budget = needed(0, *budget),
                    Stage::Port { budgets, .. } => {
                        for (class, budget) in (0u8..).zip(budgets) {
                            *budget = budget.map(|budget| needed(class, budget));
                        }
                    }
                }
                changed |= met[id.index()] != delays[id.index()];
            }
            if !changed {
                return Some(round);
            }
            delays = met;
        }
        None
    }

    /// Returns the longest time for which a stage may work on what is promised without a
    /// pause; nothing if that has no end.
    fn longest_busy(&self) -> Option<Delay> {
        let mut longest = 0;
        for (stage, load) in self.stages.iter().zip(&self.loads) {
            for failure in load.cases() {
                longest = longest.max(busy(stage, &load.total(failure))?);
            }
        }
        u64::try_from(longest).ok().map(Delay::from_ps)
    }
}

/// Returns for how many picoseconds a stage may work without a pause: until what it can
/// do has caught up with what may come.
fn busy(stage: &Stage, load: &ReservedLoad) -> Option<u128> {
    match (stage, load) {
        (
            Stage::Processing {
                latency, per_frame, ..
            },
            ReservedLoad::Processing(frames),
        ) => {
            let per_frame = u128::from(per_frame.as_ps());
            let second = u128::from(FRAME) * PS_PER_SECOND;
            let work = u128::from(frames.burst) * per_frame;
            let once = u128::from(latency.as_ps()) + work.div_ceil(u128::from(FRAME));
            let left = second.checked_sub(u128::from(frames.rate_per_second) * per_frame)?;
            catch_up(once, second, left)
        }
        (
            Stage::Port {
                rate,
                largest_frame,
                ..
            },
            ReservedLoad::Port(classes),
        ) => {
            let used = classes
                .iter()
                .filter(|class| class.traffic.burst().as_bits() > 0);
            let mut bits = u128::from(largest_frame.as_bits());
            let mut bps = 0;
            for class in used {
                bits += u128::from(class.traffic.burst().as_bits());
                bps += u128::from(class.traffic.rate_bps());
            }
            let rate = u128::from(rate.as_bps());
            let once = (bits * PS_PER_SECOND).div_ceil(rate);
            catch_up(once, rate, rate.checked_sub(bps)?)
        }
        (Stage::Processing { .. }, ReservedLoad::Port(_))
        | (Stage::Port { .. }, ReservedLoad::Processing(_)) => {
            unreachable!("a load is made for the kind of its stage")
        }
    }
}

/// Returns how long work of a length takes if only a part of the whole is left for it.
fn catch_up(once: u128, whole: u128, left: u128) -> Option<u128> {
    (left > 0).then_some(())?;
    Some(once.checked_mul(whole)?.div_ceil(left))
}

#[cfg(test)]
mod tests {
    use units::{BitRate, DataSize};

    use super::super::fit::Spare;
    use super::super::request::Tree;
    use super::*;
    use crate::bounds::strict_priority::CLASSES;

    const FRAME: DataSize = DataSize::from_bytes(1_250);

    /// One port of 100 Mbit/s. A burst of 10 frames of 100 us at 50 Mbit/s behind a frame
    /// in the way: the link may be busy for (10 + 1) * 100 us / (1 - 1/2), the last frame
    /// has left after 1.1 ms, and nobody else is there, so one round does.
    #[test]
    fn the_wait_of_a_flow_that_is_alone_is_its_way_and_a_pause() {
        let mut ledger = Ledger::fitted(vec![port()], Spare::None);
        let alone = ledger.admit(flow(50)).unwrap();

        let wait = ledger.quiet_after(&[alone.id]).unwrap();

        let (way, busy) = (Delay::from_us(1_100), Delay::from_us(2_200));
        let rounds = (wait.saturating_sub(way)).as_ps() / (way + busy).as_ps();
        assert_eq!(wait, way + (way + busy) * rounds);
        assert!((1..=2).contains(&rounds), "{rounds}");
    }

    #[test]
    fn a_link_that_is_full_has_no_pause() {
        let mut ledger = Ledger::fitted(vec![port()], Spare::None);
        let alone = ledger.admit(flow(100)).unwrap();

        assert_eq!(ledger.quiet_after(&[alone.id]), None);
    }

    fn port() -> Stage {
        let mut budgets = [None; CLASSES];
        budgets[5] = Some(Delay::ZERO);
        Stage::Port {
            rate: BitRate::from_mbps(100),
            propagation: Delay::ZERO,
            budgets,
            buffers: [None; CLASSES],
            largest_frame: FRAME,
        }
    }

    fn flow(mbps: u64) -> Request {
        Request {
            class: 5,
            rate: BitRate::from_mbps(mbps),
            burst: FRAME * 10,
            peak: None,
            frames: None,
            largest_frame: FRAME,
            smallest_frame: FRAME,
            deadline: Delay::from_us(100_000),
            initial: Delay::ZERO,
            base: Tree::path([StageId(0)]),
            alternatives: Vec::new(),
            is_held_back: false,
            redundant: None,
        }
    }
}
