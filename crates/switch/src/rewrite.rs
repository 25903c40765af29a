//! Overwrites fields of a frame in place, checksums included.
//!
//! Every function leaves a frame alone that lacks the header in question: for
//! entries the match guarantees it, for packet-outs nobody does.
//!
//! # Left out
//!
//! The checksum of an SCTP packet that comes in fragments covers bytes that are
//! not there: after a change of its ports it is wrong.

use wire::ethernet::MacAddress;

use crate::action::{FieldValue, Transport};
use crate::headers::{
    DISCOVERY_OPTION_ADDRESS, DISCOVERY_TARGET, Headers, MAC_ADDRESSES, NEIGHBOUR_ADVERTISEMENT,
    NEIGHBOUR_SOLICITATION, NetworkHeader, PROTO_ICMP, PROTO_ICMPV6, PROTO_SCTP, PROTO_TCP,
    PROTO_UDP, bytes_at, link_layer_option,
};
use crate::tags::BOTTOM_OF_STACK;
use crate::{checksum, crc32c};

const VLAN_CONTROL: usize = MAC_ADDRESSES + 2;
const VLAN_ID_MASK: u16 = 0x0fff;
const VLAN_PRIORITY_SHIFT: u32 = 13;

const IPV4_TOS: usize = 1;
/// Where the checksum of an IPv4 header stands in it.
pub(crate) const IPV4_CHECKSUM: usize = 10;
const IPV4_SRC: usize = 12;
const IPV4_DST: usize = 16;
const IPV6_SRC: usize = 8;
const IPV6_DST: usize = 24;

const ARP_OP: usize = 6;
const ARP_SHA: usize = 8;
const ARP_SPA: usize = 14;
const ARP_THA: usize = 18;
const ARP_TPA: usize = 24;

const MPLS_LABEL_SHIFT: u32 = 12;
const MPLS_CLASS_SHIFT: u32 = 9;
const MPLS_BOTTOM_SHIFT: u32 = 8;
const MPLS_CLASS_MASK: u32 = 7 << MPLS_CLASS_SHIFT;

const SCTP_CHECKSUM: usize = 8;

pub(crate) fn set_field(frame: &mut [u8], headers: &Headers, value: FieldValue) {
    match value {
        FieldValue::EthDst(address) => overwrite(frame, 0, &address.0),
        FieldValue::EthSrc(address) => overwrite(frame, 6, &address.0),
        FieldValue::EthType(kind) => overwrite(frame, headers.type_at, &kind.to_be_bytes()),
        FieldValue::VlanVid(id) => change_vlan(frame, headers, |control| {
            control & !VLAN_ID_MASK | id & VLAN_ID_MASK
        }),
        FieldValue::VlanPcp(priority) => change_vlan(frame, headers, |control| {
            control & !(7 << VLAN_PRIORITY_SHIFT) | u16::from(priority & 7) << VLAN_PRIORITY_SHIFT
        }),
        FieldValue::IpDscp(dscp) => change_tos(frame, headers, |tos| tos & 3 | dscp << 2),
        FieldValue::IpEcn(ecn) => change_tos(frame, headers, |tos| tos & !3 | ecn & 3),
        FieldValue::IpProto(protocol) => set_protocol(frame, headers, protocol),
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
        FieldValue::NdTarget(target) => set_discovery_target(frame, headers, target),
        FieldValue::NdSourceLinkLayer(address) => {
            set_link_layer(frame, headers, NEIGHBOUR_SOLICITATION, address);
        }
        FieldValue::NdTargetLinkLayer(address) => {
            set_link_layer(frame, headers, NEIGHBOUR_ADVERTISEMENT, address);
        }
        FieldValue::MplsLabel(label) => change_mpls(frame, headers, |header| {
            header & !(u32::MAX << MPLS_LABEL_SHIFT) | label << MPLS_LABEL_SHIFT
        }),
        FieldValue::MplsTc(class) => change_mpls(frame, headers, |header| {
            header & !MPLS_CLASS_MASK | u32::from(class & 7) << MPLS_CLASS_SHIFT
        }),
        FieldValue::MplsBos(bottom) => change_mpls(frame, headers, |header| {
            header & !BOTTOM_OF_STACK | u32::from(bottom & 1) << MPLS_BOTTOM_SHIFT
        }),
        FieldValue::PbbIsid(service) => set_service(frame, headers, service),
        FieldValue::TunnelId(_) => {}
    }
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
pub(crate) struct Sum {
    at: usize,
    /// Whether a sum of zero says that there is none, RFC 768.
    optional: bool,
}

impl Sum {
    /// Returns a checksum that is always there.
    pub(crate) const fn mandatory(at: usize) -> Self {
        Self {
            at,
            optional: false,
        }
    }

    /// Returns the checksum after `old` under it has become `new`.
    fn updated(self, frame: &[u8], old: &[u8], new: &[u8]) -> Option<u16> {
        let sum = u16_of(frame, self.at);
        if self.optional && sum == 0 {
            return None;
        }
        match checksum::updated(sum, old, new) {
            0 if self.optional => Some(0xffff),
            updated => Some(updated),
        }
    }
}

/// Replaces bytes and keeps the checksums right.
pub(crate) fn replace(frame: &mut [u8], at: usize, new: &[u8], sums: &[Sum]) {
    let end = at + new.len();
    for sum in sums {
        if let Some(updated) = sum.updated(frame, &frame[at..end], new) {
            overwrite(frame, sum.at, &updated.to_be_bytes());
        }
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
    (at + 2 <= headers.packet_end.min(frame.len())).then_some(Sum { at, optional })
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
        Some((NetworkHeader::Ipv4, at)) => {
            let new = [frame[at], change(frame[at + IPV4_TOS])];
            replace(frame, at, &new, &[Sum::mandatory(at + IPV4_CHECKSUM)]);
        }
        Some((NetworkHeader::Ipv6, at)) => {
            // The traffic class lies across two bytes, RFC 8200 section 3.
            let class = change(frame[at] << 4 | frame[at + 1] >> 4);
            frame[at] = frame[at] & 0xf0 | class >> 4;
            frame[at + 1] = class << 4 | frame[at + 1] & 0x0f;
        }
        Some((NetworkHeader::Arp | NetworkHeader::Mpls | NetworkHeader::Backbone, _)) | None => {}
    }
}

/// Changes the protocol above IP, which the pseudo header of the checksum of
/// that protocol has, RFC 9293 section 3.1 and RFC 8200 section 8.1.
fn set_protocol(frame: &mut [u8], headers: &Headers, protocol: u8) {
    let at = headers.protocol_at;
    let own = match headers.network {
        Some((NetworkHeader::Ipv4, ip)) => Some(Sum::mandatory(ip + IPV4_CHECKSUM)),
        Some((NetworkHeader::Ipv6, _)) => None,
        Some((NetworkHeader::Arp | NetworkHeader::Mpls | NetworkHeader::Backbone, _)) | None => {
            return;
        }
    };
    if let Some(sum) = pseudo_header_sum(frame, headers)
        && let Some(updated) = sum.updated(frame, &[0, frame[at]], &[0, protocol])
    {
        overwrite(frame, sum.at, &updated.to_be_bytes());
    }
    match own {
        // The word that is summed begins with the time to live.
        Some(own) => replace(frame, at - 1, &[frame[at - 1], protocol], &[own]),
        None => frame[at] = protocol,
    }
}

fn set_ipv4(frame: &mut [u8], headers: &Headers, offset: usize, address: [u8; 4]) {
    let Some((NetworkHeader::Ipv4, at)) = headers.network else {
        return;
    };
    let own = Sum::mandatory(at + IPV4_CHECKSUM);
    match pseudo_header_sum(frame, headers) {
        Some(sum) => replace(frame, at + offset, &address, &[own, sum]),
        None => replace(frame, at + offset, &address, &[own]),
    }
}

fn set_ipv6(frame: &mut [u8], headers: &Headers, offset: usize, address: [u8; 16]) {
    let Some((NetworkHeader::Ipv6, at)) = headers.network else {
        return;
    };
    let elsewhere = headers.routed && offset == IPV6_DST;
    match pseudo_header_sum(frame, headers).filter(|_| !elsewhere) {
        Some(sum) => replace(frame, at + offset, &address, &[sum]),
        None => replace(frame, at + offset, &address, &[]),
    }
}

fn set_flow_label(frame: &mut [u8], headers: &Headers, label: u32) {
    if let Some((NetworkHeader::Ipv6, at)) = headers.network {
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
    if protocol == PROTO_SCTP && protocol == wanted {
        return set_sctp_port(frame, headers, at, side, value);
    }
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
        (Transport::Sctp, Side::Source | Side::Destination) => {}
    }
}

fn set_sctp_port(frame: &mut [u8], headers: &Headers, at: usize, side: Side, port: u16) {
    let check_at = at + SCTP_CHECKSUM;
    let Some(check) = bytes_at::<4>(&frame[..headers.packet_end], check_at).copied() else {
        return;
    };
    let at = match side {
        Side::Source => at,
        Side::Destination => at + 2,
    };
    let new = port.to_be_bytes();
    let following = headers.packet_end - (at + new.len());
    let updated = crc32c::updated(check, &frame[at..at + 2], &new, following);
    overwrite(frame, check_at, &updated);
    overwrite(frame, at, &new);
}

fn set_arp(frame: &mut [u8], headers: &Headers, offset: usize, new: &[u8]) {
    if let Some((NetworkHeader::Arp, at)) = headers.network {
        overwrite(frame, at + offset, new);
    }
}

fn set_discovery_target(frame: &mut [u8], headers: &Headers, target: [u8; 16]) {
    let Some((PROTO_ICMPV6, at)) = headers.transport else {
        return;
    };
    let target_at = at + DISCOVERY_TARGET;
    let is_discovery = matches!(frame[at], NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT);
    let sum = transport_sum(frame, headers)
        .filter(|_| is_discovery && target_at + target.len() <= headers.packet_end);
    if let Some(sum) = sum {
        replace(frame, target_at, &target, &[sum]);
    }
}

/// Changes the link-layer address in a neighbour discovery of type `of`.
fn set_link_layer(frame: &mut [u8], headers: &Headers, of: u8, address: MacAddress) {
    let Some((PROTO_ICMPV6, at)) = headers.transport.filter(|(_, at)| frame[*at] == of) else {
        return;
    };
    let option = link_layer_option(&frame[..headers.packet_end], at);
    if let (Some(option), Some(sum)) = (option, transport_sum(frame, headers)) {
        let at = option + DISCOVERY_OPTION_ADDRESS;
        replace(frame, at, &address.0, &[sum]);
    }
}

fn change_mpls(frame: &mut [u8], headers: &Headers, change: impl Fn(u32) -> u32) {
    if let Some((NetworkHeader::Mpls, at)) = headers.network
        && let Some(header) = bytes_at::<4>(frame, at)
    {
        let header = change(u32::from_be_bytes(*header));
        overwrite(frame, at, &header.to_be_bytes());
    }
}

fn set_service(frame: &mut [u8], headers: &Headers, service: [u8; 3]) {
    if let Some((NetworkHeader::Backbone, at)) = headers.network {
        overwrite(frame, at + 1, &service);
    }
}

#[cfg(test)]
mod tests;
