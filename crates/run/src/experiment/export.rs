//! What was admitted of a scenario, as [`scenario::export`] writes it.

use std::collections::BTreeMap;

use certificate::Certificate;
use certificate::document;
use controller::best_effort::WithoutPromise;
use controller::neighbour_sessions;
use controller::northbound::{FlowMatch, Requirement, TransportProtocol};
use scenario::export::{
    ConfiguredFlow, ConfiguredLink, ConfiguredNetwork, ConfiguredSwitch, TrafficBounds,
};
use scenario::flow_table::Matching;
use scenario::{HostIndex, LinkIndex, Scenario};
use units::Delay;

use super::plan;

/// Returns a scenario's network with the flows that were admitted and are promised
/// something, as they are at the lowest level.
#[must_use]
pub fn of_certificate(scenario: &Scenario, certificate: &Certificate) -> ConfiguredNetwork {
    let links = scenario.links.iter().map(|link| ConfiguredLink {
        ends: link.ends,
        rate: Some(link.rate),
        propagation: link.propagation,
    });
    let asked = scenario.flows.iter();
    let asked = asked.flat_map(|flow| plan::requirements(scenario, flow));
    let asked: BTreeMap<_, _> = asked.map(|it| (it.name.clone(), it)).collect();
    let mut network = ConfiguredNetwork {
        name: scenario.name.clone(),
        switches: switches(scenario, certificate),
        hosts: scenario
            .hosts
            .iter()
            .map(|host| host.name.clone())
            .collect(),
        links: links.collect(),
        flows: Vec::new(),
        background: background(scenario, &asked),
    };
    let hosts = places(&network.hosts);
    let links_of = |way: &[usize]| way.iter().map(|at| LinkIndex(*at)).collect::<Vec<_>>();
    for flow in &certificate.flows {
        let Some(requirement) = asked.get(&flow.demand.name) else {
            continue;
        };
        let others = flow.alternatives.iter().map(|it| links_of(&it.path));
        let copies = flow.copies.iter().map(|it| links_of(&it.path));
        let guarantee = flow.guarantees_ps.first().copied().flatten();
        let alternatives = others.chain(copies).collect();
        let ways = (links_of(&flow.path), alternatives);
        let guarantee = guarantee.map(Delay::from_ps);
        network
            .flows
            .extend(configured(requirement, guarantee, ways, &hosts));
    }
    network
}

/// Returns the place of each name.
#[must_use]
pub fn places(names: &[String]) -> BTreeMap<String, HostIndex> {
    let places = names.iter().enumerate();
    places
        .map(|(at, name)| (name.clone(), HostIndex(at)))
        .collect()
}

/// Returns a flow with its way and others that it may take, if all of its hosts are known.
#[must_use]
pub fn configured(
    requirement: &Requirement,
    guarantee: Option<Delay>,
    (way, alternatives): (Vec<LinkIndex>, Vec<Vec<LinkIndex>>),
    hosts: &BTreeMap<String, HostIndex>,
) -> Option<ConfiguredFlow> {
    let receivers = requirement.destinations.iter();
    let receivers = receivers.map(|name| hosts.get(name).copied());
    Some(ConfiguredFlow {
        name: requirement.name.clone(),
        source: *hosts.get(&requirement.source)?,
        receivers: receivers.collect::<Option<_>>()?,
        matching: matching(&requirement.matching),
        queue: requirement.class,
        traffic: TrafficBounds {
            rate: requirement.traffic.rate,
            burst: requirement.traffic.burst,
            largest_frame: requirement.traffic.largest_frame,
        },
        deadline: requirement.deadline,
        guarantee,
        protection: requirement.protection.name(),
        way,
        alternatives,
    })
}

fn matching(flow: &FlowMatch) -> Matching {
    let udp = flow
        .transport
        .filter(|it| it.protocol == TransportProtocol::Udp);
    Matching {
        ether_type: flow.ether_type.map(|it| it.0),
        destination: flow.destination.map(|it| it.0),
        vlan: flow.vlan,
        ipv4_destination: flow.ipv4_destination,
        udp_port: udp.and_then(|it| it.destination),
    }
}

/// Returns the switches with the budgets of the lowest level.
fn switches(scenario: &Scenario, certificate: &Certificate) -> Vec<ConfiguredSwitch> {
    let level = certificate.levels.first();
    let processors = level.map_or(&[][..], |level| &level.processors);
    let ports = level.map_or(&[][..], |level| &level.ports);
    let switches = scenario.switches.iter().map(|switch| {
        let processor = processors.iter().find(|it| it.switch == switch.name);
        let of_switch = |it: &&document::PortBudget| it.switch == switch.name;
        let budgets = ports.iter().filter(of_switch);
        let budgets = budgets.map(|it| ((it.port, it.class), Delay::from_ps(it.budget_ps)));
        ConfiguredSwitch {
            name: switch.name.clone(),
            processing_budget: processor.map(|it| Delay::from_ps(it.budget_ps)),
            port_budgets: budgets.collect(),
        }
    });
    switches.collect()
}

/// Returns what may leave any port beside the flows: the controller's probes, and what
/// neighbours ask each other.
fn background(
    scenario: &Scenario,
    asked: &BTreeMap<String, Requirement>,
) -> Vec<(u8, TrafficBounds)> {
    let config = plan::controller_config(scenario, plan::Open::Usual);
    let unpromised = WithoutPromise::new(&config);
    let port = config
        .switches
        .values()
        .flat_map(|it| it.ports.values())
        .next();
    let probe = port.and_then(|port| unpromised.probe(port));
    let intervals = asked.values();
    let intervals = intervals.filter_map(|it| neighbour_sessions::interval_for(it.protection));
    let session = port
        .zip(intervals.min())
        .and_then(|(port, interval)| neighbour_sessions::request(port, interval));
    let requests = probe.into_iter().chain(session);
    let bounds = requests.map(|it| {
        let traffic = TrafficBounds {
            rate: it.rate,
            burst: it.burst,
            largest_frame: it.largest_frame,
        };
        (it.class, traffic)
    });
    bounds.collect()
}
