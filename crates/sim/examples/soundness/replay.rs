//! One network in full: what it is, what was seen in it, what was promised.

use calculus::analysis::ServerGraph;
use sim::servers::check::Outcome;
use units::fine::Time;

pub fn print(outcome: &Outcome) {
    println!("seed {}, a {}", outcome.seed, outcome.family.name());
    print_network(&outcome.network);
    let Some(observed) = &outcome.observed else {
        println!("\nit cannot be simulated");
        return;
    };
    println!("\nlongest delays seen, and bounds, in us");
    for flow in outcome.network.flows() {
        print!(
            "  flow {:2}  {:>10}",
            flow.0,
            us(observed.delays[flow.index()])
        );
        for answer in &outcome.answers {
            let Ok(analysis) = &answer.analysis else {
                continue;
            };
            let delay = analysis.flows[flow.index()].delay;
            let delay = delay.map_or_else(|| "unbounded".to_owned(), us);
            print!("  {} {delay:>10}", answer.candidate.name);
        }
        println!();
    }
    println!();
    for answer in &outcome.answers {
        if let Err(reason) = &answer.analysis {
            println!("{} does not apply: {reason}", answer.candidate.name);
        }
    }
    for violation in &outcome.violations {
        println!("BROKEN {violation}");
    }
}

fn print_network(network: &ServerGraph) {
    let ServerGraph {
        packetizer,
        line_shaping,
        ..
    } = network;
    println!("packetizer {packetizer}, line shaping {line_shaping}\n");
    for (at, server) in network.servers().iter().enumerate() {
        print!("  server {at:2}  {:<15}", server.multiplexing.to_string());
        for piece in &server.service {
            print!(
                "  {} bit/s after {} us",
                bits(piece.rate.as_ubps()),
                us(piece.latency)
            );
        }
        match server.link {
            None => println!(),
            Some(link) => println!("  link {} bit/s", bits(link.as_ubps())),
        }
    }
    for flow in network.flows() {
        print!("  flow {:2}  priority {}", flow.0, network.priority(flow));
        print!("  packet {} bit", bits(network.max_packet(flow).as_ubits()));
        for bucket in network.buckets(flow) {
            let (rate, burst) = (bucket.rate.as_ubps(), bucket.burst.as_ubits());
            print!("  {} bit + {} bit/s", bits(burst), bits(rate));
        }
        let path: Vec<_> = network.path(flow).iter().map(|it| it.0).collect();
        println!("  path {path:?}");
    }
}

fn bits(millionths: u64) -> String {
    match millionths % 1_000_000 {
        0 => (millionths / 1_000_000).to_string(),
        rest => format!("{}.{rest:06}", millionths / 1_000_000),
    }
}

fn us(time: Time) -> String {
    let fs = time.as_fs();
    format!("{}.{:03}", fs / 1_000_000_000, fs / 1_000_000 % 1_000)
}
