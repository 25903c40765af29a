//! Whether a stage has room beyond doubt, by multiplication alone.
//!
//! Nearly every decision is asked of stages with room to spare. There the bounds
//! need not be known, only that they are within what is allowed, so
//!
//! ```text
//! T + x / R <= D        becomes        x * 1 s <= (D - T) * R
//! ```
//!
//! without a division. Divisions that the exact bounds round up are allowed for;
//! where that leaves a doubt, the exact bounds decide.

use units::{BitRate, DataSize, Delay};

use super::check::StageCase;
use super::load::ReservedLoad;
use super::stage::{Room, Stage};
use crate::bounds::processing::{FRAME, FrameBucket, Processor};
use crate::bounds::strict_priority::{self, CLASSES, ClassLoad};
use crate::min_plus::TokenBucket;

const PS_PER_SECOND: u64 = 1_000_000_000_000;
/// A delay is the sum of two that are each rounded up to a picosecond.
const ROUNDED_DELAY: Delay = Delay::from_ps(2);
/// A backlog is what arrives in the sum of two such delays, rounded up to a bit: at
/// the highest rate one in each picosecond.
const ROUNDED_BACKLOG: u64 = 3;

impl StageCase<'_> {
    /// Returns whether the stage surely keeps all its budgets.
    pub(super) fn has_room(&self) -> bool {
        self.has_room_beside(self.load.parts(self.failure))
    }

    /// Returns whether the stage surely keeps all its budgets whatever is broken.
    pub(super) fn has_room_always(&self) -> bool {
        self.has_room_beside(self.load.worst())
    }

    fn has_room_beside(&self, (base, extra): (&ReservedLoad, Option<&ReservedLoad>)) -> bool {
        match (&self.stages[self.stage.index()], base) {
            (
                Stage::Processing {
                    latency,
                    per_frame,
                    budget,
                    buffer_frames,
                    fastest_per_frame: _,
                },
                ReservedLoad::Processing(frames),
            ) => {
                let (latency, per_frame) = (*latency, *per_frame);
                let frames = self.frames(*frames, extra);
                Processor { latency, per_frame }.has_room(frames, *budget, *buffer_frames)
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
                let classes = self.classes(classes, extra);
                port_has_room(*rate, &classes, (budgets, buffers), *largest_frame)
            }
            (Stage::Processing { .. }, ReservedLoad::Port(_))
            | (Stage::Port { .. }, ReservedLoad::Processing(_)) => false,
        }
    }

    fn frames(&self, mut frames: FrameBucket, extra: Option<&ReservedLoad>) -> FrameBucket {
        if let Some(ReservedLoad::Processing(extra)) = extra {
            frames += *extra;
        }
        for reservation in self.more {
            frames += reservation.frames();
        }
        frames
    }

    fn classes(
        &self,
        base: &[ClassLoad; CLASSES],
        extra: Option<&ReservedLoad>,
    ) -> [ClassLoad; CLASSES] {
        let mut classes = *base;
        if let Some(ReservedLoad::Port(extra)) = extra {
            for (load, extra) in classes.iter_mut().zip(extra) {
                load.traffic += extra.traffic;
                load.largest_frame = load.largest_frame.max(extra.largest_frame);
            }
        }
        for reservation in self.more {
            let load = &mut classes[usize::from(reservation.class)];
            load.traffic += reservation.traffic();
            load.largest_frame = load.largest_frame.max(reservation.largest_frame);
        }
        classes
    }
}

impl Processor {
    fn has_room(self, frames: FrameBucket, budget: Delay, buffer_frames: Option<u64>) -> bool {
        let Some(left) = budget.checked_sub(self.latency) else {
            return false;
        };
        let work = product(frames.burst, self.per_frame.as_ps());
        if !self.keeps_up_with(frames) || work > product(left.as_ps(), FRAME) {
            return false;
        }
        let room = buffer_frames.map(|frames| frames.saturating_mul(FRAME));
        room.is_none_or(|room| {
            let held = self.latency + self.per_frame;
            let room = room.checked_sub(frames.burst);
            room.is_some_and(|room| {
                product(frames.rate_per_second, held.as_ps()) <= product(room, PS_PER_SECOND)
            })
        })
    }
}

fn port_has_room(
    link: BitRate,
    loads: &[ClassLoad; CLASSES],
    (budgets, buffers): (&[Option<Delay>; CLASSES], &[Option<Room>; CLASSES]),
    unpromised: DataSize,
) -> bool {
    let blocking = strict_priority::blocking_frames(loads, unpromised);
    let mut more_urgent = TokenBucket::NOTHING;
    for class in (0..CLASSES).rev() {
        let load = &loads[class];
        if load.traffic == TokenBucket::NOTHING {
            continue;
        }
        let left = link.left_after(more_urgent.rate_bps());
        let (Some(left), Some(budget)) = (left, budgets[class]) else {
            return false;
        };
        let first = more_urgent.burst() + blocking[class];
        let class_has_room = load.traffic.rate_bps() <= left.as_bps()
            && leaves_in_time(first + load.traffic.burst(), left, budget)
            && buffers[class].is_none_or(|room| holds(room.least_size(), load, first, left));
        if !class_has_room {
            return false;
        }
        more_urgent += load.traffic;
    }
    true
}

fn leaves_in_time(data: DataSize, rate: BitRate, budget: Delay) -> bool {
    let budget = budget.saturating_sub(ROUNDED_DELAY);
    product(data.as_bits(), PS_PER_SECOND) <= product(budget.as_ps(), rate.as_bps())
}

/// Returns whether a buffer holds a class that waits for `first` and for the frame
/// in hand.
fn holds(buffer: DataSize, load: &ClassLoad, first: DataSize, rate: BitRate) -> bool {
    let traffic = load.traffic;
    let Some(burst) = traffic.burst().as_bits().checked_add(ROUNDED_BACKLOG) else {
        return false;
    };
    let meanwhile = (first + load.largest_frame).as_bits();
    let room = buffer.as_bits().checked_sub(burst);
    room.is_some_and(|room| product(traffic.rate_bps(), meanwhile) <= product(room, rate.as_bps()))
}

fn product(one: u64, other: u64) -> u128 {
    u128::from(one) * u128::from(other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::admission::{FailureId, Ledger, StageId};

    proptest! {
        /// What surely has room has room by the exact bounds.
        #[test]
        fn no_doubt_is_no_mistake(
            kbps in prop::collection::vec((0u64..60_000, 512u64..200_000, 512u64..12_304), 3),
            budgets_us in prop::collection::vec(1u64..3_000, 3),
            (latency_us, per_frame_ns, frames) in (0u64..100, 0u64..40_000, 1u64..100),
            buffer in prop::option::of(512u64..300_000),
        ) {
            let mut loads = [ClassLoad::default(); CLASSES];
            let mut budgets = [None; CLASSES];
            for (at, (kbps, burst, frame)) in kbps.iter().enumerate() {
                let rate = BitRate::from_bps(kbps * 1_000 + 1);
                let burst = DataSize::from_bits(burst + frame);
                loads[7 - at].traffic = TokenBucket::new(rate, burst);
                loads[7 - at].largest_frame = DataSize::from_bits(*frame);
                budgets[7 - at] = Some(Delay::from_us(budgets_us[at]));
            }
            let (link, largest) = (BitRate::from_mbps(100), DataSize::from_bytes(1_538));
            let buffer = buffer.map(DataSize::from_bits);
            let buffers = [buffer.map(Room::Size); CLASSES];
            if port_has_room(link, &loads, (&budgets, &buffers), largest) {
                let bounds = strict_priority::class_bounds(link, &loads, largest);
                for (class, bound) in bounds.into_iter().enumerate().skip(5) {
                    let strict_priority::ClassBound::Bounded { delay, backlog } = bound else {
                        return Err(TestCaseError::fail("unbounded"));
                    };
                    prop_assert!(Some(delay) <= budgets[class]);
                    prop_assert!(buffer.is_none_or(|buffer| backlog <= buffer));
                }
            }
            let latency = Delay::from_us(latency_us);
            let per_frame = Delay::from_ns(per_frame_ns);
            let processor = Processor { latency, per_frame };
            let arrivals = FrameBucket::of(loads[7].traffic, loads[7].largest_frame);
            let budget = Delay::from_us(budgets_us[0]);
            // Here it is exact.
            let fits = processor.delay_bound(arrivals).is_some_and(|delay| delay <= budget)
                && processor.backlog_bound(arrivals).is_some_and(|b| b <= frames * FRAME);
            prop_assert_eq!(processor.has_room(arrivals, budget, Some(frames)), fits);
        }
    }

    #[test]
    fn an_empty_stage_has_room() {
        let stages = vec![Stage::Processing {
            latency: Delay::from_us(1),
            per_frame: Delay::from_us(1),
            fastest_per_frame: Delay::ZERO,
            budget: Delay::from_us(1),
            buffer_frames: None,
        }];
        let ledger = Ledger::new(stages);

        let case = StageCase {
            stage: StageId(0),
            stages: ledger.stages(),
            load: ledger.load(StageId(0)),
            failure: Some(FailureId(3)),
            more: &[],
        };

        assert!(case.has_room());
    }
}
