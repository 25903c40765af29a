//! Figures as tables for people: a row for each setting.
//!
//! Settings of the same names belong together. What all of them have in common stands
//! above, once. Each distribution has a table of its own, and what is one number shares
//! another; what is zero everywhere is said in a line.

use std::fmt::Write;

use units::Duration;

use super::{Figure, Value};
use crate::report::html::quantity::{time, whole};

/// The heads of the columns of a distribution.
const HEADS: [&str; 9] = [
    "min", "p1", "p25", "median", "p75", "p99", "p99.9", "max", "n",
];
/// The quantiles between the smallest and the greatest, in thousandths.
const QUANTILES: [u32; 6] = [10, 250, 500, 750, 990, 999];
const LOST: &str = "lost";
const SURE: &str = "median 95 %";
/// Words of a head that would be longer stand below each other.
const HEAD_WIDTH: usize = 12;
/// More numbers than these do not stand beside each other.
const MOST_COLUMNS: usize = 9;
/// What is longer, but for names, is a sentence, and does not widen its column.
const WIDEST: usize = 40;

/// What a figure was found at: values of what can be chosen.
type Values = Vec<String>;

/// Figures at settings of the same names.
struct Group<'a> {
    names: Vec<&'a str>,
    rows: Vec<(Values, Vec<&'a Figure>)>,
}

pub(super) fn tables(figures: &[Figure]) -> String {
    let mut text = String::new();
    for group in groups(figures) {
        text.push('\n');
        text.push_str(&group.show());
    }
    text
}

fn groups(figures: &[Figure]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for figure in figures {
        let names: Vec<_> = figure.setting.iter().map(|(name, _)| &**name).collect();
        let values: Values = figure.setting.iter().map(|(_, it)| it.clone()).collect();
        let place = groups.iter().position(|group| group.names == names);
        let place = place.unwrap_or_else(|| {
            let rows = Vec::new();
            groups.push(Group { names, rows });
            groups.len() - 1
        });
        let rows = &mut groups[place].rows;
        match rows.iter_mut().find(|(known, _)| *known == values) {
            Some((_, figures)) => figures.push(figure),
            None => rows.push((values, vec![figure])),
        }
    }
    groups
}

impl<'a> Group<'a> {
    fn show(&self) -> String {
        let (differing, common): (Vec<_>, Vec<_>) = (0..self.names.len()).partition(|place| {
            self.rows
                .iter()
                .any(|row| row.0[*place] != self.rows[0].0[*place])
        });
        let common = common
            .iter()
            .map(|place| format!("{} {}", self.names[*place], self.rows[0].0[*place]));
        let common = common.collect::<Vec<_>>().join(", ");
        let mut text = match common.is_empty() {
            true => String::new(),
            false => format!("{common}\n"),
        };
        match self.rows.as_slice() {
            [(_, figures)] => text += &one_setting(figures),
            _ => {
                for quantity in self.quantities(|value| matches!(value, Value::Times(_))) {
                    text += &self.distribution(quantity, &differing);
                }
                text += &self.numbers(&differing);
            }
        }
        text
    }

    /// Returns the quantities of which some value is so, in their order.
    fn quantities(&self, is_so: impl Fn(&Value) -> bool) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::new();
        for figure in self.rows.iter().flat_map(|(_, figures)| figures) {
            if is_so(&figure.value) && !found.contains(&figure.quantity.as_str()) {
                found.push(&figure.quantity);
            }
        }
        found
    }

    /// Returns the values of the settings that differ, with the names above.
    fn settings(&self, differing: &[usize]) -> Vec<Vec<String>> {
        let heads = differing.iter().map(|place| self.names[*place].to_owned());
        let mut lines = vec![heads.collect()];
        for (values, _) in &self.rows {
            lines.push(
                differing
                    .iter()
                    .map(|place| values[*place].clone())
                    .collect(),
            );
        }
        lines
    }

    fn distribution(&self, quantity: &str, differing: &[usize]) -> String {
        let mut lines = self.settings(differing);
        let lost = self
            .rows
            .iter()
            .any(|(_, figures)| lost_of(figures).is_some());
        lines[0].extend(heads(lost));
        for (line, (_, figures)) in lines[1..].iter_mut().zip(&self.rows) {
            let figure = figures.iter().find(|it| it.quantity == quantity);
            match figure {
                Some(figure) => line.extend(cells(figure, lost.then(|| lost_of(figures)))),
                None => line.push("–".to_owned()),
            }
        }
        format!("  {quantity}\n{}", align(&lines, differing.len(), 4))
    }

    /// Returns what is one number each.
    fn numbers(&self, differing: &[usize]) -> String {
        let is_number = |value: &Value| !matches!(value, Value::Times(_) | Value::Series(_));
        let times = self.quantities(|value| matches!(value, Value::Times(_)));
        let all = self.quantities(is_number);
        let all = all.into_iter().filter(|it| !times.contains(it));
        let zero = |quantity: &str| {
            let mut values = self.values_of(quantity);
            values.all(|value| matches!(value, Some(Value::Count(0))))
        };
        let (zeros, shown): (Vec<_>, Vec<_>) = all.partition(|it| zero(it));
        let mut text = String::new();
        if shown.len() > MOST_COLUMNS {
            text += &self.lists(&shown, differing);
        } else if !shown.is_empty() {
            let mut lines = self.settings(differing);
            lines[0].extend(shown.iter().map(|it| (*it).to_owned()));
            let mut reasons: Vec<String> = Vec::new();
            for quantity in &shown {
                for (line, value) in lines[1..].iter_mut().zip(self.values_of(quantity)) {
                    line.push(number(quantity, value, &mut reasons));
                }
            }
            text += &align(&lines, differing.len(), 2);
            for reason in reasons {
                let _ = writeln!(text, "  – {reason}");
            }
        }
        if !zeros.is_empty() {
            let _ = writeln!(text, "  none: {}", zeros.join(", "));
        }
        text
    }

    /// Returns many numbers: one below the other, setting by setting.
    fn lists(&self, shown: &[&str], differing: &[usize]) -> String {
        let mut text = String::new();
        for (values, figures) in &self.rows {
            let setting = differing
                .iter()
                .map(|place| format!("{} {}", self.names[*place], values[*place]));
            let _ = writeln!(text, "  {}", setting.collect::<Vec<_>>().join(", "));
            let of_these = figures.iter().filter(|it| shown.contains(&&*it.quantity));
            let lines = of_these.map(|it| vec![it.quantity.clone(), it.value.shown()]);
            let lines: Vec<_> = std::iter::once(Vec::new()).chain(lines).collect();
            text += &align(&lines, 1, 4);
        }
        text
    }

    fn values_of(&self, quantity: &str) -> impl Iterator<Item = Option<&'a Value>> {
        self.rows.iter().map(move |(_, figures)| {
            let found = figures.iter().find(|it| it.quantity == quantity);
            found.map(|figure| &figure.value)
        })
    }
}

/// Returns the figures of one setting: a row for each quantity.
fn one_setting(figures: &[&Figure]) -> String {
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(heads(false));
    let mut singles = Vec::new();
    for figure in figures {
        let mut line = vec![figure.quantity.clone()];
        match &figure.value {
            Value::Times(_) => {
                line.extend(cells(figure, None));
                lines.push(line);
            }
            Value::Series(_) => {}
            _ => {
                line.push(figure.value.shown());
                singles.push(line);
            }
        }
    }
    let mut text = match lines.len() {
        1 => String::new(),
        _ => align(&lines, 1, 2),
    };
    // Nothing stands above these.
    singles.insert(0, Vec::new());
    text += &align(&singles, 1, 2);
    text
}

fn heads(lost: bool) -> impl Iterator<Item = String> {
    let lost = lost.then_some(LOST);
    HEADS
        .into_iter()
        .chain(lost)
        .chain([SURE])
        .map(str::to_owned)
}

/// Returns a distribution's cells, or why there is none.
fn cells(figure: &Figure, lost: Option<Option<u64>>) -> Vec<String> {
    let Value::Times(times) = &figure.value else {
        return vec![figure.value.shown()];
    };
    let Some(summary) = times.summary() else {
        return vec!["none".to_owned()];
    };
    let text = |duration: Duration| time(duration.as_ns());
    let mut cells = vec![text(summary.min)];
    for per_mille in QUANTILES {
        cells.push(times.quantile(per_mille).map_or_else(String::new, text));
    }
    cells.extend([text(summary.max), whole(summary.count)]);
    if let Some(lost) = lost {
        cells.push(lost.map_or_else(String::new, whole));
    }
    cells.push(match times.confidence(500) {
        Some((low, high)) => format!("{} to {}", text(low), text(high)),
        None => "too few".to_owned(),
    });
    cells
}

fn lost_of(figures: &[&Figure]) -> Option<u64> {
    let figure = figures.iter().find(|it| it.quantity == LOST)?;
    match figure.value {
        Value::Count(count) => Some(count),
        _ => None,
    }
}

/// Returns a number's cell, and adds why there is none.
fn number(quantity: &str, value: Option<&Value>, reasons: &mut Vec<String>) -> String {
    match value {
        None => String::new(),
        Some(Value::Unknown(reason)) => {
            let reason = format!("{quantity} unknown: {reason}");
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
            "–".to_owned()
        }
        Some(value) => value.shown(),
    }
}

/// Returns lines whose columns stand below each other, the first `left` of them aligned
/// to the left. The heads are broken where they are long.
fn align(lines: &[Vec<String>], left: usize, indent: usize) -> String {
    let Some((head, body)) = lines.split_first() else {
        return String::new();
    };
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let heads: Vec<_> = head.iter().map(|text| broken(text)).collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(0);
    let mut all: Vec<Vec<String>> = (0..height)
        .map(|level| {
            let cells = heads.iter().map(|words| {
                // The last word stands right above the values.
                let skipped = height - words.len();
                let word = level.checked_sub(skipped).and_then(|it| words.get(it));
                word.cloned().unwrap_or_default()
            });
            cells.collect()
        })
        .collect();
    all.extend(body.iter().cloned());
    let width = |column: usize| {
        let cells = all.iter().filter_map(|line| line.get(column));
        let widths = cells.map(|cell| cell.chars().count());
        let widths = widths.filter(|width| column < left || *width <= WIDEST);
        widths.max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in &all {
        let cells = line.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column < left {
            true => format!("{cell:width$}"),
            false => format!("{cell:>width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{:indent$}{}", "", line.trim_end());
    }
    text
}

/// Breaks a head where it would be too wide.
fn broken(head: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in head.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= HEAD_WIDTH => {
                *line += " ";
                *line += word;
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}
