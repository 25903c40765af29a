//! In which mode the network is, and how that is changed.

use api::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In which mode the network is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModeDocument {
    /// The names of the levels, the lowest first.
    pub levels: Vec<String>,
    /// Who changes the level: `taktos` (the switches), `std-sdn` (the controller) or
    /// `mc-agnostic` (nobody).
    pub strategy: Strategy,
    /// The level that is agreed on.
    pub level: String,
    /// How often it was lowered.
    pub era: u32,
    /// The switch where it began, if one has said so.
    pub origin: Option<String>,
    /// Whether violations are kept from raising it.
    pub locked: bool,
    /// The level that was forced, while it is.
    pub forced: Option<String>,
    /// How long all flows have to be quiet before it falls; nothing if it does not by
    /// itself.
    pub hold_ns: Option<u64>,
    /// What a switch serves while the level agreed on is not complete there.
    pub default: String,
    /// The switches.
    pub switches: Vec<SwitchModeDocument>,
}

/// What a switch holds of the mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchModeDocument {
    /// Its name.
    pub name: String,
    /// What it said last; nothing if it knows no modes or has not answered.
    pub holds: Option<HeldModeDocument>,
}

/// What a switch said of the mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldModeDocument {
    /// The level that is agreed on, as far as it knows.
    pub level: String,
    /// How often that was lowered.
    pub era: u32,
    /// The level that it serves.
    pub served: String,
    /// The levels whose entries are all there.
    pub complete: Vec<String>,
    /// How long ago a flow of it last demanded more, if one did.
    pub quiet_ns: Option<u64>,
    /// Frames that waited in its queues.
    pub waiting: u64,
    /// Modes that it has entered.
    pub entered: u64,
    /// Demands of its flows for more than the lowest level.
    pub demanded: u64,
    /// Signals that did not count: forged, by the wrong port, not from the other end of
    /// the cable, or of no known form.
    pub signals_refused: u64,
    /// Queued frames that changes of mode dropped.
    pub queued_dropped: u64,
    /// Queued frames that changes of mode moved to another queue.
    pub queued_moved: u64,
}
