//! The groups as records.
//!
//! A group keeps its record for as long as it is there; entries name it by that.
//! What it is has two versions, so that a change is seen at once.

use super::layout::{Region, bucket, group, limit};
use super::memory::Record;
use super::needs;
use super::operations::{ActionWords, Places, words_of};
use super::room::Range;
use super::store::{Counted, Store};
use crate::group_table::{Bucket, Group, GroupIndex, GroupTable};
use wire::openflow::taktos::CoreReason as Reason;

#[derive(Debug, Default)]
pub(super) struct GroupForms {
    /// By place in the group table.
    forms: Vec<Option<GroupForm>>,
    /// Those that wait for room.
    waiting: Vec<GroupIndex>,
    /// Whether some may have come to life or died.
    lives_changed: bool,
}

#[derive(Debug)]
struct GroupForm {
    added: u64,
    record: u32,
    tally: u32,
    written: Option<Written>,
}

/// What walks see of a group.
#[derive(Debug, Default)]
struct Written {
    changed: u64,
    version: usize,
    buckets: Range,
    actions: Range,
    tallies: Vec<u32>,
    needs: u64,
    reason: Option<Reason>,
}

impl GroupForms {
    pub(super) fn record(&self, index: GroupIndex) -> Option<u32> {
        self.form(index).map(|form| form.record)
    }

    /// Returns the records of all groups, by place in the group table.
    pub(super) fn records(&self) -> Vec<Option<u32>> {
        let forms = self.forms.iter();
        let records = forms.map(|form| form.as_ref().map(|form| form.record));
        records.collect()
    }

    /// Returns why frames that come to a group go to the core, other groups that it
    /// leads to apart.
    pub(super) fn reason(&self, index: GroupIndex) -> Option<Reason> {
        match self.form(index) {
            Some(form) => form.written.as_ref().and_then(|written| written.reason),
            None => Some(Reason::Room),
        }
    }

    /// Returns what others counted for a group.
    pub(super) fn counted(&self, store: &Store, index: GroupIndex, added: u64) -> Option<Counted> {
        let form = self.form(index).filter(|form| form.added == added)?;
        Some(store.counted(form.tally))
    }

    /// Returns what others counted for a bucket of a group.
    pub(super) fn counted_bucket(
        &self,
        store: &Store,
        index: GroupIndex,
        changed: u64,
        bucket: usize,
    ) -> Option<Counted> {
        let written = self.form(index)?.written.as_ref();
        let written = written.filter(|written| written.changed == changed)?;
        written
            .tallies
            .get(bucket)
            .map(|tally| store.counted(*tally))
    }

    /// Gives every group that is new a record, and takes those of others back.
    /// Returns the groups to be written.
    pub(super) fn place(
        &mut self,
        groups: &mut GroupTable,
        all: bool,
        store: &mut Store,
    ) -> Vec<GroupIndex> {
        let changes = groups.take_changes();
        self.lives_changed |= changes.lives || !changes.groups.is_empty();
        let mut changed = changes.groups;
        changed.append(&mut self.waiting);
        if all {
            changed.extend(groups.iter().map(|(index, _)| index));
        }
        changed.sort_unstable();
        changed.dedup();
        for index in &changed {
            if self.forms.len() <= index.at() {
                self.forms.resize_with(index.at() + 1, || None);
            }
            let added = groups.get(*index).map(|group| group.added);
            let form = &mut self.forms[index.at()];
            if form.as_ref().is_some_and(|form| Some(form.added) != added) {
                form.take().expect("it was looked at").retire(store);
            }
            if let Some(added) = added
                && form.is_none()
            {
                *form = GroupForm::new(added, store);
            }
        }
        changed
    }

    pub(super) fn write(
        &mut self,
        changed: Vec<GroupIndex>,
        groups: &GroupTable,
        store: &mut Store,
        places: &impl Places,
    ) {
        for index in changed {
            let form = self.forms[index.at()].as_mut();
            if let (Some(form), Some(group)) = (form, groups.get(index)) {
                form.write(group, store, places);
                if form.written.as_ref().is_some_and(Written::lacks_room) {
                    self.waiting.push(index);
                }
            }
        }
    }

    /// Writes which groups are alive, if that may have changed.
    pub(super) fn write_lives(&mut self, groups: &GroupTable, store: &Store) {
        if !std::mem::take(&mut self.lives_changed) {
            return;
        }
        for (index, group) in groups.iter() {
            if let Some(form) = self.form(index) {
                let live = u64::from(group.is_live());
                store.set(Region::Groups, form.record, group::LIVE, live);
            }
        }
    }

    fn form(&self, index: GroupIndex) -> Option<&GroupForm> {
        self.forms.get(index.at())?.as_ref()
    }
}

impl GroupForm {
    /// Returns a group of which nothing is written yet, if there is room.
    fn new(added: u64, store: &mut Store) -> Option<Self> {
        let record = store.rooms.groups.take()?;
        let Some(tally) = store.take_tally() else {
            store.rooms.groups.give(record);
            return None;
        };
        Some(Self {
            added,
            record,
            tally,
            written: None,
        })
    }

    fn retire(self, store: &mut Store) {
        store.retired.groups.push(self.record);
        store.retired.tallies.push(self.tally);
        if let Some(written) = self.written {
            store.retired.tallies.extend(&written.tallies);
            written.retire(store);
        }
    }

    fn write(&mut self, group: &Group, store: &mut Store, places: &impl Places) {
        let old = self.written.take().unwrap_or_default();
        let seen = (old.changed > 0).then_some(old.version);
        let mut new = Written {
            changed: group.changed,
            ..Written::default()
        };
        if old.changed == group.changed {
            new.tallies.clone_from(&old.tallies);
        } else {
            store.retired.tallies.extend(&old.tallies);
        }
        old.retire(store);
        new.reason = new.put(group, store, places).err();
        new.version = self.write_version(group, &new, seen, store);
        self.written = Some(new);
    }

    fn write_version(
        &self,
        group: &Group,
        new: &Written,
        seen: Option<usize>,
        store: &Store,
    ) -> usize {
        let to_core = match new.reason {
            Some(_) => group::TO_CORE,
            None => 0,
        };
        let head = u64::from(group.config.kind.number())
            | to_core
            | u64::from(new.buckets.count) << 16
            | u64::from(new.buckets.first) << 32;
        let shares = group.config.buckets.last().map_or(0, |it| it.shares_up_to);
        let shares = u64::from(shares) | u64::from(self.tally) << 32;
        let number = u64::from(group.config.id.0);
        let write = |version: usize, words: Record<'_>| {
            words.write(group::VERSIONS[version], &[head, shares, number]);
        };
        store.write_version(Region::Groups, self.record, seen, group::SINCE, write)
    }
}

impl Written {
    fn lacks_room(&self) -> bool {
        self.reason == Some(Reason::Room)
    }

    /// Gives up what the group consists of, but for the tallies of its buckets.
    fn retire(self, store: &mut Store) {
        store.needs.remove(self.needs);
        store.retired.buckets.push(self.buckets);
        store.retired.actions.push(self.actions);
    }

    /// Writes what the group consists of, unless the core handles it.
    fn put(
        &mut self,
        group: &Group,
        store: &mut Store,
        places: &impl Places,
    ) -> Result<(), Reason> {
        let config = &group.config;
        if usize::from(group.height()) > limit::LEVELS {
            return Err(Reason::Chain);
        }
        let longest = config.buckets.iter().map(|bucket| bucket.actions().len());
        if longest.max().unwrap_or(0) > limit::ACTIONS {
            return Err(Reason::Actions);
        }
        let words = config.actions.iter().map(|it| words_of(*it, places));
        let actions = words.collect::<Result<Vec<ActionWords>, _>>()?;
        let watched = config.buckets.iter().map(|it| watches(it, places));
        let watched = watched.collect::<Result<Vec<_>, _>>()?;
        if self.tallies.len() != config.buckets.len() {
            let tallies = store.take_tallies(config.buckets.len());
            self.tallies = tallies.ok_or(Reason::Room)?;
        }
        self.buckets = store
            .rooms
            .buckets
            .take(watched.len())
            .ok_or(Reason::Room)?;
        let Some(actions) = store.write_actions(&actions) else {
            store.rooms.buckets.give(std::mem::take(&mut self.buckets));
            return Err(Reason::Room);
        };
        self.actions = actions;
        self.needs = needs::of_group(config);
        store.needs.add(self.needs);
        for (record, (bucket, watched)) in
            (self.buckets.first..).zip(config.buckets.iter().zip(watched))
        {
            let tally =
                self.tallies[usize::try_from(record - self.buckets.first).expect("32 bits fit")];
            write_bucket(store, record, bucket, watched, actions.first, tally);
        }
        Ok(())
    }
}

/// What a bucket watches: bits, and the word for it.
fn watches(bucket: &Bucket, places: &impl Places) -> Result<(u64, u64), Reason> {
    let (mut bits, mut word) = (0, 0);
    if let Some(port) = bucket.watch.port {
        bits |= bucket::WATCHES_PORT;
        word |= u64::from(port.0);
    }
    if let Some(group) = bucket.watch.group {
        bits |= bucket::WATCHES_GROUP;
        word |= u64::from(places.group(group).ok_or(Reason::Group)?) << 32;
    }
    Ok((bits, word))
}

fn write_bucket(
    store: &Store,
    record: u32,
    bucket: &Bucket,
    (bits, watched): (u64, u64),
    first_action: u32,
    tally: u32,
) {
    let (first, count) = (first_action + bucket.first, bucket.end - bucket.first);
    let words = store.record(Region::Buckets, record);
    let set = |at: usize, value: u64| words.set(at, value);
    set(
        bucket::ACTIONS,
        u64::from(first) | u64::from(count) << 32 | bits << 48,
    );
    set(bucket::WATCHES, watched);
    set(
        bucket::SHARE,
        u64::from(bucket.share) | u64::from(bucket.shares_up_to) << 32,
    );
    set(
        bucket::TALLY,
        u64::from(tally) | u64::from(bucket.copies) << 32,
    );
}
