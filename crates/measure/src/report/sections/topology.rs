//! The network: switches, hosts, links, what was cut, and the way of the flow
//! under the pointer.

use std::collections::BTreeMap;

use super::super::{EventKind, LinkReport, NodeKind, NodeReport, Report};
use super::layout::{bounds, places};
use crate::document::markup::Element;
use crate::document::quantity::{rate, time};
use crate::document::svg::{circle, count, cross, drawing, label, line, polyline, rectangle, tip};
use crate::document::{Block, Section};

const WIDTH: f64 = 1080.0;
const MARGIN: f64 = 64.0;
const MOST_HEIGHT: f64 = 560.0;
const LEAST_HEIGHT: f64 = 240.0;
/// What an ordinary link is long at most.
const MOST_SCALE: f64 = 160.0;
/// How much wider than high the network may be drawn.
const MOST_STRETCH: f64 = 1.7;
/// More hosts than this are drawn without their names.
const HOSTS_NAMED: usize = 40;
const SWITCHES_NAMED: usize = 60;

type Places<'a> = BTreeMap<&'a str, (f64, f64)>;

/// Returns the section, or nothing if there is nothing to draw.
pub(super) fn section(report: &Report) -> Option<Section> {
    let topology = &report.topology;
    if topology.nodes.is_empty() {
        return None;
    }
    let (places, height) = fitted(report);
    let mut svg = drawing(WIDTH, height, "Network", &description(report)).class("network");
    svg = svg.children(
        topology
            .links
            .iter()
            .filter_map(|link| draw_link(report, link, &places)),
    );
    svg = svg.children(routes(report, &places));
    let count_of = |kind| {
        let nodes = topology.nodes.iter();
        nodes.filter(|node| node.kind == kind).count()
    };
    let are_named = |kind| match kind {
        NodeKind::Host => count_of(kind) <= HOSTS_NAMED,
        NodeKind::Switch => count_of(kind) <= SWITCHES_NAMED,
    };
    let [hosts, switches] = [NodeKind::Host, NodeKind::Switch].map(are_named);
    svg = svg.children(topology.nodes.iter().filter_map(|node| {
        let named = match node.kind {
            NodeKind::Host => hosts,
            NodeKind::Switch => switches,
        };
        draw_node(report, node, named, &places)
    }));
    let note = "Point at a flow anywhere on this page to see its way here: \
                solid where it goes, dashed where a failure may lead it.";
    let blocks = vec![Block::Note(note.to_owned()), Block::Drawing(svg)];
    Some(Section::of_page("network", "Network", blocks))
}

/// Scales the layout to the page.
fn fitted(report: &Report) -> (Places<'_>, f64) {
    let raw = places(&report.topology);
    let (low, high) = bounds(&raw);
    let (width, height) = ((high.0 - low.0).max(0.1), (high.1 - low.1).max(0.1));
    let down = ((MOST_HEIGHT - 2.0 * MARGIN) / height).min(MOST_SCALE);
    let across = ((WIDTH - 2.0 * MARGIN) / width)
        .min(MOST_SCALE)
        .min(MOST_STRETCH * down);
    let needed = (height * down + 2.0 * MARGIN).max(LEAST_HEIGHT);
    let left = (WIDTH - width * across) / 2.0;
    let top = (needed - height * down) / 2.0;
    let nodes = report.topology.nodes.iter().zip(raw);
    let places = nodes
        .map(|(node, (x, y))| {
            let place = (left + (x - low.0) * across, top + (y - low.1) * down);
            (node.name.as_str(), place)
        })
        .collect();
    (places, needed)
}

fn draw_link(report: &Report, link: &LinkReport, places: &Places<'_>) -> Option<Element> {
    let (a, b) = (*places.get(link.a.as_str())?, *places.get(link.b.as_str())?);
    let events: Vec<String> = report
        .events
        .iter()
        .filter(|event| event.target == link.name)
        .map(|event| format!("{} at {}", event.kind.label(), time(event.at_ns)))
        .collect();
    let cut = report
        .events
        .iter()
        .any(|event| event.target == link.name && event.kind == EventKind::Cut);
    let mut text = format!("{}, {}", link.name, rate(link.rate_bps));
    for event in &events {
        text = format!("{text}, {event}");
    }
    let mut drawn = Element::new("g")
        .class(if cut { "link was-cut" } else { "link" })
        .child(tip(&text))
        .child(line(a, b));
    if cut {
        let middle = (f64::midpoint(a.0, b.0), f64::midpoint(a.1, b.1));
        drawn = drawn
            .child(circle(middle, 11.0).class("cut-ground"))
            .child(cross(middle, 5.5))
            .child(label((middle.0 + 16.0, middle.1 + 4.5), events.join(", ")).class("event"));
    }
    Some(drawn)
}

fn routes(report: &Report, places: &Places<'_>) -> Vec<Element> {
    let mut drawn = Vec::new();
    for (index, flow) in report.flows.iter().enumerate() {
        let ways = [
            (&flow.facts.routes, "route"),
            (&flow.facts.alternatives, "route alternative"),
        ];
        for (ways, class) in ways {
            for way in ways {
                let points: Vec<_> = way
                    .iter()
                    .filter_map(|node| places.get(node.as_str()).copied())
                    .collect();
                drawn.push(polyline(points).class(class).flow(index));
            }
        }
    }
    drawn
}

fn draw_node(
    report: &Report,
    node: &NodeReport,
    named: bool,
    places: &Places<'_>,
) -> Option<Element> {
    let (x, y) = *places.get(node.name.as_str())?;
    Some(match node.kind {
        NodeKind::Switch if !named => Element::new("g")
            .class("switch")
            .child(tip(&node.name))
            .child(rectangle((x - 5.0, y - 5.0), 10.0, 10.0).with("rx", 2)),
        NodeKind::Switch => {
            let width = 22.0 + 8.0 * count(node.name.chars().count());
            Element::new("g")
                .class("switch")
                .child(rectangle((x - width / 2.0, y - 14.0), width, 28.0).with("rx", 5))
                .child(label((x, y + 4.5), &node.name).class("middle"))
        }
        NodeKind::Host => {
            let host = Element::new("g")
                .class("host")
                .child(tip(&node.name))
                .child(circle((x, y), if named { 6.0 } else { 3.5 }));
            match named {
                true => host.child(name_of_host(report, node, (x, y), places)),
                false => host,
            }
        }
    })
}

/// Writes the name of a host on the side away from its switch.
fn name_of_host(
    report: &Report,
    node: &NodeReport,
    (x, y): (f64, f64),
    places: &Places<'_>,
) -> Element {
    let mut links = report.topology.links.iter();
    let switch = links.find_map(|link| match (&link.a, &link.b) {
        (a, b) if *a == node.name => places.get(b.as_str()),
        (a, b) if *b == node.name => places.get(a.as_str()),
        _ => None,
    });
    let (dx, dy) = switch.map_or((0.0, 1.0), |switch| (x - switch.0, y - switch.1));
    if dx.abs() < 0.5 * dy.abs() {
        let below = if dy > 0.0 { 20.0 } else { -11.0 };
        label((x, y + below), &node.name).class("middle")
    } else if dx > 0.0 {
        label((x + 11.0, y + 4.0), &node.name)
    } else {
        label((x - 11.0, y + 4.0), &node.name).class("end")
    }
}

fn description(report: &Report) -> String {
    let links: Vec<String> = report
        .topology
        .links
        .iter()
        .map(|link| format!("{} to {}", link.a, link.b))
        .collect();
    format!("Links: {}.", links.join(", "))
}
