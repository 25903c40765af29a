//! Whether what is reserved at a stage leaves all its budgets whole.

use units::{DataSize, Delay};

use super::load::{Load, StageLoad};
use super::plan::{Part, Plan, Reservation};
use super::refusal::{Breach, Constraint};
use super::stage::{FailureId, Stage, StageId};
use crate::bounds::processing::{FRAME, FrameBucket, Processor};
use crate::bounds::strict_priority::{self, ClassBound};

/// Checks every stage that `plan` touches, in every case that it touches. Of
/// several breaches it returns the first that no budget could mend, or else the
/// first.
pub(super) fn plan_fits(plan: &Plan, stages: &[Stage], loads: &[StageLoad]) -> Result<(), Breach> {
    let mut first = None;
    for reservation in &plan.reservations {
        let at = reservation.stage.index();
        match reservation_fits(plan, reservation, &stages[at], &loads[at]) {
            Ok(()) => {}
            Err(breach) if breach.constraint.is_overload() => return Err(breach),
            Err(breach) => first = first.or(Some(breach)),
        }
    }
    first.map_or(Ok(()), Err)
}

fn reservation_fits(
    plan: &Plan,
    reservation: &Reservation,
    stage: &Stage,
    load: &StageLoad,
) -> Result<(), Breach> {
    match (reservation.failure, reservation.part) {
        (None, _) => load
            .cases()
            .try_for_each(|failure| fits_with(stage, load, failure, &[*reservation])),
        (failure, Part::Whole) => fits_with(stage, load, failure, &[*reservation]),
        (failure, Part::Excess { over }) => {
            let always = plan.reservations[over];
            fits_with(stage, load, failure, &[always, *reservation])
        }
    }
}

fn fits_with(
    stage: &Stage,
    load: &StageLoad,
    failure: Option<FailureId>,
    more: &[Reservation],
) -> Result<(), Breach> {
    let mut total = load.total(failure);
    for reservation in more {
        total.add(reservation);
    }
    let added = more.first().expect("a check is for a reservation");
    load_fits(stage, &total, added.class).map_err(|constraint| Breach {
        stage: Some(added.stage),
        failure,
        constraint,
    })
}

/// Checks that a stage keeps its budgets under `total`. A breach at a processor
/// names `class`, as all classes are one there.
fn load_fits(stage: &Stage, total: &Load, class: u8) -> Result<(), Constraint> {
    match (stage, total) {
        (
            Stage::Processing {
                latency,
                per_frame,
                budget,
                buffer_frames,
            },
            Load::Processing(frames),
        ) => {
            let (latency, per_frame) = (*latency, *per_frame);
            let processor = Processor { latency, per_frame };
            frames_fit(processor, *frames, (*budget, *buffer_frames), class)
        }
        (
            Stage::Port {
                rate,
                budgets,
                buffers,
                largest_frame,
                propagation: _,
            },
            Load::Port(classes),
        ) => {
            let bounds = strict_priority::class_bounds(*rate, classes, *largest_frame);
            let limits = budgets.iter().zip(buffers);
            for ((class, bound), (budget, buffer)) in (0u8..).zip(bounds).zip(limits) {
                match (bound, budget) {
                    (ClassBound::Idle, _) => {}
                    (_, None) => return Err(Constraint::NoBudget { class }),
                    (ClassBound::Unbounded { needed_bps }, Some(_))
                        if needed_bps > rate.as_bps() =>
                    {
                        let allowed = *rate;
                        return Err(Constraint::Rate {
                            class,
                            needed_bps,
                            allowed,
                        });
                    }
                    (ClassBound::Unbounded { .. }, Some(allowed)) => {
                        let allowed = *allowed;
                        return Err(Constraint::Unbounded { class, allowed });
                    }
                    (ClassBound::Bounded { delay, backlog }, Some(budget)) => {
                        delay_fits(class, delay, *budget)?;
                        queue_fits(class, backlog, *buffer)?;
                    }
                }
            }
            Ok(())
        }
        (Stage::Processing { .. }, Load::Port(_)) | (Stage::Port { .. }, Load::Processing(_)) => {
            unreachable!("a load is made for the kind of its stage")
        }
    }
}

/// Returns how long a frame of `class` may be at a stage, as far as is known by
/// what is reserved there: in the worst case, and which that is. `None` if there
/// is no bound, and no delay at all for a class that nothing uses.
pub(super) fn worst_delay(
    stage: &Stage,
    load: &StageLoad,
    class: u8,
) -> Option<(Delay, Option<FailureId>)> {
    let mut worst = (Delay::ZERO, None);
    for failure in load.cases() {
        let delay = delay_under(stage, &load.total(failure), class)?;
        if delay > worst.0 {
            worst = (delay, failure);
        }
    }
    Some(worst)
}

fn delay_under(stage: &Stage, total: &Load, class: u8) -> Option<Delay> {
    match (stage, total) {
        (
            Stage::Processing {
                latency,
                per_frame,
                budget: _,
                buffer_frames: _,
            },
            Load::Processing(frames),
        ) => {
            let (latency, per_frame) = (*latency, *per_frame);
            Processor { latency, per_frame }.delay_bound(*frames)
        }
        (
            Stage::Port {
                rate,
                largest_frame,
                propagation: _,
                budgets: _,
                buffers: _,
            },
            Load::Port(classes),
        ) => {
            match strict_priority::class_bounds(*rate, classes, *largest_frame)[usize::from(class)]
            {
                ClassBound::Idle => Some(Delay::ZERO),
                ClassBound::Unbounded { needed_bps: _ } => None,
                ClassBound::Bounded { delay, backlog: _ } => Some(delay),
            }
        }
        (Stage::Processing { .. }, Load::Port(_)) | (Stage::Port { .. }, Load::Processing(_)) => {
            unreachable!("a load is made for the kind of its stage")
        }
    }
}

/// Checks that a stage keeps its budgets in every case.
pub(super) fn stage_fits(
    id: StageId,
    stage: &Stage,
    load: &StageLoad,
    class: u8,
) -> Result<(), Breach> {
    for failure in load.cases() {
        load_fits(stage, &load.total(failure), class).map_err(|constraint| Breach {
            stage: Some(id),
            failure,
            constraint,
        })?;
    }
    Ok(())
}

fn frames_fit(
    processor: Processor,
    frames: FrameBucket,
    (budget, buffer_frames): (Delay, Option<u64>),
    class: u8,
) -> Result<(), Constraint> {
    let (Some(delay), Some(backlog)) = (
        processor.delay_bound(frames),
        processor.backlog_bound(frames),
    ) else {
        return Err(Constraint::FrameRate {
            needed_per_second: frames.rate_per_second.div_ceil(FRAME),
            allowed_per_second: processor.highest_rate() / FRAME,
        });
    };
    delay_fits(class, delay, budget)?;
    match buffer_frames {
        Some(allowed) if backlog > allowed.saturating_mul(FRAME) => Err(Constraint::FrameBuffer {
            needed: backlog.div_ceil(FRAME),
            allowed,
        }),
        Some(_) | None => Ok(()),
    }
}

fn delay_fits(class: u8, needed: Delay, allowed: Delay) -> Result<(), Constraint> {
    if needed <= allowed {
        return Ok(());
    }
    Err(Constraint::Delay {
        class,
        needed,
        allowed,
    })
}

fn queue_fits(class: u8, needed: DataSize, allowed: Option<DataSize>) -> Result<(), Constraint> {
    match allowed {
        Some(allowed) if needed > allowed => Err(Constraint::Buffer {
            class,
            needed,
            allowed,
        }),
        Some(_) | None => Ok(()),
    }
}
