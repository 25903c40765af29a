//! Arrivals that became known before their sending.

use std::collections::BTreeSet;

use units::Instant;

use crate::ReceiverIndex;

/// The most arrivals of a flow that wait for their sending to become known.
const MOST_EARLY: usize = 1 << 16;

/// Arrivals in order of their sequence.
#[derive(Debug, Default)]
pub(super) struct EarlyArrivals {
    arrivals: BTreeSet<(u64, ReceiverIndex, Instant)>,
}

impl EarlyArrivals {
    /// Keeps an arrival, unless there are too many.
    pub(super) fn keep(&mut self, sequence: u64, receiver: ReceiverIndex, at: Instant) -> bool {
        self.arrivals.len() < MOST_EARLY && self.arrivals.insert((sequence, receiver, at))
    }

    /// Takes out an arrival of a frame.
    pub(super) fn take(&mut self, sequence: u64) -> Option<(ReceiverIndex, Instant)> {
        let (_, receiver, at) = self.take_first_if(|arrived| arrived == sequence)?;
        Some((receiver, at))
    }

    /// Drops the arrivals of frames before `sequence`: they were never sent.
    pub(super) fn drop_before(&mut self, sequence: u64) -> u64 {
        let mut dropped = 0;
        while self.take_first_if(|arrived| arrived < sequence).is_some() {
            dropped += 1;
        }
        dropped
    }

    /// Returns how many arrivals belong to no frame that was sent.
    pub(super) fn left(&self) -> u64 {
        self.arrivals.len() as u64
    }

    fn take_first_if(
        &mut self,
        wanted: impl FnOnce(u64) -> bool,
    ) -> Option<(u64, ReceiverIndex, Instant)> {
        let first = *self.arrivals.first()?;
        (wanted(first.0) && self.arrivals.remove(&first)).then_some(first)
    }
}
