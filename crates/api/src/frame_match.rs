//! Which frames are meant. In records as it stands here; documents say it flat.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::PortNumber;

use crate::flow::TransportProtocol;

/// Which frames an intent means. Fields that are `None` do not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameMatch {
    /// The port by which they come in.
    pub input: Option<PortNumber>,
    /// The address they come from.
    pub source: Option<MacAddress>,
    /// What is the same for flows.
    pub flow: FlowMatch,
}

/// The fields by which a flow's frames are recognised. Those that are `None` do
/// not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowMatch {
    /// What the frame carries.
    pub ether_type: Option<EtherType>,
    /// Where it goes: a host or a group.
    pub destination: Option<MacAddress>,
    /// The VLAN id of its tag.
    pub vlan: Option<u16>,
    /// The IPv4 address it comes from; implies the EtherType.
    pub ipv4_source: Option<Ipv4Addr>,
    /// The IPv4 address it goes to; implies the EtherType.
    pub ipv4_destination: Option<Ipv4Addr>,
    /// The transport protocol; implies IPv4.
    pub transport: Option<Transport>,
}

/// A transport protocol with its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// Which.
    pub protocol: TransportProtocol,
    /// The port it comes from.
    pub source: Option<u16>,
    /// The port it goes to.
    pub destination: Option<u16>,
}
