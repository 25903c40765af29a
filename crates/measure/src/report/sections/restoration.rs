//! What happened after each event: where the time went until traffic came back,
//! and whom it interrupted for how long.

use super::super::{EventReport, Report, Restoration};
use crate::document::markup::Element;
use crate::document::quantity::time;
use crate::document::svg::{count, drawing, label, line, rectangle, tip};
use crate::document::table::{left, right};
use crate::document::{Block, Section, Table};
use crate::statistics::as_f64;

const WIDTH: f64 = 1080.0;
const ROW: f64 = 58.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 130.0;
/// The flows that are named after an event: the longest interrupted.
const MOST_NAMED: usize = 24;

/// Returns the section, or nothing if nothing happened.
pub(super) fn section(report: &Report) -> Option<Section> {
    if report.events.is_empty() {
        return None;
    }
    let mut blocks = Vec::new();
    let events = report.events.iter();
    let restored: Vec<_> = events
        .filter_map(|event| Some((event, event.restoration?)))
        .collect();
    if !restored.is_empty() {
        blocks.extend([legend(), Block::Drawing(split(&restored))]);
    }
    blocks.push(Block::Table(table(report)));
    Some(Section::of_page("events", "Failures and repairs", blocks))
}

const STEPS: [(&str, &str); 3] = [
    ("detection", "failure to port-status at the controller"),
    ("controller", "port-status to last flow-mod out"),
    ("programming", "last flow-mod out to last barrier reply"),
];

fn legend() -> Block {
    let keys = STEPS.map(|(class, text)| {
        let sign = Element::new("i").class(format!("k-{class}"));
        (sign, format!("{class}: {text}"))
    });
    Block::Legend(keys.into())
}

fn split(restored: &[(&EventReport, Restoration)]) -> Element {
    let longest = restored
        .iter()
        .map(|(_, restoration)| restoration.total_ns());
    let scale = (WIDTH - LEFT - RIGHT) / as_f64(longest.max().unwrap_or(1).max(1));
    let height = ROW * count(restored.len()) + 6.0;
    let mut svg = drawing(
        WIDTH,
        height,
        "Restoration",
        "Where the time went between a failure and the confirmation of the new path.",
    )
    .class("restoration");
    for (place, (event, restoration)) in restored.iter().enumerate() {
        let top = ROW * count(place) + 6.0;
        let name = event.label();
        svg = svg.child(label((LEFT - 12.0, top + 18.0), name).class("name end"));
        let parts = [
            restoration.detection_ns,
            restoration.controller_ns,
            restoration.programming_ns,
        ];
        let mut x = LEFT;
        for (part_ns, (class, text)) in parts.into_iter().zip(STEPS) {
            let width = as_f64(part_ns) * scale;
            let bar = rectangle((x, top), width, 26.0).class(class);
            svg = svg.child(bar.child(tip(format!("{text}: {}", time(part_ns)))));
            if width > 58.0 {
                let text = label((x + width / 2.0, top + 17.5), time(part_ns));
                svg = svg.child(text.class("middle on-bar"));
            } else {
                // Too narrow for its text: below, at a mark.
                let text = label((x + width / 2.0, top + 43.0), time(part_ns));
                svg = svg
                    .child(line(
                        (x + width / 2.0, top + 26.0),
                        (x + width / 2.0, top + 32.0),
                    ))
                    .child(text.class("axis middle"));
            }
            x += width;
        }
        let total = time(restoration.total_ns());
        svg = svg.child(label((x + 10.0, top + 18.0), total).class("strong"));
    }
    svg
}

fn table(report: &Report) -> Table {
    let rows = report.events.iter().map(|event| {
        let longest = event.outage_ns.values().max().copied().unwrap_or(0);
        [
            time(event.at_ns),
            event.label(),
            match longest {
                0 => "none".to_owned(),
                longest => time(longest),
            },
            interrupted(event),
        ]
    });
    let columns = [
        right("when"),
        left("what"),
        right("longest interruption"),
        left("interrupted flows"),
    ];
    Table::new(columns).rows(rows)
}

fn interrupted(event: &EventReport) -> String {
    let mut flows: Vec<_> = event.outage_ns.iter().filter(|(_, ns)| **ns > 0).collect();
    flows.sort_by_key(|(name, ns)| (std::cmp::Reverse(**ns), *name));
    let more = flows.len().saturating_sub(MOST_NAMED);
    let mut named: Vec<String> = flows
        .iter()
        .take(MOST_NAMED)
        .map(|(name, ns)| format!("{name} {}", time(**ns)))
        .collect();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    let led_over = event.restoration.map(|restoration| {
        format!(
            "{} flows led over their alternatives by {} flow-mods",
            restoration.flows, restoration.flow_mods
        )
    });
    match (named.is_empty(), led_over) {
        (true, None) => "–".to_owned(),
        (true, Some(led_over)) => led_over,
        (false, None) => named.join(", "),
        (false, Some(led_over)) => format!("{}; {led_over}", named.join(", ")),
    }
}
