//! What the switch says, in version 1.0.

use wire::openflow::multipart::{self, MultipartReply};
use wire::openflow::{self, Message, QueueDescription, Sequence, TransactionId};
use wire::openflow10::statistics::{
    self, FlowStatistics, PortStatistics, QueueStatistics, StatisticsReply,
};
use wire::openflow10::{self, PortNumber};

use super::actions::narrowed_actions;
use super::flow_mods::TABLE;

/// Appends a message in version 1.0 to `out`; nothing if that version has no
/// such message.
pub(in crate::agent) fn emit(message: &Message<'_>, transaction: TransactionId, out: &mut Vec<u8>) {
    use openflow10::Message as Narrow;
    let narrow = match message {
        Message::Hello(hello) => Narrow::Hello(*hello),
        Message::Error(error) => Narrow::Error(openflow10::ErrorMessage {
            kind: openflow10::ErrorKind::from_of13(error.kind),
            data: error.data,
        }),
        Message::EchoRequest(echo) => Narrow::EchoRequest(*echo),
        Message::EchoReply(echo) => Narrow::EchoReply(*echo),
        Message::GetConfigReply(config) => Narrow::GetConfigReply(openflow10::SwitchConfig {
            flags: config.fragments.number(),
            miss_send_length: config.miss_send_length,
        }),
        Message::PacketIn(packet_in) => {
            Narrow::PacketIn(openflow10::PacketIn::from_of13(packet_in))
        }
        Message::BarrierReply => Narrow::BarrierReply,
        Message::FlowRemoved(removed) if removed.table == TABLE => {
            Narrow::FlowRemoved(openflow10::FlowRemoved::from_of13(removed))
        }
        Message::PortStatus(status) => match openflow10::PortDescription::from_of13(&status.port) {
            Some(port) => {
                let reason = status.reason;
                Narrow::PortStatus(openflow10::PortStatus { reason, port })
            }
            None => return,
        },
        Message::MultipartReply(reply) => return emit_statistics(reply, transaction, out),
        Message::QueueGetConfigReply(reply) => return emit_queues(reply, transaction, out),
        // What only a controller says, and what version 1.0 does not know. The
        // features are said by `narrow_features`.
        Message::FlowRemoved(_)
        | Message::Experimenter(_)
        | Message::FeaturesRequest
        | Message::FeaturesReply(_)
        | Message::GetConfigRequest
        | Message::SetConfig(_)
        | Message::PacketOut(_)
        | Message::FlowMod(_)
        | Message::GroupMod(_)
        | Message::PortMod(_)
        | Message::TableMod(_)
        | Message::MultipartRequest(_)
        | Message::BarrierRequest
        | Message::QueueGetConfigRequest(_)
        | Message::RoleRequest(_)
        | Message::RoleReply(_)
        | Message::GetAsyncRequest
        | Message::GetAsyncReply(_)
        | Message::SetAsync(_)
        | Message::MeterMod(_)
        | Message::BundleControl(_)
        | Message::BundleAdd(_)
        | Message::Mode(_)
        | Message::Police(_)
        | Message::Stream(_)
        | Message::Bfd(_)
        | Message::Hop(_) => return,
    };
    narrow.emit(transaction, out);
}

fn emit_statistics(reply: &MultipartReply<'_>, transaction: TransactionId, out: &mut Vec<u8>) {
    use multipart::ReplyBody as Wide;
    use statistics::ReplyBody as Narrow;
    let more = reply.more;
    let mut say = |body| StatisticsReply { more, body }.emit(transaction, out);
    match reply.body {
        Wide::Description(description) => say(Narrow::Description(description)),
        Wide::Aggregate(aggregate) => say(Narrow::Aggregate(aggregate)),
        Wide::Flow(flows) => {
            let flows: Vec<_> = flows.iter().map_while(Result::ok).collect();
            let actions = flows.iter().map(|it| narrowed_actions(&it.instructions));
            let actions: Vec<_> = actions.collect();
            let entries = flows.iter().zip(&actions);
            let entries: Vec<_> = entries
                .map(|(it, actions)| FlowStatistics::from_of13(it, actions))
                .collect();
            say(Narrow::Flow(Sequence::of(&entries)));
        }
        Wide::PortStatistics(ports) => {
            let ports = ports.iter().map_while(Result::ok);
            let ports: Vec<_> = ports
                .filter_map(|it| PortStatistics::from_of13(&it))
                .collect();
            say(Narrow::Port(Sequence::of(&ports)));
        }
        Wide::Queue(queues) => {
            let queues = queues.iter().map_while(Result::ok);
            let queues: Vec<_> = queues
                .filter_map(|it| QueueStatistics::from_of13(&it))
                .collect();
            say(Narrow::Queue(Sequence::of(&queues)));
        }
        // Tables are told of by `narrow_statistics`; nobody asks for the rest.
        Wide::Table(_)
        | Wide::Group(_)
        | Wide::GroupDescription(_)
        | Wide::GroupFeatures(_)
        | Wide::Meter(_)
        | Wide::MeterConfig(_)
        | Wide::MeterFeatures(_)
        | Wide::TableFeatures(_)
        | Wide::PortDescription(_)
        | Wide::Experimenter(_) => {}
    }
}

fn emit_queues(
    reply: &openflow::QueueGetConfigReply<'_>,
    transaction: TransactionId,
    out: &mut Vec<u8>,
) {
    let narrow = |it: QueueDescription| openflow10::QueueDescription {
        queue: it.queue,
        min_rate_permille: it.min_rate_permille,
    };
    let queues = reply.queues.iter().map_while(Result::ok);
    let queues: Vec<_> = queues.map(narrow).collect();
    let reply = openflow10::QueueGetConfigReply {
        port: PortNumber::from_of13(reply.port).unwrap_or(PortNumber::NONE),
        queues: Sequence::of(&queues),
    };
    reply.emit(transaction, out);
}
