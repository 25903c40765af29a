//! Finer quantities, in which whole networks are analysed.
//!
//! | type     | unit | largest |
//! |----------|------|---------|
//! | [`Rate`] | millionths of a bit per second | 18 Tbit/s |
//! | [`Data`] | millionths of a bit            | 18 Tbit   |
//! | [`Time`] | femtoseconds                   | 5 hours   |
//!
//! A bound is the outcome of dozens of roundings, each of which goes against
//! us. In these units they cost less than 10⁻⁷ of any bound above 10 ns. Each
//! product of two fits a `u128`, so multiplying and dividing is one operation
//! of the processor or two. What does not fit is `None` and has no bound; a
//! function that rounds says which way.

use crate::{BitRate, DataSize, Delay};

/// Millionths in a bit, and in a bit per second.
const MILLIONTHS: u64 = 1_000_000;
const FS_PER_PS: u64 = 1_000;
const FS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// A rate of data, in millionths of a bit per second. May be zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    ubps: u64,
}

/// An amount of data, in millionths of a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Data {
    ubits: u64,
}

/// A length of time, in femtoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    fs: u64,
}

impl Rate {
    /// Nothing ever.
    pub const ZERO: Self = Self { ubps: 0 };

    /// Returns a rate of `ubps` millionths of a bit per second.
    #[must_use]
    pub const fn from_ubps(ubps: u64) -> Self {
        Self { ubps }
    }

    /// Returns the rate in millionths of a bit per second.
    #[must_use]
    pub const fn as_ubps(self) -> u64 {
        self.ubps
    }

    /// Returns the same rate in the finer unit, or nothing above 18 Tbit/s.
    #[must_use]
    pub fn of(rate: BitRate) -> Option<Self> {
        Self::of_bps(rate.as_bps())
    }

    /// Returns `bps` bits per second, or nothing above 18 Tbit/s.
    #[must_use]
    pub fn of_bps(bps: u64) -> Option<Self> {
        bps.checked_mul(MILLIONTHS).map(Self::from_ubps)
    }

    /// Returns the sum, or nothing if it is too large.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.ubps.checked_add(other.ubps).map(Self::from_ubps)
    }

    /// Returns what is left, or nothing if `other` is more.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.ubps.checked_sub(other.ubps).map(Self::from_ubps)
    }

    /// Returns the most data that comes at this rate within `time`, rounded
    /// **up**, or nothing if it is too much.
    #[must_use]
    pub fn most_in(self, time: Time) -> Option<Data> {
        let ubits = (u128::from(self.ubps) * u128::from(time.fs)).div_ceil(FS_PER_SECOND);
        u64::try_from(ubits).ok().map(Data::from_ubits)
    }

    /// Returns the least data that is served at this rate within `time`,
    /// rounded **down**; too much is cut to the most that there is.
    #[must_use]
    pub fn least_in(self, time: Time) -> Data {
        let ubits = u128::from(self.ubps) * u128::from(time.fs) / FS_PER_SECOND;
        Data::from_ubits(u64::try_from(ubits).unwrap_or(u64::MAX))
    }

    /// Returns the time that `data` takes at this rate, rounded **up**, or
    /// nothing if that is too long or the rate is zero.
    #[must_use]
    pub fn longest_for(self, data: Data) -> Option<Time> {
        if self.ubps == 0 {
            return (data.ubits == 0).then_some(Time::ZERO);
        }
        let fs = (u128::from(data.ubits) * FS_PER_SECOND).div_ceil(u128::from(self.ubps));
        u64::try_from(fs).ok().map(Time::from_fs)
    }

    /// Returns the time that `data` takes at this rate, rounded **down**, or
    /// nothing if that is too long or the rate is zero.
    #[must_use]
    pub fn shortest_for(self, data: Data) -> Option<Time> {
        let fs = (u128::from(data.ubits) * FS_PER_SECOND).checked_div(u128::from(self.ubps))?;
        u64::try_from(fs).ok().map(Time::from_fs)
    }
}

impl Data {
    /// No data at all.
    pub const ZERO: Self = Self { ubits: 0 };

    /// Returns an amount of `ubits` millionths of a bit.
    #[must_use]
    pub const fn from_ubits(ubits: u64) -> Self {
        Self { ubits }
    }

    /// Returns the amount in millionths of a bit.
    #[must_use]
    pub const fn as_ubits(self) -> u64 {
        self.ubits
    }

    /// Returns the same amount in the finer unit, or nothing above 18 Tbit.
    #[must_use]
    pub fn of(data: DataSize) -> Option<Self> {
        Self::of_bits(data.as_bits())
    }

    /// Returns `bits` bits, or nothing above 18 Tbit.
    #[must_use]
    pub fn of_bits(bits: u64) -> Option<Self> {
        bits.checked_mul(MILLIONTHS).map(Self::from_ubits)
    }

    /// Returns the amount in whole bits, rounded **up**.
    #[must_use]
    pub fn round_up(self) -> DataSize {
        DataSize::from_bits(self.ubits.div_ceil(MILLIONTHS))
    }

    /// Returns the sum, or nothing if it is too large.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.ubits.checked_add(other.ubits).map(Self::from_ubits)
    }

    /// Returns what is left, or nothing if `other` is more.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.ubits.checked_sub(other.ubits).map(Self::from_ubits)
    }
}

impl Time {
    /// No time at all.
    pub const ZERO: Self = Self { fs: 0 };

    /// Returns a time of `fs` femtoseconds.
    #[must_use]
    pub const fn from_fs(fs: u64) -> Self {
        Self { fs }
    }

    /// Returns the time in femtoseconds.
    #[must_use]
    pub const fn as_fs(self) -> u64 {
        self.fs
    }

    /// Returns the same time in the finer unit, or nothing above 5 hours.
    #[must_use]
    pub fn of(delay: Delay) -> Option<Self> {
        delay.as_ps().checked_mul(FS_PER_PS).map(Self::from_fs)
    }

    /// Returns the time in whole picoseconds, rounded **up**.
    #[must_use]
    pub fn round_up(self) -> Delay {
        Delay::from_ps(self.fs.div_ceil(FS_PER_PS))
    }

    /// Returns the sum, or nothing if it is too large.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.fs.checked_add(other.fs).map(Self::from_fs)
    }

    /// Returns what is left, or nothing if `other` is more.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.fs.checked_sub(other.fs).map(Self::from_fs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rate_of_nothing_takes_no_time_for_nothing_and_never_ends_otherwise() {
        assert_eq!(Rate::ZERO.longest_for(Data::ZERO), Some(Time::ZERO));
        assert_eq!(Rate::ZERO.longest_for(Data::from_ubits(1)), None);
    }

    #[test]
    fn what_does_not_fit_is_nothing() {
        assert_eq!(
            Rate::from_ubps(u64::MAX).most_in(Time::from_fs(u64::MAX)),
            None
        );
        assert_eq!(Time::of(Delay::from_ps(u64::MAX)), None);
    }

    proptest! {
        /// Sound and tight: what the longest time serves is enough, and a
        /// femtosecond less is not.
        #[test]
        fn the_longest_time_is_just_enough(ubits in 1u64..1 << 50, ubps in 1u64 << 20..1 << 62) {
            let (data, rate) = (Data::from_ubits(ubits), Rate::from_ubps(ubps));

            let time = rate.longest_for(data).unwrap();
            let less = u128::from(ubps) * u128::from(time.as_fs() - 1);

            prop_assert!(rate.most_in(time).unwrap() >= data);
            prop_assert!(less < u128::from(ubits) * FS_PER_SECOND);
        }

        #[test]
        fn rounding_up_and_down_differ_by_no_more_than_one(ubits in 0u64..1 << 50, ubps in 1u64 << 20..1 << 62) {
            let (data, rate) = (Data::from_ubits(ubits), Rate::from_ubps(ubps));

            let between = rate.longest_for(data).unwrap().as_fs() - rate.shortest_for(data).unwrap().as_fs();

            prop_assert!(between <= 1);
        }
    }
}
