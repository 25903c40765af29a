//! Writes to a store on a thread of its own, so that no message waits for a disk.
//!
//! What was proposed while one write was under way is written together next. After a
//! failure the store is tried with an empty change every second, so that it is known
//! when it works again; one that is shared is tried while nothing is to be kept, too,
//! so that it is known when it does not.

use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::hash::BuildHasher;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use controller::store::{ExactWriter, TakeOver};
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
        let writer = ExactWriter::new(store, holder());
        let (writes, proposed) = mpsc::channel();
        let (tell, kept) = mpsc::channel();
        let thread = thread::spawn(move || {
            super::renounce();
            let mut keeper = Keeper {
                writer,
                trouble: None,
                tell,
                waker,
            };
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

/// Returns a number that this life of the program has alone.
fn holder() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let ns = since_1970.map_or(0, |since| since.as_nanos());
    RandomState::new().hash_one((std::process::id(), ns))
}

struct Keeper<S> {
    writer: ExactWriter<S>,
    /// What was said last of why the store does not work.
    trouble: Option<String>,
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
            match self.writer.start(TakeOver::FromAnybody) {
                Ok(records) => {
                    let recovered = self.trouble.take().map(|_| Kept::Recovered);
                    let events = records.into_iter().map(StoreEvent::Written);
                    let events = events.chain([StoreEvent::Replayed]).map(Kept::Event);
                    self.tell(recovered.into_iter().chain(events));
                    return Some(held);
                }
                Err(error) => {
                    let failed = self.failed(error.to_string(), held.len());
                    self.tell(failed);
                }
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
        loop {
            let patience = match self.trouble.is_some() || S::SHARED {
                true => RETRY_INTERVAL,
                false => Duration::MAX,
            };
            if writes.is_empty() {
                match proposed.recv_timeout(patience) {
                    Ok(write) => writes.push(write),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            writes.extend(proposed.try_iter().take(MOST_AT_ONCE - 1));
            self.make_durable(std::mem::take(&mut writes));
        }
    }

    /// Writes changes, and tells what came of it.
    fn make_durable(&mut self, writes: Vec<StoreWrite>) {
        let proposed = writes.len();
        let (events, trouble) = self.writer.write(writes);
        let said = match trouble {
            Some(trouble) => self.failed(trouble.to_string(), proposed),
            None => self.trouble.take().map(|_| Kept::Recovered),
        };
        if said.is_some() || !events.is_empty() {
            self.tell(said.into_iter().chain(events.into_iter().map(Kept::Event)));
        }
    }

    /// Notes why the store does not work. Returns what is to be said of it: nothing if it
    /// was said before, and nothing was to be kept.
    fn failed(&mut self, reason: String, proposed: usize) -> Option<Kept> {
        let is_known = self.trouble.as_ref() == Some(&reason);
        self.trouble = Some(reason.clone());
        (proposed > 0 || !is_known).then_some(Kept::Failed(reason))
    }

    fn tell(&self, events: impl IntoIterator<Item = Kept>) {
        for event in events {
            // Nobody listens any more once the controller ends.
            let _ = self.tell.send(event);
        }
        self.waker.wake();
    }
}
