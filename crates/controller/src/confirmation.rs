//! Waits until switches have confirmed what was sent to them.
//!
//! A barrier behind the messages for a switch is answered when they are all
//! done (OF13 clause 7.3.8), so its answer confirms all that was sent before it: each
//! barrier knows up to which message that is. An operation that sends to several switches
//! is confirmed when the last of its barriers is; a switch whose connection is gone
//! is not waited for, as it is brought up to date when it comes back.

use std::collections::{BTreeMap, VecDeque};

use wire::openflow::{Message, TransactionId};

use crate::session::Slot;

/// Transaction ids of barriers stay below this bit, which marks others.
const LAST_TRANSACTION: u32 = (1 << 31) - 1;

/// The most barriers that a switch may leave unanswered.
pub const MAX_UNANSWERED: usize = 16_384;

/// A barrier that is not answered.
#[derive(Debug)]
struct Barrier {
    transaction: TransactionId,
    /// The last message that it covers.
    covers: u64,
    operation: Option<u64>,
}

/// What the answer to a barrier confirms.
#[derive(Debug, PartialEq, Eq)]
pub struct Confirmed<T> {
    /// The last message that is done, with all before.
    pub covers: u64,
    /// The operation that waits for nothing more.
    pub operation: Option<T>,
}

/// Operations of type `T` that wait for their barriers.
#[derive(Debug)]
pub struct Confirmations<T> {
    next: u32,
    next_operation: u64,
    /// By the place of the connection, in the order in which they were sent.
    barriers: Vec<VecDeque<Barrier>>,
    operations: BTreeMap<u64, (usize, T)>,
}

impl<T> Default for Confirmations<T> {
    fn default() -> Self {
        Self {
            next: 0,
            next_operation: 0,
            barriers: Vec::new(),
            operations: BTreeMap::new(),
        }
    }
}

impl<T> Confirmations<T> {
    /// Returns a transaction id that no barrier waits for.
    pub fn transaction(&mut self) -> TransactionId {
        self.next = if self.next >= LAST_TRANSACTION {
            1
        } else {
            self.next + 1
        };
        TransactionId(self.next)
    }

    /// Appends a barrier that covers all messages up to one.
    pub fn ask(&mut self, slot: Slot, covers: u64, out: &mut Vec<u8>) {
        let transaction = self.transaction();
        self.wait(slot, transaction, covers, None);
        Message::BarrierRequest.emit(transaction, out);
    }

    /// Sends a barrier to each of `slots` by `emit`, which returns up to which message it
    /// covers all, and keeps the operation until all are answered. Gives it back if
    /// there is none to wait for.
    pub fn await_all(
        &mut self,
        operation: T,
        slots: impl IntoIterator<Item = Slot>,
        mut emit: impl FnMut(Slot, &dyn Fn(&mut Vec<u8>)) -> u64,
    ) -> Option<T> {
        let id = self.next_operation;
        let mut count = 0;
        for slot in slots {
            let transaction = self.transaction();
            let covers = emit(slot, &|out| Message::BarrierRequest.emit(transaction, out));
            self.wait(slot, transaction, covers, Some(id));
            count += 1;
        }
        if count == 0 {
            return Some(operation);
        }
        self.next_operation += 1;
        self.operations.insert(id, (count, operation));
        None
    }

    fn wait(
        &mut self,
        slot: Slot,
        transaction: TransactionId,
        covers: u64,
        operation: Option<u64>,
    ) {
        if self.barriers.len() <= slot.index() {
            self.barriers.resize_with(slot.index() + 1, VecDeque::new);
        }
        self.barriers[slot.index()].push_back(Barrier {
            transaction,
            covers,
            operation,
        });
    }

    /// Takes the answer to a barrier. Returns what it confirms.
    pub fn confirm(&mut self, slot: Slot, transaction: TransactionId) -> Option<Confirmed<T>> {
        let barriers = self.barriers.get_mut(slot.index())?;
        // Switches answer in order.
        let mut waiting = barriers.iter();
        let place = waiting.position(|barrier| barrier.transaction == transaction)?;
        let barrier = barriers.remove(place)?;
        Some(Confirmed {
            covers: barrier.covers,
            operation: barrier.operation.and_then(|id| self.settle(id)),
        })
    }

    /// Stops waiting for a connection. Returns the operations that wait for
    /// nothing any more.
    pub fn abandon(&mut self, slot: Slot) -> Vec<T> {
        let barriers = self.barriers.get_mut(slot.index());
        let gone = barriers.map(std::mem::take).unwrap_or_default();
        let operations = gone.into_iter().filter_map(|barrier| barrier.operation);
        operations.filter_map(|id| self.settle(id)).collect()
    }

    /// Returns how many barriers a connection has not answered.
    #[must_use]
    pub fn unanswered(&self, slot: Slot) -> usize {
        self.barriers.get(slot.index()).map_or(0, VecDeque::len)
    }

    /// Returns the operations that wait, to be changed.
    pub fn waiting_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.operations.values_mut().map(|(_, operation)| operation)
    }

    fn settle(&mut self, id: u64) -> Option<T> {
        let (left, _) = self.operations.get_mut(&id)?;
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.operations.remove(&id).map(|(_, operation)| operation)
    }
}

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;
    use crate::mastery::{Claim, Standing};
    use crate::session::{ConnectionId, Sessions};

    #[test]
    fn an_operation_is_confirmed_by_its_last_barrier() {
        let [one, other] = slots();
        let mut confirmations = Confirmations::default();
        let mut sent = Vec::new();
        let none = confirmations.await_all("move", [one, other], |slot, _| {
            sent.push(slot);
            7
        });

        let first = confirmations.confirm(other, TransactionId(2)).unwrap();
        let last = confirmations.confirm(one, TransactionId(1)).unwrap();

        let operations = (none, first.operation, last.operation);
        assert_eq!(operations, (None, None, Some("move")));
        assert_eq!((first.covers, last.covers), (7, 7));
        assert_eq!(sent, [one, other]);
    }

    #[test]
    fn a_connection_that_is_gone_is_not_waited_for() {
        let [one, other] = slots();
        let mut confirmations = Confirmations::default();
        confirmations.await_all("move", [one, other], |_, _| 0);
        confirmations.confirm(other, TransactionId(2));

        assert_eq!(confirmations.abandon(one), ["move"]);
        assert_eq!(confirmations.confirm(one, TransactionId(1)), None);
    }

    #[test]
    fn the_answer_of_another_switch_confirms_nothing() {
        let [one, other] = slots();
        let mut confirmations = Confirmations::default();
        confirmations.await_all("move", [one], |_, _| 0);

        assert_eq!(confirmations.confirm(other, TransactionId(1)), None);
    }

    #[test]
    fn a_barrier_of_a_connection_that_is_gone_covers_nothing_of_the_next_one() {
        let [one, _] = slots();
        let mut confirmations = Confirmations::<()>::default();
        confirmations.ask(one, 3, &mut Vec::new());
        confirmations.abandon(one);
        confirmations.ask(one, 5, &mut Vec::new());

        let late = confirmations.confirm(one, TransactionId(1));
        let own = confirmations.confirm(one, TransactionId(2)).unwrap();

        assert_eq!((late, own.covers), (None, 5));
        assert_eq!(confirmations.unanswered(one), 0);
    }

    fn slots() -> [Slot; 2] {
        let mut sessions = Sessions::default();
        [1, 2].map(|id| {
            sessions
                .open(
                    Instant::ZERO,
                    ConnectionId(id),
                    Standing::Alone(Claim::default()),
                )
                .unwrap()
        })
    }
}
