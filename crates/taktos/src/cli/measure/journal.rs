//! A plan whose journal is a file, so that it can be interrupted and resumed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use measure::measurement::Measurement;
use measure::method::{Effort, Method, MethodError, Progress, Settings};
use measure::plan::{Identity, Journal, LONGEST_JOURNAL};
use measure::trial::Setup;

use super::Failure;

/// Returns what tells a plan from others.
pub fn identity(method: &Method, setup: &Setup, settings: &Settings) -> Identity {
    let mut options = settings.options.clone();
    let quick = settings.effort == Effort::Quick;
    options.insert("--quick".to_owned(), quick.to_string());
    if let Some(duration) = settings.duration {
        options.insert("--duration".to_owned(), duration.to_string());
    }
    Identity {
        method: method.name.to_owned(),
        device: setup.device.clone(),
        seed: settings.seed,
        options,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Measures with a journal: begins it, or resumes it if it is there.
pub fn keep(
    path: &Path,
    identity: &Identity,
    progress: &mut dyn Progress,
    measure: impl FnOnce(&mut dyn Progress) -> Result<Measurement, MethodError>,
) -> Result<Measurement, Failure> {
    let mistake =
        |error: &dyn std::fmt::Display| Failure::Mistake(format!("{}: {error}", path.display()));
    let mut journal = match read(path).map_err(|error| mistake(&error))? {
        None => {
            let file = File::create_new(path).map_err(|error| mistake(&error))?;
            Journal::begin(identity, Box::new(file), progress).map_err(|error| mistake(&error))?
        }
        Some(text) => {
            let file = OpenOptions::new().append(true).open(path);
            let file = file.map_err(|error| mistake(&error))?;
            Journal::resume(identity, &text, Box::new(file), progress)
                .map_err(|error| mistake(&error))?
        }
    };
    let mut measurement = measure(&mut journal)?;
    if journal.recalled() > 0 {
        measurement.remarks.push(format!(
            "{} points were measured by an earlier run that was interrupted; the conditions are \
             those of this one.",
            journal.recalled()
        ));
    }
    Ok(measurement)
}

/// Returns what is in a journal, or nothing if there is none.
fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Ok(found) if found.len() > LONGEST_JOURNAL as u64 => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "too long for a journal",
        )),
        Ok(_) => fs::read_to_string(path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
