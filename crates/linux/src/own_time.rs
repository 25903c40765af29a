//! For how long others had the processor of the calling thread while it wanted to run.
//!
//! A thread that runs without waiting uses as much processor time as passes, but for what
//! the hypervisor stole and other threads used. Soft interrupts that the kernel does while
//! the thread has the processor, such as the forwarding of frames that it has sent, are
//! charged to it ([`OwnTime`]).
//!
//! A thread that sleeps to a moment is woken up by a timer of its processor. How long it
//! then waits for its turn the kernel counts: soft interrupts come first, and threads that
//! are as urgent. What the timer itself was late is the hypervisor's, or that of somebody
//! who had forbidden interrupts ([`Waking`]).
//!
//! Both err on one side: what the hypervisor steals from a soft interrupt that keeps a
//! sleeper waiting counts as the lab's own work, and [`crate::frame_watch`] sees it where
//! the kernel lets it. Where the kernel charges interrupts to
//! nobody (`CONFIG_IRQ_TIME_ACCOUNTING`), soft interrupts would pass for interruptions:
//! [`OwnTime::is_exact`] finds that out, and what was seen is to be forgotten then.
//!
//! Sources: `Documentation/scheduler/sched-stats.rst`; `update_rq_clock_task` of Linux.

use std::fs::File;
use std::os::unix::fs::FileExt;

use units::{Duration, Instant};

use crate::clock;
use crate::stall::Interruption;

/// The waits of a thread for its turn, the second number.
const WAITS: &str = "/proc/thread-self/schedstat";
const WAITS_BYTES: usize = 96;

/// So little is how exact the two clocks are beside each other.
const EXACT: Duration = Duration::from_ns(500);
/// Of so many looks one at most finds something taken, where interrupts are charged to
/// threads.
const LOOKS_PER_TAKEN: u64 = 2;

/// The time that a running thread has had.
#[derive(Clone, Copy, Debug)]
pub struct OwnTime {
    at: Instant,
    spent: Duration,
    looks: u64,
    /// Looks that found something taken.
    taken: u64,
}

impl OwnTime {
    /// Begins to watch the calling thread.
    #[must_use]
    pub fn begin() -> Self {
        Self {
            at: clock::now(),
            spent: clock::spent(),
            looks: 0,
            taken: 0,
        }
    }

    /// Goes on from here, after the thread has waited.
    pub fn waited(&mut self) {
        (self.at, self.spent) = (clock::now(), clock::spent());
    }

    /// Returns what was taken of the time since the last call, in which the thread has
    /// not waited, and goes on from here.
    pub fn look(&mut self) -> Interruption {
        let before = *self;
        self.waited();
        let passed = self.at.saturating_since(before.at);
        let taken = passed.saturating_sub(self.spent.saturating_sub(before.spent));
        self.looks += 1;
        self.taken += u64::from(taken > EXACT);
        Interruption {
            from: before.at,
            to: self.at,
            taken,
        }
    }

    /// Tells whether the kernel charges soft interrupts to the thread that is their host,
    /// by what looks have found that each had one within.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.taken * LOOKS_PER_TAKEN <= self.looks
    }
}

/// Tells how late a sleeping thread's timer was.
#[derive(Debug)]
pub struct Waking {
    waits: Option<File>,
    waited: Duration,
}

impl Waking {
    /// Begins to watch the calling thread, which is the only one that may ask.
    #[must_use]
    pub fn begin() -> Self {
        let mut waking = Self {
            waits: File::open(WAITS).ok(),
            waited: Duration::ZERO,
        };
        waking.waited = waking.read().unwrap_or_default();
        waking
    }

    /// Returns what was taken between the moment to which the thread wanted to sleep and
    /// `now`, when it found itself awake; nothing where the kernel does not say how long
    /// it waited for its turn.
    pub fn look(&mut self, due: Instant, now: Instant) -> Interruption {
        let late = now.saturating_since(due);
        let taken = match self.read() {
            Some(waited) => {
                let queued = waited.saturating_sub(self.waited);
                self.waited = waited;
                late.saturating_sub(queued)
            }
            None => Duration::ZERO,
        };
        Interruption {
            from: due,
            to: due + taken,
            taken,
        }
    }

    fn read(&self) -> Option<Duration> {
        let mut text = [0; WAITS_BYTES];
        let length = self.waits.as_ref()?.read_at(&mut text, 0).ok()?;
        waits(std::str::from_utf8(text.get(..length)?).ok()?)
    }
}

/// Reads the second of three numbers of nanoseconds and times.
fn waits(text: &str) -> Option<Duration> {
    let waited = text.split_ascii_whitespace().nth(1)?;
    Some(Duration::from_ns(waited.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_time_spent_waiting() {
        assert_eq!(
            waits("4930 19228365 1\n"),
            Some(Duration::from_ns(19_228_365))
        );
        assert_eq!(waits("4930"), None);
        assert_eq!(waits(""), None);
    }

    /// A busy thread has had all of the time but what was taken of it: the two add up,
    /// whoever else wants the processor.
    #[test]
    fn what_a_thread_has_and_what_is_taken_add_up() {
        let (mut own, spent) = (OwnTime::begin(), clock::spent());
        while clock::spent() < spent + Duration::from_ms(2) {
            std::hint::spin_loop();
        }

        let seen = own.look();

        let had = seen
            .to
            .saturating_since(seen.from)
            .saturating_sub(seen.taken);
        assert!(had >= Duration::from_ms(2), "{seen:?}");
        assert!(
            had <= Duration::from_ms(2) + Duration::from_us(500),
            "{seen:?}"
        );
    }

    #[test]
    fn a_sleeper_is_not_said_to_have_lost_more_than_it_was_late() {
        let mut waking = Waking::begin();
        for _ in 0..20 {
            let due = clock::now() + Duration::from_us(100);
            clock::sleep_until(due);
            let now = clock::now();

            let seen = waking.look(due, now);

            assert!(seen.taken <= now.saturating_since(due), "{seen:?}");
        }
    }
}
