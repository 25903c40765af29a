//! What shall hold in the network without a promise (S1-7).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An intent that was accepted; never given twice in the life of a network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(with = "u32")]
pub struct IntentId(pub u32);

/// How far an intent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
#[schemars(rename = "IntentStateDocument")]
pub enum IntentState {
    /// Every switch has confirmed its rules.
    Installed,
    /// Some have not yet.
    Installing,
    /// The network does not let it hold now.
    Waiting {
        /// Why.
        reason: String,
    },
    /// Switches refuse rules of it; they are asked again.
    Failed {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for IntentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installed => f.write_str("installed"),
            Self::Installing => f.write_str("installing"),
            Self::Waiting { reason } => write!(f, "waiting: {reason}"),
            Self::Failed { reason } => write!(f, "failed: {reason}"),
        }
    }
}
