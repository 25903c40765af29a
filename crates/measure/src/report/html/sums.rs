//! What all flows come to, by kind and queue, where not each of them is shown.

use super::super::Report;
use super::super::extent::SUM_HEADS;
use super::markup::Element;

/// Returns the section of a report of which `left_out` flows are not shown.
pub(super) fn section(report: &Report, left_out: usize) -> Element {
    let class = |column: usize| if column == 0 { "left" } else { "number" };
    let head = SUM_HEADS.iter().enumerate();
    let head = head.map(|(column, text)| {
        let head = Element::new("th").with("scope", "col");
        head.class(class(column)).text(text)
    });
    let rows = report.sums().into_iter().map(|cells| {
        let cells = cells.into_iter().enumerate();
        let cells = cells.map(|(column, text)| Element::new("td").class(class(column)).text(text));
        Element::new("tr").children(cells)
    });
    let table = Element::new("table")
        .child(Element::new("thead").child(Element::new("tr").children(head)))
        .child(Element::new("tbody").children(rows));
    let shown = report.flows.len() - left_out;
    let note = format!(
        "Below are the {shown} flows that are worst off of {}: broken, exceeded, not judged, \
         refused, and then those with the smallest margins. `taktos run --all` shows all of them, \
         and report.json has them.",
        report.flows.len()
    );
    Element::new("section")
        .with("id", "sums")
        .child(Element::new("h2").text("All flows"))
        .child(Element::new("div").class("wide").child(table))
        .child(Element::new("p").class("note").text(note))
}
