//! Waits until switches have confirmed what was sent to them.
//!
//! A barrier behind the messages for a switch is answered when they are all
//! done (OF13 clause 7.3.8). An operation that sends to several switches is
//! confirmed when the last of its barriers is; a switch whose connection is gone
//! is not waited for, as it is brought up to date when it comes back.

use std::collections::BTreeMap;

use wire::openflow::{Message, TransactionId};

use crate::session::Slot;

/// Transaction ids of barriers stay below this bit, which marks others.
const LAST_TRANSACTION: u32 = (1 << 31) - 1;

/// The most barriers that a switch may leave unanswered.
pub const MAX_UNANSWERED: usize = 16_384;

/// Operations of type `T` that wait for their barriers.
#[derive(Debug)]
pub struct Confirmations<T> {
    next: u32,
    next_operation: u64,
    barriers: BTreeMap<(Slot, TransactionId), u64>,
    operations: BTreeMap<u64, (usize, T)>,
}

impl<T> Default for Confirmations<T> {
    fn default() -> Self {
        Self {
            next: 0,
            next_operation: 0,
            barriers: BTreeMap::new(),
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

    /// Sends a barrier to each of `slots`, into the buffer that `buffer`
    /// returns, and keeps the operation until all are answered. Gives it back if
    /// there is none to wait for.
    pub fn await_all<'a>(
        &mut self,
        operation: T,
        slots: impl IntoIterator<Item = Slot>,
        mut emit: impl FnMut(Slot, &dyn Fn(&mut Vec<u8>)) + 'a,
    ) -> Option<T> {
        let id = self.next_operation;
        let mut count = 0;
        for slot in slots {
            let transaction = self.transaction();
            self.barriers.insert((slot, transaction), id);
            emit(slot, &|out| Message::BarrierRequest.emit(transaction, out));
            count += 1;
        }
        if count == 0 {
            return Some(operation);
        }
        self.next_operation += 1;
        self.operations.insert(id, (count, operation));
        None
    }

    /// Takes the answer to a barrier. Returns the operation if that was its
    /// last.
    pub fn confirm(&mut self, slot: Slot, transaction: TransactionId) -> Option<T> {
        let id = self.barriers.remove(&(slot, transaction))?;
        self.settle(id)
    }

    /// Stops waiting for a connection. Returns the operations that wait for
    /// nothing any more.
    pub fn abandon(&mut self, slot: Slot) -> Vec<T> {
        let all = (slot, TransactionId(0))..=(slot, TransactionId(u32::MAX));
        let gone: Vec<_> = self
            .barriers
            .range(all)
            .map(|(key, id)| (*key, *id))
            .collect();
        let settled = gone.into_iter().filter_map(|(key, id)| {
            self.barriers.remove(&key);
            self.settle(id)
        });
        settled.collect()
    }

    /// Returns how many barriers a connection has not answered.
    #[must_use]
    pub fn unanswered(&self, slot: Slot) -> usize {
        let all = (slot, TransactionId(0))..=(slot, TransactionId(u32::MAX));
        self.barriers.range(all).count()
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
    use crate::mastery::Claim;
    use crate::session::{ConnectionId, Sessions};

    #[test]
    fn an_operation_is_confirmed_by_its_last_barrier() {
        let [one, other] = slots();
        let mut confirmations = Confirmations::default();
        let mut sent = Vec::new();
        let none = confirmations.await_all("move", [one, other], |slot, _| sent.push(slot));

        let first = confirmations.confirm(other, TransactionId(2));
        let last = confirmations.confirm(one, TransactionId(1));

        assert_eq!((none, first, last), (None, None, Some("move")));
        assert_eq!(sent, [one, other]);
    }

    #[test]
    fn a_connection_that_is_gone_is_not_waited_for() {
        let [one, other] = slots();
        let mut confirmations = Confirmations::default();
        confirmations.await_all("move", [one, other], |_, _| {});
        confirmations.confirm(other, TransactionId(2));

        assert_eq!(confirmations.abandon(one), ["move"]);
        assert_eq!(confirmations.confirm(one, TransactionId(1)), None);
    }

    #[test]
    fn the_answer_of_another_switch_confirms_nothing() {
        let [one, other] = slots();
        let mut confirmations = Confirmations::default();
        confirmations.await_all("move", [one], |_, _| {});

        assert_eq!(confirmations.confirm(other, TransactionId(1)), None);
    }

    fn slots() -> [Slot; 2] {
        let mut sessions = Sessions::default();
        [1, 2].map(|id| {
            sessions
                .open(Instant::ZERO, ConnectionId(id), Claim::default())
                .unwrap()
        })
    }
}
