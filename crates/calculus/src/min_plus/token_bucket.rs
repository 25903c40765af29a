//! A bound on arrivals: never more than a burst and a rate.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use units::{BitRate, DataSize, Delay};

/// In any interval of length `t`, at most `burst + rate * t` arrives.
///
/// The sum of no flow at all has a rate of zero, which is why the rate is kept
/// as a number and not as a [`BitRate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucket {
    rate_bps: u64,
    burst: DataSize,
}

impl TokenBucket {
    /// Nothing ever arrives.
    pub const NOTHING: Self = Self {
        rate_bps: 0,
        burst: DataSize::ZERO,
    };

    /// Returns the bucket that fills at `rate` and holds `burst`.
    #[must_use]
    pub const fn new(rate: BitRate, burst: DataSize) -> Self {
        Self {
            rate_bps: rate.as_bps(),
            burst,
        }
    }

    /// Returns a bucket that holds `burst` and is never filled again.
    #[must_use]
    pub const fn once(burst: DataSize) -> Self {
        Self { rate_bps: 0, burst }
    }

    /// Returns a bucket that neither of two is beyond: the higher rate with the larger
    /// burst.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            rate_bps: self.rate_bps.max(other.rate_bps),
            burst: self.burst.max(other.burst),
        }
    }

    /// Returns the rate, which may be zero.
    #[must_use]
    pub const fn rate_bps(self) -> u64 {
        self.rate_bps
    }

    /// Returns the rate, or nothing if it is zero.
    #[must_use]
    pub const fn rate(self) -> Option<BitRate> {
        BitRate::new(self.rate_bps)
    }

    /// Returns the burst.
    #[must_use]
    pub const fn burst(self) -> DataSize {
        self.burst
    }

    /// Returns the most that arrives within `delay`, rounded up.
    #[must_use]
    pub fn most_in(self, delay: Delay) -> DataSize {
        match self.rate() {
            Some(rate) => self.burst + rate.most_in(delay),
            None => self.burst,
        }
    }

    /// Returns the bucket behind something that delays each bit by some time,
    /// and no two of them by times more than `spread` apart.
    #[must_use]
    pub fn spread_by(self, spread: Delay) -> Self {
        Self {
            burst: self.most_in(spread),
            ..self
        }
    }
}

impl Add for TokenBucket {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self {
            rate_bps: self.rate_bps + rhs.rate_bps,
            burst: self.burst + rhs.burst,
        }
    }
}

impl AddAssign for TokenBucket {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for TokenBucket {
    type Output = Self;

    /// Takes a part out of a sum again.
    fn sub(self, rhs: Self) -> Self {
        Self {
            rate_bps: self.rate_bps - rhs.rate_bps,
            burst: self.burst - rhs.burst,
        }
    }
}

impl SubAssign for TokenBucket {
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl Mul<u64> for TokenBucket {
    type Output = Self;

    fn mul(self, flows: u64) -> Self {
        Self {
            rate_bps: self.rate_bps * flows,
            burst: self.burst * flows,
        }
    }
}

impl Sum for TokenBucket {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::NOTHING, Add::add)
    }
}
