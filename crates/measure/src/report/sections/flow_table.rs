//! All flows with all their figures, to be sorted by any of them.

use super::super::text::{factor, verdict};
use super::super::{FlowReport, Report};
use super::margins::state;
use crate::document::quantity::{time, whole};
use crate::document::table::{Cell, Column, Row, left, right};
use crate::document::{Block, Section, Table};

const COLUMNS: [Column; 18] = [
    left("flow").meaning("its name in the scenario"),
    left("verdict").meaning("was the promise kept?"),
    left("kind").meaning("what kind of traffic"),
    left("from → to").meaning("the sending and the receiving hosts"),
    right("deadline").meaning("the latency asked for"),
    right("bound").meaning("the latency calculated"),
    right("median").meaning("half of the deliveries were faster"),
    right("p99.9").meaning("99.9 % of the deliveries were faster"),
    right("highest").meaning("the slowest delivery but for those set apart"),
    right("safety").meaning("how often the highest fits into the deadline"),
    right("sent").meaning("frames that left the sender"),
    right("lost").meaning("frames that a receiver did not get"),
    right("late").meaning("deliveries later than the bound"),
    right("loss run").meaning("the most frames lost in a row"),
    right("reordered").meaning("arrivals out of order, and copies"),
    right("stalled").meaning("late or lost while a processor was taken away"),
    right("beyond contract").meaning("frames that left too soon after others of the flow"),
    right("not judged").meaning("deliveries not sent or not seen"),
];

pub(super) fn section(report: &Report) -> Section {
    let flows = report.flows.iter().enumerate();
    let table = Table {
        rows: flows.map(|(index, flow)| row(index, flow)).collect(),
        is_sortable: true,
        ..Table::new(COLUMNS)
    };
    Section::of_page("flows", "Flows", vec![Block::Table(table)])
}

fn row(index: usize, flow: &FlowReport) -> Row {
    let latency = flow.latency_ns;
    let facts = &flow.facts;
    let cells = [
        facts.name.clone().into(),
        verdict(flow).into(),
        facts.kind.label().into(),
        format!("{} → {}", facts.source, facts.destinations.join(", ")).into(),
        Cell::of(flow.deadline_ns, time),
        Cell::of(flow.guarantee_ns, time),
        Cell::of(latency.map(|latency| latency.p50), time),
        Cell::of(latency.map(|latency| latency.p999), time),
        Cell::of(flow.highest_ns, time),
        Cell::of(flow.safety_hundredths(), factor),
        Cell::of(Some(flow.sent), whole),
        Cell::of(Some(flow.lost), whole),
        Cell::of(Some(flow.late), whole),
        Cell::of(Some(flow.longest_loss_run), whole),
        Cell::of(Some(flow.reordered + flow.duplicates), whole),
        Cell::of(Some(flow.stalled.late + flow.stalled.lost), whole),
        Cell::of(Some(flow.out_of_contract), whole),
        Cell::of(Some(flow.not_judged), whole),
    ];
    Row {
        cells: cells.into(),
        class: state(flow),
        flow: Some(index),
    }
}
