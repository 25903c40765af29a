//! Checks the bounds of all methods against an adversary on many random networks:
//! what `cargo xtask soundness` runs. `docs/soundness.md` describes it.

mod arguments;
mod replay;
mod report;
#[path = "../shared/side_by_side.rs"]
mod side_by_side;

use std::process::ExitCode;

use arguments::Arguments;
use side_by_side::side_by_side;
use sim::servers::adversary::Effort;
use sim::servers::check::{Check, Violation};
use sim::servers::methods;
use sim::servers::ratios::Tallies;

/// How hard is looked for the worst of each network.
const EFFORT: Effort = Effort {
    flows: 4,
    events: 240_000,
    changes: 100_000,
};
/// No more violations are printed than these.
const VIOLATIONS_PRINTED: usize = 50;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            eprintln!("error: {mistake}\n\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    let check = Check {
        candidates: methods::all(),
        effort: Effort {
            events: EFFORT.events * arguments.effort,
            ..EFFORT
        },
        share_percent: 100,
    };
    if let Some(seed) = arguments.seed {
        let outcome = check.run(seed);
        replay::print(&outcome);
        return exit_code(&outcome.violations);
    }
    let (tallies, violations) = run(&check, &arguments);
    for violation in violations.iter().take(VIOLATIONS_PRINTED) {
        eprintln!("{violation}");
        eprintln!(
            "    replay it: cargo xtask soundness --seed {}",
            violation.seed
        );
    }
    let report = report::Report {
        tallies: &tallies,
        violations: violations.len(),
        first_seed: arguments.first,
    };
    match report.put_out(&arguments) {
        Ok(()) => exit_code(&violations),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn exit_code(violations: &[Violation]) -> ExitCode {
    match violations.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Checks all networks and returns what was counted, whichever thread did what.
fn run(check: &Check, arguments: &Arguments) -> (Tallies, Vec<Violation>) {
    let seeds = arguments.first..arguments.first + arguments.networks;
    let work = |seed, (tallies, violations): &mut (Tallies, Vec<Violation>)| {
        let outcome = check.run(seed);
        tallies.count(&outcome);
        violations.extend(outcome.violations);
    };
    let mut tallies = Tallies::default();
    let mut violations = Vec::new();
    for (counted, broken) in side_by_side(&seeds, None, work) {
        tallies.merge(&counted);
        violations.extend(broken);
    }
    violations.sort_by_key(|it| (it.seed, it.method, it.flow));
    (tallies, violations)
}
