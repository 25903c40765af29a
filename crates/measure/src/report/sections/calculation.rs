//! How each guarantee was calculated, hop by hop.

use super::super::{FlowReport, Report};
use crate::document::quantity::time;
use crate::document::table::{left, right};
use crate::document::{Block, Section, Table};

/// Returns the section, or nothing if no calculation was given.
pub(super) fn section(report: &Report) -> Option<Section> {
    let flows = report.by_margin().into_iter();
    let flows = flows.filter(|flow| !flow.facts.calculation.is_empty());
    let folded = flows.enumerate().map(|(place, flow)| Block::Folded {
        summary: summary(flow),
        is_open: place == 0,
        blocks: vec![Block::Table(table(flow))],
    });
    let folded: Vec<_> = folded.collect();
    if folded.is_empty() {
        return None;
    }
    let worth = report.bound_line().map(Block::Note);
    let blocks = worth.into_iter().chain(folded).collect();
    let title = "How the guarantees were calculated";
    Some(Section::of_page("calculation", title, blocks))
}

fn summary(flow: &FlowReport) -> String {
    let guarantee = flow.guarantee_ns.map_or_else(|| "–".to_owned(), time);
    let deadline = flow.deadline_ns.map_or_else(|| "–".to_owned(), time);
    format!(
        "{}: {guarantee} guaranteed, {deadline} asked for",
        flow.facts.name
    )
}

fn table(flow: &FlowReport) -> Table {
    let mut so_far = 0u64;
    let rows = flow.facts.calculation.iter().map(|row| {
        so_far = so_far.saturating_add(row.delay_ns);
        [
            row.at.clone(),
            row.term.clone(),
            row.formula.clone(),
            time(row.delay_ns),
            time(so_far),
        ]
    });
    let columns = [
        left("where"),
        left("what takes time"),
        left("calculation").formula(),
        right("at most"),
        right("so far"),
    ];
    Table::new(columns).rows(rows)
}
