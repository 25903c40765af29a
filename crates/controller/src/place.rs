//! Names of ports and links that survive a restart.
//!
//! The view numbers what it knows by small integers in the order of discovery.
//! What is stored, compared between instances or shown to people must not
//! depend on that order, and names a port by its switch's datapath id instead.

use std::fmt;

use wire::openflow::{DatapathId, PortNumber};

/// One port of one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId {
    pub datapath: DatapathId,
    /// The port of that switch.
    pub port: PortNumber,
}

impl PortId {
    /// Returns the port `port` of the switch `datapath`.
    #[must_use]
    pub const fn new(datapath: DatapathId, port: PortNumber) -> Self {
        Self { datapath, port }
    }
}

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{}", self.datapath.0, self.port.0)
    }
}

/// The two ports that a link joins, the lower first: a link has no direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkEnds {
    lower: PortId,
    higher: PortId,
}

impl LinkEnds {
    /// Returns the link between two ports, in whichever order they are given.
    #[must_use]
    pub fn new(one: PortId, other: PortId) -> Self {
        Self {
            lower: one.min(other),
            higher: one.max(other),
        }
    }

    /// Returns both ends, the lower first.
    #[must_use]
    pub const fn both(self) -> [PortId; 2] {
        [self.lower, self.higher]
    }

    /// Returns the far end as seen from `port`, or `None` if the link does not
    /// end there.
    #[must_use]
    pub fn opposite(self, port: PortId) -> Option<PortId> {
        match port {
            port if port == self.lower => Some(self.higher),
            port if port == self.higher => Some(self.lower),
            _ => None,
        }
    }
}

impl fmt::Display for LinkEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.lower, self.higher)
    }
}
