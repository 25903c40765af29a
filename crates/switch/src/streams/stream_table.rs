//! The streams of a switch, each with a place in words that walks of the compiled form
//! share.

use std::cell::Cell;
use std::collections::BTreeMap;

use units::Instant;
use wire::openflow::taktos::{
    Eliminate, RecoveryAlgorithm, StreamCounters, StreamHandle, StreamReport,
};

use super::STREAMS_MAX;
use super::recovery::{Passing, Recovery};
use crate::compiled::layout::{Region, stream};
use crate::compiled::{Beginning, Record, Words};

/// How many words hold what is remembered of a stream.
const WORDS: usize = stream::RESETS + 1 - stream::HISTORY;

/// The streams that entries name.
#[derive(Debug)]
pub(crate) struct StreamTable {
    words: Box<dyn Words>,
    /// How many streams there is room for.
    capacity: usize,
    held: BTreeMap<StreamHandle, Held>,
    /// Places that were given up, the one that was given up first at the end.
    returned: Vec<u32>,
    /// The first place that was never taken.
    fresh: u32,
    /// Streams that another process knew and that no entry has named yet.
    left: BTreeMap<StreamHandle, u32>,
    /// Whether streams stay that no entry names, as what is done may be undone.
    keeps_unnamed: bool,
}

/// A stream that entries name.
#[derive(Debug)]
struct Held {
    place: u32,
    entries: u32,
    /// Over how many ways copies come, and by how many they may differ, if that is
    /// watched.
    ways: Option<(u8, u32)>,
    /// What was handed on and dropped when it was looked last.
    seen: (u64, u64),
    latent_errors: u64,
}

/// A stream whose ways bring too few copies, or too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LatentError {
    pub(crate) stream: StreamHandle,
    /// Frames that were handed on since it was looked before.
    pub(crate) passed: u64,
    /// Copies that were dropped since then.
    pub(crate) discarded: u64,
}

impl StreamTable {
    pub(crate) fn new() -> Self {
        Self {
            words: Box::new(Vec::<Cell<u64>>::new()),
            capacity: STREAMS_MAX,
            held: BTreeMap::new(),
            returned: Vec::new(),
            fresh: 0,
            left: BTreeMap::new(),
            keeps_unnamed: false,
        }
    }

    /// Keeps what is remembered in words that others read and change.
    ///
    /// # Panics
    ///
    /// If there are streams already.
    pub(crate) fn share(&mut self, words: Box<dyn Words>, beginning: Beginning) {
        assert!(self.held.is_empty(), "streams come with entries");
        let records = words.count() / Region::Streams.record_words();
        (self.words, self.capacity) = (words, records.min(STREAMS_MAX));
        if beginning == Beginning::Resumed {
            self.find_left();
        }
    }

    /// Looks which streams another process knew.
    fn find_left(&mut self) {
        let places = u32::try_from(self.capacity).expect("a thousand");
        for place in 0..places {
            let handle = self.record(place).get(stream::HANDLE).checked_sub(1);
            let handle = handle.and_then(|handle| u32::try_from(handle).ok());
            match handle.map(StreamHandle) {
                Some(handle) => {
                    self.left.insert(handle, place);
                }
                None => self.returned.push(place),
            }
        }
        self.fresh = places;
    }

    /// Forgets the streams of another process that no entry has named.
    pub(crate) fn forget_left(&mut self) {
        for place in std::mem::take(&mut self.left).into_values() {
            self.record(place).set(stream::HANDLE, 0);
            self.returned.insert(0, place);
        }
    }

    /// Returns whether an entry can name a stream.
    pub(crate) fn has_room_for(&self, stream: StreamHandle) -> bool {
        self.held.len() < self.capacity || self.held.contains_key(&stream)
    }

    /// Returns whether any stream is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns the place of a stream.
    pub(crate) fn find(&self, stream: StreamHandle) -> Option<u32> {
        self.held.get(&stream).map(|held| held.place)
    }

    /// Returns the stream in a place.
    pub(crate) fn at(&self, place: u32) -> Option<StreamHandle> {
        let mut held = self.held.iter();
        let found = held.find(|(_, held)| held.place == place);
        found.map(|(stream, _)| *stream)
    }

    /// Notes that an entry names a stream. One that no entry named before begins anew. A
    /// stream for which there is no room is none.
    pub(crate) fn hold(&mut self, stream: StreamHandle, eliminate: Option<&Eliminate>) {
        let ways = eliminate.and_then(|it| Some((it.ways?, it.tolerance)));
        if let Some(held) = self.held.get_mut(&stream) {
            held.entries += 1;
            held.ways = ways.or(held.ways);
            return;
        }
        if self.held.len() >= self.capacity {
            return;
        }
        if self.words.count() == 0 {
            let words = STREAMS_MAX * Region::Streams.record_words();
            self.words = Box::new(vec![Cell::new(0); words]);
        }
        let place = match self.left.remove(&stream) {
            // Walks number and drop its frames meanwhile.
            Some(place) => place,
            None => self.take_place(stream),
        };
        let recovery = Recovery::of_words(self.record(place).read(stream::HISTORY));
        let held = Held {
            place,
            entries: 1,
            ways,
            seen: (recovery.passed, recovery.discarded + recovery.rogue),
            latent_errors: 0,
        };
        self.held.insert(stream, held);
    }

    /// Returns a place for a stream of which nothing is known.
    fn take_place(&mut self, stream: StreamHandle) -> u32 {
        let place = match self.returned.pop() {
            Some(place) => place,
            None => {
                self.fresh += 1;
                self.fresh - 1
            }
        };
        let record = self.record(place);
        record.write(0, &[0; Region::Streams.record_words()]);
        record.set(stream::HANDLE, u64::from(stream.0) + 1);
        place
    }

    /// Notes that an entry names a stream no more.
    pub(crate) fn release(&mut self, stream: StreamHandle) {
        let Some(held) = self.held.get_mut(&stream) else {
            return;
        };
        held.entries -= 1;
        if held.entries == 0 && !self.keeps_unnamed {
            self.forget(stream);
        }
    }

    /// Keeps streams that no entry names any more until
    /// [`forget_unnamed`](Self::forget_unnamed): what is done may be undone.
    pub(crate) const fn keep_unnamed(&mut self) {
        self.keeps_unnamed = true;
    }

    /// Forgets streams that no entry names, from now on at once.
    pub(crate) fn forget_unnamed(&mut self) {
        self.keeps_unnamed = false;
        let unnamed = self.held.iter().filter(|(_, held)| held.entries == 0);
        let unnamed: Vec<_> = unnamed.map(|(stream, _)| *stream).collect();
        unnamed.into_iter().for_each(|stream| self.forget(stream));
    }

    fn forget(&mut self, stream: StreamHandle) {
        if let Some(held) = self.held.remove(&stream) {
            self.record(held.place).set(stream::HANDLE, 0);
            self.returned.insert(0, held.place);
        }
    }

    /// Returns the next number of a stream.
    pub(crate) fn next(&self, stream: StreamHandle) -> Option<u16> {
        let record = self.record(self.find(stream)?);
        loop {
            let before = record.get(stream::NUMBERED);
            if record.replace(stream::NUMBERED, before, before.wrapping_add(1)) {
                let [.., high, low] = before.to_be_bytes();
                return Some(u16::from_be_bytes([high, low]));
            }
        }
    }

    /// Takes a frame that came at a time with a number, or without one. A frame of a
    /// stream that is none passes.
    pub(crate) fn take(&self, how: &Eliminate, at: Instant, number: Option<u16>) -> Passing {
        let Some(place) = self.find(how.stream) else {
            return Passing::Passes;
        };
        let record = self.record(place);
        record.locked(stream::LOCK, || {
            let mut recovery = Recovery::of_words(record.read(stream::HISTORY));
            let looks_back = how.algorithm == RecoveryAlgorithm::DuplicateDiscard;
            if looks_back {
                recovery.recent = record.read(stream::RECENT);
            }
            let passing = recovery.take(how, at, number);
            record.write(stream::HISTORY, &recovery.words());
            if looks_back {
                record.write(stream::RECENT, &recovery.recent);
            }
            passing
        })
    }

    /// Returns the stream behind another one, or the first.
    pub(super) fn behind(&self, before: Option<StreamHandle>) -> Option<StreamHandle> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = before.map_or(Unbounded, Excluded);
        let (stream, _) = self.held.range((from, Unbounded)).next()?;
        Some(*stream)
    }

    /// Returns a stream as it stands, but for what is held of it.
    pub(super) fn report(&self, stream: StreamHandle) -> Option<StreamReport> {
        let held = self.held.get(&stream)?;
        let record = self.record(held.place);
        let recovery = Recovery::of_words(record.read(stream::HISTORY));
        Some(StreamReport {
            stream,
            entries: held.entries,
            counters: StreamCounters {
                numbered: record.get(stream::NUMBERED),
                passed: recovery.passed,
                discarded: recovery.discarded,
                out_of_order: recovery.out_of_order,
                rogue: recovery.rogue,
                lost: recovery.lost,
                unnumbered: recovery.unnumbered,
                resets: recovery.resets,
                latent_errors: held.latent_errors,
                ..StreamCounters::default()
            },
        })
    }

    /// Looks which streams had too few copies since it was looked last, or too many, and
    /// counts that (IEEE 802.1CB clause 7.4.4).
    pub(crate) fn find_latent_errors(&mut self) -> Vec<LatentError> {
        let mut found = Vec::new();
        let Self { words, held, .. } = self;
        for (handle, held) in held {
            let Some((ways, tolerance)) = held.ways else {
                continue;
            };
            let record = record_of(words.as_ref(), held.place);
            let recovery = Recovery::of_words(record.read(stream::HISTORY));
            let now = (recovery.passed, recovery.discarded + recovery.rogue);
            let before = std::mem::replace(&mut held.seen, now);
            let passed = now.0.saturating_sub(before.0);
            let discarded = now.1.saturating_sub(before.1);
            let expected = passed.saturating_mul(u64::from(ways) - 1);
            if expected.abs_diff(discarded) > u64::from(tolerance) {
                held.latent_errors += 1;
                found.push(LatentError {
                    stream: *handle,
                    passed,
                    discarded,
                });
            }
        }
        found
    }

    fn record(&self, place: u32) -> Record<'_> {
        record_of(self.words.as_ref(), place)
    }
}

fn record_of(words: &dyn Words, place: u32) -> Record<'_> {
    let place = usize::try_from(place).expect("32 bits fit");
    Record::of(words, Region::Streams, place)
}

impl Recovery {
    /// Returns what is remembered, but for the numbers that were handed on last.
    fn of_words(words: [u64; WORDS]) -> Self {
        let [
            history,
            last,
            span,
            heard,
            passed,
            discarded,
            out_of_order,
            rogue,
            lost,
            unnumbered,
            resets,
        ] = words;
        let [.., high, low] = last.to_be_bytes();
        let is_known = last & stream::KNOWN != 0;
        Self {
            history,
            last: is_known.then_some(u16::from_be_bytes([high, low])),
            span: u32::try_from(span).unwrap_or(u64::BITS),
            heard: Instant::from_ns(heard),
            passed,
            discarded,
            out_of_order,
            rogue,
            lost,
            unnumbered,
            resets,
            recent: [0; stream::RECENT_WORDS],
        }
    }

    fn words(&self) -> [u64; WORDS] {
        let last = self.last.map(|last| stream::KNOWN | u64::from(last));
        [
            self.history,
            last.unwrap_or(0),
            u64::from(self.span),
            self.heard.as_ns(),
            self.passed,
            self.discarded,
            self.out_of_order,
            self.rogue,
            self.lost,
            self.unnumbered,
            self.resets,
        ]
    }
}
