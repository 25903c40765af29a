//! How long frames stayed in the switch: one histogram a queue, kept for every
//! frame.
//!
//! The buckets are log-linear: each power of two of nanoseconds is cut into
//! [`STEPS`] equal parts, so a bucket is at most a sixteenth wider than its lower
//! end. To note a frame costs a few shifts and one addition; nothing is ever
//! thrown away, so a maximum of last year is still there.

use units::Duration;

/// Into how many parts a power of two is cut.
const STEPS: usize = 1 << STEP_BITS;
const STEP_BITS: u32 = 4;
/// From 2^34 ns (17 s) on all goes into the last bucket.
const LONGEST_BITS: u32 = 34;
const BUCKETS: usize = (LONGEST_BITS - STEP_BITS + 1) as usize * STEPS;

/// The times that the frames of one queue stayed in the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residence {
    buckets: Box<[u64; BUCKETS]>,
    frames: u64,
    longest: Duration,
}

/// One bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidenceBucket {
    /// No frame in it stayed longer.
    pub at_most: Duration,
    /// How many frames it counts.
    pub frames: u64,
}

impl Residence {
    pub(crate) fn new() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            frames: 0,
            longest: Duration::ZERO,
        }
    }

    #[inline]
    pub(crate) fn note(&mut self, stay: Duration) {
        self.buckets[bucket_of(stay)] += 1;
        self.frames += 1;
        self.longest = self.longest.max(stay);
    }

    /// Returns how many frames were noted.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the longest stay, exactly.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        self.longest
    }

    /// Returns a time that at least `permille` of a thousand frames did not
    /// exceed, at most a sixteenth too long; zero if no frame was noted.
    #[must_use]
    pub fn quantile(&self, permille: u32) -> Duration {
        let wanted = (u128::from(self.frames) * u128::from(permille)).div_ceil(1000);
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += u128::from(bucket.frames);
            if seen >= wanted {
                return bucket.at_most.min(self.longest);
            }
        }
        Duration::ZERO
    }

    /// Returns the buckets that are not empty, shortest stay first.
    pub fn buckets(&self) -> impl Iterator<Item = ResidenceBucket> {
        let counted = self.buckets.iter().enumerate();
        let counted = counted.filter(|(_, frames)| **frames > 0);
        counted.map(|(at, &frames)| ResidenceBucket {
            at_most: upper_end(at),
            frames,
        })
    }
}

#[inline]
fn bucket_of(stay: Duration) -> usize {
    let longest = (1 << LONGEST_BITS) - 1;
    let ns = stay.as_ns().min(longest);
    let power = ns.max(1).ilog2().max(STEP_BITS);
    let shift = power - STEP_BITS;
    // Below 2^STEP_BITS every nanosecond has a bucket of its own.
    let step = usize::try_from(ns >> shift).expect("at most twice the steps");
    usize::try_from(shift).expect("a small number") * STEPS + step
}

/// Returns the longest time that falls into a bucket.
fn upper_end(bucket: usize) -> Duration {
    let shift = (bucket / STEPS).saturating_sub(1);
    let step = bucket - shift * STEPS;
    let next = u64::try_from(step + 1).expect("at most twice the steps");
    Duration::from_ns((next << shift) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Sound and tight: a bucket holds what is noted in it, and is at most a
        /// sixteenth wider.
        #[test]
        fn a_bucket_ends_at_most_a_sixteenth_above_what_it_holds(ns in 0u64..1 << LONGEST_BITS) {
            let end = upper_end(bucket_of(Duration::from_ns(ns))).as_ns();

            prop_assert!(ns <= end && end <= ns + ns / 16, "{ns} in a bucket up to {end}");
        }
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let mut begins = 0;
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(Duration::from_ns(begins)), bucket);
            begins = upper_end(bucket).as_ns() + 1;
        }
        assert_eq!(begins, 1 << LONGEST_BITS);
    }

    #[test]
    fn what_is_longer_than_all_buckets_is_still_counted_and_its_length_known() {
        let mut residence = Residence::new();

        residence.note(Duration::from_secs(3600));

        assert_eq!(residence.frames(), 1);
        assert_eq!(residence.longest(), Duration::from_secs(3600));
    }

    #[test]
    fn quantiles_are_those_of_the_frames() {
        let mut residence = Residence::new();
        (1..=1000).for_each(|us| residence.note(Duration::from_us(us)));

        let [median, p99, all] = [500, 990, 1000].map(|permille| residence.quantile(permille));

        assert!((500_000..=531_250).contains(&median.as_ns()), "{median}");
        assert!((990_000..=1_000_000).contains(&p99.as_ns()), "{p99}");
        assert_eq!(all, Duration::from_us(1000));
    }
}
