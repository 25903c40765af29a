//! What a switch that the kernel forwards for costs and takes, for the profile
//! `taktos-kernel`.
//!
//! One switch between two hosts, with real frames:
//!
//! - *time a frame*: the processor time of a thread that sends frames as fast as it
//!   can, less that of one that sends them over a cable without a switch. The
//!   kernel forwards each within the call that sends it. More masks before the one
//!   that matches, and more actions, make it longer: the differences are what a mask
//!   and an action cost.
//! - *latency*: from where the driver of one host takes a frame to where that of the
//!   other hands it up, by the kernel's stamps.
//!
//! Needs root in the first user namespace. Arguments: the seconds of latency.

mod bench_switch;

use std::process::ExitCode;

use linux::clock;
use linux::sentry::Sentries;
use measure::statistics::Distribution;
use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::MatchField;
use wire::openflow::oxm::Masked;

use bench_switch::BenchSwitch;

/// Frames whose time is taken together.
const FRAMES: u64 = 100_000;
/// The least of so many is shown, and how far the greatest is from it.
const RUNS: usize = 7;
/// The masks before the one that matches, and the actions of its entry.
const MASKS: [usize; 4] = [0, 8, 16, 32];
const ACTIONS: [usize; 3] = [0, 4, 8];
/// The length of the frames, without check sequence.
const LENGTHS: [usize; 2] = [60, 1514];
/// Between two frames whose latency is taken.
const SPACING: Duration = Duration::from_us(250);
const USUAL_SECONDS: u64 = 20;
/// What holds a processor for longer than the kernel's forwarding does.
const STALL: Duration = Duration::from_us(200);

fn main() -> ExitCode {
    if let Some(refusal) = lab::switches::kernel_refuses() {
        eprintln!("the kernel does not forward here: {refusal}");
        return ExitCode::FAILURE;
    }
    let seconds = std::env::args().find_map(|word| word.parse().ok());
    let mut bench = BenchSwitch::start();
    show_times(&mut bench);
    show_latency(
        &mut bench,
        Duration::from_secs(seconds.unwrap_or(USUAL_SECONDS)),
    );
    ExitCode::SUCCESS
}

/// Shows the time of a frame by its length, its masks and its actions.
fn show_times(bench: &mut BenchSwitch) {
    println!("time a frame, least of {RUNS} x {FRAMES} frames, host and switch together");
    bench.join(&[], 0);
    for length in LENGTHS {
        let frame = bench_switch::frame(length);
        let direct = time(|| bench.flood_directly(&frame));
        let switched = time(|| bench.flood(&frame));
        let switch = switched.least - direct.least;
        println!("  {length:>5} B, without a switch       {direct}");
        println!("  {length:>5} B, 1 mask, 1 action       {switched}");
        println!("  the switch takes {switch:.0} ns");
    }
    let frame = bench_switch::frame(LENGTHS[0]);
    let mut least = Vec::new();
    for masks in MASKS {
        bench.join(&distinct_masks(masks), 0);
        let time = time(|| bench.flood(&frame));
        println!("     60 B, {:>2} masks                {time}", masks + 1);
        least.push((masks, time.least));
    }
    show_slope("mask", &least);
    let mut least = Vec::new();
    for actions in ACTIONS {
        bench.join(&[], actions);
        let time = time(|| bench.flood(&frame));
        println!("     60 B, {:>2} actions              {time}", actions + 1);
        least.push((actions, time.least));
    }
    show_slope("action", &least);
}

/// Shows by how much one more of something makes a frame's time longer.
fn show_slope(what: &str, least: &[(usize, f64)]) {
    if let (Some((few, short)), Some((many, long))) = (least.first(), least.last()) {
        let more = f64::from(u32::try_from(many - few).expect("a few dozen"));
        println!("  each {what} takes {:.0} ns", (long - short) / more);
    }
}

/// Times of a frame in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Time {
    least: f64,
    most: f64,
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>6.0} ns (to {:.0})", self.least, self.most)
    }
}

fn time(mut send: impl FnMut()) -> Time {
    let runs = (0..RUNS).map(|_| {
        let before = clock::spent();
        for _ in 0..FRAMES {
            send();
        }
        let took = clock::spent() - before;
        took.as_secs_f64() * 1e9 / FRAMES as f64
    });
    let runs: Vec<_> = runs.collect();
    Time {
        least: runs.iter().copied().fold(f64::INFINITY, f64::min),
        most: runs.iter().copied().fold(0.0, f64::max),
    }
}

/// Returns fields that no frame here has, each with a mask of its own.
fn distinct_masks(count: usize) -> Vec<MatchField> {
    const NOBODY: u64 = 0xffff_ffff_ffff;
    let prefix = |bits: usize| mac(NOBODY << (48 - bits));
    let masks = (1..=count).map(prefix);
    let fields = masks.map(|mask| MatchField::EthDst(Masked::under(mask, mask)));
    fields.collect()
}

/// Returns the address of which these are the low 48 bits.
fn mac(bits: u64) -> MacAddress {
    let [_, _, address @ ..] = bits.to_be_bytes();
    MacAddress(address)
}

/// Shows how long frames take that come one by one.
fn show_latency(bench: &mut BenchSwitch, lasting: Duration) {
    bench.join(&[], 0);
    bench.tap();
    for length in LENGTHS {
        let sentries = Sentries::post(STALL).expect("threads");
        let seen = latencies(bench, length, lasting);
        let stalls: Vec<_> = sentries.recall().into_iter().map(|it| it.stalls).collect();
        let stalled = |sent: Instant, arrived: Instant| {
            let kept = stalls.iter().flat_map(|stalls| &stalls.kept);
            kept.clone()
                .any(|stall| stall.start <= arrived && sent <= stall.start + stall.length * 2u64)
        };
        let (mut all, mut calm) = (Distribution::default(), Distribution::default());
        for (sent, arrived) in &seen {
            all.record(*arrived - *sent);
            if !stalled(*sent, *arrived) {
                calm.record(*arrived - *sent);
            }
        }
        println!("latency of {length} B every {SPACING}, {lasting}");
        show_distribution("all frames", &all);
        show_distribution("not in a stall of 200 us or more", &calm);
    }
}

fn show_distribution(of: &str, latency: &Distribution) {
    let at = |per_mille| us(latency.quantile(per_mille));
    println!(
        "  {of}: n {}, median {:.1} us, p99 {:.1} us, p99.9 {:.1} us, highest {:.1} us",
        latency.count(),
        at(500),
        at(990),
        at(999),
        us(latency.max()),
    );
}

fn us(time: Option<Duration>) -> f64 {
    time.unwrap_or_default().as_secs_f64() * 1e6
}

/// Sends frames one by one and returns when each left and arrived.
fn latencies(bench: &mut BenchSwitch, length: usize, lasting: Duration) -> Vec<(Instant, Instant)> {
    let (frame, mut seen) = (bench_switch::frame(length), Vec::new());
    bench.forget_the_past();
    let begun = clock::now();
    let mut due = begun + SPACING;
    while due < begun + lasting {
        clock::sleep_until(due);
        due = (due + SPACING).max(clock::now());
        // The one before has arrived by now, or is lost.
        seen.extend(bench.stamps());
        bench.send(&frame);
    }
    seen
}
