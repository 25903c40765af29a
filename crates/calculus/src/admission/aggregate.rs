//! Flows that go the same ways in the same class, taken as one.
//!
//! What such flows bring to a stage grows alike: the windows of [`Plan`] depend on
//! ways, class and budgets, not on contracts, so the sum of what they bring is what
//! the sum of their contracts brings. Rounded up once instead of for each flow,
//! which is made good by a bit and a millionth of a frame for each flow but one:
//! the sum is never less than that of the single flows.
//!
//! [`Plan`]: super::plan::Plan

use std::collections::BTreeMap;

use units::{DataSize, Delay};

use super::plan::Sent;
use super::request::{Redundant, Request, Tree};
use super::stage::FailureId;
use crate::bounds::processing::FrameBucket;
use crate::min_plus::TokenBucket;

/// Flows that nothing tells apart but their contracts and deadlines.
#[derive(Clone, Debug)]
pub(super) struct Aggregate<'a> {
    /// The flow with the soonest deadline.
    pub(super) hastiest: &'a Request,
    /// The place of that flow in the list they were taken from.
    pub(super) place: usize,
    /// The largest frame of all.
    pub(super) largest_frame: DataSize,
    traffic: TokenBucket,
    frames: FrameBucket,
    peak: Option<(TokenBucket, FrameBucket)>,
}

/// What has to be the same.
type Ways<'a> = (
    u8,
    Delay,
    bool,
    &'a Tree,
    &'a [(FailureId, Tree)],
    Option<&'a Redundant>,
);

/// Returns the aggregates of `requests`, in the order in which their first flows
/// stand there.
pub(super) fn aggregate<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Vec<Aggregate<'a>> {
    let mut places: BTreeMap<Ways<'a>, usize> = BTreeMap::new();
    let mut aggregates: Vec<Aggregate<'a>> = Vec::new();
    for (place, request) in requests.into_iter().enumerate() {
        let known = places.entry(ways(request)).or_insert(aggregates.len());
        match aggregates.get_mut(*known) {
            Some(aggregate) => aggregate.join(request, place),
            None => aggregates.push(Aggregate::of(request, place)),
        }
    }
    aggregates
}

fn ways(request: &Request) -> Ways<'_> {
    (
        request.class,
        request.initial,
        request.peak.is_some(),
        &request.base,
        &request.alternatives,
        request.redundant.as_deref(),
    )
}

impl<'a> Aggregate<'a> {
    /// Returns the aggregate of one flow, which stands at a place of a list.
    pub(super) fn of(request: &'a Request, place: usize) -> Self {
        let (traffic, frames, peak) = Sent::new(request, request.traffic()).buckets();
        Self {
            hastiest: request,
            place,
            largest_frame: request.largest_frame,
            traffic,
            frames,
            peak,
        }
    }

    fn join(&mut self, request: &'a Request, place: usize) {
        let (traffic, frames, peak) = Sent::new(request, request.traffic()).buckets();
        (self.traffic, self.frames) = plus((self.traffic, self.frames), (traffic, frames));
        self.peak = self.peak.zip(peak).map(|(ours, its)| plus(ours, its));
        self.largest_frame = self.largest_frame.max(request.largest_frame);
        if request.deadline < self.hastiest.deadline {
            (self.hastiest, self.place) = (request, place);
        }
    }

    /// Returns what all of them bring.
    pub(super) fn sent(&self) -> Sent<'a> {
        let together = (self.traffic, self.frames);
        Sent::of_many(self.hastiest, self.largest_frame, together, self.peak)
    }
}

/// Returns the sum of two, and what is rounded up twice where they are two.
fn plus(
    (traffic, frames): (TokenBucket, FrameBucket),
    (more, more_frames): (TokenBucket, FrameBucket),
) -> (TokenBucket, FrameBucket) {
    let millionth = FrameBucket {
        rate_per_second: 0,
        burst: 1,
    };
    let bit = TokenBucket::once(DataSize::from_bits(1));
    (traffic + more + bit, frames + more_frames + millionth)
}
