//! The frames that are sent, and the hundred entries that they meet.
//!
//! Eight masks with fourteen values each but for the last, which only asks for
//! the port: a hundred entries. Each frame meets another entry than the one
//! before; all of them say the same, so that subjects without entries do the
//! same work.

use std::net::Ipv4Addr;

use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{MatchField, PortNumber, QueueId};

/// How many entries there are.
pub const ENTRIES: usize = FLOWS + 2;
/// How many masks they have.
pub const MASKS: usize = 8;
/// How many of them frames meet: all but those that only ask for the port.
pub const FLOWS: usize = (MASKS - 1) * VALUES;
const VALUES: usize = 14;

/// The queue that goes before all others.
pub const URGENT: u8 = 7;
pub const LOADED_QUEUES: std::ops::Range<u8> = 0..URGENT;
const FIRST_LOAD_PORT: u16 = 30_000;

/// Where a frame says its queue: the last byte of the identification of IP, which no
/// entry asks for.
pub const QUEUE_AT: u16 = 14 + 5;

/// Bytes of a frame behind its headers that say which one it is.
const NUMBER_AT: usize = HEADERS_BYTES;
const HEADERS_BYTES: usize = 14 + 20 + 8;
const CHECK_SEQUENCE_BYTES: usize = 4;
const UDP: u8 = 17;

/// One entry: its priority and what it asks for.
#[derive(Clone, Debug)]
pub struct Entry {
    pub priority: u16,
    pub fields: Vec<MatchField>,
    /// In which queue they go there, if that is said.
    pub queue: Option<QueueId>,
    pub output: PortNumber,
}

pub fn entries() -> Vec<Entry> {
    let flows = (0..FLOWS).map(|flow| Entry {
        priority: 200,
        fields: Headers::of(flow).asked(flow),
        queue: None,
        output: PortNumber(2),
    });
    let both_ways = [(1, 2), (2, 1)].map(|(from, to)| Entry {
        priority: 100,
        fields: vec![MatchField::InPort(PortNumber(from))],
        queue: None,
        output: PortNumber(to),
    });
    flows.chain(both_ways).collect()
}

/// Returns the hundred entries, which lead to the most urgent queue, and one for
/// the load of each other queue.
pub fn entries_with_queues() -> Vec<Entry> {
    let urgent = Some(QueueId(URGENT.into()));
    let flows = entries().into_iter().map(|entry| Entry {
        queue: urgent,
        ..entry
    });
    let loads = LOADED_QUEUES.map(|queue| Entry {
        priority: 300,
        fields: vec![
            MatchField::EthType(EtherType::IPV4),
            MatchField::IpProto(UDP),
            MatchField::UdpDst(load_port(queue)),
        ],
        queue: Some(QueueId(queue.into())),
        output: PortNumber(2),
    });
    loads.chain(flows).collect()
}

/// Returns a frame of the load of a queue, that is none of those which are
/// measured.
pub fn load(queue: u8, size: usize) -> Vec<u8> {
    let headers = Headers {
        udp_destination: load_port(queue),
        queue,
        ..Headers::COMMON
    };
    let mut frame = headers.frame(size);
    sign(&mut frame, u32::MAX, 0);
    frame
}

fn load_port(queue: u8) -> u16 {
    FIRST_LOAD_PORT + u16::from(queue)
}

/// Returns the frame of a flow, as long as on the wire `size` bytes are with check
/// sequence.
pub fn frame(flow: usize, size: usize) -> Vec<u8> {
    Headers::of(flow).frame(size)
}

/// Returns a frame to an address of IPv4, of the shortest size.
pub fn frame_to(address: Ipv4Addr) -> Vec<u8> {
    let headers = Headers {
        ip_destination: address,
        ..Headers::COMMON
    };
    headers.frame(64)
}

/// Writes what tells frames apart into a frame: a number and the latest rule that
/// the sender knew to be in effect.
pub fn sign(frame: &mut [u8], number: u32, confirmed: u32) {
    frame[NUMBER_AT..NUMBER_AT + 4].copy_from_slice(&number.to_be_bytes());
    frame[NUMBER_AT + 4..NUMBER_AT + 8].copy_from_slice(&confirmed.to_be_bytes());
}

/// Reads the number of a frame of ours.
pub fn number(frame: &[u8]) -> Option<u32> {
    is_ours(frame).then(|| word(frame, NUMBER_AT))?
}

/// Reads which rule the sender knew to be in effect, out of a frame of ours.
pub fn confirmed(frame: &[u8]) -> Option<u32> {
    is_ours(frame).then(|| word(frame, NUMBER_AT + 4))?
}

fn is_ours(frame: &[u8]) -> bool {
    let udp = frame.get(12..14) == Some(&EtherType::IPV4.0.to_be_bytes());
    udp && frame.get(23) == Some(&UDP)
}

fn word(frame: &[u8], at: usize) -> Option<u32> {
    let bytes = frame.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(bytes))
}

/// The fields of a frame that entries ask for.
#[derive(Clone, Copy, Debug)]
struct Headers {
    destination: MacAddress,
    source: MacAddress,
    dscp: u8,
    ip_source: Ipv4Addr,
    ip_destination: Ipv4Addr,
    udp_source: u16,
    udp_destination: u16,
    /// For those who have no rules: the queue, at [`QUEUE_AT`].
    queue: u8,
}

impl Headers {
    /// What frames have that no entry asks for.
    const COMMON: Self = Self {
        // Nobody's, so that the receiving host has done with a frame at once.
        destination: MacAddress([2, 0, 0, 0, 0, 0xaa]),
        source: MacAddress([2, 0, 0, 0, 0, 0xf0]),
        dscp: 0,
        ip_source: Ipv4Addr::new(192, 0, 2, 1),
        ip_destination: Ipv4Addr::new(198, 51, 100, 1),
        udp_source: 9000,
        udp_destination: 9001,
        queue: URGENT,
    };

    /// Returns a frame's fields such that just the entry of this flow wants it.
    fn of(flow: usize) -> Self {
        let (mask, value) = (flow / VALUES, flow % VALUES);
        let value = u8::try_from(value + 1).expect("few values");
        let mut headers = Self::COMMON;
        match mask {
            0 => headers.destination = MacAddress([2, 1, 0, 0, 0, value]),
            1 => headers.source = MacAddress([2, 2, 0, 0, 0, value]),
            2 => headers.ip_destination = Ipv4Addr::new(10, 0, 0, value),
            3 => headers.ip_source = Ipv4Addr::new(10, 1, value, 9),
            4 => headers.udp_destination = 10_000 + u16::from(value),
            5 => headers.udp_source = 20_000 + u16::from(value),
            6 => headers.dscp = value,
            _ => unreachable!("{flow} of {FLOWS}"),
        }
        headers
    }

    /// Returns what the entry of this flow asks for.
    fn asked(&self, flow: usize) -> Vec<MatchField> {
        let port = MatchField::InPort(PortNumber(1));
        let ip = MatchField::EthType(EtherType::IPV4);
        let udp = MatchField::IpProto(UDP);
        match flow / VALUES {
            0 => vec![port, MatchField::EthDst(Masked::exact(self.destination))],
            1 => vec![port, MatchField::EthSrc(Masked::exact(self.source))],
            2 => vec![ip, MatchField::Ipv4Dst(Masked::exact(self.ip_destination))],
            3 => {
                let mask = Ipv4Addr::new(255, 255, 255, 0);
                let [a, b, c, _] = self.ip_source.octets();
                let network = Masked::under(Ipv4Addr::new(a, b, c, 0), mask);
                vec![ip, MatchField::Ipv4Src(network)]
            }
            4 => vec![ip, udp, MatchField::UdpDst(self.udp_destination)],
            5 => vec![port, ip, udp, MatchField::UdpSrc(self.udp_source)],
            6 => vec![port, ip, MatchField::IpDscp(self.dscp)],
            _ => unreachable!("{flow} of {FLOWS}"),
        }
    }

    fn frame(&self, size: usize) -> Vec<u8> {
        let length = size - CHECK_SEQUENCE_BYTES;
        let mut frame = Vec::with_capacity(length);
        frame.extend_from_slice(&self.destination.0);
        frame.extend_from_slice(&self.source.0);
        frame.extend_from_slice(&EtherType::IPV4.0.to_be_bytes());
        let ip_length = u16::try_from(length - 14).expect("a frame is short");
        let mut ip = [0; 20];
        ip[0] = 0x45;
        ip[1] = self.dscp << 2;
        ip[2..4].copy_from_slice(&ip_length.to_be_bytes());
        ip[usize::from(QUEUE_AT) - 14] = self.queue;
        ip[8] = 64;
        ip[9] = UDP;
        ip[12..16].copy_from_slice(&self.ip_source.octets());
        ip[16..20].copy_from_slice(&self.ip_destination.octets());
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend_from_slice(&ip);
        let udp_length = ip_length - 20;
        for word in [self.udp_source, self.udp_destination, udp_length, 0] {
            frame.extend_from_slice(&word.to_be_bytes());
        }
        frame.resize(length, 0);
        frame
    }
}

/// RFC 1071.
fn checksum(header: &[u8; 20]) -> u16 {
    let words = header.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
    let sum: u32 = words.map(|pair| u32::from(u16::from_be_bytes(pair))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !u16::try_from(folded).expect("folded to sixteen bits")
}
