//! Quantities as the page writes them: three digits and a unit.

/// Returns a time with three significant digits.
pub(crate) fn time(ns: u64) -> String {
    scaled(
        ns,
        &[
            (1, "ns"),
            (1_000, "µs"),
            (1_000_000, "ms"),
            (1_000_000_000, "s"),
        ],
    )
}

/// Returns a text in which microseconds are spelled as on the rest of the page: users type
/// "us".
pub(crate) fn spelled(text: &str) -> String {
    const TYPED: &str = " us";
    let mut spelled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(TYPED) {
        let (before, after) = (&rest[..at], &rest[at + TYPED.len()..]);
        let is_unit = before.ends_with(|it: char| it.is_ascii_digit())
            && !after.starts_with(|it: char| it.is_alphanumeric());
        spelled.push_str(before);
        spelled.push_str(if is_unit { " µs" } else { TYPED });
        rest = after;
    }
    spelled + rest
}

/// Returns a round time, as an axis writes it.
pub(crate) fn short_time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} µs", ns / 1_000),
        1_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

/// Returns a rate with three significant digits.
pub(crate) fn rate(bps: u64) -> String {
    scaled(
        bps,
        &[
            (1, "bit/s"),
            (1_000, "kbit/s"),
            (1_000_000, "Mbit/s"),
            (1_000_000_000, "Gbit/s"),
        ],
    )
}

/// Returns a whole number in groups of three digits.
pub(crate) fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Writes a value in the largest unit of which there is at least one.
fn scaled(value: u64, units: &[(u64, &str)]) -> String {
    let fits = units.iter().rev().find(|(worth, _)| value >= *worth);
    let (worth, unit) = *fits.unwrap_or(&units[0]);
    let (whole, part) = (value / worth, value % worth);
    if part == 0 && worth == 1 {
        return format!("{value} {unit}");
    }
    let decimals = match whole {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let scale = 10u64.pow(decimals);
    let rounded =
        (u128::from(value) * u128::from(scale) + u128::from(worth) / 2) / u128::from(worth);
    let (whole, part) = (rounded / u128::from(scale), rounded % u128::from(scale));
    match usize::try_from(decimals) {
        Ok(width @ 1..) => format!("{whole}.{part:0width$} {unit}"),
        Ok(0) | Err(_) => format!("{whole} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_spelled_in_one_way() {
        let text = "interval 125 us, p99 3.5 us: none of us, 7 used";

        assert_eq!(
            spelled(text),
            "interval 125 µs, p99 3.5 µs: none of us, 7 used"
        );
    }

    #[test]
    fn quantities_have_three_digits_and_a_unit() {
        assert_eq!(time(0), "0 ns");
        assert_eq!(time(999), "999 ns");
        assert_eq!(time(81_234), "81.2 µs");
        assert_eq!(time(812_345), "812 µs");
        assert_eq!(time(2_000_000), "2.00 ms");
        assert_eq!(time(30_000_000_000), "30.0 s");
        assert_eq!(rate(4_608_000), "4.61 Mbit/s");
        assert_eq!(whole(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(whole(12), "12");
    }
}
