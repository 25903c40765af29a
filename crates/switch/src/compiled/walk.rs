//! A walk through the compiled form that sees nothing but words.

use super::layout::{
    Region, action, bucket, entry, group, limit, line, mask, meter, operation, settings, table,
};
use super::memory::{Memory, Record};
use super::operations::{ActionWords, Meanings, action_of};
use crate::action::{Action, MetadataChange, Program};
use crate::flow_table::EntryIndex;
use crate::meter_table::MeterIndex;
use crate::packet_key::{PacketKey, WORDS};
use wire::openflow::{GroupId, TableId};

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a walk finds in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    ToCore,
    /// An entry, by its rank and its record.
    Entry(u64, u32),
}

/// Frames go to the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToCore;

/// What an entry does with a frame, and where that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) program: Program,
    pub(crate) tally: u32,
    /// The number of the entry, and its age.
    pub(crate) entry: (EntryIndex, u32),
}

/// A walk that is under way.
pub(super) struct Walk<'a> {
    memory: &'a Memory,
    generation: u64,
}

impl<'a> Walk<'a> {
    /// Begins to walk the form as it is.
    pub(super) fn begin(memory: &'a Memory) -> Self {
        let settings = memory.record(Region::Settings, 0);
        Self::at(memory, settings.get(settings::GENERATION))
    }

    /// Goes on with a walk that began in this generation.
    pub(super) const fn at(memory: &'a Memory, generation: u64) -> Self {
        Self { memory, generation }
    }

    pub(super) fn find(&self, table: u32, key: &PacketKey) -> Found {
        let words = self.record(Region::Tables, table);
        let Some(version) = self.version(words, table::SINCE) else {
            return Found::ToCore;
        };
        let head = words.get(table::HEAD[version]);
        if head & table::TO_CORE != 0 {
            return Found::ToCore;
        }
        let mut best = None::<(u64, u32)>;
        let count = usize::from(low16(head));
        assert!(count <= limit::MASKS, "as many masks as a walk asks");
        for at in 0..count {
            let four = words.get(table::MASKS[version] + at / 4);
            let mask = u32::from(low16(four >> (16 * (at % 4))));
            let promised = self.record(Region::Masks, mask).get(mask::BEST);
            if best.is_some_and(|(rank, _)| rank > promised) {
                break;
            }
            best = best.max(self.ask(mask, key));
        }
        match best {
            None => Found::Nothing,
            Some((_, entry)) if self.leaves(entry) => Found::ToCore,
            Some((rank, entry)) => Found::Entry(rank, entry),
        }
    }

    /// Returns the best entry of a mask's hash table, with its rank.
    fn ask(&self, mask: u32, key: &PacketKey) -> Option<(u64, u32)> {
        let words = self.record(Region::Masks, mask);
        let mut hash = self.record(Region::Settings, 0).get(settings::SEED);
        let used = words.get(mask::USED);
        let mut masked = [0; WORDS];
        for at in (0..WORDS).filter(|at| used >> at & 1 == 1) {
            masked[at] = key.words()[at] & words.get(mask::WORDS + at);
            hash = (hash ^ masked[at]).wrapping_mul(MULTIPLIER);
            hash ^= hash >> 32;
        }
        hash = hash.wrapping_mul(MULTIPLIER);
        hash ^= hash >> 29;
        let lines = words.get(mask::LINES);
        let (first, lines) = (low32(lines), low32(lines >> 32));
        let (tag, home) = (low32(hash >> 32), low32(hash) & lines);
        let home_words = self.record(Region::Lines, first + home);
        let mut found = self.look(home_words, tag, &masked);
        if home_words.get(line::SPILLED) != 0 {
            let second = (home ^ (tag | 1)) & lines;
            let spilled = self.look(self.record(Region::Lines, first + second), tag, &masked);
            found = found.max(spilled);
        }
        found
    }

    fn look(&self, line: Record<'_>, tag: u32, value: &[u64; WORDS]) -> Option<(u64, u32)> {
        let places: [u64; line::PLACES_COUNT] = line.read(line::PLACES);
        let candidates = places
            .into_iter()
            .filter(|place| low32(*place) != 0 && low32(place >> 32) == tag);
        let entries = candidates.map(|place| low32(place) - 1);
        let seen = entries.filter(|entry| self.sees(*entry, value));
        let ranked =
            seen.map(|entry| (self.record(Region::Entries, entry).get(entry::RANK), entry));
        ranked.max()
    }

    fn sees(&self, entry: u32, value: &[u64; WORDS]) -> bool {
        let words = self.record(Region::Entries, entry);
        let (since, until) = (words.get(entry::SINCE), words.get(entry::UNTIL));
        since <= self.generation && self.generation < until && words.read(entry::VALUE) == *value
    }

    /// Returns whether frames that meet an entry go to the core.
    fn leaves(&self, entry: u32) -> bool {
        self.record(Region::Entries, entry).get(entry::APPLY) >> 48 & entry::TO_CORE != 0
    }

    /// Returns what an entry does.
    ///
    /// # Errors
    ///
    /// If a meter or a group on the way is left to the core.
    pub(super) fn step(&self, entry: u32, means: &impl Meanings) -> Result<Step, ToCore> {
        let word = |at: usize| self.record(Region::Entries, entry).get(at);
        let (apply, write) = (word(entry::APPLY), word(entry::WRITE));
        let monitor = low32(word(entry::MONITOR)).checked_sub(1);
        let first = monitor.map(|place| means.monitor(place).map(Action::FlowMonitor));
        let first = first.into_iter().map(|shown| shown.ok_or(ToCore));
        let value = word(entry::METADATA);
        let mask = word(entry::METADATA_MASK);
        let [_, next, ..] = write.to_be_bytes();
        let next = (u64::from(next) != entry::LAST).then_some(TableId(next));
        let meter = low32(word(entry::METER)).checked_sub(1);
        let program = Program {
            meter: meter.map(|meter| self.meter(meter, means)).transpose()?,
            police: None,
            apply: first
                .chain(self.actions(apply, means))
                .collect::<Result<_, _>>()?,
            clear: apply >> 48 & entry::CLEARS != 0,
            write: self.actions(write, means).collect::<Result<_, _>>()?,
            metadata: (mask != 0).then_some(MetadataChange { value, mask }),
            goto: next,
        };
        let tally = low32(word(entry::METER) >> 32);
        let entry = (
            EntryIndex(low32(word(entry::INDEX))),
            low32(word(entry::RANK)),
        );
        Ok(Step {
            program,
            tally,
            entry,
        })
    }

    fn meter(&self, record: u32, means: &impl Meanings) -> Result<MeterIndex, ToCore> {
        let words = self.record(Region::Meters, record);
        let version = self.version(words, meter::SINCE).ok_or(ToCore)?;
        match words.get(meter::VERSIONS[version]) & meter::TO_CORE {
            0 => means.meter(record).ok_or(ToCore),
            _ => Err(ToCore),
        }
    }

    /// Returns the actions of a list, which begins and ends where the word says.
    fn actions(
        &self,
        list: u64,
        means: &impl Meanings,
    ) -> impl Iterator<Item = Result<Action, ToCore>> {
        let first = low32(list);
        let records = first..first + u32::from(low16(list >> 32));
        records.map(move |record| {
            let words: ActionWords = self.record(Region::Actions, record).read(action::WHAT);
            let [what, ..] = words;
            if what & 0xff != u64::from(operation::GROUP) {
                return action_of(words, means).ok_or(ToCore);
            }
            let group = self.group(low32(what >> 32), 1).ok_or(ToCore)?;
            means.group(group).map(Action::Group).ok_or(ToCore)
        })
    }

    /// Returns the number of a group, unless it or one that it leads to is left to the
    /// core.
    fn group(&self, record: u32, level: usize) -> Option<GroupId> {
        let words = self.record(Region::Groups, record);
        let version = self.version(words, group::SINCE)?;
        let [head, _, number] = words.read(group::VERSIONS[version]);
        if head & group::TO_CORE != 0 || level > limit::LEVELS {
            return None;
        }
        let first = low32(head >> 32);
        let mut buckets = first..first + u32::from(low16(head >> 16));
        let all = buckets.all(|bucket| self.leads_on(bucket, level));
        all.then_some(GroupId(low32(number)))
    }

    /// Returns whether no group that a bucket leads to is left to the core.
    fn leads_on(&self, bucket: u32, level: usize) -> bool {
        let list = self.record(Region::Buckets, bucket).get(bucket::ACTIONS);
        let first = low32(list);
        let mut actions = first..first + u32::from(low16(list >> 32));
        actions.all(|record| {
            let what = self.record(Region::Actions, record).get(action::WHAT);
            what & 0xff != u64::from(operation::GROUP)
                || self.group(low32(what >> 32), level + 1).is_some()
        })
    }

    pub(super) fn version(&self, words: Record<'_>, since: [usize; 2]) -> Option<usize> {
        let versions = since.map(|at| words.get(at));
        let seen = (0..2).filter(|version| versions[*version] <= self.generation);
        seen.max_by_key(|version| versions[*version])
    }

    pub(super) fn record(&self, region: Region, record: u32) -> Record<'a> {
        let record = usize::try_from(record).expect("32 bits fit");
        self.memory.record(region, record)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a part is wanted")]
pub(super) const fn low32(word: u64) -> u32 {
    word as u32
}

#[expect(clippy::cast_possible_truncation, reason = "a part is wanted")]
pub(super) const fn low16(word: u64) -> u16 {
    word as u16
}
