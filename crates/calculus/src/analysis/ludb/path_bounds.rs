//! The bounds of paths, and of the bursts with which others come to them.

use std::collections::BTreeMap;

use units::fine::{Data, Rate, Time};

use super::Effort;
use super::pseudo_affine::PseudoAffine;
use super::tandem::{self, Decisions, Group, Part};
use super::waits::Search;
use crate::analysis::{FlowId, Network, RateLatency, ServerId, TokenBucket};

/// The bounds of one network, with what has been found on the way to them.
#[derive(Debug)]
pub(super) struct PathBounds<'a> {
    network: &'a Network,
    servers: Vec<RateLatency>,
    effort: Effort,
    /// By server and by the flows that leave it together.
    bursts: BTreeMap<(ServerId, Vec<FlowId>), Option<Data>>,
    search: Search,
}

impl<'a> PathBounds<'a> {
    /// Begins with nothing known, for a network whose servers do at least as
    /// `servers` say.
    pub(super) fn new(network: &'a Network, servers: Vec<RateLatency>, effort: Effort) -> Self {
        Self {
            network,
            servers,
            effort,
            bursts: BTreeMap::new(),
            search: Search::default(),
        }
    }

    /// Returns how long a flow takes at most, and how much of it is under way.
    pub(super) fn bound(&mut self, flow: FlowId) -> Option<(Time, Data)> {
        let network = self.network;
        let (own, buckets) = (self.bucket(flow), network.buckets(flow));
        let tries = self.effort.tries_of_path();
        self.least(network.path(flow), &[flow], Some(own), tries, |curve| {
            Some((curve.delay(buckets)?, curve.burst_behind(own)?))
        })
    }

    /// Returns the burst with which `flows` leave `server` together.
    ///
    /// They count as one along the way that all of them have come, or as many,
    /// each along its own; the smaller burst holds.
    fn burst_behind(&mut self, server: ServerId, flows: Vec<FlowId>) -> Option<Data> {
        if let Some(known) = self.bursts.get(&(server, flows.clone())) {
            return *known;
        }
        let together = self.burst_together(server, &flows);
        let apart = self.burst_apart(server, &flows);
        let least = [together, apart].into_iter().flatten().min();
        self.bursts.insert((server, flows), least);
        least
    }

    fn burst_together(&mut self, server: ServerId, flows: &[FlowId]) -> Option<Data> {
        let path = shared_way(self.network, server, flows);
        let own = self.arriving(path[0], flows)?;
        let tries = self.effort.tries_of_burst();
        self.least(path, flows, None, tries, |curve| curve.burst_behind(own))
    }

    fn burst_apart(&mut self, server: ServerId, flows: &[FlowId]) -> Option<Data> {
        if flows.len() == 1 {
            return None;
        }
        let bursts = flows
            .iter()
            .map(|flow| self.burst_behind(server, vec![*flow]));
        sum(bursts.collect::<Option<Vec<_>>>()?)
    }

    /// Returns the least value of `bound` over several ways to see what others
    /// leave to `flows` along `path`. With `own`, the waits are searched so that
    /// such traffic is early; without, so that the latency is small.
    fn least<T: Ord>(
        &mut self,
        path: &[ServerId],
        flows: &[FlowId],
        own: Option<TokenBucket>,
        tries: u32,
        bound: impl Fn(&PseudoAffine) -> Option<T>,
    ) -> Option<T> {
        let servers: Vec<_> = path.iter().map(|id| self.servers[id.index()]).collect();
        let groups = tandem::groups(self.network, path, flows);
        let mut decisions = Decisions::default();
        let mut least = None;
        loop {
            let nested = tandem::nest(&groups, &mut decisions);
            let value = self.left_over(path, &servers, &nested, own);
            least = [least, value.and_then(|curve| bound(&curve))]
                .into_iter()
                .flatten()
                .min();
            if !decisions.turn(tries) {
                return least;
            }
        }
    }

    fn left_over(
        &mut self,
        path: &[ServerId],
        servers: &[RateLatency],
        nested: &[Group],
        own: Option<TokenBucket>,
    ) -> Option<PseudoAffine> {
        let mut parts = self.parts(path, nested)?;
        parts.extend(own.map(|bucket| Part {
            first: 0,
            last: path.len() - 1,
            bucket,
        }));
        let waits = self.search.waits(servers, &parts);
        let mut curve = PseudoAffine::of(servers)?;
        for (part, wait) in parts[..nested.len()].iter().zip(waits) {
            curve.leave(part.places(), part.bucket, wait)?;
        }
        Some(curve)
    }

    fn parts(&mut self, path: &[ServerId], groups: &[Group]) -> Option<Vec<Part>> {
        let part = |group: &Group| {
            Some(Part {
                first: group.first,
                last: group.last,
                bucket: self.arriving(path[group.first], &group.flows)?,
            })
        };
        groups.iter().map(part).collect()
    }

    /// Returns what `flows` bring to a server together, wherever they come from.
    fn arriving(&mut self, server: ServerId, flows: &[FlowId]) -> Option<TokenBucket> {
        let mut bursts = Vec::new();
        let mut from = Vec::with_capacity(flows.len());
        for flow in flows {
            let way = way(self.network, server, *flow);
            match way.len().checked_sub(2) {
                Some(before) => from.push((way[before], *flow)),
                None => bursts.push(self.bucket(*flow).burst),
            }
        }
        from.sort_unstable();
        for bundle in from.chunk_by(|left, right| left.0 == right.0) {
            let flows = bundle.iter().map(|(_, flow)| *flow).collect();
            bursts.push(self.burst_behind(bundle[0].0, flows)?);
        }
        let mut rates = flows.iter().map(|flow| self.bucket(*flow).rate);
        Some(TokenBucket {
            rate: rates.try_fold(Rate::ZERO, Rate::checked_add)?,
            burst: sum(bursts)?,
        })
    }

    /// Returns the bucket of a flow that counts where it is cross traffic: the one
    /// that bounds it in the long run.
    fn bucket(&self, flow: FlowId) -> TokenBucket {
        let buckets = self.network.buckets(flow).iter();
        let slowest = buckets.min_by_key(|bucket| (bucket.rate, bucket.burst));
        *slowest.expect("a flow has a bucket")
    }
}

/// Returns the servers that a flow crosses up to a server of its path.
fn way(network: &Network, server: ServerId, flow: FlowId) -> &[ServerId] {
    let path = network.path(flow);
    let hop = path.iter().position(|at| *at == server);
    &path[..=hop.expect("a bundle of flows is at a server that all of them cross")]
}

/// Returns the last servers up to `server` that all `flows` cross in a row.
fn shared_way<'a>(network: &'a Network, server: ServerId, flows: &[FlowId]) -> &'a [ServerId] {
    let mut shared = way(network, server, flows[0]);
    for flow in &flows[1..] {
        let pairs = way(network, server, *flow)
            .iter()
            .rev()
            .zip(shared.iter().rev());
        let length = pairs.take_while(|(left, right)| left == right).count();
        shared = &shared[shared.len() - length..];
    }
    shared
}

fn sum(bursts: Vec<Data>) -> Option<Data> {
    bursts.into_iter().try_fold(Data::ZERO, Data::checked_add)
}
