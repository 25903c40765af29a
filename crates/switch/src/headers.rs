//! Where the headers of a frame are, and what stands in them.
//!
//! One walk from the front of the frame to the header of layer 4 fills the
//! [`PacketKey`] that the tables are searched for, and notes the places that
//! actions rewrite. The first VLAN tag, MPLS header or backbone tag is the one
//! that counts. What is behind an MPLS header or a backbone tag is another
//! frame's affair: once the header is popped, the walk is taken anew.
//!
//! A field whose header is absent, cut short or in a later fragment is zero.
//! A frame that has a length where others have their type (IEEE 802.3) counts
//! as of type [`WITHOUT_TYPE`], or of the type in its SNAP header.
//!
//! Sources: OF13 clause 7.2.3.7 (fields), RFC 791, RFC 826, RFC 3032 section 2,
//! RFC 4861 section 4, IEEE 802.1ah (backbone tag), `extension_headers` (IPv6).

use wire::ethernet::EtherType;
use wire::mode_signal::Level;
use wire::openflow::PortNumber;

use crate::extension_headers::{self, Seen};
use crate::packet_key::{PacketKey, VLAN_PRESENT, field};

/// How many VLAN tags are looked through for the EtherType below them.
const VLAN_TAGS_MAX: usize = 8;
/// How many neighbour discovery options are looked at.
const DISCOVERY_OPTIONS_MAX: usize = 4;

/// Bytes of the two addresses in front.
pub(crate) const MAC_ADDRESSES: usize = 12;
pub(crate) const ETHER_TYPE: usize = 2;
/// Bytes of a VLAN tag.
pub(crate) const VLAN_TAG: usize = 4;
/// Bytes of an MPLS header.
pub(crate) const MPLS_HEADER: usize = 4;
/// Bytes of a backbone tag behind its type: its control information and the
/// addresses of the customer.
pub(crate) const BACKBONE_TAG: usize = 4 + MAC_ADDRESSES;
/// Bytes of an IPv6 header.
pub(crate) const IPV6_HEADER: usize = 40;
/// Bytes of an IPv4 header without options.
pub(crate) const IPV4_HEADER: usize = 20;

/// The type of a frame that has a length in its place and no SNAP header, as
/// OpenFlow has had it since version 1.0.
const WITHOUT_TYPE: u16 = 0x05ff;
/// The lowest number that is a type, IEEE 802.3 clause 3.2.6.
pub(crate) const ETHER_TYPE_MIN: u16 = 0x0600;
/// Logical link control and SNAP with the types of Ethernet, IEEE 802.
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];

pub(crate) const PROTO_ICMP: u8 = 1;
pub(crate) const PROTO_IPV4: u8 = 4;
pub(crate) const PROTO_TCP: u8 = 6;
pub(crate) const PROTO_UDP: u8 = 17;
pub(crate) const PROTO_IPV6: u8 = 41;
pub(crate) const PROTO_ICMPV6: u8 = 58;
pub(crate) const PROTO_SCTP: u8 = 132;

pub(crate) const NEIGHBOUR_SOLICITATION: u8 = 135;
pub(crate) const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
/// Where the target of a neighbour discovery stands in it.
pub(crate) const DISCOVERY_TARGET: usize = 8;
/// Bytes of a neighbour discovery before its options.
const DISCOVERY_HEADER: usize = 24;
/// Where the address stands in an option.
pub(crate) const DISCOVERY_OPTION_ADDRESS: usize = 2;

/// What is known about a frame besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PipelineFields {
    /// The port it came from. There are no logical ports, so this is the
    /// physical port too.
    pub(crate) in_port: PortNumber,
    /// What earlier tables wrote down.
    pub(crate) metadata: u64,
    /// The tunnel that it came through or is to go through.
    pub(crate) tunnel: u64,
    /// The level that was in force when it came: a frame sees one mode, however
    /// often its headers are read.
    pub(crate) level: Level,
}

/// Where the headers of a frame begin, for actions that rewrite them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Whether a VLAN tag follows the addresses.
    pub(crate) tagged: bool,
    /// Where the type of the payload stands, behind all VLAN tags.
    pub(crate) type_at: usize,
    /// Where the first header behind the type begins, and which.
    pub(crate) network: Option<(NetworkHeader, usize)>,
    /// Where the number of the protocol of layer 4 stands, if there is one.
    pub(crate) protocol_at: usize,
    /// Where the header of layer 4 begins, and its protocol number.
    pub(crate) transport: Option<(u8, usize)>,
    /// Where the IP packet ends; padding may follow.
    pub(crate) packet_end: usize,
    /// Whether the IPv6 destination is but a station on the way, so that
    /// checksums cover another address, RFC 8200 section 8.1.
    pub(crate) routed: bool,
}

/// The headers behind the type that are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkHeader {
    /// Address resolution, RFC 826.
    Arp,
    /// RFC 791.
    Ipv4,
    /// RFC 8200.
    Ipv6,
    /// RFC 3032.
    Mpls,
    /// A backbone service tag, IEEE 802.1ah.
    Backbone,
}

/// Reads the fields of `frame`, and where its headers are.
pub(crate) fn extract(known: PipelineFields, frame: &[u8]) -> (PacketKey, Headers) {
    let mut key = PacketKey::default();
    let mut headers = Headers::default();
    key.put(field::IN_PORT, u64::from(known.in_port.0));
    key.put(field::IN_PHYSICAL_PORT, u64::from(known.in_port.0));
    key.put(field::METADATA, known.metadata);
    key.put(field::TUNNEL_ID, known.tunnel);
    key.put(field::LEVEL, u64::from(known.level.number()));
    let Some(addresses) = frame.first_chunk::<MAC_ADDRESSES>() else {
        return (key, headers);
    };
    key.put(field::ETH_DST, mac(addresses, 0));
    key.put(field::ETH_SRC, mac(addresses, 6));

    let mut at = MAC_ADDRESSES;
    let mut ether_type = u16_at(frame, at).unwrap_or(0);
    for nesting in 0..VLAN_TAGS_MAX {
        if !EtherType(ether_type).is_vlan() {
            break;
        }
        let (Some(control), Some(below)) = (u16_at(frame, at + 2), u16_at(frame, at + 4)) else {
            break;
        };
        if nesting == 0 {
            headers.tagged = true;
            key.put(field::VLAN_VID, u64::from(control & 0xfff) | VLAN_PRESENT);
            key.put(field::VLAN_PCP, u64::from(control >> 13));
        }
        ether_type = below;
        at += VLAN_TAG;
    }
    headers.type_at = at;
    at += ETHER_TYPE;
    if ether_type < ETHER_TYPE_MIN {
        (ether_type, at) = behind_length(frame, at);
    }
    key.put(field::ETH_TYPE, u64::from(ether_type));

    match EtherType(ether_type) {
        EtherType::IPV4 => ipv4(frame, at, &mut key, &mut headers),
        EtherType::IPV6 => ipv6(frame, at, &mut key, &mut headers),
        EtherType::ARP => arp(frame, at, &mut key, &mut headers),
        EtherType::MPLS | EtherType::MPLS_UPSTREAM => mpls(frame, at, &mut key, &mut headers),
        EtherType::PROVIDER_BACKBONE => backbone(frame, at, &mut key, &mut headers),
        _ => {}
    }
    (key, headers)
}

/// Returns the type of a frame with a length, and where its payload begins.
#[cold]
fn behind_length(frame: &[u8], at: usize) -> (u16, usize) {
    let snap = bytes_at::<6>(frame, at).filter(|header| **header == SNAP);
    let inner = snap.and_then(|snap| u16_at(frame, at + snap.len()));
    match inner {
        Some(ether_type) => (ether_type, at + SNAP.len() + ETHER_TYPE),
        None => (WITHOUT_TYPE, at),
    }
}

fn ipv4(frame: &[u8], at: usize, key: &mut PacketKey, headers: &mut Headers) {
    let Some(header) = bytes_at::<IPV4_HEADER>(frame, at) else {
        return;
    };
    let length = usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != 4 || length < header.len() || frame.len() < at + length {
        return;
    }
    headers.network = Some((NetworkHeader::Ipv4, at));
    headers.protocol_at = at + 9;
    key.put(field::IP_DSCP, u64::from(header[1] >> 2));
    key.put(field::IP_ECN, u64::from(header[1] & 3));
    key.put(field::IP_PROTO, u64::from(header[9]));
    key.put(field::IPV4_SRC, u64::from(u32_of(header, 12)));
    key.put(field::IPV4_DST, u64::from(u32_of(header, 16)));
    let fragment_offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
    if fragment_offset == 0 {
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let packet = without_padding(frame, at + length, at + total);
        headers.packet_end = packet.len();
        transport(packet, at + length, header[9], key, headers);
    }
}

fn ipv6(frame: &[u8], at: usize, key: &mut PacketKey, headers: &mut Headers) {
    let Some(header) = bytes_at::<IPV6_HEADER>(frame, at) else {
        return;
    };
    if header[0] >> 4 != 6 {
        return;
    }
    headers.network = Some((NetworkHeader::Ipv6, at));
    let first = u32_of(header, 0);
    key.put(field::IP_DSCP, u64::from(first >> 22));
    key.put(field::IP_ECN, u64::from(first >> 20 & 3));
    key.put(field::IPV6_FLOW_LABEL, u64::from(first));
    key.put_wide(field::IPV6_SRC, u128_of(header, 8));
    key.put_wide(field::IPV6_DST, u128_of(header, 24));

    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let begin = at + header.len();
    let packet = without_padding(frame, begin, begin + payload);
    headers.packet_end = packet.len();
    let end = extension_headers::walk(packet, at);
    key.put(field::IPV6_EXTHDR, u64::from(end.seen.bits()));
    key.put(field::IP_PROTO, u64::from(end.protocol));
    headers.protocol_at = end.protocol_at;
    headers.routed = end.routed;
    if end.first_fragment {
        transport(packet, end.at, end.protocol, key, headers);
    }
}

/// Returns whether a frame carries a piece of an IP packet.
pub(crate) fn is_fragment(key: &PacketKey, headers: &Headers, frame: &[u8]) -> bool {
    /// More of them follow, or this is not the first.
    const IPV4_FRAGMENT: u16 = 0x3fff;
    match headers.network {
        Some((NetworkHeader::Ipv4, at)) => {
            u16_at(frame, at + 6).is_some_and(|bits| bits & IPV4_FRAGMENT != 0)
        }
        Some((NetworkHeader::Ipv6, _)) => {
            key.get(field::IPV6_EXTHDR) & u64::from(Seen::FRAGMENT) != 0
        }
        Some((NetworkHeader::Arp | NetworkHeader::Mpls | NetworkHeader::Backbone, _)) | None => {
            false
        }
    }
}

/// Returns the frame up to `end`, where its packet says that it ends. A packet
/// that cannot say so (it is longer than 64 kB, or was cut) has no padding.
fn without_padding(frame: &[u8], begin: usize, end: usize) -> &[u8] {
    match begin < end && end < frame.len() {
        true => &frame[..end],
        false => frame,
    }
}

fn transport(packet: &[u8], at: usize, proto: u8, key: &mut PacketKey, headers: &mut Headers) {
    let Some(header) = bytes_at::<4>(packet, at) else {
        return;
    };
    match proto {
        PROTO_TCP | PROTO_UDP | PROTO_SCTP => {
            key.put(
                field::L4_SRC,
                u64::from(u16::from_be_bytes([header[0], header[1]])),
            );
            key.put(
                field::L4_DST,
                u64::from(u16::from_be_bytes([header[2], header[3]])),
            );
        }
        PROTO_ICMP | PROTO_ICMPV6 => {
            key.put(field::L4_SRC, u64::from(header[0]));
            key.put(field::L4_DST, u64::from(header[1]));
            if proto == PROTO_ICMPV6 {
                neighbour_discovery(packet, at, key);
            }
        }
        // Of a packet within a packet only the time to live can be copied.
        PROTO_IPV4 | PROTO_IPV6 => {}
        _ => return,
    }
    headers.transport = Some((proto, at));
}

fn neighbour_discovery(packet: &[u8], at: usize, key: &mut PacketKey) {
    if !matches!(packet[at], NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT) {
        return;
    }
    let Some(message) = bytes_at::<DISCOVERY_HEADER>(packet, at) else {
        return;
    };
    key.put_wide(field::ND_TARGET, u128_of(message, DISCOVERY_TARGET));
    let option = link_layer_option(packet, at).and_then(|at| bytes_at::<8>(packet, at));
    if let Some(option) = option {
        key.put(field::ND_LINK_LAYER, mac(option, DISCOVERY_OPTION_ADDRESS));
    }
}

/// Returns where the option begins that has the link-layer address of the
/// source of a neighbour solicitation or of the target of an advertisement, RFC
/// 4861 section 4.6.1. The message begins at `at`.
pub(crate) fn link_layer_option(packet: &[u8], at: usize) -> Option<usize> {
    let wanted = match *packet.get(at)? {
        NEIGHBOUR_SOLICITATION => 1,
        NEIGHBOUR_ADVERTISEMENT => 2,
        _ => return None,
    };
    let mut at = at + DISCOVERY_HEADER;
    for _ in 0..DISCOVERY_OPTIONS_MAX {
        let option = bytes_at::<8>(packet, at)?;
        match option[..2] {
            [_, 0] => return None,
            [kind, _] if kind == wanted => return Some(at),
            _ => at += usize::from(option[1]) * 8,
        }
    }
    None
}

fn arp(frame: &[u8], at: usize, key: &mut PacketKey, headers: &mut Headers) {
    let Some(message) = bytes_at::<28>(frame, at) else {
        return;
    };
    // Ethernet and IPv4 addresses, RFC 826; other kinds have other lengths.
    if message[..6] != [0, 1, 8, 0, 6, 4] {
        return;
    }
    headers.network = Some((NetworkHeader::Arp, at));
    key.put(
        field::ARP_OP,
        u64::from(u16::from_be_bytes([message[6], message[7]])),
    );
    key.put(field::ARP_SHA, mac(message, 8));
    key.put(field::ARP_SPA, u64::from(u32_of(message, 14)));
    key.put(field::ARP_THA, mac(message, 18));
    key.put(field::ARP_TPA, u64::from(u32_of(message, 24)));
}

fn mpls(frame: &[u8], at: usize, key: &mut PacketKey, headers: &mut Headers) {
    let Some(header) = bytes_at::<MPLS_HEADER>(frame, at) else {
        return;
    };
    headers.network = Some((NetworkHeader::Mpls, at));
    let header = u64::from(u32_of(header, 0));
    key.put(field::MPLS_LABEL, header >> 12);
    key.put(field::MPLS_TC, header >> 9);
    key.put(field::MPLS_BOS, header >> 8);
}

fn backbone(frame: &[u8], at: usize, key: &mut PacketKey, headers: &mut Headers) {
    // Another type follows the addresses of the customer.
    let Some(tag) = bytes_at::<{ BACKBONE_TAG + ETHER_TYPE }>(frame, at) else {
        return;
    };
    headers.network = Some((NetworkHeader::Backbone, at));
    key.put(field::PBB_ISID, u64::from(u32_of(tag, 0)));
}

/// Returns the address at `at` of a header that is long enough.
fn mac<const N: usize>(header: &[u8; N], at: usize) -> u64 {
    let mut wide = [0; 8];
    wide[2..].copy_from_slice(&header[at..at + 6]);
    u64::from_be_bytes(wide)
}

fn u32_of<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

fn u128_of<const N: usize>(header: &[u8; N], at: usize) -> u128 {
    let mut wide = [0; 16];
    wide.copy_from_slice(&header[at..at + 16]);
    u128::from_be_bytes(wide)
}

/// Returns the number at `at`, if the frame is long enough.
pub(crate) fn u16_at(frame: &[u8], at: usize) -> Option<u16> {
    bytes_at::<2>(frame, at).map(|bytes| u16::from_be_bytes(*bytes))
}

/// Returns the bytes from `at` on, if there are so many.
pub(crate) fn bytes_at<const N: usize>(frame: &[u8], at: usize) -> Option<&[u8; N]> {
    frame.get(at..)?.first_chunk::<N>()
}

#[cfg(test)]
mod tests;
