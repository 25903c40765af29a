//! Carries out the actions of an entry on the bytes of a frame
//! (OF10 section 3.3).
//!
//! Checksums are corrected by the difference (RFC 1624 equation 3), and a UDP
//! checksum of zero, which says that there is none, stays.
//!
//! # Left out
//!
//! Fragments and headers with options are treated like any other packet.

use std::net::Ipv4Addr;
use std::sync::Arc;

use calculus::loko::processing_time;
use units::Delay;
use wire::ethernet::EtherType;
use wire::ipv4::{PROTOCOL_TCP, PROTOCOL_UDP};
use wire::openflow10::{Action, PortNumber};

use super::agent::PACKET_IN;

const ADDRESSES: usize = 12;
const TAG: usize = 4;
const ID_MASK: u16 = 0x0fff;
const PRIORITY_SHIFT: u16 = 13;
/// Offsets within an IPv4 header.
const TOS: usize = 1;
const CHECKSUM: usize = 10;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;
const IPV4_HEADER: usize = 20;

/// What became of a frame.
pub(super) struct Done {
    /// Where it goes and as what.
    pub(super) leaving: Vec<(PortNumber, Arc<[u8]>)>,
    /// What the actions add to the time of an output.
    pub(super) time: Delay,
}

/// Carries out the actions of an entry.
pub(super) fn carry_out(actions: &[Action], bytes: &Arc<[u8]>) -> Done {
    let mut bytes = Arc::clone(bytes);
    let mut leaving = Vec::with_capacity(1);
    let mut time = Delay::ZERO;
    for action in actions {
        time += timed_as(*action).time();
        match *action {
            Action::Output { port, .. } | Action::Enqueue { port, .. } => {
                if port == PortNumber::CONTROLLER {
                    time += PACKET_IN;
                }
                leaving.push((port, Arc::clone(&bytes)));
            }
            changing => bytes = changed(changing, &bytes).into(),
        }
    }
    Done { leaving, time }
}

/// Returns the action of LOKO Table 1 that takes as long.
const fn timed_as(action: Action) -> processing_time::LokoAction {
    match action {
        Action::Output { .. } | Action::Enqueue { .. } => processing_time::LokoAction::Output,
        Action::SetVlanVid(_) => processing_time::LokoAction::SetVlanId,
        Action::SetVlanPcp(_) => processing_time::LokoAction::SetVlanPcp,
        Action::StripVlan => processing_time::LokoAction::StripVlan,
        Action::SetDlSrc(_) | Action::SetDlDst(_) => processing_time::LokoAction::SetDlSrc,
        Action::SetNwSrc(_) | Action::SetNwDst(_) => processing_time::LokoAction::SetNwSrc,
        Action::SetNwTos(_) => processing_time::LokoAction::SetNwTos,
        Action::SetTpSrc(_) | Action::SetTpDst(_) => processing_time::LokoAction::SetTpSrc,
    }
}

/// Returns the frame as one action leaves it; what it does not have stays.
fn changed(action: Action, frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    match action {
        Action::SetVlanVid(id) => set_tag(&mut bytes, !ID_MASK, id & ID_MASK),
        Action::SetVlanPcp(priority) => {
            let priority = u16::from(priority & 7) << PRIORITY_SHIFT;
            set_tag(&mut bytes, ID_MASK, priority);
        }
        Action::StripVlan => {
            if is_tagged(&bytes) {
                bytes.drain(ADDRESSES..ADDRESSES + TAG);
            }
        }
        Action::SetDlDst(address) => overwrite(&mut bytes, 0, &address.0),
        Action::SetDlSrc(address) => overwrite(&mut bytes, 6, &address.0),
        Action::SetNwSrc(address) => set_address(&mut bytes, SOURCE, address),
        Action::SetNwDst(address) => set_address(&mut bytes, DESTINATION, address),
        Action::SetNwTos(tos) => set_tos(&mut bytes, tos),
        Action::SetTpSrc(port) => set_port(&mut bytes, 0, port),
        Action::SetTpDst(port) => set_port(&mut bytes, 2, port),
        Action::Output { .. } | Action::Enqueue { .. } => {}
    }
    bytes
}

fn overwrite(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

fn is_tagged(frame: &[u8]) -> bool {
    word(frame, ADDRESSES) == Some(EtherType::VLAN.0)
}

/// Sets a part of the tag, and puts a tag there first if there is none.
fn set_tag(bytes: &mut Vec<u8>, kept: u16, set: u16) {
    if bytes.len() < ADDRESSES {
        return;
    }
    if !is_tagged(bytes) {
        let [high, low] = EtherType::VLAN.0.to_be_bytes();
        bytes.splice(ADDRESSES..ADDRESSES, [high, low, 0, 0]);
    }
    let control = word(bytes, ADDRESSES + 2).map_or(set, |control| control & kept | set);
    overwrite(bytes, ADDRESSES + 2, &control.to_be_bytes());
}

/// Where the IPv4 header begins, and where the transport header behind it.
struct Packet {
    header: usize,
    transport: usize,
    /// The checksum of the transport header, if it has one.
    transport_checksum: Option<usize>,
}

fn packet(frame: &[u8]) -> Option<Packet> {
    let header = match is_tagged(frame) {
        true => ADDRESSES + TAG + 2,
        false => ADDRESSES + 2,
    };
    let is_ipv4 = word(frame, header - 2)? == EtherType::IPV4.0;
    if !is_ipv4 || frame.len() < header + IPV4_HEADER {
        return None;
    }
    let transport = header + usize::from(frame[header] & 0xf) * 4;
    let checksum = match frame[header + 9] {
        PROTOCOL_UDP => Some(transport + 6).filter(|at| word(frame, *at) != Some(0)),
        PROTOCOL_TCP => Some(transport + 16),
        _ => None,
    };
    let transport_checksum = checksum.filter(|at| frame.len() >= at + 2);
    Some(Packet {
        header,
        transport,
        transport_checksum,
    })
}

/// Sets a word and corrects the checksums that cover it.
fn set_word(bytes: &mut [u8], at: usize, value: u16, checksums: [Option<usize>; 2]) {
    let Some(old) = word(bytes, at) else { return };
    overwrite(bytes, at, &value.to_be_bytes());
    for place in checksums.into_iter().flatten() {
        let checksum = word(bytes, place).unwrap_or(0);
        let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(value);
        while sum > u32::from(u16::MAX) {
            sum = (sum & u32::from(u16::MAX)) + (sum >> u16::BITS);
        }
        let corrected = !u16::try_from(sum).expect("a folded sum has 16 bits");
        overwrite(bytes, place, &corrected.to_be_bytes());
    }
}

fn set_address(bytes: &mut [u8], field: usize, address: Ipv4Addr) {
    let Some(packet) = packet(bytes) else { return };
    let [a, b, c, d] = address.octets();
    let covered_by = [Some(packet.header + CHECKSUM), packet.transport_checksum];
    let at = packet.header + field;
    set_word(bytes, at, u16::from_be_bytes([a, b]), covered_by);
    set_word(bytes, at + 2, u16::from_be_bytes([c, d]), covered_by);
}

fn set_tos(bytes: &mut [u8], tos: u8) {
    let Some(packet) = packet(bytes) else { return };
    let congestion = bytes[packet.header + TOS] & 3;
    let value = u16::from_be_bytes([bytes[packet.header], tos & !3 | congestion]);
    let covered_by = [Some(packet.header + CHECKSUM), None];
    set_word(bytes, packet.header, value, covered_by);
}

fn set_port(bytes: &mut [u8], field: usize, port: u16) {
    let Some(packet) = packet(bytes) else { return };
    if matches!(bytes[packet.header + 9], PROTOCOL_UDP | PROTOCOL_TCP) {
        let covered_by = [packet.transport_checksum, None];
        set_word(bytes, packet.transport + field, port, covered_by);
    }
}

#[cfg(test)]
mod tests;
