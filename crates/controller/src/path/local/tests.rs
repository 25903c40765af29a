use proptest::prelude::*;

use super::super::fixture::{access, any_network, network, price};
use super::super::tree::one_each;
use super::*;
use crate::ways::{Provision, Ways};

/// Breaks where the frames of the flow are led round in circles, if any are.
const MOST_HOPS: usize = 100;

#[test]
fn in_a_ring_frames_are_turned_back() {
    let view = network(5, &[(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]);

    let ways = local(&view, 1, 3, &one_each).unwrap();

    assert_eq!(passed(&ways.alternatives[0].1), [1, 5, 4, 3]);
    assert_eq!(passed(&ways.alternatives[1].1), [1, 2, 1, 5, 4, 3]);
    let turned = &ways.alternatives[1].1.branches[1];
    assert_eq!(turned.outputs, [turned.input]);
}

#[test]
fn a_link_that_nothing_replaces_is_named() {
    let view = network(4, &[(1, 2), (2, 3), (3, 1), (3, 4)]);
    let last = local(&view, 1, 3, &one_each).unwrap().base;

    let found = local(&view, 1, 4, &one_each);

    let bridge = view.links().iter().map(|link| link.ends);
    let bridge = bridge.max_by_key(|ends| ends.both().map(|end| end.datapath));
    assert_eq!(found, Err(NoDetour::NoWay(bridge.unwrap())));
    assert_eq!(passed(&last), [1, 3]);
}

proptest! {
    /// Whichever link of the way breaks, frames come to the destination by the entries that
    /// stand, and by the ways that were reserved for that.
    #[test]
    fn frames_arrive_whichever_link_breaks(
        (switches, links) in any_network(9, 24),
        (source, destination) in (1u64..9, 1u64..9),
        seed in any::<u64>(),
    ) {
        prop_assume!(source.max(destination) <= switches && source != destination);
        let view = network(switches, &links);
        let cost = price(seed);
        let Ok(ways) = local(&view, source, destination, &cost) else {
            return Ok(());
        };
        let entries: Vec<_> = ways.local_entries().collect();
        for (at, output, _) in &entries {
            let mut alike = entries.iter().filter(|(other, ..)| other == at);
            prop_assert!(alike.all(|(_, other, _)| other == output));
        }
        let trees = ways.alternatives.iter().map(|(link, tree)| (Some(*link), tree));
        for (broken, tree) in trees.chain([(None, &ways.base)]) {
            let walked = walk(&view, &entries, (source, destination), broken);
            prop_assert_eq!(walked, Some(passed(tree)), "without {:?}", broken);
        }
    }
}

fn local(view: &View, source: u64, destination: u64, cost: Cost<'_>) -> Result<Ways, NoDetour> {
    let [source, destination] = [source, destination].map(access);
    let nothing = LinkEnds::new(source, destination);
    let base = find_tree(view, source, &[destination], &[], cost);
    let base = base.map_err(|_| NoDetour::NoWay(nothing))?;
    let alternatives = local_detours(view, &base, destination, cost)?;
    Ok(Ways::provided(Provision::Locally, base, alternatives))
}

/// Returns the switches that a frame passes, as the entries have it that are first for each
/// port; nothing if it does not arrive.
fn walk(
    view: &View,
    entries: &[(PortId, PortNumber, Option<PortNumber>)],
    (source, destination): (u64, u64),
    broken: Option<LinkEnds>,
) -> Option<Vec<u64>> {
    let mut passed = Vec::new();
    let mut at = access(source);
    while passed.len() < MOST_HOPS {
        passed.push(at.datapath.0);
        let (_, primary, backup) = entries.iter().find(|(there, ..)| *there == at)?;
        let link = |port: PortNumber| {
            let link = view.port(PortId::new(at.datapath, port))?.link?;
            Some(view.links()[link.index()].ends)
        };
        let is_dead = broken.is_some() && link(*primary) == broken;
        let output = if is_dead { (*backup)? } else { *primary };
        let exit = PortId::new(at.datapath, output);
        if exit == access(destination) {
            return Some(passed);
        }
        at = link(output)?.opposite(exit)?;
    }
    None
}

fn passed(tree: &Tree) -> Vec<u64> {
    let branches = tree.branches.iter();
    branches.map(|branch| branch.datapath.0).collect()
}
