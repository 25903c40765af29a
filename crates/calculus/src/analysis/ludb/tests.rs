//! Closed forms of the papers, and what every choice of parameters keeps.

use proptest::prelude::*;
use units::fine::{Data, Rate, Time};

use super::pseudo_affine::PseudoAffine;
use super::tandem::TandemTraffic;
use super::waits::WaitSearch;
use super::*;
use crate::analysis::{Multiplexing, RateLatency, Server, ServerFlow, ServerId, TokenBucket};

#[test]
fn one_server_takes_its_latency_and_all_bursts() {
    let network = network(
        &[(100, 3)],
        &[(&[0], 10, 700), (&[0], 20, 200), (&[0], 70, 100)],
    );

    for bound in analyze(&network).unwrap().flows {
        assert_seconds(bound.delay, 0.003 + 1_000.0 / 100.0);
    }
}

/// The simplest nested tandem of LUDB.
#[test]
fn two_servers_and_a_cross_flow_at_one_of_them() {
    for (at, rates) in [
        (0, [50, 100]),
        (0, [100, 50]),
        (1, [50, 100]),
        (1, [100, 50]),
    ] {
        let servers = [(rates[0], 0), (rates[1], 0)];
        let network = network(&servers, &[(&[0, 1], 10, 300), (&[at], 20, 400)]);

        let bound = analyze_flow(&network, FlowId(0), Effort::Fast).unwrap();

        // The wait serves both bursts, or the other's alone, or as much of the own
        // that both servers take equally long for the rest.
        let (with, alone) = (rates[at as usize] as f64, rates[1 - at as usize] as f64);
        let (at_once, left) = (400.0 / with, with - 20.0);
        let even = (700.0 - left * 300.0 / alone) / with;
        let waits = [700.0 / with, at_once, even.max(at_once)];
        let total = |wait: f64| {
            let ahead = with * wait - 400.0;
            let own = (300.0 / alone).max((300.0 - ahead) / left).max(0.0);
            wait + own
        };
        let least = waits
            .iter()
            .map(|wait| total(*wait))
            .fold(f64::INFINITY, f64::min);
        assert_seconds(bound.delay, least);
    }
}

/// SINK-TREE: the sum of latencies, and of bursts over the rate at which they come
/// through from where they join. It is exact.
#[test]
fn a_sink_tree_has_the_bound_of_its_closed_form() {
    let servers = [(90, 1), (60, 2), (100, 0), (80, 5)];
    let joining = [(10, 300), (5, 100), (20, 700), (10, 50)];
    let paths: Vec<Vec<u32>> = (0..4).map(|at| (at..4).collect()).collect();
    let flows = paths.iter().zip(joining);
    let flows: Vec<_> = flows
        .map(|(path, flow)| (&path[..], flow.0, flow.1))
        .collect();
    let network = network(&servers, &flows);

    let bound = analyze_flow(&network, FlowId(0), Effort::Fast).unwrap();

    let through = |at: usize| {
        let (mut all, mut ours) = (servers[at].0 as f64, servers[at].0 as f64);
        for (server, joins) in servers[at + 1..].iter().zip(&joining[at + 1..]) {
            all += joins.0 as f64;
            let passes = (server.0 as f64 / all).min(1.0);
            (all, ours) = (all * passes, ours * passes);
        }
        ours
    };
    let share = |at: usize| servers[at].1 as f64 / 1e3 + joining[at].1 as f64 / through(at);
    assert_seconds(bound.delay, (0..4).map(share).sum());
}

#[test]
fn an_overloaded_server_has_no_bound_and_the_others_keep_theirs() {
    let flows: [(&[u32], _, _); 3] = [(&[0, 1], 60, 1), (&[1], 60, 1), (&[0], 10, 1)];
    let network = network(&[(100, 0), (100, 0)], &flows);

    let flows = analyze(&network).unwrap().flows;

    assert_eq!((flows[0].delay, flows[0].backlog), (None, None));
    assert_eq!(flows[1].delay, None);
    assert!(flows[2].delay.is_some());
}

#[test]
fn a_cycle_and_another_order_of_service_are_named() {
    let cyclic = network(&[(100, 0), (100, 0)], &[(&[0, 1], 1, 1), (&[1, 0], 1, 1)]);
    assert!(matches!(analyze(&cyclic), Err(NotApplicable::Cycle { .. })));

    let mut server = server(100, 0);
    server.multiplexing = Multiplexing::Arbitrary;
    let other = ServerGraph::new(vec![server]).unwrap();
    assert_eq!(
        analyze(&other),
        Err(NotApplicable::Multiplexing {
            server: ServerId(0),
            multiplexing: Multiplexing::Arbitrary
        })
    );
}

/// No recursion is so deep and no crowd so large that there is no bound.
#[test]
fn a_long_row_and_a_crowd_have_bounds() {
    let chain = |length: u32| {
        let servers = vec![(100, 0); length as usize];
        let paths: Vec<_> = (1..length).map(|at| [at - 1, at]).collect();
        let flows: Vec<_> = paths.iter().map(|path| (&path[..], 1, 1)).collect();
        network(&servers, &flows)
    };
    let crowd: Vec<(&[u32], _, _)> = vec![(&[0], 1, 1); 1_415];
    let crowd = network(&[(2_000, 0)], &crowd);

    for network in [chain(3_000), crowd] {
        let bounds = analyze(&network).unwrap();

        assert!(bounds.flows.iter().all(|flow| flow.delay.is_some()));
        assert!(bounds.cut_short.is_empty());
    }
}

/// Whatever the work that is left, what is found holds and is no less than what
/// is found with more.
#[test]
fn with_less_work_bounds_are_larger_and_the_rest_is_named() {
    let paths: Vec<Vec<u32>> = (0..60).map(|at| (at % 4..at % 4 + 3).collect()).collect();
    let flows: Vec<_> = paths.iter().map(|path| (&path[..], 1, 40)).collect();
    let network = network(&[(100, 3); 6], &flows);
    let all = analyze(&network).unwrap();

    for steps in [0, 100_000, 1_000_000, 10_000_000] {
        let budget = Budget::of_steps(steps);
        let found = analyze_within(&network, Effort::Fast, &budget).unwrap();

        for (flow, (found, all)) in (0..).zip(found.flows.iter().zip(&all.flows)) {
            let cut = budget.left() == 0;
            assert!(
                found.delay >= all.delay || (cut && found.delay.is_none()),
                "{steps}"
            );
            if found.delay.is_none() {
                let again = analyze_within(&network, Effort::Fast, &Budget::of_steps(steps));
                assert!(again.unwrap().cut_short.contains(&FlowId(flow)));
            }
        }
        assert_eq!(found.cut_short.is_empty(), budget.left() > 0);
    }
    assert!(all.flows.iter().all(|flow| flow.delay.is_some()));
}

#[test]
fn a_packet_waits_for_its_last_bit_at_every_server_but_the_last() {
    let servers = [(100, 0), (50, 0)];
    let mut fluid = network(&servers, &[]);
    let bucket = bucket(10, 300);
    fluid
        .add(&ServerFlow {
            buckets: vec![bucket],
            path: vec![ServerId(0), ServerId(1)],
            max_packet: Data::of_bits(100).unwrap(),
            priority: 0,
        })
        .unwrap();
    let mut packets = fluid.clone();
    packets.packetizer = true;

    let delay = |network| analyze(network).unwrap().flows[0].delay;

    assert_seconds(delay(&fluid), 300.0 / 50.0);
    assert_seconds(delay(&packets), 300.0 / 50.0 + 100.0 / 100.0);
}

#[test]
fn of_several_buckets_and_curves_the_better_ones_count() {
    let mut fast = server(100, 7_000);
    fast.service.push(server(50, 0).service[0]);
    let mut network = ServerGraph::new(vec![fast]).unwrap();
    network
        .add(&ServerFlow {
            buckets: vec![bucket(10, 300), bucket(200, 100)],
            path: vec![ServerId(0)],
            max_packet: Data::ZERO,
            priority: 0,
        })
        .unwrap();

    let bound = analyze(&network).unwrap().flows[0].clone();

    // At 50 a second: 300 - (300 - 100) * (50 - 10) / (200 - 10) are ahead.
    assert_seconds(bound.delay, (300.0 - 200.0 * 40.0 / 190.0) / 50.0);
}

proptest! {
    /// Any waits give a bound; those that are searched give the least.
    #[test]
    fn no_waits_are_better_than_those_found(
        rates in prop::collection::vec(200u64..400, 4),
        bursts in prop::collection::vec(1u64..1_000, 5),
        random in prop::collection::vec(0u64..20_000, 4),
    ) {
        let places = [(1, 1), (0, 1), (2, 3), (0, 3)];
        let servers: Vec<_> = rates.iter().map(|rate| server(*rate, 1).service[0]).collect();
        let own = bucket(10, bursts[4]);
        let part = |((first, last), burst): (&(usize, usize), &u64)| TandemTraffic {
            first: *first,
            last: *last,
            bucket: bucket(40, *burst),
        };
        let mut parts: Vec<_> = places.iter().zip(&bursts).map(part).collect();
        let delay = |waits: &[Time]| {
            let mut curve = PseudoAffine::of(&servers).unwrap();
            for (part, wait) in parts.iter().zip(waits) {
                curve.leave(part.places(), part.bucket, *wait).unwrap();
            }
            curve.delay(&[own]).unwrap()
        };
        let others: Vec<_> = random.iter().map(|ms| Time::from_fs(ms * FS_PER_MS / 1_000)).collect();
        let any = delay(&others);
        let shortest = delay(&[Time::ZERO; 4]);

        let all: Vec<_> = parts.iter().copied().chain([TandemTraffic { first: 0, last: 3, bucket: own }]).collect();
        let waits = WaitSearch::default().waits(&servers, &all);
        let least = delay(&waits);

        parts.clear();
        let slack = least.as_fs() / 10_000_000;
        prop_assert!(least.as_fs() <= any.as_fs() + slack);
        prop_assert!(least.as_fs() <= shortest.as_fs() + slack);
    }

    /// A longer search never has a worse bound, and one more flow never a
    /// better one.
    #[test]
    fn more_effort_is_no_worse(network in networks()) {
        let fast = analyze_with(&network, Effort::Fast).unwrap();
        let thorough = analyze_with(&network, Effort::Thorough).unwrap();

        for (fast, thorough) in fast.flows.iter().zip(&thorough.flows) {
            prop_assert!(thorough.delay.unwrap() <= fast.delay.unwrap());
        }
    }

    #[test]
    fn a_flow_alone_has_the_bound_that_it_has_among_all(network in networks()) {
        let all = analyze(&network).unwrap();

        for (flow, bound) in network.flows().zip(&all.flows) {
            prop_assert_eq!(&analyze_flow(&network, flow, Effort::Fast).unwrap(), bound);
        }
    }
}

proptest! {
    /// Sound: packets of greedy sources are never later than their bounds,
    /// though paths part and join again.
    #[test]
    fn no_packet_is_later_than_its_bound(mut network in networks(), phases in prop::collection::vec(0u64..40, 16)) {
        network.packetizer = true;
        let bounds = analyze_with(&network, Effort::Thorough).unwrap();

        let latest = simulate(&network, &phases);

        for (latest, bound) in latest.iter().zip(&bounds.flows) {
            prop_assert!(*latest <= bound.delay.unwrap(), "{latest:?} > {bound:?}");
        }
    }
}

/// Returns the longest delay of a packet of each flow. Every source sends its burst
/// at its phase, in milliseconds, and then as fast as it may.
fn simulate(network: &ServerGraph, phases: &[u64]) -> Vec<Time> {
    let mut queues = vec![Vec::new(); network.servers().len()];
    for (flow, phase) in network.flows().zip(phases) {
        let (bucket, packet) = (network.buckets(flow)[0], network.max_packet(flow));
        let mut at = Time::from_fs(phase * FS_PER_MS);
        let burst = bucket.burst.as_ubits() / packet.as_ubits();
        for sent in 1..burst + 20 {
            queues[network.path(flow)[0].index()].push((at, flow, at));
            if sent >= burst {
                at = at
                    .checked_add(bucket.rate.longest_for(packet).unwrap())
                    .unwrap();
            }
        }
    }
    let mut latest = vec![Time::ZERO; network.flows().len()];
    for server in network.feed_forward_order().unwrap() {
        let mut queue = std::mem::take(&mut queues[server.index()]);
        queue.sort_unstable();
        let mut free = Time::ZERO;
        for (at, flow, begun) in queue {
            let rate = network.server(server).service[0].rate;
            let sending = rate.shortest_for(network.max_packet(flow)).unwrap();
            free = free.max(at).checked_add(sending).unwrap();
            let path = network.path(flow);
            let hop = path.iter().position(|at| *at == server).unwrap();
            match path.get(hop + 1) {
                Some(next) => queues[next.index()].push((free, flow, begun)),
                None => {
                    let delay = free.checked_sub(begun).unwrap();
                    latest[flow.index()] = latest[flow.index()].max(delay);
                }
            }
        }
    }
    latest
}

const FS_PER_MS: u64 = 1_000_000_000_000;

/// Five servers, and flows that cross any of them, in the order of their numbers.
fn networks() -> impl Strategy<Value = ServerGraph> {
    let flow = (1u32..32, 1u64..60, 1u64..10);
    let flows = prop::collection::vec(flow, 1..16);
    (prop::collection::vec(900_000u64..2_000_000, 5), flows).prop_map(|(rates, flows)| {
        let servers = rates.into_iter().map(|bps| server(bps, 0)).collect();
        let mut network = ServerGraph::new(servers).unwrap();
        for (path, kbps, packets) in flows {
            let flow = ServerFlow {
                buckets: vec![bucket(kbps * 1_000, packets * 1_000)],
                path: (0..5)
                    .filter(|at| path >> at & 1 == 1)
                    .map(ServerId)
                    .collect(),
                max_packet: Data::of_bits(1_000).unwrap(),
                priority: 0,
            };
            network.add(&flow).unwrap();
        }
        network
    })
}

/// Servers by rate in bit/s and latency in ms, fluid flows by path, rate in
/// bit/s and burst in bits.
fn network(servers: &[(u64, u64)], flows: &[(&[u32], u64, u64)]) -> ServerGraph {
    let servers = servers.iter().map(|&(bps, ms)| server(bps, ms)).collect();
    let mut network = ServerGraph::new(servers).unwrap();
    for (path, bps, bits) in flows {
        let flow = ServerFlow {
            buckets: vec![bucket(*bps, *bits)],
            path: path.iter().copied().map(ServerId).collect(),
            max_packet: Data::ZERO,
            priority: 0,
        };
        network.add(&flow).unwrap();
    }
    network
}

fn server(bps: u64, latency_ms: u64) -> Server {
    Server {
        service: vec![RateLatency {
            rate: Rate::of_bps(bps).unwrap(),
            latency: Time::from_fs(latency_ms * FS_PER_MS),
        }],
        link: None,
        multiplexing: Multiplexing::Fifo,
    }
}

fn bucket(bps: u64, bits: u64) -> TokenBucket {
    TokenBucket {
        rate: Rate::of_bps(bps).unwrap(),
        burst: Data::of_bits(bits).unwrap(),
    }
}

/// Asserts a bound to a millionth.
#[track_caller]
fn assert_seconds(bound: Option<Time>, seconds: f64) {
    let bound = bound.unwrap().as_fs() as f64 / 1e15;
    assert!(
        (bound / seconds - 1.0).abs() < 1e-6,
        "{bound} instead of {seconds}"
    );
}
