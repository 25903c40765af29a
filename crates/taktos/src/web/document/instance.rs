//! Which controller answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which controller answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceDocument {
    /// What it is called.
    pub id: String,
    /// The version of the program.
    pub version: String,
    /// Since when it runs, in nanoseconds since the beginning of 1970.
    pub since_ns: u64,
    /// Whether all that its store kept is known: it decides on requests.
    pub ready: bool,
}
