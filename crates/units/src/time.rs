//! Points in time and lengths of time.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

use crate::{PS_PER_NS, PS_PER_SECOND};

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// A point in time. Comparable only with instants of the same clock.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Instant {
    ns: u64,
}

impl Instant {
    /// The origin of its clock.
    pub const ZERO: Self = Self { ns: 0 };
    /// Later than every instant that a run can reach.
    pub const FAR_FUTURE: Self = Self { ns: u64::MAX };

    /// Returns the instant `ns` nanoseconds after the origin of its clock.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Returns the nanoseconds since the origin of its clock.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// Returns the time since `earlier`, or nothing if `earlier` is later.
    #[must_use]
    pub const fn checked_since(self, earlier: Self) -> Option<Duration> {
        match self.ns.checked_sub(earlier.ns) {
            Some(ns) => Some(Duration { ns }),
            None => None,
        }
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration {
            ns: self.ns.saturating_sub(earlier.ns),
        }
    }
}

/// A length of time; never negative.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Duration {
    ns: u64,
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { ns: 0 };

    /// Returns a length of `ns` nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Returns a length of `us` microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self { ns: us * NS_PER_US }
    }

    /// Returns a length of `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self { ns: ms * NS_PER_MS }
    }

    /// Returns a length of `seconds` seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self {
            ns: seconds * NS_PER_SECOND,
        }
    }

    /// Returns the length in nanoseconds.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// Returns the length in whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_whole_ms(self) -> u64 {
        self.ns / NS_PER_MS
    }

    /// Returns the length in seconds, for plots and statistics only.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for plots and statistics only")]
    pub fn as_secs_f64(self) -> f64 {
        self.ns as f64 / NS_PER_SECOND as f64
    }

    /// Returns this length less `other`, or zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self {
            ns: self.ns.saturating_sub(other.ns),
        }
    }
}

impl From<Duration> for std::time::Duration {
    fn from(value: Duration) -> Self {
        Self::from_nanos(value.ns)
    }
}

/// A computed length of time. Fine enough for one bit at 1 Tbit/s.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Delay {
    ps: u64,
}

impl Delay {
    /// No delay at all.
    pub const ZERO: Self = Self { ps: 0 };
    /// Longer than every delay that can be computed; about 213 days.
    pub const MAX: Self = Self { ps: u64::MAX };

    /// Returns a delay of `ps` picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self { ps }
    }

    /// Returns a delay of `ns` nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self { ps: ns * PS_PER_NS }
    }

    /// Returns a delay of `us` microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self::from_ns(us * NS_PER_US)
    }

    /// Returns a delay as long as `duration`.
    ///
    /// # Errors
    ///
    /// If it is longer than a delay can be.
    pub const fn checked_from(duration: Duration) -> Result<Self, &'static str> {
        match duration.ns.checked_mul(PS_PER_NS) {
            Some(ps) => Ok(Self { ps }),
            None => Err("longer than 213 days"),
        }
    }

    /// Returns the delay in picoseconds.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.ps
    }

    /// Returns the delay in seconds, for plots and statistics only.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for plots and statistics only")]
    pub fn as_secs_f64(self) -> f64 {
        self.ps as f64 / PS_PER_SECOND as f64
    }

    /// Returns the delay in whole nanoseconds, rounded **up**: the one step from
    /// a computed bound to what clocks use.
    #[must_use]
    pub const fn round_up(self) -> Duration {
        Duration {
            ns: self.ps.div_ceil(PS_PER_NS),
        }
    }

    /// Returns this delay less `other`, or zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self {
            ps: self.ps.saturating_sub(other.ps),
        }
    }

    /// Returns the two delays together, or nothing if that is longer than a
    /// delay can be.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.ps.checked_add(other.ps) {
            Some(ps) => Some(Self { ps }),
            None => None,
        }
    }

    /// Returns this delay less `other`, or nothing if `other` is longer.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.ps.checked_sub(other.ps) {
            Some(ps) => Some(Self { ps }),
            None => None,
        }
    }
}

impl From<Duration> for Delay {
    fn from(value: Duration) -> Self {
        Self::from_ns(value.ns)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self {
            ns: self.ns + rhs.ns,
        }
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, rhs: Duration) -> Self {
        Self {
            ns: self.ns - rhs.ns,
        }
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, rhs: Self) -> Duration {
        Duration {
            ns: self.ns - rhs.ns,
        }
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        self.ns += rhs.ns;
    }
}

impl Div for Duration {
    type Output = u64;

    /// Returns how often `rhs` fits into this length, rounded down.
    fn div(self, rhs: Self) -> u64 {
        self.ns / rhs.ns
    }
}

macro_rules! lengths {
    ($($length:ident . $unit:ident),*) => {$(
        impl Add for $length {
            type Output = Self;

            fn add(self, rhs: Self) -> Self {
                Self { $unit: self.$unit + rhs.$unit }
            }
        }

        impl AddAssign for $length {
            fn add_assign(&mut self, rhs: Self) {
                self.$unit += rhs.$unit;
            }
        }

        impl Sub for $length {
            type Output = Self;

            fn sub(self, rhs: Self) -> Self {
                Self { $unit: self.$unit - rhs.$unit }
            }
        }

        impl SubAssign for $length {
            fn sub_assign(&mut self, rhs: Self) {
                self.$unit -= rhs.$unit;
            }
        }

        impl Mul<u64> for $length {
            type Output = Self;

            fn mul(self, rhs: u64) -> Self {
                Self { $unit: self.$unit * rhs }
            }
        }

        impl Mul<u32> for $length {
            type Output = Self;

            fn mul(self, rhs: u32) -> Self {
                Self { $unit: self.$unit * u64::from(rhs) }
            }
        }

        impl Sum for $length {
            fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
                terms.fold(Self::default(), Add::add)
            }
        }
    )*};
}

lengths!(Duration.ns, Delay.ps);
