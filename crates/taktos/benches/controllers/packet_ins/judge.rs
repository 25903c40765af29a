//! Tells which questions are answered.

use std::collections::VecDeque;

use units::Instant;

use measure::statistics::Distribution;

use super::questions::Population;

/// What was found since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub asked: u64,
    /// Questions whose rule and whose frame came.
    pub answered: u64,
    /// Rules that did not come.
    pub rules_lost: u64,
    /// Frames that did not come.
    pub frames_lost: u64,
    /// Frames that came after those of later questions.
    pub disordered: u64,
    /// Frames that were sent to every port, as if nobody knew where to.
    pub flooded: u64,
    /// Rules and frames that fit no question that is open.
    pub stray: u64,
    pub errors: u64,
}

impl Tally {
    /// Returns how many questions were not answered.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.asked - self.answered
    }

    /// Adds what another switch found.
    pub const fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.rules_lost += other.rules_lost;
        self.frames_lost += other.frames_lost;
        self.disordered += other.disordered;
        self.flooded += other.flooded;
        self.stray += other.stray;
        self.errors += other.errors;
    }
}

/// What was found at one switch, or at several.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub tally: Tally,
    /// From the moment at which a question was due to that at which it was
    /// answered.
    pub waits: Distribution,
}

/// Follows the questions of one switch. Rules and frames are two rows, each in the
/// order of the questions; a question is done when both have passed it.
#[derive(Debug)]
pub(crate) struct Judge {
    population: Population,
    asked: u64,
    ruled: u64,
    sent_on: u64,
    /// How many questions both rows have passed since the last look.
    passed: u64,
    /// When the questions were due that are not done.
    due: VecDeque<Instant>,
    outcome: Outcome,
}

impl Judge {
    pub(crate) fn new(population: Population) -> Self {
        Self {
            population,
            asked: 0,
            ruled: 0,
            sent_on: 0,
            passed: 0,
            due: VecDeque::new(),
            outcome: Outcome::default(),
        }
    }

    /// Takes down that a question that was due at `due` is asked, and returns its
    /// number.
    #[inline]
    pub(crate) fn ask(&mut self, due: Instant) -> u64 {
        let number = self.asked;
        self.asked += 1;
        self.outcome.tally.asked += 1;
        self.due.push_back(due);
        number
    }

    /// Returns how many questions are open.
    #[inline]
    pub(crate) fn outstanding(&self) -> usize {
        self.due.len()
    }

    /// Returns how many questions were done since the last look.
    #[inline]
    pub(crate) const fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the destination of the question whose rule should come next.
    #[inline]
    pub(crate) fn next_ruled(&self) -> u32 {
        self.population.destination(self.ruled)
    }

    /// Takes a rule for the destination `host`.
    #[inline]
    pub(crate) fn rule(&mut self, now: Instant, host: u32) {
        let mut open = self.ruled..self.asked;
        let found = open.find(|number| self.population.destination(*number) == host);
        let Some(number) = found else {
            self.outcome.tally.stray += 1;
            return;
        };
        self.outcome.tally.rules_lost += number - self.ruled;
        self.ruled = number + 1;
        self.settle(now);
    }

    /// Takes the frame of question `number`.
    #[inline]
    pub(crate) fn frame(&mut self, now: Instant, number: u64) {
        let tally = &mut self.outcome.tally;
        if number >= self.asked {
            tally.stray += 1;
        } else if number < self.sent_on {
            tally.disordered += 1;
            tally.frames_lost = tally.frames_lost.saturating_sub(1);
        } else {
            tally.frames_lost += number - self.sent_on;
            self.sent_on = number + 1;
            self.settle(now);
        }
    }

    /// Takes down that a frame was flooded.
    pub(crate) const fn flooded(&mut self) {
        self.outcome.tally.flooded += 1;
    }

    /// Takes down something that is no answer.
    pub(crate) const fn stray(&mut self) {
        self.outcome.tally.stray += 1;
    }

    /// Takes down an error message.
    pub(crate) const fn error(&mut self) {
        self.outcome.tally.errors += 1;
    }

    /// Ends what is under way: what is open now is given up. Returns what was found
    /// since the last call.
    ///
    /// A question that was passed by its rule or by its frame is not answered. One
    /// that was passed by both counts twice: the count errs against the controller.
    pub(crate) fn finish(&mut self) -> Outcome {
        let tally = &mut self.outcome.tally;
        let skipped = tally.rules_lost + tally.frames_lost;
        tally.answered = self.passed.saturating_sub(skipped);
        tally.rules_lost += self.asked - self.ruled;
        tally.frames_lost += self.asked - self.sent_on;
        (self.ruled, self.sent_on) = (self.asked, self.asked);
        self.passed = 0;
        self.due.clear();
        std::mem::take(&mut self.outcome)
    }

    /// Counts the questions that both rows have passed.
    #[inline]
    fn settle(&mut self, now: Instant) {
        let done = self.ruled.min(self.sent_on);
        let open = self.asked - done;
        while self.due.len() as u64 > open {
            let due = self.due.pop_front().unwrap_or(now);
            self.outcome.waits.record(now.saturating_since(due));
            self.passed += 1;
        }
    }
}
