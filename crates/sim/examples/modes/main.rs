//! Leads many random networks through an ordeal and looks whether all who are
//! connected end in one mode: what `cargo xtask modes` runs.

mod arguments;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use arguments::Arguments;
use sim::modes::ordeal::Ordeal;
use sim::modes::run::run;
use sim::modes::station::Flaw;
use sim::modes::tally::Tally;

/// Two processors look at networks side by side.
const THREADS: usize = 2;
/// So many ordeals are taken at a time.
const BATCH: u64 = 50;
/// No more networks with findings are printed than these.
const PRINTED_MAX: usize = 20;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            eprintln!("error: {mistake}\n\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    if let Some(seed) = arguments.seed {
        let ordeal = Ordeal::draw(seed);
        println!("{ordeal:#?}");
        println!("{:#?}", run(&ordeal, Flaw::None));
    }
    let tally = count(&arguments);
    for (seed, findings) in tally.findings().take(PRINTED_MAX) {
        for finding in findings {
            eprintln!("seed {seed}: {finding}");
        }
        eprintln!("    replay it: cargo xtask modes --seed {seed}");
    }
    println!("{tally}");
    match tally.findings().next() {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}

/// Leads all networks through their ordeals, whichever thread takes which.
fn count(arguments: &Arguments) -> Tally {
    let next = AtomicU64::new(0);
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let work = || work(arguments, &next);
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            tally.merge(worker.join().expect("a worker that panics has said why"));
        }
    });
    tally
}

fn work(arguments: &Arguments, next: &AtomicU64) -> Tally {
    let mut tally = Tally::default();
    let seeds = arguments.seeds();
    let count = seeds.end - seeds.start;
    loop {
        let begin = next.fetch_add(BATCH, Ordering::Relaxed);
        if begin >= count {
            return tally;
        }
        for seed in begin..count.min(begin + BATCH) {
            let ordeal = Ordeal::draw(seeds.start + seed);
            let outcome = run(&ordeal, Flaw::None);
            tally.count(&ordeal, &outcome);
        }
    }
}
