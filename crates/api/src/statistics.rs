//! What the controller counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CountersDocument")]
pub struct Counters {
    /// Messages that could be read.
    pub messages: u64,
    /// Messages that could not.
    pub bad_messages: u64,
    /// Frames that switches handed over.
    #[serde(default)]
    pub packet_ins: u64,
    /// Frames beyond the budget of their switch.
    pub punts_dropped: u64,
    /// Frames of hosts that would have been flooded, beyond the budget of their switch.
    #[serde(default)]
    pub floods_dropped: u64,
    /// Stations that reactive forwarding did not learn, or forgot before their time, for
    /// want of room.
    #[serde(default)]
    pub stations_displaced: u64,
    /// Frames from elsewhere with the address of a host that frames do not move.
    #[serde(default)]
    pub frames_contested: u64,
    /// LLDP frames that were no probes of this controller.
    pub foreign_probes: u64,
    /// Connections that were closed for what their peer did.
    pub closed: u64,
}
