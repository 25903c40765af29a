//! Every flow at every server of its path, in the order of the ways by which
//! flows come.
//!
//! At a server, flows that begin there stand first, then those that come from
//! one server, then those from the next; among those from one server the order
//! is that which they have there. So the flows that come over one link stand
//! side by side, a group keeps its order when it is followed back, and what the
//! first and the last of a group have in common all between them have too.

use std::num::NonZeroU32;
use std::ops::Range;

use crate::analysis::{FlowId, Network, ServerId};

/// One flow at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(NonZeroU32);

/// All places of a network.
#[derive(Debug)]
pub(super) struct Histories {
    steps: Vec<Step>,
    /// By server: its places stand side by side.
    at: Vec<Range<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    flow: FlowId,
    server: ServerId,
    before: Option<Place>,
    behind: Option<Place>,
}

impl Place {
    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    fn of(index: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index))
    }

    /// Returns a number that no other place of the network has.
    pub(super) const fn number(self) -> u32 {
        self.0.get()
    }
}

impl Histories {
    /// Puts the flows of a network in order.
    ///
    /// # Errors
    ///
    /// A server on a cycle, if there is one.
    pub(super) fn of(network: &Network) -> Result<Self, ServerId> {
        let order = network.feed_forward_order()?;
        let mut histories = Self {
            steps: Vec::new(),
            at: vec![0..0; network.servers().len()],
        };
        let mut newest: Vec<Option<Place>> = vec![None; network.flows().len()];
        let mut arriving = Vec::new();
        for server in order {
            let crossings = network.crossings(server).iter();
            arriving.clear();
            arriving.extend(crossings.map(|at| (newest[at.flow.index()], at.flow)));
            arriving.sort_unstable();
            histories.append(server, &arriving, &mut newest);
        }
        Ok(histories)
    }

    /// Returns the places at a server.
    pub(super) fn at(&self, server: ServerId) -> impl Iterator<Item = Place> + use<> {
        self.at[server.index()].clone().map(Place::of)
    }

    /// Returns the flow that is at a place.
    pub(super) fn flow(&self, place: Place) -> FlowId {
        self.steps[place.index()].flow
    }

    /// Returns the server of a place.
    pub(super) fn server(&self, place: Place) -> ServerId {
        self.steps[place.index()].server
    }

    /// Returns where the flow comes from, or nothing where it begins.
    pub(super) fn before(&self, place: Place) -> Option<Place> {
        self.steps[place.index()].before
    }

    /// Returns where the flow goes, or nothing where it ends.
    pub(super) fn behind(&self, place: Place) -> Option<Place> {
        self.steps[place.index()].behind
    }

    /// Returns the server that the flow comes from, or nothing where it begins.
    pub(super) fn server_before(&self, place: Place) -> Option<ServerId> {
        self.before(place).map(|before| self.server(before))
    }

    /// Returns how many servers in a row, counted back from the one before
    /// `first`, two flows have in common that come over the same link.
    pub(super) fn common_servers(&self, first: Place, last: Place) -> usize {
        let (mut first, mut last, mut common) = (first, last, 0);
        while let (Some(one), Some(other)) = (self.before(first), self.before(last)) {
            if self.server(one) != self.server(other) {
                break;
            }
            (first, last, common) = (one, other, common + 1);
        }
        common
    }

    fn append(
        &mut self,
        server: ServerId,
        arriving: &[(Option<Place>, FlowId)],
        newest: &mut [Option<Place>],
    ) {
        let begin = number(self.steps.len());
        for ((before, flow), index) in arriving.iter().zip(begin..) {
            let place = Place::of(index);
            if let Some(before) = before {
                self.steps[before.index()].behind = Some(place);
            }
            newest[flow.index()] = Some(place);
            self.steps.push(Step {
                flow: *flow,
                server,
                before: *before,
                behind: None,
            });
        }
        self.at[server.index()] = begin..number(self.steps.len());
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("a network numbers its crossings in 32 bits")
}
