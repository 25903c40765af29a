//! Decimal numbers, read and written exactly.

/// The most digits of a number that are looked at; what follows only rounds.
const MOST_DIGITS: u32 = 30;
/// Powers of ten that fit a `u128`.
const MOST_PLACES: i64 = 38;

/// Which way a number that is finer than its unit is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Up,
    Down,
}

/// Why a text is no amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberFlaw {
    NotANumber,
    Negative,
    TooLarge,
}

/// `mantissa * 10^exponent`, and a little more if `more` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    mantissa: u128,
    exponent: i64,
    more: bool,
}

impl Decimal {
    /// Reads a number as JSON writes it.
    pub(super) fn parse(text: &str) -> Result<Self, NumberFlaw> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (digits, exponent) = match digits.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, parse_exponent(exponent)?),
            None => (digits, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        if whole.is_empty() || fraction.is_empty() {
            return Err(NumberFlaw::NotANumber);
        }
        let mut number = Self {
            mantissa: 0,
            exponent,
            more: false,
        };
        whole.bytes().try_for_each(|digit| number.push(digit, 0))?;
        fraction
            .bytes()
            .try_for_each(|digit| number.push(digit, 1))?;
        match negative && (number.mantissa > 0 || number.more) {
            true => Err(NumberFlaw::Negative),
            false => Ok(number),
        }
    }

    /// Appends a digit, `behind` the point or not.
    fn push(&mut self, digit: u8, behind: i64) -> Result<(), NumberFlaw> {
        if !digit.is_ascii_digit() {
            return Err(NumberFlaw::NotANumber);
        }
        if self.mantissa < 10u128.pow(MOST_DIGITS) {
            self.mantissa = self.mantissa * 10 + u128::from(digit - b'0');
            self.exponent -= behind;
        } else {
            self.more |= digit != b'0';
            self.exponent += 1 - behind;
        }
        Ok(())
    }

    /// Returns how many units of `10^-places * denominator / numerator` this is.
    pub(super) fn count(
        self,
        places: i64,
        [numerator, denominator]: [u32; 2],
        rounding: Rounding,
    ) -> Result<u64, NumberFlaw> {
        let mantissa = self.mantissa * u128::from(numerator);
        let exponent = self.exponent + places;
        if mantissa == 0 {
            return Ok(0);
        }
        let (dividend, divisor) = if exponent >= 0 {
            let power = power_of_ten(exponent).ok_or(NumberFlaw::TooLarge)?;
            let dividend = mantissa.checked_mul(power);
            (
                dividend.ok_or(NumberFlaw::TooLarge)?,
                u128::from(denominator),
            )
        } else {
            let divisor = power_of_ten(-exponent)
                .and_then(|power| power.checked_mul(u128::from(denominator)));
            // Whatever is divided by more than that is less than one unit.
            (mantissa, divisor.unwrap_or(u128::MAX))
        };
        let exact = dividend % divisor == 0 && !self.more;
        let count = dividend / divisor + u128::from(!exact && rounding == Rounding::Up);
        u64::try_from(count).map_err(|_| NumberFlaw::TooLarge)
    }
}

fn power_of_ten(exponent: i64) -> Option<u128> {
    let exponent = u32::try_from(exponent).ok()?;
    (i64::from(exponent) <= MOST_PLACES).then(|| 10u128.pow(exponent))
}

fn parse_exponent(text: &str) -> Result<i64, NumberFlaw> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(NumberFlaw::NotANumber);
    }
    // An exponent of more than six digits is as good as one of six.
    let magnitude = digits.parse().unwrap_or(i64::MAX).min(1_000_000);
    Ok(match text.starts_with('-') {
        true => -magnitude,
        false => magnitude,
    })
}

/// Writes `count` units of `10^-places` as a decimal number, exactly, without
/// zeros that say nothing.
///
/// # Panics
///
/// If there are more than 38 places.
#[must_use]
pub fn exact_decimal(count: u64, places: u8) -> String {
    let scale = 10u128.pow(u32::from(places));
    let (whole, rest) = (u128::from(count) / scale, u128::from(count) % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let fraction = format!("{rest:0width$}", width = usize::from(places));
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_exactly_and_rounded_as_asked() {
        for (text, places, down, up) in [
            ("1e8", 6, 100_000_000_000_000, 100_000_000_000_000),
            ("4000000.0", 6, 4_000_000_000_000, 4_000_000_000_000),
            ("3295895.84", 6, 3_295_895_840_000, 3_295_895_840_000),
            (
                "1128460.5430488435",
                6,
                1_128_460_543_048,
                1_128_460_543_049,
            ),
            ("1E-5", 15, 10_000_000_000, 10_000_000_000),
            ("0", 6, 0, 0),
            ("-0.0", 6, 0, 0),
            ("1e-300", 6, 0, 1),
            ("0.00000000000000000000000000000000000000000001", 6, 0, 1),
            (
                "10000000000000000000000000000000000000000000e-40",
                6,
                1_000_000_000,
                1_000_000_000,
            ),
        ] {
            let number = Decimal::parse(text).unwrap();

            assert_eq!(
                number.count(places, [1, 1], Rounding::Down),
                Ok(down),
                "{text}"
            );
            assert_eq!(number.count(places, [1, 1], Rounding::Up), Ok(up), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_told_apart() {
        let count =
            |text| Decimal::parse(text).and_then(|number| number.count(6, [1, 1], Rounding::Up));

        assert_eq!(count("-1"), Err(NumberFlaw::Negative));
        assert_eq!(count("-1e-99"), Err(NumberFlaw::Negative));
        assert_eq!(count("1e14"), Err(NumberFlaw::TooLarge));
        assert_eq!(count("1e999999999999"), Err(NumberFlaw::TooLarge));
        for text in [
            "", "1.", ".5", "1e", "1e+", "0x1", "NaN", "1 2", "1e5.5", "--1",
        ] {
            assert_eq!(count(text), Err(NumberFlaw::NotANumber), "{text}");
        }
    }

    #[test]
    fn other_units_are_a_fraction() {
        let number = Decimal::parse("10").unwrap();

        assert_eq!(number.count(0, [8, 1], Rounding::Up), Ok(80));
        assert_eq!(number.count(0, [1, 3], Rounding::Down), Ok(3));
        assert_eq!(number.count(0, [1, 3], Rounding::Up), Ok(4));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(count: u64, places in 0u8..=15) {
            let text = exact_decimal(count, places);

            let read = Decimal::parse(&text).unwrap().count(i64::from(places), [1, 1], Rounding::Down);

            prop_assert_eq!(read, Ok(count));
        }

        #[test]
        fn any_text_is_a_number_or_none(text in "[-+0-9eE.]{0,60}") {
            if let Ok(number) = Decimal::parse(&text) {
                let (down, up) = (number.count(6, [1, 1], Rounding::Down), number.count(6, [1, 1], Rounding::Up));
                match (down, up) {
                    (Ok(down), Ok(up)) => prop_assert!(up - down <= 1),
                    (down, up) => prop_assert_eq!(down.is_err(), up.is_err()),
                }
            }
        }
    }
}
