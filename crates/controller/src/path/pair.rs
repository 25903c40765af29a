//! Two ways from one host to another that a flow takes at the same time, as one tree: it
//! parts at the first switch, and its ways meet at the last one, which has a branch for
//! each.

use super::simple_path::SimplePath;
use super::tree::{Branch, Tree};
use crate::place::PortId;

/// Returns two ways as one tree.
#[must_use]
pub fn join(pair: &[SimplePath; 2], source: PortId, destination: PortId) -> Tree {
    let [mut all, other] = pair.each_ref().map(|way| way.tree(source, destination));
    let known = all.branches.len();
    let moved = |before: usize| if before == 0 { 0 } else { before + known - 1 };
    let mut others = other.branches.into_iter();
    if let Some(first) = others.next() {
        let outputs = &mut all.branches[0].outputs;
        outputs.extend(first.outputs);
        outputs.sort_unstable();
    }
    all.branches.extend(others.map(|branch| Branch {
        parent: branch.parent.map(|(before, port)| (moved(before), port)),
        ..branch
    }));
    all
}

/// Returns the two ways of which a tree was made, the one first that leaves by the lower
/// port; nothing if it is another tree.
#[must_use]
pub fn part(tree: &Tree) -> Option<[Tree; 2]> {
    let leads_on = |at: usize| {
        let mut branches = tree.branches.iter();
        branches.any(|branch| branch.parent.is_some_and(|(before, _)| before == at))
    };
    let mut ends = (0..tree.branches.len()).filter(|at| !leads_on(*at));
    let (Some(one), Some(other), None) = (ends.next(), ends.next(), ends.next()) else {
        return None;
    };
    let [last, beside] = [one, other].map(|at| &tree.branches[at]);
    if last.datapath != beside.datapath || last.outputs != beside.outputs {
        return None;
    }
    let mut ways = [one, other].map(|end| way_to(tree, end));
    ways.sort_by(|one, other| one.branches[0].outputs.cmp(&other.branches[0].outputs));
    Some(ways)
}

/// Returns the way to a branch of a tree.
fn way_to(tree: &Tree, end: usize) -> Tree {
    let before = |at: &usize| tree.branches[*at].parent.map(|(before, _)| before);
    let mut places: Vec<usize> = std::iter::successors(Some(end), before).collect();
    places.reverse();
    let mut branches: Vec<Branch> = Vec::with_capacity(places.len());
    for at in places {
        let mut branch = tree.branches[at].clone();
        if let (Some((_, port)), Some(last)) = (branch.parent, branches.len().checked_sub(1)) {
            branches[last].outputs = vec![port];
            branch.parent = Some((last, port));
        }
        branches.push(branch);
    }
    Tree { branches }
}

#[cfg(test)]
mod tests {
    use wire::openflow::{DatapathId, PortNumber};

    use super::super::simple_path::Crossing;
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

    fn diamond() -> [SimplePath; 2] {
        let lower = [(port(1, 3), port(3, 1)), (port(3, 2), port(4, 3))];
        let upper = [(port(1, 2), port(2, 1)), (port(2, 2), port(4, 2))];
        [way(1, &upper), way(1, &lower)]
    }

    #[test]
    fn two_ways_are_one_tree_that_parts_at_the_first_switch() {
        let tree = join(&diamond(), port(1, 1), port(4, 1));

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
        let tree = join(&pair, port(1, 1), port(4, 1));

        let ways = pair.map(|way| way.tree(port(1, 1), port(4, 1)));
        assert_eq!(part(&tree), Some(ways));
    }

    #[test]
    fn a_way_alone_and_a_tree_to_two_hosts_are_no_pair() {
        let [alone, _] = diamond();
        let alone = alone.tree(port(1, 1), port(4, 1));
        let mut two_hosts = join(&diamond(), port(1, 1), port(4, 1));
        two_hosts.branches[4].outputs = vec![PortNumber(9)];

        assert_eq!(part(&alone), None);
        assert_eq!(part(&two_hosts), None);
    }
}
