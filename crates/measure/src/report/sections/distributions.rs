//! How latencies are spread: for each flow the share of frames that took longer,
//! both axes logarithmic, with the guarantee and the deadline.

use super::super::{FlowReport, Report};
use super::margins::state;
use crate::document::markup::Element;
use crate::document::quantity::time;
use crate::document::svg::{LogScale, drawing, label, line, polyline, rectangle, tip};
use crate::document::{Block, Section};
use crate::statistics::as_f64;

/// The panels that are drawn: those of the smallest margins.
const MOST_PANELS: usize = 24;
/// The points of a curve that are drawn.
const MOST_POINTS: usize = 160;
const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 178.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 26.0;
/// The smallest share that is drawn: one in a million.
const DECADES: f64 = 6.0;

/// Returns the section, or nothing if nothing was received.
pub(super) fn section(report: &Report) -> Option<Section> {
    let promised = report.by_margin();
    let others = report
        .flows
        .iter()
        .filter(|flow| flow.margin_ns().is_none());
    let flows: Vec<_> = promised
        .into_iter()
        .chain(others)
        .filter(|flow| flow.latency_ns.is_some())
        .take(MOST_PANELS)
        .collect();
    if flows.is_empty() {
        return None;
    }
    let observed = report.flows.iter().filter(|flow| flow.latency_ns.is_some());
    let note = match observed.count() {
        all if all > flows.len() => {
            format!(" The {} flows with the smallest margins.", flows.len())
        }
        _ => String::new(),
    };
    let explanation = format!(
        "Each curve gives the share of deliveries (left) that took longer than a time (below). \
         It must end before the dashed line, the guarantee, but for frames that the machine held up; \
         the solid line is the deadline. Above each: median, 99.9 %, highest.{note}"
    );
    let scale = scale(&flows);
    let panels = flows.iter().map(|flow| panel(report, flow, &scale));
    let blocks = vec![Block::Note(explanation), Block::Panels(panels.collect())];
    Some(Section::of_page("distributions", "Latency", blocks))
}

fn scale(flows: &[&FlowReport]) -> LogScale {
    let latencies = || flows.iter().filter_map(|flow| flow.latency_ns);
    let low = latencies().map(|latency| latency.min).min();
    let deadlines = flows.iter().filter_map(|flow| flow.deadline_ns);
    let high = deadlines
        .chain(latencies().map(|latency| latency.max))
        .max();
    LogScale::new(
        low.unwrap_or(1_000).max(100),
        high.unwrap_or(1_000_000),
        LEFT,
        WIDTH - LEFT - RIGHT,
    )
}

fn panel(report: &Report, flow: &FlowReport, scale: &LogScale) -> Element {
    let index = report.flows.iter().position(|one| std::ptr::eq(one, flow));
    let title = format!("Latency of {}", flow.facts.name);
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let mut svg = drawing(WIDTH, HEIGHT, &title, &description(flow))
        .class(format!("panel {}", state(flow)))
        .flow(index.unwrap_or(0))
        .child(label((LEFT, 16.0), &flow.facts.name).class("name"))
        .child(label((right, 16.0), figures(flow)).class("axis end"));
    for decade in [0u32, 2, 4, 6] {
        let y = y_of(10f64.powi(-i32::try_from(decade).unwrap_or(0)));
        let text = ["1", "10⁻²", "10⁻⁴", "10⁻⁶"][usize::try_from(decade / 2).unwrap_or(0)];
        svg = svg
            .child(line((LEFT, y), (right, y)).class("grid"))
            .child(label((LEFT - 6.0, y + 4.0), text).class("axis end"));
    }
    for (x, text) in scale.marks(false) {
        svg = svg
            .child(line((x, TOP), (x, bottom)).class("grid"))
            .child(label((x, HEIGHT - 9.0), text).class("axis middle"));
    }
    if let Some(deadline) = flow.deadline_ns {
        let x = scale.x(deadline);
        svg = svg.child(
            line((x, TOP), (x, bottom))
                .class("deadline")
                .child(tip(time(deadline))),
        );
    }
    if let Some(guarantee) = flow.guarantee_ns {
        let x = scale.x(guarantee);
        let beyond = rectangle((x, TOP), right - x, bottom - TOP).class("beyond");
        let bound = line((x, TOP), (x, bottom)).class("bound");
        svg = svg.child(beyond).child(bound.child(tip(time(guarantee))));
    }
    svg.child(polyline(curve(flow, scale)).class(format!("curve {}", kind_class(flow))))
}

/// Returns the class that colours and dashes a kind of flow.
pub(super) fn kind_class(flow: &FlowReport) -> &'static str {
    use super::super::FlowKind;
    match flow.facts.kind {
        FlowKind::SampledValues => "sv",
        FlowKind::Goose => "goose",
        FlowKind::Udp => "udp",
        FlowKind::Message => "message",
        FlowKind::Trace => "trace",
        FlowKind::Mms => "mms",
        FlowKind::BestEffort => "best-effort",
    }
}

fn figures(flow: &FlowReport) -> String {
    let Some(latency) = flow.latency_ns else {
        return String::new();
    };
    format!(
        "{} · {} · {}",
        time(latency.p50),
        time(latency.p999),
        time(latency.max)
    )
}

fn description(flow: &FlowReport) -> String {
    match flow.latency_ns {
        Some(latency) => format!(
            "Median {}, 99.9 % below {}, highest {}.",
            time(latency.p50),
            time(latency.p999),
            time(latency.max)
        ),
        None => String::new(),
    }
}

/// Returns the steps of the curve, thinned out where they are dense.
fn curve(flow: &FlowReport, scale: &LogScale) -> Vec<(f64, f64)> {
    let total: u64 = flow.histogram.iter().map(|(_, count)| count).sum();
    let keep_every = flow.histogram.len().div_ceil(MOST_POINTS).max(1);
    let mut points = vec![(
        scale.x(flow.latency_ns.map_or(0, |latency| latency.min)),
        y_of(1.0),
    )];
    let mut above = total;
    for (place, (edge, count)) in flow.histogram.iter().enumerate() {
        let share = as_f64(above) / as_f64(total.max(1));
        above -= count;
        let tail = share < 0.01;
        if tail || place % keep_every == 0 {
            points.push((scale.x(*edge), y_of(share)));
            points.push((scale.x(*edge), y_of(as_f64(above) / as_f64(total.max(1)))));
        }
    }
    points
}

fn y_of(share: f64) -> f64 {
    let down = (-share.max(1e-12).log10() / DECADES).clamp(0.0, 1.0);
    TOP + (HEIGHT - TOP - BOTTOM) * down
}
