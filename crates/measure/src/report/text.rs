//! The lines that the terminal shows at the end of a run.

mod levels;

use units::Duration;

use super::{FlowReport, Outcome, Report};

const NS_PER_MS: u128 = 1_000_000;

/// Returns a time in milliseconds, rounded to the nearest hundredth, or to the
/// nearest thousandth below 0.05 ms.
#[must_use]
pub fn milliseconds(ns: u64) -> String {
    let decimals: u32 = match ns {
        0..50_000 => 3,
        _ => 2,
    };
    let scale = 10u128.pow(decimals);
    let scaled = (u128::from(ns) * scale + NS_PER_MS / 2) / NS_PER_MS;
    let width = usize::try_from(decimals).expect("two or three");
    format!("{}.{:0width$} ms", scaled / scale, scaled % scale)
}

/// One line of the table of flows, column by column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is written in each column.
    pub cells: [String; COLUMNS.len()],
    /// The outcome, for the colour.
    pub outcome: Outcome,
}

/// The heads of the columns.
pub const COLUMNS: [&str; 9] = [
    "flow",
    "kind",
    "deadline",
    "guarantee",
    "highest",
    "median",
    "sent",
    "lost",
    "verdict",
];

/// The columns that are aligned to the left.
const LEFT: [usize; 3] = [0, 1, 8];

impl Report {
    /// Returns the table of flows, without its head.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.flows.iter().map(row).collect()
    }

    /// Returns the table of flows and the summary as lines of text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let rows: Vec<_> = self.rows().into_iter().map(|row| row.cells).collect();
        let mut text = table(&COLUMNS, &rows, &LEFT);
        text.push_str(&levels::lines(self));
        text.push_str(&self.summary());
        text.push('\n');
        text
    }
}

/// Returns rows under their heads, each column as wide as it has to be.
fn table<const N: usize>(heads: &[&str; N], rows: &[[String; N]], left: &[usize]) -> String {
    let mut table = vec![heads.map(str::to_owned)];
    table.extend(rows.iter().cloned());
    let widths: [usize; N] = std::array::from_fn(|column| {
        let widths = table.iter().map(|cells| cells[column].chars().count());
        widths.max().unwrap_or(0)
    });
    let align = |(column, (cell, width)): (usize, (&String, &usize))| match left.contains(&column) {
        true => format!("{cell:width$}"),
        false => format!("{cell:>width$}"),
    };
    let mut text = String::new();
    for cells in &table {
        let line: Vec<String> = cells.iter().zip(&widths).enumerate().map(align).collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn row(flow: &FlowReport) -> Row {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), milliseconds);
    let latency = flow.latency_ns;
    Row {
        cells: [
            flow.facts.name.clone(),
            flow.facts.kind.label().to_owned(),
            time(flow.deadline_ns),
            time(flow.guarantee_ns),
            time(flow.highest_ns),
            time(latency.map(|latency| latency.p50)),
            flow.sent.to_string(),
            flow.lost.to_string(),
            verdict(flow),
        ],
        outcome: flow.verdict,
    }
}

/// Returns the verdict of a flow with what it rests on.
#[must_use]
pub fn verdict(flow: &FlowReport) -> String {
    let mut notes = match flow.verdict {
        Outcome::Broken => flow.breaches.clone(),
        Outcome::Refused => flow.reason.clone().into_iter().collect(),
        Outcome::Held | Outcome::BestEffort | Outcome::Untried => Vec::new(),
    };
    if flow.verdict == Outcome::Held && flow.interruption_ns > 0 {
        notes.push(interruption(flow));
    }
    let stalled = flow.stalled.late + flow.stalled.lost;
    if stalled > 0 {
        notes.push(set_aside(flow, stalled));
    }
    if flow.given_up > 0 {
        notes.push(format!("{} given up", flow.given_up));
    }
    if flow.out_of_contract > 0 {
        notes.push(format!("{} sent beyond the contract", flow.out_of_contract));
    }
    let word = match flow.verdict {
        Outcome::Held => "held",
        Outcome::Broken => "broken",
        Outcome::Refused => "refused",
        Outcome::BestEffort => "best effort",
        Outcome::Untried => "nothing sent",
    };
    match notes.is_empty() {
        true => word.to_owned(),
        false => format!("{word} ({})", notes.join(", ")),
    }
}

/// Says how many deliveries were set aside, and how late the latest of them was.
fn set_aside(flow: &FlowReport, count: u64) -> String {
    match flow.latency_ns {
        Some(latency) if flow.stalled.late > 0 && Some(latency.max) > flow.highest_ns => {
            format!("{count} stalled, up to {}", milliseconds(latency.max))
        }
        Some(_) | None => format!("{count} stalled"),
    }
}

fn interruption(flow: &FlowReport) -> String {
    let length = milliseconds(flow.interruption_ns);
    match flow.interruption_allowed_ns {
        Some(allowed) => format!("interruption {length} of {}", Duration::from_ns(allowed)),
        None => format!("interruption {length}, unprotected"),
    }
}
