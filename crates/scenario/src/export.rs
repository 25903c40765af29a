//! A network that promises something, for those who speak another language: settings of
//! switches for people, tables, Saihu, INET, and substation descriptions.
//!
//! [`ConfiguredNetwork`] says what there is and which flow takes which way. It comes from
//! the admission of a scenario, or from a controller that runs, which does not tell how
//! fast links are. Each format is a function of it. [`substation`] writes the settings of
//! flows back into the description that they came from.
//!
//! `docs/export.md` describes the formats for their users.

mod csv;
mod inet;
mod saihu;
mod settings;
pub mod substation;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use units::{BitRate, DataSize, Delay};

use crate::flow_table::Matching;
use crate::{End, HostIndex, LinkIndex, Node};

pub use saihu::Unbounded;

/// A network with the flows that are admitted. All indices are places in its own lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredNetwork {
    pub name: String,
    pub switches: Vec<ConfiguredSwitch>,
    /// The hosts, by name.
    pub hosts: Vec<String>,
    pub links: Vec<ConfiguredLink>,
    pub flows: Vec<ConfiguredFlow>,
    /// What may leave any port beside the flows, each with its queue.
    pub background: Vec<(u8, TrafficBounds)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredSwitch {
    pub name: String,
    /// How long a frame may be at its processor, if that is known.
    pub processing_budget: Option<Delay>,
    /// How long a frame may be at a port in a queue, by port and queue.
    pub port_budgets: BTreeMap<(u32, u8), Delay>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredLink {
    pub ends: [End; 2],
    /// How fast it is in each direction, if that is known.
    pub rate: Option<BitRate>,
    /// How long a bit travels.
    pub propagation: Delay,
}

/// What a flow never exceeds, sizes as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficBounds {
    pub rate: BitRate,
    pub burst: DataSize,
    pub largest_frame: DataSize,
}

/// A flow that is admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredFlow {
    pub name: String,
    pub source: HostIndex,
    pub receivers: Vec<HostIndex>,
    pub matching: Matching,
    /// The queue in which it travels, and the priority of its frames (IEEE 802.1Q).
    pub queue: u8,
    pub traffic: TrafficBounds,
    /// How late a frame may be; best effort has none.
    pub deadline: Option<Delay>,
    /// How late it is at most.
    pub guarantee: Option<Delay>,
    /// What happens when a link breaks, as scenarios spell it.
    pub protection: &'static str,
    /// The links that it crosses while nothing is broken, those of hosts included.
    pub way: Vec<LinkIndex>,
    /// The links that it crosses at other times.
    pub alternatives: Vec<Vec<LinkIndex>>,
}

/// A link in the direction in which a flow crosses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crossing {
    link: LinkIndex,
    from: End,
    to: End,
}

impl ConfiguredNetwork {
    #[must_use]
    pub fn name_of(&self, node: Node) -> &str {
        match node {
            Node::Switch(switch) => &self.switches[switch.0].name,
            Node::Host(host) => &self.hosts[host.0],
        }
    }

    /// Sees that it is known how fast each link is.
    fn check_rates(&self) -> Result<(), Unbounded> {
        match self.links.iter().find(|link| link.rate.is_none()) {
            None => Ok(()),
            Some(link) => {
                let [one, other] = link.ends.map(|end| self.name_of(end.node).to_owned());
                Err(Unbounded::NoRate { one, other })
            }
        }
    }

    /// Returns the links of a way in the order in which frames of `source` cross them.
    /// What frames cannot reach is not among them. Where two ways meet at the switch of a
    /// receiver, frames come there by both.
    fn crossings(&self, source: HostIndex, way: &[LinkIndex]) -> Vec<Crossing> {
        let ends = way.iter().map(|link| self.links[link.0].ends);
        let is_last = |end: End| matches!(end.node, Node::Host(host) if host != source);
        let last = ends.filter(|ends| ends.iter().any(|end| is_last(*end)));
        let last: BTreeSet<Node> = last.flatten().map(|end| end.node).collect();
        let mut left: Vec<LinkIndex> = way.to_vec();
        let mut reached = VecDeque::from([Node::Host(source)]);
        let (mut deferred, mut crossings) = (VecDeque::new(), Vec::new());
        while let Some(node) = reached.pop_front().or_else(|| deferred.pop_front()) {
            left.retain(|link| {
                let ends = self.links[link.0].ends;
                let Some(from) = ends.into_iter().find(|end| end.node == node) else {
                    return true;
                };
                let to = if ends[0] == from { ends[1] } else { ends[0] };
                let link = *link;
                crossings.push(Crossing { link, from, to });
                match last.contains(&to.node) {
                    true => deferred.push_back(to.node),
                    false => reached.push_back(to.node),
                }
                false
            });
        }
        crossings
    }

    /// Returns the crossings of a way that lead to a receiver, in order.
    fn branch(crossings: &[Crossing], receiver: HostIndex) -> Vec<Crossing> {
        let mut branch = Vec::new();
        let mut node = Node::Host(receiver);
        while let Some(crossing) = crossings.iter().find(|it| it.to.node == node) {
            branch.push(*crossing);
            node = crossing.from.node;
        }
        branch.reverse();
        branch
    }

    /// Returns the switches of the way of a flow, as people write it.
    #[must_use]
    pub fn way_of(&self, flow: &ConfiguredFlow) -> String {
        self.switches_of(flow, &flow.way)
    }

    fn switches_of(&self, flow: &ConfiguredFlow, way: &[LinkIndex]) -> String {
        let crossings = self.crossings(flow.source, way);
        let mut switches = Vec::new();
        for crossing in crossings {
            if let Node::Switch(switch) = crossing.to.node
                && !switches.contains(&self.switches[switch.0].name.as_str())
            {
                switches.push(self.switches[switch.0].name.as_str());
            }
        }
        switches.join(" ")
    }
}

impl ConfiguredFlow {
    /// Returns how its frames are recognised, in words.
    fn frames(&self) -> String {
        let Matching {
            ether_type,
            destination,
            vlan,
            ipv4_destination,
            udp_port,
        } = self.matching;
        let words = [
            ether_type.map(|it| format!("type 0x{it:04X}")),
            destination.map(|it| format!("to {}", mac(it))),
            vlan.map(|it| format!("VLAN {it}")),
            ipv4_destination.map(|it| format!("to {it}")),
            udp_port.map(|it| format!("UDP {it}")),
        ];
        let words: Vec<_> = words.into_iter().flatten().collect();
        match words.is_empty() {
            true => "all".to_owned(),
            false => words.join(", "),
        }
    }

    /// Tells whether its frames go to a group.
    fn is_to_group(&self) -> bool {
        let first = self.matching.destination.map(|mac| mac[0]);
        first.is_some_and(|byte| byte & 1 == 1)
    }
}

/// Returns a hardware address as substation descriptions and standards write it.
fn mac(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02X}")).join("-")
}

#[cfg(test)]
mod tests;
