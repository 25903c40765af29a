//! One segment of TCP in a frame.

use wire::ethernet::{EtherType, Header, SHORTEST_FRAME};
use wire::{ipv4, tcp};

use super::super::datagram::Addresses;

const HOPS: u8 = 64;
const DSCP_SHIFT: u8 = 2;
const WINDOW: u16 = 8_192;

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) flags: tcp::Flags,
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
}

/// Puts a segment into `out`, replacing what is there.
pub(super) fn fill(addresses: &Addresses, numbers: Numbers, payload: &[u8], out: &mut Vec<u8>) {
    out.clear();
    Header {
        destination: addresses.destination_mac,
        source: addresses.source_mac,
        vlan: addresses.vlan,
        ether_type: EtherType::IPV4,
    }
    .emit(out);
    let ip = ipv4::Header {
        source: addresses.source,
        destination: addresses.destination,
        protocol: ipv4::PROTOCOL_TCP,
        traffic_class: addresses.dscp << DSCP_SHIFT,
        time_to_live: HOPS,
    };
    ip.emit(tcp::HEADER_LENGTH + payload.len(), out);
    let header = tcp::Header {
        source_port: addresses.source_port,
        destination_port: addresses.destination_port,
        sequence: numbers.sequence,
        acknowledgement: numbers.acknowledgement,
        flags: numbers.flags,
        window: WINDOW,
    };
    header.emit(&ip, payload, out);
    out.resize(out.len().max(SHORTEST_FRAME), 0);
}

/// Returns the segment that a frame carries between these addresses and ports, whole
/// and undamaged.
pub(super) fn between<'a>(
    frame: &'a [u8],
    addresses: &Addresses,
) -> Option<(tcp::Header, &'a [u8])> {
    let (ethernet, packet) = Header::parse(frame).ok()?;
    if ethernet.ether_type != EtherType::IPV4 {
        return None;
    }
    let (ip, segment) = ipv4::Header::parse(packet).ok()?;
    let is_meant = ip.protocol == ipv4::PROTOCOL_TCP
        && ip.source == addresses.source
        && ip.destination == addresses.destination;
    if !is_meant || tcp::verify(&ip, segment).is_err() {
        return None;
    }
    let (header, payload) = tcp::Header::parse(segment).ok()?;
    (header.destination_port == addresses.destination_port).then_some((header, payload))
}
