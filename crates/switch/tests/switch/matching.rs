//! An entry matches the frames that its fields say, and no others.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use wire::ethernet::EtherType;
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    BadMatch, ErrorKind, FieldKind, Fields, FlowMod, MatchField, Message, PortNumber, TableId,
};

use crate::frames::{frame, tagged};
use crate::layers::{Built, built};
use crate::world::{World, from, output, unpaced};

/// The value and the mask of a field, byte by byte.
fn value_and_mask(field: &MatchField) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = Vec::new();
    field.emit(&mut bytes);
    let payload = bytes.split_off(4);
    match field.has_mask() {
        true => {
            let (value, mask) = payload.split_at(payload.len() / 2);
            (value.to_vec(), mask.to_vec())
        }
        false => {
            let mask = vec![0xff; payload.len()];
            (payload, mask)
        }
    }
}

/// Whether a frame has what a field of an entry asks for.
fn has(frame: &Built, wanted: &MatchField) -> bool {
    let (value, mask) = value_and_mask(wanted);
    let mut same_kind = frame.fields.iter().filter(|it| it.kind() == wanted.kind());
    same_kind.next().is_some_and(|field| {
        let (has, _) = value_and_mask(field);
        let masked = has.iter().zip(&mask).map(|(byte, mask)| byte & mask);
        masked.eq(value)
    })
}

/// The fields that may have a mask, OF13 clause 7.2.3.7.
const MASKABLE: [FieldKind; 16] = [
    FieldKind::Metadata,
    FieldKind::EthDst,
    FieldKind::EthSrc,
    FieldKind::VlanVid,
    FieldKind::Ipv4Src,
    FieldKind::Ipv4Dst,
    FieldKind::ArpSpa,
    FieldKind::ArpTpa,
    FieldKind::ArpSha,
    FieldKind::ArpTha,
    FieldKind::Ipv6Src,
    FieldKind::Ipv6Dst,
    FieldKind::Ipv6Flabel,
    FieldKind::PbbIsid,
    FieldKind::TunnelId,
    FieldKind::Ipv6Exthdr,
];

/// Looks only at the bits of `mask`.
fn masked(field: &MatchField, mask: &[u8; 16]) -> MatchField {
    let (value, _) = value_and_mask(field);
    let mask = &mask[..value.len()];
    let value: Vec<u8> = value
        .iter()
        .zip(mask)
        .map(|(value, mask)| value & mask)
        .collect();
    let length = u8::try_from(2 * value.len()).expect("short");
    let header = [0x80, 0, field.kind().number() << 1 | 1, length];
    let bytes = [&header[..], &value, mask].concat();
    MatchField::parse(&bytes).expect("it fitted before").0
}

/// Some fields of a frame, with masks, in whose order every prerequisite stands
/// before what needs it.
fn some_fields() -> impl Strategy<Value = (Built, Vec<MatchField>)> {
    let choices = prop::collection::vec((0u8..8, any::<[u8; 16]>()), 40);
    (built(), choices).prop_map(|(frame, choices)| {
        let mut chosen: Vec<MatchField> = Vec::new();
        for (field, (choice, mask)) in frame.fields.iter().zip(choices) {
            let field = match choice {
                0 if MASKABLE.contains(&field.kind()) => masked(field, &mask),
                0..=5 => *field,
                _ => continue,
            };
            chosen.push(field);
            if Fields::of(&chosen).check().is_err() {
                chosen.pop();
            }
        }
        (frame, chosen)
    })
}

/// Returns whether the switch lets the frame through with this entry alone.
fn passes(entry: &[MatchField], frame: &Built) -> bool {
    let mut config = unpaced();
    config.tables = 1;
    let mut world = World::with_controller(config);
    world.add(1, entry, &[output(3)]);
    world.frame(frame.port, &frame.bytes);
    !world.take_sent().is_empty()
}

proptest! {
    /// Whatever the entry looks at is taken from the frame itself.
    #[test]
    fn a_frame_matches_what_it_is_made_of((frame, entry) in some_fields()) {
        prop_assert!(passes(&entry, &frame));
    }

    /// The entry is made for another frame, which may have some of its fields.
    #[test]
    fn a_frame_matches_an_entry_if_every_field_does(
        (_, entry) in some_fields(),
        frame in built(),
    ) {
        let expected = entry.iter().all(|field| has(&frame, field));

        prop_assert_eq!(passes(&entry, &frame), expected);
    }

    /// The entry is made for a frame that differs in few bits.
    #[test]
    fn a_frame_with_another_bit_matches_only_if_nobody_looks_at_it(
        (frame, mut entry) in some_fields(),
        at: prop::sample::Index,
        bit: prop::sample::Index,
    ) {
        prop_assume!(!entry.is_empty());
        let at = at.index(entry.len());
        let (value, mask) = value_and_mask(&entry[at]);
        let bit = bit.index(8 * value.len());
        prop_assume!(mask[bit / 8] >> (bit % 8) & 1 == 1);
        let mut bytes = Vec::new();
        entry[at].emit(&mut bytes);
        bytes[4 + bit / 8] ^= 1 << (bit % 8);
        let Ok((other, _)) = MatchField::parse(&bytes) else {
            return Ok(());
        };
        entry[at] = other;
        prop_assume!(Fields::of(&entry).check().is_ok());

        prop_assert!(!passes(&entry, &frame));
    }
}

/// OF13 clause 7.2.3.7, table 11: what is drawn above has every field.
#[test]
fn every_field_occurs_in_some_frame() {
    let mut runner = TestRunner::deterministic();
    let drawn = (0..1000).map(|_| built().new_tree(&mut runner).unwrap().current());

    let seen: BTreeSet<_> = drawn.flat_map(|it| it.fields).map(|it| it.kind()).collect();

    let known = FieldKind::ALL.iter();
    assert!(
        seen.iter()
            .eq(known.filter(|kind| **kind != FieldKind::Level))
    );
}

/// OF13 clause 7.2.3.7, table 13.
#[test]
fn a_vlan_is_matched_by_number_by_presence_and_by_absence() {
    let exactly = |vlan| MatchField::VlanVid(Masked::exact(vlan));
    let under = |vlan, mask| MatchField::VlanVid(Masked::under(VlanMatch(vlan), VlanMatch(mask)));
    let untagged = frame(0x88b5, b"");
    let frames = [
        untagged.clone(),
        tagged(0, 0, &untagged),
        tagged(5, 0, &untagged),
        tagged(7, 0, &tagged(5, 0, &untagged)),
    ];
    for (entry, expected) in [
        (vec![], [true, true, true, true]),
        (
            vec![exactly(VlanMatch::UNTAGGED)],
            [true, false, false, false],
        ),
        (
            vec![exactly(VlanMatch::tagged(5))],
            [false, false, true, false],
        ),
        (vec![exactly(VlanMatch(5))], [false, false, false, false]),
        (vec![under(0x1000, 0x1000)], [false, true, true, true]),
        (vec![under(0x1001, 0x1001)], [false, false, true, true]),
        (
            vec![under(0x1000, 0x1000), MatchField::VlanPcp(0)],
            [false, true, true, true],
        ),
    ] {
        let matched = frames.clone().map(|bytes| {
            let (port, fields, absent) = (1, vec![], vec![]);
            passes(
                &entry,
                &Built {
                    port,
                    bytes,
                    fields,
                    absent,
                },
            )
        });

        assert_eq!(matched, expected, "{entry:?}");
    }
}

/// OF13 clause 7.2.3.7: there are no logical ports, so both are the same.
#[test]
fn the_physical_port_is_looked_at_apart_from_the_port() {
    let mut world = World::with_controller(unpaced());
    let physical = |port| MatchField::InPhysicalPort(PortNumber(port));
    world.add(1, &[from(1), physical(2)], &[output(3)]);
    world.add(1, &[from(2), physical(2)], &[output(3)]);

    world.frame(1, &frame(0x88b5, b"one"));
    world.frame(2, &frame(0x88b5, b"two"));

    assert_eq!(world.take_sent(), [(3, frame(0x88b5, b"two"))]);
}

/// Returns the error for a match that is given in bytes.
fn refusal(bytes: &[u8]) -> ErrorKind {
    World::with_controller(unpaced()).refused(&Message::FlowMod(FlowMod {
        matching: Fields::from_bytes(bytes),
        ..FlowMod::add(TableId(0))
    }))
}

/// A field in bytes, with a mask if the payload is twice as long as its value.
fn field(kind: FieldKind, has_mask: bool, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("short");
    let head = [0x80, 0, kind.number() << 1 | u8::from(has_mask), length];
    [&head[..], payload].concat()
}

/// OF13 clauses 7.2.3.5 and 7.2.3.7, table 12.
#[test]
fn a_mask_is_refused_where_a_field_has_none() {
    for (kind, length) in [
        (FieldKind::InPort, 4),
        (FieldKind::InPhysicalPort, 4),
        (FieldKind::EthType, 2),
        (FieldKind::VlanPcp, 1),
        (FieldKind::IpDscp, 1),
        (FieldKind::IpEcn, 1),
        (FieldKind::IpProto, 1),
        (FieldKind::TcpSrc, 2),
        (FieldKind::TcpDst, 2),
        (FieldKind::UdpSrc, 2),
        (FieldKind::UdpDst, 2),
        (FieldKind::SctpSrc, 2),
        (FieldKind::SctpDst, 2),
        (FieldKind::Icmpv4Type, 1),
        (FieldKind::Icmpv4Code, 1),
        (FieldKind::ArpOp, 2),
        (FieldKind::Icmpv6Type, 1),
        (FieldKind::Icmpv6Code, 1),
        (FieldKind::Ipv6NdTarget, 16),
        (FieldKind::Ipv6NdSll, 6),
        (FieldKind::Ipv6NdTll, 6),
        (FieldKind::MplsLabel, 4),
        (FieldKind::MplsTc, 1),
        (FieldKind::MplsBos, 1),
    ] {
        let refused = refusal(&field(kind, true, &vec![0; 2 * length]));

        assert_eq!(refused, ErrorKind::BadMatch(BadMatch::BadMask), "{kind:?}");
    }
}

/// OF13 clause 7.2.3.5.
#[test]
fn a_value_with_ones_where_its_mask_has_zeros_is_refused() {
    for kind in MASKABLE {
        let exact = built_field(kind);
        let (value, _) = value_and_mask(&exact);
        let payload = [vec![1; value.len()], vec![0; value.len()]].concat();

        let refused = refusal(&field(kind, true, &payload));

        assert_eq!(
            refused,
            ErrorKind::BadMatch(BadMatch::BadWildcards),
            "{kind:?}"
        );
    }
}

/// A field of this kind with any value.
fn built_field(kind: FieldKind) -> MatchField {
    let lengths = [1, 2, 3, 4, 6, 8, 16].into_iter();
    let mut fields = lengths.filter_map(|length| {
        let bytes = field(kind, false, &vec![0; length]);
        MatchField::parse(&bytes).ok().map(|(field, _)| field)
    });
    fields.next().expect("every field has one of these lengths")
}

/// OF13 clauses 7.2.3.7 and 7.4.4.
#[test]
fn a_value_that_does_not_fit_its_field_is_refused() {
    for (kind, value) in [
        (FieldKind::VlanVid, &[0x20, 0][..]),
        (FieldKind::VlanPcp, &[8]),
        (FieldKind::IpDscp, &[64]),
        (FieldKind::IpEcn, &[4]),
        (FieldKind::Ipv6Flabel, &[0, 0x10, 0, 0]),
        (FieldKind::MplsLabel, &[0, 0x10, 0, 0]),
        (FieldKind::MplsTc, &[8]),
        (FieldKind::MplsBos, &[2]),
        (FieldKind::Ipv6Exthdr, &[2, 0]),
    ] {
        let refused = refusal(&field(kind, false, value));

        assert_eq!(refused, ErrorKind::BadMatch(BadMatch::BadValue), "{kind:?}");
    }
}

/// OF13 clause 7.2.3.6: each field alone, or behind what it does not suit.
#[test]
fn a_field_without_its_prerequisite_is_refused() {
    let free = [
        FieldKind::InPort,
        FieldKind::Metadata,
        FieldKind::EthDst,
        FieldKind::EthSrc,
        FieldKind::EthType,
        FieldKind::VlanVid,
        FieldKind::TunnelId,
        FieldKind::Level,
    ];
    let vlan = MatchField::VlanVid(Masked::exact(VlanMatch::UNTAGGED));
    let other = MatchField::EthType(EtherType::LLDP);
    for kind in FieldKind::ALL.iter().filter(|kind| !free.contains(kind)) {
        for before in [vec![], vec![vlan, other]] {
            let mut bytes = Vec::new();
            before.iter().for_each(|field| field.emit(&mut bytes));
            built_field(*kind).emit(&mut bytes);

            let refused = refusal(&bytes);

            let expected = ErrorKind::BadMatch(BadMatch::BadPrerequisite);
            assert_eq!(refused, expected, "{kind:?} behind {before:?}");
        }
    }
}

/// OF13 clause 7.2.3.6.
#[test]
fn a_field_that_occurs_twice_is_refused() {
    let twice = [
        built_field(FieldKind::EthDst),
        built_field(FieldKind::EthDst),
    ];
    let mut bytes = Vec::new();
    twice.iter().for_each(|field| field.emit(&mut bytes));

    assert_eq!(
        refusal(&bytes),
        ErrorKind::BadMatch(BadMatch::DuplicateField)
    );
}

/// OF13 clauses 7.2.3.2 and 7.4.4.
#[test]
fn a_field_that_nobody_knows_or_of_another_length_is_refused() {
    for (bytes, expected) in [
        (&[0x80, 0, 40 << 1, 1, 0][..], BadMatch::BadField),
        (&[0x80, 1, 0, 4, 0, 0, 0, 1], BadMatch::BadField),
        (&[0x80, 0, 0, 2, 0, 1], BadMatch::BadLength),
        (&[0x80, 0, 0, 4, 0, 1], BadMatch::BadLength),
    ] {
        assert_eq!(refusal(bytes), ErrorKind::BadMatch(expected), "{bytes:?}");
    }
}
