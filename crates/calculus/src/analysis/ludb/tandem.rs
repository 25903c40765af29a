//! Who crosses which part of a path, and how overlaps are cut.
//!
//! A group is the flows that run along the same servers of a path. The left-over
//! service of a path is built from the inside out, which needs groups of which no
//! two overlap unless one holds the other. Where two do, one of them is cut at a
//! server: what is behind counts as other flows, which arrive there with the burst
//! that the cut ones can have by then. Which of the two is cut is a choice, and
//! each has its bound.

use std::ops::Range;

use crate::analysis::{FlowId, ServerGraph, ServerId, TokenBucket};

/// Traffic that crosses some servers of a path in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TandemTraffic {
    /// The place of the first of them on the path.
    pub first: usize,
    /// The place of the last of them.
    pub last: usize,
    /// What arrives at the first of them at most.
    pub bucket: TokenBucket,
}

impl TandemTraffic {
    /// Returns the places of its servers on the path.
    pub(super) fn places(&self) -> Range<usize> {
        self.first..self.last + 1
    }
}

/// Flows that run along the same servers of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParallelFlows {
    /// The place of the first of them on the path.
    pub first: usize,
    /// The place of the last of them.
    pub last: usize,
    /// In the order of their numbers.
    pub flows: Vec<FlowId>,
}

/// What of some groups runs along the same servers once it has been cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The place of the first of them on the path.
    pub first: usize,
    /// The place of the last of them.
    pub last: usize,
    /// The places of the groups, in their order.
    pub of: Vec<usize>,
}

impl Piece {
    /// Returns the flows of its groups, in the order of their numbers.
    pub(super) fn flows(&self, groups: &[ParallelFlows]) -> Vec<FlowId> {
        let flows = self.of.iter().flat_map(|group| &groups[*group].flows);
        let mut flows: Vec<_> = flows.copied().collect();
        flows.sort_unstable();
        flows
    }

    fn size(&self, groups: &[ParallelFlows]) -> usize {
        self.of.iter().map(|group| groups[*group].flows.len()).sum()
    }
}

/// A flow, and from where to where it runs along a path.
type FlowRun = (usize, usize, FlowId);

/// Returns whom `own` meet on the way along `path`, which they all cross: groups
/// by where they join and where they part. A flow that leaves and comes
/// back is in two of them.
pub(super) fn groups(
    network: &ServerGraph,
    path: &[ServerId],
    own: &[FlowId],
) -> Vec<ParallelFlows> {
    let mut runs = Vec::new();
    for (first, server) in path.iter().enumerate() {
        for crossing in network.crossings(*server) {
            let (flow, hop) = (crossing.flow, crossing.hop as usize);
            let theirs = network.path(flow);
            let came_along = first > 0 && hop > 0 && theirs[hop - 1] == path[first - 1];
            if came_along || own.binary_search(&flow).is_ok() {
                continue;
            }
            let pairs = theirs[hop..].iter().zip(&path[first..]);
            let length = pairs.take_while(|(theirs, ours)| theirs == ours).count();
            runs.push((first, first + length - 1, flow));
        }
    }
    runs.sort_unstable();
    let same = |left: &FlowRun, right: &FlowRun| (left.0, left.1) == (right.0, right.1);
    let group = |runs: &[FlowRun]| ParallelFlows {
        first: runs[0].0,
        last: runs[0].1,
        flows: runs.iter().map(|run| run.2).collect(),
    };
    runs.chunk_by(same).map(group).collect()
}

/// Cuts groups until of each two pieces that overlap one holds the other; the
/// inner ones come first. With `everywhere`, all are cut at this place first, so
/// that those which come to it together are bounded together there.
pub(super) fn nest(
    groups: &[ParallelFlows],
    everywhere: Option<usize>,
    decisions: &mut Decisions,
) -> Vec<Piece> {
    let whole = groups.iter().enumerate().map(|(at, group)| Piece {
        first: group.first,
        last: group.last,
        of: vec![at],
    });
    let mut pieces: Vec<_> = whole.collect();
    if let Some(place) = everywhere {
        for at in 0..pieces.len() {
            if pieces[at].first < place && place <= pieces[at].last {
                cut(&mut pieces, at, place);
            }
        }
        merge(&mut pieces);
    }
    while let Some((earlier, later)) = overlap(&pieces) {
        if decisions.cuts_earlier(groups, &pieces[earlier], &pieces[later]) {
            let place = pieces[later].first;
            cut(&mut pieces, earlier, place);
        } else {
            let place = pieces[earlier].last + 1;
            cut(&mut pieces, later, place);
        }
        merge(&mut pieces);
    }
    pieces.sort_by_key(|piece| (piece.last - piece.first, piece.first));
    pieces
}

/// Says at each overlap which group is cut, and something else at each try.
///
/// At first the smaller one is cut. If few overlaps have been met, all
/// combinations of the opposite are tried after that; otherwise the opposite at
/// one overlap each time, and then mixtures.
#[derive(Clone, Debug, Default)]
pub(super) struct Decisions {
    turned: u64,
    met: u32,
    met_at_first: u32,
    tried: u32,
}

impl Decisions {
    /// Goes on to the next try, if there is one among so many.
    pub(super) fn turn(&mut self, tries: u32) -> bool {
        if self.tried == 0 {
            self.met_at_first = self.met.min(u64::BITS - 1);
        }
        self.tried += 1;
        self.met = 0;
        let all = 1u64 << self.met_at_first;
        self.turned = if all <= u64::from(tries) {
            u64::from(self.tried)
        } else if self.tried <= self.met_at_first {
            1 << (self.tried - 1)
        } else {
            mixture(self.tried)
        };
        self.tried < tries && u64::from(self.tried) < all
    }

    fn cuts_earlier(&mut self, groups: &[ParallelFlows], earlier: &Piece, later: &Piece) -> bool {
        let turn = self.turned.checked_shr(self.met).unwrap_or(0) & 1 == 1;
        self.met += 1;
        (earlier.size(groups) <= later.size(groups)) != turn
    }
}

/// Returns bits without a pattern (the finaliser of SplitMix64).
fn mixture(number: u32) -> u64 {
    let mut bits = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Leaves of a piece what is before `place`, and appends the rest.
fn cut(pieces: &mut Vec<Piece>, which: usize, place: usize) {
    let rest = Piece {
        first: place,
        ..pieces[which].clone()
    };
    pieces[which].last = place - 1;
    pieces.push(rest);
}

/// Makes one piece of those that run along the same servers.
fn merge(pieces: &mut Vec<Piece>) {
    pieces.sort_unstable_by_key(|piece| (piece.first, piece.last));
    pieces.dedup_by(|next, kept| {
        let same = (next.first, next.last) == (kept.first, kept.last);
        if same {
            kept.of.append(&mut next.of);
            kept.of.sort_unstable();
        }
        same
    });
}

/// Returns the places of two pieces of which neither holds the other though they
/// overlap, the one that begins earlier first.
fn overlap(pieces: &[Piece]) -> Option<(usize, usize)> {
    for (at, earlier) in pieces.iter().enumerate() {
        let later = pieces.iter().position(|later| {
            let joins_within = earlier.first < later.first && later.first <= earlier.last;
            joins_within && earlier.last < later.last
        });
        if let Some(later) = later {
            return Some((at, later));
        }
    }
    None
}
