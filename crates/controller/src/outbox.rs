//! What the controller wants done, in order, with everything for one connection
//! in one piece.
//!
//! Messages for a connection are appended to its buffer; the first of them takes
//! a place in the order of outputs, and all that follow until the driver has
//! taken it travel with it. Buffers that were taken are used again, so that sending
//! allocates nothing, and there are no more of them than were ever full at once: a
//! connection to which nothing is said has none.

use std::collections::VecDeque;

use crate::northbound::{Event, Reply, RequestId};
use crate::session::{CloseReason, ConnectionId, Slot};
use crate::store::StoreWrite;

/// The most empty buffers that are kept to be used again.
const MOST_SPARE: usize = 64;
/// A buffer that has grown beyond this is not kept.
const LARGEST_SPARE_BYTES: usize = 1 << 20;

/// What the controller asks of its driver.
#[derive(Debug, PartialEq, Eq)]
pub enum Output<'a> {
    Send {
        connection: ConnectionId,
        bytes: &'a [u8],
    },
    /// Close a connection. It is forgotten: nothing needs to be said of it any
    /// more.
    Close {
        connection: ConnectionId,
        reason: CloseReason,
    },
    /// Make this durable, then say so.
    Store(StoreWrite),
    Notify(Event),
    Reply {
        id: RequestId,
        reply: Reply,
    },
}

#[derive(Debug)]
enum Queued {
    Send(Slot),
    LastSend(ConnectionId, Vec<u8>),
    Close(ConnectionId, CloseReason),
    Store(StoreWrite),
    Notify(Event),
    Reply(RequestId, Reply),
}

#[derive(Debug)]
struct Buffer {
    owner: ConnectionId,
    bytes: Vec<u8>,
    /// How many of the bytes are as they are to be sent.
    rewritten: usize,
    is_queued: bool,
}

/// The outputs that the driver has not taken yet.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: VecDeque<Queued>,
    buffers: Vec<Buffer>,
    taken: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl Outbox {
    /// Gives a connection the buffer of its slot.
    pub fn open(&mut self, slot: Slot, owner: ConnectionId) {
        match self.buffers.get_mut(slot.index()) {
            Some(buffer) => {
                buffer.owner = owner;
                buffer.bytes.clear();
                buffer.rewritten = 0;
            }
            None => self.buffers.push(Buffer {
                owner,
                bytes: Vec::new(),
                rewritten: 0,
                is_queued: false,
            }),
        }
    }

    /// Returns the buffer to append messages for a connection to.
    pub fn to(&mut self, slot: Slot) -> &mut Vec<u8> {
        let buffer = &mut self.buffers[slot.index()];
        if !buffer.is_queued {
            buffer.is_queued = true;
            self.queue.push_back(Queued::Send(slot));
            if buffer.bytes.capacity() == 0 {
                buffer.bytes = self.spare.pop().unwrap_or_default();
            }
        }
        &mut buffer.bytes
    }

    /// Forgets what waits for a connection that is gone.
    pub fn discard(&mut self, slot: Slot) {
        let buffer = &mut self.buffers[slot.index()];
        buffer.bytes.clear();
        buffer.rewritten = 0;
    }

    /// Has what waits for a connection rewritten, as far as it was not before:
    /// `rewrite` appends to its second argument what is to be sent instead.
    pub fn rewrite(&mut self, slot: Slot, rewrite: impl FnOnce(&[u8], &mut Vec<u8>)) {
        let buffer = &mut self.buffers[slot.index()];
        let fresh = buffer.bytes.split_off(buffer.rewritten);
        rewrite(&fresh, &mut buffer.bytes);
        buffer.rewritten = buffer.bytes.len();
    }

    /// Returns whether something waits for a connection that was not rewritten.
    #[must_use]
    pub fn has_fresh(&self, slot: Slot) -> bool {
        let buffer = &self.buffers[slot.index()];
        buffer.bytes.len() > buffer.rewritten
    }

    /// Closes a connection, after what waits for it.
    pub fn close(&mut self, slot: Slot, reason: CloseReason) {
        let buffer = &mut self.buffers[slot.index()];
        let owner = buffer.owner;
        if !buffer.bytes.is_empty() {
            let bytes = std::mem::take(&mut buffer.bytes);
            buffer.rewritten = 0;
            self.queue.push_back(Queued::LastSend(owner, bytes));
        }
        self.refuse(owner, reason);
    }

    /// Closes a connection that never had a slot.
    pub fn refuse(&mut self, connection: ConnectionId, reason: CloseReason) {
        self.queue.push_back(Queued::Close(connection, reason));
    }

    /// Proposes a change of the store.
    pub fn store(&mut self, write: StoreWrite) {
        self.queue.push_back(Queued::Store(write));
    }

    pub fn notify(&mut self, event: Event) {
        self.queue.push_back(Queued::Notify(event));
    }

    pub fn reply(&mut self, id: RequestId, reply: Reply) {
        self.queue.push_back(Queued::Reply(id, reply));
    }

    pub fn pop(&mut self) -> Option<Output<'_>> {
        let next = loop {
            match self.queue.pop_front()? {
                Queued::Send(slot) => {
                    let buffer = &mut self.buffers[slot.index()];
                    buffer.is_queued = false;
                    buffer.rewritten = 0;
                    let bytes = std::mem::take(&mut buffer.bytes);
                    let is_empty = bytes.is_empty();
                    let before = std::mem::replace(&mut self.taken, bytes);
                    keep(&mut self.spare, before);
                    if !is_empty {
                        break Queued::Send(slot);
                    }
                }
                other => break other,
            }
        };
        Some(match next {
            Queued::Send(slot) => Output::Send {
                connection: self.buffers[slot.index()].owner,
                bytes: &self.taken,
            },
            Queued::LastSend(connection, bytes) => {
                self.taken = bytes;
                Output::Send {
                    connection,
                    bytes: &self.taken,
                }
            }
            Queued::Close(connection, reason) => Output::Close { connection, reason },
            Queued::Store(write) => Output::Store(write),
            Queued::Notify(event) => Output::Notify(event),
            Queued::Reply(id, reply) => Output::Reply { id, reply },
        })
    }
}

/// Keeps a buffer to be used again, unless there are enough or it is too large.
fn keep(spare: &mut Vec<Vec<u8>>, mut buffer: Vec<u8>) {
    if spare.len() < MOST_SPARE && (1..=LARGEST_SPARE_BYTES).contains(&buffer.capacity()) {
        buffer.clear();
        spare.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;
    use crate::mastery::Standing;
    use crate::session::Sessions;

    #[test]
    fn a_connection_to_which_nothing_is_said_any_more_keeps_no_memory() {
        let (mut outbox, slots) = outbox_of(3);

        for slot in &slots {
            outbox.to(*slot).extend([7; 1_000]);
            while outbox.pop().is_some() {}
        }

        let kept = outbox.buffers.iter().map(|buffer| buffer.bytes.capacity());
        assert_eq!(kept.sum::<usize>(), 0);
        assert!(outbox.spare.len() <= 1, "{} spare", outbox.spare.len());
    }

    #[test]
    fn speaking_in_turn_uses_the_same_memory_again() {
        let (mut outbox, slots) = outbox_of(2);
        let say = |outbox: &mut Outbox, slot: Slot| {
            let bytes = outbox.to(slot);
            bytes.extend([7; 1_000]);
            let place = bytes.as_ptr();
            while outbox.pop().is_some() {}
            place
        };
        let first = say(&mut outbox, slots[0]);
        let second = say(&mut outbox, slots[1]);

        let later = [say(&mut outbox, slots[0]), say(&mut outbox, slots[1])];

        assert!(later.iter().all(|place| [first, second].contains(place)));
    }

    fn outbox_of(connections: u64) -> (Outbox, Vec<Slot>) {
        let (mut outbox, mut sessions) = (Outbox::default(), Sessions::default());
        let open = |number| {
            let slot = sessions.open(Instant::ZERO, ConnectionId(number), Standing::Standby);
            let slot = slot.expect("there is room");
            outbox.open(slot, ConnectionId(number));
            slot
        };
        let slots = (0..connections).map(open).collect();
        (outbox, slots)
    }
}
