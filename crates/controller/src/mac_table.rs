//! Where stations were last seen, by switch.
//!
//! A station is an address in a VLAN (IEEE 802.1Q clause 8.8): the same address may
//! be elsewhere in another one. Every switch has a table of its own, which grows with
//! what it has to hold and is gone when the connection to the switch is; so no switch
//! takes a place from another one.
//!
//! Who makes up addresses takes places from nobody but its own kind. A station makes
//! room when it was not heard of for [`AGEING_TIME`](stations::AGEING_TIME). Beyond the quota of a port a new
//! station takes the place of one of that port, beyond the quota of a switch that of one
//! at a port with as many as its own; the one that was not heard of for longest, and
//! never one to which entries of the switch lead. If there is none, the new station is
//! not learned: its frames are sent on, and frames to it flooded.

pub mod stations;

use std::collections::BTreeMap;

use units::Instant;
use wire::ethernet::{MacAddress, VlanTag};
use wire::openflow::PortNumber;

use crate::session::ConnectionId;

pub use stations::Learned;
use stations::{MOST_PLACES, Stations};

/// How many places the tables of all switches have together, of 16 bytes each: those of
/// 32 switches with as many stations as there may be.
const PLACES_OF_ALL: usize = 32 * MOST_PLACES;

/// A station, as switches tell it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Station {
    /// Its VLAN; 0 for the one of frames without a tag.
    pub vlan: u16,
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

/// The tables of all switches.
#[derive(Debug)]
pub struct MacTable {
    seed: u64,
    switches: BTreeMap<ConnectionId, Stations>,
    /// How many places may be made yet.
    spare: usize,
}

/// The table of one switch, with what all share.
#[derive(Debug)]
pub struct AtSwitch<'a> {
    stations: &'a mut Stations,
    spare: &'a mut usize,
}

impl AtSwitch<'_> {
    /// Notes behind which port a station is.
    #[inline]
    pub fn learn(&mut self, now: Instant, station: Station, port: PortNumber) -> Learned {
        self.stations.learn(now, station, port, self.spare)
    }

    /// Returns behind which port a station is, to which an entry is about to lead.
    #[inline]
    pub fn lead_to(&mut self, now: Instant, station: Station) -> Option<PortNumber> {
        self.stations.lead_to(now, station)
    }

    /// Returns behind which port a station was last seen, however long ago.
    #[must_use]
    pub fn port_of(&self, station: Station) -> Option<PortNumber> {
        self.stations.port_of(station)
    }

    /// Returns whether somebody is to be told that stations of this port go short.
    pub fn is_to_tell(&mut self, now: Instant, port: PortNumber) -> bool {
        self.stations.is_to_tell(now, port)
    }
}

impl MacTable {
    /// Starts empty. Nobody who does not know the seed can choose addresses that drive
    /// each other out.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            switches: BTreeMap::new(),
            spare: PLACES_OF_ALL,
        }
    }

    pub fn clear(&mut self) {
        self.switches.clear();
        self.spare = PLACES_OF_ALL;
    }

    /// Forgets the stations of a switch that is not connected any more.
    pub fn close(&mut self, owner: ConnectionId) {
        if let Some(stations) = self.switches.remove(&owner) {
            self.spare += stations.capacity();
        }
    }

    /// Returns the table of the switch at a connection.
    #[inline]
    pub fn at(&mut self, owner: ConnectionId) -> AtSwitch<'_> {
        let stations = self.switches.entry(owner);
        AtSwitch {
            stations: stations.or_insert_with(|| Stations::new(self.seed ^ owner.0)),
            spare: &mut self.spare,
        }
    }

    /// Forgets a station at one switch. Returns whether it was known there.
    pub fn forget(&mut self, owner: ConnectionId, station: Station) -> bool {
        let stations = self.switches.get_mut(&owner);
        stations.is_some_and(|stations| stations.forget(station))
    }

    /// Returns all that is known, the stations of a switch in an order that must not
    /// show.
    pub fn iter(&self) -> impl Iterator<Item = (ConnectionId, Station, PortNumber)> + '_ {
        let switches = self.switches.iter();
        switches.flat_map(|(owner, stations)| {
            let known = stations.iter();
            known.map(|(station, port)| (*owner, station, port))
        })
    }

    /// Keeps only what `is_kept`.
    pub fn retain(&mut self, mut is_kept: impl FnMut(ConnectionId, Station, PortNumber) -> bool) {
        for (owner, stations) in &mut self.switches {
            stations.retain(|station, port| is_kept(*owner, station, port));
        }
    }
}

#[cfg(test)]
mod tests;
