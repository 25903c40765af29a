//! What deadlines leave to spare, as documents say it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What deadlines leave to spare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoomDocument {
    /// How many times as long as stated all switches may take, in thousandths, with every
    /// deadline kept; 64,000 stands for more. Left out where nothing is promised, or
    /// budgets are fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown_thousandths: Option<u32>,
    /// The flows with a promise, the one that is late first at the head.
    pub flows: Vec<FlowRoomDocument>,
    /// The switches with a processor, the busiest at the head.
    pub switches: Vec<BusyDocument>,
    /// The same for people, a sentence each.
    pub sentences: Vec<String>,
}

/// What the deadline of a flow leaves to spare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRoomDocument {
    /// Its name.
    pub name: String,
    /// How many times as long as stated all switches may take, in thousandths, with it in
    /// time.
    pub slowdown_thousandths: u32,
}

/// How much of its time a switch may have to work, in thousandths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyDocument {
    /// Its name.
    pub switch: String,
    /// All together.
    pub busy_thousandths: u64,
    /// For traffic without promise.
    pub without_promise_thousandths: u64,
}
