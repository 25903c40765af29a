//! The network of a controller that runs, with its flows.

use std::collections::BTreeMap;

use api::topology::Topology;
use api::{Accepted, PortId, Route};
use controller::northbound::Requirement;
use run::experiment::export::{configured, places};
use scenario::export::{ConfiguredLink, ConfiguredNetwork, ConfiguredSwitch};
use scenario::{End, HostIndex, LinkIndex, Node, SwitchIndex};
use units::Delay;

/// The links of a network, by their ports and by the host at their end.
type LinkPlaces<'t> = (BTreeMap<PortId, LinkIndex>, BTreeMap<&'t str, LinkIndex>);

/// Returns the network of a controller with its flows, each with what it requires. How fast
/// links are and what budgets there are is not known.
#[must_use]
pub fn of_controller(
    name: &str,
    topology: &Topology,
    flows: &[(Accepted, Requirement)],
) -> ConfiguredNetwork {
    let mut network = ConfiguredNetwork {
        name: name.to_owned(),
        ..ConfiguredNetwork::default()
    };
    let (links, host_links) = add_nodes(topology, &mut network);
    let hosts = places(&network.hosts);
    for (accepted, requirement) in flows {
        let way = |route: &Route| {
            let ends = std::iter::once(&requirement.source).chain(&requirement.destinations);
            let of_hosts = ends.filter_map(|host| host_links.get(host.as_str()));
            let between = route.links.iter();
            let between = between.filter_map(|link| links.get(&link.both()[0]));
            of_hosts.chain(between).copied().collect::<Vec<_>>()
        };
        let others = accepted.alternatives.iter().map(|it| way(&it.route));
        let ways = (way(&accepted.route), others.collect());
        let flow = configured(requirement, accepted.guarantee, ways, &hosts);
        network.flows.extend(flow);
    }
    network
}

/// Adds switches, hosts and links.
fn add_nodes<'t>(topology: &'t Topology, network: &mut ConfiguredNetwork) -> LinkPlaces<'t> {
    let (mut switches, mut links) = (BTreeMap::new(), BTreeMap::new());
    for switch in &topology.switches {
        switches.insert(switch.datapath, SwitchIndex(network.switches.len()));
        network.switches.push(ConfiguredSwitch {
            name: switch.name.clone(),
            ..ConfiguredSwitch::default()
        });
    }
    let end_at = |port: PortId| {
        let node = Node::Switch(*switches.get(&port.datapath)?);
        let port = port.port.0;
        Some(End { node, port })
    };
    let link = |ends| ConfiguredLink {
        ends,
        rate: None,
        propagation: Delay::ZERO,
    };
    for between in &topology.links {
        if let [Some(one), Some(other)] = between.id.both().map(end_at) {
            let place = LinkIndex(network.links.len());
            links.extend(between.id.both().map(|port| (port, place)));
            network.links.push(link([one, other]));
        }
    }
    let mut host_links = BTreeMap::new();
    for host in &topology.hosts {
        let node = Node::Host(HostIndex(network.hosts.len()));
        network.hosts.push(host.name.clone());
        let place = host.attachment.as_ref();
        let place = place.and_then(|it| end_at(PortId::new(it.datapath, it.port)));
        if let Some(at) = place {
            host_links.insert(host.name.as_str(), LinkIndex(network.links.len()));
            network.links.push(link([End { node, port: 1 }, at]));
        }
    }
    (links, host_links)
}
