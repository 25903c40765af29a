//! A network in which each flow has one bucket and each server one rate and
//! one latency, which is what the formulas of these methods know.
//!
//! Any bucket of a flow bounds it and any piece of a server's service is
//! promised, so each choice gives bounds that hold. Which gives the least is
//! not known beforehand: a few are tried, and each flow keeps its best.

use units::fine::{Data, Rate, Time};

use super::Order;
use crate::analysis::{FlowId, Multiplexing, RateLatency, ServerGraph, ServerId, TokenBucket};

/// One choice of buckets and of pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Simplified {
    /// By flow.
    pub(super) buckets: Vec<TokenBucket>,
    /// By server, packetizers included. A latency that is too long for its
    /// type is a service of rate zero.
    pub(super) services: Vec<RateLatency>,
}

/// Which of several is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preference {
    /// The least rate of a flow, the greatest of a server: what is stable in
    /// the long run.
    Rate,
    /// The least burst of a flow, the least latency of a server: what is quick.
    Start,
}

/// Returns the choices that are worth trying; no two are equal.
pub(super) fn choices(network: &ServerGraph, order: Order) -> Vec<Simplified> {
    const BOTH: [Preference; 2] = [Preference::Rate, Preference::Start];
    let mut choices = Vec::with_capacity(1);
    for of_flows in BOTH {
        for of_servers in BOTH {
            let choice = choose(network, order, of_flows, of_servers);
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
    }
    choices
}

/// Returns whether there was anything to choose.
pub(super) fn has_choice(network: &ServerGraph) -> bool {
    network.flows().any(|id| network.buckets(id).len() > 1)
        || network.servers().iter().any(|it| it.service.len() > 1)
}

fn choose(
    network: &ServerGraph,
    order: Order,
    of_flows: Preference,
    of_servers: Preference,
) -> Simplified {
    let ids = (0u32..).map(ServerId).take(network.servers().len());
    let service = |id| {
        let piece = piece(network.server(id).service.as_slice(), of_servers);
        packetized(network, id, order, piece)
    };
    Simplified {
        buckets: network
            .flows()
            .map(|id| bucket(network.buckets(id), of_flows))
            .collect(),
        services: ids.map(service).collect(),
    }
}

fn bucket(buckets: &[TokenBucket], preference: Preference) -> TokenBucket {
    let chosen = buckets.iter().min_by_key(|bucket| match preference {
        Preference::Rate => (bucket.rate.as_ubps(), bucket.burst.as_ubits()),
        Preference::Start => (bucket.burst.as_ubits(), bucket.rate.as_ubps()),
    });
    *chosen.expect("a flow has a bucket")
}

fn piece(pieces: &[RateLatency], preference: Preference) -> RateLatency {
    let serving = pieces.iter().filter(|piece| piece.rate > Rate::ZERO);
    let slowness = |piece: &&RateLatency| std::cmp::Reverse(piece.rate);
    let chosen = serving.min_by_key(|piece| match preference {
        Preference::Rate => (Time::ZERO, slowness(piece), piece.latency),
        Preference::Start => (piece.latency, slowness(piece), Time::ZERO),
    });
    *chosen.expect("a server has a service with a rate")
}

/// Returns a service whose packets leave with their last bit: what has been
/// served of unfinished packets is still there, NC section 1.7. In arrival
/// order that is part of one packet, in an arbitrary order part of one of each
/// flow.
fn packetized(
    network: &ServerGraph,
    id: ServerId,
    order: Order,
    piece: RateLatency,
) -> RateLatency {
    if !network.packetizer {
        return piece;
    }
    let packets = network.crossings(id).iter();
    let mut packets = packets.map(|crossing| network.max_packet(crossing.flow));
    let unfinished = match order.at(network, id) {
        Multiplexing::Fifo => packets.max(),
        Multiplexing::Arbitrary | Multiplexing::StrictPriority => {
            packets.try_fold(Data::ZERO, Data::checked_add)
        }
    };
    let latency = unfinished
        .and_then(|data| piece.rate.longest_for(data))
        .and_then(|time| piece.latency.checked_add(time));
    match latency {
        Some(latency) => RateLatency { latency, ..piece },
        None if network.crossings(id).is_empty() => piece,
        None => RateLatency::default(),
    }
}

/// Returns the longest that data of a flow with these buckets stays where it is
/// served like this, rounded up; `None` if it has no bound.
pub(super) fn delay(buckets: &[TokenBucket], service: RateLatency) -> Option<Time> {
    let excess = excess(buckets, service.rate)?;
    service
        .rate
        .longest_for(excess)?
        .checked_add(service.latency)
}

/// Returns the most data of a flow with these buckets that is where it is
/// served like this, rounded up; `None` if it has no bound.
pub(super) fn backlog(buckets: &[TokenBucket], service: RateLatency) -> Option<Data> {
    let waited = |bucket: &TokenBucket| {
        let burst = bucket.rate.most_in(service.latency)?;
        let burst = burst.checked_add(bucket.burst)?;
        Some(TokenBucket { burst, ..*bucket })
    };
    // A bucket too large for its type is no bound; the others still are.
    let waited: Vec<_> = buckets.iter().filter_map(waited).collect();
    excess(&waited, service.rate)
}

/// Returns the most by which arrivals run ahead of a service of this rate,
/// rounded up. The greatest distance lies where a bucket begins or where two
/// cross.
fn excess(buckets: &[TokenBucket], rate: Rate) -> Option<Data> {
    let slow = || buckets.iter().filter(|bucket| bucket.rate <= rate);
    let fast = || buckets.iter().filter(|bucket| bucket.rate > rate);
    let alone = slow().map(|bucket| bucket.burst);
    let crossing =
        slow().flat_map(|slow| fast().filter_map(|fast| before_crossing(*slow, *fast, rate)));
    alone.chain(crossing).min()
}

/// Returns the excess where a fast bucket meets a slow one, if it does.
fn before_crossing(slow: TokenBucket, fast: TokenBucket, rate: Rate) -> Option<Data> {
    let higher = slow.burst.checked_sub(fast.burst)?;
    let gains = fast.rate.checked_sub(rate)?.as_ubps();
    let closes = fast.rate.checked_sub(slow.rate)?.as_ubps();
    let gained = (u128::from(higher.as_ubits()) * u128::from(gains)).div_ceil(u128::from(closes));
    fast.burst
        .checked_add(Data::from_ubits(gained.try_into().ok()?))
}

/// Returns the most of a flow that arrives in an interval, rounded up.
pub(super) fn most_in(buckets: &[TokenBucket], interval: Time) -> Option<Data> {
    let most = |bucket: &TokenBucket| bucket.rate.most_in(interval)?.checked_add(bucket.burst);
    buckets.iter().filter_map(most).min()
}

impl Simplified {
    pub(super) fn bucket(&self, id: FlowId) -> TokenBucket {
        self.buckets[id.index()]
    }

    pub(super) fn service(&self, id: ServerId) -> RateLatency {
        self.services[id.index()]
    }
}

/// Returns the longest that a server is busy without a break, rounded up;
/// `None` if it has no bound.
pub(super) fn busy_period(arrivals: TokenBucket, service: RateLatency) -> Option<Time> {
    let rate = service.rate.checked_sub(arrivals.rate)?;
    if rate == Rate::ZERO {
        return None;
    }
    let waited = service.rate.most_in(service.latency)?;
    rate.longest_for(arrivals.burst.checked_add(waited)?)
}
