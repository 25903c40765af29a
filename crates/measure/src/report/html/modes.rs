//! Changes of mode: which level was in force when and what each flow got meanwhile, how
//! a change went from switch to switch, and what the flows saw at each level.

mod course;
mod spread;

use super::super::{LevelReport, ModeChangeReport, ModesReport, Report, SignalsReport};
use super::markup::Element;
use super::quantity::{time, whole};

/// Returns the section, or nothing if the network has no levels.
pub(super) fn section(report: &Report) -> Option<Element> {
    let modes = report.modes.as_ref()?;
    let mut section = Element::new("section")
        .with("id", "modes")
        .child(Element::new("h2").text("Changes of mode"))
        .child(Element::new("p").class("note").text(about(modes)))
        .child(course::drawing_of(report, modes));
    if !modes.changes.is_empty() {
        section = section
            .child(Element::new("h3").text("From switch to switch"))
            .child(spread::drawing_of(modes))
            .child(changes(modes));
    }
    let of_flows = flows(report);
    if !of_flows.is_empty() {
        section = section
            .child(Element::new("h3").text("Flows at each level"))
            .child(table(&FLOW_HEADS, of_flows));
    }
    if !modes.signals.is_empty() {
        section = section
            .child(Element::new("h3").text("Signals"))
            .child(table(&SIGNAL_HEADS, modes.signals.iter().map(signals)));
    }
    Some(section)
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

/// A column: its head, and whether it holds numbers.
type Head = (&'static str, &'static str);

const CHANGE_HEADS: [Head; 5] = [
    ("when", "number"),
    ("level", "left"),
    ("era", "number"),
    ("begun by", "left"),
    ("until the last switch", "number"),
];

fn changes(modes: &ModesReport) -> Element {
    let row = |change: &ModeChangeReport| {
        [
            time(change.at_ns),
            change.level.clone(),
            change.era.to_string(),
            change.origin.clone(),
            format!("{} ({} switches)", time(change.took_ns), change.switches),
        ]
    };
    table(&CHANGE_HEADS, modes.changes.iter().map(row))
}

const FLOW_HEADS: [Head; 12] = [
    ("flow", "left"),
    ("level", "left"),
    ("deadline", "number"),
    ("guarantee", "number"),
    ("median", "number"),
    ("p99.9", "number"),
    ("highest", "number"),
    ("sent", "number"),
    ("late", "number"),
    ("lost", "number"),
    ("given up", "number"),
    ("stalled", "number"),
];

fn flows(report: &Report) -> Vec<[String; FLOW_HEADS.len()]> {
    let rows = report.flows.iter().flat_map(|flow| {
        let levels = flow.levels.iter();
        levels.map(|at| at_level(&flow.facts.name, at))
    });
    rows.collect()
}

fn at_level(flow: &str, at: &LevelReport) -> [String; FLOW_HEADS.len()] {
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

const SIGNAL_HEADS: [Head; 9] = [
    ("switch", "left"),
    ("sent", "number"),
    ("counted", "number"),
    ("known already", "number"),
    ("outdated", "number"),
    ("refused", "left"),
    ("heart-beats sent, counted", "number"),
    ("demands of its flows", "number"),
    ("waiting frames given up, moved", "number"),
];

fn signals(of: &SignalsReport) -> [String; SIGNAL_HEADS.len()] {
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

fn table<const N: usize>(
    heads: &[Head; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Element {
    let head = heads.map(|(text, class)| {
        let head = Element::new("th").with("scope", "col");
        head.class(class).text(text)
    });
    let rows = rows.into_iter().map(|cells| {
        let cells = cells.into_iter().zip(heads);
        let cells = cells.map(|(text, (_, class))| Element::new("td").class(*class).text(text));
        Element::new("tr").children(cells)
    });
    let table = Element::new("table")
        .child(Element::new("thead").child(Element::new("tr").children(head)))
        .child(Element::new("tbody").children(rows));
    Element::new("div").class("wide").child(table)
}
