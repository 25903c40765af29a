//! What holds for every message, of which [`visit`] makes any.

use proptest::prelude::*;
use units::{BitRate, DataSize, Duration, Instant};

use super::*;
use crate::ethernet::MacAddress;
use crate::openflow::multipart::PortStatistics;
use crate::openflow::oxm::Masked;
use crate::openflow::taktos::{
    Eliminate, ExceedAction, FrameLimit, MonitorId, Police, PoliceEvent, PolicedEntry,
    RecoveryAlgorithm, SequenceEncoding, StreamCounters, StreamEvent, StreamHandle, StreamReport,
    TrailerAction,
};
use crate::prp::Lan;

mod hops;
mod modes;
mod multiparts;

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

    fn fields(&self) -> [MatchField; 6] {
        let mask = self.u64(2);
        [
            MatchField::InPort(PortNumber(self.u32(0))),
            MatchField::Metadata(Masked::under(self.u64(1) & mask, mask)),
            MatchField::EthSrc(self.mac(3).into()),
            MatchField::VlanPcp(self.u8(4) & 7),
            MatchField::Ipv6Flabel((self.u32(5) >> 12).into()),
            MatchField::Level(Masked::under(self.u8(6) & self.u8(7) & 7, self.u8(7) & 7)),
        ]
    }

    fn actions(&self) -> [Action; 25] {
        [
            Action::Output {
                port: PortNumber(self.u32(0)),
                max_length: ControllerLength(self.u16(1)),
            },
            Action::CopyTtlOut,
            Action::CopyTtlIn,
            Action::SetMplsTtl(self.u8(2)),
            Action::DecrementMplsTtl,
            Action::PushVlan(EtherType(self.u16(3))),
            Action::PopVlan,
            Action::PushMpls(EtherType(self.u16(4))),
            Action::PopMpls(EtherType(self.u16(5))),
            Action::SetQueue(QueueId(self.u32(6))),
            Action::Group(GroupId(self.u32(7))),
            Action::SetNetworkTtl(self.u8(8)),
            Action::DecrementNetworkTtl,
            Action::SetField(MatchField::EthDst(self.mac(9).into())),
            Action::PushPbb(EtherType(self.u16(10))),
            Action::PopPbb,
            Action::FlowMonitor(MonitorId(self.u32(11))),
            Action::ModeArrange,
            Action::QueuedFrame(modes::fates(self)),
            Action::Police(self.police()),
            Action::Sequence(StreamHandle(self.u32(19))),
            Action::Eliminate(self.eliminate()),
            Action::Trailer(TrailerAction::Number(StreamHandle(self.u32(20)))),
            Action::Trailer(TrailerAction::Lan(self.one_of(21, Lan::ALL))),
            Action::Trailer(TrailerAction::Supervise),
        ]
    }

    /// Returns a contract that can be counted.
    fn police(&self) -> Police {
        let smallest = DataSize::from_bits(u64::from(self.u32(12) / 4));
        let largest = smallest + DataSize::from_bits(u64::from(self.u32(13) / 4));
        let limit = FrameLimit {
            rate: self.u64(14) >> 5 | 1,
            burst: 1_000_000 + u64::from(self.u32(15)),
        };
        Police {
            smallest,
            largest,
            rate: BitRate::from_bps(self.u64(16) >> 5 | 1),
            burst: largest + DataSize::from_bits(u64::from(self.u32(17))),
            frames: (self.u8(18) & 1 == 0).then_some(limit),
            excess: self.excess(),
        }
    }

    fn excess(&self) -> ExceedAction {
        match self.u8(19) & 1 {
            0 => ExceedAction::Drop,
            _ => ExceedAction::BestEffort,
        }
    }

    /// Returns an elimination that a switch can do.
    fn eliminate(&self) -> Eliminate {
        let eliminate = Eliminate {
            stream: StreamHandle(self.u32(20)),
            algorithm: self.one_of(21, RecoveryAlgorithm::ALL),
            history: 2 + self.u8(22) % (Eliminate::HISTORY_MAX - 1),
            reset: Duration::from_ms(1) + Duration::from_ns(u64::from(self.u32(23))),
            takes_unnumbered: self.u8(24) & 1 == 0,
            strips_tag: self.u8(24) & 2 == 0,
            encoding: match self.u8(24) & 8 {
                0 => SequenceEncoding::RTag,
                _ => SequenceEncoding::Prp,
            },
            ways: (self.u8(24) & 4 == 0).then_some(2 + self.u8(25) / 2),
            tolerance: self.u32(26),
            hold: Duration::from_ns(u64::from(self.u32(27))),
        };
        match eliminate.is_possible() {
            true => eliminate,
            false => Eliminate {
                hold: Duration::ZERO,
                ..eliminate
            },
        }
    }

    fn stream(&self) -> StreamReport {
        StreamReport {
            stream: StreamHandle(self.u32(0)),
            entries: self.u32(1),
            counters: StreamCounters {
                numbered: self.u64(2),
                passed: self.u64(3),
                discarded: self.u64(4),
                out_of_order: self.u64(5),
                rogue: self.u64(6),
                lost: self.u64(7),
                unnumbered: self.u64(8),
                resets: self.u64(9),
                latent_errors: self.u64(10),
                held: self.u64(11),
                gave_up: self.u64(12),
                late: self.u64(13),
            },
        }
    }

    fn policed(&self) -> PolicedEntry {
        PolicedEntry {
            table: TableId(self.u8(0)),
            excess: self.excess(),
            priority: self.u16(1),
            input: PortNumber(self.u32(2)),
            cookie: Cookie(self.u64(3)),
            frames: self.u64(4),
            bytes: self.u64(5),
            exceeded: self.u64(6),
            exceeded_bytes: self.u64(7),
        }
    }

    fn port(&self) -> PortDescription {
        PortDescription {
            number: PortNumber(self.u32(0)),
            address: self.mac(1),
            name: PortName::new(&self.text),
            config: PortConfig(self.u32(2)),
            state: PortState(self.u32(3)),
            current: PortFeatures(self.u32(4)),
            advertised: PortFeatures(self.u32(5)),
            supported: PortFeatures(self.u32(6)),
            peer: PortFeatures(self.u32(7)),
            current_speed_kbps: self.u32(8),
            max_speed_kbps: self.u32(9),
        }
    }

    fn port_statistics(&self) -> PortStatistics {
        PortStatistics {
            port: PortNumber(self.u32(0)),
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
            age: self.age(13),
        }
    }
}

/// Calls `visit` with a message of every kind.
fn visit(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    visit_plain(seeds, visit);
    visit_errors(seeds, visit);
    visit_lists(seeds, visit);
    visit_groups_and_meters(seeds, visit);
    visit_bundles(seeds, visit);
    hops::visit(seeds, visit);
    modes::visit(seeds, visit);
    visit(&Message::Police(PoliceEvent {
        entry: seeds.policed(),
        since_last: seeds.u64(8),
        noticed: Instant::from_ns(seeds.u64(9)),
    }));
    visit(&Message::Stream(StreamEvent {
        report: seeds.stream(),
        passed: seeds.u64(11),
        discarded: seeds.u64(12),
        noticed: Instant::from_ns(seeds.u64(13)),
    }));
    multiparts::visit(seeds, visit);
}

/// Messages without lists.
fn visit_plain(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let echo = Echo { data: &seeds.data };
    let config = SwitchConfig {
        fragments: seeds.one_of(0, FragmentHandling::ALL),
        miss_send_length: ControllerLength(seeds.u16(1)),
    };
    let role = RoleMessage {
        role: seeds.one_of(0, Role::ALL),
        generation: seeds.u64(1),
    };
    let asynchronous = AsyncConfig {
        packet_in: [seeds.u32(0), seeds.u32(1)],
        port_status: [seeds.u32(2), seeds.u32(3)],
        flow_removed: [seeds.u32(4), seeds.u32(5)],
    };
    let messages = [
        Message::Hello(Hello {
            version: seeds.u8(0),
            versions: (seeds.u8(1) > 100).then_some(seeds.u32(1)),
        }),
        Message::EchoRequest(echo),
        Message::EchoReply(echo),
        Message::Experimenter(Experimenter {
            experimenter: seeds.u32(0),
            kind: seeds.u32(1),
            data: &seeds.data,
        }),
        Message::FeaturesRequest,
        Message::FeaturesReply(FeaturesReply {
            datapath: DatapathId(seeds.u64(0)),
            buffers: seeds.u32(1),
            tables: seeds.u8(2),
            auxiliary: seeds.u8(3),
            capabilities: Capabilities(seeds.u32(4)),
        }),
        Message::GetConfigRequest,
        Message::GetConfigReply(config),
        Message::SetConfig(config),
        Message::PortStatus(PortStatus {
            reason: seeds.one_of(10, PortStatusReason::ALL),
            port: seeds.port(),
        }),
        Message::PortMod(PortMod {
            port: PortNumber(seeds.u32(0)),
            address: seeds.mac(1),
            config: PortConfig(seeds.u32(2)),
            mask: PortConfig(seeds.u32(3)),
            advertise: PortFeatures(seeds.u32(4)),
        }),
        Message::TableMod(TableMod {
            table: TableId(seeds.u8(0)),
            config: seeds.u32(1),
        }),
        Message::BarrierRequest,
        Message::BarrierReply,
        Message::QueueGetConfigRequest(PortNumber(seeds.u32(0))),
        Message::RoleRequest(role),
        Message::RoleReply(role),
        Message::GetAsyncRequest,
        Message::GetAsyncReply(asynchronous),
        Message::SetAsync(asynchronous),
    ];
    messages.iter().for_each(visit);
}

/// Errors of every kind.
fn visit_errors(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    for kind in (0..14).chain([0xffff]) {
        let kind = match ErrorKind::from_numbers(kind, seeds.u16(0) % 16) {
            ErrorKind::Unknown { kind: 0xffff, code } => ErrorKind::Experimenter {
                code,
                experimenter: seeds.u32(1),
            },
            kind => kind,
        };
        let data = &seeds.data;
        visit(&Message::Error(ErrorMessage { kind, data }));
    }
}

/// Messages with lists.
fn visit_lists(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let (fields, actions) = (seeds.fields(), seeds.actions());
    let (fields, actions) = (Fields::of(&fields), Actions::of(&actions));
    let instructions = instructions(seeds, actions);
    visit(&Message::PacketIn(PacketIn {
        buffer: BufferId(seeds.u32(0)),
        total_length: seeds.u16(1),
        reason: seeds.one_of(2, PacketInReason::ALL),
        table: TableId(seeds.u8(3)),
        cookie: Cookie(seeds.u64(4)),
        fields,
        data: &seeds.data,
    }));
    visit(&Message::PacketOut(PacketOut {
        buffer: BufferId(seeds.u32(0)),
        in_port: PortNumber(seeds.u32(1)),
        actions,
        data: &seeds.data,
    }));
    visit(&Message::FlowMod(FlowMod {
        cookie: Cookie(seeds.u64(0)),
        cookie_mask: Cookie(seeds.u64(1)),
        table: TableId(seeds.u8(2)),
        command: seeds.one_of(3, FlowModCommand::ALL),
        idle_timeout_s: seeds.u16(4),
        hard_timeout_s: seeds.u16(5),
        priority: seeds.u16(6),
        buffer: BufferId(seeds.u32(7)),
        out_port: PortNumber(seeds.u32(8)),
        out_group: GroupId(seeds.u32(9)),
        flags: FlowModFlags(seeds.u16(10)),
        matching: fields,
        instructions: Instructions::of(&instructions),
    }));
    visit(&Message::FlowRemoved(FlowRemoved {
        cookie: Cookie(seeds.u64(0)),
        priority: seeds.u16(1),
        reason: seeds.one_of(2, FlowRemovedReason::ALL),
        table: TableId(seeds.u8(3)),
        age: seeds.age(4),
        idle_timeout_s: seeds.u16(5),
        hard_timeout_s: seeds.u16(6),
        packets: seeds.u64(7),
        bytes: seeds.u64(8),
        matching: fields,
    }));
}

/// Changes of groups and meters.
fn visit_groups_and_meters(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let actions = seeds.actions();
    let actions = Actions::of(&actions);
    visit(&Message::GroupMod(GroupMod {
        command: seeds.one_of(0, GroupModCommand::ALL),
        kind: seeds.one_of(1, GroupType::ALL),
        group: GroupId(seeds.u32(2)),
        buckets: Buckets::of(&[
            Bucket::new(Actions::EMPTY),
            Bucket {
                weight: seeds.u16(3),
                watch_port: PortNumber(seeds.u32(4)),
                watch_group: GroupId(seeds.u32(5)),
                actions,
            },
        ]),
    }));
    let (rate, burst) = (seeds.u32(2), seeds.u32(3));
    let levels = seeds.u8(4);
    let remark = Band::DscpRemark {
        rate,
        burst,
        levels,
    };
    visit(&Message::MeterMod(MeterMod {
        command: seeds.one_of(0, MeterModCommand::ALL),
        flags: MeterFlags(seeds.u16(1)),
        meter: MeterId(seeds.u32(5)),
        bands: Bands::of(&[Band::Drop { rate, burst }, remark]),
    }));
}

/// Bundles, with and without properties.
fn visit_bundles(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let mut barrier = Vec::new();
    emit_barrier_request(TransactionId(1), &mut barrier);
    let mut echo = Vec::new();
    Echo { data: &seeds.data }.emit_request(TransactionId(1), &mut echo);
    let property = BundleProperty {
        kind: seeds.u16(0),
        data: &seeds.data,
    };
    let (none, some) = (Sequence::EMPTY, [property, property]);
    for (message, properties) in [
        (&barrier, none),
        (&echo, none),
        (&echo, Sequence::of(&some)),
    ] {
        let (bundle, flags) = (BundleId(seeds.u32(1)), BundleFlags(seeds.u16(2)));
        visit(&Message::BundleAdd(BundleAdd {
            bundle,
            flags,
            message,
            properties,
        }));
        visit(&Message::BundleControl(BundleControl {
            bundle,
            kind: seeds.one_of(3, BundleControlKind::ALL),
            flags,
            properties,
        }));
    }
}

fn instructions<'a>(seeds: &Seeds, actions: Actions<'a>) -> [Instruction<'a>; 6] {
    [
        Instruction::Meter(MeterId(seeds.u32(0))),
        Instruction::ApplyActions(actions),
        Instruction::ClearActions,
        Instruction::WriteActions(actions),
        Instruction::WriteMetadata {
            metadata: seeds.u64(1),
            mask: seeds.u64(2),
        },
        Instruction::GotoTable(TableId(seeds.u8(3))),
    ]
}

/// Reads everything in `message`, also what is only checked while iterating.
fn read_all(message: &[u8]) {
    if let Ok((_, message)) = Message::parse(message) {
        // Printing iterates over every list.
        let _ = format!("{message:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_message_is_read_as_it_was_written(seeds in seeds(), transaction: u32) {
        let transaction = TransactionId(transaction);
        let mut kinds = std::collections::BTreeSet::new();
        let mut out = Vec::new();
        visit(&seeds, &mut |message| {
            out.clear();

            message.emit(transaction, &mut out);

            let (header, read) = Message::parse(&out).unwrap();
            assert_eq!(&read, message);
            assert_eq!(header.transaction, transaction);
            assert_eq!(usize::from(header.length), out.len());
            kinds.insert(header.kind);
        });
        prop_assert_eq!(kinds.len(), MessageType::ALL.len());
    }

    #[test]
    fn a_message_that_was_read_is_written_as_it_was(seeds in seeds()) {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        visit(&seeds, &mut |message| {
            first.clear();
            second.clear();
            message.emit(TransactionId(1), &mut first);

            let (_, read) = Message::parse(&first).unwrap();
            read.emit(TransactionId(1), &mut second);

            assert_eq!(first, second);
        });
    }

    #[test]
    fn no_damage_to_a_good_message_makes_it_panic(
        seeds in seeds(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end: prop::sample::Index,
    ) {
        let mut out = Vec::new();
        visit(&seeds, &mut |message| {
            out.clear();
            message.emit(TransactionId(1), &mut out);
            for (at, byte) in &damage {
                let at = at.index(out.len() - 4) + 4;
                out[at] = *byte;
            }
            read_all(&out);

            let end = 8 + end.index(out.len() - 7);
            out[2..4].copy_from_slice(&u16::try_from(end).unwrap().to_be_bytes());
            read_all(&out[..end]);
        });
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        kind in 0u8..32,
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let length = u16::try_from(8 + body.len()).unwrap().to_be_bytes();
        let mut message = vec![4, kind, length[0], length[1], 0, 0, 0, 0];
        message.extend(body);

        read_all(&message);
    }
}
