//! `cargo xtask rivals`: compares the switch with Open vSwitch, the Linux bridge
//! and bare forwarders on this machine, in one run.
//!
//! The benchmark does the work and says what it lacks; `cargo xtask rivals
//! --help` shows what it can be told. With `--record` its tables take the place of
//! those in `docs/benchmarks.md`, which describes the method.

use std::fs;
use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::markers;
use crate::workspace::Workspace;

/// Where all figures go if nothing else is said, beside what is built.
const FIGURES: &str = "rivals.json";
/// Where the tables go.
const TABLES: &str = "rivals.md";
const RECORD: &str = "--record";
const DOCUMENT: &str = "docs/benchmarks.md";
/// What the tables stand between.
const NAME: &str = "rivals";

/// Builds the program and the benchmark, and runs it with these arguments.
///
/// # Errors
///
/// If `cargo` cannot be started, or the tables cannot be recorded.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Failure> {
    let folder = workspace.root().join("target");
    fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    let (figures, tables) = (folder.join(FIGURES), folder.join(TABLES));
    let (figures, tables_name) = (figures.display().to_string(), tables.display().to_string());
    let mut words = vec!["bench", "--package", "taktos", "--bench", "rivals", "--"];
    let told = arguments.iter().map(String::as_str);
    words.extend(told.filter(|word| *word != RECORD));
    for (option, file) in [("--json", &figures), ("--markdown", &tables_name)] {
        if !arguments.iter().any(|word| word.starts_with(option)) {
            words.extend([option, file]);
        }
    }
    if !Cargo::new(workspace).run(&words)? {
        return Ok(ExitCode::FAILURE);
    }
    if arguments.iter().any(|word| word == RECORD) {
        markers::record(NAME, &tables, &workspace.root().join(DOCUMENT))?;
    }
    Ok(ExitCode::SUCCESS)
}
