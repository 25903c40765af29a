//! `cargo xtask modes`: leads random networks through violations, restarts, cuts, lost
//! and forged signals, and looks whether all who are connected end in one mode.
//!
//! The example `modes` of `sim` does the work.

use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Builds the check and runs it with these arguments.
///
/// # Errors
///
/// If `cargo` cannot be started.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, Failure> {
    let mut words = vec!["run", "--release", "--quiet", "--locked"];
    words.extend(["--package", "sim", "--example", "modes", "--"]);
    words.extend(arguments);
    match Cargo::new(workspace).run(&words)? {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}
