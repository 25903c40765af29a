//! Where hosts were last seen, by switch: a hash table of fixed size.
//!
//! Nothing is allocated after the start and nothing is searched for long: an
//! address lies within a few places of where its hash points, and if those are
//! taken, the first of them is forgotten. Being forgotten costs a host one more
//! flood. The hash depends on a seed, so that nobody outside can choose
//! addresses that drive each other out. The order of the places never shows.

use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use crate::session::ConnectionId;

/// How many addresses the table holds; a power of two.
pub const CAPACITY: usize = 1 << 16;
/// How many places an address may lie in.
const REACH: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Place {
    mac: MacAddress,
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
    places: Box<[Place]>,
}

impl MacTable {
    /// Starts empty.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let empty = Place {
            mac: MacAddress::ZERO,
            owner: ConnectionId(0),
            epoch: 0,
            port: PortNumber(0),
        };
        Self {
            seed,
            epoch: 1,
            places: vec![empty; CAPACITY + REACH].into_boxed_slice(),
        }
    }

    /// Forgets all addresses.
    pub fn clear(&mut self) {
        self.epoch = self.epoch.wrapping_add(1).max(1);
    }

    /// Notes behind which port of the switch at a connection an address is.
    /// Returns whether that was not known.
    #[inline]
    pub fn learn(&mut self, owner: ConnectionId, mac: MacAddress, port: PortNumber) -> bool {
        let epoch = self.epoch;
        let home = self.home(owner, mac);
        let reach = &mut self.places[home..home + REACH];
        let is_same =
            |place: &Place| place.mac == mac && place.owner == owner && place.epoch == epoch;
        let found = reach.iter().position(is_same);
        let free = || reach.iter().position(|place| place.epoch != epoch);
        let index = found.or_else(free).unwrap_or(0);
        let is_news = found.is_none() || reach[index].port != port;
        reach[index] = Place {
            mac,
            owner,
            epoch,
            port,
        };
        is_news
    }

    /// Returns behind which port an address is, if that is known.
    #[must_use]
    #[inline]
    pub fn port(&self, owner: ConnectionId, mac: MacAddress) -> Option<PortNumber> {
        let home = self.home(owner, mac);
        let mut reach = self.places[home..home + REACH].iter();
        let place = reach
            .find(|place| place.mac == mac && place.owner == owner && place.epoch == self.epoch)?;
        Some(place.port)
    }

    /// Multiplies by an odd number and folds the product, twice: then the high
    /// bits depend on all bits of the key.
    fn home(&self, owner: ConnectionId, mac: MacAddress) -> usize {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let fold = |key: u64| {
            let product = key.wrapping_mul(FACTOR);
            product ^ product >> 32
        };
        let [a, b, c, d, e, g] = mac.0;
        let key = u64::from_be_bytes([0, 0, a, b, c, d, e, g]) ^ self.seed;
        let hash = fold(fold(key) ^ owner.0).wrapping_mul(FACTOR) >> (64 - CAPACITY.ilog2());
        usize::try_from(hash).expect("a few bits fit an address")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: ConnectionId = ConnectionId(1);

    #[test]
    fn an_address_is_found_where_it_was_last_seen() {
        let mut table = MacTable::new(7);
        table.learn(SWITCH, mac(1), PortNumber(1));

        table.learn(SWITCH, mac(1), PortNumber(2));

        assert_eq!(table.port(SWITCH, mac(1)), Some(PortNumber(2)));
        assert_eq!(table.port(ConnectionId(2), mac(1)), None);
    }

    #[test]
    fn nothing_is_known_after_all_was_forgotten() {
        let mut table = MacTable::new(7);
        table.learn(SWITCH, mac(1), PortNumber(1));

        table.clear();

        assert_eq!(table.port(SWITCH, mac(1)), None);
    }

    #[test]
    fn half_a_table_of_addresses_is_hardly_forgotten() {
        let mut table = MacTable::new(7);
        let count = u32::try_from(CAPACITY / 2).unwrap();

        for number in 0..count {
            table.learn(SWITCH, mac(number), PortNumber(number));
        }

        let known = (0..count)
            .filter(|number| table.port(SWITCH, mac(*number)) == Some(PortNumber(*number)));
        assert!(known.count() > CAPACITY / 2 * 99 / 100);
    }

    #[test]
    fn addresses_of_many_switches_spread() {
        let mut table = MacTable::new(1);

        for switch in 1..=16 {
            for number in 0..1_000 {
                table.learn(ConnectionId(switch), mac(number), PortNumber(number));
            }
        }

        let is_known = |switch, number| {
            table.port(ConnectionId(switch), mac(number)) == Some(PortNumber(number))
        };
        let known = (1..=16).map(|switch| (0..1_000).filter(|it| is_known(switch, *it)).count());
        assert!(known.sum::<usize>() >= 15_990);
    }

    fn mac(number: u32) -> MacAddress {
        let [a, b, c, d] = number.to_be_bytes();
        MacAddress([2, 0, a, b, c, d])
    }
}
