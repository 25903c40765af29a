//! What all parts of the controller work with: time, settings, connections, and what goes
//! out.
//!
//! It is passed to them and knows none of them, so that each can be read beside it alone.

use std::sync::Arc;

use units::Instant;

use crate::config::{Config, Metric, Parameters, Timers};
use crate::northbound::Counters;
use crate::outbox::Outbox;
use crate::session::Sessions;

use super::memory::Memory;
use super::timers::Schedule;

/// What all parts of the controller work with.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) now: Instant,
    pub(super) seed: u64,
    pub(super) metric: Metric,
    pub(super) timers: Timers,
    pub(super) schedule: Schedule,
    pub(super) sessions: Sessions,
    pub(super) outbox: Outbox,
    pub(super) counters: Counters,
    /// What is known of all switches before they are.
    pub(super) parameters: Arc<Parameters>,
    /// Whether something has changed on which promises may rest, since they were looked
    /// at last.
    pub(super) are_promises_stale: bool,
    /// The same for what switches are given for modes.
    pub(super) are_modes_stale: bool,
    /// Whether what was kept is known.
    pub(super) memory: Memory,
    /// When the network has been found after the start.
    pub(super) settled_at: Instant,
}

impl Context {
    pub(super) fn new(now: Instant, config: &Config) -> Self {
        Self {
            now,
            seed: config.seed,
            metric: config.metric,
            timers: config.timers,
            schedule: Schedule::new(now, &config.timers),
            sessions: Sessions::default(),
            outbox: Outbox::default(),
            counters: Counters::default(),
            parameters: Arc::new(Parameters::new(config)),
            are_promises_stale: false,
            are_modes_stale: true,
            memory: Memory::Incomplete,
            settled_at: now,
        }
    }

    /// Notes that something has changed that promises may rest on.
    pub(super) const fn promises_changed(&mut self) {
        self.are_promises_stale = true;
    }

    /// Notes that something has changed that concerns what switches are given for modes.
    pub(super) const fn modes_changed(&mut self) {
        self.are_modes_stale = true;
    }
}
