//! What the page is made of: the network and its promises at one moment, and what is seen
//! of them since.

use api::topology::Topology;
use api::{FlowHops, FlowId, LinkEnds, ModeReport, Promise, Travels};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::openflow::{DatapathId, PortNumber};

use super::InstanceDocument;
use crate::web::gate::Role;

/// Who asks, and what that one may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallerDocument {
    /// The name that the audit log shows.
    pub name: String,
    /// What it may do; each role may do what those before it may.
    pub role: Role,
}

/// Everything that the page shows at first. What happens behind `event` is news.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageDocument {
    /// When this was so, in nanoseconds since the beginning of 1970.
    #[serde(rename = "at_ns")]
    #[schemars(with = "u64")]
    pub at: Instant,
    /// The number of the last event before.
    pub event: u64,
    /// Which controller this is.
    pub instance: InstanceDocument,
    /// Switches, links and hosts.
    pub topology: Topology,
    /// Where they stand on the map.
    pub layout: LayoutDocument,
    /// Whether links can be cut and healed by hand: in a run with real frames.
    pub cables: bool,
    /// The flows, by number.
    pub flows: Vec<FlowRow>,
    /// What switches have seen of them.
    pub observed: ObservedDocument,
    /// The criticality mode, if the network has any.
    pub mode: Option<Box<ModeReport>>,
}

/// Where switches and hosts stand on the map, in the order of the topology: from the left
/// and from the top, a thousand for the length of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutDocument {
    /// Of each switch.
    pub switches: Vec<[i32; 2]>,
    /// Of each host.
    pub hosts: Vec<[i32; 2]>,
}

/// A flow as the page lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRow {
    /// Its number.
    pub id: FlowId,
    /// Its name.
    pub name: String,
    /// The queue in which it travels.
    pub class: u8,
    /// The host that sends.
    pub source: String,
    /// The hosts that receive.
    pub destinations: Vec<String>,
    /// How late a frame may be; nothing for best effort.
    pub deadline_ns: Option<u64>,
    /// How late a frame is at most; nothing for best effort.
    pub guarantee_ns: Option<u64>,
    /// The rate that is reserved.
    pub rate_bps: u64,
    /// How its promise stands.
    #[serde(flatten)]
    pub promise: Promise,
    /// Which way it takes.
    pub travels: Travels,
    /// The links of the way that it takes now.
    pub links: Vec<LinkEnds>,
    /// Other links that it may take when one of those breaks.
    pub backup: Vec<LinkEnds>,
}

/// What switches have seen of frames. As a server-sent event of the kind `observed`, what
/// of it is other than before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedDocument {
    /// When, in nanoseconds since the beginning of 1970.
    #[serde(rename = "at_ns")]
    #[schemars(with = "u64")]
    pub at: Instant,
    /// Of flows.
    pub flows: Vec<SeenFlow>,
    /// Of ports.
    pub ports: Vec<SeenPort>,
}

/// A flow: its number; the longest that a frame may have been on its way, in nanoseconds, if
/// every hop has said something; frames at the hop that has seen most; how often one stayed
/// longer than a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenFlow(
    pub FlowId,
    #[schemars(with = "Option<u64>")] pub Option<Duration>,
    pub u64,
    pub u64,
);

impl SeenFlow {
    #[must_use]
    pub fn of(flow: &FlowHops) -> Self {
        let seen = || flow.hops.iter().filter_map(|hop| hop.seen);
        let frames = seen().map(|it| it.frames).max().unwrap_or_default();
        let above = seen().fold(0_u64, |sum, it| sum.saturating_add(it.above));
        Self(flow.id, flow.observed, frames, above)
    }
}

/// A port: the switch, its number, the longest stay of a frame that left by it, and its
/// budget, both in nanoseconds, of the flow that has used most of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenPort(
    #[schemars(with = "String")] pub DatapathId,
    #[schemars(with = "u32")] pub PortNumber,
    #[schemars(with = "u64")] pub Duration,
    #[schemars(with = "u64")] pub Duration,
);

impl SeenPort {
    /// Returns how many millionths of the budget were used.
    #[must_use]
    pub fn share(&self) -> u128 {
        u128::from(self.2.as_ns()) * 1_000_000 / u128::from(self.3.as_ns().max(1))
    }
}

/// A day of a flow, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryDocument {
    /// Its name.
    pub name: String,
    /// How long an interval is.
    #[serde(rename = "interval_ns")]
    #[schemars(with = "u64")]
    pub interval: Duration,
    /// The intervals of which something is known, the latest last.
    pub moments: Vec<FlowMoment>,
}

/// All flows in the interval of one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MomentDocument {
    /// The beginning of the interval, in nanoseconds since the beginning of 1970.
    #[serde(rename = "at_ns")]
    #[schemars(with = "u64")]
    pub at: Instant,
    /// The flows of which something is known.
    pub flows: Vec<FlowMoment>,
}

/// A flow in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowMoment {
    /// Its number.
    pub id: FlowId,
    /// Its name, where several are told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The beginning of the interval, in nanoseconds since the beginning of 1970.
    #[serde(rename = "at_ns")]
    #[schemars(with = "u64")]
    pub at: Instant,
    /// The longest that a frame may have been on its way until its end.
    #[serde(rename = "observed_ns")]
    #[schemars(with = "Option<u64>")]
    pub observed: Option<Duration>,
    /// What was promised.
    #[serde(rename = "guarantee_ns")]
    #[schemars(with = "Option<u64>")]
    pub guarantee: Option<Duration>,
}
