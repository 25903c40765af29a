//! Writes to a store on a thread of its own, so that no message waits for a disk.
//!
//! What was proposed while one write was under way is written together next. After a
//! failure the store is tried every second, so that it is known when it works again: with
//! an empty change, and one that is shared by writing its office once more, as etcd
//! without space takes empty ones. One that is shared is tried while nothing is to be
//! kept, too, so that it is known when it does not work.

use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::hash::BuildHasher;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use controller::cluster::{Clerk, Done, Task, Terms};
use controller::store::{Epoch, ExactWriter, Replica, Revision, TakeOver, Trouble};
use controller::{Store, StoreEvent, StoreWrite};

use super::cluster_keeper::{Call, Line, Wants};
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
    /// This instance leads from now on, in this epoch.
    Leads(Epoch, Begins),
    /// It leads no more in this one.
    StandDown(Epoch),
}

/// Whether whoever leads did before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// It did not: its records come next.
    Anew,
    GoesOn,
}

/// What the thread with the store of an instance is asked for.
enum Work {
    Write(StoreWrite),
    Task(Task),
}

/// The thread with the store.
pub(super) struct StoreKeeper {
    /// Dropped first when the keeper ends, which ends the thread.
    write: Option<Box<dyn Fn(StoreWrite) + Send>>,
    /// What the store of an instance was last known to hold.
    known: Option<Arc<Mutex<Replica>>>,
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
                trouble: Troubles::new(tell, waker),
            };
            if let Some(held) = keeper.replay(&proposed) {
                keeper.keep(held, &proposed);
            }
        });
        Self {
            write: Some(Box::new(move |write| {
                // The thread ends only after this sender.
                let _ = writes.send(write);
            })),
            known: None,
            kept,
            thread: Some(thread),
        }
    }

    /// Takes over the store of an instance, which is called by `line`. Returns what the
    /// instance wants of it, too.
    pub(super) fn start_for<S>(store: S, waker: Waker, terms: &Terms, line: Line) -> (Self, Wants)
    where
        S: Store + Send + 'static,
        S::Error: Display,
    {
        let clerk = Clerk::new(store, terms.id, &terms.member);
        let known = clerk.replica();
        let (work, asked) = mpsc::channel();
        let (tell, kept) = mpsc::channel();
        let (stand_down, stand_down_waker) = (tell.clone(), waker.clone());
        let (tasks, writes) = (work.clone(), work);
        let thread = thread::spawn(move || {
            super::renounce();
            let mut keeper = InstanceKeeper {
                clerk,
                trouble: Troubles::new(tell, waker),
                line,
            };
            while keeper.turn(&asked) {}
        });
        let keeper = Self {
            write: Some(Box::new(move |write| {
                let _ = writes.send(Work::Write(write));
            })),
            known: Some(known),
            kept,
            thread: Some(thread),
        };
        let wants = Wants {
            task: Box::new(move |task| {
                let _ = tasks.send(Work::Task(task));
            }),
            stand_down: Box::new(move |epoch| {
                let _ = stand_down.send(Kept::StandDown(epoch));
                stand_down_waker.wake();
            }),
        };
        (keeper, wants)
    }

    pub(super) fn write(&self, write: StoreWrite) {
        if let Some(keep) = &self.write {
            keep(write);
        }
    }

    /// Returns what the store of an instance was last known to hold, and as of when, unless
    /// that is known to whoever says that he has it; nothing if it was never read.
    pub(super) fn records(
        &self,
        unless: Option<Revision>,
    ) -> Option<(Revision, Option<Vec<StoreWrite>>)> {
        let known = self.known.as_ref()?.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        let revision = known.revision();
        if revision == Revision::default() {
            return None;
        }
        let records = || {
            let records = known.snapshot().records.into_iter();
            records.map(StoreWrite::from).collect()
        };
        Some((revision, (unless != Some(revision)).then(records)))
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
        self.write = None;
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

/// Tells the controller's thread what the store says.
struct Troubles {
    /// What was said last of why the store does not work.
    last: Option<String>,
    tell: Sender<Kept>,
    waker: Waker,
}

impl Troubles {
    fn new(tell: Sender<Kept>, waker: Waker) -> Self {
        let last = None;
        Self { last, tell, waker }
    }

    /// Notes why the store does not work. Returns what is to be said of it: nothing if it
    /// was said before, and nothing was to be kept.
    fn failed(&mut self, reason: String, proposed: usize) -> Option<Kept> {
        let is_known = self.last.as_ref() == Some(&reason);
        self.last = Some(reason.clone());
        (proposed > 0 || !is_known).then_some(Kept::Failed(reason))
    }

    /// Tells what came of so many proposals, and what the trouble is, if there is any.
    fn told(&mut self, proposed: usize, events: Vec<StoreEvent>, trouble: Option<String>) {
        let said = match trouble {
            Some(reason) => self.failed(reason, proposed),
            None => self.last.take().map(|_| Kept::Recovered),
        };
        if said.is_some() || !events.is_empty() {
            self.tell(said.into_iter().chain(events.into_iter().map(Kept::Event)));
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

struct Keeper<S> {
    writer: ExactWriter<S>,
    trouble: Troubles,
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
                    let recovered = self.trouble.last.take().map(|_| Kept::Recovered);
                    let events = records.into_iter().map(StoreEvent::Written);
                    let events = events.chain([StoreEvent::Replayed]).map(Kept::Event);
                    self.trouble.tell(recovered.into_iter().chain(events));
                    return Some(held);
                }
                Err(error) => {
                    let failed = self.trouble.failed(error.to_string(), held.len());
                    self.trouble.tell(failed);
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
            let patience = match self.trouble.last.is_some() || S::SHARED {
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
        let (events, mut trouble) = self.writer.write(writes);
        if proposed == 0 && trouble.is_none() && self.trouble.last.is_some() {
            trouble = self.writer.try_out();
        }
        let trouble = trouble.map(|trouble| trouble.to_string());
        self.trouble.told(proposed, events, trouble);
    }
}

struct InstanceKeeper<S> {
    clerk: Clerk<S>,
    trouble: Troubles,
    line: Line,
}

impl<S: Store> InstanceKeeper<S>
where
    S::Error: Display,
{
    /// Does what is asked for next, writes together. Returns whether there may be more.
    fn turn(&mut self, asked: &Receiver<Work>) -> bool {
        let Ok(first) = asked.recv() else {
            return false;
        };
        let mut writes = Vec::new();
        let mut next = Some(first);
        let task = loop {
            match next {
                Some(Work::Write(write)) => writes.push(write),
                Some(Work::Task(task)) => break Some(task),
                None => break None,
            }
            next = match writes.len() < MOST_AT_ONCE {
                true => asked.try_recv().ok(),
                false => None,
            };
        };
        if !writes.is_empty() {
            self.make_durable(writes);
        }
        if let Some(task) = task {
            let done = self.clerk.attend(task);
            let done = self.tell(done);
            self.line.call(Call::Done(done));
        }
        true
    }

    fn make_durable(&mut self, writes: Vec<StoreWrite>) {
        let proposed = writes.len();
        let (events, trouble) = self.clerk.write(writes);
        if let Some(Trouble::Replaced { by }) = trouble {
            self.line.call(Call::Replaced(by));
        }
        let trouble = trouble.map(|trouble| trouble.to_string());
        self.trouble.told(proposed, events, trouble);
    }

    /// Tells the controller what came of a task, and returns what is left of it.
    fn tell(&mut self, done: Done) -> Done {
        match done {
            Done::Claimed { epoch, records } => {
                let leads = Kept::Leads(epoch, Begins::Anew);
                let events = records.into_iter().map(StoreEvent::Written);
                let events = events.chain([StoreEvent::Replayed]).map(Kept::Event);
                let recovered = self.trouble.last.take().map(|_| Kept::Recovered);
                let all = [leads].into_iter().chain(recovered).chain(events);
                self.trouble.tell(all);
                let records = Vec::new();
                Done::Claimed { epoch, records }
            }
            Done::Raised { epoch, events } => {
                self.trouble.told(0, events, None);
                self.trouble.tell([Kept::Leads(epoch, Begins::GoesOn)]);
                let events = Vec::new();
                Done::Raised { epoch, events }
            }
            Done::Lost { by, events } => {
                self.trouble.told(0, events, None);
                let events = Vec::new();
                Done::Lost { by, events }
            }
            Done::Failed { reason, events } => {
                self.trouble.told(0, events, Some(reason.clone()));
                let events = Vec::new();
                Done::Failed { reason, events }
            }
            Done::Attended { .. } | Done::Struck => {
                let failed = self.trouble.last.is_some();
                let trouble = failed.then(|| self.clerk.try_out()).flatten();
                let trouble = trouble.map(|trouble| trouble.to_string());
                self.trouble.told(0, Vec::new(), trouble);
                done
            }
        }
    }
}
