//! What the taps see, taken down, and answered where somebody answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use linux::clock::{self, WallClock};
use linux::tap::{Captured, Direction};
use measure::capture::{self, CaptureRecord, Captures, Seen};
use measure::culprit::{Deviation, Suspect};
use measure::identity::Catalogue;
use measure::load::{HostLoad, Load};
use measure::recorder::FlowRecord;
use measure::{FlowIndex, Recorder};
use units::Duration;
use wire::ethernet::wire_size;

use super::{FRAME_BYTES, TrafficTally};

/// The only interface of the capture of a host's link.
const AT_HOST: u32 = 0;

/// What hosts send and get.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) hosts: Vec<HostLoad>,
    pub(super) wall: WallClock,
    pub(super) captures: Captures,
    catalogue: Catalogue,
    recorder: Recorder,
    /// The flows that each host sends.
    sends: Vec<Vec<FlowIndex>>,
    /// The places of the sources, host by host, that listen to answers.
    listeners: Vec<Vec<usize>>,
    answer: Vec<u8>,
    tally: Arc<TrafficTally>,
    /// The hosts that sent frames of no flow of theirs.
    foreign: BTreeMap<usize, Deviation>,
}

impl Book {
    pub(super) fn new(load: Load, tally: Arc<TrafficTally>) -> Self {
        let sends = |host: &HostLoad| host.sources.iter().map(|queued| queued.flow).collect();
        Self {
            sends: load.hosts.iter().map(sends).collect(),
            listeners: load.hosts.iter().map(listeners).collect(),
            hosts: load.hosts,
            wall: WallClock::sample(),
            captures: load.captures,
            catalogue: load.catalogue,
            recorder: load.recorder,
            answer: Vec::with_capacity(FRAME_BYTES),
            tally,
            foreign: BTreeMap::new(),
        }
    }

    /// Takes down a frame that went by at `host` on `cable`, and makes the answer
    /// that it provokes, if it does: the queue for it, and its bytes.
    pub(super) fn enter(
        &mut self,
        host: usize,
        cable: usize,
        seen: &Captured<'_>,
    ) -> Option<(u8, &[u8])> {
        self.captures.enter(cable, &as_seen(AT_HOST, seen));
        let at = self.wall.to_monotonic(seen.stamp);
        let known = self.catalogue.identify(seen.bytes, at);
        match seen.direction {
            Direction::Out => {
                if let Some((flow, sequence)) = known
                    && self.sends[host].contains(&flow)
                {
                    self.recorder
                        .sent(flow, sequence, wire_size(seen.length), at);
                    self.tally.sent.fetch_add(1, Ordering::Relaxed);
                } else if self.hosts[host].is_foreign(seen.bytes) {
                    let first = Deviation::first(Suspect::Host(host), at, Duration::ZERO);
                    let known = self.foreign.entry(host);
                    known
                        .and_modify(|it| it.again(at, Duration::ZERO))
                        .or_insert(first);
                }
                None
            }
            Direction::In => {
                if let Some((flow, sequence)) = known
                    && let Some(receiver) = self.hosts[host].receives.get(&flow)
                {
                    self.recorder.received(flow, *receiver, sequence, at);
                    self.tally.arrived.fetch_add(1, Ordering::Relaxed);
                }
                self.react(host, seen.bytes)
            }
        }
    }

    /// Returns what was taken down, of flows, of captures, and of frames of no flow.
    pub(super) fn close(mut self) -> (Vec<FlowRecord>, Vec<CaptureRecord>, Vec<Deviation>) {
        for queued in self.hosts.iter().flat_map(|host| &host.sources) {
            self.recorder.skipped(queued.flow, queued.source.skipped());
        }
        let foreign = self.foreign.into_values().collect();
        (self.recorder.finish(), self.captures.finish(), foreign)
    }

    fn react(&mut self, host: usize, frame: &[u8]) -> Option<(u8, &[u8])> {
        let load = &mut self.hosts[host];
        for place in &self.listeners[host] {
            load.sources[*place].source.received(clock::now(), frame);
        }
        for answering in &mut load.answering {
            if let Some(length) = answering.who.received(frame, &mut self.answer) {
                return Some((answering.queue, &self.answer[..length]));
            }
        }
        None
    }
}

/// Returns what a tap saw as a capture file takes it, by the kernel's own stamp.
pub(crate) fn as_seen<'a>(interface: u32, captured: &Captured<'a>) -> Seen<'a> {
    Seen {
        interface,
        unix_ns: captured.stamp.as_ns(),
        direction: match captured.direction {
            Direction::In => capture::Direction::In,
            Direction::Out => capture::Direction::Out,
        },
        bytes: captured.bytes,
        length: captured.length,
    }
}

fn listeners(host: &HostLoad) -> Vec<usize> {
    let sources = host.sources.iter().enumerate();
    sources
        .filter(|(_, queued)| queued.source.listens())
        .map(|(place, _)| place)
        .collect()
}
