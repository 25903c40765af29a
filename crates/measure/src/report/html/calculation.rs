//! How each guarantee was calculated, hop by hop.

use super::super::{FlowReport, Report};
use super::markup::Element;
use super::quantity::time;

/// Returns the section, or nothing if no calculation was given.
pub(super) fn section(report: &Report) -> Option<Element> {
    let flows: Vec<_> = report
        .by_margin()
        .into_iter()
        .filter(|flow| !flow.facts.calculation.is_empty())
        .collect();
    if flows.is_empty() {
        return None;
    }
    let mut section = Element::new("section")
        .with("id", "calculation")
        .child(Element::new("h2").text("How the guarantees were calculated"));
    if let Some(worth) = report.bound_line() {
        section = section.child(Element::new("p").class("note").text(worth.trim_end()));
    }
    for (place, flow) in flows.iter().enumerate() {
        let details = Element::new("details");
        let details = match place {
            0 => details.with("open", "open"),
            _ => details,
        };
        section = section.child(details.child(summary(flow)).child(table(flow)));
    }
    Some(section)
}

fn summary(flow: &FlowReport) -> Element {
    let guarantee = flow.guarantee_ns.map_or_else(|| "–".to_owned(), time);
    let deadline = flow.deadline_ns.map_or_else(|| "–".to_owned(), time);
    Element::new("summary").text(format!(
        "{}: {guarantee} guaranteed, {deadline} asked for",
        flow.facts.name
    ))
}

fn table(flow: &FlowReport) -> Element {
    let head = [
        ("where", "left"),
        ("what takes time", "left"),
        ("calculation", "left"),
        ("at most", "number"),
        ("so far", "number"),
    ];
    let head = head.map(|(text, class)| {
        let head = Element::new("th").with("scope", "col");
        head.class(class).text(text)
    });
    let mut so_far = 0u64;
    let rows = flow.facts.calculation.iter().map(|row| {
        so_far = so_far.saturating_add(row.delay_ns);
        Element::new("tr")
            .child(Element::new("td").text(&row.at))
            .child(Element::new("td").text(&row.term))
            .child(Element::new("td").class("formula").text(&row.formula))
            .child(Element::new("td").class("number").text(time(row.delay_ns)))
            .child(Element::new("td").class("number").text(time(so_far)))
    });
    Element::new("div").class("wide").child(
        Element::new("table")
            .child(Element::new("thead").child(Element::new("tr").children(head)))
            .child(Element::new("tbody").children(rows)),
    )
}
