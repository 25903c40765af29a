//! The tree along which frames are flooded: from the switch with the lowest datapath
//! id of each part of the network, by number of links.
//!
//! Besides where it leads, it says whether a port of a switch is the one by which it
//! leads to another switch: each switch has an interval of places, within which those
//! of all switches below it lie.

use std::collections::{BTreeMap, VecDeque};

use wire::openflow::{DatapathId, PortNumber};

use crate::place::PortId;
use crate::view::{Carrier, Switch, SwitchId, View};

/// The ports of one switch with links.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FloodPorts {
    /// Those that lead to no switch as far as is known, and those whose link is on the tree.
    pub(super) open: Vec<PortNumber>,
    /// Those that lead to a switch.
    pub(super) trunks: Vec<PortNumber>,
}

impl FloodPorts {
    /// Returns where a switch may flood to, given which of its links are on the tree.
    pub(super) fn of(
        view: &View,
        switch: &Switch,
        is_on_tree: impl Fn(PortNumber) -> bool,
    ) -> Self {
        let (mut open, mut trunks) = (Vec::new(), Vec::new());
        for port in &switch.ports {
            if port.carrier == Carrier::Down {
                continue;
            }
            let link = port.link.map(|link| &view.links()[link.index()]);
            let is_trunk = link.is_some_and(|link| link.carrier == Carrier::Up);
            if is_trunk {
                trunks.push(port.number);
            }
            let is_edge = view.is_edge(PortId::new(switch.datapath, port.number));
            if is_edge || is_trunk && is_on_tree(port.number) {
                open.push(port.number);
            }
        }
        Self { open, trunks }
    }
}

#[derive(Debug)]
pub(super) struct FloodTree {
    /// The switch behind each port that is on the tree.
    beyond: BTreeMap<PortId, SwitchId>,
    nodes: Vec<TreeNode>,
}

#[derive(Clone, Copy, Debug, Default)]
struct TreeNode {
    /// The switch above, itself if there is none.
    parent: usize,
    /// The root of its part of the network.
    root: usize,
    first: usize,
    /// How many switches there are below it, itself included.
    size: usize,
}

impl FloodTree {
    /// Returns the tree of the links that are up.
    pub(super) fn of(view: &View) -> Self {
        let count = view.switches().len();
        let mut by_datapath: Vec<SwitchId> = view
            .switches()
            .iter()
            .filter_map(|switch| view.switch(switch.datapath))
            .collect();
        by_datapath.sort_by_key(|switch| view.switches()[switch.index()].datapath);
        let mut tree = Self {
            beyond: BTreeMap::new(),
            nodes: vec![TreeNode::default(); count],
        };
        let mut seen = vec![false; count];
        let mut order = Vec::with_capacity(count);
        for root in by_datapath {
            if !seen[root.index()] {
                tree.grow(view, root, &mut seen, &mut order);
            }
        }
        tree.number(&order);
        tree
    }

    /// Adds the part of the network that `root` is in.
    fn grow(&mut self, view: &View, root: SwitchId, seen: &mut [bool], order: &mut Vec<usize>) {
        seen[root.index()] = true;
        self.nodes[root.index()].parent = root.index();
        let mut open = VecDeque::from([root]);
        while let Some(here) = open.pop_front() {
            self.nodes[here.index()].root = root.index();
            order.push(here.index());
            let datapath = view.switches()[here.index()].datapath;
            for (output, next, input) in view.neighbours(here) {
                if std::mem::replace(&mut seen[next.index()], true) {
                    continue;
                }
                let far = view.switches()[next.index()].datapath;
                self.beyond.insert(PortId::new(datapath, output), next);
                self.beyond.insert(PortId::new(far, input), here);
                self.nodes[next.index()].parent = here.index();
                open.push_back(next);
            }
        }
    }

    /// Gives each switch its place; `order` has every switch after the one above it.
    fn number(&mut self, order: &[usize]) {
        for at in order.iter().rev() {
            self.nodes[*at].size += 1;
            let TreeNode { parent, size, .. } = self.nodes[*at];
            if parent != *at {
                self.nodes[parent].size += size;
            }
        }
        // The next free place below each switch; roots stand one after the other.
        let mut next = vec![0; self.nodes.len()];
        let mut next_root = 0;
        for at in order {
            let TreeNode { parent, size, .. } = self.nodes[*at];
            let place = match parent == *at {
                true => &mut next_root,
                false => &mut next[parent],
            };
            let first = *place;
            *place += size;
            self.nodes[*at].first = first;
            next[*at] = first + 1;
        }
    }

    /// Returns whether a port leads along the tree.
    pub(super) fn has(&self, port: PortId) -> bool {
        self.beyond.contains_key(&port)
    }

    /// Returns whether the way along the tree from the switch `from` to another one
    /// leaves by its port `by`.
    pub(super) fn leads(&self, from: SwitchId, by: PortId, to: SwitchId) -> bool {
        let Some(next) = self.beyond.get(&by) else {
            return false;
        };
        let (from, next, to) = (from.index(), next.index(), to.index());
        match self.nodes[next].parent == from {
            true => self.is_below(to, next),
            false => self.nodes[to].root == self.nodes[from].root && !self.is_below(to, from),
        }
    }

    fn is_below(&self, switch: usize, above: usize) -> bool {
        let TreeNode { first, size, .. } = self.nodes[above];
        (first..first + size).contains(&self.nodes[switch].first)
    }

    /// Returns where each switch with a link may flood to.
    pub(super) fn flood_ports(&self, view: &View) -> BTreeMap<DatapathId, FloodPorts> {
        let mut ports = BTreeMap::new();
        for switch in view.switches() {
            let is_on_tree = |port| self.has(PortId::new(switch.datapath, port));
            let found = FloodPorts::of(view, switch, is_on_tree);
            if !found.trunks.is_empty() {
                ports.insert(switch.datapath, found);
            }
        }
        ports
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::path::fixture::{any_network, network};

    proptest! {
        /// From wherever one starts, the port that leads to a switch is exactly one
        /// where there is a way, and following it arrives.
        #[test]
        fn following_the_ports_that_lead_to_a_switch_arrives_there((count, links) in any_network(9, 14)) {
            let view = network(count, &links);
            let tree = FloodTree::of(&view);
            let ids: Vec<SwitchId> =
                view.switches().iter().map(|it| view.switch(it.datapath).unwrap()).collect();
            for to in &ids {
                for from in &ids {
                    let mut here = *from;
                    for _ in 0..count {
                        let ways = ways(&view, &tree, here, *to);
                        prop_assert!(ways.len() <= 1);
                        prop_assert!(here != *to || ways.is_empty());
                        here = ways.first().map_or(here, |by| tree.beyond[by]);
                    }
                    let is_joined = tree.nodes[from.index()].root == tree.nodes[to.index()].root;
                    prop_assert_eq!(here == *to, is_joined);
                }
            }
        }
    }

    /// Returns the ports of a switch that lead to another one.
    fn ways(view: &View, tree: &FloodTree, from: SwitchId, to: SwitchId) -> Vec<PortId> {
        let switch = &view.switches()[from.index()];
        let ports = switch.ports.iter();
        ports
            .map(|port| PortId::new(switch.datapath, port.number))
            .filter(|port| tree.leads(from, *port, to))
            .collect()
    }
}
