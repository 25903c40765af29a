//! Amounts and rates of data.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

use crate::{Delay, PS_PER_SECOND};

const BITS_PER_BYTE: u64 = 8;

/// An amount of data. Kept in bits: curves cut bytes into pieces.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct DataSize {
    bits: u64,
}

impl DataSize {
    /// No data at all.
    pub const ZERO: Self = Self { bits: 0 };

    /// Returns an amount of `bits` bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self { bits }
    }

    /// Returns an amount of `bytes` bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self {
            bits: bytes * BITS_PER_BYTE,
        }
    }

    /// Returns the amount in bits.
    #[must_use]
    pub const fn as_bits(self) -> u64 {
        self.bits
    }

    /// Returns the amount in whole bytes, rounded **up**.
    #[must_use]
    pub const fn bytes_up(self) -> u64 {
        self.bits.div_ceil(BITS_PER_BYTE)
    }

    /// Returns this amount less `other`, or nothing if `other` is more.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.bits.checked_sub(other.bits) {
            Some(bits) => Some(Self { bits }),
            None => None,
        }
    }

    /// Returns this amount less `other`, or zero if `other` is more.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self {
            bits: self.bits.saturating_sub(other.bits),
        }
    }
}

/// A rate of data. Never zero, so dividing by it is always defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct BitRate {
    bits_per_second: u64,
}

impl BitRate {
    /// Returns a rate of `bits_per_second`, or nothing if that is zero.
    #[must_use]
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        match bits_per_second {
            0 => None,
            bits_per_second => Some(Self { bits_per_second }),
        }
    }

    /// Returns a rate of `bits_per_second`.
    ///
    /// # Panics
    ///
    /// If the rate is zero.
    #[must_use]
    pub const fn from_bps(bits_per_second: u64) -> Self {
        assert!(bits_per_second > 0, "a rate is never zero");
        Self { bits_per_second }
    }

    /// Returns a rate of `mbps` million bits per second.
    ///
    /// # Panics
    ///
    /// If the rate is zero.
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Self {
        Self::from_bps(mbps * 1_000_000)
    }

    /// Returns the rate in bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.bits_per_second
    }

    /// Returns the rate at which `data` flows if it comes once in `period`,
    /// rounded **up**, or nothing if there is no data or no period.
    #[must_use]
    pub const fn of(data: DataSize, period: Delay) -> Option<Self> {
        if period.as_ps() == 0 {
            return None;
        }
        let bit_ps = data.bits as u128 * PS_PER_SECOND as u128;
        let bps = bit_ps.div_ceil(period.as_ps() as u128);
        assert!(bps <= u64::MAX as u128, "a rate above 18 Ebit/s");
        #[expect(clippy::cast_possible_truncation, reason = "checked above")]
        Self::new(bps as u64)
    }

    /// Returns the time that `data` takes at this rate, rounded **up**: a bound
    /// that is a picosecond too long still holds, one too short does not.
    #[must_use]
    pub fn time_to_send(self, data: DataSize) -> Delay {
        self.checked_time_to_send(data)
            .expect("no transmission takes 213 days")
    }

    /// Returns the same as [`time_to_send`](Self::time_to_send), or nothing if it
    /// is longer than a [`Delay`] can hold.
    #[must_use]
    pub fn checked_time_to_send(self, data: DataSize) -> Option<Delay> {
        let bit_ps = u128::from(data.bits) * u128::from(PS_PER_SECOND);
        let ps = bit_ps.div_ceil(u128::from(self.bits_per_second));
        u64::try_from(ps).ok().map(Delay::from_ps)
    }

    /// Returns the most data that arrives at this rate within `delay`, rounded
    /// **up**.
    #[must_use]
    pub fn most_in(self, delay: Delay) -> DataSize {
        // 64 bits are enough for most, and divided much faster.
        if let Some(bit_ps) = self.bits_per_second.checked_mul(delay.as_ps()) {
            return DataSize::from_bits(bit_ps.div_ceil(PS_PER_SECOND));
        }
        let bit_ps = u128::from(self.bits_per_second) * u128::from(delay.as_ps());
        let bits = bit_ps.div_ceil(u128::from(PS_PER_SECOND));
        DataSize::from_bits(
            bits.try_into()
                .expect("no more than 2 EB arrive in 213 days"),
        )
    }

    /// Returns the least data that is served at this rate within `delay`,
    /// rounded **down**.
    #[must_use]
    pub fn least_in(self, delay: Delay) -> DataSize {
        let bit_ps = u128::from(self.bits_per_second) * u128::from(delay.as_ps());
        let bits = bit_ps / u128::from(PS_PER_SECOND);
        DataSize::from_bits(
            bits.try_into()
                .expect("no more than 2 EB are served in 213 days"),
        )
    }

    /// Returns what is left of this rate after `used`, or nothing if nothing is.
    #[must_use]
    pub const fn left_after(self, used_bps: u64) -> Option<Self> {
        match self.bits_per_second.checked_sub(used_bps) {
            Some(left) => Self::new(left),
            None => None,
        }
    }
}

impl TryFrom<u64> for BitRate {
    type Error = &'static str;

    fn try_from(bits_per_second: u64) -> Result<Self, Self::Error> {
        Self::new(bits_per_second).ok_or("a rate is never zero")
    }
}

impl From<BitRate> for u64 {
    fn from(rate: BitRate) -> Self {
        rate.bits_per_second
    }
}

impl Add for DataSize {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self {
            bits: self.bits + rhs.bits,
        }
    }
}

impl AddAssign for DataSize {
    fn add_assign(&mut self, rhs: Self) {
        self.bits += rhs.bits;
    }
}

impl Sub for DataSize {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self {
            bits: self.bits - rhs.bits,
        }
    }
}

impl SubAssign for DataSize {
    fn sub_assign(&mut self, rhs: Self) {
        self.bits -= rhs.bits;
    }
}

impl Mul<u64> for DataSize {
    type Output = Self;

    fn mul(self, rhs: u64) -> Self {
        Self {
            bits: self.bits * rhs,
        }
    }
}

impl Sum for DataSize {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, Add::add)
    }
}

impl Mul<u64> for BitRate {
    type Output = Self;

    fn mul(self, rhs: u64) -> Self {
        Self::from_bps(self.bits_per_second * rhs)
    }
}

impl Add for BitRate {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self {
            bits_per_second: self.bits_per_second + rhs.bits_per_second,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_full_ethernet_frame_takes_123_us_at_100_mbps() {
        let frame = DataSize::from_bytes(1538);

        let time = BitRate::from_mbps(100).time_to_send(frame);

        assert_eq!(time, Delay::from_ns(123_040));
    }

    #[test]
    fn sampled_values_at_4_khz_make_4_608_mbps() {
        let frame = DataSize::from_bytes(144);

        let rate = BitRate::of(frame, Delay::from_us(250));

        assert_eq!(rate, Some(BitRate::from_bps(4_608_000)));
    }

    proptest! {
        /// Sound: the time to send is enough to serve the data.
        #[test]
        fn time_to_send_is_enough(bits in 0u64..1 << 40, bps in 1_000u64..1 << 40) {
            let (data, rate) = (DataSize::from_bits(bits), BitRate::from_bps(bps));

            prop_assert!(rate.most_in(rate.time_to_send(data)) >= data);
        }

        /// Tight: a picosecond less is not enough.
        #[test]
        fn time_to_send_is_not_too_much(bits in 1u64..1 << 40, bps in 1_000u64..1 << 40) {
            let (data, rate) = (DataSize::from_bits(bits), BitRate::from_bps(bps));

            let less = rate.time_to_send(data) - Delay::from_ps(1);

            prop_assert!(rate.least_in(less) < data);
        }
    }
}
