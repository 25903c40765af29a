use proptest::prelude::*;
use units::fine::Rate;

use super::plain::{Plain, exceeds};
use super::*;
use crate::analysis::network::{
    Multiplexing, RateLatency, Server, ServerFlow, ServerId, TokenBucket,
};

/// 100 Mbit/s after 10 us; each flow 4 Mbit/s, 1000 B at once, packets of 250 B,
/// around all servers of the ring.
#[test]
fn rings_have_the_bounds_that_other_tools_find() {
    for (servers, shaping, expected_ns) in [
        (3, true, Some(292_395)),
        (3, false, Some(852_273)),
        (8, true, Some(1_033_175)),
        (8, false, None),
    ] {
        let mut network = ring(servers, Multiplexing::Fifo);
        network.line_shaping = shaping;

        let analysis = analyze(&network).unwrap();

        for flow in analysis.flows {
            let ns = flow
                .delay
                .map(|delay| (delay.as_fs() + 500_000) / 1_000_000);
            assert_eq!(ns, expected_ns, "{servers} servers, shaping {shaping}");
        }
    }
}

/// A burst on a ring without shaping feeds on itself up to a load, and beyond has
/// no bound.
#[test]
fn a_ring_is_unbounded_from_the_load_on_at_which_its_closed_form_is() {
    // n (n - 1) / 2 * 4 Mbit/s reaches 100 Mbit/s between 7 and 8 servers.
    for servers in 2..=9 {
        let network = ring(servers, Multiplexing::Fifo);

        let delay = analyze(&network).unwrap().flows[0].hops[0].delay;

        let n = f64::from(servers);
        let denominator = 1.0 - 4e6 * n * (n - 1.0) / 2.0 / 1e8;
        let closed = (1e-5 + n * 8_000.0 / 1e8) / denominator;
        #[expect(clippy::cast_precision_loss, reason = "compared to seven digits")]
        let ours = delay.map(|delay| delay.as_fs() as f64 / 1e15);
        assert_eq!(ours.is_some(), denominator > 0.0, "{servers} servers");
        assert!(
            ours.is_none_or(|ours| (ours / closed - 1.0).abs() < 1e-7),
            "{ours:?} {closed}"
        );
    }
}

/// At a load of one the growth neither shrinks nor multiplies, and never ends.
#[test]
fn a_ring_at_the_very_limit_is_unbounded() {
    let mut network = ServerGraph::new(ring(3, Multiplexing::Fifo).servers().to_vec()).unwrap();
    for first in 0..3 {
        let mut flow = around(3, first);
        // Three times a third of the rate.
        flow.buckets[0].rate = Rate::from_ubps(100_000_000_000_000 / 3 + 1);
        network.add(&flow).unwrap();
    }

    for bound in analyze(&network).unwrap().flows {
        assert_eq!(bound.delay, None);
        assert_eq!(bound.backlog, None);
    }
}

/// A copy is made where branches part; before, there is one of each frame.
#[test]
fn branches_of_a_multicast_flow_count_once_until_they_part() {
    let mut network = network_of(Multiplexing::Fifo, 5, false);
    let trunk = network.add(&flow(&[0, 1, 2], (4, 8_000), 0)).unwrap();
    network.add_branch(trunk, &[0, 1, 3].map(ServerId)).unwrap();
    network
        .add_branch(trunk, &[0, 1, 3, 4].map(ServerId))
        .unwrap();
    network.add(&flow(&[3], (4, 8_000), 0)).unwrap();

    let analysis = analyze(&network).unwrap();

    // 10 us of latency, and 10 ns for each bit at once.
    let us = |flow: usize| {
        let hops = analysis.flows[flow].hops.iter();
        hops.map(|hop| hop.delay.unwrap().as_fs() / 1_000_000_000)
            .collect::<Vec<_>>()
    };
    assert_eq!(us(0), [90, 93, 97]);
    assert_eq!(us(1), [90, 93, 177], "a copy of it and who begins there");
    assert_eq!(us(2), [90, 93, 177, 104]);
    assert_eq!(us(3), [177]);
}

/// Where branches share nothing they are flows of their own.
#[test]
fn branches_are_no_less_than_what_they_are_together_without() {
    let mut apart = network_of(Multiplexing::Fifo, 3, true);
    let mut branches = apart.clone();
    let two_buckets = ServerFlow {
        buckets: vec![bucket(4, 8_000), bucket(60, 2_000)],
        ..flow(&[0, 1], (0, 0), 0)
    };
    let trunk = branches.add(&two_buckets).unwrap();
    apart.add(&two_buckets).unwrap();
    branches.add_branch(trunk, &[2, 1].map(ServerId)).unwrap();
    let path = vec![ServerId(2), ServerId(1)];
    apart
        .add(&ServerFlow {
            path,
            ..two_buckets
        })
        .unwrap();

    assert_eq!(analyze(&branches), analyze(&apart));
}

/// What a link can bring bounds what no flow does.
#[test]
fn shaped_by_its_link_even_a_flow_without_bound_disturbs_only_so_much() {
    let mut network = network_of(Multiplexing::StrictPriority, 2, true);
    network.add(&flow(&[0, 1], (60, 8_000), 1)).unwrap();
    network.add(&flow(&[0], (50, 8_000), 0)).unwrap();
    network.add(&flow(&[1], (0, 8_000), 0)).unwrap();

    let analysis = analyze(&network).unwrap();

    assert_eq!(analysis.flows[0].delay, None);
    assert_eq!(analysis.flows[0].hops[0].delay, None);
    assert!(analysis.flows[0].hops[1].delay.is_some());
    assert!(analysis.flows[1].delay.is_some());
    assert!(analysis.flows[2].delay.is_some());
}

/// NC section 1.3: the burst above and one packet below, at what is left.
#[test]
fn strict_priority_waits_for_all_above_and_one_packet_below() {
    let mut network = network_of(Multiplexing::StrictPriority, 1, false);
    network.add(&flow(&[0], (20, 8_000), 0)).unwrap();
    network.add(&flow(&[0], (20, 8_000), 1)).unwrap();
    network.add(&flow(&[0], (20, 8_000), 2)).unwrap();

    let analysis = analyze(&network).unwrap();

    // A latency of 10 us is 1,000 bit of 100 Mbit/s; packets have 2,000 bit.
    let delay = |at: usize| analysis.flows[at].delay.unwrap().as_fs();
    assert_eq!(delay(0), (1_000 + 2_000 + 8_000) * 10_000_000);
    assert_eq!(delay(1), (1_000 + 2_000 + 8_000 + 8_000) * 12_500_000);
    // Rounded up twice: where what is above has been served, and for itself.
    assert_eq!(
        delay(2),
        (1_000u64 + 16_000 + 8_000) * 1_000_000_000 / 60 + 2
    );
}

#[test]
fn any_order_waits_for_the_end_of_the_busy_period() {
    let mut network = network_of(Multiplexing::Arbitrary, 1, false);
    network.add(&flow(&[0], (20, 8_000), 0)).unwrap();
    network.add(&flow(&[0], (30, 8_000), 0)).unwrap();

    let bound = analyze_flow(&network, FlowId(0)).unwrap();

    assert_eq!(
        bound.delay,
        Some(Time::from_fs((1_000 + 16_000) * 20_000_000))
    );
}

#[test]
fn a_packetizer_adds_a_packet_to_what_a_link_brings_and_to_the_backlog() {
    let mut network = network_of(Multiplexing::Fifo, 2, true);
    for _ in 0..3 {
        network.add(&flow(&[0, 1], (1, 8_000), 0)).unwrap();
    }
    let fluid = analyze_flow(&network, FlowId(0)).unwrap();
    network.packetizer = true;

    let packets = analyze_flow(&network, FlowId(0)).unwrap();

    // What comes over the link comes no faster than it is served.
    assert_eq!(fluid.hops[0].delay, packets.hops[0].delay);
    assert_eq!(fluid.hops[1].delay, Some(Time::from_fs(10_000_000_000)));
    assert_eq!(packets.hops[1].delay, Some(Time::from_fs(30_000_000_000)));
    let more = packets.hops[0]
        .backlog
        .unwrap()
        .checked_sub(fluid.hops[0].backlog.unwrap());
    assert_eq!(more, Data::of_bits(2_000));
}

proptest! {
    /// Sound: what follows from the delays by the definition is no longer.
    #[test]
    fn the_delays_found_bound_each_other(network in networks()) {
        let plain = Plain::new(&network);
        let analysis = analyze(&network).unwrap();

        let found = plain.found(&analysis);

        // The definition rounds up flow by flow, which costs it a little more.
        let rounding = (Time::from_fs(1_000), Data::from_ubits(100));
        for (queue, follows) in plain.follow(&found) {
            let found = found[&queue].and_then(|found| found.checked_add(rounding.0));
            prop_assert!(!exceeds(follows, found), "{queue:?}: {follows:?} {found:?}");
        }
        for hop in analysis.flows.iter().flat_map(|bound| &bound.hops) {
            let most = hop.backlog.and_then(|backlog| backlog.checked_add(rounding.1));
            let backlog = plain.backlog(&found, hop.server);
            prop_assert_eq!(backlog.is_some(), most.is_some());
            prop_assert!(backlog <= most);
        }
    }

    /// Tight: the least that bound each other, to seven digits and 1 ns.
    #[test]
    fn the_delays_found_are_the_least(network in networks()) {
        let plain = Plain::new(&network);
        let (least, settled) = plain.rise(3_000);
        prop_assume!(settled);

        let found = plain.found(&analyze(&network).unwrap());

        for (queue, least) in least {
            let enough = least.map(|least| Time::from_fs(least.as_fs() + least.as_fs() / 10_000_000 + 1_000_000));
            prop_assert!(!exceeds(found[&queue], enough), "{queue:?}: {found:?} {least:?}");
        }
    }

    #[test]
    fn one_flow_more_never_shortens_a_delay(network in networks(), more in any_flow()) {
        let before = analyze(&network).unwrap();
        let mut larger = network.clone();
        larger.add(&more).unwrap();

        let after = analyze(&larger).unwrap();

        for (before, after) in before.flows.iter().zip(&after.flows) {
            prop_assert!(no_longer(before.delay, after.delay));
        }
    }

    #[test]
    fn shaping_by_links_never_lengthens_a_delay(mut network in networks()) {
        network.line_shaping = false;
        let without = analyze(&network).unwrap();
        network.line_shaping = true;

        let with = analyze(&network).unwrap();

        for (with, without) in with.flows.iter().zip(&without.flows) {
            prop_assert!(no_longer(with.delay, without.delay));
        }
    }

    #[test]
    fn the_order_of_arrival_is_never_worse_than_any_order(network in networks()) {
        let fifo = analyze(&served(&network, Multiplexing::Fifo)).unwrap();
        let arbitrary = analyze(&served(&network, Multiplexing::Arbitrary)).unwrap();

        for (fifo, arbitrary) in fifo.flows.iter().zip(&arbitrary.flows) {
            prop_assert!(no_longer(fifo.delay, arbitrary.delay));
        }
    }

    /// Where nothing blocks, who goes first is never worse off than in a row.
    #[test]
    fn the_most_urgent_wait_no_longer_than_in_order_of_arrival(network in networks()) {
        let fluid = fluid(&network);
        let first = analyze(&served(&fluid, Multiplexing::StrictPriority)).unwrap();
        let in_row = analyze(&served(&fluid, Multiplexing::Fifo)).unwrap();

        for flow in fluid.flows().filter(|flow| fluid.priority(*flow) == 0) {
            prop_assert!(no_longer(first.flows[flow.index()].delay, in_row.flows[flow.index()].delay));
        }
    }

    /// Sound and nearly tight, after whatever has come and gone.
    #[test]
    fn an_engine_keeps_up_with_its_flows(network in networks(), more in proptest::collection::vec(any_flow(), 1..6), gone in 0u32..4) {
        let mut engine = TfaEngine::new(&network);
        let mut network = network;
        for flow in &more {
            engine.add(flow).unwrap();
            network.add(flow).unwrap();
        }
        let gone = FlowId(gone % u32::try_from(network.flows().len()).unwrap());
        engine.remove(gone);

        let without = rebuilt(&network, |server| server, |id, flow| (id != gone).then_some(flow));
        let exact = analyze(&without).unwrap();
        let ours: Vec<_> = engine.bounds().map(|(_, bound)| bound).collect();
        prop_assert_eq!(ours.len(), exact.flows.len());
        for (ours, exact) in ours.into_iter().zip(&exact.flows) {
            let most = exact.delay.map(|exact| Time::from_fs(exact.as_fs() + exact.as_fs() / 5 + 1_000_000));
            prop_assert!(!exceeds(ours, most), "{ours:?} {exact:?}");
            prop_assert!(no_longer(exact.delay, ours), "{ours:?} {exact:?}");
        }
    }

    /// What a flow would change is what it changes, and asking leaves no trace.
    #[test]
    fn what_if_changes_nothing_and_says_what_add_does(network in networks(), one in any_flow(), other in any_flow()) {
        let mut asked = TfaEngine::new(&network);
        let mut unasked = asked.clone();
        let before: Vec<_> = asked.bounds().collect();

        let what_if = asked.what_if(&one).unwrap();

        prop_assert_eq!(&before, &asked.bounds().collect::<Vec<_>>());
        let [_, same] = [&mut asked, &mut unasked].map(|engine| {
            let id = engine.add(&one).unwrap();
            engine.bound(id)
        });
        prop_assert_eq!(what_if.delay, same);
        for engine in [&mut asked, &mut unasked] {
            engine.add(&other).unwrap();
        }
        prop_assert_eq!(asked.bounds().collect::<Vec<_>>(), unasked.bounds().collect::<Vec<_>>());
        prop_assert_eq!(what_if.raised.is_empty(), what_if.raised.iter().all(|raised| !exceeds(raised.after, raised.before)));
    }
}

/// Whether a delay is no longer than another, but for what the search leaves.
fn no_longer(delay: Option<Time>, than: Option<Time>) -> bool {
    let enough =
        than.map(|than| Time::from_fs(than.as_fs() + than.as_fs() / 10_000_000 + 1_000_000));
    !exceeds(delay, enough)
}

fn networks() -> impl Strategy<Value = ServerGraph> {
    let servers = proptest::collection::vec(any_server(), 6);
    let flows = proptest::collection::vec(any_flow(), 1..10);
    (servers, flows, any::<bool>(), any::<bool>()).prop_map(|(servers, flows, shaping, packets)| {
        let mut network = ServerGraph::new(servers).unwrap();
        network.line_shaping = shaping;
        network.packetizer = packets;
        for flow in &flows {
            network.add(flow).unwrap();
        }
        network
    })
}

fn any_server() -> impl Strategy<Value = Server> {
    let curve = (50u64..=100, 0u64..50_000).prop_map(|(mbps, ns)| RateLatency {
        rate: Rate::of_bps(1_000_000 * mbps).unwrap(),
        latency: Time::from_fs(1_000_000 * ns),
    });
    let link = proptest::option::weighted(0.8, 100u64..=200);
    let multiplexing = prop_oneof![
        3 => Just(Multiplexing::Fifo),
        1 => Just(Multiplexing::Arbitrary),
        1 => Just(Multiplexing::StrictPriority),
    ];
    (proptest::collection::vec(curve, 1..3), link, multiplexing).prop_map(
        |(service, link, multiplexing)| Server {
            service,
            link: link.and_then(|mbps| Rate::of_bps(1_000_000 * mbps)),
            multiplexing,
        },
    )
}

/// Among six servers.
fn any_flow() -> impl Strategy<Value = ServerFlow> {
    let path = Just((0..6).map(ServerId).collect::<Vec<_>>()).prop_shuffle();
    let bucket = (0u64..12_000_000, 2_000u64..20_000).prop_map(|(bps, bits)| TokenBucket {
        rate: Rate::of_bps(bps).unwrap(),
        burst: Data::of_bits(bits).unwrap(),
    });
    let buckets = proptest::collection::vec(bucket, 1..4);
    (path, 1usize..5, buckets, 0u64..2_000, 0u8..3).prop_map(
        |(mut path, length, buckets, packet, priority)| {
            path.truncate(length);
            let max_packet = Data::of_bits(packet).unwrap();
            ServerFlow {
                buckets,
                path,
                max_packet,
                priority,
            }
        },
    )
}

/// The same network with changed servers and flows.
fn rebuilt(
    network: &ServerGraph,
    server: impl Fn(Server) -> Server,
    flow: impl Fn(FlowId, ServerFlow) -> Option<ServerFlow>,
) -> ServerGraph {
    let servers = network.servers().iter().cloned().map(server);
    let mut copy = ServerGraph::new(servers.collect()).unwrap();
    copy.line_shaping = network.line_shaping;
    copy.packetizer = network.packetizer;
    for id in network.flows() {
        let old = ServerFlow {
            buckets: network.buckets(id).to_vec(),
            path: network.path(id).to_vec(),
            max_packet: network.max_packet(id),
            priority: network.priority(id),
        };
        if let Some(flow) = flow(id, old) {
            copy.add(&flow).unwrap();
        }
    }
    copy
}

fn fluid(network: &ServerGraph) -> ServerGraph {
    let max_packet = Data::ZERO;
    rebuilt(
        network,
        |server| server,
        |_, flow| Some(ServerFlow { max_packet, ..flow }),
    )
}

fn served(network: &ServerGraph, multiplexing: Multiplexing) -> ServerGraph {
    rebuilt(
        network,
        |server| Server {
            multiplexing,
            ..server
        },
        |_, flow| Some(flow),
    )
}

fn network_of(multiplexing: Multiplexing, servers: usize, line_shaping: bool) -> ServerGraph {
    let server = Server {
        service: vec![RateLatency {
            rate: Rate::of_bps(100_000_000).unwrap(),
            latency: Time::from_fs(10_000_000_000),
        }],
        link: Rate::of_bps(100_000_000),
        multiplexing,
    };
    let mut network = ServerGraph::new(vec![server; servers]).unwrap();
    network.line_shaping = line_shaping;
    network
}

fn bucket(mbps: u64, bits: u64) -> TokenBucket {
    TokenBucket {
        rate: Rate::of_bps(1_000_000 * mbps).unwrap(),
        burst: Data::of_bits(bits).unwrap(),
    }
}

/// A flow of a rate in Mbit/s and a burst in bits, with packets of 250 B.
fn flow(path: &[u32], (mbps, bits): (u64, u64), priority: u8) -> ServerFlow {
    ServerFlow {
        buckets: vec![bucket(mbps, bits)],
        path: path.iter().copied().map(ServerId).collect(),
        max_packet: Data::of_bits(2_000).unwrap(),
        priority,
    }
}

/// A flow around a ring, and the ring with one from each server.
fn around(servers: u32, first: u32) -> ServerFlow {
    let path: Vec<_> = (0..servers).map(|hop| (first + hop) % servers).collect();
    flow(&path, (4, 8_000), 0)
}

fn ring(servers: u32, multiplexing: Multiplexing) -> ServerGraph {
    let mut network = network_of(multiplexing, servers as usize, false);
    for first in 0..servers {
        network.add(&around(servers, first)).unwrap();
    }
    network
}
