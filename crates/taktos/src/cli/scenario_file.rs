//! Reads a scenario from disk, shows what is wrong with it, and says in which queues
//! flows travel of which nobody has named the class.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use scenario::flow_table::LONGEST_DESCRIPTION;
use scenario::{LONGEST_FILE, Scenario, ScenarioError};
use thiserror::Error;

use super::exit::Exit;
use super::run::explain;
use super::screen::say;
use super::text_file;
use run::experiment::queues;
use run::measuring::recordings;

/// The most remarks about an imported file that are shown.
const MOST_SHOWN: usize = 20;
/// So many flows are named of those that are given other queues.
const MOST_NAMED: usize = 5;

/// Reads the scenario in `path`, or says on standard error why that cannot be.
/// What of imported files is not among its flows is said there, too.
pub fn read(path: &Path) -> Result<Scenario, Exit> {
    let scenario = load(path).map_err(|error| match error {
        LoadError::File { error, .. } => {
            say(format_args!(
                "taktos: cannot read {}: {error}",
                path.display()
            ));
            Exit::BadInput
        }
        LoadError::Mistakes(error) => text_file::show(&error),
    })?;
    show_imports(&scenario);
    Ok(scenario)
}

/// Why a file is no scenario.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Mistakes(#[from] ScenarioError),
}

/// Reads the scenario in `path` with the files that it names.
///
/// # Errors
///
/// Why it cannot be read, or all of its mistakes.
pub fn load(path: &Path) -> Result<Scenario, LoadError> {
    let text = run::text_file::load(path, LONGEST_FILE).map_err(|error| LoadError::File {
        path: path.to_owned(),
        error,
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.display().to_string();
    let mut load = |file: &str| {
        let path = folder.join(file);
        match recordings::is_capture(&path) {
            true => recordings::table_of_capture(&path),
            false => run::text_file::load(&path, LONGEST_DESCRIPTION),
        }
    };
    Ok(Scenario::parse(&name, &text, &mut load)?)
}

fn show_imports(scenario: &Scenario) {
    for import in &scenario.imports {
        let (file, flows) = (&import.file, import.flows);
        let left_out = import.left_out.len();
        say(format_args!(
            "{file}: {flows} flows imported, {left_out} remarks on what is left out"
        ));
        let left_out = import.left_out.iter().map(|remark| ("left out", remark));
        let assumed = import.assumed.iter().map(|remark| ("assumed", remark));
        let all = left_out.clone().count() + assumed.clone().count();
        for (what, remark) in left_out.chain(assumed).take(MOST_SHOWN) {
            say(format_args!("  {what}: {remark}"));
        }
        if all > MOST_SHOWN {
            say(format_args!("  and {} more", all - MOST_SHOWN));
        }
    }
}

/// Gives flows of which nobody has named the class other queues, where not all flows
/// fit and with these more do, and says so.
///
/// # Errors
///
/// How the program ends; it has been said why.
pub fn settle_queues(scenario: &mut Scenario, stop: &AtomicBool) -> Result<(), Exit> {
    let reassigned = queues::assign(scenario, stop).map_err(|error| explain(&error))?;
    for queues::Reassigned { flow, from, to } in reassigned.iter().take(MOST_NAMED) {
        say(format_args!(
            "taktos: {flow} travels in `{to}`, so that more flows fit; give it `class = \"{from}\"` \
             to keep it there"
        ));
    }
    if reassigned.len() > MOST_NAMED {
        let more = reassigned.len() - MOST_NAMED;
        say(format_args!(
            "taktos: and {more} more flows travel in other classes"
        ));
    }
    Ok(())
}
