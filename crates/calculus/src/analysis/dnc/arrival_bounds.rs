//! How bursty flows have become where they arrive: cross traffic followed back
//! to its sources.
//!
//! Flows that come to a server over the same link are bounded together. Back
//! from there they have some servers in common, in the extreme only one; the
//! group is served there by what all other flows leave over, so its burst `b`
//! at the first of them has become `b + r * T` behind the last, where `T` is
//! the latency of that left-over service (see `left_over`). The other flows,
//! and the group at the first common server, are bounded in the same way.
//!
//! # The flow of interest counts as absent on its own path
//!
//! Where the order is arbitrary, the flow of interest may as well be served
//! last wherever it goes: call that the changed network. In it nobody on the
//! path notices the flow of interest, so what they do to each other is bounded
//! without it. Its own delay is not less there. For compare both networks with
//! the same arrivals of all flows where they join the path, and let changed
//! servers first keep every cross flow from falling behind its course in the
//! original, then serve what else there is of cross traffic, then the flow of
//! interest; while an original server is idle, let its counterpart serve all it
//! has at once. Server by server along the path:
//!
//! 1. each cross flow has arrived at least as far as in the original, and all
//!    flows together no farther (those that left the path left no later);
//! 2. at the end of an idle time nothing is left in either server, and in a
//!    busy time the changed one serves no more than the original;
//! 3. so the same holds for what departs, and for the flow of interest, which
//!    is the whole less the cross traffic, it means: no farther.
//!
//! A changed server is backlogged only while the original is, and serves as
//! much, so it keeps every strict service curve. A flow that comes from off the
//! path arrives as in the original, where the flow of interest was there and
//! may have held up others: from where cross traffic is followed back off the
//! path, the flow of interest counts like any other. Where servers are first
//! in, first out, none of this is shown, and the flow of interest counts
//! everywhere.
//!
//! # Differs from the DNC
//!
//! With FIFO servers the DNC leaves the flow of interest out in some of its own
//! tests, where nobody has shown that this holds. For arbitrary multiplexing, it
//! counts the flow of interest off the path at the servers of the path itself,
//! but not everywhere in the recursion.
//! Where a group of flows comes together on the path, and some of them had met
//! the flow of interest before and left it, its result can be too small.

use units::fine::Rate;

use super::histories::{Histories, HistoryIndex};
use super::remembered::Remembered;
use super::simplified::Simplified;
use super::{Concatenation, Order};
use crate::analysis::budget::Budget;
use crate::analysis::{RateLatency, ServerGraph, ServerId, TokenBucket};

/// What a flow in a set costs, each time that the set is bounded, in steps of a
/// budget.
const STEPS_A_PLACE: u64 = 20;

/// How many groups may be followed back inside one another.
pub(super) const DEPTH_MAX: usize = 1_000;

/// Whether the flow of interest is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It counts like any other.
    Counted,
    /// It is served last, and nobody notices it.
    Absent,
}

/// A server that a group of flows crosses.
#[derive(Clone, Copy, Debug)]
pub(super) struct CrossedServer {
    pub(super) server: ServerId,
    pub(super) presence: Presence,
}

/// Why a computation was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooLarge {
    /// More groups inside one another than [`DEPTH_MAX`].
    Depth,
    /// More work than the budget allows.
    Work,
}

/// Bounds arrivals, and remembers what it has bounded.
#[derive(Debug)]
pub(super) struct ArrivalBounds<'a> {
    pub(super) network: &'a ServerGraph,
    pub(super) histories: &'a Histories,
    pub(super) simplified: &'a Simplified,
    pub(super) order: Order,
    pub(super) concatenation: Concatenation,
    pub(super) budget: &'a Budget<'a>,
    /// Why results can no longer be used, if so.
    pub(super) too_large: Option<TooLarge>,
    /// By server: the place of the flow that is absent where
    /// [`Presence::Absent`], if it comes by.
    along: Vec<Option<HistoryIndex>>,
    /// The sets in use, one behind the other.
    pub(super) sets: Vec<HistoryIndex>,
    counted: Remembered,
    absent: Remembered,
    depth: usize,
}

impl<'a> ArrivalBounds<'a> {
    pub(super) fn new(
        network: &'a ServerGraph,
        histories: &'a Histories,
        simplified: &'a Simplified,
        (order, concatenation): (Order, Concatenation),
        budget: &'a Budget<'a>,
    ) -> Self {
        Self {
            network,
            histories,
            simplified,
            order,
            concatenation,
            budget,
            too_large: None,
            along: vec![None; network.servers().len()],
            sets: Vec::new(),
            counted: Remembered::new(),
            absent: Remembered::new(),
            depth: 0,
        }
    }

    /// Makes the flow that begins at a place the one that is absent where
    /// [`Presence::Absent`].
    pub(super) fn set_of_interest(&mut self, begin: HistoryIndex) {
        self.along.fill(None);
        let path = std::iter::successors(Some(begin), |place| self.histories.behind(*place));
        for place in path {
            self.along[self.histories.server(place).index()] = Some(place);
        }
        self.absent.clear();
    }

    /// Bounds all flows together that arrive at a server.
    pub(super) fn of_all(&mut self, server: ServerId) -> Option<TokenBucket> {
        let begin = self.sets.len();
        self.sets.extend(self.histories.at(server));
        let bound = self.of_set(begin, Presence::Counted);
        self.sets.truncate(begin);
        bound
    }

    /// Bounds the flows of a set together where they arrive at their server;
    /// the set is what lies in `sets` from `begin` on.
    pub(super) fn of_set(&mut self, begin: usize, presence: Presence) -> Option<TokenBucket> {
        let end = self.sets.len();
        if !self.budget.spend(STEPS_A_PLACE * (1 + end - begin) as u64) {
            self.too_large = Some(TooLarge::Work);
        }
        let mut bound = TokenBucket::default();
        let mut at = begin;
        while at < end {
            let place = self.sets[at];
            let group = at;
            at += 1;
            let bucket = match self.histories.server_before(place) {
                None => self.simplified.bucket(self.histories.flow(place)),
                Some(from) => {
                    let same =
                        |next: &&HistoryIndex| self.histories.server_before(**next) == Some(from);
                    at += self.sets[at..end].iter().take_while(same).count();
                    let presence = self.presence_before(presence, from, place);
                    self.of_group(group, at, presence)?
                }
            };
            bound = sum(bound, bucket)?;
        }
        Some(bound)
    }

    /// Returns whether the flow of interest is there one server back: it is
    /// absent only along its own path.
    fn presence_before(&self, presence: Presence, from: ServerId, place: HistoryIndex) -> Presence {
        let along = self.along[self.histories.server(place).index()];
        match along.and_then(|along| self.histories.server_before(along)) {
            Some(before) if before == from => presence,
            Some(_) | None => Presence::Counted,
        }
    }

    /// Bounds the flows in `sets[begin..end]`, which came over one link.
    fn of_group(&mut self, begin: usize, end: usize, presence: Presence) -> Option<TokenBucket> {
        let set = &self.sets[begin..end];
        let known = match presence {
            Presence::Counted => self.counted.get(set),
            Presence::Absent => self.absent.get(set),
        };
        known.unwrap_or_else(|| self.remember(begin, end, presence))
    }

    fn remember(&mut self, begin: usize, end: usize, presence: Presence) -> Option<TokenBucket> {
        if self.depth == DEPTH_MAX {
            self.too_large = Some(TooLarge::Depth);
        }
        if self.too_large.is_some() {
            return None;
        }
        self.depth += 1;
        let in_use = self.sets.len();
        let bound = self.behind_common_hops(begin, end, presence);
        self.sets.truncate(in_use);
        self.depth -= 1;
        let set = &self.sets[begin..end];
        let table = match presence {
            Presence::Counted => &mut self.counted,
            Presence::Absent => &mut self.absent,
        };
        if self.too_large.is_none() && !table.insert(set, bound) {
            table.clear();
        }
        bound
    }

    /// Bounds a group behind the servers that it has in common.
    fn behind_common_hops(
        &mut self,
        begin: usize,
        end: usize,
        presence: Presence,
    ) -> Option<TokenBucket> {
        let hops = self.common_hops(begin, end, presence);
        let group = self.sets.len();
        for index in begin..end {
            let source = self.back(self.sets[index], hops.len());
            self.sets.push(source);
        }
        let arriving = self.of_set(group, hops[0].presence)?;
        let service = self.left_over(&hops, group)?;
        if arriving.rate > service.rate {
            return None;
        }
        let grown = arriving.rate.most_in(service.latency)?;
        let burst = arriving.burst.checked_add(grown)?;
        Some(TokenBucket { burst, ..arriving })
    }

    /// Returns whether a place is that of the flow of interest where it is
    /// absent.
    pub(super) fn is_absent(&self, hop: CrossedServer, place: HistoryIndex) -> bool {
        hop.presence == Presence::Absent && self.along[hop.server.index()] == Some(place)
    }

    /// Returns the servers that a group has in common back from where it is.
    fn common_hops(&self, begin: usize, end: usize, mut presence: Presence) -> Vec<CrossedServer> {
        let (mut place, last) = (self.sets[begin], self.sets[end - 1]);
        let common = self.histories.common_servers(place, last);
        let mut hops = Vec::with_capacity(common);
        for _ in 0..common {
            let before = self.back(place, 1);
            let server = self.histories.server(before);
            if !hops.is_empty() {
                presence = self.presence_before(presence, server, place);
            }
            hops.push(CrossedServer { server, presence });
            place = before;
        }
        hops.reverse();
        hops
    }

    /// Returns where a flow was some servers before.
    fn back(&self, place: HistoryIndex, servers: usize) -> HistoryIndex {
        let mut here = place;
        for _ in 0..servers {
            let before = self.histories.before(here);
            here = before.expect("the servers are common to the group");
        }
        here
    }

    /// Puts all flows behind the sets in use that cross a server besides a
    /// group, whose places there are `sets[begin..end]`.
    pub(super) fn push_others(&mut self, hop: CrossedServer, begin: usize, end: usize) {
        let others = self.sets.len();
        self.histories
            .push_but(hop.server, &mut self.sets, begin..end);
        if let (Presence::Absent, Some(absent)) = (hop.presence, self.along[hop.server.index()])
            && let Ok(at) = self.sets[others..].binary_search(&absent)
        {
            self.sets.remove(others + at);
        }
    }

    /// Returns the sum of the rates of `sets[begin..end]`.
    pub(super) fn rate(&self, begin: usize, end: usize) -> Option<Rate> {
        let rate = |place: &HistoryIndex| self.simplified.bucket(self.histories.flow(*place)).rate;
        let mut rates = self.sets[begin..end].iter().map(rate);
        rates.try_fold(Rate::ZERO, Rate::checked_add)
    }

    pub(super) fn left_over(
        &mut self,
        hops: &[CrossedServer],
        group: usize,
    ) -> Option<RateLatency> {
        match self.concatenation {
            Concatenation::HopByHop => self.hop_by_hop(hops, group),
            Concatenation::Once => self.once(hops, group),
            Concatenation::BestCut => self.best_cut(hops, group),
        }
    }
}

fn sum(one: TokenBucket, other: TokenBucket) -> Option<TokenBucket> {
    Some(TokenBucket {
        rate: one.rate.checked_add(other.rate)?,
        burst: one.burst.checked_add(other.burst)?,
    })
}
