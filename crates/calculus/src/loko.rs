//! The switch of the Loko paper: what it can do, what of it may be promised, and
//! how its experiment shares that out (`S4-5`, `S4-6`).
//!
//! One processor serves all ports, so the whole switch is one rate-latency curve.
//! For frames of `l` bytes that take `p` from port to port, with `t(x)` the time
//! of `x` bytes at the 100 Mbit/s of every link inside and outside:
//!
//! ```text
//! p_CPU = p - 2 t(8) - 2 t(l + 1)                      LOKO Eq. (7)
//! R     = min(l / p_CPU, l / (l + 21) * 100 Mbit/s)    LOKO Eq. (6)
//! T     = p + l / R                                    LOKO section 4
//! n     = 1 + floor(24 / ceil(l / 128)) frames         LOKO section 3.5
//! ```
//!
//! An allocation sets aside a rate `r` of `R`, once and for all. The largest
//! burst is the one that still fits the buffer, and both together fix the delay
//! of the switch:
//!
//! ```text
//! B = n * l - l - r * p
//! D = T + B / R
//! ```
//!
//! The paper does not print this rule (S4-6); it alone gives every row of LOKO Table 2.
//! One of the `n` frames is in hand, which is the `- l`. The delay has `R` below
//! the burst and not `r`: a processor with a part of its time set aside still
//! works at its full pace.
//!
//! # Differs from the paper
//!
//! The paper prints the number of buffers as `ceil(24 / ceil(l / 128))`. A frame
//! that needs seven buffers of 128 bytes finds room three times in 24 and not
//! four, so the floor is the safe reading. The two differ at 548, 790, 1032 and
//! 1274 bytes, among the sizes measured, and not at 306, so Table 2 does not
//! tell them apart.
//!
//! Eq. (7) also subtracts the time in the integrated switch; the paper leaves it
//! out for safety, and so do we. Rates and bursts are rounded down, delays up.
//! The paper's kB is 1024 bytes.

pub mod admission;
pub mod processing_time;

use units::{BitRate, DataSize, Delay};

use crate::min_plus::{self, RateLatency, TokenBucket};

/// The rate of the ports and of the link between the integrated switch and the
/// processor, LOKO section 3.4.
const LINK: BitRate = BitRate::from_mbps(100);
/// Preamble and start-of-frame delimiter, LOKO Eq. (7).
const PREAMBLE: DataSize = DataSize::from_bytes(8);
/// The tail tag that names the port, LOKO section 3.4.
const TAIL_TAG: DataSize = DataSize::from_bytes(1);
/// Tail tag, preamble, delimiter and gap, which the inner link carries with each
/// frame, LOKO Eq. (6).
const INNER_OVERHEAD: DataSize = DataSize::from_bytes(21);
/// The buffers in memory, LOKO section 3.5.
const BUFFERS: u64 = 24;
const BUFFER: DataSize = DataSize::from_bytes(128);

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// The Zodiac FX in one setting: frames of one size and one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchModel {
    /// The size of the frames, `l`.
    pub frame: DataSize,
    /// The measured time of one frame from port to port, `p`.
    pub processing_time: Delay,
    /// What the switch does for all its ports together, `R` and `T`.
    pub service: RateLatency,
    /// The frames that it can hold, `n`.
    pub buffer_frames: u64,
}

impl SwitchModel {
    /// Returns the model of a Zodiac FX that takes `processing_time` for a
    /// `frame`.
    ///
    /// # Panics
    ///
    /// If `frame` is nothing.
    #[must_use]
    pub fn zodiac_fx(frame: DataSize, processing_time: Delay) -> Self {
        assert!(frame > DataSize::ZERO, "a frame has bits");
        let rate = throughput(frame, processing_time);
        Self {
            frame,
            processing_time,
            service: RateLatency {
                rate,
                latency: processing_time + rate.time_to_send(frame),
            },
            buffer_frames: buffer_frames(frame),
        }
    }

    /// Sets aside `fraction` of the switch, or returns nothing if the burst would
    /// have no room for a single frame.
    #[must_use]
    pub fn allocate(&self, fraction: Fraction) -> Option<Allocation> {
        let rate = fraction.of(self.service.rate)?;
        let waiting = self.frame * (self.buffer_frames - 1);
        let burst = waiting.checked_sub(rate.most_in(self.processing_time))?;
        let delay = min_plus::delay_bound(TokenBucket::new(rate, burst), self.service)?;
        (burst >= self.frame).then_some(Allocation { rate, burst, delay })
    }
}

/// The part of a switch's rate that is set aside for promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// Above the line.
    pub numerator: u64,
    /// Below the line.
    pub denominator: u64,
}

impl Fraction {
    /// All of it: a high rate and a small burst.
    pub const FULL_RATE: Self = Self {
        numerator: 1,
        denominator: 1,
    };
    /// A fifth: a low rate and a larger burst.
    pub const FIFTH_RATE: Self = Self {
        numerator: 1,
        denominator: 5,
    };

    /// Returns the part of `rate`, rounded down, or nothing if that is no rate or
    /// more than there is.
    pub(crate) fn of(self, rate: BitRate) -> Option<BitRate> {
        let bps = u128::from(rate.as_bps()) * u128::from(self.numerator);
        let bps = bps.checked_div(u128::from(self.denominator))?;
        let part = BitRate::new(u64::try_from(bps).ok()?)?;
        (part <= rate).then_some(part)
    }
}

/// What flows may use of one switch together, and the delay that it then has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The highest sum of rates, `r`.
    pub rate: BitRate,
    /// The largest sum of bursts, `B`.
    pub burst: DataSize,
    /// The longest delay of the switch, `D`.
    pub delay: Delay,
}

impl Allocation {
    /// Returns the longest delay across `switches` with this allocation.
    #[must_use]
    pub fn end_to_end(&self, switches: u64) -> Delay {
        self.delay * switches
    }
}

/// The flows of LOKO Fig. 16: two switches, two hosts each, and each host sends
/// one flow across to its counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymmetricFlows {
    /// The flow of the first host of each switch, `r1` and `b1`.
    pub first: TokenBucket,
    /// The flow of the second host of each switch, `r2` and `b2`.
    pub second: TokenBucket,
}

impl SymmetricFlows {
    /// Shares `allocation` out, with `ratio` (the paper's `N`) between first and
    /// second flow, beside `control` traffic of the controller. Returns nothing
    /// if nothing is left, LOKO Eq. (8):
    ///
    /// ```text
    /// r2 = (r - r_CP) / (2N + 2)
    /// b2 = (B - b_CP - r2 * D * (N + 1)) / (2N + 2)
    /// ```
    #[must_use]
    pub fn share(allocation: &Allocation, ratio: u64, control: TokenBucket) -> Option<Self> {
        let shares = 2 * ratio + 2;
        let left = allocation.rate.left_after(control.rate_bps())?;
        let rate = BitRate::new(left.as_bps() / shares)?;
        let arriving_late = rate.most_in(allocation.delay) * (ratio + 1);
        let burst = allocation
            .burst
            .checked_sub(control.burst() + arriving_late)?;
        let second = TokenBucket::new(rate, DataSize::from_bits(burst.as_bits() / shares));
        Some(Self {
            first: second * ratio,
            second,
        })
    }

    /// Returns whether each flow that is there has room for one `frame`.
    #[must_use]
    pub fn have_room_for(&self, frame: DataSize) -> bool {
        let flows = [self.first, self.second];
        let mut there = flows.iter().filter(|flow| flow.rate().is_some());
        there.all(|flow| flow.burst() >= frame)
    }
}

/// Returns the highest rate of frames of one size, rounded down, LOKO Eq. (6)
/// and LOKO Eq. (7).
fn throughput(frame: DataSize, processing_time: Delay) -> BitRate {
    let link_bps = at_rate(frame, LINK.time_to_send(frame + INNER_OVERHEAD));
    let outside = LINK.time_to_send(PREAMBLE) * 2u64 + LINK.time_to_send(frame + TAIL_TAG) * 2u64;
    let processor_bps = processing_time
        .checked_sub(outside)
        .map_or(link_bps, |in_processor| at_rate(frame, in_processor));
    BitRate::from_bps(link_bps.min(processor_bps).max(1))
}

/// Returns the rate of a `frame` in each `time`, rounded down.
fn at_rate(frame: DataSize, time: Delay) -> u64 {
    let bit_ps = u128::from(frame.as_bits()) * PS_PER_SECOND;
    let bps = bit_ps.checked_div(u128::from(time.as_ps()));
    bps.map_or(u64::MAX, |bps| u64::try_from(bps).unwrap_or(u64::MAX))
}

/// Returns how many frames of one size fit the switch, LOKO section 3.5: one
/// being received and the others in memory.
fn buffer_frames(frame: DataSize) -> u64 {
    let buffers_each = frame.as_bits().div_ceil(BUFFER.as_bits());
    1 + BUFFERS / buffers_each
}

#[cfg(test)]
mod tests;
