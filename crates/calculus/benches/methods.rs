//! How long each method takes for a flow of a random feed-forward network.
//!
//! ```text
//! cargo bench --package calculus --bench methods
//! ```
//!
//! Networks of four sizes, drawn from a fixed seed: servers of 1 to 10 times
//! what is needed, in a random order; a flow begins anywhere and goes on to one
//! of three servers behind, so that paths part and join again. Each line is the
//! least time of several runs over the whole network, divided by its flows: a
//! machine that does something else makes the others longer.

use std::hint::black_box;

use calculus::analysis::ludb::Effort;
use calculus::analysis::{
    Analysis, Method, Multiplexing, NotApplicable, RateLatency, Server, ServerFlow, ServerGraph,
    ServerId, TokenBucket, analyze, ludb, pmoo, sfa, tfa, tfa_dnc, tma,
};
use units::Seeded;
use units::fine::{Data, Rate, Time};

type Analyze = fn(&ServerGraph) -> Result<Analysis, NotApplicable>;

const METHODS: [(&str, Analyze); 8] = [
    ("tfa", tfa::analyze),
    ("tfa-dnc", tfa_dnc::analyze),
    ("sfa", sfa::analyze),
    ("pmoo", pmoo::analyze),
    ("tma", tma::analyze),
    ("ludb", ludb::analyze),
    ("ludb, thorough", |network| {
        ludb::analyze_with(network, Effort::Thorough)
    }),
    ("best", |network| analyze(network, Method::Best)),
];
/// Servers and flows of a network.
const SIZES: [(u32, u32); 4] = [(12, 16), (24, 50), (40, 130), (72, 448)];
const HOPS_MAX: usize = 9;
const RUNS: u32 = 5;

fn main() {
    for (servers, flows) in SIZES {
        let network = network(servers, flows, &mut Seeded::new(1));
        println!("{flows} flows over {servers} servers");
        for (name, analyze) in METHODS {
            let us = least_us(|| drop(black_box(analyze(&network))));
            let bounded = analyze(&network).map_or(0, |it| count_bounded(&it));
            println!(
                "  {name}: {:.2} us a flow, {bounded} bounded",
                us / f64::from(flows)
            );
        }
    }
}

/// Returns the least time of several runs, in microseconds.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn least_us(mut run: impl FnMut()) -> f64 {
    let times = (0..RUNS).map(|_| {
        let started = std::time::Instant::now();
        run();
        started.elapsed()
    });
    times.min().expect("there is a run").as_secs_f64() * 1e6
}

fn count_bounded(analysis: &Analysis) -> usize {
    analysis
        .flows
        .iter()
        .filter(|flow| flow.delay.is_some())
        .count()
}

fn network(servers: u32, flows: u32, random: &mut Seeded) -> ServerGraph {
    let paths: Vec<_> = (0..flows).map(|_| path(servers, random)).collect();
    let servers = (0..servers).map(|id| {
        let crossing = paths.iter().filter(|path| path.contains(&ServerId(id)));
        let needed = 1_000_000 * u64::try_from(crossing.count()).expect("few") + 1;
        let tenths = 11 + below(random, 90);
        Server {
            service: vec![RateLatency {
                rate: Rate::of_bps(needed * u64::from(tenths) / 10).expect("some Gbit/s"),
                latency: Time::ZERO,
            }],
            link: None,
            multiplexing: Multiplexing::Fifo,
        }
    });
    let mut network = ServerGraph::new(servers.collect()).expect("every server has a rate");
    for path in paths {
        let flow = ServerFlow {
            buckets: vec![TokenBucket {
                rate: Rate::of_bps(1_000_000).expect("1 Mbit/s"),
                burst: Data::of_bits(1_000).expect("1 kbit"),
            }],
            path,
            max_packet: Data::ZERO,
            priority: 0,
        };
        network
            .add(&flow)
            .expect("a path from lower to higher numbers");
    }
    network
}

fn path(servers: u32, random: &mut Seeded) -> Vec<ServerId> {
    let mut at = below(random, servers);
    let mut path = vec![ServerId(at)];
    while path.len() < HOPS_MAX && below(random, 5) > 0 {
        at += [1, 2, servers / 5][below(random, 3) as usize];
        if at >= servers {
            break;
        }
        path.push(ServerId(at));
    }
    path
}

fn below(random: &mut Seeded, limit: u32) -> u32 {
    let drawn = random.below(limit.into());
    u32::try_from(drawn).expect("below a limit of 32 bits")
}
