//! Flows that go the same ways in the same class, kept as one.
//!
//! What such flows bring to a stage grows alike: the windows of [`ReservationPlanner`] depend on
//! ways, class and budgets, not on contracts, so the sum of what they bring is what
//! the sum of their contracts brings. Rounded up once instead of for each flow,
//! which is made good by a bit and a millionth of a frame for each flow but one:
//! the sum is never less than that of the single flows.
//!
//! A ledger whose budgets follow the flows reserves for groups what was there when
//! budgets were last chosen, and for each flow that came since by itself: to choose
//! budgets takes the longer the more different ways there are, not the more flows.
//!
//! [`ReservationPlanner`]: super::plan::ReservationPlanner

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use units::{DataSize, Delay};

use super::aggregate::{Aggregate, Contracts, Who, asked, gather, ways};
use super::ledger::FlowId;
use super::plan::SenderTraffic;
use super::request::Request;

/// The flows with a promise.
pub(super) type PromisedFlows = BTreeMap<FlowId, Arc<Request>>;

/// All flows with a promise, by what they have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    by_ways: BTreeMap<Alike, FlowGroup>,
    /// Those in no group: they came since budgets were last chosen.
    pub(super) singles: BTreeSet<FlowId>,
}

/// A flow that stands for all of its ways.
#[derive(Clone, Debug)]
struct Alike(Arc<Request>);

/// Flows of the same ways.
#[derive(Clone, Debug)]
pub(super) struct FlowGroup {
    /// The flow with the soonest deadline.
    hastiest: (FlowId, Arc<Request>),
    contracts: Contracts,
    deadlines: BTreeSet<(Delay, FlowId)>,
    /// How many flows have a frame of this size as their largest.
    sizes: BTreeMap<DataSize, u32>,
}

impl Groups {
    /// Returns the flows as one for each way: those of groups, those in none and others
    /// that are asked for.
    pub(super) fn aggregates<'a>(
        &'a self,
        flows: &'a PromisedFlows,
        with: &[&'a Request],
    ) -> Vec<Aggregate<'a>> {
        let of_groups = self.by_ways.values().map(FlowGroup::aggregate);
        let mut aggregates: Vec<Aggregate<'a>> = of_groups.collect();
        if self.singles.is_empty() && with.is_empty() {
            return aggregates;
        }
        let singles = self.singles.iter().map(|id| {
            let request: &Request = &flows[id];
            (Who::Promised(*id), request)
        });
        gather(&mut aggregates, singles.chain(asked(with.iter().copied())));
        aggregates
    }

    /// Has those that are in no group join theirs.
    pub(super) fn gather(&mut self, flows: &PromisedFlows) {
        for id in std::mem::take(&mut self.singles) {
            let request = &flows[&id];
            match self.by_ways.get_mut(&Alike(Arc::clone(request))) {
                Some(group) => group.join(id, request),
                None => {
                    let group = FlowGroup::of(id, request);
                    self.by_ways.insert(Alike(Arc::clone(request)), group);
                }
            }
        }
    }

    /// Returns the group of a flow, nothing for one that is in none.
    pub(super) fn group_of(&self, id: FlowId, request: &Arc<Request>) -> Option<&FlowGroup> {
        match self.singles.contains(&id) {
            true => None,
            false => self.by_ways.get(&Alike(Arc::clone(request))),
        }
    }

    /// Takes a flow out that `flows` does not have any more, and returns what is left of
    /// its group, if something is.
    pub(super) fn leave(
        &mut self,
        id: FlowId,
        request: &Arc<Request>,
        flows: &PromisedFlows,
    ) -> Option<&FlowGroup> {
        if self.singles.remove(&id) {
            return None;
        }
        let alike = Alike(Arc::clone(request));
        let group = self.by_ways.get_mut(&alike)?;
        group.leave(id, request, flows);
        if group.deadlines.is_empty() {
            self.by_ways.remove(&alike);
        }
        self.by_ways.get(&alike)
    }

    /// Returns what each group brings.
    pub(super) fn sent(&self) -> impl Iterator<Item = SenderTraffic<'_>> {
        self.by_ways.values().map(FlowGroup::sent)
    }
}

impl FlowGroup {
    fn of(id: FlowId, request: &Arc<Request>) -> Self {
        Self {
            hastiest: (id, Arc::clone(request)),
            contracts: Contracts::of(request),
            deadlines: BTreeSet::from([(request.deadline, id)]),
            sizes: BTreeMap::from([(request.largest_frame, 1)]),
        }
    }

    fn join(&mut self, id: FlowId, request: &Arc<Request>) {
        self.contracts = self.contracts.and(Contracts::of(request));
        self.deadlines.insert((request.deadline, id));
        *self.sizes.entry(request.largest_frame).or_insert(0) += 1;
        if request.deadline < self.hastiest.1.deadline {
            self.hastiest = (id, Arc::clone(request));
        }
    }

    fn leave(&mut self, id: FlowId, request: &Request, flows: &PromisedFlows) {
        self.deadlines.remove(&(request.deadline, id));
        if let Some((_, next)) = self.deadlines.first() {
            self.contracts = self.contracts.without(Contracts::of(request));
            self.hastiest = (*next, Arc::clone(&flows[next]));
        }
        if let Some(flows) = self.sizes.get_mut(&request.largest_frame) {
            *flows -= 1;
            if *flows == 0 {
                self.sizes.remove(&request.largest_frame);
            }
        }
    }

    fn largest_frame(&self) -> DataSize {
        let largest = self.sizes.last_key_value();
        largest.map_or(DataSize::ZERO, |(size, _)| *size)
    }

    /// Returns what all of them bring.
    pub(super) fn sent(&self) -> SenderTraffic<'_> {
        let (_, hastiest) = &self.hastiest;
        self.contracts.sent(hastiest, self.largest_frame())
    }

    fn aggregate(&self) -> Aggregate<'_> {
        let (id, hastiest) = &self.hastiest;
        Aggregate {
            hastiest,
            who: Who::Promised(*id),
            largest_frame: self.largest_frame(),
            contracts: self.contracts,
            standing: vec![self.sent()],
            is_joined: false,
        }
    }
}

impl PartialEq for Alike {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Alike {}

impl PartialOrd for Alike {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alike {
    fn cmp(&self, other: &Self) -> Ordering {
        ways(&self.0).cmp(&ways(&other.0))
    }
}
