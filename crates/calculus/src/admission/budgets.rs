//! The smallest budgets with which all of a set of flows is admitted.
//!
//! Budgets depend on bursts and bursts on the budgets before them. Starting from
//! the least, each round gives every stage the budget that the bursts of the last
//! round need. Budgets only grow from round to round, so they end at the smallest
//! that need no further change, or grow until a deadline is missed.
//!
//! The least is what a stage has already: nothing, or a budget that somebody
//! wants it to have at least, so that flows of its class find room later.

use units::Delay;

use super::aggregate::{Aggregate, Who};
pub use super::growth::Headroom;
use super::growth::least_budgets;
use super::load::StageLoad;
use super::plan::ReservationPlanner;
use super::request::Request;
use super::stage::{BestEffort, Stage, StageId};
use crate::bounds::processing::FrameBucket;

/// Returns `stages` with the smallest budgets, and `headroom` on them, that admit
/// all `requests` beside all `unpromised` work, or nothing if none do. No budget
/// is smaller than it was, and one that is needed by no request is left as it
/// was: to find the smallest of all, give processors a budget of zero and ports
/// none.
///
/// # Panics
///
/// If a stage is beyond the limits named in this module.
#[must_use]
pub fn suggest_budgets(
    stages: &[Stage],
    unpromised: &[(StageId, BestEffort)],
    requests: &[Request],
    headroom: Headroom,
) -> Option<Vec<Stage>> {
    stages.iter().for_each(Stage::assert_within_limits);
    let mut work = Vec::with_capacity(unpromised.len());
    for (id, unpromised) in unpromised {
        match stages.get(id.index())? {
            Stage::Processing { .. } => work.push((*id, unpromised.frames()?)),
            Stage::Port { .. } => return None,
        }
    }
    grow(stages, &work, requests, headroom)
}

/// Returns `stages` with the smallest budgets, none smaller than it is, that admit
/// all `requests` beside `unpromised` frames at processors, or nothing if none do.
pub(super) fn grown_to_admit(
    stages: &[Stage],
    unpromised: &[(StageId, FrameBucket)],
    requests: &[Request],
) -> Option<Vec<Stage>> {
    grow(stages, unpromised, requests, Headroom::default())
}

fn grow(
    stages: &[Stage],
    unpromised: &[(StageId, FrameBucket)],
    requests: &[Request],
    headroom: Headroom,
) -> Option<Vec<Stage>> {
    let mut stages = stages.to_vec();
    stages.iter_mut().for_each(start_from_least);
    let mut plan = ReservationPlanner::new(stages.len());
    for request in requests {
        plan.validate(request, &stages).ok()?;
    }
    // Each by itself: together they would be rounded up a little more.
    let requests = requests.iter().enumerate();
    let singly = requests.map(|(place, request)| Aggregate::of(request, Who::Asked(place)));
    let grown = least_budgets(&stages, unpromised, singly.collect(), headroom).ok()?;
    let mut stages = grown.stages;
    stages.iter_mut().for_each(drop_idle_classes);
    Some(stages)
}

/// Returns what all flows reserve if the budgets are those of `stages`, or
/// nothing if one of them misses its deadline or does not fit its link.
pub(super) fn loads_of(
    stages: &[Stage],
    unpromised: &[(StageId, FrameBucket)],
    requests: &[Request],
    plan: &mut ReservationPlanner,
) -> Option<Vec<StageLoad>> {
    let mut loads: Vec<_> = stages.iter().map(StageLoad::nothing).collect();
    for (id, frames) in unpromised {
        loads[id.index()].add_unpromised(*frames);
    }
    for request in requests {
        plan.draw(request, request.traffic(), stages).ok()?;
        plan.reserve(&mut loads, stages);
    }
    Some(loads)
}

/// Gives every class that can have promises a budget, if only of zero.
fn start_from_least(stage: &mut Stage) {
    match stage {
        Stage::Processing { .. } => {}
        Stage::Port { budgets, .. } => {
            for budget in budgets.iter_mut().skip(1) {
                *budget = Some(budget.unwrap_or_default());
            }
        }
    }
}

/// Takes the budget from classes that no flow uses: any other needs the time to
/// send a frame.
fn drop_idle_classes(stage: &mut Stage) {
    match stage {
        Stage::Processing { .. } => {}
        Stage::Port { budgets, .. } => {
            for budget in budgets {
                *budget = budget.filter(|budget| *budget > Delay::ZERO);
            }
        }
    }
}
