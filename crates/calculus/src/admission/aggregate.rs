//! Several flows of the same ways and class as one (`groups`), while budgets are chosen.

use std::collections::BTreeMap;

use units::{DataSize, Delay};

use super::ledger::FlowId;
use super::plan::SenderTraffic;
use super::request::{Redundant, Request, Tree};
use super::stage::FailureId;
use crate::bounds::processing::FrameBucket;
use crate::min_plus::TokenBucket;

/// A flow that has a promise, or the place of one that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Promised(FlowId),
    Asked(usize),
}

/// Flows that nothing tells apart but their contracts and deadlines.
#[derive(Clone, Debug)]
pub(super) struct Aggregate<'a> {
    /// The flow with the soonest deadline.
    pub(super) hastiest: &'a Request,
    pub(super) who: Who,
    /// The largest frame of all.
    pub(super) largest_frame: DataSize,
    pub(super) contracts: Contracts,
    /// What the ledger has reserved for those of them that have a promise.
    pub(super) standing: Vec<SenderTraffic<'a>>,
    /// Whether what they bring together is another thing.
    pub(super) is_joined: bool,
}

/// What flows bring together as they leave their senders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contracts {
    traffic: TokenBucket,
    frames: FrameBucket,
    peak: Option<(TokenBucket, FrameBucket)>,
}

/// What has to be the same.
pub(super) type AggregateKey<'a> = (
    u8,
    Delay,
    [bool; 2],
    &'a Tree,
    &'a [(FailureId, Tree)],
    Option<&'a Redundant>,
);

/// Has flows join those of `aggregates` that go the same ways; those whose ways are new
/// stand behind them, in the order in which the first of each comes.
pub(super) fn gather<'a>(
    aggregates: &mut Vec<Aggregate<'a>>,
    flows: impl IntoIterator<Item = (Who, &'a Request)>,
) {
    let known = aggregates.iter().enumerate();
    let mut places: BTreeMap<AggregateKey<'a>, usize> = known
        .map(|(at, aggregate)| (ways(aggregate.hastiest), at))
        .collect();
    for (who, request) in flows {
        let known = *places.entry(ways(request)).or_insert(aggregates.len());
        match aggregates.get_mut(known) {
            Some(aggregate) => aggregate.join(request, who),
            None => aggregates.push(Aggregate::of(request, who)),
        }
    }
}

/// Returns flows that ask for a promise with their places.
pub(super) fn asked<'a>(
    requests: impl IntoIterator<Item = &'a Request>,
) -> impl Iterator<Item = (Who, &'a Request)> {
    let placed = requests.into_iter().enumerate();
    placed.map(|(at, request)| (Who::Asked(at), request))
}

pub(super) fn ways(request: &Request) -> AggregateKey<'_> {
    (
        request.class,
        request.initial,
        [request.peak.is_some(), request.is_held_back],
        &request.base,
        &request.alternatives,
        request.redundant.as_deref(),
    )
}

impl<'a> Aggregate<'a> {
    /// Returns the aggregate of one flow.
    pub(super) fn of(request: &'a Request, who: Who) -> Self {
        let mut alone = Self {
            hastiest: request,
            who,
            largest_frame: request.largest_frame,
            contracts: Contracts::of(request),
            standing: Vec::new(),
            is_joined: false,
        };
        alone.stand(request, who);
        alone
    }

    /// Adds a flow that goes the same ways.
    pub(super) fn join(&mut self, request: &'a Request, who: Who) {
        self.contracts = self.contracts.and(Contracts::of(request));
        self.largest_frame = self.largest_frame.max(request.largest_frame);
        self.is_joined = true;
        self.stand(request, who);
        if request.deadline < self.hastiest.deadline {
            (self.hastiest, self.who) = (request, who);
        }
    }

    /// Notes whether something is reserved for a flow by itself.
    fn stand(&mut self, request: &'a Request, who: Who) {
        match who {
            Who::Promised(_) => self
                .standing
                .push(SenderTraffic::new(request, request.traffic())),
            Who::Asked(_) => self.is_joined = true,
        }
    }

    /// Returns what all of them bring.
    pub(super) fn sent(&self) -> SenderTraffic<'a> {
        self.contracts.sent(self.hastiest, self.largest_frame)
    }
}

impl Contracts {
    pub(super) fn of(request: &Request) -> Self {
        let (traffic, frames, peak) = SenderTraffic::new(request, request.traffic()).buckets();
        Self {
            traffic,
            frames,
            peak,
        }
    }

    /// Returns the sum of two, with what may be rounded up twice where they are two.
    pub(super) fn and(self, more: Self) -> Self {
        let plus = |(bits, frames): (TokenBucket, FrameBucket), (more_bits, more_frames)| {
            let (bit, millionth) = rounding();
            (bits + more_bits + bit, frames + more_frames + millionth)
        };
        let (traffic, frames) = plus((self.traffic, self.frames), (more.traffic, more.frames));
        Self {
            traffic,
            frames,
            peak: self.peak.zip(more.peak).map(|(ours, its)| plus(ours, its)),
        }
    }

    /// Takes a part out of a sum again.
    pub(super) fn without(self, part: Self) -> Self {
        let less = |(bits, frames): (TokenBucket, FrameBucket), (less_bits, less_frames)| {
            let (bit, millionth) = rounding();
            (bits - less_bits - bit, frames - less_frames - millionth)
        };
        let (traffic, frames) = less((self.traffic, self.frames), (part.traffic, part.frames));
        Self {
            traffic,
            frames,
            peak: self.peak.zip(part.peak).map(|(ours, its)| less(ours, its)),
        }
    }

    /// Returns what flows bring that go the ways of `request`.
    pub(super) fn sent(self, request: &Request, largest_frame: DataSize) -> SenderTraffic<'_> {
        let together = (self.traffic, self.frames);
        SenderTraffic::of_many(request, largest_frame, together, self.peak)
    }
}

/// Returns what may be rounded up twice where two flows are counted apart.
fn rounding() -> (TokenBucket, FrameBucket) {
    let millionth = FrameBucket {
        rate_per_second: 0,
        burst: 1,
    };
    (TokenBucket::once(DataSize::from_bits(1)), millionth)
}
