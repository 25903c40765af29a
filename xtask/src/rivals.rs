//! `cargo xtask rivals`: compares the switch with Open vSwitch, the Linux bridge
//! and bare forwarders on this machine, in one run.
//!
//! The benchmark does the work and says what it lacks; `cargo xtask rivals
//! --help` shows what it can be told. With `--record` its tables take the place of
//! those in `docs/benchmarks.md`, which describes the method.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Where all figures go if nothing else is said, beside what is built.
const FIGURES: &str = "rivals.json";
/// Where the tables go.
const TABLES: &str = "rivals.md";
const RECORD: &str = "--record";
const DOCUMENT: &str = "docs/benchmarks.md";
/// What the tables stand between.
const BEGIN: &str = "<!-- rivals: begin -->\n";
const END: &str = "<!-- rivals: end -->";

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
        record(&tables, &workspace.root().join(DOCUMENT))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn record(tables: &Path, document: &Path) -> Result<(), Failure> {
    let tables = fs::read_to_string(tables).map_err(Failure::at(tables))?;
    let text = fs::read_to_string(document).map_err(Failure::at(document))?;
    let text = replace(&text, &tables).ok_or_else(|| {
        Failure::Missing(format!(
            "{DOCUMENT} has no place between {BEGIN:?} and {END:?}"
        ))
    })?;
    fs::write(document, text).map_err(Failure::at(document))
}

/// Puts `tables` where those of an earlier run stand.
fn replace(text: &str, tables: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!(
        "{before}{BEGIN}\n{}\n\n{END}{after}",
        tables.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_take_the_place_of_earlier_ones_and_of_nothing_else() {
        let text = format!("before\n{BEGIN}\nold\n\n{END}\nafter\n");

        let replaced = replace(&text, "new\n").unwrap();

        assert_eq!(replaced, format!("before\n{BEGIN}\nnew\n\n{END}\nafter\n"));
        assert_eq!(replace("no place", "new"), None);
    }
}
