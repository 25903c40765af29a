//! A band of a meter: from which rate on it applies, and how often it did.
//!
//! A token bucket in whole numbers. A token is a millionth of a bit (rates in
//! kbit/s) or a billionth of a frame (rates in frames per second), so that a
//! rate of `r` brings exactly `r` tokens a nanosecond, and nothing is ever
//! rounded. The bucket is full at first and holds one burst. A frame that finds
//! enough tokens takes them and stays below the rate; a frame that does not takes
//! none, and the band applies to it. In any time `t` no more than `r t` plus one
//! burst stay below the rate, and as much as that does (RFC 2697 section 3 for
//! one rate).
//!
//! What counts is the frame as it stands in the switch: with all headers and
//! padding, without check sequence, preamble and gap.

use units::{Duration, Instant};
use wire::openflow;

use crate::buffer_pool::FRAME_BYTES_MAX;
use crate::counters::Tally;

/// The burst of a band that says none: what comes at its rate in this time.
const USUAL_BURST: Duration = Duration::from_ms(100);

const PER_BIT: u64 = 1_000_000;
const PER_FRAME: u64 = 1_000_000_000;
/// Tokens in the unit of a burst size: 1000 bits, or a frame.
const PER_BURST_UNIT: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bits,
    Frames,
}

impl Unit {
    /// Returns the tokens that a frame of `bytes` bytes takes.
    #[inline]
    pub(crate) fn cost(self, bytes: usize) -> u64 {
        match self {
            Self::Bits => u64::try_from(bytes).expect("a frame is short") * 8 * PER_BIT,
            Self::Frames => PER_FRAME,
        }
    }
}

/// What happens to frames above the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    Drop,
    /// Their drop precedence rises by this much.
    Remark(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub(crate) treatment: Treatment,
    pub(crate) rate: u32,
    /// The tokens of a burst.
    pub(crate) burst: u64,
    tokens: u64,
    filled: Instant,
    /// The frames that it was applied to.
    pub(crate) tally: Tally,
}

impl Band {
    /// Returns a band with a full bucket. Without a burst of its own it gets the
    /// usual one; a burst is at least one frame of the greatest length, else no
    /// such frame would ever stay below the rate.
    pub(crate) fn new(now: Instant, unit: Unit, band: openflow::Band, burst: Option<u32>) -> Self {
        let (rate, treatment) = match band {
            openflow::Band::Drop { rate, .. } => (rate, Treatment::Drop),
            openflow::Band::DscpRemark { rate, levels, .. } => (rate, Treatment::Remark(levels)),
        };
        let burst = match burst {
            Some(burst) => u64::from(burst) * PER_BURST_UNIT,
            None => u64::from(rate) * USUAL_BURST.as_ns(),
        };
        let burst = burst.max(unit.cost(FRAME_BYTES_MAX));
        Self {
            treatment,
            rate,
            burst,
            tokens: burst,
            filled: now,
            tally: Tally::default(),
        }
    }

    /// Returns how many tokens are left, and when they were counted.
    pub(crate) const fn left(&self) -> (u64, Instant) {
        (self.tokens, self.filled)
    }

    /// Goes on with what others have left.
    pub(crate) const fn go_on_with(&mut self, (tokens, filled): (u64, Instant)) {
        self.tokens = tokens;
        self.filled = filled;
    }

    /// Returns whether a frame that takes so many tokens is above the rate.
    #[inline]
    pub(crate) fn is_exceeded(&mut self, now: Instant, cost: u64) -> bool {
        let elapsed = now.saturating_since(self.filled).as_ns();
        let earned = u64::from(self.rate).saturating_mul(elapsed);
        self.filled = now;
        self.tokens = self.tokens.saturating_add(earned).min(self.burst);
        match self.tokens.checked_sub(cost) {
            Some(left) => {
                self.tokens = left;
                false
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units() -> impl Strategy<Value = Unit> {
        prop_oneof![Just(Unit::Bits), Just(Unit::Frames)]
    }

    /// Gaps in nanoseconds, and lengths, of frames.
    fn arrivals() -> impl Strategy<Value = Vec<(u64, usize)>> {
        let gap = prop_oneof![0u64..100, 0u64..100_000, 0u64..10_000_000_000];
        prop::collection::vec((gap, 14..=FRAME_BYTES_MAX), 1..60)
    }

    fn new(unit: Unit, rate: u32, burst: Option<u32>) -> Band {
        let band = openflow::Band::Drop { rate, burst: 0 };
        Band::new(Instant::ZERO, unit, band, burst)
    }

    proptest! {
        /// Sound: in any stretch of time no more stays below the rate than comes
        /// at the rate, and one burst.
        #[test]
        fn no_more_than_rate_and_burst_stays_below(
            unit in units(),
            rate in 1u32..,
            burst in prop::option::of(1u32..),
            arrivals in arrivals(),
        ) {
            let mut band = new(unit, rate, burst);
            let (mut now, mut passed) = (Instant::ZERO, Vec::new());
            for (gap, bytes) in arrivals {
                now += Duration::from_ns(gap);
                if !band.is_exceeded(now, unit.cost(bytes)) {
                    passed.push((now, u128::from(unit.cost(bytes))));
                }
            }

            for (first, (start, _)) in passed.iter().enumerate() {
                let mut sum = 0;
                for (end, cost) in &passed[first..] {
                    sum += cost;
                    let time = u128::from((*end - *start).as_ns());
                    let bound = u128::from(rate) * time + u128::from(band.burst);
                    prop_assert!(sum <= bound, "{sum} > {bound}");
                }
            }
        }

        /// Tight: a frame is above the rate only if it and those below the rate
        /// before it make up more than rate and burst, in some stretch of time.
        #[test]
        fn what_keeps_to_rate_and_burst_stays_below(
            unit in units(),
            rate in 1u32..,
            burst in prop::option::of(1u32..),
            arrivals in arrivals(),
        ) {
            let mut band = new(unit, rate, burst);
            let (mut now, mut passed) = (Instant::ZERO, Vec::<(Instant, u128)>::new());
            for (gap, bytes) in arrivals {
                now += Duration::from_ns(gap);
                let cost = u128::from(unit.cost(bytes));
                let mut sum = cost;
                let mut fits = sum <= u128::from(band.burst);
                for (start, cost) in passed.iter().rev() {
                    sum += cost;
                    let time = u128::from((now - *start).as_ns());
                    fits &= sum <= u128::from(rate) * time + u128::from(band.burst);
                }

                let exceeded = band.is_exceeded(now, unit.cost(bytes));

                prop_assert_eq!(!exceeded, fits);
                if fits {
                    passed.push((now, cost));
                }
            }
        }
    }

    #[test]
    fn the_longest_frame_stays_below_the_lowest_rate_once_in_a_while() {
        let mut band = new(Unit::Bits, 1, Some(1));
        let cost = Unit::Bits.cost(FRAME_BYTES_MAX);
        let refilled = Instant::ZERO + Duration::from_us(8 * 1_000 * 1_984);

        assert!(!band.is_exceeded(Instant::ZERO, cost));
        assert!(band.is_exceeded(refilled - Duration::from_ns(1), cost));
        assert!(!band.is_exceeded(refilled, cost));
    }

    #[test]
    fn the_greatest_rate_and_burst_can_be_counted_with() {
        let mut band = new(Unit::Frames, u32::MAX, Some(u32::MAX));
        let cost = Unit::Frames.cost(60);

        assert!(!band.is_exceeded(Instant::ZERO, cost));
        assert!(!band.is_exceeded(Instant::FAR_FUTURE, cost));
        assert_eq!(band.tokens, band.burst - cost);
    }
}
