//! A walk through the compiled form that sees nothing but words.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use super::super::layout::{
    Region, action, bucket, busy, entry, group, limit, line, mask, meter, operation, settings,
    table,
};
use super::super::memory::Memory;
use crate::packet_key::{PacketKey, WORDS};

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a walk finds in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// Frames go to the core.
    ToCore,
    Entry {
        rank: u64,
        does: Vec<u64>,
    },
}

/// A walk that is under way.
pub(super) struct Walk<'a> {
    memory: &'a Memory,
    processor: usize,
    pub(super) generation: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn begin(memory: &'a Memory, processor: usize) -> Self {
        let words = &memory.words(Region::Busy)[processor * Region::Busy.record_words()..];
        words[busy::WALKS].fetch_add(1, SeqCst);
        Self::seeing(memory, processor)
    }

    /// A walk whose mark nobody needs.
    pub(super) fn seeing(memory: &'a Memory, processor: usize) -> Self {
        let generation = memory.words(Region::Settings)[settings::GENERATION].load(SeqCst);
        Self::at(memory, processor, generation)
    }

    /// A walk that began before.
    pub(super) const fn at(memory: &'a Memory, processor: usize, generation: u64) -> Self {
        Self {
            memory,
            processor,
            generation,
        }
    }

    pub(super) fn end(self) {
        let first = self.processor * Region::Busy.record_words();
        self.memory.words(Region::Busy)[first + busy::WALKS].fetch_add(1, SeqCst);
    }

    pub(super) fn find(&self, table: u32, key: &PacketKey) -> Found {
        let words = self.record(Region::Tables, table);
        let version = self
            .version(words, table::SINCE)
            .expect("every table is shown");
        let head = words[table::HEAD[version]].load(SeqCst);
        if head & table::TO_CORE != 0 {
            return Found::ToCore;
        }
        let mut best = None::<(u64, u32)>;
        let count = usize::from(low16(head));
        assert!(count <= limit::MASKS);
        for at in 0..count {
            let four = words[table::MASKS[version] + at / 4].load(SeqCst);
            let mask = u32::from(low16(four >> (16 * (at % 4))));
            let promised = self.record(Region::Masks, mask)[mask::BEST].load(SeqCst);
            if best.is_some_and(|(rank, _)| rank > promised) {
                break;
            }
            best = best.max(self.ask(mask, key));
        }
        match best {
            None => Found::Nothing,
            Some((rank, entry)) => self.describe(rank, entry),
        }
    }

    /// Returns the best entry of a mask's hash table, with its rank.
    fn ask(&self, mask: u32, key: &PacketKey) -> Option<(u64, u32)> {
        let words = self.record(Region::Masks, mask);
        let mut hash = self.memory.words(Region::Settings)[settings::SEED].load(SeqCst);
        let used = words[mask::USED].load(SeqCst);
        let mut masked = [0; WORDS];
        for at in (0..WORDS).filter(|at| used >> at & 1 == 1) {
            masked[at] = key.words()[at] & words[mask::WORDS + at].load(SeqCst);
            hash = (hash ^ masked[at]).wrapping_mul(MULTIPLIER);
            hash ^= hash >> 32;
        }
        hash = hash.wrapping_mul(MULTIPLIER);
        hash ^= hash >> 29;
        let lines = words[mask::LINES].load(SeqCst);
        let (first, lines) = (low32(lines), low32(lines >> 32));
        let (tag, home) = (low32(hash >> 32), low32(hash) & lines);
        let home_words = self.record(Region::Lines, first + home);
        let mut found = self.look(home_words, tag, &masked);
        if home_words[line::SPILLED].load(SeqCst) != 0 {
            let second = (home ^ (tag | 1)) & lines;
            let spilled = self.look(self.record(Region::Lines, first + second), tag, &masked);
            found = found.max(spilled);
        }
        found
    }

    fn look(&self, line: &[AtomicU64], tag: u32, value: &[u64; WORDS]) -> Option<(u64, u32)> {
        let places = &line[line::PLACES..line::PLACES + line::PLACES_COUNT];
        let places = places.iter().map(|place| place.load(SeqCst));
        let candidates = places.filter(|place| low32(*place) != 0 && low32(place >> 32) == tag);
        let entries = candidates.map(|place| low32(place) - 1);
        let seen = entries.filter(|entry| self.sees(*entry, value));
        let ranked = seen.map(|entry| {
            let words = self.record(Region::Entries, entry);
            (words[entry::RANK].load(SeqCst), entry)
        });
        ranked.max()
    }

    fn sees(&self, entry: u32, value: &[u64; WORDS]) -> bool {
        let words = self.record(Region::Entries, entry);
        let until = words[entry::UNTIL].load(SeqCst);
        let since = words[entry::SINCE].load(SeqCst);
        let mut both = words[entry::VALUE..].iter().zip(value);
        since <= self.generation
            && self.generation < until
            && both.all(|(there, value)| there.load(SeqCst) == *value)
    }

    fn describe(&self, rank: u64, entry: u32) -> Found {
        let word = |at: usize| self.record(Region::Entries, entry)[at].load(SeqCst);
        let (apply, write) = (word(entry::APPLY), word(entry::WRITE));
        if apply >> 48 & entry::TO_CORE != 0 {
            return Found::ToCore;
        }
        let mut does = vec![apply >> 48, write >> 48];
        does.extend([word(entry::METADATA), word(entry::METADATA_MASK)]);
        does.push(word(entry::MONITOR));
        self.describe_meter(low32(word(entry::METER)), &mut does);
        for list in [apply, write] {
            self.describe_actions(low32(list), low16(list >> 32), 0, &mut does);
        }
        Found::Entry { rank, does }
    }

    fn describe_meter(&self, meter: u32, does: &mut Vec<u64>) {
        let Some(meter) = meter.checked_sub(1) else {
            return does.push(0);
        };
        let words = self.record(Region::Meters, meter);
        let version = self
            .version(words, meter::SINCE)
            .expect("the meter is shown");
        let word = words[meter::VERSIONS[version]].load(SeqCst);
        does.push(low32(word).into());
        for band in 0..u32::from(low16(word >> 16)) {
            let words = self.record(Region::Bands, low32(word >> 32) + band);
            does.extend(words[..2].iter().map(|word| word.load(SeqCst)));
        }
    }

    fn describe_actions(&self, first: u32, count: u16, level: usize, does: &mut Vec<u64>) {
        does.push(count.into());
        for record in first..first + u32::from(count) {
            let words = self.record(Region::Actions, record);
            let word = |at: usize| words[at].load(SeqCst);
            let what = word(action::WHAT);
            if what & 0xff == operation::GROUP.into() {
                self.describe_group(low32(what >> 32), level + 1, does);
            } else {
                does.extend([what, word(action::VALUE), word(action::LOW)]);
            }
        }
    }

    pub(super) fn describe_group(&self, group: u32, level: usize, does: &mut Vec<u64>) {
        let words = self.record(Region::Groups, group);
        let version = self
            .version(words, group::SINCE)
            .expect("the group is shown");
        let word = |at: usize| words[group::VERSIONS[version] + at].load(SeqCst);
        let head = word(group::HEAD);
        does.extend([head, word(group::SHARES)].map(|word| u64::from(low32(word))));
        does.push(word(group::NUMBER));
        if head & group::TO_CORE != 0 || level > limit::LEVELS {
            return;
        }
        for bucket in 0..u32::from(low16(head >> 16)) {
            let words = self.record(Region::Buckets, low32(head >> 32) + bucket);
            let actions = words[bucket::ACTIONS].load(SeqCst);
            does.extend([
                actions >> 48,
                low32(words[bucket::WATCHES].load(SeqCst)).into(),
            ]);
            does.push(words[bucket::SHARE].load(SeqCst));
            self.describe_actions(low32(actions), low16(actions >> 32), level, does);
        }
    }

    fn version(&self, words: &[AtomicU64], since: [usize; 2]) -> Option<usize> {
        let versions = since.map(|at| words[at].load(SeqCst));
        let seen = (0..2).filter(|version| versions[*version] <= self.generation);
        seen.max_by_key(|version| versions[*version])
    }

    fn record(&self, region: Region, record: u32) -> &'a [AtomicU64] {
        let words = region.record_words();
        let first = usize::try_from(record).unwrap() * words;
        &self.memory.words(region)[first..first + words]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a part is wanted")]
const fn low32(word: u64) -> u32 {
    word as u32
}

#[expect(clippy::cast_possible_truncation, reason = "a part is wanted")]
const fn low16(word: u64) -> u16 {
    word as u16
}
