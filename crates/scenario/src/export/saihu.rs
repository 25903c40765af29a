//! The network as the output-port network that Saihu reads.
//!
//! A server stands for a queue of a port with what is before it in the switch: it serves
//! what more urgent queues, probes and one frame of another queue leave of the link
//! (S4-5, NC section 1.3), behind the budget of the processor, and the link takes its
//! propagation. What comes to more urgent queues is bounded by the budgets before, which
//! the admission keeps. Within a queue frames are served in order, a frame leaves when its
//! last bit has, and what comes over one link comes no faster than that (`IS`).
//!
//! So a bound of a flow in that network holds from the arrival of a frame's last bit at the
//! first switch to that at the receiver, while nothing is broken. It says nothing of the
//! budgets, which are bounds by themselves: the flow's own guarantee is its comment.
//!
//! # Left out
//!
//! Best effort; ways after failures; second copies of frames.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use thiserror::Error;
use units::fine::{Data, Rate, Time};
use units::{BitRate, DataSize, Delay};

use super::{ConfiguredFlow, ConfiguredNetwork, Crossing, TrafficBounds};
use crate::Node;
use crate::servers::{Multiplexing, ServedFlow, Server, ServerNetwork};

/// The largest frame of traffic without a promise, as on the wire.
const LARGEST_UNPROMISED: DataSize = DataSize::from_bytes(1_542);

/// Why a network cannot be given servers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unbounded {
    /// Nobody says how fast a link is.
    #[error("it is not known how fast the link between {one} and {other} is")]
    NoRate { one: String, other: String },
    /// Nobody says how long frames may be at a switch.
    #[error("it is not known how long frames may be at {switch}")]
    NoBudget { switch: String },
    /// More urgent traffic leaves nothing, or a number is too large.
    #[error("nothing is left of port {port} of {switch} for queue {queue}")]
    NothingLeft {
        switch: String,
        port: u32,
        queue: u8,
    },
}

/// A queue of a port: the place of its switch, the port, the queue.
type QueueKey = (usize, u32, u8);

/// What arrives at the queues of a port.
#[derive(Default)]
struct PortLoad {
    /// By queue: rate in bit/s, burst, and the largest frame.
    queues: BTreeMap<u8, (u64, u64, DataSize)>,
}

impl ConfiguredNetwork {
    /// Returns the servers and flows that Saihu knows; flows without a promise are left
    /// out.
    ///
    /// # Errors
    ///
    /// What of the network is not known, or leaves nothing.
    pub fn to_servers(&self) -> Result<ServerNetwork, Unbounded> {
        self.check_rates()?;
        let flows: Vec<_> = self
            .flows
            .iter()
            .filter(|it| it.deadline.is_some())
            .collect();
        let trees: Vec<_> = flows
            .iter()
            .map(|flow| self.crossings(flow.source, &flow.way))
            .collect();
        let loads = self.loads(&flows, &trees)?;
        let mut network = ServerNetwork {
            id: Some(self.name.clone()),
            packetizer: true,
            line_shaping: true,
            ..ServerNetwork::default()
        };
        let mut places = BTreeMap::<QueueKey, usize>::new();
        for (flow, tree) in flows.iter().zip(&trees) {
            for crossing in tree {
                let Some(key) = key_of(crossing, flow.queue) else {
                    continue;
                };
                if let Entry::Vacant(place) = places.entry(key) {
                    place.insert(network.servers.len());
                    let server = self.server(key, crossing, &loads[&(key.0, key.1)])?;
                    network.servers.push(server);
                }
            }
            self.add_flow(flow, tree, &places, &mut network)?;
        }
        Ok(network)
    }

    /// Returns what was promised to each flow, in words.
    #[must_use]
    pub fn promises_in_words(&self) -> BTreeMap<String, String> {
        let flows = self.flows.iter();
        let words = flows.filter_map(|flow| {
            let (guarantee, deadline) = flow.guarantee.zip(flow.deadline)?;
            let words = format!("promised within {guarantee}, asked for {deadline}");
            Some((flow.name.clone(), words))
        });
        words.collect()
    }

    /// Returns what arrives at each port, by the budgets before it.
    fn loads(
        &self,
        flows: &[&ConfiguredFlow],
        trees: &[Vec<Crossing>],
    ) -> Result<BTreeMap<(usize, u32), PortLoad>, Unbounded> {
        let mut loads = BTreeMap::<(usize, u32), PortLoad>::new();
        for (flow, tree) in flows.iter().zip(trees) {
            let mut late = BTreeMap::new();
            for crossing in tree {
                let Node::Switch(switch) = crossing.from.node else {
                    late.insert(crossing.to.node, Delay::ZERO);
                    continue;
                };
                let here = &self.switches[switch.0];
                let budget = here
                    .port_budgets
                    .get(&(crossing.from.port, flow.queue))
                    .copied();
                let no_budget = || Unbounded::NoBudget {
                    switch: here.name.clone(),
                };
                let processor = here.processing_budget.ok_or_else(no_budget)?;
                let before = late[&crossing.from.node] + processor;
                late.insert(crossing.to.node, before + budget.ok_or_else(no_budget)?);
                let load = loads.entry((switch.0, crossing.from.port)).or_default();
                let burst = flow.traffic.burst + flow.traffic.rate.most_in(before);
                load.add(flow.queue, flow.traffic, burst);
            }
        }
        Ok(loads)
    }

    /// Returns the server of a queue.
    fn server(
        &self,
        (switch, port, queue): QueueKey,
        crossing: &Crossing,
        load: &PortLoad,
    ) -> Result<Server, Unbounded> {
        let link = &self.links[crossing.link.0];
        let rate = self.rate_of(crossing)?;
        let here = &self.switches[switch];
        let nothing_left = || Unbounded::NothingLeft {
            switch: here.name.clone(),
            port,
            queue,
        };
        let above = load.queues.range(queue + 1..).map(|(_, it)| (it.0, it.1));
        let beside = self.background.iter();
        let beside = beside.filter(|(of, _)| *of >= queue);
        let beside = beside.map(|(_, it)| (it.rate.as_bps(), it.burst.as_bits()));
        let (used_bps, ahead) = above.chain(beside).fold((0u64, 0u64), |sum, it| {
            (sum.0.saturating_add(it.0), sum.1.saturating_add(it.1))
        });
        let below = load.queues.range(..queue).map(|(_, it)| it.2);
        let blocking = below.fold(LARGEST_UNPROMISED, DataSize::max);
        let left = rate.left_after(used_bps).ok_or_else(nothing_left)?;
        let ahead = Data::of_bits(ahead.saturating_add(blocking.as_bits()));
        let left = Rate::of(left);
        let waiting = left
            .zip(ahead)
            .and_then(|(left, ahead)| left.longest_for(ahead));
        let fixed = here.processing_budget.unwrap_or_default() + link.propagation;
        let latency = waiting
            .zip(Time::of(fixed))
            .and_then(|(waiting, fixed)| waiting.checked_add(fixed));
        let (left, latency) = left.zip(latency).ok_or_else(nothing_left)?;
        Ok(Server {
            id: format!("{}:{port}/{queue}", here.name),
            service: vec![(left, latency)],
            link: Rate::of(rate),
            multiplexing: Some(Multiplexing::Fifo),
        })
    }

    fn rate_of(&self, crossing: &Crossing) -> Result<BitRate, Unbounded> {
        let link = &self.links[crossing.link.0];
        link.rate.ok_or_else(|| Unbounded::NoRate {
            one: self.name_of(crossing.from.node).to_owned(),
            other: self.name_of(crossing.to.node).to_owned(),
        })
    }

    /// Adds a flow, with a branch for each further receiver.
    fn add_flow(
        &self,
        flow: &ConfiguredFlow,
        tree: &[Crossing],
        places: &BTreeMap<QueueKey, usize>,
        network: &mut ServerNetwork,
    ) -> Result<(), Unbounded> {
        let Some(first) = tree.first() else {
            return Ok(());
        };
        let traffic = flow.traffic;
        let too_large = || Unbounded::NothingLeft {
            switch: self.name_of(first.to.node).to_owned(),
            port: first.to.port,
            queue: flow.queue,
        };
        let bucket = |rate, burst| Rate::of(rate).zip(Data::of(burst));
        let own = bucket(traffic.rate, traffic.burst).ok_or_else(too_large)?;
        let peak = bucket(self.rate_of(first)?, traffic.largest_frame).ok_or_else(too_large)?;
        let trunk = network.flows.len();
        for (at, receiver) in flow.receivers.iter().enumerate() {
            let branch = Self::branch(tree, *receiver);
            let keys = branch.iter().filter_map(|it| key_of(it, flow.queue));
            network.flows.push(ServedFlow {
                id: match flow.receivers.len() {
                    1 => flow.name.clone(),
                    _ => format!("{}/{}", flow.name, self.hosts[receiver.0]),
                },
                buckets: vec![own, peak],
                path: keys.map(|key| places[&key]).collect(),
                max_packet: peak.1,
                priority: 7 - flow.queue.min(7),
                branch_of: (at > 0).then_some(trunk),
            });
        }
        Ok(())
    }
}

impl PortLoad {
    fn add(&mut self, queue: u8, traffic: TrafficBounds, burst: DataSize) {
        let (rate, bits, largest) = self.queues.entry(queue).or_default();
        *rate = rate.saturating_add(traffic.rate.as_bps());
        *bits = bits.saturating_add(burst.as_bits());
        *largest = (*largest).max(traffic.largest_frame);
    }
}

/// Returns the queue in which a flow waits for a link; nothing at its host.
fn key_of(crossing: &Crossing, queue: u8) -> Option<QueueKey> {
    match crossing.from.node {
        Node::Switch(switch) => Some((switch.0, crossing.from.port, queue)),
        Node::Host(_) => None,
    }
}
