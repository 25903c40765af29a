//! What the terminal shows of levels of criticality: the changes, each flow at each
//! level, and what did not count of the signals.

use super::super::{FlowReport, LevelReport, ModeChangeReport, ModesReport, Report};
use super::{milliseconds, table};

const COLUMNS: [&str; 9] = [
    "flow",
    "level",
    "deadline",
    "guarantee",
    "highest",
    "median",
    "sent",
    "lost",
    "given up",
];
/// The columns that are aligned to the left.
const LEFT: [usize; 2] = [0, 1];
const CHANGES_SHOWN: usize = 8;

/// Returns the lines, or nothing if the network has no levels.
pub(super) fn lines(report: &Report) -> String {
    let Some(modes) = &report.modes else {
        return String::new();
    };
    let mut text = format!(
        "\nLevels {} ({}).\n",
        modes.levels.join(", "),
        modes.strategy
    );
    for change in modes.changes.iter().take(CHANGES_SHOWN) {
        text.push_str(&change_line(modes, change));
        text.push('\n');
    }
    if let Some(more @ 1..) = modes.changes.len().checked_sub(CHANGES_SHOWN) {
        text.push_str(&format!("… and {more} more changes.\n"));
    }
    text.push_str(&signals_line(modes));
    let of_flows = report.flows.iter();
    let rows = of_flows.flat_map(|flow| flow.levels.iter().map(move |at| row(flow, at)));
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        text.push_str(&table(&COLUMNS, &rows, &LEFT));
    }
    text.push('\n');
    text
}

fn change_line(modes: &ModesReport, change: &ModeChangeReport) -> String {
    let bound = match modes.change_bound_ns {
        Some(bound) => format!(" (bound {})", milliseconds(bound)),
        None => String::new(),
    };
    let who = match change.switches {
        1 => "1 switch".to_owned(),
        count => format!("{count} switches"),
    };
    format!(
        "{} at {}, by {}: {who} after {}{bound}",
        change.level,
        milliseconds(change.at_ns),
        change.origin,
        milliseconds(change.took_ns),
    )
}

fn signals_line(modes: &ModesReport) -> String {
    let sum =
        |of: fn(&super::super::SignalsReport) -> u64| modes.signals.iter().map(of).sum::<u64>();
    match modes.signals.is_empty() {
        true => String::new(),
        false => format!(
            "Signals: {} sent, {} counted, {} refused; heart-beats: {} sent, {} counted.\n",
            sum(|it| it.sent),
            sum(|it| it.received + it.duplicate + it.stale),
            sum(|it| it.refused.total()),
            sum(|it| it.beats_sent),
            sum(|it| it.beats_received),
        ),
    }
}

fn row(flow: &FlowReport, at: &LevelReport) -> [String; COLUMNS.len()] {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), milliseconds);
    let level = match at.served {
        true => at.level.clone(),
        false => format!("{} (not served)", at.level),
    };
    [
        flow.facts.name.clone(),
        level,
        time(at.deadline_ns),
        time(at.guarantee_ns),
        time(at.highest_ns),
        time(at.latency_ns.map(|latency| latency.p50)),
        at.sent.to_string(),
        at.lost.to_string(),
        at.given_up.to_string(),
    ]
}
