use proptest::prelude::*;
use units::fine::{Data, Rate, Time};

use super::arrival_bounds::DEPTH_MAX;
use crate::analysis::{
    Analysis, FlowBound, FlowId, Multiplexing, NotApplicable, RateLatency, Server, ServerFlow,
    ServerGraph, ServerId, TokenBucket, pmoo, sfa, tfa_dnc, tma,
};

type Analyze = fn(&ServerGraph) -> Result<Analysis, NotApplicable>;

const ALL: [Analyze; 4] = [tfa_dnc::analyze, sfa::analyze, pmoo::analyze, tma::analyze];

/// Two servers of 4 bit/s and 1 s, a flow of 6 bit and 1 bit/s, beside it one
/// of 3 bit and 1 bit/s all the way. Computed by hand.
#[test]
fn a_tandem_has_the_bounds_of_the_formulas() {
    let (arbitrary, fifo) = (Multiplexing::Arbitrary, Multiplexing::Fifo);
    for (name, analyze, order, by_hand) in [
        // The cross traffic has 4 bit at the second server.
        (
            "sfa",
            sfa::analyze as Analyze,
            arbitrary,
            7.0 / 3.0 + 8.0 / 3.0 + 2.0,
        ),
        // There it has 5.5 bit, having waited 2.5 s.
        ("sfa", sfa::analyze, fifo, 7.0 / 4.0 + 9.5 / 4.0 + 2.0),
        ("pmoo", pmoo::analyze, arbitrary, 2.0 + 5.0 / 3.0 + 2.0),
        ("pmoo", pmoo::analyze, fifo, 2.0 + 5.0 / 3.0 + 2.0),
        ("tma", tma::analyze, arbitrary, 2.0 + 5.0 / 3.0 + 2.0),
        (
            "tfa-dnc",
            tfa_dnc::analyze,
            arbitrary,
            13.0 / 2.0 + 15.0 / 2.0,
        ),
        ("tfa-dnc", tfa_dnc::analyze, fifo, 13.0 / 4.0 + 15.0 / 4.0),
    ] {
        let mut network = ServerGraph::new(vec![server(4, 1_000, order); 2]).unwrap();
        add(&mut network, 1, 6, &[0, 1]);
        add(&mut network, 1, 3, &[0, 1]);

        let bound = &analyze(&network).unwrap().flows[0];

        assert_seconds(bound, by_hand, name);
    }
}

#[test]
fn a_cut_pays_where_a_burst_is_met_at_a_fast_server_and_the_next_is_slow() {
    let order = Multiplexing::Arbitrary;
    let servers = vec![server(11, 0, order), server(2, 0, order)];
    let mut network = ServerGraph::new(servers).unwrap();
    add(&mut network, 1, 1, &[0, 1]);
    add(&mut network, 1, 10, &[0]);
    add(&mut network, 1, 0, &[1]);

    let bound = |analyze: Analyze| analyze(&network).unwrap().flows[0].clone();

    assert_seconds(&bound(pmoo::analyze), 10.0 + 1.0, "pmoo");
    assert_seconds(&bound(tma::analyze), 1.0 + 1.0, "tma");
    assert_seconds(&bound(sfa::analyze), 1.0 + 1.0, "sfa");
}

#[test]
fn a_flow_alone_waits_for_nothing_but_itself() {
    for order in [Multiplexing::Arbitrary, Multiplexing::Fifo] {
        let mut network = ServerGraph::new(vec![server(4, 1_000, order)]).unwrap();
        add(&mut network, 4, 8, &[0]);

        for analyze in ALL {
            let bound = &analyze(&network).unwrap().flows[0];
            assert_seconds(bound, 3.0, "8 bit at 4 bit/s, and 1 s");
            assert_eq!(bound.backlog, Data::of_bits(12));
        }
    }
}

/// The flow holds up another at server 0, their paths part, and the other comes
/// back in a lump when the flow has its burst again. With everything as late as
/// it may be: the flow sends 6000 bit at 0 s and goes on at its rate, served
/// first, until 100 s. The other, served at last, is held at server 1 until
/// 250 s, when it has 10,000 bit; they are all at server 3 when the flow has
/// saved up 6000 bit again. These leave by 250 + (10,000 + 6000) / 50 s, which
/// is a delay of 320 s. Were the flow counted as absent where its cross
/// traffic is followed back, the bound would be 240.04 s.
#[test]
fn what_a_flow_did_to_others_counts_when_they_come_back() {
    let order = Multiplexing::Arbitrary;
    let fast = |latency_ms| server(1_000_000, latency_ms, order);
    let servers = vec![
        server(100, 0, order),
        fast(150_000),
        fast(0),
        server(90, 0, order),
    ];
    let mut network = ServerGraph::new(servers).unwrap();
    add(&mut network, 40, 6_000, &[0, 2, 3]);
    add(&mut network, 40, 1, &[0, 1, 2, 3]);

    for analyze in [sfa::analyze, pmoo::analyze, tma::analyze] {
        let delay = analyze(&network).unwrap().flows[0].delay.unwrap();
        let (least, most) = (320_000 * FS_PER_MS, 321_000 * FS_PER_MS);
        assert!((least..most).contains(&delay.as_fs()), "{delay:?}");
    }
}

#[test]
fn a_flow_that_leaves_a_path_and_comes_back_is_met_twice() {
    let order = Multiplexing::Arbitrary;
    let servers = vec![
        server(10, 0, order),
        server(10, 7_000, order),
        server(10, 0, order),
    ];
    let mut network = ServerGraph::new(servers).unwrap();
    add(&mut network, 1, 1, &[0, 2]);
    add(&mut network, 2, 8, &[0, 1, 2]);

    let bound = &pmoo::analyze(&network).unwrap().flows[0];

    // At server 0 it has 8 bit; on its way to server 2 it waits 7 s, and 1/9 s
    // for the flow of interest. The flow has the 8 bit/s that are left.
    let again = 8.0 + 2.0 * (7.0 + 1.0 / 9.0);
    assert_seconds(bound, (8.0 + again) / 8.0 + 1.0 / 8.0, "twice");
}

#[test]
fn what_is_overloaded_has_no_bound_and_the_rest_has() {
    let order = Multiplexing::Arbitrary;
    let mut network = ServerGraph::new(vec![server(4, 0, order); 2]).unwrap();
    add(&mut network, 2, 1, &[0]);
    add(&mut network, 3, 1, &[0]);
    add(&mut network, 3, 1, &[1]);

    for analyze in ALL {
        let flows = analyze(&network).unwrap().flows;
        assert_eq!((flows[0].delay, flows[0].backlog), (None, None));
        assert_eq!(flows[1].delay, None);
        assert!(flows[2].delay.is_some() && flows[2].backlog.is_some());
    }
}

#[test]
fn what_has_no_bound_upstream_has_none_downstream() {
    let order = Multiplexing::Arbitrary;
    let mut network = ServerGraph::new(vec![server(4, 0, order), server(9, 0, order)]).unwrap();
    add(&mut network, 1, 1, &[1]);
    add(&mut network, 2, 1, &[0, 1]);
    add(&mut network, 3, 1, &[0]);

    for analyze in ALL {
        assert_eq!(analyze(&network).unwrap().flows[0].delay, None);
    }
}

#[test]
fn cycles_and_priorities_are_refused_by_name() {
    let mut ring = ServerGraph::new(vec![server(9, 0, Multiplexing::Fifo); 2]).unwrap();
    add(&mut ring, 1, 1, &[0, 1]);
    add(&mut ring, 1, 1, &[1, 0]);
    let mut urgent = ServerGraph::new(vec![server(9, 0, Multiplexing::StrictPriority)]).unwrap();
    add(&mut urgent, 1, 1, &[0]);

    for analyze in ALL {
        assert!(matches!(analyze(&ring), Err(NotApplicable::Cycle { .. })));
        let refused = NotApplicable::Multiplexing {
            server: ServerId(0),
            multiplexing: Multiplexing::StrictPriority,
        };
        assert_eq!(analyze(&urgent), Err(refused));
    }
}

#[test]
fn each_bucket_and_each_piece_is_used_where_it_is_best() {
    // In the long run 9 bit/s after 10 s, before that 3 bit/s at once.
    let pieces = vec![piece(9, 10_000), piece(3, 0)];
    let server = Server {
        service: pieces,
        ..server(1, 0, Multiplexing::Fifo)
    };
    let mut network = ServerGraph::new(vec![server]).unwrap();
    let buckets = vec![bucket(1, 9), bucket(4, 3)];
    let flow = FlowId(0);
    network
        .add(&ServerFlow {
            buckets,
            ..cross(1, 9, &[0])
        })
        .unwrap();

    // The buckets cross at 2 s and 11 bit; 3 bit/s are 5 bit behind then.
    let bound = sfa::analyze_flow(&network, flow).unwrap();
    assert_seconds(&bound, 5.0 / 3.0, "alone");
    assert_eq!(bound.backlog, Data::of_bits(5));

    add(&mut network, 3, 0, &[0]);
    let bound = sfa::analyze_flow(&network, flow).unwrap();
    // Only the first piece is fast enough for both: 10 s, then 3 bit at 6
    // bit/s.
    assert_seconds(&bound, 10.0 + 3.0 / 6.0, "beside another");
}

#[test]
fn unfinished_packets_are_waited_for_at_each_server() {
    for (order, by_hand) in [
        // Latency 4/8 at both.
        (
            Multiplexing::Fifo,
            0.5 + 4.0 / 8.0 + 0.5 + 5.0 / 8.0 + 4.0 / 7.0,
        ),
        // Latency 8/8 at both.
        (
            Multiplexing::Arbitrary,
            (4.0 + 8.0) / 7.0 + (5.0 + 8.0) / 7.0 + 4.0 / 7.0,
        ),
    ] {
        let mut network = ServerGraph::new(vec![server(8, 0, order); 2]).unwrap();
        network.packetizer = true;
        for _ in 0..2 {
            let max_packet = Data::of_bits(4).unwrap();
            network
                .add(&ServerFlow {
                    max_packet,
                    ..cross(1, 4, &[0, 1])
                })
                .unwrap();
        }

        let bound = &sfa::analyze(&network).unwrap().flows[0];

        assert_seconds(bound, by_hand, "with packets");
    }
}

#[test]
fn what_was_left_aside_is_said() {
    let mut network = ServerGraph::new(vec![server(8, 0, Multiplexing::Fifo)]).unwrap();
    network.line_shaping = true;
    add(&mut network, 1, 1, &[0]);

    let notes = |analyze: Analyze| analyze(&network).unwrap().notes.join(" ");

    for analyze in ALL {
        assert!(notes(analyze).contains("Line shaping"));
    }
    assert!(notes(sfa::analyze).contains("with the flow itself counted"));
    assert!(notes(pmoo::analyze).contains("any order"));
    assert!(!notes(tfa_dnc::analyze).contains("any order"));
}

#[test]
fn a_long_chain_of_cause_and_effect_is_followed_up_to_a_limit() {
    let chain = |length: u32| {
        let order = Multiplexing::Arbitrary;
        let mut network = ServerGraph::new(vec![server(4, 0, order); length as usize]).unwrap();
        for at in 1..length {
            add(&mut network, 1, 1, &[at - 1, at]);
        }
        network
    };
    let limit = u32::try_from(DEPTH_MAX).unwrap();
    for analyze in ALL {
        let within = analyze(&chain(limit)).unwrap();
        assert!(within.flows.iter().all(|flow| flow.delay.is_some()));
    }
    let (longer, last) = (chain(2 * limit), FlowId(2 * limit - 2));
    for analyze_flow in [sfa::analyze_flow, pmoo::analyze_flow, tma::analyze_flow] {
        let refused = analyze_flow(&longer, last).unwrap_err();
        assert!(matches!(
            refused,
            NotApplicable::TooLarge {
                limit: DEPTH_MAX,
                ..
            }
        ));
    }
}

proptest! {
    /// All of the same network, whose orders differ: cutting is free to cut
    /// nowhere, as PMOO, or everywhere, as SFA.
    #[test]
    fn the_best_cut_is_never_worse_than_none_or_all(network in network_of(Multiplexing::Arbitrary)) {
        let cut = tma::analyze(&network).unwrap();

        for other in [pmoo::analyze(&network).unwrap(), sfa::analyze(&network).unwrap()] {
            for (cut, other) in cut.flows.iter().zip(&other.flows) {
                prop_assert!(at_most(cut.delay, other.delay), "{cut:?} {other:?}");
            }
        }
    }

    /// The order in which flows are numbered means nothing, nor whether a flow
    /// is asked for alone.
    #[test]
    fn a_flow_alone_has_the_bound_it_has_among_all(network in network_of(Multiplexing::Fifo)) {
        for (analyze, analyze_flow) in [
            (sfa::analyze as Analyze, sfa::analyze_flow as fn(&ServerGraph, FlowId) -> _),
            (pmoo::analyze, pmoo::analyze_flow),
            (tma::analyze, tma::analyze_flow),
            (tfa_dnc::analyze, tfa_dnc::analyze_flow),
        ] {
            let all = analyze(&network).unwrap().flows;
            for flow in network.flows() {
                prop_assert_eq!(analyze_flow(&network, flow).unwrap(), all[flow.index()].clone());
            }
        }
    }

    /// One flow more never makes a delay bound smaller that is found server by
    /// server.
    #[test]
    fn one_flow_more_never_lowers_a_bound(
        network in prop_oneof![network_of(Multiplexing::Fifo), network_of(Multiplexing::Arbitrary)],
        more in flow(),
    ) {
        let mut larger = network.clone();
        larger.add(&more).unwrap();

        for analyze in [sfa::analyze, tfa_dnc::analyze] {
            let (fewer, more) = (analyze(&network).unwrap(), analyze(&larger).unwrap());
            for (fewer, more) in fewer.flows.iter().zip(&more.flows) {
                prop_assert!(at_most(fewer.delay, more.delay), "{fewer:?} {more:?}");
            }
        }
    }

    /// No bound is below what the flow needs even by itself.
    #[test]
    fn no_bound_is_below_that_of_the_flow_alone(network in network_of(Multiplexing::Fifo)) {
        for analyze in ALL {
            for (bound, flow) in analyze(&network).unwrap().flows.iter().zip(network.flows()) {
                let mut alone = ServerGraph::new(network.servers().to_vec()).unwrap();
                let (path, buckets) = (network.path(flow).to_vec(), network.buckets(flow).to_vec());
                alone.add(&ServerFlow { path, buckets, ..cross(0, 0, &[0]) }).unwrap();
                let least = sfa::analyze(&alone).unwrap().flows[0].delay;
                prop_assert!(at_most(least, bound.delay), "{least:?} {bound:?}");
            }
        }
    }
}

const FS_PER_MS: u64 = 1_000_000_000_000;
const SERVERS: u32 = 6;

fn server(bps: u64, latency_ms: u64, multiplexing: Multiplexing) -> Server {
    Server {
        service: vec![piece(bps, latency_ms)],
        link: None,
        multiplexing,
    }
}

fn piece(bps: u64, latency_ms: u64) -> RateLatency {
    RateLatency {
        rate: Rate::of_bps(bps).unwrap(),
        latency: Time::from_fs(latency_ms * FS_PER_MS),
    }
}

fn bucket(bps: u64, bits: u64) -> TokenBucket {
    TokenBucket {
        rate: Rate::of_bps(bps).unwrap(),
        burst: Data::of_bits(bits).unwrap(),
    }
}

fn cross(bps: u64, bits: u64, path: &[u32]) -> ServerFlow {
    ServerFlow {
        buckets: vec![bucket(bps, bits)],
        path: path.iter().copied().map(ServerId).collect(),
        max_packet: Data::ZERO,
        priority: 0,
    }
}

fn add(network: &mut ServerGraph, bps: u64, bits: u64, path: &[u32]) {
    network.add(&cross(bps, bits, path)).unwrap();
}

/// Asserts that a bound is what was computed by hand, or above by roundings
/// only.
#[track_caller]
fn assert_seconds(bound: &FlowBound, by_hand: f64, what: &str) {
    let seconds = bound.delay.unwrap().as_fs() as f64 * 1e-15;
    let above = seconds / by_hand - 1.0;
    assert!(
        (-1e-14..1e-6).contains(&above),
        "{what}: {seconds}, by hand {by_hand}"
    );
}

/// Returns whether a bound is at most another; each rounding may cost a little.
fn at_most(bound: Option<Time>, other: Option<Time>) -> bool {
    match (bound, other) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(bound), Some(other)) => {
            bound.as_fs() <= other.as_fs() + other.as_fs() / 100_000_000 + 1_000_000
        }
    }
}

/// Flows go from lower to higher numbers, so nothing is a cycle, and leave
/// servers out, so paths part and join again.
fn flow() -> impl Strategy<Value = ServerFlow> {
    let path =
        proptest::sample::subsequence((0..SERVERS).collect::<Vec<_>>(), 1..=SERVERS as usize);
    (path, 1u64..=4, 0u64..=50).prop_map(|(path, bps, bits)| cross(bps, bits, &path))
}

fn network_of(order: Multiplexing) -> impl Strategy<Value = ServerGraph> {
    let servers = proptest::collection::vec((5u64..=40, 0u64..=2_000), SERVERS as usize);
    let flows = proptest::collection::vec(flow(), 1..=8);
    (servers, flows).prop_map(move |(servers, flows)| {
        let servers = servers.into_iter().map(|(bps, ms)| server(bps, ms, order));
        let mut network = ServerGraph::new(servers.collect()).unwrap();
        for flow in &flows {
            network.add(flow).unwrap();
        }
        network
    })
}
