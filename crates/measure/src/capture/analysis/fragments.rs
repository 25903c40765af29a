//! Packets that were split: one stamp for the first fragment and one for the last.
//!
//! What counts is when a packet was there as a whole, in whatever order its
//! fragments came.

use super::packet::{PacketPart, PacketSummary};
use super::waiting::{WaitingItem, WaitingTable};

/// The table has 2^12 shelves of eight places.
const SHELVES: u32 = 12;

/// When a packet was seen, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
}

#[derive(Clone, Copy, Debug)]
struct Reassembly {
    span: Span,
    arrived: usize,
    whole: Option<usize>,
    head: Option<PacketSummary>,
}

/// The split packets of one capture.
#[derive(Debug)]
pub(super) struct Fragments {
    parts: WaitingTable<Reassembly>,
    seen: u64,
    left_out: u64,
}

impl Default for Fragments {
    fn default() -> Self {
        Self {
            parts: WaitingTable::new(SHELVES),
            seen: 0,
            left_out: 0,
        }
    }
}

impl Fragments {
    /// Takes what a frame holds. Returns the packet once it is whole, and when.
    #[inline]
    pub(super) fn see(&mut self, packet: PacketSummary, at: u64) -> Option<(PacketSummary, Span)> {
        match packet.part {
            PacketPart::Whole => Some((
                packet,
                Span {
                    first: at,
                    last: at,
                },
            )),
            PacketPart::Fragment { .. } => self.put_together(packet, at),
        }
    }

    /// Returns how many fragments were seen.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns how many packets lacked a fragment.
    pub(super) fn incomplete(&self) -> u64 {
        self.left_out + u64::try_from(self.parts.iter().count()).unwrap_or(u64::MAX)
    }

    fn put_together(&mut self, packet: PacketSummary, at: u64) -> Option<(PacketSummary, Span)> {
        let PacketPart::Fragment {
            packet: key,
            begin,
            length,
            is_last,
        } = packet.part
        else {
            return None;
        };
        self.seen += 1;
        let before = self.parts.take(key, None, |_| true);
        let mut parts = before.map_or(
            Reassembly {
                span: Span {
                    first: at,
                    last: at,
                },
                arrived: 0,
                whole: None,
                head: None,
            },
            |entry| entry.what,
        );
        parts.span.first = parts.span.first.min(at);
        parts.span.last = parts.span.last.max(at);
        parts.arrived = parts.arrived.saturating_add(length);
        if is_last {
            parts.whole = Some(begin + length);
        }
        if begin == 0 {
            parts.head = Some(packet);
        }
        if let Some(head) = parts.head
            && parts.whole == Some(parts.arrived)
        {
            return Some((head, parts.span));
        }
        let entry = WaitingItem {
            key,
            at,
            what: parts,
        };
        self.left_out += u64::from(self.parts.put(entry).is_some());
        None
    }
}
