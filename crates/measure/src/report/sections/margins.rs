//! The list of margins: what was observed, what is guaranteed, what was asked
//! for, a flow a row on one logarithmic axis, the smallest margin first.

use super::super::text::verdict;
use super::super::{FlowReport, Report, Verdict};
use crate::document::markup::Element;
use crate::document::quantity::time;
use crate::document::svg::{
    LogScale, circle, count, cross, drawing, label, line, polygon, rectangle, tip,
};
use crate::document::{Block, Section};

/// More rows than this go below a fold.
const ROWS_SHOWN: usize = 40;
const WIDTH: f64 = 1080.0;
const ROW: f64 = 27.0;
const TOP: f64 = 26.0;
/// The column of names and kinds is between these widths, by the longest of them.
const NAMES: (f64, f64) = (190.0, 340.0);
/// What a letter of a name takes, and one of a kind.
const LETTERS: (f64, f64) = (8.0, 6.6);
/// The most letters of a name.
const LONGEST_NAME: usize = 28;
/// The columns of numbers, and where the first of them ends.
const NUMBERS: f64 = 316.0;
const FIRST_NUMBER: f64 = WIDTH - 146.0;
/// Margins below a fifth of the deadline are narrow.
pub(super) const NARROW_PER_MILLE: u64 = 200;

/// Returns the section, or nothing if no flow has a promise.
pub(super) fn section(report: &Report) -> Option<Section> {
    let flows = report.by_margin();
    let (first, rest) = flows.split_at(flows.len().min(ROWS_SHOWN));
    if first.is_empty() {
        return None;
    }
    let scale = scale(&flows);
    let mut blocks = vec![legend(), Block::Drawing(chart(report, first, &scale))];
    if !rest.is_empty() {
        blocks.push(Block::Folded {
            summary: format!("{} more with larger margins", rest.len()),
            is_open: false,
            blocks: vec![Block::Drawing(chart(report, rest, &scale))],
        });
    }
    Some(Section::of_page(
        "margins",
        "Margins, smallest first",
        blocks,
    ))
}

fn scale(flows: &[&FlowReport]) -> LogScale {
    let medians = flows.iter().filter_map(|flow| flow.latency_ns);
    let guarantees = flows.iter().filter_map(|flow| flow.guarantee_ns);
    let low = medians.map(|latency| latency.p50).chain(guarantees).min();
    let deadlines = flows.iter().filter_map(|flow| flow.deadline_ns);
    let maxima = flows.iter().filter_map(|flow| flow.latency_ns);
    let high = deadlines.chain(maxima.map(|latency| latency.max)).max();
    let names = names(flows);
    let width = WIDTH - names - NUMBERS;
    LogScale::new(
        low.unwrap_or(1_000),
        high.unwrap_or(1_000_000),
        names,
        width,
    )
}

/// Returns how wide the column of names and kinds is.
fn names(flows: &[&FlowReport]) -> f64 {
    let of = |length: fn(&FlowReport) -> usize| {
        count(flows.iter().map(|flow| length(flow)).max().unwrap_or(0))
    };
    let name = of(|flow| flow.facts.name.chars().count().min(LONGEST_NAME));
    let kind = of(|flow| flow.facts.kind.label().chars().count());
    (60.0 + LETTERS.0 * name + LETTERS.1 * kind).clamp(NAMES.0, NAMES.1)
}

/// Returns a name that fits into its column.
fn shortened(name: &str) -> String {
    match name.chars().count() > LONGEST_NAME {
        true => name.chars().take(LONGEST_NAME - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

fn legend() -> Block {
    let keys = [
        ("k-observed", "observed, median to highest"),
        ("k-stalled", "while the machine stood still"),
        ("k-guarantee", "guarantee, by calculation"),
        ("k-deadline", "deadline, as asked for"),
    ];
    let keys = keys.map(|(class, text)| (Element::new("i").class(class), text.to_owned()));
    Block::Legend(keys.into())
}

fn chart(report: &Report, flows: &[&FlowReport], scale: &LogScale) -> Element {
    let height = TOP + ROW * count(flows.len()) + 8.0;
    let mut svg = drawing(
        WIDTH,
        height,
        "Margins",
        "One row a flow: a bar from the median to the highest latency observed, \
         a hollow tick at the guarantee, a solid line at the deadline.",
    )
    .class("margins");
    for (x, text) in scale.marks(true) {
        svg = svg
            .child(line((x, TOP - 4.0), (x, height - 6.0)).class("grid"))
            .child(label((x, TOP - 10.0), text).class("axis middle"));
    }
    svg = svg.child(label((FIRST_NUMBER, TOP - 10.0), "highest / guarantee").class("axis end-at"));
    svg = svg.child(label((WIDTH - 6.0, TOP - 10.0), "margin to deadline").class("axis end"));
    svg.children(flows.iter().enumerate().map(|(place, flow)| {
        let index = report.flows.iter().position(|one| std::ptr::eq(one, *flow));
        row(flow, index.unwrap_or(0), TOP + ROW * count(place), scale)
    }))
}

fn row(flow: &FlowReport, index: usize, top: f64, scale: &LogScale) -> Element {
    let middle = top + ROW / 2.0;
    let mut row = Element::new("g")
        .class(format!("row {}", state(flow)))
        .flow(index)
        .with("tabindex", 0)
        .child(tip(sentence(flow)))
        .child(rectangle((0.0, top), WIDTH, ROW).class("hit"))
        .child(symbol(flow, (12.0, middle)))
        .child(label((26.0, middle + 4.5), shortened(&flow.facts.name)).class("name"))
        .child(
            label((scale.left() - 12.0, middle + 4.5), flow.facts.kind.label()).class("kind end"),
        );
    if let Some(latency) = flow.latency_ns {
        let highest = flow.highest_ns.unwrap_or(latency.max);
        let (from, to, beyond) = (scale.x(latency.p50), scale.x(highest), scale.x(latency.max));
        if latency.max > highest {
            // Set apart because a processor was taken away: shown, and apart.
            let stalled = line((to, middle), (beyond, middle)).class("stalled");
            let end = line((beyond, middle - 4.0), (beyond, middle + 4.0)).class("stalled-end");
            row = row.child(stalled).child(end);
        }
        row = row
            .child(
                rectangle((from, middle - 5.0), (to - from).max(2.0), 10.0)
                    .class("observed")
                    .with("rx", 2),
            )
            .child(line((from, middle - 8.0), (from, middle + 8.0)).class("median"));
    }
    if let Some(guarantee) = flow.guarantee_ns {
        let x = scale.x(guarantee);
        row = row.child(rectangle((x - 2.5, middle - 9.0), 5.0, 18.0).class("guarantee"));
    }
    if let Some(deadline) = flow.deadline_ns {
        let x = scale.x(deadline);
        row = row.child(line((x, middle - 11.0), (x, middle + 11.0)).class("deadline"));
    }
    row.child(label((FIRST_NUMBER, middle + 4.5), highest(flow)).class("number end-at"))
        .child(label((WIDTH - 6.0, middle + 4.5), margin(flow)).class("number end strong"))
}

/// Shape as well as colour: a cross, a triangle, a disc.
fn symbol(flow: &FlowReport, (x, y): (f64, f64)) -> Element {
    match state(flow) {
        "bad" => cross((x, y), 5.0),
        "narrow" => polygon([(x, y - 6.0), (x + 6.0, y + 5.0), (x - 6.0, y + 5.0)]).class("mark"),
        _ => circle((x, y), 5.0).class("mark"),
    }
}

/// Returns the class that colours a flow.
pub(super) fn state(flow: &FlowReport) -> &'static str {
    match flow.verdict {
        Verdict::Broken => "bad",
        Verdict::Refused => "refused",
        Verdict::BestEffort | Verdict::Untried | Verdict::NotJudged => "plain",
        Verdict::Exceeded => "narrow",
        Verdict::Held if flow.margin_per_mille() < Some(NARROW_PER_MILLE) => "narrow",
        Verdict::Held => "good",
    }
}

fn highest(flow: &FlowReport) -> String {
    let highest = flow.highest_ns.map(time);
    let guarantee = flow.guarantee_ns.map(time);
    format!(
        "{} / {}",
        highest.unwrap_or_else(|| "–".to_owned()),
        guarantee.unwrap_or_else(|| "–".to_owned())
    )
}

fn margin(flow: &FlowReport) -> String {
    match (flow.margin_ns(), flow.margin_per_mille()) {
        (Some(margin), Some(share)) => format!("{} · {} %", time(margin), share / 10),
        _ => "–".to_owned(),
    }
}

fn sentence(flow: &FlowReport) -> String {
    format!(
        "{}: highest {} of a bound of {}, deadline {}; {} lost, {} later than the bound; {}",
        flow.facts.name,
        flow.highest_ns.map_or_else(|| "–".to_owned(), time),
        flow.guarantee_ns.map_or_else(|| "–".to_owned(), time),
        flow.deadline_ns.map_or_else(|| "–".to_owned(), time),
        flow.lost,
        flow.late,
        verdict(flow),
    )
}
