//! What shall hold in the network without a promise (S1-7).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::Asker;
use crate::flow::Route;

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

/// An intent in a list. What is to hold is of type `I`: what the controller goes by, or
/// what a document says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "IntentSummaryDocument")]
pub struct IntentSummary<I> {
    /// Its number.
    pub id: IntentId,
    /// Who wants it: `operator`, or the name of an application.
    pub owner: Asker,
    /// How far it is, and why it is no further.
    #[serde(flatten)]
    pub state: IntentState,
    /// The ways that its frames take: one for each direction.
    pub routes: Vec<Route>,
    /// How many rules it has on all switches.
    pub rules: usize,
    /// What is to hold.
    pub intent: I,
}

/// Whether what is said of a path is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ExtentDocument")]
pub enum Extent {
    /// It is: where a link of it breaks, frames wait.
    Full,
    /// The rest is found, and found anew when links break.
    Partial,
}
