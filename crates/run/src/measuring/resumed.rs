//! A plan whose journal is a file, so that it can be interrupted and resumed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use linux::clock;
use measure::measurement::{Conditions, Measurement};
use measure::method::{Effort, Log, Method, MethodError, Progress, Settings};
use measure::plan::{Identity, Journal, LONGEST_JOURNAL};
use measure::trial::{Setup, Tester};
use thiserror::Error;

use super::conditions::Record;
use super::{conditions_of, measure_by_log, remark_unseen};

/// Returns what tells a plan from others.
fn identity(method: &Method, setup: &Setup, settings: &Settings) -> Identity {
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

/// Why a plan was not made.
#[derive(Debug, Error)]
pub enum ResumeError {
    /// The journal cannot be used.
    #[error("{0}")]
    Journal(String),
    #[error(transparent)]
    Method(#[from] MethodError),
}

/// Measures with a journal: begins it, or resumes it if it is there. The conditions are
/// those of all runs, each by itself.
///
/// # Errors
///
/// If the journal cannot be written or is of another plan, and what the method says.
pub fn measure(
    path: &Path,
    method: &Method,
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
    record: &Record,
) -> Result<Measurement, ResumeError> {
    let setup = tester.setup().clone();
    let log = Log::default();
    let observe = {
        let (record, setup, log) = (record.clone(), setup.clone(), log.clone());
        let mut before = clock::now();
        move || {
            let now = clock::now();
            let took = now.saturating_since(std::mem::replace(&mut before, now));
            let conditions = conditions_of(record.clone(), &setup, settings.seed, log.take());
            Conditions { took, ..conditions }
        }
    };
    let identity = identity(method, &setup, settings);
    let mut journal = open(path, &identity, progress)?.observing(observe);
    let given = (record.clone(), log);
    let mut measurement = measure_by_log(method, tester, settings, &mut journal, given)?;
    let (own, earlier) = journal.finish();
    if let Some(own) = own {
        // Its own time has that of its points in it.
        let took = measurement.conditions.took;
        measurement.conditions.absorb(&own);
        measurement.conditions.took = took;
    }
    measurement.earlier = earlier;
    remark_unseen(&mut measurement);
    Ok(measurement)
}

fn open<'a>(
    path: &Path,
    identity: &Identity,
    progress: &'a mut dyn Progress,
) -> Result<Journal<'a>, ResumeError> {
    let mistake = |error: &dyn std::fmt::Display| {
        ResumeError::Journal(format!("{}: {error}", path.display()))
    };
    match read(path).map_err(|error| mistake(&error))? {
        None => {
            let file = File::create_new(path).map_err(|error| mistake(&error))?;
            Journal::begin(identity, Box::new(file), progress).map_err(|error| mistake(&error))
        }
        Some(text) => {
            let file = OpenOptions::new().append(true).open(path);
            let file = file.map_err(|error| mistake(&error))?;
            Journal::resume(identity, &text, Box::new(file), progress)
                .map_err(|error| mistake(&error))
        }
    }
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
