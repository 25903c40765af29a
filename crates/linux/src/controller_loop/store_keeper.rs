//! Writes to a store on a thread of its own, so that no message waits for a disk.
//!
//! What was proposed while one write was under way is written together next. After a
//! failure the store is tried with an empty change every second, so that it is known
//! when it works again.

use std::fmt::Display;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use controller::{Store, StoreEvent, StoreWrite};

use crate::waker::Waker;

/// The most changes in one write.
const MOST_AT_ONCE: usize = 1024;
/// How long a store that failed is left alone, unless something is to be kept.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What comes back from the store.
#[derive(Debug)]
pub(super) enum Kept {
    Event(StoreEvent),
    /// For people: why the store failed.
    Failed(String),
    /// For people: it works again.
    Recovered,
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
            super::renounce();
            let mut keeper = Keeper { store, tell, waker };
            if let Some(held) = keeper.replay(&proposed) {
                keeper.keep(held, &proposed);
            }
        });
        Self {
            writes: Some(writes),
            kept,
            thread: Some(thread),
        }
    }

    pub(super) fn write(&self, write: StoreWrite) {
        if let Some(writes) = &self.writes {
            // The thread ends only after this sender.
            let _ = writes.send(write);
        }
    }

    /// Returns what the store has to tell, if anything.
    ///
    /// # Panics
    ///
    /// If the store has: nothing that is asked for would ever be kept.
    pub(super) fn next(&self) -> Option<Kept> {
        match self.kept.try_recv() {
            Ok(kept) => Some(kept),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => panic!("the thread with the store has ended"),
        }
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
    /// Tells all records. Returns what was proposed meanwhile, or nothing if the
    /// controller has ended.
    fn replay(&mut self, proposed: &Receiver<StoreWrite>) -> Option<Vec<StoreWrite>> {
        let mut held = Vec::new();
        loop {
            match self.store.records() {
                Ok(records) => {
                    let events = records.into_iter().map(StoreEvent::Written);
                    self.tell(events.chain([StoreEvent::Replayed]).map(Kept::Event));
                    return Some(held);
                }
                Err(error) => self.tell([Kept::Failed(error.to_string())]),
            }
            match proposed.recv_timeout(RETRY_INTERVAL) {
                Ok(write) => held.push(write),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn keep(&mut self, held: Vec<StoreWrite>, proposed: &Receiver<StoreWrite>) {
        let mut writes = held;
        let mut works = true;
        loop {
            let patience = if works { Duration::MAX } else { RETRY_INTERVAL };
            if writes.is_empty() {
                match proposed.recv_timeout(patience) {
                    Ok(write) => writes.push(write),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            writes.extend(proposed.try_iter().take(MOST_AT_ONCE - 1));
            works = self.make_durable(std::mem::take(&mut writes), works);
        }
    }

    /// Writes changes, and tells what came of it. Returns whether the store works;
    /// `worked` says whether it did before.
    fn make_durable(&mut self, writes: Vec<StoreWrite>, worked: bool) -> bool {
        match self.store.write(&writes) {
            Ok(()) => {
                let recovered = (!worked).then_some(Kept::Recovered);
                let events = writes.into_iter().map(StoreEvent::Written).map(Kept::Event);
                self.tell(recovered.into_iter().chain(events));
                true
            }
            // It was said that it fails, and nothing was to be kept.
            Err(_) if writes.is_empty() => false,
            Err(error) => {
                let failed = Kept::Failed(error.to_string());
                let rejected = writes.iter().map(|write| StoreEvent::Rejected(write.key));
                self.tell([failed].into_iter().chain(rejected.map(Kept::Event)));
                false
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
