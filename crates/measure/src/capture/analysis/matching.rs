//! Finds the same packet in two captures whose clocks are unrelated.
//!
//! A packet that was seen in one capture waits until the other one has it. Some
//! packets repeat themselves, as samples do every second; the one is meant that
//! fits the difference of the clocks best, which is that of the packet before. A
//! clock that is set anew is believed once several packets in a row say so, and then
//! of them, too.
//!
//! A table that is full forgets. Where one capture was read further than the other, it may
//! have forgotten packets that the other one is still to have: neither those nor their
//! partners are judged.
//!
//! A packet without a partner that has the twin of one which was just found is a copy:
//! it came twice, or was recorded twice, and nothing was lost.

use super::Side;
use super::waiting::{WaitingItem, WaitingTable};

/// Each table has 2^17 shelves of eight places.
const SHELVES: u32 = 17;
/// A latency changes by less than this from one packet to the next; less than a
/// second, after which samples repeat their numbers.
const REACH_NS: u64 = 800_000_000;
/// The table of packets that were found lately has 2^12 shelves of eight places.
const LATELY: u32 = 12;
/// Two copies of a packet are no further apart.
const COPY_NS: u64 = 10_000_000;
/// So many packets in a row tell of a new difference of the clocks, before it is
/// believed.
const BELIEVED: u32 = 8;

/// What is remembered of a packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PendingPacket {
    /// Who sent it, by its place in the list of hosts.
    pub(super) host: u8,
    /// Whether it is a segment of TCP, which cards cut and put together.
    pub(super) is_segment: bool,
    /// Whether it was answered, so that it did arrive.
    pub(super) is_answered: bool,
    /// Whether its capture has it a second time, and the other one has that.
    pub(super) is_copy: bool,
    /// Whether the other capture may have had it, and has forgotten it.
    pub(super) is_doubtful: bool,
}

/// The same packet in both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// When the first capture saw it, by its clock.
    pub(super) first_ns: u64,
    /// By how much the stamp of the second capture is later.
    pub(super) later_ns: i64,
}

#[derive(Debug)]
pub(super) struct Matcher {
    waiting: [WaitingTable<PendingPacket>; 2],
    /// Those that were found lately, as each side saw them.
    found: [WaitingTable<()>; 2],
    /// The stamp that was seen last at each side.
    last: [u64; 2],
    /// The latest packet of each side that had to leave before the other side had been
    /// read so far.
    forgotten: [Option<u64>; 2],
    /// By how much the stamps of the second capture are later.
    offset: Option<i64>,
    /// How many packets in a row told of another offset, and of which.
    other: (u32, i64),
    /// Those packets, and at which side each was seen last.
    doubted: Vec<(Side, WaitingItem<PendingPacket>)>,
    has_turned: bool,
}

impl Default for Matcher {
    fn default() -> Self {
        Self::with_shelves(SHELVES)
    }
}

impl Matcher {
    /// Returns one in whose tables 2^`power` shelves of packets may wait.
    pub(super) fn with_shelves(power: u32) -> Self {
        Self {
            waiting: [WaitingTable::new(power), WaitingTable::new(power)],
            found: [WaitingTable::new(LATELY), WaitingTable::new(LATELY)],
            last: [0; 2],
            forgotten: [None; 2],
            offset: None,
            other: (0, 0),
            doubted: Vec::new(),
            has_turned: false,
        }
    }

    /// Takes a packet that was seen at a side. Returns the pair, or who left the
    /// table in favour of this one.
    #[inline]
    pub(super) fn see(
        &mut self,
        side: Side,
        packet: WaitingItem<PendingPacket>,
    ) -> Result<Pair, Option<WaitingItem<PendingPacket>>> {
        let at = packet.at;
        self.last[side.place()] = at;
        let expected = self.expected(side, at);
        let Self { offset, other, .. } = self;
        let mut belief = None;
        let partner = self.waiting[side.other().place()].take(packet.key, expected, |partner| {
            let told = believe(offset, other, pair(side, at, partner.at).later_ns);
            belief = Some(told);
            told != Belief::Doubted
        });
        match belief {
            None => {}
            Some(Belief::Near) => self.doubted.clear(),
            Some(Belief::Doubted) => {
                if self.other.0 == 1 {
                    self.doubted.clear();
                }
                self.doubted.push((side, packet));
            }
            Some(Belief::Turned) => {
                self.has_turned = true;
                // These are stamps of clocks that have been set since.
                self.forgotten = [None; 2];
            }
        }
        match partner {
            Some(partner) => {
                self.note_found(packet.key, [(side, at), (side.other(), partner.at)]);
                Ok(pair(side, at, partner.at))
            }
            None => Err(self.put(side, packet)),
        }
    }

    /// Has a packet wait. Returns who had to leave for it, unless the other side has not
    /// been read so far.
    fn put(
        &mut self,
        side: Side,
        mut packet: WaitingItem<PendingPacket>,
    ) -> Option<WaitingItem<PendingPacket>> {
        let found = self.found[side.place()].near(packet.key, packet.at);
        packet.what.is_copy = found.is_some_and(|it| it.at.abs_diff(packet.at) <= COPY_NS);
        let expected = self.expected(side, packet.at);
        packet.what.is_doubtful = self.forgotten[side.other().place()]
            .is_some_and(|forgotten| expected.is_none_or(|expected| expected <= forgotten));
        let evicted = self.waiting[side.place()].put(packet)?;
        let there = self.last[side.other().place()];
        match self.expected(side, evicted.at) {
            Some(expected) if expected <= there => Some(evicted),
            Some(_) | None => {
                let forgotten = &mut self.forgotten[side.place()];
                *forgotten = (*forgotten).max(Some(evicted.at));
                None
            }
        }
    }

    /// Returns when the other capture has what this one has at a time, if the difference
    /// of their clocks is known.
    fn expected(&self, side: Side, at: u64) -> Option<u64> {
        let offset = self.offset?.cast_unsigned();
        Some(match side {
            Side::First => at.wrapping_add(offset),
            Side::Second => at.wrapping_sub(offset),
        })
    }

    /// Remembers when a packet that was found passed each side: a twin that waits there
    /// is a copy of it.
    fn note_found(&mut self, key: u64, passed: [(Side, u64); 2]) {
        for (side, at) in passed {
            self.found[side.place()].put(WaitingItem { key, at, what: () });
            let twin = self.waiting[side.place()].near(key, at);
            if let Some(twin) = twin.filter(|it| it.at.abs_diff(at) <= COPY_NS) {
                twin.what.is_copy = true;
            }
        }
    }

    /// Tells whether the last pair made a new difference of the clocks believed.
    pub(super) fn has_turned(&self) -> bool {
        self.has_turned
    }

    /// Returns the pairs that were doubted before, each with its sender.
    pub(super) fn recover(&mut self) -> Vec<(u8, Pair)> {
        self.has_turned = false;
        let doubted = std::mem::take(&mut self.doubted);
        let pairs = doubted.into_iter().filter_map(|(side, packet)| {
            let own = &mut self.waiting[side.place()];
            own.take(packet.key, Some(packet.at), |it| it.at == packet.at)?;
            let expected = self.expected(side, packet.at)?;
            let other = &mut self.waiting[side.other().place()];
            let is_near = |it: &WaitingItem<PendingPacket>| it.at.abs_diff(expected) < REACH_NS;
            match other.take(packet.key, Some(expected), is_near) {
                Some(partner) => Some((packet.what.host, pair(side, packet.at, partner.at))),
                None => {
                    self.waiting[side.place()].put(packet);
                    None
                }
            }
        });
        pairs.collect()
    }

    /// Takes that a packet which was seen at a side was answered.
    #[inline]
    pub(super) fn answered(&mut self, side: Side, key: u64, at: u64) {
        let waiting = &mut self.waiting[side.place()];
        if let Some(mut entry) = waiting.take(key, Some(at), |_| true) {
            entry.what.is_answered = true;
            waiting.put(entry);
        }
    }

    /// Returns by how much the stamps of the second capture are later.
    pub(super) fn offset(&self) -> Option<i64> {
        self.offset
    }

    /// Returns the packets of a side that were not found at the other.
    pub(super) fn left(&self, side: Side) -> impl Iterator<Item = &WaitingItem<PendingPacket>> {
        self.waiting[side.place()].iter()
    }
}

fn pair(side: Side, at: u64, partner: u64) -> Pair {
    let (first_ns, second_ns) = match side {
        Side::First => (at, partner),
        Side::Second => (partner, at),
    };
    Pair {
        first_ns,
        later_ns: second_ns.wrapping_sub(first_ns).cast_signed(),
    }
}

/// What to think of a difference of two stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belief {
    /// It is about the one before.
    Near,
    /// It is another, which has not been seen often enough.
    Doubted,
    /// It is another, and has been seen often enough.
    Turned,
}

/// Tells whether a difference of two stamps is one of the same packet, and follows
/// it.
fn believe(offset: &mut Option<i64>, other: &mut (u32, i64), later_ns: i64) -> Belief {
    let is_near = |it: i64| it.abs_diff(later_ns) < REACH_NS;
    if offset.is_none_or(is_near) {
        *offset = Some(later_ns);
        other.0 = 0;
        return Belief::Near;
    }
    let (times, candidate) = *other;
    *other = match times > 0 && is_near(candidate) {
        true => (times + 1, later_ns),
        false => (1, later_ns),
    };
    if other.0 < BELIEVED {
        return Belief::Doubted;
    }
    *offset = Some(later_ns);
    other.0 = 0;
    Belief::Turned
}
