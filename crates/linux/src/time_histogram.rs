//! How often something took how long, counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use units::Duration;

/// How many parts times are counted in, beside those that are longer than all.
pub const PARTS: usize = 15;
/// The upper ends of the parts, in microseconds.
const ENDS_US: [u64; PARTS] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000,
    10_000_000,
];

/// Counts times by their length. Any thread may add and read.
#[derive(Debug, Default)]
pub struct TimeHistogram {
    parts: [AtomicU64; PARTS],
    beyond: AtomicU64,
    total_ns: AtomicU64,
}

/// What was counted up to some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The upper end of each part, and how many times were no longer.
    pub up_to: [(Duration, u64); PARTS],
    /// How many times there were.
    pub count: u64,
    pub total: Duration,
}

impl TimeHistogram {
    /// Counts `times` things that took `took` each.
    #[inline]
    pub fn add(&self, times: u64, took: Duration) {
        let part = ENDS_US
            .iter()
            .position(|end| took <= Duration::from_us(*end));
        let part = part.map_or(&self.beyond, |part| &self.parts[part]);
        part.fetch_add(times, Ordering::Relaxed);
        let total = took.as_ns().saturating_mul(times);
        self.total_ns.fetch_add(total, Ordering::Relaxed);
    }

    #[must_use]
    pub fn counted(&self) -> Counted {
        let mut count = 0;
        let up_to = std::array::from_fn(|part| {
            count += self.parts[part].load(Ordering::Relaxed);
            (Duration::from_us(ENDS_US[part]), count)
        });
        Counted {
            up_to,
            count: count + self.beyond.load(Ordering::Relaxed),
            total: Duration::from_ns(self.total_ns.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_its_part_and_those_above() {
        let histogram = TimeHistogram::default();
        histogram.add(2, Duration::from_us(10));
        histogram.add(1, Duration::from_ns(10_001));
        histogram.add(1, Duration::from_secs(11));

        let counted = histogram.counted();

        assert_eq!(counted.up_to[0], (Duration::from_us(10), 2));
        assert!(counted.up_to[1..].iter().all(|(_, count)| *count == 3));
        assert_eq!(counted.count, 4);
        assert_eq!(counted.total, Duration::from_ns(11_000_030_001));
    }
}
