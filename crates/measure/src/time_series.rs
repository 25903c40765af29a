//! The greatest latency in each interval of a run, for the time line.
//!
//! The number of intervals is bounded: a run that outlasts them makes every
//! interval twice as long, so a long run is drawn coarser and never cut.

use units::{Duration, Instant};

/// The most intervals that a series keeps.
pub const MOST_INTERVALS: usize = 4096;

/// One interval of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The greatest latency of the frames sent in it.
    pub max: Duration,
    /// How many deliveries of frames sent in it arrived.
    pub received: u32,
    pub lost: u32,
}

/// The intervals of one flow, from the start of the run.
#[derive(Clone, Debug)]
pub struct TimeSeries {
    start: Instant,
    length: Duration,
    intervals: Vec<Interval>,
}

impl TimeSeries {
    /// Returns an empty series.
    ///
    /// # Panics
    ///
    /// If the intervals have no length.
    #[must_use]
    pub fn new(start: Instant, length: Duration) -> Self {
        assert!(length > Duration::ZERO, "an interval has a length");
        Self {
            start,
            length,
            intervals: Vec::new(),
        }
    }

    /// Returns a series of these intervals.
    ///
    /// # Panics
    ///
    /// If the intervals have no length, or are too many.
    #[must_use]
    pub fn restore(start: Instant, length: Duration, intervals: Vec<Interval>) -> Self {
        assert!(intervals.len() <= MOST_INTERVALS, "a series is bounded");
        Self {
            intervals,
            ..Self::new(start, length)
        }
    }

    /// Adds a delivery of a frame sent at `sent_at`.
    pub fn received(&mut self, sent_at: Instant, latency: Duration) {
        let interval = self.interval_of(sent_at);
        interval.max = interval.max.max(latency);
        interval.received = interval.received.saturating_add(1);
    }

    /// Adds a delivery that failed.
    pub fn lost(&mut self, sent_at: Instant) {
        let interval = self.interval_of(sent_at);
        interval.lost = interval.lost.saturating_add(1);
    }

    /// Returns the length of an interval.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.length
    }

    /// Returns the intervals up to the last one in which something was sent.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    fn interval_of(&mut self, at: Instant) -> &mut Interval {
        let since = at.saturating_since(self.start);
        while since / self.length >= MOST_INTERVALS as u64 {
            self.halve();
        }
        let place = usize::try_from(since / self.length).expect("below MOST_INTERVALS");
        if place >= self.intervals.len() {
            self.intervals.resize(place + 1, Interval::default());
        }
        &mut self.intervals[place]
    }

    fn halve(&mut self) {
        self.length = self.length * 2u64;
        self.intervals = self
            .intervals
            .chunks(2)
            .map(|pair| pair.iter().fold(Interval::default(), join))
            .collect();
    }
}

fn join(one: Interval, other: &Interval) -> Interval {
    Interval {
        max: one.max.max(other.max),
        received: one.received.saturating_add(other.received),
        lost: one.lost.saturating_add(other.lost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interval_keeps_its_greatest_latency() {
        let mut series = TimeSeries::new(Instant::from_ns(1_000), Duration::from_ns(100));

        series.received(Instant::from_ns(1_010), Duration::from_ns(7));
        series.received(Instant::from_ns(1_020), Duration::from_ns(5));
        series.lost(Instant::from_ns(1_250));

        let [first, second, third] = series.intervals() else {
            panic!("three intervals")
        };
        assert_eq!((first.max, first.received), (Duration::from_ns(7), 2));
        assert_eq!(*second, Interval::default());
        assert_eq!((third.received, third.lost), (0, 1));
    }

    #[test]
    fn a_long_run_is_kept_coarser_and_whole() {
        let mut series = TimeSeries::new(Instant::ZERO, Duration::from_ms(1));

        for second in 0..100 {
            let at = Instant::ZERO + Duration::from_secs(second);
            series.received(at, Duration::from_us(second));
        }

        assert!(series.intervals().len() <= MOST_INTERVALS);
        let received: u32 = series.intervals().iter().map(|one| one.received).sum();
        assert_eq!(received, 100);
        assert_eq!(series.length(), Duration::from_ms(32));
    }
}
