//! How late a server is, within its service curve.
//!
//! A lazy server puts out exactly its service curve, counted from when it began
//! to have work, which is the least that a strict service curve allows. Three
//! freedoms are left, and the adversary uses them: up to some time it may be
//! eager, so that traffic reaches the next server unhindered; after it has been
//! lazy for a while it may let go of all that it holds, which then comes to the
//! next server as a burst; and it may settle what to serve first before its
//! latency has passed or after it.

use calculus::analysis::Server;
use units::fine::{Data, Rate, Time};

/// When a server settles which packet it serves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// When it begins to have work.
    Early,
    /// When it begins to serve.
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Until then it serves as fast as its link carries.
    pub lazy_from_fs: u64,
    /// After so much laziness it lets go of what it holds; `u64::MAX` is never.
    pub lets_go_after_fs: u64,
    /// When it settles what it serves next.
    pub choice: Choice,
}

impl Behaviour {
    /// Always exactly the service curve.
    pub const LAZY: Self = Self {
        lazy_from_fs: 0,
        lets_go_after_fs: u64::MAX,
        choice: Choice::Late,
    };
}

/// The service curve of a server and the rate of its link.
#[derive(Clone, Debug)]
pub(super) struct ServicePace {
    /// Rates and latencies, the latencies shortened by the head start.
    pieces: Vec<(Rate, u64)>,
    /// What the link carries, where that counts.
    link: Option<Rate>,
}

impl ServicePace {
    /// Returns the pace of a server that has a head start in each busy period.
    ///
    /// # Panics
    ///
    /// If the head start is longer than a latency.
    pub fn new(server: &Server, shaped: bool, head_start_fs: u64) -> Self {
        let serving = server.service.iter().filter(|it| it.rate > Rate::ZERO);
        let piece = |it: &calculus::analysis::RateLatency| {
            let latency = it.latency.as_fs().checked_sub(head_start_fs);
            (
                it.rate,
                latency.expect("a head start is no longer than a latency"),
            )
        };
        Self {
            pieces: serving.map(piece).collect(),
            link: server.link.filter(|_| shaped),
        }
    }

    /// Returns how long after it began a lazy server has done so much work,
    /// rounded down.
    pub fn done_after(&self, work: Data) -> u64 {
        let times = self.pieces.iter().map(|(rate, latency)| {
            let time = rate.shortest_for(work).map_or(u64::MAX, Time::as_fs);
            latency.saturating_add(time)
        });
        times.min().unwrap_or(u64::MAX)
    }

    /// Returns how much a lazy server has done after some time, rounded down: what
    /// is left then leaves no faster than the link carries.
    pub fn done_in(&self, age_fs: u64) -> Data {
        let done = self
            .pieces
            .iter()
            .map(|(rate, latency)| rate.least_in(Time::from_fs(age_fs.saturating_sub(*latency))));
        done.max().unwrap_or_default()
    }

    /// Returns how long the link takes, rounded up; no time if that does not count.
    pub fn on_link(&self, data: Data) -> u64 {
        let time = self.link.and_then(|link| link.longest_for(data));
        time.map_or(0, Time::as_fs)
    }
}
