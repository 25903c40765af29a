//! How what the controller tells travels together with its replies.

use units::Instant;

use super::{Event, Reply, RequestId};

/// Something that the controller said, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub at: Instant,
    pub what: Saying,
}

/// What a controller says to those around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saying {
    Notice(Event),
    /// The answer to a request.
    Reply(RequestId, Reply),
}
