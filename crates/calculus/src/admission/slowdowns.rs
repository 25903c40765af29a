//! How much slower switches may be than stated.
//!
//! A deadline holds for some slowness of all processors together as long as there are
//! delays that bound each other with these (`growth`), whatever the budgets are that were
//! chosen. The slower they are, the longer these delays; so for each flow there is a
//! slowness up to which its deadline holds, and halving finds it. Deadlines of other flows
//! do not count there: they are late or not.

use std::collections::BTreeMap;

use units::Delay;

use super::aggregate::{asked, gather};
use super::fit::{Slowdown, slowed};
use super::growth::{Headroom, least_budgets};
use super::ledger::{FlowId, Ledger};
use super::load::ReservedLoad;
use super::plan::ReservationPlanner;
use super::request::{MAX_DELAY, Request};
use super::stage::{Stage, StageId};
use crate::bounds::processing::FRAME;

/// Between no slowdown and the most lie 64 to the power of k/128: 3.3 % apart.
const STEPS: u32 = 7;
/// Beyond so many flows fewer have to do: 30 % apart.
const MANY: usize = 2_000;
const FEW_STEPS: u32 = 4;

/// Flows with a promise.
type Promised<'a> = Vec<(FlowId, &'a Request)>;

/// Flows whose deadlines hold with one slowdown and not with another.
struct Between<'a> {
    flows: Promised<'a>,
    holds: Slowdown,
    fails: Slowdown,
    steps: u32,
}

impl Ledger {
    /// Returns for each promise how many times as long as stated all processors may take,
    /// latency and frames alike, with its deadline kept: a lower bound, nearer than 4 %
    /// for up to 2,000 flows. It takes many times as long as an admission.
    #[must_use]
    pub fn slowdowns(&self) -> BTreeMap<FlowId, Slowdown> {
        let patient: Vec<Request> = self
            .requests()
            .map(|(_, request)| Request {
                deadline: MAX_DELAY,
                ..request.clone()
            })
            .collect();
        let all: Vec<_> = self.requests().collect();
        let steps = match all.len() > MANY {
            true => FEW_STEPS,
            false => STEPS,
        };
        let mut found = BTreeMap::new();
        let (held, late) = self.apart(&patient, all, Slowdown::MOST);
        found.extend(held.into_iter().map(|(id, _)| (id, Slowdown::MOST)));
        let mut open = vec![Between {
            flows: late,
            holds: Slowdown::NONE,
            fails: Slowdown::MOST,
            steps,
        }];
        while let Some(between) = open.pop() {
            let Between {
                flows,
                holds,
                fails,
                steps,
            } = between;
            if steps == 0 || flows.is_empty() {
                found.extend(flows.into_iter().map(|(id, _)| (id, holds)));
                continue;
            }
            let middle = holds.between(fails);
            let (held, late) = self.apart(&patient, flows, middle);
            let steps = steps - 1;
            open.push(Between {
                flows: held,
                holds: middle,
                fails,
                steps,
            });
            open.push(Between {
                flows: late,
                holds,
                fails: middle,
                steps,
            });
        }
        found
    }

    /// Divides flows into those whose deadlines hold if processors are slower, and the
    /// others: all if there are no delays then, or a buffer does not hold what waits.
    fn apart<'a>(
        &self,
        patient: &[Request],
        flows: Promised<'a>,
        slower: Slowdown,
    ) -> (Promised<'a>, Promised<'a>) {
        let slowed: Vec<Stage> = self
            .stages
            .iter()
            .map(|stage| without_budgets(slowed(stage, slower)))
            .collect();
        let unpromised: Vec<_> = self.unpromised_work().collect();
        let mut aggregates = Vec::new();
        gather(&mut aggregates, asked(patient));
        let none = Headroom::default();
        let Ok(grown) = least_budgets(&slowed, &unpromised, aggregates, none) else {
            return (Vec::new(), flows);
        };
        let stages = grown.stages;
        let mut plan = ReservationPlanner::new(stages.len());
        flows.into_iter().partition(|(_, request)| {
            let drawn = plan.draw(request, request.traffic(), &stages);
            drawn.is_ok()
        })
    }

    /// Returns how much of the time a processor works at most in the long run, in
    /// thousandths rounded up, and how much of that is for frames without promise; nothing
    /// for a port.
    #[must_use]
    pub fn busy(&self, stage: StageId) -> Option<(u64, u64)> {
        let Stage::Processing { per_frame, .. } = &self.stages[stage.index()] else {
            return None;
        };
        let thousandths = |rate_per_second: u64| {
            let work = u128::from(rate_per_second) * u128::from(per_frame.as_ps());
            let second = u128::from(FRAME) * 1_000_000_000_000;
            u64::try_from((work * 1_000).div_ceil(second)).unwrap_or(u64::MAX)
        };
        let load = &self.loads[stage.index()];
        let rates = load.cases().map(|failure| match load.total(failure) {
            ReservedLoad::Processing(frames) => frames.rate_per_second,
            ReservedLoad::Port(_) => 0,
        });
        let all = rates.max().unwrap_or_default();
        Some((
            thousandths(all),
            thousandths(load.unpromised().rate_per_second),
        ))
    }
}

/// Returns a stage that delays nobody yet.
fn without_budgets(mut stage: Stage) -> Stage {
    match &mut stage {
        Stage::Processing { budget, .. } => *budget = Delay::ZERO,
        Stage::Port { budgets, .. } => {
            for budget in budgets.iter_mut().flatten() {
                *budget = Delay::ZERO;
            }
        }
    }
    stage
}
