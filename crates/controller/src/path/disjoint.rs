//! Finds ways between two switches that share no link, or no switch either, and
//! cost the least together.
//!
//! One way after the other, each the shortest that there is, is not enough: the
//! first may block what two others need (a trap). Here each further way may also
//! go back along an earlier one, which takes that part from both: the ways are the
//! units of a flow of least cost, and every unit follows the shortest way through
//! what is left. Weights are kept from being negative by potentials (SUURBALLE);
//! these begin as the least weight to the destination, so that a search goes
//! straight there.
//!
//! Where switches may not be shared, each is an arc of its own from where it is
//! entered to where it is left, which one way can take.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wire::openflow::DatapathId;

use super::graph::{Graph, Weight};
use super::search::Search;
use super::simple_path::SimplePath;

/// What ways must not share, beside the first and the last switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    Links,
    /// No link and no switch.
    Switches,
}

/// Returns `count` ways that share nothing, the shortest first, with the least
/// total cost.
///
/// # Errors
///
/// How many there are, if there are fewer.
pub fn find_disjoint(
    graph: &Graph,
    from: DatapathId,
    to: DatapathId,
    count: usize,
    apart: Apart,
) -> Result<Vec<SimplePath>, usize> {
    let (Some(from), Some(to)) = (graph.node(from), graph.node(to)) else {
        return Err(0);
    };
    if from == to {
        let here = SimplePath::over(graph, from, &[]);
        return if count <= 1 { Ok(vec![here]) } else { Err(1) };
    }
    let mut residual = Residual::new(graph, from, to, apart);
    for found in 0..count {
        if !residual.augment() {
            return Err(found);
        }
    }
    let mut ways = residual.ways(graph, from, to);
    ways.sort_by_key(|way| (way.cost, way.crossings.len(), way.crossings.clone()));
    Ok(ways)
}

type Signed = i128;

/// What is left of a graph while some of it is taken.
struct Residual {
    edges: Vec<Edge>,
    leaving: Vec<Vec<usize>>,
    potentials: Vec<Signed>,
    from: usize,
    to: usize,
    reached: Vec<Reached>,
    round: u32,
}

/// A direction that can be taken once; its reverse stands next to it.
struct Edge {
    to: usize,
    weight: Signed,
    is_free: bool,
    arc: Option<usize>,
}

#[derive(Clone, Copy, Default)]
struct Reached {
    round: u32,
    weight: Signed,
    by: Option<usize>,
    is_left: bool,
}

impl Residual {
    fn new(graph: &Graph, from: usize, to: usize, apart: Apart) -> Self {
        let guide = Search::new(graph, to);
        // A switch is entered at an even and left at the odd number after it.
        let entry = |node: usize| 2 * node;
        let exit = |node: usize| match apart {
            Apart::Links => 2 * node,
            Apart::Switches => 2 * node + 1,
        };
        let count = 2 * graph.switches();
        let mut residual = Self {
            edges: Vec::new(),
            leaving: vec![Vec::new(); count],
            potentials: vec![0; count],
            from: exit(from),
            to: entry(to),
            reached: vec![Reached::default(); count],
            round: 0,
        };
        for node in 0..graph.switches() {
            let least = guide.left(node).map_or(0, signed);
            residual.potentials[2 * node] = least;
            residual.potentials[2 * node + 1] = least;
            if exit(node) != entry(node) {
                residual.add(entry(node), exit(node), 0, None);
            }
        }
        for (number, arc) in graph.arcs().iter().enumerate() {
            // What leads nowhere is no part of any way.
            if arc.is_open && guide.left(arc.to).is_some() {
                let ends = (exit(arc.from), entry(arc.to));
                residual.add(ends.0, ends.1, signed(arc.weight), Some(number));
            }
        }
        residual
    }

    fn add(&mut self, from: usize, to: usize, weight: Signed, arc: Option<usize>) {
        let number = self.edges.len();
        self.leaving[from].push(number);
        self.leaving[to].push(number + 1);
        for (to, weight, is_free) in [(to, weight, true), (from, -weight, false)] {
            self.edges.push(Edge {
                to,
                weight,
                is_free,
                arc,
            });
        }
    }

    /// Adds one more way along the shortest that is left, by Dijkstra's algorithm.
    /// Returns whether there was one.
    fn augment(&mut self) -> bool {
        self.round += 1;
        let mut visited = Vec::new();
        let mut open = BinaryHeap::from([Reverse((0, self.from))]);
        self.reach(self.from, 0, None);
        while let Some(Reverse((so_far, here))) = open.pop() {
            if std::mem::replace(&mut self.reached[here].is_left, true) {
                continue;
            }
            if here == self.to {
                self.settle(so_far, &visited);
                return true;
            }
            visited.push(here);
            for place in 0..self.leaving[here].len() {
                let number = self.leaving[here][place];
                let Edge { to, weight, .. } = self.edges[number];
                if !self.edges[number].is_free {
                    continue;
                }
                let weight = so_far + weight + self.potentials[to] - self.potentials[here];
                debug_assert!(
                    weight >= so_far,
                    "potentials keep weights from being negative"
                );
                if self.reach(to, weight, Some(number)) {
                    open.push(Reverse((weight, to)));
                }
            }
        }
        false
    }

    fn reach(&mut self, node: usize, weight: Signed, by: Option<usize>) -> bool {
        let known = &mut self.reached[node];
        let is_better = known.round != self.round || (!known.is_left && weight < known.weight);
        if is_better {
            *known = Reached {
                round: self.round,
                weight,
                by,
                is_left: false,
            };
        }
        is_better
    }

    /// Takes the way that was found, and lifts the potentials so that no weight is
    /// negative in what is left.
    fn settle(&mut self, total: Signed, visited: &[usize]) {
        for node in visited {
            self.potentials[*node] += total - self.reached[*node].weight;
        }
        let mut at = self.to;
        while let Some(number) = self.reached[at].by {
            self.edges[number].is_free = false;
            self.edges[number ^ 1].is_free = true;
            at = self.edges[number ^ 1].to;
        }
    }

    /// Returns the ways that were taken. All weights are positive, so no part of
    /// what was taken leads in a circle.
    fn ways(&self, graph: &Graph, from: usize, to: usize) -> Vec<SimplePath> {
        let mut taken = vec![Vec::new(); graph.switches()];
        for (number, edge) in self.edges.iter().enumerate().rev() {
            let arc = edge.arc.filter(|_| number % 2 == 0 && !edge.is_free);
            if let Some(arc) = arc {
                taken[graph.arc(arc).from].push(arc);
            }
        }
        let mut ways = Vec::new();
        while let Some(first) = taken[from].pop() {
            let mut arcs = vec![first];
            let mut at = graph.arc(first).to;
            while at != to
                && let Some(arc) = taken[at].pop()
            {
                arcs.push(arc);
                at = graph.arc(arc).to;
            }
            ways.push(SimplePath::over(graph, from, &arcs));
        }
        ways
    }
}

fn signed(weight: Weight) -> Signed {
    Signed::try_from(weight).expect("a few thousand links of 64 bits of cost each fit 127 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{all_paths, any_network, network, price};
    use super::super::one_each;
    use super::*;
    use crate::place::LinkEnds;

    /// Bhandari's trap: the shortest way takes the middle of both others.
    #[test]
    fn a_pair_is_found_where_the_shortest_way_would_block_it() {
        let view = network(6, &[(1, 2), (2, 5), (5, 6), (1, 3), (3, 5), (2, 4), (4, 6)]);
        let graph = Graph::new(&view, &one_each, &|_, _| true);

        let ways = disjoint(&graph, 1, 6, 2, Apart::Switches).unwrap();

        let visited = |way: &SimplePath| way.switches().map(|at| at.0).collect::<Vec<u64>>();
        assert_eq!(
            ways.iter().map(visited).collect::<Vec<_>>(),
            [[1, 2, 4, 6], [1, 3, 5, 6]]
        );
    }

    #[test]
    fn ways_that_may_share_switches_are_found_where_others_are_not() {
        let view = network(
            5,
            &[
                (1, 2),
                (1, 3),
                (2, 3),
                (2, 4),
                (3, 4),
                (3, 5),
                (4, 5),
                (1, 3),
            ],
        );
        let bow_tie = network(5, &[(1, 2), (2, 3), (1, 3), (3, 4), (4, 5), (3, 5)]);
        let graph = Graph::new(&bow_tie, &one_each, &|_, _| true);

        assert_eq!(
            disjoint(&graph, 1, 5, 2, Apart::Links).map(|ways| ways.len()),
            Ok(2)
        );
        assert_eq!(disjoint(&graph, 1, 5, 2, Apart::Switches), Err(1));
        let graph = Graph::new(&view, &one_each, &|_, _| true);
        assert_eq!(
            disjoint(&graph, 1, 5, 2, Apart::Switches).map(|ways| ways.len()),
            Ok(2)
        );
    }

    #[test]
    fn parallel_links_between_neighbours_share_nothing() {
        let view = network(2, &[(1, 2), (1, 2)]);
        let graph = Graph::new(&view, &one_each, &|_, _| true);

        for apart in [Apart::Links, Apart::Switches] {
            assert_eq!(
                disjoint(&graph, 1, 2, 2, apart).map(|ways| ways.len()),
                Ok(2)
            );
            assert_eq!(disjoint(&graph, 1, 2, 3, apart), Err(2));
        }
    }

    proptest! {
        /// As many as there can be, and never dearer than the cheapest of all sets of
        /// ways that share nothing.
        #[test]
        fn no_set_of_disjoint_ways_costs_less(
            (switches, links) in any_network(6, 11),
            seed in any::<u64>(),
            count in 1..4usize,
            apart in prop_oneof![Just(Apart::Links), Just(Apart::Switches)],
        ) {
            let view = network(switches, &links);
            let cost = price(seed);
            let graph = Graph::new(&view, &cost, &|_, _| true);

            let found = disjoint(&graph, 1, switches, count, apart);

            let all = all_paths(&view, 1, switches, &cost);
            let least = cheapest(&all, count, &mut Vec::new(), apart);
            match found {
                Ok(ways) => {
                    prop_assert_eq!(ways.len(), count);
                    for (place, way) in ways.iter().enumerate() {
                        prop_assert!(all.contains(way));
                        prop_assert!(ways[..place].iter().all(|other| are_apart(way, other, apart)));
                    }
                    prop_assert_eq!(Some(ways.iter().map(|way| way.cost).sum::<u64>()), least);
                }
                Err(fewer) => {
                    prop_assert_eq!(least, None);
                    prop_assert!(cheapest(&all, fewer, &mut Vec::new(), apart).is_some());
                    prop_assert_eq!(cheapest(&all, fewer + 1, &mut Vec::new(), apart), None);
                }
            }
        }
    }

    /// Returns the least cost of any `count` ways that share nothing with each other
    /// or with those chosen.
    fn cheapest<'a>(
        all: &'a [SimplePath],
        count: usize,
        chosen: &mut Vec<&'a SimplePath>,
        apart: Apart,
    ) -> Option<u64> {
        if count == 0 {
            return Some(0);
        }
        let mut least = None;
        for (place, way) in all.iter().enumerate() {
            if !chosen.iter().all(|other| are_apart(way, other, apart)) {
                continue;
            }
            chosen.push(way);
            let rest = cheapest(&all[place + 1..], count - 1, chosen, apart);
            chosen.pop();
            let total = rest.map(|rest| rest + way.cost);
            least = match (least, total) {
                (Some(least), Some(total)) => Some(u64::min(least, total)),
                (least, total) => least.or(total),
            };
        }
        least
    }

    fn are_apart(one: &SimplePath, other: &SimplePath, apart: Apart) -> bool {
        let links: Vec<LinkEnds> = one.links().collect();
        let inner = |way: &SimplePath| {
            let count = way.crossings.len().saturating_sub(1);
            way.switches().skip(1).take(count).collect::<Vec<_>>()
        };
        let shared = inner(one).iter().any(|at| inner(other).contains(at));
        other.links().all(|link| !links.contains(&link)) && (apart == Apart::Links || !shared)
    }

    fn disjoint(
        graph: &Graph,
        from: u64,
        to: u64,
        count: usize,
        apart: Apart,
    ) -> Result<Vec<SimplePath>, usize> {
        find_disjoint(graph, DatapathId(from), DatapathId(to), count, apart)
    }
}
