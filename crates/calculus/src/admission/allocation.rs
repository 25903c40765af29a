//! Budgets that are chosen before any flow is known (`S4-6`).
//!
//! [`allocate_part`] sets aside a part of each stage, as Loko does: all of its
//! pace, a fifth, or any other fraction `f`. The burst is the largest that the
//! buffer holds at that rate, and the budget is how long it takes, LOKO section 5:
//!
//! ```text
//! processor   N = n - f / c * (T + c)               D = T + N * c
//! port        B = buffer - r * (T + l / R)          D = T + B / R
//! ```
//!
//! with `T`, `c` and `n` latency, pace and buffer of the processor, and for a class
//! of a port `r` its part of the link, `T` and `R` what the more urgent classes
//! leave of it, and `l` the largest frame.
//!
//! [`allocate_for_deadlines`] is told what kind of flows to expect, with their ways
//! and deadlines, and shares each deadline out over the stages of the way in
//! proportion to what each takes in any case. How much of that share is best
//! depends on the network: small budgets let bursts grow less, large ones let more
//! of them wait. So some are tried, and those which admit most of the expected
//! flows are kept.

use units::{BitRate, DataSize, Delay};

use super::ledger::Ledger;
use super::request::{MAX_DELAY, Request, Tree};
use super::stage::{BestEffort, Room, Stage, StageId};
use crate::bounds::processing::FRAME;
use crate::bounds::strict_priority::CLASSES;
use crate::loko::Fraction;

/// In how many steps budgets are tried, from none of the share of a deadline to
/// all of it.
const STEPS: u64 = 32;

/// Returns `stages` with the budgets that follow from setting aside `part` of
/// each, for as large a burst as its buffer holds. At a port the classes that have
/// a budget share the part evenly. A stage without a limit to its buffer keeps
/// its budgets. Nothing if the buffer of a stage has no room for a frame then.
#[must_use]
pub fn allocate_part(stages: &[Stage], part: Fraction) -> Option<Vec<Stage>> {
    let mut stages = stages.to_vec();
    for stage in &mut stages {
        match stage {
            Stage::Processing {
                latency,
                per_frame,
                budget,
                buffer_frames: Some(frames),
                fastest_per_frame: _,
            } => *budget = processor_budget((*latency, *per_frame), *frames, part)?,
            Stage::Processing {
                buffer_frames: None,
                ..
            } => {}
            Stage::Port {
                rate,
                budgets,
                buffers,
                largest_frame,
                propagation: _,
            } => port_budgets(budgets, buffers, (*rate, *largest_frame), part)?,
        }
    }
    Some(stages)
}

/// Returns how long the largest burst takes that a processor can hold while
/// `part` of its pace arrives.
fn processor_budget(
    (latency, per_frame): (Delay, Delay),
    buffer_frames: u64,
    part: Fraction,
) -> Option<Delay> {
    let held = latency.checked_add(per_frame)?;
    // The frames that arrive while one is held, in millionths.
    let meanwhile = u128::from(FRAME) * u128::from(held.as_ps()) * u128::from(part.numerator);
    let of_pace = u128::from(per_frame.as_ps()) * u128::from(part.denominator);
    let meanwhile = match of_pace {
        0 => 0,
        of_pace => meanwhile.div_ceil(of_pace),
    };
    let room = u128::from(buffer_frames) * u128::from(FRAME);
    let burst = room.checked_sub(meanwhile)?;
    (burst >= u128::from(FRAME)).then_some(())?;
    let work = (burst * u128::from(per_frame.as_ps())).div_ceil(u128::from(FRAME));
    let budget = latency.checked_add(Delay::from_ps(u64::try_from(work).ok()?))?;
    (budget <= MAX_DELAY).then_some(budget)
}

/// Gives each class of a port that has a budget the time that its largest burst
/// takes.
fn port_budgets(
    budgets: &mut [Option<Delay>; CLASSES],
    buffers: &[Option<Room>; CLASSES],
    (link, frame): (BitRate, DataSize),
    part: Fraction,
) -> Option<()> {
    let classes = u64::try_from(budgets.iter().flatten().count()).ok()?;
    let share = Fraction {
        numerator: part.numerator,
        denominator: part.denominator * classes.max(1),
    };
    let (mut rates, mut bursts) = (0, DataSize::ZERO);
    for (budget, buffer) in budgets.iter_mut().zip(buffers).rev() {
        let (Some(budget), Some(buffer)) = (budget, buffer) else {
            continue;
        };
        let own = share.of(link)?;
        let left = link.left_after(rates)?;
        let latency = left.checked_time_to_send(bursts + frame)?;
        let held = latency.checked_add(left.checked_time_to_send(frame)?)?;
        let burst = buffer.least_size().checked_sub(own.most_in(held))?;
        (burst >= frame).then_some(())?;
        *budget = latency.checked_add(left.checked_time_to_send(burst)?)?;
        (*budget <= MAX_DELAY).then_some(())?;
        rates += own.as_bps();
        bursts += burst;
    }
    Some(())
}

/// Budgets, and how far they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The stages with their budgets.
    pub stages: Vec<Stage>,
    /// How many of the expected flows were admitted, one after the other.
    pub admitted: usize,
    /// The part of each deadline that the budgets take.
    pub of_deadline: Fraction,
}

/// Returns `stages` with the budgets that admit most of the flows that are
/// `expected`, or nothing if no budgets admit any.
///
/// Flows that come later need not be those expected: they are to be like them. A
/// class for which no flow is expected at a port keeps the budget it has.
///
/// # Panics
///
/// If a stage is beyond the limits named in this module.
#[must_use]
pub fn allocate_for_deadlines(
    stages: &[Stage],
    unpromised: &[(StageId, BestEffort)],
    expected: &[Request],
) -> Option<Allocation> {
    let ceilings = Ceilings::of(stages, expected);
    let trials = (1..=STEPS).rev().filter_map(|numerator| {
        let of_deadline = Fraction {
            numerator,
            denominator: STEPS,
        };
        let stages = ceilings.scaled(stages, of_deadline);
        let admitted = count_admitted(&stages, unpromised, expected)?;
        (admitted > 0).then_some(Allocation {
            stages,
            admitted,
            of_deadline,
        })
    });
    // Of equals the last stays, which leaves the most of the deadlines.
    trials.max_by_key(|trial| trial.admitted)
}

fn count_admitted(
    stages: &[Stage],
    unpromised: &[(StageId, BestEffort)],
    expected: &[Request],
) -> Option<usize> {
    let mut ledger = Ledger::new(stages.to_vec());
    for (stage, work) in unpromised {
        ledger.declare_unpromised(*stage, *work).ok()?;
    }
    let admitted = expected.iter().filter(|request| {
        let fits = ledger.admits(request);
        fits && ledger.admit((*request).clone()).is_ok()
    });
    Some(admitted.count())
}

/// The largest budgets with which every way of every expected flow keeps its
/// deadline, shared out in proportion to what each stage takes in any case.
struct Ceilings {
    of_stage: Vec<[Option<Delay>; CLASSES]>,
}

impl Ceilings {
    fn of(stages: &[Stage], expected: &[Request]) -> Self {
        let mut ceilings = Self {
            of_stage: vec![[None; CLASSES]; stages.len()],
        };
        for request in expected {
            let alternatives = request.alternatives.iter().map(|(_, tree)| tree);
            let redundant = request.redundant.iter().map(|redundant| &redundant.tree);
            let others = alternatives.chain(redundant);
            for tree in std::iter::once(&request.base).chain(others) {
                let parents: Vec<_> = tree.hops.iter().filter_map(|hop| hop.parent).collect();
                for leaf in (0..tree.hops.len()).filter(|hop| !parents.contains(hop)) {
                    ceilings.lower(stages, request, &way_to(tree, leaf));
                }
            }
        }
        ceilings
    }

    /// Lowers the ceilings so that `request` keeps its deadline on a way.
    fn lower(&mut self, stages: &[Stage], request: &Request, way: &[StageId]) {
        let class = usize::from(request.class);
        let known = way.iter().all(|id| id.index() < stages.len());
        if !known || class >= CLASSES {
            return;
        }
        let links = way.iter().map(|id| stages[id.index()].propagation());
        let fixed = links.fold(request.initial, |sum, link| sum + link);
        let held = request.redundant.as_ref().map(|redundant| redundant.hold);
        let fixed = fixed + held.unwrap_or_default();
        let Some(spare) = request.deadline.checked_sub(fixed) else {
            return;
        };
        let least = |id: &StageId| u128::from(least_budget(&stages[id.index()], request).as_ps());
        let needed: u128 = way.iter().map(least).sum();
        for id in way {
            let ps = u128::from(spare.as_ps()) * least(id) / needed.max(1);
            let share = Delay::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)).min(MAX_DELAY);
            let ceiling = &mut self.of_stage[id.index()][class];
            *ceiling = Some(ceiling.map_or(share, |ceiling| ceiling.min(share)));
        }
    }

    fn scaled(&self, stages: &[Stage], part: Fraction) -> Vec<Stage> {
        let mut stages = stages.to_vec();
        for (stage, ceilings) in stages.iter_mut().zip(&self.of_stage) {
            let scaled = ceilings.map(|ceiling| ceiling.map(|ceiling| scale(ceiling, part)));
            match stage {
                Stage::Processing { budget, .. } => {
                    *budget = scaled.into_iter().flatten().min().unwrap_or(*budget);
                }
                Stage::Port { budgets, .. } => {
                    for (budget, scaled) in budgets.iter_mut().zip(scaled) {
                        *budget = scaled.or(*budget);
                    }
                }
            }
        }
        stages
    }
}

fn way_to(tree: &Tree, leaf: usize) -> Vec<StageId> {
    let hops = std::iter::successors(Some(leaf), |hop| tree.hops[*hop].parent);
    let mut way: Vec<_> = hops.map(|hop| tree.hops[hop].stage).collect();
    way.reverse();
    way
}

/// Returns what a stage takes for a single flow that meets no other.
fn least_budget(stage: &Stage, request: &Request) -> Delay {
    match stage {
        Stage::Processing {
            latency, per_frame, ..
        } => *latency + *per_frame,
        Stage::Port {
            rate,
            largest_frame,
            ..
        } => rate.time_to_send(*largest_frame + request.largest_frame),
    }
}

fn scale(delay: Delay, part: Fraction) -> Delay {
    let ps = u128::from(delay.as_ps()) * u128::from(part.numerator) / u128::from(part.denominator);
    Delay::from_ps(u64::try_from(ps).expect("a part is no more than the whole"))
}

#[cfg(test)]
mod tests;
