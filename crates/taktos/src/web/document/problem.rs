//! What is answered when something cannot be done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of every answer whose status is 400 or above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemDocument {
    /// What is wrong.
    pub error: ProblemBody,
}

/// What is wrong, for programs and for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemBody {
    /// A word that never changes its meaning, as in `unknown-flow`.
    pub code: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do about it, if there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}
