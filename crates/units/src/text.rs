//! Quantities as people write them: a number, a space if wanted, a unit.

use std::fmt;
use std::str::FromStr;

use crate::{BitRate, DataSize, Delay, Duration, Instant};

const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("μs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];
const SIZE_UNITS: &[(&str, u64)] = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("Mbit", 1_000_000),
    ("Gbit", 1_000_000_000),
    ("B", 8),
    ("kB", 8_000),
    ("KiB", 8_192),
    ("MB", 8_000_000),
    ("MiB", 8_388_608),
    ("GB", 8_000_000_000),
];
const RATE_UNITS: &[(&str, u64)] = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
];

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseQuantityError {
    /// There is no number in front, or one with a sign or an exponent.
    Number {
        /// The text as it was given.
        text: String,
    },
    /// There is a number and no unit.
    NoUnit {
        /// The units that would be right.
        units: String,
    },
    /// The unit is not one of this quantity.
    Unit {
        /// The unit as it was given.
        unit: String,
        /// The units that would be right.
        units: String,
    },
    /// The number has more digits than the quantity can hold exactly.
    TooFine,
    /// The quantity is larger than the type can hold.
    TooLarge,
    /// A rate of zero.
    Zero,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { text } => write!(f, "`{text}` does not begin with a plain number"),
            Self::NoUnit { units } => write!(f, "the unit is missing: one of {units}"),
            Self::Unit { unit, units } => write!(f, "unknown unit `{unit}`: one of {units}"),
            Self::TooFine => write!(f, "more digits than can be kept exactly"),
            Self::TooLarge => write!(f, "too large"),
            Self::Zero => write!(f, "a rate is never zero"),
        }
    }
}

impl std::error::Error for ParseQuantityError {}

impl FromStr for Duration {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ps = parse(text, TIME_UNITS)?;
        if ps % 1_000 != 0 {
            return Err(ParseQuantityError::TooFine);
        }
        Ok(Self::from_ns(ps / 1_000))
    }
}

impl FromStr for Delay {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, TIME_UNITS).map(Self::from_ps)
    }
}

impl FromStr for DataSize {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, SIZE_UNITS).map(Self::from_bits)
    }
}

impl FromStr for BitRate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(parse(text, RATE_UNITS)?).ok_or(ParseQuantityError::Zero)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Duration::from_ns(self.as_ns()))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(
            f,
            u128::from(self.as_ns()) * 1_000,
            &["ns", "us", "ms", "s"],
            1_000,
        )
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, u128::from(self.as_ps()), &["ns", "us", "ms", "s"], 1_000)
    }
}

impl fmt::Display for DataSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_bits() {
            bits if bits % 8 == 0 && bits < 80_000 => write!(f, "{} B", bits / 8),
            bits if bits % 8 == 0 => {
                show(f, u128::from(bits / 8), &["kB", "MB", "GB", "TB"], 1_000)
            }
            bits => write!(f, "{bits} bit"),
        }
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_bps() {
            bps if bps < 1_000 => write!(f, "{bps} bit/s"),
            bps => show(
                f,
                u128::from(bps),
                &["kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
                1_000,
            ),
        }
    }
}

/// Writes `value` in the largest unit that leaves at least one whole, with at
/// most three decimals, rounded to the nearest, without trailing zeros. The
/// first unit is worth `first` of `value`, each further one a thousand times
/// the one before.
fn show(f: &mut fmt::Formatter<'_>, value: u128, units: &[&str], first: u128) -> fmt::Result {
    let mut worth = first;
    let mut unit = 0;
    while unit + 1 < units.len() && value >= worth * 1_000 {
        worth *= 1_000;
        unit += 1;
    }
    let thousandths = (value * 1_000 + worth / 2) / worth;
    let (whole, part) = (thousandths / 1_000, thousandths % 1_000);
    let decimals = format!("{part:03}");
    let text = match decimals.trim_end_matches('0') {
        "" => format!("{whole} {}", units[unit]),
        decimals => format!("{whole}.{decimals} {}", units[unit]),
    };
    f.pad(&text)
}

/// Reads a number and one of `units`, exactly.
fn parse(text: &str, units: &[(&str, u64)]) -> Result<u64, ParseQuantityError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let not_a_number = || ParseQuantityError::Number {
        text: text.to_owned(),
    };
    if whole.is_empty() || decimals.contains('.') || (number.contains('.') && decimals.is_empty()) {
        return Err(not_a_number());
    }

    let unit = unit.trim();
    let known = || {
        units
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    if unit.is_empty() {
        return Err(ParseQuantityError::NoUnit { units: known() });
    }
    let worth = units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, worth)| *worth);
    let worth = worth.ok_or_else(|| ParseQuantityError::Unit {
        unit: unit.to_owned(),
        units: known(),
    })?;

    let digits = format!("{whole}{decimals}").replace('_', "");
    let decimals =
        u32::try_from(decimals.replace('_', "").len()).map_err(|_| ParseQuantityError::TooFine)?;
    let scaled: u128 = digits.parse().map_err(|_| match digits.is_empty() {
        true => not_a_number(),
        false => ParseQuantityError::TooLarge,
    })?;
    let value = scaled
        .checked_mul(u128::from(worth))
        .ok_or(ParseQuantityError::TooLarge)?;
    let divisor = 10u128
        .checked_pow(decimals)
        .ok_or(ParseQuantityError::TooFine)?;
    if value % divisor != 0 {
        return Err(ParseQuantityError::TooFine);
    }
    u64::try_from(value / divisor).map_err(|_| ParseQuantityError::TooLarge)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_are_read_with_their_unit() {
        assert_eq!("100 Mbit/s".parse(), Ok(BitRate::from_mbps(100)));
        assert_eq!("250 us".parse(), Ok(Duration::from_us(250)));
        assert_eq!("0.6ms".parse(), Ok(Duration::from_us(600)));
        assert_eq!("5 µs".parse(), Ok(Delay::from_us(5)));
        assert_eq!("306 B".parse(), Ok(DataSize::from_bytes(306)));
        assert_eq!("2 KiB".parse(), Ok(DataSize::from_bytes(2048)));
        assert_eq!("1_000 bit".parse(), Ok(DataSize::from_bits(1000)));
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_the_reason() {
        let error = |text: &str| text.parse::<Duration>().unwrap_err();

        assert!(matches!(error("fast"), ParseQuantityError::Number { .. }));
        assert!(matches!(error("-1 ms"), ParseQuantityError::Number { .. }));
        assert!(matches!(
            error("1.2.3 ms"),
            ParseQuantityError::Number { .. }
        ));
        assert!(matches!(error("1. ms"), ParseQuantityError::Number { .. }));
        assert!(matches!(error("_ ms"), ParseQuantityError::Number { .. }));
        assert!(matches!(error("10"), ParseQuantityError::NoUnit { .. }));
        assert!(matches!(
            error("10 Mbit/s"),
            ParseQuantityError::Unit { .. }
        ));
        assert_eq!(error("0.0001 ns"), ParseQuantityError::TooFine);
        assert_eq!(
            error("99999999999999999999 h"),
            ParseQuantityError::TooLarge
        );
        assert_eq!("0 Mbit/s".parse::<BitRate>(), Err(ParseQuantityError::Zero));
    }

    #[test]
    fn quantities_are_shown_in_a_unit_that_fits() {
        assert_eq!(Duration::from_us(812).to_string(), "812 us");
        assert_eq!(Duration::from_ns(1_234_567).to_string(), "1.235 ms");
        assert_eq!(Delay::from_ps(1).to_string(), "0.001 ns");
        assert_eq!(BitRate::from_bps(4_608_000).to_string(), "4.608 Mbit/s");
        assert_eq!(DataSize::from_bytes(306).to_string(), "306 B");
        assert_eq!(DataSize::from_bytes(12_000).to_string(), "12 kB");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<Duration>();
            let _ = text.parse::<Delay>();
            let _ = text.parse::<DataSize>();
            let _ = text.parse::<BitRate>();
        }

        #[test]
        fn whole_numbers_survive(ns in 0u64..1 << 53) {
            prop_assert_eq!(format!("{ns} ns").parse(), Ok(Duration::from_ns(ns)));
        }
    }
}
