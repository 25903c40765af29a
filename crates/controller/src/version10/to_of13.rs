//! What the switch says, in the words of version 1.3.

use wire::openflow::multipart::{
    AggregateStatistics, MultipartReply, MultipartType, ReplyBody, ReplyWriter,
};
use wire::openflow::{
    self, Capabilities, DecodeError, ErrorMessage, FeaturesReply, FlowModCommand, Message,
    TransactionId,
};
use wire::openflow10::statistics::{self, FlowStatistics};
use wire::openflow10::{self, ActionKinds, FlowMod};

use super::{Cookies, Counted, Enqueue, Sides, StatsPurpose, Translator};

impl Translator {
    /// Puts one whole message of the switch into the words of the controller.
    ///
    /// # Errors
    ///
    /// If it is no message of version 1.0.
    #[inline]
    pub(super) fn hear_message(
        &mut self,
        message: &[u8],
        sides: &mut Sides<'_>,
    ) -> Result<(), DecodeError> {
        let (header, narrow) = openflow10::Message::parse(message)?;
        let transaction = header.transaction;
        if let openflow10::Message::PacketIn(packet_in) = narrow {
            packet_in.emit_of13(transaction, sides.controller);
            return Ok(());
        }
        self.widen(transaction, &narrow, message, sides);
        Ok(())
    }

    fn widen(
        &mut self,
        transaction: TransactionId,
        narrow: &openflow10::Message<'_>,
        bytes: &[u8],
        sides: &mut Sides<'_>,
    ) {
        use openflow10::Message as Narrow;
        let wide = match narrow {
            Narrow::Hello(_) => return sides.controller.extend_from_slice(bytes),
            Narrow::Error(error) => {
                // A question that is refused is answered with that.
                self.questions.remove(&transaction);
                Message::Error(ErrorMessage {
                    kind: error.kind.to_of13(),
                    data: error.data,
                })
            }
            Narrow::EchoRequest(echo) => Message::EchoRequest(*echo),
            Narrow::EchoReply(echo) => Message::EchoReply(*echo),
            Narrow::FeaturesReply(features) => Message::FeaturesReply(self.introduce(features)),
            Narrow::PacketIn(packet_in) => {
                return packet_in.emit_of13(transaction, sides.controller);
            }
            Narrow::FlowRemoved(removed) => {
                return removed.emit_of13(transaction, sides.controller);
            }
            Narrow::PortStatus(status) => Message::PortStatus(status.to_of13()),
            Narrow::BarrierReply => Message::BarrierReply,
            Narrow::StatisticsReply(reply) => return self.answer(transaction, reply, sides),
            // Nobody asks for these, and what only a switch receives is no concern.
            Narrow::Vendor(_)
            | Narrow::FeaturesRequest
            | Narrow::GetConfigRequest
            | Narrow::GetConfigReply(_)
            | Narrow::SetConfig(_)
            | Narrow::PacketOut(_)
            | Narrow::FlowMod(_)
            | Narrow::PortMod(_)
            | Narrow::StatisticsRequest(_)
            | Narrow::BarrierRequest
            | Narrow::QueueGetConfigRequest(_)
            | Narrow::QueueGetConfigReply(_) => return,
        };
        wide.emit(transaction, sides.controller);
    }

    /// Notes which ports the switch has and what it can do.
    fn introduce(&mut self, narrow: &openflow10::FeaturesReply<'_>) -> FeaturesReply {
        self.enqueue = match narrow.actions.contains(ActionKinds::ENQUEUE) {
            true => Enqueue::Able,
            false => Enqueue::Unable,
        };
        let ports = narrow.ports.iter().map_while(Result::ok);
        self.ports = ports.map(|port| port.to_of13()).collect();
        FeaturesReply {
            datapath: narrow.datapath,
            buffers: narrow.buffers,
            tables: 1,
            auxiliary: 0,
            capabilities: Capabilities::NONE,
        }
    }

    fn answer(
        &mut self,
        transaction: TransactionId,
        reply: &statistics::StatisticsReply<'_>,
        sides: &mut Sides<'_>,
    ) {
        let statistics::ReplyBody::Flow(entries) = reply.body else {
            return;
        };
        let Some(question) = self.questions.get_mut(&transaction) else {
            return;
        };
        let entries = entries.iter().map_while(Result::ok);
        match question {
            StatsPurpose::List(cookies) => {
                let meant = entries.filter(|entry| cookies.contain(entry.cookie));
                list(transaction, meant, reply.more, sides.controller);
            }
            StatsPurpose::Count(cookies, counted) => {
                for entry in entries.filter(|entry| cookies.contain(entry.cookie)) {
                    counted.add(&entry);
                }
                if !reply.more {
                    let total = ReplyBody::Aggregate((*counted).into());
                    MultipartReply::new(total).emit(transaction, sides.controller);
                }
            }
            StatsPurpose::Delete(cookies) => delete(*cookies, entries, sides.switch),
        }
        if !reply.more {
            self.questions.remove(&transaction);
        }
    }
}

impl Counted {
    fn add(&mut self, entry: &FlowStatistics<'_>) {
        self.packets = self.packets.saturating_add(entry.packets);
        self.bytes = self.bytes.saturating_add(entry.bytes);
        self.flows = self.flows.saturating_add(1);
    }
}

impl From<Counted> for AggregateStatistics {
    fn from(counted: Counted) -> Self {
        Self {
            packets: counted.packets,
            bytes: counted.bytes,
            flows: counted.flows,
        }
    }
}

/// Writes entries as a part of an answer.
fn list<'a>(
    transaction: TransactionId,
    entries: impl Iterator<Item = FlowStatistics<'a>>,
    more: bool,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let mut writer = ReplyWriter::new(MultipartType::Flow, transaction, out);
    for entry in entries {
        entry.tell_of13(|told| writer.push(told));
    }
    writer.finish();
    if more {
        mark_unfinished(&mut out[start..]);
    }
}

/// Says of the last message of an answer that more follows.
fn mark_unfinished(mut messages: &mut [u8]) {
    const FLAGS_OFFSET: usize = 10;
    while let Ok(header) = openflow::Header::parse(messages) {
        let length = usize::from(header.length);
        messages[FLAGS_OFFSET + 1] |= 1;
        messages = &mut messages[length..];
    }
}

/// Deletes the entries that are meant, one by one.
fn delete<'a>(
    cookies: Cookies,
    entries: impl Iterator<Item = FlowStatistics<'a>>,
    out: &mut Vec<u8>,
) {
    for entry in entries.filter(|entry| cookies.contain(entry.cookie)) {
        let flow_mod = FlowMod {
            matching: entry.matching,
            command: FlowModCommand::DeleteStrict,
            priority: entry.priority,
            ..FlowMod::ADD
        };
        flow_mod.emit(TransactionId(0), out);
    }
}
