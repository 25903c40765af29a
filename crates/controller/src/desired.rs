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

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use wire::ethernet::MacAddress;
use wire::openflow::{
    Action, Cookie, DatapathId, ErrorKind, FlowModFlags, MatchField, TableId, TransactionId,
};

use crate::northbound::{ApplicationId, FlowId, IntentId};

pub use form::{Form, RulePlace};

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
}

impl Subject {
    /// Returns how strong it is; the lower is the stronger.
    const fn rank(self) -> u8 {
        match self {
            Self::Service => 0,
            Self::KnownHost(_) => 1,
            Self::Flow(_) => 2,
            Self::Intent(_) => 3,
            Self::Application(_) => 4,
        }
    }

    /// Returns what a cookie says of it.
    const fn number(self) -> u32 {
        match self {
            Self::Service => 0,
            Self::KnownHost(MacAddress([_, _, a, b, c, d])) => u32::from_be_bytes([a, b, c, d]),
            Self::Flow(flow) => flow.0,
            Self::Intent(intent) => intent.0,
            Self::Application(application) => application.0 as u32,
        }
    }

    /// Returns the transaction id of messages about its entries.
    #[must_use]
    pub const fn transaction(self) -> TransactionId {
        match self {
            Self::Flow(flow) => TransactionId(FLOW_TRANSACTION | flow.0),
            Self::Service | Self::KnownHost(_) | Self::Intent(_) | Self::Application(_) => {
                TransactionId(0)
            }
        }
    }
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

/// Returns the cookie of a subject's entry.
#[must_use]
pub fn cookie(subject: Subject, form: &Form) -> Cookie {
    let kind = u64::from(subject.rank()) << KIND_SHIFT;
    let slice = u64::from(form.place().slice()) << SLICE_SHIFT;
    let digest = (form.digest() & DIGEST_MASK) << DIGEST_SHIFT;
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

    fn form(&self) -> Form {
        Form::new(self.table, self.priority, &self.matching, &self.actions)
    }
}

/// An entry that a switch should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whose it is.
    pub subject: Subject,
    /// What it is.
    pub form: Form,
}

impl Rule {
    /// Returns its cookie.
    #[must_use]
    pub fn cookie(&self) -> Cookie {
        cookie(self.subject, &self.form)
    }

    /// Appends a FlowMod that adds it, or writes over what is in its place.
    pub fn emit_add(&self, out: &mut Vec<u8>) {
        let (cookie, transaction) = (self.cookie(), self.subject.transaction());
        self.form
            .emit_add(cookie, FlowModFlags::NONE, transaction, out);
    }

    /// Appends a FlowMod that deletes what is in its place.
    pub fn emit_delete(&self, out: &mut Vec<u8>) {
        self.form.emit_delete(self.subject.transaction(), out);
    }
}

/// Which entry of which switch.
pub type Spot = (DatapathId, RulePlace);

/// What has to be done for the tables to be what is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Difference {
    /// Entries whose place is free.
    pub added: Vec<(DatapathId, Rule)>,
    /// Entries in whose place is another one, with that one.
    pub changed: Vec<(DatapathId, Rule, Rule)>,
    /// Entries that nobody wants any more.
    pub removed: Vec<(DatapathId, Rule)>,
    /// Subjects that cannot have an entry, with those that have it.
    pub contested: Vec<(DatapathId, Subject, Subject)>,
}

/// The desired state of all tables.
#[derive(Debug, Default)]
pub struct Desired {
    switches: BTreeMap<DatapathId, BTreeMap<RulePlace, Rule>>,
    owned: BTreeMap<Subject, BTreeSet<Spot>>,
    /// Those who want an entry that another one has, the first one first.
    waiting: BTreeMap<Spot, Vec<Rule>>,
    count: usize,
}

impl Desired {
    /// Returns the entries that a switch should have, by place.
    pub fn of_switch(&self, datapath: DatapathId) -> impl Iterator<Item = (RulePlace, &Rule)> {
        let rules = self.switches.get(&datapath).into_iter().flatten();
        rules.map(|(place, rule)| (*place, rule))
    }

    /// Returns the entry that a switch should have at a place.
    #[must_use]
    pub fn get(&self, datapath: DatapathId, place: RulePlace) -> Option<&Rule> {
        self.switches.get(&datapath)?.get(&place)
    }

    /// Returns how many entries a switch should have.
    #[must_use]
    pub fn count(&self, datapath: DatapathId) -> usize {
        self.switches.get(&datapath).map_or(0, BTreeMap::len)
    }

    /// Returns which entries a subject wants.
    pub fn of_subject(&self, subject: Subject) -> impl Iterator<Item = Spot> + '_ {
        self.owned.get(&subject).into_iter().flatten().copied()
    }

    /// Returns whose the entry with a cookie is.
    #[must_use]
    pub fn owner(&self, datapath: DatapathId, cookie: Cookie) -> Option<Subject> {
        let first = RulePlace::first_of(slice_of(cookie));
        let rules = self.switches.get(&datapath)?.range(first..);
        let mut rules = rules.take_while(|(place, _)| place.slice() == first.slice());
        let found = rules.find(|(_, rule)| rule.cookie() == cookie);
        found.map(|(_, rule)| rule.subject)
    }

    /// Makes these the entries that a subject wants, in place of those it
    /// wanted, and returns what has to be done for it. Of two for the same place
    /// the last one counts.
    ///
    /// # Errors
    ///
    /// If there would be more than [`MAX_RULES`]; nothing has changed then.
    pub fn replace(
        &mut self,
        subject: Subject,
        rules: &[PlacedRule],
    ) -> Result<Difference, TooManyRules> {
        let before = self.owned.get(&subject).cloned().unwrap_or_default();
        if self.count - before.len() + rules.len() > MAX_RULES {
            return Err(TooManyRules);
        }
        let wanted: BTreeMap<Spot, Rule> = rules
            .iter()
            .map(|rule| {
                let form = rule.form();
                ((rule.datapath, form.place()), Rule { subject, form })
            })
            .collect();
        let mut difference = Difference::default();
        for spot in before {
            if !wanted.contains_key(&spot) {
                self.let_go(subject, spot, &mut difference);
            }
        }
        for (spot, rule) in wanted {
            self.want(spot, rule, &mut difference);
        }
        Ok(difference)
    }

    /// Adds to the entries that a subject wants.
    ///
    /// # Errors
    ///
    /// If there would be more than [`MAX_RULES`]; nothing has changed then.
    pub fn extend(
        &mut self,
        subject: Subject,
        rules: &[PlacedRule],
    ) -> Result<Difference, TooManyRules> {
        if self.count + rules.len() > MAX_RULES {
            return Err(TooManyRules);
        }
        let mut difference = Difference::default();
        for rule in rules {
            let form = rule.form();
            let spot = (rule.datapath, form.place());
            self.want(spot, Rule { subject, form }, &mut difference);
        }
        Ok(difference)
    }

    fn want(&mut self, spot: Spot, rule: Rule, difference: &mut Difference) {
        let subject = rule.subject;
        if self.owned.entry(subject).or_default().insert(spot) {
            self.count += 1;
        }
        let (datapath, place) = spot;
        let table = self.switches.entry(datapath).or_default();
        let Some(present) = table.get_mut(&place) else {
            table.insert(place, rule.clone());
            difference.added.push((datapath, rule));
            return;
        };
        if *present == rule {
            return;
        }
        if present.subject == subject || subject.rank() < present.subject.rank() {
            let former = std::mem::replace(present, rule.clone());
            if former.subject != subject {
                self.forget_waiting(subject, spot);
                difference
                    .contested
                    .push((datapath, former.subject, subject));
                self.waiting.entry(spot).or_default().push(former.clone());
            }
            difference.changed.push((datapath, former, rule));
        } else {
            let holder = present.subject;
            self.forget_waiting(subject, spot);
            self.waiting.entry(spot).or_default().push(rule);
            difference.contested.push((datapath, subject, holder));
        }
    }

    fn let_go(&mut self, subject: Subject, spot: Spot, difference: &mut Difference) {
        if let Some(owned) = self.owned.get_mut(&subject)
            && owned.remove(&spot)
        {
            self.count -= 1;
            if owned.is_empty() {
                self.owned.remove(&subject);
            }
        }
        self.forget_waiting(subject, spot);
        let (datapath, place) = spot;
        let successor = self.successor(spot);
        let Some(table) = self.switches.get_mut(&datapath) else {
            return;
        };
        match table.get_mut(&place) {
            Some(present) if present.subject == subject => {
                if let Some(next) = successor {
                    let former = std::mem::replace(present, next.clone());
                    self.forget_waiting(next.subject, spot);
                    difference.changed.push((datapath, former, next));
                } else if let Some(former) = table.remove(&place) {
                    difference.removed.push((datapath, former));
                }
            }
            Some(_) | None => {}
        }
    }

    /// Returns the strongest, and of equals the first, that waits for an entry.
    fn successor(&self, spot: Spot) -> Option<Rule> {
        let waiting = self.waiting.get(&spot)?.iter();
        waiting.min_by_key(|rule| rule.subject.rank()).cloned()
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

/// There would be more than [`MAX_RULES`] entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("more than {MAX_RULES} entries would be wanted")]
pub struct TooManyRules;

const fn slice_of(cookie: Cookie) -> u8 {
    (cookie.0 >> SLICE_SHIFT & 0x3f) as u8
}

#[cfg(test)]
mod tests;
