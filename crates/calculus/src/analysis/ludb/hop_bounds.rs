//! Bursts of flows server by server, without following them back.
//!
//! A part of what arrives at a server of rate `R` and latency `T` leaves it, first
//! in first out, with its burst and its rate times `T + b / R`. For `b` there are two
//! bounds: the burst of all that arrives, as nothing stays longer than that takes
//! (NC section 1.4), and the burst of all others, as that is the latency of what they
//! leave over (NC section 6.2). What goes on over one link is such a part, and so is
//! each flow; the burst of all is summed up over links, that of the others over
//! flows.

use units::fine::{Data, Rate};

use super::servers::ServiceGuarantee;
use crate::analysis::{Crossing, FlowId, ServerGraph, ServerId, TokenBucket};

/// The burst of each flow where it arrives, hop by hop.
#[derive(Debug)]
pub(super) struct HopBounds<'a> {
    network: &'a ServerGraph,
    /// By flow, the place of its first hop in `bursts`.
    begins: Vec<usize>,
    bursts: Vec<Option<Data>>,
    /// By server.
    loads: Vec<Option<ArrivingTraffic>>,
}

/// What arrives at a server.
#[derive(Clone, Copy, Debug, Default)]
struct ArrivingTraffic {
    /// The burst of all, each link as a whole.
    by_links: Data,
    /// The sum of the buckets of its flows.
    by_flows: TokenBucket,
}

impl<'a> HopBounds<'a> {
    /// Finds them all, server by server in an order in which flows go.
    pub(super) fn new(
        network: &'a ServerGraph,
        order: &[ServerId],
        servers: &[ServiceGuarantee],
        bucket: impl Fn(FlowId) -> TokenBucket,
    ) -> Self {
        let mut hops = 0;
        let begins = network.flows().map(|flow| {
            hops += network.path(flow).len();
            hops - network.path(flow).len()
        });
        let mut bounds = Self {
            network,
            begins: begins.collect(),
            bursts: Vec::new(),
            loads: vec![Some(ArrivingTraffic::default()); servers.len()],
        };
        bounds.bursts.resize(hops, None);
        for server in order {
            bounds.arrive(*server, &bucket);
            bounds.leave(*server, servers[server.index()], &bucket);
        }
        bounds
    }

    /// Returns the burst of a flow where it arrives at a hop of its path.
    pub(super) fn arriving(&self, flow: FlowId, hop: u32) -> Option<Data> {
        self.bursts[self.begins[flow.index()] + hop as usize]
    }

    /// Returns the burst with which flows leave a server at which they arrive as
    /// `part`, if the bursts of each add up to `own`.
    pub(super) fn behind(
        &self,
        (server, promise): (ServerId, ServiceGuarantee),
        part: TokenBucket,
        own: Data,
    ) -> Option<Data> {
        let service = promise.packets;
        let load = self.loads[server.index()].filter(|it| it.by_flows.rate <= service.rate)?;
        let others = load.by_flows.burst.checked_sub(own)?;
        let wait = service.rate.longest_for(load.by_links.min(others))?;
        let latency = service.latency.checked_add(wait)?;
        part.burst.checked_add(part.rate.most_in(latency)?)
    }

    /// Adds up what arrives at a server.
    fn arrive(&mut self, server: ServerId, bucket: &impl Fn(FlowId) -> TokenBucket) {
        for at in self.network.crossings(server) {
            let own = bucket(at.flow);
            let begins_here = at.hop == 0;
            if begins_here {
                self.bursts[self.begins[at.flow.index()]] = Some(own.burst);
            }
            let burst = self.arriving(at.flow, at.hop);
            let load = &mut self.loads[server.index()];
            *load = load.zip(burst).and_then(|(load, burst)| {
                let local = if begins_here { burst } else { Data::ZERO };
                Some(ArrivingTraffic {
                    by_links: load.by_links.checked_add(local)?,
                    by_flows: add(load.by_flows, TokenBucket { burst, ..own })?,
                })
            });
        }
    }

    /// Finds the bursts behind a server: of each flow, and of what goes on over
    /// each link.
    fn leave(
        &mut self,
        server: ServerId,
        promise: ServiceGuarantee,
        bucket: &impl Fn(FlowId) -> TokenBucket,
    ) {
        let network = self.network;
        let next = |at: &Crossing| network.path(at.flow).get(at.hop as usize + 1).copied();
        let mut onward: Vec<_> = network.crossings(server).iter().collect();
        onward.retain(|at| next(at).is_some());
        onward.sort_by_key(|at| next(at));
        for link in onward.chunk_by(|one, other| next(one) == next(other)) {
            let mut all = Some(TokenBucket::default());
            for at in link {
                let burst = self.arriving(at.flow, at.hop);
                let part = burst.map(|burst| TokenBucket {
                    burst,
                    ..bucket(at.flow)
                });
                let place = self.begins[at.flow.index()] + at.hop as usize + 1;
                self.bursts[place] =
                    part.and_then(|part| self.behind((server, promise), part, part.burst));
                all = all.zip(part).and_then(|(all, part)| add(all, part));
            }
            let burst = all.and_then(|all| self.behind((server, promise), all, all.burst));
            let to = next(link[0]).expect("those that end here were left out");
            let load = &mut self.loads[to.index()];
            *load = load.zip(burst).and_then(|(load, burst)| {
                let by_links = load.by_links.checked_add(burst)?;
                Some(ArrivingTraffic { by_links, ..load })
            });
        }
    }
}

fn add(sum: TokenBucket, more: TokenBucket) -> Option<TokenBucket> {
    let (rate, burst): (Option<Rate>, _) = (
        sum.rate.checked_add(more.rate),
        sum.burst.checked_add(more.burst),
    );
    let (rate, burst) = (rate?, burst?);
    Some(TokenBucket { rate, burst })
}
