//! Criticality modes (S2-11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
#[schemars(with = "String")]
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
