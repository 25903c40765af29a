//! One processor that all ports share and that works by the frame (`S4-5`).
//!
//! A frame costs the same work whatever its size, so arrivals are counted in
//! frames: of `b + r * t` bits in frames no smaller than `s` there are at most
//! `(b + r * t) / s`. Served in the order of arrival, at most `c` each after a
//! latency of at most `T`, with `n` the burst and `f` the rate in frames:
//!
//! ```text
//! delay    T + n * c          if f * c <= 1, else unbounded
//! backlog  n + f * (T + c)    if f * c <= 1, else unbounded
//! ```
//!
//! The `c` in the backlog is for the frame in hand, which keeps its buffer until
//! it is done. With `T = p + l / R` and `c = l / R` the delay is the one that
//! Loko computes for a burst of `n * l` (`S4-6`).

use std::ops::{Add, AddAssign, Sub, SubAssign};

use units::{DataSize, Delay};

use crate::min_plus::TokenBucket;

/// A frame, in the unit in which frames are counted: a bound on bits holds no
/// whole number of frames.
pub const FRAME: u64 = 1_000_000;

/// The most frames, and frames a second, that are counted: 10¹². More have no
/// bound, which matters only to a processor that takes no time for a frame.
const MOST_FRAMES: u64 = 1_000_000_000_000 * FRAME;

const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// In any interval of length `t`, at most `burst + rate * t` frames arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameBucket {
    /// Millionths of a frame a second.
    pub rate_per_second: u64,
    /// Millionths of a frame.
    pub burst: u64,
}

impl FrameBucket {
    /// Returns how many frames `traffic` can be if none is smaller than
    /// `smallest`, rounded up.
    ///
    /// # Panics
    ///
    /// If `smallest` is nothing, or the frames are more than 18 × 10¹².
    #[must_use]
    pub fn of(traffic: TokenBucket, smallest: DataSize) -> Self {
        let frames = |bits: u64| {
            // 64 bits are enough for most, and divided much faster.
            if let Some(millionths) = bits.checked_mul(FRAME) {
                return millionths.div_ceil(smallest.as_bits());
            }
            let millionths = u128::from(bits) * u128::from(FRAME);
            let frames = millionths.div_ceil(u128::from(smallest.as_bits()));
            u64::try_from(frames).expect("the limits of a request keep this below 10¹⁸")
        };
        Self {
            rate_per_second: frames(traffic.rate_bps()),
            burst: frames(traffic.burst().as_bits()),
        }
    }
}

impl FrameBucket {
    /// Returns what messages of `frames` frames each are, one in each `period`, of whose
    /// frames each may be late by up to `jitter`: those of an interval of length `t` were
    /// due in one of `t + jitter`. Rounded up.
    ///
    /// # Panics
    ///
    /// If the period is nothing, or the frames are more than 18 × 10¹².
    #[must_use]
    pub fn of_messages(frames: u64, period: Delay, jitter: Delay) -> Self {
        let burst = u128::from(frames) * u128::from(FRAME);
        let rate = (burst * u128::from(PS_PER_SECOND)).div_ceil(u128::from(period.as_ps()));
        let counted = |frames: u128| {
            u64::try_from(frames).expect("no message has 18 × 10¹² frames, nor a second")
        };
        Self {
            rate_per_second: counted(rate),
            burst: counted(burst),
        }
        .spread_by(jitter)
    }

    /// Returns what is known behind something that delays each frame by some time, and
    /// no two of them by times more than `spread` apart. Rounded up.
    ///
    /// # Panics
    ///
    /// If the frames are more than 18 × 10¹².
    #[must_use]
    pub fn spread_by(self, spread: Delay) -> Self {
        let (rate, ps) = (self.rate_per_second, spread.as_ps());
        // 64 bits are enough for most, and divided much faster.
        let meanwhile = rate.checked_mul(ps).map_or_else(
            || {
                let frames = (u128::from(rate) * u128::from(ps)).div_ceil(PS_PER_SECOND.into());
                u64::try_from(frames).expect("the limits of a request keep this below 10¹⁸")
            },
            |frame_ps| frame_ps.div_ceil(PS_PER_SECOND),
        );
        Self {
            burst: self.burst + meanwhile,
            ..self
        }
    }

    /// Returns the least burst and the least rate of two.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        Self {
            rate_per_second: self.rate_per_second.min(other.rate_per_second),
            burst: self.burst.min(other.burst),
        }
    }
}

impl Add for FrameBucket {
    type Output = Self;

    /// Adds two streams of frames. A sum that no processor can bound may stay
    /// below the truth: it has no bound all the same.
    fn add(self, rhs: Self) -> Self {
        Self {
            rate_per_second: self.rate_per_second.saturating_add(rhs.rate_per_second),
            burst: self.burst.saturating_add(rhs.burst),
        }
    }
}

impl AddAssign for FrameBucket {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for FrameBucket {
    type Output = Self;

    /// Takes a part out of a sum again.
    fn sub(self, rhs: Self) -> Self {
        Self {
            rate_per_second: self.rate_per_second - rhs.rate_per_second,
            burst: self.burst - rhs.burst,
        }
    }
}

impl SubAssign for FrameBucket {
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

/// A processor that, once it has a frame, completes at least one every
/// `per_frame` after at most `latency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// The longest time before it works at its pace.
    pub latency: Delay,
    /// The longest time that a frame occupies it, zero if it never queues.
    pub per_frame: Delay,
}

impl Processor {
    /// Returns whether the processor can keep up with `arrivals`.
    #[must_use]
    pub fn keeps_up_with(self, arrivals: FrameBucket) -> bool {
        arrivals.rate_per_second <= self.highest_rate() && arrivals.burst <= MOST_FRAMES
    }

    /// Returns the most frames a second that the processor keeps up with, in
    /// millionths of a frame, rounded down.
    #[must_use]
    pub fn highest_rate(self) -> u64 {
        let capacity = u128::from(FRAME) * u128::from(PS_PER_SECOND);
        let rate = capacity.checked_div(u128::from(self.per_frame.as_ps()));
        let rate = rate.and_then(|rate| u64::try_from(rate).ok());
        rate.map_or(MOST_FRAMES, |rate| rate.min(MOST_FRAMES))
    }

    /// Returns the longest time from the arrival of a frame to its completion,
    /// rounded up, or `None` if there is no bound below 213 days.
    #[must_use]
    pub fn delay_bound(self, arrivals: FrameBucket) -> Option<Delay> {
        if !self.keeps_up_with(arrivals) {
            return None;
        }
        let work = u128::from(arrivals.burst) * u128::from(self.per_frame.as_ps());
        let ps = u64::try_from(work.div_ceil(u128::from(FRAME))).ok()?;
        self.latency.checked_add(Delay::from_ps(ps))
    }

    /// Returns the most frames that wait or are worked on, in millionths of a
    /// frame, rounded up, or `None` if there is no bound.
    #[must_use]
    pub fn backlog_bound(self, arrivals: FrameBucket) -> Option<u64> {
        if !self.keeps_up_with(arrivals) {
            return None;
        }
        let held = self.latency.checked_add(self.per_frame)?;
        let frame_ps = u128::from(arrivals.rate_per_second) * u128::from(held.as_ps());
        let meanwhile = u64::try_from(frame_ps.div_ceil(u128::from(PS_PER_SECOND))).ok()?;
        arrivals.burst.checked_add(meanwhile)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::BitRate;

    use super::*;

    const PROCESSOR: Processor = Processor {
        latency: Delay::from_us(10),
        per_frame: Delay::from_us(5),
    };

    /// S4-5.
    #[test]
    fn simultaneous_frames_are_worked_on_one_after_the_other() {
        let arrivals = FrameBucket {
            rate_per_second: 1_000 * FRAME,
            burst: 7 * FRAME,
        };

        assert_eq!(PROCESSOR.delay_bound(arrivals), Some(Delay::from_us(45)));
        // Seven, and a thousand a second for 15 us.
        assert_eq!(PROCESSOR.backlog_bound(arrivals), Some(7 * FRAME + 15_000));
    }

    #[test]
    fn more_frames_than_the_processor_can_do_have_no_bound() {
        let arrivals = |rate| FrameBucket {
            rate_per_second: rate,
            burst: FRAME,
        };

        assert_eq!(PROCESSOR.highest_rate(), 200_000 * FRAME);
        assert!(PROCESSOR.delay_bound(arrivals(200_000 * FRAME)).is_some());
        assert_eq!(PROCESSOR.delay_bound(arrivals(200_000 * FRAME + 1)), None);
        assert_eq!(PROCESSOR.backlog_bound(arrivals(200_000 * FRAME + 1)), None);
    }

    #[test]
    fn a_burst_of_one_frame_of_fixed_size_is_one_frame() {
        let frame = DataSize::from_bytes(144);
        let traffic = TokenBucket::new(BitRate::from_bps(4_608_000), frame);

        let frames = FrameBucket::of(traffic, frame);

        assert_eq!(frames.rate_per_second, 4_000 * FRAME);
        assert_eq!(frames.burst, FRAME);
    }

    #[test]
    fn a_processor_that_takes_no_time_for_a_frame_only_delays() {
        let hardware = Processor {
            per_frame: Delay::ZERO,
            ..PROCESSOR
        };
        let arrivals = FrameBucket {
            rate_per_second: 148_810_000 * FRAME,
            burst: 10_000 * FRAME,
        };
        let countless = FrameBucket {
            rate_per_second: u64::MAX,
            ..arrivals
        };

        assert_eq!(hardware.delay_bound(arrivals), Some(Delay::from_us(10)));
        assert_eq!(hardware.delay_bound(countless + arrivals), None);
    }

    #[test]
    fn a_message_is_as_many_frames_as_it_has_however_small_the_last() {
        // 106 frames every 22 ms, each up to 11 ms late.
        let frames = FrameBucket::of_messages(106, Delay::from_us(22_000), Delay::from_us(11_000));

        assert_eq!(frames.rate_per_second, 4_818_181_819);
        assert_eq!(frames.burst, 106 * FRAME + 53_000_001);
    }

    proptest! {
        /// Sound: no way to fill an interval with frames of at least the
        /// smallest size gives more of them.
        #[test]
        fn no_more_frames_fit_into_the_bits(
            (rate, burst) in (1u64..1 << 30, 512u64..1 << 20),
            smallest in 512u64..12_304,
            ps in 0u64..1 << 36,
        ) {
            let traffic = TokenBucket::new(BitRate::from_bps(rate), DataSize::from_bits(burst));
            let frames = FrameBucket::of(traffic, DataSize::from_bits(smallest));

            let fit = traffic.most_in(Delay::from_ps(ps)).as_bits() / smallest;
            let meanwhile = u128::from(frames.rate_per_second) * u128::from(ps) / u128::from(PS_PER_SECOND);
            prop_assert!(u128::from(fit) * u128::from(FRAME) <= u128::from(frames.burst) + meanwhile + 2 * u128::from(FRAME) / u128::from(smallest));
        }

        /// Tight: the millionths cost less than one of them.
        #[test]
        fn frames_are_counted_to_a_millionth(burst in 512u64..1 << 20, smallest in 512u64..12_304) {
            let frames = FrameBucket::of(TokenBucket::once(DataSize::from_bits(burst)), DataSize::from_bits(smallest));

            prop_assert!((frames.burst - 1) * smallest < burst * FRAME);
        }
    }
}
