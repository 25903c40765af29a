//! Leads many random networks through an ordeal and looks whether all who are
//! connected end in one mode, whether a flow that needs more gets it in time, and whether
//! every message does, whatever happens: what `cargo xtask modes` runs.

mod arguments;
#[path = "../shared/side_by_side.rs"]
mod side_by_side;

use std::process::ExitCode;

use arguments::Arguments;
use side_by_side::side_by_side;
use sim::modes::fault_schedule::FaultSchedule;
use sim::modes::promise::Promise;
use sim::modes::run::{Flaw, run};
use sim::modes::tally::{PromiseTally, Tally, TrialTally};
use sim::modes::trial::Trial;

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
        println!("{:#?}", FaultSchedule::draw(seed));
        println!("{:#?}", Trial::draw(seed));
    }
    let agree = agreements(&arguments);
    let in_time = promises(&arguments);
    match agree && in_time {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Looks whether all end in one mode. Returns whether they did.
fn agreements(arguments: &Arguments) -> bool {
    let work = |seed, tally: &mut Tally| {
        let ordeal = FaultSchedule::draw(seed);
        tally.count(&ordeal, &run(&ordeal, Flaw::None));
    };
    let tallies = side_by_side(&arguments.seeds(), arguments.threads, work);
    let tally = tallies.into_iter().fold(Tally::default(), |mut all, one| {
        all.merge(one);
        all
    });
    for (seed, findings) in tally.findings().take(PRINTED_MAX) {
        for finding in findings {
            eprintln!("seed {seed}: {finding}");
        }
        eprintln!("    replay it: cargo xtask modes --seed {seed}");
    }
    println!("{tally}\n");
    tally.findings().next().is_none()
}

/// Looks whether messages are in time. Returns whether they were.
fn promises(arguments: &Arguments) -> bool {
    let (seeds, threads) = (arguments.seeds(), arguments.threads);
    let tallies = side_by_side(&seeds, threads, |seed, tally: &mut PromiseTally| {
        tally.count(seed, &Promise::of(seed));
    });
    let tallies = tallies.into_iter();
    let promises = tallies.fold(PromiseTally::default(), PromiseTally::merged);
    println!("{promises}\n");
    let tallies = side_by_side(&seeds, threads, |seed, tally: &mut TrialTally| {
        let trial = Trial::draw(seed);
        tally.count(&trial, trial.verdict());
    });
    let tallies = tallies.into_iter();
    let trials = tallies.fold(TrialTally::default(), TrialTally::merged);
    println!("{trials}");
    promises.is_kept() && trials.is_kept()
}
