//! The network as one router among others, as JSON: routes, and the speaker.

use std::net::IpAddr;

use api::{IpPrefix, RoutedPrefix, RoutingStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::speaker::{SessionState, SpeakerCounts, SpeakerReport};

/// Some of the routes to other networks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutesDocument {
    /// By family, length and address.
    pub routes: Vec<RoutedPrefix>,
    /// What to give as `after` to be shown more; nothing if these are the last ones.
    pub next: Option<IpPrefix>,
}

/// How the network is as a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingDocument {
    /// What the controller says of it.
    pub routing: RoutingStatus,
    /// The daemon that speaks BGP; nothing if this controller was not told of one.
    pub speaker: Option<SpeakerDocument>,
}

/// The daemon that speaks BGP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpeakerDocument {
    pub is_connected: bool,
    /// Since when it is connected, or lost, in nanoseconds since the beginning of 1970; 0 if
    /// it was never heard.
    pub since_ns: u64,
    /// The number of its autonomous system, as it says.
    pub as_number: u32,
    /// Its name as a router, as it says.
    pub router_id: String,
    /// Why it is of no use, while it is not.
    pub trouble: Option<String>,
    /// By the peer's address.
    pub sessions: Vec<SessionDocument>,
    pub counts: SpeakerCounts,
}

/// A session of the daemon with a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionDocument {
    pub peer: IpAddr,
    /// The number of the peer's autonomous system.
    pub as_number: u32,
    /// As RFC 4271 calls it: `idle`, `connect`, `active`, `open-sent`, `open-confirm` or
    /// `established`.
    pub state: String,
}

impl From<SpeakerReport> for SpeakerDocument {
    fn from(report: SpeakerReport) -> Self {
        let sessions = report.sessions().map(|(peer, session)| SessionDocument {
            peer,
            as_number: session.as_number,
            state: state(session.state).to_owned(),
        });
        Self {
            sessions: sessions.collect(),
            is_connected: report.is_connected,
            since_ns: report.since_ns,
            as_number: report.as_number,
            router_id: report.router_id,
            trouble: report.trouble,
            counts: report.counts,
        }
    }
}

const fn state(state: SessionState) -> &'static str {
    match state {
        SessionState::Unknown => "unknown",
        SessionState::Idle => "idle",
        SessionState::Connect => "connect",
        SessionState::Active => "active",
        SessionState::OpenSent => "open-sent",
        SessionState::OpenConfirm => "open-confirm",
        SessionState::Established => "established",
    }
}
