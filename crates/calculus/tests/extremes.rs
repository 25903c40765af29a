//! Whatever the numbers of a network, each method bounds its flows or says why it
//! does not: no sum overflows, nothing divides by nothing, nothing runs for ever.

use calculus::analysis::{
    self, Method, Multiplexing, RateLatency, Server, ServerFlow, ServerGraph, ServerId, TokenBucket,
};
use proptest::prelude::*;
use units::fine::{Data, Rate, Time};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_numbers_are_bounded_or_refused(network in networks()) {
        let mut least = vec![None; network.flows().len()];
        for method in Method::SINGLE {
            if let Ok(analysis) = analysis::analyze(&network, method) {
                prop_assert_eq!(analysis.flows.len(), network.flows().len());
                for (least, flow) in least.iter_mut().zip(&analysis.flows) {
                    *least = [*least, flow.delay].into_iter().flatten().min();
                }
            }
        }
        let best = analysis::best::analyze(&network, &Method::SINGLE, &analysis::Budget::unlimited());
        if let Ok(best) = best {
            let delays: Vec<_> = best.flows.iter().map(|flow| flow.delay).collect();
            // Here it searches longer than a method alone does.
            for (best, least) in delays.iter().zip(&least) {
                prop_assert!(best.is_some() || least.is_none());
                prop_assert!(least.is_none_or(|least| best.is_some_and(|best| best <= least)));
            }
        }
    }
}

fn networks() -> impl Strategy<Value = ServerGraph> {
    let order = prop_oneof![
        3 => Just(Multiplexing::Fifo),
        1 => Just(Multiplexing::Arbitrary),
        1 => Just(Multiplexing::StrictPriority),
    ];
    let shape = (order, any::<[bool; 2]>());
    let server = (
        prop::collection::vec((number(), number()), 1..3),
        prop::option::of(number()),
    );
    let servers = prop::collection::vec(server, 1..5);
    let flow = (
        prop::collection::vec((number(), number()), 1..3),
        number(),
        any::<u8>(),
        prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    );
    let flows = prop::collection::vec(flow, 0..6);
    (shape, servers, flows).prop_map(|((multiplexing, [shaping, packets]), servers, flows)| {
        let count = u32::try_from(servers.len()).expect("five are few");
        let servers = servers.into_iter().map(|(curves, link)| Server {
            service: curves
                .into_iter()
                .map(|(rate, latency)| RateLatency {
                    rate: Rate::from_ubps(rate.max(1)),
                    latency: Time::from_fs(latency),
                })
                .collect(),
            link: link.map(|rate| Rate::from_ubps(rate.max(1))),
            multiplexing,
        });
        let mut network = ServerGraph::new(servers.collect()).expect("each has a rate");
        (network.line_shaping, network.packetizer) = (shaping, packets);
        for (buckets, packet, priority, path) in flows {
            let least = buckets.iter().map(|(_, burst)| *burst).min().unwrap_or(0);
            let mut crossed: Vec<ServerId> = Vec::new();
            for at in path {
                let server =
                    ServerId(u32::try_from(at.index(count as usize)).expect("a small one"));
                if !crossed.contains(&server) {
                    crossed.push(server);
                }
            }
            let flow = ServerFlow {
                buckets: buckets
                    .into_iter()
                    .map(|(rate, burst)| TokenBucket {
                        rate: Rate::from_ubps(rate),
                        burst: Data::from_ubits(burst),
                    })
                    .collect(),
                path: crossed,
                max_packet: Data::from_ubits(packet.min(least)),
                priority,
            };
            network.add(&flow).expect("the flow makes sense");
        }
        network
    })
}

/// Numbers of all sizes, and those at which something may overflow.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => Just(0),
        1 => Just(1),
        1 => Just(u64::MAX),
        1 => Just(u64::MAX - 1),
        2 => (0u32..64).prop_map(|bits| 1 << bits),
        2 => (0u32..64, any::<u64>()).prop_map(|(bits, number)| number >> bits),
        6 => 1_000_000u64..1_000_000_000_000_000,
    ]
}
