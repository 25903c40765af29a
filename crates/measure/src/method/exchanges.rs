//! Requests and replies as they were seen at both ends.
//!
//! An exchange has four events: the request leaves the caller and reaches the called
//! side, the reply leaves the called side and reaches the caller (S3-1). Each event
//! of a packet that was split has two stamps, those of its first and of its last
//! fragment; fragments are known by the number of their packet and may arrive in any
//! order. Captures of the two ends may be read one after the other.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use units::{Duration, Instant};
use wire::{icmp, tcp};

use super::requests::{ECHO_PORT, MOST_ROUNDS, OPEN_PORT};
use super::{Content, FrameSummary, Path};
use crate::trial::{PortIndex, Sighting, Watcher, Way};

/// At most so many packets are followed at each end.
const MOST_PACKETS: usize = 16 * 60_000;

/// How a request and its reply are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Technique {
    /// An echo request and its reply.
    Ping,
    /// A datagram and what is sent back.
    Datagram,
    /// A SYN-ACK and its ACK: here the called side of the connection is the caller.
    Handshake,
}

/// When the fragments of a packet were seen at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: Instant,
    pub last: Instant,
}

/// The four events of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// The request leaves the caller: `SReqT`.
    pub request_sent: Option<Span>,
    /// The request reaches the called side: `RReqT`.
    pub request_received: Option<Span>,
    /// The reply leaves the called side: `SRepT`.
    pub reply_sent: Option<Span>,
    /// The reply reaches the caller: `RRepT`.
    pub reply_received: Option<Span>,
}

/// A length of time that stamps cannot give: an event before its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backwards;

impl Exchange {
    /// Returns the round trip as the caller sees it, Δ1 = `RRepT` − `SReqT` (ASYNC
    /// Eq. (2)): from the first fragment of the request to the last of the reply.
    #[must_use]
    pub fn round_trip(&self) -> Option<Result<Duration, Backwards>> {
        let (sent, received) = (self.request_sent?.first, self.reply_received?.last);
        Some(received.checked_since(sent).ok_or(Backwards))
    }

    /// Returns the time at the called side, Δ2 = `SRepT` − `RReqT` (ASYNC Eq. (1)):
    /// from the last fragment of the request to the first of the reply, so that the
    /// travel of neither counts as processing.
    #[must_use]
    pub fn processing(&self) -> Option<Result<Duration, Backwards>> {
        let (received, sent) = (self.request_received?.last, self.reply_sent?.first);
        Some(sent.checked_since(received).ok_or(Backwards))
    }

    /// Returns the latency of the way there and back, Δ3 = Δ1 − Δ2 (ASYNC Eq. (3)).
    #[must_use]
    pub fn two_way(&self) -> Option<Result<Duration, Backwards>> {
        let difference = match (self.round_trip()?, self.processing()?) {
            (Ok(round_trip), Ok(processing)) if processing <= round_trip => {
                Ok(round_trip - processing)
            }
            (Ok(_), Ok(_)) | (Err(Backwards), _) | (_, Err(Backwards)) => Err(Backwards),
        };
        Some(difference)
    }

    /// Returns the latency of the request alone, if both ends have one clock.
    #[must_use]
    pub fn there(&self) -> Option<Result<Duration, Backwards>> {
        let (sent, received) = (self.request_sent?.first, self.request_received?.last);
        Some(received.checked_since(sent).ok_or(Backwards))
    }

    /// Returns the latency of the reply alone, if both ends have one clock.
    #[must_use]
    pub fn back(&self) -> Option<Result<Duration, Backwards>> {
        let (sent, received) = (self.reply_sent?.first, self.reply_received?.last);
        Some(received.checked_since(sent).ok_or(Backwards))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ObservationPoint {
    port: PortIndex,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PacketKey {
    place: ObservationPoint,
    source: Ipv4Addr,
    protocol: u8,
    packet: u16,
}

/// A packet that was split, as far as it was seen at a place.
#[derive(Clone, Copy, Debug)]
struct SplitPacket {
    span: Span,
    arrived: usize,
    whole: Option<usize>,
    round: Option<(Technique, ExchangeSide, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ExchangeSide {
    Request,
    Reply,
}

#[derive(Debug)]
pub struct Exchanges {
    path: Path,
    exchanges: BTreeMap<(Technique, u32), Exchange>,
    parts: BTreeMap<PacketKey, SplitPacket>,
    unfollowed: u64,
    /// The last request that left, by its technique.
    latest: BTreeMap<Technique, u32>,
}

impl Exchanges {
    /// Returns a watcher of what is asked along `path`.
    #[must_use]
    pub fn new(path: Path) -> Self {
        Self {
            path,
            exchanges: BTreeMap::new(),
            parts: BTreeMap::new(),
            unfollowed: 0,
            latest: BTreeMap::new(),
        }
    }

    /// Returns the exchanges of a technique by their number.
    pub fn of(&self, technique: Technique) -> impl Iterator<Item = (u32, &Exchange)> + '_ {
        self.exchanges
            .iter()
            .filter(move |((kind, _), _)| *kind == technique)
            .map(|((_, round), exchange)| (*round, exchange))
    }

    /// Returns how many packets had fragments missing at some place, and how many
    /// were too many to follow.
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        let partial = self.parts.values();
        let partial = partial
            .filter(|parts| parts.whole != Some(parts.arrived))
            .count();
        u64::try_from(partial).unwrap_or(u64::MAX) + self.unfollowed
    }

    fn enter(
        &mut self,
        place: ObservationPoint,
        (technique, side, round): (Technique, ExchangeSide, u32),
        span: Span,
    ) {
        let caller = match technique {
            Technique::Ping | Technique::Datagram => self.path.from,
            Technique::Handshake => self.path.to,
        };
        if u64::from(round) >= MOST_ROUNDS {
            return;
        }
        let exchange = self.exchanges.entry((technique, round)).or_default();
        let event = match (side, place.way, place.port == caller) {
            (ExchangeSide::Request, Way::Sent, true) => &mut exchange.request_sent,
            (ExchangeSide::Request, Way::Received, false) => &mut exchange.request_received,
            (ExchangeSide::Reply, Way::Sent, false) => &mut exchange.reply_sent,
            (ExchangeSide::Reply, Way::Received, true) => &mut exchange.reply_received,
            // A copy that strayed to where it was not sent.
            (ExchangeSide::Request | ExchangeSide::Reply, Way::Sent | Way::Received, _) => return,
        };
        // A second copy changes nothing.
        event.get_or_insert(span);
        if (side, place.way) == (ExchangeSide::Request, Way::Sent) {
            let latest = self.latest.entry(technique).or_default();
            *latest = (*latest).max(round);
        }
    }

    fn see_part(&mut self, place: ObservationPoint, glimpse: &FrameSummary, at: Instant) {
        let key = PacketKey {
            place,
            source: glimpse.source,
            protocol: glimpse.protocol,
            packet: glimpse.part.packet,
        };
        if self.parts.len() >= MOST_PACKETS && !self.parts.contains_key(&key) {
            self.unfollowed += 1;
            return;
        }
        let parts = self.parts.entry(key).or_insert(SplitPacket {
            span: Span {
                first: at,
                last: at,
            },
            arrived: 0,
            whole: None,
            round: None,
        });
        parts.span.first = parts.span.first.min(at);
        parts.span.last = parts.span.last.max(at);
        parts.arrived += glimpse.part.length;
        if glimpse.part.is_last {
            parts.whole = Some(glimpse.part.begin + glimpse.part.length);
        }
        if glimpse.part.begin == 0 {
            parts.round = round_of(&glimpse.content);
        }
        let parts = *parts;
        if parts.whole == Some(parts.arrived)
            && let Some(round) = parts.round
        {
            self.enter(place, round, parts.span);
        }
    }
}

impl Watcher for Exchanges {
    fn see(&mut self, sighting: &Sighting<'_>) {
        let place = ObservationPoint {
            port: sighting.port,
            way: sighting.way,
        };
        if place.port != self.path.from && place.port != self.path.to {
            return;
        }
        let Some(glimpse) = FrameSummary::of(sighting.bytes) else {
            return;
        };
        let addresses = &self.path.addresses;
        if !glimpse.goes(addresses) && !glimpse.goes(&addresses.reversed()) {
            return;
        }
        if glimpse.part.begin > 0 || !glimpse.part.is_last {
            self.see_part(place, &glimpse, sighting.at);
        } else if let Some(round) = round_of(&glimpse.content) {
            let span = Span {
                first: sighting.at,
                last: sighting.at,
            };
            self.enter(place, round, span);
        }
    }

    /// The last one only: where one in the middle was lost, the trial does not wait for it.
    fn awaits(&self) -> bool {
        self.latest.iter().any(|(technique, round)| {
            let exchange = self.exchanges.get(&(*technique, *round));
            exchange.is_some_and(|it| it.reply_received.is_none())
        })
    }
}

/// Returns which exchange a packet belongs to, from its beginning.
fn round_of(content: &Content) -> Option<(Technique, ExchangeSide, u32)> {
    match *content {
        Content::Echo(echo) => {
            let side = match echo.kind {
                icmp::Kind::Request => ExchangeSide::Request,
                icmp::Kind::Reply => ExchangeSide::Reply,
            };
            Some((Technique::Ping, side, u32::from(echo.sequence)))
        }
        Content::Datagram {
            source_port,
            destination_port,
            shim: Some(shim),
        } => {
            let side = match (source_port, destination_port) {
                (_, ECHO_PORT) => ExchangeSide::Request,
                (ECHO_PORT, _) => ExchangeSide::Reply,
                _ => return None,
            };
            Some((Technique::Datagram, side, shim.sequence))
        }
        Content::Segment(segment) => handshake(&segment),
        Content::Datagram { shim: None, .. } | Content::Continuation | Content::Other => None,
    }
}

/// The SYN-ACK acknowledges the SYN, whose number is that of the round; the ACK
/// continues from there.
fn handshake(segment: &tcp::Header) -> Option<(Technique, ExchangeSide, u32)> {
    if segment.source_port == OPEN_PORT && segment.flags.has(tcp::Flags::SYN_ACK) {
        let round = segment.acknowledgement.wrapping_sub(1);
        return Some((Technique::Handshake, ExchangeSide::Request, round));
    }
    if segment.destination_port == OPEN_PORT && segment.flags == tcp::Flags::ACK {
        let round = segment.sequence.wrapping_sub(1);
        return Some((Technique::Handshake, ExchangeSide::Reply, round));
    }
    None
}
