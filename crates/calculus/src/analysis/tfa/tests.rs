use units::fine::Rate;

use super::*;
use crate::analysis::network::{Flow, Multiplexing, RateLatency, Server, ServerId, TokenBucket};

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

fn ring(servers: u32, multiplexing: Multiplexing) -> Network {
    let server = Server {
        service: vec![RateLatency {
            rate: Rate::of_bps(100_000_000).unwrap(),
            latency: Time::from_fs(10_000_000_000),
        }],
        link: Rate::of_bps(100_000_000),
        multiplexing,
    };
    let mut network = Network::new(vec![server; servers as usize]).unwrap();
    for first in 0..servers {
        let flow = Flow {
            buckets: vec![TokenBucket {
                rate: Rate::of_bps(4_000_000).unwrap(),
                burst: Data::of_bits(8_000).unwrap(),
            }],
            path: (0..servers)
                .map(|hop| ServerId((first + hop) % servers))
                .collect(),
            max_packet: Data::of_bits(2_000).unwrap(),
            priority: 0,
        };
        network.add(&flow).unwrap();
    }
    network
}
