//! How an experiment with two switches is repeated, and what is kept of it.

use units::{Delay, Duration};

use super::two_switches::EmulatedRun;

/// How often and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetitions {
    pub runs: u64,
    pub length: Duration,
}

impl Repetitions {
    /// As LOKO section 6.1 did.
    pub const FULL: Self = Self {
        runs: 30,
        length: Duration::from_secs(10),
    };
    /// Enough to see that it works.
    pub const QUICK: Self = Self {
        runs: 3,
        length: Duration::from_secs(2),
    };
}

/// What became of the frames of one setting, over all its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    pub sent: u64,
    /// Those of them that never arrived.
    pub lost: u64,
    /// Those that arrived later than promised.
    pub late: u64,
    /// The delays of those that arrived, if any did.
    pub delays: Option<DelaySummary>,
}

/// Delays in a few figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelaySummary {
    pub min: Duration,
    /// What one in a hundred does not exceed.
    pub p1: Duration,
    /// What a quarter does not exceed.
    pub q1: Duration,
    /// What half does not exceed.
    pub median: Duration,
    /// What three quarters do not exceed.
    pub q3: Duration,
    /// What all but one in a hundred do not exceed.
    pub p99: Duration,
    pub max: Duration,
}

impl Observation {
    /// Repeats a run with other seeds, and tells `done` after each.
    #[must_use]
    pub fn of(
        run: &EmulatedRun,
        guarantee: Delay,
        effort: Repetitions,
        done: &mut dyn FnMut(),
    ) -> Self {
        let mut sent = 0;
        let mut delays_ns = Vec::new();
        for repetition in 0..effort.runs {
            let observed = EmulatedRun {
                length: effort.length,
                seed: run.seed.wrapping_add(repetition << 32),
                ..*run
            }
            .observe();
            sent += observed.sent;
            delays_ns.extend(observed.delays_ns);
            done();
        }
        Self::from_delays(sent, delays_ns, guarantee)
    }

    fn from_delays(sent: u64, mut delays_ns: Vec<u32>, guarantee: Delay) -> Self {
        delays_ns.sort_unstable();
        let arrived = delays_ns.len() as u64;
        // A delay is a whole number of nanoseconds: what exceeds the promise
        // exceeds its whole nanoseconds.
        let promised_ns = guarantee.as_ps() / 1_000;
        let in_time = delays_ns.partition_point(|delay| u64::from(*delay) <= promised_ns) as u64;
        Self {
            sent,
            lost: sent - arrived,
            late: arrived - in_time,
            delays: DelaySummary::of_sorted(&delays_ns),
        }
    }

    /// Returns the part of the frames that was lost, in a hundred; for print.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        percent(self.lost, self.sent)
    }

    /// Returns the part of the frames that was late, in a hundred; for print.
    #[must_use]
    pub fn late_percent(&self) -> f64 {
        percent(self.late, self.sent)
    }

    /// Tells whether every frame arrived as promised.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.lost == 0 && self.late == 0
    }
}

impl DelaySummary {
    /// Returns the figures of delays in their order, by nearest rank.
    fn of_sorted(delays_ns: &[u32]) -> Option<Self> {
        let at = |percent: usize| {
            let rank = (delays_ns.len() * percent).div_ceil(100).max(1);
            let delay = delays_ns.get(rank - 1)?;
            Some(Duration::from_ns(u64::from(*delay)))
        };
        Some(Self {
            min: at(0)?,
            p1: at(1)?,
            q1: at(25)?,
            median: at(50)?,
            q3: at(75)?,
            p99: at(99)?,
            max: at(100)?,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "for print only")]
fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 * 100.0 / whole as f64,
    }
}
