//! Hosts that are named while the controller runs.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::ethernet::MacAddress;

use crate::place::PortId;

/// A host that somebody names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticHost {
    pub name: String,
    pub mac: MacAddress,
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// Its port; learned from its first frame if absent.
    pub attachment: Option<PortId>,
}

/// Why a host cannot be named or removed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostRefusal {
    /// The name is that of another host.
    #[error("another host is called {name}")]
    NameTaken { name: String },
    /// The port is not there, or leads to a switch.
    #[error("port {port} is not there, or leads to a switch")]
    NoAccess { port: PortId },
    #[error("there are {limit} hosts, and there cannot be more")]
    TooMany { limit: usize },
    /// Flows begin or end there.
    #[error("flow {flow} begins or ends at {name}: withdraw it first")]
    InUse { name: String, flow: String },
}
