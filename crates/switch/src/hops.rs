//! How long the frames of each entry stay, against the budget of the queue through which
//! they leave.
//!
//! A controller says which queues are watched. What leaves through one is charged to the
//! entry on whose behalf it leaves, by port and queue: how many frames, the longest stay,
//! a histogram, and how many stayed longer than the budget of the queue. A stay lasts from
//! the arrival of the last bit to its departure behind the queue, so that one clock is all
//! that it takes.
//!
//! Records stand in words, where walks of the [compiled form](crate::compiled) and those
//! who see their frames leave enter what the core does not see itself (`hop_table`).
//! Entries are known there by their age; a record whose entry is gone is found by that,
//! and given up a little later. The core looks at the words from time to time, and tells
//! controllers of budgets that were missed.

mod histogram;
mod hop_monitor;
mod hop_table;

pub(crate) use hop_monitor::{Exceeded, HopMonitor, UNWATCHED, word_of};
pub(crate) use hop_table::{HopKey, HopPlace, HopStays, Owner};

/// How many records of entry, port and queue a switch keeps, one less: as many as the mark of
/// a frame can tell apart.
pub const HOP_RECORDS_MAX: usize = 1 << 14;
