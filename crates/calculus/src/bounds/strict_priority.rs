//! A link with a queue a class, the most urgent first, and no frame interrupted.
//!
//! A class sees what the more urgent ones leave, after one frame of a less
//! urgent class that may just have begun: S4-5, NC section 1.3. With `C` the rate
//! of the link:
//!
//! ```text
//! rate     R = C - sum r(more urgent)
//! latency  T = (sum b(more urgent) + l_max(less urgent)) / R
//! delay    T + b(own) / R
//! backlog  b(own) + r(own) * (T + l_max(own) / R)
//! ```
//!
//! The delay runs from the arrival of a frame's last bit to the departure of
//! its last bit. In the backlog a frame counts in full until its last bit has
//! left, which is the second term in the bracket.

use units::{BitRate, DataSize, Delay};

use crate::min_plus::{self, RateLatency, TokenBucket};

/// The number of classes of a port; class 7 is the most urgent.
pub const CLASSES: usize = 8;

/// What all flows of one class bring to a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassLoad {
    /// The sum of their arrivals.
    pub traffic: TokenBucket,
    /// The largest of their frames, zero if there is no flow.
    pub largest_frame: DataSize,
}

/// What can be said of one class of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassBound {
    /// No flow uses the class.
    Idle,
    /// The link cannot carry it, so nothing is bounded.
    Unbounded {
        /// What this and the more urgent classes ask for together.
        needed_bps: u64,
    },
    /// The class waits and queues no more than this.
    Bounded {
        /// The longest time from last bit in to last bit out.
        delay: Delay,
        /// The most that is queued or being sent.
        backlog: DataSize,
    },
}

/// Returns what the more urgent classes and one frame of a less urgent class
/// leave of a link, or `None` if that is nothing, or nothing for 213 days.
#[must_use]
pub fn left_over(
    link: BitRate,
    more_urgent: TokenBucket,
    blocking: DataSize,
) -> Option<RateLatency> {
    let rate = link.left_after(more_urgent.rate_bps())?;
    Some(RateLatency {
        rate,
        latency: rate.checked_time_to_send(more_urgent.burst() + blocking)?,
    })
}

/// Returns the bounds of each class of a port, where traffic without promise is
/// less urgent than all of them and has frames no larger than `unpromised`.
#[must_use]
pub fn class_bounds(
    link: BitRate,
    loads: &[ClassLoad; CLASSES],
    unpromised: DataSize,
) -> [ClassBound; CLASSES] {
    let blocking = blocking_frames(loads, unpromised);
    let mut bounds = [ClassBound::Idle; CLASSES];
    let mut more_urgent = TokenBucket::NOTHING;
    for class in (0..CLASSES).rev() {
        let load = &loads[class];
        if load.traffic != TokenBucket::NOTHING {
            bounds[class] = class_bound(link, more_urgent, load, blocking[class]);
            more_urgent += load.traffic;
        }
    }
    bounds
}

/// Returns the largest frame of a less urgent class, for each class.
#[must_use]
pub fn blocking_frames(loads: &[ClassLoad; CLASSES], unpromised: DataSize) -> [DataSize; CLASSES] {
    let mut largest = unpromised;
    loads.map(|load| {
        let blocking = largest;
        largest = largest.max(load.largest_frame);
        blocking
    })
}

fn class_bound(
    link: BitRate,
    more_urgent: TokenBucket,
    own: &ClassLoad,
    blocking: DataSize,
) -> ClassBound {
    let bounded = || {
        let service = left_over(link, more_urgent, blocking)?;
        let delay = min_plus::delay_bound(own.traffic, service)?;
        // No later than `delay`, as a burst holds at least the largest frame.
        let by_frames = service.by_whole_frames(own.largest_frame);
        let backlog = min_plus::backlog_bound(own.traffic, by_frames)?;
        Some(ClassBound::Bounded { delay, backlog })
    };
    bounded().unwrap_or_else(|| ClassBound::Unbounded {
        needed_bps: more_urgent.rate_bps() + own.traffic.rate_bps(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: BitRate = BitRate::from_mbps(100);
    const FULL_FRAME: DataSize = DataSize::from_bytes(1_538);

    #[test]
    fn the_most_urgent_class_waits_for_one_frame_and_itself() {
        let mut loads = [ClassLoad::default(); CLASSES];
        loads[7] = load(4, 250);

        let bounds = class_bounds(LINK, &loads, FULL_FRAME);

        // (1538 + 250) bytes at 100 Mbit/s.
        let ClassBound::Bounded { delay, backlog } = bounds[7] else {
            panic!("{bounds:?}");
        };
        assert_eq!(delay, Delay::from_ns(143_040));
        // 2000 bits, and 4 Mbit/s for those 143.04 us.
        assert_eq!(backlog, DataSize::from_bits(2_000 + 573));
        assert_eq!(bounds[6], ClassBound::Idle);
    }

    /// NC section 1.3.
    #[test]
    fn a_less_urgent_class_waits_for_the_more_urgent_at_what_they_leave() {
        let mut loads = [ClassLoad::default(); CLASSES];
        loads[7] = load(50, 250);
        loads[3] = load(10, 500);

        let bounds = class_bounds(LINK, &loads, FULL_FRAME);

        // (250 + 1538 + 500) bytes at the 50 Mbit/s that are left.
        let ClassBound::Bounded { delay, .. } = bounds[3] else {
            panic!("{bounds:?}");
        };
        assert_eq!(delay, Delay::from_ns(366_080));
    }

    #[test]
    fn a_promised_frame_of_a_less_urgent_class_blocks_too() {
        let mut loads = [ClassLoad::default(); CLASSES];
        loads[2] = load(1, 900);
        loads[4] = load(1, 100);

        let blocking = blocking_frames(&loads, DataSize::from_bytes(84));

        assert_eq!(blocking[1], DataSize::from_bytes(84));
        assert_eq!(blocking[2], DataSize::from_bytes(84));
        assert_eq!(blocking[3], DataSize::from_bytes(900));
        assert_eq!(blocking[7], DataSize::from_bytes(900));
    }

    #[test]
    fn a_class_that_does_not_fit_the_link_has_no_bound_and_says_what_it_needs() {
        let mut loads = [ClassLoad::default(); CLASSES];
        loads[7] = load(60, 100);
        loads[5] = load(41, 100);

        let bounds = class_bounds(LINK, &loads, FULL_FRAME);

        assert!(matches!(bounds[7], ClassBound::Bounded { .. }));
        let needed_bps = 101_000_000;
        assert_eq!(bounds[5], ClassBound::Unbounded { needed_bps });
    }

    fn load(mbps: u64, bytes: u64) -> ClassLoad {
        ClassLoad {
            traffic: TokenBucket::new(BitRate::from_mbps(mbps), DataSize::from_bytes(bytes)),
            largest_frame: DataSize::from_bytes(bytes),
        }
    }
}
