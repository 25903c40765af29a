//! What was changed over the interface.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The last changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditDocument {
    /// The latest last.
    pub entries: Vec<AuditEntry>,
    /// Requests of those who were not let in, or have not the role: the first few of each
    /// second and name, the latest last.
    #[serde(default)]
    pub refused: Vec<AuditEntry>,
    /// How many such requests were too many to be noted, since the controller runs.
    #[serde(default)]
    pub refused_left_out: u64,
}

/// A request that was to change something, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// When it was answered, in nanoseconds since the beginning of 1970.
    pub at_ns: u64,
    /// Who asked: the name of the token, or `local`, or that it was nobody known.
    pub by: String,
    /// What was asked, as in `admit-flows`.
    pub operation: String,
    /// The path that it was asked on.
    pub path: String,
    /// The names of what was to be changed, the first of them if they are many.
    pub about: Vec<String>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The code of the problem, if there was one.
    pub code: Option<String>,
}
