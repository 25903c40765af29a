use proptest::prelude::*;

use super::*;
use crate::packet_key::VLAN_PRESENT;

const PORT: PortNumber = PortNumber(3);

fn known() -> PipelineFields {
    PipelineFields {
        in_port: PORT,
        metadata: 0,
        tunnel: 0,
        level: wire::mode_signal::Level::LOWEST,
    }
}

/// The fields of a frame, and where its headers are.
fn fields(parts: &[&[u8]]) -> (PacketKey, Headers) {
    extract(known(), &parts.concat())
}

const ADDRESSES: &[u8] = &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// A header of 20 bytes: DSCP 46, ECN 1, from 10.0.0.1 to 10.0.0.2.
fn ipv4(protocol: u8, fragment_offset: u8) -> [u8; 20] {
    let mut header = [0; 20];
    header[..8].copy_from_slice(&[0x45, 46 << 2 | 1, 0, 40, 0, 1, 0, fragment_offset]);
    (header[8], header[9]) = (64, protocol);
    header[12..].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    header
}

/// A header of 40 bytes: DSCP 46, ECN 1, flow label 0xabcde, from ::1 to ::2.
fn ipv6(next: u8) -> [u8; 40] {
    let mut header = [0; 40];
    header[..8].copy_from_slice(&[0x6b, 0x9a, 0xbc, 0xde, 0, 40, next, 64]);
    (header[23], header[39]) = (1, 2);
    header
}

const PORTS: &[u8] = &[0x03, 0xe8, 0x07, 0xd0, 0, 8, 0, 0];

#[test]
fn an_untagged_datagram_shows_every_layer() {
    let (key, headers) = fields(&[ADDRESSES, &[8, 0], &ipv4(PROTO_UDP, 0), PORTS]);

    assert_eq!(key.get(field::IN_PORT), 3);
    assert_eq!(key.get(field::ETH_DST), 0x0200_0000_0002);
    assert_eq!(key.get(field::ETH_SRC), 0x0200_0000_0001);
    assert_eq!(key.get(field::ETH_TYPE), 0x0800);
    assert_eq!((key.get(field::VLAN_VID), key.get(field::VLAN_PCP)), (0, 0));
    assert_eq!((key.get(field::IP_DSCP), key.get(field::IP_ECN)), (46, 1));
    assert_eq!(key.get(field::IP_PROTO), 17);
    assert_eq!(key.get(field::IPV4_SRC), 0x0a00_0001);
    assert_eq!(key.get(field::IPV4_DST), 0x0a00_0002);
    assert_eq!(
        (key.get(field::L4_SRC), key.get(field::L4_DST)),
        (1000, 2000)
    );
    assert_eq!(headers.network, Some((NetworkHeader::Ipv4, 14)));
    assert_eq!(headers.transport, Some((PROTO_UDP, 34)));
}

/// OF13 clause 7.2.3.7: the type behind the tags, the outermost tag's values.
#[test]
fn of_two_tags_the_outer_one_counts_and_the_type_is_behind_both() {
    let tags = [0x88, 0xa8, 0xa0, 7, 0x81, 0, 0x20, 8];

    let (key, headers) = fields(&[ADDRESSES, &tags, &[8, 0], &ipv4(PROTO_TCP, 0), PORTS]);

    assert_eq!(key.get(field::VLAN_VID), 7 | VLAN_PRESENT);
    assert_eq!(key.get(field::VLAN_PCP), 5);
    assert_eq!(key.get(field::ETH_TYPE), 0x0800);
    assert_eq!(key.get(field::L4_DST), 2000);
    assert!(headers.tagged);
}

#[test]
fn a_later_fragment_has_no_ports() {
    let (key, headers) = fields(&[ADDRESSES, &[8, 0], &ipv4(PROTO_UDP, 1), PORTS]);

    assert_eq!(key.get(field::IP_PROTO), 17);
    assert_eq!((key.get(field::L4_SRC), key.get(field::L4_DST)), (0, 0));
    assert_eq!(headers.transport, None);
}

#[test]
fn an_arp_request_shows_who_asks_for_whom() {
    let arp = [
        &[0, 1, 8, 0, 6, 4, 0, 1][..],
        &[2, 0, 0, 0, 0, 1, 10, 0, 0, 1],
        &[0, 0, 0, 0, 0, 9, 10, 0, 0, 2],
    ];

    let (key, headers) = fields(&[ADDRESSES, &[8, 6], &arp.concat()]);

    assert_eq!(key.get(field::ARP_OP), 1);
    assert_eq!(key.get(field::ARP_SHA), 0x0200_0000_0001);
    assert_eq!(key.get(field::ARP_SPA), 0x0a00_0001);
    assert_eq!(key.get(field::ARP_THA), 9);
    assert_eq!(key.get(field::ARP_TPA), 0x0a00_0002);
    assert_eq!(headers.network, Some((NetworkHeader::Arp, 14)));
}

#[test]
fn ipv6_is_read_through_its_extension_headers() {
    let hop_by_hop = [60, 0, 0, 0, 0, 0, 0, 0];
    let destination = [PROTO_TCP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    let (key, headers) = fields(&[
        ADDRESSES,
        &[0x86, 0xdd],
        &ipv6(0),
        &hop_by_hop,
        &destination,
        PORTS,
    ]);

    assert_eq!(key.get(field::IP_PROTO), 6);
    assert_eq!((key.get(field::IP_DSCP), key.get(field::IP_ECN)), (46, 1));
    assert_eq!(key.get(field::IPV6_FLOW_LABEL), 0xabcde);
    assert_eq!(field::IPV6_SRC.map(|place| key.get(place)), [0, 1]);
    assert_eq!(field::IPV6_DST.map(|place| key.get(place)), [0, 2]);
    assert_eq!(
        (key.get(field::L4_SRC), key.get(field::L4_DST)),
        (1000, 2000)
    );
    assert_eq!(headers.transport, Some((PROTO_TCP, 14 + 40 + 24)));
}

#[test]
fn a_neighbour_solicitation_shows_its_target_and_who_asks() {
    let mut message = [0; 32];
    message[0] = NEIGHBOUR_SOLICITATION;
    message[23] = 5;
    message[24..].copy_from_slice(&[1, 1, 2, 0, 0, 0, 0, 7]);

    let (key, _) = fields(&[ADDRESSES, &[0x86, 0xdd], &ipv6(PROTO_ICMPV6), &message]);

    assert_eq!(key.get(field::L4_SRC), u64::from(NEIGHBOUR_SOLICITATION));
    assert_eq!(field::ND_TARGET.map(|place| key.get(place)), [0, 5]);
    assert_eq!(key.get(field::ND_LINK_LAYER), 0x0200_0000_0007);
}

#[test]
fn of_a_stack_of_mpls_headers_the_first_counts_and_what_follows_is_hidden() {
    let stack = [0x12, 0x34, 0x5a, 64, 0xff, 0xff, 0xff, 1];

    let (key, headers) = fields(&[ADDRESSES, &[0x88, 0x47], &stack, &ipv4(PROTO_UDP, 0)]);

    assert_eq!(key.get(field::MPLS_LABEL), 0x12345);
    assert_eq!((key.get(field::MPLS_TC), key.get(field::MPLS_BOS)), (5, 0));
    assert_eq!((key.get(field::IP_PROTO), key.get(field::L4_SRC)), (0, 0));
    assert_eq!(headers.network, Some((NetworkHeader::Mpls, 14)));
    assert_eq!(headers.transport, None);
}

/// IEEE 802.1ah: backbone VLAN, service, customer.
#[test]
fn behind_a_backbone_tag_stands_another_frame() {
    let tag = [0xe0, 1, 2, 3];
    let customer = [ADDRESSES, &[8, 0], &ipv4(PROTO_UDP, 0)].concat();

    let (key, headers) = fields(&[&[1; 12], &[0x88, 0xa8, 0, 9, 0x88, 0xe7], &tag, &customer]);

    assert_eq!(key.get(field::ETH_DST), 0x0101_0101_0101);
    assert_eq!(key.get(field::ETH_TYPE), 0x88e7);
    assert_eq!(key.get(field::VLAN_VID), 9 | VLAN_PRESENT);
    assert_eq!(key.get(field::PBB_ISID), 0x010203);
    assert_eq!(headers.network, Some((NetworkHeader::Backbone, 18)));
    assert_eq!(headers.type_at, 16);
}

/// IEEE 802.3: a length in the place of the type.
#[test]
fn a_frame_with_a_length_is_of_the_type_in_its_snap_header_or_of_none() {
    let snap = [0, 40, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let spanning_tree = [0, 40, 0x42, 0x42, 3];

    let (with, headers) = fields(&[ADDRESSES, &snap, &ipv4(PROTO_UDP, 0), PORTS]);
    let (without, _) = fields(&[ADDRESSES, &spanning_tree, &[0; 40]]);

    assert_eq!(
        (with.get(field::ETH_TYPE), with.get(field::L4_DST)),
        (0x0800, 2000)
    );
    assert_eq!(headers.network, Some((NetworkHeader::Ipv4, 22)));
    assert_eq!(without.get(field::ETH_TYPE), u64::from(WITHOUT_TYPE));
}

/// RFC 791: Ethernet pads short frames, and the length of the packet says where.
#[test]
fn padding_behind_a_packet_is_no_header() {
    let mut header = ipv4(PROTO_UDP, 0);
    header[3] = 22;

    let (key, headers) = fields(&[ADDRESSES, &[8, 0], &header, PORTS]);

    assert_eq!((key.get(field::L4_SRC), headers.transport), (0, None));
    assert_eq!(headers.packet_end, 14 + 22);
}

proptest! {
    /// Wherever headers are said to be, they are within the frame.
    #[test]
    fn headers_lie_within_the_frame(
        bytes in prop::collection::vec(any::<u8>(), 0..150),
        ether_type in prop::sample::select(vec![0x0800u16, 0x86dd, 0x0806, 0x8100, 0x8847, 0x88e7]),
        first in prop::sample::select(vec![0x45u8, 0x4f, 0x60, 0]),
    ) {
        let mut frame = bytes;
        if frame.len() > 14 {
            frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
            frame[14] = first;
        }

        let (_, headers) = extract(known(), &frame);

        if let Some((network, at)) = headers.network {
            let length = match network {
                NetworkHeader::Arp => 28,
                NetworkHeader::Ipv4 => 20,
                NetworkHeader::Ipv6 => 40,
                NetworkHeader::Mpls => 4,
                NetworkHeader::Backbone => 18,
            };
            prop_assert!(at + length <= frame.len());
        }
        if let Some((_, at)) = headers.transport {
            prop_assert!(at + 4 <= frame.len());
        }
        prop_assert!(!headers.tagged || frame.len() >= 18);
    }
}
