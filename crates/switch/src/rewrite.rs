//! Changes headers of a frame in place, checksums included.
//!
//! Every function leaves a frame alone that lacks the header in question: for
//! entries the match guarantees it, for packet-outs nobody does.

use crate::action::{FieldValue, Transport};
use crate::checksum;
use crate::packet_key::{Headers, Network, PROTO_ICMP, PROTO_ICMPV6, PROTO_TCP, PROTO_UDP};

const MAC_ADDRESSES: usize = 12;
/// Bytes of a VLAN tag.
pub(crate) const VLAN_TAG: usize = 4;

const VLAN_CONTROL: usize = MAC_ADDRESSES + 2;
const VLAN_ID_MASK: u16 = 0x0fff;
const VLAN_PRIORITY_SHIFT: u32 = 13;

const IPV4_TOS: usize = 1;
const IPV4_TTL: usize = 8;
const IPV4_CHECKSUM: usize = 10;
const IPV4_SRC: usize = 12;
const IPV4_DST: usize = 16;
const IPV6_HOP_LIMIT: usize = 7;
const IPV6_SRC: usize = 8;
const IPV6_DST: usize = 24;

const ARP_OP: usize = 6;
const ARP_SHA: usize = 8;
const ARP_SPA: usize = 14;
const ARP_THA: usize = 18;
const ARP_TPA: usize = 24;

/// The time to live of a packet reached its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired;

/// Overwrites one field.
pub(crate) fn set_field(frame: &mut [u8], headers: &Headers, value: FieldValue) {
    match value {
        FieldValue::EthDst(address) => overwrite(frame, 0, &address.0),
        FieldValue::EthSrc(address) => overwrite(frame, 6, &address.0),
        FieldValue::VlanVid(id) => change_vlan(frame, headers, |control| {
            control & !VLAN_ID_MASK | id & VLAN_ID_MASK
        }),
        FieldValue::VlanPcp(priority) => change_vlan(frame, headers, |control| {
            control & !(7 << VLAN_PRIORITY_SHIFT) | u16::from(priority & 7) << VLAN_PRIORITY_SHIFT
        }),
        FieldValue::IpDscp(dscp) => change_tos(frame, headers, |tos| tos & 3 | dscp << 2),
        FieldValue::IpEcn(ecn) => change_tos(frame, headers, |tos| tos & !3 | ecn & 3),
        FieldValue::Ipv4Src(address) => set_ipv4(frame, headers, IPV4_SRC, address),
        FieldValue::Ipv4Dst(address) => set_ipv4(frame, headers, IPV4_DST, address),
        FieldValue::Ipv6Src(address) => set_ipv6(frame, headers, IPV6_SRC, address),
        FieldValue::Ipv6Dst(address) => set_ipv6(frame, headers, IPV6_DST, address),
        FieldValue::Ipv6FlowLabel(label) => set_flow_label(frame, headers, label),
        FieldValue::L4Src(transport, value) => {
            set_l4(frame, headers, transport, Side::Source, value)
        }
        FieldValue::L4Dst(transport, value) => {
            set_l4(frame, headers, transport, Side::Destination, value);
        }
        FieldValue::ArpOp(op) => set_arp(frame, headers, ARP_OP, &op.to_be_bytes()),
        FieldValue::ArpSpa(address) => set_arp(frame, headers, ARP_SPA, &address),
        FieldValue::ArpTpa(address) => set_arp(frame, headers, ARP_TPA, &address),
        FieldValue::ArpSha(address) => set_arp(frame, headers, ARP_SHA, &address.0),
        FieldValue::ArpTha(address) => set_arp(frame, headers, ARP_THA, &address.0),
    }
}

/// Sets the time to live or hop limit.
pub(crate) fn set_ttl(frame: &mut [u8], headers: &Headers, ttl: u8) {
    match headers.network {
        Some((Network::Ipv4, at)) => {
            let protocol = frame[at + IPV4_TTL + 1];
            replace(
                frame,
                at + IPV4_TTL,
                &[ttl, protocol],
                &[Sum::mandatory(at + IPV4_CHECKSUM)],
            );
        }
        Some((Network::Ipv6, at)) => frame[at + IPV6_HOP_LIMIT] = ttl,
        Some((Network::Arp, _)) | None => {}
    }
}

/// Counts the time to live or hop limit down, OF13 clause 5.12.
pub(crate) fn decrement_ttl(frame: &mut [u8], headers: &Headers) -> Result<(), Expired> {
    let ttl = match headers.network {
        Some((Network::Ipv4, at)) => frame[at + IPV4_TTL],
        Some((Network::Ipv6, at)) => frame[at + IPV6_HOP_LIMIT],
        Some((Network::Arp, _)) | None => return Ok(()),
    };
    if ttl <= 1 {
        return Err(Expired);
    }
    set_ttl(frame, headers, ttl - 1);
    Ok(())
}

/// Turns a frame with [`VLAN_TAG`] free bytes at its front into one with a tag.
/// The tag inherits identifier and priority of the next one, OF13 clause 5.12.1.
pub(crate) fn push_vlan(frame: &mut [u8], headers: &Headers, ether_type: u16) {
    frame.copy_within(VLAN_TAG..VLAN_TAG + MAC_ADDRESSES, 0);
    let inherited = VLAN_CONTROL + VLAN_TAG;
    let control = match headers.tagged {
        true => [frame[inherited], frame[inherited + 1]],
        false => [0, 0],
    };
    frame[MAC_ADDRESSES..VLAN_CONTROL].copy_from_slice(&ether_type.to_be_bytes());
    frame[VLAN_CONTROL..VLAN_CONTROL + 2].copy_from_slice(&control);
}

/// Moves the addresses over the first tag, so that [`VLAN_TAG`] bytes at the
/// front are free.
pub(crate) fn pop_vlan(frame: &mut [u8]) {
    frame.copy_within(..MAC_ADDRESSES, VLAN_TAG);
}

/// Raises the drop precedence of an IP packet by so many levels, as far as it
/// goes. Only the code points of assured forwarding have one: `cccdd0` with a
/// class `ccc` of 1 to 4 and a precedence `dd` of 1 to 3, RFC 2597 section 6.
/// Other packets stay as they are.
pub(crate) fn raise_drop_precedence(frame: &mut [u8], headers: &Headers, levels: u8) {
    change_tos(frame, headers, |tos| {
        let (dscp, ecn) = (tos >> 2, tos & 3);
        let (class, precedence) = (dscp >> 3, dscp >> 1 & 3);
        let assured = (1..=4).contains(&class) && precedence > 0 && dscp & 1 == 0;
        match assured {
            true => (class << 3 | precedence.saturating_add(levels).min(3) << 1) << 2 | ecn,
            false => tos,
        }
    });
}

fn overwrite(frame: &mut [u8], at: usize, new: &[u8]) {
    if let Some(old) = frame.get_mut(at..at + new.len()) {
        old.copy_from_slice(new);
    }
}

/// A checksum that covers what is being changed.
#[derive(Clone, Copy, Debug)]
struct Sum {
    at: usize,
    /// Whether a sum of zero says that there is none, RFC 768.
    optional: bool,
}

impl Sum {
    const fn mandatory(at: usize) -> Self {
        Self {
            at,
            optional: false,
        }
    }
}

/// Replaces bytes and keeps the checksums right.
fn replace(frame: &mut [u8], at: usize, new: &[u8], sums: &[Sum]) {
    let end = at + new.len();
    for sum in sums {
        let old = u16_of(frame, sum.at);
        if sum.optional && old == 0 {
            continue;
        }
        let updated = match checksum::updated(old, &frame[at..end], new) {
            0 if sum.optional => 0xffff,
            updated => updated,
        };
        overwrite(frame, sum.at, &updated.to_be_bytes());
    }
    frame[at..end].copy_from_slice(new);
}

/// Returns the checksum of the transport protocol, if it is there.
fn transport_sum(frame: &[u8], headers: &Headers) -> Option<Sum> {
    let (protocol, at) = headers.transport?;
    let (offset, optional) = match protocol {
        PROTO_TCP => (16, false),
        PROTO_UDP => (6, true),
        PROTO_ICMP | PROTO_ICMPV6 => (2, false),
        _ => return None,
    };
    let at = at + offset;
    (at + 2 <= frame.len()).then_some(Sum { at, optional })
}

/// Returns the checksum of the transport protocol if it covers the addresses.
fn pseudo_header_sum(frame: &[u8], headers: &Headers) -> Option<Sum> {
    match headers.transport {
        Some((PROTO_ICMP, _)) | None => None,
        Some(_) => transport_sum(frame, headers),
    }
}

fn u16_of(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

fn change_vlan(frame: &mut [u8], headers: &Headers, change: impl Fn(u16) -> u16) {
    if headers.tagged {
        let control = change(u16_of(frame, VLAN_CONTROL));
        overwrite(frame, VLAN_CONTROL, &control.to_be_bytes());
    }
}

fn change_tos(frame: &mut [u8], headers: &Headers, change: impl Fn(u8) -> u8) {
    match headers.network {
        Some((Network::Ipv4, at)) => {
            let new = [frame[at], change(frame[at + IPV4_TOS])];
            replace(frame, at, &new, &[Sum::mandatory(at + IPV4_CHECKSUM)]);
        }
        Some((Network::Ipv6, at)) => {
            // The traffic class lies across two bytes, RFC 8200 section 3.
            let class = change(frame[at] << 4 | frame[at + 1] >> 4);
            frame[at] = frame[at] & 0xf0 | class >> 4;
            frame[at + 1] = class << 4 | frame[at + 1] & 0x0f;
        }
        Some((Network::Arp, _)) | None => {}
    }
}

fn set_ipv4(frame: &mut [u8], headers: &Headers, offset: usize, address: [u8; 4]) {
    let Some((Network::Ipv4, at)) = headers.network else {
        return;
    };
    let own = Sum::mandatory(at + IPV4_CHECKSUM);
    match pseudo_header_sum(frame, headers) {
        Some(sum) => replace(frame, at + offset, &address, &[own, sum]),
        None => replace(frame, at + offset, &address, &[own]),
    }
}

fn set_ipv6(frame: &mut [u8], headers: &Headers, offset: usize, address: [u8; 16]) {
    let Some((Network::Ipv6, at)) = headers.network else {
        return;
    };
    match pseudo_header_sum(frame, headers) {
        Some(sum) => replace(frame, at + offset, &address, &[sum]),
        None => replace(frame, at + offset, &address, &[]),
    }
}

fn set_flow_label(frame: &mut [u8], headers: &Headers, label: u32) {
    if let Some((Network::Ipv6, at)) = headers.network {
        let [_, high, middle, low] = label.to_be_bytes();
        let high = frame[at + 1] & 0xf0 | high & 0x0f;
        overwrite(frame, at + 1, &[high, middle, low]);
    }
}

#[derive(Clone, Copy)]
enum Side {
    Source,
    Destination,
}

fn set_l4(frame: &mut [u8], headers: &Headers, transport: Transport, side: Side, value: u16) {
    let Some((protocol, at)) = headers.transport else {
        return;
    };
    let wanted = transport.protocol();
    let Some(sum) = transport_sum(frame, headers).filter(|_| protocol == wanted) else {
        return;
    };
    match (transport, side) {
        (Transport::Tcp | Transport::Udp, Side::Source) => {
            replace(frame, at, &value.to_be_bytes(), &[sum]);
        }
        (Transport::Tcp | Transport::Udp, Side::Destination) => {
            replace(frame, at + 2, &value.to_be_bytes(), &[sum]);
        }
        // Type and code share one word of the sum.
        (Transport::Icmp | Transport::Icmpv6, Side::Source) => {
            let new = [value.to_be_bytes()[1], frame[at + 1]];
            replace(frame, at, &new, &[sum]);
        }
        (Transport::Icmp | Transport::Icmpv6, Side::Destination) => {
            let new = [frame[at], value.to_be_bytes()[1]];
            replace(frame, at, &new, &[sum]);
        }
    }
}

fn set_arp(frame: &mut [u8], headers: &Headers, offset: usize, new: &[u8]) {
    if let Some((Network::Arp, at)) = headers.network {
        overwrite(frame, at + offset, new);
    }
}

#[cfg(test)]
mod tests;
