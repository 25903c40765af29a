//! What the switch says, in version 1.0.

use wire::openflow::multipart::{self, MultipartReply, QueueStatistics};
use wire::openflow::{
    self, FlowRemovedReason, Message, PacketInReason, QueueDescription, Sequence, TransactionId,
};
use wire::openflow10::statistics::{self, StatisticsReply};
use wire::openflow10::{self, Match, PortNumber};

use super::actions::narrowed_actions;
use super::errors;
use super::flow_mods::TABLE;
use super::ports::narrowed_port;

/// Appends a message in version 1.0 to `out`; nothing if that version has no
/// such message.
pub(in crate::agent) fn emit(message: &Message<'_>, transaction: TransactionId, out: &mut Vec<u8>) {
    use openflow10::Message as Narrow;
    let narrow = match message {
        Message::Hello(hello) => Narrow::Hello(*hello),
        Message::Error(error) => Narrow::Error(openflow10::ErrorMessage {
            kind: errors::narrowed(error.kind),
            data: error.data,
        }),
        Message::EchoRequest(echo) => Narrow::EchoRequest(*echo),
        Message::EchoReply(echo) => Narrow::EchoReply(*echo),
        Message::GetConfigReply(config) => Narrow::GetConfigReply(openflow10::SwitchConfig {
            flags: config.fragments.number(),
            miss_send_length: config.miss_send_length,
        }),
        Message::PacketIn(packet_in) => Narrow::PacketIn(narrowed_packet_in(packet_in)),
        Message::BarrierReply => Narrow::BarrierReply,
        Message::FlowRemoved(removed) if removed.table == TABLE => {
            Narrow::FlowRemoved(narrowed_removal(removed))
        }
        Message::PortStatus(status) => match narrowed_port(&status.port) {
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
        | Message::Mode(_) => return,
    };
    narrow.emit(transaction, out);
}

fn narrowed_packet_in<'a>(wide: &openflow::PacketIn<'a>) -> openflow10::PacketIn<'a> {
    let in_port = wide.in_port().and_then(PortNumber::narrowed);
    openflow10::PacketIn {
        buffer: wide.buffer,
        total_length: wide.total_length,
        in_port: in_port.unwrap_or(PortNumber::NONE),
        reason: match wide.reason {
            PacketInReason::NoMatch => PacketInReason::NoMatch,
            PacketInReason::Action | PacketInReason::InvalidTtl => PacketInReason::Action,
        },
        data: wide.data,
    }
}

fn narrowed_removal(wide: &openflow::FlowRemoved<'_>) -> openflow10::FlowRemoved {
    openflow10::FlowRemoved {
        matching: Match::narrowed(&wide.matching),
        cookie: wide.cookie,
        priority: wide.priority,
        reason: match wide.reason {
            FlowRemovedReason::GroupDelete => FlowRemovedReason::Delete,
            reason @ (FlowRemovedReason::IdleTimeout
            | FlowRemovedReason::HardTimeout
            | FlowRemovedReason::Delete) => reason,
        },
        age: wide.age,
        idle_timeout_s: wide.idle_timeout_s,
        packets: wide.packets,
        bytes: wide.bytes,
    }
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
                .map(|(it, actions)| narrowed_flow(it, actions))
                .collect();
            say(Narrow::Flow(Sequence::of(&entries)));
        }
        Wide::PortStatistics(ports) => {
            let ports = ports.iter().map_while(Result::ok);
            let ports: Vec<_> = ports
                .filter_map(|it| narrowed_port_statistics(&it))
                .collect();
            say(Narrow::Port(Sequence::of(&ports)));
        }
        Wide::Queue(queues) => {
            let queues = queues.iter().map_while(Result::ok);
            let queues: Vec<_> = queues.filter_map(|it| narrowed_queue(&it)).collect();
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

fn narrowed_flow<'a>(
    wide: &multipart::FlowStatistics<'_>,
    actions: &'a [openflow10::Action],
) -> statistics::FlowStatistics<'a> {
    statistics::FlowStatistics {
        table: wide.table,
        matching: Match::narrowed(&wide.matching),
        age: wide.age,
        priority: wide.priority,
        idle_timeout_s: wide.idle_timeout_s,
        hard_timeout_s: wide.hard_timeout_s,
        cookie: wide.cookie,
        packets: wide.packets,
        bytes: wide.bytes,
        actions: openflow10::Actions::of(actions),
    }
}

fn narrowed_port_statistics(
    wide: &multipart::PortStatistics,
) -> Option<statistics::PortStatistics> {
    Some(statistics::PortStatistics {
        port: PortNumber::narrowed(wide.port)?,
        received_packets: wide.received_packets,
        sent_packets: wide.sent_packets,
        received_bytes: wide.received_bytes,
        sent_bytes: wide.sent_bytes,
        received_dropped: wide.received_dropped,
        sent_dropped: wide.sent_dropped,
        received_errors: wide.received_errors,
        sent_errors: wide.sent_errors,
        frame_errors: wide.frame_errors,
        overrun_errors: wide.overrun_errors,
        crc_errors: wide.crc_errors,
        collisions: wide.collisions,
    })
}

fn narrowed_queue(wide: &QueueStatistics) -> Option<statistics::QueueStatistics> {
    Some(statistics::QueueStatistics {
        port: PortNumber::narrowed(wide.port)?,
        queue: wide.queue,
        sent_bytes: wide.sent_bytes,
        sent_packets: wide.sent_packets,
        sent_errors: wide.sent_errors,
    })
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
        port: PortNumber::narrowed(reply.port).unwrap_or(PortNumber::NONE),
        queues: Sequence::of(&queues),
    };
    reply.emit(transaction, out);
}
