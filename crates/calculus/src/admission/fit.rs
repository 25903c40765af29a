//! Budgets that follow the flows (`S4-6`).
//!
//! A ledger whose budgets are fitted decides by them as any other does, and where
//! they refuse a request they are chosen anew, for what is promised and what is
//! asked for: the least with which all flows bound each other (`growth`). Whatever
//! is refused then has no budgets at all. What the deadlines leave beyond the least
//! is shared out: budgets are those with which every deadline would hold if all
//! processors took so many times as long as they do, so that flows which come later
//! mostly find room without another choice.
//!
//! New budgets are promises about the same frames: the new flow may be thought of as
//! one that has been there all the time and sent nothing (`docs/promises.md`,
//! "Budgets that follow the flows").

use std::fmt;
use std::sync::Arc;

use units::Delay;

use super::aggregate::Who;
use super::correction::{ProcessorTimes, with_times};
use super::groups::{Groups, PromisedFlows};
use super::growth::{Grown, Headroom, Unsolvable, larger_budgets, least_budgets, needed_budget};
use super::largest::Largest;
use super::ledger::{FlowId, Ledger};
use super::load::StageLoad;
use super::refusal::{Fits, Refusal};
use super::request::{MAX_DELAY, Request};
use super::stage::{Stage, StageId};
use crate::bounds::processing::FrameBucket;

/// How many times as long as stated processors may take, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slowdown {
    thousandths: u32,
}

impl Slowdown {
    /// As long as stated.
    pub const NONE: Self = Self { thousandths: 1_000 };
    /// The most that is looked for.
    pub const MOST: Self = Self {
        thousandths: 64_000,
    };

    /// Returns the factor in thousandths: 1,000 for no slowdown at all.
    #[must_use]
    pub const fn thousandths(self) -> u32 {
        self.thousandths
    }

    /// Returns `delay` as many times as long, but no longer than any promise lasts.
    fn of(self, delay: Delay) -> Delay {
        let ps = u128::from(delay.as_ps()) * u128::from(self.thousandths);
        let ps = u64::try_from(ps.div_ceil(1_000));
        ps.map_or(MAX_DELAY, |ps| Delay::from_ps(ps).min(MAX_DELAY))
    }

    /// Returns the factor between two, nearer to the smaller one.
    pub(super) fn between(self, other: Self) -> Self {
        let product = u64::from(self.thousandths) * u64::from(other.thousandths);
        let thousandths = u32::try_from(product.isqrt()).unwrap_or(self.thousandths);
        Self { thousandths }
    }
}

impl fmt::Display for Slowdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{}",
            self.thousandths / 1_000,
            self.thousandths / 100 % 10
        )
    }
}

/// How budgets are fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spare {
    /// To what the deadlines leave.
    #[default]
    Shared,
    /// To the least: nothing is left for flows that come later.
    None,
}

/// Budgets that a ledger had at some time.
#[derive(Clone, Debug)]
pub struct Chosen {
    stages: Vec<Stage>,
    slowdown: Slowdown,
    choices: u64,
}

/// What a ledger knows that fits its budgets.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// The stages with the least budgets that they are to have.
    pub(super) floors: Vec<Stage>,
    spare: Spare,
    /// How much slower processors may be with the budgets that there are.
    slowdown: Slowdown,
    /// How often budgets have been chosen.
    choices: u64,
    /// What is promised, by ways.
    pub(super) groups: Groups,
    /// Whether budgets may be too small for what is not promised, if processors are slower.
    starts_from_nothing: bool,
}

/// Steps in which the largest slowdown is looked for: 64 to the power of 1/1024 is
/// less than half a percent.
const STEPS: u32 = 10;
/// Beyond so many flows times stages fewer steps have to do: 64 to the power of 1/16 is
/// 30 %.
const MANY: usize = 2_000_000;
const FEW_STEPS: u32 = 4;
/// With more flows it is not looked for what would have been admitted instead.
const MOST_SEARCHED: usize = 500;

impl Ledger {
    /// Starts with no promises and budgets that are fitted to those which are made.
    /// The budgets of `floors` are the least that there are; a class without a budget
    /// has no promises there.
    ///
    /// # Panics
    ///
    /// If a stage is beyond the limits named in this module, or a port has a budget
    /// for class 0.
    #[must_use]
    pub fn fitted(floors: Vec<Stage>, spare: Spare) -> Self {
        let mut ledger = Self::new(floors.clone());
        ledger.fit = Some(Fit {
            floors,
            spare,
            slowdown: Slowdown::MOST,
            choices: 0,
            groups: Groups::default(),
            starts_from_nothing: false,
        });
        ledger
    }

    /// Returns how many times as long as stated every processor may take with no
    /// deadline missed, nothing where budgets are fixed. It is the largest but for
    /// half a percent, and a lower bound since the last choice of budgets.
    #[must_use]
    pub fn slowdown(&self) -> Option<Slowdown> {
        self.fit.as_ref().map(|fit| fit.slowdown)
    }

    /// Returns how often budgets have been chosen: guarantees may have changed when
    /// this has.
    #[must_use]
    pub fn choices(&self) -> u64 {
        self.fit.as_ref().map_or(0, |fit| fit.choices)
    }

    /// Returns the budgets that there are.
    #[must_use]
    pub fn chosen(&self) -> Chosen {
        Chosen {
            stages: self.stages.clone(),
            slowdown: self.slowdown().unwrap_or(Slowdown::NONE),
            choices: self.choices(),
        }
    }

    /// Goes back to budgets that there were when no fewer flows were promised. Stages
    /// that have been added since keep theirs.
    pub fn choose_again(&mut self, before: &Chosen) {
        let Some(fit) = self.fit.as_mut() else {
            return;
        };
        if fit.choices == before.choices {
            return;
        }
        (fit.slowdown, fit.choices) = (before.slowdown, before.choices);
        for (stage, then) in self.stages.iter_mut().zip(&before.stages) {
            stage.clone_from(then);
        }
        self.reserve_all();
    }

    /// Chooses budgets with which all that is promised fits, and as many of `expected`
    /// as possible, and returns which are left out. Nothing is promised to them. Where
    /// budgets are fixed they stay as they are, and nobody is left out.
    pub fn prepare(&mut self, expected: &[Request]) -> Largest {
        if self.fit.is_none() {
            return Largest::default();
        }
        let is_valid = |request: &Request| self.plan.validate(request, &self.stages).is_ok();
        if expected.iter().all(is_valid) && self.refit(&expected.iter().collect::<Vec<_>>()).is_ok()
        {
            return Largest::default();
        }
        let largest = self.largest(expected);
        let mut left_out = largest.left_out.iter().copied().peekable();
        let chosen = expected.iter().enumerate();
        let chosen: Vec<&Request> = chosen
            .filter(|(at, _)| left_out.next_if_eq(at).is_none())
            .map(|(_, request)| request)
            .collect();
        // What is promised fits with the budgets that there are, if with no better.
        let _ = self.refit(&chosen);
        largest
    }

    pub(super) fn can_fit(&mut self, with: &[&Request]) -> bool {
        let is_valid = |request: &&Request| self.plan.validate(request, &self.stages).is_ok();
        let valid = with.iter().all(is_valid);
        valid && (self.larger_with(with).is_some() || self.least_with(with, Slowdown::NONE).is_ok())
    }

    /// Chooses budgets for all that is promised and `with` beside it, which is valid.
    ///
    /// # Errors
    ///
    /// Why there are none. Nothing has changed then.
    pub(super) fn refit(&mut self, with: &[&Request]) -> Result<(), Refusal> {
        let (slowdown, grown) = self.fit_with(with)?;
        self.stages = grown.stages;
        self.loads = grown.loads;
        if let Some(fit) = &mut self.fit {
            fit.slowdown = slowdown;
            fit.choices += 1;
            fit.starts_from_nothing = false;
            fit.groups.gather(&self.flows);
        }
        self.release_asked(with);
        Ok(())
    }

    /// Takes back what has been reserved for `asked`, as one with the groups of the same
    /// ways.
    fn release_asked(&mut self, asked: &[&Request]) {
        let Some(fit) = &self.fit else {
            return;
        };
        let joined = fit.groups.aggregates(&self.flows, asked);
        for aggregate in joined.iter().filter(|aggregate| aggregate.is_joined) {
            let drawn = self.plan.draw_sent(aggregate.sent(), &self.stages);
            drawn.expect("budgets are chosen so that every deadline holds");
            self.plan.release(&mut self.loads, &self.stages);
            for sent in &aggregate.standing {
                let drawn = self.plan.draw_sent(*sent, &self.stages);
                drawn.expect("budgets are chosen so that every deadline holds");
                self.plan.reserve(&mut self.loads, &self.stages);
            }
        }
    }

    /// Takes a flow out of the group for which something is reserved; returns whether it
    /// was in one.
    pub(super) fn leave_group(&mut self, id: FlowId, request: &Arc<Request>) -> bool {
        let Some(mut fit) = self.fit.take() else {
            return false;
        };
        let group = fit.groups.group_of(id, request);
        let is_grouped = group.is_some();
        if let Some(group) = group {
            let drawn = self.plan.draw_sent(group.sent(), &self.stages);
            drawn.expect("what is promised keeps its deadline");
            self.plan.release(&mut self.loads, &self.stages);
        }
        if let Some(left) = fit.groups.leave(id, request, &self.flows) {
            let drawn = self.plan.draw_sent(left.sent(), &self.stages);
            drawn.expect("what is promised keeps its deadline");
            self.plan.reserve(&mut self.loads, &self.stages);
        }
        self.fit = Some(fit);
        is_grouped
    }

    /// Has budgets be chosen from nothing the next time: something counts at a stage that
    /// was not there when they were chosen for slower processors.
    pub(super) fn start_from_nothing(&mut self) {
        if let Some(fit) = &mut self.fit {
            fit.starts_from_nothing = true;
        }
    }

    /// Gives a processor the budget that it needs for what it does without promise.
    /// Returns nothing, and leaves it as it is, if it cannot have that.
    pub(super) fn make_room_for_unpromised(&mut self, stage: StageId) -> Option<()> {
        if !self.flows.is_empty() {
            return self.refit(&[]).ok();
        }
        // Nobody is later for it.
        let at = stage.index();
        let needed = needed_budget(stage, &self.stages, &self.loads[at], 0, Headroom::default());
        match &mut self.stages[at] {
            Stage::Processing { budget, .. } => *budget = needed?.max(*budget),
            Stage::Port { .. } => return None,
        }
        Some(())
    }

    /// Returns budgets for all that is promised and `with` beside it, and how much
    /// slower processors may be with them.
    pub(super) fn fit_with(&self, with: &[&Request]) -> Result<(Slowdown, Grown), Refusal> {
        if let Some(fit) = &self.fit
            && let Some(larger) = self.larger_with(with)
        {
            return Ok((fit.slowdown, larger));
        }
        let least = self.least_with(with, Slowdown::NONE);
        let least = least.map_err(Self::refusal_of)?;
        let spare = self.fit.as_ref().map_or(Spare::None, |fit| fit.spare);
        match spare {
            Spare::None => Ok((Slowdown::NONE, least)),
            Spare::Shared => Ok(self.roomiest(with, least)),
        }
    }

    /// Returns the budgets with which processors may be slowest, from the least. Where a
    /// choice takes long, those with which they may be as slow as with the budgets that
    /// there are, or else half as much, do.
    fn roomiest(&self, with: &[&Request], least: Grown) -> (Slowdown, Grown) {
        let takes_long = (self.flows() + with.len()) * self.stages.len() > MANY;
        if let Some(fit) = &self.fit
            && takes_long
            && fit.choices > 0
        {
            let half = Slowdown::NONE.between(fit.slowdown);
            let as_slow = [fit.slowdown, half]
                .into_iter()
                .find_map(|slowdown| Some((slowdown, self.least_with(with, slowdown).ok()?)));
            return as_slow.unwrap_or((Slowdown::NONE, least));
        }
        if let Ok(grown) = self.least_with(with, Slowdown::MOST) {
            return (Slowdown::MOST, grown);
        }
        let steps = match takes_long {
            true => FEW_STEPS,
            false => STEPS,
        };
        let (mut holds, mut grown) = (Slowdown::NONE, least);
        let mut fails = Slowdown::MOST;
        for _ in 0..steps {
            let middle = holds.between(fails);
            match self.least_with(with, middle) {
                Ok(roomier) => (holds, grown) = (middle, roomier),
                Err(_) => fails = middle,
            }
        }
        (holds, grown)
    }

    /// Returns the stages as they are, with the least budgets that do if processors
    /// are slower than stated.
    pub(super) fn least_with(
        &self,
        with: &[&Request],
        slower: Slowdown,
    ) -> Result<Grown, Unsolvable> {
        let Some(fit) = &self.fit else {
            unreachable!("budgets that are fixed are not chosen");
        };
        let slowed: Vec<_> = fit.floors.iter().map(|it| slowed(it, slower)).collect();
        let unpromised: Vec<(StageId, FrameBucket)> = self.unpromised_work().collect();
        let all = fit.groups.aggregates(&self.flows, with);
        let grown = least_budgets(&slowed, &unpromised, all, Headroom::default())?;
        Ok(as_fast_as(&fit.floors, grown))
    }

    /// Returns the stages as they are, with budgets from those that there are, that do for
    /// `with` as well and for processors as slow as they may be now; nothing if that was
    /// not found.
    fn larger_with(&self, with: &[&Request]) -> Option<Grown> {
        let fit = self.fit.as_ref()?;
        if fit.starts_from_nothing || fit.choices == 0 {
            return None;
        }
        let slowed: Vec<_> = self
            .stages
            .iter()
            .map(|it| slowed(it, fit.slowdown))
            .collect();
        let all = fit.groups.aggregates(&self.flows, with);
        let grown = larger_budgets(&slowed, self.loads.clone(), all).ok()?;
        Some(as_fast_as(&fit.floors, grown))
    }

    /// Returns the stages with another processor at one, and the least budgets with which
    /// `flows` fit beside what is not promised.
    pub(super) fn least_with_processor(
        &self,
        stage: StageId,
        times: ProcessorTimes,
        flows: &PromisedFlows,
    ) -> Result<Vec<Stage>, Refusal> {
        let unreserved = self.unreserved(stage, times, flows.clone());
        let least = unreserved.least_with(&[], Slowdown::NONE);
        Ok(least.map_err(Self::refusal_of)?.stages)
    }

    /// Returns the ledger with another processor at a stage and these flows, and budgets that
    /// are chosen anew.
    pub(super) fn refitted_with_processor(
        &self,
        stage: StageId,
        times: ProcessorTimes,
        flows: PromisedFlows,
    ) -> Result<Self, Refusal> {
        let mut ledger = self.unreserved(stage, times, flows);
        ledger.refit(&[])?;
        Ok(ledger)
    }

    /// Returns the ledger with another processor at a stage and these flows, for which
    /// nothing is reserved yet.
    fn unreserved(&self, stage: StageId, times: ProcessorTimes, flows: PromisedFlows) -> Self {
        let mut ledger = self.clone();
        let unpromised: Vec<_> = self.unpromised_work().collect();
        let Some(fit) = &mut ledger.fit else {
            unreachable!("budgets that are fixed are not chosen");
        };
        let at = stage.index();
        fit.floors[at] = with_times(&fit.floors[at], times);
        fit.groups = Groups::default();
        fit.groups.singles.extend(flows.keys());
        fit.starts_from_nothing = true;
        ledger.stages.clone_from(&fit.floors);
        ledger.loads = ledger.stages.iter().map(StageLoad::nothing).collect();
        for (stage, frames) in unpromised {
            ledger.loads[stage.index()].add_unpromised(frames);
        }
        ledger.flows = flows;
        ledger
    }

    /// Returns the refusal for the want of budgets.
    fn refusal_of(unsolvable: Unsolvable) -> Refusal {
        let Unsolvable { who, breach } = unsolvable;
        let flow = match who {
            Some(Who::Promised(id)) => Some(id),
            Some(Who::Asked(_)) | None => None,
        };
        Refusal {
            flow,
            ..breach.refuse(Fits::default())
        }
    }

    /// Reserves all promises anew, with the budgets that there are now.
    fn reserve_all(&mut self) {
        let unpromised: Vec<_> = self.unpromised_work().collect();
        self.loads = self.stages.iter().map(StageLoad::nothing).collect();
        for (stage, frames) in unpromised {
            self.loads[stage.index()].add_unpromised(frames);
        }
        let Some(mut fit) = self.fit.take() else {
            unreachable!("budgets that are fixed are not chosen");
        };
        fit.groups.gather(&self.flows);
        for sent in fit.groups.sent() {
            let drawn = self.plan.draw_sent(sent, &self.stages);
            drawn.expect("budgets are chosen so that every deadline holds");
            self.plan.reserve(&mut self.loads, &self.stages);
        }
        self.fit = Some(fit);
    }

    /// Returns whether so few flows are promised that it may be looked for what would
    /// have been admitted instead of another one.
    pub(super) fn is_searched(&self) -> bool {
        self.fit.is_none() || self.flows() <= MOST_SEARCHED
    }

    /// Returns the longest that a frame of flow `id` takes now, on any way that it may
    /// take, or nothing if there is no such flow.
    pub fn guarantee_of(&mut self, id: FlowId) -> Option<Delay> {
        let request = self.flows.get(&id)?;
        let drawn = self.plan.draw(request, request.traffic(), &self.stages);
        drawn.expect("what was admitted keeps its deadline");
        let leaves = self.plan.leaves().iter().map(|leaf| leaf.latest);
        leaves.chain(self.plan.second_copy).max()
    }
}

/// Returns a stage whose processor, if it has one, is slower.
pub(super) fn slowed(stage: &Stage, slower: Slowdown) -> Stage {
    let mut stage = stage.clone();
    match &mut stage {
        Stage::Processing {
            latency, per_frame, ..
        } => {
            *latency = slower.of(*latency);
            *per_frame = slower.of(*per_frame);
        }
        Stage::Port { .. } => {}
    }
    stage
}

/// Returns what was found for slower processors, with those that there are.
fn as_fast_as(stages: &[Stage], grown: Grown) -> Grown {
    let stages = stages.iter().zip(&grown.stages);
    let stages = stages.map(|(stage, chosen)| with_budgets_of(stage, chosen));
    Grown {
        stages: stages.collect(),
        loads: grown.loads,
    }
}

/// Returns a stage as it is, with the budgets of another.
fn with_budgets_of(stage: &Stage, other: &Stage) -> Stage {
    let mut stage = stage.clone();
    match (&mut stage, other) {
        (Stage::Processing { budget, .. }, Stage::Processing { budget: chosen, .. }) => {
            *budget = *chosen;
        }
        (
            Stage::Port { budgets, .. },
            Stage::Port {
                budgets: chosen, ..
            },
        ) => *budgets = *chosen,
        (Stage::Processing { .. }, Stage::Port { .. })
        | (Stage::Port { .. }, Stage::Processing { .. }) => {
            unreachable!("budgets are chosen for the stages that there are")
        }
    }
    stage
}
