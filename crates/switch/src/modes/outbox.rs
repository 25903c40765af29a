//! What the controllers are to be told of modes, no more of it than they can bear.
//!
//! That a mode was entered is always told; violations and signals that did not
//! count have a budget each, and what is beyond is counted with the next one. From when
//! on the next one can be told is said in the words that walks of the compiled form
//! look at, so that they wake the core for no more of them than that.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::openflow::taktos::{ModeEvent, ModeEventKind, SignalFault};

use crate::compiled::layout::modes;
use crate::config::PacketInBudget;
use crate::packet_in_budget::Budget;

/// How many events wait to be told.
const EVENTS_MAX: usize = 64;
/// How many violations are told.
const VIOLATIONS: PacketInBudget = PacketInBudget {
    interval: Duration::from_ms(1),
    burst: 16,
};
/// How often it is told that signals did not count, for each reason.
const REFUSALS: PacketInBudget = PacketInBudget {
    interval: Duration::from_ms(100),
    burst: 1,
};
/// Kinds of events, each reason to refuse a signal being one.
const KINDS: usize = 7;

/// What has a budget, and which walks count while nobody wants to hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flood {
    kind: usize,
    /// The word with the time from which on the core wants to hear of it.
    pub(super) wanted: usize,
    /// The word in which walks count.
    pub(super) counted: usize,
}

impl Flood {
    pub(super) const ALL: [Self; 5] = [
        Self {
            kind: VIOLATION,
            wanted: modes::WANTED_VIOLATIONS,
            counted: modes::DEMANDS,
        },
        Self::of_signals(0, modes::FORGED),
        Self::of_signals(1, modes::MISPLACED),
        Self::of_signals(2, modes::REPLAYED),
        Self::of_signals(3, modes::MALFORMED),
    ];

    const fn of_signals(fault: usize, counted: usize) -> Self {
        Self {
            kind: FIRST_FAULT + fault,
            wanted: modes::WANTED_FAULTS + fault,
            counted,
        }
    }
}

const VIOLATION: usize = 1;
const FIRST_FAULT: usize = 3;

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

    /// Counts what walks saw and nobody was told, with the next one that is told.
    pub(super) fn leave_out(&mut self, flood: Flood, count: u64) {
        self.left_out[flood.kind] += count;
    }

    /// Returns from when on another one can be told.
    pub(super) fn wants(&self, flood: Flood) -> Instant {
        match flood.kind.checked_sub(FIRST_FAULT) {
            None => self.violations.next(),
            Some(fault) => self.refusals[fault].next(),
        }
    }

    pub(crate) fn take(&mut self) -> Option<ModeEvent> {
        self.events.pop_front()
    }
}

const fn kind_of(kind: ModeEventKind) -> usize {
    match kind {
        ModeEventKind::Entered => 0,
        ModeEventKind::Violation(_) => VIOLATION,
        ModeEventKind::Incomplete => 2,
        ModeEventKind::SignalsRefused(fault) => FIRST_FAULT + fault_of(fault),
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
