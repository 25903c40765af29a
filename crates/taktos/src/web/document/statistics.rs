//! What the controller counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the controller counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsDocument {
    /// Of all switches together.
    pub counters: CountersDocument,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountersDocument {
    /// Messages that could be read.
    pub messages: u64,
    /// Messages that could not.
    pub bad_messages: u64,
    /// Frames beyond the budget of their switch.
    pub punts_dropped: u64,
    /// LLDP frames that were no probes of this controller.
    pub foreign_probes: u64,
    /// Connections that were closed for what their peer did.
    pub closed: u64,
}
