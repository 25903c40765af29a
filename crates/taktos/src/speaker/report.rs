//! What is known of the speaker and of what it tells, for those who ask and for the log.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use api::IpPrefix;
use linux::clock::WallTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client::SpeakerError;
use super::messages::{Global, Peer};
use super::path::{PathFault, PathReading};
use super::peers::{PeerSession, PeerSessions};

/// How long the log says nothing of what it has told of: whoever announces nonsense
/// announces much of it.
const TELL_INTERVAL: Duration = Duration::from_secs(10);

/// How something is told to whoever watches the program.
pub type Tell = fn(String);

/// What was counted of what the daemon tells, since the controller was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpeakerCounts {
    /// Connections to it.
    pub connections: u64,
    /// Lists of all routes that were asked for.
    pub lists: u64,
    /// Paths that were read, in lists and as changes.
    pub paths: u64,
    /// Paths of families that are not routed.
    pub other_families: u64,
    /// Paths that named no prefix.
    pub unreadable_paths: u64,
    /// Paths without a next hop of any use, which count as withdrawals.
    pub unusable_next_hops: u64,
    /// Routes that the controller refused.
    pub refused_routes: u64,
    /// Requests that it did not carry out.
    pub failed_requests: u64,
}

/// What is known of the speaker.
#[derive(Clone, Debug, Default)]
pub struct SpeakerReport {
    /// Since when it is connected, or was lost, in nanoseconds since the beginning of 1970.
    pub since_ns: u64,
    pub is_connected: bool,
    pub as_number: u32,
    pub router_id: String,
    /// Why it was of no use last.
    pub trouble: Option<String>,
    pub counts: SpeakerCounts,
    sessions: PeerSessions,
    /// Whether the controller was told that it is connected.
    is_told: bool,
    told: Option<Instant>,
    untold: u64,
}

impl SpeakerReport {
    /// Returns the sessions by the peer's address.
    pub fn sessions(&self) -> impl Iterator<Item = (IpAddr, PeerSession)> {
        self.sessions.iter()
    }

    /// Returns how many sessions are established.
    #[must_use]
    pub fn established(&self) -> usize {
        self.sessions.established()
    }
}

/// A report that the speaker's thread writes and those who are asked read.
#[derive(Clone, Debug)]
pub struct SharedReport {
    report: Arc<Mutex<SpeakerReport>>,
    tell: Tell,
}

impl SharedReport {
    /// Returns a report of a speaker that nobody has heard.
    #[must_use]
    pub fn new(tell: Tell) -> Self {
        Self {
            report: Arc::default(),
            tell,
        }
    }

    /// Returns what is known now.
    #[must_use]
    pub fn now(&self) -> SpeakerReport {
        self.lock().clone()
    }

    /// Takes note of a connection.
    pub fn connected(&self, global: Global) {
        let Global {
            as_number,
            router_id,
        } = global;
        (self.tell)(format!(
            "speaker: connected, AS {as_number}, router {router_id}"
        ));
        let mut report = self.lock();
        report.counts.connections += 1;
        report.since_ns = WallTime::now().as_ns();
        report.is_connected = true;
        report.is_told = false;
        report.as_number = as_number;
        report.router_id = router_id;
        report.trouble = None;
        report.sessions = PeerSessions::default();
    }

    /// Takes note that the speaker is of no use, and returns whether that is news.
    pub fn lost(&self, error: &SpeakerError) -> bool {
        let mut report = self.lock();
        let text = error.to_string();
        let is_news = report.is_connected || report.trouble.is_none();
        if report.is_connected || report.since_ns == 0 {
            report.since_ns = WallTime::now().as_ns();
        }
        if report.trouble.as_ref() != Some(&text) {
            (self.tell)(format!("speaker: {text}"));
        }
        report.is_connected = false;
        report.trouble = Some(text);
        report.sessions = PeerSessions::default();
        is_news
    }

    /// Has the controller told again what the speaker is, as it has begun anew.
    pub fn forgotten(&self) {
        self.lock().is_told = false;
    }

    /// Takes note that a list is asked for; returns whether the controller is to be told
    /// before that the speaker is connected.
    pub fn listed(&self) -> bool {
        let mut report = self.lock();
        report.counts.lists += 1;
        !std::mem::replace(&mut report.is_told, true)
    }

    /// Takes note of a session, and returns whether that is news.
    pub fn peer(&self, peer: &Peer) -> bool {
        self.lock().sessions.take(peer)
    }

    /// Takes note of what was read of a path.
    pub fn read(&self, reading: &Result<PathReading, PathFault>) {
        let mut report = self.lock();
        report.counts.paths += 1;
        let fault = match reading {
            Ok(PathReading { fault: None, .. }) => return,
            Ok(PathReading {
                change,
                fault: Some(fault),
            }) => {
                report.counts.unusable_next_hops += 1;
                format!("{} is taken for withdrawn: {fault}", change.prefix)
            }
            Err(PathFault::OtherFamily { .. }) => {
                report.counts.other_families += 1;
                return;
            }
            Err(fault) => {
                report.counts.unreadable_paths += 1;
                format!("a path is left out: {fault}")
            }
        };
        self.complain(report, &fault);
    }

    /// Takes note of routes that the controller refused.
    pub fn refused(&self, refused: &[(IpPrefix, String)]) {
        let Some((prefix, reason)) = refused.first() else {
            return;
        };
        let mut report = self.lock();
        report.counts.refused_routes += refused.len() as u64;
        let others = match refused.len() {
            1 => String::new(),
            count => format!(", and {} others", count - 1),
        };
        self.complain(report, &format!("{prefix} is refused: {reason}{others}"));
    }

    /// Takes note of a request that was not carried out.
    pub fn not_taken(&self, reason: &str) {
        let mut report = self.lock();
        report.counts.failed_requests += 1;
        self.complain(report, &format!("the controller takes no routes: {reason}"));
    }

    /// Tells of something, unless something was told a moment ago.
    fn complain(&self, mut report: MutexGuard<'_, SpeakerReport>, what: &str) {
        let now = Instant::now();
        let is_early = |told: Instant| now.duration_since(told) < TELL_INTERVAL;
        if report.told.is_some_and(is_early) {
            report.untold += 1;
            return;
        }
        report.told = Some(now);
        let untold = std::mem::take(&mut report.untold);
        drop(report);
        let before = match untold {
            0 => String::new(),
            untold => format!(" ({untold} like this before)"),
        };
        (self.tell)(format!("speaker: {what}{before}"));
    }

    fn lock(&self) -> MutexGuard<'_, SpeakerReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
