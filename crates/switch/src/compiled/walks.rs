//! Whether walks that began before a certain moment are over.
//!
//! A walk makes the mark of its processor odd, then reads the generation, and makes
//! it even at its end. The switch writes the generation, then reads the marks, with
//! a fence between: so a walk whose mark is not yet seen sees the new generation.

use super::layout::{Region, busy};
use super::memory::Words;

/// The marks of all processors at a moment.
#[derive(Debug, Default)]
pub(super) struct Walks {
    marks: Vec<u64>,
}

impl Walks {
    /// Notes which walks are under way.
    pub(super) fn note(&mut self, words: &dyn Words) {
        words.fence();
        self.marks.clear();
        self.marks.extend(marks(words));
    }

    /// Returns whether all walks are over that were under way then.
    pub(super) fn are_over(&self, words: &dyn Words) -> bool {
        let mut both = self.marks.iter().zip(marks(words));
        both.all(|(then, now)| then % 2 == 0 || *then != now)
    }
}

fn marks(words: &dyn Words) -> impl Iterator<Item = u64> {
    let records = (0..words.count()).step_by(Region::Busy.record_words());
    records.map(|first| words.get(first + busy::WALKS))
}
