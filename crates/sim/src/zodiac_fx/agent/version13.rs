//! OpenFlow 1.3 in the words of 1.0, in which the agent keeps its entries.
//!
//! The firmware speaks both versions. What 1.3 can say of the twelve fields and of
//! the actions of 1.0 is understood, and anything else is refused.
//!
//! # Left out
//!
//! Groups, meters, queues, roles, bundles, statistics, and every table but the
//! first.

use units::Delay;
use wire::openflow::{
    self, BadAction, BadInstruction, BadMatch, BadRequest, BufferId, Capabilities, Cookie,
    ErrorKind, ErrorMessage, FeaturesReply, Fields, FlowMod, FlowModFailed, Header, Instruction,
    Instructions, MatchField, Message, PacketIn, PacketInReason, PacketOut, QueueId, TableId,
    TransactionId,
};
use wire::openflow10::{Action, Match10, PortNumber};

use super::super::flow_table::{Entry, TableFull};
use super::{Agent, BARRIER, ECHO, Handled, OTHER, Released};

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
            | Message::Police(_)
            | Message::Stream(_)
            | Message::Bfd(_)
            | Message::Hop(_)
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
    let fields = [MatchField::InPort(in_port.to_of13())];
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
fn narrowed_match(fields: &Fields<'_>) -> Result<Match10, ErrorKind> {
    fields.check().map_err(|error| error.kind())?;
    Match10::exactly_from_of13(fields).ok_or(ErrorKind::BadMatch(BadMatch::BadField))
}

fn narrowed_port(port: openflow::PortNumber) -> Result<PortNumber, ErrorKind> {
    PortNumber::from_of13(port).ok_or(BAD_PORT)
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
        let action = action.map_err(|error| error.kind())?;
        if let openflow::Action::PushVlan(_) = action {
            continue;
        }
        narrow.push(Action::from_of13(action, QueueId(0)).ok_or(match action {
            openflow::Action::Output { .. } => BAD_PORT,
            _ => BAD_ACTION,
        })?);
    }
    Ok(narrow)
}
