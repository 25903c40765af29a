//! How long one decision takes while many flows are resident.
//!
//! ```text
//! cargo bench --package calculus --bench admission
//! ```
//!
//! The network is a ring of 200 switches with three ports each and 100,000 flows
//! over six switches, each a processing stage and a port; one flow in ten has
//! alternatives. The percentiles of single decisions are printed first, reading
//! the clock and dropping the request included; then divan's figures for a
//! hundred decisions in a row, without that.

use calculus::admission::{CLASSES, FailureId, Ledger, Request, Stage, StageId, Tree};
use divan::Bencher;
use divan::counter::ItemsCount;
use units::{BitRate, DataSize, Delay};

const SWITCHES: u32 = 200;
const RESIDENT: u32 = 100_000;
const HOPS: u32 = 6;
const DECISIONS: u32 = 200_000;
/// Decisions that are timed together by divan.
const BATCH: u32 = 100;

fn main() {
    println!("{RESIDENT} flows of {HOPS} hops resident on {SWITCHES} switches");
    let mut ledger = resident();
    print_percentiles("check, 6 hops", path_request, |request| {
        divan::black_box(ledger.check(&request)).expect("there is room");
    });
    print_percentiles(
        "check, 6 hops and alternatives",
        protected_request,
        |request| {
            divan::black_box(ledger.check(&request)).expect("there is room");
        },
    );
    print_percentiles("admit and withdraw, 6 hops", path_request, |request| {
        let admitted = ledger.admit(request).expect("there is room");
        divan::black_box(ledger.withdraw(admitted.id));
    });
    divan::main();
}

/// Prints how long single calls take.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn print_percentiles(name: &str, make: fn(u32) -> Request, mut decide: impl FnMut(Request)) {
    let mut times: Vec<_> = (0..DECISIONS)
        .map(|at| {
            let request = make(at.wrapping_mul(7_919));
            let started = std::time::Instant::now();
            decide(request);
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a count"
        )]
        let index = (times.len() as f64 * share) as usize;
        times[index.min(times.len() - 1)]
    };
    let (median, p99, p999) = (at(0.5), at(0.99), at(0.999));
    println!("{name}: median {median:?}, p99 {p99:?}, p99.9 {p999:?}");
}

#[divan::bench(sample_count = 1_000)]
fn check_six_hops(bencher: Bencher) {
    let mut ledger = resident();
    let requests: Vec<_> = (0..BATCH).map(|at| path_request(at * 7_919)).collect();
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for request in &requests {
            divan::black_box(ledger.check(request)).expect("there is room");
        }
    });
}

#[divan::bench(sample_count = 200)]
fn check_six_hops_and_detours(bencher: Bencher) {
    let mut ledger = resident();
    let requests: Vec<_> = (0..BATCH).map(|at| protected_request(at * 7_919)).collect();
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for request in &requests {
            divan::black_box(ledger.check(request)).expect("there is room");
        }
    });
}

#[divan::bench(sample_count = 200)]
fn refuse_with_what_would_fit(bencher: Bencher) {
    let mut ledger = resident();
    let mut request = path_request(0);
    request.rate = BitRate::from_mbps(9_999);
    bencher.bench_local(|| divan::black_box(ledger.check(&request)).expect_err("too much"));
}

fn resident() -> Ledger {
    let mut ledger = Ledger::new(stages());
    for at in 0..RESIDENT {
        // One in ten has a detour for each link that it uses.
        let request = match at % 10 {
            0 => protected_request(at),
            _ => path_request(at),
        };
        ledger.admit(request).expect("there is room");
    }
    ledger
}

/// A ring: processors, then ports clockwise, then ports back, then to hosts.
fn stages() -> Vec<Stage> {
    let processor = Stage::Processing {
        latency: Delay::from_us(5),
        per_frame: Delay::from_ns(10),
        fastest_per_frame: Delay::ZERO,
        budget: Delay::from_us(2_000),
        buffer_frames: Some(1_000_000),
    };
    let mut budgets = [Some(Delay::from_us(5_000)); CLASSES];
    budgets[0] = None;
    let port = Stage::Port {
        rate: BitRate::from_mbps(10_000),
        propagation: Delay::from_ns(500),
        budgets,
        buffers: [Some(DataSize::from_bytes(100_000_000)); CLASSES],
        largest_frame: DataSize::from_bytes(1_538),
    };
    let processors = (0..SWITCHES).map(|_| processor.clone());
    processors
        .chain((0..3 * SWITCHES).map(|_| port.clone()))
        .collect()
}

fn path_request(at: u32) -> Request {
    let frame = DataSize::from_bytes(144);
    Request {
        class: [7, 6, 5, 4][usize::try_from(at % 4).expect("small")],
        rate: BitRate::from_bps(20_000),
        burst: frame,
        peak: None,
        largest_frame: frame,
        smallest_frame: frame,
        deadline: Delay::from_us(90_000_000),
        initial: Delay::from_us(2),
        base: around(at % SWITCHES, HOPS - 1, 1),
        alternatives: Vec::new(),
        redundant: None,
    }
}

/// The same with an alternative for each of its links. How long it is matters
/// here, not where it leads.
fn protected_request(at: u32) -> Request {
    let from = at % SWITCHES;
    let mut alternatives: Vec<_> = (0..HOPS - 1)
        .map(|link| FailureId((from + link) % SWITCHES))
        .map(|failure| (failure, around(from, HOPS + 1, SWITCHES - 1)))
        .collect();
    alternatives.sort_by_key(|(failure, _)| *failure);
    Request {
        alternatives,
        ..path_request(at)
    }
}

fn around(from: u32, links: u32, step: u32) -> Tree {
    let ports = match step {
        1 => SWITCHES,
        _ => 2 * SWITCHES,
    };
    let mut stages = Vec::new();
    let mut at = from;
    for _ in 0..links {
        stages.extend([at, ports + at]);
        at = (at + step) % SWITCHES;
    }
    stages.extend([at, 3 * SWITCHES + at]);
    Tree::path(stages.into_iter().map(StageId))
}
