//! Lists the ways between two switches, the shortest first.
//!
//! Yen's algorithm (YEN): each way after the first leaves one that was found
//! before at some switch and is the shortest from there on that does. With
//! Lawler's improvement (LAWLER) a way is only asked for deviations behind the place
//! where it deviates itself; those before were asked for with its parent.
//!
//! # Left out
//!
//! Eppstein's algorithm, which is quicker, as it lets a way visit a switch twice.

use std::collections::BTreeSet;

use wire::openflow::DatapathId;

use super::graph::{Graph, Weight};
use super::search::{Limits, Search};
use super::simple_path::SimplePath;

/// The ways between two switches that visit no switch twice, by rising cost; of
/// those that cost the same the ones with fewer links come first.
///
/// It ends early when its searches have visited 2,000,000 switches, which takes
/// ways of thousands of links.
#[derive(Debug)]
pub struct Ranking<'g> {
    search: Search<'g>,
    from: usize,
    most: usize,
    found: Vec<Vec<usize>>,
    candidates: BTreeSet<Candidate>,
    /// The switches that no way may visit.
    barred: Vec<bool>,
    /// Those and the ones that the way at hand has visited.
    closed: Vec<bool>,
}

/// A way that may be the next one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    weight: Weight,
    arcs: Vec<usize>,
    /// How many arcs it has in common with the one that it deviates from.
    common: usize,
}

impl<'g> Ranking<'g> {
    /// Prepares to list at most `most` ways. There are none if a switch is not
    /// part of the graph.
    #[must_use]
    pub fn new(graph: &'g Graph, from: DatapathId, to: DatapathId, most: usize) -> Self {
        let barred = vec![false; graph.switches()];
        match graph.node(from).zip(graph.node(to)) {
            Some((from, to)) => Self::beside(Search::new(graph, to), from, most, barred),
            None => Self {
                search: Search::new(graph, 0),
                from: 0,
                most: 0,
                found: Vec::new(),
                candidates: BTreeSet::new(),
                closed: barred.clone(),
                barred,
            },
        }
    }

    /// Prepares to list ways beside switches that are barred.
    pub(super) fn beside(search: Search<'g>, from: usize, most: usize, barred: Vec<bool>) -> Self {
        let mut ranking = Self {
            search,
            from,
            most,
            found: Vec::new(),
            candidates: BTreeSet::new(),
            closed: barred.clone(),
            barred,
        };
        if most > 0 {
            ranking.deviate(&[], 0);
        }
        ranking
    }

    /// Returns how many switches were left so far.
    pub(super) const fn visits(&self) -> usize {
        self.search.visits()
    }

    /// Looks for the shortest way that goes along the first `common` arcs of a way
    /// and then where no way that was found went.
    fn deviate(&mut self, along: &[usize], common: usize) {
        let graph = self.search.graph;
        let (root, start) = (&along[..common], self.end_of(&along[..common]));
        let found = self.found.iter();
        let refused: Vec<usize> = found
            .filter(|way| way.len() > common && way[..common] == *root)
            .map(|way| way[common])
            .collect();
        let spent: Weight = root.iter().map(|arc| graph.arc(*arc).weight).sum();
        let limits = Limits {
            closed: &self.closed,
            refused: &refused,
            below: self.limit().map(|limit| limit.saturating_sub(spent)),
        };
        let Some(rest) = self.search.find(start, limits) else {
            return;
        };
        let weight = spent
            + rest
                .iter()
                .map(|arc| graph.arc(*arc).weight)
                .sum::<Weight>();
        let arcs = [root, &rest].concat();
        self.candidates.insert(Candidate {
            weight,
            arcs,
            common,
        });
        if self.candidates.len() > self.wanted() {
            self.candidates.pop_last();
        }
    }

    /// Returns how many ways are still wanted.
    fn wanted(&self) -> usize {
        self.most - self.found.len()
    }

    /// Returns what a further candidate has to stay below to be of use.
    fn limit(&self) -> Option<Weight> {
        let worst = self.candidates.last().map(|candidate| candidate.weight);
        worst.filter(|_| self.candidates.len() >= self.wanted())
    }

    fn end_of(&self, root: &[usize]) -> usize {
        let last = root.last();
        last.map_or(self.from, |arc| self.search.graph.arc(*arc).to)
    }
}

impl Iterator for Ranking<'_> {
    type Item = SimplePath;

    fn next(&mut self) -> Option<SimplePath> {
        let Candidate { arcs, common, .. } = self.candidates.pop_first()?;
        self.found.push(arcs.clone());
        self.closed.copy_from_slice(&self.barred);
        for arc in &arcs[..common] {
            self.closed[self.search.graph.arc(*arc).from] = true;
        }
        if self.wanted() > 0 {
            for place in common..arcs.len() {
                self.deviate(&arcs, place);
                self.closed[self.search.graph.arc(arcs[place]).from] = true;
            }
        }
        Some(SimplePath::over(self.search.graph, self.from, &arcs))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{access, all_paths, any_network, ladder, network, price};
    use super::super::{find_tree, one_each};
    use super::*;

    #[test]
    fn parallel_links_are_ways_of_their_own() {
        let view = network(2, &[(1, 2), (1, 2), (1, 2)]);
        let graph = Graph::new(&view, &one_each, &|_, _| true);

        let ways: Vec<SimplePath> = ranking(&graph, 1, 2, 5).collect();

        let ports = ways.iter().map(|way| way.crossings[0].leaves.port.0);
        assert_eq!(ports.collect::<Vec<u32>>(), [1, 2, 3]);
    }

    #[test]
    fn no_way_leads_to_another_part_or_to_a_switch_that_is_not_there() {
        let view = network(4, &[(1, 2), (3, 4)]);
        let graph = Graph::new(&view, &one_each, &|_, _| true);

        assert_eq!(ranking(&graph, 1, 4, 3).count(), 0);
        assert_eq!(ranking(&graph, 1, 9, 3).count(), 0);
    }

    #[test]
    fn a_way_to_itself_has_no_links() {
        let view = network(2, &[(1, 2)]);
        let graph = Graph::new(&view, &one_each, &|_, _| true);

        let ways: Vec<SimplePath> = ranking(&graph, 1, 1, 3).collect();

        assert_eq!(ways.len(), 1);
        assert_eq!(ways[0].links().count(), 0);
    }

    /// A ladder of so many rungs has more ways than could ever be listed, all of
    /// nearly the same length.
    #[test]
    fn the_work_is_bounded_where_ways_are_without_number() {
        let view = ladder(400);
        let graph = Graph::new(&view, &one_each, &|_, _| true);

        let found = ranking(&graph, 1, 800, 64).count();

        assert!((1..=64).contains(&found), "{found}");
    }

    proptest! {
        /// As many ways as are wanted, each with the cost that the ways of its rank
        /// have when all are written down and sorted.
        #[test]
        fn ways_come_in_the_order_of_all_ways(
            (switches, links) in any_network(6, 12),
            seed in any::<u64>(),
            most in 1..12usize,
        ) {
            let view = network(switches, &links);
            let cost = price(seed);
            let graph = Graph::new(&view, &cost, &|_, _| true);

            let ways: Vec<SimplePath> = ranking(&graph, 1, switches, most).collect();

            let all = all_paths(&view, 1, switches, &cost);
            let ranks = |way: &SimplePath| (way.cost, way.crossings.len());
            let expected: Vec<_> = all.iter().map(ranks).take(most).collect();
            prop_assert_eq!(ways.iter().map(ranks).collect::<Vec<_>>(), expected);
            for (place, way) in ways.iter().enumerate() {
                prop_assert!(all.contains(way) && !ways[..place].contains(way));
            }
        }

        /// The first way is the one that a flow would take.
        #[test]
        fn the_first_way_is_that_of_a_flow(
            (switches, links) in any_network(9, 30),
            seed in any::<u64>(),
        ) {
            let view = network(switches, &links);
            let cost = price(seed);
            let graph = Graph::new(&view, &cost, &|_, _| true);
            let (from, to) = (access(1), access(switches));

            let first = ranking(&graph, 1, switches, 1).next();

            let tree = find_tree(&view, from, &[to], &[], &cost).ok();
            prop_assert_eq!(first.map(|way| way.tree(from, to)), tree);
        }
    }

    fn ranking(graph: &Graph, from: u64, to: u64, most: usize) -> Ranking<'_> {
        Ranking::new(graph, DatapathId(from), DatapathId(to), most)
    }
}
