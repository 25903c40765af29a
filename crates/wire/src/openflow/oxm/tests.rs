use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::ethernet::{EtherType, MacAddress};
use crate::openflow::{BadMatch, ErrorKind, PortNumber};

fn emitted(field: MatchField) -> Vec<u8> {
    let mut out = Vec::new();
    field.emit(&mut out);
    out
}

fn checked(fields: &[MatchField]) -> Result<(), BadMatch> {
    match Fields::of(fields).check() {
        Ok(()) => Ok(()),
        Err(error) => match error.kind() {
            ErrorKind::BadMatch(code) => Err(code),
            kind => panic!("no error of a match: {kind:?}"),
        },
    }
}

fn code_of(bytes: &[u8]) -> BadMatch {
    MatchField::parse(bytes).unwrap_err().code()
}

#[test]
fn fields_stand_in_bytes_as_the_specification_says() {
    let in_port = MatchField::InPort(PortNumber(7));
    let vlan = MatchField::VlanVid(VlanMatch::tagged(5).into());
    let network = Masked::under(Ipv4Addr::new(10, 0, 0, 0), Ipv4Addr::new(255, 0, 0, 0));

    assert_eq!(emitted(in_port), [0x80, 0, 0, 4, 0, 0, 0, 7]);
    assert_eq!(emitted(vlan), [0x80, 0, 6 << 1, 2, 0x10, 5]);
    assert_eq!(
        emitted(MatchField::Ipv4Src(network)),
        [0x80, 0, 11 << 1 | 1, 8, 10, 0, 0, 0, 255, 0, 0, 0]
    );
}

#[test]
fn a_level_stands_in_bytes_as_a_field_of_ours() {
    let level = MatchField::Level(Masked::exact(3));
    let upper = MatchField::Level(Masked::under(4, 6));

    assert_eq!(emitted(level), [0xff, 0xff, 1 << 1, 5, 0, 6, 0x74, 0x6b, 3]);
    assert_eq!(
        emitted(upper),
        [0xff, 0xff, 1 << 1 | 1, 6, 0, 6, 0x74, 0x6b, 4, 6]
    );
    for field in [level, upper] {
        assert_eq!(MatchField::parse(&emitted(field)), Ok((field, &[][..])));
    }
    assert_eq!(checked(&[level, level]), Err(BadMatch::DuplicateField));
}

#[test]
fn a_level_that_there_is_not_is_refused() {
    let level = |field, payload: &[u8]| {
        let length = u8::try_from(4 + payload.len()).unwrap();
        let mut bytes = vec![0xff, 0xff, field, length, 0, 6, 0x74, 0x6b];
        bytes.extend_from_slice(payload);
        code_of(&bytes)
    };

    assert_eq!(level(2, &[8]), BadMatch::BadValue);
    assert_eq!(level(2, &[]), BadMatch::BadLength);
    assert_eq!(level(2, &[1, 1]), BadMatch::BadLength);
    assert_eq!(level(3, &[1, 2]), BadMatch::BadWildcards);
    assert_eq!(level(3, &[1, 9]), BadMatch::BadMask);
    assert_eq!(level(4, &[1]), BadMatch::BadField);
    assert_eq!(
        code_of(&[0xff, 0xff, 2, 5, 0, 0, 0x23, 0x20, 1]),
        BadMatch::BadField
    );
}

#[test]
fn each_mistake_in_a_field_has_its_code() {
    assert_eq!(code_of(&[0x80, 0, 0, 4, 0, 0, 0]), BadMatch::BadLength);
    assert_eq!(code_of(&[0x80, 0, 0, 3, 0, 0, 0]), BadMatch::BadLength);
    assert_eq!(code_of(&[0x80, 0, 40 << 1, 1, 0]), BadMatch::BadField);
    assert_eq!(code_of(&[0xff, 0xff, 0, 4, 0, 0, 0, 1]), BadMatch::BadField);
    let masked_port = [0x80, 0, 1, 8, 0, 0, 0, 1, 255, 255, 255, 255];
    assert_eq!(code_of(&masked_port), BadMatch::BadMask);
    let one_outside = [0x80, 0, 11 << 1 | 1, 8, 10, 0, 0, 1, 255, 0, 0, 0];
    assert_eq!(code_of(&one_outside), BadMatch::BadWildcards);
    assert_eq!(code_of(&[0x80, 0, 7 << 1, 1, 8]), BadMatch::BadValue);
    assert_eq!(code_of(&[0x80, 0, 6 << 1, 2, 0x20, 0]), BadMatch::BadValue);
}

#[test]
fn a_field_behind_its_prerequisites_is_allowed() {
    let fields = [
        MatchField::EthType(EtherType::IPV4),
        MatchField::IpProto(17),
        MatchField::UdpDst(5000),
    ];

    assert_eq!(checked(&fields), Ok(()));
}

#[test]
fn a_field_without_or_before_its_prerequisite_is_refused() {
    let ip = MatchField::EthType(EtherType::IPV4);
    let udp = MatchField::UdpDst(5000);
    let priority = MatchField::VlanPcp(4);
    let untagged = MatchField::VlanVid(VlanMatch::UNTAGGED.into());

    let refused = Err(BadMatch::BadPrerequisite);
    assert_eq!(checked(&[ip, udp]), refused);
    assert_eq!(checked(&[udp, MatchField::IpProto(17), ip]), refused);
    assert_eq!(checked(&[ip, MatchField::IpProto(6), udp]), refused);
    assert_eq!(checked(&[priority]), refused);
    assert_eq!(checked(&[untagged, priority]), refused);
}

#[test]
fn a_field_that_occurs_twice_is_refused() {
    let in_port = MatchField::InPort(PortNumber(1));

    assert_eq!(checked(&[in_port, in_port]), Err(BadMatch::DuplicateField));
}

#[test]
fn a_kept_match_has_one_value_a_field_in_the_order_of_numbers() {
    let group = MacAddress([1, 12, 205, 4, 0, 1]);

    let kept = Match::any()
        .with(MatchField::IpProto(17))
        .with(MatchField::EthType(EtherType::IPV4))
        .with(MatchField::EthDst(group.into()))
        .with(MatchField::IpProto(6));

    assert_eq!(
        kept.as_slice(),
        [
            MatchField::EthDst(group.into()),
            MatchField::EthType(EtherType::IPV4),
            MatchField::IpProto(6),
        ]
    );
    assert_eq!(kept.get(FieldKind::IpProto), Some(&MatchField::IpProto(6)));
    assert_eq!(Match::parse(&kept.fields()), Ok(kept));
}

#[test]
fn a_match_is_padded_but_its_length_is_not() {
    let mut out = Vec::new();

    emit_match(&Fields::of(&[MatchField::VlanPcp(1)]), &mut out);

    assert_eq!(out, [0, 1, 0, 9, 0x80, 0, 14, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_match_that_is_no_extensible_match_is_refused() {
    for (bytes, code) in [
        ([0, 0, 0, 4, 0, 0, 0, 0], BadMatch::BadType),
        ([0, 1, 0, 3, 0, 0, 0, 0], BadMatch::BadLength),
        ([0, 1, 0, 9, 0, 0, 0, 0], BadMatch::BadLength),
    ] {
        let error = parse_match(&mut Reader::new(&bytes)).unwrap_err();

        assert_eq!(error.kind(), ErrorKind::BadMatch(code), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_field_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = MatchField::parse(&bytes);
        let _ = Fields::from_bytes(&bytes).check();
    }

    /// Every field that can be read is written as it was.
    #[test]
    fn a_field_is_written_as_it_was_read(
        number in 0u8..41,
        has_mask: bool,
        mut value in prop::collection::vec(any::<u8>(), 16..=16),
        mask in prop::collection::vec(any::<u8>(), 16..=16),
    ) {
        let mut found = false;
        for length in [1, 2, 3, 4, 6, 8, 16] {
            let mut bytes = vec![0x80, 0, number << 1 | u8::from(has_mask), length];
            let length = usize::from(length);
            let head = if number == 40 { 4 } else { 0 };
            if number == 40 {
                bytes = vec![0xff, 0xff, 1 << 1 | u8::from(has_mask), 0, 0, 6, 0x74, 0x6b];
                bytes[3] = u8::try_from(length).unwrap();
            }
            value[0] = 0;
            for (value, mask) in value.iter_mut().zip(&mask) {
                if has_mask {
                    *value &= mask;
                }
            }
            bytes.extend_from_slice(&value[..length]);
            if has_mask {
                bytes[3] *= 2;
                bytes.extend_from_slice(&mask[..length]);
            }
            bytes[3] += head;
            if let Ok((field, rest)) = MatchField::parse(&bytes) {
                found = true;
                prop_assert!(rest.is_empty());
                prop_assert_eq!(field.has_mask(), has_mask);
                prop_assert_eq!(emitted(field), bytes);
            }
        }
        prop_assert!(found || has_mask || number == 28 || number == 34, "field {}", number);
    }
}
