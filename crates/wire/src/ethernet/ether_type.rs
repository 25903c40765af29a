//! What a frame carries.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of a frame's payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EtherType(pub u16);

impl EtherType {
    /// Internet Protocol version 4.
    pub const IPV4: Self = Self(0x0800);
    /// Address Resolution Protocol.
    pub const ARP: Self = Self(0x0806);
    /// The mode of a network, MC-SDN section V-B.
    pub const MODE_SIGNAL: Self = Self(0x0f00);
    /// Bidirectional Forwarding Detection between our switches, right behind the Ethernet
    /// header; the type next to that of the mode.
    pub const BFD: Self = Self(0x0f01);
    /// A customer VLAN tag follows (IEEE 802.1Q).
    pub const VLAN: Self = Self(0x8100);
    /// Internet Protocol version 6.
    pub const IPV6: Self = Self(0x86dd);
    /// MPLS, unicast.
    pub const MPLS: Self = Self(0x8847);
    /// MPLS, upstream-assigned label.
    pub const MPLS_UPSTREAM: Self = Self(0x8848);
    /// A service VLAN tag follows (IEEE 802.1ad).
    pub const SERVICE_VLAN: Self = Self(0x88a8);
    /// Generic Object Oriented Substation Events (IEC 61850-8-1).
    pub const GOOSE: Self = Self(0x88b8);
    /// Sampled Values (IEC 61850-9-2).
    pub const SAMPLED_VALUES: Self = Self(0x88ba);
    /// For experiments of one's own, first value (IEEE 802 clause 9.2.4).
    pub const LOCAL_EXPERIMENTAL_1: Self = Self(0x88b5);
    /// For experiments of one's own, second value (IEEE 802 clause 9.2.4).
    pub const LOCAL_EXPERIMENTAL_2: Self = Self(0x88b6);
    /// Supervision of the Parallel Redundancy Protocol, and the end of its trailer (IEC
    /// 62439-3).
    pub const PRP: Self = Self(0x88fb);
    /// Link Layer Discovery Protocol (IEEE 802.1AB).
    pub const LLDP: Self = Self(0x88cc);
    /// A backbone service tag follows (IEEE 802.1ah).
    pub const PROVIDER_BACKBONE: Self = Self(0x88e7);
    /// A redundancy tag follows (IEEE 802.1CB).
    pub const REDUNDANCY_TAG: Self = Self(0xf1c1);

    /// Tells whether a VLAN tag follows.
    #[must_use]
    pub const fn is_vlan(self) -> bool {
        self.0 == Self::VLAN.0 || self.0 == Self::SERVICE_VLAN.0
    }

    /// Tells whether an MPLS header follows.
    #[must_use]
    pub const fn is_mpls(self) -> bool {
        self.0 == Self::MPLS.0 || self.0 == Self::MPLS_UPSTREAM.0
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
