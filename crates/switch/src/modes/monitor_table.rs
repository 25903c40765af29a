//! The monitors of a switch by their numbers.
//!
//! Entries and monitors come in any order, so a number has its place from the first
//! time that either names it. A frame finds the place by a hash, in a few steps
//! whatever there is.

use units::Instant;
use wire::mode_signal::Level;
use wire::openflow::taktos::{Demanded, MonitorId, MonitorReport};

use super::flow_monitor::words::MonitorWords;
use super::shared::{SharedModes, instant};
use super::{Contracts, Demand, FlowMonitor, MONITORS_MAX, Packet};
use crate::compiled::Record;
use crate::compiled::layout::monitor as at;

/// Twice as many places as numbers, so that few share one.
const SLOTS: usize = 2 * MONITORS_MAX;
const EMPTY: u16 = u16::MAX;
/// An odd constant without pattern: the golden ratio in 32 bits.
const MULTIPLIER: u32 = 0x9e37_79b9;

#[derive(Debug)]
pub(crate) struct MonitorTable {
    places: Vec<Option<MonitorSlot>>,
    /// Where each number has its place, by its hash; the next free one if that is
    /// taken.
    slots: Box<[u16; SLOTS]>,
    used: usize,
    /// How many monitors have begun.
    turns: u32,
    /// How often a monitor has begun or ended.
    changes: u64,
}

/// What is known of one number.
#[derive(Debug)]
pub(crate) struct MonitorSlot {
    pub(crate) id: MonitorId,
    /// None, if only entries name it so far.
    pub(crate) watch: Option<WatchedMessages>,
}

#[derive(Clone, Debug)]
pub(crate) struct WatchedMessages {
    contracts: Contracts,
    monitor: FlowMonitor,
    unreadable: u64,
    last: Option<Demand>,
    violated: Option<Instant>,
    /// Of which message and demand somebody was told.
    told: Option<(u32, Demand)>,
    /// How many monitors had begun then: walks see by it whether this is another one.
    turn: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) demand: Demand,
    /// Whether this message has not demanded this much before.
    pub(crate) is_news: bool,
}

/// There are [`MONITORS_MAX`] others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyMonitors;

impl MonitorTable {
    pub(crate) fn new() -> Self {
        Self {
            places: Vec::new(),
            slots: Box::new([EMPTY; SLOTS]),
            used: 0,
            turns: 0,
            changes: 0,
        }
    }

    /// Returns the place of a number.
    #[inline]
    pub(crate) fn find(&self, id: MonitorId) -> Option<usize> {
        let mut at = home(id);
        loop {
            let place = match self.slots[at] {
                EMPTY => return None,
                place => usize::from(place),
            };
            if self.places[place].as_ref().is_some_and(|it| it.id == id) {
                return Some(place);
            }
            at = (at + 1) % SLOTS;
        }
    }

    /// Returns the monitor of a number, if there is one.
    #[inline]
    pub(crate) fn watch_mut(&mut self, id: MonitorId) -> Option<&mut WatchedMessages> {
        let place = self.find(id)?;
        self.places[place].as_mut()?.watch.as_mut()
    }

    /// Returns the monitor of a number with its place, if there is one.
    #[inline]
    pub(crate) fn place_mut(&mut self, id: MonitorId) -> Option<(usize, &mut WatchedMessages)> {
        let place = self.find(id)?;
        Some((place, self.places[place].as_mut()?.watch.as_mut()?))
    }

    /// Gives a number a place, and returns which.
    ///
    /// # Errors
    ///
    /// If all are taken.
    pub(crate) fn reserve(&mut self, id: MonitorId) -> Result<usize, TooManyMonitors> {
        if let Some(place) = self.find(id) {
            return Ok(place);
        }
        if self.is_full() {
            return Err(TooManyMonitors);
        }
        let free = self.places.iter().position(Option::is_none);
        let place = free.unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(MonitorSlot { id, watch: None });
        self.used += 1;
        self.put(id, place);
        Ok(place)
    }

    /// Returns whether no further number finds a place.
    pub(crate) const fn is_full(&self) -> bool {
        self.used >= MONITORS_MAX
    }

    /// Begins to watch, or goes on if it is watched by the same contracts.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub(crate) fn add(
        &mut self,
        id: MonitorId,
        contracts: Contracts,
    ) -> Result<(), TooManyMonitors> {
        let place = self.reserve(id)?;
        let watch = self.places[place].as_mut().map(|it| &mut it.watch);
        if let Some(watch) = watch
            && watch.as_ref().is_none_or(|it| it.contracts != contracts)
        {
            self.turns = self.turns.wrapping_add(1);
            self.changes += 1;
            *watch = Some(WatchedMessages::new(contracts, self.turns));
        }
        Ok(())
    }

    /// Forgets a number, and returns whether there was a monitor.
    pub(crate) fn remove(&mut self, id: MonitorId) -> bool {
        let Some(place) = self.find(id) else {
            return false;
        };
        let removed = self.places[place].take();
        self.changes += 1;
        self.settle();
        removed.is_some_and(|it| it.watch.is_some())
    }

    /// Gives up the places of numbers that have no monitor and are not `named`.
    pub(crate) fn keep_named(&mut self, named: impl Fn(MonitorId) -> bool) {
        for place in &mut self.places {
            if place
                .as_ref()
                .is_some_and(|it| it.watch.is_none() && !named(it.id))
            {
                *place = None;
            }
        }
        self.settle();
    }

    /// Returns the numbers that have a place, with where it is.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &MonitorSlot)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(at, place)| Some((at, place.as_ref()?)))
    }

    /// Returns how often a monitor has begun or ended.
    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the monitors at all places that were ever taken.
    pub(crate) fn watches(&self) -> impl Iterator<Item = Option<&WatchedMessages>> {
        let places = self.places.iter();
        places.map(|place| place.as_ref().and_then(|it| it.watch.as_ref()))
    }

    /// Returns the number that has a place.
    pub(crate) fn id_at(&self, place: usize) -> Option<MonitorId> {
        Some(self.places.get(place)?.as_ref()?.id)
    }

    /// Returns what every monitor saw, by rising numbers, walks included.
    pub(crate) fn reports(&self, now: Instant, shared: Option<&SharedModes>) -> Vec<MonitorReport> {
        let watched = self.iter().filter_map(|(at, place)| {
            let mut watch = place.watch.clone()?;
            if let Some(words) = shared.and_then(|shared| shared.monitor(at, watch.turn)) {
                words.locked(at::LOCK, || watch.read(&words.read(0)));
            }
            Some(watch.report(now, place.id))
        });
        let mut reports: Vec<_> = watched.collect();
        reports.sort_by_key(|report| report.monitor);
        reports
    }

    fn settle(&mut self) {
        self.slots.fill(EMPTY);
        self.used = 0;
        for at in 0..self.places.len() {
            if let Some(id) = self.places[at].as_ref().map(|it| it.id) {
                self.used += 1;
                self.put(id, at);
            }
        }
    }

    fn put(&mut self, id: MonitorId, place: usize) {
        let mut at = home(id);
        while self.slots[at] != EMPTY {
            at = (at + 1) % SLOTS;
        }
        self.slots[at] = u16::try_from(place).expect("there are at most 1024");
    }
}

impl WatchedMessages {
    const fn new(contracts: Contracts, turn: u32) -> Self {
        Self {
            contracts,
            turn,
            monitor: FlowMonitor::new(contracts),
            unreadable: 0,
            last: None,
            violated: None,
            told: None,
        }
    }

    /// Returns the contracts by which it watches.
    pub(crate) const fn contracts(&self) -> &Contracts {
        &self.contracts
    }

    /// Returns how many monitors had begun when this one did.
    pub(crate) const fn turn(&self) -> u32 {
        self.turn
    }

    /// Takes a frame of the flow, on what walks have left if they see it as well;
    /// none is one without the header of a message.
    #[inline]
    pub(crate) fn take(
        &mut self,
        now: Instant,
        packet: Option<&Packet>,
        record: Option<Record<'_>>,
    ) -> Option<Shown> {
        let Some(record) = record else {
            return self.look_at(now, packet);
        };
        record.locked(at::LOCK, || {
            let mut words = record.read(0);
            self.read(&words);
            let shown = self.look_at(now, packet);
            self.write(&mut words);
            record.write(at::CURRENT, &words[at::CURRENT..]);
            shown
        })
    }

    #[inline]
    fn look_at(&mut self, now: Instant, packet: Option<&Packet>) -> Option<Shown> {
        let Some(packet) = packet else {
            self.unreadable += 1;
            return None;
        };
        Some(self.show(now, packet))
    }

    fn read(&mut self, words: &MonitorWords) {
        let get = |at: usize| words[at];
        self.monitor.read(words);
        self.unreadable = get(at::UNREADABLE);
        self.violated = instant(get(at::VIOLATED));
        let last = match get(at::CURRENT_SEEN) & at::STRAGGLER {
            0 => at::CURRENT_SEEN,
            _ => at::BEFORE_SEEN,
        };
        self.last = demand_of(get(last));
        let told = get(at::TOLD);
        let [.., a, b, c, d] = told.to_be_bytes();
        let message = u32::from_be_bytes([a, b, c, d]);
        self.told = demand_of(told).map(|demand| (message, demand));
    }

    fn write(&self, words: &mut MonitorWords) {
        self.monitor.write(words);
        words[at::UNREADABLE] = self.unreadable;
        words[at::VIOLATED] = self.violated.map_or(0, Instant::as_ns);
        if self.last != demand_of(words[at::CURRENT_SEEN]) {
            words[at::CURRENT_SEEN] |= at::STRAGGLER;
        }
        let told = |(message, demand)| u64::from(message) | word_of(demand);
        words[at::TOLD] = self.told.map_or(0, told);
    }

    /// Takes a packet of the flow.
    #[inline]
    pub(crate) fn show(&mut self, now: Instant, packet: &Packet) -> Shown {
        let demand = self.monitor.observe(now, packet);
        self.last = Some(demand);
        if demand == Demand::Level(Level::LOWEST) {
            return Shown {
                demand,
                is_news: false,
            };
        }
        self.violated = Some(now);
        let told = (packet.shim.message, demand);
        let is_news = self.told != Some(told);
        self.told = Some(told);
        Shown { demand, is_news }
    }

    fn report(&self, now: Instant, monitor: MonitorId) -> MonitorReport {
        let counters = self.monitor.counters();
        MonitorReport {
            monitor,
            demanded: self.last.map(demanded),
            quiet: self.violated.map(|last| now.saturating_since(last)),
            packets: counters.packets,
            messages: counters.messages,
            violations: counters.violations,
            beyond: counters.beyond,
            missing: counters.missing,
            duplicates: counters.duplicates,
            reordered: counters.reordered,
            unreadable: self.unreadable,
        }
    }
}

/// Returns a demand as controllers are told it.
pub(crate) const fn demanded(demand: Demand) -> Demanded {
    match demand {
        Demand::Level(level) => Demanded::Level(level),
        Demand::Beyond(level) => Demanded::Beyond(level),
    }
}

/// Returns a demand as part of a word.
fn word_of(demand: Demand) -> u64 {
    let beyond = match demand {
        Demand::Level(_) => 0,
        Demand::Beyond(_) => at::IS_BEYOND,
    };
    u64::from(demand.level().number()) << 32 | beyond | at::IS_THERE
}

/// Returns the demand in a word, if there is one.
fn demand_of(word: u64) -> Option<Demand> {
    let [.., level, _, _, _, _] = word.to_be_bytes();
    let level = Level::new(level)?;
    (word & at::IS_THERE != 0).then_some(match word & at::IS_BEYOND {
        0 => Demand::Level(level),
        _ => Demand::Beyond(level),
    })
}

fn home(id: MonitorId) -> usize {
    let hash = id.0.wrapping_mul(MULTIPLIER);
    let bits = u32::BITS - SLOTS.ilog2();
    usize::try_from(hash >> bits).expect("32 bits fit")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use units::Duration;
    use wire::message_shim::MessageShim;

    use super::super::Contract;
    use super::*;
    use crate::compiled::layout::Region;

    fn contracts(size_bytes: u32) -> Contracts {
        let period = Duration::from_ms(1);
        Contracts::new(&[Contract { period, size_bytes }], Duration::ZERO).unwrap()
    }

    proptest! {
        #[test]
        fn a_number_is_found_where_it_was_put(
            steps in prop::collection::vec((0u32..40, 0u8..3, 1u32..3), 1..200),
        ) {
            let mut table = MonitorTable::new();
            let mut model = BTreeMap::<u32, Option<u32>>::new();
            for (number, what, size) in steps {
                // Numbers that share a home.
                let id = MonitorId(number << 24);
                match what {
                    0 => {
                        table.add(id, contracts(size)).unwrap();
                        model.insert(id.0, Some(size));
                    }
                    1 => {
                        table.reserve(id).unwrap();
                        model.entry(id.0).or_insert(None);
                    }
                    _ => {
                        let known = model.remove(&id.0).flatten();
                        prop_assert_eq!(table.remove(id), known.is_some());
                    }
                }
                for number in 0..40 {
                    let id = MonitorId(number << 24);
                    prop_assert_eq!(table.find(id).is_some(), model.contains_key(&id.0));
                    let watched = table.watch_mut(id).map(|watch| *watch.contracts());
                    let expected = model.get(&id.0).copied().flatten();
                    prop_assert_eq!(watched, expected.map(contracts));
                }
            }
        }
    }

    #[test]
    fn a_watch_goes_on_from_its_words_as_if_it_had_never_been_away() {
        let mut stays = WatchedMessages::new(contracts(100), 1);
        let words = vec![Cell::new(0); Region::Monitors.record_words()];
        let words = Record::of(&words, Region::Monitors, 0);

        for step in 0..200u32 {
            // Messages whose packets mix with those of the next one, some too large.
            let message = (step + step % 3) / 4;
            let packet = (step % 17 != 0).then_some(Packet {
                shim: MessageShim {
                    message,
                    size_bytes: 90 + message % 5 * 5,
                    sequence: step,
                },
                carried_bytes: 20,
            });
            let now = Instant::from_ns(u64::from(step) * 900_000);
            let mut moves = WatchedMessages::new(contracts(100), 1);
            let seen = moves.take(now, packet.as_ref(), Some(words));
            assert_eq!(seen, stays.take(now, packet.as_ref(), None));
            assert_eq!(
                moves.report(now, MonitorId(1)),
                stays.report(now, MonitorId(1))
            );
        }
    }

    #[test]
    fn a_full_table_takes_no_further_number_until_one_is_forgotten() {
        let mut table = MonitorTable::new();
        for number in 0..MONITORS_MAX {
            table
                .reserve(MonitorId(u32::try_from(number).unwrap()))
                .unwrap();
        }

        assert_eq!(table.reserve(MonitorId(99_999)), Err(TooManyMonitors));
        table.keep_named(|id| id.0 % 2 == 0);
        assert!(table.reserve(MonitorId(99_999)).is_ok());
        assert_eq!(table.find(MonitorId(1)), None);
    }
}
