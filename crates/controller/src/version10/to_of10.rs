//! What the controller says, in the words of version 1.0.

use wire::openflow::multipart::{self, MultipartReply, ReplyBody, RequestBody};
use wire::openflow::{
    self, BadRequest, Cookie, ErrorKind, ErrorMessage, FlowModFailed, Header, Message, Sequence,
    TableId, TransactionId,
};
use wire::openflow10::statistics::{self, FlowStatisticsRequest, StatisticsRequest};
use wire::openflow10::{self, Actions, FlowMod, FlowModFlags, PacketOut, PortNumber, SwitchConfig};

use super::matches::{narrow_actions, narrow_instructions, narrow_match};
use super::{Cookies, Counted, MAX_QUESTIONS, Sides, StatsPurpose, Translator};

/// The one table that version 1.0 knows of.
const TABLE: TableId = TableId(0);

impl Translator {
    /// Puts whole messages of the controller into the words of the switch. What
    /// these cannot say, and what the translator knows itself, is answered.
    pub fn say(&mut self, mut messages: &[u8], sides: &mut Sides<'_>) {
        while let Ok(header) = Header::parse(messages) {
            let Some((message, rest)) = messages.split_at_checked(header.length.into()) else {
                return;
            };
            messages = rest;
            let Ok((header, parsed)) = Message::parse(message) else {
                return;
            };
            if let Err(kind) = self.narrow(header.transaction, &parsed, message, sides) {
                ErrorMessage::about(message, kind).emit(header.transaction, sides.controller);
            }
        }
    }

    fn narrow(
        &mut self,
        transaction: TransactionId,
        message: &Message<'_>,
        bytes: &[u8],
        sides: &mut Sides<'_>,
    ) -> Result<(), ErrorKind> {
        use openflow10::Message as Narrow;
        let narrow = match message {
            // A hello is in every version what it is.
            Message::Hello(_) => {
                sides.switch.extend_from_slice(bytes);
                return Ok(());
            }
            Message::Error(error) => Narrow::Error(openflow10::ErrorMessage {
                kind: openflow10::ErrorKind::BadRequest(openflow10::BadRequest::BadType),
                data: error.data,
            }),
            Message::EchoRequest(echo) => Narrow::EchoRequest(*echo),
            Message::EchoReply(echo) => Narrow::EchoReply(*echo),
            Message::FeaturesRequest => Narrow::FeaturesRequest,
            Message::GetConfigRequest => Narrow::GetConfigRequest,
            Message::SetConfig(config) => Narrow::SetConfig(SwitchConfig {
                flags: config.fragments.number(),
                miss_send_length: config.miss_send_length,
            }),
            Message::BarrierRequest => Narrow::BarrierRequest,
            Message::PacketOut(packet_out) => {
                return narrow_packet_out(transaction, packet_out, sides.switch);
            }
            Message::FlowMod(flow_mod) => return self.change(transaction, flow_mod, sides),
            Message::MultipartRequest(request) => {
                return self.ask(transaction, &request.body, sides);
            }
            Message::Experimenter(_)
            | Message::Police(_)
            | Message::Stream(_)
            | Message::FeaturesReply(_)
            | Message::GetConfigReply(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::GroupMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::MultipartReply(_)
            | Message::BarrierReply
            | Message::QueueGetConfigRequest(_)
            | Message::QueueGetConfigReply(_)
            | Message::RoleRequest(_)
            | Message::RoleReply(_)
            | Message::GetAsyncRequest
            | Message::GetAsyncReply(_)
            | Message::SetAsync(_)
            | Message::MeterMod(_)
            | Message::BundleControl(_)
            | Message::BundleAdd(_)
            | Message::Mode(_)
            | Message::Bfd(_)
            | Message::Hop(_) => return Err(ErrorKind::BadRequest(BadRequest::BadType)),
        };
        narrow.emit(transaction, sides.switch);
        Ok(())
    }

    fn change(
        &mut self,
        transaction: TransactionId,
        wide: &openflow::FlowMod<'_>,
        sides: &mut Sides<'_>,
    ) -> Result<(), ErrorKind> {
        if wide.table != TABLE && wide.table != TableId::ALL {
            return Err(ErrorKind::FlowModFailed(FlowModFailed::BadTableId));
        }
        if wide.cookie_mask != Cookie::NONE {
            let cookies = Cookies {
                value: wide.cookie,
                mask: wide.cookie_mask,
            };
            let own = self.own_transaction();
            return self.ask_for_all(own, StatsPurpose::Delete(cookies), sides);
        }
        let actions = narrow_instructions(&wide.instructions, self.enqueue)?;
        let out_port = PortNumber::from_of13(wide.out_port);
        let flow_mod = FlowMod {
            matching: narrow_match(&wide.matching)?,
            cookie: wide.cookie,
            command: wide.command,
            idle_timeout_s: wide.idle_timeout_s,
            hard_timeout_s: wide.hard_timeout_s,
            priority: wide.priority,
            buffer: wide.buffer,
            out_port: out_port.unwrap_or(PortNumber::NONE),
            flags: narrow_flags(wide.flags),
            actions: Actions::of(&actions),
        };
        flow_mod.emit(transaction, sides.switch);
        Ok(())
    }

    fn ask(
        &mut self,
        transaction: TransactionId,
        wide: &RequestBody<'_>,
        sides: &mut Sides<'_>,
    ) -> Result<(), ErrorKind> {
        let cookies = |request: &multipart::FlowStatisticsRequest<'_>| Cookies {
            value: request.cookie,
            mask: request.cookie_mask,
        };
        match wide {
            RequestBody::PortDescription => {
                let ports = ReplyBody::PortDescription(Sequence::of(&self.ports));
                MultipartReply::new(ports).emit(transaction, sides.controller);
                Ok(())
            }
            RequestBody::Flow(request) => {
                let question = StatsPurpose::List(cookies(request));
                self.ask_for_all(transaction, question, sides)
            }
            RequestBody::Aggregate(request) => {
                let question = StatsPurpose::Count(cookies(request), Counted::default());
                self.ask_for_all(transaction, question, sides)
            }
            RequestBody::Description
            | RequestBody::Table
            | RequestBody::PortStatistics(_)
            | RequestBody::Queue { .. }
            | RequestBody::Group(_)
            | RequestBody::GroupDescription
            | RequestBody::GroupFeatures
            | RequestBody::Meter(_)
            | RequestBody::MeterConfig(_)
            | RequestBody::MeterFeatures
            | RequestBody::TableFeatures(_)
            | RequestBody::Experimenter(_) => Err(ErrorKind::BadRequest(BadRequest::BadMultipart)),
        }
    }

    /// Asks for all entries, of which the answer picks those that are meant.
    fn ask_for_all(
        &mut self,
        transaction: TransactionId,
        question: StatsPurpose,
        sides: &mut Sides<'_>,
    ) -> Result<(), ErrorKind> {
        if self.questions.len() >= MAX_QUESTIONS {
            let overflow = BadRequest::MultipartBufferOverflow;
            return Err(ErrorKind::BadRequest(overflow));
        }
        self.questions.insert(transaction, question);
        let body = statistics::RequestBody::Flow(FlowStatisticsRequest::ALL);
        StatisticsRequest { body }.emit(transaction, sides.switch);
        Ok(())
    }
}

fn narrow_packet_out(
    transaction: TransactionId,
    wide: &openflow::PacketOut<'_>,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let actions = narrow_actions(&wide.actions)?;
    let packet_out = PacketOut {
        buffer: wide.buffer,
        // What comes from the controller came in by no port.
        in_port: match wide.in_port {
            openflow::PortNumber::CONTROLLER => PortNumber::NONE,
            port => {
                PortNumber::from_of13(port).ok_or(ErrorKind::BadRequest(BadRequest::BadPort))?
            }
        },
        actions: Actions::of(&actions),
        data: wide.data,
    };
    packet_out.emit(transaction, out);
    Ok(())
}

/// Takes over the flags that both versions have.
fn narrow_flags(wide: openflow::FlowModFlags) -> FlowModFlags {
    let common = [
        (
            openflow::FlowModFlags::SEND_FLOW_REMOVED,
            FlowModFlags::SEND_FLOW_REMOVED,
        ),
        (
            openflow::FlowModFlags::CHECK_OVERLAP,
            FlowModFlags::CHECK_OVERLAP,
        ),
    ];
    let said = common.into_iter().filter(|(flag, _)| wide.contains(*flag));
    said.fold(FlowModFlags::NONE, |all, (_, flag)| all.with(flag))
}
