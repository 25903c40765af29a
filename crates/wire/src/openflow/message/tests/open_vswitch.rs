//! Messages that Open vSwitch wrote mean what it was told, and are written by
//! us to the same bytes.

use super::*;
use crate::openflow::multipart::{
    BandTypes, FieldId, GroupCapabilities, InstructionId, MultipartReply, TableFeatures,
    TableProperty,
};

const VECTORS: &str = include_str!("../../../../tests/vectors/openflow_open_vswitch.hex");
const FEATURES_OF_A_TABLE: usize = 13;

/// Calls `check` with the meaning of a vector, and writes it again.
fn read(index: usize, check: impl FnOnce(Message<'_>)) {
    let vector = &frames(VECTORS)[index];
    let (header, message) = Message::parse(vector).unwrap();
    let mut out = Vec::new();

    message.emit(header.transaction, &mut out);

    assert_eq!(&out, vector);
    check(message);
}

/// Calls `check` with the answer in a vector.
fn read_reply(index: usize, check: impl FnOnce(ReplyBody<'_>)) {
    read(index, |message| match message {
        Message::MultipartReply(MultipartReply { more: false, body }) => check(body),
        other => panic!("another message: {other:?}"),
    });
}

#[test]
fn statistics_of_groups() {
    read_reply(0, |body| {
        let ReplyBody::Group(groups) = body else {
            panic!("another answer: {body:?}")
        };
        let groups: Vec<_> = groups.iter().map(Result::unwrap).collect();

        let users: Vec<_> = groups
            .iter()
            .map(|it| (it.group.0, it.references))
            .collect();
        assert_eq!(users, [(1, 1), (2, 0)]);
        assert_eq!(groups[0].age, Duration::from_us(492_000));
        assert_eq!(groups[0].buckets.iter().count(), 2);
    });
}

#[test]
fn descriptions_of_groups() {
    read_reply(1, |body| {
        let ReplyBody::GroupDescription(groups) = body else {
            panic!("another answer: {body:?}")
        };
        let groups: Vec<_> = groups.iter().map(Result::unwrap).collect();
        let kinds: Vec<_> = groups.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [GroupType::Select, GroupType::FastFailover]);

        let buckets: Vec<_> = groups[0].buckets.iter().map(Result::unwrap).collect();
        assert_eq!([50, 20], [buckets[0].weight, buckets[1].weight]);
        let output = |port| Action::Output {
            port: PortNumber(port),
            max_length: ControllerLength(0),
        };
        let tagged = [
            Action::PushVlan(EtherType(0x8100)),
            Action::SetField(MatchField::VlanVid(VlanMatch::tagged(4).into())),
            output(2),
        ];
        assert_eq!(buckets[1].actions, Actions::of(&tagged));
        let watched = groups[1].buckets.iter().map(|it| it.unwrap().watch_port.0);
        assert!(watched.eq([1, 2]));
    });
}

#[test]
fn features_of_groups() {
    read_reply(2, |body| {
        let ReplyBody::GroupFeatures(features) = body else {
            panic!("another answer: {body:?}")
        };

        assert_eq!(features.types, 0b1111);
        let all_but_checks = GroupCapabilities::SELECT_WEIGHT
            .with(GroupCapabilities::SELECT_LIVENESS)
            .with(GroupCapabilities::CHAINING);
        assert_eq!(features.capabilities, all_but_checks);
        assert_eq!(features.max_groups, [0xffff_ff00; 4]);
    });
}

#[test]
fn meters() {
    read_reply(3, |body| {
        let ReplyBody::Meter(meters) = body else {
            panic!("another answer: {body:?}")
        };
        let meter = meters.iter().next().unwrap().unwrap();
        assert_eq!((meter.meter.0, meter.flows), (5, 1));
        assert_eq!(meter.age, Duration::from_us(433_000));
        assert_eq!(meter.bands.iter().count(), 1);
    });
    read_reply(4, |body| {
        let ReplyBody::MeterConfig(meters) = body else {
            panic!("another answer: {body:?}")
        };
        let meter = meters.iter().next().unwrap().unwrap();
        let flags = MeterFlags::KBPS
            .with(MeterFlags::BURST)
            .with(MeterFlags::STATISTICS);
        assert_eq!(meter.flags, flags);
        let (rate, burst) = (1000, 100);
        assert_eq!(meter.bands, Bands::of(&[Band::Drop { rate, burst }]));
    });
    read_reply(5, |body| {
        let ReplyBody::MeterFeatures(features) = body else {
            panic!("another answer: {body:?}")
        };
        assert_eq!(features.max_meters, 0x0004_0000);
        assert_eq!(features.band_types, BandTypes::DROP);
        assert_eq!((features.max_bands, features.max_colours), (8, 0));
    });
}

#[test]
fn a_bundle_with_a_flow_mod() {
    let flags = BundleFlags::ATOMIC.with(BundleFlags::ORDERED);
    let control = |kind| BundleControl {
        bundle: BundleId(0),
        kind,
        flags,
        properties: Sequence::EMPTY,
    };
    read(6, |message| {
        let open = control(BundleControlKind::OpenRequest);
        assert_eq!(message, Message::BundleControl(open));
    });
    read(7, |message| {
        let Message::BundleAdd(add) = message else {
            panic!("another message: {message:?}")
        };
        assert_eq!((add.bundle, add.flags), (BundleId(0), flags));
        let fields = [
            MatchField::InPort(PortNumber(1)),
            MatchField::EthType(EtherType::SAMPLED_VALUES),
        ];
        let (metadata, mask) = (5, 15);
        let instructions = [
            Instruction::WriteMetadata { metadata, mask },
            Instruction::GotoTable(TableId(4)),
        ];
        let flow_mod = FlowMod {
            priority: 7,
            matching: Fields::of(&fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(3))
        };
        let (header, message) = Message::parse(add.message).unwrap();
        assert_eq!(header.transaction, TransactionId(2));
        assert_eq!(message, Message::FlowMod(flow_mod));
    });
    read(8, |message| {
        let commit = control(BundleControlKind::CommitRequest);
        assert_eq!(message, Message::BundleControl(commit));
    });
}

#[test]
fn errors_of_bundles() {
    for (index, code) in [
        (9, BundleFailed::BadId),
        (10, BundleFailed::MessageBadTransaction),
        (11, BundleFailed::MessageUnsupported),
        (12, BundleFailed::BundleClosed),
    ] {
        read(index, |message| {
            let Message::Error(error) = message else {
                panic!("another message: {message:?}")
            };
            assert_eq!(error.kind, code.into());
        });
    }
}

#[test]
fn features_of_a_table() {
    let vector = &frames(VECTORS)[FEATURES_OF_A_TABLE];

    let (features, rest) = TableFeatures::parse(vector).unwrap();

    assert!(rest.is_empty());
    assert_eq!(features.table, TableId(253));
    assert_eq!(features.max_entries, 1_000_000);
    let properties: Vec<_> = features.properties.iter().map(Result::unwrap).collect();
    let numbers: Vec<_> = properties.iter().map(TableProperty::number).collect();
    assert_eq!(numbers, [0, 2, 4, 12, 6, 14, 1, 3, 5, 13, 7, 15, 8, 10]);
    let TableProperty::Instructions(instructions) = properties[0] else {
        panic!("another property: {:?}", properties[0])
    };
    let kinds = InstructionKind::ALL.iter().copied();
    let expected: Vec<_> = kinds.map(InstructionId::Standard).collect();
    let mut found: Vec<_> = instructions.iter().map(Result::unwrap).collect();
    found.sort_unstable();
    assert!(!found.is_empty() && found.iter().all(|it| expected.contains(it)));
    let TableProperty::Match(fields) = properties[12] else {
        panic!("another property: {:?}", properties[12])
    };
    let (field, has_mask) = (FieldKind::EthDst, true);
    let eth_dst = FieldId::Standard { field, has_mask };
    assert!(fields.iter().any(|it| it == Ok(eth_dst)));
    let mut out = Vec::new();
    features.emit(&mut out);
    assert_eq!(&out, vector);
    // What others define is kept, item by item.
    let ids: Vec<_> = fields.iter().map(Result::unwrap).collect();
    let mut again = Vec::new();
    Sequence::of(&ids).emit(&mut again);
    assert!(vector.windows(again.len()).any(|part| part == again));
    assert!(ids.len() > FieldKind::ALL.len());
}
