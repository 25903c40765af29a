//! What happened after each event: where the time went until traffic came back,
//! and whom it interrupted for how long.

use super::super::{EventReport, Report, Restoration};
use super::markup::Element;
use super::quantity::time;
use super::svg::{count, drawing, label, line, real, rectangle, tip};

const WIDTH: f64 = 1080.0;
const ROW: f64 = 58.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 130.0;
/// The flows that are named after an event: the longest interrupted.
const MOST_NAMED: usize = 24;

/// Returns the section, or nothing if nothing happened.
pub(super) fn section(report: &Report) -> Option<Element> {
    if report.events.is_empty() {
        return None;
    }
    let mut section = Element::new("section")
        .with("id", "events")
        .child(Element::new("h2").text("Failures and repairs"));
    let restored: Vec<_> = report
        .events
        .iter()
        .filter_map(|event| Some((event, event.restoration?)))
        .collect();
    if !restored.is_empty() {
        section = section.child(legend()).child(split(&restored));
    }
    Some(section.child(table(report)))
}

const STEPS: [(&str, &str); 3] = [
    ("detection", "failure to port-status at the controller"),
    ("controller", "port-status to last flow-mod out"),
    ("programming", "last flow-mod out to last barrier reply"),
];

fn legend() -> Element {
    Element::new("p")
        .class("legend")
        .children(STEPS.map(|(class, text)| {
            Element::new("span")
                .class("key")
                .child(Element::new("i").class(format!("k-{class}")))
                .text(format!("{class}: {text}"))
        }))
}

fn split(restored: &[(&EventReport, Restoration)]) -> Element {
    let longest = restored
        .iter()
        .map(|(_, restoration)| restoration.total_ns());
    let scale = (WIDTH - LEFT - RIGHT) / real(longest.max().unwrap_or(1).max(1));
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
        let name = format!("{} {}", event.target, event.kind.label());
        svg = svg.child(label((LEFT - 12.0, top + 18.0), name).class("name end"));
        let parts = [
            restoration.detection_ns,
            restoration.controller_ns,
            restoration.programming_ns,
        ];
        let mut x = LEFT;
        for (part_ns, (class, text)) in parts.into_iter().zip(STEPS) {
            let width = real(part_ns) * scale;
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

fn table(report: &Report) -> Element {
    let head = [
        ("when", "number"),
        ("what", "left"),
        ("longest interruption", "number"),
        ("interrupted flows", "left"),
    ];
    let head = head.map(|(text, class)| {
        let head = Element::new("th").with("scope", "col");
        head.class(class).text(text)
    });
    let rows = report.events.iter().map(|event| {
        let longest = event.outage_ns.values().max().copied().unwrap_or(0);
        Element::new("tr")
            .child(Element::new("td").class("number").text(time(event.at_ns)))
            .child(Element::new("td").text(format!("{} {}", event.target, event.kind.label())))
            .child(Element::new("td").class("number").text(match longest {
                0 => "none".to_owned(),
                longest => time(longest),
            }))
            .child(Element::new("td").text(interrupted(event)))
    });
    Element::new("table")
        .child(Element::new("thead").child(Element::new("tr").children(head)))
        .child(Element::new("tbody").children(rows))
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
