//! What the controllers are to be told of modes, no more of it than they can bear.
//!
//! That a mode was entered is always told; violations and signals that did not
//! count have a budget each, and what is beyond is counted with the next one.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::openflow::taktos::{ModeEvent, ModeEventKind, SignalFault};

use crate::config::PuntBudget;
use crate::punt_budget::Budget;

/// How many events wait to be told.
const EVENTS_MAX: usize = 64;
/// How many violations are told.
const VIOLATIONS: PuntBudget = PuntBudget {
    interval: Duration::from_ms(1),
    burst: 16,
};
/// How often it is told that signals did not count, for each reason.
const REFUSALS: PuntBudget = PuntBudget {
    interval: Duration::from_ms(100),
    burst: 1,
};
/// Kinds of events, each reason to refuse a signal being one.
const KINDS: usize = 7;

/// Events that nobody was told yet.
#[derive(Debug)]
pub(crate) struct Outbox {
    events: VecDeque<ModeEvent>,
    violations: Budget,
    refusals: [Budget; 4],
    /// How many events of each kind were left out since the last that was told.
    left_out: [u64; KINDS],
}

impl Outbox {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            events: VecDeque::with_capacity(EVENTS_MAX),
            violations: Budget::new(now, VIOLATIONS),
            refusals: [Budget::new(now, REFUSALS); 4],
            left_out: [0; KINDS],
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Takes an event, whose count says nothing yet.
    pub(crate) fn put(&mut self, now: Instant, event: ModeEvent) {
        let kind = kind_of(event.kind);
        let is_allowed = match event.kind {
            ModeEventKind::Entered | ModeEventKind::Incomplete => true,
            ModeEventKind::Violation(_) => self.violations.take(now),
            ModeEventKind::SignalsRefused(fault) => self.refusals[fault_of(fault)].take(now),
        };
        self.left_out[kind] += 1;
        if is_allowed && self.events.len() < EVENTS_MAX {
            let count = std::mem::take(&mut self.left_out[kind]);
            self.events.push_back(ModeEvent { count, ..event });
        }
    }

    pub(crate) fn take(&mut self) -> Option<ModeEvent> {
        self.events.pop_front()
    }
}

const fn kind_of(kind: ModeEventKind) -> usize {
    match kind {
        ModeEventKind::Entered => 0,
        ModeEventKind::Violation(_) => 1,
        ModeEventKind::Incomplete => 2,
        ModeEventKind::SignalsRefused(fault) => 3 + fault_of(fault),
    }
}

const fn fault_of(fault: SignalFault) -> usize {
    match fault {
        SignalFault::Forged => 0,
        SignalFault::Misplaced => 1,
        SignalFault::Replayed => 2,
        SignalFault::Malformed => 3,
    }
}
