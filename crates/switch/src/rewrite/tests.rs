use proptest::prelude::*;
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use super::*;
use crate::action::Layer;
use crate::headers::{self, PipelineFields};
use crate::packet_key::{PacketKey, field};
use crate::time_to_live::{self, Expired};

const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// A packet of this protocol between 10.0.0.1 and 10.0.0.2, with right sums.
fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[3] = u8::try_from(20 + payload.len()).unwrap();
    (header[8], header[9]) = (64, protocol);
    header[12..].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = checksum::of(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    with_sums([&ADDRESSES[..], &[8, 0], &header, payload].concat())
}

/// A packet of this protocol between two addresses, with right sums.
fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    routed_ipv6(protocol, &[], payload)
}

/// A packet with `extensions` (the number of each, and what stands behind the
/// number of the next) in front of the payload.
fn routed_ipv6(protocol: u8, extensions: &[(u8, Vec<u8>)], payload: &[u8]) -> Vec<u8> {
    let mut next = protocol;
    let mut behind = payload.to_vec();
    for (number, extension) in extensions.iter().rev() {
        behind = [&[next], &extension[..], &behind].concat();
        next = *number;
    }
    let mut header = [7; 40];
    header[..4].copy_from_slice(&[0x60, 0, 0, 0]);
    header[4..6].copy_from_slice(&u16::try_from(behind.len()).unwrap().to_be_bytes());
    (header[6], header[7]) = (next, 64);
    with_sums([&ADDRESSES[..], &[0x86, 0xdd], &header, &behind].concat())
}

/// A routing header with another destination than that of the packet.
fn detour() -> (u8, Vec<u8>) {
    (43, [&[2, 0, 1, 0, 0, 0, 0][..], &ELSEWHERE].concat())
}

const ELSEWHERE: [u8; 16] = [8; 16];

/// Computes the checksum of the transport protocol.
fn with_sums(mut frame: Vec<u8>) -> Vec<u8> {
    let headers = read(&frame).1;
    if let Some((PROTO_SCTP, at)) = headers.transport {
        let check = check_of_sctp(&frame, at);
        frame[at + 8..at + 12].copy_from_slice(&check);
        return frame;
    }
    let at = transport_sum(&frame, &headers).unwrap().at;
    frame[at..at + 2].copy_from_slice(&[0, 0]);
    let sum = match sum_of_transport(&frame, &headers) {
        0 => 0xffff,
        sum => sum,
    };
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// RFC 9260 section 6.8: over the packet with zeros for the checksum.
fn check_of_sctp(frame: &[u8], at: usize) -> [u8; 4] {
    let mut packet = frame[at..read(frame).1.packet_end].to_vec();
    packet[8..12].fill(0);
    crc32c::of(&packet)
}

fn read(frame: &[u8]) -> (PacketKey, Headers) {
    let known = PipelineFields {
        in_port: PortNumber(1),
        metadata: 0,
        tunnel: 0,
        level: wire::mode_signal::Level::LOWEST,
    };
    headers::extract(known, frame)
}

/// The sum over pseudo header and payload; zero if the checksum in it is right.
fn sum_of_transport(frame: &[u8], headers: &Headers) -> u16 {
    let (protocol, at) = headers.transport.unwrap();
    sum_as(protocol, &frame[at..headers.packet_end], frame, headers)
}

fn sum_as(protocol: u8, payload: &[u8], frame: &[u8], headers: &Headers) -> u16 {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    let end = [&[0, protocol], &length[..]].concat();
    let pseudo = match headers.network.unwrap() {
        _ if protocol == PROTO_ICMP => vec![],
        (NetworkHeader::Ipv4, ip) => [&frame[ip + 12..ip + 20], &end].concat(),
        (NetworkHeader::Ipv6, ip) if headers.routed => {
            [&frame[ip + 8..ip + 24], &ELSEWHERE, &end].concat()
        }
        (NetworkHeader::Ipv6, ip) => [&frame[ip + 8..ip + 40], &end].concat(),
        (NetworkHeader::Arp | NetworkHeader::Mpls | NetworkHeader::Backbone, _) => {
            panic!("no transport")
        }
    };
    checksum::of(&[&pseudo, payload].concat())
}

fn sums_hold(frame: &[u8]) -> bool {
    let headers = read(frame).1;
    let (network, at) = headers.network.unwrap();
    let ip_holds = network != NetworkHeader::Ipv4 || checksum::of(&frame[at..at + 20]) == 0;
    let transport_holds = match headers.transport.unwrap() {
        (PROTO_SCTP, at) => frame[at + 8..at + 12] == check_of_sctp(frame, at),
        _ => sum_of_transport(frame, &headers) == 0,
    };
    ip_holds && transport_holds
}

/// A packet of some protocol, perhaps with extension headers, in a frame with
/// perhaps a tag and padding.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let protocol = prop::sample::select(vec![
        (4, PROTO_TCP),
        (4, PROTO_UDP),
        (4, PROTO_SCTP),
        (4, PROTO_ICMP),
        (6, PROTO_TCP),
        (6, PROTO_UDP),
        (6, PROTO_SCTP),
        (6, PROTO_ICMPV6),
    ]);
    let payload = prop::collection::vec(any::<u8>(), 40..70);
    let message = prop::sample::select(vec![0, 135, 136]);
    let extensions = prop::sample::select(vec![
        vec![],
        vec![(60, vec![0; 7])],
        vec![(0, vec![0; 7]), detour()],
    ]);
    let around = (any::<bool>(), 0usize..7);
    (protocol, payload, message, extensions, around).prop_map(
        |((version, protocol), mut payload, message, extensions, (tagged, padding))| {
            if protocol == PROTO_ICMPV6 {
                payload[0] = message;
                // Two options, of which one has the address.
                payload[24..26].copy_from_slice(&[2, 1]);
                payload[32..34].copy_from_slice(&[1, 1]);
            }
            let mut frame = match version {
                4 => ipv4(protocol, &payload),
                _ => routed_ipv6(protocol, &extensions, &payload),
            };
            if tagged {
                frame.splice(12..12, [0x81, 0, 0, 5]);
            }
            frame.extend(vec![9; padding]);
            frame
        },
    )
}

fn value() -> impl Strategy<Value = FieldValue> {
    let transport = || {
        prop::sample::select(vec![
            Transport::Tcp,
            Transport::Udp,
            Transport::Sctp,
            Transport::Icmp,
        ])
    };
    let address = || any::<[u8; 6]>().prop_map(MacAddress);
    prop_oneof![
        address().prop_map(FieldValue::EthDst),
        (0u16..4096).prop_map(FieldValue::VlanVid),
        (0u8..64).prop_map(FieldValue::IpDscp),
        (0u8..4).prop_map(FieldValue::IpEcn),
        any::<[u8; 4]>().prop_map(FieldValue::Ipv4Src),
        any::<[u8; 4]>().prop_map(FieldValue::Ipv4Dst),
        any::<[u8; 16]>().prop_map(FieldValue::Ipv6Src),
        any::<[u8; 16]>().prop_map(FieldValue::Ipv6Dst),
        (0u32..1 << 20).prop_map(FieldValue::Ipv6FlowLabel),
        (transport(), any::<u16>()).prop_map(|(it, value)| FieldValue::L4Src(it, value)),
        (transport(), any::<u16>()).prop_map(|(it, value)| FieldValue::L4Dst(it, value)),
        (0u16..256).prop_map(|code| FieldValue::L4Dst(Transport::Icmpv6, code)),
        any::<[u8; 16]>().prop_map(FieldValue::NdTarget),
        address().prop_map(FieldValue::NdSourceLinkLayer),
        address().prop_map(FieldValue::NdTargetLinkLayer),
    ]
}

proptest! {
    #[test]
    fn no_change_breaks_a_checksum(
        mut frame in packet(),
        values in prop::collection::vec(value(), 1..10),
    ) {
        prop_assert!(sums_hold(&frame));

        for value in values {
            let headers = read(&frame).1;
            set_field(&mut frame, &headers, value);

            prop_assert!(sums_hold(&frame), "{:?}", value);
        }
    }

    /// The pseudo header names the protocol: what was a right checksum of one
    /// becomes that of the same bytes sent as another, and back.
    #[test]
    fn another_protocol_leaves_the_checksums_right(
        before in packet(),
        protocol in prop::sample::select(vec![PROTO_TCP, PROTO_UDP, PROTO_SCTP, 255]),
    ) {
        let headers = read(&before).1;
        let (old, at) = headers.transport.unwrap();
        let mut frame = before.clone();

        set_field(&mut frame, &headers, FieldValue::IpProto(protocol));

        prop_assert_eq!(read(&frame).0.get(field::IP_PROTO), u64::from(protocol));
        if let Some((NetworkHeader::Ipv4, ip)) = headers.network {
            prop_assert_eq!(checksum::of(&frame[ip..ip + 20]), 0);
        }
        if !matches!(old, PROTO_SCTP | PROTO_ICMP) {
            let payload = &frame[at..headers.packet_end];
            prop_assert_eq!(sum_as(protocol, payload, &frame, &headers), 0);
        }
        set_field(&mut frame, &headers, FieldValue::IpProto(old));
        prop_assert!(sums_hold(&frame));
    }

    #[test]
    fn a_time_to_live_counts_down_and_the_sum_holds(mut frame in packet(), ttl in 2u8..) {
        let headers = read(&frame).1;

        time_to_live::set(&mut frame, &headers, Layer::Network, ttl);
        let counted = time_to_live::decrement(&mut frame, &headers, Layer::Network);
        prop_assert_eq!(counted, Ok(()));
        time_to_live::set(&mut frame, &headers, Layer::Network, 1);

        prop_assert!(sums_hold(&frame));
        let counted = time_to_live::decrement(&mut frame, &headers, Layer::Network);
        prop_assert_eq!(counted, Err(Expired));
    }
}

#[test]
fn a_field_that_was_set_is_read_back_and_its_neighbours_stay() {
    let mut frame = ipv6(PROTO_TCP, &[0; 24]);
    let (_, headers) = read(&frame);
    for value in [
        FieldValue::IpDscp(46),
        FieldValue::IpEcn(1),
        FieldValue::Ipv6FlowLabel(0xabcde),
        FieldValue::L4Src(Transport::Tcp, 1000),
        FieldValue::L4Dst(Transport::Tcp, 2000),
    ] {
        set_field(&mut frame, &headers, value);
    }

    let (key, _) = read(&frame);
    let fields = [
        field::IP_DSCP,
        field::IP_ECN,
        field::IPV6_FLOW_LABEL,
        field::L4_SRC,
        field::L4_DST,
        field::IP_PROTO,
    ];
    assert_eq!(
        fields.map(|place| key.get(place)),
        [46, 1, 0xabcde, 1000, 2000, 6]
    );
}

#[test]
fn an_arp_message_is_rewritten_in_place() {
    let message = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &[0; 20]].concat();
    let mut frame = [&ADDRESSES[..], &[8, 6], &message].concat();
    let (_, headers) = read(&frame);
    for value in [
        FieldValue::ArpOp(2),
        FieldValue::ArpSha(MacAddress([1; 6])),
        FieldValue::ArpSpa([10, 0, 0, 1]),
        FieldValue::ArpTha(MacAddress([2; 6])),
        FieldValue::ArpTpa([10, 0, 0, 2]),
    ] {
        set_field(&mut frame, &headers, value);
    }

    let expected = [&[1; 6][..], &[10, 0, 0, 1], &[2; 6], &[10, 0, 0, 2]].concat();
    assert_eq!(frame[20..22], [0, 2]);
    assert_eq!(frame[22..], expected);
}

/// RFC 768: a sum of zero says that there is none.
#[test]
fn a_datagram_without_checksum_stays_without() {
    let mut frame = ipv4(PROTO_UDP, &[0; 24]);
    let headers = read(&frame).1;
    let at = transport_sum(&frame, &headers).unwrap().at;
    frame[at..at + 2].copy_from_slice(&[0, 0]);

    set_field(&mut frame, &headers, FieldValue::L4Dst(Transport::Udp, 5));

    assert_eq!(frame[at..at + 2], [0, 0]);
}
