//! `cargo xtask soundness`: holds the bounds of all methods against an adversary
//! on random networks.
//!
//! The example `soundness` of `sim` does the work. With `--record` its tables take
//! the place of those in `docs/soundness.md`, which describes the method.

use std::fs;
use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::markers;
use crate::workspace::Workspace;

/// Where the tables go, beside what is built.
const TABLES: &str = "soundness.md";
const RECORD: &str = "--record";
const DOCUMENT: &str = "docs/soundness.md";
/// What the tables stand between.
const NAME: &str = "soundness";

/// Builds the check and runs it with these arguments.
///
/// # Errors
///
/// If `cargo` cannot be started, or the tables cannot be recorded.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, Failure> {
    let folder = workspace.root().join("target");
    fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    let tables = folder.join(TABLES);
    let tables_name = tables.display().to_string();
    let mut words = vec![
        "run",
        "--release",
        "--quiet",
        "--locked",
        "--package",
        "sim",
    ];
    words.extend(["--example", "soundness", "--"]);
    words.extend(arguments.iter().filter(|word| **word != RECORD));
    let records = arguments.contains(&RECORD);
    if records {
        words.extend(["--markdown", &tables_name]);
    }
    if !Cargo::new(workspace).run(&words)? {
        return Ok(ExitCode::FAILURE);
    }
    if records {
        markers::record(NAME, &tables, &workspace.root().join(DOCUMENT))?;
    }
    Ok(ExitCode::SUCCESS)
}
