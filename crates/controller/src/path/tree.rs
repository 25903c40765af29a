//! Finds the tree along which a flow travels from its source to all of its
//! destinations.
//!
//! A tree is the union of shortest paths from the source, which Dijkstra's
//! algorithm makes a tree by giving every switch one predecessor. Shorter means,
//! in this order: less cost, fewer links, a predecessor with the lower datapath
//! id, a lower port of that predecessor. The order of discovery has no part in
//! it, so the same network always gives the same tree. A destination that a
//! failure does not touch keeps its path, for its predecessors stay the best.
//!
//! Only links that are up and switches that are connected are used: where no
//! entry can be installed, no flow can pass.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use wire::openflow::{DatapathId, PortNumber};

use crate::place::{LinkEnds, PortId};
use crate::view::{Control, SwitchId, View};

/// The way of a flow through the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The switches that it visits, each after the one before it; the first is
    /// the one of the source.
    pub branches: Vec<Branch>,
}

/// One switch of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    pub datapath: DatapathId,
    /// Where the frames come in.
    pub input: PortNumber,
    /// Where they go out, in ascending order.
    pub outputs: Vec<PortNumber>,
    /// The place of the switch before in [`Tree::branches`] and the port by
    /// which frames leave it; `None` for the first.
    pub parent: Option<(usize, PortNumber)>,
}

impl Branch {
    /// Returns the port where the frames come in.
    #[must_use]
    pub const fn entrance(&self) -> PortId {
        PortId::new(self.datapath, self.input)
    }
}

impl Tree {
    /// Returns the links that the tree crosses, each after the one before it.
    pub fn links(&self) -> impl Iterator<Item = LinkEnds> + '_ {
        self.branches
            .iter()
            .filter_map(|branch| self.link_to(branch))
    }

    /// Returns the ports by which frames leave for a host: those that lead to
    /// no other switch of the tree.
    pub fn leaves(&self) -> impl Iterator<Item = PortId> + '_ {
        self.branches
            .iter()
            .enumerate()
            .flat_map(move |(at, branch)| {
                let inner = move |port: &PortNumber| {
                    let next = Some((at, *port));
                    self.branches.iter().any(|branch| branch.parent == next)
                };
                let outputs = branch.outputs.iter().filter(move |port| !inner(port));
                outputs.map(|port| PortId::new(branch.datapath, *port))
            })
    }

    /// Returns the links on the way to a host at this port, the last one first.
    pub fn links_to(&self, leaf: PortId) -> impl Iterator<Item = LinkEnds> + '_ {
        let is_there = move |branch: &Branch| {
            branch.datapath == leaf.datapath && branch.outputs.contains(&leaf.port)
        };
        let before = |at: &usize| self.branches[*at].parent.map(|(before, _)| before);
        let places = std::iter::successors(self.branches.iter().position(is_there), before);
        places.filter_map(|at| self.link_to(&self.branches[at]))
    }

    /// Returns the link by which frames come to a branch.
    fn link_to(&self, branch: &Branch) -> Option<LinkEnds> {
        let (parent, port) = branch.parent?;
        let from = PortId::new(self.branches[parent].datapath, port);
        Some(LinkEnds::new(from, branch.entrance()))
    }

    /// Returns how many switches away from the source the branch at `index` is.
    #[must_use]
    pub fn depth(&self, index: usize) -> usize {
        let parent = |index: usize| self.branches[index].parent.map(|(parent, _)| parent);
        std::iter::successors(parent(index), |at| parent(*at)).count()
    }
}

/// What a link costs, for [`find_tree`]: any unit, as long as it is the same
/// for all. The port is the one by which frames leave.
pub type Cost<'a> = &'a dyn Fn(PortId) -> u64;

/// Every link costs the same: the tree has the fewest links.
#[must_use]
pub fn one_each(_: PortId) -> u64 {
    1
}

/// Returns the tree from `source` to `destinations`, both given as the ports
/// that hosts are attached to, without the links in `avoid`.
///
/// # Errors
///
/// The first destination that no path reaches.
pub fn find_tree(
    view: &View,
    source: PortId,
    destinations: &[PortId],
    avoid: &[LinkEnds],
    cost: Cost<'_>,
) -> Result<Tree, PortId> {
    let ends: Vec<(SwitchId, PortNumber)> = destinations
        .iter()
        .map(|port| Ok((connected(view, port.datapath).ok_or(*port)?, port.port)))
        .collect::<Result<_, PortId>>()?;
    let unreachable = destinations.first().copied().unwrap_or(source);
    let root = connected(view, source.datapath).ok_or(unreachable)?;
    let steps = shortest_paths(
        view,
        root,
        ends.iter().map(|(switch, _)| *switch),
        avoid,
        cost,
    );
    let mut tree = Tree::default();
    let mut places = BTreeMap::new();
    for ((switch, port), destination) in ends.into_iter().zip(destinations) {
        let place = grow(view, &steps, source, switch, (&mut tree, &mut places));
        let place = place.ok_or(*destination)?;
        add_output(&mut tree.branches[place], port);
    }
    Ok(tree)
}

/// How a switch is reached best.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeStep {
    cost: u64,
    links: u32,
    before: Option<(SwitchId, DatapathId, PortNumber)>,
    input: PortNumber,
}

impl TreeStep {
    /// Returns how the switch is reached at which a tree begins.
    pub(super) const fn first() -> Self {
        Self {
            cost: 0,
            links: 0,
            before: None,
            input: PortNumber(0),
        }
    }

    /// Returns how the next switch is reached, by a link that begins at `before`, comes in
    /// by `input` and costs so much.
    pub(super) const fn onwards(
        &self,
        before: (SwitchId, DatapathId, PortNumber),
        input: PortNumber,
        cost: u64,
    ) -> Self {
        Self {
            cost: self.cost + cost,
            links: self.links + 1,
            before: Some(before),
            input,
        }
    }

    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        let rank = |step: &Self| {
            let before = step.before.map(|(_, datapath, port)| (datapath, port));
            (step.cost, step.links, before)
        };
        rank(self) < rank(other)
    }
}

/// Returns the best step to each switch, until all of `wanted` are final.
fn shortest_paths(
    view: &View,
    root: SwitchId,
    wanted: impl Iterator<Item = SwitchId>,
    avoid: &[LinkEnds],
    cost: Cost<'_>,
) -> Vec<Option<TreeStep>> {
    let count = view.switches().len();
    let mut steps: Vec<Option<TreeStep>> = vec![None; count];
    let mut is_final = vec![false; count];
    let mut missing = vec![false; count];
    wanted.for_each(|switch| missing[switch.index()] = true);
    let mut left = missing.iter().filter(|missing| **missing).count();
    let mut open = BinaryHeap::from([Reverse((0, 0, root))]);
    steps[root.index()] = Some(TreeStep::first());
    while let Some(Reverse((_, _, here))) = open.pop() {
        if std::mem::replace(&mut is_final[here.index()], true) {
            continue;
        }
        left -= usize::from(missing[here.index()]);
        if left == 0 {
            break;
        }
        let Some(so_far) = steps[here.index()] else {
            continue;
        };
        let datapath = view.switches()[here.index()].datapath;
        for (output, next, input) in view.neighbours(here) {
            let from = PortId::new(datapath, output);
            let record = &view.switches()[next.index()];
            let link = LinkEnds::new(from, PortId::new(record.datapath, input));
            if record.control != Control::Connected || avoid.contains(&link) {
                continue;
            }
            let step = so_far.onwards((here, datapath, output), input, cost(from));
            let known = &mut steps[next.index()];
            if !is_final[next.index()] && known.is_none_or(|known| step.is_better_than(&known)) {
                *known = Some(step);
                open.push(Reverse((step.cost, step.links, next)));
            }
        }
    }
    steps
}

/// Adds the path to `switch` to the tree, as far as it is not there, and
/// returns its place. `None` if no path leads there.
pub(super) fn grow(
    view: &View,
    steps: &[Option<TreeStep>],
    source: PortId,
    switch: SwitchId,
    (tree, places): (&mut Tree, &mut BTreeMap<SwitchId, usize>),
) -> Option<usize> {
    let mut missing = Vec::new();
    let mut at = switch;
    let mut place = loop {
        if let Some(place) = places.get(&at) {
            break Some(*place);
        }
        let step = steps[at.index()]?;
        missing.push((at, step));
        match step.before {
            Some((before, _, _)) => at = before,
            None => break None,
        }
    };
    for (at, step) in missing.into_iter().rev() {
        let parent = place
            .zip(step.before)
            .map(|(place, (_, _, port))| (place, port));
        if let Some((place, port)) = parent {
            add_output(&mut tree.branches[place], port);
        }
        let next = tree.branches.len();
        tree.branches.push(Branch {
            datapath: view.switches()[at.index()].datapath,
            input: if parent.is_some() {
                step.input
            } else {
                source.port
            },
            outputs: Vec::new(),
            parent,
        });
        places.insert(at, next);
        place = Some(next);
    }
    place
}

pub(super) fn add_output(branch: &mut Branch, port: PortNumber) {
    if let Err(index) = branch.outputs.binary_search(&port) {
        branch.outputs.insert(index, port);
    }
}

pub(super) fn connected(view: &View, datapath: DatapathId) -> Option<SwitchId> {
    let id = view.switch(datapath)?;
    (view.switches()[id.index()].control == Control::Connected).then_some(id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Instant;
    use wire::ethernet::MacAddress;

    use super::*;
    use crate::view::{Carrier, Confirmed, Port};

    #[test]
    fn equal_paths_are_told_apart_by_datapath_whatever_was_found_first() {
        let links = [(1, 2), (1, 3), (2, 4), (3, 4)];
        let mut backwards = links;
        backwards.reverse();

        let trees = [network(4, &links), network_of(&[4, 3, 2, 1], &backwards)]
            .map(|view| find_tree(&view, host(1), &[host(4)], &[], &one_each).unwrap());

        assert_eq!(visited(&trees[0]), [1, 2, 4]);
        assert_eq!(visited(&trees[1]), [1, 2, 4]);
    }

    #[test]
    fn an_alternative_in_a_ring_goes_the_other_way_round() {
        let view = network(5, &[(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]);
        let broken = link(&view, 1, 2);

        let tree = find_tree(&view, host(1), &[host(3)], &[broken], &one_each).unwrap();

        assert_eq!(visited(&tree), [1, 5, 4, 3]);
    }

    #[test]
    fn a_dear_link_is_passed_by() {
        let view = network(3, &[(1, 2), (2, 3), (1, 3)]);
        let dear = link(&view, 1, 3);
        let cost = |port: PortId| if dear.opposite(port).is_some() { 5 } else { 1 };

        let tree = find_tree(&view, host(1), &[host(3)], &[], &cost).unwrap();

        assert_eq!(visited(&tree), [1, 2, 3]);
    }

    #[test]
    fn a_destination_that_is_cut_off_is_named() {
        let view = network(3, &[(1, 2)]);

        let found = find_tree(&view, host(1), &[host(2), host(3)], &[], &one_each);

        assert_eq!(found, Err(host(3)));
    }

    proptest! {
        /// Whatever the network, a tree enters every switch once, follows links
        /// that are up, avoids what it has to, and ends at the destinations.
        #[test]
        fn a_tree_is_valid(
            links in prop::collection::vec((1..12u64, 1..12u64), 5..40),
            source in 1..12u64,
            destinations in prop::collection::btree_set(1..12u64, 1..5),
            broken in any::<prop::sample::Index>(),
        ) {
            let view = network(11, &links);
            let up: Vec<LinkEnds> = view.links().iter().map(|link| link.ends).collect();
            prop_assume!(!up.is_empty());
            let avoid = [*broken.get(&up)];
            let wanted: Vec<PortId> = destinations.iter().map(|at| host(*at)).collect();

            let found = find_tree(&view, host(source), &wanted, &avoid, &one_each);

            match found {
                Ok(tree) => assert_valid(&tree, &view, host(source), &wanted, avoid[0])?,
                Err(port) => prop_assert!(!reaches(&view, source, port.datapath.0, avoid[0])),
            }
        }

        /// Shortest: no path of a tree is longer than any walk through the
        /// network could be.
        #[test]
        fn every_path_of_a_tree_is_shortest(
            links in prop::collection::vec((1..9u64, 1..9u64), 5..25),
            source in 1..9u64,
        ) {
            let view = network(8, &links);
            let distances = breadth_first(&view, source);

            for (at, distance) in distances {
                let tree = find_tree(&view, host(source), &[host(at)], &[], &one_each).unwrap();
                prop_assert_eq!(tree.links().count(), distance);
            }
        }
    }

    fn assert_valid(
        tree: &Tree,
        view: &View,
        source: PortId,
        wanted: &[PortId],
        avoid: LinkEnds,
    ) -> Result<(), TestCaseError> {
        prop_assert_eq!(tree.branches[0].entrance(), source);
        let mut visited: Vec<u64> = visited(tree);
        visited.sort_unstable();
        let count = visited.len();
        visited.dedup();
        prop_assert_eq!(visited.len(), count);
        for link in tree.links() {
            prop_assert!(view.is_up(link) && link != avoid);
        }
        for (index, branch) in tree.branches.iter().enumerate() {
            let follows = branch.parent.is_none_or(|(parent, port)| {
                parent < index && tree.branches[parent].outputs.contains(&port)
            });
            prop_assert!(follows);
        }
        let mut leaves: Vec<PortId> = tree.leaves().collect();
        leaves.sort_unstable();
        prop_assert_eq!(&leaves[..], wanted);
        Ok(())
    }

    fn reaches(view: &View, from: u64, to: u64, avoid: LinkEnds) -> bool {
        let mut seen = vec![from];
        let mut next = 0;
        while let Some(at) = seen.get(next).copied() {
            next += 1;
            for link in view.links().iter().filter(|link| link.ends != avoid) {
                let [one, other] = link.ends.both().map(|end| end.datapath.0);
                for (here, there) in [(one, other), (other, one)] {
                    if here == at && !seen.contains(&there) {
                        seen.push(there);
                    }
                }
            }
        }
        seen.contains(&to)
    }

    fn breadth_first(view: &View, from: u64) -> BTreeMap<u64, usize> {
        let mut distances = BTreeMap::from([(from, 0)]);
        for round in 0..view.switches().len() {
            for link in view.links() {
                let [one, other] = link.ends.both().map(|end| end.datapath.0);
                for (here, there) in [(one, other), (other, one)] {
                    if distances.get(&here) == Some(&round) {
                        distances.entry(there).or_insert(round + 1);
                    }
                }
            }
        }
        distances
    }

    fn visited(tree: &Tree) -> Vec<u64> {
        tree.branches
            .iter()
            .map(|branch| branch.datapath.0)
            .collect()
    }

    /// Returns the port of the host at a switch.
    fn host(datapath: u64) -> PortId {
        PortId::new(DatapathId(datapath), PortNumber(100))
    }

    fn link(view: &View, one: u64, other: u64) -> LinkEnds {
        let wanted = [DatapathId(one), DatapathId(other)];
        let mut ends = view.links().iter().map(|link| link.ends);
        ends.find(|ends| ends.both().map(|end| end.datapath) == wanted)
            .unwrap()
    }

    fn network(switches: u64, links: &[(u64, u64)]) -> View {
        network_of(&(1..=switches).collect::<Vec<u64>>(), links)
    }

    /// Returns a network in which the link between `a` and `b` is plugged into
    /// port `b` of `a` and port `a` of `b`.
    fn network_of(switches: &[u64], links: &[(u64, u64)]) -> View {
        let mut view = View::default();
        let ports: Vec<Port> = (1..=100)
            .map(|number| Port {
                number: PortNumber(number),
                mac: MacAddress::ZERO,
                carrier: Carrier::Up,
                link: None,
            })
            .collect();
        for switch in switches {
            view.connect(Instant::ZERO, DatapathId(*switch), &ports)
                .unwrap();
        }
        for (one, other) in links.iter().filter(|(one, other)| one != other) {
            let port = |at: u64, to: u64| {
                PortId::new(DatapathId(at), PortNumber(u32::try_from(to).unwrap()))
            };
            let ends = [port(*one, *other), port(*other, *one)];
            view.confirm(Instant::ZERO, ends[0], ends[1]);
            let last = view.confirm(Instant::ZERO, ends[1], ends[0]);
            assert_ne!(last, Confirmed::Ignored);
        }
        view
    }
}
