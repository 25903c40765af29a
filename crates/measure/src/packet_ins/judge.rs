//! Tells which questions are answered.

use std::collections::VecDeque;

use units::Instant;

use crate::statistics::Distribution;

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
pub(super) struct Judge {
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
    pub(super) fn new(population: Population) -> Self {
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
    pub(super) fn ask(&mut self, due: Instant) -> u64 {
        let number = self.asked;
        self.asked += 1;
        self.outcome.tally.asked += 1;
        self.due.push_back(due);
        number
    }

    /// Returns how many questions are open.
    #[inline]
    pub(super) fn outstanding(&self) -> usize {
        self.due.len()
    }

    /// Returns how many questions were done since the last look.
    #[inline]
    pub(super) const fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the destination of the question whose rule should come next.
    #[inline]
    pub(super) fn next_ruled(&self) -> u32 {
        self.population.destination(self.ruled)
    }

    /// Takes a rule for the destination `host`.
    #[inline]
    pub(super) fn rule(&mut self, now: Instant, host: u32) {
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
    pub(super) fn frame(&mut self, now: Instant, number: u64) {
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
    pub(super) const fn flooded(&mut self) {
        self.outcome.tally.flooded += 1;
    }

    /// Takes down something that is no answer.
    pub(super) const fn stray(&mut self) {
        self.outcome.tally.stray += 1;
    }

    /// Takes down an error message.
    pub(super) const fn error(&mut self) {
        self.outcome.tally.errors += 1;
    }

    /// Ends what is under way: what is open now is given up. Returns what was found
    /// since the last call.
    ///
    /// A question that was passed by its rule or by its frame is not answered. One
    /// that was passed by both counts twice: the count errs against the controller.
    pub(super) fn finish(&mut self) -> Outcome {
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

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    const POPULATION: Population = Population {
        switch: 1,
        hosts: 8,
    };

    #[test]
    fn a_question_is_answered_once_both_its_rule_and_its_frame_came() {
        let mut judge = asked(2);

        judge.rule(at(3), POPULATION.destination(0));
        let after_the_rule = judge.passed();
        judge.frame(at(5), 0);

        assert_eq!((after_the_rule, judge.passed()), (0, 1));
        let outcome = judge.finish();
        assert_eq!((outcome.tally.answered, outcome.tally.lost()), (1, 1));
        assert_eq!(outcome.waits.max(), Some(Duration::from_us(5)));
    }

    #[test]
    fn a_rule_or_a_frame_that_is_passed_over_is_lost() {
        let mut judge = asked(3);

        for number in [0, 2] {
            judge.rule(at(1), POPULATION.destination(number));
        }
        (0..3).for_each(|number| judge.frame(at(1), number));

        let tally = judge.finish().tally;
        assert_eq!((tally.rules_lost, tally.frames_lost), (1, 0));
        assert_eq!((tally.answered, tally.lost()), (2, 1));
    }

    #[test]
    fn a_frame_after_its_successor_is_out_of_order_and_not_lost() {
        let mut judge = asked(2);

        (0..2).for_each(|number| judge.rule(at(1), POPULATION.destination(number)));
        judge.frame(at(1), 1);
        judge.frame(at(2), 0);

        let tally = judge.finish().tally;
        assert_eq!((tally.disordered, tally.lost()), (1, 0));
    }

    #[test]
    fn what_fits_no_open_question_is_stray() {
        let mut judge = asked(1);

        judge.rule(at(1), POPULATION.destination(4));
        judge.frame(at(1), 7);

        let tally = judge.finish().tally;
        assert_eq!((tally.stray, tally.answered), (2, 0));
    }

    #[test]
    fn what_is_given_up_does_not_answer_later_questions() {
        let mut judge = asked(1);
        judge.finish();

        let number = judge.ask(at(9));
        judge.frame(at(9), number - 1);

        assert_eq!(judge.passed(), 0);
        assert_eq!(judge.outstanding(), 1);
    }

    fn asked(count: u64) -> Judge {
        let mut judge = Judge::new(POPULATION);
        (0..count).for_each(|_| {
            judge.ask(at(0));
        });
        judge
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }
}
