//! Who sent the frames of two captures, and at whose side each of them is.

use std::collections::BTreeMap;

use super::Side;
use super::carried::CarriedFrames;
use super::matching::{Pair, PendingPacket};
use super::packet::HostAddress;
use super::waiting::WaitingItem;
use crate::capture::Direction;

/// The most hosts that are told apart.
pub(super) const MOST_HOSTS: usize = 64;
/// The place of all others together.
pub(super) const OTHERS: u8 = u8::MAX;
/// The most packets whose latency is kept, of all hosts together.
pub(super) const MOST_PAIRS: usize = 1 << 24;
/// The most packets of which it is kept when they got lost, of all hosts together.
pub(super) const MOST_LOST: usize = 1 << 20;
/// The most overdue packets of a side of which it is kept when they were sent.
const MOST_OVERDUE: usize = 1 << 18;

/// What is known of a sender.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// Packets that each capture has of it.
    pub(super) packets: [u64; 2],
    /// Frames that a capture calls sent there, less those that it calls received.
    sent_at: [i64; 2],
    /// Exchanges that speak for its being at a side.
    speaking: [u64; 2],
    /// Packets that both captures have.
    pub(super) matched: u64,
    /// When, in the order in which they were found.
    pub(super) pairs: Vec<Pair>,
    /// Packets that only the other capture has, by the capture that lacks them:
    /// segments of TCP, and all else.
    pub(super) missing: [Missing; 2],
    /// Packets that each capture has twice and the other one once.
    pub(super) copies: [u64; 2],
    /// When those of them were sent that nobody answered, and whether they are
    /// segments, in the order in which they were given up.
    pub(super) lost: [Vec<(u64, bool)>; 2],
    /// How much each capture has of it, if that is asked.
    pub(super) carried: [CarriedFrames; 2],
}

/// Packets that one capture lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) segments: u64,
    pub(super) others: u64,
    /// Those of either kind that were answered, so that they did arrive.
    pub(super) answered: u64,
}

/// Packets that only one capture has, later than any that both have: whether they got
/// lost, or the other capture was over, shows when both have one again.
#[derive(Debug, Default)]
struct Overdue {
    latest: u64,
    /// The first of them, and when.
    packets: Vec<(u64, PendingPacket)>,
    /// How many more there are, by what is known of them.
    more: BTreeMap<PendingPacket, u64>,
}

#[derive(Debug, Default)]
pub(super) struct CaptureHosts {
    places: BTreeMap<HostAddress, u8>,
    senders: Vec<Sender>,
    last: Option<(HostAddress, u8)>,
    kept: usize,
    lost_kept: usize,
    /// Whether of more lost packets than these it is not kept when.
    pub(super) has_forgotten_losses: bool,
    /// By the capture that has them.
    overdue: [Overdue; 2],
    /// Packets that the capture which lacks them may have had.
    pub(super) doubtful: u64,
    /// Packets of hosts that are not told apart.
    pub(super) others: u64,
    /// Matched packets that were not kept.
    pub(super) left_out: u64,
}

impl CaptureHosts {
    /// Takes that a capture has a packet of a host. Returns the host's place.
    #[inline]
    pub(super) fn sent(
        &mut self,
        host: HostAddress,
        side: Side,
        direction: Option<Direction>,
    ) -> u8 {
        let place = match self.last {
            Some((last, place)) if last == host => place,
            Some(_) | None => self.place(host),
        };
        self.last = Some((host, place));
        let Some(sender) = self.senders.get_mut(usize::from(place)) else {
            self.others += 1;
            return place;
        };
        sender.packets[side.place()] += 1;
        match direction {
            Some(Direction::Out) => sender.sent_at[side.place()] += 1,
            Some(Direction::In) => sender.sent_at[side.place()] -= 1,
            None => {}
        }
        place
    }

    /// Takes a packet of a host that both captures have.
    #[inline]
    pub(super) fn matched(&mut self, host: u8, pair: Pair) {
        let Some(sender) = self.senders.get_mut(usize::from(host)) else {
            return;
        };
        sender.matched += 1;
        if self.kept == MOST_PAIRS {
            self.left_out += 1;
            return;
        }
        self.kept += 1;
        sender.pairs.push(pair);
    }

    /// Takes a frame of a host, of `length` bytes.
    pub(super) fn carried(&mut self, host: HostAddress, side: Side, at: u64, length: usize) {
        let place = match self.last {
            Some((last, place)) if last == host => place,
            Some(_) | None => self.place(host),
        };
        self.last = Some((host, place));
        if let Some(sender) = self.senders.get_mut(usize::from(place)) {
            sender.carried[side.place()].add(at, length);
        }
    }

    /// Takes a packet that a side lacks, or a copy that the other one has.
    pub(super) fn missed(&mut self, by: Side, packet: &WaitingItem<PendingPacket>) {
        self.count_missed(by, &packet.what, Some(packet.at), 1);
    }

    /// Takes a packet that a side has lacked so far, later than any that both have.
    pub(super) fn is_overdue(&mut self, by: Side, packet: &WaitingItem<PendingPacket>) {
        let overdue = &mut self.overdue[by.other().place()];
        overdue.latest = overdue.latest.max(packet.at);
        match overdue.packets.len() < MOST_OVERDUE {
            true => overdue.packets.push((packet.at, packet.what)),
            false => *overdue.more.entry(packet.what).or_default() += 1,
        }
    }

    /// Takes that a packet which a side has at a time was found in the other capture, too:
    /// what was overdue before is missing.
    #[inline]
    pub(super) fn goes_on(&mut self, side: Side, at: u64) {
        let overdue = &self.overdue[side.place()];
        if overdue.packets.is_empty() || overdue.latest > at {
            return;
        }
        let overdue = std::mem::take(&mut self.overdue[side.place()]);
        for (at, seen) in overdue.packets {
            self.count_missed(side.other(), &seen, Some(at), 1);
        }
        for (seen, count) in overdue.more {
            self.count_missed(side.other(), &seen, None, count);
        }
    }

    /// Counts packets that a side lacks, of which it is known when they were sent or not.
    fn count_missed(&mut self, by: Side, seen: &PendingPacket, at: Option<u64>, count: u64) {
        let Some(sender) = self.senders.get_mut(usize::from(seen.host)) else {
            return;
        };
        if seen.is_doubtful {
            self.doubtful += count;
            return;
        }
        if seen.is_copy && !seen.is_segment {
            sender.copies[by.other().place()] += count;
            return;
        }
        if !seen.is_answered {
            match at {
                Some(at) if self.lost_kept < MOST_LOST => {
                    self.lost_kept += 1;
                    sender.lost[by.place()].push((at, seen.is_segment));
                }
                Some(_) | None => self.has_forgotten_losses = true,
            }
        }
        let missing = &mut sender.missing[by.place()];
        match seen.is_segment {
            true => missing.segments += count,
            false => missing.others += count,
        }
        if seen.is_answered {
            missing.answered += count;
        }
    }

    /// Takes that an exchange speaks for its caller being at a side, and the called
    /// one at the other.
    pub(super) fn called(&mut self, caller: u8, callee: u8, side: Side) {
        for (host, side) in [(caller, side), (callee, side.other())] {
            if let Some(sender) = self.senders.get_mut(usize::from(host)) {
                sender.speaking[side.place()] += 1;
            }
        }
    }

    /// Returns all senders with their names and places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (HostAddress, u8, &Sender)> {
        let places = self.places.iter();
        places.filter_map(|(host, place)| {
            let sender = self.senders.get(usize::from(*place))?;
            Some((*host, *place, sender))
        })
    }

    /// Returns the name of the host at a place.
    pub(super) fn name(&self, wanted: u8) -> Option<HostAddress> {
        let found = self.places.iter().find(|(_, place)| **place == wanted);
        found.map(|(host, _)| *host)
    }

    /// Puts the packets of all senders into the order in which they were sent.
    pub(super) fn sort(&mut self) {
        for sender in &mut self.senders {
            sender.pairs.sort_by_key(|pair| pair.first_ns);
        }
    }

    fn place(&mut self, host: HostAddress) -> u8 {
        if let Some(place) = self.places.get(&host) {
            return *place;
        }
        let next = u8::try_from(self.senders.len()).unwrap_or(OTHERS);
        if self.senders.len() == MOST_HOSTS {
            return OTHERS;
        }
        self.places.insert(host, next);
        self.senders.push(Sender::default());
        next
    }
}

impl Sender {
    /// Returns at whose side it is, or nothing if neither capture tells: what they
    /// say themselves first, then its exchanges.
    pub(super) fn side(&self) -> Option<Side> {
        let said = self.sent_at[0] - self.sent_at[1];
        let spoken = self.speaking[0].cmp(&self.speaking[1]);
        match said.cmp(&0).then(spoken) {
            std::cmp::Ordering::Greater => Some(Side::First),
            std::cmp::Ordering::Less => Some(Side::Second),
            std::cmp::Ordering::Equal => None,
        }
    }
}
