//! What is said of the machine below.

use serde::Serialize;
use units::{Duration, Instant};

use crate::stalls::Stalls;

/// The most stalls that a report lists: the longest ones.
pub const MOST_STALLS_LISTED: usize = 200;

/// What the run stood on.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlatformReport {
    /// Where the stamps come from, for people.
    pub stamps: String,
    /// The stalls of the machine; nothing where time is virtual.
    pub stall_ns: Option<StallFigures>,
    /// The longest of them, in order of time.
    pub stalls: Vec<StallReport>,
    /// What else is worth knowing, a sentence each.
    pub notes: Vec<String>,
}

/// How long the machine stood still.
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
    /// The longest.
    pub max: u64,
}

/// One stall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StallReport {
    /// When it began, since traffic began.
    pub at_ns: u64,
    /// How long it took.
    pub length_ns: u64,
    /// Which thread noticed.
    pub thread: String,
}

impl PlatformReport {
    /// Returns the report of a machine that was watched from `start` on.
    #[must_use]
    pub fn watched(stamps: &str, start: Instant, stalls: &Stalls) -> Self {
        let looks = stalls.looks();
        let quantile = |per_mille| looks.quantile(per_mille).unwrap_or_default().as_ns();
        let mut longest: Vec<_> = stalls.kept().iter().collect();
        longest.sort_by_key(|stall| (std::cmp::Reverse(stall.length), stall.start));
        longest.truncate(MOST_STALLS_LISTED);
        longest.sort_by_key(|stall| stall.start);
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
            stalls: longest
                .into_iter()
                .map(|stall| StallReport {
                    at_ns: stall.start.saturating_since(start).as_ns(),
                    length_ns: stall.length.as_ns(),
                    thread: stall.thread.to_owned(),
                })
                .collect(),
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
