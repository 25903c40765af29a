//! Watches the carrier of many interfaces on behalf of a loop that must not wait.
//!
//! Asking a driver for its carrier waits while anybody changes the network's
//! configuration, which is exactly when cables are cut: a thread of its own asks,
//! and leaves the answers where reading them costs nothing. It asks at once when
//! the kernel tells of a change, and besides now and then without being told: the
//! kernel delays its events of lost carriers by up to a second.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use units::Duration;

use crate::clock;
use crate::interface::{Carrier, Interface};
use crate::link_events::LinkEvents;
use crate::namespace::Namespace;
use crate::poller::Poller;
use crate::scheduling::{self, Rank, Wish};
use crate::waker::Waker;

/// Whoever asks rarely still asks as often.
const LONGEST_REST: Duration = Duration::from_secs(2);
/// The mark of the order to stop.
const STOP: u64 = u64::MAX;

/// How much of a processor may be spent on asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    Eager,
    /// One part in a hundred: what five ports cost that are asked every millisecond.
    Thrifty,
}

impl Effort {
    /// Returns how many times as long as a round took the thread rests after it.
    fn rest(self) -> u64 {
        match self {
            Self::Eager => 4,
            Self::Thrifty => 100,
        }
    }
}

/// The carriers of a list of interfaces. Those of a few dozen are at most one
/// interval old while the machine gives the watching thread its turn.
#[derive(Debug)]
pub struct CarrierWatch {
    present: Arc<[AtomicBool]>,
    changes: Arc<AtomicU64>,
    changed: Waker,
    stop: Waker,
    thread: Option<JoinHandle<()>>,
}

impl CarrierWatch {
    /// Begins to watch `interfaces`, each once in every `interval` as far as
    /// `effort` allows, on a thread run as `wish` says and, with a `rank`, before all
    /// ordinary ones. Their present state is known on return. To ask takes 1 to 10 us an
    /// interface.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn start(
        interfaces: Vec<Interface>,
        interval: Duration,
        effort: Effort,
        (wish, rank): (Wish, Option<Rank>),
    ) -> io::Result<Self> {
        let present: Arc<[AtomicBool]> = interfaces
            .iter()
            .map(|interface| AtomicBool::new(is_present(interface)))
            .collect();
        let (changed, stop) = (Waker::new()?, Waker::new()?);
        let changes = Arc::new(AtomicU64::new(0));
        let mut poller = Poller::new()?;
        poller.add(&stop, STOP)?;
        let watched = Watched {
            rooms: Room::of(&interfaces, &poller)?,
            interfaces,
            answers: Arc::clone(&present),
            changes: Arc::clone(&changes),
            changed: changed.clone(),
        };
        let thread = thread::Builder::new().name("carriers".to_owned());
        let thread = thread.spawn(move || {
            scheduling::apply(wish);
            rank.map(scheduling::before_all_others);
            watched.watch(&mut poller, interval, effort);
        })?;
        Ok(Self {
            present,
            changes,
            changed,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns what wakes who waits for it when a carrier has changed.
    pub(crate) fn changed(&self) -> &Waker {
        &self.changed
    }

    /// Returns how often a carrier has changed: while it stays the same, so do they
    /// all.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Returns the carrier of the `n`th interface.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    #[must_use]
    pub fn carrier(&self, n: usize) -> Carrier {
        match self.present[n].load(Ordering::Relaxed) {
            true => Carrier::Present,
            false => Carrier::Lost,
        }
    }
}

impl Drop for CarrierWatch {
    fn drop(&mut self) {
        self.stop.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The interfaces of one namespace.
#[derive(Debug)]
struct Room {
    identity: (u64, u64),
    places: Vec<usize>,
    /// What is heard there; nothing without the privilege to go in.
    events: Option<LinkEvents>,
}

impl Room {
    /// Sorts `interfaces` by their namespaces. What is heard in the `n`th is
    /// reported by `poller` as `n`.
    fn of(interfaces: &[Interface], poller: &Poller) -> io::Result<Vec<Self>> {
        let mut rooms: Vec<Self> = Vec::new();
        for (place, interface) in interfaces.iter().enumerate() {
            let namespace = interface.namespace().ok();
            let identity = namespace.as_ref().map_or((0, 0), identity);
            match rooms.iter_mut().find(|room| room.identity == identity) {
                Some(room) => room.places.push(place),
                None => rooms.push(Self {
                    identity,
                    places: vec![place],
                    events: namespace.and_then(|it| listen(&it).ok()),
                }),
            }
        }
        for (mark, room) in (0..).zip(&rooms) {
            if let Some(events) = &room.events {
                poller.add(events, mark)?;
            }
        }
        Ok(rooms)
    }
}

/// Listens in a namespace. Where this thread is already, it needs no privilege to go.
fn listen(namespace: &Namespace) -> io::Result<LinkEvents> {
    match Namespace::current() {
        Ok(current) if identity(&current) == identity(namespace) => LinkEvents::open(),
        Ok(_) | Err(_) => namespace.visit(LinkEvents::open)?,
    }
}

/// Returns what tells a namespace from others.
fn identity(namespace: &Namespace) -> (u64, u64) {
    let status = rustix::fs::fstat(namespace.as_fd());
    status.map_or((0, 0), |status| (status.st_dev, status.st_ino))
}

/// What the watching thread looks at, and where it leaves the answers.
struct Watched {
    rooms: Vec<Room>,
    interfaces: Vec<Interface>,
    answers: Arc<[AtomicBool]>,
    changes: Arc<AtomicU64>,
    changed: Waker,
}

impl Watched {
    fn watch(&self, poller: &mut Poller, interval: Duration, effort: Effort) {
        loop {
            let begun = clock::spent();
            self.ask(0..self.interfaces.len());
            // Waiting for somebody else's work is no reason to rest.
            let rest = (clock::spent() - begun) * effort.rest();
            let until = clock::now() + interval.max(rest.min(LONGEST_REST));
            loop {
                let patience = until.saturating_since(clock::now());
                if patience == Duration::ZERO {
                    break;
                }
                poller.wait(Some(patience));
                while let Some(mark) = poller.next() {
                    if mark == STOP {
                        return;
                    }
                    self.hear(mark);
                }
            }
        }
    }

    /// Asks about the interfaces of the namespace from which something is heard.
    fn hear(&self, mark: u64) {
        let room = usize::try_from(mark).ok().and_then(|n| self.rooms.get(n));
        if let Some(room) = room {
            if let Some(events) = &room.events {
                events.clear();
            }
            self.ask(room.places.iter().copied());
        }
    }

    fn ask(&self, places: impl Iterator<Item = usize>) {
        for place in places {
            let present = is_present(&self.interfaces[place]);
            if self.answers[place].swap(present, Ordering::Relaxed) != present {
                self.changes.fetch_add(1, Ordering::Release);
                self.changed.wake();
            }
        }
    }
}

/// An interface that has gone has no carrier.
fn is_present(interface: &Interface) -> bool {
    interface
        .carrier()
        .is_ok_and(|carrier| carrier == Carrier::Present)
}
