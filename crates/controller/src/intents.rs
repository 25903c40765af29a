//! The intents that hold until they are removed, and which of them a change
//! concerns (S1-7).
//!
//! | module | question |
//! |---|---|
//! | `sense` | does an intent contradict itself? |
//! | `compile` | which rules keep it in the network as it is? |
//! | `frame` | what does it say of frames, in the words of a switch? |
//! | `gathering` | how do hosts that intents connect find each other? |
//! | `record` | how does the store keep it? |
//!
//! An intent is stale when something it rests on has changed: a link that its ways
//! cross is gone, a host that it names has moved. Indices by link and by host say
//! which ones these are; a change that concerns none costs nothing. Stale ones are
//! kept anew in slices, so that no input takes long however many there are.
//!
//! An intent keeps its way as long as that is whole. One that had to leave its way
//! is displaced, and goes back when the links have been there for a while.

pub mod compile;
pub mod frame;
pub mod gathering;
pub mod record;
pub mod sense;

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;
use wire::ethernet::MacAddress;

use crate::desired::EntryOwner;
use crate::northbound::{Asker, Intent, IntentId, IntentKind, IntentState, Scope};
use crate::path::Tree;
use crate::place::LinkEnds;

/// The most intents that hold at all switches, those to come included.
pub const MAX_EVERYWHERE: usize = 1_024;

/// Something that is kept as the network changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    Intent(IntentId),
    /// The way by which a host is heard by all whom intents connect it with.
    Gathering(MacAddress),
    /// The way to a host from everywhere.
    Route(MacAddress),
    Flood,
}

impl From<Item> for EntryOwner {
    fn from(item: Item) -> Self {
        match item {
            Item::Intent(id) => Self::Intent(id),
            Item::Gathering(host) => Self::Gathering(host),
            Item::Route(host) => Self::Route(Some(host)),
            Item::Flood => Self::Route(None),
        }
    }
}

/// Whether an intent is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The store has not kept it yet.
    Proposed,
    Accepted,
}

/// An intent that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub intent: Intent,
    pub owner: Asker,
    /// Whether it is in force.
    pub standing: Standing,
    pub state: IntentState,
}

/// The ways that something takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    pub trees: Vec<Tree>,
    pub cost: u64,
}

impl Course {
    /// Returns the links that it crosses.
    pub fn links(&self) -> impl Iterator<Item = LinkEnds> + '_ {
        self.trees.iter().flat_map(Tree::links)
    }

    /// Returns whether both lead from the same ports to the same ports.
    #[must_use]
    pub fn joins_the_same(&self, other: &Self) -> bool {
        let ends = |course: &Self| {
            let ends = course.trees.iter().map(|tree| {
                let entrance = tree.branches.first().map(crate::path::Branch::entrance);
                (entrance, tree.leaves().collect::<BTreeSet<_>>())
            });
            ends.collect::<Vec<_>>()
        };
        ends(self) == ends(other)
    }
}

#[derive(Debug, Default)]
pub struct Intents {
    held: BTreeMap<IntentId, Held>,
    by_name: BTreeMap<String, IntentId>,
    by_host: BTreeMap<String, BTreeSet<IntentId>>,
    everywhere: BTreeSet<IntentId>,
    owners: BTreeMap<Asker, usize>,
    courses: BTreeMap<Item, Course>,
    /// The course that each one had before it was displaced.
    homes: BTreeMap<Item, Course>,
    by_link: BTreeMap<LinkEnds, BTreeSet<Item>>,
    /// Those that the network does not let hold.
    waiting: BTreeSet<Item>,
    stale: BTreeSet<Item>,
    /// The links that were ever up: what comes back is nothing new.
    seen: BTreeSet<LinkEnds>,
    /// Whether a link has come up that was never there before.
    is_extended: bool,
    /// When those that wait are tried again.
    pub retry_at: Option<Instant>,
    /// When those that are displaced are looked at.
    pub return_at: Option<Instant>,
    next: u32,
}

impl Intents {
    /// Returns the number for the next intent.
    pub fn next_id(&mut self) -> IntentId {
        self.next += 1;
        IntentId(self.next)
    }

    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    #[must_use]
    pub fn get(&self, id: IntentId) -> Option<&Held> {
        self.held.get(&id)
    }

    /// Returns one, to be changed; not what it wants.
    pub fn get_mut(&mut self, id: IntentId) -> Option<&mut Held> {
        self.held.get_mut(&id)
    }

    /// Returns those that are in force, by number.
    pub fn accepted(&self) -> impl Iterator<Item = (IntentId, &Held)> {
        let held = self.held.iter().map(|(id, held)| (*id, held));
        held.filter(|(_, held)| held.standing == Standing::Accepted)
    }

    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<IntentId> {
        self.by_name.get(name).copied()
    }

    /// Returns those that name a host.
    pub fn of_host(&self, name: &str) -> impl Iterator<Item = IntentId> + '_ {
        self.by_host.get(name).into_iter().flatten().copied()
    }

    /// Returns those that hold at all switches.
    pub fn everywhere(&self) -> impl Iterator<Item = IntentId> + '_ {
        self.everywhere.iter().copied()
    }

    /// Returns whether anybody but this one has intents.
    #[must_use]
    pub fn has_others(&self, owner: &Asker) -> bool {
        self.owners.keys().any(|other| other != owner)
    }

    pub fn insert(&mut self, id: IntentId, held: Held) {
        self.next = self.next.max(id.0);
        self.by_name.insert(held.intent.name.clone(), id);
        for host in compile::hosts(&held.intent.kind) {
            self.by_host.entry(host.to_owned()).or_default().insert(id);
        }
        if is_everywhere(&held.intent.kind) {
            self.everywhere.insert(id);
        }
        *self.owners.entry(held.owner.clone()).or_default() += 1;
        self.held.insert(id, held);
    }

    pub fn remove(&mut self, id: IntentId) -> Option<Held> {
        let held = self.held.remove(&id)?;
        self.by_name.remove(&held.intent.name);
        for host in compile::hosts(&held.intent.kind) {
            forget(&mut self.by_host, host, id);
        }
        self.everywhere.remove(&id);
        if let Some(count) = self.owners.get_mut(&held.owner) {
            *count -= 1;
            if *count == 0 {
                self.owners.remove(&held.owner);
            }
        }
        self.forget_item(Item::Intent(id));
        Some(held)
    }

    /// Forgets all about something that is kept no longer.
    pub fn forget_item(&mut self, item: Item) {
        self.set_course(item, None);
        self.homes.remove(&item);
        self.waiting.remove(&item);
        self.stale.remove(&item);
    }

    /// Returns the ways that something takes.
    #[must_use]
    pub fn course(&self, item: Item) -> Option<&Course> {
        self.courses.get(&item)
    }

    /// Notes the ways that something takes, or that it takes none and waits. The
    /// first ones from the same ports to the same ports are its home.
    pub fn set_course(&mut self, item: Item, course: Option<Course>) {
        if let Some(before) = self.courses.remove(&item) {
            for link in before.links() {
                forget(&mut self.by_link, &link, item);
            }
        }
        let Some(course) = course else {
            self.waiting.insert(item);
            return;
        };
        self.waiting.remove(&item);
        for link in course.links() {
            self.by_link.entry(link).or_default().insert(item);
        }
        let home = self.homes.get(&item);
        if home.is_none_or(|home| !home.joins_the_same(&course) || *home == course) {
            self.homes.remove(&item);
        }
        self.courses.insert(item, course);
    }

    /// Returns the ways that something had before it was displaced, if it is.
    #[must_use]
    pub fn home(&self, item: Item) -> Option<&Course> {
        self.homes.get(&item)
    }

    /// Notes that the present way of something is left against its will.
    pub fn displace(&mut self, item: Item) {
        if let Some(course) = self.courses.get(&item) {
            self.homes.entry(item).or_insert_with(|| course.clone());
        }
    }

    /// Notes that something is where it belongs.
    pub fn settle_in(&mut self, item: Item) {
        self.homes.remove(&item);
    }

    /// Notes that something has a way that serves not all whom it should.
    pub fn mark_unfinished(&mut self, item: Item) {
        self.waiting.insert(item);
    }

    /// Notes that something is to be kept anew with what waits: soon, and once for
    /// all that happens until then.
    pub fn mark_later(&mut self, item: Item) {
        self.waiting.insert(item);
    }

    /// Notes that something serves all whom it should.
    pub fn mark_finished(&mut self, item: Item) {
        self.waiting.remove(&item);
    }

    /// Notes that the ways to hosts lack a switch, or have one too many.
    pub fn mark_routes_unfinished(&mut self) {
        let all = Item::Route(MacAddress::ZERO)..=Item::Route(MacAddress::BROADCAST);
        let routes = self.courses.range(all).map(|(item, _)| *item);
        self.waiting.extend(routes);
    }

    /// Returns the hosts to which ways are kept.
    pub fn routes(&self) -> impl Iterator<Item = MacAddress> + '_ {
        self.courses.keys().filter_map(|item| match item {
            Item::Route(host) => Some(*host),
            Item::Intent(_) | Item::Gathering(_) | Item::Flood => None,
        })
    }

    /// Notes that something has to be kept anew.
    pub fn mark(&mut self, item: Item) {
        self.stale.insert(item);
    }

    /// Notes that a link is gone: what crosses it is stale, and displaced.
    pub fn lose_link(&mut self, link: LinkEnds) {
        let items = self.by_link.get(&link).cloned().unwrap_or_default();
        for item in items {
            self.displace(item);
            self.mark(item);
        }
    }

    /// Notes that a link is up; returns whether something may return to it, or be
    /// better off with it.
    pub fn gain_link(&mut self, link: LinkEnds) -> bool {
        self.is_extended |= self.seen.insert(link) && !self.courses.is_empty();
        self.is_extended || !self.homes.is_empty()
    }

    pub fn mark_waiting(&mut self) {
        self.stale.extend(self.waiting.iter().copied());
    }

    /// Marks what may have a better way now.
    pub fn mark_displaced(&mut self) {
        self.stale.extend(self.homes.keys().copied());
        if std::mem::take(&mut self.is_extended) {
            self.mark_all();
        }
    }

    /// Marks all that crosses a link.
    pub fn mark_all(&mut self) {
        self.stale.extend(self.by_link.values().flatten().copied());
    }

    /// Notes that ways cost something else now: all that has one may have a better
    /// one.
    pub fn price_anew(&mut self) {
        for course in self.courses.values_mut() {
            course.cost = u64::MAX;
        }
        self.homes.clear();
        self.mark_all();
    }

    /// Returns something that is stale, and holds it for stale no longer.
    pub fn take_stale(&mut self) -> Option<Item> {
        self.stale.pop_first()
    }

    /// Returns whether anything is stale.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    #[must_use]
    pub fn is_anything_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns how many hold at all switches.
    #[must_use]
    pub fn count_everywhere(&self) -> usize {
        self.everywhere.len()
    }
}

/// Returns whether an intent holds at all switches.
#[must_use]
pub const fn is_everywhere(kind: &IntentKind) -> bool {
    match kind {
        IntentKind::MatchAction { at, .. } => match at {
            Scope::Everywhere => true,
            Scope::Switches(_) => false,
        },
        IntentKind::HostToHost { .. }
        | IntentKind::PointToPoint { .. }
        | IntentKind::Multicast { .. }
        | IntentKind::Path { .. } => false,
    }
}

fn forget<K, Q, V>(index: &mut BTreeMap<K, BTreeSet<V>>, key: &Q, value: V)
where
    K: Ord + std::borrow::Borrow<Q>,
    Q: Ord + ?Sized,
    V: Ord,
{
    if let Some(values) = index.get_mut(key) {
        values.remove(&value);
        if values.is_empty() {
            index.remove(key);
        }
    }
}
