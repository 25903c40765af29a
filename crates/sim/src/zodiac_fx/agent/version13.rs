//! OpenFlow 1.3 in the words of 1.0, in which the agent keeps its entries.
//!
//! The firmware speaks both versions. What 1.3 can say of the twelve fields and of
//! the actions of 1.0 is understood, and anything else is refused.
//!
//! # Left out
//!
//! Groups, meters, queues, roles, bundles, statistics, and every table but the
//! first.

use std::net::Ipv4Addr;

use units::Delay;
use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{
    self, BadAction, BadInstruction, BadMatch, BadRequest, BufferId, Capabilities, Cookie,
    ErrorKind, ErrorMessage, FeaturesReply, Fields, FlowMod, FlowModFailed, Header, Instruction,
    Instructions, MatchField, Message, PacketIn, PacketInReason, PacketOut, TableId, TransactionId,
};
use wire::openflow10::{Action, Match, Network, PortNumber};

use super::super::flow_table::{Entry, TableFull};
use super::{Agent, BARRIER, ECHO, Handled, OTHER, Released};

const DSCP_SHIFT: u32 = 2;
const BAD_FIELD: ErrorKind = ErrorKind::BadMatch(BadMatch::BadField);
const BAD_MASK: ErrorKind = ErrorKind::BadMatch(BadMatch::BadMask);
const BAD_ACTION: ErrorKind = ErrorKind::BadAction(BadAction::BadType);
const BAD_PORT: ErrorKind = ErrorKind::BadAction(BadAction::BadOutPort);
const BAD_INSTRUCTION: ErrorKind =
    ErrorKind::BadInstruction(BadInstruction::UnsupportedInstruction);

impl Agent {
    /// Takes a whole message of version 1.3.
    pub(super) fn handle_version13(&mut self, bytes: &[u8], handled: &mut Handled) {
        let (header, message) = match Message::parse(bytes) {
            Ok(parsed) => parsed,
            Err(error) => return refuse(bytes, error.kind(), handled),
        };
        match message {
            Message::EchoRequest(echo) => reply(header, Message::EchoReply(echo), ECHO, handled),
            Message::BarrierRequest => reply(header, Message::BarrierReply, BARRIER, handled),
            Message::FeaturesRequest => {
                let features = Message::FeaturesReply(FeaturesReply {
                    datapath: self.datapath,
                    buffers: 0,
                    tables: 1,
                    auxiliary: 0,
                    capabilities: Capabilities::NONE,
                });
                reply(header, features, OTHER, handled);
            }
            Message::FlowMod(order) => {
                if let Err(kind) = self.change_version13(&order, handled) {
                    refuse(bytes, kind, handled);
                }
            }
            Message::PacketOut(order) => {
                handled.time += OTHER;
                match released(&order) {
                    Ok(frame) => handled.released.push(frame),
                    Err(kind) => refuse(bytes, kind, handled),
                }
            }
            Message::SetConfig(_) | Message::EchoReply(_) | Message::Error(_) => {
                handled.time += OTHER;
            }
            // None of these is needed by an experiment.
            Message::Hello(_)
            | Message::Experimenter(_)
            | Message::BundleControl(_)
            | Message::BundleAdd(_)
            | Message::Mode(_)
            | Message::FeaturesReply(_)
            | Message::GetConfigRequest
            | Message::GetConfigReply(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::GroupMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::MultipartRequest(_)
            | Message::MultipartReply(_)
            | Message::BarrierReply
            | Message::QueueGetConfigRequest(_)
            | Message::QueueGetConfigReply(_)
            | Message::RoleRequest(_)
            | Message::RoleReply(_)
            | Message::GetAsyncRequest
            | Message::GetAsyncReply(_)
            | Message::SetAsync(_)
            | Message::MeterMod(_) => {
                refuse(bytes, ErrorKind::BadRequest(BadRequest::BadType), handled);
            }
        }
    }

    fn change_version13(
        &mut self,
        order: &FlowMod<'_>,
        handled: &mut Handled,
    ) -> Result<(), ErrorKind> {
        let out_port = match order.out_port {
            openflow::PortNumber::ANY => PortNumber::NONE,
            port => narrowed_port(port)?,
        };
        let entry = Entry {
            matching: narrowed_match(&order.matching)?,
            priority: order.priority,
            cookie: order.cookie,
            actions: narrowed_instructions(&order.instructions)?,
            packets: 0,
            bytes: 0,
        };
        let full = |TableFull| ErrorKind::FlowModFailed(FlowModFailed::TableFull);
        self.apply(order.command, entry, out_port, handled)
            .map_err(full)
    }
}

/// Returns the message that hands a frame to the controller.
pub(super) fn packet_in(in_port: PortNumber, reason: PacketInReason, frame: &[u8]) -> Vec<u8> {
    let fields = [MatchField::InPort(in_port.widened())];
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: u16::try_from(frame.len()).unwrap_or(u16::MAX),
        reason,
        table: TableId(0),
        cookie: Cookie::NONE,
        fields: Fields::of(&fields),
        data: frame,
    };
    let mut bytes = Vec::new();
    packet_in.emit(TransactionId(0), &mut bytes);
    bytes
}

fn released(order: &PacketOut<'_>) -> Result<Released, ErrorKind> {
    if order.buffer != BufferId::NONE {
        return Err(ErrorKind::BadRequest(BadRequest::BufferUnknown));
    }
    Ok(Released {
        actions: narrowed_actions(&order.actions)?,
        in_port: narrowed_port(order.in_port)?,
        bytes: order.data.into(),
    })
}

fn reply(header: Header, message: Message<'_>, time: Delay, handled: &mut Handled) {
    handled.time += time;
    message.emit(header.transaction, &mut handled.replies);
}

fn refuse(bytes: &[u8], kind: ErrorKind, handled: &mut Handled) {
    handled.time += OTHER;
    let transaction = Header::parse(bytes).map_or(TransactionId(0), |it| it.transaction);
    ErrorMessage::about(bytes, kind).emit(transaction, &mut handled.replies);
}

/// Returns the same match in version 1.0.
fn narrowed_match(fields: &Fields<'_>) -> Result<Match, ErrorKind> {
    fields.check().map_err(|error| error.kind())?;
    let mut narrow = Match::ANY;
    for field in fields.iter() {
        narrow_field(&mut narrow, field.map_err(|error| error.kind())?)?;
    }
    Ok(narrow)
}

fn narrow_field(narrow: &mut Match, field: MatchField) -> Result<(), ErrorKind> {
    match field {
        MatchField::InPort(port) => narrow.in_port = Some(narrowed_port(port)?),
        MatchField::EthDst(address) => narrow.dl_dst = Some(exact(address)?),
        MatchField::EthSrc(address) => narrow.dl_src = Some(exact(address)?),
        MatchField::EthType(kind) => narrow.dl_type = Some(kind),
        MatchField::VlanVid(vlan) if vlan.mask.is_none() => {
            narrow.dl_vlan = Some(vlan.value.id().unwrap_or(Match::NO_VLAN));
        }
        MatchField::VlanPcp(priority) => narrow.dl_vlan_pcp = Some(priority),
        MatchField::IpDscp(dscp) => narrow.nw_tos = Some(dscp << DSCP_SHIFT),
        MatchField::IpProto(protocol) => narrow.nw_proto = Some(protocol),
        MatchField::Ipv4Src(address) => narrow.nw_src = prefix(address)?,
        MatchField::Ipv4Dst(address) => narrow.nw_dst = prefix(address)?,
        MatchField::TcpSrc(port) | MatchField::UdpSrc(port) => narrow.tp_src = Some(port),
        MatchField::TcpDst(port) | MatchField::UdpDst(port) => narrow.tp_dst = Some(port),
        MatchField::VlanVid(_) => return Err(BAD_MASK),
        MatchField::InPhysicalPort(_)
        | MatchField::Metadata(_)
        | MatchField::IpEcn(_)
        | MatchField::SctpSrc(_)
        | MatchField::SctpDst(_)
        | MatchField::Icmpv4Type(_)
        | MatchField::Icmpv4Code(_)
        | MatchField::ArpOp(_)
        | MatchField::ArpSpa(_)
        | MatchField::ArpTpa(_)
        | MatchField::ArpSha(_)
        | MatchField::ArpTha(_)
        | MatchField::Ipv6Src(_)
        | MatchField::Ipv6Dst(_)
        | MatchField::Ipv6Flabel(_)
        | MatchField::Icmpv6Type(_)
        | MatchField::Icmpv6Code(_)
        | MatchField::Ipv6NdTarget(_)
        | MatchField::Ipv6NdSll(_)
        | MatchField::Ipv6NdTll(_)
        | MatchField::MplsLabel(_)
        | MatchField::MplsTc(_)
        | MatchField::MplsBos(_)
        | MatchField::PbbIsid(_)
        | MatchField::TunnelId(_)
        | MatchField::Ipv6Exthdr(_)
        | MatchField::Level(_) => return Err(BAD_FIELD),
    }
    Ok(())
}

fn exact(address: Masked<MacAddress>) -> Result<MacAddress, ErrorKind> {
    match address.mask {
        None => Ok(address.value),
        Some(_) => Err(BAD_MASK),
    }
}

/// Returns the addresses that share a prefix; other masks have no words.
fn prefix(address: Masked<Ipv4Addr>) -> Result<Network, ErrorKind> {
    let mask = address.mask.map_or(u32::MAX, Ipv4Addr::to_bits);
    if mask.leading_ones() != mask.count_ones() {
        return Err(BAD_MASK);
    }
    let length = u8::try_from(mask.leading_ones()).map_err(|_| BAD_MASK)?;
    Ok(Network::new(address.value, length))
}

fn narrowed_port(port: openflow::PortNumber) -> Result<PortNumber, ErrorKind> {
    PortNumber::narrowed(port).ok_or(BAD_PORT)
}

/// Returns the actions of an entry: those that it applies, then those that it
/// leaves for the end.
fn narrowed_instructions(instructions: &Instructions<'_>) -> Result<Vec<Action>, ErrorKind> {
    let (mut applied, mut written) = (Vec::new(), Vec::new());
    for instruction in instructions.iter() {
        match instruction.map_err(|error| error.kind())? {
            Instruction::ApplyActions(actions) => applied.extend(narrowed_actions(&actions)?),
            Instruction::WriteActions(actions) => written.extend(narrowed_actions(&actions)?),
            Instruction::ClearActions => written.clear(),
            Instruction::GotoTable(_)
            | Instruction::WriteMetadata { .. }
            | Instruction::Meter(_) => {
                return Err(BAD_INSTRUCTION);
            }
        }
    }
    applied.append(&mut written);
    Ok(applied)
}

/// Returns the same actions in version 1.0. Pushing a tag is part of setting its
/// identifier there.
fn narrowed_actions(actions: &openflow::Actions<'_>) -> Result<Vec<Action>, ErrorKind> {
    let mut narrow = Vec::new();
    for action in actions.iter() {
        narrow.extend(narrowed_action(action.map_err(|error| error.kind())?)?);
    }
    Ok(narrow)
}

fn narrowed_action(action: openflow::Action) -> Result<Option<Action>, ErrorKind> {
    Ok(Some(match action {
        openflow::Action::Output { port, max_length } => Action::Output {
            port: narrowed_port(port)?,
            max_length,
        },
        openflow::Action::PushVlan(_) => return Ok(None),
        openflow::Action::PopVlan => Action::StripVlan,
        openflow::Action::SetField(field) => setting(field)?,
        openflow::Action::CopyTtlOut
        | openflow::Action::CopyTtlIn
        | openflow::Action::SetMplsTtl(_)
        | openflow::Action::DecrementMplsTtl
        | openflow::Action::PushMpls(_)
        | openflow::Action::PopMpls(_)
        | openflow::Action::SetQueue(_)
        | openflow::Action::Group(_)
        | openflow::Action::SetNetworkTtl(_)
        | openflow::Action::DecrementNetworkTtl
        | openflow::Action::PushPbb(_)
        | openflow::Action::PopPbb
        | openflow::Action::FlowMonitor(_)
        | openflow::Action::ModeArrange
        | openflow::Action::QueuedFate(_) => return Err(BAD_ACTION),
    }))
}

/// Returns the action that sets a field: a match on the field alone says which
/// of the twelve it is.
fn setting(field: MatchField) -> Result<Action, ErrorKind> {
    let mut narrow = Match::ANY;
    narrow_field(&mut narrow, field).map_err(|_| BAD_ACTION)?;
    let source = (narrow.nw_src != Network::ANY).then(|| narrow.nw_src.address());
    let destination = (narrow.nw_dst != Network::ANY).then(|| narrow.nw_dst.address());
    let id = narrow.dl_vlan.filter(|id| *id != Match::NO_VLAN);
    let actions = [
        narrow.dl_src.map(Action::SetDlSrc),
        narrow.dl_dst.map(Action::SetDlDst),
        id.map(Action::SetVlanVid),
        narrow.dl_vlan_pcp.map(Action::SetVlanPcp),
        source.map(Action::SetNwSrc),
        destination.map(Action::SetNwDst),
        narrow.nw_tos.map(Action::SetNwTos),
        narrow.tp_src.map(Action::SetTpSrc),
        narrow.tp_dst.map(Action::SetTpDst),
    ];
    actions.into_iter().flatten().next().ok_or(BAD_ACTION)
}
