//! Whether what is reserved at a stage leaves all its budgets whole.

use units::{BitRate, DataSize, Delay};

use super::load::{ReservedLoad, StageLoad};
use super::plan::ReservationPlanner;
use super::refusal::{Breach, Constraint};
use super::request::MIN_FRAME;
use super::reservation::Reservation;
use super::shaped;
use super::sides::SideArrivals;
use super::stage::{FailureId, Room, Stage, StageId};
use crate::bounds::concave;
use crate::bounds::processing::{FRAME, FrameBucket, Processor};
use crate::bounds::strict_priority::{self, CLASSES, ClassBound, ClassLoad};

/// Checks every stage that `plan` touches, in every case that it touches. Of
/// several breaches it returns the first that no budget could mend, or else the
/// first.
pub(super) fn plan_fits(
    plan: &ReservationPlanner,
    stages: &[Stage],
    loads: &[StageLoad],
) -> Result<(), Breach> {
    let mut first = None;
    for reservation in &plan.reservations {
        match reservation_fits(plan, reservation, stages, loads) {
            Ok(()) => {}
            Err(breach) if breach.constraint.is_overload() => return Err(breach),
            Err(breach) => first = first.or(Some(breach)),
        }
    }
    first.map_or(Ok(()), Err)
}

/// Returns whether every stage that `plan` touches keeps its budgets.
pub(super) fn plan_holds(plan: &ReservationPlanner, stages: &[Stage], loads: &[StageLoad]) -> bool {
    let mut reservations = plan.reservations.iter();
    reservations.all(|reservation| reservation_fits(plan, reservation, stages, loads).is_ok())
}

fn reservation_fits(
    plan: &ReservationPlanner,
    reservation: &Reservation,
    stages: &[Stage],
    loads: &[StageLoad],
) -> Result<(), Breach> {
    let load = &loads[reservation.stage.index()];
    if reservation.failure.is_none() {
        let always = StageCase {
            stage: reservation.stage,
            stages,
            load,
            failure: None,
            more: &[*reservation],
        };
        if always.has_room_always() {
            return Ok(());
        }
        // Where something takes its place it does not count, and that is checked itself.
        let cases = load.cases();
        let mut cases = cases.filter(|failure| !plan.replaces(reservation.stage, *failure));
        return cases.try_for_each(|failure| fits_in(failure, reservation, stages, load));
    }
    let case = StageCase {
        stage: reservation.stage,
        stages,
        load,
        failure: reservation.failure,
        more: &[reservation.whole()],
    };
    // What fits beside the ceiling fits beside what this failure brings, which need not
    // be looked up then.
    match case.has_room_always() {
        true => Ok(()),
        false => case.fits(reservation.class),
    }
}

/// Checks a reservation that counts in every case.
pub(super) fn always_fits(
    reservation: &Reservation,
    stages: &[Stage],
    load: &StageLoad,
) -> Result<(), Breach> {
    let mut cases = load.cases();
    cases.try_for_each(|failure| fits_in(failure, reservation, stages, load))
}

fn fits_in(
    failure: Option<FailureId>,
    reservation: &Reservation,
    stages: &[Stage],
    load: &StageLoad,
) -> Result<(), Breach> {
    let case = StageCase {
        stage: reservation.stage,
        stages,
        load,
        failure,
        more: &[*reservation],
    };
    case.fits(reservation.class)
}

/// A stage while nothing is broken or after a failure, with what is reserved
/// there and more.
#[derive(Clone, Copy)]
pub(super) struct StageCase<'a> {
    pub(super) stage: StageId,
    pub(super) stages: &'a [Stage],
    pub(super) load: &'a StageLoad,
    pub(super) failure: Option<FailureId>,
    pub(super) more: &'a [Reservation],
}

impl StageCase<'_> {
    /// Checks that the stage keeps its budgets. A breach at a processor names
    /// `class`, as all classes are one there.
    pub(super) fn fits(&self, class: u8) -> Result<(), Breach> {
        if self.has_room() {
            return Ok(());
        }
        self.keeps_budgets(class).map_err(|constraint| Breach {
            stage: Some(self.stage),
            failure: self.failure,
            constraint,
        })
    }

    fn keeps_budgets(&self, class: u8) -> Result<(), Constraint> {
        match (&self.stages[self.stage.index()], self.total()) {
            (
                Stage::Processing {
                    latency,
                    per_frame,
                    fastest_per_frame: _,
                    budget,
                    buffer_frames,
                },
                ReservedLoad::Processing(frames),
            ) => {
                let (latency, per_frame) = (*latency, *per_frame);
                let processor = Processor { latency, per_frame };
                self.frames_fit(processor, frames, (*budget, *buffer_frames), class)
            }
            (
                Stage::Port {
                    rate,
                    budgets,
                    buffers,
                    largest_frame,
                    propagation: _,
                },
                ReservedLoad::Port(classes),
            ) => {
                let bounds = strict_priority::class_bounds(*rate, &classes, *largest_frame);
                let limits = budgets.iter().zip(buffers);
                for ((class, bound), (budget, room)) in (0u8..).zip(bounds).zip(limits) {
                    let limits = (*budget, *room);
                    self.class_fits(class, bound, limits, *rate)
                        .or_else(|breach| {
                            let finer = self.class_bound(class, bound, &classes);
                            match breach.is_a_matter_of_bursts() {
                                true => self.class_fits(class, finer, limits, *rate),
                                false => Err(breach),
                            }
                        })?;
                }
                Ok(())
            }
            (Stage::Processing { .. }, ReservedLoad::Port(_))
            | (Stage::Port { .. }, ReservedLoad::Processing(_)) => kinds_differ(),
        }
    }

    fn frames_fit(
        &self,
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
        let room = buffer_frames.map(|frames| frames.saturating_mul(FRAME));
        let (delay, backlog) = match delay > budget || room.is_some_and(|room| backlog > room) {
            true => self.processor_bounds(processor, (delay, backlog)),
            false => (delay, backlog),
        };
        delay_fits(class, delay, budget)?;
        match buffer_frames {
            Some(allowed) if backlog > allowed.saturating_mul(FRAME) => {
                Err(Constraint::FrameBuffer {
                    needed: backlog.div_ceil(FRAME),
                    allowed,
                })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns how long a frame of `class` may be at the stage, and no delay at
    /// all for a class that nothing uses; nothing if there is no bound.
    fn delay(&self, class: u8) -> Option<Delay> {
        match (&self.stages[self.stage.index()], self.total()) {
            (
                Stage::Processing {
                    latency, per_frame, ..
                },
                ReservedLoad::Processing(frames),
            ) => {
                let (latency, per_frame) = (*latency, *per_frame);
                let processor = Processor { latency, per_frame };
                let delay = processor.delay_bound(frames)?;
                Some(self.processor_bounds(processor, (delay, u64::MAX)).0)
            }
            (
                Stage::Port {
                    rate,
                    largest_frame,
                    ..
                },
                ReservedLoad::Port(classes),
            ) => {
                let bounds = strict_priority::class_bounds(*rate, &classes, *largest_frame);
                let bound = bounds[usize::from(class)];
                match self.class_bound(class, bound, &classes) {
                    ClassBound::Idle => Some(Delay::ZERO),
                    ClassBound::Unbounded { needed_bps: _ } => None,
                    ClassBound::Bounded { delay, backlog: _ } => Some(delay),
                }
            }
            (Stage::Processing { .. }, ReservedLoad::Port(_))
            | (Stage::Port { .. }, ReservedLoad::Processing(_)) => kinds_differ(),
        }
    }

    fn total(&self) -> ReservedLoad {
        let mut total = self.load.total(self.failure);
        for reservation in self.more {
            total.add(reservation);
        }
        total
    }

    /// Returns the bounds of a processor, `known` already or better.
    fn processor_bounds(&self, processor: Processor, known: (Delay, u64)) -> (Delay, u64) {
        let arrivals = self.load.arrivals(self.failure, self.more);
        let sources = arrivals.at_processor(self.load.unpromised(), self.stages);
        let sides = match shaped::tells_more(&sources) {
            true => shaped::processor_bounds(processor, &sources),
            false => None,
        };
        sides.map_or(known, |sides| (known.0.min(sides.0), known.1.min(sides.1)))
    }

    /// Returns the bounds of a class of a port, those that are `known` or better.
    fn class_bound(
        &self,
        class: u8,
        known: ClassBound,
        classes: &[ClassLoad; CLASSES],
    ) -> ClassBound {
        let Stage::Port {
            rate,
            largest_frame,
            ..
        } = &self.stages[self.stage.index()]
        else {
            return known;
        };
        let class = usize::from(class);
        let largest = classes.map(|load| load.largest_frame);
        let blocking = strict_priority::blocking_frames(classes, *largest_frame)[class];
        let beside = |known: ClassBound, arrivals: &SideArrivals| {
            let sources = arrivals.at_port(largest, self.stages);
            let mut concerned = sources[class..].iter();
            if !concerned.any(|class| shaped::tells_more(class)) {
                return known;
            }
            let frames = (blocking, largest[class]);
            shaped::least(known, shaped::class_bounds(*rate, &sources, class, frames))
        };
        let arrivals = self.load.arrivals(self.failure, self.more);
        let known = beside(known, &arrivals);
        match arrivals.is_paced(self.stages) {
            true => beside(known, &arrivals.by_stage()),
            false => known,
        }
    }

    fn class_fits(
        &self,
        class: u8,
        bound: ClassBound,
        (budget, room): (Option<Delay>, Option<Room>),
        rate: BitRate,
    ) -> Result<(), Constraint> {
        match (bound, budget) {
            (ClassBound::Idle, _) => Ok(()),
            (_, None) => Err(Constraint::NoBudget { class }),
            (ClassBound::Unbounded { needed_bps }, Some(_)) if needed_bps > rate.as_bps() => {
                Err(Constraint::Rate {
                    class,
                    needed_bps,
                    allowed: rate,
                })
            }
            (ClassBound::Unbounded { .. }, Some(allowed)) => {
                Err(Constraint::Unbounded { class, allowed })
            }
            (ClassBound::Bounded { delay, backlog }, Some(budget)) => {
                delay_fits(class, delay, budget)?;
                match room {
                    None => Ok(()),
                    Some(Room::Size(allowed)) => queue_fits(class, backlog, allowed),
                    Some(Room::Frames(allowed)) => {
                        let most = self.queued_frames(class, (delay, backlog));
                        frames_fit_queue(class, most, allowed)
                    }
                }
            }
        }
    }

    /// Returns the most frames of a class that are at a port, in millionths, if its
    /// frames are there for no longer than `delay` and have no more than `backlog`
    /// together: the less of two bounds.
    ///
    /// By size: there are no more than `backlog` over the smallest that a frame can
    /// be. By time: a frame that is there at `t` has arrived in `(t - delay, t]`, as it
    /// would have left otherwise, so there are no more than arrive within `delay`. That
    /// is `n + f * (w + delay)` for flows of `n` frames at once and `f` a second
    /// behind windows `w`, and less where the link that they come over carries less
    /// (NC section 1.4: a backlog is no more than what arrives in the longest delay,
    /// where frames go in order).
    fn queued_frames(&self, class: u8, (delay, backlog): (Delay, DataSize)) -> u128 {
        let by_size = u128::from(backlog.as_bits()) * u128::from(FRAME);
        let by_size = by_size.div_ceil(u128::from(MIN_FRAME.as_bits()));
        let arrivals = self.load.arrivals(self.failure, self.more);
        let within = |arrivals: &SideArrivals| {
            let sources = arrivals.frames_at_port(class, self.stages);
            concave::most_in(&sources, delay.as_ps())
        };
        let by_time = match arrivals.is_paced(self.stages) {
            true => within(&arrivals).min(within(&arrivals.by_stage())),
            false => within(&arrivals),
        };
        by_size.min(by_time)
    }
}

/// Returns how long a frame of `class` may be at a stage, as far as is known by
/// what is reserved there: in the worst case, and which that is. `None` if there
/// is no bound, and no delay at all for a class that nothing uses.
pub(super) fn worst_delay(
    stage: StageId,
    stages: &[Stage],
    load: &StageLoad,
    class: u8,
) -> Option<(Delay, Option<FailureId>)> {
    let mut worst = (Delay::ZERO, None);
    for failure in load.cases() {
        let case = StageCase {
            stage,
            stages,
            load,
            failure,
            more: &[],
        };
        let delay = case.delay(class)?;
        if delay > worst.0 {
            worst = (delay, failure);
        }
    }
    Some(worst)
}

/// Checks that a stage keeps its budgets in every case.
pub(super) fn stage_fits(
    stage: StageId,
    stages: &[Stage],
    load: &StageLoad,
    class: u8,
) -> Result<(), Breach> {
    load.cases().try_for_each(|failure| {
        let case = StageCase {
            stage,
            stages,
            load,
            failure,
            more: &[],
        };
        case.fits(class)
    })
}

fn kinds_differ() -> ! {
    unreachable!("a load is made for the kind of its stage")
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

fn queue_fits(class: u8, needed: DataSize, allowed: DataSize) -> Result<(), Constraint> {
    if needed <= allowed {
        return Ok(());
    }
    Err(Constraint::Buffer {
        class,
        needed,
        allowed,
    })
}

/// Checks that millionths of frames are no more than whole frames.
fn frames_fit_queue(class: u8, most: u128, allowed: u64) -> Result<(), Constraint> {
    let needed = u64::try_from(most.div_ceil(u128::from(FRAME))).unwrap_or(u64::MAX);
    if needed <= allowed {
        return Ok(());
    }
    Err(Constraint::Frames {
        class,
        needed,
        allowed,
    })
}
