//! Questions for paths through the network.

use units::Delay;

use super::{Endpoint, Route, Traffic};
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
    pub avoid: Vec<LinkEnds>,
    /// What there must be room for on each of them, if anything.
    pub load: Option<PathLoad>,
}

/// How the paths that are asked for relate to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathWish {
    /// The shortest ones without a loop, at most so many.
    Shortest(usize),
    /// So many that share no link; together as short as they can be.
    LinkDisjoint(usize),
    /// So many that share no switch but the first and the last; together as short
    /// as they can be.
    SwitchDisjoint(usize),
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPath {
    pub route: Route,
    /// What it costs: links, or picoseconds where the metric is delay.
    pub cost: u64,
    /// The delay that could be promised on it, if a load was named.
    pub guarantee: Option<Delay>,
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
