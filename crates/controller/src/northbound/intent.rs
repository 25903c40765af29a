//! What applications program beside flows with a promise: connectivity, flow
//! paths, match and action (S1-7). Nothing is reserved for an intent: it travels
//! with best effort.

use super::{Intent, IntentId};

/// The most intents at a time.
pub const MAX_INTENTS: usize = 1 << 16;
/// The most places through which one flow path is led.
pub const MAX_WAYPOINTS: usize = 64;

/// Whether an intent is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntentDecision {
    /// It is, and holds as soon and as long as the network lets it.
    Accepted {
        id: IntentId,
        name: String,
    },
    Refused {
        name: String,
        reason: IntentRefusal,
    },
}

/// Why an intent is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntentRefusal {
    /// Another intent has its name.
    #[error("another intent is called {name}")]
    NameTaken { name: String },
    #[error("there are {limit} intents, and there cannot be more")]
    TooMany { limit: usize },
    /// Nobody knows a host of this name.
    #[error("host {name} is not known")]
    UnknownHost { name: String },
    #[error("{0}")]
    Senseless(&'static str),
    /// The store did not keep it.
    #[error("the store could not keep it")]
    NotStored,
    /// Its frames are claimed by rules of somebody else, at the same priority.
    #[error("{owner} has rules for the same frames at switch {datapath:x}, with the same priority")]
    Conflict { owner: String, datapath: u64 },
}

/// An intent in a list.
pub type IntentSummary = api::IntentSummary<Intent>;
