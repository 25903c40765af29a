//! Networks of servers and flows, drawn from a seed.
//!
//! Rates are chosen so that a bit takes a whole number of femtoseconds: then
//! the simulator rounds nothing.

use calculus::analysis::{
    Multiplexing, RateLatency, Server, ServerFlow, ServerGraph, ServerId, TokenBucket,
};
use units::fine::{Data, Rate, Time};

use super::random::Random;

mod paths;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// One server after the other; flows come and go anywhere.
    Tandem,
    /// Towards a root, or away from it.
    Tree,
    /// Any order of servers that has no cycle.
    Mesh,
    /// Pairs of servers between which flows part and join again.
    Diamond,
    Ring,
    /// A grid in which flows turn; some of them form cycles.
    Grid,
}

impl Family {
    pub const ALL: [Self; 6] = [
        Self::Tandem,
        Self::Tree,
        Self::Mesh,
        Self::Diamond,
        Self::Ring,
        Self::Grid,
    ];

    /// Returns the name in small letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tandem => "tandem",
            Self::Tree => "tree",
            Self::Mesh => "mesh",
            Self::Diamond => "diamond",
            Self::Ring => "ring",
            Self::Grid => "grid",
        }
    }
}

/// A network that was drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub family: Family,
    pub network: ServerGraph,
}

/// Rates of servers in Mbit/s.
const RATES_MBPS: [u64; 9] = [10, 20, 25, 40, 50, 80, 100, 100, 100];
/// Links are faster than their servers by this much.
const LINK_FACTORS: [u64; 5] = [1, 1, 1, 2, 5];
/// There are at most as many servers as one of these: in small networks the
/// adversary comes closest.
const SERVERS_MAX: [u64; 5] = [3, 4, 6, 8, 12];
const FLOWS_MAX: [u64; 7] = [3, 4, 4, 6, 8, 16, 30];
/// The packets of a flow are at most as large as one of these.
const PACKETS_BYTES: [u64; 5] = [64, 250, 500, 1_000, 1_538];
/// The bursts of fluids are multiples of this.
const FLUID_UNIT_BITS: u64 = 1_000;
/// The load of the busiest server, in percent of its rate.
const LOADS_PERCENT: [u64; 9] = [5, 10, 20, 35, 50, 65, 80, 90, 95];
const SHARE_OF_TWO_PIECES_PERCENT: u64 = 15;
const SHARE_OF_TWO_BUCKETS_PERCENT: u64 = 15;
const PRIORITIES: u64 = 4;

/// Draws the network of a seed.
#[must_use]
pub fn draw(seed: u64) -> Drawn {
    let mut random = Random::new(seed);
    let family = random.pick(&Family::ALL);
    let (packetizer, line_shaping) = features(&mut random);
    let (servers, flows) = (random.pick(&SERVERS_MAX), random.pick(&FLOWS_MAX));
    let flows = random.between(2, flows);
    let (servers, paths) = paths::draw(family, flows, servers, &mut random);
    let multiplexing = Orders::draw(&mut random);
    let servers: Vec<_> = (0..servers)
        .map(|_| {
            server(
                packetizer,
                line_shaping,
                multiplexing.one(&mut random),
                &mut random,
            )
        })
        .collect();
    let rates = rates(&servers, &paths, &mut random);
    let mut network = ServerGraph::new(servers).expect("every server has a rate");
    network.packetizer = packetizer;
    network.line_shaping = line_shaping;
    for (path, rate) in paths.into_iter().zip(rates) {
        let flow = flow(path, rate, packetizer, &mut random);
        network.add(&flow).expect("what was drawn is a flow");
    }
    Drawn { family, network }
}

/// Returns whether there are packetizers, and whether lines shape.
fn features(random: &mut Random) -> (bool, bool) {
    match random.below(10) {
        0..4 => (true, true),
        4..6 => (true, false),
        6..9 => (false, false),
        _ => (false, true),
    }
}

/// In which order the servers of a network serve.
#[derive(Clone, Copy)]
enum Orders {
    All(Multiplexing),
    Mixed,
}

impl Orders {
    fn draw(random: &mut Random) -> Self {
        match random.below(10) {
            0..5 => Self::All(Multiplexing::Fifo),
            5..7 => Self::All(Multiplexing::Arbitrary),
            7..9 => Self::All(Multiplexing::StrictPriority),
            _ => Self::Mixed,
        }
    }

    fn one(self, random: &mut Random) -> Multiplexing {
        match self {
            Self::All(multiplexing) => multiplexing,
            Self::Mixed => random.pick(&[
                Multiplexing::Fifo,
                Multiplexing::Arbitrary,
                Multiplexing::StrictPriority,
            ]),
        }
    }
}

fn server(
    packetizer: bool,
    line_shaping: bool,
    multiplexing: Multiplexing,
    random: &mut Random,
) -> Server {
    let mbps = random.pick(&RATES_MBPS);
    let latency_ns = match packetizer {
        true => random.pick(&[0, 0, 1_000, 10_000, 100_000]) * random.between(1, 4),
        // Long enough to hide granules of a tenth of the largest burst or smaller.
        false if line_shaping => 2_000_000 / mbps * random.between(1, 8),
        false => 400_000 / mbps * random.between(1, 30),
    };
    let mut service = vec![piece(mbps, latency_ns)];
    if random.in_percent(SHARE_OF_TWO_PIECES_PERCENT) {
        let later = latency_ns + random.between(1, 200_000);
        service.push(piece(2 * mbps, later));
    }
    let fastest = service.iter().map(|it| it.rate.as_ubps()).max();
    let link = fastest.unwrap_or_default() * random.pick(&LINK_FACTORS);
    let known = line_shaping && random.in_percent(90);
    Server {
        service,
        link: known.then_some(Rate::from_ubps(link)),
        multiplexing,
    }
}

fn piece(mbps: u64, latency_ns: u64) -> RateLatency {
    RateLatency {
        rate: Rate::of_bps(mbps * 1_000_000).expect("below 18 Tbit/s"),
        latency: Time::from_fs(latency_ns * 1_000_000),
    }
}

/// Returns the rates of flows, in millionths of a bit per second, so that the
/// busiest server has the load drawn.
fn rates(servers: &[Server], paths: &[Vec<ServerId>], random: &mut Random) -> Vec<u64> {
    let weights: Vec<_> = paths.iter().map(|_| random.between(1, 20)).collect();
    let mut loads = vec![0; servers.len()];
    for (path, weight) in paths.iter().zip(&weights) {
        path.iter()
            .for_each(|server| loads[server.index()] += weight);
    }
    let percent = random.pick(&LOADS_PERCENT);
    let shares = servers.iter().zip(loads).filter(|(_, load)| *load > 0);
    let shares = shares.map(|(server, load)| {
        let rates = server.service.iter().map(|piece| piece.rate.as_ubps());
        rates.max().unwrap_or_default() / 100 * percent / load
    });
    let share = shares.min().unwrap_or_default();
    weights.into_iter().map(|weight| weight * share).collect()
}

fn flow(path: Vec<ServerId>, rate_ubps: u64, packetizer: bool, random: &mut Random) -> ServerFlow {
    let largest = random.pick(&PACKETS_BYTES);
    let packet_bits = 8 * random.between(64, largest);
    let (max_packet, burst_bits) = match packetizer {
        true => (
            packet_bits,
            packet_bits + random.pick(&[0, 0, 1, 3, 6]) * random.between(1, packet_bits),
        ),
        false => {
            let burst = FLUID_UNIT_BITS * random.between(1, 12);
            let packet = burst.min(random.pick(&[0, 0, 512, packet_bits]));
            (packet, burst)
        }
    };
    let mut buckets = vec![bucket(rate_ubps, burst_bits)];
    if random.in_percent(SHARE_OF_TWO_BUCKETS_PERCENT) {
        let least = max_packet.max(FLUID_UNIT_BITS / 2).min(burst_bits);
        let peak = bucket(
            rate_ubps * random.between(2, 10),
            random.between(least, burst_bits),
        );
        buckets.push(peak);
    }
    random.shuffle(&mut buckets);
    ServerFlow {
        buckets,
        path,
        max_packet: bits(max_packet),
        priority: u8::try_from(random.below(PRIORITIES)).expect("a small number"),
    }
}

fn bucket(rate_ubps: u64, burst_bits: u64) -> TokenBucket {
    TokenBucket {
        rate: Rate::from_ubps(rate_ubps),
        burst: bits(burst_bits),
    }
}

fn bits(bits: u64) -> Data {
    Data::of_bits(bits).expect("a few thousand bits")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_draws_the_same_network_each_time() {
        assert_eq!(draw(7).network, draw(7).network);
        assert_ne!(draw(7).network, draw(8).network);
    }

    #[test]
    fn no_server_is_overloaded() {
        for seed in 0..300 {
            let network = draw(seed).network;
            for (server, at) in network.servers().iter().zip(0..) {
                let crossings = network.crossings(ServerId(at)).iter();
                let rates = crossings.map(|it| {
                    let buckets = network.buckets(it.flow).iter();
                    buckets.map(|bucket| bucket.rate.as_ubps()).min().unwrap()
                });
                let most = server.service.iter().map(|it| it.rate.as_ubps()).max();

                assert!(
                    rates.sum::<u64>() < most.unwrap(),
                    "seed {seed}, server {at}"
                );
            }
        }
    }

    #[test]
    fn all_families_orders_and_features_are_drawn() {
        let mut families = BTreeSet::new();
        let mut orders = BTreeSet::new();
        let mut features = BTreeSet::new();
        let (mut cycles, mut pieces, mut buckets) = (0, 0, 0);
        for seed in 0..300 {
            let Drawn { family, network } = draw(seed);
            families.insert(family);
            orders.extend(network.servers().iter().map(|it| it.multiplexing));
            features.insert((network.packetizer, network.line_shaping));
            cycles += usize::from(network.feed_forward_order().is_err());
            pieces += usize::from(network.servers().iter().any(|it| it.service.len() > 1));
            buckets += usize::from(network.flows().any(|it| network.buckets(it).len() > 1));
        }

        assert_eq!((families.len(), orders.len(), features.len()), (6, 3, 4));
        assert!(cycles > 30 && pieces > 60 && buckets > 60);
    }
}
