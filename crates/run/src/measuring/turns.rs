//! Devices that are measured in turns: the machine is the same for both, and what it
//! does in one minute does not speak for or against one of them.
//!
//! Each turn starts its device anew and ends it, so that none disturbs the other. The
//! one that begins changes from round to round.

pub mod journal;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use lab::tester::TesterError;
use measure::measurement::Measurement;
use measure::method::{Effort, Method, MethodError, Progress, Settings};
use thiserror::Error;
use units::Duration;

use super::conditions::Record;
use super::measure as make;
use super::target::{Target, Wanted};
use journal::{JournalError, TurnJournal};

/// What is measured of each device.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By which methods, and what is chosen of each.
    pub methods: Vec<(&'static Method, BTreeMap<String, String>)>,
    pub rounds: u64,
    pub effort: Effort,
    /// Everything random follows from it.
    pub seed: u64,
    /// How long one trial sends; the methods' own choice if nothing is said.
    pub duration: Option<Duration>,
}

/// Why a turn came to nothing.
#[derive(Debug, Error)]
pub enum TurnError {
    #[error(transparent)]
    Tester(#[from] TesterError),
    #[error(transparent)]
    Method(#[from] MethodError),
    /// What was found cannot be kept, or what was kept cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What was found of each device, turn by turn.
#[derive(Debug, Default)]
pub struct Turns {
    /// Of the first one, and of the second.
    pub found: [Vec<Measurement>; 2],
    /// Where it is kept, and what an earlier run found.
    pub journal: Option<TurnJournal>,
}

impl Plan {
    /// Returns how many turns there are.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.rounds * self.methods.len() as u64 * 2
    }
}

/// Measures both in turns.
///
/// # Errors
///
/// If a device does not run or a method fails. What was found until then is in `turns`.
pub fn in_turns(
    targets: [&Target; 2],
    plan: &Plan,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn Progress,
    turns: &mut Turns,
) -> Result<(), TurnError> {
    let mut done = 0;
    for round in 0..plan.rounds {
        for (method, options) in &plan.methods {
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for side in order {
                progress.step(done, plan.turns(), method.name);
                let settings = Settings {
                    effort: plan.effort,
                    seed: plan.seed + round,
                    duration: plan.duration,
                    options: options.clone(),
                };
                let take = || turn(targets[side], method, &settings, stop);
                turns.take(side, method.name, take)?;
                done += 1;
            }
        }
    }
    Ok(())
}

impl Turns {
    /// Adds a turn of a device: as an earlier run took it, or taken now.
    fn take(
        &mut self,
        side: usize,
        method: &str,
        turn: impl FnOnce() -> Result<Measurement, TurnError>,
    ) -> Result<(), TurnError> {
        let recalled = match &mut self.journal {
            Some(journal) => journal.recall(method)?,
            None => None,
        };
        let measurement = match recalled {
            Some(measurement) => measurement,
            None => {
                let measurement = turn()?;
                if let Some(journal) = &mut self.journal {
                    journal.keep(&measurement)?;
                }
                measurement
            }
        };
        self.found[side].push(measurement);
        Ok(())
    }
}

/// Measures one device once, on a thread of its own: a tester leaves a processor to its
/// device for as long as its thread lasts, and the next device shall have one too.
///
/// # Errors
///
/// If it does not run or the method fails.
pub fn turn(
    target: &Target,
    method: &Method,
    settings: &Settings,
    stop: &Arc<AtomicBool>,
) -> Result<Measurement, TurnError> {
    thread::scope(|scope| {
        let turn = scope.spawn(|| take_turn(target, method, settings, stop));
        match turn.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn take_turn(
    target: &Target,
    method: &Method,
    settings: &Settings,
    stop: &Arc<AtomicBool>,
) -> Result<Measurement, TurnError> {
    let record = Record::begin();
    let wanted = Wanted::for_method(method.name, settings.seed, Arc::clone(stop));
    // Others who load the receiver are behind ports of their own.
    let ports = match settings.options.contains_key("load") {
        true => 4,
        false => wanted.ports,
    };
    let mut tester = target.open(&Wanted { ports, ..wanted })?;
    let mut silent = measure::method::Silent;
    Ok(make(method, &mut *tester, settings, &mut silent, record)?)
}
