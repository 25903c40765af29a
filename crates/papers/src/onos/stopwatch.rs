//! Times on the wall and on the processor, and how much the machine stood still beside them.
//!
//! What else runs on the machine takes the processor away now and then. Between
//! measurements the clock is looked at for a while by a loop that does nothing
//! else: where two looks are far apart, nobody moved.

use std::time::{Duration, Instant};

use measure::reproduction::Row;
use rustix::time::{ClockId, clock_gettime};

/// A gap between two looks at the clock from which on the machine stood still.
const STALL: Duration = Duration::from_micros(5);
/// How long is looked after each measurement.
const LOOK: Duration = Duration::from_micros(500);

/// The beginning of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    wall: Instant,
    processor: Duration,
}

impl Start {
    #[must_use]
    pub fn now() -> Self {
        let processor = thread_time();
        Self {
            wall: Instant::now(),
            processor,
        }
    }

    /// Returns the time since then on the wall.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.wall.elapsed()
    }

    /// Returns for how much of it this thread had a processor.
    #[must_use]
    pub fn processor(self) -> Duration {
        thread_time().saturating_sub(self.processor)
    }
}

/// Returns how long this thread has had a processor so far.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Measured times of one kind.
#[derive(Clone, Debug, Default)]
pub struct Times {
    times: Vec<Duration>,
}

impl Times {
    pub fn note(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// Returns the time that so many of a thousand do not exceed.
    #[must_use]
    pub fn quantile(&self, per_mille: usize) -> Duration {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let place = (sorted.len() * per_mille).div_ceil(1_000).saturating_sub(1);
        sorted.get(place).copied().unwrap_or_default()
    }

    /// Returns how many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::try_from(self.times.len()).unwrap_or(u64::MAX)
    }

    /// Returns rows with the median and the 99th percentile in milliseconds,
    /// beside what the paper prints for them, if anything.
    #[must_use]
    pub fn rows(&self, what: &str, printed: [Option<&'static str>; 2]) -> Vec<Row> {
        let kinds = [("median", 500), ("99th percentile", 990)];
        let rows = kinds.into_iter().zip(printed);
        rows.map(|((kind, per_mille), printed)| {
            let row = Row::new(format!("{what}, {kind}"), "ms");
            let row = row.ours(self.quantile(per_mille).as_secs_f64() * 1e3);
            match printed {
                Some(printed) => row.printed(printed),
                None => row,
            }
        })
        .collect()
    }
}

/// What was seen of the machine between measurements.
#[derive(Clone, Debug, Default)]
pub struct Stillness {
    looked: Duration,
    stood_still: Duration,
    longest: Duration,
}

impl Stillness {
    /// Looks at the clock for a while.
    pub fn look(&mut self) {
        let start = Instant::now();
        let mut before = start;
        while before - start < LOOK {
            let now = Instant::now();
            let gap = now - before;
            if gap > STALL {
                self.stood_still += gap;
                self.longest = self.longest.max(gap);
            }
            before = now;
        }
        self.looked += before - start;
    }

    /// Returns what was seen, beside the times that it may have lengthened.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let share = match self.looked {
            Duration::ZERO => 0.0,
            looked => self.stood_still.as_secs_f64() / looked.as_secs_f64() * 100.0,
        };
        let note = "seen between the measurements by a loop that only looks at the clock; what \
                    stood still during a measurement is in its time";
        vec![
            Row::new("the machine stood still beside it", "%")
                .ours(share)
                .note(note),
            Row::new("longest standstill beside it", "ms")
                .ours(self.longest.as_secs_f64() * 1e3)
                .note(note),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_noted() {
        let mut times = Times::default();
        (1..=200)
            .rev()
            .map(Duration::from_micros)
            .for_each(|time| times.note(time));

        assert_eq!(times.quantile(500), Duration::from_micros(100));
        assert_eq!(times.quantile(990), Duration::from_micros(198));
        assert_eq!(Times::default().quantile(500), Duration::ZERO);
    }
}
