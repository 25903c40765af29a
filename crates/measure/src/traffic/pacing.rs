//! When a source may send: an absolute schedule within a token bucket, or the
//! token bucket alone.

use units::{DataSize, Duration, Instant};

use crate::Contract;
use crate::token_bucket::{Conformance, PacingBucket};

/// Equally spaced points in time, exact over any length of run: the n-th is
/// `n · over / times` after the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    start: Instant,
    until: Option<Instant>,
    over: Duration,
    times: u32,
}

impl Schedule {
    /// Returns a schedule of `times` points every `over`, the first at `start`.
    ///
    /// # Panics
    ///
    /// If there are no points or they do not advance.
    pub(super) fn new(start: Instant, until: Option<Instant>, over: Duration, times: u32) -> Self {
        assert!(
            times > 0 && over.as_ns() >= u64::from(times),
            "points of a schedule are at least a nanosecond apart"
        );
        Self {
            start,
            until,
            over,
            times,
        }
    }

    /// Returns the n-th point, or nothing once the schedule has ended.
    fn at(&self, slot: u64) -> Option<Instant> {
        let ns = u128::from(slot) * u128::from(self.over.as_ns()) / u128::from(self.times);
        let at = self.start + Duration::from_ns(u64::try_from(ns).ok()?);
        match self.until {
            Some(until) if at >= until => None,
            Some(_) | None => Some(at),
        }
    }

    /// Returns the last point that is not after `now`, at least `from`.
    fn latest(&self, from: u64, now: Instant) -> u64 {
        let elapsed = u128::from(now.saturating_since(self.start).as_ns());
        // The inverse of the rounding down in `at`.
        let passed = ((elapsed + 1) * u128::from(self.times) - 1) / u128::from(self.over.as_ns());
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        passed.min(self.last()).max(from)
    }

    /// Returns the last point before the end.
    fn last(&self) -> u64 {
        let Some(until) = self.until else {
            return u64::MAX;
        };
        let length = u128::from(until.saturating_since(self.start).as_ns());
        let slots = (length * u128::from(self.times)).div_ceil(self.over.as_ns().into());
        u64::try_from(slots.saturating_sub(1)).unwrap_or(u64::MAX)
    }
}

/// What lets a group of frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// The points of a schedule.
    Scheduled(Schedule),
    /// Nothing but the tokens, between two points in time.
    Immediate {
        /// When the first frame may leave.
        start: Instant,
        /// From when on none may.
        until: Option<Instant>,
    },
}

/// Groups of frames, each of which waits for its release and for its tokens.
#[derive(Clone, Debug)]
pub(super) struct Pacing {
    release: Release,
    bucket: Option<PacingBucket>,
    /// The size of each frame of a group but the last.
    size: DataSize,
    /// The size of the last frame of a group.
    last_size: DataSize,
    group: u32,
    next_slot: u64,
    /// The group under way, and how many frames of it have left.
    begun: Option<(u64, u32)>,
    skipped: u64,
}

/// The permission to send one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Which point of the schedule it belongs to.
    pub(super) slot: u64,
    /// Which frame of the group it is.
    pub(super) part: u32,
    /// When it should have been sent.
    pub(super) due: Instant,
}

/// The frames that each point of a schedule releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameGroup {
    /// How many there are, at least one.
    pub(super) frames: u32,
    /// The size of each but the last.
    pub(super) size: DataSize,
    pub(super) last_size: DataSize,
}

impl FrameGroup {
    /// Returns a group of one frame.
    pub(super) fn single(size: DataSize) -> Self {
        Self {
            frames: 1,
            size,
            last_size: size,
        }
    }
}

impl Pacing {
    /// Returns the pacing of groups within a contract.
    ///
    /// # Panics
    ///
    /// If a group is empty, or has a frame larger than the contract's burst: it
    /// could never leave.
    pub(super) fn new(release: Release, group: FrameGroup, contract: Option<Contract>) -> Self {
        assert!(group.frames > 0, "a group has at least one frame");
        if let Some(contract) = contract {
            let largest = group.size.max(group.last_size);
            assert!(largest <= contract.burst, "a frame fits into its burst");
        }
        Self {
            release,
            bucket: contract.map(PacingBucket::new),
            size: group.size,
            last_size: group.last_size,
            group: group.frames,
            next_slot: 0,
            begun: None,
            skipped: 0,
        }
    }

    /// Returns when the next frame may leave.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let (slot, part) = self.begun.unwrap_or((self.next_slot, 0));
        let ready = match &self.bucket {
            Some(bucket) => bucket.ready_at(self.size_of(part))?,
            None => Instant::ZERO,
        };
        match self.release {
            Release::Scheduled(schedule) => Some(schedule.at(slot)?.max(ready)),
            Release::Immediate { start, until } => {
                let due = start.max(ready);
                until.is_none_or(|until| due < until).then_some(due)
            }
        }
    }

    /// Takes the next turn, if it has come at `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<Turn> {
        let due = self.next_due()?;
        if due > now {
            return None;
        }
        let (slot, part) = match (self.begun, self.release) {
            (Some(begun), _) => begun,
            (None, Release::Scheduled(schedule)) => (schedule.latest(self.next_slot, now), 0),
            (None, Release::Immediate { .. }) => (self.next_slot, 0),
        };
        let size = self.size_of(part);
        if let Some(bucket) = &mut self.bucket {
            match bucket.take(now, size) {
                Conformance::Within => {}
                Conformance::Beyond => return None,
            }
        }
        if part == 0 {
            self.skipped += (slot - self.next_slot) * u64::from(self.group);
            self.next_slot = slot + 1;
        }
        self.begun = (part + 1 < self.group).then_some((slot, part + 1));
        let due = match self.release {
            Release::Scheduled(schedule) => schedule.at(slot)?,
            Release::Immediate { .. } => due,
        };
        Some(Turn { slot, part, due })
    }

    /// Returns how many frames were left out.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    fn size_of(&self, part: u32) -> DataSize {
        match part + 1 == self.group {
            true => self.last_size,
            false => self.size,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::BitRate;

    use super::*;

    const FRAME: DataSize = DataSize::from_bytes(144);

    #[test]
    fn a_late_call_delays_one_frame_and_not_the_next() {
        let mut pacing = every_250_us(None);

        let first = pacing.take(at_us(200)).unwrap();

        assert_eq!((first.slot, first.due), (0, at_us(0)));
        assert_eq!(pacing.next_due(), Some(at_us(250)));
        assert_eq!(pacing.skipped(), 0);
    }

    #[test]
    fn slots_missed_by_more_than_a_period_are_left_out() {
        let mut pacing = every_250_us(None);

        let turn = pacing.take(at_us(1_100)).unwrap();

        assert_eq!((turn.slot, turn.due), (4, at_us(1_000)));
        assert_eq!(pacing.skipped(), 4);
        assert_eq!(pacing.next_due(), Some(at_us(1_250)));
    }

    #[test]
    fn a_late_frame_pushes_the_next_one_back_if_the_contract_says_so() {
        let mut pacing = every_250_us(Some(one_frame_each_250_us()));

        assert!(pacing.take(at_us(200)).is_some());

        assert_eq!(pacing.next_due(), Some(at_us(450)));
        assert_eq!(pacing.take(at_us(449)), None);
        assert_eq!(pacing.take(at_us(450)).unwrap().due, at_us(250));
    }

    #[test]
    fn nothing_is_due_after_the_end() {
        let schedule = Schedule::new(Instant::ZERO, Some(at_us(500)), Duration::from_us(250), 1);
        let mut pacing = Pacing::new(
            Release::Scheduled(schedule),
            FrameGroup::single(FRAME),
            None,
        );

        let turn = pacing.take(at_us(10_000)).unwrap();

        assert_eq!(turn.slot, 1);
        assert_eq!(pacing.next_due(), None);
        assert_eq!(pacing.take(at_us(20_000)), None);
    }

    #[test]
    fn a_rate_that_divides_no_nanosecond_does_not_drift() {
        let schedule = Schedule::new(Instant::ZERO, None, Duration::from_secs(1), 4_800);

        assert_eq!(
            schedule.at(4_800 * 3_600),
            Some(Instant::ZERO + Duration::from_secs(3_600))
        );
    }

    proptest! {
        #[test]
        fn the_latest_slot_is_the_last_not_after_now(
            over in 1_000u64..2_000_000_000, times in 1u32..1_000, now in 0u64..1 << 45,
        ) {
            let schedule = Schedule::new(Instant::ZERO, None, Duration::from_ns(over), times);
            let now = Instant::from_ns(now);

            let latest = schedule.latest(0, now);

            prop_assert!(schedule.at(latest).unwrap() <= now);
            prop_assert!(schedule.at(latest + 1).unwrap() > now);
        }

        #[test]
        fn frames_sent_and_left_out_make_the_schedule(
            steps in prop::collection::vec(0u64..2_000, 1..100), group in 1u32..5,
        ) {
            let schedule = Schedule::new(Instant::ZERO, None, Duration::from_us(250), 1);
            let frames = FrameGroup { frames: group, size: FRAME, last_size: FRAME };
            let mut pacing = Pacing::new(Release::Scheduled(schedule), frames, None);
            let (mut now_us, mut sent, mut last) = (0, 0, 0);
            for step in steps {
                now_us += step;
                while let Some(turn) = pacing.take(at_us(now_us)) {
                    sent += 1;
                    last = turn.slot;
                }
            }

            prop_assert_eq!(sent + pacing.skipped(), (last + 1) * u64::from(group));
        }
    }

    fn every_250_us(contract: Option<Contract>) -> Pacing {
        let schedule = Schedule::new(Instant::ZERO, None, Duration::from_us(250), 1);
        Pacing::new(
            Release::Scheduled(schedule),
            FrameGroup::single(FRAME),
            contract,
        )
    }

    fn one_frame_each_250_us() -> Contract {
        Contract {
            rate: BitRate::from_bps(4_608_000),
            burst: FRAME,
        }
    }

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }
}
