//! A processor that is slower than it was taken to be.
//!
//! What a stage delays at most follows from what comes to it ([`Ledger::bound_at`]): with
//! flows that are late by no more than `D` at each stage it is `F(D)`, whatever the budgets
//! are (`docs/promises.md`, "Proof that budgets hold"). So a stay that is longer than `F(D)`,
//! where `D` is what was seen at the stages before, is not explained by the profile of that
//! stage.
//!
//! With another processor all that is promised is decided on anew. Nobody is sent away: who
//! is late then goes on sending, so everybody counts, and the least delays with which all
//! bound each other (`growth`) say whose deadlines hold. The others are counted without one.

use std::collections::BTreeMap;
use std::sync::Arc;

use units::Delay;

use super::budgets::loads_of;
use super::check::worst_delay;
use super::groups::PromisedFlows;
use super::ledger::{FlowId, Ledger};
use super::plan::ReservationPlanner;
use super::refusal::{Fits, Refusal};
use super::request::{MAX_DELAY, Request};
use super::stage::{Stage, StageId};

/// What a processor takes (S4-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTimes {
    /// The longest time before it works at its pace.
    pub latency: Delay,
    /// The longest time for which one frame occupies it.
    pub per_frame: Delay,
    /// The least delay that it may add, where budgets are fixed.
    pub budget: Delay,
}

/// By how much frames may come otherwise than is promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness<'a> {
    /// The stages that delay frames by so much more than their budgets.
    pub stages: &'a [(StageId, Delay)],
    /// So much of what a source sends may come before its time.
    pub early: Delay,
}

impl Ledger {
    /// Returns the longest that a frame of `class` is at a stage with all that is promised,
    /// if no stage delays anybody for longer than its budget but those of `lateness`, by so
    /// much more, and sources may be so `early` with what they send; nothing if there is no
    /// bound.
    #[must_use]
    pub fn bound_at(&self, stage: StageId, class: u8, lateness: &Lateness<'_>) -> Option<Delay> {
        let Lateness {
            stages: later,
            early,
        } = *lateness;
        if later.is_empty() && early == Delay::ZERO {
            return Some(worst_delay(stage, &self.stages, self.load(stage), class)?.0);
        }
        let mut stages = self.stages.clone();
        for (late, by) in later {
            add_to_budgets(&mut stages[late.index()], *by);
        }
        let patient = self.requests().map(|(_, it)| early_by(patient(it), early));
        let patient: Vec<Request> = patient.collect();
        let unpromised: Vec<_> = self.unpromised_work().collect();
        let mut plan = ReservationPlanner::new(stages.len());
        let loads = loads_of(&stages, &unpromised, &patient, &mut plan)?;
        Some(worst_delay(stage, &stages, &loads[stage.index()], class)?.0)
    }

    /// Returns the least time of a frame, to the nanosecond, with which a processor may delay
    /// frames for as long as `bound`, with all that is promised; nothing if none does, or the
    /// stage is no processor.
    #[must_use]
    pub fn per_frame_for(&self, stage: StageId, bound: Delay) -> Option<Delay> {
        let at = stage.index();
        let Stage::Processing {
            latency, per_frame, ..
        } = self.stages.get(at)?
        else {
            return None;
        };
        let mut stages = self.stages.clone();
        let mut reaches = |ns: u64| {
            let times = ProcessorTimes {
                latency: *latency,
                per_frame: *per_frame + Delay::from_ns(ns),
                budget: Delay::ZERO,
            };
            stages[at] = with_times(&self.stages[at], times);
            let delay = worst_delay(stage, &stages, self.load(stage), 0);
            delay.map(|(delay, _)| delay >= bound)
        };
        let (mut short, mut enough) = (0, bound.round_up().as_ns());
        if reaches(short)? {
            return Some(*per_frame);
        }
        while enough - short > 1 {
            let middle = short.midpoint(enough);
            // Where there is no bound, frames take too long.
            match reaches(middle) {
                Some(false) => short = middle,
                Some(true) | None => enough = middle,
            }
        }
        reaches(enough)?;
        Some(*per_frame + Delay::from_ns(enough))
    }

    /// Returns the ledger with another processor at a stage, and the longest delay on any way
    /// of each flow then. Flows whose delay is longer than their deadline in `deadlines` are
    /// counted without one, and so is who is not in it and has missed his.
    ///
    /// Where budgets are fixed, that of the processor is no less than it was, and at least
    /// what it needs.
    ///
    /// # Errors
    ///
    /// If there is no bound then, or a buffer or a budget that is fixed is too small: what
    /// everybody sends cannot be carried.
    ///
    /// # Panics
    ///
    /// If the stage is no processor.
    pub fn with_processor(
        &self,
        stage: StageId,
        times: ProcessorTimes,
        deadlines: &BTreeMap<FlowId, Delay>,
    ) -> Result<(Self, BTreeMap<FlowId, Delay>), Refusal> {
        let flows = self.requests().map(|(id, it)| (id, Arc::new(patient(it))));
        let flows: PromisedFlows = flows.collect();
        let least = match self.fit.is_some() {
            true => self.least_with_processor(stage, times, &flows)?,
            false => self.fixed_with_processor(stage, times, &flows)?,
        };
        let mut plan = ReservationPlanner::new(least.len());
        let mut timely = PromisedFlows::new();
        for (id, patient) in flows {
            let asked = self.request(id).map(|request| request.deadline);
            let deadline = deadlines.get(&id).copied().or(asked).unwrap_or(MAX_DELAY);
            let request = Request {
                deadline,
                ..(*patient).clone()
            };
            match plan.draw(&request, request.traffic(), &least) {
                Ok(()) => timely.insert(id, Arc::new(request)),
                Err(_) => timely.insert(id, patient),
            };
        }
        let ledger = match self.fit.is_some() {
            true => self.refitted_with_processor(stage, times, timely)?,
            false => self.entered(least, timely)?,
        };
        let mut guarantees = BTreeMap::new();
        for (id, request) in &ledger.flows {
            let drawn = plan.draw(request, request.traffic(), &ledger.stages);
            drawn.map_err(|breach| breach.refuse(Fits::default()))?;
            let latest = plan.leaves().iter().map(|leaf| leaf.latest);
            guarantees.extend(latest.chain(plan.second_copy).max().map(|it| (*id, it)));
        }
        Ok((ledger, guarantees))
    }

    /// Returns the stages with another processor, whose budget is what it needs at least, if
    /// all flows fit.
    fn fixed_with_processor(
        &self,
        stage: StageId,
        times: ProcessorTimes,
        flows: &PromisedFlows,
    ) -> Result<Vec<Stage>, Refusal> {
        let mut stages = self.stages.clone();
        let at = stage.index();
        stages[at] = with_times(&stages[at], times);
        let needed = worst_delay(stage, &stages, self.load(stage), 0);
        if let (Stage::Processing { budget, .. }, Some((needed, _))) = (&mut stages[at], needed) {
            *budget = needed.max(*budget).max(times.budget).min(MAX_DELAY);
        }
        self.entered(stages.clone(), flows.clone())?;
        Ok(stages)
    }

    /// Returns a ledger of budgets that are fixed, with these flows and what is not promised
    /// here.
    fn entered(&self, stages: Vec<Stage>, flows: PromisedFlows) -> Result<Self, Refusal> {
        let refuse = |breach: super::refusal::Breach| breach.refuse(Fits::default());
        let mut ledger = Self::new(stages);
        for (stage, frames) in self.unpromised_work() {
            ledger.count_unpromised(stage, frames).map_err(refuse)?;
        }
        for (id, request) in flows {
            ledger.next = id.0;
            ledger
                .promise(Arc::unwrap_or_clone(request))
                .map_err(refuse)?;
        }
        ledger.next = self.next;
        Ok(ledger)
    }
}

/// Returns a stage with another processor.
pub(super) fn with_times(stage: &Stage, times: ProcessorTimes) -> Stage {
    let mut stage = stage.clone();
    match &mut stage {
        Stage::Processing {
            latency, per_frame, ..
        } => {
            *latency = times.latency.min(MAX_DELAY);
            *per_frame = times.per_frame.min(MAX_DELAY);
        }
        Stage::Port { .. } => unreachable!("a port has no processor"),
    }
    stage
}

fn add_to_budgets(stage: &mut Stage, by: Delay) {
    let add = |budget: &mut Delay| {
        *budget = budget.checked_add(by).unwrap_or(MAX_DELAY).min(MAX_DELAY);
    };
    match stage {
        Stage::Processing { budget, .. } => add(budget),
        Stage::Port { budgets, .. } => budgets.iter_mut().flatten().for_each(add),
    }
}

/// Returns what a flow brings that may be early with what it sends.
fn early_by(mut request: Request, early: Delay) -> Request {
    request.burst += request.rate.most_in(early);
    if let Some(frames) = &mut request.frames {
        let more = u128::from(frames.rate_per_second) * u128::from(early.as_ps());
        let more = u64::try_from(more.div_ceil(1_000_000_000_000)).unwrap_or(u64::MAX);
        frames.burst = frames.burst.saturating_add(more);
    }
    request
}

/// Returns the request of a flow that may be as late as any.
fn patient(request: &Request) -> Request {
    Request {
        deadline: MAX_DELAY,
        ..request.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::{BitRate, DataSize};

    use super::*;
    use crate::admission::{CLASSES, Spare, Tree};

    const FRAME: DataSize = DataSize::from_bytes(146);
    const LATENCY: Delay = Delay::from_us(20);
    const PER_FRAME: Delay = Delay::from_us(3);
    /// The processor that is corrected.
    const SLOW: StageId = StageId(2);

    proptest! {
        /// A ledger that had known the slower processor from the start finds the same.
        #[test]
        fn whose_deadlines_hold_is_as_if_it_had_been_known(
            deadlines_us in prop::collection::vec(300u64..2_000, 1..30),
            more_us in 0u64..100,
            is_fitted: bool,
        ) {
            let (ledger, deadlines) = promised(is_fitted, &deadlines_us);
            let times = slower(more_us);

            let Ok((corrected, guarantees)) = ledger.with_processor(SLOW, times, &deadlines) else {
                prop_assert!(!is_fitted || more_us > 10, "a little slower can be carried");
                return Ok(());
            };

            prop_assert_eq!(corrected.flows(), ledger.flows());
            for (id, deadline) in &deadlines {
                let is_late = guarantees[id] > *deadline;
                let request = corrected.request(*id).unwrap();
                prop_assert_eq!(request.deadline, if is_late { MAX_DELAY } else { *deadline });
                // Who is late cannot be in time whatever budgets are chosen.
                let timely = Request { deadline: *deadline, ..request.clone() };
                let others = corrected.requests().filter(|(other, _)| other != id);
                let others = others.map(|(_, it)| patient(it)).collect();
                let mut known = empty(is_fitted, times, &corrected);
                prop_assert!(known.admit_all(others).is_ok());
                prop_assert_eq!(known.admits(&timely), !is_late);
            }
        }

        #[test]
        fn the_time_of_a_frame_is_the_least_that_explains_a_stay(
            flows in 1usize..20,
            longer_ns in 1u64..200_000,
        ) {
            let (ledger, deadlines) = promised(true, &vec![5_000; flows]);
            let bound = ledger.bound_at(SLOW, 0, &Lateness::default()).unwrap() + Delay::from_ns(longer_ns);

            let per_frame = ledger.per_frame_for(SLOW, bound).unwrap();

            let delay = |per_frame| {
                let mut with = ledger.clone();
                let times = ProcessorTimes { latency: LATENCY, per_frame, budget: Delay::ZERO };
                with.stages[SLOW.index()] = with_times(&with.stages[SLOW.index()], times);
                with.bound_at(SLOW, 0, &Lateness::default())
            };
            prop_assert!(delay(per_frame).unwrap() >= bound);
            prop_assert!(delay(per_frame - Delay::from_ns(1)).unwrap() < bound);
            prop_assert_eq!(deadlines.len(), flows);
        }

        /// What comes late comes in larger bursts, and who is no later than thought delays
        /// nobody for longer than his budget.
        #[test]
        fn a_bound_grows_with_how_late_frames_come(flows in 1usize..20, late_us in 0u64..5_000) {
            let (ledger, _) = promised(true, &vec![5_000; flows]);
            let from = |stages: &[_], early_us| {
                let early = Delay::from_us(early_us);
                ledger.bound_at(SLOW, 0, &Lateness { stages, early }).unwrap()
            };
            let at = |later: &[_]| from(later, 0);

            let (usual, late) = (at(&[]), at(&[(StageId(0), Delay::from_us(late_us))]));

            prop_assert!(usual <= ledger.stages()[SLOW.index()].budget(0).unwrap());
            prop_assert!(usual <= late + Delay::from_ps(flows as u64));
            prop_assert!(late <= at(&[(StageId(0), Delay::from_us(late_us + 1_000))]));
            prop_assert!(usual <= from(&[], late_us) + Delay::from_ps(flows as u64));
            prop_assert!(from(&[], late_us) <= from(&[], late_us + 1_000));
        }
    }

    #[test]
    fn what_nobody_can_carry_is_refused() {
        let (ledger, deadlines) = promised(true, &[2_000; 20]);

        let refused = ledger.with_processor(SLOW, slower(1_000), &deadlines);

        assert_eq!(refused.unwrap_err().stage, Some(SLOW));
    }

    fn slower(more_us: u64) -> ProcessorTimes {
        ProcessorTimes {
            latency: LATENCY,
            per_frame: PER_FRAME + Delay::from_us(more_us),
            budget: Delay::ZERO,
        }
    }

    /// Returns a ledger of two switches, with as many of these flows as it admits.
    fn promised(is_fitted: bool, deadlines_us: &[u64]) -> (Ledger, BTreeMap<FlowId, Delay>) {
        let mut ledger = ledger(is_fitted, stages(slower(0)));
        let mut deadlines = BTreeMap::new();
        for us in deadlines_us {
            let deadline = Delay::from_us(*us);
            if let Ok(admitted) = ledger.admit(flow(deadline)) {
                deadlines.insert(admitted.id, deadline);
            }
        }
        (ledger, deadlines)
    }

    /// Returns a ledger with nothing promised, of the switches as they are; budgets that are
    /// fixed are those of `like`.
    fn empty(is_fitted: bool, times: ProcessorTimes, like: &Ledger) -> Ledger {
        let stages = match is_fitted {
            true => stages(times),
            false => like.stages().to_vec(),
        };
        ledger(is_fitted, stages)
    }

    fn ledger(is_fitted: bool, stages: Vec<Stage>) -> Ledger {
        match is_fitted {
            true => Ledger::fitted(stages, Spare::Shared),
            false => Ledger::new(stages),
        }
    }

    fn stages(slow: ProcessorTimes) -> Vec<Stage> {
        let processor = |times: ProcessorTimes| Stage::Processing {
            latency: times.latency,
            per_frame: times.per_frame,
            fastest_per_frame: Delay::ZERO,
            budget: Delay::from_us(150),
            buffer_frames: None,
        };
        let mut budgets = [None; CLASSES];
        budgets[6] = Some(Delay::from_us(400));
        let port = Stage::Port {
            rate: BitRate::from_mbps(100),
            propagation: Delay::ZERO,
            budgets,
            buffers: [None; CLASSES],
            largest_frame: DataSize::from_bytes(1_538),
        };
        vec![processor(slower(0)), port.clone(), processor(slow), port]
    }

    fn flow(deadline: Delay) -> Request {
        Request {
            class: 6,
            rate: BitRate::from_mbps(1),
            burst: FRAME,
            peak: None,
            frames: None,
            largest_frame: FRAME,
            smallest_frame: FRAME,
            deadline,
            initial: Delay::from_us(12),
            base: Tree::path([0, 1, 2, 3].map(StageId)),
            alternatives: Vec::new(),
            is_held_back: false,
            redundant: None,
        }
    }
}
