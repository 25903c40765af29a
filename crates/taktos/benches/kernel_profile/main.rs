//! What a switch that the kernel forwards for costs and takes, for the profile
//! `taktos-kernel`: what `taktos run` measures in some seconds
//! ([`lab::forwarding_times`]), at length.
//!
//! Needs root in the first user namespace. Arguments: the seconds of latency.

mod pace;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use lab::forwarding_times::{Amount, ForwardingTimes, LENGTHS, SPACING, STALL, measure};
use measure::statistics::Distribution;
use units::{Delay, Duration};

/// Frames whose time is taken together, and how often.
const FRAMES: u32 = 100_000;
const RUNS: usize = 7;
const USUAL_SECONDS: u64 = 20;

fn main() -> ExitCode {
    if let Some(refusal) = lab::switches::kernel_refuses() {
        eprintln!("the kernel does not forward here: {refusal}");
        return ExitCode::FAILURE;
    }
    let seconds = std::env::args().find_map(|word| word.parse().ok());
    let amount = Amount {
        frames: FRAMES,
        runs: RUNS,
        watch: Duration::from_secs(seconds.unwrap_or(USUAL_SECONDS)),
        longest: Duration::from_secs(3_600),
    };
    match measure(amount, &AtomicBool::new(false), &mut |_, _| ()) {
        Ok(times) => {
            show(&times, amount);
            show_pace(amount.watch);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn show(times: &ForwardingTimes, amount: Amount) {
    println!("time a frame, least of {RUNS} x {FRAMES} frames, less that without a switch");
    for (length, spent) in &times.per_frame {
        let (least, most) = (ns(spent.least), ns(spent.most));
        println!("  {length:>5} B, 1 mask, 1 action  {least:>6.0} ns (to {most:.0})");
    }
    println!("  each mask takes {:.1} ns", ns(times.per_mask));
    println!("  each action takes {:.1} ns", ns(times.per_action));
    for (length, latency) in &times.latency {
        println!("latency of {length} B every {SPACING}, {}", amount.watch);
        println!(
            "  {} frames, {} in a stall of {STALL} or more left out",
            latency.sent, latency.disturbed
        );
        show_distribution(&latency.calm);
        println!(
            "  the calmest half second: median {:.2} us",
            us(latency.calmest_median)
        );
    }
    println!(
        "{} stalls while {} lengths were watched",
        times.stalls.count(),
        LENGTHS.len()
    );
}

/// Shows how late the kernel's timer is, with processors that sleep and with such that
/// do not.
fn show_pace(watch: Duration) {
    let (length, rate) = (pace::LENGTH, pace::RATE);
    for idle in [pace::Idle::Asleep, pace::Idle::Awake] {
        println!("{length} B after {length} B at {rate}, later than the link allows, {idle:?}");
        match pace::lateness(idle, watch) {
            Ok(late) => show_distribution(&late),
            Err(error) => println!("  cannot be measured: {error}"),
        }
    }
}

fn show_distribution(latency: &Distribution) {
    let at = |per_mille| us(latency.quantile(per_mille));
    println!(
        "  n {}, median {:.1} us, p99 {:.1} us, p99.9 {:.1} us, highest {:.1} us",
        latency.count(),
        at(500),
        at(990),
        at(999),
        us(latency.max()),
    );
}

fn ns(time: Delay) -> f64 {
    time.as_secs_f64() * 1e9
}

fn us(time: Option<Duration>) -> f64 {
    time.unwrap_or_default().as_secs_f64() * 1e6
}
