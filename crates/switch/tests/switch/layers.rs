//! Frames built header by header, each header with the match fields that it has:
//! what a frame is can be told without looking at its bytes.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{FieldKind, MatchField, PortNumber};

/// A frame that came in through `port`.
#[derive(Clone, Debug)]
pub struct Built {
    pub port: u32,
    pub bytes: Vec<u8>,
    /// In an order in which a match can have them.
    pub fields: Vec<MatchField>,
    /// Those whose header is not there, so that they are zero and stay so.
    pub absent: Vec<FieldKind>,
}

/// What stands in a header is chosen from few values, so that two frames often
/// have some in common.
fn few<const N: usize>() -> impl Strategy<Value = [u8; N]> {
    prop::array::uniform(0u8..2)
}

#[derive(Clone, Debug)]
struct Tag {
    ether_type: EtherType,
    control: u16,
}

#[derive(Clone, Debug)]
enum Packet {
    Other(u16),
    Arp([u8; 20], u8),
    Mpls(Vec<u32>),
    Backbone(u32),
    Ipv4([u8; 8], u8, Option<u8>, Message),
    Ipv6([u8; 32], u8, u32, Vec<u8>, Message),
}

#[derive(Clone, Debug)]
enum Message {
    Tcp([u8; 4]),
    Udp([u8; 4]),
    Sctp([u8; 4]),
    Icmp([u8; 2]),
    Icmpv6([u8; 2]),
    Solicitation([u8; 16], Option<[u8; 6]>),
    Advertisement([u8; 16], Option<[u8; 6]>),
    Other(u8),
}

pub fn built() -> impl Strategy<Value = Built> {
    let tag = (any::<bool>(), 0u16..2, 0u16..2).prop_map(|(service, id, priority)| Tag {
        ether_type: match service {
            true => EtherType::SERVICE_VLAN,
            false => EtherType::VLAN,
        },
        control: priority << 13 | id,
    });
    let tags = prop::collection::vec(tag, 0..4);
    (1u32..3, few::<12>(), tags, packet(), 0usize..12).prop_map(
        |(port, addresses, tags, packet, padding)| {
            let mut built = Built {
                port,
                bytes: addresses.to_vec(),
                absent: vec![],
                fields: vec![
                    MatchField::InPort(PortNumber(port)),
                    MatchField::InPhysicalPort(PortNumber(port)),
                    MatchField::Metadata(Masked::exact(0)),
                    MatchField::TunnelId(Masked::exact(0)),
                    MatchField::EthDst(Masked::exact(mac(&addresses[..6]))),
                    MatchField::EthSrc(Masked::exact(mac(&addresses[6..]))),
                ],
            };
            built.tags(&tags);
            built.packet(&packet);
            built.bytes.extend(vec![1; padding]);
            built
        },
    )
}

fn packet() -> impl Strategy<Value = Packet> {
    let shims = prop::collection::vec(0u32..1 << 14, 1..4);
    let extensions = prop::sample::select(vec![0u8, 43, 44, 51, 60]);
    let fragment = prop::option::of(0u8..2);
    prop_oneof![
        prop::sample::select(vec![0x88b8u16, 0x0806, 0x0800, 0x86dd, 0x05dc])
            .prop_map(Packet::Other),
        (few::<20>(), 1u8..3).prop_map(|(addresses, op)| Packet::Arp(addresses, op)),
        shims.prop_map(Packet::Mpls),
        (0u32..4).prop_map(Packet::Backbone),
        (few::<8>(), 0u8..8, fragment, message())
            .prop_map(|(addresses, tos, fragment, it)| Packet::Ipv4(addresses, tos, fragment, it)),
        (
            few::<32>(),
            0u8..8,
            0u32..2,
            prop::collection::vec(extensions, 0..5),
            message()
        )
            .prop_map(|(addresses, class, label, extensions, it)| {
                Packet::Ipv6(addresses, class, label, extensions, it)
            }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let address = || prop::option::of(few::<6>());
    prop_oneof![
        few::<4>().prop_map(Message::Tcp),
        few::<4>().prop_map(Message::Udp),
        few::<4>().prop_map(Message::Sctp),
        few::<2>().prop_map(Message::Icmp),
        few::<2>().prop_map(Message::Icmpv6),
        (few::<16>(), address()).prop_map(|(target, it)| Message::Solicitation(target, it)),
        (few::<16>(), address()).prop_map(|(target, it)| Message::Advertisement(target, it)),
        prop::sample::select(vec![4u8, 41, 47, 50, 59, 255]).prop_map(Message::Other),
    ]
}

impl Built {
    fn tags(&mut self, tags: &[Tag]) {
        for tag in tags {
            self.bytes.extend(tag.ether_type.0.to_be_bytes());
            self.bytes.extend(tag.control.to_be_bytes());
        }
        match tags.first() {
            Some(Tag { control, .. }) => self.fields.extend([
                MatchField::VlanVid(Masked::exact(VlanMatch::tagged(control & 0xfff))),
                MatchField::VlanPcp(u8::try_from(control >> 13).expect("three bits")),
            ]),
            None => {
                let untagged = Masked::exact(VlanMatch::UNTAGGED);
                self.fields.push(MatchField::VlanVid(untagged));
            }
        }
    }

    fn ether_type(&mut self, ether_type: EtherType) {
        self.bytes.extend(ether_type.0.to_be_bytes());
        self.fields.push(MatchField::EthType(ether_type));
    }

    fn packet(&mut self, packet: &Packet) {
        match packet {
            // A length, behind which no header says what follows.
            Packet::Other(0x05dc) => {
                self.bytes.extend([0x05, 0xdc, 0, 0]);
                self.fields.push(MatchField::EthType(EtherType(0x05ff)));
            }
            // Too short for the header that the type promises.
            Packet::Other(ether_type) => self.ether_type(EtherType(*ether_type)),
            Packet::Arp(addresses, op) => self.arp(addresses, *op),
            Packet::Mpls(shims) => self.mpls(shims),
            Packet::Backbone(service) => {
                self.ether_type(EtherType::PROVIDER_BACKBONE);
                self.bytes.extend(service.to_be_bytes());
                self.bytes.extend([3; 14]);
                let [_, high, middle, low] = service.to_be_bytes();
                let service = Masked::exact([high, middle, low]);
                self.fields.push(MatchField::PbbIsid(service));
            }
            Packet::Ipv4(addresses, tos, fragment, message) => {
                self.ipv4(addresses, *tos, *fragment, message);
            }
            Packet::Ipv6(addresses, class, label, extensions, message) => {
                self.ipv6(addresses, *class, *label, extensions, message);
            }
        }
    }

    fn arp(&mut self, addresses: &[u8; 20], op: u8) {
        self.ether_type(EtherType::ARP);
        self.bytes.extend([0, 1, 8, 0, 6, 4, 0, op]);
        self.bytes.extend(addresses);
        self.fields.extend([
            MatchField::ArpOp(op.into()),
            MatchField::ArpSha(Masked::exact(mac(&addresses[..6]))),
            MatchField::ArpSpa(Masked::exact(v4(&addresses[6..10]))),
            MatchField::ArpTha(Masked::exact(mac(&addresses[10..16]))),
            MatchField::ArpTpa(Masked::exact(v4(&addresses[16..]))),
        ]);
    }

    fn mpls(&mut self, shims: &[u32]) {
        self.ether_type(EtherType::MPLS);
        let bits = |from: u32, bits: u32| u8::try_from(shims[0] >> from & bits).expect("few bits");
        self.fields.extend([
            MatchField::MplsLabel(shims[0] >> 12),
            MatchField::MplsTc(bits(9, 7)),
            MatchField::MplsBos(bits(8, 1)),
        ]);
        self.bytes
            .extend(shims.iter().flat_map(|it| it.to_be_bytes()));
    }

    fn ipv4(&mut self, addresses: &[u8; 8], tos: u8, fragment: Option<u8>, message: &Message) {
        self.ether_type(EtherType::IPV4);
        let (protocol, payload) = (message.protocol(), message.bytes());
        // Four bytes of options.
        let length = u8::try_from(24 + payload.len()).expect("short");
        let offset = fragment.unwrap_or(0);
        let flags = if fragment.is_some() { 0x20 } else { 0 };
        self.bytes
            .extend([0x46, tos, 0, length, 0, 0, flags, offset]);
        self.bytes.extend([64, protocol, 0, 0]);
        self.bytes.extend(addresses);
        self.bytes.extend([1, 1, 1, 0]);
        self.bytes.extend(payload);
        self.ip_fields(tos, protocol);
        self.fields.extend([
            MatchField::Ipv4Src(Masked::exact(v4(&addresses[..4]))),
            MatchField::Ipv4Dst(Masked::exact(v4(&addresses[4..]))),
        ]);
        self.message(message, offset == 0);
    }

    fn ipv6(
        &mut self,
        addresses: &[u8; 32],
        class: u8,
        label: u32,
        extensions: &[u8],
        message: &Message,
    ) {
        self.ether_type(EtherType::IPV6);
        let payload = message.bytes();
        let length = u8::try_from(8 * extensions.len() + payload.len()).expect("short");
        let numbers = [extensions, &[message.protocol()]].concat();
        let first = 6 << 28 | u32::from(class) << 20 | label;
        self.bytes.extend(first.to_be_bytes());
        self.bytes.extend([0, length, numbers[0], 64]);
        self.bytes.extend(addresses);
        for next in &numbers[1..] {
            self.bytes.extend([*next, 0, 0, 0, 0, 0, 0, 0]);
        }
        self.bytes.extend(payload);
        self.ip_fields(class, message.protocol());
        let half = |half: &[u8]| Masked::exact(v6(half));
        self.fields.extend([
            MatchField::Ipv6Src(half(&addresses[..16])),
            MatchField::Ipv6Dst(half(&addresses[16..])),
            MatchField::Ipv6Flabel(Masked::exact(label)),
            MatchField::Ipv6Exthdr(Masked::exact(extension_flags(&numbers))),
        ]);
        self.message(message, true);
    }

    fn ip_fields(&mut self, tos: u8, protocol: u8) {
        self.fields.extend([
            MatchField::IpDscp(tos >> 2),
            MatchField::IpEcn(tos & 3),
            MatchField::IpProto(protocol),
        ]);
    }

    /// Adds the fields of layer 4: all zero if its header is in another fragment.
    fn message(&mut self, message: &Message, is_here: bool) {
        let shown = |byte: u8| if is_here { byte } else { 0 };
        let port = |bytes: &[u8]| u16::from_be_bytes([shown(bytes[0]), shown(bytes[1])]);
        let fields = match message {
            Message::Tcp(it) => vec![
                MatchField::TcpSrc(port(&it[..2])),
                MatchField::TcpDst(port(&it[2..])),
            ],
            Message::Udp(it) => vec![
                MatchField::UdpSrc(port(&it[..2])),
                MatchField::UdpDst(port(&it[2..])),
            ],
            Message::Sctp(it) => vec![
                MatchField::SctpSrc(port(&it[..2])),
                MatchField::SctpDst(port(&it[2..])),
            ],
            Message::Icmp(it) => vec![
                MatchField::Icmpv4Type(shown(it[0])),
                MatchField::Icmpv4Code(shown(it[1])),
            ],
            Message::Icmpv6(it) => vec![
                MatchField::Icmpv6Type(shown(it[0])),
                MatchField::Icmpv6Code(shown(it[1])),
            ],
            Message::Solicitation(target, address) if is_here => vec![
                MatchField::Icmpv6Type(135),
                MatchField::Icmpv6Code(0),
                MatchField::Ipv6NdTarget(v6(target)),
                MatchField::Ipv6NdSll(mac(&address.unwrap_or_default())),
            ],
            Message::Advertisement(target, address) if is_here => vec![
                MatchField::Icmpv6Type(136),
                MatchField::Icmpv6Code(0),
                MatchField::Ipv6NdTarget(v6(target)),
                MatchField::Ipv6NdTll(mac(&address.unwrap_or_default())),
            ],
            Message::Solicitation(..) | Message::Advertisement(..) => {
                vec![MatchField::Icmpv6Type(0), MatchField::Icmpv6Code(0)]
            }
            Message::Other(_) => vec![],
        };
        if !is_here {
            self.absent.extend(fields.iter().map(MatchField::kind));
        } else if let Message::Solicitation(_, None) | Message::Advertisement(_, None) = message {
            self.absent.extend(fields.last().map(MatchField::kind));
        }
        self.fields.extend(fields);
    }
}

impl Message {
    fn protocol(&self) -> u8 {
        match self {
            Self::Tcp(_) => 6,
            Self::Udp(_) => 17,
            Self::Sctp(_) => 132,
            Self::Icmp(_) => 1,
            Self::Icmpv6(_) | Self::Solicitation(..) | Self::Advertisement(..) => 58,
            Self::Other(protocol) => *protocol,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Tcp(it) => [&it[..], &[0; 16]].concat(),
            Self::Udp(it) => [&it[..], &[0; 4]].concat(),
            Self::Sctp(it) => [&it[..], &[0; 8]].concat(),
            Self::Icmp(it) | Self::Icmpv6(it) => [&it[..], &[0, 0]].concat(),
            Self::Solicitation(target, address) => discovery(135, target, 1, address.as_ref()),
            Self::Advertisement(target, address) => discovery(136, target, 2, address.as_ref()),
            Self::Other(_) => vec![],
        }
    }
}

/// A neighbour discovery with an option of another kind in front of the address.
fn discovery(kind: u8, target: &[u8; 16], option: u8, address: Option<&[u8; 6]>) -> Vec<u8> {
    let mut bytes = vec![kind, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(target);
    bytes.extend([3 - option, 1, 9, 9, 9, 9, 9, 9]);
    if let Some(address) = address {
        bytes.extend([option, 1]);
        bytes.extend(address);
    }
    bytes
}

/// The flags of OF13 clause 7.2.3.7 for headers in this order, the last being
/// that of the protocol.
fn extension_flags(numbers: &[u8]) -> u16 {
    // The order of RFC 8200 section 4.1, in which destination options come twice.
    const ORDER: [u8; 7] = [0, 60, 43, 44, 51, 50, 60];
    const BITS: [(u8, u16); 7] = [
        (59, 1),
        (50, 2),
        (51, 4),
        (60, 8),
        (44, 16),
        (43, 32),
        (0, 64),
    ];
    let known = numbers.iter().copied();
    let known: Vec<u8> = known
        .filter(|it| BITS.iter().any(|(of, _)| of == it))
        .collect();
    let mut flags = 0;
    for (number, bit) in BITS {
        let times = known.iter().filter(|it| **it == number).count();
        let expected = if number == 60 { 2 } else { 1 };
        flags |= if times > 0 { bit } else { 0 };
        flags |= if times > expected { 1 << 7 } else { 0 };
    }
    let place = |at: usize| match known[at] {
        60 => {
            let only_before = known[..at].iter().all(|it| *it == 0);
            if only_before { 1 } else { 6 }
        }
        59 => 7,
        number => ORDER.iter().position(|it| *it == number).expect("known"),
    };
    let places: Vec<usize> = (0..known.len()).map(place).collect();
    if !places.is_sorted() {
        flags |= 1 << 8;
    }
    flags
}

fn mac(bytes: &[u8]) -> MacAddress {
    MacAddress(bytes.try_into().expect("six bytes"))
}

fn v4(bytes: &[u8]) -> Ipv4Addr {
    <[u8; 4]>::try_from(bytes).expect("four bytes").into()
}

fn v6(bytes: &[u8]) -> Ipv6Addr {
    <[u8; 16]>::try_from(bytes).expect("sixteen bytes").into()
}
