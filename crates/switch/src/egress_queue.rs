//! One of the queues of a port: frames that wait for their turn, first in,
//! first out, no more than a fixed number.

use std::collections::VecDeque;

use crate::buffer_pool::SlotIndex;
use crate::counters::{QueueCounters, QueueTally};
use crate::residence::Residence;

/// The frames that wait in one queue.
#[derive(Debug)]
pub(crate) struct EgressQueue {
    capacity: usize,
    frames: VecDeque<SlotIndex>,
    pub(crate) counters: QueueCounters,
    /// What the world's queue had counted when it was last heard of.
    pub(crate) told: QueueTally,
    pub(crate) residence: Residence,
}

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueFull;

impl EgressQueue {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            frames: VecDeque::with_capacity(capacity),
            counters: QueueCounters::default(),
            told: QueueTally::default(),
            residence: Residence::new(),
        }
    }

    pub(crate) fn push(&mut self, frame: SlotIndex) -> Result<(), QueueFull> {
        if self.frames.len() == self.capacity {
            return Err(QueueFull);
        }
        self.frames.push_back(frame);
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<SlotIndex> {
        self.frames.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }
}
