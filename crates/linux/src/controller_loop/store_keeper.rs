//! Writes to a store on a thread of its own, so that no message waits for a disk.
//!
//! What was proposed while one write was under way is written together next.

use std::fmt::Display;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use controller::{Store, StoreEvent, StoreWrite};

use crate::waker::Waker;

/// The most changes in one write.
const MOST_AT_ONCE: usize = 1024;

/// What comes back from the store.
#[derive(Debug)]
pub(super) enum Kept {
    /// For the controller.
    Event(StoreEvent),
    /// For people: why the store failed.
    Failed(String),
}

/// The thread with the store.
#[derive(Debug)]
pub(super) struct StoreKeeper {
    /// Closed first when the keeper ends, which ends the thread.
    writes: Option<Sender<StoreWrite>>,
    kept: Receiver<Kept>,
    thread: Option<JoinHandle<()>>,
}

impl StoreKeeper {
    /// Takes over `store`, whose records come back first.
    pub(super) fn start<S>(store: S, waker: Waker) -> Self
    where
        S: Store + Send + 'static,
        S::Error: Display,
    {
        let (writes, proposed) = mpsc::channel();
        let (tell, kept) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut keeper = Keeper { store, tell, waker };
            keeper.replay();
            keeper.keep(&proposed);
        });
        Self {
            writes: Some(writes),
            kept,
            thread: Some(thread),
        }
    }

    /// Proposes a change.
    pub(super) fn write(&self, write: StoreWrite) {
        if let Some(writes) = &self.writes {
            // The thread ends only after this sender.
            let _ = writes.send(write);
        }
    }

    /// Returns what the store has to tell, if anything.
    pub(super) fn next(&self) -> Option<Kept> {
        self.kept.try_recv().ok()
    }
}

impl Drop for StoreKeeper {
    fn drop(&mut self) {
        self.writes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Keeper<S> {
    store: S,
    tell: Sender<Kept>,
    waker: Waker,
}

impl<S: Store> Keeper<S>
where
    S::Error: Display,
{
    fn replay(&mut self) {
        match self.store.records() {
            Ok(records) => {
                let events = records.into_iter().map(StoreEvent::Written);
                self.tell(events.chain([StoreEvent::Replayed]).map(Kept::Event));
            }
            Err(error) => self.tell([Kept::Failed(error.to_string())]),
        }
    }

    fn keep(&mut self, proposed: &Receiver<StoreWrite>) {
        while let Ok(first) = proposed.recv() {
            let mut writes = vec![first];
            writes.extend(proposed.try_iter().take(MOST_AT_ONCE - 1));
            match self.store.write(&writes) {
                Ok(()) => self.tell(writes.into_iter().map(StoreEvent::Written).map(Kept::Event)),
                Err(error) => {
                    let rejected = writes.iter().map(|write| StoreEvent::Rejected(write.key));
                    self.tell(
                        rejected
                            .map(Kept::Event)
                            .chain([Kept::Failed(error.to_string())]),
                    );
                }
            }
        }
    }

    fn tell(&self, events: impl IntoIterator<Item = Kept>) {
        for event in events {
            // Nobody listens any more once the controller ends.
            let _ = self.tell.send(event);
        }
        self.waker.wake();
    }
}
