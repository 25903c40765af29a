//! The buckets of a hop's histogram.
//!
//! A bucket is at most a quarter wider than its lower end, or 256 ns. It is coarser than
//! that of a queue ([`Residence`](crate::Residence)), since there may be a thousand of
//! them and the kernel holds their memory.

use units::Duration;

use crate::compiled::layout::hop::{BUCKETS_COUNT, STEP_BITS, UNIT_BITS};

const STEPS: u64 = 1 << STEP_BITS;
/// The first stay, in units, that goes into the last bucket whatever it is.
const LONGEST: u64 = (STEPS * 2) << (BUCKETS_COUNT as u64 / STEPS - 2);

/// Returns the bucket of a stay.
pub(super) fn bucket_of(stay: Duration) -> usize {
    let units = (stay.as_ns() >> UNIT_BITS).min(LONGEST - 1);
    let power = u64::from(units.max(1).ilog2()).max(STEP_BITS);
    let shift = power - STEP_BITS;
    let bucket = shift * STEPS + (units >> shift);
    usize::try_from(bucket).expect("less than a hundred")
}

/// Returns the longest stay that falls into a bucket; the last one has no end.
pub(super) fn upper_end(bucket: usize) -> Duration {
    if bucket + 1 >= BUCKETS_COUNT {
        return Duration::from_ns(u64::MAX);
    }
    let bucket = u64::try_from(bucket).expect("less than a hundred");
    let shift = (bucket / STEPS).saturating_sub(1);
    let step = bucket - shift * STEPS;
    Duration::from_ns((((step + 1) << shift) << UNIT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Sound and tight: a bucket holds what is noted in it, and is at most a quarter
        /// wider, or 256 ns.
        #[test]
        fn a_bucket_ends_little_above_what_it_holds(ns in 0u64..LONGEST << UNIT_BITS) {
            let bucket = bucket_of(Duration::from_ns(ns));
            prop_assume!(bucket + 1 < BUCKETS_COUNT);

            let end = upper_end(bucket).as_ns();

            prop_assert!(ns <= end && end <= ns + (ns / 4).max(256), "{ns} up to {end}");
        }
    }

    #[test]
    fn buckets_follow_each_other_and_the_last_takes_all_that_is_longer() {
        let mut begins = 0;
        for bucket in 0..BUCKETS_COUNT - 1 {
            assert_eq!(bucket_of(Duration::from_ns(begins)), bucket);
            begins = upper_end(bucket).as_ns() + 1;
            assert_eq!(bucket_of(Duration::from_ns(begins - 1)), bucket);
        }
        for longer in [begins, u64::MAX] {
            assert_eq!(bucket_of(Duration::from_ns(longer)), BUCKETS_COUNT - 1);
        }
        assert!(begins > 1_800_000_000, "{begins} ns");
    }
}
