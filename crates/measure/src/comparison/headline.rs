//! What a comparison comes to, in a few sentences: what matters first.

use super::{Comparison, Row, Verdict};
use crate::statistics::significant;

/// Of which quantity it is said first, and what the better one does in a part of the time.
const FIRST: [(&str, &str, &str); 2] = [
    ("latency", "one-way latency", "forwards"),
    ("failover", "interruption", "recovers"),
];
/// The tails of a length of time beside its median.
const TAILS: [&str; 2] = ["p99", "p99.9"];
/// At most so many quantities are named in one sentence.
const MOST_NAMED: usize = 6;
const MEDIAN: &str = ", median";

/// All rows of one quantity, at whatever setting.
struct Quantity<'a> {
    method: &'a str,
    name: &'a str,
    rows: Vec<&'a Row>,
}

/// Returns the sentences, the most important first.
#[must_use]
pub fn headline(comparison: &Comparison) -> Vec<String> {
    let names = comparison.short_names();
    let quantities = quantities(comparison);
    let mut sentences: Vec<_> = FIRST
        .iter()
        .filter_map(|first| forwarding(&quantities, first, &names))
        .collect();
    for (verdict, [own, other]) in [
        (Verdict::Second, [&names[1], &names[0]]),
        (Verdict::First, [&names[0], &names[1]]),
    ] {
        sentences.extend(better_at(&quantities, verdict, own, other));
    }
    let count = |wanted: Verdict| {
        let rows = comparison.rows.iter();
        rows.filter(|row| row.verdict == wanted).count()
    };
    let (alike, open) = (count(Verdict::Alike), count(Verdict::Open));
    sentences.push(format!(
        "Of {} figures {} are better on the side of {}, {} on that of {}, {alike} show no \
         difference, and {open} tell nothing.",
        comparison.rows.len(),
        count(Verdict::First),
        names[0],
        count(Verdict::Second),
        names[1],
    ));
    sentences
}

fn quantities(comparison: &Comparison) -> Vec<Quantity<'_>> {
    let mut found: Vec<Quantity<'_>> = Vec::new();
    for row in &comparison.rows {
        let is_same = |it: &&mut Quantity<'_>| it.method == row.method && it.name == row.quantity;
        match found.iter_mut().find(is_same) {
            Some(known) => known.rows.push(row),
            None => found.push(Quantity {
                method: &row.method,
                name: &row.quantity,
                rows: vec![row],
            }),
        }
    }
    found
}

impl Quantity<'_> {
    /// Returns how many times larger the second one is, over all settings.
    fn ratio(&self) -> Option<f64> {
        let ratios = self.rows.iter().filter_map(|row| row.effect);
        let logarithms: Vec<_> = ratios.map(|effect| effect.ratio.ln()).collect();
        let count = u32::try_from(logarithms.len()).ok().filter(|it| *it > 0)?;
        Some((logarithms.iter().sum::<f64>() / f64::from(count)).exp())
    }

    /// Returns who is better at most settings and worse at none.
    fn verdict(&self) -> Verdict {
        let count = |wanted: Verdict| {
            let rows = self.rows.iter();
            rows.filter(|row| row.verdict == wanted).count()
        };
        let is_most = |count: usize| count * 2 > self.rows.len();
        match (count(Verdict::First), count(Verdict::Second)) {
            (first, 0) if is_most(first) => Verdict::First,
            (0, second) if is_most(second) => Verdict::Second,
            (0, 0) if is_most(count(Verdict::Alike)) => Verdict::Alike,
            _ => Verdict::Open,
        }
    }
}

/// Says in which part of the other's time one device does something, and its tails.
fn forwarding(
    quantities: &[Quantity<'_>],
    (method, quantity, does): &(&str, &str, &str),
    names: &[String; 2],
) -> Option<String> {
    let of = |tail: &str| {
        let mut all = quantities.iter().filter(|it| it.method == *method);
        all.find(|it| {
            let rest = it.name.strip_prefix(quantity);
            rest.is_some_and(|rest| rest.strip_prefix(", ") == Some(tail))
        })
    };
    let median = of("median")?;
    let (faster, slower) = match median.verdict() {
        Verdict::Second => (1, 0),
        Verdict::First => (0, 1),
        Verdict::Alike | Verdict::Open => return None,
    };
    let share = |it: &Quantity<'_>| {
        let ratio = it.ratio()?;
        Some(significant(
            if faster == 1 { ratio } else { 1.0 / ratio },
            2,
        ))
    };
    let tails = TAILS.iter().filter_map(|tail| {
        let found = of(tail)?;
        let is_alike = found.verdict() == Verdict::Alike;
        let words = match is_alike {
            true => "as fast".to_owned(),
            false => format!("in {}", share(found)?),
        };
        Some(format!(", {tail} {words}"))
    });
    let tails: String = tails.collect();
    let settings = match median.rows.len() {
        1 => String::new(),
        many => format!(", over {many} settings"),
    };
    Some(format!(
        "{} {does} in {} of the time of {} (median{tails}{settings}).",
        names[faster],
        share(median)?,
        names[slower]
    ))
}

/// Names what one device is better at, the largest difference first.
fn better_at(
    quantities: &[Quantity<'_>],
    verdict: Verdict,
    own: &str,
    other: &str,
) -> Option<String> {
    let mut found: Vec<_> = quantities
        .iter()
        .filter(|it| it.verdict() == verdict)
        .map(|it| {
            let factor = it.ratio().map(|ratio| ratio.max(1.0 / ratio));
            (factor, it)
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort_by(|(one, _), (two, _)| {
        let key = |factor: &Option<f64>| factor.unwrap_or(f64::INFINITY);
        key(two).total_cmp(&key(one))
    });
    // Of the quantiles and techniques of one quantity, the one with the largest difference
    // stands for all.
    let mut stems = Vec::new();
    found.retain(|(_, it)| {
        let stem = (it.method, it.name.split(", ").next());
        let is_new = !stems.contains(&stem);
        stems.extend(is_new.then_some(stem));
        is_new
    });
    let named = found.iter().take(MOST_NAMED).map(|(factor, it)| {
        let name = it.name.trim_end_matches(MEDIAN);
        let name = format!("{} ({})", name, it.method);
        match factor {
            Some(factor) => format!("{name} by {} times", significant(*factor, 2)),
            None => name,
        }
    });
    let mut named: Vec<_> = named.collect();
    if found.len() > MOST_NAMED {
        named.push(format!("{} more", found.len() - MOST_NAMED));
    }
    Some(format!(
        "{own} is better than {other} at: {}.",
        named.join("; ")
    ))
}
