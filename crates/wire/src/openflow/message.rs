//! Any message, taken apart.

use super::bundle::{BUNDLE_ADD, BUNDLE_CONTROL};
use super::header::{begin, finish};
use super::multipart::{MultipartReply, MultipartRequest};
use super::taktos::{self, BfdConfig, HopMessage, ModeMessage, PoliceEvent, StreamEvent};
use super::{
    AsyncConfig, BundleAdd, BundleControl, DecodeError, Echo, ErrorMessage, FeaturesReply, FlowMod,
    FlowRemoved, GroupMod, HEADER_LENGTH, Header, Hello, MessageType, MeterMod, ONF_EXPERIMENTER,
    PacketIn, PacketOut, PortMod, PortNumber, PortStatus, QueueGetConfigReply, RoleMessage,
    SwitchConfig, TableMod, TransactionId, VERSION,
};
use crate::reader::Reader;
use crate::writer::Writer;

/// What the specification does not know (OF13 clauses 7.5.4 and 7.3.5.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experimenter<'a> {
    /// Who defines the message.
    pub experimenter: u32,
    /// Which of the experimenter's messages.
    pub kind: u32,
    /// The message.
    pub data: &'a [u8],
}

/// A message, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Agrees on a version.
    Hello(Hello),
    /// Says what was wrong.
    Error(ErrorMessage<'a>),
    /// Asks for a sign of life.
    EchoRequest(Echo<'a>),
    /// Gives a sign of life.
    EchoReply(Echo<'a>),
    /// Says what the specification does not know.
    Experimenter(Experimenter<'a>),
    /// Begins, ends, does or forgets a bundle, or says that it was done.
    BundleControl(BundleControl<'a>),
    /// Adds a message to a bundle.
    BundleAdd(BundleAdd<'a>),
    /// Is about modes, of Taktos.
    Mode(ModeMessage<'a>),
    /// Says that somebody exceeded a contract, of Taktos.
    Police(PoliceEvent),
    /// A way of a stream brings too few copies, of Taktos.
    Stream(StreamEvent),
    /// Is about how long frames stay, of Taktos.
    Hop(HopMessage<'a>),
    /// Says which neighbours are asked whether they are there, of Taktos.
    Bfd(BfdConfig<'a>),
    /// Asks who the switch is.
    FeaturesRequest,
    /// Says who the switch is.
    FeaturesReply(FeaturesReply),
    /// Asks for the configuration.
    GetConfigRequest,
    /// Says the configuration.
    GetConfigReply(SwitchConfig),
    /// Changes the configuration.
    SetConfig(SwitchConfig),
    /// Hands a frame to the controller.
    PacketIn(PacketIn<'a>),
    /// Says that an entry is gone.
    FlowRemoved(FlowRemoved<'a>),
    /// Says that a port changed.
    PortStatus(PortStatus),
    /// Sends a frame.
    PacketOut(PacketOut<'a>),
    /// Changes entries of flow tables.
    FlowMod(FlowMod<'a>),
    /// Changes groups.
    GroupMod(GroupMod<'a>),
    /// Changes a port.
    PortMod(PortMod),
    /// Changes a table.
    TableMod(TableMod),
    /// Asks for much.
    MultipartRequest(MultipartRequest<'a>),
    /// Says much, in parts.
    MultipartReply(MultipartReply<'a>),
    /// Asks to finish what came before.
    BarrierRequest,
    /// Says that it is finished.
    BarrierReply,
    /// Asks for the queues of a port.
    QueueGetConfigRequest(PortNumber),
    /// Says the queues of a port.
    QueueGetConfigReply(QueueGetConfigReply<'a>),
    /// Asks for a role.
    RoleRequest(RoleMessage),
    /// Says the role.
    RoleReply(RoleMessage),
    /// Asks which messages come unasked.
    GetAsyncRequest,
    /// Says which messages come unasked.
    GetAsyncReply(AsyncConfig),
    /// Changes which messages come unasked.
    SetAsync(AsyncConfig),
    /// Changes meters.
    MeterMod(MeterMod<'a>),
}

impl<'a> Message<'a> {
    /// Takes a whole message apart. Lists inside are checked only while
    /// iterating.
    ///
    /// A hello may have any version: it is what a version is agreed on by.
    ///
    /// # Errors
    ///
    /// If the message speaks another version, nobody knows its type, or a part
    /// of it cannot be read.
    #[inline]
    pub fn parse(message: &'a [u8]) -> Result<(Header, Self), DecodeError> {
        let header = Header::parse(message)?;
        if message.len() != usize::from(header.length) {
            return Err(DecodeError::Length);
        }
        let body = &message[HEADER_LENGTH..];
        if header.kind == MessageType::Hello.number() {
            return Ok((header, Self::Hello(Hello::parse(header, body)?)));
        }
        if header.version != VERSION {
            let version = header.version;
            return Err(DecodeError::Version { version });
        }
        let Some(kind) = MessageType::from_number(header.kind) else {
            return Err(DecodeError::Type { kind: header.kind });
        };
        if fixed_length(kind).is_some_and(|length| length != header.length) {
            return Err(DecodeError::Length);
        }
        Ok((header, Self::parse_body(kind, header, body)?))
    }

    #[inline]
    fn parse_body(kind: MessageType, header: Header, body: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(match kind {
            MessageType::Hello => Self::Hello(Hello::parse(header, body)?),
            MessageType::Error => Self::Error(ErrorMessage::parse(body)?),
            MessageType::EchoRequest => Self::EchoRequest(Echo { data: body }),
            MessageType::EchoReply => Self::EchoReply(Echo { data: body }),
            MessageType::Experimenter => Self::parse_experimenter(body)?,
            MessageType::FeaturesRequest => Self::FeaturesRequest,
            MessageType::FeaturesReply => Self::FeaturesReply(FeaturesReply::parse(body)?),
            MessageType::GetConfigRequest => Self::GetConfigRequest,
            MessageType::GetConfigReply => Self::GetConfigReply(SwitchConfig::parse(body)?),
            MessageType::SetConfig => Self::SetConfig(SwitchConfig::parse(body)?),
            MessageType::PacketIn => Self::PacketIn(PacketIn::parse(body)?),
            MessageType::FlowRemoved => Self::FlowRemoved(FlowRemoved::parse(body)?),
            MessageType::PortStatus => Self::PortStatus(PortStatus::parse(body)?),
            MessageType::PacketOut => Self::PacketOut(PacketOut::parse(body)?),
            MessageType::FlowMod => Self::FlowMod(FlowMod::parse(body)?),
            MessageType::GroupMod => Self::GroupMod(GroupMod::parse(body)?),
            MessageType::PortMod => Self::PortMod(PortMod::parse(body)?),
            MessageType::TableMod => Self::TableMod(TableMod::parse(body)?),
            MessageType::MultipartRequest => Self::MultipartRequest(MultipartRequest::parse(body)?),
            MessageType::MultipartReply => Self::MultipartReply(MultipartReply::parse(body)?),
            MessageType::BarrierRequest => Self::BarrierRequest,
            MessageType::BarrierReply => Self::BarrierReply,
            MessageType::QueueGetConfigRequest => {
                Self::QueueGetConfigRequest(QueueGetConfigReply::parse_request(body)?)
            }
            MessageType::QueueGetConfigReply => {
                Self::QueueGetConfigReply(QueueGetConfigReply::parse(body)?)
            }
            MessageType::RoleRequest => Self::RoleRequest(RoleMessage::parse(body)?),
            MessageType::RoleReply => Self::RoleReply(RoleMessage::parse(body)?),
            MessageType::GetAsyncRequest => Self::GetAsyncRequest,
            MessageType::GetAsyncReply => Self::GetAsyncReply(AsyncConfig::parse(body)?),
            MessageType::SetAsync => Self::SetAsync(AsyncConfig::parse(body)?),
            MessageType::MeterMod => Self::MeterMod(MeterMod::parse(body)?),
        })
    }

    fn parse_experimenter(body: &'a [u8]) -> Result<Self, DecodeError> {
        let message = Experimenter::parse(body)?;
        Ok(match (message.experimenter, message.kind) {
            (ONF_EXPERIMENTER, BUNDLE_CONTROL) => {
                Self::BundleControl(BundleControl::parse(message.data)?)
            }
            (ONF_EXPERIMENTER, BUNDLE_ADD) => Self::BundleAdd(BundleAdd::parse(message.data)?),
            (taktos::EXPERIMENTER, taktos::POLICE_EVENT) => {
                Self::Police(PoliceEvent::parse(message.data)?)
            }
            (taktos::EXPERIMENTER, taktos::STREAM_EVENT) => {
                Self::Stream(StreamEvent::parse(message.data)?)
            }
            (taktos::EXPERIMENTER, taktos::BFD_CONFIG) => Self::Bfd(BfdConfig::parse(message.data)),
            (taktos::EXPERIMENTER, kind) => {
                if let Some(mode) = ModeMessage::parse(kind, message.data)? {
                    return Ok(Self::Mode(mode));
                }
                let hop = HopMessage::parse(kind, message.data)?;
                hop.map_or(Self::Experimenter(message), Self::Hop)
            }
            _ => Self::Experimenter(message),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => hello.emit(transaction, out),
            Self::Error(error) => error.emit(transaction, out),
            Self::EchoRequest(echo) => echo.emit_request(transaction, out),
            Self::EchoReply(echo) => echo.emit_reply(transaction, out),
            Self::Experimenter(experimenter) => experimenter.emit(transaction, out),
            Self::BundleControl(control) => control.emit(transaction, out),
            Self::BundleAdd(add) => add.emit(transaction, out),
            Self::Mode(mode) => mode.emit(transaction, out),
            Self::Police(event) => event.emit(transaction, out),
            Self::Stream(event) => event.emit(transaction, out),
            Self::Hop(hop) => hop.emit(transaction, out),
            Self::Bfd(config) => config.emit(transaction, out),
            Self::FeaturesRequest => FeaturesReply::emit_request(transaction, out),
            Self::FeaturesReply(features) => features.emit(transaction, out),
            Self::GetConfigRequest => SwitchConfig::emit_request(transaction, out),
            Self::GetConfigReply(config) => config.emit_reply(transaction, out),
            Self::SetConfig(config) => config.emit_set(transaction, out),
            Self::PacketIn(packet_in) => packet_in.emit(transaction, out),
            Self::FlowRemoved(flow_removed) => flow_removed.emit(transaction, out),
            Self::PortStatus(port_status) => port_status.emit(transaction, out),
            Self::PacketOut(packet_out) => packet_out.emit(transaction, out),
            Self::FlowMod(flow_mod) => flow_mod.emit(transaction, out),
            Self::GroupMod(group_mod) => group_mod.emit(transaction, out),
            Self::PortMod(port_mod) => port_mod.emit(transaction, out),
            Self::TableMod(table_mod) => table_mod.emit(transaction, out),
            Self::MultipartRequest(request) => request.emit(transaction, out),
            Self::MultipartReply(reply) => reply.emit(transaction, out),
            Self::BarrierRequest => emit_barrier_request(transaction, out),
            Self::BarrierReply => emit_barrier_reply(transaction, out),
            Self::QueueGetConfigRequest(port) => {
                QueueGetConfigReply::emit_request(*port, transaction, out);
            }
            Self::QueueGetConfigReply(reply) => reply.emit(transaction, out),
            Self::RoleRequest(role) => role.emit_request(transaction, out),
            Self::RoleReply(role) => role.emit_reply(transaction, out),
            Self::GetAsyncRequest => AsyncConfig::emit_request(transaction, out),
            Self::GetAsyncReply(config) => config.emit_reply(transaction, out),
            Self::SetAsync(config) => config.emit_set(transaction, out),
            Self::MeterMod(meter_mod) => meter_mod.emit(transaction, out),
        }
    }
}

impl<'a> Experimenter<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            experimenter: reader.u32()?,
            kind: reader.u32()?,
            data: reader.rest(),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Experimenter, transaction, out);
        finish(message.with(|out| self.emit_body(out)));
    }

    /// Appends what follows the header, of a message or of a multipart.
    pub(super) fn emit_body(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.experimenter).u32(self.kind);
        writer.bytes(self.data);
    }
}

/// Appends a barrier request to `out` (OF13 clause 7.3.8).
pub fn emit_barrier_request(transaction: TransactionId, out: &mut Vec<u8>) {
    begin(MessageType::BarrierRequest, transaction, out);
}

/// Appends a barrier reply to `out` (OF13 clause 7.3.8).
pub fn emit_barrier_reply(transaction: TransactionId, out: &mut Vec<u8>) {
    begin(MessageType::BarrierReply, transaction, out);
}

/// Returns the length of a message that can have only one.
const fn fixed_length(kind: MessageType) -> Option<u16> {
    match kind {
        MessageType::FeaturesRequest
        | MessageType::GetConfigRequest
        | MessageType::BarrierRequest
        | MessageType::BarrierReply
        | MessageType::GetAsyncRequest => Some(8),
        MessageType::GetConfigReply | MessageType::SetConfig => Some(12),
        MessageType::TableMod | MessageType::QueueGetConfigRequest => Some(16),
        MessageType::RoleRequest | MessageType::RoleReply => Some(24),
        MessageType::FeaturesReply | MessageType::GetAsyncReply | MessageType::SetAsync => Some(32),
        MessageType::PortMod => Some(40),
        MessageType::PortStatus => Some(80),
        MessageType::Hello
        | MessageType::Error
        | MessageType::EchoRequest
        | MessageType::EchoReply
        | MessageType::Experimenter
        | MessageType::PacketIn
        | MessageType::FlowRemoved
        | MessageType::PacketOut
        | MessageType::FlowMod
        | MessageType::GroupMod
        | MessageType::MultipartRequest
        | MessageType::MultipartReply
        | MessageType::QueueGetConfigReply
        | MessageType::MeterMod => None,
    }
}

#[cfg(test)]
mod tests;
