//! What the controller counted.

use api::Counters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::openflow::DatapathId;

/// What the controller counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsDocument {
    /// Of all switches together.
    pub counters: Counters,
    /// The frames that switches have handed over, by class.
    pub frames: Vec<ClassDocument>,
    /// The switches that are connected.
    pub switches: Vec<SwitchStatisticsDocument>,
}

/// What was counted of one switch since it is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchStatisticsDocument {
    /// Its datapath id.
    #[schemars(with = "String")]
    pub datapath: DatapathId,
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
