//! What captures from one place or two tell of the path between them (S3-1, S3-2).
//!
//! Captures may be asked what a method asks of a device ([`Question`]): latency, flow
//! set-up, jitter, loss, rates, interruptions.
//!
//! A capture is read once, frame by frame. The same packet is looked for in the
//! other capture (`matching`), and in each of them requests are joined with their
//! replies (`exchange`). An exchange that both captures have gives the latency of
//! the path without a common clock: what the caller waited less what the called side
//! took, Δ3 = Δ1 − Δ2 (ASYNC Eq. (3)). Whose capture is the caller's follows from
//! that, too: there the wait is longer.
//!
//! What makes captures doubtful is said and not hidden: frames that a capture lacks
//! and the network carried, clocks that drift or were set (`clocks`), fragments,
//! segments as a card had them before they were cut, stamps out of order.
//!
//! # Differs from the paper
//!
//! ASYNC section III takes the stamps of one ping after the other by hand; here any
//! exchange of any conversation counts. Stamps of a request that was split are those
//! of its last fragment at the called side, else the travel of the fragments would
//! count as processing.
//!
//! # Left out
//!
//! With unrelated clocks the latency of one direction alone cannot be told, only by
//! how much it varies. Where a path is not the same there and back, half of the two
//! ways is no latency of either. Copies of a segment of TCP: a retransmission has the
//! same last byte. A sender that sends the same packet twice within 10 ms, of which one
//! gets lost, seems to have been recorded twice.

mod carried;
mod clocks;
mod exchange;
mod findings;
mod fragments;
mod hosts;
mod matching;
mod packet;
mod question;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeMap;

use units::Duration;

use super::reader::{Contents, Recorded};
use crate::method::Findings;
use crate::statistics::Distribution;
use exchange::{Exchange, Exchanges};
use findings::flow_setup::Setup;
use fragments::{Fragments, Span};
use hosts::{CaptureHosts, OTHERS};
use matching::{Matcher, Pair, PendingPacket};
use packet::PacketSummary;
use waiting::{WaitingItem, WaitingTable};

pub use clocks::{ClockStep, Trend};
pub use exchange::ExchangeKind;
pub use packet::{Addressing, HostAddress};
pub use question::Question;

/// The most exchanges of one kind and caller that are told apart.
pub const MOST_TALLIES: usize = 128;
/// The most flows whose first exchange is told from the later ones.
pub const MOST_FLOWS: usize = 1024;
/// The table of exchanges that wait for the other capture has 2^14 shelves.
const SHELVES: u32 = 14;
/// So many packets in a row without a partner, and both captures are read at the
/// same pace again.
const LOST_TOUCH: u64 = 1 << 17;
/// A stamp that is so much earlier than the one before is a clock that was set.
const SET_BACK: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The one that was named first.
    First,
    /// The one that was named second.
    Second,
}

impl Side {
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// Returns its place in a list of both.
    #[must_use]
    pub const fn place(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }
}

/// What is to be assumed of captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assumptions {
    /// Whether addresses stay the same on the way.
    pub addressing: Addressing,
    /// Whether both were stamped by one clock.
    pub clocks: Clocks,
}

/// How the clocks of two captures are related.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    #[default]
    Unrelated,
    /// They are the same one.
    One,
}

/// What one capture showed by itself.
#[derive(Debug, Default)]
struct Capture {
    frames: u64,
    /// Frames that nothing tells from others, as ARP.
    anonymous: u64,
    super_frames: u64,
    fragments: Fragments,
    exchanges: Exchanges,
    earliest: Option<u64>,
    latest: u64,
    /// The stamp of the frame before.
    last: u64,
    /// Frames with an earlier stamp than the one before them.
    disordered: u64,
    /// Jumps back that only a clock makes: how many, and the greatest.
    set_back: (u64, u64),
}

/// Exchanges of one kind and caller.
#[derive(Clone, Debug, Default)]
struct Tally {
    round_trip: Distribution,
    processing: Distribution,
    two_way: Distribution,
    one_way: Distribution,
    /// Exchanges that took the called side longer than the caller waited.
    backwards: u64,
}

/// What waits for its counterpart in the other capture.
#[derive(Clone, Copy, Debug)]
struct Half {
    /// When the request was there.
    at: u64,
    outer_ns: u64,
    inner_ns: u64,
}

/// Exchanges of one kind between two hosts: by the technique, by what the caller waited,
/// and by what it took as the first capture has it, whoever's that is.
type Setups = BTreeMap<(ExchangeKind, u8, u8), [Option<Setup>; 3]>;

/// Analyses one capture or two.
#[derive(Debug)]
pub struct Analysis {
    question: Question,
    assumptions: Assumptions,
    captures: [Capture; 2],
    hosts: CaptureHosts,
    matcher: Matcher,
    halves: [WaitingTable<Half>; 2],
    /// Exchanges of both captures, if the first is the caller's and if the second is.
    tallies: BTreeMap<(ExchangeKind, u8), [Tally; 2]>,
    /// Exchanges of one capture alone.
    seen_here: BTreeMap<(ExchangeKind, u8), Distribution>,
    /// The first exchanges of flows, if they are asked for.
    setups: Setups,
    /// Packets since the last one that was found in both.
    apart: u64,
    /// The first and the last packet of each capture that the other has, too.
    common: [Option<(u64, u64)>; 2],
}

impl Analysis {
    #[must_use]
    pub fn new(question: Question, assumptions: Assumptions) -> Self {
        Self {
            question,
            assumptions,
            captures: [Capture::default(), Capture::default()],
            hosts: CaptureHosts::default(),
            matcher: Matcher::default(),
            halves: [WaitingTable::new(SHELVES), WaitingTable::new(SHELVES)],
            tallies: BTreeMap::new(),
            seen_here: BTreeMap::new(),
            setups: BTreeMap::new(),
            apart: 0,
            common: [None; 2],
        }
    }

    /// Returns from which of two captures to take the next frame, if it has one: so
    /// that few packets have to wait for their partner.
    #[must_use]
    pub fn next_side(&self) -> Side {
        let [first, second] = &self.captures;
        let is_first = match self.matcher.offset() {
            Some(offset) if self.apart < LOST_TOUCH => {
                first.last.wrapping_add(offset.cast_unsigned()) <= second.last
            }
            Some(_) | None => first.frames <= second.frames,
        };
        match is_first {
            true => Side::First,
            false => Side::Second,
        }
    }

    /// Takes the next frame of a capture.
    #[inline]
    pub fn see(&mut self, side: Side, frame: &Recorded<'_>) {
        let capture = &mut self.captures[side.place()];
        capture.stamp(frame.unix_ns);
        let Some(packet) = PacketSummary::of(frame.bytes, self.assumptions.addressing) else {
            capture.anonymous += 1;
            return;
        };
        capture.super_frames += u64::from(packet.is_super_frame);
        if matches!(self.question, Question::Throughput | Question::Failover) {
            self.hosts
                .carried(packet.source, side, frame.unix_ns, frame.length);
        }
        let Some((packet, span)) = capture.fragments.see(packet, frame.unix_ns) else {
            return;
        };
        let host = self.hosts.sent(packet.source, side, frame.direction);
        let exchange = capture.exchanges.see(&packet, host, span);
        self.match_packet(side, &packet, host, span);
        if let Some(exchange) = exchange {
            self.ended(side, &exchange, host);
        }
    }

    /// Returns what was found. The contents are those of the captures, each with its
    /// name.
    #[must_use]
    pub fn finish(self, captures: &[(&str, &Contents)]) -> Findings {
        findings::of(self, captures)
    }

    /// Looks for a packet in the other capture.
    #[inline]
    fn match_packet(&mut self, side: Side, packet: &PacketSummary, host: u8, span: Span) {
        let entry = WaitingItem {
            key: packet.key,
            at: span.last,
            what: PendingPacket {
                host,
                is_segment: matches!(packet.content, packet::PacketContent::Segment { .. }),
                is_answered: false,
                is_copy: false,
                is_doubtful: false,
            },
        };
        match self.matcher.see(side, entry) {
            Ok(pair) => {
                self.apart = 0;
                self.found(host, pair);
                if self.matcher.has_turned() {
                    for (host, pair) in self.matcher.recover() {
                        self.found(host, pair);
                    }
                }
            }
            Err(evicted) => {
                self.apart += 1;
                if let Some(evicted) = evicted {
                    self.gave_up(side, &evicted);
                }
            }
        }
    }

    /// Takes a packet of a side that has not been found in the other capture and makes
    /// room for another.
    fn gave_up(&mut self, side: Side, packet: &WaitingItem<PendingPacket>) {
        match self.common[side.place()] {
            Some((from, _)) if packet.at < from => {}
            Some((_, to)) if packet.at <= to => self.hosts.missed(side.other(), packet),
            Some(_) => self.hosts.is_overdue(side.other(), packet),
            None => {}
        }
    }

    /// Takes a packet that both captures have.
    #[inline]
    fn found(&mut self, host: u8, pair: Pair) {
        let second = pair.first_ns.wrapping_add(pair.later_ns.cast_unsigned());
        for (side, at) in [(Side::First, pair.first_ns), (Side::Second, second)] {
            let common = &mut self.common[side.place()];
            let (from, to) = common.unwrap_or((at, at));
            *common = Some((from.min(at), to.max(at)));
            self.hosts.goes_on(side, at);
        }
        self.hosts.matched(host, pair);
    }

    /// Takes an exchange that a capture has.
    fn ended(&mut self, side: Side, exchange: &Exchange, callee: u8) {
        let (request, at) = exchange.request;
        self.matcher.answered(side, request, at);
        let tally = (exchange.kind, exchange.caller);
        if exchange.caller == OTHERS {
            return;
        }
        let flow = (exchange.kind, exchange.caller, callee);
        let is_known = self.seen_here.len() < MOST_TALLIES || self.seen_here.contains_key(&tally);
        if is_known {
            let here = self.seen_here.entry(tally).or_default();
            if side == Side::First {
                here.record(Duration::from_ns(exchange.outer_ns));
                self.set_up(flow, at, [None, None, Some(exchange.outer_ns)]);
            }
        }
        let other = self.halves[side.other().place()].take(exchange.key, None, |_| true);
        let half = Half {
            at,
            outer_ns: exchange.outer_ns,
            inner_ns: exchange.inner_ns,
        };
        match other {
            Some(other) if is_known => {
                let halves = match side {
                    Side::First => [half, other.what],
                    Side::Second => [other.what, half],
                };
                self.join(flow, halves);
            }
            Some(_) => {}
            None => {
                let entry = WaitingItem {
                    key: exchange.key,
                    at,
                    what: half,
                };
                self.halves[side.place()].put(entry);
            }
        }
    }

    /// Takes an exchange that both captures have.
    fn join(&mut self, flow: (ExchangeKind, u8, u8), halves: [Half; 2]) {
        let (kind, asker, callee) = flow;
        let caller = match halves[0].inner_ns >= halves[1].inner_ns {
            true => Side::First,
            false => Side::Second,
        };
        self.hosts.called(asker, callee, caller);
        let [called, caller_half] = [caller.other(), caller].map(|side| halves[side.place()]);
        let tallies = self.tallies.entry((kind, asker)).or_default();
        tallies[caller.place()].add(caller_half, called);
        if let Some(two_way) = caller_half.outer_ns.checked_sub(called.inner_ns) {
            let waited = Some(caller_half.outer_ns);
            self.set_up(flow, halves[0].at, [Some(two_way), waited, None]);
        }
    }

    /// Takes how long an exchange of a flow took, in each of the ways in which that is
    /// known.
    fn set_up(&mut self, flow: (ExchangeKind, u8, u8), at: u64, took: [Option<u64>; 3]) {
        let has_room = self.setups.len() < MOST_FLOWS || self.setups.contains_key(&flow);
        if self.question != Question::FlowSetup || !has_room {
            return;
        }
        let setups = self.setups.entry(flow).or_default();
        for (setup, ns) in setups.iter_mut().zip(took) {
            match (setup, ns) {
                (Some(setup), Some(ns)) => setup.add(at, ns),
                (setup, Some(ns)) => *setup = Some(Setup::new(at, ns)),
                (_, None) => {}
            }
        }
    }
}

impl Capture {
    /// Takes the stamp of the next frame.
    fn stamp(&mut self, at: u64) {
        self.frames += 1;
        self.earliest = Some(self.earliest.unwrap_or(at).min(at));
        self.latest = self.latest.max(at);
        let back = self.last.saturating_sub(at);
        if back >= SET_BACK {
            self.set_back = (self.set_back.0 + 1, self.set_back.1.max(back));
        } else if back > 0 {
            self.disordered += 1;
        }
        self.last = at;
    }
}

impl Tally {
    /// Adds an exchange: how the caller saw it, and how the called side did.
    fn add(&mut self, caller: Half, called: Half) {
        let Some(two_way) = caller.outer_ns.checked_sub(called.inner_ns) else {
            self.backwards += 1;
            return;
        };
        self.round_trip.record(Duration::from_ns(caller.outer_ns));
        self.processing.record(Duration::from_ns(called.inner_ns));
        self.two_way.record(Duration::from_ns(two_way));
        self.one_way.record(Duration::from_ns(two_way / 2));
    }
}
