//! Which frames an entry matches: OF10 section 3.4 and table 3.

use wire::ethernet::{EtherType, MacAddress};
use wire::openflow10::{AddressPrefix, Match10};

use super::{add, from, output, world};
use crate::frames::{frame, tagged, udp, with_dscp};
use crate::world::unpaced;

/// Whether an entry with this match takes a frame that arrives at port 1.
#[track_caller]
fn assert_takes(matching: Match10, frame: &[u8], expected: bool) {
    let mut world = world(unpaced());
    add(&mut world, 1, matching, &[output(2)]);

    world.frame(1, frame);

    let takes = !world.take_sent().is_empty();
    assert_eq!(takes, expected, "{matching:?} {frame:02x?}");
}

/// An ARP request or reply from 10.0.0.1 about 10.0.0.2.
fn arp(operation: u8) -> Vec<u8> {
    let head = [
        0, 1, 8, 0, 6, 4, 0, operation, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1,
    ];
    let target = [0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
    frame(0x0806, &[&head[..], &target].concat())
}

/// An ICMP message of this type and code between the stations of [`udp`].
fn icmp(kind: u8, code: u8) -> Vec<u8> {
    let mut frame = udp(9, b"datagram");
    frame[23] = 1;
    (frame[34], frame[35]) = (kind, code);
    frame
}

#[test]
fn the_port_and_the_addresses_of_ethernet() {
    let any = Match10::ANY;
    let frame = frame(0x88b5, b"");
    let station = |last| Some(MacAddress([2, 0, 0, 0, 0, last]));

    assert_takes(any, &frame, true);
    assert_takes(from(1), &frame, true);
    assert_takes(from(2), &frame, false);
    for (last, expected) in [(1, true), (2, false)] {
        let dl_src = station(last);
        assert_takes(Match10 { dl_src, ..any }, &frame, expected);
        let dl_dst = station(last);
        assert_takes(Match10 { dl_dst, ..any }, &frame, !expected);
    }
}

/// OF10 section 5.2.3 (`OFP_VLAN_NONE`).
#[test]
fn the_vlan_or_that_there_is_none() {
    let untagged = frame(0x88b5, b"");
    let tagged = tagged(7, 3, &untagged);
    let vlan = |dl_vlan, dl_vlan_pcp| Match10 {
        dl_vlan,
        dl_vlan_pcp,
        ..Match10::ANY
    };
    for (matching, takes_untagged, takes_tagged) in [
        (vlan(Some(Match10::NO_VLAN), None), true, false),
        (vlan(Some(Match10::NO_VLAN), Some(3)), true, false),
        (vlan(Some(7), None), false, true),
        (vlan(Some(8), None), false, false),
        (vlan(Some(7), Some(3)), false, true),
        (vlan(Some(7), Some(4)), false, false),
        (vlan(None, Some(3)), false, true),
    ] {
        assert_takes(matching, &untagged, takes_untagged);
        assert_takes(matching, &tagged, takes_tagged);
    }
}

#[test]
fn the_type_behind_the_tag() {
    let of = |dl_type| Match10 {
        dl_type: Some(EtherType(dl_type)),
        ..Match10::ANY
    };
    let untagged = frame(0x88b5, b"");

    assert_takes(of(0x88b5), &untagged, true);
    assert_takes(of(0x88b5), &tagged(7, 0, &untagged), true);
    assert_takes(of(0x88b6), &untagged, false);
}

/// OF10 table 3: the upper six bits of the type of service count.
#[test]
fn the_type_of_service_and_the_protocol() {
    let ip = Match10 {
        dl_type: Some(EtherType::IPV4),
        ..Match10::ANY
    };
    let frame = with_dscp(46, &udp(9, b""));
    let tos = |tos| Match10 {
        nw_tos: Some(tos),
        ..ip
    };
    let proto = |proto| Match10 {
        nw_proto: Some(proto),
        ..ip
    };

    assert_takes(tos(46 << 2), &frame, true);
    assert_takes(tos(46 << 2 | 3), &frame, true);
    assert_takes(tos(45 << 2), &frame, false);
    assert_takes(proto(17), &frame, true);
    assert_takes(proto(6), &frame, false);
}

/// OF10 section 5.2.3 (`OFPFW_NW_SRC_SHIFT`).
#[test]
fn networks_of_any_size() {
    let ip = Match10 {
        dl_type: Some(EtherType::IPV4),
        ..Match10::ANY
    };
    let frame = udp(9, b"");
    for (address, length, expected) in [
        ([10, 0, 0, 1], 32, true),
        ([10, 0, 0, 0], 32, false),
        ([10, 0, 0, 0], 31, true),
        ([10, 0, 0, 255], 24, true),
        ([10, 0, 1, 0], 24, false),
        ([10, 9, 9, 9], 8, true),
        ([128, 0, 0, 0], 1, false),
        ([128, 0, 0, 0], 0, true),
    ] {
        let nw_src = AddressPrefix::new(address.into(), length);
        assert_takes(Match10 { nw_src, ..ip }, &frame, expected);
    }
    let nw_dst = AddressPrefix::host([10, 0, 0, 2].into());
    assert_takes(Match10 { nw_dst, ..ip }, &frame, true);
}

#[test]
fn the_ports_of_udp() {
    let udp_match = Match10 {
        dl_type: Some(EtherType::IPV4),
        nw_proto: Some(17),
        ..Match10::ANY
    };
    let (src, dst) = (
        |port| Match10 {
            tp_src: Some(port),
            ..udp_match
        },
        |port| Match10 {
            tp_dst: Some(port),
            ..udp_match
        },
    );
    let frame = udp(9, b"");

    assert_takes(src(1000), &frame, true);
    assert_takes(src(2000), &frame, false);
    assert_takes(dst(2000), &frame, true);
    assert_takes(dst(1000), &frame, false);
}

/// OF10 table 3: of the fields of 16 bits the lower byte counts.
#[test]
fn the_type_and_the_code_of_icmp() {
    let of = |kind, code| Match10 {
        dl_type: Some(EtherType::IPV4),
        nw_proto: Some(1),
        tp_src: Some(kind),
        tp_dst: Some(code),
        ..Match10::ANY
    };

    assert_takes(of(3, 1), &icmp(3, 1), true);
    assert_takes(of(0x1203, 1), &icmp(3, 1), true);
    assert_takes(of(3, 2), &icmp(3, 1), false);
    assert_takes(of(8, 1), &icmp(3, 1), false);
}

/// OF10 table 3 and the capability `OFPC_ARP_MATCH_IP`.
#[test]
fn the_operation_and_the_addresses_of_arp() {
    let of = |operation, source: u8, target: u8| Match10 {
        dl_type: Some(EtherType::ARP),
        nw_proto: Some(operation),
        nw_src: AddressPrefix::host([10, 0, 0, source].into()),
        nw_dst: AddressPrefix::new([10, 0, 0, target].into(), 31),
        ..Match10::ANY
    };

    assert_takes(of(1, 1, 2), &arp(1), true);
    assert_takes(of(1, 1, 3), &arp(1), true);
    assert_takes(of(2, 1, 2), &arp(1), false);
    assert_takes(of(1, 2, 2), &arp(1), false);
    assert_takes(of(1, 1, 4), &arp(1), false);
}

/// OF10 section 3.4, figure 4: as controllers write that copy every field.
#[test]
fn fields_of_another_protocol_do_not_count() {
    let all = |dl_type| Match10 {
        dl_type: Some(EtherType(dl_type)),
        nw_tos: Some(4),
        nw_proto: Some(6),
        nw_src: AddressPrefix::host([1, 2, 3, 4].into()),
        nw_dst: AddressPrefix::host([1, 2, 3, 4].into()),
        tp_src: Some(1),
        tp_dst: Some(1),
        ..Match10::ANY
    };

    assert_takes(all(0x88b5), &frame(0x88b5, b""), true);
    assert_takes(all(0x0800), &udp(9, b""), false);
}
