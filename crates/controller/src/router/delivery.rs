//! What each switch with outside routers has of the entries of prefixes.
//!
//! Changes are numbered, and each switch is sent them in that order, a part at a time: how far
//! it is is one number, so that a prefix costs nothing for each switch. What is sent is what
//! the entry should be by then; a prefix that has changed again since is skipped until its last
//! change.
//!
//! A switch that connects is asked what it has, and given the difference by one walk over all
//! routes; what it has and should not goes last. Before the speaker has told all, nobody knows
//! what it should not have: until then one that has entries keeps them as they are, and one
//! that has none is given what there is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use units::Instant;
use wire::openflow::TransactionId;

use super::next_hops::HopTag;
use crate::northbound::IpPrefix;
use crate::session::ConnectionId;

/// How many entries are sent to a switch before it is asked to confirm them: what is sent for a
/// flow waits behind so many at most, times [`MAX_UNCONFIRMED`].
pub const BATCH: usize = 128;
/// How many such parts a switch is sent before the first of them is confirmed.
pub const MAX_UNCONFIRMED: usize = 2;
/// The most changes that are remembered for switches that are slow; one that is farther behind
/// is walked over.
const MAX_CHANGES: usize = 1 << 21;
/// The most entries that are remembered as refused by a switch.
pub const MAX_REFUSED: usize = 4_096;

/// The changes that not all switches have been sent.
#[derive(Debug, Default)]
pub struct Changes {
    /// The number of the first one.
    first: u64,
    all: VecDeque<IpPrefix>,
}

impl Changes {
    /// Notes that the entry of a prefix has changed. Returns the number of that change.
    pub fn push(&mut self, prefix: IpPrefix) -> u64 {
        if self.all.len() >= MAX_CHANGES {
            self.all.pop_front();
            self.first += 1;
        }
        self.all.push_back(prefix);
        self.end() - 1
    }

    /// Returns the number of the change that comes next.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.all.len() as u64
    }

    /// Returns the change with this number, if it is remembered.
    fn get(&self, number: u64) -> Option<IpPrefix> {
        let place = number.checked_sub(self.first)?;
        self.all.get(usize::try_from(place).ok()?).copied()
    }

    /// Forgets changes below a number.
    pub fn forget_below(&mut self, number: u64) {
        while self.first < number && self.all.pop_front().is_some() {
            self.first += 1;
        }
        if self.all.is_empty() {
            self.first = number.max(self.first);
            self.all.shrink_to(BATCH);
        }
    }

    /// Returns how much memory they take, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.all.capacity() * size_of::<IpPrefix>()
    }
}

/// A walk over all routes, for a switch of which more is to be said than what has changed.
#[derive(Debug, Default)]
struct Walk {
    /// The last prefix that was looked at.
    after: Option<IpPrefix>,
    /// What the switch has and was not looked at: next hops by prefix.
    has: BTreeMap<IpPrefix, Option<HopTag>>,
    is_over: bool,
}

/// What a switch is being asked.
#[derive(Debug)]
struct Question {
    transaction: TransactionId,
    has: BTreeMap<IpPrefix, Option<HopTag>>,
}

/// How far one switch is.
#[derive(Debug)]
pub struct Delivery {
    /// Its connection: another one begins anew.
    pub connection: ConnectionId,
    /// The first change that it was not sent.
    next: u64,
    /// Up to which change it has confirmed all.
    confirmed: u64,
    /// Barriers, and below which change they confirm all.
    asked: VecDeque<(TransactionId, u64)>,
    walk: Option<Walk>,
    question: Option<Question>,
    /// Whether it is to be asked what it has.
    pub is_unsure: bool,
    /// Whether it keeps what it had when it connected, until all routes are known.
    is_held: bool,
    /// Those that it was seen to refuse since it was asked last.
    pub refused: BTreeSet<IpPrefix>,
    /// For how many entries its table has room, as it says.
    pub room: Option<u32>,
    /// How many entries it was sent since it connected.
    pub sent: u64,
    /// A question for that, or for the number of entries.
    pub aside: Option<TransactionId>,
    pub counted_at: Instant,
}

/// What of a part was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub entries: usize,
    /// How many were looked at for it.
    pub looked_at: usize,
}

/// What is known of routes, as a switch is told of them.
pub trait Wanted {
    /// Returns the next hop that the entry of a prefix should have; nothing if it should have
    /// none.
    fn entry(&self, prefix: IpPrefix) -> Option<HopTag>;
    /// Returns the number of the last change of a prefix that has a route.
    fn changed(&self, prefix: IpPrefix) -> Option<u64>;
    /// Returns the prefixes behind one that should have an entry, and how many routes were
    /// looked at up to each.
    fn after(&self, after: Option<IpPrefix>) -> impl Iterator<Item = (IpPrefix, Option<HopTag>)>;
}

impl Delivery {
    /// Begins with a switch of which nothing is known: it is asked what it has.
    #[must_use]
    pub fn new(now: Instant, connection: ConnectionId, changes: &Changes) -> Self {
        Self {
            connection,
            next: changes.end(),
            confirmed: 0,
            asked: VecDeque::new(),
            walk: None,
            question: None,
            is_unsure: true,
            is_held: false,
            refused: BTreeSet::new(),
            room: None,
            sent: 0,
            aside: None,
            counted_at: now,
        }
    }

    /// Has it be compared, if it was left as it was: all routes are known.
    pub fn release(&mut self, changes: &Changes) {
        if std::mem::take(&mut self.is_held) {
            self.next = changes.end();
        }
    }

    /// Has it be given all routes without being asked.
    fn begin_walk(&mut self, changes: &Changes) {
        self.walk = Some(Walk::default());
        self.next = changes.end();
    }

    /// Returns the first change that it may still be sent.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Returns whether it has confirmed a change.
    #[must_use]
    pub const fn has_confirmed(&self, change: u64) -> bool {
        change < self.confirmed
    }

    /// Returns whether it has all that it should, as it has confirmed.
    #[must_use]
    pub fn is_settled(&self, changes: &Changes) -> bool {
        self.walk.is_none()
            && self.question.is_none()
            && self.asked.is_empty()
            && self.next == changes.end()
    }

    /// Returns how many changes it is behind, one more while what it has is compared with what
    /// it should have, and how many parts it has not confirmed.
    #[must_use]
    pub fn behind(&self, changes: &Changes) -> (u64, u64) {
        let is_compared = self.walk.is_some() || self.question.is_some() || self.is_unsure;
        let waiting = changes.end() - self.next + u64::from(is_compared);
        (waiting, self.asked.len() as u64)
    }

    /// Returns whether something can be sent now.
    #[must_use]
    pub fn is_sendable(&self, changes: &Changes) -> bool {
        let has_something = self.walk.is_some() || self.next < changes.end();
        let is_open = !self.is_held && self.question.is_none();
        is_open && self.asked.len() < MAX_UNCONFIRMED && has_something
    }

    /// Returns whether it can be asked what it has: nothing is on the way.
    #[must_use]
    pub fn is_askable(&self) -> bool {
        self.is_unsure && self.question.is_none() && self.walk.is_none() && self.asked.is_empty()
    }

    /// Returns whether it keeps what it had when it connected.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.is_held
    }

    /// Takes in that it is asked what it has.
    pub fn ask(&mut self, transaction: TransactionId) {
        self.is_unsure = false;
        self.refused.clear();
        let has = BTreeMap::new();
        self.question = Some(Question { transaction, has });
    }

    /// Takes a part of its answer: the entries, and whether these are the last. `is_known`
    /// tells whether all routes are. Returns whether it was asked that.
    pub fn reported(
        &mut self,
        transaction: TransactionId,
        (entries, is_last): (impl Iterator<Item = (IpPrefix, Option<HopTag>)>, bool),
        is_known: bool,
        changes: &Changes,
    ) -> bool {
        let question = self.question.as_mut();
        let Some(question) = question.filter(|question| question.transaction == transaction) else {
            return false;
        };
        question.has.extend(entries);
        if is_last && let Some(Question { has, .. }) = self.question.take() {
            let is_from_before = self.sent == 0 && !has.is_empty();
            self.is_held = !is_known && is_from_before;
            self.walk = Some(Walk {
                has,
                ..Walk::default()
            });
            self.next = changes.end();
        }
        true
    }

    /// Takes in that it cannot say what it has: it is given all, whatever it has. Returns
    /// whether it was asked that.
    pub fn question_refused(&mut self, transaction: TransactionId, changes: &Changes) -> bool {
        let question = self.question.take_if(|it| it.transaction == transaction);
        if question.is_some() {
            self.begin_walk(changes);
        }
        question.is_some()
    }

    /// Sends a part of what it lacks, by `emit`.
    pub fn send(
        &mut self,
        changes: &Changes,
        wanted: &impl Wanted,
        mut emit: impl FnMut(IpPrefix, Option<HopTag>),
    ) -> Sent {
        if changes.get(self.next).is_none() && self.next < changes.end() {
            // It was behind for too long.
            self.begin_walk(changes);
        }
        let sent = match self.walk.take() {
            Some(walk) => self.send_walk(walk, wanted, emit),
            None => {
                let mut sent = Sent::default();
                while sent.entries < BATCH
                    && sent.looked_at < 2 * BATCH
                    && let Some(prefix) = changes.get(self.next)
                {
                    sent.looked_at += 1;
                    if wanted.changed(prefix).is_none_or(|last| last <= self.next) {
                        emit(prefix, wanted.entry(prefix));
                        sent.entries += 1;
                    }
                    self.next += 1;
                }
                sent
            }
        };
        self.sent += sent.entries as u64;
        sent
    }

    fn send_walk(
        &mut self,
        mut walk: Walk,
        wanted: &impl Wanted,
        mut emit: impl FnMut(IpPrefix, Option<HopTag>),
    ) -> Sent {
        let mut sent = Sent::default();
        if !walk.is_over {
            let mut routes = wanted.after(walk.after);
            while sent.entries < BATCH && sent.looked_at < 4 * BATCH {
                let Some((prefix, tag)) = routes.next() else {
                    walk.is_over = true;
                    break;
                };
                sent.looked_at += 1;
                walk.after = Some(prefix);
                if tag.is_some() && walk.has.remove(&prefix) != Some(tag) {
                    emit(prefix, tag);
                    sent.entries += 1;
                }
            }
        }
        while walk.is_over && sent.entries < BATCH {
            let Some((prefix, _)) = walk.has.pop_first() else {
                return sent;
            };
            if wanted.entry(prefix).is_none() {
                emit(prefix, None);
                sent.entries += 1;
            }
        }
        self.walk = Some(walk);
        sent
    }

    /// Takes in that it was asked to confirm what it was sent.
    pub fn await_confirmation(&mut self, transaction: TransactionId) {
        let below = match self.walk {
            Some(_) => self.confirmed,
            None => self.next,
        };
        self.asked.push_back((transaction, below));
    }

    /// Takes in that it has answered a barrier. Returns whether that was one of ours.
    pub fn barrier_answered(&mut self, transaction: TransactionId) -> bool {
        match self.asked.front() {
            Some((first, below)) if *first == transaction => {
                self.confirmed = self.confirmed.max(*below);
                self.asked.pop_front();
                true
            }
            Some(_) | None => false,
        }
    }
}
