//! `cargo xtask same-meaning [--pairs NUMBER] [--seed NUMBER]`: compares the switch's
//! core with its program in the kernel, on random tables and frames.

use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Pairs of outcomes that are compared if nothing else is asked for.
const PAIRS: &str = "1000000";
const SEED: &str = "1";

const TEST: [&str; 10] = [
    "test",
    "--locked",
    "--package",
    "linux",
    "--test",
    "same_meaning",
    "--",
    "--nocapture",
    "--exact",
    "frames_meet_the_same_fate_in_the_kernel",
];

/// Runs the long form of the test.
///
/// # Errors
///
/// If an argument is none of these, or cargo cannot be started.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, Failure> {
    let (mut pairs, mut seed) = (PAIRS, SEED);
    let mut words = arguments;
    while let [name, value, rest @ ..] = words {
        match *name {
            "--pairs" => pairs = value,
            "--seed" => seed = value,
            _ => break,
        }
        words = rest;
    }
    let numbers = [pairs, seed].iter().all(|word| word.parse::<u64>().is_ok());
    if !words.is_empty() || !numbers {
        let usage = "cargo xtask same-meaning [--pairs NUMBER] [--seed NUMBER]";
        return Err(Failure::Usage(usage.to_owned()));
    }
    let cargo = Cargo::new(workspace)
        .with("TAKTOS_PAIRS", pairs)
        .with("TAKTOS_SEED", seed);
    Ok(match cargo.run(&TEST)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
