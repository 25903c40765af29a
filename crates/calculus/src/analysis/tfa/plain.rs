//! Total flow analysis as its definition reads, to compare with.

use std::collections::BTreeMap;

use units::fine::{Data, Rate, Time};

use crate::analysis::Analysis;
use crate::analysis::network::{Crossing, Multiplexing, Server, ServerGraph, ServerId};
use crate::min_plus::piecewise::{
    Concave, Convex, TokenBucket, backlog, busy_period, delay, left_over,
};

/// A delay for each queue: a server, or a class of one with strict priority.
/// `None` is none.
pub(super) type Delays = BTreeMap<QueueKey, Option<Time>>;

/// A server and, where priority counts, a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueKey {
    server: ServerId,
    class: Option<u8>,
}

/// A network and what its servers do.
pub(super) struct Plain<'a> {
    network: &'a ServerGraph,
    services: Vec<Convex>,
}

impl<'a> Plain<'a> {
    pub(super) fn new(network: &'a ServerGraph) -> Self {
        let servers = network.servers().iter();
        let services = servers.map(|server| Convex::maximum_of(server.service.iter().copied()));
        Self {
            network,
            services: services.collect(),
        }
    }

    /// The delays after some steps from none, and whether they are the last.
    pub(super) fn rise(&self, steps: u32) -> (Delays, bool) {
        let queues = self.network.flows().flat_map(|flow| {
            let priority = self.network.priority(flow);
            let path = self.network.path(flow).iter();
            path.map(move |&server| queue(self.network, server, priority))
        });
        let mut delays: Delays = queues.map(|queue| (queue, Some(Time::ZERO))).collect();
        for _ in 0..steps {
            let next = self.follow(&delays);
            if next == delays {
                return (delays, true);
            }
            delays = next;
        }
        (delays, false)
    }

    /// The delays that an analysis found, which are the same for all flows of a
    /// queue.
    pub(super) fn found(&self, analysis: &Analysis) -> Delays {
        let mut delays = Delays::new();
        for (flow, bound) in self.network.flows().zip(&analysis.flows) {
            for hop in &bound.hops {
                let queue = queue(self.network, hop.server, self.network.priority(flow));
                let other = delays.insert(queue, hop.delay);
                assert!(other.is_none_or(|other| other == hop.delay));
            }
        }
        delays
    }

    /// The delays that follow from delays.
    pub(super) fn follow(&self, delays: &Delays) -> Delays {
        let queues = delays.keys();
        queues
            .map(|&queue| (queue, self.follows(delays, queue)))
            .collect()
    }

    /// The delay at a queue that follows from the delays before it.
    fn follows(&self, delays: &Delays, queue: QueueKey) -> Option<Time> {
        let QueueKey { server, class } = queue;
        let service = &self.services[server.index()];
        let Some(class) = class else {
            let all = self.arrivals(delays, server, |_| true)?;
            return match self.network.server(server).multiplexing {
                Multiplexing::Arbitrary => busy_period(&all, service),
                Multiplexing::Fifo | Multiplexing::StrictPriority => delay(&all, service),
            };
        };
        let above = self.arrivals(delays, server, |priority| priority < class)?;
        let below = self.largest_packet(server, |priority| priority > class);
        let left = left_over(service, &above.by_whole_packets(below)?);
        let own = self.arrivals(delays, server, |priority| priority == class)?;
        delay(&own, &left)
    }

    /// The most data at a server.
    pub(super) fn backlog(&self, delays: &Delays, server: ServerId) -> Option<Data> {
        let all = self.arrivals(delays, server, |_| true)?;
        let inside = backlog(&all, &self.services[server.index()])?;
        match self.network.packetizer {
            true => inside.checked_add(self.largest_packet(server, |_| true)),
            false => Some(inside),
        }
    }

    /// What bounds the flows of some priorities together where they reach a
    /// server.
    fn arrivals(
        &self,
        delays: &Delays,
        server: ServerId,
        counts: impl Fn(u8) -> bool,
    ) -> Option<Concave> {
        let mut by_link: BTreeMap<Option<ServerId>, Vec<Crossing>> = BTreeMap::new();
        for crossing in self.network.crossings(server) {
            if counts(self.network.priority(crossing.flow)) {
                let hop = usize::try_from(crossing.hop).ok()?;
                let path = self.network.path(crossing.flow);
                let from = hop.checked_sub(1).map(|hop| path[hop]);
                by_link.entry(from).or_default().push(*crossing);
            }
        }
        let mut sum = Concave::nothing();
        for (from, crossings) in by_link {
            let flows = crossings
                .iter()
                .try_fold(Concave::nothing(), |sum, crossing| {
                    sum.checked_add(&self.arrives(delays, *crossing)?)
                });
            let line = from.and_then(|from| self.line(self.network.server(from), &crossings));
            sum = sum.checked_add(&match (flows, line) {
                (Some(flows), Some(line)) => flows.minimum(&line),
                (flows, line) => flows.or(line)?,
            })?;
        }
        Some(sum)
    }

    /// What bounds a flow where it reaches a server.
    fn arrives(&self, delays: &Delays, crossing: Crossing) -> Option<Concave> {
        let Crossing { flow, hop } = crossing;
        let before = self.network.path(flow).iter().take(hop as usize);
        let priority = self.network.priority(flow);
        let spread = before.map(|&server| delays[&queue(self.network, server, priority)]);
        let spread = spread
            .into_iter()
            .try_fold(Time::ZERO, |sum, delay| sum.checked_add(delay?))?;
        Concave::minimum_of(self.network.buckets(flow).iter().copied())?.spread_by(spread)
    }

    /// What bounds all that a link brings, if its rate is known and counts.
    fn line(&self, from: &Server, crossings: &[Crossing]) -> Option<Concave> {
        let rate = from.link.filter(|_| self.network.line_shaping)?;
        let packets = crossings
            .iter()
            .map(|crossing| self.network.max_packet(crossing.flow));
        let burst = match self.network.packetizer {
            true => packets.max().unwrap_or_default(),
            false => Data::ZERO,
        };
        (rate > Rate::ZERO).then(|| Concave::from(TokenBucket { rate, burst }))
    }

    fn largest_packet(&self, server: ServerId, counts: impl Fn(u8) -> bool) -> Data {
        let crossings = self.network.crossings(server).iter();
        crossings
            .filter(|crossing| counts(self.network.priority(crossing.flow)))
            .map(|crossing| self.network.max_packet(crossing.flow))
            .max()
            .unwrap_or_default()
    }
}

fn queue(network: &ServerGraph, server: ServerId, priority: u8) -> QueueKey {
    let class = match network.server(server).multiplexing {
        Multiplexing::Arbitrary | Multiplexing::Fifo => None,
        Multiplexing::StrictPriority => Some(priority),
    };
    QueueKey { server, class }
}

/// Whether one delay is longer than another; none is the longest.
pub(super) fn exceeds(delay: Option<Time>, than: Option<Time>) -> bool {
    match (delay, than) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(delay), Some(than)) => delay > than,
    }
}
