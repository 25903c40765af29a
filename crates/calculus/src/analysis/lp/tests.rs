//! Closed forms, published figures, and networks that are simulated.

use proptest::prelude::*;
use units::Seeded;
use units::fine::{Data, Rate, Time};

use super::*;
use crate::analysis::{RateLatency, Server, ServerFlow, TokenBucket};

const MBIT: u64 = 1_000_000_000_000;
const BIT: u64 = 1_000_000;
const US: u64 = 1_000_000_000;

#[test]
fn one_server_delays_by_its_latency_and_all_bursts() {
    let mut network = network(&[(100, 10)]);
    add(&mut network, &[0], 30, 4_000);
    add(&mut network, &[0], 50, 6_000);

    let delay = delay(&network, 0);

    assert_close(delay, 110.0);
}

#[test]
fn a_flow_alone_pays_its_burst_once() {
    let mut network = network(&[(100, 10), (50, 20), (80, 5)]);
    add(&mut network, &[0, 1, 2], 30, 4_000);

    assert_close(delay(&network, 0), 10.0 + 20.0 + 5.0 + 80.0);
}

/// Programs are as large as the budget allows, and bounds hold all the same.
#[test]
fn with_less_work_programs_are_smaller_and_every_flow_is_finished() {
    let mut network = network(&[(1_000, 10); 6]);
    for first in 0..40 {
        for length in 1..=3 {
            let path: Vec<u32> = (first % 4..first % 4 + length).collect();
            add(&mut network, &path, 5, 4_000 + 100 * u64::from(first));
        }
    }
    let plain = tfa::analyze(&network).unwrap();
    let found = [20_000_000, 200_000_000, u64::MAX].map(|steps| {
        let budget = Budget::of_steps(steps);
        (
            analyze_within(&network, &budget).unwrap(),
            steps - budget.left(),
        )
    });

    for (bounds, spent) in &found {
        assert!(bounds.cut_short.is_empty(), "{spent} steps were not enough");
        assert!(*spent < 300_000_000, "{spent} steps");
    }
    let sum = |flows: &[FlowBound]| {
        let delays = flows
            .iter()
            .map(|flow| u128::from(flow.delay.unwrap().as_fs()));
        delays.sum::<u128>()
    };
    let [few, more, most] = found.map(|(bounds, _)| sum(&bounds.flows));
    assert!(most <= more && more <= few, "{most} {more} {few}");
    let plain = sum(&plain.flows);
    assert!(few <= plain && most < plain, "{few} {plain}");
}

/// The optimum of the exponential program of panco, computed beside it: with the
/// oldest start of service alone it is 306.25 us.
#[test]
fn with_all_starts_of_service_it_is_the_exponential_program_that_is_solved() {
    let mut network = network(&[(60, 0), (90, 0), (80, 0)]);
    add(&mut network, &[0, 1, 2], 10, 5_000);
    add(&mut network, &[0, 1], 20, 3_000);
    add(&mut network, &[2], 20, 3_000);
    add(&mut network, &[2], 30, 4_000);
    add(&mut network, &[0, 1, 2], 10, 1_000);

    assert_close(delay(&network, 4), 275.0);
}

/// Two flows that stay together are one flow to both servers.
#[test]
fn flows_that_stay_together_pay_both_bursts_once() {
    let mut network = network(&[(100, 10), (100, 10)]);
    add(&mut network, &[0, 1], 30, 4_000);
    add(&mut network, &[0, 1], 30, 4_000);

    assert_close(delay(&network, 0), 20.0 + 80.0);
}

#[test]
fn a_server_that_is_asked_too_much_has_no_bound_and_others_have() {
    let mut network = network(&[(100, 10), (100, 10)]);
    add(&mut network, &[0], 60, 4_000);
    add(&mut network, &[0], 60, 4_000);
    add(&mut network, &[1], 60, 4_000);

    let bounds = analyze(&network).unwrap();

    assert_eq!(bounds.flows[0].delay, None);
    assert_eq!(bounds.flows[0].backlog, None);
    assert_close(bounds.flows[2].delay, 50.0);
}

#[test]
fn a_second_bucket_helps_where_it_is_the_smaller() {
    let mut one = network(&[(100, 10)]);
    let mut two = one.clone();
    let lasting = bucket(10, 10_000);
    one.add(&flow(&[0], &[lasting])).unwrap();
    two.add(&flow(&[0], &[lasting, bucket(150, 1_000)]))
        .unwrap();

    // The peak of 150 Mbit/s meets the lasting rate after 64.3 us and 10643 bit.
    assert_close(delay(&one, 0), 110.0);
    assert_close(delay(&two, 0), 10.0 + 106.428_571 - 64.285_714);
}

#[test]
fn of_two_service_curves_the_better_counts_at_each_time() {
    let slow_start = Server {
        service: vec![rate_latency(20, 0), rate_latency(100, 40)],
        ..server(1, 0)
    };
    let mut network = ServerGraph::new(vec![slow_start]).unwrap();
    add(&mut network, &[0], 10, 400);
    let small = delay(&network, 0);
    add(&mut network, &[0], 10, 9_600);

    assert_close(small, 20.0);
    assert_close(delay(&network, 0), 40.0 + 100.0);
}

#[test]
fn an_order_other_than_first_in_first_out_is_refused_by_the_server() {
    let mut servers = vec![server(100, 10); 2];
    servers[1].multiplexing = Multiplexing::StrictPriority;
    let network = ServerGraph::new(servers).unwrap();

    assert_eq!(
        analyze(&network),
        Err(NotApplicable::Multiplexing {
            server: ServerId(1),
            multiplexing: Multiplexing::StrictPriority,
        })
    );
}

/// The rings of the specification: n servers of 100 Mbit/s and 10 us, n flows of
/// 4 Mbit/s that each cross all. Printed are the figures of PLP's own tool; ours
/// are smaller as all that comes over an arc has a burst together.
#[test]
fn rings_are_just_below_the_figures_printed_of_the_paper_s_tool() {
    for (servers, printed_us, ours_us) in [(3, 290.30, 290.256_095), (8, 953.22, 947.055_263)] {
        assert!(ours_us < printed_us);
        assert_close(delay(&ring(servers, 4, true), 0), ours_us);
    }
}

#[test]
fn a_ring_may_have_a_bound_where_total_flow_analysis_has_none() {
    let network = ring(8, 4, false);

    let plain = tfa::analyze(&network).unwrap();

    assert_eq!(plain.flows[0].delay, None);
    assert!(delay(&network, 0).is_some());
}

#[test]
fn a_flow_looked_at_alone_has_the_bound_that_it_has_among_all() {
    let mut network = ring(3, 4, true);
    add(&mut network, &[0], 5, 2_000);
    let all = analyze(&network).unwrap();

    for flow in network.flows() {
        let alone = analyze_flow(&network, flow).unwrap();

        assert_eq!(alone, all.flows[flow.index()]);
    }
}

#[test]
fn what_is_behind_a_flow_is_not_looked_at_for_it() {
    let mut network = network(&[(100, 10); 4]);
    add(&mut network, &[0, 1], 10, 1_000);
    add(&mut network, &[1, 2], 10, 1_000);
    add(&mut network, &[3, 2], 10, 1_000);
    let map = FactMap::new(&network);

    let needed: Vec<_> = needed(&map, &ids(&[1])).concat();

    assert_eq!(needed, ids(&[0, 1]));
}

#[test]
fn a_ring_that_is_asked_too_much_has_no_bound() {
    assert_eq!(delay(&ring(4, 26, true), 0), None);
}

fn ring(servers: u32, rate_mbps: u64, shaping: bool) -> ServerGraph {
    let server = Server {
        link: Some(Rate::from_ubps(100 * MBIT)),
        ..server(100, 10)
    };
    let mut network = ServerGraph::new(vec![server; servers as usize]).unwrap();
    network.line_shaping = shaping;
    for first in 0..servers {
        let path: Vec<u32> = (0..servers).map(|hop| (first + hop) % servers).collect();
        add(&mut network, &path, rate_mbps, 8_000);
    }
    network
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Sound: no packet of a simulated network is later than its bound.
    #[test]
    fn no_simulated_packet_is_later_than_its_bound(
        plan in any_plan(Paths::Forward),
        seeds in proptest::array::uniform4(any::<u64>()),
    ) {
        assert_sound(&plan, seeds)?;
    }

    /// The same where paths form cycles.
    #[test]
    fn no_simulated_packet_on_a_cycle_is_later_than_its_bound(
        plan in any_plan(Paths::Anywhere),
        seeds in proptest::array::uniform4(any::<u64>()),
    ) {
        assert_sound(&plan, seeds)?;
    }

    /// Tight: the programs need no help from total flow analysis.
    #[test]
    fn programs_alone_find_no_longer_delays_than_total_flow_analysis(
        plan in any_plan(Paths::Anywhere),
        packetizer in any::<bool>(),
    ) {
        let mut network = plan.network();
        network.packetizer = packetizer;

        let unknown = vec![None; network.servers().len()];
        let servers: Vec<_> = (0..).map(ServerId).take(unknown.len()).collect();
        let budget = Budget::unlimited();
        let alone = KnownNetwork::from(&network, Vec::new(), &unknown, &servers, &budget);

        for (flow, plain) in tfa::analyze(&network).unwrap().flows.iter().enumerate() {
            for hop in &plain.hops {
                let (Some(plain), delay) = (hop.delay, alone.facts.time(alone.map.delay(hop.server))) else { continue };
                let slack = Time::from_fs(plain.as_fs() / 1_000_000 + 1_000);
                prop_assert!(
                    delay.is_some_and(|delay| delay <= plain.checked_add(slack).unwrap()),
                    "flow {flow} at {:?}: {delay:?} above {plain:?}", hop.server
                );
            }
        }
    }
}

fn assert_sound(plan: &Plan, seeds: [u64; 4]) -> Result<(), TestCaseError> {
    let network = plan.network();
    let bounds = analyze(&network).unwrap();
    for seed in seeds {
        let seen = simulation::delays(&network, &plan.packets, seed);
        for (bound, seen) in bounds.flows.iter().zip(seen) {
            // Flows on a cycle may have no bound.
            prop_assert!(
                bound.delay.is_none_or(|delay| seen <= delay),
                "{seen:?} above {bound:?}"
            );
        }
    }
    Ok(())
}

/// A random network whose servers keep up.
#[derive(Clone, Debug)]
struct Plan {
    /// Rates in Mbit/s and latencies in microseconds.
    servers: Vec<(u64, u64)>,
    /// Which servers each flow crosses, in which order.
    paths: Vec<Vec<u32>>,
    /// How many packets the burst of each flow has.
    bursts: Vec<u64>,
    /// The size of the packets of each flow, in bits.
    packets: Vec<u64>,
    shaping: bool,
    /// How much of the slowest server the flows need together, in percent.
    load: u64,
}

/// Where flows of a plan go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paths {
    /// From servers to others of larger numbers.
    Forward,
    /// From servers to any others.
    Anywhere,
}

fn any_plan(paths: Paths) -> impl Strategy<Value = Plan> {
    let load = match paths {
        Paths::Forward => 50u64..=95,
        Paths::Anywhere => 10..=60,
    };
    (2u32..6, 2usize..8).prop_flat_map(move |(servers, flows)| {
        let all: Vec<u32> = (0..servers).collect();
        let some = proptest::sample::subsequence(all, 1..=servers as usize);
        let path = match paths {
            Paths::Forward => some.boxed(),
            Paths::Anywhere => some.prop_shuffle().boxed(),
        };
        let plan = (
            proptest::collection::vec((20u64..100, 0u64..30), servers as usize),
            proptest::collection::vec(path, flows),
            proptest::collection::vec(1u64..8, flows),
            proptest::collection::vec(200u64..2_000, flows),
            any::<bool>(),
            load.clone(),
        );
        plan.prop_map(|(servers, paths, bursts, packets, shaping, load)| Plan {
            servers,
            paths,
            bursts,
            packets,
            shaping,
            load,
        })
    })
}

impl Plan {
    fn network(&self) -> ServerGraph {
        let servers = self.servers.iter().map(|(rate, latency)| Server {
            link: Some(Rate::from_ubps(rate * MBIT)),
            ..server(*rate, *latency)
        });
        let mut network = ServerGraph::new(servers.collect()).unwrap();
        network.packetizer = true;
        network.line_shaping = self.shaping;
        let slowest = self.servers.iter().map(|it| it.0).min().unwrap();
        let share = slowest * MBIT * self.load / 100 / self.paths.len() as u64;
        for ((path, burst), packet) in self.paths.iter().zip(&self.bursts).zip(&self.packets) {
            let bucket = TokenBucket {
                rate: Rate::from_ubps(share),
                burst: Data::from_ubits(burst * packet * BIT),
            };
            let max_packet = Data::from_ubits(packet * BIT);
            network
                .add(&ServerFlow {
                    max_packet,
                    ..flow(path, &[bucket])
                })
                .unwrap();
        }
        network
    }
}

/// Packets through servers, in whole femtoseconds.
mod simulation {
    use super::*;

    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// A packet on its way.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct Packet {
        flow: FlowId,
        hop: usize,
        sent: u64,
    }

    /// Returns the longest delay of each flow, all of which send as much as they
    /// may, from times that `seed` chooses.
    pub(super) fn delays(network: &ServerGraph, sizes: &[u64], seed: u64) -> Vec<Time> {
        let mut random = Seeded::new(seed);
        // By time; the order of packets that come at the same is left to chance.
        let mut coming = BinaryHeap::new();
        for flow in network.flows() {
            let begin = random.number() % (200 * US) * (random.number() % 2);
            for sent in greedy(network, flow, sizes[flow.index()], begin) {
                let packet = Packet { flow, hop: 0, sent };
                coming.push(Reverse((sent, random.number(), packet)));
            }
        }
        let mut longest = vec![Time::ZERO; sizes.len()];
        let mut free = vec![0; network.servers().len()];
        while let Some(Reverse((here, _, packet))) = coming.pop() {
            let server = network.path(packet.flow)[packet.hop];
            let service = network.server(server).service[0];
            let free = &mut free[server.index()];
            // A server that has been idle is as late as it may be.
            let begin = if here > *free {
                here + service.latency.as_fs()
            } else {
                *free
            };
            let size = Data::from_ubits(sizes[packet.flow.index()] * BIT);
            *free = begin + service.rate.shortest_for(size).unwrap().as_fs();
            if packet.hop + 1 < network.path(packet.flow).len() {
                let hop = packet.hop + 1;
                coming.push(Reverse((*free, random.number(), Packet { hop, ..packet })));
            } else {
                let longest = &mut longest[packet.flow.index()];
                *longest = (*longest).max(Time::from_fs(*free - packet.sent));
            }
        }
        longest
    }

    /// When the packets of a flow come that sends as much as it may.
    fn greedy(network: &ServerGraph, flow: FlowId, size: u64, begin: u64) -> Vec<u64> {
        let bucket = network.buckets(flow)[0];
        let when = |count: u64| {
            let data = (count * size * BIT).saturating_sub(bucket.burst.as_ubits());
            begin
                + bucket
                    .rate
                    .longest_for(Data::from_ubits(data))
                    .unwrap()
                    .as_fs()
        };
        (1..=24).map(when).collect()
    }
}

fn delay(network: &ServerGraph, flow: u32) -> Option<Time> {
    analyze_flow(network, FlowId(flow)).unwrap().delay
}

/// Asserts a delay in microseconds, to a millionth of it.
#[track_caller]
fn assert_close(delay: Option<Time>, expected_us: f64) {
    let us = delay.unwrap().as_fs() as f64 / US as f64;
    assert!(
        (us / expected_us - 1.0).abs() < 1e-6,
        "{us} us, not {expected_us}"
    );
}

pub(super) fn network(servers: &[(u64, u64)]) -> ServerGraph {
    let servers = servers
        .iter()
        .map(|(rate, latency)| server(*rate, *latency));
    ServerGraph::new(servers.collect()).unwrap()
}

fn server(rate_mbps: u64, latency_us: u64) -> Server {
    Server {
        service: vec![rate_latency(rate_mbps, latency_us)],
        link: None,
        multiplexing: Multiplexing::Fifo,
    }
}

fn rate_latency(rate_mbps: u64, latency_us: u64) -> RateLatency {
    RateLatency {
        rate: Rate::from_ubps(rate_mbps * MBIT),
        latency: Time::from_fs(latency_us * US),
    }
}

pub(super) fn add(network: &mut ServerGraph, path: &[u32], rate_mbps: u64, burst_bits: u64) {
    network
        .add(&flow(path, &[bucket(rate_mbps, burst_bits)]))
        .unwrap();
}

fn flow(path: &[u32], buckets: &[TokenBucket]) -> ServerFlow {
    ServerFlow {
        buckets: buckets.to_vec(),
        path: ids(path),
        max_packet: Data::ZERO,
        priority: 0,
    }
}

fn bucket(rate_mbps: u64, burst_bits: u64) -> TokenBucket {
    TokenBucket {
        rate: Rate::from_ubps(rate_mbps * MBIT),
        burst: Data::from_ubits(burst_bits * BIT),
    }
}

fn ids(path: &[u32]) -> Vec<ServerId> {
    path.iter().copied().map(ServerId).collect()
}
