//! Criticality modes (S2-11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;
use wire::openflow::taktos::ModeCounters;

/// In which mode the network is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ModeDocument")]
pub struct ModeReport {
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
    #[serde(rename = "hold_ns")]
    #[schemars(with = "Option<u64>")]
    pub hold: Option<Duration>,
    /// What a switch serves while the level agreed on is not complete there.
    pub default: String,
    /// The switches.
    pub switches: Vec<SwitchMode>,
}

/// What a switch holds of the mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SwitchModeDocument")]
pub struct SwitchMode {
    /// Its name.
    pub name: String,
    /// What it said last; nothing if it knows no modes or has not answered.
    pub holds: Option<HeldMode>,
}

/// What a switch said of the mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HeldModeDocument")]
pub struct HeldMode {
    /// The level that is agreed on, as far as it knows.
    pub level: String,
    /// How often that was lowered.
    pub era: u32,
    /// The level that it serves.
    pub served: String,
    /// The levels whose entries are all there.
    pub complete: Vec<String>,
    /// How long ago a flow of it last demanded more, if one did.
    #[serde(rename = "quiet_ns")]
    #[schemars(with = "Option<u64>")]
    pub quiet: Option<Duration>,
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
    /// All that it has counted.
    #[serde(skip)]
    pub counters: ModeCounters,
}

/// How the mode is to be changed: exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ModeChangeDocument")]
pub enum ModeChange {
    /// The network goes to this level, whatever flows demand, and stays there until it
    /// is lowered or unlocked.
    Force(String),
    /// The network goes back to this level, if all flows were quiet.
    Lower(String),
    /// Violations raise the level (`false`) or do not (`true`).
    Locked(bool),
}

/// Who changes the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, with = "String")]
pub enum Strategy {
    /// The switches, with entries that stand beforehand.
    Taktos,
    /// The controller, by writing entries anew: the baseline of MC-SDN.
    StdSdn,
    /// Nobody: the baseline that knows no modes.
    McAgnostic,
}

impl Strategy {
    /// Returns its name, as scenarios and documents spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Taktos => "taktos",
            Self::StdSdn => "std-sdn",
            Self::McAgnostic => "mc-agnostic",
        }
    }
}
