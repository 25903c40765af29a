//! What is done with a frame, checked and ready to be executed.
//!
//! Plain data: a controller's actions and instructions are turned into this
//! when an entry is added, so that nothing has to be parsed, looked up or
//! refused when a frame comes. OF13 clauses 5.9 to 5.12.

use std::sync::Arc;

use wire::ethernet::MacAddress;
use wire::openflow::oxm::FieldKind;
use wire::openflow::taktos::{
    Eliminate, MonitorId, Police, QueuedFrameActions, StreamHandle, TrailerAction,
};
use wire::openflow::{ControllerLength, TableId};

use crate::group_table::GroupIndex;
use crate::headers::{PROTO_ICMP, PROTO_ICMPV6, PROTO_SCTP, PROTO_TCP, PROTO_UDP};
use crate::meter_table::MeterIndex;
use crate::port::PortIndex;

/// How many actions a list may have.
pub(crate) const ACTIONS_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send the frame as it is now.
    Output(Target),
    /// Choose the queue of later outputs, 7 being the most urgent.
    SetQueue(u8),
    /// Put a tag in front of its like.
    Push(Push),
    /// Put a VLAN tag in front if there is none, OF10 section 3.3.
    EnsureTag,
    /// Take the first tag of its kind away.
    Pop(Pop),
    /// Set a time to live.
    SetTtl(Layer, u8),
    /// Count a time to live down; the frame ends at zero.
    DecrementTtl(Layer),
    /// Copy the time to live between the two outermost headers that have one.
    CopyTtl(Direction),
    SetField(FieldValue),
    /// Send a copy of the frame through a group.
    Group(GroupIndex),
    /// Show the frame to a monitor.
    FlowMonitor(MonitorId),
    /// Take the frame for a signal of a mode; it ends.
    ModeArrange,
    /// Say what becomes of the frame while it waits in a queue.
    QueuedFrame(QueuedFrameActions),
    /// Give the frame the next number of a stream.
    Sequence(StreamHandle),
    /// End the frame if a copy of it was handed on before.
    Eliminate(Eliminate),
    /// Number the frame in a trailer of PRP, or change that trailer.
    Trailer(TrailerAction),
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

/// A tag to put on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// A VLAN tag of this EtherType.
    Vlan(u16),
    /// An MPLS header of this EtherType.
    Mpls(u16),
    /// A backbone service tag with addresses of its own.
    Backbone,
    /// A redundancy tag with this number.
    Redundancy(u16),
}

/// A tag to take off a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pop {
    Vlan,
    /// The first MPLS header; what follows it is of this EtherType.
    Mpls(u16),
    Backbone,
    Redundancy,
}

/// Which header's time to live is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Mpls,
    /// IPv4 or IPv6, whose time to live is called hop limit.
    Network,
}

/// Which way a time to live is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the outermost header to the next.
    Inwards,
    /// From the next header to the outermost.
    Outwards,
}

/// Where a frame can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Out of a port, unless it came from there.
    Port(PortIndex),
    /// Back out of the port it came from.
    InPort,
    /// Out of every port but the one it came from.
    All,
    /// The same, but for ports that are closed to floods, as version 1.0 can.
    Flood,
    /// Where a bridge would send it.
    Normal,
    /// To the controllers: so much of it, or all.
    Controller(ControllerLength),
    /// Through the tables; only in a packet-out.
    Tables,
}

impl Target {
    /// Returns whether both are the same place, however much of a frame is
    /// wanted there.
    pub(crate) fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Controller(_), Self::Controller(_)) => true,
            (one, other) => one == other,
        }
    }
}

/// A header field with its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValue {
    EthDst(MacAddress),
    EthSrc(MacAddress),
    EthType(u16),
    VlanVid(u16),
    VlanPcp(u8),
    IpDscp(u8),
    IpEcn(u8),
    IpProto(u8),
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
    NdTarget([u8; 16]),
    NdSourceLinkLayer(MacAddress),
    NdTargetLinkLayer(MacAddress),
    MplsLabel(u32),
    MplsTc(u8),
    MplsBos(u8),
    PbbIsid([u8; 3]),
    /// No header has it: later tables see it.
    TunnelId(u64),
}

impl FieldValue {
    /// Returns the number of the field, OF13 clause 7.2.3.7: no two values of
    /// one field stand in an action set, and sets execute in this order.
    pub(crate) const fn number(self) -> u8 {
        let kind = match self {
            Self::EthDst(_) => FieldKind::EthDst,
            Self::EthSrc(_) => FieldKind::EthSrc,
            Self::EthType(_) => FieldKind::EthType,
            Self::VlanVid(_) => FieldKind::VlanVid,
            Self::VlanPcp(_) => FieldKind::VlanPcp,
            Self::IpDscp(_) => FieldKind::IpDscp,
            Self::IpEcn(_) => FieldKind::IpEcn,
            Self::IpProto(_) => FieldKind::IpProto,
            Self::Ipv4Src(_) => FieldKind::Ipv4Src,
            Self::Ipv4Dst(_) => FieldKind::Ipv4Dst,
            Self::Ipv6Src(_) => FieldKind::Ipv6Src,
            Self::Ipv6Dst(_) => FieldKind::Ipv6Dst,
            Self::Ipv6FlowLabel(_) => FieldKind::Ipv6Flabel,
            Self::L4Src(Transport::Tcp, _) => FieldKind::TcpSrc,
            Self::L4Dst(Transport::Tcp, _) => FieldKind::TcpDst,
            Self::L4Src(Transport::Udp, _) => FieldKind::UdpSrc,
            Self::L4Dst(Transport::Udp, _) => FieldKind::UdpDst,
            Self::L4Src(Transport::Sctp, _) => FieldKind::SctpSrc,
            Self::L4Dst(Transport::Sctp, _) => FieldKind::SctpDst,
            Self::L4Src(Transport::Icmp, _) => FieldKind::Icmpv4Type,
            Self::L4Dst(Transport::Icmp, _) => FieldKind::Icmpv4Code,
            Self::L4Src(Transport::Icmpv6, _) => FieldKind::Icmpv6Type,
            Self::L4Dst(Transport::Icmpv6, _) => FieldKind::Icmpv6Code,
            Self::ArpOp(_) => FieldKind::ArpOp,
            Self::ArpSpa(_) => FieldKind::ArpSpa,
            Self::ArpTpa(_) => FieldKind::ArpTpa,
            Self::ArpSha(_) => FieldKind::ArpSha,
            Self::ArpTha(_) => FieldKind::ArpTha,
            Self::NdTarget(_) => FieldKind::Ipv6NdTarget,
            Self::NdSourceLinkLayer(_) => FieldKind::Ipv6NdSll,
            Self::NdTargetLinkLayer(_) => FieldKind::Ipv6NdTll,
            Self::MplsLabel(_) => FieldKind::MplsLabel,
            Self::MplsTc(_) => FieldKind::MplsTc,
            Self::MplsBos(_) => FieldKind::MplsBos,
            Self::PbbIsid(_) => FieldKind::PbbIsid,
            Self::TunnelId(_) => FieldKind::TunnelId,
        };
        kind.number()
    }
}

/// The protocols of layer 4 whose headers can be rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
    Sctp,
    Icmp,
    Icmpv6,
}

impl Transport {
    /// Returns the number of the protocol.
    pub(crate) const fn protocol(self) -> u8 {
        match self {
            Self::Tcp => PROTO_TCP,
            Self::Udp => PROTO_UDP,
            Self::Sctp => PROTO_SCTP,
            Self::Icmp => PROTO_ICMP,
            Self::Icmpv6 => PROTO_ICMPV6,
        }
    }

    /// Returns the one that has this number.
    pub(crate) fn of_protocol(number: u8) -> Option<Self> {
        let all = [Self::Tcp, Self::Udp, Self::Sctp, Self::Icmp, Self::Icmpv6];
        all.into_iter().find(|it| it.protocol() == number)
    }
}

/// What an entry does with a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// Which meter judges the frame before anything is done with it. One that polices is
    /// the entry's own, and there as long as an entry holds it.
    pub(crate) meter: Option<MeterIndex>,
    /// The contract that the meter polices, if it is the entry's own.
    pub(crate) police: Option<Police>,
    /// Executed at once, in order.
    pub(crate) apply: Arc<[Action]>,
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
    /// Returns whether nothing but the action set follows an action that is
    /// executed at once.
    pub(crate) fn ends_with(&self, action: usize) -> bool {
        action + 1 == self.apply.len() && self.goto.is_none() && self.write.is_empty()
    }

    /// Returns whether it sends frames to a group.
    pub(crate) fn sends_to(&self, group: GroupIndex) -> bool {
        let wanted = Action::Group(group);
        self.apply.contains(&wanted) || self.write.contains(&wanted)
    }

    /// Returns the monitors that it shows frames to.
    pub(crate) fn monitors(&self) -> impl Iterator<Item = MonitorId> {
        let actions = self.apply.iter().chain(&self.write);
        actions.filter_map(|action| match action {
            Action::FlowMonitor(id) => Some(*id),
            Action::Output(_)
            | Action::SetQueue(_)
            | Action::Push(_)
            | Action::EnsureTag
            | Action::Pop(_)
            | Action::SetTtl(..)
            | Action::DecrementTtl(_)
            | Action::CopyTtl(_)
            | Action::SetField(_)
            | Action::Group(_)
            | Action::ModeArrange
            | Action::QueuedFrame(_)
            | Action::Sequence(_)
            | Action::Eliminate(_)
            | Action::Trailer(_) => None,
        })
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
