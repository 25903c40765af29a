//! Which entries every switch should have: the desired state of all tables.
//!
//! Whoever wants entries (a flow, an intent, an application) names himself as
//! their [`EntryOwner`] and says which ones he wants, all at once; the difference to
//! what he wanted before is what has to be sent. What is wanted is kept per
//! switch in the one form in which a switch's report can be compared with it
//! ([`Form`]).
//!
//! Two subjects may want the same entry, that is, the same frames treated with
//! the same priority. Then the stronger one has it, in the order of [`EntryOwner`],
//! and of equals the first; the other one gets it when that one lets go.
//!
//! Changes that are sent to a switch are numbered. A barrier covers all up to the number
//! that was the last when it was sent, and its answer confirms them in that order, by
//! their numbers and without a search: but for what was refused or written over, or was
//! under way when the connection was lost.

mod confirmed;
mod entry_owner;
mod form;
mod table;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::ops::RangeInclusive;

use wire::openflow::{Action, Cookie, DatapathId, ErrorKind, FlowModFlags, MatchField, TableId};

use crate::slab::Slab;

pub use entry_owner::{
    COOKIE_MASK_OURS, COOKIE_MASK_SLICE, COOKIE_OURS, EntryOwner, cookie, flow_of, is_derived,
    is_guard, is_of_peering, is_of_routes, slice_cookie, slice_of,
};
pub use form::{Form, MatchShape, RulePlace, Stencil};
pub use table::DigestSums;
use table::{Connection, SentRef, Table};

/// The most entries that are wanted at a time, on all switches together.
pub const MAX_RULES: usize = 1 << 22;

/// What entries are asked to do beside what they are for.
pub(crate) const FLAGS: FlowModFlags = FlowModFlags::SEND_FLOW_REMOVED;

/// An entry that somebody wants a switch to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedRule {
    pub datapath: DatapathId,
    pub table: TableId,
    /// Which of the entries that match a frame wins: the highest.
    pub priority: u16,
    pub matching: Vec<MatchField>,
    /// What is done with them, in this order; they are discarded if that is
    /// nothing.
    pub actions: Vec<Action>,
}

impl PlacedRule {
    /// Returns which entry of its switch it is.
    #[must_use]
    pub fn place(&self) -> RulePlace {
        self.form().place()
    }

    #[must_use]
    pub fn form(&self) -> Form {
        Form::new(self.table, self.priority, &self.matching, &self.actions)
    }
}

/// Whether a switch has an entry that it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was sent, or will be when the switch is connected.
    Sent,
    /// The switch has confirmed it.
    Confirmed,
    /// The switch has refused it.
    Refused,
}

/// An entry that a switch should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub subject: EntryOwner,
    pub cookie: Cookie,
    pub form: Form,
    /// Whether the switch has it.
    pub standing: Standing,
    /// The number of the message that brings it, while no barrier behind that was
    /// answered.
    message: Option<NonZeroU64>,
    owner: u32,
}

impl Rule {
    /// Returns whether it was sent and no barrier behind it was answered.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        self.message.is_some()
    }

    /// Appends a FlowMod that adds it, or writes over what is in its place.
    pub fn emit_add(&self, out: &mut Vec<u8>) {
        let transaction = self.subject.transaction();
        self.form.emit_add(self.cookie, FLAGS, transaction, out);
    }
}

/// Which entry of which switch.
pub type RuleKey = (DatapathId, RulePlace);

/// The entries that a subject has or is to have.
pub type Content = BTreeMap<RuleKey, Form>;

/// What has to be sent to a switch for a change of what it should have.
#[derive(Debug, PartialEq, Eq)]
pub enum Order<'a> {
    Nothing,
    /// Add this, or write it over what is in its place.
    Add(&'a Rule),
    Delete(Form),
}

/// A subject that cannot have an entry, and the one that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contest {
    pub datapath: DatapathId,
    pub loser: EntryOwner,
    pub holder: EntryOwner,
}

/// What a subject wants, and how many of it are how far.
#[derive(Debug)]
struct Owned {
    subject: EntryOwner,
    spots: BTreeSet<RuleKey>,
    /// Those that were sent and not confirmed.
    sent: usize,
    /// Those that were refused, or that another subject has.
    amiss: usize,
}

impl Owned {
    fn count(&mut self, fate: Fate) -> Option<&mut usize> {
        match fate {
            Fate::Had(Standing::Sent) => Some(&mut self.sent),
            Fate::Had(Standing::Refused) | Fate::Lost => Some(&mut self.amiss),
            Fate::Had(Standing::Confirmed) => None,
        }
    }

    const fn progress(&self, away: usize) -> Progress {
        match (away, self.amiss, self.sent) {
            (0, 0, 0) => Progress::Confirmed,
            (0, 0, _) => Progress::Pending,
            _ => Progress::Unclear,
        }
    }
}

/// What has become of an entry that a subject wants.
#[derive(Clone, Copy)]
enum Fate {
    Had(Standing),
    Lost,
}

/// How far all entries of a subject are, as far as that is known without a look at
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All are confirmed, and no switch is away.
    Confirmed,
    /// Some are not confirmed yet; nothing else is wrong.
    Pending,
    /// Something is wrong with one of them, or some switch is away.
    Unclear,
}

/// The desired state of all tables.
#[derive(Debug, Default)]
pub struct Desired {
    tables: Slab<Table>,
    by_datapath: BTreeMap<DatapathId, u32>,
    /// How many of the tables are not synchronised.
    away: usize,
    owned: Slab<Owned>,
    by_subject: BTreeMap<EntryOwner, u32>,
    /// Those who want an entry that another one has, the first one first.
    waiting: BTreeMap<RuleKey, Vec<Rule>>,
    count: usize,
}

impl Desired {
    fn table(&self, datapath: DatapathId) -> Option<&Table> {
        self.tables.get(*self.by_datapath.get(&datapath)?)
    }

    fn table_mut(&mut self, datapath: DatapathId) -> Option<&mut Table> {
        self.tables.get_mut(*self.by_datapath.get(&datapath)?)
    }

    fn owned(&self, subject: EntryOwner) -> Option<&Owned> {
        self.owned.get(*self.by_subject.get(&subject)?)
    }

    /// Returns the entries that a switch should have, by place.
    pub fn of_switch(&self, datapath: DatapathId) -> impl Iterator<Item = (RulePlace, &Rule)> {
        self.range(datapath, RulePlace::ALL)
    }

    /// Returns those of the entries that a switch should have whose places are
    /// within `places`.
    pub fn range(
        &self,
        datapath: DatapathId,
        places: RangeInclusive<RulePlace>,
    ) -> impl Iterator<Item = (RulePlace, &Rule)> {
        let table = self.table(datapath).into_iter();
        table.flat_map(move |table| {
            let places = table.places.range(places.clone());
            places.filter_map(|(place, at)| Some((*place, table.rules.get(*at)?)))
        })
    }

    /// Returns the entry that a switch should have at a place.
    #[must_use]
    pub fn get(&self, datapath: DatapathId, place: RulePlace) -> Option<&Rule> {
        let table = self.table(datapath)?;
        table.rules.get(*table.places.get(&place)?)
    }

    /// Returns the entries of intents and applications at a switch that have the priority of
    /// another one and may be for the same frames. Where all look at the same fields as that
    /// one, it is the one at its place.
    pub fn rivals<'a>(
        &'a self,
        datapath: DatapathId,
        form: &Form,
    ) -> impl Iterator<Item = &'a Rule> + use<'a> {
        let (place, priority) = (form.place(), form.priority());
        let table = self.table(datapath);
        let is_scanned = table.is_some_and(|table| table.totals.shapes.has_beside(form.shape()));
        let places = match is_scanned {
            true => RulePlace::ALL,
            false => place..=place,
        };
        let rules = self.range(datapath, places).map(|(_, rule)| rule);
        rules.filter(move |rule| rule.subject.may_conflict() && rule.form.priority() == priority)
    }

    /// Returns how many entries a switch should have.
    #[must_use]
    pub fn count(&self, datapath: DatapathId) -> usize {
        self.table(datapath).map_or(0, |table| table.places.len())
    }

    /// Returns which entries a subject wants.
    pub fn of_subject(&self, subject: EntryOwner) -> impl Iterator<Item = RuleKey> + '_ {
        let owned = self.owned(subject).into_iter();
        owned.flat_map(|owned| &owned.spots).copied()
    }

    /// Returns whether a subject wants any entry.
    #[must_use]
    pub fn is_owner(&self, subject: EntryOwner) -> bool {
        self.by_subject.contains_key(&subject)
    }

    /// Returns how far all entries of a subject are.
    #[must_use]
    pub fn progress(&self, subject: EntryOwner) -> Progress {
        match self.owned(subject) {
            Some(owned) => owned.progress(self.away),
            None if self.away == 0 => Progress::Confirmed,
            None => Progress::Unclear,
        }
    }

    /// Returns the entries that a subject wants, whether it has them or another.
    #[must_use]
    pub fn content(&self, subject: EntryOwner) -> Content {
        let form = |spot: RuleKey| {
            let present = self.get(spot.0, spot.1);
            let own = present.filter(|rule| rule.subject == subject).or_else(|| {
                let mut waiting = self.waiting.get(&spot)?.iter();
                waiting.find(|rule| rule.subject == subject)
            })?;
            Some((spot, own.form.clone()))
        };
        self.of_subject(subject).filter_map(form).collect()
    }

    /// Returns where the entry with a cookie is, and the entry.
    #[must_use]
    pub fn by_cookie(&self, datapath: DatapathId, cookie: Cookie) -> Option<(RulePlace, &Rule)> {
        let is_it = |(_, rule): &(RulePlace, &Rule)| rule.cookie == cookie;
        let Some(subject) = EntryOwner::of_cookie(cookie) else {
            let slice = RulePlace::slice_range(slice_of(cookie));
            return self.range(datapath, slice).find(is_it);
        };
        let (first, last) = RulePlace::ALL.into_inner();
        let spots = &self.owned(subject)?.spots;
        let spots = spots.range((datapath, first)..=(datapath, last));
        let mut rules = spots.filter_map(|(_, place)| Some((*place, self.get(datapath, *place)?)));
        rules.find(is_it)
    }

    /// Returns whether a subject that has `before` entries could have `after`.
    #[must_use]
    pub const fn has_room(&self, before: usize, after: usize) -> bool {
        self.count + after <= MAX_RULES + before
    }

    /// Lets a subject want an entry. Returns what has to be sent for it, and is counted
    /// as sent if the switch is there; and who loses one by it.
    pub fn put(
        &mut self,
        subject: EntryOwner,
        spot: RuleKey,
        form: Form,
    ) -> (Order<'_>, Option<Contest>) {
        self.put_new(subject, spot, form, true)
    }

    /// Lets a subject want an entry that it was given already.
    pub fn record(&mut self, subject: EntryOwner, spot: RuleKey, form: Form) {
        self.put_new(subject, spot, form, false);
    }

    fn put_new(
        &mut self,
        subject: EntryOwner,
        spot: RuleKey,
        form: Form,
        is_sent: bool,
    ) -> (Order<'_>, Option<Contest>) {
        let owner = self.owner_at(subject);
        if let Some(owned) = self.owned.get_mut(owner)
            && owned.spots.insert(spot)
        {
            owned.sent += 1;
            self.count += 1;
        }
        let table = self.table_at(spot.0);
        self.enter((owner, subject), (table, spot), form, is_sent)
    }

    /// Lets a subject want several entries. Calls `send` with what has to be sent for
    /// each, and who loses one by it.
    pub fn put_all(
        &mut self,
        subject: EntryOwner,
        entries: impl IntoIterator<Item = (RuleKey, Form)>,
        mut send: impl FnMut(RuleKey, Order<'_>, Option<Contest>),
    ) {
        for (spot, form) in entries {
            let (order, contest) = self.put(subject, spot, form);
            send(spot, order, contest);
        }
    }

    /// Enters what a subject wants, which is counted as sent if it is new.
    fn enter(
        &mut self,
        (owner, subject): (u32, EntryOwner),
        (at, spot): (u32, RuleKey),
        form: Form,
        is_sent: bool,
    ) -> (Order<'_>, Option<Contest>) {
        let (datapath, place) = spot;
        let contest = |loser, holder| {
            Some(Contest {
                datapath,
                loser,
                holder,
            })
        };
        let Some(table) = self.tables.get_mut(at) else {
            return (Order::Nothing, None);
        };
        table.note(place);
        let mut rule = Rule {
            subject,
            cookie: cookie(subject, place, form.digest(place)),
            form,
            standing: Standing::Sent,
            message: None,
            owner,
        };
        let number = match table.places.entry(place) {
            Entry::Vacant(free) => {
                table.totals.add(&rule);
                let number = *free.insert(table.rules.insert(rule));
                return (table.order(number, place, is_sent), None);
            }
            Entry::Occupied(slot) => *slot.get(),
        };
        let Some(present) = table.rules.get_mut(number) else {
            return (Order::Nothing, None);
        };
        let (holder, held) = (present.subject, Fate::Had(present.standing));
        if holder == subject {
            if present.form == rule.form {
                return (Order::Nothing, None);
            }
            shift(&mut self.owned, owner, held, Fate::Had(Standing::Sent));
            table.totals.remove(present);
            table.totals.add(&rule);
            *present = rule;
            return (table.order(number, place, is_sent), None);
        }
        let waiting = self.waiting.entry(spot).or_default();
        let others = waiting.len();
        waiting.retain(|other| other.subject != subject);
        let was_waiting = waiting.len() < others;
        if subject.rank() >= holder.rank() {
            waiting.push(rule);
            if !was_waiting {
                let sent = Fate::Had(Standing::Sent);
                shift(&mut self.owned, owner, sent, Fate::Lost);
            }
            return (Order::Nothing, contest(subject, holder));
        }
        shift(&mut self.owned, present.owner, held, Fate::Lost);
        table.totals.remove(present);
        table.totals.add(&rule);
        std::mem::swap(present, &mut rule);
        waiting.push(rule);
        let order = table.order(number, place, is_sent);
        (order, contest(holder, subject))
    }

    /// Lets a subject want an entry no longer. Returns what has to be sent for
    /// it: another one may have waited for its place.
    pub fn take(&mut self, subject: EntryOwner, spot: RuleKey) -> Order<'_> {
        if !self.disown(subject, spot) {
            return Order::Nothing;
        }
        self.forget_waiting(subject, spot);
        let (datapath, place) = spot;
        let present = self.get(datapath, place);
        if present.is_none_or(|present| present.subject != subject) {
            return Order::Nothing;
        }
        let next = take_strongest(&mut self.waiting, spot);
        if let Some(next) = &next {
            shift(
                &mut self.owned,
                next.owner,
                Fate::Lost,
                Fate::Had(Standing::Sent),
            );
        }
        let Some(table) = self.table_mut(datapath) else {
            return Order::Nothing;
        };
        table.note(place);
        table.send(SentRef::Loss(subject));
        let Some(next) = next else {
            let number = table.places.remove(&place);
            let gone = number.and_then(|number| table.rules.remove(number));
            return gone.map_or(Order::Nothing, |gone| {
                table.totals.remove(&gone);
                Order::Delete(gone.form)
            });
        };
        let Some(number) = table.places.get(&place).copied() else {
            return Order::Nothing;
        };
        if let Some(present) = table.rules.get_mut(number) {
            table.totals.remove(present);
            table.totals.add(&next);
            *present = next;
        }
        table.order(number, place, true)
    }

    /// Counts an entry no longer that a subject wanted; returns whether it did.
    fn disown(&mut self, subject: EntryOwner, spot: RuleKey) -> bool {
        let present = self.get(spot.0, spot.1);
        let own = present.filter(|rule| rule.subject == subject);
        let fate = own.map_or(Fate::Lost, |rule| Fate::Had(rule.standing));
        let Some(at) = self.by_subject.get(&subject).copied() else {
            return false;
        };
        let owned = self.owned.get_mut(at);
        let Some(owned) = owned.filter(|owned| owned.spots.contains(&spot)) else {
            return false;
        };
        owned.spots.remove(&spot);
        self.count -= 1;
        if let Some(count) = owned.count(fate) {
            *count -= 1;
        }
        if owned.spots.is_empty() {
            self.owned.remove(at);
            self.by_subject.remove(&subject);
        }
        true
    }

    /// Returns the number of a subject's account; a new one if it had none.
    fn owner_at(&mut self, subject: EntryOwner) -> u32 {
        let owned = &mut self.owned;
        let open = || {
            owned.insert(Owned {
                subject,
                spots: BTreeSet::new(),
                sent: 0,
                amiss: 0,
            })
        };
        *self.by_subject.entry(subject).or_insert_with(open)
    }

    /// Returns the number of a switch's table; one that is new is away.
    fn table_at(&mut self, datapath: DatapathId) -> u32 {
        let (tables, away) = (&mut self.tables, &mut self.away);
        let open = || {
            *away += 1;
            tables.insert(Table::default())
        };
        *self.by_datapath.entry(datapath).or_insert_with(open)
    }

    fn rule_mut(
        &mut self,
        datapath: DatapathId,
        place: RulePlace,
    ) -> Option<(&mut Rule, &mut Slab<Owned>)> {
        let table = self.tables.get_mut(*self.by_datapath.get(&datapath)?)?;
        let rule = table.rules.get_mut(*table.places.get(&place)?)?;
        Some((rule, &mut self.owned))
    }

    fn forget_waiting(&mut self, subject: EntryOwner, spot: RuleKey) {
        if let Some(waiting) = self.waiting.get_mut(&spot) {
            waiting.retain(|rule| rule.subject != subject);
            if waiting.is_empty() {
                self.waiting.remove(&spot);
            }
        }
    }
}

/// Counts that the fate of an entry of a subject has changed.
fn shift(owned: &mut Slab<Owned>, owner: u32, before: Fate, after: Fate) {
    if let Some(owned) = owned.get_mut(owner) {
        if let Some(count) = owned.count(before) {
            *count -= 1;
        }
        if let Some(count) = owned.count(after) {
            *count += 1;
        }
    }
}

/// Takes the strongest, and of equals the first, of those that wait for an
/// entry. Whatever it was before, it is sent anew.
fn take_strongest(waiting: &mut BTreeMap<RuleKey, Vec<Rule>>, spot: RuleKey) -> Option<Rule> {
    let rules = waiting.get_mut(&spot)?;
    let place = (0..rules.len()).min_by_key(|place| rules[*place].subject.rank())?;
    let rule = rules.remove(place);
    if rules.is_empty() {
        waiting.remove(&spot);
    }
    let standing = Standing::Sent;
    Some(Rule { standing, ..rule })
}

/// What became of the entries of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All switches have confirmed them.
    Confirmed,
    Refused {
        datapath: DatapathId,
        error: ErrorKind,
    },
    /// A switch is not connected; it gets its entries when it is.
    Away { datapath: DatapathId },
    /// Somebody else has an entry for the same frames with the same priority.
    Contested {
        datapath: DatapathId,
        with: EntryOwner,
    },
    /// There would be more than [`MAX_RULES`]; the subject has what it had.
    TooMany,
}

#[cfg(test)]
mod tests;
