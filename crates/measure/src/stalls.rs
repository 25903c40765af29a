//! Times in which the machine stood still.
//!
//! In a lab of namespaces the measured thing shares its processors with
//! everything else that runs there, and a hypervisor below may take them away.
//! A thread that does nothing but look at the clock notices: the time between
//! two looks should be short, and where it is not, nobody else on that processor
//! moved either.
//!
//! A frame may be late, or lost to a full buffer, because of a stall that began
//! before it was sent: what piled up meanwhile is ahead of it. The *shadow* of a
//! stall is therefore as long again as the stall. Where promised traffic uses
//! at most half of a server, what came in during a stall of length `s` is at
//! most `s/2` of work, and with new work coming at most at that rate it is done
//! `s` later. Where it uses more, the shadow is too short, and frames are blamed
//! on the network that were the machine's: an error on the safe side.

use units::{Duration, Instant};

use crate::statistics::Distribution;

pub const MOST_STALLS_KEPT: usize = 1 << 14;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    pub thread: &'static str,
    /// The last look at the clock before.
    pub start: Instant,
    /// The time to the next look.
    pub length: Duration,
}

impl Stall {
    /// Returns when the stall and its shadow are over.
    #[must_use]
    pub fn shadow_end(&self) -> Instant {
        self.start + self.length + self.length
    }
}

/// The stalls of a run.
#[derive(Clone, Debug)]
pub struct Stalls {
    threshold: Duration,
    looks: Distribution,
    stalls: Vec<Stall>,
    total: Duration,
    unkept: u64,
}

impl Stalls {
    /// Returns an empty list that takes gaps longer than `threshold` for stalls.
    #[must_use]
    pub fn new(threshold: Duration) -> Self {
        Self {
            threshold,
            looks: Distribution::default(),
            stalls: Vec::new(),
            total: Duration::ZERO,
            unkept: 0,
        }
    }

    /// Takes down two looks at the clock in a row.
    pub fn look(&mut self, thread: &'static str, from: Instant, to: Instant) {
        let length = to.saturating_since(from);
        self.looks.record(length);
        if length <= self.threshold {
            return;
        }
        self.total += length;
        if self.stalls.len() < MOST_STALLS_KEPT {
            self.stalls.push(Stall {
                thread,
                start: from,
                length,
            });
        } else {
            self.unkept += 1;
        }
    }

    /// Takes down that `times` looks in a row were at most `within` apart each:
    /// none of them was a stall.
    pub fn calm(&mut self, within: Duration, times: u64) {
        self.looks.record_many(within.min(self.threshold), times);
    }

    /// Returns what is longer than this is a stall.
    #[must_use]
    pub fn threshold(&self) -> Duration {
        self.threshold
    }

    /// Returns the time between two looks, of all looks.
    #[must_use]
    pub fn looks(&self) -> &Distribution {
        &self.looks
    }

    /// Returns how many stalls there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.stalls.len() as u64 + self.unkept
    }

    /// Returns how long all stalls took together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.total
    }

    /// Returns the stalls that were kept, in the order in which they were told.
    #[must_use]
    pub fn kept(&self) -> &[Stall] {
        &self.stalls
    }

    /// Returns the stalls in a form that can be asked about moments.
    #[must_use]
    pub fn shadows(&self) -> Shadows {
        let mut intervals: Vec<_> = self
            .stalls
            .iter()
            .map(|stall| (stall.start, stall.shadow_end()))
            .collect();
        intervals.sort_unstable();
        let mut merged: Vec<(Instant, Instant)> = Vec::new();
        for (start, end) in intervals {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                Some(_) | None => merged.push((start, end)),
            }
        }
        Shadows { merged }
    }
}

/// The stalls of a run with their shadows, as intervals that do not overlap.
#[derive(Clone, Debug, Default)]
pub struct Shadows {
    merged: Vec<(Instant, Instant)>,
}

impl Shadows {
    /// Tells whether any moment from `from` to `to` lay in a stall or its
    /// shadow.
    #[must_use]
    pub fn touch(&self, from: Instant, to: Instant) -> bool {
        let after = self.merged.partition_point(|(_, end)| *end < from);
        self.merged
            .get(after)
            .is_some_and(|(start, _)| *start <= to)
    }

    /// Returns how much of the time from `from` to `to` lay in a stall or its
    /// shadow.
    #[must_use]
    pub fn within(&self, from: Instant, to: Instant) -> Duration {
        let after = self.merged.partition_point(|(_, end)| *end < from);
        self.merged[after..]
            .iter()
            .take_while(|(start, _)| *start <= to)
            .map(|(start, end)| to.min(*end).saturating_since(from.max(*start)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_stall_only_above_the_threshold() {
        let mut stalls = Stalls::new(Duration::from_us(100));

        stalls.look("packet loop", at_us(0), at_us(100));
        stalls.look("packet loop", at_us(100), at_us(1_100));

        assert_eq!(stalls.count(), 1);
        assert_eq!(stalls.total(), Duration::from_ms(1));
        assert_eq!(stalls.looks().count(), 2);
        assert_eq!(stalls.looks().max(), Some(Duration::from_ms(1)));
    }

    #[test]
    fn the_shadow_of_a_stall_is_as_long_again() {
        let mut stalls = Stalls::new(Duration::from_us(100));
        stalls.look("packet loop", at_us(1_000), at_us(2_000));

        let shadows = stalls.shadows();

        assert!(!shadows.touch(at_us(0), at_us(999)));
        assert!(shadows.touch(at_us(0), at_us(1_000)));
        assert!(shadows.touch(at_us(2_900), at_us(3_500)));
        assert!(!shadows.touch(at_us(3_001), at_us(3_500)));
        assert_eq!(
            shadows.within(at_us(1_500), at_us(9_000)),
            Duration::from_us(1_500)
        );
    }

    #[test]
    fn stalls_of_two_threads_at_once_count_once() {
        let mut stalls = Stalls::new(Duration::from_us(100));
        stalls.look("controller", at_us(5_000), at_us(6_000));
        stalls.look("packet loop", at_us(1_000), at_us(2_000));
        stalls.look("controller", at_us(1_500), at_us(2_500));

        let shadows = stalls.shadows();

        assert_eq!(
            shadows.within(at_us(0), at_us(4_000)),
            Duration::from_us(2_500)
        );
    }

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }
}
