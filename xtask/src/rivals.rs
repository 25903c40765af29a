//! `cargo xtask rivals`: compares the switch with Open vSwitch, the Linux bridge
//! and a bare forwarder on this machine, in one run.
//!
//! The benchmark does the work and says what it lacks; `cargo xtask rivals
//! --help` shows what it can be told. `docs/benchmarks.md` describes the method.

use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Where all figures go if nothing else is said, beside what is built.
const FIGURES: &str = "rivals.json";

/// Builds the program and the benchmark, and runs it with these arguments.
///
/// # Errors
///
/// If `cargo` cannot be started.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Failure> {
    let figures = workspace.root().join("target").join(FIGURES);
    let figures = figures.display().to_string();
    let mut words = vec!["bench", "--package", "taktos", "--bench", "rivals", "--"];
    words.extend(arguments.iter().map(String::as_str));
    if !arguments.iter().any(|word| word.starts_with("--json")) {
        words.extend(["--json", &figures]);
    }
    Ok(match Cargo::new(workspace).run(&words)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
