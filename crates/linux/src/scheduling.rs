//! Asks for the processor, the priority and the timer precision of a thread.
//!
//! Each is a wish: a container or an ordinary user may be denied it, and the
//! thread then runs as it is. What was granted is returned, because a figure
//! without it says little.

use std::num::NonZeroU64;

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

/// The priority of the threads that move frames; ordinary threads have 0.
pub const HIGHEST_NICE: i32 = -20;

/// What the calling thread was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Its nice value: -20 is the most urgent, 0 the ordinary one.
    pub nice: i32,
    /// The processor that it is bound to, if it is bound to one.
    pub processor: Option<usize>,
}

/// How a thread asks to be run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The nice value; 0 asks for nothing.
    pub nice: i32,
    /// The processor to be bound to, counted among those that this process may
    /// use.
    pub processor: Option<usize>,
}

/// Returns how many processors the calling thread may use.
#[must_use]
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Sets up the calling thread: timers precise to the nanosecond, and as much of
/// `wish` as the machine grants.
pub fn apply(wish: Wish) -> Granted {
    // Only threads under real-time classes have no slack; others get 50 us.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    if wish.nice != 0 {
        let _ = setpriority_process(None, wish.nice);
    }
    Granted {
        nice: getpriority_process(None).unwrap_or(0),
        processor: wish.processor.and_then(bind_to),
    }
}

/// Binds the calling thread to the `n`th processor that it may use.
fn bind_to(n: usize) -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    let processor = (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .nth(n)?;
    let mut one = CpuSet::new();
    one.set(processor);
    sched_setaffinity(None, &one).ok()?;
    Some(processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_beyond_the_machine_leaves_the_thread_unbound() {
        let granted = std::thread::spawn(|| {
            apply(Wish {
                nice: 0,
                processor: Some(CpuSet::MAX_CPU),
            })
        })
        .join()
        .unwrap();

        assert_eq!(granted.processor, None);
    }
}
