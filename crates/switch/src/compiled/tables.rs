//! The flow tables as records: what changed since the last generation, and only
//! that.
//!
//! An entry that is changed gets a new record beside the old one and keeps its
//! tally. A table whose entries do not all fit is left to the core as a whole, so
//! that no frame meets a part of it, until there is a chance that they do.

use super::layout::{NEVER, Region, entry, limit, mask, table};
use super::masks::{Masks, NoRoom};
use super::needs;
use super::operations::{ActionWords, Places, monitor_place, words_of};
use super::room::Range;
use super::store::{Counted, Store};
use crate::action::{Action, Program};
use crate::entry::Entry;
use crate::flow_table::{EntryIndex, FlowTable, Rank};
use crate::meter_table::MeterIndex;
use wire::openflow::taktos::CoreReason as Reason;

/// How many words from [`entry::APPLY`] on an entry has.
const WORDS: usize = entry::INDEX + 1 - entry::APPLY;
const NOWHERE: u32 = u32::MAX;

pub(super) trait EntryPlaces: Places {
    /// Returns the record of a meter.
    fn meter(&self, meter: MeterIndex) -> Option<u32>;
}

#[derive(Debug)]
pub(super) struct TableForm {
    number: u32,
    entries: Vec<Option<EntryForm>>,
    /// All masks of entries, best first once all is written.
    masks: Vec<u32>,
    /// What walks see of the masks, and which version.
    shown: Option<Shown>,
    left: Option<Left>,
    /// Entries that got a tally since somebody asked.
    tallied: Vec<EntryIndex>,
}

#[derive(Debug)]
struct Shown {
    version: usize,
    head: u64,
    masks: Vec<u32>,
}

#[derive(Debug)]
struct EntryForm {
    rank: Rank,
    tally: u32,
    needs: u64,
    reason: Option<Reason>,
    /// Where it stands, unless its table is left to the core.
    place: Option<EntryPlace>,
}

#[derive(Clone, Copy, Debug)]
struct EntryPlace {
    record: u32,
    mask: u32,
    actions: Range,
}

/// Why and when a table was left to the core.
#[derive(Clone, Copy, Debug)]
struct Left {
    reason: Reason,
    /// How many entries it had.
    entries: usize,
    /// Whether it may fit as soon as what was replaced is given up.
    transient: bool,
}

/// An entry in words, but for where its actions stand.
#[derive(Debug, Default)]
pub(super) struct Draft {
    apply: usize,
    actions: Vec<ActionWords>,
    flags: u64,
    next: u64,
    meter: u64,
    metadata: [u64; 2],
    monitor: u64,
    index: u64,
    needs: u64,
    reason: Option<Reason>,
}

impl Draft {
    /// Puts an entry into words.
    fn write(&mut self, index: EntryIndex, entry: &Entry, places: &impl EntryPlaces) {
        self.index = u64::from(index.0);
        let program = &entry.program;
        let of_rule = needs::of_rule(&entry.rule);
        self.actions.clear();
        self.reason = self.put_actions(program, places).err();
        self.flags = match program.clear {
            true => entry::CLEARS,
            false => 0,
        };
        self.next = program.goto.map_or(entry::LAST, |next| u64::from(next.0));
        let change = program.metadata;
        self.metadata = change.map_or([0; 2], |change| [change.value, change.mask]);
        self.needs =
            of_rule | needs::of_actions(&program.apply) | needs::of_actions(&program.write);
        if self.reason.is_some() {
            (self.apply, self.meter, self.monitor) = (0, 0, 0);
            self.actions.clear();
            self.flags |= entry::TO_CORE;
            self.needs = of_rule;
        }
    }

    fn put_actions(&mut self, program: &Program, places: &impl EntryPlaces) -> Result<(), Reason> {
        self.meter = match program.meter {
            None => 0,
            Some(meter) => u64::from(places.meter(meter).ok_or(Reason::Meter)?) + 1,
        };
        let apply = self.put_monitor(&program.apply, places)?;
        self.apply = apply.len();
        for list in [apply, &program.write] {
            if list.len() > limit::ACTIONS {
                return Err(Reason::Actions);
            }
            for action in list {
                self.actions.push(words_of(*action, places)?);
            }
        }
        Ok(())
    }

    /// Puts the first action into the entry itself if it shows the frame to a monitor, and
    /// returns the others: most frames that are watched need no record more for it.
    fn put_monitor<'a>(
        &mut self,
        actions: &'a [Action],
        places: &impl EntryPlaces,
    ) -> Result<&'a [Action], Reason> {
        self.monitor = 0;
        match actions {
            [Action::FlowMonitor(monitor), others @ ..] => {
                self.monitor = u64::from(monitor_place(*monitor, places)?) + 1;
                Ok(others)
            }
            _ => Ok(actions),
        }
    }

    /// Returns the words from [`entry::APPLY`] on.
    fn words(&self, actions: Range, tally: u32) -> [u64; WORDS] {
        let count = |count: usize| u64::try_from(count).expect("64 bits suffice");
        let (first, apply) = (u64::from(actions.first), count(self.apply));
        let write = count(self.actions.len()) - apply;
        [
            first | apply << 32 | self.flags << 48,
            (first + apply) | write << 32 | self.next << 48,
            self.meter | u64::from(tally) << 32,
            self.metadata[0],
            self.metadata[1],
            self.monitor,
            self.index,
        ]
    }
}

impl TableForm {
    pub(super) const fn new(number: u32) -> Self {
        Self {
            number,
            entries: Vec::new(),
            masks: Vec::new(),
            shown: None,
            left: None,
            tallied: Vec::new(),
        }
    }

    /// Returns what others counted for an entry of this rank.
    pub(super) fn counted(&self, store: &Store, index: EntryIndex, rank: Rank) -> Option<Counted> {
        let form = self.entries.get(index.at())?.as_ref();
        let form = form.filter(|form| form.rank == rank)?;
        Some(store.counted(form.tally))
    }

    /// Returns which tally counts for an entry of this rank.
    pub(super) fn tally(&self, index: EntryIndex, rank: Rank) -> Option<u32> {
        let form = self.entries.get(index.at())?.as_ref();
        form.filter(|form| form.rank == rank).map(|form| form.tally)
    }

    /// Returns the entries that got a tally since this was asked last.
    pub(super) fn take_tallied(&mut self) -> Vec<EntryIndex> {
        std::mem::take(&mut self.tallied)
    }

    /// Returns why frames that meet an entry go to the core.
    pub(super) fn reason_of(&self, index: EntryIndex) -> Option<Reason> {
        let form = self.entries.get(index.at()).and_then(Option::as_ref);
        self.reason().or_else(|| form.and_then(|form| form.reason))
    }

    /// Returns why frames that come to this table go to the core.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.left.map(|left| left.reason)
    }

    /// Returns whether the table may fit as soon as what was replaced is given up.
    pub(super) fn may_return(&self) -> bool {
        self.left.is_some_and(|left| left.transient)
    }

    /// Writes what changed; `all` if every entry may have to be written anew.
    pub(super) fn update(
        &mut self,
        flows: &mut FlowTable,
        all: bool,
        store: &mut Store,
        masks: &mut Masks,
        places: &impl EntryPlaces,
        draft: &mut Draft,
    ) {
        let mut changes = flows.take_changes();
        if changes.anew {
            (0..self.entries.len()).for_each(|at| self.remove(at, store));
        }
        if self.left.is_some() && !self.may_fit(flows) {
            return self.forget_dead(flows, &changes.entries, store);
        }
        let returns = self.left.take().is_some();
        if changes.anew || all || returns {
            let end = self.entries.len().max(flows.end().at());
            let end = u32::try_from(end).expect("the capacity is below 2^32");
            changes.entries = (0..end).map(EntryIndex).collect();
        }
        changes.entries.sort_unstable();
        changes.entries.dedup();
        let alone = returns && store.retired.entries.is_empty();
        let written = self.write_entries(flows, &changes.entries, store, masks, places, draft);
        if let Err(reason) = written {
            self.leave(flows, reason, alone, store);
        }
        let listed = match self.left {
            Some(_) => Vec::new(),
            None => self.ranked_masks(flows, store, masks),
        };
        self.show(listed, store);
    }

    fn write_entries(
        &mut self,
        flows: &FlowTable,
        changed: &[EntryIndex],
        store: &mut Store,
        masks: &mut Masks,
        places: &impl EntryPlaces,
        draft: &mut Draft,
    ) -> Result<(), Reason> {
        if flows.masks() > limit::MASKS {
            return Err(Reason::Masks);
        }
        for &index in changed {
            let current = flows.ranked_entry(index);
            let known = self.entries.get(index.at()).and_then(Option::as_ref);
            if let Some(form) = known
                && current.is_none_or(|(rank, _)| rank != form.rank)
            {
                self.remove(index.at(), store);
            }
            if current.is_some() && !flows.is_met(index) {
                // It would stand where many of its like stand, for nothing.
                self.retire(index.at(), store);
                continue;
            }
            if let Some((rank, entry)) = current {
                draft.write(index, entry, places);
                let written = self.write_entry(index, rank, entry, draft, store, masks);
                written.map_err(|NoRoom| Reason::Room)?;
            }
        }
        Ok(())
    }

    /// Writes an entry, unless it stands there already.
    fn write_entry(
        &mut self,
        index: EntryIndex,
        rank: Rank,
        entry: &Entry,
        draft: &Draft,
        store: &mut Store,
        masks: &mut Masks,
    ) -> Result<(), NoRoom> {
        if self.entries.len() <= index.at() {
            self.entries.resize_with(index.at() + 1, || None);
        }
        let known = self.entries[index.at()].as_ref();
        if known.is_some_and(|form| form.stands(draft, store)) {
            return Ok(());
        }
        let tally = match known {
            Some(form) => form.tally,
            None => {
                self.tallied.push(index);
                store.take_tally().ok_or(NoRoom)?
            }
        };
        self.retire(index.at(), store);
        let form = self.entries[index.at()].insert(EntryForm {
            rank,
            tally,
            needs: 0,
            reason: None,
            place: None,
        });
        let actions = store.write_actions(&draft.actions).ok_or(NoRoom)?;
        let Some(record) = store.rooms.entries.take() else {
            store.rooms.actions.give(actions);
            return Err(NoRoom);
        };
        let place = form.place.insert(EntryPlace {
            record,
            mask: NOWHERE,
            actions,
        });
        (form.needs, form.reason) = (draft.needs, draft.reason);
        store.needs.add(draft.needs);
        fill(store, record, rank, entry, &draft.words(actions, tally));
        let key = &entry.rule.mask;
        let known = self.masks.iter().find(|mask| masks.key(**mask) == key);
        let mask = match known {
            Some(mask) => *mask,
            None => {
                let mask = masks.make(store, *key)?;
                self.masks.push(mask);
                mask
            }
        };
        place.mask = mask;
        masks.link(store, mask, record)
    }

    /// Lets nobody see an entry any more, and gives its tally up.
    fn remove(&mut self, at: usize, store: &mut Store) {
        self.retire(at, store);
        if let Some(form) = self.entries[at].take() {
            store.retired.tallies.push(form.tally);
        }
    }

    /// Lets nobody see an entry any more.
    fn retire(&mut self, at: usize, store: &mut Store) {
        if let Some(Some(form)) = self.entries.get_mut(at)
            && let Some(place) = form.place.take()
        {
            store.needs.remove(std::mem::take(&mut form.needs));
            store.retire_entry(place.record, place.mask, place.actions);
        }
    }

    /// Leaves the table to the core.
    fn leave(&mut self, flows: &FlowTable, reason: Reason, alone: bool, store: &mut Store) {
        (0..self.entries.len()).for_each(|at| self.retire(at, store));
        let all: Vec<_> = (0..).map(EntryIndex).take(self.entries.len()).collect();
        self.forget_dead(flows, &all, store);
        self.left = Some(Left {
            reason,
            entries: flows.len(),
            transient: reason == Reason::Room && !alone,
        });
    }

    /// Gives up the tallies of entries that are there no more.
    fn forget_dead(&mut self, flows: &FlowTable, changed: &[EntryIndex], store: &mut Store) {
        for index in changed {
            let known = self.entries.get(index.at()).and_then(Option::as_ref);
            let rank = flows.ranked_entry(*index).map(|(rank, _)| rank);
            if known.is_some_and(|form| Some(form.rank) != rank) {
                self.remove(index.at(), store);
            }
        }
    }

    /// Returns whether a table that was left to the core may fit again.
    fn may_fit(&self, flows: &FlowTable) -> bool {
        self.left
            .is_none_or(|left| match left.reason == Reason::Masks {
                true => flows.masks() <= limit::MASKS,
                false => left.transient || flows.len() * 4 <= left.entries * 3,
            })
    }

    /// Returns whether walks see anything of the table.
    pub(super) const fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Removes everything: the table is there no more.
    pub(super) fn clear(&mut self, store: &mut Store) {
        if !self.entries.is_empty() || self.left.is_some() {
            (0..self.entries.len()).for_each(|at| self.remove(at, store));
            self.entries.clear();
            self.left = None;
            self.show(Vec::new(), store);
        }
    }

    /// Returns the masks of all entries, best first, and says how good they are.
    fn ranked_masks(&self, flows: &FlowTable, store: &mut Store, masks: &Masks) -> Vec<u32> {
        let mut ranked = Vec::with_capacity(self.masks.len());
        for (at, (key, best)) in flows.ranked_masks().enumerate() {
            let there = self.masks.get(at).filter(|mask| masks.key(**mask) == key);
            let found = there.or_else(|| self.masks.iter().find(|it| masks.key(**it) == key));
            let mask = *found.expect("the masks of all entries were made");
            set_best(store, mask, best.0);
            ranked.push(mask);
        }
        ranked
    }

    /// Shows which masks there are, if that changed.
    fn show(&mut self, listed: Vec<u32>, store: &mut Store) {
        for mask in self.masks.drain(..) {
            if !listed.contains(&mask) {
                store.retired.masks.push(mask);
            }
        }
        let head = u64::try_from(listed.len()).expect("at most 64")
            | if self.left.is_some() {
                table::TO_CORE
            } else {
                0
            };
        self.masks.clone_from(&listed);
        let shown = self.shown.as_ref();
        if shown.is_some_and(|shown| shown.head == head && shown.masks == listed) {
            return;
        }
        let seen = shown.map(|shown| shown.version);
        let version = store.write_version(
            Region::Tables,
            self.number,
            seen,
            table::SINCE,
            |version, words| {
                words.set(table::HEAD[version], head);
                for (word, four) in (table::MASKS[version]..).zip(listed.chunks(4)) {
                    let parts = four.iter().rev();
                    let all = parts.fold(0, |all, mask| all << 16 | u64::from(*mask));
                    words.set(word, all);
                }
            },
        );
        self.shown = Some(Shown {
            version,
            head,
            masks: listed,
        });
    }
}

impl EntryForm {
    /// Returns whether just this stands in the entry's record.
    fn stands(&self, draft: &Draft, store: &Store) -> bool {
        self.place.is_some_and(|place| {
            let there = store.record(Region::Entries, place.record);
            self.reason == draft.reason
                && there.read(entry::APPLY) == draft.words(place.actions, self.tally)
                && store.has_actions(place.actions.first, &draft.actions)
        })
    }
}

/// Writes the record of an entry that the next generation sees.
fn fill(store: &Store, record: u32, rank: Rank, entry: &Entry, words: &[u64; WORDS]) {
    let there = store.record(Region::Entries, record);
    // Whoever came here by a place that is given up sees nothing.
    there.set(entry::SINCE, NEVER);
    there.set(entry::RANK, rank.0);
    there.write(entry::VALUE, entry.rule.value.words());
    there.write(entry::APPLY, words);
    there.set(entry::UNTIL, NEVER);
    there.set(entry::SINCE, store.next());
}

/// Lets a mask promise no less than its best entry; and no more, once nobody sees
/// a better one.
fn set_best(store: &mut Store, mask: u32, best: u64) {
    let promised = store.word(Region::Masks, mask, mask::BEST);
    if promised < best {
        store.set(Region::Masks, mask, mask::BEST, best);
    } else if promised > best {
        store.retired.lowered.push((mask, best));
    }
}
