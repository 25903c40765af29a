//! Where stations were last seen, by switch: a hash table of fixed size.
//!
//! A station is an address in a VLAN (IEEE 802.1Q clause 8.8): the same address may
//! be elsewhere in another one.
//!
//! Nothing is allocated after the start and nothing is searched for long: a station
//! lies within a few places of where its hash points, and if those are taken, the
//! first of them is forgotten. Being forgotten costs a station one more flood. The hash depends on a seed, so that nobody outside can choose
//! addresses that drive each other out. The order of the places never shows.

use wire::ethernet::{MacAddress, VlanTag};
use wire::openflow::PortNumber;

use crate::session::ConnectionId;

/// How many stations the table holds; a power of two.
pub const CAPACITY: usize = 1 << 16;
/// How many places a station may lie in.
const REACH: usize = 8;

/// A station, as switches tell it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Station {
    /// Its VLAN; 0 for the one of frames without a tag.
    pub vlan: u16,
    /// Its address.
    pub mac: MacAddress,
}

impl Station {
    /// Returns the station with this address, of frames with this tag.
    #[must_use]
    pub const fn of(mac: MacAddress, tag: Option<VlanTag>) -> Self {
        let vlan = match tag {
            Some(tag) => tag.id,
            None => 0,
        };
        Self { vlan, mac }
    }
}

/// What a frame tells of where its source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// Nothing new.
    Nothing,
    /// It was not known to be anywhere.
    Found,
    /// It was elsewhere.
    Moved,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    station: Station,
    owner: ConnectionId,
    epoch: u32,
    port: PortNumber,
}

/// The table.
#[derive(Debug)]
pub struct MacTable {
    seed: u64,
    /// Places of an earlier epoch are empty.
    epoch: u32,
    /// Whether anything was forgotten for want of room.
    is_leaky: bool,
    places: Box<[Place]>,
}

impl MacTable {
    /// Starts empty.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let empty = Place {
            station: Station::of(MacAddress::ZERO, None),
            owner: ConnectionId(0),
            epoch: 0,
            port: PortNumber(0),
        };
        Self {
            seed,
            epoch: 1,
            is_leaky: false,
            places: vec![empty; CAPACITY + REACH].into_boxed_slice(),
        }
    }

    /// Forgets all stations.
    pub fn clear(&mut self) {
        self.is_leaky = false;
        self.epoch = self.epoch.wrapping_add(1).max(1);
    }

    /// Returns whether a station was forgotten for want of room since all were.
    #[must_use]
    pub const fn is_leaky(&self) -> bool {
        self.is_leaky
    }

    /// Notes behind which port of the switch at a connection a station is.
    #[inline]
    pub fn learn(&mut self, owner: ConnectionId, station: Station, port: PortNumber) -> Learned {
        let epoch = self.epoch;
        let home = self.home(owner, station);
        let reach = &mut self.places[home..home + REACH];
        let is_same = |place: &Place| {
            place.station == station && place.owner == owner && place.epoch == epoch
        };
        let found = reach.iter().position(is_same);
        let free = || reach.iter().position(|place| place.epoch != epoch);
        let (index, learned) = match found {
            Some(index) if reach[index].port == port => return Learned::Nothing,
            Some(index) => (index, Learned::Moved),
            None => {
                let free = free();
                self.is_leaky |= free.is_none();
                (free.unwrap_or(0), Learned::Found)
            }
        };
        reach[index] = Place {
            station,
            owner,
            epoch,
            port,
        };
        learned
    }

    /// Returns behind which port a station is, if that is known.
    #[must_use]
    #[inline]
    pub fn port(&self, owner: ConnectionId, station: Station) -> Option<PortNumber> {
        let index = self.find(owner, station)?;
        Some(self.places[index].port)
    }

    /// Forgets a station at one switch. Returns whether it was known there.
    pub fn forget(&mut self, owner: ConnectionId, station: Station) -> bool {
        let found = self.find(owner, station);
        if let Some(index) = found {
            self.places[index].epoch = 0;
        }
        found.is_some()
    }

    /// Returns all that is known, in an order that must not show.
    pub fn iter(&self) -> impl Iterator<Item = (ConnectionId, Station, PortNumber)> + '_ {
        let known = self.places.iter();
        known
            .filter(|place| place.epoch == self.epoch)
            .map(|place| (place.owner, place.station, place.port))
    }

    /// Keeps only what `is_kept`.
    pub fn retain(&mut self, mut is_kept: impl FnMut(ConnectionId, Station, PortNumber) -> bool) {
        for place in &mut self.places {
            if place.epoch == self.epoch && !is_kept(place.owner, place.station, place.port) {
                place.epoch = 0;
            }
        }
    }

    #[inline]
    fn find(&self, owner: ConnectionId, station: Station) -> Option<usize> {
        let home = self.home(owner, station);
        let mut reach = self.places[home..home + REACH].iter();
        let found = reach.position(|place| {
            place.station == station && place.owner == owner && place.epoch == self.epoch
        });
        found.map(|at| home + at)
    }

    /// Multiplies by an odd number and folds the product, twice: then the high
    /// bits depend on all bits of the key.
    fn home(&self, owner: ConnectionId, station: Station) -> usize {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let fold = |key: u64| {
            let product = key.wrapping_mul(FACTOR);
            product ^ product >> 32
        };
        let [a, b, c, d, e, g] = station.mac.0;
        let [y, z] = station.vlan.to_be_bytes();
        let key = u64::from_be_bytes([y, z, a, b, c, d, e, g]) ^ self.seed;
        let hash = fold(fold(key) ^ owner.0).wrapping_mul(FACTOR) >> (64 - CAPACITY.ilog2());
        usize::try_from(hash).expect("a few bits fit an address")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: ConnectionId = ConnectionId(1);

    #[test]
    fn a_station_is_found_where_it_was_last_seen() {
        let mut table = MacTable::new(7);
        table.learn(SWITCH, station(1), PortNumber(1));

        table.learn(SWITCH, station(1), PortNumber(2));

        assert_eq!(table.port(SWITCH, station(1)), Some(PortNumber(2)));
        assert_eq!(table.port(ConnectionId(2), station(1)), None);
    }

    #[test]
    fn the_same_address_is_another_station_in_another_vlan() {
        let mut table = MacTable::new(7);
        let tagged = Station {
            vlan: 5,
            ..station(1)
        };

        let first = table.learn(SWITCH, station(1), PortNumber(1));
        let second = table.learn(SWITCH, tagged, PortNumber(2));
        let again = table.learn(SWITCH, station(1), PortNumber(1));
        let moved = table.learn(SWITCH, tagged, PortNumber(3));

        assert_eq!((first, second), (Learned::Found, Learned::Found));
        assert_eq!((again, moved), (Learned::Nothing, Learned::Moved));
        assert_eq!(table.port(SWITCH, station(1)), Some(PortNumber(1)));
    }

    #[test]
    fn one_station_can_be_forgotten_and_the_others_stay() {
        let mut table = MacTable::new(7);
        table.learn(SWITCH, station(1), PortNumber(1));
        table.learn(SWITCH, station(2), PortNumber(2));

        let forgotten = [1, 1].map(|number| table.forget(SWITCH, station(number)));

        assert_eq!(forgotten, [true, false]);
        let known: Vec<_> = table.iter().collect();
        assert_eq!(known, [(SWITCH, station(2), PortNumber(2))]);
    }

    #[test]
    fn a_table_without_room_says_so() {
        let mut table = MacTable::new(7);
        let count = u32::try_from(CAPACITY).unwrap();

        for number in 0..count * 2 {
            table.learn(SWITCH, station(number), PortNumber(number));
        }
        let full = table.is_leaky();
        table.clear();

        assert_eq!((full, table.is_leaky()), (true, false));
    }

    #[test]
    fn nothing_is_known_after_all_was_forgotten() {
        let mut table = MacTable::new(7);
        table.learn(SWITCH, station(1), PortNumber(1));

        table.clear();

        assert_eq!(table.port(SWITCH, station(1)), None);
    }

    #[test]
    fn half_a_table_of_stations_is_hardly_forgotten() {
        let mut table = MacTable::new(7);
        let count = u32::try_from(CAPACITY / 2).unwrap();

        for number in 0..count {
            table.learn(SWITCH, station(number), PortNumber(number));
        }

        let known = (0..count)
            .filter(|number| table.port(SWITCH, station(*number)) == Some(PortNumber(*number)));
        assert!(known.count() > CAPACITY / 2 * 99 / 100);
    }

    #[test]
    fn stations_of_many_switches_spread() {
        let mut table = MacTable::new(1);

        for switch in 1..=16 {
            for number in 0..1_000 {
                table.learn(ConnectionId(switch), station(number), PortNumber(number));
            }
        }

        let is_known = |switch, number| {
            table.port(ConnectionId(switch), station(number)) == Some(PortNumber(number))
        };
        let known = (1..=16).map(|switch| (0..1_000).filter(|it| is_known(switch, *it)).count());
        assert!(known.sum::<usize>() >= 15_990);
    }

    fn station(number: u32) -> Station {
        let [a, b, c, d] = number.to_be_bytes();
        Station::of(MacAddress([2, 0, a, b, c, d]), None)
    }
}
