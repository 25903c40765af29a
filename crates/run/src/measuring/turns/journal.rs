//! What turns have shown so far, in a file, so that a comparison can be interrupted and
//! goes on later.
//!
//! The first line says of which comparison it is, each further one has the result of a
//! turn, in the order of the turns. A line is written once its turn is over; one that was
//! cut off belongs to a turn that was not, and is written again.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use measure::measurement::Measurement;
use measure::plan::LONGEST_JOURNAL;
use serde_json::Value;
use thiserror::Error;

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error("{}: {reason}", path.display())]
    Io { path: PathBuf, reason: io::Error },
    #[error(
        "{} is of another comparison: it was begun with {there}, and this one is {here}; name \
         another --journal or --out, or delete it",
        path.display()
    )]
    Other {
        path: PathBuf,
        /// What it was begun with.
        there: String,
        here: String,
    },
    /// A line is no result of the turn that it stands for.
    #[error("line {line} of {} is damaged: {reason}; delete the file to begin again", path.display())]
    Damaged {
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// The results of turns, in a file.
#[derive(Debug)]
pub struct TurnJournal {
    path: PathBuf,
    file: File,
    /// What an earlier run found, and has not been asked for yet.
    before: VecDeque<Measurement>,
    /// The number of the line that was read or written last.
    line: usize,
}

impl TurnJournal {
    /// Begins a journal, or goes on with the one that is there.
    ///
    /// # Errors
    ///
    /// If it cannot be read or written, is damaged, or is of another comparison.
    pub fn open(path: &Path, comparison: &str) -> Result<Self, JournalError> {
        let io = |reason| JournalError::Io {
            path: path.to_owned(),
            reason,
        };
        let mut file = OpenOptions::new();
        let mut file = file
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(io)?;
        if file.metadata().map_err(io)?.len() > LONGEST_JOURNAL as u64 {
            return Err(io(io::Error::other("too long for a journal")));
        }
        let text = fs::read_to_string(path).map_err(io)?;
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let before = read(path, whole, comparison)?;
        file.set_len(whole.len() as u64).map_err(io)?;
        if whole.is_empty() {
            writeln!(file, "{comparison}").map_err(io)?;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            before,
            line: 1,
        })
    }

    /// Returns how many turns of an earlier run are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.before.len()
    }

    /// Returns what an earlier run found in the next turn, which is by this method.
    ///
    /// # Errors
    ///
    /// If it was another turn.
    pub fn recall(&mut self, method: &str) -> Result<Option<Measurement>, JournalError> {
        let Some(measurement) = self.before.pop_front() else {
            return Ok(None);
        };
        self.line += 1;
        match measurement.method == method {
            true => Ok(Some(measurement)),
            false => Err(JournalError::Damaged {
                path: self.path.clone(),
                line: self.line,
                reason: format!("it is of {}, and {method} is due", measurement.method),
            }),
        }
    }

    /// Keeps what was found in a turn.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn keep(&mut self, measurement: &Measurement) -> Result<(), JournalError> {
        self.line += 1;
        let kept = serde_json::from_str::<Value>(&measurement.to_json())
            .map_err(io::Error::from)
            .and_then(|document| self.file.write_all(format!("{document}\n").as_bytes()))
            .and_then(|()| self.file.flush());
        kept.map_err(|reason| JournalError::Io {
            path: self.path.clone(),
            reason,
        })
    }
}

fn read(path: &Path, text: &str, comparison: &str) -> Result<VecDeque<Measurement>, JournalError> {
    let mut lines = (1..).zip(text.lines());
    match lines.next() {
        Some((_, there)) if there != comparison => {
            return Err(JournalError::Other {
                path: path.to_owned(),
                there: there.to_owned(),
                here: comparison.to_owned(),
            });
        }
        Some(_) | None => {}
    }
    let turns = lines.map(|(line, text)| {
        Measurement::from_json(text).map_err(|error| JournalError::Damaged {
            path: path.to_owned(),
            line,
            reason: error.to_string(),
        })
    });
    turns.collect()
}
