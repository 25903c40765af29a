//! Requests at exact times, and who answers them.
//!
//! Three kinds: echoes (ping), datagrams that are sent back (RFC 862), and the
//! handshake of TCP, of which SYN-ACK and ACK are the request and the reply as the
//! called side sees them (S3-2). A request that is longer than a frame leaves as
//! fragments of one packet, all at once.
//!
//! Every round has a number: the sequence number of the echo, of the message header,
//! or of the SYN; it is the number of the packet too, so that fragments are known.

use std::collections::{BTreeMap, VecDeque};

use units::Duration;
use wire::ethernet::{EtherType, Header, SHORTEST_FRAME};
use wire::icmp::{self, Echo};
use wire::ipv4::{self, FRAGMENT_UNIT, Part};
use wire::message_shim::{self, MessageShim};
use wire::{tcp, udp};

use super::{Content, FrameSummary, SendingPace};
use crate::traffic::Addresses;
use crate::traffic::datagram::MTU;
use crate::trial::{self, Outgoing, Sender};

/// The most rounds of a trial: every one has a packet number of its own.
pub const MOST_ROUNDS: u64 = 60_000;
/// The largest payload of an echo in one IPv4 packet.
pub const LARGEST_PAYLOAD: usize = 65_535 - ipv4::HEADER_LENGTH - icmp::HEADER_LENGTH;
/// The port of UDP that sends back what it gets (RFC 862).
pub const ECHO_PORT: u16 = 7;
/// The port of TCP to which connections are opened.
pub const OPEN_PORT: u16 = 102;

const HOPS: u8 = 64;
const DSCP_SHIFT: u8 = 2;
const WINDOW: u16 = 8_192;
/// Answers that wait for their turn; more are not given.
const MOST_ANSWERS: usize = 4_096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    Echo,
    /// A datagram that is to be sent back.
    Datagram,
    /// The opening of a connection.
    Open,
}

/// Sends requests, and the ACK that a SYN-ACK asks for.
#[derive(Debug)]
pub struct Requests {
    packets: Packets,
    kind: RequestKind,
    payload: usize,
    pace: SendingPace,
    start: Duration,
    rounds: u64,
    next: u64,
    /// How long the first request has alone.
    rest: Duration,
    /// The numbers of the SYNs whose SYN-ACK arrived, and when to send the ACK.
    to_acknowledge: VecDeque<(Duration, u32, u32)>,
}

impl Requests {
    /// Returns a sender of `rounds` requests with `payload` bytes, from `start` on.
    ///
    /// # Panics
    ///
    /// If there are more than [`MOST_ROUNDS`] rounds, or the payload is larger than
    /// [`LARGEST_PAYLOAD`].
    #[must_use]
    pub fn new(
        (kind, payload): (RequestKind, usize),
        addresses: &Addresses,
        (start, pace): (Duration, SendingPace),
        rounds: u64,
    ) -> Self {
        assert!(rounds <= MOST_ROUNDS, "packets have 16-bit numbers");
        assert!(payload <= LARGEST_PAYLOAD, "a request is one packet");
        let addresses = match kind {
            RequestKind::Echo => *addresses,
            RequestKind::Datagram => Addresses {
                destination_port: ECHO_PORT,
                ..*addresses
            },
            RequestKind::Open => Addresses {
                destination_port: OPEN_PORT,
                ..*addresses
            },
        };
        Self {
            packets: Packets::new(addresses),
            kind,
            payload,
            pace,
            start,
            rounds,
            next: 0,
            rest: Duration::ZERO,
            to_acknowledge: VecDeque::new(),
        }
    }

    /// Leaves the first request alone for so long before the second.
    #[must_use]
    pub fn resting(self, rest: Duration) -> Self {
        Self { rest, ..self }
    }

    fn due(&self) -> Option<Duration> {
        let rest = match self.next {
            0 => Duration::ZERO,
            _ => self.rest,
        };
        (self.next < self.rounds).then(|| self.start + rest + self.pace.point(self.next))
    }

    fn prepare_request(&mut self) {
        let round = u16::try_from(self.next).expect("at most MOST_ROUNDS");
        let message = match self.kind {
            RequestKind::Echo => ExchangedMessage::Echo {
                kind: icmp::Kind::Request,
                // The tester writes the number of the trial there.
                identifier: 0,
                sequence: round,
                payload: self.payload,
            },
            RequestKind::Datagram => ExchangedMessage::Datagram {
                round: u32::from(round),
                payload: self.payload,
            },
            RequestKind::Open => ExchangedMessage::Segment {
                sequence: u32::from(round),
                acknowledgement: 0,
                flags: tcp::Flags::SYN,
            },
        };
        self.packets.prepare(round, message);
    }
}

impl Sender for Requests {
    fn next_due(&self) -> Option<Duration> {
        let answer = self.to_acknowledge.front().map(|(due, ..)| *due);
        [self.packets.under_way, answer, self.due()]
            .into_iter()
            .flatten()
            .min()
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        if self.packets.under_way.is_none() {
            let answer = self.to_acknowledge.front().copied();
            match (answer, self.due()) {
                (Some((due, sequence, acknowledgement)), _) if due <= after => {
                    self.to_acknowledge.pop_front();
                    let message = ExchangedMessage::Segment {
                        sequence,
                        acknowledgement,
                        flags: tcp::Flags::ACK,
                    };
                    self.packets.prepare(0, message);
                    self.packets.under_way = Some(due);
                }
                (_, Some(due)) if due <= after => {
                    self.prepare_request();
                    self.packets.under_way = Some(due);
                    self.next += 1;
                }
                _ => return None,
            }
        }
        self.packets.emit(frame)
    }

    fn listens(&self) -> bool {
        // A handshake ends with an answer.
        self.kind == RequestKind::Open
    }

    fn received(&mut self, after: Duration, frame: &[u8]) {
        let Some(glimpse) = FrameSummary::of(frame) else {
            return;
        };
        let Content::Segment(segment) = glimpse.content else {
            return;
        };
        let is_ours = self.kind == RequestKind::Open
            && glimpse.goes(&self.packets.addresses.reversed())
            && segment.source_port == OPEN_PORT
            && segment.flags.has(tcp::Flags::SYN_ACK);
        if is_ours && self.to_acknowledge.len() < MOST_ANSWERS {
            self.to_acknowledge.push_back((
                after,
                segment.acknowledgement,
                segment.sequence.wrapping_add(1),
            ));
        }
    }
}

/// Answers requests after a time that is known.
#[derive(Debug)]
pub struct Responder {
    packets: Packets,
    turnaround: Duration,
    answers: VecDeque<(Duration, u16, ExchangedMessage)>,
    /// The requests of which parts are missing: what the first part says, and how
    /// many bytes have arrived of how many.
    partial: BTreeMap<(u8, u16), Partial>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Partial {
    message: Option<ExchangedMessage>,
    arrived: usize,
    whole: Option<usize>,
}

impl Responder {
    /// Returns who answers the requests that are sent with `addresses`, so long after
    /// the last part of them.
    #[must_use]
    pub fn new(addresses: &Addresses, turnaround: Duration) -> Self {
        Self {
            packets: Packets::new(addresses.reversed()),
            turnaround,
            answers: VecDeque::new(),
            partial: BTreeMap::new(),
        }
    }

    fn take(&mut self, after: Duration, glimpse: &FrameSummary) {
        let key = (glimpse.protocol, glimpse.part.packet);
        if self.partial.len() >= MOST_ANSWERS && !self.partial.contains_key(&key) {
            // What was never completed makes room.
            self.partial.pop_first();
        }
        let partial = self.partial.entry(key).or_default();
        partial.arrived += glimpse.part.length;
        if glimpse.part.is_last {
            partial.whole = Some(glimpse.part.begin + glimpse.part.length);
        }
        if glimpse.part.begin == 0 {
            partial.message = answer_to(glimpse);
        }
        if partial.whole != Some(partial.arrived) {
            return;
        }
        let (message, length) = (partial.message, partial.arrived);
        self.partial.remove(&key);
        if let Some(message) = message
            && self.answers.len() < MOST_ANSWERS
        {
            let answer = message.with_length(length);
            self.answers
                .push_back((after + self.turnaround, glimpse.part.packet, answer));
        }
    }
}

impl Sender for Responder {
    fn next_due(&self) -> Option<Duration> {
        self.packets
            .under_way
            .or_else(|| self.answers.front().map(|(due, ..)| *due))
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        if self.packets.under_way.is_none() {
            let (due, packet, message) = *self.answers.front()?;
            if due > after {
                return None;
            }
            self.answers.pop_front();
            self.packets.prepare(packet, message);
            self.packets.under_way = Some(due);
        }
        self.packets.emit(frame)
    }

    fn listens(&self) -> bool {
        true
    }

    fn received(&mut self, after: Duration, frame: &[u8]) {
        if let Some(glimpse) = FrameSummary::of(frame)
            && glimpse.goes(&self.packets.addresses.reversed())
        {
            self.take(after, &glimpse);
        }
    }
}

/// Returns the answer to what the first part of a packet asks, if it asks.
fn answer_to(glimpse: &FrameSummary) -> Option<ExchangedMessage> {
    match glimpse.content {
        Content::Echo(Echo {
            kind: icmp::Kind::Request,
            identifier,
            sequence,
        }) => Some(ExchangedMessage::Echo {
            kind: icmp::Kind::Reply,
            identifier,
            sequence,
            payload: 0,
        }),
        Content::Datagram {
            destination_port: ECHO_PORT,
            shim: Some(shim),
            ..
        } => Some(ExchangedMessage::Datagram {
            round: shim.sequence,
            payload: 0,
        }),
        Content::Segment(segment)
            if segment.destination_port == OPEN_PORT && segment.flags == tcp::Flags::SYN =>
        {
            Some(ExchangedMessage::Segment {
                sequence: segment.sequence,
                acknowledgement: segment.sequence.wrapping_add(1),
                flags: tcp::Flags::SYN_ACK,
            })
        }
        Content::Echo(_)
        | Content::Datagram { .. }
        | Content::Segment(_)
        | Content::Continuation
        | Content::Other => None,
    }
}

#[derive(Clone, Copy, Debug)]
enum ExchangedMessage {
    Echo {
        kind: icmp::Kind,
        identifier: u16,
        sequence: u16,
        payload: usize,
    },
    Datagram {
        round: u32,
        payload: usize,
    },
    Segment {
        sequence: u32,
        acknowledgement: u32,
        flags: tcp::Flags,
    },
}

impl ExchangedMessage {
    /// Returns the message with as much payload as one of `length` bytes has.
    fn with_length(self, length: usize) -> Self {
        match self {
            Self::Echo {
                kind,
                identifier,
                sequence,
                ..
            } => Self::Echo {
                kind,
                identifier,
                sequence,
                payload: length.saturating_sub(icmp::HEADER_LENGTH),
            },
            Self::Datagram { round, .. } => Self::Datagram {
                round,
                payload: length.saturating_sub(udp::HEADER_LENGTH),
            },
            Self::Segment { .. } => self,
        }
    }

    fn protocol(&self) -> u8 {
        match self {
            Self::Echo { .. } => ipv4::PROTOCOL_ICMP,
            Self::Datagram { .. } => ipv4::PROTOCOL_UDP,
            Self::Segment { .. } => ipv4::PROTOCOL_TCP,
        }
    }
}

/// Makes packets between two addresses, and takes them apart into frames.
#[derive(Debug)]
struct Packets {
    addresses: Addresses,
    zeros: Vec<u8>,
    /// What the packet under way carries, and how much of that has left.
    body: Vec<u8>,
    gone: usize,
    packet: u16,
    protocol: u8,
    /// When the packet under way was due.
    under_way: Option<Duration>,
}

impl Packets {
    fn new(addresses: Addresses) -> Self {
        Self {
            addresses,
            zeros: vec![0; LARGEST_PAYLOAD],
            body: Vec::new(),
            gone: 0,
            packet: 0,
            protocol: 0,
            under_way: None,
        }
    }

    fn ip(&self, protocol: u8) -> ipv4::Header {
        ipv4::Header {
            source: self.addresses.source,
            destination: self.addresses.destination,
            protocol,
            traffic_class: self.addresses.dscp << DSCP_SHIFT,
            time_to_live: HOPS,
        }
    }

    fn prepare(&mut self, packet: u16, message: ExchangedMessage) {
        self.body.clear();
        self.gone = 0;
        self.packet = packet;
        self.protocol = message.protocol();
        let ip = self.ip(self.protocol);
        match message {
            ExchangedMessage::Echo {
                kind,
                identifier,
                sequence,
                payload,
            } => {
                let echo = Echo {
                    kind,
                    identifier,
                    sequence,
                };
                echo.emit(&self.zeros[..payload.min(LARGEST_PAYLOAD)], &mut self.body);
            }
            ExchangedMessage::Datagram { round, payload } => self.datagram(&ip, round, payload),
            ExchangedMessage::Segment {
                sequence,
                acknowledgement,
                flags,
            } => {
                let header = tcp::Header {
                    source_port: self.addresses.source_port,
                    destination_port: self.addresses.destination_port,
                    sequence,
                    acknowledgement,
                    flags,
                    window: WINDOW,
                };
                // The answering side has the well-known port.
                let header = match flags.has(tcp::Flags::SYN_ACK) {
                    true => tcp::Header {
                        source_port: OPEN_PORT,
                        ..header
                    },
                    false => header,
                };
                header.emit(&ip, &[], &mut self.body);
            }
        }
    }

    fn datagram(&mut self, ip: &ipv4::Header, round: u32, payload: usize) {
        let least = message_shim::LENGTH + trial::number::LENGTH;
        let length = payload.clamp(least, LARGEST_PAYLOAD);
        let shim = MessageShim {
            message: round,
            size_bytes: u32::try_from(length).unwrap_or(u32::MAX),
            sequence: round,
        };
        let mut content = Vec::with_capacity(length);
        shim.emit(&mut content);
        content.resize(length, 0);
        let is_request = self.addresses.destination_port == ECHO_PORT;
        let header = udp::Header {
            source_port: match is_request {
                true => self.addresses.source_port,
                false => ECHO_PORT,
            },
            destination_port: self.addresses.destination_port,
        };
        header.emit(ip, &content, &mut self.body);
    }

    /// Puts the next frame of the packet under way into `frame`.
    fn emit(&mut self, frame: &mut Vec<u8>) -> Option<Outgoing> {
        let due = self.under_way?;
        frame.clear();
        let ethernet = Header {
            destination: self.addresses.destination_mac,
            source: self.addresses.source_mac,
            vlan: self.addresses.vlan,
            ether_type: EtherType::IPV4,
        };
        ethernet.emit(frame);
        let ip = self.ip(self.protocol);
        let room = MTU - ipv4::HEADER_LENGTH;
        let left = self.body.len() - self.gone;
        let length = match left <= room {
            true => left,
            false => room / FRAGMENT_UNIT * FRAGMENT_UNIT,
        };
        ip.emit_part(
            Part {
                packet: self.packet,
                begin: self.gone,
                length,
                is_last: left == length,
            },
            frame,
        );
        frame.extend_from_slice(&self.body[self.gone..self.gone + length]);
        frame.resize(frame.len().max(SHORTEST_FRAME), 0);
        self.gone += length;
        if self.gone == self.body.len() {
            self.under_way = None;
        }
        Some(Outgoing { due })
    }
}
