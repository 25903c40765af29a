//! The whole numbers in which linear programs are written.
//!
//! Data is measured by the time that a reference rate takes for it, so that all
//! right-hand sides are femtoseconds and all coefficients are ratios of rates.
//! The reference is a power of two near the slowest server's rate: its ratios
//! are then between one and a few thousand, and a fixed point does for them.

use units::fine::{Data, Rate};

/// One, as a coefficient or as a multiplier.
pub(super) const ONE: i64 = 1 << ONE_BITS;

/// The bits behind the point of a coefficient and of a multiplier. Rates lose
/// less than a millionth of a millionth.
pub(super) const ONE_BITS: u32 = 40;

/// The largest coefficient: sums of a hundred still fit.
const COEFFICIENT_LIMIT: i64 = 1 << 55;

const FS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// The reference rate of a program: `1 << bits` millionths of a bit per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    bits: u32,
}

impl Scale {
    /// Returns the scale whose reference is just below `slowest`, which is not
    /// zero.
    pub(super) fn below(slowest: Rate) -> Self {
        let bits = slowest.as_ubps().max(1).ilog2();
        Self { bits }
    }

    /// Returns a rate of arrivals as a coefficient, rounded **up**, or nothing
    /// if it is too large.
    pub(super) fn arrivals(self, rate: Rate) -> Option<i64> {
        let ratio = (u128::from(rate.as_ubps()) << ONE_BITS).div_ceil(1 << self.bits);
        i64::try_from(ratio)
            .ok()
            .filter(|it| *it <= COEFFICIENT_LIMIT)
    }

    /// Returns a rate of service as a coefficient, rounded **down**; too large
    /// a rate is cut.
    pub(super) fn service(self, rate: Rate) -> i64 {
        let ratio = (u128::from(rate.as_ubps()) << ONE_BITS) >> self.bits;
        i64::try_from(ratio).map_or(COEFFICIENT_LIMIT, |it| it.min(COEFFICIENT_LIMIT))
    }

    /// Returns the femtoseconds that the reference rate takes for `data`,
    /// rounded **up**.
    pub(super) fn femtoseconds(self, data: Data) -> u128 {
        (u128::from(data.as_ubits()) * FS_PER_SECOND).div_ceil(1 << self.bits)
    }

    /// Returns the data that the reference rate sends in so many femtoseconds,
    /// rounded **up**, or nothing if that is too much.
    pub(super) fn data(self, femtoseconds: u128) -> Option<Data> {
        let ubits = femtoseconds
            .checked_mul(1 << self.bits)?
            .div_ceil(FS_PER_SECOND);
        u64::try_from(ubits).ok().map(Data::from_ubits)
    }
}
