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
//!
//! A contract is policed by the same buckets, finer: a token is a billionth of a bit, and
//! what counts is the frame as it is on the wire; or a token is a 10⁻¹⁵th of a frame.

use units::{Duration, Instant};
use wire::openflow;
use wire::openflow::taktos::{ExceedAction, Police};

use crate::buffer_pool::FRAME_BYTES_MAX;
use crate::counters::Tally;

/// The burst of a band that says none: what comes at its rate in this time.
const USUAL_BURST: Duration = Duration::from_ms(100);

const PER_BIT: u64 = 1_000_000;
const PER_FRAME: u64 = 1_000_000_000;
/// Tokens in the unit of a burst size: 1000 bits, or a frame.
const PER_BURST_UNIT: u64 = 1_000_000_000;
/// Tokens of a contract in a bit on the wire, and in a millionth of a frame.
const PER_POLICED_UNIT: u64 = 1_000_000_000;
/// Check sequence, preamble and gap: what a frame has on the wire beyond its bytes here.
const OVERHEAD_BYTES: u64 = 24;
/// The least that a frame has on the wire.
const LEAST_BYTES: u64 = 60 + OVERHEAD_BYTES;

/// The highest drop precedence (RFC 2597 section 6).
const PRECEDENCE_MAX: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bits,
    Frames,
}

/// What a frame takes of a bucket, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) per_byte: u64,
    pub(crate) per_frame: u64,
    /// The least that a frame takes.
    pub(crate) floor: u64,
}

impl Cost {
    const fn of(unit: Unit) -> Self {
        let (per_byte, per_frame) = match unit {
            Unit::Bits => (8 * PER_BIT, 0),
            Unit::Frames => (0, PER_FRAME),
        };
        Self {
            per_byte,
            per_frame,
            floor: 0,
        }
    }

    /// Returns the tokens that a frame of `bytes` bytes takes.
    #[inline]
    pub(crate) fn of_frame(self, bytes: usize) -> u64 {
        let bytes = u64::try_from(bytes).expect("a frame is short");
        (bytes * self.per_byte + self.per_frame).max(self.floor)
    }
}

/// What happens to frames above the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BandAction {
    Drop,
    /// They leave by the queue of what has no promise.
    BestEffort,
    /// Their drop precedence rises by this much.
    Remark(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub(crate) treatment: BandAction,
    pub(crate) cost: Cost,
    /// A longer frame, in bytes, is above the rate, and takes nothing.
    pub(crate) longest: u64,
    /// In tokens a nanosecond.
    pub(crate) rate: u64,
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
            openflow::Band::Drop { rate, .. } => (rate, BandAction::Drop),
            openflow::Band::DscpRemark { rate, levels, .. } => {
                (rate, BandAction::Remark(levels.min(PRECEDENCE_MAX)))
            }
        };
        let burst = match burst {
            Some(burst) => u64::from(burst) * PER_BURST_UNIT,
            None => u64::from(rate) * USUAL_BURST.as_ns(),
        };
        let cost = Cost::of(unit);
        let burst = burst.max(cost.of_frame(FRAME_BYTES_MAX));
        Self::full(now, treatment, cost, (u64::from(rate), burst))
    }

    /// Returns the bands that hold frames to a contract.
    pub(crate) fn police(now: Instant, police: &Police) -> Vec<Self> {
        let treatment = match police.excess {
            ExceedAction::Drop => BandAction::Drop,
            ExceedAction::BestEffort => BandAction::BestEffort,
        };
        let least = police.smallest.as_bits().max(LEAST_BYTES * 8);
        let on_wire = Cost {
            per_byte: 8 * PER_POLICED_UNIT,
            per_frame: OVERHEAD_BYTES * 8 * PER_POLICED_UNIT,
            floor: least * PER_POLICED_UNIT,
        };
        let burst = police.burst.as_bits() * PER_POLICED_UNIT;
        let bits = (police.rate.as_bps(), burst);
        let longest = (police.largest.as_bits() / 8).saturating_sub(OVERHEAD_BYTES);
        let mut bands = vec![Self {
            longest,
            ..Self::full(now, treatment, on_wire, bits)
        }];
        bands.extend(police.frames.map(|limit| {
            let by_frame = Cost {
                per_byte: 0,
                per_frame: 1_000_000 * PER_POLICED_UNIT,
                floor: 0,
            };
            let frames = (limit.rate, limit.burst * PER_POLICED_UNIT);
            Self::full(now, treatment, by_frame, frames)
        }));
        bands
    }

    const fn full(
        now: Instant,
        treatment: BandAction,
        cost: Cost,
        (rate, burst): (u64, u64),
    ) -> Self {
        Self {
            treatment,
            cost,
            longest: u64::MAX,
            rate,
            burst,
            tokens: burst,
            filled: now,
            tally: Tally {
                frames: 0,
                bytes: 0,
            },
        }
    }

    /// Returns after how long an empty bucket is full.
    pub(crate) fn fills_in(&self) -> Duration {
        Duration::from_ns(self.burst.div_ceil(self.rate))
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

    /// Returns whether a frame of so many bytes is above the rate.
    #[inline]
    pub(crate) fn is_exceeded(&mut self, now: Instant, bytes: usize) -> bool {
        let elapsed = now.saturating_since(self.filled).as_ns();
        let earned = self.rate.saturating_mul(elapsed);
        self.filled = self.filled.max(now);
        self.tokens = self.tokens.saturating_add(earned).min(self.burst);
        if u64::try_from(bytes).is_ok_and(|bytes| bytes > self.longest) {
            return true;
        }
        match self.tokens.checked_sub(self.cost.of_frame(bytes)) {
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
    use units::{BitRate, DataSize};
    use wire::openflow::taktos::FrameLimit;

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
                if !band.is_exceeded(now, bytes) {
                    passed.push((now, u128::from(Cost::of(unit).of_frame(bytes))));
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
                let cost = u128::from(Cost::of(unit).of_frame(bytes));
                let mut sum = cost;
                let mut fits = sum <= u128::from(band.burst);
                for (start, cost) in passed.iter().rev() {
                    sum += cost;
                    let time = u128::from((now - *start).as_ns());
                    fits &= sum <= u128::from(rate) * time + u128::from(band.burst);
                }

                let exceeded = band.is_exceeded(now, bytes);

                prop_assert_eq!(!exceeded, fits);
                if fits {
                    passed.push((now, cost));
                }
            }
        }
    }

    fn contracts() -> impl Strategy<Value = Police> {
        let limit = (1u64..1 << 40, 1_000_000u64..50_000_000);
        let limit = limit.prop_map(|(rate, burst)| FrameLimit { rate, burst });
        let sizes = (0u64..2_000, 84u64..2_100, 0u64..20_000);
        let rates = (1u64..100_000_000_000, prop::option::of(limit));
        (sizes, rates).prop_map(|((smallest, largest, more), (rate, frames))| Police {
            smallest: DataSize::from_bytes(smallest.min(largest)),
            largest: DataSize::from_bytes(largest),
            rate: BitRate::from_bps(rate),
            burst: DataSize::from_bytes(largest + more),
            frames,
            excess: ExceedAction::default(),
        })
    }

    /// What a frame takes: bits on the wire, and a millionth of a frame times 10⁶.
    fn wanted(police: &Police, bytes: usize) -> [u128; 2] {
        let bits = (u128::try_from(bytes).unwrap().max(60) + 24) * 8;
        [bits.max(police.smallest.as_bits().into()), 1_000_000]
    }

    proptest! {
        /// As the definition says, of each limit: in any stretch of time no more passes than
        /// burst and rate, and what is above neither passes.
        #[test]
        fn a_contract_is_policed_as_it_is_defined(
            police in contracts(),
            arrivals in arrivals(),
        ) {
            let mut bands = Band::police(Instant::ZERO, &police);
            let unlimited = FrameLimit { rate: u64::MAX >> 24, burst: u64::MAX >> 24 };
            let frames = police.frames.unwrap_or(unlimited);
            let limits = [
                (police.rate.as_bps(), police.burst.as_bits()),
                (frames.rate, frames.burst),
            ];
            let limits = limits.map(|(rate, burst)| (u128::from(rate), u128::from(burst)));
            let mut now = Instant::ZERO;
            let mut taken: [Vec<(Instant, u128)>; 2] = [Vec::new(), Vec::new()];
            for (gap, bytes) in arrivals {
                now += Duration::from_ns(gap);
                let long = (u64::try_from(bytes).unwrap() + 24) * 8 > police.largest.as_bits();
                for (at, band) in bands.iter_mut().enumerate() {
                    let (rate, burst) = limits[at];
                    let cost = wanted(&police, bytes)[at];
                    let mut sum = cost;
                    let mut fits = sum <= burst && !(long && at == 0);
                    for (start, cost) in taken[at].iter().rev() {
                        sum += cost;
                        let time = u128::from((now - *start).as_ns());
                        fits &= sum * 1_000_000_000 <= rate * time + burst * 1_000_000_000;
                    }

                    let exceeded = band.is_exceeded(now, bytes);

                    prop_assert_eq!(!exceeded, fits, "limit {} at {}", at, now);
                    if fits {
                        taken[at].push((now, cost));
                    }
                }
            }
        }
    }

    #[test]
    fn the_longest_frame_stays_below_the_lowest_rate_once_in_a_while() {
        let mut band = new(Unit::Bits, 1, Some(1));
        let refilled = Instant::ZERO + Duration::from_us(8 * 1_000 * 1_984);

        assert!(!band.is_exceeded(Instant::ZERO, FRAME_BYTES_MAX));
        assert!(band.is_exceeded(refilled - Duration::from_ns(1), FRAME_BYTES_MAX));
        assert!(!band.is_exceeded(refilled, FRAME_BYTES_MAX));
    }

    #[test]
    fn the_greatest_rate_and_burst_can_be_counted_with() {
        let mut band = new(Unit::Frames, u32::MAX, Some(u32::MAX));

        assert!(!band.is_exceeded(Instant::ZERO, 60));
        assert!(!band.is_exceeded(Instant::FAR_FUTURE, 60));
        assert_eq!(band.tokens, band.burst - PER_FRAME);
    }
}
