//! Frames: made from a template, and then spoiled in every way that bytes can be.

use wire::prp::{self, Lan, Trailer};
use wire::redundancy_tag::RedundancyTag;

use crate::pools::{MACS, NUMBERS};
use crate::random::Random;
use crate::template::{Arp, Ipv4, Ipv6, Network, Template, Transport};

const SHORTEST: usize = 14;
const LONGEST: usize = 2000;

/// Returns a frame that is like a template, more or less.
pub fn draw(random: &mut Random, templates: &[Template]) -> Vec<u8> {
    if random.percent(2) {
        let length = random.between(SHORTEST, 120);
        return random.bytes(length);
    }
    let at = random.between(0, templates.len() - 1);
    let mut template = templates[at].clone();
    while random.percent(20) {
        template.vary(random);
    }
    let mut frame = build(random, &template);
    if random.percent(15) {
        let trailer = Trailer {
            sequence: random.pick(&NUMBERS),
            lan: random.pick(&[Lan::A, Lan::B]),
        };
        prp::append(&mut frame, trailer).expect("a frame is short");
        // As where bits flip: in a number, a LAN, a size or the suffix.
        if random.percent(20) {
            let at = frame.len() - random.between(1, prp::TRAILER_LENGTH);
            frame[at] ^= 1 << random.below(8);
        }
    }
    spoil(random, &mut frame);
    frame
}

fn build(random: &mut Random, template: &Template) -> Vec<u8> {
    let mut frame = Vec::with_capacity(128);
    frame.extend_from_slice(&template.dst.0);
    frame.extend_from_slice(&template.src.0);
    for (kind, control) in &template.tags {
        frame.extend_from_slice(&kind.to_be_bytes());
        frame.extend_from_slice(&control.to_be_bytes());
    }
    if random.percent(15) {
        let sequence = random.pick(&NUMBERS);
        RedundancyTag { sequence }.emit(&mut frame);
    }
    let payload = payload(random);
    match &template.network {
        Network::Other(kind) => put(&mut frame, *kind, &payload),
        Network::Length(None) => {
            let length = u16::try_from(payload.len()).unwrap().min(1500);
            put(&mut frame, length, &payload);
        }
        Network::Length(Some(kind)) => {
            put(&mut frame, 0x0100, &[0xaa, 0xaa, 3, 0, 0, 0]);
            put(&mut frame, *kind, &payload);
        }
        Network::Arp(it) => put(&mut frame, 0x0806, &arp(*it)),
        Network::Ipv4(it) => put(&mut frame, 0x0800, &ipv4(random, *it, payload)),
        Network::Ipv6(it) => put(&mut frame, 0x86dd, &ipv6(random, it, payload)),
        Network::Mpls(kind, header) => {
            put(&mut frame, *kind, &header.to_be_bytes());
            frame.extend_from_slice(&payload);
        }
        Network::Backbone(service) => {
            put(&mut frame, 0x88e7, &service.to_be_bytes());
            frame.extend_from_slice(&MACS[0].0);
            frame.extend_from_slice(&MACS[1].0);
            put(&mut frame, 0x0800, &payload);
        }
    }
    frame
}

/// Returns what stands behind the headers: seldom much of it.
fn payload(random: &mut Random) -> Vec<u8> {
    let length = match random.below(50) {
        0..=30 => random.between(0, 20),
        31..=47 => random.between(0, 80),
        48 => random.between(1300, 1500),
        _ => random.between(0, LONGEST),
    };
    random.bytes(length)
}

fn put(frame: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    frame.extend_from_slice(&kind.to_be_bytes());
    frame.extend_from_slice(payload);
}

fn arp(it: Arp) -> Vec<u8> {
    let mut message = vec![0, 1, 8, 0, 6, 4];
    message.extend_from_slice(&it.op.to_be_bytes());
    message.extend_from_slice(&it.sha.0);
    message.extend_from_slice(&it.spa.octets());
    message.extend_from_slice(&it.tha.0);
    message.extend_from_slice(&it.tpa.octets());
    message
}

fn ipv4(random: &mut Random, it: Ipv4, payload: Vec<u8>) -> Vec<u8> {
    let body = transport(random, it.transport, payload);
    let words = 5 + it.options;
    let version = match random.below(60) {
        0 => random.byte(),
        1 => 0x40 | random.byte() & 7,
        _ => 0x40 | words,
    };
    let length = usize::from(words) * 4 + body.len();
    let length = told(random, length);
    let mut header = vec![version, it.tos];
    header.extend_from_slice(&length.to_be_bytes());
    header.extend_from_slice(&[0x12, 0x34]);
    header.extend_from_slice(&it.fragment.to_be_bytes());
    header.extend_from_slice(&[random.pick(&[0, 1, 64]), it.transport.protocol]);
    header.extend_from_slice(&sum(random));
    header.extend_from_slice(&it.src.octets());
    header.extend_from_slice(&it.dst.octets());
    header.extend(random.bytes(usize::from(it.options) * 4));
    header.extend(body);
    header
}

fn ipv6(random: &mut Random, it: &Ipv6, payload: Vec<u8>) -> Vec<u8> {
    let mut next = it.transport.protocol;
    let mut body = transport(random, it.transport, payload);
    for number in it.extensions.iter().rev() {
        let mut header = extension(random, *number);
        header[0] = next;
        header.extend(body);
        body = header;
        next = *number;
    }
    let version = match random.once_in(60) {
        true => random.byte() & 0xf,
        false => 6,
    };
    let first = u32::from(version) << 28 | u32::from(it.class) << 20 | it.label & 0xf_ffff;
    let length = told(random, body.len());
    let mut packet = first.to_be_bytes().to_vec();
    packet.extend_from_slice(&length.to_be_bytes());
    packet.extend_from_slice(&[next, random.pick(&[0, 1, 64])]);
    packet.extend_from_slice(&it.src.octets());
    packet.extend_from_slice(&it.dst.octets());
    packet.extend(body);
    packet
}

/// Returns an extension header of this number, whose first byte is to be set.
fn extension(random: &mut Random, number: u8) -> Vec<u8> {
    let units = match random.below(4) {
        0 => random.pick(&[1, 2]),
        _ => 0,
    };
    let bytes = match number {
        44 => 8,
        51 => usize::from(units) * 4 + 8,
        _ => usize::from(units) * 8 + 8,
    };
    let mut header = random.bytes(bytes);
    header[1] = match random.once_in(20) {
        true => random.byte(),
        false => units,
    };
    if random.once_in(2) {
        header[2..4].copy_from_slice(&[0, 0]);
    }
    header
}

fn transport(random: &mut Random, it: Transport, payload: Vec<u8>) -> Vec<u8> {
    let ports = || [it.src.to_be_bytes(), it.dst.to_be_bytes()].concat();
    let mut header = match it.protocol {
        6 => [ports(), vec![0; 8], vec![0x50, 2, 1, 0]].concat(),
        17 => [ports(), vec![0, 8]].concat(),
        132 => [ports(), vec![0; 4]].concat(),
        1 | 58 => vec![it.src.to_be_bytes()[1], it.dst.to_be_bytes()[1]],
        _ => Vec::new(),
    };
    header.extend_from_slice(&sum(random));
    match it.protocol {
        6 | 132 => header.extend_from_slice(&[0, 0]),
        58 if matches!(it.src, 135 | 136) => header.extend(discovery(random)),
        _ => {}
    }
    header.extend(payload);
    header
}

/// Returns a neighbour discovery behind its checksum.
fn discovery(random: &mut Random) -> Vec<u8> {
    let mut message = vec![0; 4];
    message.extend_from_slice(&random.pick(&crate::pools::IPV6).octets());
    for _ in 0..random.between(0, 2) {
        let kind = random.pick(&[1, 2, 5]);
        message.extend_from_slice(&[kind, random.pick(&[1, 1, 1, 0, 2])]);
        message.extend_from_slice(&random.pick(&MACS).0);
    }
    message
}

/// Returns a checksum; a wrong one has to be kept as wrong as it was.
fn sum(random: &mut Random) -> [u8; 2] {
    match random.below(6) {
        0 => [0, 0],
        1 => [0xff, 0xff],
        _ => [random.byte(), random.byte()],
    }
}

/// Returns what a packet says about its length: mostly the truth.
fn told(random: &mut Random, length: usize) -> u16 {
    let length = u16::try_from(length).unwrap();
    match random.below(40) {
        0 => 0,
        1 => u16::from_be_bytes([random.byte(), random.byte()]),
        2 => length.saturating_sub(u16::from(random.byte()) & 31),
        3 => length + (u16::from(random.byte()) & 31),
        _ => length,
    }
}

fn spoil(random: &mut Random, frame: &mut Vec<u8>) {
    if random.percent(30) {
        let length = frame.len().max(60);
        frame.resize(length, 0);
    }
    if random.percent(4) {
        let more = random.between(1, 64);
        frame.extend(random.bytes(more));
    }
    if random.percent(12) {
        let length = random.between(SHORTEST, frame.len().max(SHORTEST));
        frame.truncate(length);
    }
    while random.percent(6) {
        let at = random.between(0, frame.len().min(100) - 1);
        frame[at] = random.byte();
    }
    if random.once_in(400) {
        let longest = frame.len().max(1970);
        let length = random.between(frame.len().min(longest), longest);
        frame.resize(length, 7);
    }
    let length = frame.len().clamp(SHORTEST, LONGEST);
    frame.resize(length, 0);
}
