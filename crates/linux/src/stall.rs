//! Notices when the machine takes the processor away from a loop that never
//! waits.
//!
//! The loop reports each moment at which it reads the clock. Two moments further
//! apart than the threshold are a stall: another process, an interrupt, the
//! hypervisor, or work of our own that took too long, which is why the kind of
//! work stands beside it. What arrived meanwhile had to wait; the stall counts
//! until the rings were found empty again.
//!
//! The kernel may stall while the loop does not: a frame that the driver stamped
//! long before its ring was last found empty was held in between, by the processor
//! that should have moved it. That counts as well, from the stamp on.

use units::{Duration, Instant};

/// The most stalls that are kept one by one; further ones are only counted.
pub const MOST_STALLS: usize = 65_536;
/// What is shorter is how exact the timers of a virtual machine are.
pub const SHORTEST_INTERRUPTION: Duration = Duration::from_us(50);
/// Every length of time in nanoseconds has one of so many sizes.
pub const GAP_SIZES: usize = 64;

/// What a loop was at when it stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Frames,
    /// Control messages, the carrier, commands.
    Control,
    /// Looking in vain for a frame that the kernel held.
    Delivery,
    /// Waking up at a moment that was agreed.
    Waking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The last moment before it.
    pub start: Instant,
    pub length: Duration,
    /// When everything that had waited was done; nothing if the loop ended before.
    pub caught_up: Option<Instant>,
    pub during: Work,
}

/// A time within which others had the processor of a thread that wanted it: another
/// program or the hypervisor, and not the soft interrupts that the thread was host to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// When the thread had the processor for certain, before.
    pub from: Instant,
    /// When it had it again.
    pub to: Instant,
    /// For how long of that others had it.
    pub taken: Duration,
}

/// The stalls of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// The first [`MOST_STALLS`] of them, in order.
    pub kept: Vec<Stall>,
    pub count: u64,
    pub longest: Duration,
    pub total: Duration,
    /// How often the loop was alive again after less than twice `2^n` ns and not
    /// less than that, at place `n`.
    pub gaps: [u64; GAP_SIZES],
    /// The first [`MOST_STALLS`] interruptions of [`SHORTEST_INTERRUPTION`] and more, in
    /// order.
    pub interruptions: Vec<Interruption>,
}

impl Default for Stalls {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            count: 0,
            longest: Duration::ZERO,
            total: Duration::ZERO,
            gaps: [0; GAP_SIZES],
            interruptions: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub struct StallMonitor {
    threshold: Duration,
    last: Instant,
    stalls: Stalls,
    /// The first stall that has not been caught up with.
    open: usize,
}

impl StallMonitor {
    /// Begins to watch at `now`; gaps of `threshold` or more are stalls.
    #[must_use]
    pub fn new(now: Instant, threshold: Duration) -> Self {
        let kept = Vec::with_capacity(MOST_STALLS);
        Self {
            threshold,
            last: now,
            stalls: Stalls {
                kept,
                ..Stalls::default()
            },
            open: 0,
        }
    }

    /// Takes down that the loop was alive at `now`, after `during`. Returns the
    /// stall that this ends, if it does.
    #[inline]
    pub fn alive(&mut self, now: Instant, during: Work) -> Option<Stall> {
        let gap = now.saturating_since(self.last);
        let start = std::mem::replace(&mut self.last, now);
        self.stalls.gaps[gap.as_ns().max(1).ilog2() as usize] += 1;
        (gap >= self.threshold).then(|| self.keep(start, gap, during))
    }

    /// Takes down that a frame reached the loop at `now`, which was stamped at
    /// `stamp` and had not reached it by `missed`. Stalls that overlap are one.
    pub fn delivered(&mut self, stamp: Instant, missed: Instant, now: Instant) {
        if missed.saturating_since(stamp) < self.threshold {
            return;
        }
        let length = now.saturating_since(stamp);
        match self.stalls.kept.last_mut() {
            Some(last) if last.during == Work::Delivery && last.start + last.length >= stamp => {
                let whole = now.saturating_since(last.start);
                self.stalls.total += whole.saturating_sub(last.length);
                self.stalls.longest = self.stalls.longest.max(whole);
                last.length = whole;
            }
            Some(_) | None => {
                self.keep(stamp, length, Work::Delivery);
            }
        }
    }

    /// Takes down that others had the processor.
    pub fn interrupted(&mut self, interruption: Interruption) {
        let kept = &mut self.stalls.interruptions;
        if interruption.taken >= SHORTEST_INTERRUPTION && kept.len() < MOST_STALLS {
            kept.push(interruption);
        }
    }

    /// Takes down that the loop found nothing left to do at `now`.
    #[inline]
    pub fn idle(&mut self, now: Instant) {
        while let Some(stall) = self.stalls.kept.get_mut(self.open) {
            stall.caught_up = Some(now);
            self.open += 1;
        }
    }

    /// Takes down that the loop waited on purpose until `now`.
    pub fn waited(&mut self, now: Instant) {
        self.last = now;
    }

    #[must_use]
    pub fn finish(self) -> Stalls {
        self.stalls
    }

    fn keep(&mut self, start: Instant, length: Duration, during: Work) -> Stall {
        let stall = Stall {
            start,
            length,
            caught_up: None,
            during,
        };
        self.stalls.count += 1;
        self.stalls.longest = self.stalls.longest.max(length);
        self.stalls.total += length;
        if self.stalls.kept.len() < MOST_STALLS {
            self.stalls.kept.push(stall);
        }
        stall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_gap_of_the_threshold_is_a_stall_until_the_loop_has_caught_up() {
        let mut monitor = StallMonitor::new(at(0), Duration::from_us(100));

        assert_eq!(monitor.alive(at(99), Work::Frames), None);
        assert!(monitor.alive(at(199), Work::Control).is_some());
        assert_eq!(monitor.alive(at(210), Work::Frames), None);
        monitor.idle(at(250));

        let stall = Stall {
            start: at(99),
            length: Duration::from_us(100),
            caught_up: Some(at(250)),
            during: Work::Control,
        };
        assert_eq!(monitor.finish().kept, [stall]);
    }

    #[test]
    fn stalls_beyond_the_limit_are_counted_only() {
        let mut monitor = StallMonitor::new(at(0), Duration::from_us(1));

        for moment in 1..=MOST_STALLS as u64 + 2 {
            monitor.alive(at(moment), Work::Frames);
        }

        let stalls = monitor.finish();
        assert_eq!(stalls.kept.len(), MOST_STALLS);
        assert_eq!(stalls.count, MOST_STALLS as u64 + 2);
    }

    #[test]
    fn a_frame_that_was_held_since_long_before_its_ring_was_empty_is_a_stall() {
        let mut monitor = StallMonitor::new(at(0), Duration::from_us(100));

        monitor.delivered(at(1_000), at(1_090), at(1_091));
        monitor.delivered(at(1_000), at(1_500), at(1_501));
        monitor.delivered(at(1_250), at(1_500), at(1_510));

        let stalls = monitor.finish();
        assert_eq!(stalls.count, 1);
        assert_eq!(stalls.kept[0].start, at(1_000));
        assert_eq!(stalls.kept[0].length, Duration::from_us(510));
        assert_eq!(stalls.total, Duration::from_us(510));
    }

    #[test]
    fn interruptions_are_kept_apart_from_stalls() {
        let mut monitor = StallMonitor::new(at(0), Duration::from_us(100));
        let taken = |us: u64| Interruption {
            from: at(10),
            to: at(1_000),
            taken: Duration::from_us(us),
        };

        monitor.interrupted(taken(49));
        monitor.interrupted(taken(50));

        let stalls = monitor.finish();
        assert_eq!(stalls.interruptions, [taken(50)]);
        assert_eq!(stalls.count, 0);
    }

    #[test]
    fn waiting_on_purpose_is_no_stall() {
        let mut monitor = StallMonitor::new(at(0), Duration::from_us(100));

        monitor.waited(at(5_000));

        assert_eq!(monitor.alive(at(5_050), Work::Frames), None);
    }
}
