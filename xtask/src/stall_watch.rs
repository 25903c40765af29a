//! Notes when the machine stood still while something was measured: a thread
//! that wants to wake up every millisecond, and looks how late it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(1);
/// Later than this is a stall; a timer of an idle machine is not.
const THRESHOLD: Duration = Duration::from_millis(1);

/// What was noted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stalls {
    /// How often the thread was late.
    pub count: u32,
    /// How late at most.
    pub longest: Duration,
}

/// A watch that runs until it is asked.
#[derive(Debug)]
pub struct StallWatch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Stalls>,
}

impl StallWatch {
    /// Begins to watch.
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let should_stop = Arc::clone(&stop);
        let thread = thread::spawn(move || watch(&should_stop));
        Self { stop, thread }
    }

    /// Ends, and returns what was noted.
    pub fn finish(self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn watch(stop: &AtomicBool) -> Stalls {
    let mut stalls = Stalls::default();
    while !stop.load(Ordering::Relaxed) {
        let slept_at = Instant::now();
        thread::sleep(INTERVAL);
        let late = slept_at.elapsed().saturating_sub(INTERVAL);
        if late > THRESHOLD {
            stalls.count += 1;
            stalls.longest = stalls.longest.max(late);
        }
    }
    stalls
}
