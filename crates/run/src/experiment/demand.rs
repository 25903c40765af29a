//! What a scenario asks of the machine that carries all of its switches and hosts.
//!
//! Each frame costs its sender's processor something when it leaves, each switch
//! something when it passes, and each receiver something when it arrives. In a lab all of
//! that is done by the same processor, and what counts is how much of it there is in a
//! second. Flows that fill their link are counted as if they did.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use scenario::{Flow, HostIndex, LinkIndex, Node, Scenario, Traffic};

use serde::{Deserialize, Serialize};

/// What happens in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunDemand {
    pub frames: u64,
    pub hops: u64,
    pub deliveries: u64,
    /// The most switches that a frame passes on its way to a receiver.
    pub longest_way: u64,
}

impl RunDemand {
    /// Returns what all flows of a scenario ask for together, on their shortest ways.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let links = neighbours(scenario);
        let mut trees = BTreeMap::new();
        let mut all = Self::default();
        for flow in &scenario.flows {
            let tree = trees
                .entry(flow.source)
                .or_insert_with(|| tree_from(scenario, &links, flow.source));
            let frames = frames_a_second(scenario, flow);
            let way = way(flow, tree);
            all.frames = all.frames.saturating_add(frames);
            all.hops = all.hops.saturating_add(frames.saturating_mul(way.hops));
            let deliveries = frames.saturating_mul(flow.receivers.len() as u64);
            all.deliveries = all.deliveries.saturating_add(deliveries);
            all.longest_way = all.longest_way.max(way.longest);
        }
        all
    }

    /// Returns how often something happens in a second.
    #[must_use]
    pub fn events(&self) -> u64 {
        let sum = self.frames.saturating_add(self.hops);
        sum.saturating_add(self.deliveries)
    }

    /// Tells whether it is no more than `other` in any respect.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.events() <= other.events() && self.longest_way <= other.longest_way
    }
}

struct Hops {
    /// Switches that hand a frame on, each once for each link.
    hops: u64,
    longest: u64,
}

/// By which link a node is reached, and from where.
type Tree = BTreeMap<Node, (LinkIndex, Node)>;
type Neighbours = BTreeMap<Node, Vec<(LinkIndex, Node)>>;

fn neighbours(scenario: &Scenario) -> Neighbours {
    let mut neighbours = Neighbours::new();
    for (number, link) in scenario.links.iter().enumerate() {
        let [one, other] = link.ends.map(|end| end.node);
        let index = LinkIndex(number);
        neighbours.entry(one).or_default().push((index, other));
        neighbours.entry(other).or_default().push((index, one));
    }
    neighbours
}

fn tree_from(scenario: &Scenario, neighbours: &Neighbours, source: HostIndex) -> Tree {
    let root = Node::Host(source);
    let mut tree = Tree::new();
    let mut waiting = VecDeque::from([root]);
    while let Some(node) = waiting.pop_front() {
        let carries_on = matches!(node, Node::Switch(_)) || node == root;
        let around = neighbours.get(&node).filter(|_| carries_on);
        for (link, next) in around.into_iter().flatten() {
            if *next != root && !tree.contains_key(next) {
                tree.insert(*next, (*link, node));
                waiting.push_back(*next);
            }
        }
    }
    debug_assert!(tree.len() <= scenario.switches.len() + scenario.hosts.len());
    tree
}

fn way(flow: &Flow, tree: &Tree) -> Hops {
    let (mut used, mut longest) = (BTreeSet::new(), 0);
    for receiver in &flow.receivers {
        let (mut node, mut links) = (Node::Host(*receiver), 0u64);
        while let Some((link, before)) = tree.get(&node) {
            used.insert(*link);
            links += 1;
            node = *before;
        }
        longest = longest.max(links.saturating_sub(1));
    }
    Hops {
        // The first link is the host's.
        hops: (used.len() as u64).saturating_sub(1),
        longest,
    }
}

fn frames_a_second(scenario: &Scenario, flow: &Flow) -> u64 {
    let (rate, frame) = match (flow.contract(), &flow.traffic) {
        (Some(contract), _) => (contract.rate, contract.largest_frame),
        (None, Traffic::BestEffort(flood)) => {
            let link = scenario.links[scenario.hosts[flow.source.0].link.0].rate;
            let rate = flood.rate.unwrap_or(link);
            (rate, scenario::wire_size(flood.frame))
        }
        (None, _) => return 0,
    };
    rate.as_bps().div_ceil(frame.as_bits().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(flows: &str) -> RunDemand {
        let text = format!(
            r#"
[scenario]
title = "Line"
[network]
generator = "line"
size = 3
hosts_per_switch = 2
host_rate = "100 Mbit/s"
{flows}
"#
        );
        let mut nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        RunDemand::of(&Scenario::parse("line.toml", &text, &mut nothing).unwrap())
    }

    /// A thousand frames a second from the first switch to the last and to a host beside:
    /// the first switch hands them on twice, the others once.
    #[test]
    fn a_frame_to_two_receivers_is_sent_once_and_handed_on_where_ways_part() {
        let found = demand(
            r#"
[flows.samples]
kind = "sampled-values"
from = "h1-1"
to = ["h3-1", "h1-2"]
frame = "122 B"
period = "1 ms"
deadline = "2 ms"
"#,
        );

        let expected = RunDemand {
            frames: 1_000,
            hops: 4_000,
            deliveries: 2_000,
            longest_way: 3,
        };
        assert_eq!(found, expected);
        assert_eq!(found.events(), 7_000);
    }

    #[test]
    fn what_takes_all_of_its_link_counts_as_much() {
        let found = demand(
            r#"
[flows.copy]
kind = "best-effort"
from = "h1-1"
to = "h1-2"
frame = "1514 B"
"#,
        );

        assert_eq!(found.frames, 100_000_000u64.div_ceil(1538 * 8));
        assert_eq!((found.hops, found.longest_way), (found.frames, 1));
    }

    #[test]
    fn more_of_anything_is_not_within() {
        let demand = |hops, longest_way| RunDemand {
            frames: 10,
            hops,
            deliveries: 10,
            longest_way,
        };

        assert!(demand(20, 2).is_within(&demand(20, 3)));
        assert!(!demand(21, 2).is_within(&demand(20, 3)));
        assert!(!demand(20, 4).is_within(&demand(90, 3)));
    }
}
