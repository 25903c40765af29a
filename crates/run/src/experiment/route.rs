//! Which nodes and links a flow passes, receiver by receiver.

use std::collections::BTreeMap;

use controller::northbound::{Accepted, Route};
use controller::place::LinkEnds;
use scenario::{Flow, HostIndex, LinkIndex, Node, Scenario};
use wire::openflow::DatapathId;

/// The way of a flow to one of its receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The nodes, from the sender to the receiver.
    pub nodes: Vec<Node>,
    pub links: Vec<LinkIndex>,
}

/// Translates between the controller's names and the scenario's.
#[derive(Debug)]
pub struct Atlas<'a> {
    scenario: &'a Scenario,
    links: BTreeMap<LinkEnds, LinkIndex>,
}

impl<'a> Atlas<'a> {
    /// Returns the atlas of a scenario.
    #[must_use]
    pub fn new(scenario: &'a Scenario) -> Self {
        let mut atlas = Self {
            scenario,
            links: BTreeMap::new(),
        };
        for index in 0..scenario.links.len() {
            if let Some(ends) = atlas.ends(LinkIndex(index)) {
                atlas.links.insert(ends, LinkIndex(index));
            }
        }
        atlas
    }

    /// Returns a link between two switches as the controller knows it.
    #[must_use]
    pub fn ends(&self, link: LinkIndex) -> Option<LinkEnds> {
        let port = |end: scenario::End| match end.node {
            Node::Switch(switch) => Some(controller::place::PortId::new(
                DatapathId(self.scenario.switches[switch.0].datapath_id),
                wire::openflow::PortNumber(end.port),
            )),
            Node::Host(_) => None,
        };
        let [one, other] = self.scenario.links[link.0].ends.map(port);
        Some(LinkEnds::new(one?, other?))
    }

    /// Returns a link that the controller knows, if it is one of the scenario.
    #[must_use]
    pub fn between(&self, ends: LinkEnds) -> Option<LinkIndex> {
        self.links.get(&ends).copied()
    }

    /// Returns the ways of a flow on a route, one for each receiver that the
    /// route leads to, in the order of the receivers.
    #[must_use]
    pub fn ways(&self, flow: &Flow, route: &Route) -> Vec<Way> {
        let links: Vec<LinkIndex> = route
            .links
            .iter()
            .filter_map(|ends| self.links.get(ends).copied())
            .collect();
        flow.receivers
            .iter()
            .filter_map(|to| self.way(flow.source, *to, &links))
            .collect()
    }

    /// Returns all links that a flow uses on a route, those of its hosts
    /// included.
    #[must_use]
    pub fn links_of(&self, flow: &Flow, route: &Route) -> Vec<LinkIndex> {
        let hosts = std::iter::once(&flow.source).chain(&flow.receivers);
        let access = hosts.map(|host| self.scenario.hosts[host.0].link);
        access
            .chain(
                route
                    .links
                    .iter()
                    .filter_map(|ends| self.links.get(ends).copied()),
            )
            .collect()
    }

    /// Returns the route that a flow takes while `broken` are: the one on which
    /// it was admitted, or the alternative for the first broken link of that.
    #[must_use]
    pub fn route_while<'r>(&self, accepted: &'r Accepted, broken: &[LinkIndex]) -> &'r Route {
        let is_broken = |ends: &LinkEnds| {
            self.links
                .get(ends)
                .is_some_and(|link| broken.contains(link))
        };
        let Some(hit) = accepted.route.links.iter().find(|ends| is_broken(ends)) else {
            return &accepted.route;
        };
        let mut alternatives = accepted.alternatives.iter();
        let alternative = alternatives.find(|alternative| alternative.without == *hit);
        alternative.map_or(&accepted.route, |alternative| &alternative.route)
    }

    /// Follows `links` from one host to another.
    fn way(&self, from: HostIndex, to: HostIndex, links: &[LinkIndex]) -> Option<Way> {
        let [first, last] = [from, to].map(|host| self.scenario.hosts[host.0].link);
        let start = self.scenario.links[first.0]
            .end_opposite(Node::Host(from))
            .node;
        let goal = self.scenario.links[last.0]
            .end_opposite(Node::Host(to))
            .node;
        let mut way = Way {
            nodes: vec![Node::Host(from), start],
            links: vec![first],
        };
        let is_led = self.follow(&mut way, goal, links) || self.extend(&mut way, goal, links);
        is_led.then(|| {
            way.nodes.push(Node::Host(to));
            way.links.push(last);
            way
        })
    }

    /// Goes on from the end of `way` over all links, one after the other, if these lead to
    /// `goal`: so frames may be led back over a link.
    fn follow(&self, way: &mut Way, goal: Node, links: &[LinkIndex]) -> bool {
        let mut nodes = Vec::with_capacity(links.len());
        let mut here = way.nodes[way.nodes.len() - 1];
        for link in links {
            let description = &self.scenario.links[link.0];
            if description.end_at(here).is_none() {
                return false;
            }
            here = description.end_opposite(here).node;
            nodes.push(here);
        }
        if here == goal {
            way.nodes.extend(nodes);
            way.links.extend_from_slice(links);
        }
        here == goal
    }

    /// Goes on from the end of `way` to `goal`; a tree has one way at most.
    fn extend(&self, way: &mut Way, goal: Node, links: &[LinkIndex]) -> bool {
        let here = way.nodes[way.nodes.len() - 1];
        if here == goal {
            return true;
        }
        for link in links {
            let description = &self.scenario.links[link.0];
            if way.links.contains(link) || description.end_at(here).is_none() {
                continue;
            }
            way.links.push(*link);
            way.nodes.push(description.end_opposite(here).node);
            if self.extend(way, goal, links) {
                return true;
            }
            way.links.pop();
            way.nodes.pop();
        }
        false
    }
}
