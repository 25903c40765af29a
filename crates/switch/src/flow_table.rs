//! One flow table: which entry does a frame match?
//!
//! Tuple-space search: entries with the same mask share a hash table
//! ([`MaskGroup`]), and a lookup asks one group after the other, the one that
//! holds the best entry first, until no group can have a better one. Its cost
//! is bounded by the number of distinct masks, which [`FlowTable::new`] limits,
//! and does not depend on the number of entries.
//!
//! Of two matching entries the one with the higher priority wins; between equal
//! priorities, where OF13 clause 6.4 leaves the choice open, the older one.

use std::collections::BTreeMap;

use wire::openflow::taktos::{CookieClass, DigestSum};

use crate::action::Program;
use crate::cost::{Shape, Shapes};
use crate::entry::Entry;
use crate::mask_group::{MaskGroup, TooCrowded};
use crate::packet_key::PacketKey;

/// The number of an entry within its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryIndex(pub(crate) u32);

impl EntryIndex {
    pub(crate) fn at(self) -> usize {
        usize::try_from(self.0).expect("32 bits fit")
    }
}

/// Which of two matching entries wins: the greater. Priority first, then age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(pub(crate) u64);

impl Rank {
    const AGE_BITS: u32 = 48;

    /// Returns what tells an entry from all others of its table, unless one of them came
    /// 2^32 flow-mods before.
    #[expect(clippy::cast_possible_truncation, reason = "a part is wanted")]
    pub(crate) const fn age(self) -> u32 {
        self.0 as u32
    }

    /// Returns the ranks of a priority, the lowest and the highest.
    fn of_priority(priority: u16) -> std::ops::RangeInclusive<Self> {
        let lowest = u64::from(priority) << Self::AGE_BITS;
        Self(lowest)..=Self(lowest | ((1 << Self::AGE_BITS) - 1))
    }

    fn new(priority: u16, arrival: u64) -> Self {
        let youngest = (1 << Self::AGE_BITS) - 1;
        assert!(arrival <= youngest, "2^48 flow-mods take years");
        Self(u64::from(priority) << Self::AGE_BITS | (youngest - arrival))
    }
}

/// What identifies an entry within its table, OF13 clause 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Rule {
    /// The value, of which only the bits of the mask are set.
    pub(crate) value: PacketKey,
    pub(crate) mask: PacketKey,
    pub(crate) priority: u16,
}

impl Rule {
    /// Returns whether every frame that `other` matches is matched by this one:
    /// what a flow-mod that is not strict selects, OF13 clause 6.4.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let bits = self.mask.words().iter().zip(other.mask.words());
        bits.clone().all(|(ours, theirs)| ours & theirs == *ours)
            && other.value.masked(&self.mask) == self.value
    }

    /// Returns whether a frame could match both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.value.masked(&other.mask) == other.value.masked(&self.mask)
    }
}

/// Why an entry was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableFull;

/// An entry that was removed, and what its age was worth.
#[derive(Debug)]
pub(crate) struct Removed {
    pub(crate) entry: Entry,
    rank: Rank,
}

/// An entry and where it stands among those with the same rule but priority.
///
/// The rank and the words of the value that most entries match on share a cache
/// line: the tables of many switches are larger than the caches.
#[derive(Debug)]
#[repr(C, align(64))]
struct Ranked {
    rank: Rank,
    /// The next lower one of the same value and mask.
    below: Option<EntryIndex>,
    entry: Entry,
    /// What the digest of its content is.
    digest: u64,
}

/// What was changed since somebody asked last.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Whether this is another table than then: its entries are others, whatever
    /// their numbers.
    pub(crate) anew: bool,
    /// The numbers of entries that were added, changed or removed, and of those that
    /// frames can meet since then, or cannot any more; some may be there twice.
    pub(crate) entries: Vec<EntryIndex>,
}

impl Changes {
    /// Returns whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        !self.anew && self.entries.is_empty()
    }
}

/// What is added up over all entries.
#[derive(Clone, Copy)]
struct Summands {
    shape: Shape,
    class: CookieClass,
    digest: u64,
}

impl Summands {
    fn new(entry: &Entry, digest: u64) -> Self {
        Self {
            shape: Shape::of(&entry.program),
            class: CookieClass::of(entry.cookie),
            digest,
        }
    }

    fn of(entry: &Entry) -> Self {
        Self::new(entry, entry.content().digest())
    }
}

#[derive(Debug)]
pub(crate) struct FlowTable {
    capacity: usize,
    masks_max: usize,
    seed: u64,
    entries: Vec<Option<Ranked>>,
    free: Vec<EntryIndex>,
    groups: Vec<MaskGroup>,
    arrivals: u64,
    shapes: Shapes,
    digests: BTreeMap<CookieClass, DigestSum>,
    /// Kept only if somebody asks for them.
    changes: Option<Box<Changes>>,
}

impl FlowTable {
    /// Returns an empty table for `capacity` entries with at most `masks_max`
    /// distinct masks, hashed with `seed`.
    pub(crate) const fn new(capacity: usize, masks_max: usize, seed: u64) -> Self {
        Self {
            capacity,
            masks_max,
            seed,
            entries: Vec::new(),
            free: Vec::new(),
            groups: Vec::new(),
            arrivals: 0,
            shapes: Shapes::new(),
            digests: BTreeMap::new(),
            changes: None,
        }
    }

    /// Returns an empty table of the same size.
    pub(crate) fn emptied(&self) -> Self {
        let mut emptied = Self::new(self.capacity, self.masks_max, self.seed);
        // Nobody takes a new entry for one of before.
        emptied.arrivals = self.arrivals;
        if self.changes.is_some() {
            emptied.note_changes();
        }
        emptied
    }

    /// Notes what is changed from now on.
    pub(crate) fn note_changes(&mut self) {
        self.changes = Some(Box::new(Changes {
            anew: true,
            entries: Vec::new(),
        }));
    }

    /// Returns what was changed since somebody took note of it last.
    pub(crate) fn changes(&self) -> Option<&Changes> {
        self.changes.as_deref()
    }

    /// Takes note of what was changed.
    pub(crate) fn take_changes(&mut self) -> Changes {
        let noted = self.changes.as_deref_mut();
        noted.map(std::mem::take).unwrap_or_default()
    }

    pub(crate) fn note_change(&mut self, index: EntryIndex) {
        if let Some(changes) = &mut self.changes {
            changes.entries.push(index);
        }
    }

    /// Returns the seed of its hash tables.
    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns how many entries there can be.
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the best entry that matches `key`.
    #[inline]
    pub(crate) fn lookup(&self, key: &PacketKey) -> Option<EntryIndex> {
        let mut best: Option<(Rank, EntryIndex)> = None;
        for group in &self.groups {
            if best.is_some_and(|(rank, _)| Some(rank) > group.best()) {
                break;
            }
            let found = group.find(key, |index| {
                group.matches(key, &self.ranked(index).entry.rule.value)
            });
            if let Some(index) = found {
                let candidate = (self.ranked(index).rank, index);
                best = best.max(Some(candidate));
            }
        }
        best.map(|(_, index)| index)
    }

    /// Returns the entry with exactly this rule.
    pub(crate) fn find(&self, rule: &Rule) -> Option<EntryIndex> {
        let group = self
            .groups
            .iter()
            .find(|group| *group.mask() == rule.mask)?;
        let mut next = self.head(group, rule);
        while let Some(index) = next {
            let ranked = self.ranked(index);
            if ranked.entry.rule.priority == rule.priority {
                return Some(index);
            }
            next = ranked.below;
        }
        None
    }

    /// Adds an entry whose rule is not in the table yet.
    ///
    /// # Errors
    ///
    /// If the table has no room for it, or no room for a further mask.
    pub(crate) fn insert(&mut self, entry: Entry) -> Result<EntryIndex, TableFull> {
        if self.len() >= self.capacity {
            return Err(TableFull);
        }
        let (rule, summands) = (entry.rule, Summands::of(&entry));
        let group = self.group_for(&rule)?;
        let rank = Rank::new(rule.priority, self.arrivals);
        let index = self.keep(Ranked {
            entry,
            rank,
            below: None,
            digest: summands.digest,
        });
        if let Err(TooCrowded) = self.link(group, index) {
            self.discard(index);
            self.drop_group_if_empty(group);
            return Err(TableFull);
        }
        self.arrivals += 1;
        self.note_change(index);
        self.add(summands);
        self.groups[group].add_rank(rank);
        self.sort_groups();
        Ok(index)
    }

    pub(crate) fn remove(&mut self, index: EntryIndex) -> Removed {
        let rule = self.entry(index).rule;
        let group = self
            .groups
            .iter()
            .position(|group| *group.mask() == rule.mask);
        let group = group.expect("every entry has a group");
        self.note_change(index);
        self.unlink(group, index);
        let Ranked {
            entry,
            rank,
            digest,
            ..
        } = self.discard(index);
        self.groups[group].remove_rank(rank);
        self.drop_group_if_empty(group);
        self.sort_groups();
        self.subtract(Summands::new(&entry, digest));
        Removed { entry, rank }
    }

    /// Puts an entry back where it was, after everything that was done since it
    /// was removed has been undone.
    pub(crate) fn put_back(&mut self, index: EntryIndex, removed: Removed) {
        let Removed { entry, rank } = removed;
        let free = self.free.iter().rposition(|free| *free == index);
        self.free
            .remove(free.expect("a number is free until it is given again"));
        let group = self.group_for(&entry.rule);
        let group = group.expect("there was room for its mask before");
        self.note_change(index);
        let summands = Summands::of(&entry);
        self.add(summands);
        self.entries[index.at()] = Some(Ranked {
            entry,
            rank,
            below: None,
            digest: summands.digest,
        });
        self.link(group, index).expect("it had a slot before");
        self.groups[group].add_rank(rank);
        self.sort_groups();
    }

    /// Puts `entry`, which has the same rule, in the place of another, and
    /// returns that.
    pub(crate) fn replace(&mut self, index: EntryIndex, entry: Entry) -> Entry {
        self.note_change(index);
        self.alter(index, |held| std::mem::replace(held, entry))
    }

    /// Gives an entry other instructions, and returns the program of those that it had.
    pub(crate) fn reprogram(
        &mut self,
        index: EntryIndex,
        program: Program,
        instructions: Box<[u8]>,
    ) -> Program {
        self.note_change(index);
        self.alter(index, |entry| {
            entry.instructions = instructions;
            std::mem::replace(&mut entry.program, program)
        })
    }

    /// Makes an entry another one, and adds up anew.
    fn alter<T>(&mut self, index: EntryIndex, change: impl FnOnce(&mut Entry) -> T) -> T {
        let ranked = self.ranked_mut(index);
        let before = Summands::new(&ranked.entry, ranked.digest);
        let old = change(&mut ranked.entry);
        let after = Summands::of(&ranked.entry);
        ranked.digest = after.digest;
        self.add(after);
        self.subtract(before);
        old
    }

    /// Returns what the entries cost, shape by shape.
    pub(crate) const fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Returns how many entries of each class there are, and the sums of their digests.
    pub(crate) const fn digests(&self) -> &BTreeMap<CookieClass, DigestSum> {
        &self.digests
    }

    fn add(&mut self, summands: Summands) {
        *self.shapes.entry(summands.shape).or_insert(0) += 1;
        let of_class = self.digests.entry(summands.class).or_default();
        of_class.add(summands.digest);
    }

    fn subtract(&mut self, summands: Summands) {
        let shapes = self.shapes.get_mut(&summands.shape);
        let shapes = shapes.expect("every entry's shape is counted");
        *shapes -= 1;
        if *shapes == 0 {
            self.shapes.remove(&summands.shape);
        }
        let of_class = self.digests.get_mut(&summands.class);
        let of_class = of_class.expect("every entry is counted in its class");
        of_class.subtract(summands.digest);
        if of_class.entries == 0 {
            self.digests.remove(&summands.class);
        }
    }

    pub(crate) fn entry(&self, index: EntryIndex) -> &Entry {
        &self.ranked(index).entry
    }

    /// Returns an entry to be changed. Its rule, its program and whatever its controller said
    /// must stay as they are.
    pub(crate) fn entry_mut(&mut self, index: EntryIndex) -> &mut Entry {
        &mut self.ranked_mut(index).entry
    }

    /// Returns the entry with this number, if there is one.
    pub(crate) fn get(&self, index: EntryIndex) -> Option<&Entry> {
        let slot = self.entries.get(index.at())?;
        slot.as_ref().map(|ranked| &ranked.entry)
    }

    /// Returns the entry with this number and its rank, which no other entry of the
    /// table has or had, if there is one.
    pub(crate) fn ranked_entry(&self, index: EntryIndex) -> Option<(Rank, &Entry)> {
        let slot = self.entries.get(index.at())?;
        slot.as_ref().map(|ranked| (ranked.rank, &ranked.entry))
    }

    /// Returns the rank of an entry.
    #[inline]
    pub(crate) fn rank(&self, index: EntryIndex) -> Rank {
        self.ranked(index).rank
    }

    /// Returns the masks of all entries, each with the best rank of an entry that
    /// has it, best first.
    pub(crate) fn ranked_masks(&self) -> impl Iterator<Item = (&PacketKey, Rank)> {
        let groups = self.groups.iter();
        groups.filter_map(|group| Some((group.mask(), group.best()?)))
    }

    /// Returns the number above those of all entries.
    pub(crate) fn end(&self) -> EntryIndex {
        EntryIndex(u32::try_from(self.entries.len()).expect("the capacity is below 2^32"))
    }

    /// Returns whether there is an entry of this priority.
    pub(crate) fn has_priority(&self, priority: u16) -> bool {
        let mut groups = self.groups.iter();
        groups.any(|group| group.has_rank(Rank::of_priority(priority)))
    }

    /// Returns every entry, by number, beginning with `first`.
    pub(crate) fn iter_from(
        &self,
        first: EntryIndex,
    ) -> impl Iterator<Item = (EntryIndex, &Entry)> {
        let slots = self.entries.iter().enumerate().skip(first.at());
        slots.filter_map(|(at, slot)| {
            let index = EntryIndex(u32::try_from(at).expect("the capacity is below 2^32"));
            slot.as_ref().map(|ranked| (index, &ranked.entry))
        })
    }

    /// Returns every entry, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EntryIndex, &Entry)> {
        self.iter_from(EntryIndex(0))
    }

    /// Returns how many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Returns how many distinct masks there are: how many hash tables a lookup
    /// asks at most.
    pub(crate) fn masks(&self) -> usize {
        self.groups.len()
    }

    fn ranked(&self, index: EntryIndex) -> &Ranked {
        let slot = self.entries[index.at()].as_ref();
        slot.expect("a number is given up with its entry")
    }

    fn ranked_mut(&mut self, index: EntryIndex) -> &mut Ranked {
        let slot = self.entries[index.at()].as_mut();
        slot.expect("a number is given up with its entry")
    }

    fn keep(&mut self, ranked: Ranked) -> EntryIndex {
        if let Some(index) = self.free.pop() {
            self.entries[index.at()] = Some(ranked);
            return index;
        }
        // All the room at once: to move the entries later would keep frames waiting.
        // Memory that is not used costs nothing.
        if self.entries.is_empty() {
            self.entries.reserve_exact(self.capacity);
            self.free.reserve_exact(self.capacity);
        }
        let index = u32::try_from(self.entries.len()).expect("the capacity is below 2^32");
        self.entries.push(Some(ranked));
        EntryIndex(index)
    }

    fn discard(&mut self, index: EntryIndex) -> Ranked {
        let slot = self.entries[index.at()].take();
        self.free.push(index);
        slot.expect("a number is given up with its entry")
    }

    fn group_for(&mut self, rule: &Rule) -> Result<usize, TableFull> {
        if let Some(at) = self
            .groups
            .iter()
            .position(|group| *group.mask() == rule.mask)
        {
            return Ok(at);
        }
        if self.groups.len() >= self.masks_max {
            return Err(TableFull);
        }
        self.groups.push(MaskGroup::new(rule.mask, self.seed));
        Ok(self.groups.len() - 1)
    }

    fn drop_group_if_empty(&mut self, group: usize) {
        if self.groups[group].best().is_none() {
            self.groups.remove(group);
        }
    }

    fn sort_groups(&mut self) {
        self.groups
            .sort_by_key(|group| std::cmp::Reverse(group.best()));
    }

    /// Returns the best entry with the value and mask of `rule`.
    /// Returns whether frames can meet an entry: none of the same value and mask
    /// ranks higher.
    pub(crate) fn is_met(&self, index: EntryIndex) -> bool {
        let rule = &self.entry(index).rule;
        let mut groups = self.groups.iter();
        let group = groups.find(|group| *group.mask() == rule.mask);
        group.and_then(|group| self.head(group, rule)) == Some(index)
    }

    fn head(&self, group: &MaskGroup, rule: &Rule) -> Option<EntryIndex> {
        group.find(&rule.value, |index| {
            self.ranked(index).entry.rule.value == rule.value
        })
    }

    /// Puts an entry into its group, below those of the same value and mask that
    /// rank higher.
    fn link(&mut self, group: usize, index: EntryIndex) -> Result<(), TooCrowded> {
        let (rule, rank) = (self.entry(index).rule, self.ranked(index).rank);
        let Some(head) = self.head(&self.groups[group], &rule) else {
            return self.groups[group].insert(&rule.value, index);
        };
        if rank > self.ranked(head).rank {
            self.note_change(head);
            self.ranked_mut(index).below = Some(head);
            self.groups[group].replace(&rule.value, head, index);
            return Ok(());
        }
        let mut above = head;
        while let Some(next) = self.ranked(above).below
            && self.ranked(next).rank > rank
        {
            above = next;
        }
        self.ranked_mut(index).below = self.ranked(above).below;
        self.ranked_mut(above).below = Some(index);
        Ok(())
    }

    fn unlink(&mut self, group: usize, index: EntryIndex) {
        let (rule, below) = (self.entry(index).rule, self.ranked(index).below);
        let head = self.head(&self.groups[group], &rule);
        let mut above = head.expect("an entry is linked");
        if above == index {
            match below {
                Some(below) => {
                    self.note_change(below);
                    self.groups[group].replace(&rule.value, index, below);
                }
                None => self.groups[group].remove(&rule.value, index),
            }
            return;
        }
        while self.ranked(above).below != Some(index) {
            above = self.ranked(above).below.expect("an entry is linked");
        }
        self.ranked_mut(above).below = below;
    }
}

#[cfg(test)]
mod tests;
