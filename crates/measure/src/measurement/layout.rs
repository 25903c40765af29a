//! Figures as tables for people: a row for each setting.
//!
//! Settings of the same names belong together. What all of them have in common stands
//! above, once. Each distribution has a table of its own, and what is one number shares
//! another; what is zero everywhere is said in a line.

use units::Duration;

use super::{Figure, Value};
use crate::document::quantity::{time, whole};
use crate::document::table::{Column, left, right};
use crate::document::{Block, Table};

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
/// What a figure was found at: values of what can be chosen.
type Values = Vec<String>;

/// Figures at settings of the same names.
struct FigureGroup<'a> {
    names: Vec<&'a str>,
    rows: Vec<(Values, Vec<&'a Figure>)>,
}

pub(super) fn blocks(figures: &[Figure]) -> Vec<Block> {
    let groups = groups(figures);
    let shown = groups.iter().flat_map(|group| {
        let gap = std::iter::once(Block::Gap);
        gap.chain(group.show())
    });
    shown.collect()
}

fn groups(figures: &[Figure]) -> Vec<FigureGroup<'_>> {
    let mut groups: Vec<FigureGroup<'_>> = Vec::new();
    for figure in figures {
        let names: Vec<_> = figure.setting.iter().map(|(name, _)| &**name).collect();
        let values: Values = figure.setting.iter().map(|(_, it)| it.clone()).collect();
        let place = groups.iter().position(|group| group.names == names);
        let place = place.unwrap_or_else(|| {
            let rows = Vec::new();
            groups.push(FigureGroup { names, rows });
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

impl<'a> FigureGroup<'a> {
    fn show(&self) -> Vec<Block> {
        let (differing, common): (Vec<_>, Vec<_>) = (0..self.names.len()).partition(|place| {
            self.rows
                .iter()
                .any(|row| row.0[*place] != self.rows[0].0[*place])
        });
        let common = common
            .iter()
            .map(|place| format!("{} {}", self.names[*place], self.rows[0].0[*place]));
        let common = common.collect::<Vec<_>>().join(", ");
        let mut blocks = Vec::new();
        blocks.extend((!common.is_empty()).then_some(Block::Heading(common)));
        match self.rows.as_slice() {
            [(_, figures)] => blocks.extend(one_setting(figures).map(Block::Table)),
            _ => {
                let times = self.quantities(|value| matches!(value, Value::Times(_)));
                let times = times.into_iter();
                let tables = times.map(|quantity| self.distribution(quantity, &differing));
                blocks.extend(tables.map(Block::Table));
                blocks.extend(self.numbers(&differing));
            }
        }
        blocks
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

    /// Returns a table whose rows begin with the values of the settings that differ, and go
    /// on with these cells.
    fn table(
        &self,
        differing: &[usize],
        columns: impl Iterator<Item = Column>,
        cells: impl Iterator<Item = Vec<String>>,
    ) -> Table {
        let names = differing
            .iter()
            .map(|place| left("").named(self.names[*place]));
        let rows = self.rows.iter().zip(cells).map(|((values, _), cells)| {
            let settings = differing.iter().map(|place| values[*place].clone());
            settings.chain(cells)
        });
        Table::new(names.chain(columns)).rows(rows)
    }

    fn distribution(&self, quantity: &str, differing: &[usize]) -> Table {
        let mut rows = self.rows.iter();
        let lost = rows.any(|(_, figures)| lost_of(figures).is_some());
        let cells = self.rows.iter().map(|(_, figures)| {
            let figure = figures.iter().find(|it| it.quantity == quantity);
            let cells = |figure| cells(figure, lost.then(|| lost_of(figures)));
            figure.map_or_else(|| vec!["–".to_owned()], |figure| cells(figure))
        });
        Table {
            caption: quantity.to_owned(),
            indent: 4,
            ..self.table(differing, heads(lost), cells)
        }
    }

    /// Returns what is one number each.
    fn numbers(&self, differing: &[usize]) -> Vec<Block> {
        let is_number = |value: &Value| !matches!(value, Value::Times(_) | Value::Series(_));
        let times = self.quantities(|value| matches!(value, Value::Times(_)));
        let all = self.quantities(is_number);
        let all = all.into_iter().filter(|it| !times.contains(it));
        let zero = |quantity: &str| {
            let mut values = self.values_of(quantity);
            values.all(|value| matches!(value, Some(Value::Count(0))))
        };
        let (zeros, shown): (Vec<_>, Vec<_>) = all.partition(|it| zero(it));
        let mut blocks = Vec::new();
        if shown.len() > MOST_COLUMNS {
            blocks.extend(self.lists(&shown, differing));
        } else if !shown.is_empty() {
            let mut rows = vec![Vec::new(); self.rows.len()];
            let mut reasons: Vec<String> = Vec::new();
            for quantity in &shown {
                for (row, value) in rows.iter_mut().zip(self.values_of(quantity)) {
                    row.push(number(quantity, value, &mut reasons));
                }
            }
            let heads = shown
                .iter()
                .map(|quantity| right("").named(broken(quantity)));
            let table = Table {
                indent: 2,
                ..self.table(differing, heads, rows.into_iter())
            };
            let reasons = reasons.iter().map(|reason| format!("  – {reason}"));
            blocks.extend([Block::Table(table), Block::Lines(reasons.collect())]);
        }
        if !zeros.is_empty() {
            blocks.push(Block::Lines(vec![format!("  none: {}", zeros.join(", "))]));
        }
        blocks
    }

    /// Returns many numbers: one below the other, setting by setting.
    fn lists(&self, shown: &[&str], differing: &[usize]) -> Vec<Block> {
        let list = |(values, figures): &(Values, Vec<&Figure>)| {
            let setting = differing
                .iter()
                .map(|place| format!("{} {}", self.names[*place], values[*place]));
            let of_these = figures.iter().filter(|it| shown.contains(&&*it.quantity));
            Block::Table(Table {
                caption: setting.collect::<Vec<_>>().join(", "),
                indent: 4,
                ..singles(of_these.copied())
            })
        };
        self.rows.iter().map(list).collect()
    }

    fn values_of(&self, quantity: &str) -> impl Iterator<Item = Option<&'a Value>> {
        self.rows.iter().map(move |(_, figures)| {
            let found = figures.iter().find(|it| it.quantity == quantity);
            found.map(|figure| &figure.value)
        })
    }
}

/// Returns the figures of one setting: a row for each quantity.
fn one_setting(figures: &[&Figure]) -> [Table; 2] {
    let is_spread = |it: &&&Figure| matches!(it.value, Value::Times(_));
    let times = figures.iter().filter(is_spread).map(|figure| {
        let name = std::iter::once(figure.quantity.clone());
        name.chain(cells(figure, None))
    });
    let columns = std::iter::once(left("")).chain(heads(false));
    let others = figures.iter().filter(|it| !is_spread(it)).copied();
    let others = others.filter(|it| !matches!(it.value, Value::Series(_)));
    [Table::new(columns).rows(times), singles(others)].map(|table| Table { indent: 2, ..table })
}

/// Returns numbers below each other; nothing stands above them.
fn singles<'a>(figures: impl Iterator<Item = &'a Figure>) -> Table {
    let rows = figures.map(|figure| [figure.quantity.clone(), figure.value.shown()]);
    Table::new([left(""), right("")]).rows(rows)
}

fn heads(lost: bool) -> impl Iterator<Item = Column> {
    let lost = lost.then_some(LOST);
    HEADS
        .into_iter()
        .chain(lost)
        .chain([SURE])
        .map(|head| right("").named(broken(head)))
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

/// Breaks a head where it would be too wide.
fn broken(head: &str) -> String {
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
    lines.join("\n")
}
