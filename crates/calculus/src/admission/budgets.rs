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

use super::check::{stage_fits, worst_delay};
use super::load::StageLoad;
use super::plan::Plan;
use super::request::{MAX_DELAY, Request};
use super::stage::{Stage, StageId, Unpromised};
use crate::bounds::processing::FrameBucket;

/// How often budgets are grown before it is called hopeless.
const ROUNDS: usize = 1_000;
/// The most headroom that is looked for: a hundred times what is needed.
const MOST_HEADROOM: u32 = 10_000;
/// Budgets are whole nanoseconds, so that they read well and rounds end soon.
const GRAIN_PS: u64 = 1_000;

/// How much larger than needed a budget is made, for flows that come later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headroom {
    /// The part of what is needed that is added to it.
    pub percent: u32,
}

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
    unpromised: &[(StageId, Unpromised)],
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
    let mut plan = Plan::new(stages.len());
    for request in requests {
        plan.validate(request, &stages).ok()?;
    }
    for _ in 0..ROUNDS {
        let loads = loads_of(&stages, unpromised, requests, &mut plan)?;
        let mut grown = stages.clone();
        for ((id, stage), load) in (0..).map(StageId).zip(&mut grown).zip(&loads) {
            grow_budgets(stage, (id, &stages, load), headroom)?;
        }
        if grown == stages {
            if !all_fit(&stages, &loads) {
                return None; // A buffer is too small.
            }
            stages.iter_mut().for_each(drop_idle_classes);
            return Some(stages);
        }
        stages = grown;
    }
    None
}

/// Returns the budgets for all `requests` with the most headroom that their
/// deadlines allow, in proportion to what each stage needs, and how much that is.
/// Nothing if there are none even without headroom.
///
/// The smallest budgets leave no room for a flow that comes later. These leave no
/// more of the deadlines than rounding, and at each stage the same part of what
/// it needs is room.
///
/// # Panics
///
/// If a stage is beyond the limits named in this module.
#[must_use]
pub fn suggest_roomiest_budgets(
    stages: &[Stage],
    unpromised: &[(StageId, Unpromised)],
    requests: &[Request],
) -> Option<(Headroom, Vec<Stage>)> {
    let suggest = |percent| {
        let headroom = Headroom { percent };
        let stages = suggest_budgets(stages, unpromised, requests, headroom)?;
        Some((headroom, stages))
    };
    let mut roomiest = suggest(0)?;
    let (mut fitting, mut beyond) = (0, MOST_HEADROOM + 1);
    while beyond - fitting > 1 {
        let middle = fitting + (beyond - fitting) / 2;
        match suggest(middle) {
            Some(roomier) => (roomiest, fitting) = (roomier, middle),
            None => beyond = middle,
        }
    }
    Some(roomiest)
}

/// The budgets for as many requests as possible, and which these are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The stages with their budgets.
    pub stages: Vec<Stage>,
    /// The places of the requests for which there are no budgets beside those of
    /// the requests before them.
    pub left_out: Vec<usize>,
}

/// Suggests budgets as [`suggest_budgets`] does, but leaves out a request that
/// does not fit beside those before it: the most important ones stand first.
/// Returns nothing if there are no budgets even without requests.
///
/// # Panics
///
/// If a stage is beyond the limits named in this module.
#[must_use]
pub fn suggest_budgets_for_most(
    stages: &[Stage],
    unpromised: &[(StageId, Unpromised)],
    requests: &[Request],
    headroom: Headroom,
) -> Option<Suggestion> {
    let suggest = |chosen: &[Request]| suggest_budgets(stages, unpromised, chosen, headroom);
    let mut suggestion = Suggestion {
        stages: suggest(&[])?,
        left_out: Vec::new(),
    };
    let mut chosen = Vec::new();
    let mut next = 0;
    while next < requests.len() {
        // More never fit where fewer do not, so halving finds the first culprit.
        let (mut fitting, mut beyond) = (0, requests.len() - next + 1);
        while beyond - fitting > 1 {
            let middle = fitting + (beyond - fitting) / 2;
            let candidates = [chosen.as_slice(), &requests[next..next + middle]].concat();
            match suggest(&candidates) {
                Some(stages) => (suggestion.stages, fitting) = (stages, middle),
                None => beyond = middle,
            }
        }
        chosen.extend_from_slice(&requests[next..next + fitting]);
        next += fitting;
        if next < requests.len() {
            suggestion.left_out.push(next);
            next += 1;
        }
    }
    Some(suggestion)
}

/// Returns what all flows reserve if the budgets are those of `stages`, or
/// nothing if one of them misses its deadline or does not fit its link.
pub(super) fn loads_of(
    stages: &[Stage],
    unpromised: &[(StageId, FrameBucket)],
    requests: &[Request],
    plan: &mut Plan,
) -> Option<Vec<StageLoad>> {
    let mut loads: Vec<_> = stages.iter().map(StageLoad::nothing).collect();
    for (id, frames) in unpromised {
        loads[id.index()].add_unpromised(*frames);
    }
    for request in requests {
        plan.draw(request, request.traffic(), stages).ok()?;
        for reservation in &plan.reservations {
            let at = reservation.stage.index();
            loads[at].reserve(reservation, &stages[at]);
        }
    }
    Some(loads)
}

/// Gives a stage the budgets that it needs, where it has smaller ones.
fn grow_budgets(
    stage: &mut Stage,
    (id, stages, load): (StageId, &[Stage], &StageLoad),
    headroom: Headroom,
) -> Option<()> {
    let needed = |class| with_headroom(worst_delay(id, stages, load, class)?.0, headroom);
    match stage {
        Stage::Processing { budget, .. } => *budget = needed(0)?.max(*budget),
        Stage::Port { budgets, .. } => {
            for (class, budget) in (0u8..).zip(budgets) {
                if let Some(budget) = budget {
                    *budget = needed(class)?.max(*budget);
                }
            }
        }
    }
    Some(())
}

fn with_headroom(needed: Delay, headroom: Headroom) -> Option<Delay> {
    let hundredths = u128::from(needed.as_ps()) * (100 + u128::from(headroom.percent));
    let grains = hundredths.div_ceil(100 * u128::from(GRAIN_PS));
    let ps = u64::try_from(grains * u128::from(GRAIN_PS)).ok()?;
    Some(Delay::from_ps(ps)).filter(|budget| *budget <= MAX_DELAY)
}

fn all_fit(stages: &[Stage], loads: &[StageLoad]) -> bool {
    let mut all = (0..).map(StageId).zip(loads);
    all.all(|(id, load)| stage_fits(id, stages, load, 0).is_ok())
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
