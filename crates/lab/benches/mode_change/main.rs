//! How long nine switches that the kernel forwards for take to change their mode:
//! from where a violation is noticed to where the last switch has changed, with links
//! without a pace, and with links of 100 Mbit/s that are full (MC-SDN Figs 2 and
//! 6). Beside it the same network with a controller that is asked and tells the
//! switches (`std-sdn`).
//!
//! Times are those at which the programs in the kernel changed the mode, by the clock
//! that all of them share; with a controller, when the last barrier was answered.
//!
//! Beside the times stand the sound bound of `calculus::mode_change`, which is to hold
//! for every change that no stall of the machine has met, and what is wanted.
//!
//! Needs root in the first user namespace. Arguments: how many changes, 20 if
//! nothing is said.

mod controller;
mod field;
mod topology;

use std::process::ExitCode;

use linux::clock;
use linux::jitter_monitor::JitterMonitors;
use measure::statistics::Distribution;
use units::{BitRate, Duration};

use field::{Field, Manner};
use topology::Topology;

const USUAL_CHANGES: u32 = 20;
/// What holds a processor for longer than the kernel's forwarding does.
const STALL: Duration = Duration::from_us(200);
const PACED: BitRate = BitRate::from_mbps(100);
/// What is wanted of a line: without a pace, and with full links.
const WANTED: [Duration; 2] = [Duration::from_us(200), Duration::from_ms(1)];
/// Frames that the first links carry in 6 ms: more than a change takes.
const LOAD: usize = 50;
/// Until the frames have come to the last link.
const UNTIL_FULL: Duration = Duration::from_us(1500);

fn main() -> ExitCode {
    if let Some(refusal) = lab::switches::kernel_refuses() {
        eprintln!("the kernel does not forward here: {refusal}");
        return ExitCode::FAILURE;
    }
    let count = std::env::args().find_map(|word| word.parse().ok());
    let count = count.unwrap_or(USUAL_CHANGES);
    let mut complete = true;
    for topology in Topology::ALL {
        for rate in [None, Some(PACED)] {
            complete &= show(topology, rate, count);
        }
    }
    match complete {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Shows the times of one network, and returns whether all switches always changed, and
/// within the bound unless the machine stood still.
fn show(topology: Topology, rate: Option<BitRate>, count: u32) -> bool {
    let mut field = Field::start(topology, rate);
    let links = match rate {
        Some(_) => "100 Mbit/s, full",
        None => "not paced",
    };
    let bound = topology.bound(rate.unwrap_or(field::UNPACED));
    println!(
        "{}, 9 switches, links {links}; the last is told over {} links; bound {bound}, wanted {}",
        topology.name(),
        topology.links(),
        WANTED[usize::from(rate.is_some())],
    );
    let mut complete = true;
    for manner in [Manner::Themselves, Manner::Controller] {
        field.begin(topology, manner);
        let sentries = JitterMonitors::post(STALL).expect("threads");
        let (mut times, mut late) = (Distribution::default(), 0);
        for _ in 0..count {
            let time = change(&mut field, manner, rate.is_some());
            complete &= time.is_some();
            if let Some(time) = time {
                times.record(time);
                late += u32::from(time > bound);
            }
        }
        let stalls: usize = sentries
            .recall()
            .iter()
            .map(|it| it.stalls.kept.len())
            .sum();
        let at = |per_mille| us(times.quantile(per_mille));
        println!(
            "  {manner:?}: n {} of {count}, median {:.1} us, p90 {:.1} us, highest {:.1} us; \
             {late} above the bound; {stalls} stalls of {STALL} or more",
            times.count(),
            at(500),
            at(900),
            us(times.max()),
        );
        complete &= late == 0 || stalls > 0 || manner == Manner::Controller;
    }
    complete
}

fn change(field: &mut Field, manner: Manner, full: bool) -> Option<Duration> {
    if manner == Manner::Themselves {
        field.lower();
    }
    if full {
        field.fill(LOAD);
        clock::sleep_until(clock::now() + UNTIL_FULL);
    }
    match manner {
        Manner::Themselves => field.violate(),
        Manner::Controller => field.violate_and_ask(),
    }
}

fn us(time: Option<Duration>) -> f64 {
    time.unwrap_or_default().as_secs_f64() * 1e6
}
