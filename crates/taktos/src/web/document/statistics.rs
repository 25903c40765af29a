//! What the controller counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the controller counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsDocument {
    /// Of all switches together.
    pub counters: CountersDocument,
    /// The frames that switches have handed over, by class.
    pub frames: Vec<ClassDocument>,
    /// The switches that are connected.
    pub switches: Vec<SwitchStatisticsDocument>,
}

/// What was counted of one switch since it is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchStatisticsDocument {
    /// Its datapath id.
    pub datapath: String,
    /// Its name.
    pub name: String,
    /// The frames that it has handed over, by class.
    pub frames: Vec<ClassDocument>,
}

/// The frames of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClassDocument {
    /// Its name, as in `unicast`.
    pub class: String,
    /// Those that were taken.
    pub taken: u64,
    /// Those beyond the budget of their class.
    pub dropped: u64,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountersDocument {
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
