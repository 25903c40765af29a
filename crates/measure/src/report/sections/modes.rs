//! Changes of mode: which level was in force when and what each flow got meanwhile, how
//! a change went from switch to switch, and what the flows saw at each level.

mod course;
mod spread;

use super::super::{LevelReport, ModeChangeReport, ModesReport, Report, SignalsReport};
use crate::document::quantity::{time, whole};
use crate::document::table::{Column, left, right};
use crate::document::{Block, Section, Table};

/// Returns the section, or nothing if the network has no levels.
pub(super) fn section(report: &Report) -> Option<Section> {
    let modes = report.modes.as_ref()?;
    let mut blocks = vec![
        Block::Note(about(modes)),
        Block::Drawing(course::drawing_of(report, modes)),
    ];
    let heading = |text: &str| Block::Heading(text.to_owned());
    if !modes.changes.is_empty() {
        let changes = Table::new(CHANGES).rows(modes.changes.iter().map(change));
        blocks.extend([
            heading("From switch to switch"),
            Block::Drawing(spread::drawing_of(modes)),
            Block::Table(changes),
        ]);
    }
    let of_flows = flows(report);
    if !of_flows.is_empty() {
        let table = Table::new(FLOWS).rows(of_flows);
        blocks.extend([heading("Flows at each level"), Block::Table(table)]);
    }
    if !modes.signals.is_empty() {
        let table = Table::new(SIGNALS).rows(modes.signals.iter().map(signals));
        blocks.extend([heading("Signals"), Block::Table(table)]);
    }
    Some(Section::of_page("modes", "Changes of mode", blocks))
}

fn about(modes: &ModesReport) -> String {
    let who = match modes.strategy.as_str() {
        "taktos" => "The switches change the level among themselves",
        "std-sdn" => "The controller writes the entries of another level",
        _ => "Nobody changes the level",
    };
    let bound = match modes.change_bound_ns {
        Some(bound) => format!("; a change takes {} at most", time(bound)),
        None => String::new(),
    };
    format!("Levels {}. {who}{bound}.", modes.levels.join(", "))
}

const CHANGES: [Column; 5] = [
    right("when"),
    left("level"),
    right("era"),
    left("begun by"),
    right("until the last switch"),
];

fn change(change: &ModeChangeReport) -> [String; 5] {
    [
        time(change.at_ns),
        change.level.clone(),
        change.era.to_string(),
        change.origin.clone(),
        format!("{} ({} switches)", time(change.took_ns), change.switches),
    ]
}

const FLOWS: [Column; 12] = [
    left("flow"),
    left("level"),
    right("deadline"),
    right("guarantee"),
    right("median"),
    right("p99.9"),
    right("highest"),
    right("sent"),
    right("late"),
    right("lost"),
    right("given up"),
    right("stalled"),
];

fn flows(report: &Report) -> Vec<[String; 12]> {
    let rows = report.flows.iter().flat_map(|flow| {
        let levels = flow.levels.iter();
        levels.map(|at| at_level(&flow.facts.name, at))
    });
    rows.collect()
}

fn at_level(flow: &str, at: &LevelReport) -> [String; 12] {
    let some = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), time);
    let level = match at.served {
        true => at.level.clone(),
        false => format!("{} (not served)", at.level),
    };
    [
        flow.to_owned(),
        level,
        some(at.deadline_ns),
        some(at.guarantee_ns),
        some(at.latency_ns.map(|latency| latency.p50)),
        some(at.latency_ns.map(|latency| latency.p999)),
        some(at.highest_ns),
        whole(at.sent),
        whole(at.late),
        whole(at.lost),
        whole(at.given_up),
        whole(at.stalled),
    ]
}

const SIGNALS: [Column; 9] = [
    left("switch"),
    right("sent"),
    right("counted"),
    right("known already"),
    right("outdated"),
    left("refused"),
    right("heart-beats sent, counted"),
    right("demands of its flows"),
    right("waiting frames given up, moved"),
];

fn signals(of: &SignalsReport) -> [String; 9] {
    [
        of.switch.clone(),
        whole(of.sent),
        whole(of.received),
        whole(of.duplicate),
        whole(of.stale),
        refused(of),
        format!("{}, {}", whole(of.beats_sent), whole(of.beats_received)),
        whole(of.demanded),
        format!("{}, {}", whole(of.queued_dropped), whole(of.queued_moved)),
    ]
}

fn refused(of: &SignalsReport) -> String {
    let why = [
        ("forged", of.refused.forged),
        ("by a port to no switch", of.refused.misplaced),
        ("replayed", of.refused.replayed),
        ("malformed", of.refused.malformed),
    ];
    let why = why.iter().filter(|(_, count)| *count > 0);
    let why: Vec<_> = why
        .map(|(why, count)| format!("{} {why}", whole(*count)))
        .collect();
    match why.is_empty() {
        true => "none".to_owned(),
        false => why.join(", "),
    }
}
