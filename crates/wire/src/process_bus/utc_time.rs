//! The time of an event.

const NS_PER_SECOND: u64 = 1_000_000_000;
const FRACTION_BITS: u32 = 24;

/// How good a clock is (IEC 61850-8-1 clause 8.1.3.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeQuality(pub u8);

impl TimeQuality {
    /// Leap seconds up to now are known.
    pub const LEAP_SECONDS_KNOWN: Self = Self(0x80);
    /// The clock does not work.
    pub const CLOCK_FAILURE: Self = Self(0x40);
    /// The clock has lost its master.
    pub const NOT_SYNCHRONIZED: Self = Self(0x20);
}

/// A time since 1970: seconds, 2⁻²⁴ seconds, and how good the clock is
/// (IEC 61850-8-1 clause 8.1.3.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime {
    seconds: u32,
    /// Less than 2²⁴.
    fraction: u32,
    quality: TimeQuality,
}

impl UtcTime {
    /// Returns the time `ns` nanoseconds after the beginning of 1970, rounded
    /// down to 60 ns. The seconds wrap in 2106.
    #[must_use]
    pub fn from_unix_ns(ns: u64, quality: TimeQuality) -> Self {
        let seconds = (ns / NS_PER_SECOND) & u64::from(u32::MAX);
        let fraction = ((ns % NS_PER_SECOND) << FRACTION_BITS) / NS_PER_SECOND;
        Self {
            seconds: u32::try_from(seconds).expect("masked to 32 bits"),
            fraction: u32::try_from(fraction).expect("less than 1 in units of 2^-24"),
            quality,
        }
    }

    /// Returns the nanoseconds since the beginning of 1970, rounded down.
    #[must_use]
    pub const fn as_unix_ns(self) -> u64 {
        let fraction_ns = (self.fraction as u64 * NS_PER_SECOND) >> FRACTION_BITS;
        self.seconds as u64 * NS_PER_SECOND + fraction_ns
    }

    /// Returns how good the clock is.
    #[must_use]
    pub const fn quality(self) -> TimeQuality {
        self.quality
    }

    /// Returns the time that 8 bytes stand for.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, g, quality] = bytes;
        Self {
            seconds: u32::from_be_bytes([a, b, c, d]),
            fraction: u32::from_be_bytes([0, e, f, g]),
            quality: TimeQuality(quality),
        }
    }

    /// Returns the 8 bytes that stand for the time.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        let [a, b, c, d] = self.seconds.to_be_bytes();
        let [_, e, f, g] = self.fraction.to_be_bytes();
        [a, b, c, d, e, f, g, self.quality.0]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_give_the_time_back(bytes: [u8; 8]) {
            prop_assert_eq!(UtcTime::from_bytes(bytes).to_bytes(), bytes);
        }

        #[test]
        fn a_time_loses_less_than_61_ns(ns in 0..u64::from(u32::MAX) * NS_PER_SECOND) {
            let time = UtcTime::from_unix_ns(ns, TimeQuality::default());

            prop_assert!((0..61).contains(&(ns - time.as_unix_ns())));
        }
    }
}
