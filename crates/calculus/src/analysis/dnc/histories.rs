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

use crate::analysis::{FlowId, ServerGraph, ServerId};

/// One flow at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HistoryIndex(NonZeroU32);

/// All places of a network.
#[derive(Debug)]
pub(super) struct Histories {
    steps: Vec<HistoryStep>,
    /// By server: its places stand side by side.
    at: Vec<Range<u32>>,
    /// By flow: its place at the first server of its path.
    begins: Vec<HistoryIndex>,
}

#[derive(Clone, Copy, Debug)]
struct HistoryStep {
    flow: FlowId,
    server: ServerId,
    before: Option<HistoryIndex>,
    /// The server of that place.
    from: Option<ServerId>,
    behind: Option<HistoryIndex>,
}

impl HistoryIndex {
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
    pub(super) fn of(network: &ServerGraph) -> Result<Self, ServerId> {
        let order = network.feed_forward_order()?;
        let mut histories = Self {
            steps: Vec::new(),
            at: vec![0..0; network.servers().len()],
            begins: vec![HistoryIndex::of(0); network.flows().len()],
        };
        let mut newest: Vec<Option<HistoryIndex>> = vec![None; network.flows().len()];
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

    /// Returns the places at a server, in order.
    pub(super) fn at(&self, server: ServerId) -> impl Iterator<Item = HistoryIndex> + use<> {
        self.at[server.index()].clone().map(HistoryIndex::of)
    }

    /// Puts the places at a server behind a list, in order, but for those that
    /// the list itself has, in order, at `left_out`.
    pub(super) fn push_but(
        &self,
        server: ServerId,
        list: &mut Vec<HistoryIndex>,
        left_out: Range<usize>,
    ) {
        let mut rest = self.at[server.index()].clone();
        for index in left_out {
            let until = list[index].number() - 1;
            list.extend((rest.start..until).map(HistoryIndex::of));
            rest.start = until + 1;
        }
        list.extend(rest.map(HistoryIndex::of));
    }

    /// Returns the place of a flow at the first server of its path.
    pub(super) fn begin(&self, flow: FlowId) -> HistoryIndex {
        self.begins[flow.index()]
    }

    /// Returns the flow that is at a place.
    pub(super) fn flow(&self, place: HistoryIndex) -> FlowId {
        self.steps[place.index()].flow
    }

    /// Returns the server of a place.
    pub(super) fn server(&self, place: HistoryIndex) -> ServerId {
        self.steps[place.index()].server
    }

    /// Returns where the flow comes from, or nothing where it begins.
    pub(super) fn before(&self, place: HistoryIndex) -> Option<HistoryIndex> {
        self.steps[place.index()].before
    }

    /// Returns where the flow goes, or nothing where it ends.
    pub(super) fn behind(&self, place: HistoryIndex) -> Option<HistoryIndex> {
        self.steps[place.index()].behind
    }

    /// Returns the server that the flow comes from, or nothing where it begins.
    pub(super) fn server_before(&self, place: HistoryIndex) -> Option<ServerId> {
        self.steps[place.index()].from
    }

    /// Returns how many servers in a row, counted back from the one before
    /// `first`, two flows have in common that come over the same link.
    pub(super) fn common_servers(&self, first: HistoryIndex, last: HistoryIndex) -> usize {
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
        arriving: &[(Option<HistoryIndex>, FlowId)],
        newest: &mut [Option<HistoryIndex>],
    ) {
        let begin = number(self.steps.len());
        for ((before, flow), index) in arriving.iter().zip(begin..) {
            let place = HistoryIndex::of(index);
            match before {
                None => self.begins[flow.index()] = place,
                Some(before) => self.steps[before.index()].behind = Some(place),
            }
            newest[flow.index()] = Some(place);
            let from = before.map(|before| self.server(before));
            self.steps.push(HistoryStep {
                flow: *flow,
                server,
                before: *before,
                from,
                behind: None,
            });
        }
        self.at[server.index()] = begin..number(self.steps.len());
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("a network numbers its crossings in 32 bits")
}

#[cfg(test)]
pub(super) mod tests {
    use units::fine::{Data, Rate, Time};

    use super::*;
    use crate::analysis::{Multiplexing, RateLatency, Server, ServerFlow, TokenBucket};

    /// Paths 0-1-3, 2-1-3, 0-1-3 again, 3 alone, and 1-3.
    const PATHS: [&[u32]; 5] = [&[0, 1, 3], &[2, 1, 3], &[0, 1, 3], &[3], &[1, 3]];

    #[test]
    fn flows_stand_at_a_server_in_the_order_of_the_ways_they_came() {
        let histories = histories();

        let flows = histories.at(ServerId(3)).map(|at| histories.flow(at).0);

        // First who begins here, then who comes from 1: that began there, that
        // comes from 0, that comes from 2.
        assert_eq!(flows.collect::<Vec<_>>(), [3, 4, 0, 2, 1]);
    }

    #[test]
    fn two_flows_have_the_servers_in_common_back_to_where_they_met() {
        let histories = histories();
        let at_3: Vec<_> = histories.at(ServerId(3)).collect();

        let common = |one: usize, other: usize| histories.common_servers(at_3[one], at_3[other]);

        assert_eq!(common(2, 3), 2, "0-1-3 and 0-1-3");
        assert_eq!(common(1, 4), 1, "1-3 and 2-1-3");
        assert_eq!(common(2, 4), 1, "0-1-3 and 2-1-3");
        assert_eq!(common(0, 1), 0, "3 and 1-3");
    }

    #[test]
    fn a_flow_is_followed_forth_and_back() {
        let histories = histories();
        let begin = histories.begin(FlowId(1));

        let forth = std::iter::successors(Some(begin), |at| histories.behind(*at));
        let servers: Vec<_> = forth.clone().map(|at| histories.server(at).0).collect();
        let end = forth.last().unwrap();
        let back = std::iter::successors(Some(end), |at| histories.before(*at));

        assert_eq!(servers, [2, 1, 3]);
        assert_eq!(back.last(), Some(begin));
        assert_eq!(histories.server_before(end), Some(ServerId(1)));
        assert_eq!(histories.server_before(begin), None);
    }

    #[test]
    fn all_places_at_a_server_but_some_are_the_others() {
        let histories = histories();
        let at_3: Vec<_> = histories.at(ServerId(3)).collect();
        for left_out in 0u32..32 {
            let has = |(_, at): &(&HistoryIndex, u32)| left_out >> at & 1 == 0;
            let picked = |keep: bool| {
                let all = at_3.iter().zip(0..);
                all.filter(|it| has(it) == keep)
                    .map(|it| *it.0)
                    .collect::<Vec<_>>()
            };
            let mut list = picked(false);
            let out = 0..list.len();

            histories.push_but(ServerId(3), &mut list, out.clone());

            assert_eq!(list[out.end..], picked(true));
        }
    }

    pub fn place(index: u32) -> HistoryIndex {
        HistoryIndex::of(index)
    }

    fn histories() -> Histories {
        let server = Server {
            service: vec![RateLatency {
                rate: Rate::from_ubps(100),
                latency: Time::ZERO,
            }],
            link: None,
            multiplexing: Multiplexing::Fifo,
        };
        let mut network = ServerGraph::new(vec![server; 4]).unwrap();
        for path in PATHS {
            let flow = ServerFlow {
                buckets: vec![TokenBucket::default()],
                path: path.iter().copied().map(ServerId).collect(),
                max_packet: Data::ZERO,
                priority: 0,
            };
            network.add(&flow).unwrap();
        }
        Histories::of(&network).unwrap()
    }
}
