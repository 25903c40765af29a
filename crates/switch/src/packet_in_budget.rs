//! How often something may happen, so that a flood of it cannot drown the rest.
//!
//! The generic cell rate algorithm in its virtual scheduling form: one instant
//! is all the state there is (ITU-T I.371 annex A.1).

use units::{Duration, Instant};

use crate::config::PacketInBudget;

/// What is left of a [`PacketInBudget`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    interval: Duration,
    tolerance: Duration,
    /// When the next one would be due if they came evenly.
    due: Instant,
}

impl Budget {
    pub(crate) fn new(now: Instant, budget: PacketInBudget) -> Self {
        Self {
            interval: budget.interval,
            tolerance: budget.interval * budget.burst.saturating_sub(1),
            due: now,
        }
    }

    /// Returns from when on there is one in the budget.
    pub(crate) fn next(&self) -> Instant {
        let tolerance = self.tolerance.as_ns();
        Instant::from_ns(self.due.as_ns().saturating_sub(tolerance))
    }

    /// Takes one out of the budget and says whether there was one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        if self.due > now + self.tolerance {
            return false;
        }
        self.due = self.due.max(now) + self.interval;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_one_an_interval() {
        let interval = Duration::from_us(10);
        let mut budget = Budget::new(Instant::ZERO, PacketInBudget { interval, burst: 3 });

        let burst = (0..5).filter(|_| budget.take(Instant::ZERO)).count();
        let early = budget.take(Instant::ZERO + Duration::from_us(9));
        let later = budget.take(Instant::ZERO + interval);
        let again = budget.take(Instant::ZERO + interval);

        assert_eq!((burst, early, later, again), (3, false, true, false));
    }

    #[test]
    fn after_a_long_rest_there_is_one_burst_and_not_more() {
        let interval = Duration::from_us(10);
        let mut budget = Budget::new(Instant::ZERO, PacketInBudget { interval, burst: 3 });

        let later = Instant::ZERO + Duration::from_secs(1);

        assert_eq!((0..5).filter(|_| budget.take(later)).count(), 3);
    }
}
