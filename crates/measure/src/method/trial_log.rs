//! Takes down what the machine did during all trials that a method makes.

use std::cell::RefCell;
use std::rc::Rc;

use crate::statistics::Distribution;
use crate::traffic::trace::Trace;
use crate::trial::{Conduct, ControlLink, Setup, Tester, Trial, TrialError, Watcher};

/// The most sentences about the clock that are kept.
pub const MOST_CLOCK_STEPS: usize = 64;

/// What the machine did during trials.
#[derive(Clone, Debug, Default)]
pub struct TrialLog {
    /// How many trials came to their end.
    pub trials: u64,
    /// How long after its intended time each frame left the tester.
    pub lateness: Distribution,
    /// How long the machine stood still, each time.
    pub stalls: Distribution,
    pub sent: u64,
    /// Frames that went by unseen.
    pub unseen: u64,
    /// Frames that passed without a stamp that could be believed.
    pub unstamped: u64,
    /// Frames of other trials that arrived during one.
    pub strays: u64,
    /// Frames that were left out, since the tester came too late for them.
    pub skipped: u64,
    /// What happened to the clock of the stamps.
    pub clock_steps: Vec<String>,
}

impl TrialLog {
    /// Adds how one more trial went.
    pub fn add(&mut self, conduct: &Conduct) {
        self.trials += 1;
        self.lateness.merge(&conduct.lateness);
        for stall in conduct.stalls.kept() {
            self.stalls.record(stall.length);
        }
        self.sent += conduct.sent;
        self.unseen += conduct.unseen;
        self.unstamped += conduct.unstamped;
        self.strays += conduct.strays;
        self.skipped += conduct.skipped;
        let room = MOST_CLOCK_STEPS.saturating_sub(self.clock_steps.len());
        let steps = conduct.clock_steps.iter().take(room).cloned();
        self.clock_steps.extend(steps);
    }
}

/// What was witnessed and not asked for yet: whoever has one may ask while trials go
/// on.
#[derive(Clone, Debug, Default)]
pub struct Log(Rc<RefCell<TrialLog>>);

impl Log {
    /// Returns what was witnessed since it was last asked for.
    #[must_use]
    pub fn take(&self) -> TrialLog {
        self.0.take()
    }
}

/// A tester whose trials are witnessed.
pub struct TrialLogger<'a> {
    tester: &'a mut dyn Tester,
    log: Log,
}

impl<'a> TrialLogger<'a> {
    #[must_use]
    pub fn new(tester: &'a mut dyn Tester, log: Log) -> Self {
        Self { tester, log }
    }
}

impl Tester for TrialLogger<'_> {
    fn setup(&self) -> &Setup {
        self.tester.setup()
    }

    fn control_link(&self) -> ControlLink {
        self.tester.control_link()
    }

    fn recording(&self) -> Option<&Trace> {
        self.tester.recording()
    }

    fn run(&mut self, trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError> {
        let conduct = self.tester.run(trial, watcher)?;
        self.log.0.borrow_mut().add(&conduct);
        Ok(conduct)
    }
}
