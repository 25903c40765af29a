//! Routes, compactly, and which of them need an entry.
//!
//! Routes are kept by family and length, in the order of their addresses: what covers a prefix
//! is found by one look for each shorter length, and what it covers is a range of each longer
//! one.
//!
//! A prefix that the next shorter one leads to the same next hop needs no entry: frames go
//! the same way without it. That is what the simplest part of ORTC does (Draves et al.,
//! "Constructing optimal IP routing tables", INFOCOM 1999, section 3: a node that inherits its
//! next hop is left out). It is looked for within `REACH` bits, so that a change concerns a
//! bounded number of other prefixes.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::northbound::IpPrefix;

/// How many bits shorter the prefix may be by which another one needs no entry. A change
/// concerns at most 2^(REACH + 1) - 2 others.
const REACH: u8 = 8;
const LENGTHS_V4: usize = 33;
const LENGTHS: usize = LENGTHS_V4 + 129;

/// A next hop, by its place among the next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HopId(pub u16);

/// How a route is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// It has an entry.
    Entry,
    /// The next shorter prefix leads to the same next hop.
    Inherited,
    /// It is not used: it comes and goes.
    Damped,
}

/// What is kept of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The number of the last change of its entry.
    pub changed: u64,
    /// Since when it is as it is, in seconds of the controller's clock.
    pub since_s: u32,
    pub next_hop: HopId,
    /// The snapshot that named it last.
    pub generation: u16,
    pub usage: Usage,
}

/// A prefix as a key: family and length choose the map, the address comes left-aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    is_v6: bool,
    length: u8,
    bits: u128,
}

impl Key {
    fn new(prefix: IpPrefix) -> Self {
        let (is_v6, bits) = match prefix.address() {
            IpAddr::V4(address) => (false, u128::from(address.to_bits()) << 96),
            IpAddr::V6(address) => (true, address.to_bits()),
        };
        Self {
            is_v6,
            length: prefix.length(),
            bits,
        }
    }

    fn prefix(self) -> IpPrefix {
        let address = match self.is_v6 {
            true => IpAddr::V6(Ipv6Addr::from_bits(self.bits)),
            false => {
                let [a, b, c, d, ..] = self.bits.to_be_bytes();
                IpAddr::V4(Ipv4Addr::new(a, b, c, d))
            }
        };
        IpPrefix::of(address, self.length).expect("a key comes from a prefix")
    }

    fn map(self) -> usize {
        match self.is_v6 {
            true => LENGTHS_V4 + usize::from(self.length),
            false => usize::from(self.length),
        }
    }

    /// Returns the prefix of another length at the same address, bits behind it cleared.
    fn with_length(self, length: u8) -> Self {
        let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        Self {
            length,
            bits: self.bits & mask,
            ..self
        }
    }

    /// Returns the last address in it.
    fn last(self) -> u128 {
        self.bits | u128::MAX.checked_shr(u32::from(self.length)).unwrap_or(0)
    }

    const fn longest(self) -> u8 {
        match self.is_v6 {
            true => 128,
            false => 32,
        }
    }
}

/// All routes.
#[derive(Debug)]
pub struct RouteTable {
    by_length: Vec<BTreeMap<u128, Route>>,
    count: u32,
    entries: u32,
    damped: u32,
}

impl Default for RouteTable {
    fn default() -> Self {
        Self {
            by_length: vec![BTreeMap::new(); LENGTHS],
            count: 0,
            entries: 0,
            damped: 0,
        }
    }
}

/// What a route is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    pub next_hop: HopId,
    pub is_damped: bool,
}

impl RouteTable {
    /// Returns how many prefixes have a route.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns how many have an entry of their own.
    #[must_use]
    pub const fn entries(&self) -> u32 {
        self.entries
    }

    /// Returns how many are not used as they come and go.
    #[must_use]
    pub const fn damped(&self) -> u32 {
        self.damped
    }

    #[must_use]
    pub fn get(&self, prefix: IpPrefix) -> Option<&Route> {
        self.at(Key::new(prefix))
    }

    /// Returns the next hop of the entry that a prefix should have, if it should have one.
    #[must_use]
    pub fn entry(&self, prefix: IpPrefix) -> Option<HopId> {
        let route = self.get(prefix)?;
        (route.usage == Usage::Entry).then_some(route.next_hop)
    }

    /// Makes a route what is wished, or takes it away. `touch` is called with each prefix whose
    /// entry has to be written or deleted, in the order in which that changes nothing for other
    /// prefixes on the way: it returns the number of that change. Returns how many others were
    /// looked at.
    pub fn set(
        &mut self,
        prefix: IpPrefix,
        wish: Option<Wish>,
        (since_s, generation): (u32, u16),
        touch: &mut impl FnMut(IpPrefix) -> u64,
    ) -> usize {
        let key = Key::new(prefix);
        let before = self.at(key).copied();
        let is_same = |route: &Route| {
            wish == Some(Wish {
                next_hop: route.next_hop,
                is_damped: route.usage == Usage::Damped,
            })
        };
        if before.as_ref().is_some_and(is_same) {
            if let Some(route) = self.by_length[key.map()].get_mut(&key.bits) {
                route.generation = generation;
            }
            return 0;
        }
        if before.is_none() && wish.is_none() {
            return 0;
        }
        self.replace(key, before, wish, (since_s, generation));
        let below = self.below(key);
        for child in &below {
            self.follow(*child, Usage::Entry, touch);
        }
        self.touch_changed(key, before, touch);
        for child in &below {
            self.follow(*child, Usage::Inherited, touch);
        }
        below.len()
    }

    /// Enters a route, or takes it away, and counts it.
    fn replace(
        &mut self,
        key: Key,
        before: Option<Route>,
        wish: Option<Wish>,
        (since_s, generation): (u32, u16),
    ) {
        let usage = wish.map(|wish| match wish.is_damped {
            true => Usage::Damped,
            false => self.usage(key, wish.next_hop),
        });
        self.recount(before.map(|route| route.usage), usage);
        let map = &mut self.by_length[key.map()];
        match wish.zip(usage) {
            Some((wish, usage)) => {
                let route = Route {
                    changed: before.map_or(0, |route| route.changed),
                    since_s,
                    next_hop: wish.next_hop,
                    generation,
                    usage,
                };
                map.insert(key.bits, route);
            }
            None => {
                map.remove(&key.bits);
            }
        }
    }

    /// Has the entry of a changed prefix written or deleted, if it is another one now.
    fn touch_changed(
        &mut self,
        key: Key,
        before: Option<Route>,
        touch: &mut impl FnMut(IpPrefix) -> u64,
    ) {
        let entry = |route: Route| (route.usage == Usage::Entry).then_some(route.next_hop);
        let now = self.at(key).copied().and_then(entry);
        if now != before.and_then(entry) {
            let number = touch(key.prefix());
            if let Some(route) = self.by_length[key.map()].get_mut(&key.bits) {
                route.changed = number;
            }
        }
    }

    /// Has a prefix begin or cease to need an entry, if `only` is what became of it.
    fn follow(&mut self, key: Key, only: Usage, touch: &mut impl FnMut(IpPrefix) -> u64) {
        let Some(route) = self.at(key).copied() else {
            return;
        };
        let usage = self.usage(key, route.next_hop);
        if route.usage == Usage::Damped || usage == route.usage || usage != only {
            return;
        }
        self.recount(Some(route.usage), Some(usage));
        let changed = touch(key.prefix());
        if let Some(route) = self.by_length[key.map()].get_mut(&key.bits) {
            route.usage = usage;
            route.changed = changed;
        }
    }

    fn recount(&mut self, before: Option<Usage>, after: Option<Usage>) {
        let is = |usage, wanted| u32::from(usage == Some(wanted));
        self.count = self.count + u32::from(after.is_some()) - u32::from(before.is_some());
        self.entries = self.entries + is(after, Usage::Entry) - is(before, Usage::Entry);
        self.damped = self.damped + is(after, Usage::Damped) - is(before, Usage::Damped);
    }

    fn at(&self, key: Key) -> Option<&Route> {
        self.by_length[key.map()].get(&key.bits)
    }

    /// Returns how a route to a next hop is used that is not damped.
    fn usage(&self, key: Key, next_hop: HopId) -> Usage {
        let shortest = key.length.saturating_sub(REACH);
        let shorter = (shortest..key.length).rev();
        let mut above = shorter.filter_map(|length| self.at(key.with_length(length)));
        let above = above.find(|route| route.usage != Usage::Damped);
        match above {
            Some(above) if above.next_hop == next_hop => Usage::Inherited,
            Some(_) | None => Usage::Entry,
        }
    }

    /// Returns the prefixes within reach below one.
    fn below(&self, key: Key) -> Vec<Key> {
        let longest = key.length.saturating_add(REACH).min(key.longest());
        let range = key.bits..=key.last();
        let maps = (key.length + 1..=longest).flat_map(|length| {
            let longer = Key { length, ..key };
            let within = self.by_length[longer.map()].range(range.clone());
            within.map(move |(bits, _)| Key {
                bits: *bits,
                ..longer
            })
        });
        maps.collect()
    }

    /// Returns the routes behind a prefix, in the order of prefixes.
    pub fn after(
        &self,
        after: Option<IpPrefix>,
    ) -> impl Iterator<Item = (IpPrefix, &Route)> + use<'_> {
        use std::ops::Bound;
        let after = after.map(Key::new);
        let first = after.map_or(0, Key::map);
        (first..LENGTHS).flat_map(move |map| {
            let begin = match after {
                Some(key) if key.map() == map => Bound::Excluded(key.bits),
                Some(_) | None => Bound::Unbounded,
            };
            let is_v6 = map >= LENGTHS_V4;
            let base = if is_v6 { LENGTHS_V4 } else { 0 };
            let length = u8::try_from(map - base).expect("129 lengths at most");
            let routes = self.by_length[map].range((begin, Bound::Unbounded));
            routes.map(move |(bits, route)| {
                let bits = *bits;
                let key = Key {
                    is_v6,
                    length,
                    bits,
                };
                (key.prefix(), route)
            })
        })
    }
}

#[cfg(test)]
mod tests;
