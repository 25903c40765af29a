//! The least delays with which flows bound each other.
//!
//! Let `F(D)` be the bounds of all stages for flows that are late by no more than
//! `D` at each. Delays with `F(D) <= D` are delays that nobody can be the first to
//! exceed (`docs/promises.md`). `F` grows with `D`, so from the least that a stage is
//! to have, `D <- max(D, F(D))` climbs to the least of them, or until a deadline is
//! missed: then no delays admit the flows. A stage whose arrivals have not changed
//! is not looked at again, and flows of the same ways climb as one.
//!
//! The climb may begin with delays that admit most of the flows, and with what these
//! reserve: then it looks at nothing but what the others change. From there it may miss
//! the least delays if these are smaller, so it may fail where one from nothing does not.

use units::Delay;

use super::aggregate::{Aggregate, Who};
use super::check::{stage_fits, worst_delay};
use super::load::StageLoad;
use super::plan::ReservationPlanner;
use super::refusal::{Breach, Constraint};
use super::request::MAX_DELAY;
use super::reservation::Reservation;
use super::stage::{Stage, StageId};
use crate::bounds::processing::FrameBucket;

/// How often delays are grown before it is called hopeless.
const ROUNDS: usize = 20_000;
/// Delays are whole nanoseconds, so that they read well and rounds end soon.
const GRAIN_PS: u64 = 1_000;

/// How much larger than needed a budget is made, for flows that come later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headroom {
    /// The part of what is needed that is added to it.
    pub percent: u32,
}

/// Why there are no delays with which flows bound each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsolvable {
    /// Whose deadline would be missed, if it is a matter of one.
    pub(super) who: Option<Who>,
    /// What would not hold.
    pub(super) breach: Breach,
}

/// Delays with which flows bound each other, and what they reserve then.
#[derive(Clone, Debug)]
pub(super) struct Grown {
    pub(super) stages: Vec<Stage>,
    pub(super) loads: Vec<StageLoad>,
}

/// Delays on their way to the least that hold.
struct Growth<'a> {
    /// The delays from which they began.
    first: Vec<Stage>,
    stages: Vec<Stage>,
    loads: Vec<StageLoad>,
    aggregates: Vec<Growing<'a>>,
    /// The aggregates that pass each stage on any of their ways.
    through: Vec<Vec<usize>>,
    /// Stages to which more comes than when they were last looked at.
    changed: Vec<bool>,
    /// Stages that have been looked at.
    looked_at: Vec<bool>,
    plan: ReservationPlanner,
    headroom: Headroom,
}

/// An aggregate, and what it reserves with the delays reached so far: what its flows had
/// reserved before, where nothing is said.
struct Growing<'a> {
    aggregate: Aggregate<'a>,
    reservations: Option<Vec<Reservation>>,
}

/// Returns `stages` with the least budgets, none smaller than it is, with which all
/// flows, which are valid, fit beside `unpromised` frames at processors; each is
/// larger by `headroom` than what is needed.
///
/// # Errors
///
/// What keeps it from being possible.
pub(super) fn least_budgets(
    stages: &[Stage],
    unpromised: &[(StageId, FrameBucket)],
    aggregates: Vec<Aggregate<'_>>,
    headroom: Headroom,
) -> Result<Grown, Unsolvable> {
    let mut loads: Vec<_> = stages.iter().map(StageLoad::nothing).collect();
    for (id, frames) in unpromised {
        loads[id.index()].add_unpromised(*frames);
    }
    let mut growth = Growth::new(stages, loads, aggregates, headroom);
    growth.changed.fill(true);
    for growing in &mut growth.aggregates {
        growing.reservations = Some(Vec::new());
    }
    (0..growth.aggregates.len()).try_for_each(|number| growth.draw(number))?;
    growth.end()
}

/// Returns `stages` with budgets, none smaller than it is, with which all flows, which
/// are valid, fit. Those of them that have a promise keep the budgets of `stages` among
/// themselves, and `loads` is what they have reserved.
///
/// # Errors
///
/// What keeps it from being possible with budgets that are no smaller.
pub(super) fn larger_budgets(
    stages: &[Stage],
    loads: Vec<StageLoad>,
    aggregates: Vec<Aggregate<'_>>,
) -> Result<Grown, Unsolvable> {
    let mut growth = Growth::new(stages, loads, aggregates, Headroom::default());
    for number in 0..growth.aggregates.len() {
        if growth.aggregates[number].aggregate.is_joined {
            growth.draw(number)?;
        }
    }
    growth.end()
}

impl<'a> Growth<'a> {
    fn new(
        stages: &[Stage],
        loads: Vec<StageLoad>,
        aggregates: Vec<Aggregate<'a>>,
        headroom: Headroom,
    ) -> Self {
        let mut through = vec![Vec::new(); stages.len()];
        for (number, aggregate) in aggregates.iter().enumerate() {
            for stage in aggregate.hastiest.stages() {
                let known: &mut Vec<usize> = &mut through[stage.index()];
                if known.last() != Some(&number) {
                    known.push(number);
                }
            }
        }
        let growing = aggregates.into_iter().map(|aggregate| Growing {
            aggregate,
            reservations: None,
        });
        Self {
            first: stages.to_vec(),
            stages: stages.to_vec(),
            loads,
            aggregates: growing.collect(),
            through,
            changed: vec![false; stages.len()],
            looked_at: vec![false; stages.len()],
            plan: ReservationPlanner::new(stages.len()),
            headroom,
        }
    }

    /// Climbs until nothing changes.
    fn end(mut self) -> Result<Grown, Unsolvable> {
        for _ in 0..ROUNDS {
            if !self.climb()? {
                return self.finish();
            }
        }
        Err(Unsolvable::of(self.hopeless()))
    }

    /// Gives every stage to which more comes the budgets that it needs, and lets what
    /// that delays come later. Returns whether any has changed.
    fn climb(&mut self) -> Result<bool, Unsolvable> {
        let mut delayed = vec![false; self.aggregates.len()];
        let mut grown = false;
        for at in 0..self.stages.len() {
            if !std::mem::take(&mut self.changed[at]) {
                continue;
            }
            self.looked_at[at] = true;
            let stage = self.grown(at)?;
            if stage != self.stages[at] {
                self.stages[at] = stage;
                grown = true;
                for number in &self.through[at] {
                    delayed[*number] = true;
                }
            }
        }
        for (number, _) in delayed.iter().enumerate().filter(|(_, delayed)| **delayed) {
            self.draw(number)?;
        }
        Ok(grown)
    }

    /// Reserves for an aggregate what it brings with the delays reached so far.
    fn draw(&mut self, number: usize) -> Result<(), Unsolvable> {
        let Growing {
            aggregate,
            reservations,
        } = &mut self.aggregates[number];
        let reserved = match reservations.take() {
            Some(reserved) => reserved,
            None => stood(aggregate, &mut self.plan, &self.first),
        };
        let drawn = self.plan.draw_sent(aggregate.sent(), &self.stages);
        drawn.map_err(|breach| Unsolvable {
            who: Some(aggregate.who),
            breach,
        })?;
        if reserved != self.plan.reservations {
            for reservation in &reserved {
                let at = reservation.stage.index();
                self.loads[at].release(reservation, &self.stages[at]);
            }
            for reservation in &self.plan.reservations {
                let at = reservation.stage.index();
                self.loads[at].reserve(reservation, &self.stages[at]);
                self.changed[at] = true;
            }
        } else {
            // What came over one link may be denser behind a processor all the same.
            for reservation in reserved.iter().filter(|it| it.has_link()) {
                self.changed[reservation.stage.index()] = true;
            }
        }
        *reservations = Some(self.plan.reservations.clone());
        Ok(())
    }

    /// Returns a stage with the budgets that it needs, where it has smaller ones.
    fn grown(&self, at: usize) -> Result<Stage, Unsolvable> {
        let id = id(at);
        let needed = |class| {
            let needed = needed_budget(id, &self.stages, &self.loads[at], class, self.headroom);
            needed.ok_or_else(|| Unsolvable::of(self.unbounded(at, class)))
        };
        let mut stage = self.stages[at].clone();
        match &mut stage {
            Stage::Processing { budget, .. } => *budget = needed(0)?.max(*budget),
            Stage::Port { budgets, .. } => {
                for (class, budget) in (0u8..).zip(budgets) {
                    if let Some(budget) = budget {
                        *budget = needed(class)?.max(*budget);
                    }
                }
            }
        }
        Ok(stage)
    }

    /// Returns why there is no bound at a stage.
    fn unbounded(&self, at: usize, class: u8) -> Breach {
        let fits = stage_fits(id(at), &self.stages, &self.loads[at], class);
        fits.err().unwrap_or(Breach {
            stage: Some(id(at)),
            failure: None,
            constraint: Constraint::Unbounded {
                class,
                allowed: MAX_DELAY,
            },
        })
    }

    /// Returns a breach at a stage whose delays still grow.
    fn hopeless(&self) -> Breach {
        let at = self.changed.iter().position(|changed| *changed);
        self.unbounded(at.unwrap_or_default(), 0)
    }

    /// Returns the stages with their budgets, if the buffers are large enough.
    fn finish(self) -> Result<Grown, Unsolvable> {
        let loads = self.loads.iter().zip(&self.looked_at).enumerate();
        for (at, (load, _)) in loads.filter(|(_, (_, looked_at))| **looked_at) {
            stage_fits(id(at), &self.stages, load, 0).map_err(Unsolvable::of)?;
        }
        Ok(Grown {
            stages: self.stages,
            loads: self.loads,
        })
    }
}

/// Returns what is reserved for the flows of an aggregate that have a promise, with the
/// budgets of `stages`.
fn stood(
    aggregate: &Aggregate<'_>,
    plan: &mut ReservationPlanner,
    stages: &[Stage],
) -> Vec<Reservation> {
    let mut stood = Vec::new();
    for sent in &aggregate.standing {
        let drawn = plan.draw_sent(*sent, stages);
        drawn.expect("what is promised keeps its deadline");
        stood.extend_from_slice(&plan.reservations);
    }
    stood
}

impl Unsolvable {
    const fn of(breach: Breach) -> Self {
        Self { who: None, breach }
    }
}

fn id(at: usize) -> StageId {
    StageId(u32::try_from(at).expect("memory ends before numbers"))
}

/// Returns the budget that a class needs at a stage, and nothing if none is enough.
pub(super) fn needed_budget(
    stage: StageId,
    stages: &[Stage],
    load: &StageLoad,
    class: u8,
    headroom: Headroom,
) -> Option<Delay> {
    let (delay, _) = worst_delay(stage, stages, load, class)?;
    with_headroom(delay, headroom)
}

fn with_headroom(needed: Delay, headroom: Headroom) -> Option<Delay> {
    let hundredths = u128::from(needed.as_ps()) * (100 + u128::from(headroom.percent));
    let grains = hundredths.div_ceil(100 * u128::from(GRAIN_PS));
    let ps = u64::try_from(grains * u128::from(GRAIN_PS)).ok()?;
    Some(Delay::from_ps(ps)).filter(|budget| *budget <= MAX_DELAY)
}
