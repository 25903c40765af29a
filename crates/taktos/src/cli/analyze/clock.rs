//! How long an analysis may still take, and how far it is.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use calculus::analysis::{AnalysisProgress, Method};

use crate::cli::screen::Steps;

/// The steps of a budget that a slow machine does in a millisecond. A search that
/// ends by steps finds the same again; the clock ends it on a machine that is
/// slower still.
const STEPS_A_MS: u64 = 500_000;

/// What is over sooner is not shown.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// Ends a search in time.
#[derive(Debug)]
pub struct Clock {
    begun: Instant,
    budget: Duration,
    shown: RefCell<Option<(Method, Steps)>>,
}

/// Returns the steps of a budget of time.
pub fn steps_in(budget: units::Duration) -> u64 {
    budget.as_whole_ms().saturating_mul(STEPS_A_MS)
}

impl Clock {
    pub fn start(budget: units::Duration) -> Self {
        Self {
            begun: Instant::now(),
            budget: budget.into(),
            shown: RefCell::new(None),
        }
    }

    /// Shows how far a method is, and returns whether there is time left.
    pub fn goes_on(&self, progress: AnalysisProgress) -> bool {
        let elapsed = self.begun.elapsed();
        if elapsed > SHOWN_AFTER && progress.of > 0 {
            self.show(progress);
        }
        elapsed < self.budget
    }

    /// Takes the last bar off and returns how long all took.
    pub fn stop(&self) -> Duration {
        if let Some((_, steps)) = self.shown.take() {
            steps.close();
        }
        self.begun.elapsed()
    }

    fn show(&self, progress: AnalysisProgress) {
        let mut shown = self.shown.borrow_mut();
        let same = |(method, _): &(Method, Steps)| *method == progress.method;
        if !shown.as_ref().is_some_and(same) {
            if let Some((_, steps)) = &*shown {
                steps.close();
            }
            *shown = Some((
                progress.method,
                Steps::new(progress.method.word().to_owned()),
            ));
        }
        if let Some((_, steps)) = &mut *shown {
            steps.show(progress.done as u64, progress.of as u64);
        }
    }
}
