//! What a flow table looks at: the headers of a frame, packed into words.
//!
//! A [`PacketKey`] has every field that an entry can match, at a fixed place in
//! a few 64-bit words. Matching is then a handful of masked comparisons, the
//! same for every field, and a mask is a key of the same shape. Fields that can
//! never occur together (IPv4 and IPv6 addresses, for instance) share a place:
//! OF13 clause 7.2.3.6 makes an entry name the protocol before it names such a
//! field, so the two are always told apart by another field of the same key.
//!
//! A field whose header is absent, cut short or in a later fragment is zero.
//!
//! Sources: OF13 clause 7.2.3.7 (fields), RFC 791, RFC 8200 section 4, RFC 826,
//! RFC 4861 section 4.

use wire::ethernet::EtherType;
use wire::openflow::PortNumber;

/// How many words a key has.
pub(crate) const WORDS: usize = 13;

/// Set in [`field::VLAN_VID`] if the frame has a VLAN tag, OF13 clause 7.2.3.7
/// (`OFPVID_PRESENT`).
pub(crate) const VLAN_PRESENT: u64 = 0x1000;

/// How many VLAN tags are looked through for the EtherType below them.
const VLAN_TAGS_MAX: usize = 2;
/// How many IPv6 extension headers are looked through for the protocol.
const EXTENSION_HEADERS_MAX: usize = 8;
/// How many neighbour discovery options are looked at.
const DISCOVERY_OPTIONS_MAX: usize = 4;

const MAC_ADDRESSES: usize = 12;
const VLAN_TAG: usize = 4;

pub(crate) const PROTO_ICMP: u8 = 1;
pub(crate) const PROTO_TCP: u8 = 6;
pub(crate) const PROTO_UDP: u8 = 17;
pub(crate) const PROTO_ICMPV6: u8 = 58;
pub(crate) const PROTO_SCTP: u8 = 132;

const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

/// Where a field of at most 64 bits lies in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    word: usize,
    shift: u32,
    bits: u32,
}

impl Place {
    const fn new(word: usize, shift: u32, bits: u32) -> Self {
        Self { word, shift, bits }
    }

    /// Returns the mask of the whole field, at the right of its word.
    pub(crate) const fn ones(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

/// The places of all fields.
pub(crate) mod field {
    use super::Place;

    pub(crate) const IN_PORT: Place = Place::new(0, 32, 32);
    pub(crate) const ETH_TYPE: Place = Place::new(0, 16, 16);
    pub(crate) const VLAN_VID: Place = Place::new(0, 3, 13);
    pub(crate) const VLAN_PCP: Place = Place::new(0, 0, 3);
    pub(crate) const METADATA: Place = Place::new(1, 0, 64);
    pub(crate) const ETH_DST: Place = Place::new(2, 16, 48);
    pub(crate) const IP_PROTO: Place = Place::new(2, 8, 8);
    pub(crate) const IP_DSCP: Place = Place::new(2, 2, 6);
    pub(crate) const IP_ECN: Place = Place::new(2, 0, 2);
    pub(crate) const ETH_SRC: Place = Place::new(3, 16, 48);
    /// Source port of TCP, UDP or SCTP, or type of ICMP.
    pub(crate) const L4_SRC: Place = Place::new(3, 0, 16);
    /// Destination port of TCP, UDP or SCTP, or code of ICMP.
    pub(crate) const L4_DST: Place = Place::new(4, 48, 16);
    pub(crate) const IPV6_FLOW_LABEL: Place = Place::new(4, 0, 20);
    pub(crate) const IPV4_SRC: Place = Place::new(5, 32, 32);
    pub(crate) const IPV4_DST: Place = Place::new(5, 0, 32);
    pub(crate) const ARP_OP: Place = L4_DST;
    pub(crate) const ARP_SPA: Place = IPV4_SRC;
    pub(crate) const ARP_TPA: Place = IPV4_DST;
    pub(crate) const ARP_SHA: Place = Place::new(6, 0, 48);
    pub(crate) const ARP_THA: Place = Place::new(7, 0, 48);
    pub(crate) const IPV6_SRC: [Place; 2] = [Place::new(5, 0, 64), Place::new(6, 0, 64)];
    pub(crate) const IPV6_DST: [Place; 2] = [Place::new(7, 0, 64), Place::new(8, 0, 64)];
    pub(crate) const ND_TARGET: [Place; 2] = [Place::new(9, 0, 64), Place::new(10, 0, 64)];
    pub(crate) const ND_SLL: Place = Place::new(11, 0, 48);
    pub(crate) const ND_TLL: Place = Place::new(12, 0, 48);
}

/// The fields of one frame, or the value or mask of an entry's match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PacketKey {
    words: [u64; WORDS],
}

impl PacketKey {
    /// Returns a field, at the right of a word.
    pub(crate) const fn get(&self, place: Place) -> u64 {
        (self.words[place.word] >> place.shift) & place.ones()
    }

    /// Sets a field that is zero so far, or adds bits to it.
    pub(crate) const fn put(&mut self, place: Place, value: u64) {
        self.words[place.word] |= (value & place.ones()) << place.shift;
    }

    /// Sets a field of 128 bits that is zero so far.
    pub(crate) fn put_wide(&mut self, places: [Place; 2], value: u128) {
        let [high, low] = halves(value);
        self.put(places[0], high);
        self.put(places[1], low);
    }

    /// Replaces a field.
    pub(crate) const fn replace(&mut self, place: Place, value: u64) {
        self.words[place.word] &= !(place.ones() << place.shift);
        self.put(place, value);
    }

    /// Returns the words.
    pub(crate) const fn words(&self) -> &[u64; WORDS] {
        &self.words
    }

    /// Returns this key with only the bits of `mask`.
    pub(crate) fn masked(&self, mask: &Self) -> Self {
        let mut words = self.words;
        for (word, mask) in words.iter_mut().zip(mask.words) {
            *word &= mask;
        }
        Self { words }
    }
}

#[cfg(test)]
impl PacketKey {
    pub(crate) const fn from_words(words: [u64; WORDS]) -> Self {
        Self { words }
    }
}

/// Splits a wide value into its high and its low half.
#[expect(
    clippy::cast_possible_truncation,
    reason = "taking the halves is the purpose"
)]
pub(crate) const fn halves(value: u128) -> [u64; 2] {
    [(value >> 64) as u64, value as u64]
}

/// Where the headers of a frame begin, for actions that rewrite them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Whether a VLAN tag follows the addresses.
    pub(crate) tagged: bool,
    /// Where the header of layer 3 begins, and which.
    pub(crate) network: Option<(Network, usize)>,
    /// Where the header of layer 4 begins, and its protocol number.
    pub(crate) transport: Option<(u8, usize)>,
}

/// The protocols of layer 3 that are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// Address resolution, RFC 826.
    Arp,
    /// RFC 791.
    Ipv4,
    /// RFC 8200.
    Ipv6,
}

/// Reads the fields of `frame`, and where its headers are.
pub(crate) fn extract(in_port: PortNumber, metadata: u64, frame: &[u8]) -> (PacketKey, Headers) {
    let mut key = PacketKey::default();
    let mut headers = Headers::default();
    key.put(field::IN_PORT, u64::from(in_port.0));
    key.put(field::METADATA, metadata);
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
    key.put(field::ETH_TYPE, u64::from(ether_type));
    at += 2;

    match EtherType(ether_type) {
        EtherType::IPV4 => ipv4(frame, at, &mut key, &mut headers),
        EtherType::IPV6 => ipv6(frame, at, &mut key, &mut headers),
        EtherType::ARP => arp(frame, at, &mut key, &mut headers),
        _ => {}
    }
    (key, headers)
}

fn ipv4(frame: &[u8], at: usize, key: &mut PacketKey, headers: &mut Headers) {
    let Some(header) = bytes_at::<20>(frame, at) else {
        return;
    };
    let length = usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != 4 || length < header.len() || frame.len() < at + length {
        return;
    }
    headers.network = Some((Network::Ipv4, at));
    key.put(field::IP_DSCP, u64::from(header[1] >> 2));
    key.put(field::IP_ECN, u64::from(header[1] & 3));
    key.put(field::IP_PROTO, u64::from(header[9]));
    key.put(field::IPV4_SRC, u64::from(u32_of(header, 12)));
    key.put(field::IPV4_DST, u64::from(u32_of(header, 16)));
    let fragment_offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
    if fragment_offset == 0 {
        transport(frame, at + length, header[9], key, headers);
    }
}

fn ipv6(frame: &[u8], at: usize, key: &mut PacketKey, headers: &mut Headers) {
    let Some(header) = bytes_at::<40>(frame, at) else {
        return;
    };
    if header[0] >> 4 != 6 {
        return;
    }
    headers.network = Some((Network::Ipv6, at));
    let first = u32_of(header, 0);
    key.put(field::IP_DSCP, u64::from(first >> 22));
    key.put(field::IP_ECN, u64::from(first >> 20 & 3));
    key.put(field::IPV6_FLOW_LABEL, u64::from(first));
    key.put_wide(field::IPV6_SRC, u128_of(header, 8));
    key.put_wide(field::IPV6_DST, u128_of(header, 24));

    let mut next = header[6];
    let mut at = at + header.len();
    let mut first_fragment = true;
    for _ in 0..EXTENSION_HEADERS_MAX {
        let length = match next {
            // Hop-by-hop, routing, destination options, mobility.
            0 | 43 | 60 | 135 => u64::from(byte_at(frame, at + 1)) * 8 + 8,
            // Authentication counts in other units, RFC 4302 section 2.2.
            51 => u64::from(byte_at(frame, at + 1)) * 4 + 8,
            44 => {
                first_fragment &= u16_at(frame, at + 2).unwrap_or(0) & 0xfff8 == 0;
                8
            }
            _ => break,
        };
        let Some(header_after) = bytes_at::<1>(frame, at) else {
            break;
        };
        next = header_after[0];
        at += usize::try_from(length).expect("a header is shorter than 3 kB");
    }
    key.put(field::IP_PROTO, u64::from(next));
    if first_fragment {
        transport(frame, at, next, key, headers);
    }
}

fn transport(frame: &[u8], at: usize, proto: u8, key: &mut PacketKey, headers: &mut Headers) {
    let Some(header) = bytes_at::<4>(frame, at) else {
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
            if proto == PROTO_ICMPV6
                && matches!(header[0], NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT)
            {
                neighbour_discovery(frame, at, key);
            }
        }
        _ => return,
    }
    headers.transport = Some((proto, at));
}

fn neighbour_discovery(frame: &[u8], at: usize, key: &mut PacketKey) {
    let Some(message) = bytes_at::<24>(frame, at) else {
        return;
    };
    key.put_wide(field::ND_TARGET, u128_of(message, 8));
    let mut at = at + message.len();
    for _ in 0..DISCOVERY_OPTIONS_MAX {
        let Some(option) = bytes_at::<8>(frame, at) else {
            return;
        };
        match option[0] {
            1 => key.replace(field::ND_SLL, mac(option, 2)),
            2 => key.replace(field::ND_TLL, mac(option, 2)),
            _ => {}
        }
        if option[1] == 0 {
            return;
        }
        at += usize::from(option[1]) * 8;
    }
}

fn arp(frame: &[u8], at: usize, key: &mut PacketKey, headers: &mut Headers) {
    let Some(message) = bytes_at::<28>(frame, at) else {
        return;
    };
    // Ethernet and IPv4 addresses, RFC 826; other kinds have other lengths.
    if message[..6] != [0, 1, 8, 0, 6, 4] {
        return;
    }
    headers.network = Some((Network::Arp, at));
    key.put(
        field::ARP_OP,
        u64::from(u16::from_be_bytes([message[6], message[7]])),
    );
    key.put(field::ARP_SHA, mac(message, 8));
    key.put(field::ARP_SPA, u64::from(u32_of(message, 14)));
    key.put(field::ARP_THA, mac(message, 18));
    key.put(field::ARP_TPA, u64::from(u32_of(message, 24)));
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

fn byte_at(frame: &[u8], at: usize) -> u8 {
    frame.get(at).copied().unwrap_or(0)
}

fn u16_at(frame: &[u8], at: usize) -> Option<u16> {
    bytes_at::<2>(frame, at).map(|bytes| u16::from_be_bytes(*bytes))
}

fn bytes_at<const N: usize>(frame: &[u8], at: usize) -> Option<&[u8; N]> {
    frame.get(at..)?.first_chunk::<N>()
}

#[cfg(test)]
mod tests;
