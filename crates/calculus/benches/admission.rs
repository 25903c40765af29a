//! How long one decision takes while many flows are resident, and what they cost.
//!
//! ```text
//! cargo bench --package calculus --bench admission
//! ```
//!
//! The first network is a ring of 200 switches with three ports each and 100,000
//! flows over six switches, each a processing stage and a port; one flow in ten has
//! alternatives. The second is a torus of 10 by 20 switches with 100,000 flows for
//! which the way was searched. The percentiles of single decisions are printed
//! first, reading the clock and dropping the request included, and how long the
//! machine stood still meanwhile: time between two readings of the clock that do
//! nothing. Then a million flows are admitted and their memory is counted, as the
//! operating system sees it. Last come divan's figures for a hundred decisions in
//! a row.

use std::time::{Duration, Instant};

use calculus::admission::routes::{Cable, Disjoint, Ends, Map, NodeId, PortRef};
use calculus::admission::{CLASSES, FailureId, Ledger, Request, Room, Spare, Stage, StageId, Tree};
use divan::Bencher;
use divan::counter::ItemsCount;
use units::{BitRate, DataSize, Delay};

const SWITCHES: u32 = 200;
const RESIDENT: u32 = 100_000;
const MANY: u32 = 1_000_000;
const HOPS: u32 = 6;
const DECISIONS: u32 = 200_000;
const SEARCHES: u32 = 50_000;
const CHOICES: u32 = 200;
const BATCHES: u32 = 2_000;
/// Decisions that are timed together by divan, and requests of a batch.
const BATCH: u32 = 100;
/// The sides of the torus.
const TORUS: [u32; 2] = [20, 10];
/// A gap between two readings of the clock from which on the machine stood still.
const STALL: Duration = Duration::from_micros(2);

fn main() {
    print_decisions();
    print_fits();
    print_searches();
    print_memory();
    divan::main();
}

fn print_decisions() {
    println!("{RESIDENT} flows of {HOPS} hops resident on a ring of {SWITCHES} switches");
    let mut ledger = resident();
    print_percentiles("check, 6 hops", DECISIONS, path_request, |request| {
        divan::black_box(ledger.check(&request)).expect("there is room");
    });
    print_percentiles(
        "check, 6 hops and alternatives",
        DECISIONS,
        protected_request,
        |request| {
            divan::black_box(ledger.check(&request)).expect("there is room");
        },
    );
    print_percentiles(
        "admit and withdraw, 6 hops",
        DECISIONS,
        path_request,
        |request| {
            let admitted = ledger.admit(request).expect("there is room");
            divan::black_box(ledger.withdraw(admitted.id));
        },
    );
    let batch = |at: u32| {
        (0..BATCH)
            .map(|of| path_request(at + of))
            .collect::<Vec<_>>()
    };
    print_percentiles("what if, a batch of 100", BATCHES, batch, |batch| {
        divan::black_box(ledger.what_if(&batch));
    });
}

/// How long one flow more takes where budgets follow the flows, with nothing to spare and
/// with what the deadlines leave shared out, and how often it needs others.
fn print_fits() {
    for flows in [10_000, RESIDENT] {
        for spare in [Spare::None, Spare::Shared] {
            let requests: Vec<_> = (0..flows).map(in_time).collect();
            let mut ledger = Ledger::fitted(unfitted(), spare);
            assert_eq!(
                ledger.prepare(&requests).left_out,
                [],
                "there are budgets for all"
            );
            for request in requests {
                ledger.admit(request).expect("budgets are chosen for it");
            }
            let slower = ledger.slowdown().expect("budgets follow the flows");
            println!(
                "beside {flows} flows, spare {spare:?}: processors may be {slower} times as slow"
            );
            let before = ledger.choices();
            print_percentiles("  one flow more", CHOICES, more, |request| {
                ledger.admit(request).expect("there are budgets for it");
            });
            println!("  budgets were chosen {} times", ledger.choices() - before);
            print_percentiles("  one that is refused", 5, impossible, |request| {
                ledger.admit(request).expect_err("its deadline is too soon");
            });
        }
    }
}

/// Returns a flow beside those that are resident.
fn more(at: u32) -> Request {
    let request = in_time(at);
    Request {
        burst: request.burst + DataSize::from_bytes(u64::from(at % 1_000)),
        deadline: Delay::from_us(2_500),
        ..request
    }
}

/// Returns a flow for which there are no budgets.
fn impossible(at: u32) -> Request {
    Request {
        deadline: Delay::from_us(60),
        ..in_time(at)
    }
}

/// Returns the flow at a place, with a deadline that is not far away.
fn in_time(at: u32) -> Request {
    let request = match at % 10 {
        0 => protected_request(at),
        _ => path_request(at),
    };
    Request {
        deadline: Delay::from_us(100_000),
        ..request
    }
}

/// Returns the stages of the ring without budgets.
fn unfitted() -> Vec<Stage> {
    let mut stages = stages();
    for stage in &mut stages {
        match stage {
            Stage::Processing { budget, .. } => *budget = Delay::ZERO,
            Stage::Port { budgets, .. } => {
                budgets
                    .iter_mut()
                    .flatten()
                    .for_each(|it| *it = Delay::ZERO);
            }
        }
    }
    stages
}

fn print_searches() {
    let [columns, rows] = TORUS;
    println!("{RESIDENT} flows resident on a torus of {columns} by {rows} switches");
    let (stages, cables) = torus();
    let mut ledger = Ledger::new(stages);
    let mut map = Map::new(
        (0..SWITCHES).map(|node| Some(StageId(node))).collect(),
        &cables,
    );
    let mut hops = 0;
    for at in 0..RESIDENT {
        let (request, ends) = wanted(at);
        let (route, _) = map
            .admit(&mut ledger, request, ends)
            .expect("there is room");
        hops += route.nodes.len();
    }
    println!(
        "{} switches on a way, in hundredths",
        hops * 100 / RESIDENT as usize
    );
    print_percentiles("search", SEARCHES, wanted, |(request, ends)| {
        divan::black_box(map.find(&ledger, &request, ends)).expect("there is room");
    });
    print_percentiles(
        "search, admit and withdraw",
        SEARCHES,
        wanted,
        |(request, ends)| {
            let (_, admitted) = map
                .admit(&mut ledger, request, ends)
                .expect("there is room");
            divan::black_box(ledger.withdraw(admitted.id));
        },
    );
    print_percentiles("two disjoint ways", BATCHES, wanted, |(request, ends)| {
        divan::black_box(map.find_pair(&mut ledger, &request, ends, Disjoint::Nodes));
    });
    print_percentiles(
        "the 16 shortest ways",
        BATCHES,
        wanted,
        |(request, ends)| {
            divan::black_box(map.shortest(&ledger, &request, ends, 16));
        },
    );
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn print_memory() {
    let before = resident_bytes();
    let started = Instant::now();
    let mut ledger = Ledger::new(stages());
    for at in 0..MANY {
        let request = Request {
            rate: BitRate::from_bps(5_000),
            ..path_request(at)
        };
        ledger.admit(request).expect("there is room");
    }
    let (took, after) = (started.elapsed(), resident_bytes());
    let bytes = after.saturating_sub(before);
    println!(
        "{MANY} flows of {HOPS} hops: {} MB, {} bytes a flow, admitted in {took:?}",
        bytes / 1_000_000,
        bytes / u64::from(MANY),
    );
}

/// Returns the memory of this process, or zero where there is no `/proc`.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4_096
}

/// Prints how long single calls take.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn print_percentiles<T>(
    name: &str,
    calls: u32,
    mut make: impl FnMut(u32) -> T,
    mut decide: impl FnMut(T),
) {
    let (mut still, mut idle) = (Duration::ZERO, Duration::ZERO);
    let mut times: Vec<_> = (0..calls)
        .map(|at| {
            let input = make(at.wrapping_mul(7_919));
            let ready = Instant::now();
            let started = Instant::now();
            decide(input);
            let took = started.elapsed();
            let gap = started - ready;
            idle += gap;
            if gap >= STALL {
                still += gap;
            }
            took
        })
        .collect();
    times.sort_unstable();
    let per_mille = |share: usize| times[(times.len() * share / 1_000).min(times.len() - 1)];
    let (median, p99, p999) = (per_mille(500), per_mille(990), per_mille(999));
    println!(
        "{name}: median {median:?}, p99 {p99:?}, p99.9 {p999:?}; \
         the machine stood still for {still:?} of {idle:?}"
    );
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
        buffers: [Some(Room::Size(DataSize::from_bytes(100_000_000))); CLASSES],
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
        frames: None,
        largest_frame: frame,
        smallest_frame: frame,
        deadline: Delay::from_us(90_000_000),
        initial: Delay::from_us(2),
        base: around(at % SWITCHES, HOPS - 1, 1),
        alternatives: Vec::new(),
        is_held_back: false,
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

/// A torus: processors, then for each switch a port to each side and to a host.
fn torus() -> (Vec<Stage>, Vec<Cable>) {
    let ring = stages();
    let (processor, port) = (&ring[0], &ring[SWITCHES as usize]);
    let mut all = vec![processor.clone(); SWITCHES as usize];
    all.extend(vec![port.clone(); 5 * SWITCHES as usize]);
    let end = |node, side| PortRef {
        node: NodeId(node),
        port: torus_port(node, side),
    };
    let [columns, rows] = TORUS;
    let cables = (0..SWITCHES).flat_map(|node| {
        let (column, row) = (node % columns, node / columns);
        let right = row * columns + (column + 1) % columns;
        let below = (row + 1) % rows * columns + column;
        [[end(node, 0), end(right, 1)], [end(node, 2), end(below, 3)]]
    });
    (all, cables.map(|ends| Cable { ends }).collect())
}

fn torus_port(node: u32, side: u32) -> StageId {
    StageId(SWITCHES + 5 * node + side)
}

/// A flow between two switches of the torus, up to ten columns and five rows apart.
fn wanted(at: u32) -> (Request, Ends<'static>) {
    let (from, to) = (
        at.wrapping_mul(31) % SWITCHES,
        at.wrapping_mul(17) / 7 % SWITCHES,
    );
    let end = PortRef {
        node: NodeId(to),
        port: torus_port(to, 4),
    };
    (path_request(at), Ends::new(NodeId(from), end))
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
