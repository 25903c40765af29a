//! The records of hops, and where each stands.
//!
//! Keys stand in lines of eight words, as many as one cache line has; a key stands in one of
//! the eight of the line that it hashes to, or of a second one if there was no room. So nearly
//! all records can be used. Whoever needs a record first takes a free
//! word for it by one atomic instruction: a walk of the compiled form needs nobody's help.
//! A record that is given up gets another turn, by which frames that are still under way
//! are told from those of the next one that stands there.

use std::cell::Cell;

use units::Duration;

use super::HOP_RECORDS_MAX;
use super::histogram::{bucket_of, upper_end};
use crate::compiled::layout::{Region, hop};
use crate::compiled::{Memory, Record, Words};
use crate::flow_table::EntryIndex;
use crate::port::PortIndex;
use crate::residence::ResidenceBucket;
use wire::openflow::TableId;

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const WAYS: usize = Region::HopKeys.record_words();
/// What stands at the place of the record that is none.
const NO_KEY: u64 = u64::MAX;

/// An entry on whose behalf a frame leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) table: TableId,
    pub(crate) index: EntryIndex,
    /// What no other entry of the table has that is there at the same time.
    pub(crate) age: u32,
}

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HopKey {
    pub(crate) owner: Owner,
    pub(crate) port: PortIndex,
    pub(crate) queue: u8,
}

/// Where a record stands, and in which turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HopPlace {
    slot: u16,
    turn: u8,
}

/// What a record has of the frames whose stay is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HopStays {
    pub(crate) frames: u64,
    pub(crate) longest: Duration,
    pub(crate) above: u64,
    pub(crate) untimed: u64,
    /// Those that are not empty, shortest stay first.
    pub(crate) buckets: Vec<ResidenceBucket>,
}

#[derive(Debug)]
pub(super) struct HopTable {
    keys: Box<dyn Words>,
    records: Box<dyn Words>,
    lines: usize,
    /// Records that were taken, where nobody else takes some.
    taken: Option<Cell<usize>>,
}

impl HopPlace {
    fn at(self) -> usize {
        usize::from(self.slot)
    }
}

impl HopKey {
    /// Returns the word that stands for it, but for its turn.
    fn word(self) -> u64 {
        let Self { owner, port, queue } = self;
        u64::from(owner.age)
            | u64::from(owner.table.0) << hop::KEY_TABLE_AT
            | u64::from(port.0) << hop::KEY_PORT_AT
            | u64::from(queue) << hop::KEY_QUEUE_AT
            | hop::KEY_IS_THERE
    }
}

impl HopTable {
    /// Makes a table of this process, all free.
    pub(super) fn private(records: usize) -> Self {
        let words = |count: usize| -> Box<dyn Words> { Box::new(vec![Cell::new(0); count]) };
        let keys = words(records);
        Self {
            taken: Some(Cell::new(0)),
            ..Self::of_words(keys, words(records * Region::Hops.record_words()))
        }
    }

    /// Returns a table of twice the size with the same records, and where each stood and
    /// stands now; nothing as long as this one has room, is as large as any, or is not of
    /// this process alone. Frames that are under way keep no place.
    pub(super) fn grown(&self) -> Option<(Self, Vec<(usize, usize)>)> {
        let taken = self.taken.as_ref()?.get();
        if self.end() >= HOP_RECORDS_MAX || 2 * taken < self.end() {
            return None;
        }
        let larger = Self::private(2 * self.end());
        let turns = (1..self.end()).map(|at| turn_of(self.keys.get(at)));
        let turn = turns.max().unwrap_or_default().wrapping_add(1);
        for at in 1..larger.end() {
            larger.keys.set(at, u64::from(turn) << hop::KEY_TURN_AT);
        }
        let all: [u64; hop::BUCKETS] = self.record(0).read(0);
        larger.record(0).write(0, &all);
        let mut moved = Vec::new();
        for before in 1..self.end() {
            let Some(place) = self.key(before).and_then(|key| larger.place_of(key)) else {
                continue;
            };
            let words: [u64; Region::Hops.record_words()] = self.record(before).read(0);
            larger.record(place.at()).write(0, &words);
            moved.push((before, place.at()));
        }
        Some((larger, moved))
    }

    /// Takes the regions of hops out of the others.
    pub(super) fn of(memory: &mut Memory) -> Self {
        Self::of_words(memory.give(Region::HopKeys), memory.give(Region::Hops))
    }

    fn of_words(keys: Box<dyn Words>, records: Box<dyn Words>) -> Self {
        let lines = keys.count() / WAYS;
        assert!(lines.is_power_of_two(), "a hash is masked");
        keys.set(0, NO_KEY);
        Self {
            keys,
            records,
            lines,
            taken: None,
        }
    }

    /// Returns the number above those of all records. Zero is none.
    pub(super) fn end(&self) -> usize {
        self.lines * WAYS
    }

    /// Returns the place of a record, and takes one if there is none yet; nothing if
    /// there is no room.
    pub(super) fn place_of(&self, key: HopKey) -> Option<HopPlace> {
        let word = key.word();
        let ways = || self.ways(word);
        let found = ways().find(|at| self.keys.get(*at) & hop::KEY_BITS == word);
        if let Some(at) = found {
            return Some(place(at, self.keys.get(at)));
        }
        for at in ways() {
            let before = self.keys.get(at);
            let is_free = before & hop::KEY_BITS == 0;
            if is_free && self.keys.replace(at, before, before | word) {
                let index = u64::from(key.owner.index.0);
                self.record(at).set(hop::OWNER, index);
                if let Some(taken) = &self.taken {
                    taken.set(taken.get() + 1);
                }
                return Some(place(at, before));
            }
        }
        self.record(0).add(hop::NO_ROOM, 1);
        None
    }

    /// Returns the places where a key may stand, the first one first.
    fn ways(&self, word: u64) -> impl Iterator<Item = usize> + use<> {
        let hash = word.wrapping_mul(MULTIPLIER);
        let small = |part: u64| usize::try_from(part & 0xffff_ffff).expect("32 bits fit");
        let lines = [32, 48].map(|from| small(hash >> from) & (self.lines - 1));
        let first = small(hash >> 61);
        let of_line = move |line| (first..first + WAYS).map(move |way| line * WAYS + way % WAYS);
        lines.into_iter().flat_map(of_line)
    }

    /// Returns what the record at a place is about, if one stands there.
    pub(super) fn key(&self, at: usize) -> Option<HopKey> {
        let word = self.keys.get(at);
        if word & hop::KEY_IS_THERE == 0 || at == 0 {
            return None;
        }
        let index = self.record(at).get(hop::OWNER);
        Some(HopKey {
            owner: Owner {
                table: TableId(part(word >> hop::KEY_TABLE_AT)),
                index: EntryIndex(u32::try_from(index).ok()?),
                age: low(word),
            },
            port: PortIndex(u16::from(part(word >> hop::KEY_PORT_AT))),
            queue: part(word >> hop::KEY_QUEUE_AT) & 7,
        })
    }

    /// Gives a record up.
    pub(super) fn free(&self, at: usize) {
        let record = self.record(at);
        record.set(hop::DEVICE, 0);
        let turn = self.keys.get(at) >> hop::KEY_TURN_AT;
        self.keys.set(at, (turn + 1) << hop::KEY_TURN_AT);
        record.write(0, &[0; Region::Hops.record_words()]);
        if let Some(taken) = &self.taken {
            taken.set(taken.get().saturating_sub(1));
        }
    }

    /// Notes how long a frame stayed, if the record still is the one that it was; says
    /// whether that was longer than the budget.
    pub(super) fn note(&self, place: HopPlace, stay: Duration, budget: u64) -> bool {
        let at = place.at();
        let word = self.keys.get(at);
        if word & hop::KEY_IS_THERE == 0 || turn_of(word) != place.turn {
            return false;
        }
        let record = self.record(at);
        record.add(hop::BUCKETS + bucket_of(stay), 1);
        record.raise(hop::LONGEST, stay.as_ns());
        let is_above = budget != 0 && stay.as_ns() >= budget;
        if is_above {
            record.add(hop::ABOVE, 1);
            record.raise(hop::PEAK, stay.as_ns());
            self.record(0).add(hop::ABOVE, 1);
        }
        is_above
    }

    /// Returns how many frames of all records stayed longer than their budgets.
    pub(super) fn above(&self) -> u64 {
        self.record(0).get(hop::ABOVE)
    }

    /// Returns how many frames of a record stayed longer than the budget.
    pub(super) fn above_of(&self, at: usize) -> u64 {
        self.record(at).get(hop::ABOVE)
    }

    /// Takes the longest stay above the budget since it was taken last.
    pub(super) fn take_peak(&self, at: usize) -> Duration {
        let record = self.record(at);
        loop {
            let peak = record.get(hop::PEAK);
            if record.replace(hop::PEAK, peak, 0) {
                return Duration::from_ns(peak);
            }
        }
    }

    /// Returns how many frames found no room.
    pub(super) fn no_room(&self) -> u64 {
        self.record(0).get(hop::NO_ROOM)
    }

    pub(super) fn stays(&self, at: usize) -> HopStays {
        let record = self.record(at);
        let counted: [u64; hop::BUCKETS_COUNT] = record.read(hop::BUCKETS);
        let longest = Duration::from_ns(record.get(hop::LONGEST));
        let buckets = counted.iter().enumerate().filter(|(_, count)| **count > 0);
        let buckets = buckets.map(|(bucket, &frames)| ResidenceBucket {
            at_most: upper_end(bucket).min(longest),
            frames,
        });
        HopStays {
            frames: counted.iter().sum(),
            longest,
            above: record.get(hop::ABOVE),
            untimed: record.get(hop::UNTIMED),
            buckets: buckets.collect(),
        }
    }

    fn record(&self, at: usize) -> Record<'_> {
        Record::of(self.records.as_ref(), Region::Hops, at)
    }
}

fn place(at: usize, word: u64) -> HopPlace {
    HopPlace {
        slot: u16::try_from(at).expect("as many as there can be records"),
        turn: turn_of(word),
    }
}

fn turn_of(word: u64) -> u8 {
    part(word >> hop::KEY_TURN_AT)
}

#[expect(clippy::cast_possible_truncation, reason = "a part is wanted")]
const fn part(word: u64) -> u8 {
    word as u8
}

#[expect(clippy::cast_possible_truncation, reason = "a part is wanted")]
const fn low(word: u64) -> u32 {
    word as u32
}
