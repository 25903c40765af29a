//! A graph that is kept, and what searches of it have in common.
//!
//! Thousands of ways are asked for in the same network, and again when a link of it
//! breaks. So the graph holds every link that was ever found, and closing or
//! opening one costs nothing else. What guides the searches to a switch is computed
//! once, over all links whether open or not: it stays true whatever breaks and
//! comes back, until a link or a switch is found that was never there before. Where
//! that leads astray, as so much is closed, it is computed over what is open; that
//! stays true until something is opened.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use wire::openflow::{DatapathId, PortNumber};

use super::graph::{Graph, Turned, cost_of, is_connected};
use super::ranking::Ranking;
use super::search::{Extent, Guide, Search};
use super::simple_path::SimplePath;
use super::tree::{Branch, Cost, Tree};
use crate::place::{LinkEnds, PortId};
use crate::view::View;

/// The most destinations of which the guides are kept.
const MAX_GUIDES: usize = 1_024;

/// A search that has visited more switches than this was led astray.
const MANY_VISITS: usize = 64;

/// The network as searches see it.
#[derive(Debug)]
pub struct Atlas {
    graph: Graph,
    guides: BTreeMap<usize, Arc<Guide>>,
    /// Guides over what was open, with what had changed by then.
    recent: BTreeMap<usize, (Turned, Arc<Guide>)>,
    turned: Turned,
    /// How many switches and links the view had.
    extent: (usize, usize),
    visits: usize,
}

impl Atlas {
    /// Lays out what the view holds.
    #[must_use]
    pub fn new(view: &View, cost: Cost<'_>) -> Self {
        Self {
            graph: Graph::of_all(view, cost),
            guides: BTreeMap::new(),
            recent: BTreeMap::new(),
            turned: Turned::default(),
            extent: extent(view),
            visits: 0,
        }
    }

    /// Returns whether nothing was found since it was laid out.
    #[must_use]
    pub fn is_of(&self, view: &View) -> bool {
        self.extent == extent(view)
    }

    /// Takes over what happened to a switch or to a link of it.
    pub fn refresh(&mut self, view: &View, datapath: DatapathId) {
        let Turned { opened, closed } = self.graph.refresh(view, datapath);
        self.turned.opened += opened;
        self.turned.closed += closed;
    }

    /// Takes over what happened to a link.
    pub fn refresh_link(&mut self, view: &View, link: LinkEnds) {
        self.refresh(view, link.both()[0].datapath);
    }

    /// Returns how many switches all searches have visited.
    #[must_use]
    pub const fn visits(&self) -> usize {
        self.visits
    }

    /// Returns the shortest way, if both switches are connected.
    pub fn shortest(
        &mut self,
        view: &View,
        from: DatapathId,
        to: DatapathId,
    ) -> Option<SimplePath> {
        let mut ways = self.shortest_beside(view, [from, to], &[], 1);
        ways.pop()
    }

    /// Returns the shortest ways, at most `most`, that visit none of the switches in
    /// `barred`.
    pub(super) fn shortest_beside(
        &mut self,
        view: &View,
        [from, to]: [DatapathId; 2],
        barred: &[DatapathId],
        most: usize,
    ) -> Vec<SimplePath> {
        let ends = self.graph.node(from).zip(self.graph.node(to));
        let Some((start, end)) =
            ends.filter(|_| is_connected(view, from) && is_connected(view, to))
        else {
            return Vec::new();
        };
        let guide = self.guide(end);
        let mut closed = vec![false; self.graph.switches()];
        for node in barred.iter().filter_map(|at| self.graph.node(*at)) {
            closed[node] = true;
        }
        let search = Search::guided(&self.graph, end, guide);
        let mut ranking = Ranking::beside(search, start, most, closed);
        let ways = ranking.by_ref().collect();
        let visits = ranking.visits();
        self.visits += visits;
        if visits > MANY_VISITS && self.turned.closed > 0 {
            self.look_around(end);
        }
        ways
    }

    /// Computes the guide to a switch over what is open, unless that is known.
    fn look_around(&mut self, to: usize) {
        let known = self.recent.get(&to);
        if known.is_some_and(|(turned, _)| *turned == self.turned) {
            return;
        }
        if self.recent.len() >= MAX_GUIDES {
            self.recent.pop_first();
        }
        self.visits += self.graph.switches();
        let guide = Arc::new(Guide::to(&self.graph, to, Extent::Open));
        self.recent.insert(to, (self.turned, guide));
    }

    /// Returns the tree of the shortest ways from one port to others, to which they
    /// lead, and its cost to each of them added up. It is the one that
    /// [`find_tree`](super::find_tree) finds.
    ///
    /// # Errors
    ///
    /// The first port to which no way leads.
    pub fn tree(
        &mut self,
        view: &View,
        source: PortId,
        destinations: &[PortId],
    ) -> Result<(Tree, u64), PortId> {
        let mut growth = Growth::new(source);
        for destination in destinations {
            let way = self.shortest(view, source.datapath, destination.datapath);
            growth.add(&way.ok_or(*destination)?, destination.port);
        }
        Ok((growth.tree, growth.cost))
    }

    /// Returns the tree to those of the ports to which ways lead, its cost, and whether
    /// they lead to all; nothing if they lead to none.
    pub fn tree_to_some(
        &mut self,
        view: &View,
        source: PortId,
        destinations: &[PortId],
    ) -> Option<(Tree, u64, bool)> {
        let mut growth = Growth::new(source);
        let mut is_whole = true;
        for destination in destinations {
            match self.shortest(view, source.datapath, destination.datapath) {
                Some(way) => growth.add(&way, destination.port),
                None => is_whole = false,
            }
        }
        (!growth.tree.branches.is_empty()).then_some((growth.tree, growth.cost, is_whole))
    }

    /// Returns the tree of the shortest ways from a port to all switches that they
    /// lead to, and their cost added up.
    #[must_use]
    pub fn span(&self, view: &View, source: PortId) -> Option<(Tree, u64)> {
        let root = self.graph.node(source.datapath)?;
        if !is_connected(view, source.datapath) {
            return None;
        }
        let mut growth = Growth::new(source);
        let mut best = vec![None; self.graph.switches()];
        let mut open = BinaryHeap::from([Reverse((0, None, root))]);
        while let Some(Reverse((weight, by, here))) = open.pop() {
            if best[here].is_some() {
                continue;
            }
            best[here] = Some(weight);
            growth.extend(by.map(|arc| self.graph.arc(arc)));
            growth.cost = growth.cost.saturating_add(cost_of(weight));
            for number in self.graph.leaving(here) {
                let arc = self.graph.arc(*number);
                if arc.is_open && best[arc.to].is_none() {
                    open.push(Reverse((weight + arc.weight, Some(*number), arc.to)));
                }
            }
        }
        Some((growth.tree, growth.cost))
    }

    /// Returns the link from one switch to another that is the shortest open one.
    pub(super) fn arc_between(&self, from: DatapathId, to: DatapathId) -> Option<LinkEnds> {
        let (from, to) = (self.graph.node(from)?, self.graph.node(to)?);
        let arcs = self
            .graph
            .leaving(from)
            .iter()
            .map(|arc| self.graph.arc(*arc));
        let open = arcs.filter(|arc| arc.to == to && arc.is_open);
        let best = open.min_by_key(|arc| (arc.weight, arc.leaves))?;
        Some(LinkEnds::new(best.leaves, best.enters))
    }

    /// Returns what it costs to cross a link from a port, if it is open.
    pub(super) fn cost(&self, leaves: PortId, link: LinkEnds) -> Option<u64> {
        let from = self.graph.node(leaves.datapath)?;
        let enters = link.opposite(leaves)?;
        let mut arcs = self
            .graph
            .leaving(from)
            .iter()
            .map(|arc| self.graph.arc(*arc));
        let arc = arcs.find(|arc| arc.leaves == leaves && arc.enters == enters)?;
        arc.is_open.then(|| cost_of(arc.weight))
    }

    fn guide(&mut self, to: usize) -> Arc<Guide> {
        if let Some((turned, guide)) = self.recent.get(&to)
            && turned.opened == self.turned.opened
        {
            return Arc::clone(guide);
        }
        if let Some(guide) = self.guides.get(&to) {
            return Arc::clone(guide);
        }
        if self.guides.len() >= MAX_GUIDES {
            self.guides.pop_first();
        }
        self.visits += self.graph.switches();
        let guide = Arc::new(Guide::to(&self.graph, to, Extent::All));
        self.guides.insert(to, Arc::clone(&guide));
        guide
    }
}

/// A tree that ways from the same port are added to.
struct Growth {
    tree: Tree,
    places: BTreeMap<DatapathId, usize>,
    source: PortId,
    cost: u64,
}

impl Growth {
    fn new(source: PortId) -> Self {
        Self {
            tree: Tree::default(),
            places: BTreeMap::new(),
            source,
            cost: 0,
        }
    }

    /// Adds a way. Where it visits a switch that the tree visits already it came
    /// there by the same links: each switch has one best predecessor.
    fn add(&mut self, way: &SimplePath, destination: PortNumber) {
        let mut place = self.place(self.source, None);
        for crossing in &way.crossings {
            self.lead(place, crossing.leaves.port);
            place = self.place(crossing.enters, Some((place, crossing.leaves.port)));
        }
        self.lead(place, destination);
        self.cost = self.cost.saturating_add(way.cost);
    }

    /// Adds the switch that an arc leads to, or the first one.
    fn extend(&mut self, arc: Option<&super::graph::Arc>) {
        let Some(arc) = arc else {
            self.place(self.source, None);
            return;
        };
        if let Some(before) = self.places.get(&arc.leaves.datapath).copied() {
            self.lead(before, arc.leaves.port);
            self.place(arc.enters, Some((before, arc.leaves.port)));
        }
    }

    fn place(&mut self, entrance: PortId, parent: Option<(usize, PortNumber)>) -> usize {
        *self.places.entry(entrance.datapath).or_insert_with(|| {
            self.tree.branches.push(Branch {
                datapath: entrance.datapath,
                input: entrance.port,
                outputs: Vec::new(),
                parent,
            });
            self.tree.branches.len() - 1
        })
    }

    fn lead(&mut self, place: usize, port: PortNumber) {
        let outputs = &mut self.tree.branches[place].outputs;
        if let Err(index) = outputs.binary_search(&port) {
            outputs.insert(index, port);
        }
    }
}

fn extent(view: &View) -> (usize, usize) {
    (view.switches().len(), view.links().len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Instant;

    use super::super::find_tree;
    use super::super::fixture::{access, any_network, network, price};
    use super::*;

    proptest! {
        /// Whatever breaks and comes back, a kept graph gives the trees that a new one
        /// would.
        #[test]
        fn a_kept_graph_gives_the_trees_of_a_new_one(
            (switches, links) in any_network(9, 30),
            seed in any::<u64>(),
            changes in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
            destinations in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        ) {
            let mut view = network(switches, &links);
            let cost = price(seed);
            let mut atlas = Atlas::new(&view, &cost);
            let wanted: Vec<PortId> = destinations
                .iter()
                .map(|at| access(1 + at.index(usize::try_from(switches).unwrap()) as u64))
                .collect();
            for change in changes {
                turn(&mut view, change);
                for at in 1..=switches {
                    atlas.refresh(&view, DatapathId(at));
                }

                let found = atlas.tree(&view, access(1), &wanted);

                let expected = find_tree(&view, access(1), &wanted, &[], &cost);
                prop_assert_eq!(found.map(|(tree, _)| tree), expected);
            }
            prop_assert!(atlas.is_of(&view));
        }
    }

    /// Takes a link down that is up, and up one that is down.
    fn turn(view: &mut View, which: prop::sample::Index) {
        if view.links().is_empty() {
            return;
        }
        let link = view.links()[which.index(view.links().len())];
        let id = view.link(link.ends).unwrap();
        let [one, other] = link.ends.both();
        if !view.lose(Instant::ZERO, id) {
            view.confirm(Instant::ZERO, one, other);
            view.confirm(Instant::ZERO, other, one);
        }
    }
}
