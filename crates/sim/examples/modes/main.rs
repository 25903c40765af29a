//! Leads many random networks through an ordeal and looks whether all who are
//! connected end in one mode, and whether a flow that needs more gets it in time: what
//! `cargo xtask modes` runs.

mod arguments;

use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use arguments::Arguments;
use sim::modes::ordeal::Ordeal;
use sim::modes::promise::Promise;
use sim::modes::run::{Outcome, run};
use sim::modes::station::Flaw;
use sim::modes::tally::{PromiseTally, Tally};
use sim::modes::whole;

/// Who goes through ordeals, and how they are led.
type Way = (&'static str, fn(&Ordeal) -> Outcome);

/// Two processors look at networks side by side.
const THREADS: usize = 2;
/// So many seeds are taken at a time.
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
        println!("{:#?}", Ordeal::draw(seed));
    }
    let seeds = arguments.seeds();
    let mut is_broken = false;
    let ways: [Way; 2] = [
        ("the agreement alone", |ordeal| run(ordeal, Flaw::None)),
        ("whole switches", whole::run),
    ];
    for (what, lead) in ways {
        let tally = spread(&seeds, |seed, tally: &mut Tally| {
            let ordeal = Ordeal::draw(seed);
            tally.count(&ordeal, &lead(&ordeal));
        });
        let tally = tally.into_iter().fold(Tally::default(), |mut all, one| {
            all.merge(one);
            all
        });
        for (seed, findings) in tally.findings().take(PRINTED_MAX) {
            for finding in findings {
                eprintln!("{what}, seed {seed}: {finding}");
            }
            eprintln!("    replay it: cargo xtask modes --seed {seed}");
        }
        println!("{what}: {tally}\n");
        is_broken |= tally.findings().next().is_some();
    }
    let promises = spread(&seeds, |seed, tally: &mut PromiseTally| {
        tally.count(seed, &Promise::of(seed));
    });
    let promises = promises
        .into_iter()
        .fold(PromiseTally::default(), PromiseTally::merged);
    println!("{promises}");
    match is_broken || !promises.is_kept() {
        false => ExitCode::SUCCESS,
        true => ExitCode::FAILURE,
    }
}

/// Does `work` for every seed; returns what each thread counted.
fn spread<T: Default + Send>(seeds: &Range<u64>, work: impl Fn(u64, &mut T) + Sync) -> Vec<T> {
    let next = AtomicU64::new(seeds.start);
    thread::scope(|scope| {
        let count = || {
            let mut tally = T::default();
            loop {
                let begin = next.fetch_add(BATCH, Ordering::Relaxed);
                if begin >= seeds.end {
                    return tally;
                }
                for seed in begin..seeds.end.min(begin + BATCH) {
                    work(seed, &mut tally);
                }
            }
        };
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
        let workers = workers.into_iter();
        let tallies = workers.map(|worker| worker.join());
        tallies
            .map(|tally| tally.expect("a worker that panics has said why"))
            .collect()
    })
}
