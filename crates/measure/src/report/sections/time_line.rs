//! The run over time: the greatest latency of each flow in each interval as a
//! share of its guarantee, with everything that happened.

use super::super::{EventReport, FlowReport, Report};
use super::distributions::kind_class;
use super::margins::state;
use crate::document::markup::Element;
use crate::document::quantity::time;
use crate::document::svg::{count, cross, drawing, label, line, polygon, polyline, rectangle, tip};
use crate::document::{Block, Section};
use crate::statistics::as_f64;

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 46.0;
const PLOT: f64 = 210.0;
const LANE: f64 = 22.0;
/// Between the plot and the lanes.
const GAP: f64 = 8.0;
const LANES: f64 = TOP + PLOT + GAP;
/// What the axis shows at least, in shares of the guarantee.
const LEAST_TOP: f64 = 1.15;
/// What it shows at most: above, a line leaves the plot.
const MOST_TOP: f64 = 1.6;
const MARKS: u64 = 10;
/// More events than this have no text.
const EVENTS_NAMED: usize = 12;

/// Returns the section, or nothing if no flow has a promise and a course.
pub(super) fn section(report: &Report) -> Option<Section> {
    let flows: Vec<(usize, &FlowReport)> = report
        .flows
        .iter()
        .enumerate()
        .filter(|(_, flow)| flow.guarantee_ns.is_some() && flow.time_line.is_some())
        .collect();
    if flows.is_empty() || report.duration_ns == 0 {
        return None;
    }
    let axes = Axes::of(report, &flows);
    let height = LANES + 2.0 * LANE + 34.0;
    let svg =
        drawing(
            WIDTH,
            height,
            "Time line",
            "The greatest latency of each flow in each interval, as a share of its guarantee, \
         with failures, repairs, losses and interruptions of the machine.",
        )
        .class("time-line")
        .children(axes.draw(report.duration_ns))
        .children(
            report.events.iter().enumerate().map(|(place, event)| {
                axes.event(event, place, report.events.len() <= EVENTS_NAMED)
            }),
        )
        .children(flows.iter().map(|(index, flow)| axes.course(*index, flow)))
        .child(axes.losses(&flows))
        .child(axes.stalls(report));
    let note = "The greatest latency in each interval as a share of the flow's guarantee. \
                What crosses the dashed line at 100 % was later than calculated, or was held up \
                while the machine took a processor away: the marks in the lowest lane.";
    let blocks = vec![
        Block::Note(note.to_owned()),
        kinds(&flows),
        Block::Drawing(svg),
    ];
    Some(Section::of_page("time-line", "Course of the run", blocks))
}

fn kinds(flows: &[(usize, &FlowReport)]) -> Block {
    let mut kinds: Vec<_> = flows
        .iter()
        .map(|(_, flow)| (flow.facts.kind, kind_class(flow)))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let keys = kinds.into_iter().map(|(kind, class)| {
        let stroke = line((0.0, 5.0), (26.0, 5.0)).class(format!("curve {class}"));
        let sign = drawing(26.0, 10.0, kind.label(), "").child(stroke);
        (sign, kind.label().to_owned())
    });
    Block::Legend(keys.collect())
}

#[derive(Clone, Copy)]
struct Axes {
    length_ns: f64,
    top: f64,
}

impl Axes {
    fn of(report: &Report, flows: &[(usize, &FlowReport)]) -> Self {
        let greatest = flows.iter().filter_map(|(_, flow)| {
            let latency = flow.latency_ns?;
            Some(as_f64(latency.max) / as_f64(flow.guarantee_ns?.max(1)))
        });
        Self {
            length_ns: as_f64(report.duration_ns),
            top: greatest
                .fold(LEAST_TOP, |top, share| top.max(share * 1.08))
                .min(MOST_TOP),
        }
    }

    fn x(&self, ns: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (ns / self.length_ns).clamp(0.0, 1.0)
    }

    fn y(&self, share: f64) -> f64 {
        TOP + PLOT * (1.0 - (share / self.top).clamp(0.0, 1.0))
    }

    fn draw(&self, duration_ns: u64) -> Vec<Element> {
        let right = WIDTH - RIGHT;
        let mut drawn = Vec::new();
        for percent in [0u32, 25, 50, 75, 100, 125, 150] {
            let y = self.y(f64::from(percent) / 100.0);
            if f64::from(percent) / 100.0 <= self.top {
                let text = format!("{percent} %");
                drawn.push(line((LEFT, y), (right, y)).class("grid"));
                drawn.push(label((LEFT - 8.0, y + 4.0), text).class("axis end"));
            }
        }
        for (ns, text) in seconds(duration_ns) {
            let x = self.x(as_f64(ns));
            drawn.push(line((x, TOP), (x, TOP + PLOT)).class("grid"));
            let y = LANES + 2.0 * LANE + 20.0;
            drawn.push(label((x, y), text).class("axis middle"));
        }
        let bound = self.y(1.0);
        drawn.push(line((LEFT, bound), (right, bound)).class("bound"));
        for (lane, text) in ["lost", "interruptions"].into_iter().enumerate() {
            let y = LANES + LANE * (count(lane) + 1.0);
            drawn.push(line((LEFT, y), (right, y)).class("grid"));
            drawn.push(label((LEFT - 8.0, y - 5.0), text).class("axis end"));
        }
        drawn
    }

    /// Failures are crosses, everything else is a triangle; restorations are
    /// the band between the event and the return of traffic.
    fn event(&self, event: &EventReport, place: usize, named: bool) -> Element {
        use super::super::EventKind;
        let x = self.x(as_f64(event.at_ns));
        let text = format!("{} at {}", event.label(), time(event.at_ns));
        let y = TOP - 8.0;
        let (class, symbol) = match event.kind {
            EventKind::Cut
            | EventKind::SwitchCrash
            | EventKind::SwitchKill
            | EventKind::Lossy
            | EventKind::Corrupting
            | EventKind::Isolate => ("event failure", cross((x, y), 4.5)),
            EventKind::Heal
            | EventKind::SwitchRestart
            | EventKind::HostMove
            | EventKind::Unimpaired
            | EventKind::Rejoin => (
                "event repair",
                polygon([(x, y - 5.0), (x + 5.0, y + 4.0), (x - 5.0, y + 4.0)]).class("mark"),
            ),
        };
        let longest = event.outage_ns.values().max().copied().unwrap_or(0);
        let mut drawn = Element::new("g")
            .class(class)
            .child(tip(match longest {
                0 => text.clone(),
                longest => format!("{text}, longest interruption {}", time(longest)),
            }))
            .child(line((x, TOP), (x, LANES + 2.0 * LANE)))
            .child(symbol);
        if longest > 0 {
            let to = self.x(as_f64(event.at_ns + longest));
            drawn = drawn.child(rectangle((x, TOP), (to - x).max(2.0), PLOT).class("outage"));
        }
        if named {
            let end = x > WIDTH - 200.0;
            let dx = if end { -9.0 } else { 9.0 };
            let y = TOP - 6.0 - 14.0 * count(place % 2);
            let class = if end { "end" } else { "" };
            let mut note = event.label();
            if longest > 0 {
                note = format!("{note}, {} interrupted", time(longest));
            }
            drawn = drawn.child(label((x + dx, y), note).class(class));
        }
        drawn
    }

    fn course(&self, index: usize, flow: &FlowReport) -> Element {
        let mut course = Element::new("g")
            .class(state(flow))
            .flow(index)
            .child(tip(&flow.facts.name));
        let (Some(series), Some(guarantee)) = (&flow.time_line, flow.guarantee_ns) else {
            return course;
        };
        // A line for each stretch without a pause.
        let mut stretch: Vec<(f64, f64)> = Vec::new();
        let class = format!("curve {}", kind_class(flow));
        for (place, max_ns) in series.max_ns.iter().chain([&0]).enumerate() {
            if *max_ns > 0 {
                let middle = (count(place) + 0.5) * as_f64(series.interval_ns);
                stretch.push((
                    self.x(middle),
                    self.y(as_f64(*max_ns) / as_f64(guarantee.max(1))),
                ));
            } else if !stretch.is_empty() {
                if let [(x, y)] = stretch[..] {
                    stretch.push((x + 1.5, y));
                }
                course = course.child(polyline(std::mem::take(&mut stretch)).class(&class));
            }
        }
        course
    }

    fn losses(&self, flows: &[(usize, &FlowReport)]) -> Element {
        let base = LANES + LANE;
        let marks = flows.iter().filter_map(|(index, flow)| {
            let series = flow.time_line.as_ref()?;
            let marks = series.lost.iter().map(|(place, lost)| {
                let x = self.x((count(*place) + 0.5) * as_f64(series.interval_ns));
                let text = format!("{}: {lost} lost", flow.facts.name);
                polygon([
                    (x - 4.0, base - 12.0),
                    (x + 4.0, base - 12.0),
                    (x, base - 3.0),
                ])
                .class("loss")
                .child(tip(text))
            });
            Some(Element::new("g").flow(*index).children(marks))
        });
        Element::new("g").class("losses").children(marks)
    }

    fn stalls(&self, report: &Report) -> Element {
        let base = LANES + 2.0 * LANE;
        let longest = report
            .platform
            .interruptions
            .iter()
            .map(|stall| stall.length_ns)
            .max();
        let bars = report.platform.interruptions.iter().map(|stall| {
            let share = as_f64(stall.length_ns) / as_f64(longest.unwrap_or(1).max(1));
            let from = self.x(as_f64(stall.at_ns));
            let to = self.x(as_f64(stall.at_ns + stall.length_ns));
            let height = 3.0 + (LANE - 6.0) * share.sqrt();
            rectangle((from, base - height), (to - from).max(1.5), height).child(tip(format!(
                "a processor was taken for {} at {}",
                time(stall.length_ns),
                time(stall.at_ns)
            )))
        });
        Element::new("g").class("stalls").children(bars)
    }
}

/// Returns the marks of the time axis.
pub(super) fn seconds(duration_ns: u64) -> Vec<(u64, String)> {
    const STEPS: [(u64, u64, &str); 12] = [
        (1_000_000, 1_000_000, "ms"),
        (5_000_000, 1_000_000, "ms"),
        (10_000_000, 1_000_000, "ms"),
        (50_000_000, 1_000_000, "ms"),
        (100_000_000, 1_000_000, "ms"),
        (500_000_000, 1_000_000, "ms"),
        (1_000_000_000, 1_000_000_000, "s"),
        (2_000_000_000, 1_000_000_000, "s"),
        (5_000_000_000, 1_000_000_000, "s"),
        (10_000_000_000, 1_000_000_000, "s"),
        (60_000_000_000, 60_000_000_000, "min"),
        (600_000_000_000, 60_000_000_000, "min"),
    ];
    let fits = STEPS.iter().find(|(step, ..)| duration_ns / step <= MARKS);
    let (step, unit_ns, unit) =
        fits.copied()
            .unwrap_or((duration_ns.max(1), 60_000_000_000, "min"));
    (0..=duration_ns / step)
        .map(|mark| (mark * step, format!("{} {unit}", mark * step / unit_ns)))
        .collect()
}
