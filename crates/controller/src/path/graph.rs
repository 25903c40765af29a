//! Switches and links laid out for searches.
//!
//! Switches are numbered in the order of their datapath ids and arcs in the order
//! of the port by which they leave, so that comparing numbers compares places. An
//! arc is one direction of a link. It is open while the link is up and both of its
//! switches are connected: where no entry can be installed, no flow can pass.

use wire::openflow::DatapathId;

use super::tree::Cost;
use crate::place::{LinkEnds, PortId};
use crate::view::{Carrier, Control, View};

/// What a way weighs: its cost, and in the lower half how many links it has. The
/// lighter of two ways is the shorter one.
pub(super) type Weight = u128;

/// What one unit of cost weighs, more than all links together.
const COST: Weight = 1 << 64;
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

/// How many arcs have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Turned {
    pub(super) opened: u64,
    pub(super) closed: u64,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) leaves: PortId,
    pub(super) enters: PortId,
    pub(super) weight: Weight,
    pub(super) is_open: bool,
}

impl Graph {
    /// Lays out what is open and what `is_wanted` lets pass: it is asked for each
    /// direction of each link, named by the port by which frames leave and by the
    /// link.
    #[must_use]
    pub fn new(view: &View, cost: Cost<'_>, is_wanted: &dyn Fn(PortId, LinkEnds) -> bool) -> Self {
        let connected = |datapath: &DatapathId| is_connected(view, *datapath);
        Self::lay_out(view, cost, &connected, &|leaves, link| {
            (is_open(view, link) && is_wanted(leaves, link)).then_some(true)
        })
    }

    /// Lays out all that was ever found, open or not.
    pub(super) fn of_all(view: &View, cost: Cost<'_>) -> Self {
        Self::lay_out(view, cost, &|_| true, &|_, link| Some(is_open(view, link)))
    }

    /// Lays out the switches that `is_part` lets pass, and the arcs of which
    /// `opening` says whether they are open.
    fn lay_out(
        view: &View,
        cost: Cost<'_>,
        is_part: &dyn Fn(&DatapathId) -> bool,
        opening: &dyn Fn(PortId, LinkEnds) -> Option<bool>,
    ) -> Self {
        let switches = view.switches().iter().map(|switch| switch.datapath);
        let mut datapaths: Vec<DatapathId> = switches.filter(is_part).collect();
        datapaths.sort_unstable();
        let node = |datapath| datapaths.binary_search(&datapath).ok();
        let mut arcs = Vec::with_capacity(2 * view.links().len());
        for link in view.links() {
            let [lower, higher] = link.ends.both();
            for (leaves, enters) in [(lower, higher), (higher, lower)] {
                if let Some(from) = node(leaves.datapath)
                    && let Some(to) = node(enters.datapath)
                    && let Some(is_open) = opening(leaves, link.ends)
                {
                    arcs.push(Arc {
                        from,
                        to,
                        leaves,
                        enters,
                        weight: Weight::from(cost(leaves)) * COST + LINK,
                        is_open,
                    });
                }
            }
        }
        arcs.sort_unstable_by_key(|arc| (arc.from, arc.leaves, arc.enters));
        let mut leaving = vec![Vec::new(); datapaths.len()];
        let mut entering = vec![Vec::new(); datapaths.len()];
        for (number, arc) in arcs.iter().enumerate() {
            leaving[arc.from].push(number);
            entering[arc.to].push(number);
        }
        Self {
            datapaths,
            arcs,
            leaving,
            entering,
        }
    }

    /// Takes over which of the arcs at a switch are open now. Returns how many were
    /// opened and how many closed.
    pub(super) fn refresh(&mut self, view: &View, datapath: DatapathId) -> Turned {
        let mut turned = Turned::default();
        let Some(node) = self.node(datapath) else {
            return turned;
        };
        for number in self.leaving[node].iter().chain(&self.entering[node]) {
            let arc = &mut self.arcs[*number];
            let is_open = is_open(view, LinkEnds::new(arc.leaves, arc.enters));
            match (std::mem::replace(&mut arc.is_open, is_open), is_open) {
                (false, true) => turned.opened += 1,
                (true, false) => turned.closed += 1,
                (false, false) | (true, true) => {}
            }
        }
        turned
    }

    /// Returns how many switches there are.
    #[must_use]
    pub const fn switches(&self) -> usize {
        self.datapaths.len()
    }

    /// Returns the number of a switch.
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

/// Returns whether a switch is connected.
pub(super) fn is_connected(view: &View, datapath: DatapathId) -> bool {
    let switch = view.switch(datapath);
    switch.is_some_and(|switch| view.switches()[switch.index()].control == Control::Connected)
}

fn is_open(view: &View, link: LinkEnds) -> bool {
    let is_up = view
        .link(link)
        .is_some_and(|id| view.links()[id.index()].carrier == Carrier::Up);
    is_up
        && link
            .both()
            .iter()
            .all(|end| is_connected(view, end.datapath))
}
