//! The token bucket that a flow agreed to, exact to the bit.
//!
//! Tokens come at the contract's rate up to its burst; a frame takes as many
//! as it has bits on the wire. The level is kept in billionths of a bit, so that
//! a nanosecond at a bit per second is a whole number and nothing is ever
//! rounded (S4-8 shapes the hosts this way; RFC 2697 section 3 is the same
//! bucket with one colour).

use units::{DataSize, Duration, Instant};

use crate::Contract;

/// A nanosecond at one bit per second fills this part of a bit.
const PARTS_PER_BIT: u128 = 1_000_000_000;

/// A bucket of tokens, full at first.
#[derive(Clone, Debug)]
pub struct PacingBucket {
    rate_bps: u128,
    capacity: u128,
    level: u128,
    filled_at: Instant,
}

impl PacingBucket {
    #[must_use]
    pub fn new(contract: Contract) -> Self {
        let capacity = parts(contract.burst);
        Self {
            rate_bps: u128::from(contract.rate.as_bps()),
            capacity,
            level: capacity,
            filled_at: Instant::ZERO,
        }
    }

    /// Takes the tokens of a frame of `size` at `now`, if there are enough.
    ///
    /// Time that runs backwards adds no tokens.
    #[must_use]
    pub fn take(&mut self, now: Instant, size: DataSize) -> Conformance {
        let level = self.level_at(now);
        self.filled_at = self.filled_at.max(now);
        match level.checked_sub(parts(size)) {
            Some(left) => {
                self.level = left;
                Conformance::Within
            }
            None => {
                self.level = level;
                Conformance::Beyond
            }
        }
    }

    /// Returns the first moment at which a frame of `size` may leave, or nothing
    /// if it is larger than the burst.
    #[must_use]
    pub fn ready_at(&self, size: DataSize) -> Option<Instant> {
        let size = parts(size);
        if size > self.capacity {
            return None;
        }
        let missing = size.saturating_sub(self.level);
        let wait = missing.div_ceil(self.rate_bps);
        Some(self.filled_at + Duration::from_ns(u64::try_from(wait).ok()?))
    }

    fn level_at(&self, now: Instant) -> u128 {
        let elapsed = now.saturating_since(self.filled_at);
        let earned = self.rate_bps * u128::from(elapsed.as_ns());
        self.capacity.min(self.level + earned)
    }
}

/// Whether a frame was within its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conformance {
    /// There were tokens for it, and it took them.
    Within,
    /// There were not, and the bucket is as before.
    Beyond,
}

fn parts(size: DataSize) -> u128 {
    u128::from(size.as_bits()) * PARTS_PER_BIT
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::BitRate;

    use super::*;

    const FRAME: DataSize = DataSize::from_bytes(125);

    #[test]
    fn a_full_bucket_lets_its_burst_through_and_no_more() {
        let mut bucket = PacingBucket::new(megabit_with_two_frames());

        let taken = [0, 0, 0].map(|ns| bucket.take(Instant::from_ns(ns), FRAME));

        assert_eq!(
            taken,
            [
                Conformance::Within,
                Conformance::Within,
                Conformance::Beyond
            ]
        );
        assert_eq!(bucket.ready_at(FRAME), Some(Instant::from_ns(1_000_000)));
    }

    #[test]
    fn a_frame_larger_than_the_burst_never_leaves() {
        let bucket = PacingBucket::new(megabit_with_two_frames());

        assert_eq!(bucket.ready_at(FRAME * 3), None);
    }

    proptest! {
        /// Sound and tight: a frame may leave when the bucket says so, and not
        /// a nanosecond earlier.
        #[test]
        fn ready_is_the_first_moment(bps in 1_000u64..1 << 36, sizes in prop::collection::vec(1u64..12_000, 1..40)) {
            let contract = Contract { rate: BitRate::from_bps(bps), burst: DataSize::from_bits(12_000) };
            let mut bucket = PacingBucket::new(contract);
            for bits in sizes {
                let size = DataSize::from_bits(bits);
                let ready = bucket.ready_at(size).unwrap();
                if ready > bucket.filled_at {
                    let early = bucket.clone().take(ready - Duration::from_ns(1), size);
                    prop_assert_eq!(early, Conformance::Beyond);
                }
                prop_assert_eq!(bucket.take(ready, size), Conformance::Within);
            }
        }
    }

    fn megabit_with_two_frames() -> Contract {
        Contract {
            rate: BitRate::from_mbps(1),
            burst: FRAME * 2,
        }
    }
}
