//! Which entries every switch should have: the desired state of all tables.
//!
//! Whoever wants entries (a flow, an intent, an application) names himself as
//! their [`Subject`] and says which ones he wants, all at once; the difference to
//! what he wanted before is what has to be sent. What is wanted is kept per
//! switch in the one form in which a switch's report can be compared with it
//! ([`Form`]).
//!
//! Two subjects may want the same entry, that is, the same frames treated with
//! the same priority. Then the stronger one has it, in the order of [`Subject`],
//! and of equals the first; the other one gets it when that one lets go.

mod form;
mod subject;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use wire::openflow::{Action, Cookie, DatapathId, ErrorKind, FlowModFlags, MatchField, TableId};

pub use form::{Form, RulePlace, Stencil};
pub use subject::{
    COOKIE_MASK_OURS, COOKIE_MASK_SLICE, COOKIE_OURS, Subject, cookie, flow_of, is_derived,
    is_guard, slice_cookie, slice_of,
};

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
    pub subject: Subject,
    pub cookie: Cookie,
    pub form: Form,
    /// Whether the switch has it.
    pub standing: Standing,
}

impl Rule {
    /// Returns an entry that is about to be sent.
    #[must_use]
    pub fn new(subject: Subject, form: Form) -> Self {
        let place = form.place();
        Self::at(place, subject, form)
    }

    /// Returns the same, of which it is known what its place is.
    fn at(place: RulePlace, subject: Subject, form: Form) -> Self {
        Self {
            subject,
            cookie: cookie(subject, place, form.digest(place)),
            form,
            standing: Standing::Sent,
        }
    }

    /// Appends a FlowMod that adds it, or writes over what is in its place.
    pub fn emit_add(&self, out: &mut Vec<u8>) {
        let transaction = self.subject.transaction();
        self.form.emit_add(self.cookie, FLAGS, transaction, out);
    }
}

/// Which entry of which switch.
pub type Spot = (DatapathId, RulePlace);

/// The entries that a subject has or is to have.
pub type Content = BTreeMap<Spot, Form>;

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
    pub loser: Subject,
    pub holder: Subject,
}

/// What one switch should have.
#[derive(Debug, Default)]
struct Table {
    rules: BTreeMap<RulePlace, Rule>,
    /// What was changed since the switch was asked what it has; `None` if it is
    /// not being asked.
    changed: Option<BTreeSet<RulePlace>>,
    /// Whether the switch is connected and was given what it lacked.
    is_synchronised: bool,
}

impl Table {
    fn note(&mut self, place: RulePlace) {
        if let Some(changed) = &mut self.changed {
            changed.insert(place);
        }
    }
}

/// What a subject wants, and how many of it are how far.
#[derive(Debug, Default)]
struct Owned {
    spots: BTreeSet<Spot>,
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
    tables: BTreeMap<DatapathId, Table>,
    /// How many of the tables are not synchronised.
    away: usize,
    owned: BTreeMap<Subject, Owned>,
    /// Those who want an entry that another one has, the first one first.
    waiting: BTreeMap<Spot, Vec<Rule>>,
    count: usize,
}

impl Desired {
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
        let table = self.tables.get(&datapath).into_iter();
        let rules = table.flat_map(move |table| table.rules.range(places.clone()));
        rules.map(|(place, rule)| (*place, rule))
    }

    /// Returns the entry that a switch should have at a place.
    #[must_use]
    pub fn get(&self, datapath: DatapathId, place: RulePlace) -> Option<&Rule> {
        self.tables.get(&datapath)?.rules.get(&place)
    }

    /// Returns how many entries a switch should have.
    #[must_use]
    pub fn count(&self, datapath: DatapathId) -> usize {
        self.tables
            .get(&datapath)
            .map_or(0, |table| table.rules.len())
    }

    /// Returns which entries a subject wants.
    pub fn of_subject(&self, subject: Subject) -> impl Iterator<Item = Spot> + '_ {
        let owned = self.owned.get(&subject).into_iter();
        owned.flat_map(|owned| &owned.spots).copied()
    }

    /// Returns whether a subject wants any entry.
    #[must_use]
    pub fn is_owner(&self, subject: Subject) -> bool {
        self.owned.contains_key(&subject)
    }

    /// Returns how far all entries of a subject are.
    #[must_use]
    pub fn progress(&self, subject: Subject) -> Progress {
        let owned = self.owned.get(&subject);
        let (sent, amiss) = owned.map_or((0, 0), |owned| (owned.sent, owned.amiss));
        match (self.away, amiss, sent) {
            (0, 0, 0) => Progress::Confirmed,
            (0, 0, _) => Progress::Pending,
            _ => Progress::Unclear,
        }
    }

    /// Notes whether a switch is connected and was given what it lacked.
    pub fn set_synchronised(&mut self, datapath: DatapathId, is_synchronised: bool) {
        let table = table_of(&mut self.tables, &mut self.away, datapath);
        match (table.is_synchronised, is_synchronised) {
            (false, true) => self.away -= 1,
            (true, false) => self.away += 1,
            (false, false) | (true, true) => {}
        }
        table.is_synchronised = is_synchronised;
    }

    /// Returns whether a switch is connected and was given what it lacked.
    #[must_use]
    pub fn is_synchronised(&self, datapath: DatapathId) -> bool {
        let table = self.tables.get(&datapath);
        table.is_some_and(|table| table.is_synchronised)
    }

    /// Forgets a switch that is away, if nobody wants an entry of it.
    pub fn forget(&mut self, datapath: DatapathId) {
        let table = self.tables.get(&datapath);
        if table.is_some_and(|table| table.rules.is_empty() && !table.is_synchronised) {
            self.tables.remove(&datapath);
            self.away -= 1;
        }
    }

    /// Returns the entries that a subject wants, whether it has them or another.
    #[must_use]
    pub fn content(&self, subject: Subject) -> Content {
        let form = |spot: Spot| {
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
        let slice = RulePlace::slice_range(slice_of(cookie));
        let mut rules = self.range(datapath, slice);
        rules.find(|(_, rule)| rule.cookie == cookie)
    }

    /// Returns whether a subject that has `before` entries could have `after`.
    #[must_use]
    pub const fn has_room(&self, before: usize, after: usize) -> bool {
        self.count + after <= MAX_RULES + before
    }

    /// Lets a subject want an entry. Returns what has to be sent for it, and who
    /// loses one by it.
    pub fn put(
        &mut self,
        subject: Subject,
        spot: Spot,
        form: Form,
    ) -> (Order<'_>, Option<Contest>) {
        let owned = self.owned.entry(subject).or_default();
        if owned.spots.insert(spot) {
            owned.sent += 1;
            self.count += 1;
        }
        self.enter(subject, spot, form)
    }

    /// Lets a subject want entries of which it wants none yet. Calls `send` with what
    /// has to be sent for each, and who loses one by it.
    pub fn put_new(
        &mut self,
        subject: Subject,
        entries: Vec<(Spot, Form)>,
        mut send: impl FnMut(Spot, Order<'_>, Option<Contest>),
    ) {
        let owned = self.owned.entry(subject).or_default();
        let before = owned.spots.len();
        owned.spots.extend(entries.iter().map(|(spot, _)| *spot));
        owned.sent += owned.spots.len() - before;
        self.count += owned.spots.len() - before;
        for (spot, form) in entries {
            let (order, contest) = self.enter(subject, spot, form);
            send(spot, order, contest);
        }
    }

    /// Enters what a subject wants, which is counted as sent if it is new.
    fn enter(&mut self, subject: Subject, spot: Spot, form: Form) -> (Order<'_>, Option<Contest>) {
        let (datapath, place) = spot;
        let table = table_of(&mut self.tables, &mut self.away, datapath);
        table.note(place);
        let rule = Rule::at(place, subject, form);
        let slot = match table.rules.entry(place) {
            Entry::Vacant(free) => return (Order::Add(free.insert(rule)), None),
            Entry::Occupied(slot) => slot.into_mut(),
        };
        let holder = slot.subject;
        let held = Fate::Had(slot.standing);
        if holder == subject {
            if slot.form == rule.form {
                return (Order::Nothing, None);
            }
            shift(&mut self.owned, subject, held, Fate::Had(Standing::Sent));
            *slot = rule;
            return (Order::Add(slot), None);
        }
        let waiting = self.waiting.entry(spot).or_default();
        let others = waiting.len();
        waiting.retain(|other| other.subject != subject);
        let was_waiting = waiting.len() < others;
        let is_stronger = subject.rank() < holder.rank();
        let (loser, holder) = match is_stronger {
            true => (holder, subject),
            false => (subject, holder),
        };
        let contest = Contest {
            datapath,
            loser,
            holder,
        };
        if !is_stronger {
            waiting.push(rule);
            if !was_waiting {
                let new = Fate::Had(Standing::Sent);
                shift(&mut self.owned, subject, new, Fate::Lost);
            }
            return (Order::Nothing, Some(contest));
        }
        shift(&mut self.owned, loser, held, Fate::Lost);
        waiting.push(std::mem::replace(slot, rule));
        (Order::Add(slot), Some(contest))
    }

    /// Lets a subject want an entry no longer. Returns what has to be sent for
    /// it: another one may have waited for its place.
    pub fn take(&mut self, subject: Subject, spot: Spot) -> Order<'_> {
        if !self.disown(subject, spot) {
            return Order::Nothing;
        }
        self.forget_waiting(subject, spot);
        let (datapath, place) = spot;
        let Some(table) = self.tables.get_mut(&datapath) else {
            return Order::Nothing;
        };
        let Entry::Occupied(mut slot) = table.rules.entry(place) else {
            return Order::Nothing;
        };
        if slot.get().subject != subject {
            return Order::Nothing;
        }
        if let Some(changed) = &mut table.changed {
            changed.insert(place);
        }
        match take_strongest(&mut self.waiting, spot) {
            Some(next) => {
                let entered = Fate::Had(next.standing);
                shift(&mut self.owned, next.subject, Fate::Lost, entered);
                slot.insert(next);
                Order::Add(slot.into_mut())
            }
            None => Order::Delete(slot.remove().form),
        }
    }

    /// Notes that a switch has an entry, or has refused it.
    pub fn set_standing(&mut self, (datapath, place): Spot, standing: Standing) {
        let table = self.tables.get_mut(&datapath);
        if let Some(rule) = table.and_then(|table| table.rules.get_mut(&place)) {
            let (before, after) = (Fate::Had(rule.standing), Fate::Had(standing));
            shift(&mut self.owned, rule.subject, before, after);
            rule.standing = standing;
        }
    }

    /// Notes that a switch has an entry that was sent, and returns whether that is
    /// new. One that is away may have lost it.
    pub fn confirm(&mut self, (datapath, place): Spot) -> bool {
        let table = self.tables.get_mut(&datapath);
        let Some(table) = table.filter(|table| table.is_synchronised) else {
            return false;
        };
        let rule = table.rules.get_mut(&place);
        let Some(rule) = rule.filter(|rule| rule.standing == Standing::Sent) else {
            return false;
        };
        let (before, after) = (Fate::Had(Standing::Sent), Fate::Had(Standing::Confirmed));
        shift(&mut self.owned, rule.subject, before, after);
        rule.standing = Standing::Confirmed;
        true
    }

    /// Begins to note what is changed on a switch.
    pub fn watch(&mut self, datapath: DatapathId) {
        let table = table_of(&mut self.tables, &mut self.away, datapath);
        table.changed = Some(BTreeSet::new());
    }

    /// Returns what was changed on a switch since [`watch`](Self::watch).
    pub fn unwatch(&mut self, datapath: DatapathId) -> BTreeSet<RulePlace> {
        let table = self.tables.get_mut(&datapath);
        let changed = table.and_then(|table| table.changed.take());
        changed.unwrap_or_default()
    }

    /// Counts an entry no longer that a subject wanted; returns whether it did.
    fn disown(&mut self, subject: Subject, spot: Spot) -> bool {
        let present = self.get(spot.0, spot.1);
        let own = present.filter(|rule| rule.subject == subject);
        let fate = own.map_or(Fate::Lost, |rule| Fate::Had(rule.standing));
        let Some(owned) = self.owned.get_mut(&subject) else {
            return false;
        };
        if !owned.spots.remove(&spot) {
            return false;
        }
        self.count -= 1;
        if let Some(count) = owned.count(fate) {
            *count -= 1;
        }
        if owned.spots.is_empty() {
            self.owned.remove(&subject);
        }
        true
    }

    fn forget_waiting(&mut self, subject: Subject, spot: Spot) {
        if let Some(waiting) = self.waiting.get_mut(&spot) {
            waiting.retain(|rule| rule.subject != subject);
            if waiting.is_empty() {
                self.waiting.remove(&spot);
            }
        }
    }
}

/// Returns the table of a switch; one that is new is away.
fn table_of<'a>(
    tables: &'a mut BTreeMap<DatapathId, Table>,
    away: &mut usize,
    datapath: DatapathId,
) -> &'a mut Table {
    tables.entry(datapath).or_insert_with(|| {
        *away += 1;
        Table::default()
    })
}

/// Counts that the fate of an entry of a subject has changed.
fn shift(owned: &mut BTreeMap<Subject, Owned>, subject: Subject, before: Fate, after: Fate) {
    if let Some(owned) = owned.get_mut(&subject) {
        if let Some(count) = owned.count(before) {
            *count -= 1;
        }
        if let Some(count) = owned.count(after) {
            *count += 1;
        }
    }
}

/// Takes the strongest, and of equals the first, of those that wait for an
/// entry.
fn take_strongest(waiting: &mut BTreeMap<Spot, Vec<Rule>>, spot: Spot) -> Option<Rule> {
    let rules = waiting.get_mut(&spot)?;
    let place = (0..rules.len()).min_by_key(|place| rules[*place].subject.rank())?;
    let rule = rules.remove(place);
    if rules.is_empty() {
        waiting.remove(&spot);
    }
    Some(rule)
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
    Contested { datapath: DatapathId, with: Subject },
    /// There would be more than [`MAX_RULES`]; the subject has what it had.
    TooMany,
}

#[cfg(test)]
mod tests;
