//! Which queues are watched, what is noted, and when somebody is to be told.

use units::{Duration, Instant};

use super::hop_table::{HopKey, HopPlace, HopStays, HopTable, Owner};
use crate::compiled::{Departures, Memory};
use crate::config::PacketInBudget;
use crate::packet_in_budget::Budget;
use crate::port::{PortIndex, QUEUES};

/// How often the core looks at what others entered: half of what a controller may wait for
/// the first word of a budget that was missed.
const LOOK_INTERVAL: Duration = Duration::from_ms(125);
/// How often at most a controller is told of one record.
const TOLD_INTERVAL: Duration = Duration::from_secs(1);
/// How much it is told of all records together: 64 a second.
const TOLD: PacketInBudget = PacketInBudget {
    interval: Duration::from_us(15_625),
    burst: 64,
};
/// How many records are looked at in one call for whether their entries are still there.
const SWEPT_AT_ONCE: usize = 512;
/// How many records are looked at in one call for whether their budgets were missed.
const LOOKED_AT_ONCE: usize = 1_024;

/// A queue that is not watched, and one whose budget is never missed; others stand for
/// their budget plus one nanosecond.
pub(crate) const UNWATCHED: u64 = 0;
const NEVER: u64 = u64::MAX;

/// How many records a switch begins with whose core sees all frames.
const RECORDS_AT_FIRST: usize = 1_024;

/// What was said of a record, and whether it is about to go.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// How many frames above the budget.
    above: u64,
    /// From when on it may be told again.
    next: Instant,
    /// Whether its entry was not there when it was looked at last.
    is_dead: bool,
}

impl Told {
    const NOTHING: Self = Self {
        above: 0,
        next: Instant::ZERO,
        is_dead: false,
    };
}

/// A record whose budget was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded {
    pub(crate) at: usize,
    pub(crate) key: HopKey,
    pub(crate) budget: Duration,
    pub(crate) longest: Duration,
    pub(crate) frames: u64,
}

/// How far records were looked at for whether their budgets were missed.
#[derive(Debug, Default)]
struct Look {
    /// With which record to go on; zero if it is over.
    next: usize,
    found: Vec<Exceeded>,
    /// How many more records have something to say that has to wait.
    unsaid: u32,
}

/// Watches how long frames stay.
#[derive(Debug)]
pub(crate) struct HopMonitor {
    /// By port, what of each queue is watched.
    watched: Vec<[u64; QUEUES]>,
    is_on: bool,
    /// There from the first queue that is watched on, or shared with others.
    table: Option<HopTable>,
    departures: Departures,
    told: Vec<Told>,
    /// How often what is watched has changed.
    changes: u64,
    /// When to look again.
    due: Instant,
    look: Look,
    /// With which record to go on looking for entries that are gone.
    swept: usize,
    /// How many frames above budgets were seen.
    seen: u64,
    /// Whether some of them could not be told yet.
    holds_back: bool,
    budget: Budget,
}

impl HopMonitor {
    pub(crate) fn new(now: Instant, ports: usize) -> Self {
        Self {
            watched: vec![[UNWATCHED; QUEUES]; ports],
            is_on: false,
            table: None,
            departures: Departures::Seen,
            told: Vec::new(),
            changes: 0,
            due: Instant::FAR_FUTURE,
            look: Look::default(),
            swept: 0,
            seen: 0,
            holds_back: false,
            budget: Budget::new(now, TOLD),
        }
    }

    /// Keeps its records where walks of the compiled form see them.
    pub(crate) fn share(&mut self, memory: &mut Memory) {
        self.departures = memory.departures();
        self.table = Some(HopTable::of(memory));
        self.forget_told();
    }

    /// Watches these queues, each with what it may take, and no others. Records of queues
    /// that were not watched before or are not any more begin anew.
    pub(crate) fn configure(&mut self, now: Instant, watched: Vec<[u64; QUEUES]>) {
        let before = std::mem::replace(&mut self.watched, watched);
        self.changes += 1;
        self.look = Look::default();
        self.is_on = self.watched.iter().flatten().any(|it| *it != UNWATCHED);
        if self.is_on && self.table.is_none() {
            self.table = Some(HopTable::private(RECORDS_AT_FIRST));
            self.forget_told();
        }
        for at in 1..self.end() {
            let Some(key) = self.key(at) else { continue };
            let of = |words: &[[u64; QUEUES]]| words[key.port.at()][usize::from(key.queue)];
            if of(&before) == UNWATCHED || of(&self.watched) == UNWATCHED {
                self.free(at);
            }
        }
        self.due = match self.is_on {
            true => now + LOOK_INTERVAL,
            false => Instant::FAR_FUTURE,
        };
    }

    fn forget_told(&mut self) {
        self.told = vec![Told::NOTHING; self.end()];
    }

    /// Makes room for more records if half are taken and nobody else has the memory.
    fn grow(&mut self) {
        let Some((larger, moved)) = self.table.as_ref().and_then(HopTable::grown) else {
            return;
        };
        self.table = Some(larger);
        let told = std::mem::take(&mut self.told);
        self.forget_told();
        for (before, after) in moved {
            self.told[after] = told[before];
        }
    }

    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns whether any queue is watched.
    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Says who sees the frames leave that the core does not send.
    pub(crate) fn see_departures(&mut self, departures: Departures) {
        self.departures = departures;
    }

    /// Returns who sees the frames leave that the core does not send.
    pub(crate) const fn departures(&self) -> Departures {
        self.departures
    }

    /// Returns what is watched of the queues of each port.
    pub(crate) fn watched(&self) -> &[[u64; QUEUES]] {
        &self.watched
    }

    /// Returns how long frames may stay that leave through a queue, if that is bounded.
    pub(crate) fn budget(&self, key: HopKey) -> Option<Duration> {
        match self.word(key.port, key.queue) {
            UNWATCHED | NEVER => None,
            word => Some(Duration::from_ns(word - 1)),
        }
    }

    fn word(&self, port: PortIndex, queue: u8) -> u64 {
        self.watched[port.at()][usize::from(queue)]
    }

    /// Returns the record of a frame that leaves on behalf of an entry, if its queue is
    /// watched and there is room.
    #[inline]
    pub(crate) fn place_of(
        &self,
        owner: Option<Owner>,
        port: PortIndex,
        queue: u8,
    ) -> Option<HopPlace> {
        if !self.is_on || self.word(port, queue) == UNWATCHED {
            return None;
        }
        let key = HopKey {
            owner: owner?,
            port,
            queue,
        };
        self.table.as_ref()?.place_of(key)
    }

    /// Notes how long a frame stayed that has left now.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        place: HopPlace,
        (port, queue): (PortIndex, u8),
        stay: Duration,
    ) {
        let budget = self.word(port, queue);
        let Some(table) = &self.table else { return };
        if table.note(place, stay, budget) && !self.holds_back {
            self.due = self.due.min(now);
        }
    }

    /// Returns when to look at the records.
    pub(crate) fn due(&self) -> Option<Instant> {
        (self.due != Instant::FAR_FUTURE).then_some(self.due)
    }

    /// Returns the number above those of all records.
    pub(crate) fn end(&self) -> usize {
        self.table.as_ref().map_or(0, HopTable::end)
    }

    /// Returns what a record is about, if it is there.
    pub(crate) fn key(&self, at: usize) -> Option<HopKey> {
        self.table.as_ref()?.key(at)
    }

    /// Returns what a record has.
    pub(crate) fn stays(&self, at: usize) -> Option<HopStays> {
        Some(self.table.as_ref()?.stays(at))
    }

    /// Returns how many frames found no room for a record.
    pub(crate) fn no_room(&self) -> u64 {
        self.table.as_ref().map_or(0, HopTable::no_room)
    }

    /// Says whether records are to be looked at: budgets were missed that nobody was told of,
    /// or it is not over yet.
    pub(crate) fn look(&mut self, now: Instant) -> bool {
        if self.look.next > 0 {
            return true;
        }
        self.due = now + LOOK_INTERVAL;
        self.grow();
        let above = self.table.as_ref().map_or(0, HopTable::above);
        let is_news = std::mem::replace(&mut self.seen, above) != above;
        std::mem::take(&mut self.holds_back) || is_news
    }

    /// Gives up the next records whose entries are gone: at the second look, since who has
    /// just taken one may not have said yet for which entry.
    pub(crate) fn sweep(&mut self, is_alive: impl Fn(Owner) -> bool) {
        for _ in 0..SWEPT_AT_ONCE.min(self.end()) {
            self.swept = (self.swept + 1) % self.end();
            let at = self.swept;
            let Some(key) = self.key(at) else { continue };
            let is_dead = !is_alive(key.owner);
            if std::mem::replace(&mut self.told[at].is_dead, is_dead) && is_dead {
                self.free(at);
            }
        }
    }

    fn free(&mut self, at: usize) {
        if let Some(table) = &self.table {
            table.free(at);
        }
        self.told[at] = Told::NOTHING;
    }

    /// Looks at the next records; once all were, returns those whose budgets were missed and
    /// who may be told of now, and how many others there are.
    pub(crate) fn exceeded(
        &mut self,
        now: Instant,
        is_alive: impl Fn(Owner) -> bool,
    ) -> Option<(Vec<Exceeded>, u32)> {
        let first = self.look.next.max(1);
        let end = self.end().min(first + LOOKED_AT_ONCE);
        for at in first..end {
            self.look_at(now, at, &is_alive);
        }
        if end < self.end() {
            (self.look.next, self.due) = (end, now);
            return None;
        }
        let Look { found, unsaid, .. } = std::mem::take(&mut self.look);
        self.due = now + LOOK_INTERVAL;
        Some((found, unsaid))
    }

    /// Notes whether there is something to tell of a record.
    fn look_at(&mut self, now: Instant, at: usize, is_alive: impl Fn(Owner) -> bool) {
        let Some(key) = self.key(at).filter(|key| is_alive(key.owner)) else {
            return;
        };
        let (Some(table), Some(budget)) = (&self.table, self.budget(key)) else {
            return;
        };
        let (above, told) = (table.above_of(at), &mut self.told[at]);
        if above <= told.above {
            return;
        }
        if now < told.next {
            self.holds_back = true;
            return;
        }
        if !self.budget.take(now) {
            self.holds_back = true;
            self.look.unsaid += 1;
            return;
        }
        self.look.found.push(Exceeded {
            at,
            key,
            budget,
            longest: table.take_peak(at),
            frames: above - told.above,
        });
        told.above = above;
        told.next = now + TOLD_INTERVAL;
    }
}

/// Returns what stands for a queue that is watched.
pub(crate) fn word_of(budget: Option<Duration>) -> u64 {
    budget.map_or(NEVER, |budget| budget.as_ns().saturating_add(1))
}
