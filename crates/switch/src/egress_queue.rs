//! One of the queues of a port: frames that wait for their turn, first in,
//! first out, no more than a fixed number.
//!
//! Frames that a change of mode brings from another queue (S2-7) stand apart, in the
//! order in which they come. Of the two that are first the one leaves that came to
//! the port first: so the frames of a flow keep their order, those that still wait
//! in the queue of before and those that went into this one since.

use std::collections::VecDeque;

use wire::openflow::taktos::QueuedFrameActions;

use crate::buffer_pool::SlotIndex;
use crate::counters::{QueueCounters, QueueTally};
use crate::hops::Owner;
use crate::residence::Residence;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) frame: SlotIndex,
    /// What becomes of it while it waits.
    pub(crate) fates: QueuedFrameActions,
    /// On whose behalf it waits.
    pub(crate) owner: Option<Owner>,
    /// How many came to the port before it.
    pub(crate) turn: u64,
}

/// The frames that wait in one queue.
#[derive(Debug)]
pub(crate) struct EgressQueue {
    capacity: usize,
    frames: VecDeque<Queued>,
    /// Those that came from other queues.
    moved: VecDeque<Queued>,
    pub(crate) counters: QueueCounters,
    /// What the world's queue had counted when it was last heard of.
    pub(crate) told: QueueTally,
    pub(crate) residence: Residence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueFull;

impl EgressQueue {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            frames: VecDeque::with_capacity(capacity),
            moved: VecDeque::with_capacity(capacity),
            counters: QueueCounters::default(),
            told: QueueTally::default(),
            residence: Residence::new(),
        }
    }

    pub(crate) fn push(&mut self, frame: Queued) -> Result<(), QueueFull> {
        if self.len() == self.capacity {
            return Err(QueueFull);
        }
        self.frames.push_back(frame);
        Ok(())
    }

    /// Takes a frame from another queue.
    pub(crate) fn push_moved(&mut self, frame: Queued) -> Result<(), QueueFull> {
        if self.len() == self.capacity {
            return Err(QueueFull);
        }
        self.moved.push_back(frame);
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<Queued> {
        match (self.moved.front(), self.frames.front()) {
            (Some(moved), Some(own)) if moved.turn < own.turn => self.moved.pop_front(),
            (Some(_), None) => self.moved.pop_front(),
            (Some(_) | None, _) => self.frames.pop_front(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len() + self.moved.len()
    }
}
