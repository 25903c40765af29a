//! What became of each frame, one by one, where somebody asks for it.
//!
//! Figures of a whole run need no single frames. What happened at each level of
//! criticality does, and so does how long a message of many packets took: both are
//! known only once the run is over.

use units::{Duration, Instant};

use crate::ReceiverIndex;

/// What became of a frame at a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePassage {
    /// Its number in the flow.
    pub sequence: u64,
    /// Who was to get it.
    pub receiver: ReceiverIndex,
    pub sent_at: Instant,
    /// How long it travelled; nothing if it was lost.
    pub latency: Option<Duration>,
}

/// The passages of a flow, in the order in which their fate became known.
#[derive(Clone, Debug, Default)]
pub struct Passages {
    kept: Vec<FramePassage>,
    most: usize,
    beyond: u64,
}

impl Passages {
    pub(super) fn up_to(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            beyond: 0,
        }
    }

    pub(super) fn add(&mut self, passage: FramePassage) {
        match self.kept.len() < self.most {
            true => self.kept.push(passage),
            false => self.beyond += 1,
        }
    }

    /// Returns those that were kept.
    pub fn iter(&self) -> impl Iterator<Item = &FramePassage> {
        self.kept.iter()
    }

    /// Returns how many were not kept, because there was no room for them or nobody
    /// had asked.
    #[must_use]
    pub fn beyond(&self) -> u64 {
        self.beyond
    }
}
