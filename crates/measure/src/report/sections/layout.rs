//! Where to draw the nodes of a network.
//!
//! If the scenario gives every switch a position, that is it. Otherwise switches
//! begin on a circle, in the order of a walk from neighbour to neighbour, which
//! makes rings round and lines open, and are then pushed apart and pulled
//! together along links (Fruchterman and Reingold 1991). Hosts stand around
//! their switch, on the side away from the middle.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use super::super::{NodeKind, Topology};
use crate::document::svg::count;

const ROUNDS: u32 = 300;
/// The distance of a host from its switch, in lengths of an ordinary link.
const HOST_DISTANCE: f64 = 0.62;
/// The angle between two hosts of a switch.
const HOST_ANGLE: f64 = TAU / 11.0;

type Coordinates = (f64, f64);

/// Returns a place for each node, in the order of the topology, within a unit
/// square that is stretched to what the drawing needs.
pub(super) fn places(topology: &Topology) -> Vec<Coordinates> {
    let switches: Vec<usize> = indices(topology, NodeKind::Switch);
    let given: Option<Vec<Coordinates>> = switches
        .iter()
        .map(|&index| topology.nodes[index].position)
        .collect();
    let neighbours = neighbours(topology);
    let placed = match given {
        Some(given) if !given.is_empty() => spread(given),
        Some(_) | None => relaxed(&switches, &neighbours),
    };
    let mut places = vec![(0.0, 0.0); topology.nodes.len()];
    for (&index, place) in switches.iter().zip(&placed) {
        places[index] = *place;
    }
    place_hosts(topology, &neighbours, &mut places);
    places
}

fn indices(topology: &Topology, kind: NodeKind) -> Vec<usize> {
    let nodes = topology.nodes.iter().enumerate();
    nodes
        .filter(|(_, node)| node.kind == kind)
        .map(|(index, _)| index)
        .collect()
}

fn neighbours(topology: &Topology) -> Vec<Vec<usize>> {
    let names: BTreeMap<&str, usize> = topology
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (node.name.as_str(), index))
        .collect();
    let mut neighbours = vec![Vec::new(); topology.nodes.len()];
    for link in &topology.links {
        let ends = (names.get(link.a.as_str()), names.get(link.b.as_str()));
        if let (Some(&a), Some(&b)) = ends {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
    }
    neighbours
}

/// Brings positions of any scale to one in which links have about length 1.
fn spread(places: Vec<Coordinates>) -> Vec<Coordinates> {
    let (low, high) = bounds(&places);
    let extent = (high.0 - low.0).max(high.1 - low.1).max(1e-9);
    let scale = count(places.len()).sqrt() / extent * 1.4;
    places
        .into_iter()
        .map(|(x, y)| ((x - low.0) * scale, (y - low.1) * scale))
        .collect()
}

fn relaxed(switches: &[usize], neighbours: &[Vec<usize>]) -> Vec<Coordinates> {
    let order = walk(switches, neighbours);
    let total = count(switches.len()).max(1.0);
    let radius = (total / TAU).max(0.6);
    let mut places = vec![(0.0, 0.0); neighbours.len()];
    for (position, &index) in order.iter().enumerate() {
        // A quarter of a turn back: the first switch is on top.
        let angle = TAU * (count(position) / total - 0.25) + TAU / total / 2.0;
        places[index] = (radius * angle.cos(), radius * angle.sin());
    }
    for round in 0..ROUNDS {
        let step = 0.12 * (1.0 - f64::from(round) / f64::from(ROUNDS));
        let moves: Vec<Coordinates> = switches
            .iter()
            .map(|&index| force(index, switches, neighbours, &places))
            .collect();
        for (&index, (x, y)) in switches.iter().zip(moves) {
            let length = x.hypot(y).max(1e-9);
            let reach = length.min(step) / length;
            places[index].0 += x * reach;
            places[index].1 += y * reach;
        }
    }
    lie_down(switches.iter().map(|&index| places[index]).collect())
}

/// Turns a drawing that is higher than wide: pages are read lying down.
fn lie_down(places: Vec<Coordinates>) -> Vec<Coordinates> {
    let (low, high) = bounds(&places);
    match high.1 - low.1 > 1.1 * (high.0 - low.0) {
        true => places.into_iter().map(|(x, y)| (y, x)).collect(),
        false => places,
    }
}

fn force(
    index: usize,
    switches: &[usize],
    neighbours: &[Vec<usize>],
    places: &[Coordinates],
) -> Coordinates {
    let (mut x, mut y) = (0.0, 0.0);
    for &other in switches {
        let apart = (
            places[index].0 - places[other].0,
            places[index].1 - places[other].1,
        );
        let distance = apart.0.hypot(apart.1).max(0.05);
        if other != index {
            x += apart.0 / (distance * distance);
            y += apart.1 / (distance * distance);
        }
        if neighbours[index].contains(&other) {
            x -= apart.0 * distance;
            y -= apart.1 * distance;
        }
    }
    (x, y)
}

/// Returns the switches in the order of a walk that goes on to a neighbour as
/// long as there is one.
fn walk(switches: &[usize], neighbours: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut left: Vec<usize> = switches.iter().rev().copied().collect();
    while let Some(next) = left.pop() {
        if order.contains(&next) {
            continue;
        }
        order.push(next);
        let onward = neighbours[next].iter().rev();
        left.extend(onward.filter(|other| switches.contains(other)));
    }
    order
}

fn place_hosts(topology: &Topology, neighbours: &[Vec<usize>], places: &mut [Coordinates]) {
    let switches = indices(topology, NodeKind::Switch);
    let middle = centre(switches.iter().map(|&index| places[index]));
    let mut hosts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for host in indices(topology, NodeKind::Host) {
        let switch = neighbours[host].first().copied();
        hosts.entry(switch.unwrap_or(host)).or_default().push(host);
    }
    for (switch, hosts) in hosts {
        let away = match neighbours[switch]
            .iter()
            .filter(|other| switches.contains(other))
            .count()
        {
            0 => (0.0, -1.0),
            _ => outward(switch, &switches, neighbours, places, middle),
        };
        let angle = away.1.atan2(away.0);
        for (place, &host) in hosts.iter().enumerate() {
            let turn = count(place) - (count(hosts.len()) - 1.0) / 2.0;
            let angle = angle + turn * HOST_ANGLE;
            places[host] = (
                places[switch].0 + HOST_DISTANCE * angle.cos(),
                places[switch].1 + HOST_DISTANCE * angle.sin(),
            );
        }
    }
}

/// Returns the direction away from the middle and from the neighbours.
fn outward(
    switch: usize,
    switches: &[usize],
    neighbours: &[Vec<usize>],
    places: &[Coordinates],
    middle: Coordinates,
) -> Coordinates {
    let here = places[switch];
    let mut away = unit((here.0 - middle.0, here.1 - middle.1));
    for &other in neighbours[switch]
        .iter()
        .filter(|other| switches.contains(other))
    {
        let from = unit((here.0 - places[other].0, here.1 - places[other].1));
        away = (away.0 + from.0, away.1 + from.1);
    }
    match away.0.hypot(away.1) > 0.05 {
        true => away,
        false => (0.0, -1.0),
    }
}

fn unit((x, y): Coordinates) -> Coordinates {
    let length = x.hypot(y).max(1e-9);
    (x / length, y / length)
}

fn centre(places: impl Iterator<Item = Coordinates>) -> Coordinates {
    let (mut x, mut y, mut total) = (0.0, 0.0, 0.0);
    for place in places {
        x += place.0;
        y += place.1;
        total += 1.0;
    }
    (x / f64::max(total, 1.0), y / f64::max(total, 1.0))
}

/// Returns the corners of the box around all places.
pub(super) fn bounds(places: &[Coordinates]) -> (Coordinates, Coordinates) {
    let start = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
    places.iter().fold(start, |(low, high), place| {
        (
            (low.0.min(place.0), low.1.min(place.1)),
            (high.0.max(place.0), high.1.max(place.1)),
        )
    })
}
