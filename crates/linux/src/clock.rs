//! Reads the machine's clocks and sleeps to points in time.
//!
//! Everything in a process is timed on `CLOCK_MONOTONIC`, whose origin is the
//! start of the machine. Packet stamps of the kernel are on `CLOCK_REALTIME`;
//! [`WallClock`] translates them and notices when someone sets that clock.
//! Both clocks are slewed alike, so that their offset is constant between steps.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use units::{Duration, Instant};

const NS_PER_SECOND: u64 = 1_000_000_000;
/// How many readings a sample of another clock takes; the tightest one counts.
pub(crate) const READINGS: usize = 8;
/// A change of the offset beyond this is a step. Tight readings of two clocks
/// differ by tens of nanoseconds, interrupted ones by microseconds.
pub(crate) const STEP_AT_LEAST: Duration = Duration::from_us(20);

/// Returns the present moment on the monotonic clock.
#[must_use]
pub fn now() -> Instant {
    read(ClockId::Monotonic)
}

/// Returns the processor time that the calling thread has used.
#[must_use]
pub fn spent() -> Duration {
    read(ClockId::ThreadCPUTime).saturating_since(Instant::ZERO)
}

/// Sleeps until `moment`, or returns at once if it has passed.
pub fn sleep_until(moment: Instant) {
    let request = timespec(moment);
    while clock_nanosleep_absolute(ClockId::Monotonic, &request) == Err(rustix::io::Errno::INTR) {}
}

/// A point in time on the wall clock, as the kernel stamps packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallTime {
    ns: u64,
}

impl WallTime {
    /// Returns the time `ns` nanoseconds after the beginning of 1970.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Returns the nanoseconds since the beginning of 1970.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// Returns the present time of the wall clock.
    #[must_use]
    pub fn now() -> Self {
        Self::from_ns(read(ClockId::Realtime).as_ns())
    }
}

/// The relation of the wall clock to the monotonic one.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    /// Wall time less monotonic time.
    offset_ns: u64,
}

/// The wall clock was set while somebody measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    pub noticed: Instant,
    /// By how much; negative if the clock went back.
    pub by_ns: i64,
}

impl WallClock {
    /// Samples the offset between the two clocks.
    #[must_use]
    pub fn sample() -> Self {
        Self {
            offset_ns: sample_offset().0,
        }
    }

    /// Returns `stamp` on the monotonic clock. Stamps from before the start of
    /// the machine become its start.
    #[must_use]
    pub fn to_monotonic(&self, stamp: WallTime) -> Instant {
        Instant::from_ns(stamp.ns.saturating_sub(self.offset_ns))
    }

    /// Returns `moment` on the wall clock.
    #[must_use]
    pub fn to_wall(&self, moment: Instant) -> WallTime {
        WallTime::from_ns(moment.as_ns() + self.offset_ns)
    }

    /// Samples again, and returns the step that the wall clock made, if it did.
    pub fn follow(&mut self) -> Option<ClockStep> {
        let (offset_ns, _) = sample_offset();
        if offset_ns.abs_diff(self.offset_ns) < STEP_AT_LEAST.as_ns() {
            return None;
        }
        let by_ns = offset_ns
            .cast_signed()
            .wrapping_sub(self.offset_ns.cast_signed());
        self.offset_ns = offset_ns;
        Some(ClockStep {
            noticed: now(),
            by_ns,
        })
    }
}

/// Another clock, read between two readings of the monotonic one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bracketed {
    pub(crate) before: Instant,
    pub(crate) other_ns: u64,
    pub(crate) after: Instant,
}

impl Bracketed {
    /// Returns how long the reading took.
    pub(crate) fn width(&self) -> Duration {
        self.after.saturating_since(self.before)
    }

    /// Returns the moment in the middle, at which the other clock was read but for half
    /// of the width.
    pub(crate) fn middle(&self) -> Instant {
        self.before + Duration::from_ns(self.width().as_ns() / 2)
    }
}

/// Reads another clock some times; the reading that took the least was not interrupted.
pub(crate) fn bracket(mut read_other: impl FnMut() -> u64) -> Bracketed {
    let mut read = || {
        let before = read(ClockId::Monotonic);
        let other_ns = read_other();
        let after = read(ClockId::Monotonic);
        Bracketed {
            before,
            other_ns,
            after,
        }
    };
    let first = read();
    (1..READINGS).fold(first, |tightest, _| {
        let next = read();
        match next.width() < tightest.width() {
            true => next,
            false => tightest,
        }
    })
}

/// Returns wall time less monotonic time, and by how much that may be off.
pub(crate) fn sample_offset() -> (u64, Duration) {
    let wall = bracket(|| read(ClockId::Realtime).as_ns());
    let offset = wall.other_ns.saturating_sub(wall.middle().as_ns());
    (offset, Duration::from_ns(wall.width().as_ns().div_ceil(2)))
}

fn read(clock: ClockId) -> Instant {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).expect("these clocks count from 1970 or later");
    let ns = u64::try_from(time.tv_nsec).expect("the kernel keeps them below a second");
    Instant::from_ns(seconds * NS_PER_SECOND + ns)
}

fn timespec(moment: Instant) -> Timespec {
    let seconds = moment.as_ns() / NS_PER_SECOND;
    let ns = moment.as_ns() % NS_PER_SECOND;
    Timespec {
        tv_sec: i64::try_from(seconds).expect("2^64 ns are fewer than 2^63 s"),
        tv_nsec: i64::try_from(ns).expect("below 10^9"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_its_place_on_the_other_clock() {
        let clock = WallClock::sample();
        let moment = Instant::from_ns(123_456_789);

        let there_and_back = clock.to_monotonic(clock.to_wall(moment));

        assert_eq!(there_and_back, moment);
    }

    #[test]
    fn a_step_is_reported_once_with_its_sign() {
        let mut clock = WallClock::sample();
        clock.offset_ns += 5_000_000_000; // As if the clock had been set back since.

        let step = clock.follow().unwrap();

        assert!(
            (-5_000_100_000..=-4_999_900_000).contains(&step.by_ns),
            "{}",
            step.by_ns
        );
        assert_eq!(clock.follow(), None);
    }

    #[test]
    fn sleeping_to_a_moment_never_ends_before_it() {
        let moment = now() + Duration::from_us(200);

        sleep_until(moment);

        assert!(now() >= moment);
    }
}
