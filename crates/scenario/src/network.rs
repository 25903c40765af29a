//! Switches, hosts and the links between them.

use std::net::Ipv4Addr;

use units::{BitRate, Delay};

use crate::{HostIndex, LinkIndex, ProfileIndex, SwitchIndex};

/// What runs on a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device {
    Taktos,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub name: String,
    /// Its OpenFlow datapath id; 1, 2, 3, … in order of declaration if not given.
    pub datapath_id: u64,
    pub device: Device,
    pub profile: ProfileIndex,
    /// Its links; the link at place `i` is plugged into port `i + 1`.
    pub ports: Vec<LinkIndex>,
    /// Where it stands, if the topology file says so.
    pub position: Option<Position>,
}

/// A place on a map, in millionths of a degree if it is one of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// From the left to the right.
    pub east: i32,
    /// From the bottom to the top.
    pub north: i32,
}

/// A host: it sends and receives, and forwards nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndHost {
    pub name: String,
    /// Its hardware address; locally administered and counted up if not given.
    pub mac: [u8; 6],
    /// Its network address in 10.0.0.0/8; counted up if not given.
    pub ip: Ipv4Addr,
    pub link: LinkIndex,
}

/// A full-duplex link between two ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name; the names of its ends joined by `-` if not given.
    pub name: String,
    /// Its two ends, at least one of them a switch.
    pub ends: [End; 2],
    /// How fast it is, in each direction.
    pub rate: BitRate,
    /// How long a bit travels.
    pub propagation: Delay,
}

impl Link {
    /// Returns the end at `node`, if it has one there.
    #[must_use]
    pub fn end_at(&self, node: Node) -> Option<End> {
        self.ends.into_iter().find(|end| end.node == node)
    }

    /// Returns the end that is not at `node`.
    #[must_use]
    pub fn end_opposite(&self, node: Node) -> End {
        match self.ends[0].node == node {
            true => self.ends[1],
            false => self.ends[0],
        }
    }
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The node that it is plugged into.
    pub node: Node,
    /// The port there, counted from 1 in order of the links' declaration. A
    /// host has port 1 only.
    pub port: u32,
}

/// A switch or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    Switch(SwitchIndex),
    Host(HostIndex),
}
