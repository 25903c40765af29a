//! What is known of a network before a linear program is built: the *facts*.
//!
//! | fact  | bounds | by |
//! |-------|--------|----|
//! | delay | the time that anything spends in a server | a program that ends there |
//! | burst | a flow where it enters a server, at its lowest rate | a program along its way there |
//! | peak  | the same at its highest rate | the peak before, and the delay since |
//! | group | all flows that come over one arc, together | a program that ends before the arc |
//!
//! Each program takes facts for granted and proves another. In a network without
//! cycles they are found one after the other; on a cycle all at once.

use units::fine::{Data, Rate, Time};

use crate::analysis::{Crossing, FlowId, ServerGraph, ServerId, TokenBucket};

/// The number of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FactId(u32);

/// The number of an arc: a pair of servers that a flow crosses one after the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArcId(u32);

/// The flows that go from one server straight to another.
#[derive(Debug)]
pub(super) struct Arc {
    /// Where from.
    pub(super) from: ServerId,
    /// Where to.
    pub(super) to: ServerId,
    /// Who, and where on their way they are after the arc.
    pub(super) crossings: Vec<Crossing>,
}

/// A network with its arcs, and the numbers of its facts.
#[derive(Debug)]
pub(super) struct FactMap<'a> {
    /// The network.
    pub(super) network: &'a ServerGraph,
    arcs: Vec<Arc>,
    /// The number of the burst of each flow where it begins.
    bursts: Vec<u32>,
    hops: u32,
}

/// The value of each fact: microbits or femtoseconds, or nothing if there is no
/// bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    values: Vec<Option<u64>>,
}

impl<'a> FactMap<'a> {
    /// Returns the map of a network.
    pub(super) fn new(network: &'a ServerGraph) -> Self {
        let mut hops = 0;
        let mut bursts = Vec::new();
        let mut over: Vec<(ServerId, ServerId, Crossing)> = Vec::new();
        for flow in network.flows() {
            bursts.push(hops);
            let path = network.path(flow);
            for (pair, hop) in path.windows(2).zip(1..) {
                over.push((pair[0], pair[1], Crossing { flow, hop }));
            }
            hops += u32::try_from(path.len()).expect("memory ends before numbers");
        }
        over.sort_unstable_by_key(|(from, to, at)| (*to, *from, at.flow));
        let arcs = over
            .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
            .map(|run| Arc {
                from: run[0].0,
                to: run[0].1,
                crossings: run.iter().map(|it| it.2).collect(),
            })
            .collect();
        Self {
            network,
            arcs,
            bursts,
            hops,
        }
    }

    /// Returns the number of arcs.
    pub(super) fn arcs(&self) -> usize {
        self.arcs.len()
    }

    /// Returns an arc.
    pub(super) fn arc(&self, id: ArcId) -> &Arc {
        &self.arcs[id.0 as usize]
    }

    /// Returns the arc between two servers, if a flow goes there.
    pub(super) fn arc_between(&self, from: ServerId, to: ServerId) -> Option<ArcId> {
        let found = self
            .arcs
            .binary_search_by_key(&(to, from), |arc| (arc.to, arc.from));
        found.ok().map(|at| ArcId(number(at)))
    }

    /// Returns the arcs that end at a server.
    pub(super) fn arcs_into(&self, to: ServerId) -> impl Iterator<Item = ArcId> + use<> {
        let begin = self.arcs.partition_point(|arc| arc.to < to);
        let end = self.arcs.partition_point(|arc| arc.to <= to);
        (number(begin)..number(end)).map(ArcId)
    }

    /// Returns the number of the delay of a server.
    pub(super) fn delay(&self, server: ServerId) -> FactId {
        FactId(server.0)
    }

    /// Returns the number of the group of an arc.
    pub(super) fn group(&self, arc: ArcId) -> FactId {
        FactId(self.servers() + arc.0)
    }

    /// Returns the number of the burst of a flow at a hop.
    pub(super) fn burst(&self, flow: FlowId, hop: u32) -> FactId {
        let first = self.servers() + number(self.arcs.len());
        FactId(first + self.bursts[flow.index()] + hop)
    }

    /// Returns the number of the peak of a flow at a hop.
    pub(super) fn peak(&self, flow: FlowId, hop: u32) -> FactId {
        FactId(self.burst(flow, hop).0 + self.hops)
    }

    /// Returns the bucket of the lowest rate of a flow.
    pub(super) fn lasting(&self, flow: FlowId) -> TokenBucket {
        let buckets = self.network.buckets(flow).iter();
        let least = buckets.min_by_key(|bucket| (bucket.rate, bucket.burst));
        least.copied().expect("a flow has a bucket")
    }

    /// Returns the bucket of the smallest burst of a flow.
    pub(super) fn short_lived(&self, flow: FlowId) -> TokenBucket {
        let buckets = self.network.buckets(flow).iter();
        let least = buckets.min_by_key(|bucket| (bucket.burst, bucket.rate));
        least.copied().expect("a flow has a bucket")
    }

    /// Returns whether a flow has two buckets that bound it in turn.
    pub(super) fn has_peak(&self, flow: FlowId) -> bool {
        self.lasting(flow) != self.short_lived(flow)
    }

    /// Returns the sum of the lowest rates of some flows, or nothing if it is
    /// too large.
    pub(super) fn rate(&self, flows: impl IntoIterator<Item = FlowId>) -> Option<Rate> {
        let rates = flows.into_iter().map(|flow| self.lasting(flow).rate);
        rates.into_iter().try_fold(Rate::ZERO, Rate::checked_add)
    }

    fn servers(&self) -> u32 {
        number(self.network.servers().len())
    }
}

impl Facts {
    /// Returns what is known at first: the flows where they begin.
    pub(super) fn new(map: &FactMap) -> Self {
        let count = map.servers() + number(map.arcs.len()) + 2 * map.hops;
        let mut facts = Self {
            values: vec![None; count as usize],
        };
        for flow in map.network.flows() {
            let (burst, peak) = (map.lasting(flow).burst, map.short_lived(flow).burst);
            facts.learn(map.burst(flow, 0), Some(burst.as_ubits()));
            facts.learn(map.peak(flow, 0), Some(peak.as_ubits()));
        }
        facts
    }

    /// Returns a fact in its unit.
    pub(super) fn value(&self, fact: FactId) -> Option<u64> {
        self.values[fact.0 as usize]
    }

    /// Returns a delay.
    pub(super) fn time(&self, fact: FactId) -> Option<Time> {
        self.value(fact).map(Time::from_fs)
    }

    /// Returns a burst, peak or group.
    pub(super) fn data(&self, fact: FactId) -> Option<Data> {
        self.value(fact).map(Data::from_ubits)
    }

    /// Enters a fact in its unit.
    pub(super) fn learn(&mut self, fact: FactId, value: Option<u64>) {
        self.values[fact.0 as usize] = value;
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("memory ends before numbers")
}
