//! The records of the compiled form: which are free, which are in use, and which
//! are on their way out.
//!
//! What is replaced stays as it is until no walk can see it any more. An entry goes
//! in two steps: first its place in a hash table is given up, then, when no walk is
//! under way that may have read the place, its record.

use super::layout::{NEVER, Region, action, entry, mask, settings};
use super::masks::Masks;
use super::memory::{Memory, Record};
use super::needs::Needs;
use super::operations::ActionWords;
use super::room::{Range, Ranges, Slots};
use super::walks::Walks;

#[derive(Debug)]
pub(super) struct Rooms {
    pub(super) entries: Slots,
    pub(super) tallies: Slots,
    pub(super) masks: Slots,
    pub(super) groups: Slots,
    pub(super) meters: Slots,
    pub(super) lines: Ranges,
    pub(super) actions: Ranges,
    pub(super) buckets: Ranges,
    pub(super) bands: Ranges,
}

/// What older walks may still see.
#[derive(Debug, Default)]
pub(super) struct Retired {
    /// Entries with the mask in whose hash table each stands.
    pub(super) entries: Vec<(u32, u32)>,
    pub(super) tallies: Vec<u32>,
    pub(super) masks: Vec<u32>,
    pub(super) groups: Vec<u32>,
    pub(super) meters: Vec<u32>,
    pub(super) lines: Vec<Range>,
    pub(super) actions: Vec<Range>,
    pub(super) buckets: Vec<Range>,
    pub(super) bands: Vec<Range>,
    /// Masks whose best rank is now this one.
    pub(super) lowered: Vec<(u32, u64)>,
}

/// What is left to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Settled,
    /// Walks that see what was replaced.
    Replaced,
    /// Walks that may have read where entries stood.
    Unlinked,
}

/// The records of the compiled form.
#[derive(Debug)]
pub(super) struct Store {
    memory: Memory,
    pub(super) rooms: Rooms,
    pub(super) retired: Retired,
    pub(super) needs: Needs,
    /// What it takes to see whether a packet is a fragment, if that is asked for.
    needs_of_fragments: u64,
    /// The generation that walks see.
    generation: u64,
    stage: Stage,
    walks: Walks,
    /// Entries whose places were given up.
    unlinked: Vec<u32>,
}

impl Store {
    pub(super) fn new(memory: Memory) -> Self {
        let sizes = memory.sizes();
        let slots = |region| Slots::new(sizes.records(region));
        let ranges = |region| Ranges::new(sizes.records(region));
        Self {
            rooms: Rooms {
                entries: slots(Region::Entries),
                tallies: slots(Region::Tallies),
                masks: slots(Region::Masks),
                groups: slots(Region::Groups),
                meters: slots(Region::Meters),
                lines: ranges(Region::Lines),
                actions: ranges(Region::Actions),
                buckets: ranges(Region::Buckets),
                bands: ranges(Region::Bands),
            },
            retired: Retired::default(),
            needs: Needs::default(),
            needs_of_fragments: 0,
            generation: 0,
            stage: Stage::Settled,
            walks: Walks::default(),
            unlinked: Vec::new(),
            memory,
        }
    }

    pub(super) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the generation that will see what is written now.
    pub(super) const fn next(&self) -> u64 {
        self.generation + 1
    }

    pub(super) fn record(&self, region: Region, record: u32) -> Record<'_> {
        let record = usize::try_from(record).expect("32 bits fit");
        self.memory.record(region, record)
    }

    pub(super) fn word(&self, region: Region, record: u32, at: usize) -> u64 {
        self.record(region, record).get(at)
    }

    pub(super) fn set(&self, region: Region, record: u32, at: usize, value: u64) {
        self.record(region, record).set(at, value);
    }

    /// Takes a tally that counted nothing yet.
    pub(super) fn take_tally(&mut self) -> Option<u32> {
        let taken = self.rooms.tallies.take()?;
        self.record(Region::Tallies, taken)
            .write(0, &[0; Region::Tallies.record_words()]);
        Some(taken)
    }

    /// Takes so many tallies, or none.
    pub(super) fn take_tallies(&mut self, count: usize) -> Option<Vec<u32>> {
        let enough = self.rooms.tallies.free() >= count;
        enough.then(|| (0..count).filter_map(|_| self.take_tally()).collect())
    }

    /// Returns what a tally has counted.
    pub(super) fn counted(&self, record: u32) -> Counted {
        let [frames, bytes, last, dropped] = self.record(Region::Tallies, record).read(0);
        Counted {
            frames,
            bytes,
            last,
            dropped,
        }
    }

    /// Writes actions, if there is room.
    pub(super) fn write_actions(&mut self, actions: &[ActionWords]) -> Option<Range> {
        let range = self.rooms.actions.take(actions.len())?;
        for (record, words) in (range.first..).zip(actions) {
            self.record(Region::Actions, record)
                .write(action::WHAT, words);
        }
        Some(range)
    }

    /// Returns whether these actions stand here.
    pub(super) fn has_actions(&self, first: u32, actions: &[ActionWords]) -> bool {
        (first..).zip(actions).all(|(record, words)| {
            self.record(Region::Actions, record).read(action::WHAT) == *words
        })
    }

    /// Lets nobody of the next generation see an entry.
    pub(super) fn retire_entry(&mut self, record: u32, mask: u32, actions: Range) {
        self.set(Region::Entries, record, entry::UNTIL, self.next());
        self.retired.entries.push((record, mask));
        self.retired.actions.push(actions);
    }

    /// Says what it takes to see whether a packet is a fragment.
    pub(super) const fn want_fragments(&mut self, needs: u64) {
        self.needs_of_fragments = needs;
    }

    fn needed(&self) -> u64 {
        self.needs.bits() | self.needs_of_fragments
    }

    /// Lets everybody see what was written, at once.
    ///
    /// # Panics
    ///
    /// If something is still to be waited for.
    pub(super) fn flip(&mut self) {
        assert!(
            self.stage == Stage::Settled,
            "an older walk may be under way"
        );
        let words = self.record(Region::Settings, 0);
        words.set(settings::NEEDS, words.get(settings::NEEDS) | self.needed());
        words.set(settings::GENERATION, self.next());
        self.generation += 1;
        self.stage = Stage::Replaced;
        self.walks.note(self.memory.words(Region::Busy));
    }

    /// Gives up what no walk can see any more; returns whether that is everything.
    pub(super) fn settle(&mut self, masks: &mut Masks) -> bool {
        if self.stage == Stage::Replaced && self.no_older_walk() {
            self.forget(masks);
            self.stage = Stage::Unlinked;
            self.walks.note(self.memory.words(Region::Busy));
        }
        if self.stage == Stage::Unlinked && (self.unlinked.is_empty() || self.no_older_walk()) {
            for record in self.unlinked.drain(..) {
                self.rooms.entries.give(record);
            }
            self.stage = Stage::Settled;
        }
        self.stage == Stage::Settled
    }

    fn no_older_walk(&self) -> bool {
        self.walks.are_over(self.memory.words(Region::Busy))
    }

    fn forget(&mut self, masks: &mut Masks) {
        let retired = std::mem::take(&mut self.retired);
        for (mask, best) in retired.lowered {
            self.set(Region::Masks, mask, mask::BEST, best);
        }
        for record in &retired.masks {
            let lines = masks.forget(*record);
            self.rooms.lines.give(lines);
            self.rooms.masks.give(*record);
        }
        for (record, mask) in retired.entries {
            masks.unlink(self, mask, record);
            self.unlinked.push(record);
        }
        self.set(Region::Settings, 0, settings::NEEDS, self.needed());
        let Rooms {
            entries: _,
            tallies,
            masks: _,
            groups,
            meters,
            lines,
            actions,
            buckets,
            bands,
        } = &mut self.rooms;
        retired.tallies.into_iter().for_each(|it| tallies.give(it));
        retired.groups.into_iter().for_each(|it| groups.give(it));
        retired.meters.into_iter().for_each(|it| meters.give(it));
        retired.lines.into_iter().for_each(|it| lines.give(it));
        retired.actions.into_iter().for_each(|it| actions.give(it));
        retired.buckets.into_iter().for_each(|it| buckets.give(it));
        retired.bands.into_iter().for_each(|it| bands.give(it));
    }

    /// Writes one of two versions: the one that nobody sees, or the first if the
    /// record is new. Returns which one it was.
    pub(super) fn write_version(
        &self,
        region: Region,
        record: u32,
        seen: Option<usize>,
        since: [usize; 2],
        write: impl FnOnce(usize, Record<'_>),
    ) -> usize {
        let version = seen.map_or(0, |seen| 1 - seen);
        let words = self.record(region, record);
        if seen.is_none() {
            words.set(since[1], NEVER);
        }
        write(version, words);
        words.set(since[version], self.next());
        version
    }
}

/// What a tally has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) last: u64,
    pub(crate) dropped: u64,
}
