//! What is done with a frame, checked and ready to be executed.
//!
//! Plain data: a controller's actions and instructions are turned into this
//! when an entry is added, so that nothing has to be parsed, looked up or
//! refused when a frame comes. OF13 clauses 5.9 to 5.12.

use wire::ethernet::MacAddress;
use wire::openflow::TableId;

use crate::group_table::GroupIndex;
use crate::meter_table::MeterIndex;
use crate::packet_key::{PROTO_ICMP, PROTO_ICMPV6, PROTO_TCP, PROTO_UDP};
use crate::port::PortIndex;

/// How many actions a list may have.
pub(crate) const ACTIONS_MAX: usize = 64;

/// One action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send the frame as it is now.
    Output(Target),
    /// Choose the queue of later outputs, 7 being the most urgent.
    SetQueue(u8),
    /// Put a VLAN tag with this EtherType in front of all others.
    PushVlan(u16),
    /// Take the first VLAN tag away.
    PopVlan,
    /// Set the time to live or hop limit.
    SetTtl(u8),
    /// Count the time to live or hop limit down; the frame ends at zero.
    DecrementTtl,
    /// Overwrite a header field.
    SetField(FieldValue),
    /// Send a copy of the frame through a group.
    Group(GroupIndex),
}

impl Action {
    /// Returns the group that the action sends frames to.
    pub(crate) const fn group(&self) -> Option<GroupIndex> {
        if let Self::Group(group) = self {
            return Some(*group);
        }
        None
    }
}

/// Where a frame can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Out of a port, unless it came from there.
    Port(PortIndex),
    /// Back out of the port it came from.
    InPort,
    /// Out of every port but the one it came from.
    Flood,
    /// To the controllers.
    Controller,
    /// Through the tables; only in a packet-out.
    Tables,
}

/// A header field with its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValue {
    EthDst(MacAddress),
    EthSrc(MacAddress),
    VlanVid(u16),
    VlanPcp(u8),
    IpDscp(u8),
    IpEcn(u8),
    Ipv4Src([u8; 4]),
    Ipv4Dst([u8; 4]),
    Ipv6Src([u8; 16]),
    Ipv6Dst([u8; 16]),
    Ipv6FlowLabel(u32),
    /// Source port of a transport protocol, or type of ICMP.
    L4Src(Transport, u16),
    /// Destination port of a transport protocol, or code of ICMP.
    L4Dst(Transport, u16),
    ArpOp(u16),
    ArpSpa([u8; 4]),
    ArpTpa([u8; 4]),
    ArpSha(MacAddress),
    ArpTha(MacAddress),
}

/// The protocols of layer 4 whose headers can be rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
    Icmp,
    Icmpv6,
}

impl Transport {
    /// Returns the number of the protocol.
    pub(crate) const fn protocol(self) -> u8 {
        match self {
            Self::Tcp => PROTO_TCP,
            Self::Udp => PROTO_UDP,
            Self::Icmp => PROTO_ICMP,
            Self::Icmpv6 => PROTO_ICMPV6,
        }
    }
}

/// What an entry does with a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// Which meter judges the frame before anything is done with it.
    pub(crate) meter: Option<MeterIndex>,
    /// Executed at once, in order.
    pub(crate) apply: Box<[Action]>,
    /// Whether the action set is emptied.
    pub(crate) clear: bool,
    /// Put into the action set.
    pub(crate) write: Box<[Action]>,
    /// New bits of the metadata.
    pub(crate) metadata: Option<MetadataChange>,
    /// Which table comes next; if none, the action set is executed.
    pub(crate) goto: Option<TableId>,
}

/// Which bits of the metadata get which value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetadataChange {
    pub(crate) value: u64,
    pub(crate) mask: u64,
}

impl MetadataChange {
    pub(crate) const fn applied_to(self, metadata: u64) -> u64 {
        (metadata & !self.mask) | (self.value & self.mask)
    }
}

impl Program {
    /// Returns whether it sends frames to a group.
    pub(crate) fn sends_to(&self, group: GroupIndex) -> bool {
        let wanted = Action::Group(group);
        self.apply.contains(&wanted) || self.write.contains(&wanted)
    }

    /// Returns the groups that it sends frames to, each once.
    pub(crate) fn groups(&self) -> Vec<GroupIndex> {
        let actions = self.apply.iter().chain(&self.write);
        let mut groups: Vec<_> = actions.filter_map(Action::group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }
}
