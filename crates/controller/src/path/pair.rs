//! Two ways that a flow takes at the same time, as one tree: it parts at the first switch,
//! and each switch at which ways meet has a branch for each.

use std::collections::{BTreeMap, BTreeSet};

use wire::openflow::{DatapathId, PortNumber};

use super::disjoint::{Apart, find_disjoint};
use super::graph::Graph;
use super::tree::{Branch, Cost, Tree, add_output};
use crate::place::{LinkEnds, PortId};
use crate::view::View;

/// Returns two trees that begin at the same switch, and there alone by the same port, as one.
#[must_use]
pub fn join([mut all, other]: [Tree; 2]) -> Tree {
    let known = all.branches.len();
    let moved = |before: usize| if before == 0 { 0 } else { before + known - 1 };
    let mut others = other.branches.into_iter();
    if let Some(first) = others.next() {
        for port in first.outputs {
            add_output(&mut all.branches[0], port);
        }
    }
    all.branches.extend(others.map(|branch| Branch {
        parent: branch.parent.map(|(before, port)| (moved(before), port)),
        ..branch
    }));
    all
}

/// Returns the two trees of which one was made, that first which leaves by the lowest port;
/// nothing if it is another tree.
///
/// What leaves the first switch by one port belongs to one of them, and what visits the same
/// switch to different ones.
#[must_use]
pub fn part(tree: &Tree) -> Option<[Tree; 2]> {
    let ports = ports_taken(tree);
    let sides = sides(tree, &ports)?;
    let trees = [false, true].map(|side| one_of(tree, &ports, &sides, side));
    let [one, other] = trees.each_ref().map(|tree| {
        let mut leaves: Vec<PortId> = tree.leaves().collect();
        leaves.sort_unstable();
        leaves
    });
    (one == other).then_some(trees)
}

/// Returns one with the shortest way in the links that are up that shares nothing with a way
/// to a host at this port, as one.
pub fn find_beside(
    view: &View,
    cost: Cost<'_>,
    (way, destination): (&Tree, PortId),
    apart: Apart,
) -> Option<Tree> {
    let (first, rest) = way.branches.split_first()?;
    let (last, between) = rest.split_last()?;
    let taken: BTreeSet<LinkEnds> = way.links().collect();
    let passed: BTreeSet<DatapathId> = match apart {
        Apart::Switches => between.iter().map(|branch| branch.datapath).collect(),
        Apart::Links => BTreeSet::new(),
    };
    let graph = Graph::new(view, cost, &|_, link| {
        let ends = link.both();
        !taken.contains(&link) && !ends.iter().any(|end| passed.contains(&end.datapath))
    });
    let found = find_disjoint(&graph, first.datapath, last.datapath, 1, apart).ok()?;
    let other = found.first()?.tree(first.entrance(), destination);
    Some(join([way.clone(), other]))
}

/// Returns whether frames that take one tree and then the other could take a mixture of both:
/// they come to a port of a switch by different ways, and leave it by different ports.
#[must_use]
pub fn mixes(one: &Tree, other: &Tree) -> bool {
    let ways = |tree: &Tree| -> BTreeMap<PortId, (Vec<PortId>, Vec<PortNumber>)> {
        let branches = tree.branches.iter().map(|branch| {
            let parent = |branch: &&Branch| branch.parent.map(|(at, _)| &tree.branches[at]);
            let before = std::iter::successors(Some(branch), parent);
            let way = before.map(Branch::entrance).collect();
            (branch.entrance(), (way, branch.outputs.clone()))
        });
        branches.collect()
    };
    let (ones, others) = (ways(one), ways(other));
    ones.iter().any(|(entrance, (way, outputs))| {
        let there = others.get(entrance);
        there.is_some_and(|(its_way, its_outputs)| its_way != way && its_outputs != outputs)
    })
}

/// Returns by which port of the first switch each branch but the first is come to.
fn ports_taken(tree: &Tree) -> Vec<Option<PortNumber>> {
    let mut ports: Vec<Option<PortNumber>> = Vec::with_capacity(tree.branches.len());
    for branch in &tree.branches {
        ports.push(branch.parent.and_then(|(before, port)| match before {
            0 => Some(port),
            _ => ports[before],
        }));
    }
    ports
}

/// Returns on which side each of these ports is; nothing if no switch is visited twice, or
/// one from the same side.
fn sides(tree: &Tree, ports: &[Option<PortNumber>]) -> Option<BTreeMap<PortNumber, bool>> {
    let mut visits: BTreeMap<DatapathId, Vec<PortNumber>> = BTreeMap::new();
    for (branch, port) in tree.branches.iter().zip(ports) {
        visits.entry(branch.datapath).or_default().extend(port);
    }
    let pairs = visits.values().filter(|ports| ports.len() > 1);
    let pairs: Vec<[PortNumber; 2]> = pairs
        .map(|ports| <[PortNumber; 2]>::try_from(ports.as_slice()).ok())
        .collect::<Option<_>>()?;
    let mut sides = BTreeMap::new();
    for port in ports.iter().flatten() {
        if sides.contains_key(port) {
            continue;
        }
        sides.insert(*port, false);
        let mut open = vec![*port];
        while let Some(here) = open.pop() {
            let side = sides[&here];
            for pair in pairs.iter().filter(|pair| pair.contains(&here)) {
                let other = if pair[0] == here { pair[1] } else { pair[0] };
                match sides.get(&other) {
                    Some(known) if *known == side => return None,
                    Some(_) => {}
                    None => {
                        sides.insert(other, !side);
                        open.push(other);
                    }
                }
            }
        }
    }
    (!pairs.is_empty()).then_some(sides)
}

/// Returns what of a tree is on one side.
fn one_of(
    tree: &Tree,
    ports: &[Option<PortNumber>],
    sides: &BTreeMap<PortNumber, bool>,
    side: bool,
) -> Tree {
    let is_here = |port: &PortNumber| sides.get(port).is_none_or(|at| *at == side);
    let mut places = BTreeMap::new();
    let mut branches: Vec<Branch> = Vec::new();
    for (at, (branch, port)) in tree.branches.iter().zip(ports).enumerate() {
        if !port.as_ref().is_none_or(is_here) {
            continue;
        }
        places.insert(at, branches.len());
        let mut branch = branch.clone();
        if at == 0 {
            branch.outputs.retain(is_here);
        }
        branch.parent = branch.parent.map(|(before, port)| (places[&before], port));
        branches.push(branch);
    }
    Tree { branches }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::openflow::{DatapathId, PortNumber};

    use super::super::fixture::{access, all_paths, any_network, network, price};
    use super::super::simple_path::{Crossing, SimplePath};
    use super::*;

    fn port(datapath: u64, port: u32) -> PortId {
        PortId::new(DatapathId(datapath), PortNumber(port))
    }

    fn way(first: u64, crossings: &[(PortId, PortId)]) -> SimplePath {
        let crossings = crossings.iter();
        SimplePath {
            cost: 0,
            first: DatapathId(first),
            crossings: crossings
                .map(|(leaves, enters)| Crossing {
                    leaves: *leaves,
                    enters: *enters,
                })
                .collect(),
        }
    }

    fn diamond() -> [Tree; 2] {
        let lower = [(port(1, 3), port(3, 1)), (port(3, 2), port(4, 3))];
        let upper = [(port(1, 2), port(2, 1)), (port(2, 2), port(4, 2))];
        [way(1, &upper), way(1, &lower)].map(|way| way.tree(port(1, 1), port(4, 1)))
    }

    #[test]
    fn two_ways_are_one_tree_that_parts_at_the_first_switch() {
        let tree = join(diamond());

        let outputs: Vec<_> = tree.branches[0].outputs.iter().map(|it| it.0).collect();
        assert_eq!(outputs, [2, 3]);
        assert_eq!(tree.branches.len(), 5);
        let crossed: Vec<_> = tree.links().collect();
        let [upper, lower] = diamond();
        let expected: Vec<_> = upper.links().chain(lower.links()).collect();
        assert_eq!(crossed, expected);
    }

    #[test]
    fn the_tree_parts_into_the_ways_that_it_was_made_of() {
        let pair = diamond();
        assert_eq!(part(&join(pair.clone())), Some(pair));
    }

    #[test]
    fn a_way_alone_and_a_tree_to_two_hosts_are_no_pair() {
        let [alone, _] = diamond();
        let mut two_hosts = join(diamond());
        two_hosts.branches[4].outputs = vec![PortNumber(9)];

        assert_eq!(part(&alone), None);
        assert_eq!(part(&two_hosts), None);
    }

    /// Both come from s4 to s5, and to s4 from different switches.
    #[test]
    fn a_port_that_is_come_to_by_two_ways_and_left_by_two_is_a_mixture() {
        let tree = |over: u64, last: u32| {
            let first = (port(1, u32::try_from(over).unwrap()), port(over, 1));
            let meets = (port(over, 4), port(4, u32::try_from(over).unwrap()));
            let shared = (port(4, 5), port(5, 4));
            let ends = (port(5, last), port(9, last));
            way(1, &[first, meets, shared, ends]).tree(port(1, 1), port(9, 1))
        };

        assert!(mixes(&tree(2, 6), &tree(3, 7)));
        assert!(!mixes(&tree(2, 6), &tree(3, 6)), "the rest is one way");
        assert!(!mixes(&tree(2, 6), &tree(2, 7)), "the beginning is one way");
    }

    proptest! {
        /// Another way is found wherever there is one that shares nothing, and none costs less.
        #[test]
        fn no_way_beside_another_costs_less(
            (switches, links) in any_network(7, 14),
            index in any::<prop::sample::Index>(),
            seed in any::<u64>(),
            apart in prop::sample::select(vec![Apart::Switches, Apart::Links]),
        ) {
            let (view, cost) = (network(switches, &links), price(seed));
            let all = all_paths(&view, 1, switches, &cost);
            prop_assume!(!all.is_empty());
            let source = port(1, 999);
            let destination = access(switches);
            let left = index.get(&all).tree(source, destination);
            let inner = |tree: &Tree| -> BTreeSet<DatapathId> {
                let all = tree.branches.iter().map(|branch| branch.datapath);
                all.filter(|at| (2..switches).contains(&at.0)).collect()
            };
            let shares = |tree: &Tree| {
                let links: BTreeSet<_> = left.links().collect();
                tree.links().any(|link| links.contains(&link))
                    || apart == Apart::Switches && !inner(tree).is_disjoint(&inner(&left))
            };
            let price_of = |tree: &Tree| -> u64 {
                let parents = tree.branches.iter().filter_map(|branch| branch.parent);
                parents.map(|(at, port)| cost(PortId::new(tree.branches[at].datapath, port))).sum()
            };

            let found = find_beside(&view, &cost, (&left, destination), apart);

            let trees = all.iter().map(|way| way.tree(source, destination));
            let cheapest = trees.filter(|tree| !shares(tree)).map(|tree| price_of(&tree)).min();
            prop_assert_eq!(found.as_ref().map(price_of), cheapest.map(|it| it + price_of(&left)));
            if let Some(pair) = found {
                let parted = part(&pair).expect("two ways");
                prop_assert!(parted.contains(&left));
                prop_assert!(parted.iter().any(|tree| !shares(tree)));
            }
        }
    }
}
