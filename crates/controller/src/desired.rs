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
//!
//! A cookie (OF13 clause 7.3.4.1) says whose an entry is, in which slice of all
//! entries it is, and what is in it:
//!
//! ```text
//! | 8 bits: 0x54 | 4 bits: kind | 6 bits: slice | 14 bits: digest | 32 bits: number |
//! ```
//!
//! Kind and number are those of the subject. One slice of a switch's entries can
//! be asked for by a mask of the cookie.

mod form;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use wire::ethernet::MacAddress;
use wire::openflow::{
    Action, Cookie, DatapathId, ErrorKind, FlowModFlags, MatchField, TableId, TransactionId,
};

use crate::northbound::{ApplicationId, FlowId, IntentId};

pub use form::{Form, RulePlace, Stencil};

/// The most entries that are wanted at a time, on all switches together.
pub const MAX_RULES: usize = 1 << 22;

/// The bits of a cookie that say that an entry is one of ours.
pub const COOKIE_OURS: Cookie = Cookie(0x54 << 56);
/// Which bits those are.
pub const COOKIE_MASK_OURS: Cookie = Cookie(0xff << 56);
/// Which bits say, with those, in which slice an entry is.
pub const COOKIE_MASK_SLICE: Cookie = Cookie(0xff << 56 | 0x3f << SLICE_SHIFT);

const KIND_SHIFT: u32 = 52;
const SLICE_SHIFT: u32 = 46;
const DIGEST_SHIFT: u32 = 32;
const DIGEST_MASK: u64 = 0x3fff;
/// What entries are asked to do beside what they are for.
pub(crate) const FLAGS: FlowModFlags = FlowModFlags::SEND_FLOW_REMOVED;
/// Bit of a transaction id that marks an entry of a flow; the others name it.
const FLOW_TRANSACTION: u32 = 1 << 31;

/// Whose an entry is. The earlier is the stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The controller's: what every switch needs.
    Service,
    /// The place of a host that is known.
    KnownHost(MacAddress),
    /// An admitted flow.
    Flow(FlowId),
    /// A connectivity intent, a flow path or a match-action.
    Intent(IntentId),
    /// An application.
    Application(ApplicationId),
    /// What a host sends to all whom intents connect it with.
    Gathering(MacAddress),
    /// The proactive route to a host; without one, of what goes to all.
    Route(Option<MacAddress>),
    /// How switches take part in agreeing on a mode.
    Modes,
    /// What a flow gets at the levels of criticality.
    Levels(FlowId),
}

impl Subject {
    /// Returns the intent whose it is, if it is that of one.
    #[must_use]
    pub const fn intent(self) -> Option<IntentId> {
        match self {
            Self::Intent(id) => Some(id),
            Self::Service
            | Self::KnownHost(_)
            | Self::Flow(_)
            | Self::Gathering(_)
            | Self::Route(_)
            | Self::Modes
            | Self::Levels(_)
            | Self::Application(_) => None,
        }
    }

    /// Returns how strong it is; the lower is the stronger.
    const fn rank(self) -> u8 {
        match self {
            Self::Service => 0,
            Self::KnownHost(_) => 1,
            Self::Flow(_) => 2,
            Self::Intent(_) => 3,
            Self::Application(_) => 4,
            Self::Gathering(_) => 5,
            Self::Route(_) => 6,
            Self::Modes => 7,
            Self::Levels(_) => 8,
        }
    }

    /// Returns what a cookie says of it.
    const fn number(self) -> u32 {
        match self {
            Self::Service | Self::Modes | Self::Route(None) => 0,
            Self::KnownHost(MacAddress([_, _, a, b, c, d]))
            | Self::Gathering(MacAddress([_, _, a, b, c, d]))
            | Self::Route(Some(MacAddress([_, _, a, b, c, d]))) => u32::from_be_bytes([a, b, c, d]),
            Self::Flow(flow) | Self::Levels(flow) => flow.0,
            Self::Intent(intent) => intent.0,
            Self::Application(application) => application.0 as u32,
        }
    }

    /// Returns the transaction id of messages about its entries.
    #[must_use]
    pub const fn transaction(self) -> TransactionId {
        match self {
            Self::Flow(flow) => TransactionId(FLOW_TRANSACTION | flow.0),
            Self::Service
            | Self::KnownHost(_)
            | Self::Intent(_)
            | Self::Application(_)
            | Self::Gathering(_)
            | Self::Route(_)
            | Self::Modes
            | Self::Levels(_) => TransactionId(0),
        }
    }
}

/// Returns whether an entry with this cookie is one that is found anew from the
/// network after a restart, unlike those that the store keeps.
#[must_use]
pub fn is_derived(cookie: Cookie) -> bool {
    let none = MacAddress::ZERO;
    let derived = [
        Subject::Intent(IntentId(0)),
        Subject::Gathering(none),
        Subject::Route(None),
        Subject::Modes,
        Subject::Levels(FlowId(0)),
    ];
    let kind = cookie.0 >> KIND_SHIFT & 0xf;
    derived.iter().any(|one| u64::from(one.rank()) == kind)
}

/// Returns the flow that a FlowMod with this transaction id was for, or `None`
/// if it was for no flow.
#[must_use]
pub const fn flow_of(transaction: TransactionId) -> Option<FlowId> {
    match transaction.0 & FLOW_TRANSACTION {
        0 => None,
        _ => Some(FlowId(transaction.0 & !FLOW_TRANSACTION)),
    }
}

/// Returns the cookie of a subject's entry with this place and digest.
#[must_use]
pub fn cookie(subject: Subject, place: RulePlace, digest: u64) -> Cookie {
    let kind = u64::from(subject.rank()) << KIND_SHIFT;
    let slice = u64::from(place.slice()) << SLICE_SHIFT;
    let digest = (digest & DIGEST_MASK) << DIGEST_SHIFT;
    Cookie(COOKIE_OURS.0 | kind | slice | digest | u64::from(subject.number()))
}

/// Returns the cookie, under [`COOKIE_MASK_SLICE`], of the entries of a slice.
#[must_use]
pub const fn slice_cookie(slice: u8) -> Cookie {
    Cookie(COOKIE_OURS.0 | (slice as u64) << SLICE_SHIFT)
}

/// An entry that somebody wants a switch to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedRule {
    /// The switch.
    pub datapath: DatapathId,
    /// The table.
    pub table: TableId,
    /// Which of the entries that match a frame wins: the highest.
    pub priority: u16,
    /// Which frames.
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

    /// Returns the one form of it.
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
    /// Whose it is.
    pub subject: Subject,
    /// Its cookie.
    pub cookie: Cookie,
    /// What it is.
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
    /// Nothing.
    Nothing,
    /// Add this, or write it over what is in its place.
    Add(&'a Rule),
    /// Delete this.
    Delete(Form),
}

/// A subject that cannot have an entry, and the one that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contest {
    /// Where.
    pub datapath: DatapathId,
    /// Who cannot have it.
    pub loser: Subject,
    /// Who has it.
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
    /// It has it.
    Had(Standing),
    /// Another one has it.
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
    /// A switch refused one.
    Refused {
        /// The switch.
        datapath: DatapathId,
        /// Why.
        error: ErrorKind,
    },
    /// A switch is not connected; it gets its entries when it is.
    Away {
        /// The switch.
        datapath: DatapathId,
    },
    /// Somebody else has an entry for the same frames with the same priority.
    Contested {
        /// Where.
        datapath: DatapathId,
        /// Who.
        with: Subject,
    },
    /// There would be more than [`MAX_RULES`]; the subject has what it had.
    TooMany,
}

/// Returns the slice that an entry with this cookie is in.
#[must_use]
pub const fn slice_of(cookie: Cookie) -> u8 {
    (cookie.0 >> SLICE_SHIFT & 0x3f) as u8
}

#[cfg(test)]
mod tests;
