//! The simulator against what textbooks say of one server and of two.

use calculus::analysis::{RateLatency, Server, ServerFlow, TokenBucket};

use super::super::adversary::{self, Effort};
use super::super::family;
use super::super::source::{Shape, Sizes};
use super::*;

const PATIENT: Effort = Effort {
    flows: 2,
    events: 2_000_000,
    changes: 400,
};

/// One FIFO server: the sum of all bursts and the latency, `T + b / R`.
#[test]
fn one_server_is_as_late_as_its_closed_form() {
    let (rate_mbps, latency_us, bursts_bits) = (100, 10, [8_000, 3_000, 5_000]);
    let mut network = network(&[server(rate_mbps, latency_us, Multiplexing::Fifo)]);
    for burst in bursts_bits {
        network.add(&flow(&[0], 4, burst, 1_000, 0)).unwrap();
    }
    network.packetizer = true;

    let observed = adversary::search(&network, PATIENT, 1).unwrap();

    let all_us = latency_us + bursts_bits.iter().sum::<u64>() / rate_mbps;
    assert_eq!(observed.delays[0], us(all_us));
    let at_once = bursts_bits.iter().sum::<u64>();
    let while_idle = 3 * 4 * latency_us;
    assert!(observed.server_backlogs[0] >= bits(at_once));
    assert!(observed.server_backlogs[0] <= bits(at_once + while_idle));
}

/// The same for a fluid, in spite of its granules.
#[test]
fn a_fluid_is_never_later_than_its_closed_form_and_nearly_as_late() {
    let mut network = network(&[server(100, 10, Multiplexing::Fifo)]);
    network.add(&flow(&[0], 4, 8_000, 0, 0)).unwrap();
    network.add(&flow(&[0], 4, 4_000, 0, 0)).unwrap();

    let observed = adversary::search(&network, PATIENT, 1).unwrap();

    let bound = us(10 + 120);
    assert!(observed.delays[0] <= bound);
    assert!(observed.delays[0] >= us(120), "{:?}", observed.delays[0]);
}

/// Strict priority: the latency, what is urgent, and a packet that had begun:
/// `(b + l_max(lower)) / R` for the urgent, everything for the others.
#[test]
fn an_urgent_flow_waits_for_the_packet_that_has_begun() {
    let mut network = network(&[server(100, 0, Multiplexing::StrictPriority)]);
    network.add(&flow(&[0], 4, 4_000, 1_000, 0)).unwrap();
    network.add(&flow(&[0], 4, 9_000, 3_000, 1)).unwrap();
    network.packetizer = true;

    let observed = adversary::search(&network, PATIENT, 1).unwrap();

    assert!(observed.delays[0] <= us(70));
    assert!(observed.delays[0] >= us(69), "{:?}", observed.delays[0]);
    // While it is backlogged the urgent flow goes on sending.
    assert!(observed.delays[1] >= us(130), "{:?}", observed.delays[1]);
}

/// Arbitrary: what is left over, `(b_x + R * T) / (R - r_x) + b / (R - r_x)`.
#[test]
fn an_arbitrary_order_starves_the_flow_of_interest() {
    let mut network = network(&[server(100, 10, Multiplexing::Arbitrary)]);
    network.add(&flow(&[0], 10, 1_000, 1_000, 0)).unwrap();
    network.add(&flow(&[0], 80, 4_000, 200, 0)).unwrap();
    network.packetizer = true;

    let observed = adversary::search(&network, PATIENT, 1).unwrap();

    let bound = us((4_000 + 1_000 + 1_000) / 20);
    assert!(observed.delays[0] <= bound);
    // Packets are not interrupted: the last of the flow is served in one go.
    assert!(observed.delays[0] >= us(200), "{:?}", observed.delays[0]);
}

/// Two FIFO servers in a row, a cross flow at each: its burst meets the flow of
/// interest, which has to be found.
#[test]
fn bursts_are_made_to_meet_at_the_second_server() {
    let fifo = || server(100, 0, Multiplexing::Fifo);
    let mut network = network(&[fifo(), fifo()]);
    network.add(&flow(&[0, 1], 1, 1_000, 1_000, 0)).unwrap();
    network.add(&flow(&[0], 1, 6_000, 1_000, 0)).unwrap();
    network.add(&flow(&[1], 1, 8_000, 1_000, 0)).unwrap();
    network.packetizer = true;

    let observed = adversary::search(&network, PATIENT, 1).unwrap();

    // 6 + 1 packets at the first, 8 + 1 at the second.
    assert_eq!(observed.delays[0], us(70 + 90));
}

/// A lazy server puts out exactly its curve; with two pieces, the larger one.
#[test]
fn two_pieces_serve_as_their_maximum() {
    let mut server = server(10, 0, Multiplexing::Fifo);
    server.service.push(piece(100, 100));
    let mut network = network(&[server]);
    network.add(&flow(&[0], 1, 4_000, 1_000, 0)).unwrap();
    network.packetizer = true;
    let conditions = Conditions {
        patterns: vec![Pattern {
            phase_fs: 0,
            shape: Shape::Burst,
            sizes: Sizes::Largest,
        }],
        behaviours: vec![Behaviour::LAZY],
        ranks: vec![0],
        until_fs: 0,
    };
    let mut observed = ObservedMaxima::nothing(&network);

    let mut simulator = Simulator::new(&network).unwrap();
    simulator.run(&conditions, &mut observed);

    // The fast piece has done 4,000 bits after 100 us + 40 us, the slow one after 400 us.
    assert_eq!(observed.delays[0], us(140));
}

/// With line shaping nothing leaves faster than the link, even if let go.
#[test]
fn a_shaped_link_is_never_overrun() {
    let mut first = server(100, 500, Multiplexing::Fifo);
    first.link = Rate::of_bps(200_000_000);
    let mut network = network(&[first, server(50, 0, Multiplexing::Fifo)]);
    network.add(&flow(&[0, 1], 1, 10_000, 1_000, 0)).unwrap();
    network.packetizer = true;
    network.line_shaping = true;
    let behaviour = Behaviour {
        lets_go_after_fs: 0,
        ..Behaviour::LAZY
    };
    let conditions = Conditions {
        patterns: vec![Pattern {
            phase_fs: 0,
            shape: Shape::Burst,
            sizes: Sizes::Largest,
        }],
        behaviours: vec![behaviour, Behaviour::LAZY],
        ranks: vec![0],
        until_fs: 0,
    };
    let mut observed = ObservedMaxima::nothing(&network);

    let mut simulator = Simulator::new(&network).unwrap();
    simulator.run(&conditions, &mut observed);

    let (_, arrivals) = simulator.latest(FlowId(0)).unwrap();
    assert_eq!(arrivals, [0, us(50).as_fs()]);
    // The last waits for nine others that take 20 us each and come every 5 us.
    assert_eq!(observed.hop_delays[0][1], us(5 + 200 - 50));
}

/// Whatever the conditions, a server that has work all the time serves in each
/// interval as much as its service curve asks (a strict one, NC section 1.3).
#[test]
fn no_server_is_later_than_its_service_curve() {
    for seed in [1_890, 223, 421, 1_464].into_iter().chain(0..12) {
        let network = family::draw(seed).network;
        let mut simulator = Simulator::new(&network).unwrap();
        let mut observed = ObservedMaxima::nothing(&network);
        for conditions in adversary::conditions(&network, seed, 40) {
            simulator.run(&conditions, &mut observed);

            for (server, passages) in network.servers().iter().zip(simulator.passages()) {
                assert_served(server, passages, network.packetizer, seed);
            }
        }
    }
}

fn assert_served(server: &Server, mut passages: Vec<(u64, u64, u64)>, packetizer: bool, seed: u64) {
    passages.sort_unstable();
    let mut arrived = Vec::new();
    let mut sum = 0;
    for (came, _, ubits) in &passages {
        arrived.push((*came, sum));
        sum += ubits;
    }
    arrived.push((u64::MAX, sum));
    passages.sort_unstable_by_key(|passage| passage.1);
    let mut left_before = 0;
    // Moments since which there has been work, and what had left until then.
    let mut marks = Vec::new();
    for together in passages.chunk_by(|one, next| one.1 == next.1) {
        let left = together[0].1;
        if marks.is_empty() {
            let begins = arrived.partition_point(|(_, sum)| *sum < left_before);
            marks.push((arrived[begins].0, left_before));
        }
        // What a packetizer holds back of the one packet in service has been served.
        let largest = together.iter().map(|passage| passage.2).max().unwrap();
        let served = left_before + if packetizer { largest } else { 0 };
        for (since, before) in &marks {
            let asked = curve(server, left - since);
            let late = format!("seed {seed}: {server:?} is too late at {left} fs");
            assert!(before + asked <= served + 1, "{late}");
        }
        left_before += together.iter().map(|passage| passage.2).sum::<u64>();
        marks.push((left, left_before));
        let next = arrived.partition_point(|(_, sum)| *sum < left_before);
        if arrived
            .get(next)
            .is_none_or(|(since, sum)| *since >= left && *sum == left_before)
        {
            marks.clear();
        }
    }
}

/// Returns what the service curve promises within a time.
fn curve(server: &Server, fs: u64) -> u64 {
    let served = server.service.iter().map(|piece| {
        let time = fs.saturating_sub(piece.latency.as_fs());
        piece.rate.least_in(Time::from_fs(time)).as_ubits()
    });
    served.max().unwrap()
}

fn network(servers: &[Server]) -> ServerGraph {
    ServerGraph::new(servers.to_vec()).unwrap()
}

fn server(mbps: u64, latency_us: u64, multiplexing: Multiplexing) -> Server {
    Server {
        service: vec![piece(mbps, latency_us)],
        link: None,
        multiplexing,
    }
}

fn piece(mbps: u64, latency_us: u64) -> RateLatency {
    RateLatency {
        rate: Rate::of_bps(mbps * 1_000_000).unwrap(),
        latency: us(latency_us),
    }
}

fn flow(path: &[u32], mbps: u64, burst_bits: u64, packet_bits: u64, priority: u8) -> ServerFlow {
    ServerFlow {
        buckets: vec![TokenBucket {
            rate: Rate::of_bps(mbps * 1_000_000).unwrap(),
            burst: bits(burst_bits),
        }],
        path: path.iter().copied().map(ServerId).collect(),
        max_packet: bits(packet_bits),
        priority,
    }
}

fn bits(bits: u64) -> Data {
    Data::of_bits(bits).unwrap()
}

fn us(us: u64) -> Time {
    Time::from_fs(us * 1_000_000_000)
}
