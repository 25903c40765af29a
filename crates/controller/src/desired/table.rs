//! What one switch should have.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU64;

use wire::openflow::TableId;
use wire::openflow::taktos::{CookieClass, DigestSum};

use super::{EntryOwner, FLAGS, MatchShape, Order, Rule, RulePlace};
use crate::slab::Slab;

/// How far a switch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Connection {
    #[default]
    Away,
    /// What it has was not compared yet.
    Connected,
    Synchronised,
}

/// A change that was sent to a switch and that no barrier has confirmed.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) message: NonZeroU64,
    pub(super) change: SentRef,
}

#[derive(Debug)]
pub(super) enum SentRef {
    /// By its number among the rules of the switch.
    Entry(u32, RulePlace),
    /// Something that this subject does without.
    Loss(EntryOwner),
}

/// How many entries of intents and applications have which shape.
#[derive(Debug, Default)]
pub(super) struct Shapes(BTreeMap<MatchShape, usize>);

impl Shapes {
    pub(super) fn add(&mut self, rule: &Rule) {
        if rule.subject.may_conflict() {
            *self.0.entry(rule.form.shape()).or_insert(0) += 1;
        }
    }

    pub(super) fn remove(&mut self, rule: &Rule) {
        if rule.subject.may_conflict()
            && let Entry::Occupied(mut count) = self.0.entry(rule.form.shape())
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Returns whether there are others of the same priority.
    pub(super) fn has_beside(&self, shape: MatchShape) -> bool {
        let mut shapes = self.0.range(shape.of_its_priority());
        shapes.any(|(other, _)| *other != shape)
    }
}

/// How many entries there are of each class in each table, and what they are.
pub type DigestSums = BTreeMap<(TableId, CookieClass), DigestSum>;

/// What is added up over the entries that a switch should have.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) shapes: Shapes,
    /// From when on the switch was first asked for its own.
    sums: Option<DigestSums>,
}

impl Totals {
    pub(super) fn add(&mut self, rule: &Rule) {
        self.shapes.add(rule);
        if let Some(sums) = &mut self.sums {
            add_to(sums, rule);
        }
    }

    pub(super) fn remove(&mut self, rule: &Rule) {
        self.shapes.remove(rule);
        if let Some(sums) = &mut self.sums
            && let Entry::Occupied(mut at) = sums.entry(class_of(rule))
        {
            at.get_mut().subtract(digest_of(rule));
            if at.get().entries == 0 {
                at.remove();
            }
        }
    }
}

fn class_of(rule: &Rule) -> (TableId, CookieClass) {
    (rule.form.table(), CookieClass::of(rule.cookie))
}

fn digest_of(rule: &Rule) -> u64 {
    rule.form.content(rule.cookie, FLAGS).digest()
}

fn add_to(sums: &mut DigestSums, rule: &Rule) {
    sums.entry(class_of(rule)).or_default().add(digest_of(rule));
}

/// What one switch should have.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rules: Slab<Rule>,
    pub(super) places: BTreeMap<RulePlace, u32>,
    pub(super) totals: Totals,
    /// What was sent, in that order, and is not confirmed.
    pub(super) sent: VecDeque<Sending>,
    /// How many messages were sent; never less than before, so that a number that a
    /// barrier covers names nothing that comes later.
    pub(super) messages: u64,
    /// What was changed since the switch was asked what it has; `None` if it is
    /// not being asked.
    pub(super) changed: Option<BTreeSet<RulePlace>>,
    pub(super) connection: Connection,
}

impl Table {
    pub(super) fn note(&mut self, place: RulePlace) {
        if let Some(changed) = &mut self.changed {
            changed.insert(place);
        }
    }

    /// Returns what the digests of all entries add up to.
    pub(super) fn sums(&mut self) -> &DigestSums {
        let Self {
            rules,
            places,
            totals,
            ..
        } = self;
        let add_all = || {
            let mut sums = DigestSums::new();
            let rules = places.values().filter_map(|at| rules.get(*at));
            rules.for_each(|rule| add_to(&mut sums, rule));
            sums
        };
        let sums = totals.sums.get_or_insert_with(add_all);
        debug_assert_eq!(*sums, add_all(), "every change is added");
        sums
    }

    /// Counts a message that is sent, if the switch is there to take it.
    pub(super) fn send(&mut self, change: SentRef) -> Option<NonZeroU64> {
        if self.connection == Connection::Away {
            return None;
        }
        self.messages += 1;
        let message = NonZeroU64::new(self.messages)?;
        self.sent.push_back(Sending { message, change });
        Some(message)
    }

    /// Returns the order to add an entry, and counts it.
    pub(super) fn order(&mut self, number: u32, place: RulePlace, is_sent: bool) -> Order<'_> {
        let change = SentRef::Entry(number, place);
        let message = is_sent.then(|| self.send(change)).flatten();
        match self.rules.get_mut(number) {
            Some(rule) => {
                rule.message = message;
                Order::Add(rule)
            }
            None => Order::Nothing,
        }
    }
}
