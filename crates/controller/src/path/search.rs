//! Finds the shortest way to one switch, beside what it must not touch.
//!
//! It is A*. What guides it is the least weight
//! from each switch to the destination while nothing is closed, which is computed
//! once: whatever is closed afterwards makes ways longer and never shorter, so it
//! stays a lower bound, and most searches touch little beside the way they find.
//!
//! Among switches that promise the same total, the one nearest to the start goes
//! first. So all predecessors by which a switch can be reached best have been
//! looked at before it is left, and the one that is lowest by datapath id and port
//! is its predecessor, as in `tree`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::graph::{Graph, Weight};

/// The most switches that the searches for one answer leave.
pub(super) const MAX_VISITS: usize = 2_000_000;

/// Searches of one graph towards one switch.
#[derive(Debug)]
pub(super) struct Search<'g> {
    pub(super) graph: &'g Graph,
    to: usize,
    guide: Arc<Guide>,
    reached: Vec<Reached>,
    /// The number of the present search: what others have reached is void.
    round: u32,
    visits: usize,
}

/// How a switch was reached.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    round: u32,
    weight: Weight,
    by: Option<usize>,
    is_left: bool,
}

/// What a way must not touch, and how much it may weigh.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits<'a> {
    /// Whether each switch is closed.
    pub(super) closed: &'a [bool],
    /// Arcs that leave the first switch and are not to be taken.
    pub(super) refused: &'a [usize],
    /// What it has to stay below, if anything.
    pub(super) below: Option<Weight>,
}

impl<'g> Search<'g> {
    pub(super) fn new(graph: &'g Graph, to: usize) -> Self {
        Self::guided(graph, to, Arc::new(Guide::to(graph, to, Extent::All)))
    }

    /// Begins with a guide that was made before.
    pub(super) fn guided(graph: &'g Graph, to: usize, guide: Arc<Guide>) -> Self {
        Self {
            graph,
            to,
            guide,
            reached: vec![Reached::default(); graph.switches()],
            round: 0,
            visits: 0,
        }
    }

    /// Returns the least weight from a switch to the destination while nothing is
    /// closed.
    pub(super) fn left(&self, node: usize) -> Option<Weight> {
        self.guide.left(node)
    }

    /// Returns how many switches were left.
    pub(super) const fn visits(&self) -> usize {
        self.visits
    }

    /// Returns whether as much was searched as may be.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.visits >= MAX_VISITS
    }

    /// Returns the arcs of the shortest way from `from`; nothing if there is none
    /// within the limits.
    pub(super) fn find(&mut self, from: usize, limits: Limits<'_>) -> Option<Vec<usize>> {
        self.round += 1;
        let mut open = BinaryHeap::new();
        self.reach(from, 0, None);
        open.push(Reverse((self.left(from)?, 0, from)));
        while let Some(Reverse((total, so_far, here))) = open.pop() {
            if self.is_exhausted() || limits.below.is_some_and(|below| total >= below) {
                return None;
            }
            if std::mem::replace(&mut self.reached[here].is_left, true) {
                continue;
            }
            self.visits += 1;
            if here == self.to {
                return Some(self.way_to(here));
            }
            for number in self.graph.leaving(here) {
                let arc = self.graph.arc(*number);
                let is_refused = here == from && limits.refused.contains(number);
                if !arc.is_open || is_refused {
                    continue;
                }
                let Some(left) = self.left(arc.to) else {
                    continue;
                };
                let weight = so_far + arc.weight;
                if !limits.closed[arc.to] && self.reach(arc.to, weight, Some(*number)) {
                    open.push(Reverse((weight + left, weight, arc.to)));
                }
            }
        }
        None
    }

    /// Notes how a switch can be reached; returns whether that is the best so far.
    fn reach(&mut self, node: usize, weight: Weight, by: Option<usize>) -> bool {
        let known = &mut self.reached[node];
        let is_better = known.round != self.round
            || (!known.is_left && (weight, by) < (known.weight, known.by));
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

    fn way_to(&self, node: usize) -> Vec<usize> {
        let mut way = Vec::new();
        let mut at = node;
        while let Some(arc) = self.reached[at].by {
            way.push(arc);
            at = self.graph.arc(arc).from;
        }
        way.reverse();
        way
    }
}

/// The least weight from each switch to one. It is never more than it takes while
/// none of the arcs is open that it was not computed over.
#[derive(Debug)]
pub(super) struct Guide {
    /// The cost, and in the lower sixteen bits how many links.
    left: Box<[u64]>,
}

/// What stands for a switch from which no way leads.
const UNREACHED: u64 = u64::MAX;
const LINK_BITS: u32 = 16;

/// Which arcs a guide is computed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    Open,
}

impl Guide {
    /// Computes them by Dijkstra's algorithm against the direction of the arcs.
    pub(super) fn to(graph: &Graph, to: usize, extent: Extent) -> Self {
        let mut left = vec![UNREACHED; graph.switches()].into_boxed_slice();
        let start = (to < graph.switches()).then_some(Reverse((0, to)));
        let mut open: BinaryHeap<_> = start.into_iter().collect();
        while let Some(Reverse((weight, here))) = open.pop() {
            if left[here] != UNREACHED {
                continue;
            }
            left[here] = packed(weight);
            for number in graph.entering(here) {
                let arc = graph.arc(*number);
                let is_part = arc.is_open || extent == Extent::All;
                if is_part && left[arc.from] == UNREACHED {
                    open.push(Reverse((weight + arc.weight, arc.from)));
                }
            }
        }
        Self { left }
    }

    fn left(&self, node: usize) -> Option<Weight> {
        let packed = self.left[node];
        let links = packed & ((1 << LINK_BITS) - 1);
        let weight = Weight::from(packed >> LINK_BITS) << 64 | Weight::from(links);
        (packed != UNREACHED).then_some(weight)
    }
}

/// Returns a weight in 64 bits, less than it is if it is beyond them.
fn packed(weight: Weight) -> u64 {
    let cost = super::graph::cost_of(weight).min((1 << (64 - LINK_BITS)) - 1);
    let links = weight & Weight::from(u64::MAX);
    let links = u64::try_from(links).map_or(0, |links| links.min((1 << LINK_BITS) - 2));
    cost << LINK_BITS | links
}
