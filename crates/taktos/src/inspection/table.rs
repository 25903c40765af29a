//! Draws a list of JSON objects as a table for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};
use serde_json::Value;
use units::{BitRate, Duration};

use super::words;

/// One column: its title and the member that it shows. `buckets/actions` is the
/// member `actions` of each item of the list `buckets`.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    member: &'static str,
    alignment: CellAlignment,
}

impl Column {
    /// Returns a column of numbers.
    pub(super) const fn right(title: &'static str, member: &'static str) -> Self {
        Self {
            title,
            member,
            alignment: CellAlignment::Right,
        }
    }

    /// Returns a column of text.
    pub(super) const fn left(title: &'static str, member: &'static str) -> Self {
        Self {
            title,
            member,
            alignment: CellAlignment::Left,
        }
    }
}

/// Draws `rows`, each on one line however long it is. A column in which nothing
/// stands is left out.
#[must_use]
pub fn draw(columns: &[Column], rows: &[Value]) -> String {
    let filled = |column: &&Column| rows.iter().any(|row| !cell(row, column.member).is_empty());
    let columns: Vec<_> = columns.iter().filter(filled).collect();
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| column.title));
    for (index, column) in columns.iter().enumerate() {
        if let Some(drawn) = table.column_mut(index) {
            drawn.set_cell_alignment(column.alignment);
        }
    }
    for row in rows {
        table.add_row(columns.iter().map(|column| cell(row, column.member)));
    }
    let drawn = table.trim_fmt();
    // Every cell begins with a space, the first one of a line, too.
    let lines = drawn
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// How members begin that say how long frames stay: microseconds matter.
const STAYS: [&str; 3] = ["residence_", "stay_", "budget_"];

/// Returns a member of a row in the units that people use.
fn cell(row: &Value, member: &str) -> String {
    if let Some((list, member)) = member.split_once('/') {
        let items = row[list].as_array().into_iter().flatten();
        let cells: Vec<_> = items.map(|item| cell(item, member)).collect();
        return cells.join(" | ");
    }
    let value = &row[member];
    match value.as_u64() {
        Some(ns) if STAYS.iter().any(|it| member.starts_with(it)) => {
            Duration::from_ns(ns).to_string()
        }
        Some(ns) if member.ends_with("_ns") => rounded(Duration::from_ns(ns)),
        Some(bps) if member.ends_with("_bps") => {
            BitRate::new(bps).map_or_else(String::new, |rate| rate.to_string())
        }
        Some(_) | None => words::plain(value),
    }
}

/// Returns a duration to the millisecond: ages and timeouts are not read more
/// closely.
fn rounded(duration: Duration) -> String {
    const NS_PER_MS: u64 = 1_000_000;
    Duration::from_ns(duration.as_ns() / NS_PER_MS * NS_PER_MS).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_stand_right_text_left_and_empty_columns_nowhere() {
        let columns = [
            Column::right("age", "age_ns"),
            Column::left("name", "name"),
            Column::left("config", "config"),
        ];
        let rows = [
            json!({"age_ns": 1_500_000_000_u64, "name": "eth1", "config": []}),
            json!({"age_ns": 20_000_000_000_u64, "name": "e", "config": []}),
        ];

        let drawn = draw(&columns, &rows);

        assert_eq!(drawn, "  age  name\n1.5 s  eth1\n 20 s  e\n");
    }
}
