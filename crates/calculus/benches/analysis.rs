//! How long the total flow analysis of a whole network takes, and of one flow
//! more.
//!
//! ```text
//! cargo bench --package calculus --bench analysis
//! ```
//!
//! The network is a torus of 250 switches with 1,000 ports of 10 Gbit/s and
//! 100,000 flows over six ports each, with line shaping and packetizers; paths
//! depend on each other in cycles, and ports are loaded to 30 % on average. The
//! clock is read around single calls. Beside each line stands the longest time
//! for which a loop that does nothing but read the clock did not run: what the
//! machine alone makes late.
//!
//! Beside it stand networks without cycles of as many flows, whose next server is
//! drawn among many, so that each port is reached over many links: with one token
//! bucket and with two, by eight priorities, and with ten times the ports.

use std::hint::black_box;

use calculus::analysis::tfa::{self, TfaEngine};
use calculus::analysis::{
    FlowId, Multiplexing, RateLatency, Server, ServerFlow, ServerGraph, ServerId, TokenBucket,
};
use units::Seeded;
use units::fine::{Data, Rate, Time};

const WIDTH: u32 = 25;
const HEIGHT: u32 = 10;
const PORTS: u32 = 4 * WIDTH * HEIGHT;
const FLOWS: u32 = 100_000;
const HOPS: u32 = 6;
const WHOLE: u32 = 30;
const SINGLE: u32 = 5_000;

fn main() {
    let mut random = Seeded::new(1);
    let network = torus(&mut random);
    println!("{FLOWS} flows over {HOPS} of {PORTS} ports");
    print_percentiles("whole network, engine", WHOLE, |_| {
        let engine = TfaEngine::new(&network);
        black_box(engine.bounds().filter_map(|(_, bound)| bound).max());
    });
    print_percentiles("whole network, to 10^-8", WHOLE, |_| {
        drop(black_box(tfa::analyze(&network)));
    });
    for (name, ports, buckets, priorities) in [
        ("without cycles", PORTS, 1, 1),
        ("without cycles, ten times the ports", 10 * PORTS, 1, 1),
        ("without cycles, two buckets a flow", PORTS, 2, 1),
        ("without cycles, eight priorities", PORTS, 1, 8),
    ] {
        let network = feed_forward(&mut random, ports, buckets, priorities);
        print_percentiles(name, WHOLE, |_| drop(black_box(tfa::analyze(&network))));
    }
    let mut engine = TfaEngine::new(&network);
    let mut flows: Vec<_> = (0..SINGLE).map(|_| flow(&mut random)).collect();
    print_percentiles("what if one flow more", SINGLE, |at| {
        black_box(engine.what_if(&flows[at as usize])).expect("a flow as any other");
    });
    let mut ids: Vec<FlowId> = Vec::new();
    print_percentiles("one flow more", SINGLE, |at| {
        ids.push(
            engine
                .add(&flows[at as usize])
                .expect("a flow as any other"),
        );
    });
    print_percentiles("one flow less", SINGLE, |at| {
        engine.remove(ids[at as usize]);
    });
    flows.iter_mut().for_each(|flow| grow(flow, 100));
    print_percentiles(
        "what if one flow of a hundred times the burst",
        SINGLE,
        |at| {
            black_box(engine.what_if(&flows[at as usize])).expect("a flow as any other");
        },
    );
}

/// Prints how long single calls take.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn print_percentiles(name: &str, calls: u32, mut call: impl FnMut(u32)) {
    let mut times: Vec<_> = (0..calls)
        .map(|at| {
            let started = std::time::Instant::now();
            call(at);
            started.elapsed()
        })
        .collect();
    let total = times.iter().sum::<std::time::Duration>();
    times.sort_unstable();
    let at = |per_cent: usize| times[(times.len() * per_cent / 100).min(times.len() - 1)];
    let (median, p99, worst) = (at(50), at(99), at(100));
    let stall = longest_stall(total);
    println!("{name}: median {median:?}, p99 {p99:?}, worst {worst:?}; stall {stall:?}");
}

/// The longest gap between two looks at the clock, while looking for as long.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn longest_stall(during: std::time::Duration) -> std::time::Duration {
    let started = std::time::Instant::now();
    let (mut last, mut longest) = (started, std::time::Duration::ZERO);
    while last - started < during {
        let now = std::time::Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

fn torus(random: &mut Seeded) -> ServerGraph {
    let rate = Rate::of_bps(10_000_000_000).expect("below 18 Tbit/s");
    let server = Server {
        service: vec![RateLatency {
            rate,
            latency: Time::from_fs(5_000_000_000),
        }],
        link: Some(rate),
        multiplexing: Multiplexing::Fifo,
    };
    let servers = vec![server; PORTS.try_into().expect("small")];
    let mut network = ServerGraph::new(servers).expect("each has a service");
    network.line_shaping = true;
    network.packetizer = true;
    for _ in 0..FLOWS {
        network.add(&flow(random)).expect("it makes sense");
    }
    network
}

/// Servers of up to four times the rate that they need, each of whose flows goes on
/// to one of the next eighth of all servers.
fn feed_forward(random: &mut Seeded, ports: u32, buckets: u64, priorities: u64) -> ServerGraph {
    let mut flows = Vec::new();
    let mut needed = vec![1; ports as usize];
    for _ in 0..FLOWS {
        let mut flow = flow(random);
        let mut at = below(random, ports);
        flow.path = vec![ServerId(at)];
        for _ in 1..HOPS {
            at += 1 + below(random, ports / 8);
            if at < ports {
                flow.path.push(ServerId(at));
            }
        }
        let slow = flow.buckets[0];
        flow.buckets.extend((1..buckets).map(|more| TokenBucket {
            rate: Rate::from_ubps((1 + more) * slow.rate.as_ubps()),
            ..slow
        }));
        flow.buckets[0].burst = Data::from_ubits(buckets * flow.max_packet.as_ubits());
        flow.priority = u8::try_from(between(random, 1, priorities)).expect("few");
        for server in &flow.path {
            needed[server.index()] += flow.buckets[0].rate.as_ubps();
        }
        flows.push(flow);
    }
    let servers = needed.into_iter().map(|needed| Server {
        service: vec![RateLatency {
            rate: Rate::from_ubps(needed * between(random, 15, 40) / 10),
            latency: Time::from_fs(5_000_000_000),
        }],
        link: None,
        multiplexing: match priorities {
            1 => Multiplexing::Fifo,
            _ => Multiplexing::StrictPriority,
        },
    });
    let mut network = ServerGraph::new(servers.collect()).expect("each has a service");
    for flow in flows {
        network.add(&flow).expect("it makes sense");
    }
    network
}

/// A flow that goes from a switch into one of four directions, by random steps.
fn flow(random: &mut Seeded) -> ServerFlow {
    let burst = Data::of_bits(8 * between(random, 84, 1_538)).expect("small");
    ServerFlow {
        buckets: vec![TokenBucket {
            rate: Rate::of_bps(between(random, 1_000_000, 9_000_000)).expect("small"),
            burst,
        }],
        path: path(random),
        max_packet: burst,
        priority: 0,
    }
}

fn path(random: &mut Seeded) -> Vec<ServerId> {
    let mut below = |limit: u32| below(random, limit);
    let (mut x, mut y) = (below(WIDTH), below(HEIGHT));
    let (east, south) = (below(2), below(2));
    let step = |at: u32, forth: u32, size: u32| (at + if forth == 1 { 1 } else { size - 1 }) % size;
    let hops = (0..HOPS).map(|_| {
        let switch = y * WIDTH + x;
        let port = if below(2) == 0 {
            x = step(x, east, WIDTH);
            east
        } else {
            y = step(y, south, HEIGHT);
            2 + south
        };
        ServerId(4 * switch + port)
    });
    hops.collect()
}

fn grow(flow: &mut ServerFlow, times: u64) {
    for bucket in &mut flow.buckets {
        bucket.burst = Data::from_ubits(bucket.burst.as_ubits() * times);
    }
}

fn below(random: &mut Seeded, limit: u32) -> u32 {
    let drawn = random.below(limit.into());
    u32::try_from(drawn).expect("below a limit of 32 bits")
}

fn between(random: &mut Seeded, least: u64, most: u64) -> u64 {
    least + random.up_to(most - least)
}
