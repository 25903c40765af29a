//! What holds for every message, of which [`visit`] makes any.

use proptest::prelude::*;
use units::Duration;

use super::*;
use crate::openflow::{
    DatapathId, FlowRemovedReason, PacketInReason, PortName, PortStatusReason, Sequence, TableId,
};
use crate::openflow10::statistics::{
    AggregateStatistics, FlowStatistics, FlowStatisticsRequest, PortStatistics, QueueStatistics,
    ReplyBody, SwitchDescription, TableStatistics,
};
use crate::openflow10::{
    ActionKinds, Capabilities, ErrorKind, PortDescription, PortState, QueueDescription, Wildcards,
};

/// Arbitrary numbers to make messages of.
#[derive(Clone, Debug)]
struct Seeds {
    numbers: Vec<u64>,
    data: Vec<u8>,
    text: String,
}

fn seeds() -> impl Strategy<Value = Seeds> {
    let numbers = prop::collection::vec(any::<u64>(), 24);
    let data = prop::collection::vec(any::<u8>(), 0..200);
    (numbers, data, "[ -~]{0,31}").prop_map(|(numbers, data, text)| Seeds {
        numbers,
        data,
        text,
    })
}

impl Seeds {
    fn u64(&self, index: usize) -> u64 {
        self.numbers[index % self.numbers.len()]
    }

    fn u32(&self, index: usize) -> u32 {
        u32::try_from(self.u64(index) >> 32).unwrap()
    }

    fn u16(&self, index: usize) -> u16 {
        u16::try_from(self.u64(index) >> 48).unwrap()
    }

    fn u8(&self, index: usize) -> u8 {
        u8::try_from(self.u64(index) >> 56).unwrap()
    }

    fn port(&self, index: usize) -> PortNumber {
        PortNumber(self.u16(index))
    }

    fn one_of<T: Copy>(&self, index: usize, all: &[T]) -> T {
        all[usize::from(self.u16(index)) % all.len()]
    }

    fn mac(&self, index: usize) -> MacAddress {
        let [a, b, c, d, e, f, _, _] = self.u64(index).to_be_bytes();
        MacAddress([a, b, c, d, e, f])
    }

    fn age(&self, index: usize) -> Duration {
        Duration::from_ns(self.u64(index) % (u64::from(u32::MAX) * 1_000_000_000))
    }

    /// A field that is there or not.
    fn maybe<T>(&self, index: usize, value: T) -> Option<T> {
        (self.u64(0) >> index & 1 == 1).then_some(value)
    }

    fn matching(&self) -> Match10 {
        Match10 {
            in_port: self.maybe(0, self.port(1)),
            dl_src: self.maybe(1, self.mac(2)),
            dl_dst: self.maybe(2, self.mac(3)),
            dl_vlan: self.maybe(3, self.u16(4)),
            dl_vlan_pcp: self.maybe(4, self.u8(5)),
            dl_type: self.maybe(5, EtherType(self.u16(6))),
            nw_tos: self.maybe(6, self.u8(7)),
            nw_proto: self.maybe(7, self.u8(8)),
            nw_src: AddressPrefix::new(self.u32(9).into(), self.u8(10) % 33),
            nw_dst: AddressPrefix::new(self.u32(11).into(), self.u8(12) % 33),
            tp_src: self.maybe(8, self.u16(13)),
            tp_dst: self.maybe(9, self.u16(14)),
        }
    }

    fn actions(&self) -> [Action; 12] {
        [
            Action::Output {
                port: self.port(0),
                max_length: ControllerLength(self.u16(1)),
            },
            Action::SetVlanVid(self.u16(2)),
            Action::SetVlanPcp(self.u8(3)),
            Action::StripVlan,
            Action::SetDlSrc(self.mac(4)),
            Action::SetDlDst(self.mac(5)),
            Action::SetNwSrc(self.u32(6).into()),
            Action::SetNwDst(self.u32(7).into()),
            Action::SetNwTos(self.u8(8)),
            Action::SetTpSrc(self.u16(9)),
            Action::SetTpDst(self.u16(10)),
            Action::Enqueue {
                port: self.port(11),
                queue: QueueId(self.u32(12)),
            },
        ]
    }

    fn description(&self) -> PortDescription {
        PortDescription {
            number: self.port(0),
            address: self.mac(1),
            name: PortName::new(&self.text),
            config: PortConfig(self.u32(2)),
            state: PortState(self.u32(3)),
            current: PortFeatures(self.u32(4)),
            advertised: PortFeatures(self.u32(5)),
            supported: PortFeatures(self.u32(6)),
            peer: PortFeatures(self.u32(7)),
        }
    }

    fn port_statistics(&self) -> PortStatistics {
        PortStatistics {
            port: self.port(0),
            received_packets: self.u64(1),
            sent_packets: self.u64(2),
            received_bytes: self.u64(3),
            sent_bytes: self.u64(4),
            received_dropped: self.u64(5),
            sent_dropped: self.u64(6),
            received_errors: self.u64(7),
            sent_errors: self.u64(8),
            frame_errors: self.u64(9),
            overrun_errors: self.u64(10),
            crc_errors: self.u64(11),
            collisions: self.u64(12),
        }
    }
}

/// Calls `visit` with a message of every kind.
fn visit(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    visit_plain(seeds, visit);
    visit_frames_and_entries(seeds, visit);
    visit_requests(seeds, visit);
    visit_replies(seeds, visit);
}

/// Messages without lists.
fn visit_plain(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let data = &seeds.data[..];
    let config = SwitchConfig {
        flags: seeds.u16(0),
        miss_send_length: ControllerLength(seeds.u16(1)),
    };
    let vendor = seeds.u32(0);
    let messages = [
        Message::Hello(Hello {
            version: VERSION,
            versions: None,
        }),
        Message::EchoRequest(Echo { data }),
        Message::EchoReply(Echo { data }),
        Message::Vendor(Vendor { vendor, data }),
        Message::FeaturesRequest,
        Message::GetConfigRequest,
        Message::GetConfigReply(config),
        Message::SetConfig(config),
        Message::PortStatus(PortStatus {
            reason: seeds.one_of(10, PortStatusReason::ALL),
            port: seeds.description(),
        }),
        Message::PortMod(PortMod {
            port: seeds.port(0),
            address: seeds.mac(1),
            config: PortConfig(seeds.u32(2)),
            mask: PortConfig(seeds.u32(3)),
            advertise: PortFeatures(seeds.u32(4)),
        }),
        Message::BarrierRequest,
        Message::BarrierReply,
        Message::QueueGetConfigRequest(seeds.port(0)),
    ];
    messages.iter().for_each(&mut *visit);
    for kind in 0..7 {
        let kind = ErrorKind::from_numbers(kind, seeds.u16(0) % 10);
        visit(&Message::Error(ErrorMessage { kind, data }));
    }
}

fn visit_frames_and_entries(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let actions = seeds.actions();
    let actions = Actions::of(&actions);
    visit(&Message::PacketIn(PacketIn {
        buffer: BufferId(seeds.u32(0)),
        total_length: seeds.u16(1),
        in_port: seeds.port(2),
        reason: seeds.one_of(3, PacketInReason::ALL),
        data: &seeds.data,
    }));
    visit(&Message::PacketOut(PacketOut {
        buffer: BufferId(seeds.u32(0)),
        in_port: seeds.port(1),
        actions,
        data: &seeds.data,
    }));
    visit(&Message::FlowMod(FlowMod {
        matching: seeds.matching(),
        cookie: Cookie(seeds.u64(0)),
        command: seeds.one_of(3, FlowModCommand::ALL),
        idle_timeout_s: seeds.u16(4),
        hard_timeout_s: seeds.u16(5),
        priority: seeds.u16(6),
        buffer: BufferId(seeds.u32(7)),
        out_port: seeds.port(8),
        flags: FlowModFlags(seeds.u16(10)),
        actions,
    }));
    visit(&Message::FlowRemoved(FlowRemoved {
        matching: seeds.matching(),
        cookie: Cookie(seeds.u64(0)),
        priority: seeds.u16(1),
        reason: seeds.one_of(2, FlowRemovedReason::ALL),
        age: seeds.age(4),
        idle_timeout_s: seeds.u16(5),
        packets: seeds.u64(7),
        bytes: seeds.u64(8),
    }));
}

fn visit_requests(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let flow = FlowStatisticsRequest {
        matching: seeds.matching(),
        table: TableId(seeds.u8(0)),
        out_port: seeds.port(1),
    };
    let bodies = [
        RequestBody::Description,
        RequestBody::Flow(flow),
        RequestBody::Aggregate(flow),
        RequestBody::Table,
        RequestBody::Port(seeds.port(5)),
        RequestBody::Queue {
            port: seeds.port(6),
            queue: QueueId(seeds.u32(7)),
        },
        RequestBody::Vendor {
            vendor: seeds.u32(0),
            body: &seeds.data,
        },
    ];
    for body in bodies {
        visit(&Message::StatisticsRequest(StatisticsRequest { body }));
    }
}

fn visit_replies(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let actions = seeds.actions();
    let flow = FlowStatistics {
        table: TableId(seeds.u8(0)),
        matching: seeds.matching(),
        age: seeds.age(1),
        priority: seeds.u16(2),
        idle_timeout_s: seeds.u16(3),
        hard_timeout_s: seeds.u16(4),
        cookie: Cookie(seeds.u64(6)),
        packets: seeds.u64(7),
        bytes: seeds.u64(8),
        actions: Actions::of(&actions),
    };
    let table = TableStatistics {
        table: TableId(seeds.u8(0)),
        name: &seeds.text,
        wildcards: Wildcards(seeds.u32(1)),
        max_entries: seeds.u32(2),
        entries: seeds.u32(3),
        lookups: seeds.u64(4),
        matched: seeds.u64(5),
    };
    let queue = QueueStatistics {
        port: seeds.port(0),
        queue: QueueId(seeds.u32(1)),
        sent_bytes: seeds.u64(2),
        sent_packets: seeds.u64(3),
        sent_errors: seeds.u64(4),
    };
    let (flows, tables, queues) = ([flow, flow], [table, table], [queue, queue]);
    let ports = [seeds.port_statistics()];
    let bodies = [
        ReplyBody::Description(SwitchDescription {
            manufacturer: &seeds.text,
            hardware: "",
            software: &seeds.text,
            serial: &seeds.text,
            datapath: &seeds.text,
        }),
        ReplyBody::Flow(Sequence::of(&flows)),
        ReplyBody::Aggregate(AggregateStatistics {
            packets: seeds.u64(0),
            bytes: seeds.u64(1),
            flows: seeds.u32(2),
        }),
        ReplyBody::Table(Sequence::of(&tables)),
        ReplyBody::Port(Sequence::of(&ports)),
        ReplyBody::Queue(Sequence::of(&queues)),
        ReplyBody::Vendor {
            vendor: seeds.u32(0),
            body: &seeds.data,
        },
    ];
    for body in bodies {
        let more = seeds.u8(8) > 100;
        visit(&Message::StatisticsReply(StatisticsReply { more, body }));
    }
    visit_descriptions(seeds, visit);
}

fn visit_descriptions(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    visit(&Message::FeaturesReply(FeaturesReply {
        datapath: DatapathId(seeds.u64(0)),
        buffers: seeds.u32(1),
        tables: seeds.u8(2),
        capabilities: Capabilities(seeds.u32(3)),
        actions: ActionKinds(seeds.u32(4)),
        ports: Sequence::of(&[seeds.description(), seeds.description()]),
    }));
    visit(&Message::QueueGetConfigReply(QueueGetConfigReply {
        port: seeds.port(0),
        queues: Sequence::of(&[
            QueueDescription {
                queue: QueueId(seeds.u32(1)),
                min_rate_permille: Some(seeds.u16(3)),
            },
            QueueDescription {
                queue: QueueId(seeds.u32(2)),
                min_rate_permille: None,
            },
        ]),
    }));
}

/// Reads everything in `message`, also what is only checked while iterating.
fn read_all(message: &[u8]) {
    if let Ok((_, message)) = Message::parse(message) {
        // Printing iterates over every list.
        let _ = format!("{message:?}");
    }
}

proptest! {
    #[test]
    fn what_is_written_can_be_read(seeds in seeds()) {
        visit(&seeds, &mut |message| {
            let mut out = Vec::new();
            message.emit(TransactionId(7), &mut out);

            let (header, parsed) = Message::parse(&out).unwrap();

            assert_eq!(&parsed, message);
            assert_eq!(header.version, VERSION);
            assert_eq!(usize::from(header.length), out.len());
        });
    }

    #[test]
    fn a_message_with_a_changed_byte_does_not_panic(
        seeds in seeds(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        visit(&seeds, &mut |message| {
            let mut out = Vec::new();
            message.emit(TransactionId(7), &mut out);
            let at = at.index(out.len());
            out[at] = byte;
            read_all(&out);
        });
    }

    #[test]
    fn no_bytes_make_it_panic(
        kind in 0u8..23,
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let length = u16::try_from(body.len() + HEADER_LENGTH).unwrap();
        let mut message = vec![VERSION, kind, 0, 0, 0, 0, 0, 1];
        message[2..4].copy_from_slice(&length.to_be_bytes());
        message.extend(body);
        read_all(&message);
    }
}
