//! The network as one router among others, as JSON: routes, and the speaker.

use std::net::IpAddr;

use api::{IpPrefix, RoutedPrefix, RoutingStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::speaker::{SessionState, SpeakerReport};

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
    pub counts: SpeakerCountsDocument,
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

/// What was counted of what the daemon tells, since the controller was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpeakerCountsDocument {
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

impl From<SpeakerReport> for SpeakerDocument {
    fn from(report: SpeakerReport) -> Self {
        let sessions = report.sessions().map(|(peer, session)| SessionDocument {
            peer,
            as_number: session.as_number,
            state: state(session.state).to_owned(),
        });
        let counts = report.counts;
        Self {
            sessions: sessions.collect(),
            is_connected: report.is_connected,
            since_ns: report.since_ns,
            as_number: report.as_number,
            router_id: report.router_id,
            trouble: report.trouble,
            counts: SpeakerCountsDocument {
                connections: counts.connections,
                lists: counts.lists,
                paths: counts.paths,
                other_families: counts.other_families,
                unreadable_paths: counts.unreadable_paths,
                unusable_next_hops: counts.unusable_next_hops,
                refused_routes: counts.refused_routes,
                failed_requests: counts.failed_requests,
            },
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
