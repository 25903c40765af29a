//! The bounds of paths, and of the bursts with which others come to them.

use std::collections::BTreeMap;

use units::fine::{Data, Time};

use super::hop_bounds::HopBounds;
use super::pseudo_affine::PseudoAffine;
use super::servers::{ServiceGuarantee, Usable};
use super::tandem::{self, Decisions, ParallelFlows, Piece, TandemTraffic};
use super::waits::WaitSearch;
use super::{Effort, Tries};
use crate::analysis::budget::Budget;
use crate::analysis::{FlowId, RateLatency, ServerGraph, ServerId, TokenBucket};

/// How deep bursts are followed back, a level of the stack for each.
const DEPTH_MAX: u32 = 500;

/// The steps of a budget that small networks have beside those of their flows.
const STEPS_AT_FIRST: u64 = 800_000_000;

/// Steps of a budget for each flow that is looked at along a path, for each cell of
/// a search for waits, and for each flow of a set.
const STEPS_A_MEETING: u64 = 60;
const STEPS_A_CELL: u64 = 12;
const STEPS_A_MEMBER: u64 = 30;

/// The bounds of one network, with what has been found on the way to them.
#[derive(Debug)]
pub(super) struct PathBounds<'a> {
    network: &'a ServerGraph,
    servers: Vec<ServiceGuarantee>,
    effort: Effort,
    budget: &'a Budget<'a>,
    /// The steps that are left for the present flow.
    left: u64,
    depth: u32,
    hops: HopBounds<'a>,
    /// By server, and by the flows that leave it together.
    bursts: Vec<BTreeMap<Vec<FlowId>, Option<Data>>>,
    search: WaitSearch,
}

impl<'a> PathBounds<'a> {
    /// Begins with nothing known, for a network whose servers promise
    /// this.
    pub(super) fn new(
        network: &'a ServerGraph,
        Usable { promises, order }: Usable,
        effort: Effort,
        budget: &'a Budget<'a>,
    ) -> Self {
        let of_flow = |flow| bucket(network, flow);
        Self {
            network,
            hops: HopBounds::new(network, &order, &promises, of_flow),
            servers: promises,
            effort,
            budget,
            left: STEPS_AT_FIRST,
            depth: 0,
            bursts: vec![BTreeMap::new(); network.servers().len()],
            search: WaitSearch::default(),
        }
    }

    /// Returns how long a flow takes at most, and how much of it is under way.
    ///
    /// A packetizer behind the path delays no packet's last bit, whose delay counts,
    /// and keeps less than a packet (NC section 1.7).
    pub(super) fn bound(&mut self, flow: FlowId) -> Option<(Time, Data)> {
        self.left = self.left.saturating_add(self.effort.steps_a_flow());
        let network = self.network;
        let packet = Some(network.max_packet(flow)).filter(|_| network.packetizer);
        let packet = packet.unwrap_or_default();
        let (own, buckets) = (bucket(network, flow), network.buckets(flow));
        let tries = self.effort.along_path();
        self.least(network.path(flow), &[flow], Some(own), tries, |curve| {
            let under_way = curve.burst_behind(own)?.checked_add(packet)?;
            Some((curve.delay(buckets)?, under_way))
        })
    }

    /// Returns the burst with which `flows` leave `server` together.
    ///
    /// They count as one along the way that all of them have come, or apart by where
    /// they come from to it, and so on; the smaller burst holds.
    fn burst_behind(&mut self, server: ServerId, flows: Vec<FlowId>) -> Option<Data> {
        if let Some(known) = self.bursts[server.index()].get(&flows) {
            return *known;
        }
        let by_hops = self.burst_by_hops(server, &flows);
        if self.left == 0 || self.depth == DEPTH_MAX {
            return by_hops;
        }
        self.depth += 1;
        let together = self.burst_together(server, &flows);
        let apart = self.burst_apart(server, &flows);
        self.depth -= 1;
        let least = [together, apart, by_hops].into_iter().flatten().min();
        self.bursts[server.index()].insert(flows, least);
        least
    }

    /// Takes steps off those of the flow and of the budget.
    fn spend(&mut self, steps: u64) {
        self.left = match self.budget.spend(steps) {
            true => self.left.saturating_sub(steps),
            false => 0,
        };
    }

    /// Returns the burst of flows behind a server from those of each before it.
    fn burst_by_hops(&mut self, server: ServerId, flows: &[FlowId]) -> Option<Data> {
        self.spend(STEPS_A_MEMBER * flows.len() as u64);
        let mut all = TokenBucket::default();
        for flow in flows {
            let hop = way(self.network, server, *flow).len() - 1;
            let hop = u32::try_from(hop).expect("a path has a number of hops");
            let burst = self.hops.arriving(*flow, hop)?;
            all.burst = all.burst.checked_add(burst)?;
            all.rate = all.rate.checked_add(bucket(self.network, *flow).rate)?;
        }
        let at = (server, self.servers[server.index()]);
        self.hops.behind(at, all, all.burst)
    }

    fn burst_together(&mut self, server: ServerId, flows: &[FlowId]) -> Option<Data> {
        let path = shared_way(self.network, server, flows);
        let own = self.arriving(path[0], flows)?;
        let tries = self.effort.along_bundle();
        self.least(path, flows, None, tries, |curve| curve.burst_behind(own))
    }

    /// Adds up the bursts of the flows by where they come from to the way that all
    /// share, if there are several such servers.
    fn burst_apart(&mut self, server: ServerId, flows: &[FlowId]) -> Option<Data> {
        let shared = shared_way(self.network, server, flows).len();
        let before = |flow: &FlowId| {
            let way = way(self.network, server, *flow);
            let before = way.len().checked_sub(shared + 1);
            (before.map(|at| way[at]), *flow)
        };
        let bundles = bundles(flows.iter().map(before).collect());
        if bundles.len() == 1 {
            return None;
        }
        let bursts = bundles
            .into_iter()
            .map(|(_, flows)| self.burst_behind(server, flows));
        sum(bursts.collect::<Option<Vec<_>>>()?)
    }

    /// Returns the least value of `bound` over several ways to see what others
    /// leave to `flows` along `path`. With `own`, the waits are searched so that
    /// such traffic is served early, bit by bit at the last server; without, so
    /// that the latency is small behind a packetizer.
    fn least<T: Ord>(
        &mut self,
        path: &[ServerId],
        flows: &[FlowId],
        own: Option<TokenBucket>,
        tries: Tries,
        bound: impl Fn(&PseudoAffine) -> Option<T>,
    ) -> Option<T> {
        let mut met = Met::new(self, path, flows)?;
        if let (Some(_), [.., last]) = (own, path) {
            met.end_with(self.servers[last.index()].bits);
        }
        let mut least = None;
        let mut consider = |this: &mut Self, everywhere, decisions: &mut Decisions| {
            let pieces = tandem::nest(&met.groups, everywhere, decisions);
            let value = this.left_over(path, &met, &pieces, own);
            let value = value.and_then(|curve| bound(&curve));
            least = [least.take(), value].into_iter().flatten().min();
        };
        let mut decisions = Decisions::default();
        loop {
            consider(self, None, &mut decisions);
            if self.left == 0 || !decisions.turn(tries.overlaps) {
                break;
            }
        }
        if tries.everywhere {
            for place in 1..path.len() {
                if self.left == 0 {
                    break;
                }
                consider(self, Some(place), &mut Decisions::default());
            }
        }
        least
    }

    fn left_over(
        &mut self,
        path: &[ServerId],
        met: &Met,
        pieces: &[Piece],
        own: Option<TokenBucket>,
    ) -> Option<PseudoAffine> {
        let part = |piece: &Piece| {
            Some(TandemTraffic {
                first: piece.first,
                last: piece.last,
                bucket: match piece.of[..] {
                    [group] if met.groups[group].first == piece.first => met.buckets[group],
                    _ => self.arriving(path[piece.first], &piece.flows(&met.groups))?,
                },
            })
        };
        let mut parts = pieces.iter().map(part).collect::<Option<Vec<_>>>()?;
        parts.extend(own.map(|bucket| TandemTraffic {
            first: 0,
            last: path.len() - 1,
            bucket,
        }));
        let rows = parts.len() as u64;
        let columns: u64 = parts.iter().map(|part| part.places().len() as u64).sum();
        self.spend(STEPS_A_CELL * rows * (rows + columns));
        let waits = self.search.waits(&met.servers, &parts);
        let mut curve = PseudoAffine::of(&met.servers)?;
        for (part, wait) in parts[..pieces.len()].iter().zip(waits) {
            curve.leave(part.places(), part.bucket, wait)?;
        }
        Some(curve)
    }

    /// Returns what `flows` bring to a server together, wherever they come from.
    fn arriving(&mut self, server: ServerId, flows: &[FlowId]) -> Option<TokenBucket> {
        let before = |flow: &FlowId| {
            let way = way(self.network, server, *flow);
            let before = way.len().checked_sub(2);
            (before.map(|at| way[at]), *flow)
        };
        self.spend(STEPS_A_MEMBER * flows.len() as u64);
        let mut sum = TokenBucket::default();
        for (before, bundle) in bundles(flows.iter().map(before).collect()) {
            for flow in &bundle {
                let bucket = bucket(self.network, *flow);
                sum.rate = sum.rate.checked_add(bucket.rate)?;
                if before.is_none() {
                    sum.burst = sum.burst.checked_add(bucket.burst)?;
                }
            }
            if let Some(before) = before {
                let burst = self.burst_behind(before, bundle)?;
                sum.burst = sum.burst.checked_add(burst)?;
            }
        }
        Some(sum)
    }
}

/// Returns the bucket of a flow that counts where it is cross traffic: the one that
/// bounds it in the long run.
fn bucket(network: &ServerGraph, flow: FlowId) -> TokenBucket {
    let buckets = network.buckets(flow).iter();
    let slowest = buckets.min_by_key(|bucket| (bucket.rate, bucket.burst));
    *slowest.expect("a flow has a bucket")
}

/// What flows meet along a path.
struct Met {
    servers: Vec<RateLatency>,
    groups: Vec<ParallelFlows>,
    /// What each group brings to the first server that it crosses.
    buckets: Vec<TokenBucket>,
}

impl Met {
    fn new(bounds: &mut PathBounds<'_>, path: &[ServerId], flows: &[FlowId]) -> Option<Self> {
        let met = path
            .iter()
            .map(|id| bounds.network.crossings(*id).len() as u64);
        bounds.spend(STEPS_A_MEETING * met.sum::<u64>());
        let groups = tandem::groups(bounds.network, path, flows);
        let bring = |group: &ParallelFlows| bounds.arriving(path[group.first], &group.flows);
        let buckets = groups.iter().map(bring).collect::<Option<_>>()?;
        Some(Self {
            servers: path
                .iter()
                .map(|id| bounds.servers[id.index()].packets)
                .collect(),
            groups,
            buckets,
        })
    }

    fn end_with(&mut self, last: RateLatency) {
        self.servers.pop();
        self.servers.push(last);
    }
}

/// Returns the servers that a flow crosses up to a server of its path.
fn way(network: &ServerGraph, server: ServerId, flow: FlowId) -> &[ServerId] {
    let path = network.path(flow);
    let hop = path.iter().position(|at| *at == server);
    &path[..=hop.expect("a bundle of flows is at a server that all of them cross")]
}

/// Returns the last servers up to `server` that all `flows` cross in a row.
fn shared_way<'a>(network: &'a ServerGraph, server: ServerId, flows: &[FlowId]) -> &'a [ServerId] {
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

/// Returns flows by where they come from, each bundle in the order of their
/// numbers.
fn bundles(mut from: Vec<(Option<ServerId>, FlowId)>) -> Vec<(Option<ServerId>, Vec<FlowId>)> {
    from.sort_unstable();
    let bundles = from.chunk_by(|left, right| left.0 == right.0);
    let bundle = |flows: &[(Option<ServerId>, FlowId)]| {
        let numbers = flows.iter().map(|(_, flow)| *flow).collect();
        (flows[0].0, numbers)
    };
    bundles.map(bundle).collect()
}

fn sum(bursts: Vec<Data>) -> Option<Data> {
    bursts.into_iter().try_fold(Data::ZERO, Data::checked_add)
}
