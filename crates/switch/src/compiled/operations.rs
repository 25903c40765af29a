//! Actions as words.

use units::Duration;
use wire::ethernet::MacAddress;

use super::layout::{eliminate, limit, operation};
use crate::action::{Action, FieldValue, Pop, Push, Target, Transport};
use crate::action_set::place_of;
use crate::group_table::GroupIndex;
use crate::meter_table::MeterIndex;
use crate::packet_key::halves;
use crate::port::PortIndex;
use wire::openflow::GroupId;
use wire::openflow::taktos::{
    CoreReason as Reason, Eliminate, MonitorId, QueuedFrameActions, RecoveryAlgorithm,
    SequenceEncoding, StreamHandle, TrailerAction,
};
use wire::prp::Lan;

/// The words of an action: the first ones of its record.
pub(super) type ActionWords = [u64; 3];

pub(super) trait Places {
    /// Returns how many ports there are.
    fn ports(&self) -> usize;
    /// Returns whether a port can be reached without the core.
    fn reaches(&self, port: PortIndex) -> bool;
    /// Returns the record of a group.
    fn group(&self, group: GroupIndex) -> Option<u32>;
    /// Returns the record of a monitor, or of what may become one.
    fn monitor(&self, monitor: MonitorId) -> Option<u32>;
    /// Returns the record of a stream.
    fn stream(&self, stream: StreamHandle) -> Option<u32>;
}

/// What is meant by what stands in words.
pub(super) trait Meanings {
    fn group(&self, id: GroupId) -> Option<GroupIndex>;
    /// Returns the monitor in a place.
    fn monitor(&self, place: u32) -> Option<MonitorId>;
    /// Returns the stream in a place.
    fn stream(&self, place: u32) -> Option<StreamHandle>;
    /// Returns the meter of a record.
    fn meter(&self, record: u32) -> Option<MeterIndex>;
}

/// What is to be done, with a number and a value.
struct PackedOperation {
    code: u8,
    protocol: u8,
    number: u32,
    value: [u64; 2],
}

impl PackedOperation {
    const fn new(code: u8) -> Self {
        Self {
            code,
            protocol: 0,
            number: 0,
            value: [0; 2],
        }
    }

    fn with_number(code: u8, number: impl Into<u32>) -> Self {
        Self {
            number: number.into(),
            ..Self::new(code)
        }
    }

    fn with_value(code: u8, value: impl Into<u64>) -> Self {
        Self {
            value: [value.into(), 0],
            ..Self::new(code)
        }
    }

    fn with_wide(code: u8, value: [u8; 16]) -> Self {
        Self {
            value: halves(u128::from_be_bytes(value)),
            ..Self::new(code)
        }
    }

    fn of_address(code: u8, address: MacAddress) -> Self {
        let [a, b, c, d, e, f] = address.0;
        Self::with_value(code, u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    fn of_transport(code: u8, transport: Transport, value: u16) -> Result<Self, Reason> {
        match transport {
            // Its checksum covers the whole packet.
            Transport::Sctp => Err(Reason::Change),
            Transport::Tcp | Transport::Udp | Transport::Icmp | Transport::Icmpv6 => Ok(Self {
                protocol: transport.protocol(),
                ..Self::with_value(code, value)
            }),
        }
    }
}

/// Returns an action as words.
///
/// # Errors
///
/// If only the core can execute it.
pub(super) fn words_of(action: Action, places: &impl Places) -> Result<ActionWords, Reason> {
    let PackedOperation {
        code,
        protocol,
        number,
        value: [value, low],
    } = operation_of(action, places)?;
    let what = u64::from(code)
        | u64::from(place_of(action)) << 8
        | u64::from(protocol) << 16
        | u64::from(number) << 32;
    Ok([what, value, low])
}

fn operation_of(action: Action, places: &impl Places) -> Result<PackedOperation, Reason> {
    Ok(match action {
        Action::Output(target) => output(target, places)?,
        Action::SetQueue(queue) => PackedOperation::with_number(operation::SET_QUEUE, queue),
        Action::Group(group) => {
            let place = places.group(group).ok_or(Reason::Group)?;
            PackedOperation::with_number(operation::GROUP, place)
        }
        Action::Push(Push::Vlan(kind)) => PackedOperation::with_number(operation::PUSH_VLAN, kind),
        Action::EnsureTag => PackedOperation::new(operation::ENSURE_TAG),
        Action::Pop(Pop::Vlan) => PackedOperation::new(operation::POP_VLAN),
        Action::SetField(value) => set_field(value)?,
        Action::Push(Push::Mpls(_) | Push::Backbone | Push::Redundancy(_))
        | Action::Pop(Pop::Mpls(_) | Pop::Backbone | Pop::Redundancy)
        | Action::SetTtl(..)
        | Action::DecrementTtl(_)
        | Action::CopyTtl(_) => return Err(Reason::Change),
        Action::FlowMonitor(monitor) => {
            PackedOperation::with_number(operation::FLOW_MONITOR, monitor_place(monitor, places)?)
        }
        Action::ModeArrange => {
            tells_all(places)?;
            PackedOperation::new(operation::MODE_ARRANGE)
        }
        Action::QueuedFrame(fates) => {
            PackedOperation::with_number(operation::QUEUED_FATE, fates.number())
        }
        Action::Sequence(stream) => {
            let place = places.stream(stream).ok_or(Reason::Room)?;
            PackedOperation::with_number(operation::SEQUENCE, place)
        }
        Action::Eliminate(how) if how.holds() => return Err(Reason::Order),
        Action::Eliminate(how) => PackedOperation {
            value: eliminate_words(&how),
            ..PackedOperation::with_number(
                operation::ELIMINATE,
                places.stream(how.stream).ok_or(Reason::Room)?,
            )
        },
        Action::Trailer(TrailerAction::Number(stream)) => {
            let place = places.stream(stream).ok_or(Reason::Room)?;
            PackedOperation::with_number(operation::TRAILER, place)
        }
        Action::Trailer(TrailerAction::Supervise) => return Err(Reason::Change),
        Action::Trailer(TrailerAction::Lan(lan)) => {
            PackedOperation::with_number(operation::TRAILER_LAN, lan.number())
        }
    })
}

/// Returns how copies are ended, as two values.
fn eliminate_words(how: &Eliminate) -> [u64; 2] {
    let bits = [
        (
            how.algorithm == RecoveryAlgorithm::Vector,
            eliminate::VECTOR,
        ),
        (how.takes_unnumbered, eliminate::TAKES_UNNUMBERED),
        (how.strips_tag, eliminate::STRIPS_TAG),
        (
            how.algorithm == RecoveryAlgorithm::DuplicateDiscard,
            eliminate::DUPLICATE_DISCARD,
        ),
        (how.encoding == SequenceEncoding::Prp, eliminate::IN_TRAILER),
    ];
    let bits = bits.iter().filter(|(is_so, _)| *is_so);
    let bits: u64 = bits.map(|(_, bit)| bit).sum();
    [bits | u64::from(how.history), how.reset.as_ns()]
}

/// Returns how copies are ended, which ways are watched left out: walks do not do that.
fn eliminate_of(stream: StreamHandle, value: u64, reset: u64) -> Option<Eliminate> {
    let algorithm = match (
        value & eliminate::VECTOR,
        value & eliminate::DUPLICATE_DISCARD,
    ) {
        (0, 0) => RecoveryAlgorithm::Match,
        (0, _) => RecoveryAlgorithm::DuplicateDiscard,
        (..) => RecoveryAlgorithm::Vector,
    };
    Some(Eliminate {
        stream,
        algorithm,
        history: u8::try_from(value & eliminate::HISTORY).ok()?,
        reset: Duration::from_ns(reset),
        takes_unnumbered: value & eliminate::TAKES_UNNUMBERED != 0,
        strips_tag: value & eliminate::STRIPS_TAG != 0,
        encoding: match value & eliminate::IN_TRAILER {
            0 => SequenceEncoding::RTag,
            _ => SequenceEncoding::Prp,
        },
        ways: None,
        tolerance: 0,
        hold: Duration::ZERO,
    })
}

/// Returns the record of a monitor.
///
/// # Errors
///
/// If there is none, or if walks could not tell all neighbours of a change of mode.
pub(super) fn monitor_place(monitor: MonitorId, places: &impl Places) -> Result<u32, Reason> {
    tells_all(places)?;
    places.monitor(monitor).ok_or(Reason::Mode)
}

/// Refuses what may change the mode where walks do not go through all ports, and so
/// would not tell all neighbours.
fn tells_all(places: &impl Places) -> Result<(), Reason> {
    match places.ports() <= limit::PORTS_TO_ALL {
        true => Ok(()),
        false => Err(Reason::Mode),
    }
}

fn output(target: Target, places: &impl Places) -> Result<PackedOperation, Reason> {
    match target {
        Target::Port(port) if places.reaches(port) => {
            Ok(PackedOperation::with_number(operation::OUTPUT, port.0))
        }
        Target::Port(_) => Err(Reason::Port),
        Target::InPort => Ok(PackedOperation::new(operation::OUTPUT_IN_PORT)),
        Target::All => to_all(operation::OUTPUT_ALL, places),
        Target::Flood => to_all(operation::OUTPUT_FLOOD, places),
        Target::Normal => Err(Reason::Bridge),
        Target::Controller(_) | Target::Tables => Err(Reason::Controller),
    }
}

fn to_all(code: u8, places: &impl Places) -> Result<PackedOperation, Reason> {
    let count = places.ports();
    if count > limit::PORTS_TO_ALL {
        return Err(Reason::Ports);
    }
    let mut ports = (0..).map(PortIndex).take(count);
    match ports.all(|port| places.reaches(port)) {
        true => Ok(PackedOperation::new(code)),
        false => Err(Reason::Port),
    }
}

fn set_field(value: FieldValue) -> Result<PackedOperation, Reason> {
    const VLAN_ID: u16 = 0x0fff;
    let ipv4 = |code, address| PackedOperation::with_value(code, u32::from_be_bytes(address));
    Ok(match value {
        FieldValue::EthDst(to) => PackedOperation::of_address(operation::SET_ETH_DST, to),
        FieldValue::EthSrc(to) => PackedOperation::of_address(operation::SET_ETH_SRC, to),
        FieldValue::VlanVid(to) => {
            PackedOperation::with_value(operation::SET_VLAN_VID, to & VLAN_ID)
        }
        FieldValue::VlanPcp(to) => PackedOperation::with_value(operation::SET_VLAN_PCP, to & 7),
        FieldValue::IpDscp(to) => PackedOperation::with_value(operation::SET_IP_DSCP, to),
        FieldValue::IpEcn(to) => PackedOperation::with_value(operation::SET_IP_ECN, to & 3),
        FieldValue::Ipv4Src(to) => ipv4(operation::SET_IPV4_SRC, to),
        FieldValue::Ipv4Dst(to) => ipv4(operation::SET_IPV4_DST, to),
        FieldValue::Ipv6Src(to) => PackedOperation::with_wide(operation::SET_IPV6_SRC, to),
        FieldValue::Ipv6Dst(to) => PackedOperation::with_wide(operation::SET_IPV6_DST, to),
        FieldValue::Ipv6FlowLabel(to) => {
            PackedOperation::with_value(operation::SET_IPV6_FLOW_LABEL, to)
        }
        FieldValue::L4Src(transport, to) => {
            PackedOperation::of_transport(operation::SET_L4_SRC, transport, to)?
        }
        FieldValue::L4Dst(transport, to) => {
            PackedOperation::of_transport(operation::SET_L4_DST, transport, to)?
        }
        FieldValue::ArpOp(to) => PackedOperation::with_value(operation::SET_ARP_OP, to),
        FieldValue::ArpSpa(to) => ipv4(operation::SET_ARP_SPA, to),
        FieldValue::ArpTpa(to) => ipv4(operation::SET_ARP_TPA, to),
        FieldValue::ArpSha(to) => PackedOperation::of_address(operation::SET_ARP_SHA, to),
        FieldValue::ArpTha(to) => PackedOperation::of_address(operation::SET_ARP_THA, to),
        FieldValue::TunnelId(to) => PackedOperation::with_value(operation::SET_TUNNEL, to),
        FieldValue::EthType(_)
        | FieldValue::IpProto(_)
        | FieldValue::NdTarget(_)
        | FieldValue::NdSourceLinkLayer(_)
        | FieldValue::NdTargetLinkLayer(_)
        | FieldValue::MplsLabel(_)
        | FieldValue::MplsTc(_)
        | FieldValue::MplsBos(_)
        | FieldValue::PbbIsid(_) => return Err(Reason::Change),
    })
}

/// Returns the action that these words are, unless it is a group or none.
pub(super) fn action_of(words: ActionWords, means: &impl Meanings) -> Option<Action> {
    let [what, value, low] = words;
    let [a, b, c, d, _, protocol, _, code] = what.to_be_bytes();
    let number = u32::from_be_bytes([a, b, c, d]);
    let port = |number| Some(PortIndex(u16::try_from(number).ok()?));
    Some(match code {
        operation::OUTPUT => Action::Output(Target::Port(port(number)?)),
        operation::OUTPUT_IN_PORT => Action::Output(Target::InPort),
        operation::OUTPUT_ALL => Action::Output(Target::All),
        operation::OUTPUT_FLOOD => Action::Output(Target::Flood),
        operation::SET_QUEUE => Action::SetQueue(u8::try_from(number).ok()?),
        operation::PUSH_VLAN => Action::Push(Push::Vlan(u16::try_from(number).ok()?)),
        operation::ENSURE_TAG => Action::EnsureTag,
        operation::POP_VLAN => Action::Pop(Pop::Vlan),
        operation::FLOW_MONITOR => Action::FlowMonitor(means.monitor(number)?),
        operation::MODE_ARRANGE => Action::ModeArrange,
        operation::QUEUED_FATE => Action::QueuedFrame(QueuedFrameActions::from_number(number)?),
        operation::SEQUENCE => Action::Sequence(means.stream(number)?),
        operation::ELIMINATE => Action::Eliminate(eliminate_of(means.stream(number)?, value, low)?),
        operation::TRAILER => Action::Trailer(TrailerAction::Number(means.stream(number)?)),
        operation::TRAILER_LAN => {
            let lan = Lan::from_number(u16::try_from(number).ok()?)?;
            Action::Trailer(TrailerAction::Lan(lan))
        }
        operation::SET_L4_SRC => {
            let transport = Transport::of_protocol(protocol)?;
            Action::SetField(FieldValue::L4Src(transport, u16::try_from(value).ok()?))
        }
        operation::SET_L4_DST => {
            let transport = Transport::of_protocol(protocol)?;
            Action::SetField(FieldValue::L4Dst(transport, u16::try_from(value).ok()?))
        }
        code => Action::SetField(field_of(code, words)?),
    })
}

/// Returns the value that a field of layers 2 and 3, or of no header, is set to.
fn field_of(code: u8, [_, value, low]: ActionWords) -> Option<FieldValue> {
    let bytes = value.to_be_bytes();
    let [.., a, b, c, d, e, f] = bytes;
    let (address, ipv4) = (MacAddress([a, b, c, d, e, f]), [c, d, e, f]);
    let ipv6 = (u128::from(value) << 64 | u128::from(low)).to_be_bytes();
    let (long, short) = (u16::from_be_bytes([e, f]), f);
    Some(match code {
        operation::SET_ETH_DST => FieldValue::EthDst(address),
        operation::SET_ETH_SRC => FieldValue::EthSrc(address),
        operation::SET_VLAN_VID => FieldValue::VlanVid(long),
        operation::SET_VLAN_PCP => FieldValue::VlanPcp(short),
        operation::SET_IP_DSCP => FieldValue::IpDscp(short),
        operation::SET_IP_ECN => FieldValue::IpEcn(short),
        operation::SET_IPV4_SRC => FieldValue::Ipv4Src(ipv4),
        operation::SET_IPV4_DST => FieldValue::Ipv4Dst(ipv4),
        operation::SET_IPV6_SRC => FieldValue::Ipv6Src(ipv6),
        operation::SET_IPV6_DST => FieldValue::Ipv6Dst(ipv6),
        operation::SET_IPV6_FLOW_LABEL => FieldValue::Ipv6FlowLabel(u32::from_be_bytes(ipv4)),
        operation::SET_ARP_OP => FieldValue::ArpOp(long),
        operation::SET_ARP_SPA => FieldValue::ArpSpa(ipv4),
        operation::SET_ARP_TPA => FieldValue::ArpTpa(ipv4),
        operation::SET_ARP_SHA => FieldValue::ArpSha(address),
        operation::SET_ARP_THA => FieldValue::ArpTha(address),
        operation::SET_TUNNEL => FieldValue::TunnelId(value),
        _ => return None,
    })
}
