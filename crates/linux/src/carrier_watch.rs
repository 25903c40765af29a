//! Watches the carrier of many interfaces on behalf of a loop that must not wait.
//!
//! Asking a driver for its carrier waits while anybody changes the network's
//! configuration, which is exactly when cables are cut: a thread of its own asks,
//! and leaves the answers where reading them costs nothing. It asks rather than
//! listens: the kernel delays its events of lost carriers by up to a second.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use units::Duration;

use crate::clock;
use crate::interface::{Carrier, Interface};
use crate::scheduling::{self, Wish};
use crate::waker::Waker;

/// After a round of many interfaces the thread rests for as many times as long as
/// the round took.
const REST: u64 = 4;
/// A round that was held up by somebody else's work is no reason to rest.
const LONGEST_REST: Duration = Duration::from_ms(20);

/// The carriers of a list of interfaces. Those of a few dozen are at most one
/// interval old while the machine gives the watching thread its turn.
#[derive(Debug)]
pub struct CarrierWatch {
    present: Arc<[AtomicBool]>,
    changed: Waker,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CarrierWatch {
    /// Begins to watch `interfaces`, each once in every `interval`, on a thread run
    /// as `wish` says. Their present state is known on return. To ask takes some 20
    /// us an interface, in which the processor does nothing else.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn start(interfaces: Vec<Interface>, interval: Duration, wish: Wish) -> io::Result<Self> {
        let present: Arc<[AtomicBool]> = interfaces
            .iter()
            .map(|interface| AtomicBool::new(is_present(interface)))
            .collect();
        let stop = Arc::new(AtomicBool::new(false));
        let changed = Waker::new()?;
        let (answers, told_to_stop) = (Arc::clone(&present), Arc::clone(&stop));
        let waker = changed.clone();
        let thread = thread::spawn(move || {
            scheduling::apply(wish);
            let present = Present {
                interfaces: &interfaces,
                answers: &answers,
                changed: &waker,
            };
            present.watch(interval, &told_to_stop);
        });
        Ok(Self {
            present,
            changed,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns what wakes who waits for it when a carrier has changed.
    pub(crate) fn changed(&self) -> &Waker {
        &self.changed
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
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the watching thread looks at, and where it leaves the answers.
struct Present<'a> {
    interfaces: &'a [Interface],
    answers: &'a [AtomicBool],
    changed: &'a Waker,
}

impl Present<'_> {
    fn watch(&self, interval: Duration, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let begun = clock::now();
            for (interface, answer) in self.interfaces.iter().zip(self.answers) {
                let present = is_present(interface);
                if answer.swap(present, Ordering::Relaxed) != present {
                    self.changed.wake();
                }
            }
            let now = clock::now();
            clock::sleep_until(now + interval.max((now - begun) * REST).min(LONGEST_REST));
        }
    }
}

/// An interface that has gone has no carrier.
fn is_present(interface: &Interface) -> bool {
    interface
        .carrier()
        .is_ok_and(|carrier| carrier == Carrier::Present)
}
