//! A plan of many points that can be interrupted and resumed.
//!
//! A method goes through its points one after the other ([`at_each`]) and hands over
//! what it found at each. A [`Journal`] keeps that, a line a point, and gives it back
//! when the plan is resumed. Its first line says of which plan it is: the journal of
//! another device, method, choice or seed would mix figures that do not belong
//! together, and is refused, and so is one whose end is cut off or that was changed.
//!
//! A line is written once its point is done, and so an interrupted plan loses the
//! point that was under way and nothing else. With each point stand the conditions under
//! which it was measured: a plan that was resumed has those of all its runs.
//!
//! [`at_each`]: crate::method::at_each

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::{Duration, Instant};

use crate::measurement::{Conditions, Earlier, Figure};
use crate::method::{Findings, MethodError, Progress};

/// The longest journal that is read, in bytes.
pub const LONGEST_JOURNAL: usize = 256 << 20;
/// The most points of a plan that a journal keeps.
pub const MOST_POINTS: usize = 100_000;

/// Which plan a journal is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub method: String,
    pub device: String,
    /// Everything random follows from it.
    pub seed: u64,
    /// What was chosen, by name, whether it was shortened included.
    pub options: BTreeMap<String, String>,
    /// The version of Taktos: another may measure something else by the same name.
    pub version: String,
}

/// Why a journal cannot be resumed.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error("{length} bytes are more than a journal has, at most {LONGEST_JOURNAL}")]
    TooLong { length: usize },
    #[error("the journal is empty: delete it to begin again")]
    Empty,
    /// The last line has no end.
    #[error(
        "line {line} of the journal is cut off: the plan was interrupted while it was written; \
         delete this line to resume after point {kept}"
    )]
    Cut {
        /// Which line, from 1.
        line: usize,
        /// How many points are before it.
        kept: usize,
    },
    /// A line is not what was written there.
    #[error("line {line} of the journal is damaged: {reason}; delete the journal to begin again")]
    Damaged {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    #[error(
        "the journal is of another plan: {what} was {there} and is {here}; name another journal, \
         or ask for the same plan"
    )]
    OtherPlan {
        what: String,
        there: String,
        here: String,
    },
    /// A point stands in it twice.
    #[error("line {line} of the journal repeats the point `{point}`")]
    Repeated {
        /// Which line, from 1.
        line: usize,
        point: String,
    },
    #[error("the journal has more than {MOST_POINTS} points")]
    TooManyPoints,
}

#[derive(Debug, Serialize, Deserialize)]
struct PointLine<'a> {
    point: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conditions: Option<Cow<'a, Conditions>>,
    figures: Cow<'a, [Figure]>,
    remarks: Cow<'a, [String]>,
}

/// A point as an earlier run left it.
#[derive(Debug)]
struct KeptPoint {
    found: Findings,
    conditions: Option<Conditions>,
}

/// Keeps what was found at each point, and gives back what was found before.
pub struct Journal<'a> {
    before: BTreeMap<String, KeptPoint>,
    recalled: usize,
    /// Returns the conditions since the point before.
    observe: Option<Box<dyn FnMut() -> Conditions + 'a>>,
    /// Those of the points of this run.
    own: Option<Conditions>,
    earlier: Vec<Earlier>,
    out: Box<dyn Write + 'a>,
    progress: &'a mut dyn Progress,
}

impl<'a> Journal<'a> {
    /// Begins the journal of a plan. What was found goes to `out`, how far it is to
    /// `progress`.
    ///
    /// # Errors
    ///
    /// If the first line cannot be written.
    pub fn begin(
        identity: &Identity,
        mut out: Box<dyn Write + 'a>,
        progress: &'a mut dyn Progress,
    ) -> std::io::Result<Self> {
        let mut line = serde_json::to_string(identity)?;
        line.push('\n');
        out.write_all(line.as_bytes())?;
        out.flush()?;
        Ok(Self {
            before: BTreeMap::new(),
            recalled: 0,
            observe: None,
            own: None,
            earlier: Vec::new(),
            out,
            progress,
        })
    }

    /// Resumes a plan whose journal so far is `text`. What is found from now on goes to
    /// `out`, which continues it.
    ///
    /// # Errors
    ///
    /// If the journal is cut, damaged or of another plan.
    pub fn resume(
        identity: &Identity,
        text: &str,
        out: Box<dyn Write + 'a>,
        progress: &'a mut dyn Progress,
    ) -> Result<Self, JournalError> {
        Ok(Self {
            before: read(identity, text)?,
            recalled: 0,
            observe: None,
            own: None,
            earlier: Vec::new(),
            out,
            progress,
        })
    }

    /// Keeps with each point the conditions that `observe` returns: those since it was
    /// last asked.
    #[must_use]
    pub fn observing(self, observe: impl FnMut() -> Conditions + 'a) -> Self {
        Self {
            observe: Some(Box::new(observe)),
            ..self
        }
    }

    /// Returns the conditions at the points of this run, if there were any, and those of
    /// each run from which points were taken over.
    #[must_use]
    pub fn finish(self) -> (Option<Conditions>, Vec<Earlier>) {
        (self.own, self.earlier)
    }

    /// Returns how many points of an earlier run were taken over.
    #[must_use]
    pub fn recalled(&self) -> usize {
        self.recalled
    }
}

/// Reads the points of a journal.
fn read(identity: &Identity, text: &str) -> Result<BTreeMap<String, KeptPoint>, JournalError> {
    let length = text.len();
    if length > LONGEST_JOURNAL {
        return Err(JournalError::TooLong { length });
    }
    let count = text.lines().count();
    if count == 0 {
        return Err(JournalError::Empty);
    }
    if !text.ends_with('\n') {
        return Err(JournalError::Cut {
            line: count,
            kept: count.saturating_sub(2),
        });
    }
    if count - 1 > MOST_POINTS {
        return Err(JournalError::TooManyPoints);
    }
    let mut points = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let damaged = |reason: String| JournalError::Damaged {
            line: number,
            reason,
        };
        if number == 1 {
            let there = serde_json::from_str(line).map_err(|error| damaged(error.to_string()))?;
            identity.compare(&there)?;
            continue;
        }
        let entry: PointLine<'_> =
            serde_json::from_str(line).map_err(|error| damaged(error.to_string()))?;
        let kept = KeptPoint {
            found: Findings {
                figures: entry.figures.into_owned(),
                remarks: entry.remarks.into_owned(),
            },
            conditions: entry.conditions.map(Cow::into_owned),
        };
        let point = entry.point;
        if points.insert(point.clone(), kept).is_some() {
            return Err(JournalError::Repeated {
                line: number,
                point,
            });
        }
    }
    Ok(points)
}

impl Identity {
    /// Tells in what a journal's plan differs from this one.
    fn compare(&self, there: &Self) -> Result<(), JournalError> {
        let differs = |what: &str, there: &str, here: &str| {
            Err(JournalError::OtherPlan {
                what: what.to_owned(),
                there: there.to_owned(),
                here: here.to_owned(),
            })
        };
        for (what, there, here) in [
            ("the method", &there.method, &self.method),
            ("the device", &there.device, &self.device),
            ("the version", &there.version, &self.version),
        ] {
            if there != here {
                return differs(what, there, here);
            }
        }
        if there.seed != self.seed {
            return differs("the seed", &there.seed.to_string(), &self.seed.to_string());
        }
        let names = there.options.keys().chain(self.options.keys());
        for name in names {
            let chosen = |identity: &Self| {
                let value = identity.options.get(name);
                value.map_or_else(|| "not chosen".to_owned(), Clone::clone)
            };
            let (before, now) = (chosen(there), chosen(self));
            if before != now {
                return differs(&format!("the option `{name}`"), &before, &now);
            }
        }
        Ok(())
    }
}

impl Progress for Journal<'_> {
    fn step(&mut self, done: u64, of: u64, now: &str) {
        self.progress.step(done, of, now);
    }

    fn recall(&mut self, point: &str) -> Option<Findings> {
        let KeptPoint { found, conditions } = self.before.remove(point)?;
        self.recalled += 1;
        let Some(conditions) = conditions else {
            return Some(found);
        };
        // Runs begin at different times.
        let began = conditions.began_unix_ns;
        let mut runs = self.earlier.iter_mut();
        match runs.find(|run| run.conditions.began_unix_ns == began) {
            Some(run) => {
                run.points += 1;
                run.conditions.absorb(&conditions);
            }
            None => self.earlier.push(Earlier {
                points: 1,
                conditions,
            }),
        }
        Some(found)
    }

    fn keep(&mut self, point: &str, found: &Findings) -> Result<(), MethodError> {
        let conditions = self.observe.as_mut().map(|observe| observe());
        let line = PointLine {
            point: point.to_owned(),
            conditions: conditions.as_ref().map(Cow::Borrowed),
            figures: Cow::Borrowed(&found.figures),
            remarks: Cow::Borrowed(&found.remarks),
        };
        let failed = |error: &dyn fmt::Display| {
            MethodError::Unsuitable(format!("the journal cannot be written: {error}"))
        };
        let mut text = serde_json::to_string(&line).map_err(|error| failed(&error))?;
        text.push('\n');
        match (&mut self.own, conditions) {
            (Some(own), Some(more)) => own.absorb(&more),
            (own, conditions) => *own = conditions,
        }
        let written = self.out.write_all(text.as_bytes());
        written
            .and_then(|()| self.out.flush())
            .map_err(|error| failed(&error))
    }
}

impl fmt::Debug for Journal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("before", &self.before.len())
            .field("recalled", &self.recalled)
            .finish_non_exhaustive()
    }
}

/// Tells how long a plan will still take, from how long it took so far. Points that an
/// earlier run did take no time, and do not count.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeLeft {
    /// When the first step was told, and how many were done then.
    first: Option<(Instant, u64)>,
}

impl TimeLeft {
    /// Takes that `done` of `of` steps are done at `now`, and returns how long the rest
    /// will take, once a step was made.
    pub fn step(&mut self, (done, of): (u64, u64), now: Instant) -> Option<Duration> {
        let (began, done_before) = *self.first.get_or_insert((now, done));
        let made = done.saturating_sub(done_before);
        if made == 0 {
            return None;
        }
        let took = u128::from(now.saturating_since(began).as_ns());
        let left = took * u128::from(of.saturating_sub(done)) / u128::from(made);
        Some(Duration::from_ns(u64::try_from(left).ok()?))
    }
}

#[cfg(test)]
mod tests;
