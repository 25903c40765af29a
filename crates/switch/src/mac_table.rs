//! Which station is behind which port: what the ordinary treatment of frames
//! learns from where they come from.
//!
//! Set-associative, like a cache: an address of a VLAN has one set of [`WAYS`]
//! places, chosen by a seeded hash, so that learning and asking look at no more
//! than that many places and allocate nothing. A full set forgets the station
//! that was silent for longest. What is forgotten is flooded, which is always
//! right, only more expensive.
//!
//! Sources: IEEE 802.1Q clauses 8.7 (learning) and 8.8.3 (ageing).

use units::{Duration, Instant};

use crate::config::MacTableConfig;
use crate::masked_hash::MaskedHash;
use crate::port::PortIndex;

/// How many places an address may take.
const WAYS: usize = 4;
const MAC_BITS: u32 = 48;

/// A station: its address and the VLAN in which it was heard, which is zero for
/// frames without a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Station(u64);

impl Station {
    pub(crate) const fn new(vlan: u16, mac: u64) -> Self {
        Self((vlan as u64) << MAC_BITS | mac)
    }
}

#[derive(Clone, Copy, Debug)]
struct MacEntry {
    station: Station,
    port: PortIndex,
    /// How often the port had been forgotten when the station was heard.
    epoch: u32,
    heard: Instant,
}

/// What is known about stations.
#[derive(Debug)]
pub(crate) struct MacTable {
    age_max: Duration,
    seed: u64,
    sets: Vec<[Option<MacEntry>; WAYS]>,
    /// How often each port was forgotten.
    epochs: Vec<u32>,
}

impl MacTable {
    /// Returns an empty table for the stations behind `ports` ports.
    pub(crate) fn new(config: MacTableConfig, ports: usize, seed: u64) -> Self {
        let sets = config.capacity.div_ceil(WAYS).next_power_of_two();
        Self {
            age_max: config.age_max,
            seed,
            sets: vec![[None; WAYS]; sets],
            epochs: vec![0; ports],
        }
    }

    /// Notes that a station was heard at a port.
    pub(crate) fn learn(&mut self, now: Instant, station: Station, port: PortIndex) {
        let place = MacEntry {
            station,
            port,
            epoch: self.epochs[port.at()],
            heard: now,
        };
        let at = self.set_of(station);
        let set = &mut self.sets[at];
        let known = set
            .iter()
            .position(|place| place.is_some_and(|place| place.station == station));
        // An empty place counts as silent since ever.
        let silent = (0..WAYS).min_by_key(|way| set[*way].map(|place| place.heard));
        let way = known.or(silent).expect("a set has places");
        set[way] = Some(place);
    }

    /// Returns the port behind which a station was heard lately.
    pub(crate) fn find(&self, now: Instant, station: Station) -> Option<PortIndex> {
        let mut set = self.sets[self.set_of(station)].iter().flatten();
        let place = set.find(|place| place.station == station)?;
        let young = now.saturating_since(place.heard) <= self.age_max;
        let counts = place.epoch == self.epochs[place.port.at()];
        (young && counts).then_some(place.port)
    }

    /// Forgets every station behind a port.
    pub(crate) fn forget(&mut self, port: PortIndex) {
        let epoch = &mut self.epochs[port.at()];
        *epoch = epoch.wrapping_add(1);
    }

    fn set_of(&self, station: Station) -> usize {
        let hash = MaskedHash::mix(self.seed, station.0);
        let hash = usize::try_from(hash).expect("64 bits fit");
        hash & (self.sets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE: Duration = Duration::from_secs(300);
    const HERE: PortIndex = PortIndex(0);
    const THERE: PortIndex = PortIndex(1);

    fn table(capacity: usize) -> MacTable {
        let age_max = AGE;
        MacTable::new(MacTableConfig { capacity, age_max }, 2, 0x5eed)
    }

    #[test]
    fn a_station_is_where_it_was_heard_last() {
        let mut table = table(64);
        let (station, now) = (Station::new(0, 5), Instant::ZERO);

        table.learn(now, station, HERE);
        table.learn(now, station, THERE);

        assert_eq!(table.find(now, station), Some(THERE));
    }

    #[test]
    fn the_same_address_in_two_vlans_is_two_stations() {
        let mut table = table(64);
        let now = Instant::ZERO;

        table.learn(now, Station::new(1, 5), HERE);

        assert_eq!(table.find(now, Station::new(2, 5)), None);
    }

    #[test]
    fn a_station_that_is_silent_too_long_is_forgotten() {
        let mut table = table(64);
        let station = Station::new(0, 5);

        table.learn(Instant::ZERO, station, HERE);

        assert_eq!(table.find(Instant::ZERO + AGE, station), Some(HERE));
        let later = Instant::ZERO + AGE + Duration::from_ns(1);
        assert_eq!(table.find(later, station), None);
    }

    #[test]
    fn what_was_behind_a_port_is_forgotten_with_it() {
        let mut table = table(64);
        let now = Instant::ZERO;
        let (gone, stays) = (Station::new(0, 5), Station::new(0, 6));
        table.learn(now, gone, HERE);
        table.learn(now, stays, THERE);

        table.forget(HERE);

        assert_eq!(table.find(now, gone), None);
        assert_eq!(table.find(now, stays), Some(THERE));
        table.learn(now, gone, HERE);
        assert_eq!(table.find(now, gone), Some(HERE));
    }

    #[test]
    fn a_full_set_forgets_the_station_that_was_silent_for_longest() {
        let mut table = table(WAYS);
        let at = |n: u64| Instant::ZERO + Duration::from_secs(n);
        for n in 0..5 {
            table.learn(at(n), Station::new(0, n), HERE);
        }

        assert_eq!(table.find(at(5), Station::new(0, 0)), None);
        for n in 1..5 {
            assert_eq!(table.find(at(5), Station::new(0, n)), Some(HERE));
        }
    }
}
