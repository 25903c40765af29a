//! Which packet is this? Read from what stays the same on the way.
//!
//! Tags, hardware addresses, the time to live, marks of congestion and check sums
//! may change between two captures, and the padding of a short frame is in one of
//! them only: none of that takes part. What does:
//!
//! | traffic | known by |
//! |---|---|
//! | Sampled Values, GOOSE | group, APPID, and all of the application's data |
//! | echo requests and replies | addresses, identifier, sequence number |
//! | TCP with data | addresses, ports, the number of the last byte |
//! | TCP without | addresses, ports, both numbers, flags, the packet's number |
//! | UDP and all else over IP | addresses, ports, the packet's number, the beginning of the payload |
//!
//! So a segment that was cut by a network card is still found by its last piece.
//! Everything else, as ARP and LLDP, repeats itself and is not looked for.
//!
//! Check sums are not looked at: a capture at the sender has them before they are
//! computed.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::ethernet::{EtherType, MacAddress, UNTAGGED_HEADER_LENGTH};

/// At most so many tags are passed over.
const MOST_TAGS: usize = 4;
/// At most so many extension headers of IPv6.
const MOST_EXTENSIONS: usize = 6;
/// So many bytes of a payload tell one packet from another.
const TELLING_BYTES: usize = 48;
/// The same where there are no addresses and ports to help.
const TELLING_APPLICATION_BYTES: usize = 192;
/// The longest IP packet that a frame carries without being cut (jumbo frames).
const LONGEST_PACKET: usize = 9_216;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostAddress {
    /// By its hardware address, where there is no other.
    Mac(MacAddress),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl std::fmt::Display for HostAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mac(address) => address.fmt(f),
            Self::V4(address) => address.fmt(f),
            Self::V6(address) => address.fmt(f),
        }
    }
}

/// Whether addresses stay the same on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addressing {
    #[default]
    Kept,
    /// They are translated, with their ports: packets are known by their number and
    /// their payload alone.
    Translated,
}

/// What a packet says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketSummary {
    pub(super) source: HostAddress,
    pub(super) destination: HostAddress,
    /// The same in both captures; nothing for what follows the first fragment.
    pub(super) key: u64,
    pub(super) content: PacketContent,
    pub(super) part: PacketPart,
    /// Whether it is longer than any frame: it was not cut yet, or put together
    /// again, when it was captured.
    pub(super) is_super_frame: bool,
}

/// What matters of a packet to who looks for requests and replies. Conversations
/// are numbers that packets of both directions have, each in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketContent {
    EchoRequest {
        conversation: u64,
    },
    EchoReply {
        conversation: u64,
    },
    Segment {
        /// From the sender to the receiver.
        there: u64,
        /// From the receiver to the sender.
        back: u64,
        /// The number after its last byte; SYN and FIN count as a byte each.
        end: u32,
        acknowledgement: Option<u32>,
        has_data: bool,
        is_syn: bool,
    },
    Datagram {
        there: u64,
        back: u64,
        /// Whether it goes from a higher port to a lower one, as requests do.
        is_request: bool,
    },
    Other,
}

/// Which part of a packet a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketPart {
    Whole,
    Fragment {
        /// The same in all fragments of the packet.
        packet: u64,
        begin: usize,
        length: usize,
        is_last: bool,
    },
}

impl PacketSummary {
    /// Reads a frame, or returns nothing if it cannot be told from others.
    #[inline]
    pub(super) fn of(frame: &[u8], addressing: Addressing) -> Option<Self> {
        let mut at = UNTAGGED_HEADER_LENGTH - 2;
        let mut ether_type = EtherType(be16(frame, at)?);
        for _ in 0..MOST_TAGS {
            at += match ether_type {
                it if it.is_vlan() => 4,
                EtherType::REDUNDANCY_TAG => 6,
                _ => break,
            };
            ether_type = EtherType(be16(frame, at)?);
        }
        let payload = frame.get(at + 2..)?;
        match ether_type {
            EtherType::IPV4 => ipv4(payload, addressing),
            EtherType::IPV6 => ipv6(payload, addressing),
            EtherType::SAMPLED_VALUES | EtherType::GOOSE => {
                let source = MacAddress(*frame.get(6..)?.first_chunk()?);
                let destination = MacAddress(*frame.first_chunk()?);
                process_bus(source, destination, ether_type, payload)
            }
            _ => None,
        }
    }
}

/// What stands in the header of an IP packet, of either version.
struct IpHeader {
    source: HostAddress,
    destination: HostAddress,
    /// Stands for both addresses, from the sender to the receiver and back.
    ends: [u64; 2],
    protocol: u8,
    number: u64,
}

fn process_bus(
    source: MacAddress,
    destination: MacAddress,
    ether_type: EtherType,
    payload: &[u8],
) -> Option<PacketSummary> {
    let length = usize::from(be16(payload, 2)?);
    let data = payload.get(..length.min(TELLING_APPLICATION_BYTES).min(payload.len()))?;
    let key = hash(mix(u64::from(ether_type.0), word(&destination.0)), data);
    Some(PacketSummary {
        source: HostAddress::Mac(source),
        destination: HostAddress::Mac(destination),
        key,
        content: PacketContent::Other,
        part: PacketPart::Whole,
        is_super_frame: false,
    })
}

#[inline]
fn ipv4(packet: &[u8], addressing: Addressing) -> Option<PacketSummary> {
    const MORE: u16 = 0x2000;
    const OFFSET: u16 = 0x1fff;
    let first = *packet.first()?;
    let header = usize::from(first & 0xf) * 4;
    // Segments that a card is to cut may have no length at all.
    let length = match usize::from(be16(packet, 2)?) {
        0 => packet.len(),
        length => length,
    };
    if first >> 4 != 4 || header < 20 || length < header {
        return None;
    }
    let source: [u8; 4] = *packet.get(12..)?.first_chunk()?;
    let destination: [u8; 4] = *packet.get(16..)?.first_chunk()?;
    let fragment = be16(packet, 6)?;
    let network = IpHeader {
        source: HostAddress::V4(source.into()),
        destination: HostAddress::V4(destination.into()),
        ends: ends(&source, &destination, addressing),
        protocol: *packet.get(9)?,
        number: u64::from(be16(packet, 4)?),
    };
    let part = match fragment & (MORE | OFFSET) {
        0 => PacketPart::Whole,
        _ => PacketPart::Fragment {
            packet: mix(
                mix(network.ends[0], network.number),
                u64::from(network.protocol),
            ),
            begin: usize::from(fragment & OFFSET) * 8,
            length: length - header,
            is_last: fragment & MORE == 0,
        },
    };
    let payload = packet.get(header..length.min(packet.len()))?;
    Some(transport(&network, part, payload, length, addressing))
}

#[inline]
fn ipv6(packet: &[u8], addressing: Addressing) -> Option<PacketSummary> {
    const FRAGMENT: u8 = 44;
    let length = match usize::from(be16(packet, 4)?) {
        0 => packet.len(),
        length => length + 40,
    };
    if packet.first()? >> 4 != 6 {
        return None;
    }
    let source: [u8; 16] = *packet.get(8..)?.first_chunk()?;
    let destination: [u8; 16] = *packet.get(24..)?.first_chunk()?;
    let mut network = IpHeader {
        source: HostAddress::V6(source.into()),
        destination: HostAddress::V6(destination.into()),
        ends: ends(&source, &destination, addressing),
        protocol: *packet.get(6)?,
        number: 0,
    };
    let (mut at, mut part) = (40, PacketPart::Whole);
    for _ in 0..MOST_EXTENSIONS {
        let extension = match network.protocol {
            // Hop by hop, routing, and options for the destination.
            0 | 43 | 60 => (usize::from(*packet.get(at + 1)?) + 1) * 8,
            FRAGMENT => {
                network.number = u64::from(be32(packet, at + 4)?);
                let offset = be16(packet, at + 2)?;
                part = PacketPart::Fragment {
                    packet: mix(network.ends[0], network.number),
                    begin: usize::from(offset & !7),
                    length: length.checked_sub(at + 8)?,
                    is_last: offset & 1 == 0,
                };
                8
            }
            _ => break,
        };
        network.protocol = *packet.get(at)?;
        at += extension;
    }
    let payload = packet.get(at..length.min(packet.len()))?;
    Some(transport(&network, part, payload, length, addressing))
}

/// Reads what an IP packet carries.
#[inline]
fn transport(
    network: &IpHeader,
    part: PacketPart,
    payload: &[u8],
    length: usize,
    addressing: Addressing,
) -> PacketSummary {
    let begins = !matches!(part, PacketPart::Fragment { begin: 1.., .. });
    let told = match (begins, network.protocol) {
        (false, _) => Some((0, PacketContent::Other)),
        (true, ICMP | ICMPV6) => echo(network, payload),
        (true, TCP) => segment(network, payload, length, addressing),
        (true, UDP) => datagram(network, payload, addressing),
        (true, _) => None,
    };
    let (key, content) = told.unwrap_or_else(|| {
        let number = mix(
            mix(network.ends[0], network.number),
            u64::from(network.protocol),
        );
        (hash(number, beginning(payload)), PacketContent::Other)
    });
    PacketSummary {
        source: network.source,
        destination: network.destination,
        key,
        content,
        part,
        is_super_frame: length > LONGEST_PACKET,
    }
}

fn echo(network: &IpHeader, payload: &[u8]) -> Option<(u64, PacketContent)> {
    let kind = *payload.first()?;
    let (is_request, is_reply) = match network.protocol {
        ICMP => (kind == 8, kind == 0),
        _ => (kind == 128, kind == 129),
    };
    let number = u64::from(be32(payload, 4)?);
    let [there, back] = network.ends.map(|ends| mix(ends, number));
    let key = hash(mix(there, u64::from(kind)), beginning(payload.get(4..)?));
    let content = match (is_request, is_reply) {
        (true, _) => PacketContent::EchoRequest {
            conversation: there,
        },
        (false, true) => PacketContent::EchoReply { conversation: back },
        (false, false) => return None,
    };
    Some((key, content))
}

#[inline]
fn segment(
    network: &IpHeader,
    payload: &[u8],
    packet_length: usize,
    addressing: Addressing,
) -> Option<(u64, PacketContent)> {
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const RST: u8 = 4;
    const ACK: u8 = 16;
    let ports = (be16(payload, 0)?, be16(payload, 2)?);
    let (sequence, acknowledgement) = (be32(payload, 4)?, be32(payload, 8)?);
    let header = usize::from(*payload.get(12)? >> 4) * 4;
    let flags = *payload.get(13)?;
    // What the capture kept may be shorter than what was sent.
    let network_header = match network.source {
        HostAddress::V4(_) | HostAddress::Mac(_) => 20,
        HostAddress::V6(_) => 40,
    };
    let data = packet_length.saturating_sub(network_header + header);
    let counted = u32::try_from(data).unwrap_or(u32::MAX);
    let more = u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
    let end = sequence.wrapping_add(counted).wrapping_add(more);
    let [there, back] = conversation(network, ports, addressing);
    let opening = u64::from(flags & (SYN | FIN | RST));
    let key = match data {
        0 => {
            let numbers = u64::from(sequence) << 32 | u64::from(acknowledgement);
            let window = u64::from(be16(payload, 14)?);
            let which = mix(network.number, window << 8 | u64::from(flags));
            mix(mix(there, numbers), which)
        }
        _ => mix(mix(there, u64::from(end)), opening | 1 << 8),
    };
    let content = PacketContent::Segment {
        there,
        back,
        end,
        acknowledgement: (flags & ACK != 0).then_some(acknowledgement),
        has_data: data > 0,
        is_syn: flags & SYN != 0,
    };
    Some((key, content))
}

#[inline]
fn datagram(
    network: &IpHeader,
    payload: &[u8],
    addressing: Addressing,
) -> Option<(u64, PacketContent)> {
    let (source, destination) = (be16(payload, 0)?, be16(payload, 2)?);
    let length = u64::from(be16(payload, 4)?);
    let [there, back] = conversation(network, (source, destination), addressing);
    let key = mix(mix(there, network.number), length);
    let content = PacketContent::Datagram {
        there,
        back,
        is_request: source >= destination,
    };
    Some((hash(key, beginning(payload.get(8..)?)), content))
}

fn conversation(network: &IpHeader, ports: (u16, u16), addressing: Addressing) -> [u64; 2] {
    let both = |from: u16, to: u16| match addressing {
        Addressing::Kept => u64::from(from) << 16 | u64::from(to),
        Addressing::Translated => 0,
    };
    let protocol = u64::from(network.protocol) << 32;
    let [there, back] = network.ends;
    [
        mix(there, protocol | both(ports.0, ports.1)),
        mix(back, protocol | both(ports.1, ports.0)),
    ]
}

/// Returns a number for the way from `source` to `destination`, and one for the
/// way back.
fn ends(source: &[u8], destination: &[u8], addressing: Addressing) -> [u64; 2] {
    match addressing {
        Addressing::Kept => [
            hash(hash(1, source), destination),
            hash(hash(1, destination), source),
        ],
        Addressing::Translated => [1, 1],
    }
}

fn beginning(payload: &[u8]) -> &[u8] {
    &payload[..payload.len().min(TELLING_BYTES)]
}

/// Returns a number that depends on all that went before and on `word`.
#[inline]
pub(super) const fn mix(state: u64, word: u64) -> u64 {
    // Odd, and without a pattern: the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = (state.rotate_left(5) ^ word) as u128 * FACTOR as u128;
    let [low, high] = halves(product);
    low ^ high
}

const fn halves(product: u128) -> [u64; 2] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = product.to_le_bytes();
    [
        u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        u64::from_le_bytes([i, j, k, l, m, n, o, p]),
    ]
}

/// Mixes bytes in, eight at a time, and their number.
#[inline]
fn hash(state: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let all = words
        .iter()
        .fold(state, |state, bytes| mix(state, u64::from_le_bytes(*bytes)));
    let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    mix(mix(all, word(rest)), count | 1 << 63)
}

/// Returns up to eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
