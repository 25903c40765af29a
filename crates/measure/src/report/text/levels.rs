//! What the terminal shows of levels of criticality: the changes, each flow at each
//! level, and what did not count of the signals.

use super::super::{FlowReport, LevelReport, ModeChangeReport, ModesReport, Report};
use super::milliseconds;
use crate::document::table::{Column, left, right};
use crate::document::{Block, Table};

const COLUMNS: [Column; 9] = [
    left("flow"),
    left("level"),
    right("deadline"),
    right("guarantee"),
    right("highest"),
    right("median"),
    right("sent"),
    right("lost"),
    right("given up"),
];
const CHANGES_SHOWN: usize = 8;

/// Returns the lines, or nothing if the network has no levels.
pub(super) fn blocks(report: &Report) -> Vec<Block> {
    let Some(modes) = &report.modes else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "Levels {} ({}).",
        modes.levels.join(", "),
        modes.strategy
    )];
    let changes = modes.changes.iter().take(CHANGES_SHOWN);
    lines.extend(changes.map(|change| change_line(modes, change)));
    if let Some(more @ 1..) = modes.changes.len().checked_sub(CHANGES_SHOWN) {
        lines.push(format!("… and {more} more changes."));
    }
    lines.extend(signals_line(modes));
    let mut blocks = vec![Block::Gap, Block::Lines(lines)];
    let of_flows = report.flows.iter();
    let rows = of_flows.flat_map(|flow| flow.levels.iter().map(move |at| row(flow, at)));
    let table = Table::new(COLUMNS).rows(rows);
    blocks.extend([Block::Table(table), Block::Gap]);
    blocks
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

fn signals_line(modes: &ModesReport) -> Option<String> {
    let sum =
        |of: fn(&super::super::SignalsReport) -> u64| modes.signals.iter().map(of).sum::<u64>();
    (!modes.signals.is_empty()).then(|| {
        format!(
            "Signals: {} sent, {} counted, {} refused; heart-beats: {} sent, {} counted.",
            sum(|it| it.sent),
            sum(|it| it.received + it.duplicate + it.stale),
            sum(|it| it.refused.total()),
            sum(|it| it.beats_sent),
            sum(|it| it.beats_received),
        )
    })
}

fn row(flow: &FlowReport, at: &LevelReport) -> [String; 9] {
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
