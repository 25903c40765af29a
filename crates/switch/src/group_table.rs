//! The groups of a switch: which ones there are, who uses whom, and which of
//! them are alive. OF13 clauses 5.6, 6.5 and 7.3.4.2.
//!
//! A group is compiled when a controller sends it: its buckets lie one after
//! the other, so do the actions of all its buckets, already in the order in
//! which an action set is executed, and groups and ports are named by their
//! places. What a frame does in a group is in [`group_walk`](crate::group_walk).
//!
//! A group may use other groups, [`CHAIN_MAX`] deep; a change that would make a
//! group use itself is refused. A bucket that watches a group uses it in this
//! sense, since its liveness hangs on the other's.
//!
//! A bucket is alive if the port or the group that it watches is, and always if
//! it watches nothing; a group is alive if one of its buckets is. Whether a port
//! is live is looked at when a frame comes. Whether a group is alive is kept, and
//! found anew when a link or a group changes.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use units::Instant;
use wire::openflow::{GroupId, GroupModFailed, GroupType};

use crate::action::Action;
use crate::counters::Tally;
use crate::port::{Port, PortIndex};

/// How many groups deep a frame goes: a group, one that it uses, and so on.
pub(crate) const CHAIN_MAX: u8 = 8;

/// How many buckets a group can have so that what they did fits one message.
const BUCKETS_TOLD_MAX: usize = 2048;
/// How many bytes of buckets fit a description of a group.
const WRITTEN_BYTES_MAX: usize = 0xffff - 24;

/// The place of a group in the group table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupIndex(pub(crate) u32);

impl GroupIndex {
    pub(crate) fn at(self) -> usize {
        usize::try_from(self.0).expect("32 bits fit")
    }
}

/// What a bucket watches. With both, one of them is enough to be alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) port: Option<PortIndex>,
    pub(crate) group: Option<GroupIndex>,
}

/// One bucket of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Where its actions begin among those of the group.
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// Its weight and that of all buckets before it.
    pub(crate) shares_up_to: u32,
    pub(crate) share: u32,
    /// How many copies of a frame it makes at most.
    pub(crate) copies: u32,
    pub(crate) watch: Watch,
    pub(crate) tally: Tally,
}

/// A group as a controller wants it, checked and compiled.
#[derive(Clone, Debug)]
pub(crate) struct GroupConfig {
    pub(crate) id: GroupId,
    pub(crate) kind: GroupType,
    pub(crate) buckets: Box<[Bucket]>,
    pub(crate) actions: Box<[Action]>,
    /// The buckets as the controller wrote them.
    pub(crate) written: Box<[u8]>,
}

impl Bucket {
    /// Returns where its actions lie among those of the group.
    pub(crate) fn actions(&self) -> Range<usize> {
        let at = |place: u32| usize::try_from(place).expect("32 bits fit");
        at(self.first)..at(self.end)
    }
}

impl GroupConfig {
    /// Returns the groups that frames go on to, each once.
    fn uses(&self) -> Box<[GroupIndex]> {
        let used = self.actions.iter().filter_map(Action::group);
        distinct(used)
    }

    /// Returns the groups that it watches, each once.
    fn watches(&self) -> Box<[GroupIndex]> {
        distinct(self.buckets.iter().filter_map(|bucket| bucket.watch.group))
    }
}

fn distinct(groups: impl Iterator<Item = GroupIndex>) -> Box<[GroupIndex]> {
    let mut all: Vec<_> = groups.collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) config: GroupConfig,
    pub(crate) tally: Tally,
    pub(crate) created: Instant,
    /// Since which change of the table the group is there.
    pub(crate) added: u64,
    /// Since which change of the table it has this configuration.
    pub(crate) changed: u64,
    /// Whether a bucket is alive; kept while somebody watches.
    live: bool,
    /// How many groups deep a frame goes from here, this one included.
    height: u8,
    /// The groups that its buckets send frames on to.
    uses: Box<[GroupIndex]>,
    /// The groups that its buckets watch.
    watches: Box<[GroupIndex]>,
    /// How many entries send frames here.
    entries: u32,
    /// How many groups send frames here.
    users: u32,
    /// How many groups watch this one.
    watchers: u32,
}

impl Group {
    fn new(now: Instant, config: GroupConfig, change: u64) -> Self {
        Self {
            added: change,
            changed: change,
            uses: config.uses(),
            watches: config.watches(),
            config,
            tally: Tally::default(),
            created: now,
            live: true,
            height: 1,
            entries: 0,
            users: 0,
            watchers: 0,
        }
    }

    /// Returns how many entries and groups send frames here, OF13 clause 5.8.
    pub(crate) const fn references(&self) -> u32 {
        self.entries + self.users
    }

    /// Returns how many entries send frames here.
    pub(crate) const fn entries(&self) -> u32 {
        self.entries
    }

    /// Returns whether a bucket is alive; always, while nobody watches anything.
    pub(crate) const fn is_live(&self) -> bool {
        self.live
    }

    /// Returns how many groups deep a frame goes from here, this one included.
    pub(crate) const fn height(&self) -> u8 {
        self.height
    }

    /// Returns the groups that its buckets send frames on to.
    pub(crate) fn uses(&self) -> &[GroupIndex] {
        &self.uses
    }

    /// Returns whether another group needs this one.
    pub(crate) const fn is_chained(&self) -> bool {
        self.users + self.watchers > 0
    }

    /// Returns what the group depends on.
    fn below(&self) -> impl Iterator<Item = GroupIndex> {
        self.uses.iter().chain(&self.watches).copied()
    }
}

/// The groups of a switch.
#[derive(Clone, Debug)]
pub(crate) struct GroupTable {
    capacity: usize,
    buckets_max: usize,
    slots: Vec<Option<Group>>,
    free: Vec<GroupIndex>,
    numbers: BTreeMap<GroupId, GroupIndex>,
    /// How many times a group watches another one.
    watched: u32,
    /// How many changes there were.
    count: u64,
    /// Kept only if somebody asks for them.
    changes: Option<GroupChanges>,
}

/// What was changed since somebody asked last.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupChanges {
    /// The groups that were added, changed or removed; some may be there twice.
    pub(crate) groups: Vec<GroupIndex>,
    /// Whether groups came to life or died.
    pub(crate) lives: bool,
}

impl GroupChanges {
    /// Returns whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.groups.is_empty() && !self.lives
    }
}

impl GroupTable {
    /// Returns a table for `capacity` groups.
    ///
    /// # Panics
    ///
    /// If a group is to have more buckets than a message can tell about.
    pub(crate) fn new(capacity: usize, buckets_max: usize) -> Self {
        assert!(
            buckets_max <= BUCKETS_TOLD_MAX,
            "a group has at most {BUCKETS_TOLD_MAX} buckets"
        );
        Self {
            capacity,
            buckets_max,
            slots: Vec::new(),
            free: Vec::new(),
            numbers: BTreeMap::new(),
            watched: 0,
            count: 0,
            changes: None,
        }
    }

    /// Notes what is changed from now on.
    pub(crate) fn note_changes(&mut self) {
        self.changes = Some(GroupChanges {
            groups: self.numbers.values().copied().collect(),
            lives: true,
        });
    }

    /// Returns what was changed since somebody took note of it last.
    pub(crate) const fn changes(&self) -> Option<&GroupChanges> {
        self.changes.as_ref()
    }

    /// Takes note of what was changed.
    pub(crate) fn take_changes(&mut self) -> GroupChanges {
        let noted = self.changes.as_mut();
        noted.map(std::mem::take).unwrap_or_default()
    }

    fn note_change(&mut self, index: GroupIndex) {
        if let Some(changes) = &mut self.changes {
            changes.groups.push(index);
        }
    }

    /// Returns every group with its place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (GroupIndex, &Group)> {
        let places = self.numbers.values();
        places.map(|index| (*index, self.group(*index)))
    }

    /// Returns the group in a place, if there is one.
    pub(crate) fn get(&self, index: GroupIndex) -> Option<&Group> {
        self.slots.get(index.at())?.as_ref()
    }

    /// Returns how many groups there can be.
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns how many buckets a group can have.
    pub(crate) const fn buckets_max(&self) -> usize {
        self.buckets_max
    }

    /// Returns the group with this number.
    pub(crate) fn find(&self, id: GroupId) -> Option<GroupIndex> {
        self.numbers.get(&id).copied()
    }

    /// Returns how many entries send frames to the group with this number, or to
    /// any if it stands for all.
    pub(crate) fn entries_of(&self, id: GroupId) -> u32 {
        match id {
            GroupId::ALL => self
                .iter_within(GroupId(0)..=GroupId::MAX)
                .map(Group::entries)
                .sum(),
            id => self.find(id).map_or(0, |index| self.group(index).entries()),
        }
    }

    /// Returns the groups with these numbers, in order.
    pub(crate) fn iter_within(
        &self,
        numbers: RangeInclusive<GroupId>,
    ) -> impl Iterator<Item = &Group> {
        let places = self.numbers.range(numbers);
        places.map(|(_, index)| self.group(*index))
    }

    pub(crate) fn group(&self, index: GroupIndex) -> &Group {
        let slot = self.slots[index.at()].as_ref();
        slot.expect("a place is given up after all who name it")
    }

    pub(crate) fn group_mut(&mut self, index: GroupIndex) -> &mut Group {
        let slot = self.slots[index.at()].as_mut();
        slot.expect("a place is given up after all who name it")
    }

    /// Returns whether frames may go through a bucket.
    #[inline]
    pub(crate) fn is_live(&self, bucket: &Bucket, ports: &[Port]) -> bool {
        match (bucket.watch.port, bucket.watch.group) {
            (None, None) => true,
            (port, group) => {
                port.is_some_and(|port| ports[port.at()].is_live())
                    || group.is_some_and(|group| self.group(group).live)
            }
        }
    }

    /// Adds a group.
    ///
    /// # Errors
    ///
    /// If it is there already, there is no room, or the chain is too long.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        config: GroupConfig,
        ports: &[Port],
    ) -> Result<(), GroupModFailed> {
        if self.numbers.contains_key(&config.id) {
            return Err(GroupModFailed::GroupExists);
        }
        self.check_buckets(&config)?;
        if self.numbers.len() >= self.capacity {
            return Err(GroupModFailed::OutOfGroups);
        }
        self.count += 1;
        let mut group = Group::new(now, config, self.count);
        group.height = self.height_over(&group)?;
        let index = self.free.pop().unwrap_or_else(|| {
            let at = u32::try_from(self.slots.len()).expect("the capacity is below 2^32");
            self.slots.push(None);
            GroupIndex(at)
        });
        self.numbers.insert(group.config.id, index);
        self.slots[index.at()] = Some(group);
        self.note_change(index);
        self.hold_below(index);
        self.find_live(ports);
        Ok(())
    }

    /// Gives a group a new configuration. What it counted goes on, what its
    /// buckets counted begins anew.
    ///
    /// # Errors
    ///
    /// If there is no such group, too many buckets, the chain would be too long,
    /// or the group would use itself.
    pub(crate) fn modify(
        &mut self,
        config: GroupConfig,
        ports: &[Port],
    ) -> Result<(), GroupModFailed> {
        let index = self.find(config.id).ok_or(GroupModFailed::UnknownGroup)?;
        self.check_buckets(&config)?;
        self.count += 1;
        let old = self.group(index);
        let new = Group {
            tally: old.tally,
            added: old.added,
            entries: old.entries,
            users: old.users,
            watchers: old.watchers,
            ..Group::new(old.created, config, self.count)
        };
        if self.reaches(&new, index) {
            return Err(GroupModFailed::Loop);
        }
        let height = self.height_over(&new)?;
        let heights = match old.is_chained() {
            true => self.heights_with(index, &new)?,
            false => Vec::new(),
        };
        self.release_below(index);
        *self.group_mut(index) = Group { height, ..new };
        self.note_change(index);
        self.hold_below(index);
        for (at, height) in (0..).map(GroupIndex).zip(heights) {
            if let Some(group) = &mut self.slots[at.at()]
                && group.height != height
            {
                group.height = height;
                self.note_change(at);
            }
        }
        self.find_live(ports);
        Ok(())
    }

    /// Removes a group that no entry uses any more.
    ///
    /// # Errors
    ///
    /// If another group uses or watches it.
    pub(crate) fn remove(
        &mut self,
        index: GroupIndex,
        ports: &[Port],
    ) -> Result<(), GroupModFailed> {
        if self.group(index).is_chained() {
            return Err(GroupModFailed::ChainedGroup);
        }
        self.release_below(index);
        let id = self.group(index).config.id;
        self.numbers.remove(&id);
        self.slots[index.at()] = None;
        self.free.push(index);
        self.note_change(index);
        self.find_live(ports);
        Ok(())
    }

    /// Removes all groups, which no entry uses any more.
    pub(crate) fn clear(&mut self) {
        let all: Vec<_> = self.numbers.values().copied().collect();
        all.into_iter().for_each(|index| self.note_change(index));
        *self = Self {
            count: self.count,
            changes: self.changes.take(),
            ..Self::new(self.capacity, self.buckets_max)
        };
    }

    /// Counts an entry that sends frames to a group.
    pub(crate) fn hold(&mut self, index: GroupIndex) {
        self.group_mut(index).entries += 1;
    }

    /// Counts an entry that sends frames to a group no more.
    pub(crate) fn release(&mut self, index: GroupIndex) {
        self.group_mut(index).entries -= 1;
    }

    /// Finds out which groups are alive, after a port or a group changed. The
    /// groups that stand lowest are judged first: others hang on them.
    pub(crate) fn find_live(&mut self, ports: &[Port]) {
        if self.watched == 0 {
            return;
        }
        for height in 1..=CHAIN_MAX {
            for at in 0..self.slots.len() {
                let Some(group) = self.slots[at].as_ref().filter(|it| it.height == height) else {
                    continue;
                };
                let mut buckets = group.config.buckets.iter();
                let live = buckets.any(|bucket| self.is_live(bucket, ports));
                if let Some(group) = &mut self.slots[at]
                    && group.live != live
                {
                    group.live = live;
                    if let Some(changes) = &mut self.changes {
                        changes.lives = true;
                    }
                }
            }
        }
    }

    fn check_buckets(&self, config: &GroupConfig) -> Result<(), GroupModFailed> {
        let many = config.buckets.len() > self.buckets_max;
        match many || config.written.len() > WRITTEN_BYTES_MAX {
            true => Err(GroupModFailed::OutOfBuckets),
            false => Ok(()),
        }
    }

    /// Returns how high a group stands on those that it depends on.
    fn height_over(&self, group: &Group) -> Result<u8, GroupModFailed> {
        let below = group.below().map(|below| self.group(below).height);
        match below.max().unwrap_or(0) {
            CHAIN_MAX.. => Err(GroupModFailed::ChainingUnsupported),
            height => Ok(height + 1),
        }
    }

    /// Returns how high every group stands once `index` is `new`. Every round
    /// gets one level right, so there are at most [`CHAIN_MAX`].
    fn heights_with(&self, index: GroupIndex, new: &Group) -> Result<Vec<u8>, GroupModFailed> {
        let mut heights = vec![1; self.slots.len()];
        loop {
            let mut settled = true;
            for (at, slot) in self.slots.iter().enumerate() {
                let group = match at == index.at() {
                    true => Some(new),
                    false => slot.as_ref(),
                };
                let below = group.into_iter().flat_map(Group::below);
                let height = below.map(|it| heights[it.at()]).max().unwrap_or(0) + 1;
                settled &= height == heights[at];
                heights[at] = height;
                if height > CHAIN_MAX {
                    return Err(GroupModFailed::ChainingUnsupported);
                }
            }
            if settled {
                return Ok(heights);
            }
        }
    }

    /// Returns whether `from` depends on `wanted`, however indirectly.
    fn reaches(&self, from: &Group, wanted: GroupIndex) -> bool {
        let mut seen = vec![false; self.slots.len()];
        let mut next: Vec<_> = from.below().collect();
        while let Some(index) = next.pop() {
            if index == wanted {
                return true;
            }
            if !std::mem::replace(&mut seen[index.at()], true) {
                next.extend(self.group(index).below());
            }
        }
        false
    }

    /// Notes that others are used by the group at `index`.
    fn hold_below(&mut self, index: GroupIndex) {
        let (uses, watches) = self.dependencies(index);
        for used in uses {
            self.group_mut(used).users += 1;
        }
        for watched in watches {
            self.group_mut(watched).watchers += 1;
            self.watched += 1;
        }
    }

    /// Notes that others are no longer used by the group at `index`.
    fn release_below(&mut self, index: GroupIndex) {
        let (uses, watches) = self.dependencies(index);
        for used in uses {
            self.group_mut(used).users -= 1;
        }
        for watched in watches {
            self.group_mut(watched).watchers -= 1;
            self.watched -= 1;
        }
    }

    fn dependencies(&self, index: GroupIndex) -> (Box<[GroupIndex]>, Box<[GroupIndex]>) {
        let group = self.group(index);
        (group.uses.clone(), group.watches.clone())
    }
}
