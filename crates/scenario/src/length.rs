//! Lengths of cable, which become propagation delays.

use std::str::FromStr;

use units::{Delay, ParseQuantityError};

/// Light in a fibre and electricity in copper both take about 5 us a kilometre.
const PS_PER_MM: u64 = 5;
/// Once around the earth and a little more.
const LONGEST_MM: u64 = 50_000_000_000;
/// The units with what they are worth in millimetres, as a power of ten.
const UNITS: [(&str, u32); 2] = [("km", 6), ("m", 3)];

/// The length of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Length {
    mm: u64,
}

impl Length {
    /// Returns a length of `m` metres.
    pub(crate) const fn from_m(m: u64) -> Self {
        Self { mm: m * 1_000 }
    }

    /// Returns how long a bit travels along it.
    pub(crate) fn propagation(self) -> Delay {
        Delay::from_ps(self.mm * PS_PER_MM)
    }
}

impl FromStr for Length {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || decimals.is_empty() || decimals.contains('.') {
            let text = text.to_owned();
            return Err(ParseQuantityError::Number { text });
        }
        let decimals = decimals.trim_end_matches('0');
        let power = power_of(unit.trim())?;
        let digits = u32::try_from(decimals.len()).unwrap_or(u32::MAX);
        let zeros = power
            .checked_sub(digits)
            .ok_or(ParseQuantityError::TooFine)?;
        let scaled: u64 = format!("{whole}{decimals}")
            .parse()
            .map_err(|_| ParseQuantityError::TooLarge)?;
        match scaled.checked_mul(10u64.pow(zeros)) {
            Some(mm) if mm <= LONGEST_MM => Ok(Self { mm }),
            Some(_) | None => Err(ParseQuantityError::TooLarge),
        }
    }
}

fn power_of(unit: &str) -> Result<u32, ParseQuantityError> {
    let units = || UNITS.map(|(name, _)| name).join(", ");
    if unit.is_empty() {
        return Err(ParseQuantityError::NoUnit { units: units() });
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    known
        .map(|(_, power)| *power)
        .ok_or_else(|| ParseQuantityError::Unit {
            unit: unit.to_owned(),
            units: units(),
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_kilometre_takes_5_us() {
        for (text, delay) in [
            ("1 km", Delay::from_us(5)),
            ("132.4 km", Delay::from_us(662)),
            ("10 m", Delay::from_ns(50)),
            ("0 m", Delay::ZERO),
            ("2.50m", Delay::from_ps(12_500)),
        ] {
            assert_eq!(text.parse().map(Length::propagation), Ok(delay), "{text}");
        }
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for text in [
            "", "m", "1", "1 mile", "-1 m", "1. m", "1.2.3 m", "0.0001 m", "99999 km",
        ] {
            assert!(text.parse::<Length>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9.km ]{0,40}|.{0,40}") {
            let _ = text.parse::<Length>();
        }
    }
}
