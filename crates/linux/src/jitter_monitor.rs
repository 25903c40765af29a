//! Notices when a processor stood still, where no thread of ours spins to see it.
//!
//! On every processor a thread of the highest urgency sleeps to one moment after
//! another and notes how late it is. Ordinary threads cannot delay it, only what
//! delays the kernel's own work there as well: the hypervisor, an interrupt, and
//! soft interrupts, among which is the forwarding of frames itself.
//!
//! A stall begins, for all that is known, at the moment that the thread missed. It
//! may have begun up to one interval earlier, and one that is shorter than an
//! interval may go unseen: what it delayed counts against the network.
//!
//! Soft interrupts are the lab's own work more often than not, and excuse nothing. What
//! excuses is an interruption: the time by which the thread's timer itself was late
//! ([`crate::own_time`]).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use units::Duration;

use crate::clock;
use crate::own_time::Waking;
use crate::scheduling::{self, HIGHEST_NICE, Placement, Rank, Urgency, Wish};
use crate::stall::{StallMonitor, Stalls, Work};

/// The time between two looks. Each costs 15 to 25 us in a virtual machine, whose
/// timers are the hypervisor's, so that a processor gives 3 to 5 % of its time.
pub const INTERVAL: Duration = Duration::from_us(500);

/// The sentries of all processors. They end when this value does.
#[derive(Debug)]
pub struct JitterMonitors {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Watched>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    pub processor: usize,
    /// When it stood still, and how late each look was.
    pub stalls: Stalls,
    /// How urgent the sentry was. One that shares its processor with others takes
    /// their work for stalls.
    pub urgency: Urgency,
}

impl JitterMonitors {
    /// Posts a sentry on every processor that the calling thread may use; what is
    /// late by `threshold` or more is a stall.
    ///
    /// # Errors
    ///
    /// If the machine gives no threads.
    pub fn post(threshold: Duration) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = scheduling::allowed_processors()
            .into_iter()
            .map(|processor| {
                let stop = Arc::clone(&stop);
                thread::Builder::new()
                    .name(format!("sentry {processor}"))
                    .spawn(move || watch(processor, threshold, &stop))
            });
        let threads = threads.collect::<Result<_, _>>()?;
        Ok(Self { stop, threads })
    }

    /// Calls the sentries back and returns what they saw.
    ///
    /// # Panics
    ///
    /// If one panicked.
    #[must_use]
    pub fn recall(mut self) -> Vec<Watched> {
        self.stop.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut self.threads).into_iter();
        threads
            .map(|thread| match thread.join() {
                Ok(watched) => watched,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    }
}

impl Drop for JitterMonitors {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn watch(processor: usize, threshold: Duration, stop: &AtomicBool) -> Watched {
    scheduling::apply(Wish {
        nice: HIGHEST_NICE,
        placement: Placement::Only(processor),
    });
    let urgency = scheduling::before_all_others(Rank::Watch);
    let mut waking = Waking::begin();
    let mut due = clock::now() + INTERVAL;
    let mut monitor = StallMonitor::new(due, threshold);
    while !stop.load(Ordering::Relaxed) {
        clock::sleep_until(due);
        let now = clock::now();
        monitor.waited(due);
        monitor.alive(now, Work::Waking);
        monitor.interrupted(waking.look(due, now));
        due = (due + INTERVAL).max(now);
    }
    Watched {
        processor,
        stalls: monitor.finish(),
        urgency,
    }
}
