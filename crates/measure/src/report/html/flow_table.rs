//! All flows with all their figures, to be sorted by any of them.

use super::super::text::factor;
use super::super::{FlowReport, Report};
use super::margins::state;
use super::markup::Element;
use super::quantity::{time, whole};

/// A column: its head, what it is, whether it holds numbers.
const COLUMNS: [(&str, &str, Align); 18] = [
    ("flow", "its name in the scenario", Align::Left),
    ("verdict", "was the promise kept?", Align::Left),
    ("kind", "what kind of traffic", Align::Left),
    (
        "from → to",
        "the sending and the receiving hosts",
        Align::Left,
    ),
    ("deadline", "the latency asked for", Align::Right),
    ("bound", "the latency calculated", Align::Right),
    ("median", "half of the deliveries were faster", Align::Right),
    (
        "p99.9",
        "99.9 % of the deliveries were faster",
        Align::Right,
    ),
    (
        "highest",
        "the slowest delivery but for those set apart",
        Align::Right,
    ),
    (
        "safety",
        "how often the highest fits into the deadline",
        Align::Right,
    ),
    ("sent", "frames that left the sender", Align::Right),
    ("lost", "frames that a receiver did not get", Align::Right),
    ("late", "deliveries later than the bound", Align::Right),
    ("loss run", "the most frames lost in a row", Align::Right),
    (
        "reordered",
        "arrivals out of order, and copies",
        Align::Right,
    ),
    (
        "stalled",
        "late or lost while a processor was taken away",
        Align::Right,
    ),
    (
        "beyond contract",
        "frames that left too soon after others of the flow",
        Align::Right,
    ),
    (
        "not judged",
        "deliveries not sent or not seen",
        Align::Right,
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

pub(super) fn section(report: &Report) -> Element {
    let head = COLUMNS.map(|(name, meaning, align)| {
        let button = Element::new("button").with("type", "button").text(name);
        Element::new("th")
            .with("scope", "col")
            .with("title", meaning)
            .class(class(align))
            .child(button)
    });
    let rows = report
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| row(index, flow));
    Element::new("section")
        .with("id", "flows")
        .child(Element::new("h2").text("Flows"))
        .child(
            Element::new("div").class("wide").child(
                Element::new("table")
                    .class("sortable")
                    .child(Element::new("thead").child(Element::new("tr").children(head)))
                    .child(Element::new("tbody").children(rows)),
            ),
        )
}

fn row(index: usize, flow: &FlowReport) -> Element {
    let latency = flow.latency_ns;
    let facts = &flow.facts;
    let cells: [(String, Option<u64>); COLUMNS.len()] = [
        (facts.name.clone(), None),
        (super::super::text::verdict(flow), None),
        (facts.kind.label().to_owned(), None),
        (
            format!("{} → {}", facts.source, facts.destinations.join(", ")),
            None,
        ),
        quantity(flow.deadline_ns, time),
        quantity(flow.guarantee_ns, time),
        quantity(latency.map(|latency| latency.p50), time),
        quantity(latency.map(|latency| latency.p999), time),
        quantity(flow.highest_ns, time),
        quantity(flow.safety_hundredths(), factor),
        quantity(Some(flow.sent), whole),
        quantity(Some(flow.lost), whole),
        quantity(Some(flow.late), whole),
        quantity(Some(flow.longest_loss_run), whole),
        quantity(Some(flow.reordered + flow.duplicates), whole),
        quantity(Some(flow.stalled.late + flow.stalled.lost), whole),
        quantity(Some(flow.out_of_contract), whole),
        quantity(Some(flow.not_judged), whole),
    ];
    let cells = cells
        .into_iter()
        .zip(COLUMNS)
        .map(|((text, key), (.., align))| {
            let cell = Element::new("td").class(class(align)).text(text);
            match key {
                Some(key) => cell.with("data-key", key),
                None => cell,
            }
        });
    Element::new("tr")
        .class(state(flow))
        .flow(index)
        .children(cells)
}

/// Returns a cell, and the number by which it is sorted.
fn quantity(value: Option<u64>, show: fn(u64) -> String) -> (String, Option<u64>) {
    match value {
        Some(value) => (show(value), Some(value)),
        None => ("–".to_owned(), None),
    }
}

fn class(align: Align) -> &'static str {
    match align {
        Align::Left => "left",
        Align::Right => "number",
    }
}
