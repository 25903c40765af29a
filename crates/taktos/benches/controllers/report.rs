//! The tables.

use std::fmt::Write;

use measure::statistics::Distribution;
use units::Duration;

use crate::arguments::Mode;
use crate::run::{Found, Row};
use crate::subject::Subject;

const HEADINGS: [(Mode, &str); 3] = [
    (Mode::Flooded, "Flooded"),
    (Mode::One, "One question open a switch"),
    (Mode::Open, "On a schedule, at half of the capacity of"),
];

/// Returns everything as tables in Markdown. Rates are medians over the rounds, with
/// the least and the greatest; waits are those of all rounds together.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    for (mode, heading) in HEADINGS {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.mode == mode).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "\n| {heading} | switches | answered/s (least, most) | of null | of learning | \
             p50 | p99 | p99.9 | lost, disordered, flooded, stray | ns of processor | \
             MB | controller waited | generator stalled (longest) |"
        );
        let _ = writeln!(text, "|{}", " --- |".repeat(13));
        for row in &rows {
            line(row, &rows, &mut text);
        }
    }
    text
}

fn line(row: &Row, all: &[&Row], text: &mut String) {
    let rates = sorted(row, |found| found.answered_per_second);
    let rate = median(&rates);
    let other = |subject| {
        let same = all.iter().find(|it| {
            let is_open = row.mode == Mode::Open;
            it.subject == subject
                && it.switches == row.switches
                && (!is_open || it.rate_of == row.rate_of)
        });
        same.map_or_else(String::new, |it| {
            let of = median(&sorted(it, |found| found.answered_per_second));
            format!("{:.2}", rate / of)
        })
    };
    let mut waits = Distribution::default();
    let mut counted = [0; 4];
    let (mut waited, mut stalled, mut longest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for found in &row.rounds {
        waits.merge(&found.outcome.waits);
        let tally = &found.outcome.tally;
        let four = [tally.lost(), tally.disordered, tally.flooded, tally.stray];
        (0..4).for_each(|at| counted[at] += four[at]);
        waited += found.waited;
        stalled += found.stalled;
        longest = longest.max(found.longest_stall);
    }
    let [p50, p99, p999] = [500, 990, 999].map(|at| waits.quantile(at).unwrap_or_default());
    let (cost, memory) = (
        median(&sorted(row, |found| found.cost_ns)),
        [row.rounds.first(), row.rounds.last()].map(megabytes),
    );
    let [lost, disordered, flooded, stray] = counted;
    let _ = writeln!(
        text,
        "| {} | {} | {:.0} ({:.0}, {:.0}) | {} | {} | {} | {} | {} | {lost}, {disordered}, \
         {flooded}, {stray} | {cost:.0} | {} to {} | {} | {} ({}) |",
        name(row),
        row.switches,
        rate,
        rates[0],
        rates[rates.len() - 1],
        other(Subject::Null),
        other(Subject::Learning),
        us(p50),
        us(p99),
        us(p999),
        memory[0],
        memory[1],
        ms(waited),
        ms(stalled),
        ms(longest),
    );
}

fn name(row: &Row) -> String {
    let subject = row.subject.name();
    match row.rate_of {
        Some(other) if other != row.subject => format!("{}: {subject}", other.name()),
        Some(_) | None => subject.to_owned(),
    }
}

fn sorted(row: &Row, of: impl Fn(&Found) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = row.rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the median of values in order, the lower one of two.
fn median(sorted: &[f64]) -> f64 {
    sorted[(sorted.len() - 1) / 2]
}

fn megabytes(found: Option<&Found>) -> String {
    found.map_or_else(String::new, |found| {
        format!(
            "{}.{}",
            found.resident_bytes / 1_000_000,
            found.resident_bytes / 100_000 % 10
        )
    })
}

fn us(duration: Duration) -> String {
    format!("{:.1} us", duration.as_secs_f64() * 1e6)
}

fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}
