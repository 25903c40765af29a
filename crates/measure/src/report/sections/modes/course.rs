//! The level over time, and below it a lane for each flow: a bar while it is served, a
//! frame while it is given up, and a mark where it demanded more.

use super::super::super::{FlowReport, ModesReport, Report};
use super::super::time_line::seconds;
use crate::document::markup::Element;
use crate::document::quantity::time;
use crate::document::svg::{count, drawing, label, line, polygon, polyline, rectangle, tip};
use crate::statistics::as_f64;

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 118.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const STEP: f64 = 24.0;
const LANE: f64 = 22.0;
const GAP: f64 = 16.0;
/// The flows that have a lane.
const MOST_LANES: usize = 32;
/// The violations that have a mark.
const MOST_MARKS: usize = 512;

/// A time at one level.
#[derive(Clone, Copy)]
struct Stretch {
    level: usize,
    from_ns: u64,
    to_ns: u64,
}

pub(super) fn drawing_of(report: &Report, modes: &ModesReport) -> Element {
    let flows = report.flows.iter().enumerate();
    let flows = flows.filter(|(_, flow)| !flow.levels.is_empty());
    let flows: Vec<(usize, &FlowReport)> = flows.take(MOST_LANES).collect();
    let lanes = TOP + STEP * count(modes.levels.len()) + GAP;
    let bottom = lanes + LANE * count(flows.len());
    let axis = TimeAxis {
        length_ns: as_f64(report.duration_ns.max(1)),
    };
    let stretches = stretches(report, modes);
    let mut svg = drawing(
        WIDTH,
        bottom + 24.0,
        "Levels over time",
        "The level in force, and for each flow when it was served, given up, and demanded more.",
    )
    .class("modes");
    for (ns, text) in seconds(report.duration_ns) {
        let x = axis.x(ns);
        svg = svg
            .child(line((x, TOP), (x, bottom)).class("grid"))
            .child(label((x, bottom + 18.0), text).class("axis middle"));
    }
    svg = svg
        .children(level_names(modes))
        .child(steps(&axis, modes, &stretches));
    for (lane, (index, flow)) in flows.into_iter().enumerate() {
        let top = lanes + LANE * count(lane);
        svg = svg.child(lane_of(&axis, (index, flow), &stretches, top));
        svg = svg.children(marks(&axis, modes, flow, top));
    }
    svg
}

#[derive(Clone, Copy)]
struct TimeAxis {
    length_ns: f64,
}

impl TimeAxis {
    fn x(&self, ns: u64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (as_f64(ns) / self.length_ns).clamp(0.0, 1.0)
    }
}

/// Returns at which level the network was when.
fn stretches(report: &Report, modes: &ModesReport) -> Vec<Stretch> {
    let place = |name: &String| modes.levels.iter().position(|level| level == name);
    let changes = modes.changes.iter();
    let known = changes.filter_map(|change| Some((place(&change.level)?, change.at_ns)));
    let starts: Vec<_> = std::iter::once((0, 0)).chain(known).collect();
    let ends = starts.iter().skip(1).map(|(_, at)| *at);
    let ends = ends.chain([report.duration_ns]);
    let stretches = starts.iter().zip(ends).map(|((level, from), to)| Stretch {
        level: *level,
        from_ns: *from,
        to_ns: to.max(*from),
    });
    stretches.collect()
}

/// Returns the height of a level: the lowest is below the others.
fn height(modes: &ModesReport, level: usize) -> f64 {
    TOP + STEP * (count(modes.levels.len().saturating_sub(level)) - 0.5)
}

fn level_names(modes: &ModesReport) -> Vec<Element> {
    let names = modes.levels.iter().enumerate();
    let names = names.map(|(level, name)| {
        let y = height(modes, level);
        label((LEFT - 10.0, y + 4.0), name).class("axis end")
    });
    names.collect()
}

fn steps(axis: &TimeAxis, modes: &ModesReport, stretches: &[Stretch]) -> Element {
    let points = stretches.iter().flat_map(|it| {
        let y = height(modes, it.level);
        [(axis.x(it.from_ns), y), (axis.x(it.to_ns), y)]
    });
    let mut drawn = Element::new("g").child(polyline(points).class("level"));
    for change in &modes.changes {
        let x = axis.x(change.at_ns);
        let text = format!(
            "{} at {}, by {}, everywhere {} later",
            change.level,
            time(change.at_ns),
            change.origin,
            time(change.took_ns)
        );
        let ends = ((x, TOP), (x, TOP + STEP * count(modes.levels.len())));
        drawn = drawn.child(line(ends.0, ends.1).class("change").child(tip(text)));
    }
    drawn
}

fn lane_of(
    axis: &TimeAxis,
    (index, flow): (usize, &FlowReport),
    stretches: &[Stretch],
    top: f64,
) -> Element {
    let name = &flow.facts.name;
    let mut lane = Element::new("g")
        .flow(index)
        .child(label((LEFT - 10.0, top + 14.0), name).class("axis end"));
    for it in stretches {
        let Some(at) = flow.levels.get(it.level) else {
            continue;
        };
        let (class, what) = match at.served {
            true => ("served", "served"),
            false => ("given-up", "given up"),
        };
        let (from, to) = (axis.x(it.from_ns), axis.x(it.to_ns));
        let bar = rectangle((from, top + 4.0), to - from, LANE - 9.0).class(class);
        let times = format!("{} to {}", time(it.from_ns), time(it.to_ns));
        lane = lane.child(bar.child(tip(format!("{name}: {what} at {}, {times}", at.level))));
    }
    lane
}

fn marks(axis: &TimeAxis, modes: &ModesReport, flow: &FlowReport, top: f64) -> Vec<Element> {
    let own = modes.violations.iter();
    let own = own.filter(|one| one.flow == flow.facts.name);
    let marks = own.take(MOST_MARKS).map(|one| {
        let (x, y) = (axis.x(one.at_ns), top + 10.0);
        let text = format!(
            "{} demands {} at {} ({} times)",
            one.flow,
            one.level,
            time(one.at_ns),
            one.count
        );
        polygon([(x, y - 7.0), (x + 6.0, y + 5.0), (x - 6.0, y + 5.0)])
            .class("violation")
            .child(tip(text))
    });
    marks.collect()
}
