//! Networks for tests of paths.

use proptest::prelude::*;
use units::{Instant, Seeded};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use super::simple_path::{Crossing, SimplePath};
use crate::place::PortId;
use crate::view::{Carrier, Confirmed, Port, View};

/// The port of the host at each switch.
pub(crate) const ACCESS: u32 = 1_000;

/// Returns the port of the host at a switch.
pub(crate) fn access(datapath: u64) -> PortId {
    PortId::new(DatapathId(datapath), PortNumber(ACCESS))
}

/// Returns a network of the switches 1 to `switches`, in which each link takes the
/// lowest port that is left at both ends.
pub(crate) fn network(switches: u64, links: &[(u64, u64)]) -> View {
    let mut view = View::default();
    let mut next = vec![0u32; usize::try_from(switches).unwrap() + 1];
    let mut plug = |at: u64| {
        let port = &mut next[usize::try_from(at).unwrap()];
        *port += 1;
        PortId::new(DatapathId(at), PortNumber(*port))
    };
    let plugged: Vec<[PortId; 2]> = links
        .iter()
        .filter(|(one, other)| one != other)
        .map(|(one, other)| [plug(*one), plug(*other)])
        .collect();
    for switch in 1..=switches {
        let last = next[usize::try_from(switch).unwrap()];
        let ports: Vec<Port> = (1..=last).chain([ACCESS]).map(port).collect();
        view.connect(Instant::ZERO, DatapathId(switch), &ports)
            .unwrap();
    }
    for [one, other] in plugged {
        view.confirm(Instant::ZERO, one, other);
        let last = view.confirm(Instant::ZERO, other, one);
        assert_ne!(last, Confirmed::Ignored);
    }
    view
}

/// Returns two lines of so many switches with a rung between each two.
pub(crate) fn ladder(rungs: u64) -> View {
    let rails = (1..rungs).flat_map(|at| [(2 * at - 1, 2 * at + 1), (2 * at, 2 * at + 2)]);
    let links: Vec<(u64, u64)> = rails
        .chain((1..=rungs).map(|at| (2 * at - 1, 2 * at)))
        .collect();
    network(2 * rungs, &links)
}

fn port(number: u32) -> Port {
    Port {
        number: PortNumber(number),
        mac: MacAddress::ZERO,
        carrier: Carrier::Up,
        link: None,
    }
}

/// Gives networks of a few switches, with several links between some.
pub(crate) fn any_network(
    switches: u64,
    links: usize,
) -> impl Strategy<Value = (u64, Vec<(u64, u64)>)> {
    (2..=switches).prop_flat_map(move |switches| {
        let link = (1..=switches, 1..=switches);
        (Just(switches), prop::collection::vec(link, 1..=links))
    })
}

/// Returns what links cost: 0 to 4 each way, some as much as others.
pub(crate) fn price(seed: u64) -> impl Fn(PortId) -> u64 {
    move |port| {
        let place = port.datapath.0 * 64 + u64::from(port.port.0);
        Seeded::new(place + seed).below(5)
    }
}

/// Returns all ways that visit no switch twice, by cost and number of links.
pub(crate) fn all_paths(
    view: &View,
    from: u64,
    to: u64,
    cost: &dyn Fn(PortId) -> u64,
) -> Vec<SimplePath> {
    let mut all = Vec::new();
    walk(
        view,
        DatapathId(to),
        cost,
        &mut vec![DatapathId(from)],
        &mut Vec::new(),
        &mut all,
    );
    all.sort_by_key(|way| (way.cost, way.crossings.len()));
    all
}

fn walk(
    view: &View,
    to: DatapathId,
    cost: &dyn Fn(PortId) -> u64,
    visited: &mut Vec<DatapathId>,
    crossings: &mut Vec<Crossing>,
    all: &mut Vec<SimplePath>,
) {
    let here = *visited.last().unwrap();
    if here == to {
        all.push(SimplePath {
            cost: crossings.iter().map(|crossing| cost(crossing.leaves)).sum(),
            first: visited[0],
            crossings: crossings.clone(),
        });
        return;
    }
    for (output, next, input) in view.neighbours(view.switch(here).unwrap()) {
        let far = view.switches()[next.index()].datapath;
        if visited.contains(&far) {
            continue;
        }
        visited.push(far);
        crossings.push(Crossing {
            leaves: PortId::new(here, output),
            enters: PortId::new(far, input),
        });
        walk(view, to, cost, visited, crossings, all);
        crossings.pop();
        visited.pop();
    }
}
