//! What all parts of the controller work with: time, settings, connections, and what goes
//! out.
//!
//! It is passed to them and knows none of them, so that each can be read beside it alone.

use units::Instant;

use crate::config::{Config, Metric, Timers};
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
            memory: Memory::Incomplete,
            settled_at: now,
        }
    }
}
