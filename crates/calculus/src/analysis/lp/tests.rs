//! Closed forms, published figures, and networks that are simulated.

use proptest::prelude::*;
use units::fine::{Data, Rate, Time};

use super::*;
use crate::analysis::{Flow, RateLatency, Server, TokenBucket};

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
    let mut network = Network::new(vec![slow_start]).unwrap();
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
    let network = Network::new(servers).unwrap();

    assert_eq!(
        analyze(&network),
        Err(NotApplicable::Multiplexing {
            server: ServerId(1),
            multiplexing: Multiplexing::StrictPriority,
        })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Sound: no packet of a simulated network is later than its bound.
    #[test]
    fn no_simulated_packet_is_later_than_its_bound(
        plan in any_plan(),
        seeds in proptest::array::uniform4(any::<u64>()),
    ) {
        let network = plan.network();

        let bounds = analyze(&network).unwrap();

        for seed in seeds {
            for (flow, seen) in simulation::delays(&network, &plan.packets, seed).iter().enumerate() {
                let bound = bounds.flows[flow].delay.unwrap();
                prop_assert!(*seen <= bound, "flow {flow}: {seen:?} above {bound:?}");
            }
        }
    }
}

/// A random network without cycles, all of whose servers keep up.
#[derive(Clone, Debug)]
struct Plan {
    /// Rates in Mbit/s and latencies in microseconds.
    servers: Vec<(u64, u64)>,
    /// Which servers each flow crosses, and how many packets its burst has.
    flows: Vec<(Vec<bool>, u64)>,
    /// The size of the packets of each flow, in bits.
    packets: Vec<u64>,
    shaping: bool,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    (2usize..6, 2usize..8).prop_flat_map(|(servers, flows)| {
        let crossed = proptest::collection::vec(any::<bool>(), servers);
        (
            proptest::collection::vec((20u64..100, 0u64..30), servers),
            proptest::collection::vec((crossed, 1u64..8), flows),
            proptest::collection::vec(200u64..2_000, flows),
            any::<bool>(),
        )
            .prop_map(|(servers, flows, packets, shaping)| Plan {
                servers,
                flows,
                packets,
                shaping,
            })
    })
}

impl Plan {
    /// The flows' rates add up to no more than nine tenths of the slowest server.
    fn network(&self) -> Network {
        let servers = self.servers.iter().map(|(rate, latency)| Server {
            link: Some(Rate::from_ubps(rate * MBIT)),
            ..server(*rate, *latency)
        });
        let mut network = Network::new(servers.collect()).unwrap();
        network.packetizer = true;
        network.line_shaping = self.shaping;
        let slowest = self.servers.iter().map(|it| it.0).min().unwrap();
        let share = slowest * MBIT * 9 / 10 / self.flows.len() as u64;
        for ((crossed, burst), packet) in self.flows.iter().zip(&self.packets) {
            let path: Vec<u32> = (0..)
                .zip(crossed)
                .filter(|it| *it.1)
                .map(|it| it.0)
                .collect();
            let flow = Flow {
                buckets: vec![TokenBucket {
                    rate: Rate::from_ubps(share),
                    burst: Data::from_ubits(burst * packet * BIT),
                }],
                path: if path.is_empty() {
                    ids(&[0])
                } else {
                    ids(&path)
                },
                max_packet: Data::from_ubits(packet * BIT),
                priority: 0,
            };
            network.add(&flow).unwrap();
        }
        network
    }
}

/// Packets through servers, in whole femtoseconds.
mod simulation {
    use super::*;

    /// A packet on its way.
    #[derive(Clone, Copy)]
    struct Packet {
        flow: FlowId,
        hop: usize,
        sent: u64,
        here: u64,
        tie: u64,
    }

    /// Returns the longest delay of each flow, all of which send as much as they
    /// may, from times that `seed` chooses.
    pub(super) fn delays(network: &Network, sizes: &[u64], seed: u64) -> Vec<Time> {
        let mut random = seed;
        let mut at: Vec<Vec<Packet>> = vec![Vec::new(); network.servers().len()];
        for flow in network.flows() {
            let begin = draw(&mut random) % (200 * US) * (draw(&mut random) % 2);
            for here in greedy(network, flow, sizes[flow.index()], begin) {
                let (sent, tie) = (here, draw(&mut random));
                let first = network.path(flow)[0];
                at[first.index()].push(Packet {
                    flow,
                    hop: 0,
                    sent,
                    here,
                    tie,
                });
            }
        }
        let mut longest = vec![Time::ZERO; sizes.len()];
        for server in network.feed_forward_order().unwrap() {
            let mut queue = std::mem::take(&mut at[server.index()]);
            queue.sort_unstable_by_key(|packet| (packet.here, packet.tie));
            let service = network.server(server).service[0];
            let mut free = 0;
            for packet in queue {
                // A server that has been idle is as late as it may be.
                let begin = if packet.here > free {
                    packet.here + service.latency.as_fs()
                } else {
                    free
                };
                let size = Data::from_ubits(sizes[packet.flow.index()] * BIT);
                free = begin + service.rate.shortest_for(size).unwrap().as_fs();
                let path = network.path(packet.flow);
                match path.get(packet.hop + 1) {
                    Some(next) => at[next.index()].push(Packet {
                        hop: packet.hop + 1,
                        here: free,
                        ..packet
                    }),
                    None => {
                        let delay = Time::from_fs(free - packet.sent);
                        longest[packet.flow.index()] = longest[packet.flow.index()].max(delay);
                    }
                }
            }
        }
        longest
    }

    /// When the packets of a flow come that sends as much as it may.
    fn greedy(network: &Network, flow: FlowId, size: u64, begin: u64) -> Vec<u64> {
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

    /// A step of the generator SplitMix64.
    fn draw(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn delay(network: &Network, flow: u32) -> Option<Time> {
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

fn network(servers: &[(u64, u64)]) -> Network {
    let servers = servers
        .iter()
        .map(|(rate, latency)| server(*rate, *latency));
    Network::new(servers.collect()).unwrap()
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

fn add(network: &mut Network, path: &[u32], rate_mbps: u64, burst_bits: u64) {
    network
        .add(&flow(path, &[bucket(rate_mbps, burst_bits)]))
        .unwrap();
}

fn flow(path: &[u32], buckets: &[TokenBucket]) -> Flow {
    Flow {
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
