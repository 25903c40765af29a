//! What a controller of version 1.0 asks for, OF10 section 5.

use units::Instant;
use wire::openflow::{self, FragmentHandling, Header, SwitchConfig, TransactionId};
use wire::openflow10::{BadRequest, ErrorKind, ErrorMessage, Message, PortNumber, QueueOpFailed};

use crate::agent::Agent;
use crate::agent::session::ConnectionId;
use crate::pipeline::Pipeline;

impl Agent {
    /// Handles one message of a session in version 1.0, completely.
    pub(in crate::agent) fn narrow_handle(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        message: &[u8],
    ) {
        let result = match Message::parse(message) {
            Ok((header, parsed)) => {
                self.narrow_dispatch(now, pipeline, id, header.transaction, parsed)
            }
            Err(error) => Err(ErrorKind::from_of13(error.kind())),
        };
        let Err(kind) = result else {
            return self.keep_message(id, message);
        };
        self.bad_messages += 1;
        let transaction = Header::parse(message).map_or(TransactionId(0), |it| it.transaction);
        let error = ErrorMessage::about(message, kind);
        self.narrow_reply(id, transaction, &Message::Error(error));
    }

    fn narrow_dispatch(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        message: Message<'_>,
    ) -> Result<(), ErrorKind> {
        match message {
            Message::Hello(_) | Message::Error(_) | Message::EchoReply(_) => {}
            Message::EchoRequest(echo) => {
                self.narrow_reply(id, transaction, &Message::EchoReply(echo));
            }
            Message::BarrierRequest => {
                self.narrow_reply(id, transaction, &Message::BarrierReply);
            }
            Message::FeaturesRequest => self.narrow_features(pipeline, id, transaction),
            Message::GetConfigRequest => {
                let config = self.config;
                self.reply(id, transaction, &openflow::Message::GetConfigReply(config));
            }
            Message::SetConfig(config) => {
                let config = SwitchConfig {
                    fragments: fragments(config.flags),
                    miss_send_length: config.miss_send_length.to_of13(),
                };
                self.set_config(pipeline, id, config)
                    .map_err(ErrorKind::from_of13)?;
            }
            Message::FlowMod(flow_mod) => self.narrow_flow_mod(now, pipeline, id, &flow_mod)?,
            Message::PacketOut(packet_out) => {
                self.narrow_packet_out(now, pipeline, &packet_out)?;
            }
            Message::PortMod(port_mod) => self.narrow_port_mod(pipeline, &port_mod)?,
            Message::StatisticsRequest(request) => {
                self.narrow_statistics(now, pipeline, id, transaction, request.body)?;
            }
            Message::QueueGetConfigRequest(port) => {
                if port >= PortNumber::MAX {
                    return Err(ErrorKind::QueueOpFailed(QueueOpFailed::BadPort));
                }
                self.queue_config(pipeline, id, transaction, port.to_of13())
                    .map_err(ErrorKind::from_of13)?;
            }
            Message::Vendor(_) => return Err(ErrorKind::BadRequest(BadRequest::BadVendor)),
            // What only a switch says.
            Message::FeaturesReply(_)
            | Message::GetConfigReply(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::StatisticsReply(_)
            | Message::BarrierReply
            | Message::QueueGetConfigReply(_) => {
                return Err(ErrorKind::BadRequest(BadRequest::BadType));
            }
        }
        Ok(())
    }

    /// Appends an answer that only version 1.0 has.
    pub(super) fn narrow_reply(
        &mut self,
        id: ConnectionId,
        transaction: TransactionId,
        message: &Message<'_>,
    ) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.send_narrow(transaction, message);
        }
    }
}

/// Returns what happens to fragments: the capabilities say that they are never
/// put together, so who asks for that asks for nothing special.
fn fragments(flags: u16) -> FragmentHandling {
    match FragmentHandling::from_number(flags) {
        Some(FragmentHandling::Drop) => FragmentHandling::Drop,
        Some(FragmentHandling::Normal | FragmentHandling::Reassemble) | None => {
            FragmentHandling::Normal
        }
    }
}
