//! Withdrawn flows whose last frames still play a role.
//!
//! Where budgets are fitted, they are chosen for what is counted, and what a flow has sent
//! lately has to be (`docs/promises.md`, "Budgets that follow the flows"). So what was
//! reserved for a withdrawn flow is given back when nothing that it has sent can play a
//! role. Flows leave in batches: those that are withdrawn meanwhile wait for the next, so
//! that nobody waits for those who come later.

use units::{Duration, Instant};

use crate::admission::ReservationId;
use crate::flows::Flow;

use super::Controller;

/// How long until it is looked again where a stage may have no pause.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is reserved for flows that are gone.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// Those that are given back together, and when the last of them was withdrawn.
    closing: Batch,
    /// Those that were withdrawn since.
    next: Batch,
    /// When the first may be given back.
    due: Option<Instant>,
}

#[derive(Debug, Default)]
struct Batch {
    reservations: Vec<ReservationId>,
    since: Option<Instant>,
}

impl Leaving {
    /// Returns when there is something to do.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

impl Controller {
    /// Gives back what is reserved for a flow that was withdrawn: at once where budgets
    /// are fixed, as it has stopped before, otherwise when nothing of it plays a role.
    pub(super) fn leave(&mut self, flow: &Flow) {
        let Some(reservation) = flow.reservation else {
            return;
        };
        if self.reservations.slowdown().is_none() {
            return self.reservations.release(reservation);
        }
        let batch = match self.leaving.due {
            Some(_) => &mut self.leaving.next,
            None => &mut self.leaving.closing,
        };
        batch.reservations.push(reservation);
        batch.since = Some(self.now);
        self.leaving.due = self.leaving.due.or(Some(self.now));
    }

    /// Gives back what is reserved for withdrawn flows of which nothing plays a role.
    pub(super) fn release_some(&mut self) {
        if self.leaving.due.is_none_or(|due| due > self.now) {
            return;
        }
        let closing = &self.leaving.closing;
        let since = closing.since.unwrap_or(self.now);
        let quiet = self.reservations.quiet_after(&closing.reservations);
        let due = quiet.map_or(self.now + LOOK_AGAIN, |quiet| since + quiet.round_up());
        if due > self.now {
            self.leaving.due = Some(due);
            return;
        }
        let next = std::mem::take(&mut self.leaving.next);
        self.leaving.due = (!next.reservations.is_empty()).then_some(self.now);
        let closed = std::mem::replace(&mut self.leaving.closing, next);
        for reservation in closed.reservations {
            self.reservations.release(reservation);
        }
    }
}
