//! Questions for paths through the network.

use units::Delay;

use super::{Endpoint, PathWish, Traffic};
use crate::place::LinkEnds;

/// The most paths that one question is answered with.
pub const MAX_PATHS: usize = 64;

/// A question for paths from one place to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathQuery {
    pub from: Endpoint,
    pub to: Endpoint,
    /// How they relate to each other.
    pub wish: PathWish,
    /// How many, or at most how many shortest ones.
    pub count: usize,
    pub avoid: Vec<LinkEnds>,
    /// What there must be room for on each of them, if anything.
    pub load: Option<PathLoad>,
}

/// What there must be room for on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathLoad {
    /// The queue in which it would travel, 1 to 7.
    pub class: u8,
    pub traffic: Traffic,
    /// How late a frame may be.
    pub deadline: Delay,
}

/// Why there is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPath {
    /// Nobody knows a host of this name, or where it is.
    #[error("nobody knows where host {name} is")]
    UnknownHost { name: String },
    #[error("there is no port {port}")]
    UnknownPort { port: String },
    /// The network does not lead there, or not often enough.
    #[error("{found} of {wanted} paths exist")]
    TooFew {
        found: usize,
        /// How many were asked for.
        wanted: usize,
    },
    /// No path has room for the load.
    #[error("no path has room: {reason}")]
    NoRoom { reason: String },
}
