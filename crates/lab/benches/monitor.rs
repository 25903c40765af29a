//! What watching costs where the kernel forwards, a flow by a monitor, a frame by how
//! long it stays, a contract by policing, and neighbours by when frames come and leave: below 100 ns a frame is wanted of each, and a throughput within 2 % of that
//! without (MC-SDN Fig. 8). And what it costs to number the frames of a stream, or to end their copies
//! (IEEE 802.1CB): at most 150 ns and 5 % are wanted.
//!
//! Needs root in the first user namespace. Arguments: how often each time is taken, of
//! which the least counts; 15 if nothing is said. With `hops`, `police`, `both`, `numbered`,
//! `recovered` or `neighbours`, that alone. With `flows`, throughput and latency with 1, 1,000 and 10,000 flows
//! that are policed and watched, beside Open vSwitch.

use std::process::ExitCode;

use lab::bench_switch::{BenchError, Watching};
use lab::flow_times::{self, Way, WayTimes};
use lab::monitor_times::{Packets, SHORTEST, measure};
use linux::scheduling::{self, HIGHEST_NICE, Placement, Session, Wish};
use units::Delay;

const USUAL_RUNS: usize = 15;
const LENGTHS: [usize; 2] = [SHORTEST, 1514];

fn main() -> ExitCode {
    if let Some(refusal) = lab::switches::kernel_refuses() {
        eprintln!("the kernel does not forward here: {refusal}");
        return ExitCode::FAILURE;
    }
    let runs = std::env::args().find_map(|word| word.parse().ok());
    let runs = runs.unwrap_or(USUAL_RUNS).max(1);
    if std::env::args().any(|word| word == "flows") {
        return match flows(runs) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    println!("processor time of a frame, host and switch, least of {runs} runs in turns");
    let cases = [
        (Watching::Monitor, Packets::Many),
        (Watching::Monitor, Packets::One),
        (Watching::Hops, Packets::Many),
        (Watching::Police, Packets::Many),
        (Watching::PoliceAndHops, Packets::Many),
        (Watching::Numbered, Packets::Many),
        (Watching::Recovered, Packets::Many),
        (Watching::Neighbours, Packets::Many),
    ];
    let only = |watching: Watching| std::env::args().any(|word| word == word_for(watching));
    let parts = [
        Watching::Hops,
        Watching::Police,
        Watching::PoliceAndHops,
        Watching::Numbered,
        Watching::Recovered,
        Watching::Neighbours,
    ];
    let is_all = !parts.into_iter().any(only);
    for length in LENGTHS {
        for (watching, packets) in cases {
            if !is_all && !only(watching) {
                continue;
            }
            match measure(watching, length, packets, runs) {
                Ok(times) => println!(
                    "  {length:>4} B, {:<17} {:.0} ns, watched {:.0} ns: {:.0} ns more, \
                     throughput {:.2} %",
                    name(watching, packets),
                    ns(times.alone),
                    ns(times.watched),
                    ns(times.added()),
                    100.0 * times.throughput(),
                ),
                Err(error) => {
                    eprintln!("{error}");
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    println!("load {}", load());
    ExitCode::SUCCESS
}

/// Shows what policing and watching cost where there are many flows, and what Open vSwitch
/// does beside it.
fn flows(rounds: usize) -> Result<(), BenchError> {
    const WAYS: [Way; 3] = [
        Way::Kernel(Watching::Nobody),
        Way::Kernel(Watching::PoliceAndHops),
        Way::OpenVswitch,
    ];
    lab::privilege::acquire().map_err(std::io::Error::other)?;
    let _session = Session::raise(HIGHEST_NICE);
    scheduling::apply(Wish {
        nice: HIGHEST_NICE,
        placement: Placement::Anywhere,
    });
    println!("frames of {SHORTEST} B, best of {rounds} rounds in turns");
    for flows in [1, 1_000, 10_000] {
        let times = flow_times::measure(&WAYS, flows, SHORTEST, rounds)?;
        let plain = times[0];
        let names = ["kernel engine", "policed, watched", "Open vSwitch"];
        for (
            name,
            WayTimes {
                throughput,
                latency,
            },
        ) in names.into_iter().zip(times)
        {
            println!(
                "  {flows:>6} flows, {name:<17} {throughput:>7.0} frames/s ({:.3} times), latency \
                 {:.2} us ({:.3} times)",
                throughput / plain.throughput,
                latency.as_secs_f64() * 1e6,
                latency.as_secs_f64() / plain.latency.as_secs_f64(),
            );
        }
        println!("         load {}", load());
    }
    Ok(())
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}

const fn name(watching: Watching, packets: Packets) -> &'static str {
    match (watching, packets) {
        (Watching::Nobody, _) => "nobody",
        (Watching::Hops, _) => "how long it stays",
        (Watching::Police, _) => "its contract",
        (Watching::Numbered, _) => "its number",
        (Watching::Recovered, _) => "whether a copy",
        (Watching::Neighbours, _) => "its neighbours",
        (Watching::PoliceAndHops, _) => "both",
        (Watching::Monitor, Packets::One) => "messages of one",
        (Watching::Monitor, Packets::Many) => "one long message",
    }
}

const fn word_for(watching: Watching) -> &'static str {
    match watching {
        Watching::Hops => "hops",
        Watching::Police => "police",
        Watching::Numbered => "numbered",
        Watching::Recovered => "recovered",
        Watching::Neighbours => "neighbours",
        Watching::PoliceAndHops => "both",
        Watching::Nobody | Watching::Monitor => "",
    }
}

fn ns(time: Delay) -> f64 {
    time.as_secs_f64() * 1e9
}
