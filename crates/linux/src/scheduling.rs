//! Asks for the processor, the priority and the timer precision of a thread.
//!
//! Where the kernel shares the processor between sessions first and between threads
//! of a session afterwards (`sched_autogroup`), the priority of a thread counts only
//! among those of its own session; [`Session`] asks for the session as a whole.
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
    pub placement: Placement,
}

/// How a thread asks to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The nice value; 0 asks for nothing.
    pub nice: i32,
    /// Where it is to run.
    pub placement: Placement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    Anywhere,
    Only(usize),
    /// On any but this processor, which is left to somebody else.
    AllBut(usize),
}

/// How urgent a thread is among all of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It runs as soon as it wants to, whatever ordinary threads do.
    BeforeAllOthers,
    /// It shares the processor with others.
    Shared,
}

/// The ranks of threads that run before all ordinary ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The highest but that of the kernel's own (`sched(7)`): for a thread that
    /// looks at the clock and no more.
    Watch,
    /// For one that others who act wait for.
    Carry,
    /// For one that has to act in time.
    Act,
}

impl Rank {
    fn priority(self) -> i32 {
        match self {
            Self::Watch => 98,
            Self::Carry => 60,
            Self::Act => 50,
        }
    }
}

/// Lets the calling thread run before all ordinary ones, if the machine grants it;
/// for threads that run for microseconds at a time.
pub fn before_all_others(rank: Rank) -> Urgency {
    let parameters = libc::sched_param {
        sched_priority: rank.priority(),
    };
    let caller = 0;
    // SAFETY: `parameters` is a whole `sched_param` and lives until the call
    // returns.
    #[expect(unsafe_code, reason = "sched_setscheduler")]
    let result =
        unsafe { libc::sched_setscheduler(caller, libc::SCHED_FIFO, &raw const parameters) };
    match result {
        0 => Urgency::BeforeAllOthers,
        _ => Urgency::Shared,
    }
}

/// Returns the processors that the calling thread may use.
#[must_use]
pub fn allowed_processors() -> Vec<usize> {
    let allowed = sched_getaffinity(None);
    let is_set = |cpu: &usize| allowed.as_ref().is_ok_and(|allowed| allowed.is_set(*cpu));
    (0..CpuSet::MAX_CPU).filter(is_set).collect()
}

/// Returns the processor that a thread may have for itself: the last of those
/// that the calling thread may use, if it may use at least two. The first is
/// where most systems serve interrupts.
#[must_use]
pub fn dedicated_processor() -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    (allowed.count() > 1).then(|| (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)))?
}

/// Tells whether the calling thread may use a processor.
#[must_use]
pub fn is_allowed(processor: usize) -> bool {
    let allowed = sched_getaffinity(None);
    processor < CpuSet::MAX_CPU && allowed.is_ok_and(|allowed| allowed.is_set(processor))
}

/// Sets up the calling thread: timers precise to the nanosecond, and as much of
/// `wish` as the machine grants. Threads that it starts later inherit it.
pub fn apply(wish: Wish) -> Granted {
    // Only threads under real-time classes have no slack; others get 50 us.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    if wish.nice != 0 {
        let _ = setpriority_process(None, wish.nice);
    }
    Granted {
        nice: getpriority_process(None).unwrap_or(0),
        placement: match place(wish.placement) {
            Ok(()) => wish.placement,
            Err(_) => Placement::Anywhere,
        },
    }
}

fn place(placement: Placement) -> rustix::io::Result<()> {
    let processors = match placement {
        Placement::Anywhere => return Ok(()),
        Placement::Only(processor) => {
            let mut one = CpuSet::new();
            one.set(processor);
            one
        }
        Placement::AllBut(processor) => {
            let mut others = sched_getaffinity(None)?;
            others.unset(processor);
            others
        }
    };
    sched_setaffinity(None, &processors)
}

/// Where the kernel keeps the priority of the caller's session.
const SESSION: &str = "/proc/self/autogroup";

/// The raised priority of the session that this process belongs to, until the
/// value is dropped. A process that is killed leaves it raised, which does no
/// more than favour the session of its user.
#[derive(Debug)]
pub struct Session {
    before: i32,
}

impl Session {
    /// Raises the priority of the session to `nice`. Returns nothing where the
    /// kernel does not go by sessions, or denies it.
    #[must_use]
    pub fn raise(nice: i32) -> Option<Self> {
        let before = session_nice(&std::fs::read_to_string(SESSION).ok()?)?;
        std::fs::write(SESSION, nice.to_string()).ok()?;
        Some(Self { before })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Who could raise it can lower it.
        let _ = std::fs::write(SESSION, self.before.to_string());
    }
}

/// Reads what the kernel says of a session, such as `/autogroup-8 nice 0`.
fn session_nice(text: &str) -> Option<i32> {
    text.trim().rsplit_once("nice ")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_is_not_there_leaves_the_thread_where_it_was() {
        let placement = Placement::Only(CpuSet::MAX_CPU - 1);

        let granted = std::thread::spawn(move || apply(Wish { nice: 0, placement }));

        assert_eq!(granted.join().unwrap().placement, Placement::Anywhere);
    }

    #[test]
    fn the_priority_of_a_session_is_read_as_the_kernel_writes_it() {
        assert_eq!(session_nice("/autogroup-8 nice 0\n"), Some(0));
        assert_eq!(session_nice("/autogroup-123 nice -20\n"), Some(-20));
        assert_eq!(session_nice("something else"), None);
    }

    #[test]
    fn a_thread_that_leaves_a_processor_to_another_one_has_no_other_to_give() {
        let Some(processor) = dedicated_processor() else {
            return;
        };
        let placement = Placement::AllBut(processor);

        let left = std::thread::spawn(move || {
            apply(Wish { nice: 0, placement });
            sched_getaffinity(None).unwrap()
        });

        assert!(!left.join().unwrap().is_set(processor));
    }
}
