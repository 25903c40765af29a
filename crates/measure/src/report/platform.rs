//! What is said of the machine below.

use serde::Serialize;
use units::{Duration, Instant};

use crate::interruptions::{Interruption, Interruptions};
use crate::stalls::Stalls;

/// The most interruptions that a report lists: the longest ones.
pub const MOST_LISTED: usize = 200;

/// What the run stood on.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlatformReport {
    /// Where the stamps come from, for people.
    pub stamps: String,
    /// How late those were who watched the processors, for whatever reason: most of it
    /// is the lab's own forwarding; nothing where time is virtual.
    pub stall_ns: Option<StallFigures>,
    /// How long processors that frames needed were taken away; nothing where time is
    /// virtual.
    pub interruption_ns: Option<InterruptionFigures>,
    /// The longest interruptions, in order of time.
    pub interruptions: Vec<InterruptionReport>,
    /// What else is worth knowing, a sentence each.
    pub notes: Vec<String>,
}

/// How late those were who watched the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StallFigures {
    /// How many stalls there were.
    pub count: u64,
    /// What is longer than this is a stall.
    pub threshold: u64,
    /// How long all of them took together.
    pub total: u64,
    /// What 99 % of the looks at the clock do not exceed.
    pub p99: u64,
    /// What 99.9 % of the looks at the clock do not exceed.
    pub p999: u64,
    pub max: u64,
}

/// How long processors that frames needed were taken away, by the hypervisor or by other
/// programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InterruptionFigures {
    pub count: u64,
    /// How long all of it took together.
    pub total: u64,
    pub max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InterruptionReport {
    /// When it began at the earliest, since traffic began.
    pub at_ns: u64,
    /// For how long the processor was taken.
    pub length_ns: u64,
}

impl PlatformReport {
    /// Returns the report of a machine that was watched from `start` on.
    #[must_use]
    pub fn watched(
        stamps: &str,
        start: Instant,
        stalls: &Stalls,
        interruptions: &Interruptions,
    ) -> Self {
        let looks = stalls.looks();
        let quantile = |per_mille| looks.quantile(per_mille).unwrap_or_default().as_ns();
        let mut longest: Vec<&Interruption> = interruptions.iter().collect();
        longest.sort_by_key(|it| (std::cmp::Reverse(it.taken), it.from));
        longest.truncate(MOST_LISTED);
        longest.sort_by_key(|it| it.from);
        let listed = longest.into_iter().map(|it| InterruptionReport {
            at_ns: it.from.saturating_since(start).as_ns(),
            length_ns: it.taken.as_ns(),
        });
        Self {
            stamps: stamps.to_owned(),
            stall_ns: Some(StallFigures {
                count: stalls.count(),
                threshold: stalls.threshold().as_ns(),
                total: stalls.total().as_ns(),
                p99: quantile(990),
                p999: quantile(999),
                max: looks.max().map_or(0, Duration::as_ns),
            }),
            interruption_ns: Some(InterruptionFigures {
                count: interruptions.count(),
                total: interruptions.total().as_ns(),
                max: interruptions.longest().as_ns(),
            }),
            interruptions: listed.collect(),
            notes: Vec::new(),
        }
    }

    /// Returns the report of virtual time, which never stands still.
    #[must_use]
    pub fn virtual_time() -> Self {
        Self {
            stamps: "virtual time, exact".to_owned(),
            ..Self::default()
        }
    }
}
