//! Checks actions on headers: that they make sense by themselves, and that the
//! frames of the entry have the headers that they are about.
//!
//! What the match demands of a frame is known, and what every action leaves
//! behind: after an MPLS header is popped the frame is of the type that the
//! action names. An action that needs more is refused with
//! `OFPBAC_MATCH_INCONSISTENT`, OF13 clauses 7.2.5 and 7.4.4. Any order of
//! actions is supported, so `OFPBAC_UNSUPPORTED_ORDER` never is an answer.

use wire::ethernet::EtherType;
use wire::openflow::{self, BadAction, MatchField};

use crate::action::{Action, Direction, FieldValue, Layer, Pop, Push, Transport};
use crate::flow_table::Rule;
use crate::headers::{
    ETHER_TYPE_MIN, NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION, PROTO_ICMPV6,
};
use crate::packet_key::{VLAN_PRESENT, field};

/// What is known about the frames that an action will see.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frames {
    /// Nothing: an action that does not fit does nothing.
    Any,
    /// All of them have these headers.
    With(Demands),
}

/// What a match demands, and actions leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demands {
    /// How many VLAN tags there are at least.
    tags: u8,
    ether_type: Option<EtherType>,
    protocol: Option<u8>,
    icmpv6_type: Option<u8>,
}

impl Frames {
    /// Returns the frames that an entry is for.
    pub(crate) fn matching(rule: &Rule) -> Self {
        let byte = |place| rule.required(place).and_then(|it| u8::try_from(it).ok());
        let ether_type = rule.required(field::ETH_TYPE);
        let ether_type = ether_type.and_then(|it| u16::try_from(it).ok());
        let protocol = byte(field::IP_PROTO);
        Self::With(Demands {
            tags: u8::from(rule.value.get(field::VLAN_VID) & VLAN_PRESENT != 0),
            ether_type: ether_type.map(EtherType),
            protocol,
            icmpv6_type: match protocol {
                Some(PROTO_ICMPV6) => byte(field::L4_SRC),
                Some(_) | None => None,
            },
        })
    }

    /// Returns an action on headers, ready to be executed, and takes note of
    /// what it does to the frames.
    ///
    /// # Errors
    ///
    /// With the specification's error for what is wrong with it.
    pub(crate) fn header_action(&mut self, action: openflow::Action) -> Result<Action, BadAction> {
        let action = compile(action)?;
        self.take(action)?;
        Ok(action)
    }

    /// Takes note of what an action does to the frames.
    ///
    /// # Errors
    ///
    /// If some of them may lack the header that it is about.
    pub(crate) fn take(&mut self, action: Action) -> Result<(), BadAction> {
        if let Self::With(demands) = self {
            if !demands.suit(action) {
                return Err(BadAction::MatchInconsistent);
            }
            demands.change(action);
        }
        Ok(())
    }
}

impl Demands {
    /// Returns whether every frame has the headers that the action is about.
    fn suit(self, action: Action) -> bool {
        match action {
            Action::Output(_)
            | Action::SetQueue(_)
            | Action::Group(_)
            | Action::Push(_)
            | Action::EnsureTag
            | Action::FlowMonitor(_)
            | Action::ModeArrange
            | Action::QueuedFrame(_)
            | Action::Sequence(_)
            | Action::Eliminate(_)
            | Action::Trailer(_)
            | Action::Pop(Pop::Redundancy) => true,
            Action::Pop(Pop::Vlan) => self.tags > 0,
            Action::Pop(Pop::Mpls(_))
            | Action::SetTtl(Layer::Mpls, _)
            | Action::DecrementTtl(Layer::Mpls) => self.is_mpls(),
            Action::Pop(Pop::Backbone) => self.is(EtherType::PROVIDER_BACKBONE),
            Action::SetTtl(Layer::Network, _) | Action::DecrementTtl(Layer::Network) => {
                self.is_ip()
            }
            Action::CopyTtl(_) => self.is_mpls() || self.is_ip(),
            Action::SetField(value) => self.have(value),
        }
    }

    /// Returns whether every frame has the header that the field is in.
    fn have(self, value: FieldValue) -> bool {
        match value {
            FieldValue::EthDst(_)
            | FieldValue::EthSrc(_)
            | FieldValue::EthType(_)
            | FieldValue::TunnelId(_) => true,
            FieldValue::VlanVid(_) | FieldValue::VlanPcp(_) => self.tags > 0,
            FieldValue::IpDscp(_) | FieldValue::IpEcn(_) | FieldValue::IpProto(_) => self.is_ip(),
            FieldValue::Ipv4Src(_) | FieldValue::Ipv4Dst(_) => self.is(EtherType::IPV4),
            FieldValue::Ipv6Src(_) | FieldValue::Ipv6Dst(_) | FieldValue::Ipv6FlowLabel(_) => {
                self.is(EtherType::IPV6)
            }
            FieldValue::L4Src(transport, _) | FieldValue::L4Dst(transport, _) => {
                self.protocol == Some(transport.protocol())
            }
            FieldValue::ArpOp(_)
            | FieldValue::ArpSpa(_)
            | FieldValue::ArpTpa(_)
            | FieldValue::ArpSha(_)
            | FieldValue::ArpTha(_) => self.is(EtherType::ARP),
            FieldValue::NdTarget(_) => {
                self.discover(NEIGHBOUR_SOLICITATION) || self.discover(NEIGHBOUR_ADVERTISEMENT)
            }
            FieldValue::NdSourceLinkLayer(_) => self.discover(NEIGHBOUR_SOLICITATION),
            FieldValue::NdTargetLinkLayer(_) => self.discover(NEIGHBOUR_ADVERTISEMENT),
            FieldValue::MplsLabel(_) | FieldValue::MplsTc(_) | FieldValue::MplsBos(_) => {
                self.is_mpls()
            }
            FieldValue::PbbIsid(_) => self.is(EtherType::PROVIDER_BACKBONE),
        }
    }

    /// Takes note of what the action does to the frames.
    fn change(&mut self, action: Action) {
        match action {
            Action::Push(Push::Vlan(_)) => self.tags = self.tags.saturating_add(1),
            Action::EnsureTag => self.tags = self.tags.max(1),
            // A second tag may follow, but the match cannot demand it.
            Action::Pop(Pop::Vlan) => self.tags -= 1,
            Action::Push(Push::Mpls(ether_type)) | Action::Pop(Pop::Mpls(ether_type)) => {
                self.become_type(EtherType(ether_type));
            }
            Action::Push(Push::Backbone) => {
                self.tags = 0;
                self.become_type(EtherType::PROVIDER_BACKBONE);
            }
            // The frame of the customer can be anything.
            Action::Pop(Pop::Backbone) => *self = Self::default(),
            Action::SetField(FieldValue::EthType(ether_type)) => {
                self.become_type(EtherType(ether_type));
            }
            Action::SetField(FieldValue::IpProto(protocol)) => {
                self.protocol = Some(protocol);
                self.icmpv6_type = None;
            }
            Action::SetField(FieldValue::L4Src(Transport::Icmpv6, kind)) => {
                self.icmpv6_type = u8::try_from(kind).ok();
            }
            Action::Output(_)
            | Action::SetQueue(_)
            | Action::Group(_)
            | Action::SetTtl(..)
            | Action::DecrementTtl(_)
            | Action::CopyTtl(_)
            | Action::SetField(_)
            | Action::FlowMonitor(_)
            | Action::ModeArrange
            | Action::QueuedFrame(_)
            | Action::Push(Push::Redundancy(_))
            | Action::Pop(Pop::Redundancy)
            | Action::Sequence(_)
            | Action::Eliminate(_)
            | Action::Trailer(_) => {}
        }
    }

    fn become_type(&mut self, ether_type: EtherType) {
        *self = Self {
            tags: self.tags,
            ether_type: Some(ether_type),
            ..Self::default()
        };
    }

    fn is(self, wanted: EtherType) -> bool {
        self.ether_type == Some(wanted)
    }

    fn is_ip(self) -> bool {
        self.is(EtherType::IPV4) || self.is(EtherType::IPV6)
    }

    fn is_mpls(self) -> bool {
        self.is(EtherType::MPLS) || self.is(EtherType::MPLS_UPSTREAM)
    }

    fn discover(self, kind: u8) -> bool {
        self.icmpv6_type == Some(kind)
    }
}

/// Returns an action on headers if it makes sense by itself.
fn compile(action: openflow::Action) -> Result<Action, BadAction> {
    Ok(match action {
        openflow::Action::CopyTtlOut => Action::CopyTtl(Direction::Outwards),
        openflow::Action::CopyTtlIn => Action::CopyTtl(Direction::Inwards),
        openflow::Action::SetMplsTtl(ttl) => Action::SetTtl(Layer::Mpls, ttl),
        openflow::Action::DecrementMplsTtl => Action::DecrementTtl(Layer::Mpls),
        openflow::Action::SetNetworkTtl(ttl) => Action::SetTtl(Layer::Network, ttl),
        openflow::Action::DecrementNetworkTtl => Action::DecrementTtl(Layer::Network),
        openflow::Action::PushVlan(it) if it.is_vlan() => Action::Push(Push::Vlan(it.0)),
        openflow::Action::PushMpls(it) if it.is_mpls() => Action::Push(Push::Mpls(it.0)),
        openflow::Action::PushPbb(EtherType::PROVIDER_BACKBONE) => Action::Push(Push::Backbone),
        openflow::Action::PopVlan => Action::Pop(Pop::Vlan),
        openflow::Action::PopMpls(it) if it.0 >= ETHER_TYPE_MIN => Action::Pop(Pop::Mpls(it.0)),
        openflow::Action::PopPbb => Action::Pop(Pop::Backbone),
        openflow::Action::SetField(field) => Action::SetField(field_value(field)?),
        openflow::Action::PushVlan(_)
        | openflow::Action::PushMpls(_)
        | openflow::Action::PushPbb(_)
        | openflow::Action::PopMpls(_) => return Err(BadAction::BadArgument),
        openflow::Action::Output { .. }
        | openflow::Action::SetQueue(_)
        | openflow::Action::Group(_)
        | openflow::Action::FlowMonitor(_)
        | openflow::Action::ModeArrange
        | openflow::Action::QueuedFrame(_)
        | openflow::Action::Police(_)
        | openflow::Action::Sequence(_)
        | openflow::Action::Eliminate(_)
        | openflow::Action::Trailer(_) => return Err(BadAction::BadType),
    })
}

/// Returns the value that a set-field writes, if the field can be set.
fn field_value(of: MatchField) -> Result<FieldValue, BadAction> {
    Ok(match of {
        MatchField::EthDst(address) => FieldValue::EthDst(address.value),
        MatchField::EthSrc(address) => FieldValue::EthSrc(address.value),
        MatchField::EthType(it) if it.0 >= ETHER_TYPE_MIN => FieldValue::EthType(it.0),
        MatchField::EthType(_) => return Err(BadAction::BadSetArgument),
        MatchField::VlanVid(vlan) => {
            FieldValue::VlanVid(vlan.value.id().ok_or(BadAction::BadSetArgument)?)
        }
        MatchField::VlanPcp(priority) => FieldValue::VlanPcp(priority),
        MatchField::IpDscp(dscp) => FieldValue::IpDscp(dscp),
        MatchField::IpEcn(ecn) => FieldValue::IpEcn(ecn),
        MatchField::IpProto(protocol) => FieldValue::IpProto(protocol),
        MatchField::Ipv4Src(address) => FieldValue::Ipv4Src(address.value.octets()),
        MatchField::Ipv4Dst(address) => FieldValue::Ipv4Dst(address.value.octets()),
        MatchField::Ipv6Src(address) => FieldValue::Ipv6Src(address.value.octets()),
        MatchField::Ipv6Dst(address) => FieldValue::Ipv6Dst(address.value.octets()),
        MatchField::Ipv6Flabel(label) => FieldValue::Ipv6FlowLabel(label.value),
        MatchField::TcpSrc(port) => FieldValue::L4Src(Transport::Tcp, port),
        MatchField::TcpDst(port) => FieldValue::L4Dst(Transport::Tcp, port),
        MatchField::UdpSrc(port) => FieldValue::L4Src(Transport::Udp, port),
        MatchField::UdpDst(port) => FieldValue::L4Dst(Transport::Udp, port),
        MatchField::SctpSrc(port) => FieldValue::L4Src(Transport::Sctp, port),
        MatchField::SctpDst(port) => FieldValue::L4Dst(Transport::Sctp, port),
        MatchField::Icmpv4Type(kind) => FieldValue::L4Src(Transport::Icmp, kind.into()),
        MatchField::Icmpv4Code(code) => FieldValue::L4Dst(Transport::Icmp, code.into()),
        MatchField::Icmpv6Type(kind) => FieldValue::L4Src(Transport::Icmpv6, kind.into()),
        MatchField::Icmpv6Code(code) => FieldValue::L4Dst(Transport::Icmpv6, code.into()),
        MatchField::ArpOp(op) => FieldValue::ArpOp(op),
        MatchField::ArpSpa(address) => FieldValue::ArpSpa(address.value.octets()),
        MatchField::ArpTpa(address) => FieldValue::ArpTpa(address.value.octets()),
        MatchField::ArpSha(address) => FieldValue::ArpSha(address.value),
        MatchField::ArpTha(address) => FieldValue::ArpTha(address.value),
        MatchField::Ipv6NdTarget(address) => FieldValue::NdTarget(address.octets()),
        MatchField::Ipv6NdSll(address) => FieldValue::NdSourceLinkLayer(address),
        MatchField::Ipv6NdTll(address) => FieldValue::NdTargetLinkLayer(address),
        MatchField::MplsLabel(label) => FieldValue::MplsLabel(label),
        MatchField::MplsTc(class) => FieldValue::MplsTc(class),
        MatchField::MplsBos(bottom) => FieldValue::MplsBos(bottom),
        MatchField::PbbIsid(service) => FieldValue::PbbIsid(service.value),
        MatchField::TunnelId(tunnel) => FieldValue::TunnelId(tunnel.value),
        // What is no header cannot be set, OF13 clause 7.2.5.
        MatchField::InPort(_)
        | MatchField::InPhysicalPort(_)
        | MatchField::Metadata(_)
        | MatchField::Ipv6Exthdr(_)
        | MatchField::Level(_) => return Err(BadAction::BadSetType),
    })
}
