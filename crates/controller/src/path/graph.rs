//! The part of the view that frames can be sent through, laid out for searches.
//!
//! Switches are numbered in the order of their datapath ids and arcs in the order
//! of the port by which they leave, so that comparing numbers compares places. An
//! arc is one direction of a link that is up, between two switches that are
//! connected.

use wire::openflow::DatapathId;

use super::tree::Cost;
use crate::place::{LinkEnds, PortId};
use crate::view::{Control, SwitchId, View};

/// What a way weighs: its cost, and in the lower half how many links it has. The
/// lighter of two ways is the shorter one.
pub(super) type Weight = u128;

/// What one unit of cost weighs, more than all links together.
const COST: Weight = 1 << 64;
/// What one link weighs.
const LINK: Weight = 1;

/// Switches and the directions of the links between them.
#[derive(Clone, Debug)]
pub struct Graph {
    datapaths: Vec<DatapathId>,
    arcs: Vec<Arc>,
    /// The arcs that leave each switch, by number.
    leaving: Vec<Vec<usize>>,
    /// The arcs that enter each switch, by number.
    entering: Vec<Vec<usize>>,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) leaves: PortId,
    pub(super) enters: PortId,
    pub(super) weight: Weight,
}

impl Graph {
    /// Lays out what is up and connected and what `is_open` lets pass: it is asked
    /// for each direction of each link, named by the port by which frames leave
    /// and by the link.
    #[must_use]
    pub fn new(view: &View, cost: Cost<'_>, is_open: &dyn Fn(PortId, LinkEnds) -> bool) -> Self {
        let switches = view.switches();
        let connected = |switch: &&crate::view::Switch| switch.control == Control::Connected;
        let mut datapaths: Vec<DatapathId> = switches
            .iter()
            .filter(connected)
            .map(|switch| switch.datapath)
            .collect();
        datapaths.sort_unstable();
        let ids: Vec<SwitchId> = datapaths.iter().filter_map(|at| view.switch(*at)).collect();
        let mut places = vec![None; switches.len()];
        for (place, id) in ids.iter().enumerate() {
            places[id.index()] = Some(place);
        }
        let mut graph = Self {
            leaving: vec![Vec::new(); ids.len()],
            entering: vec![Vec::new(); ids.len()],
            arcs: Vec::new(),
            datapaths,
        };
        for (from, id) in ids.into_iter().enumerate() {
            for (output, next, input) in view.neighbours(id) {
                let Some(to) = places[next.index()] else {
                    continue;
                };
                let leaves = PortId::new(graph.datapaths[from], output);
                let enters = PortId::new(graph.datapaths[to], input);
                if is_open(leaves, LinkEnds::new(leaves, enters)) {
                    let weight = Weight::from(cost(leaves)) * COST + LINK;
                    graph.add(Arc {
                        from,
                        to,
                        leaves,
                        enters,
                        weight,
                    });
                }
            }
        }
        graph
    }

    fn add(&mut self, arc: Arc) {
        let number = self.arcs.len();
        self.leaving[arc.from].push(number);
        self.entering[arc.to].push(number);
        self.arcs.push(arc);
    }

    /// Returns how many switches there are.
    #[must_use]
    pub const fn switches(&self) -> usize {
        self.datapaths.len()
    }

    /// Returns the number of a switch, if it is connected.
    pub(super) fn node(&self, datapath: DatapathId) -> Option<usize> {
        self.datapaths.binary_search(&datapath).ok()
    }

    pub(super) fn datapath(&self, node: usize) -> DatapathId {
        self.datapaths[node]
    }

    pub(super) fn arc(&self, number: usize) -> &Arc {
        &self.arcs[number]
    }

    pub(super) const fn arcs(&self) -> &Vec<Arc> {
        &self.arcs
    }

    pub(super) fn leaving(&self, node: usize) -> &[usize] {
        &self.leaving[node]
    }

    pub(super) fn entering(&self, node: usize) -> &[usize] {
        &self.entering[node]
    }
}

/// Returns the cost that is part of a weight.
pub(super) fn cost_of(weight: Weight) -> u64 {
    u64::try_from(weight / COST).unwrap_or(u64::MAX)
}
