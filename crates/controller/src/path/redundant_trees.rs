//! Two trees from a host to several others, such that the two ways to each of them share no
//! switch between the first and the last one.
//!
//! The switches are put in an order in which each has a link to one before it and to one
//! behind it, with the source's switch both before and behind all others (an st-numbering).
//! One tree leads forwards in that order, the other backwards: so the two ways to a switch
//! pass others before it and others behind it, and no link is crossed by both in the same
//! direction (Itai and Rodeh, "The multi-tree approach to reliability in distributed
//! networks", 1988). An order is made of a cycle through the source's switch, and of ears:
//! paths of further switches between two that have their place (Whitney). Whatever hangs at
//! the source's switch alone has an order of its own.
//!
//! # Left out
//!
//! Ways that share a switch and no link, and two links between the same two switches.

use std::collections::{BTreeMap, VecDeque};

use wire::openflow::PortNumber;

use super::tree::{Cost, Tree, TreeStep, add_output, connected, grow};
use crate::place::PortId;
use crate::view::{Control, SwitchId, View};

/// Finds the two trees from `source` to `destinations`, each way as short as the order of the
/// switches lets it be.
///
/// # Errors
///
/// The first destination to which no two such ways lead.
pub fn find_redundant_trees(
    view: &View,
    source: PortId,
    destinations: &[PortId],
    cost: Cost<'_>,
) -> Result<[Tree; 2], PortId> {
    let first = destinations.first().copied().unwrap_or(source);
    let root = connected(view, source.datapath).ok_or(first)?;
    let orders = orders(view, root);
    let trees = [Direction::Forwards, Direction::Backwards].map(|direction| {
        let steps = steps(view, root, &orders, direction, cost);
        let mut tree = Tree::default();
        let mut places = BTreeMap::new();
        for destination in destinations {
            let switch = connected(view, destination.datapath).ok_or(*destination)?;
            let place = grow(view, &steps, source, switch, (&mut tree, &mut places));
            let place = place.ok_or(*destination)?;
            add_output(&mut tree.branches[place], destination.port);
        }
        Ok(tree)
    });
    let [one, other] = trees;
    Ok([one?, other?])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forwards,
    Backwards,
}

/// Returns the best step to each switch by links that lead in one direction.
fn steps(
    view: &View,
    root: SwitchId,
    orders: &[Vec<SwitchId>],
    direction: Direction,
    cost: Cost<'_>,
) -> Vec<Option<TreeStep>> {
    let mut steps: Vec<Option<TreeStep>> = vec![None; view.switches().len()];
    steps[root.index()] = Some(TreeStep::first());
    for order in orders {
        let mut way: Vec<SwitchId> = order.clone();
        if direction == Direction::Backwards {
            way.reverse();
        }
        // From the source's switch each tree enters the order at its own end alone.
        let places: BTreeMap<SwitchId, usize> = way.iter().copied().zip(0..).collect();
        let last = way.len() - 1;
        for here in std::iter::once(root).chain(way.iter().copied()) {
            let place = places.get(&here);
            let leads_on = |next: &SwitchId| match (place, places.get(next)) {
                (Some(here), Some(next)) => here < next,
                (None, Some(next)) => match direction {
                    Direction::Forwards => *next < last,
                    Direction::Backwards => *next == 0,
                },
                (_, None) => false,
            };
            let Some(so_far) = steps[here.index()] else {
                continue;
            };
            let datapath = view.switches()[here.index()].datapath;
            for (output, next, input) in usable(view, here) {
                if !leads_on(&next) {
                    continue;
                }
                let price = cost(PortId::new(datapath, output));
                let step = so_far.onwards((here, datapath, output), input, price);
                let known = &mut steps[next.index()];
                if known.is_none_or(|known| step.is_better_than(&known)) {
                    *known = Some(step);
                }
            }
        }
    }
    steps
}

/// Returns the links from a switch to others that are connected.
fn usable(
    view: &View,
    switch: SwitchId,
) -> impl Iterator<Item = (PortNumber, SwitchId, PortNumber)> + '_ {
    let is_connected = |id: SwitchId| view.switches()[id.index()].control == Control::Connected;
    let neighbours = view.neighbours(switch);
    neighbours.filter(move |(_, next, _)| is_connected(*next))
}

/// Puts the switches to which two ways lead in order, those that only the source's switch
/// joins each in one of their own.
fn orders(view: &View, root: SwitchId) -> Vec<Vec<SwitchId>> {
    let mut is_placed = vec![false; view.switches().len()];
    is_placed[root.index()] = true;
    let mut orders = Vec::new();
    while let Some(ear) = ear(view, root, &[], &is_placed) {
        let mut order = ear.between;
        loop {
            order
                .iter()
                .for_each(|switch| is_placed[switch.index()] = true);
            let Some(ear) = self::ear(view, root, &order, &is_placed) else {
                break;
            };
            ear.enter(root, &mut order);
        }
        orders.push(order);
    }
    orders
}

/// A path of switches without a place between two that have one.
struct Ear {
    from: SwitchId,
    between: Vec<SwitchId>,
    to: SwitchId,
}

impl Ear {
    /// Puts its switches behind the end that comes first, in the direction of the other one.
    fn enter(mut self, root: SwitchId, order: &mut Vec<SwitchId>) {
        let place = |switch: SwitchId| match switch == root {
            true => 0,
            false => order
                .iter()
                .position(|it| *it == switch)
                .map_or(0, |at| at + 1),
        };
        let [from, to] = [place(self.from), place(self.to)];
        if from > to {
            self.between.reverse();
        }
        let at = from.min(to);
        order.splice(at..at, self.between);
    }
}

/// How a switch without a place was come to.
#[derive(Clone, Copy, Debug)]
struct Reached {
    /// By which end of an ear; of the first one, from the source's switch round to itself, by
    /// which of its neighbours.
    label: SwitchId,
    from: SwitchId,
}

/// Returns the shortest ear between the source's switch and those in this order, or the
/// shortest cycle through that switch if there are none.
fn ear(view: &View, root: SwitchId, order: &[SwitchId], is_placed: &[bool]) -> Option<Ear> {
    let ends = std::iter::once(root).chain(order.iter().copied());
    let mut reached: BTreeMap<SwitchId, Reached> = BTreeMap::new();
    let mut open = VecDeque::new();
    for end in ends {
        for (_, next, _) in usable(view, end).filter(|(_, next, _)| !is_placed[next.index()]) {
            let label = match order.is_empty() {
                true => next,
                false => end,
            };
            match reached.get(&next) {
                // One switch between two ends is an ear already.
                Some(other) if other.label != label => {
                    return Some(joined(&reached, (next, None), end));
                }
                Some(_) => {}
                None => {
                    reached.insert(next, Reached { label, from: end });
                    open.push_back(next);
                }
            }
        }
    }
    while let Some(here) = open.pop_front() {
        let label = reached[&here].label;
        for (_, next, _) in usable(view, here).filter(|(_, next, _)| !is_placed[next.index()]) {
            match reached.get(&next) {
                Some(other) if other.label != label => {
                    let end = far_end(&reached, next);
                    return Some(joined(&reached, (here, Some(next)), end));
                }
                Some(_) => {}
                None => {
                    reached.insert(next, Reached { label, from: here });
                    open.push_back(next);
                }
            }
        }
    }
    None
}

/// Returns the end from which a switch was come to.
fn far_end(reached: &BTreeMap<SwitchId, Reached>, switch: SwitchId) -> SwitchId {
    let before = |at: &SwitchId| reached.get(at).map(|it| it.from);
    let ends = std::iter::successors(Some(switch), before);
    ends.last().unwrap_or(switch)
}

/// Returns the ear whose halves meet between `here` and `there`, which ends at `to`.
fn joined(
    reached: &BTreeMap<SwitchId, Reached>,
    (here, there): (SwitchId, Option<SwitchId>),
    to: SwitchId,
) -> Ear {
    let back = |from: SwitchId| {
        let before = |at: &SwitchId| {
            let from = reached.get(at)?.from;
            reached.contains_key(&from).then_some(from)
        };
        std::iter::successors(Some(from), before)
    };
    let mut between: Vec<SwitchId> = back(here).collect();
    between.reverse();
    between.extend(there.into_iter().flat_map(back));
    Ear {
        from: far_end(reached, here),
        between,
        to,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use wire::openflow::DatapathId;

    use super::super::fixture::{access, any_network, network, price};
    use super::super::{Apart, Graph, find_disjoint, join, one_each, part};
    use super::*;

    #[test]
    fn round_a_ring_one_tree_leads_one_way_and_the_other_back() {
        let view = network(5, &[(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]);

        let trees = find_redundant_trees(&view, access(1), &[access(3), access(4)], &one_each);

        let visited = trees.unwrap().map(|tree| {
            let visited = tree.branches.iter().map(|it| it.datapath.0);
            visited.collect::<Vec<_>>()
        });
        assert_eq!(visited, [vec![1, 2, 3, 4], vec![1, 5, 4, 3]]);
    }

    #[test]
    fn behind_a_switch_that_all_have_to_pass_there_are_no_two_ways() {
        let view = network(5, &[(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 3)]);

        let found = find_redundant_trees(&view, access(1), &[access(2), access(4)], &one_each);

        assert_eq!(found, Err(access(4)));
        // At the source itself two rings are no harm.
        let from_there = [access(2), access(4), access(5)];
        assert!(find_redundant_trees(&view, access(3), &from_there, &one_each).is_ok());
    }

    #[test]
    fn a_host_at_the_switch_of_the_source_is_reached_without_a_link() {
        let view = network(3, &[(1, 2), (2, 3), (3, 1)]);
        let near = PortId::new(DatapathId(1), PortNumber(999));

        let trees = find_redundant_trees(&view, access(1), &[near, access(2)], &one_each);

        for tree in &trees.unwrap() {
            assert!(tree.branches[0].outputs.contains(&near.port));
        }
    }

    /// Returns the switches on the way to one, without the first and the last.
    fn between(tree: &Tree, to: u64) -> BTreeSet<u64> {
        let mut at = tree.branches.iter().position(|it| it.datapath.0 == to);
        let mut passed = BTreeSet::new();
        while let Some(here) = at {
            passed.insert(tree.branches[here].datapath.0);
            at = tree.branches[here].parent.map(|(before, _)| before);
        }
        passed.remove(&to);
        passed.remove(&tree.branches[0].datapath.0);
        passed
    }

    proptest! {
        /// Wherever two ways without a common switch lead to each destination the trees are
        /// found; the two ways to each share none, no link is crossed twice in one
        /// direction, and together they part into the same trees.
        #[test]
        fn two_ways_lead_to_each_if_they_do_at_all(
            (switches, links) in any_network(9, 24),
            wanted in prop::collection::btree_set(1..10u64, 2..5),
            seed in any::<u64>(),
        ) {
            // Two links between the same switches are left out.
            let links: BTreeSet<_> = links
                .into_iter()
                .filter(|(one, other)| one != other)
                .map(|(one, other)| (one.min(other), one.max(other)))
                .collect();
            let links: Vec<_> = links.into_iter().collect();
            let view = network(switches, &links);
            let wanted: Vec<u64> = wanted.into_iter().filter(|at| *at <= switches).collect();
            let ends: Vec<_> = wanted.iter().map(|at| access(*at)).collect();
            let cost = price(seed);
            let graph = Graph::new(&view, &cost, &|_, _| true);
            let has_two = |to: u64| {
                let apart = (DatapathId(1), DatapathId(to));
                to == 1 || find_disjoint(&graph, apart.0, apart.1, 2, Apart::Switches).is_ok()
            };
            let source = PortId::new(DatapathId(1), PortNumber(999));

            let found = find_redundant_trees(&view, source, &ends, &cost);

            let lacking = wanted.iter().find(|to| !has_two(**to));
            prop_assert_eq!(found.is_ok(), lacking.is_none(), "{:?}", found);
            let Ok(trees) = found else { return Ok(()) };
            for to in &wanted {
                let [one, other] = trees.each_ref().map(|tree| between(tree, *to));
                prop_assert!(one.is_disjoint(&other), "{} and {}", to, other.len());
            }
            let all = join(trees.clone());
            let entrances: BTreeSet<_> = all.branches.iter().map(|it| it.entrance()).collect();
            prop_assert_eq!(entrances.len(), all.branches.len());
            let parted = part(&all);
            let has_links = trees[0].branches.len() > 1;
            prop_assert_eq!(parted.is_some(), has_links);
            for tree in parted.into_iter().flatten() {
                let mut leaves: Vec<_> = tree.leaves().collect();
                leaves.sort_unstable();
                prop_assert_eq!(&leaves, &ends);
            }
        }
    }
}
