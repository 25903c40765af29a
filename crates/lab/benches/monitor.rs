//! What watching costs where the kernel forwards, a flow by a monitor, a frame by how
//! long it stays, and a contract by policing: below 100 ns a frame is wanted of each, and a throughput within 2 % of that
//! without (MC-SDN Fig. 8).
//!
//! Needs root in the first user namespace. Arguments: how often each time is taken, of
//! which the least counts; 15 if nothing is said. With `hops`, `police`,
//! `numbered` or `recovered`, that alone.

use std::process::ExitCode;

use lab::bench_switch::Watching;
use lab::monitor_times::{Packets, SHORTEST, measure};
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
    println!("processor time of a frame, host and switch, least of {runs} runs in turns");
    let cases = [
        (Watching::Monitor, Packets::Many),
        (Watching::Monitor, Packets::One),
        (Watching::Hops, Packets::Many),
        (Watching::Police, Packets::Many),
        (Watching::Numbered, Packets::Many),
        (Watching::Recovered, Packets::Many),
    ];
    let only = |watching: Watching| std::env::args().any(|word| word == word_for(watching));
    let named = [
        Watching::Hops,
        Watching::Police,
        Watching::Numbered,
        Watching::Recovered,
    ];
    let is_all = !named.into_iter().any(only);
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
    ExitCode::SUCCESS
}

const fn name(watching: Watching, packets: Packets) -> &'static str {
    match (watching, packets) {
        (Watching::Nobody, _) => "nobody",
        (Watching::Hops, _) => "how long it stays",
        (Watching::Police, _) => "its contract",
        (Watching::Numbered, _) => "its number",
        (Watching::Recovered, _) => "number and copies",
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
        Watching::Nobody | Watching::Monitor => "",
    }
}

fn ns(time: Delay) -> f64 {
    time.as_secs_f64() * 1e9
}
