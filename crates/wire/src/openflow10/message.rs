//! Any message, taken apart.

use super::header::begin;
use super::statistics::{StatisticsReply, StatisticsRequest};
use super::{
    ErrorMessage, FeaturesReply, FlowMod, FlowRemoved, MessageType, PacketIn, PacketOut, PortMod,
    PortNumber, PortStatus, QueueGetConfigReply, SwitchConfig, VERSION, Vendor,
};
use crate::openflow::{DecodeError, Echo, HEADER_LENGTH, Header, Hello, TransactionId};

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
    Vendor(Vendor<'a>),
    /// Asks who the switch is.
    FeaturesRequest,
    /// Says who the switch is.
    FeaturesReply(FeaturesReply<'a>),
    /// Asks for the configuration.
    GetConfigRequest,
    /// Says the configuration.
    GetConfigReply(SwitchConfig),
    /// Changes the configuration.
    SetConfig(SwitchConfig),
    /// Hands a frame to the controller.
    PacketIn(PacketIn<'a>),
    /// Says that an entry is gone.
    FlowRemoved(FlowRemoved),
    /// Says that a port changed.
    PortStatus(PortStatus),
    /// Sends a frame.
    PacketOut(PacketOut<'a>),
    /// Changes entries of flow tables.
    FlowMod(FlowMod<'a>),
    /// Changes a port.
    PortMod(PortMod),
    /// Asks for much.
    StatisticsRequest(StatisticsRequest<'a>),
    /// Says much, in parts.
    StatisticsReply(StatisticsReply<'a>),
    /// Asks to finish what came before.
    BarrierRequest,
    /// Says that it is finished.
    BarrierReply,
    /// Asks for the queues of a port.
    QueueGetConfigRequest(PortNumber),
    /// Says the queues of a port.
    QueueGetConfigReply(QueueGetConfigReply<'a>),
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

    fn parse_body(kind: MessageType, header: Header, body: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(match kind {
            MessageType::Hello => Self::Hello(Hello::parse(header, body)?),
            MessageType::Error => Self::Error(ErrorMessage::parse(body)?),
            MessageType::EchoRequest => Self::EchoRequest(Echo { data: body }),
            MessageType::EchoReply => Self::EchoReply(Echo { data: body }),
            MessageType::Vendor => Self::Vendor(Vendor::parse(body)?),
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
            MessageType::PortMod => Self::PortMod(PortMod::parse(body)?),
            MessageType::StatisticsRequest => {
                Self::StatisticsRequest(StatisticsRequest::parse(body)?)
            }
            MessageType::StatisticsReply => Self::StatisticsReply(StatisticsReply::parse(body)?),
            MessageType::BarrierRequest => Self::BarrierRequest,
            MessageType::BarrierReply => Self::BarrierReply,
            MessageType::QueueGetConfigRequest => {
                Self::QueueGetConfigRequest(QueueGetConfigReply::parse_request(body)?)
            }
            MessageType::QueueGetConfigReply => {
                Self::QueueGetConfigReply(QueueGetConfigReply::parse(body)?)
            }
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
            Self::EchoRequest(echo) => emit_echo(MessageType::EchoRequest, echo, transaction, out),
            Self::EchoReply(echo) => emit_echo(MessageType::EchoReply, echo, transaction, out),
            Self::Vendor(vendor) => vendor.emit(transaction, out),
            Self::FeaturesRequest => emit_bare(MessageType::FeaturesRequest, transaction, out),
            Self::FeaturesReply(features) => features.emit(transaction, out),
            Self::GetConfigRequest => emit_bare(MessageType::GetConfigRequest, transaction, out),
            Self::GetConfigReply(config) => config.emit_reply(transaction, out),
            Self::SetConfig(config) => config.emit_set(transaction, out),
            Self::PacketIn(packet_in) => packet_in.emit(transaction, out),
            Self::FlowRemoved(flow_removed) => flow_removed.emit(transaction, out),
            Self::PortStatus(port_status) => port_status.emit(transaction, out),
            Self::PacketOut(packet_out) => packet_out.emit(transaction, out),
            Self::FlowMod(flow_mod) => flow_mod.emit(transaction, out),
            Self::PortMod(port_mod) => port_mod.emit(transaction, out),
            Self::StatisticsRequest(request) => request.emit(transaction, out),
            Self::StatisticsReply(reply) => reply.emit(transaction, out),
            Self::BarrierRequest => emit_bare(MessageType::BarrierRequest, transaction, out),
            Self::BarrierReply => emit_bare(MessageType::BarrierReply, transaction, out),
            Self::QueueGetConfigRequest(port) => {
                QueueGetConfigReply::emit_request(*port, transaction, out);
            }
            Self::QueueGetConfigReply(reply) => reply.emit(transaction, out),
        }
    }
}

/// Appends a message without a body.
fn emit_bare(kind: MessageType, transaction: TransactionId, out: &mut Vec<u8>) {
    begin(kind, transaction, out);
}

fn emit_echo(kind: MessageType, echo: &Echo<'_>, transaction: TransactionId, out: &mut Vec<u8>) {
    let mut message = begin(kind, transaction, out);
    super::header::finish(message.bytes(echo.data));
}

/// Returns the length of a message that can have only one.
const fn fixed_length(kind: MessageType) -> Option<u16> {
    match kind {
        MessageType::FeaturesRequest
        | MessageType::GetConfigRequest
        | MessageType::BarrierRequest
        | MessageType::BarrierReply => Some(8),
        MessageType::GetConfigReply
        | MessageType::SetConfig
        | MessageType::QueueGetConfigRequest => Some(12),
        MessageType::PortMod => Some(32),
        MessageType::PortStatus => Some(64),
        MessageType::FlowRemoved => Some(88),
        MessageType::Hello
        | MessageType::Error
        | MessageType::EchoRequest
        | MessageType::EchoReply
        | MessageType::Vendor
        | MessageType::FeaturesReply
        | MessageType::PacketIn
        | MessageType::PacketOut
        | MessageType::FlowMod
        | MessageType::StatisticsRequest
        | MessageType::StatisticsReply
        | MessageType::QueueGetConfigReply => None,
    }
}

#[cfg(test)]
mod tests;
