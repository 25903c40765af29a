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

/// What one switch should have.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rules: Slab<Rule>,
    pub(super) places: BTreeMap<RulePlace, u32>,
    pub(super) shapes: Shapes,
    /// What was sent, in that order, and is not confirmed.
    pub(super) sent: VecDeque<Sending>,
    /// How many messages were sent; never less than before, so that a number that a
    /// barrier covers names nothing that comes later.
    pub(super) messages: u64,
    /// What was changed since the switch was asked what it has; `None` if it is
    /// not being asked.
    pub(super) changed: Option<BTreeSet<RulePlace>>,
    pub(super) connection: Connection,
    /// As long as nothing is changed.
    sums: Option<DigestSums>,
}

impl Table {
    pub(super) fn note(&mut self, place: RulePlace) {
        self.sums = None;
        if let Some(changed) = &mut self.changed {
            changed.insert(place);
        }
    }

    /// Returns what the digests of all entries add up to.
    pub(super) fn sums(&mut self) -> &DigestSums {
        self.sums.get_or_insert_with(|| {
            let mut sums = DigestSums::new();
            for rule in self.places.values().filter_map(|at| self.rules.get(*at)) {
                let content = rule.form.content(rule.cookie, FLAGS);
                let key = (rule.form.table(), CookieClass::of(rule.cookie));
                sums.entry(key).or_default().add(content.digest());
            }
            sums
        })
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
