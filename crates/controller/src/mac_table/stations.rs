//! Where the stations of one switch were last seen: a hash table.
//!
//! Nothing is searched for long: a station lies within a few places of where its hash
//! points. The table doubles when it is half full, up to [`MOST_PLACES`]. The order of
//! the places never shows.

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use super::Station;

/// How long a station is known that is not heard of (IEEE 802.1Q clause 8.8.3, the
/// recommended value).
pub const AGEING_TIME: Duration = Duration::from_secs(300);
/// The most stations of one switch.
pub const MAX_AT_SWITCH: u32 = 1 << 17;
/// The most stations behind one port: three quarters of the above.
pub const MAX_AT_PORT: u32 = MAX_AT_SWITCH / 4 * 3;
/// How long nothing is told of a port at which stations go short, once it was.
pub const TELL_INTERVAL: Duration = Duration::from_secs(60);
/// How many places a table has at most: it is half full then.
pub(super) const MOST_PLACES: usize = 2 * MAX_AT_SWITCH as usize;
/// How many it begins with.
const FIRST_PLACES: usize = 256;
/// How many places a station may lie in.
const REACH: usize = 16;

/// What a frame tells of where its source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    Nothing,
    /// It was not known to be anywhere.
    Found {
        /// Who has made room though it was heard of, or was led to.
        instead: Option<Displaced>,
    },
    Moved,
    /// It was not known to be anywhere, and is not now: there is no room.
    Refused,
}

/// A station that has made room for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displaced {
    pub mac: MacAddress,
    /// Whether entries may lead to it.
    pub is_led_to: bool,
    /// Whether it was not heard of for [`AGEING_TIME`].
    pub is_aged: bool,
}

#[derive(Clone, Copy, Debug)]
struct StationSlot {
    station: Station,
    port: PortNumber,
    mark: Mark,
}

/// When a station was last heard of, in seconds and one, and whether entries may lead to
/// it (the highest bit). Zero: the place is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark(u32);

impl Mark {
    const FREE: Self = Self(0);
    const LED_TO: u32 = 1 << 31;

    /// The time from here on; 68 years are enough.
    fn at(now: Instant) -> Self {
        let seconds = now.saturating_since(Instant::ZERO).as_ns() / 1_000_000_000;
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        Self(seconds.min(Self::LED_TO - 2) + 1)
    }

    const fn seconds(self) -> u32 {
        self.0 & !Self::LED_TO
    }

    const fn is_free(self) -> bool {
        self.0 == 0
    }

    const fn is_led_to(self) -> bool {
        self.0 & Self::LED_TO != 0
    }

    fn is_aged(self, now: Self) -> bool {
        let silent = now.seconds().saturating_sub(self.seconds());
        u64::from(silent) * 1_000_000_000 >= AGEING_TIME.as_ns()
    }
}

/// What is counted of a port.
#[derive(Clone, Copy, Debug, Default)]
struct AtPort {
    stations: u32,
    /// When it was told that stations go short.
    told: Option<Instant>,
}

/// The stations of one switch.
#[derive(Debug)]
pub(super) struct Stations {
    seed: u64,
    /// A power of two, and a reach behind them; none before the first station.
    places: Box<[StationSlot]>,
    count: u32,
    ports: BTreeMap<PortNumber, AtPort>,
}

impl Stations {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            places: Box::new([]),
            count: 0,
            ports: BTreeMap::new(),
        }
    }

    /// Returns how many places there are.
    pub(super) fn capacity(&self) -> usize {
        self.places.len().saturating_sub(REACH)
    }

    #[inline]
    pub(super) fn learn(
        &mut self,
        now: Instant,
        station: Station,
        port: PortNumber,
        spare: &mut usize,
    ) -> Learned {
        let now = Mark::at(now);
        if let Some(index) = self.find(station) {
            let place = &mut self.places[index];
            let before = std::mem::replace(&mut place.port, port);
            if before == port {
                place.mark = Mark(now.0 | place.mark.0 & Mark::LED_TO);
                return Learned::Nothing;
            }
            place.mark = now;
            self.leave(before);
            self.count_in(port);
            return Learned::Moved;
        }
        self.find_room(now, station, port, spare)
    }

    /// Learns a station that is not known.
    fn find_room(
        &mut self,
        now: Mark,
        station: Station,
        port: PortNumber,
        spare: &mut usize,
    ) -> Learned {
        let at_port = self.at_port(port);
        let has_room = at_port < MAX_AT_PORT && self.count < MAX_AT_SWITCH;
        if has_room && self.count as usize * 2 >= self.capacity() {
            self.grow(spare);
        }
        let mut free = self.free_place(station);
        if has_room && free.is_none() && self.grow(spare) {
            free = self.free_place(station);
        }
        let (index, instead) = match free.filter(|_| has_room) {
            Some(index) => (index, None),
            None => match self.place_to_take(now, station, port) {
                Some(index) => (index, Some(self.displace(index, now))),
                None => return Learned::Refused,
            },
        };
        self.places[index] = StationSlot {
            station,
            port,
            mark: now,
        };
        self.count_in(port);
        self.count += 1;
        Learned::Found { instead }
    }

    /// Returns the place of a station that makes room for another one behind `port`.
    fn place_to_take(&self, now: Mark, station: Station, port: PortNumber) -> Option<usize> {
        let home = self.home(station)?;
        let own = self.at_port(port);
        let may_be_taken = |place: &StationSlot| {
            let is_kept = place.mark.is_led_to() && !place.mark.is_aged(now);
            let is_same = place.port == port;
            let is_of_many =
                own < MAX_AT_PORT && (place.mark.is_aged(now) || self.at_port(place.port) >= own);
            !place.mark.is_free() && !is_kept && (is_same || is_of_many)
        };
        let reach = home..home + REACH;
        let taken = reach.filter(|index| may_be_taken(&self.places[*index]));
        taken.min_by_key(|index| self.places[*index].mark.seconds())
    }

    fn displace(&mut self, index: usize, now: Mark) -> Displaced {
        let StationSlot { station, mark, .. } = self.places[index];
        self.clear(index);
        Displaced {
            mac: station.mac,
            is_led_to: mark.is_led_to(),
            is_aged: mark.is_aged(now),
        }
    }

    #[inline]
    pub(super) fn lead_to(&mut self, now: Instant, station: Station) -> Option<PortNumber> {
        let now = Mark::at(now);
        let index = self.find(station)?;
        let place = &mut self.places[index];
        if place.mark.is_aged(now) {
            return None;
        }
        place.mark = Mark(now.0 | Mark::LED_TO);
        Some(place.port)
    }

    pub(super) fn port_of(&self, station: Station) -> Option<PortNumber> {
        self.find(station).map(|index| self.places[index].port)
    }

    pub(super) fn is_to_tell(&mut self, now: Instant, port: PortNumber) -> bool {
        let Some(port) = self.ports.get_mut(&port) else {
            return false;
        };
        let is_due = |told: Instant| now.saturating_since(told) >= TELL_INTERVAL;
        let is_to_tell = port.told.is_none_or(is_due);
        if is_to_tell {
            port.told = Some(now);
        }
        is_to_tell
    }

    pub(super) fn forget(&mut self, station: Station) -> bool {
        let found = self.find(station);
        if let Some(index) = found {
            self.clear(index);
        }
        found.is_some()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Station, PortNumber)> + '_ {
        let known = self.places.iter().filter(|place| !place.mark.is_free());
        known.map(|place| (place.station, place.port))
    }

    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(Station, PortNumber) -> bool) {
        for index in 0..self.places.len() {
            let place = self.places[index];
            if !place.mark.is_free() && !is_kept(place.station, place.port) {
                self.clear(index);
            }
        }
    }

    fn clear(&mut self, index: usize) {
        let place = &mut self.places[index];
        place.mark = Mark::FREE;
        self.count -= 1;
        let port = place.port;
        self.leave(port);
    }

    fn at_port(&self, port: PortNumber) -> u32 {
        self.ports.get(&port).map_or(0, |port| port.stations)
    }

    fn count_in(&mut self, port: PortNumber) {
        self.ports.entry(port).or_default().stations += 1;
    }

    fn leave(&mut self, port: PortNumber) {
        if let Some(at) = self.ports.get_mut(&port) {
            at.stations -= 1;
            if at.stations == 0 {
                self.ports.remove(&port);
            }
        }
    }

    /// Takes as many places more as there are, if they may be had. Returns whether.
    fn grow(&mut self, spare: &mut usize) -> bool {
        let before = self.capacity();
        let mut capacity = (before * 2).max(FIRST_PLACES);
        while capacity <= MOST_PLACES && capacity - before <= *spare {
            if let Some(places) = self.spread_over(capacity) {
                self.places = places;
                *spare -= capacity - before;
                return true;
            }
            capacity *= 2;
        }
        false
    }

    /// Returns so many places with all stations in them; none if one finds no place.
    fn spread_over(&self, capacity: usize) -> Option<Box<[StationSlot]>> {
        let free = StationSlot {
            station: Station::of(MacAddress::ZERO, None),
            port: PortNumber(0),
            mark: Mark::FREE,
        };
        let mut places = vec![free; capacity + REACH].into_boxed_slice();
        for place in self.places.iter().filter(|place| !place.mark.is_free()) {
            let home = home(self.seed, place.station, capacity);
            let mut reach = places[home..home + REACH].iter_mut();
            *reach.find(|place| place.mark.is_free())? = *place;
        }
        Some(places)
    }

    #[inline]
    fn find(&self, station: Station) -> Option<usize> {
        let home = self.home(station)?;
        let mut reach = self.places[home..home + REACH].iter();
        let found = reach.position(|it| it.station == station && !it.mark.is_free());
        found.map(|at| home + at)
    }

    fn free_place(&self, station: Station) -> Option<usize> {
        let home = self.home(station)?;
        let mut reach = self.places[home..home + REACH].iter();
        reach.position(|it| it.mark.is_free()).map(|at| home + at)
    }

    #[inline]
    fn home(&self, station: Station) -> Option<usize> {
        match self.capacity() {
            0 => None,
            capacity => Some(home(self.seed, station, capacity)),
        }
    }
}

/// Returns the first of the places in which a station may lie.
///
/// Multiplies by an odd number and folds the product, twice: then the high bits depend on
/// all bits of the key.
#[inline]
fn home(seed: u64, station: Station, capacity: usize) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |key: u64| {
        let product = key.wrapping_mul(FACTOR);
        product ^ product >> 32
    };
    let [a, b, c, d, e, g] = station.mac.0;
    let [y, z] = station.vlan.to_be_bytes();
    let key = u64::from_be_bytes([y, z, a, b, c, d, e, g]) ^ seed;
    let hash = fold(fold(key)).wrapping_mul(FACTOR) >> (64 - capacity.ilog2());
    usize::try_from(hash).expect("a few bits fit an address")
}
