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
    let mut header = [7; 40];
    header[..4].copy_from_slice(&[0x60, 0, 0, 0]);
    header[4..6].copy_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
    (header[6], header[7]) = (protocol, 64);
    with_sums([&ADDRESSES[..], &[0x86, 0xdd], &header, payload].concat())
}

/// Computes the checksum of the transport protocol.
fn with_sums(mut frame: Vec<u8>) -> Vec<u8> {
    let headers = read(&frame).1;
    let at = transport_sum(&frame, &headers).unwrap().at;
    frame[at..at + 2].copy_from_slice(&[0, 0]);
    let sum = sum_of_transport(&frame, &headers);
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    frame
}

fn read(frame: &[u8]) -> (PacketKey, Headers) {
    let known = PipelineFields {
        in_port: PortNumber(1),
        metadata: 0,
        tunnel: 0,
    };
    headers::extract(known, frame)
}

/// The sum over pseudo header and payload; zero if the checksum in it is right.
fn sum_of_transport(frame: &[u8], headers: &Headers) -> u16 {
    let (protocol, at) = headers.transport.unwrap();
    let length = u16::try_from(frame.len() - at).unwrap().to_be_bytes();
    let pseudo = match headers.network.unwrap() {
        _ if protocol == PROTO_ICMP => vec![],
        (Network::Ipv4, ip) => [&frame[ip + 12..ip + 20], &[0, protocol], &length].concat(),
        (Network::Ipv6, ip) => [&frame[ip + 8..ip + 40], &[0, protocol], &length].concat(),
        (Network::Arp | Network::Mpls | Network::Backbone, _) => panic!("no transport"),
    };
    checksum::of(&[&pseudo, &frame[at..]].concat())
}

fn sums_hold(frame: &[u8]) -> bool {
    let headers = read(frame).1;
    let (network, at) = headers.network.unwrap();
    let ip_holds = network != Network::Ipv4 || checksum::of(&frame[at..at + 20]) == 0;
    ip_holds && sum_of_transport(frame, &headers) == 0
}

fn packet() -> impl Strategy<Value = Vec<u8>> {
    let protocol = prop::sample::select(vec![
        (4, PROTO_TCP),
        (4, PROTO_UDP),
        (4, PROTO_ICMP),
        (6, PROTO_TCP),
        (6, PROTO_UDP),
        (6, PROTO_ICMPV6),
    ]);
    let payload = prop::collection::vec(any::<u8>(), 24..60);
    (protocol, payload).prop_map(|((version, protocol), mut payload)| {
        if payload[0] >= 128 {
            payload[0] -= 128; // No neighbour discovery, of which nothing is set.
        }
        match version {
            4 => ipv4(protocol, &payload),
            _ => ipv6(protocol, &payload),
        }
    })
}

fn value() -> impl Strategy<Value = FieldValue> {
    let transport = || {
        prop::sample::select(vec![
            Transport::Tcp,
            Transport::Udp,
            Transport::Icmp,
            Transport::Icmpv6,
        ])
    };
    prop_oneof![
        any::<[u8; 6]>().prop_map(|it| FieldValue::EthDst(MacAddress(it))),
        (0u8..64).prop_map(FieldValue::IpDscp),
        (0u8..4).prop_map(FieldValue::IpEcn),
        any::<[u8; 4]>().prop_map(FieldValue::Ipv4Src),
        any::<[u8; 4]>().prop_map(FieldValue::Ipv4Dst),
        any::<[u8; 16]>().prop_map(FieldValue::Ipv6Src),
        any::<[u8; 16]>().prop_map(FieldValue::Ipv6Dst),
        (0u32..1 << 20).prop_map(FieldValue::Ipv6FlowLabel),
        (transport(), 0u16..128).prop_map(|(it, value)| FieldValue::L4Src(it, value)),
        (transport(), 0u16..256).prop_map(|(it, value)| FieldValue::L4Dst(it, value)),
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
