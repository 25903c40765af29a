//! Total flow analysis with curves, one step after the other.

use std::collections::BTreeMap;

use units::fine::{Data, Rate, Time};

use crate::analysis::network::{Crossing, Multiplexing, Network, Server, ServerId};
use crate::min_plus::piecewise::{
    Concave, Convex, TokenBucket, backlog, busy_period, delay, left_over,
};

/// Sweeps over all servers between two attempts to jump to the solution.
const SWEEPS: usize = 16;
/// Jumps until what still grows is called unbounded.
const JUMPS: usize = 64;

/// A delay for each queue: a server, or a class of one with strict priority.
/// `None` is none.
type Delays = BTreeMap<Queue, Option<Time>>;

/// A server and, where priority counts, a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Queue {
    server: ServerId,
    class: Option<u8>,
}

/// The delays and backlogs of a network.
pub(super) struct Plain<'a> {
    network: &'a Network,
    services: Vec<Convex>,
    delays: Delays,
    backlogs: Vec<Option<Data>>,
}

impl<'a> Plain<'a> {
    /// Finds delays that bound each other.
    pub(super) fn solve(network: &'a Network) -> Self {
        let servers = network.servers().iter();
        let services = servers.map(|server| Convex::maximum_of(server.service.iter().copied()));
        let mut solved = Self {
            network,
            services: services.collect(),
            delays: queues(network),
            backlogs: Vec::new(),
        };
        solved.settle();
        let servers = network.servers().iter().zip(0..);
        solved.backlogs = servers
            .map(|(_, at)| solved.backlog_of(ServerId(at)))
            .collect();
        solved
    }

    /// The longest delay at a server of a flow of a priority.
    pub(super) fn delay(&self, server: ServerId, priority: u8) -> Option<Time> {
        self.delays[&queue(self.network, server, priority)]
    }

    /// The most data at a server at one time.
    pub(super) fn backlog(&self, server: ServerId) -> Option<Data> {
        self.backlogs[server.index()]
    }

    fn settle(&mut self) {
        for _ in 0..JUMPS {
            let mut before = self.delays.clone();
            for _ in 0..SWEEPS {
                before.clone_from(&self.delays);
                if !self.sweep() {
                    return;
                }
            }
            if self.jump(&before) {
                return;
            }
        }
        self.give_up_what_grows();
    }

    /// Raises each delay to what follows from the others; whether any rose.
    fn sweep(&mut self) -> bool {
        let mut rose = false;
        let queues: Vec<_> = self.delays.keys().copied().collect();
        for queue in queues {
            let next = self.follows(&self.delays, queue);
            if exceeds(next, self.delays[&queue]) {
                self.delays.insert(queue, next);
                rose = true;
            }
        }
        rose
    }

    /// Tries delays a little above where the growth since `before` leads to.
    fn jump(&mut self, before: &Delays) -> bool {
        let grown = |queue, delay: Option<Time>| -> Option<f64> {
            let now = delay?.as_fs();
            let then = before[&queue]?.as_fs();
            #[expect(clippy::cast_precision_loss, reason = "a guess, checked below")]
            Some((now - then) as f64)
        };
        let old: Delays = self.delays.clone();
        self.sweep();
        let each = old.iter().filter_map(|(&queue, &delay)| {
            let last = grown(queue, delay)?;
            #[expect(clippy::cast_precision_loss, reason = "a guess, checked below")]
            let next = (self.delays[&queue]?.as_fs() - delay?.as_fs()) as f64;
            (last > 0.0).then_some(next / last)
        });
        let ratio = each.fold(0.0, f64::max);
        if ratio >= 1.0 {
            return false;
        }
        let guess = self.delays.iter().map(|(&queue, &delay)| {
            let last = delay.zip(old[&queue]);
            let beyond = last.map_or(0.0, |(now, then)| {
                #[expect(clippy::cast_precision_loss, reason = "a guess, checked below")]
                let step = (now.as_fs() - then.as_fs()) as f64;
                step * ratio / (1.0 - ratio) * 1.01 + 2.0
            });
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a guess, checked below"
            )]
            let beyond = Time::from_fs(beyond as u64);
            (queue, delay.and_then(|delay| delay.checked_add(beyond)))
        });
        let guess: Delays = guess.collect();
        let holds = guess
            .iter()
            .all(|(&queue, &delay)| !exceeds(self.follows(&guess, queue), delay));
        if holds {
            self.delays = guess;
        }
        holds
    }

    fn give_up_what_grows(&mut self) {
        while {
            let before = self.delays.clone();
            self.sweep();
            let mut grew = false;
            for (queue, delay) in &mut self.delays {
                if *delay != before[queue] {
                    *delay = None;
                    grew = true;
                }
            }
            grew
        } {}
    }

    /// The delay at a queue that follows from the delays before it.
    fn follows(&self, delays: &Delays, queue: Queue) -> Option<Time> {
        let Queue { server, class } = queue;
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

    fn backlog_of(&self, server: ServerId) -> Option<Data> {
        let all = self.arrivals(&self.delays, server, |_| true)?;
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

fn queues(network: &Network) -> Delays {
    let flows = network.flows();
    flows
        .flat_map(|flow| {
            let priority = network.priority(flow);
            let path = network.path(flow).iter();
            path.map(move |&server| (queue(network, server, priority), Some(Time::ZERO)))
        })
        .collect()
}

fn queue(network: &Network, server: ServerId, priority: u8) -> Queue {
    let class = match network.server(server).multiplexing {
        Multiplexing::Arbitrary | Multiplexing::Fifo => None,
        Multiplexing::StrictPriority => Some(priority),
    };
    Queue { server, class }
}

/// Whether one delay is longer than another; none is the longest.
fn exceeds(delay: Option<Time>, than: Option<Time>) -> bool {
    match (delay, than) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(delay), Some(than)) => delay > than,
    }
}
