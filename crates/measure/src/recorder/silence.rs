//! The longest silences at a receiver.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Duration, Instant};

/// The most silences that are kept of a receiver: the longest ones.
const MOST_SILENCES: usize = 64;

/// A time in which a receiver got nothing of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    pub from: Instant,
    pub to: Instant,
}

impl Silence {
    /// Returns how long it was.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.to.saturating_since(self.from)
    }
}

/// The longest silences so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Silences {
    /// The shortest on top, so that a longer one can take its place.
    kept: BinaryHeap<Reverse<(Duration, Instant)>>,
}

impl Silences {
    pub(super) fn add(&mut self, from: Instant, to: Instant) {
        let length = to.saturating_since(from);
        if self.kept.len() < MOST_SILENCES {
            self.kept.push(Reverse((length, from)));
        } else if let Some(mut shortest) = self.kept.peek_mut()
            && length > shortest.0.0
        {
            *shortest = Reverse((length, from));
        }
    }

    /// Returns the silences in order of time.
    pub(super) fn in_order(&self) -> Vec<Silence> {
        let mut silences: Vec<_> = self
            .kept
            .iter()
            .map(|Reverse((length, from))| Silence {
                from: *from,
                to: *from + *length,
            })
            .collect();
        silences.sort_unstable_by_key(|silence| silence.from);
        silences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_longest_are_kept() {
        let mut silences = Silences::default();

        for ns in 1..=1_000u64 {
            let from = Instant::from_ns(ns * 10_000);
            silences.add(from, from + Duration::from_ns(ns));
        }

        let kept = silences.in_order();
        assert_eq!(kept.len(), MOST_SILENCES);
        assert!(
            kept.iter()
                .all(|silence| silence.length().as_ns() > 1_000 - 64)
        );
    }
}
