//! Whether walks that began before a certain moment are over.
//!
//! A walk makes the mark of its processor odd, then reads the generation, and makes
//! it even at its end. The switch writes the generation, then reads the marks. All
//! four are in one order for everybody, so a walk whose mark is not yet seen sees
//! the new generation.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, fence};

use super::layout::{Region, busy};

/// The marks of all processors at a moment.
#[derive(Debug, Default)]
pub(super) struct Walks {
    marks: Vec<u64>,
}

impl Walks {
    /// Notes which walks are under way.
    pub(super) fn note(&mut self, words: &[AtomicU64]) {
        fence(SeqCst);
        self.marks.clear();
        self.marks.extend(marks(words));
    }

    /// Returns whether all walks are over that were under way then.
    pub(super) fn are_over(&self, words: &[AtomicU64]) -> bool {
        let mut both = self.marks.iter().zip(marks(words));
        both.all(|(then, now)| then % 2 == 0 || *then != now)
    }
}

fn marks(words: &[AtomicU64]) -> impl Iterator<Item = u64> {
    let records = words.chunks(Region::Busy.record_words());
    records.map(|record| record[busy::WALKS].load(SeqCst))
}
