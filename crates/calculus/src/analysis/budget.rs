//! How much an analysis may compute.
//!
//! Work is counted in steps, about a nanosecond each: what is found within a
//! number of them is the same on every machine. Who has a clock hands in a question
//! that is asked every few milliseconds of work; then it is the clock that decides
//! how many flows are finished.

use std::cell::Cell;

use super::Method;

/// So many steps are done before it is asked again whether to go on.
const STEPS_UNASKED: u64 = 2_000_000;

/// How far an analysis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisProgress {
    /// The method at work.
    pub method: Method,
    /// How many of its parts are done.
    pub done: usize,
    /// How many parts there are.
    pub of: usize,
}

/// How much may be computed.
pub struct Budget<'a> {
    left: Cell<u64>,
    unasked: Cell<u64>,
    is_over: Cell<bool>,
    progress: Cell<AnalysisProgress>,
    go_on: Option<&'a dyn Fn(AnalysisProgress) -> bool>,
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Budget({} steps, {:?})",
            self.left(),
            self.progress.get()
        )
    }
}

impl<'a> Budget<'a> {
    /// Returns a budget of so many steps.
    #[must_use]
    pub fn of_steps(steps: u64) -> Self {
        let progress = AnalysisProgress {
            method: Method::Best,
            done: 0,
            of: 0,
        };
        Self {
            left: Cell::new(steps),
            unasked: Cell::new(0),
            is_over: Cell::new(false),
            progress: Cell::new(progress),
            go_on: None,
        }
    }

    /// Returns a budget without end.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::of_steps(u64::MAX)
    }

    /// Returns the same budget, which ends when `go_on` says no.
    #[must_use]
    pub fn while_told(self, go_on: &'a dyn Fn(AnalysisProgress) -> bool) -> Self {
        let go_on = Some(go_on);
        Self { go_on, ..self }
    }

    /// Returns the steps that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Takes steps off, and returns whether any are left.
    pub(super) fn spend(&self, steps: u64) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        self.unasked.set(self.unasked.get().saturating_add(steps));
        if self.unasked.get() >= STEPS_UNASKED {
            self.unasked.set(0);
            if self.go_on.is_some_and(|go_on| !go_on(self.progress.get())) {
                self.is_over.set(true);
                self.left.set(0);
            }
        }
        self.left.get() > 0
    }

    /// Returns a part of what is left, for `method`; whoever spends it has to
    /// [`settle`](Self::settle).
    pub(super) fn part(&self, method: Method, of: u64) -> Self {
        let part = Self::of_steps((self.left.get() / of).max(u64::from(self.left.get() > 0)));
        part.unasked.set(self.unasked.get());
        part.progress.set(AnalysisProgress {
            method,
            done: 0,
            of: 0,
        });
        Self {
            go_on: self.go_on,
            ..part
        }
    }

    /// Takes off what has been spent of a part that had `steps`.
    pub(super) fn settle(&self, part: &Self, steps: u64) {
        let spent = match part.is_over.get() {
            true => u64::MAX,
            false => steps - part.left.get(),
        };
        self.left.set(self.left.get().saturating_sub(spent));
        self.unasked.set(part.unasked.get());
    }

    /// Notes how far the method is.
    pub(super) fn note(&self, done: usize, of: usize) {
        let method = self.progress.get().method;
        self.progress.set(AnalysisProgress { method, done, of });
    }
}
