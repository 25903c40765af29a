//! Requests and their replies, as one capture has them.
//!
//! An exchange has two lengths in each capture. From the beginning of the request to
//! the end of the reply: the round trip Δ1, if the capture is the caller's (ASYNC
//! Eq. (2)). From the end of the request to the beginning of the reply: the
//! processing Δ2, if it is the called side's (ASYNC Eq. (1)). For packets that were
//! not split both are the same.

use super::fragments::Span;
use super::packet::{PacketContent, PacketSummary, mix};
use super::waiting::{WaitingItem, WaitingTable};

/// The table has 2^14 shelves of eight places.
const SHELVES: u32 = 14;

/// What kind of request and reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExchangeKind {
    /// An echo request and its reply.
    Ping,
    /// A SYN and its SYN-ACK.
    Opening,
    /// A SYN-ACK and its ACK.
    Handshake,
    /// Data over TCP and its acknowledgement.
    Segment,
    /// A datagram to a lower port and the next one back.
    Datagram,
}

impl ExchangeKind {
    pub(super) const ALL: [Self; 5] = [
        Self::Ping,
        Self::Opening,
        Self::Handshake,
        Self::Segment,
        Self::Datagram,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Opening => "SYN and SYN-ACK",
            Self::Handshake => "SYN-ACK and ACK",
            Self::Segment => "TCP data and its acknowledgement",
            Self::Datagram => "UDP request and reply",
        }
    }
}

/// An exchange in one capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) kind: ExchangeKind,
    /// Who asked, by its place in the list of hosts.
    pub(super) caller: u8,
    /// The same in both captures.
    pub(super) key: u64,
    /// The packet that asked, and when it was there.
    pub(super) request: (u64, u64),
    /// From the beginning of the request to the end of the reply.
    pub(super) outer_ns: u64,
    /// From the end of the request to the beginning of the reply.
    pub(super) inner_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    kind: ExchangeKind,
    caller: u8,
    packet: u64,
    span: Span,
    /// Sent again: nobody knows which of the two was answered.
    is_repeated: bool,
}

/// The exchanges of one capture.
#[derive(Debug)]
pub(super) struct Exchanges {
    open: WaitingTable<PendingRequest>,
}

impl Default for Exchanges {
    fn default() -> Self {
        Self {
            open: WaitingTable::new(SHELVES),
        }
    }
}

impl Exchanges {
    /// Takes a packet. Returns the exchange that it ends.
    #[inline]
    pub(super) fn see(&mut self, packet: &PacketSummary, host: u8, span: Span) -> Option<Exchange> {
        let (asks, answers) = roles(packet);
        let ended = answers.and_then(|answered| self.close(answered, packet, span));
        let is_free = ended.is_none() || !matches!(packet.content, PacketContent::Datagram { .. });
        if let Some((kind, open)) = asks
            && is_free
        {
            let before = self.open.take(open, None, |_| true);
            let request = PendingRequest {
                kind,
                caller: host,
                packet: packet.key,
                span,
                is_repeated: before.is_some() && kind != ExchangeKind::Datagram,
            };
            self.open.put(WaitingItem {
                key: open,
                at: span.last,
                what: request,
            });
        }
        ended
    }

    fn close(&mut self, answered: u64, packet: &PacketSummary, span: Span) -> Option<Exchange> {
        let request = self.open.take(answered, None, |_| true)?.what;
        if request.is_repeated {
            return None;
        }
        Some(Exchange {
            kind: request.kind,
            caller: request.caller,
            key: mix(request.packet, packet.key),
            request: (request.packet, request.span.last),
            outer_ns: span.last.checked_sub(request.span.first)?,
            inner_ns: span.first.checked_sub(request.span.last)?,
        })
    }
}

/// Returns what a packet asks, and which question it answers.
#[inline]
fn roles(packet: &PacketSummary) -> (Option<(ExchangeKind, u64)>, Option<u64>) {
    match packet.content {
        PacketContent::EchoRequest { conversation } => {
            (Some((ExchangeKind::Ping, conversation)), None)
        }
        PacketContent::EchoReply { conversation } => (None, Some(conversation)),
        PacketContent::Segment {
            there,
            back,
            end,
            acknowledgement,
            has_data,
            is_syn,
        } => {
            let kind = match (is_syn, acknowledgement, has_data) {
                (true, None, _) => Some(ExchangeKind::Opening),
                (true, Some(_), _) => Some(ExchangeKind::Handshake),
                (false, _, true) => Some(ExchangeKind::Segment),
                (false, _, false) => None,
            };
            let asks = kind.map(|kind| (kind, mix(there, end.into())));
            let answers = acknowledgement.map(|number| mix(back, number.into()));
            (asks, answers)
        }
        PacketContent::Datagram {
            there,
            back,
            is_request,
        } => match is_request {
            true => (Some((ExchangeKind::Datagram, there)), Some(back)),
            false => (None, Some(back)),
        },
        PacketContent::Other => (None, None),
    }
}
