//! Next hops of routes: where they are, and who has to be asked for that.
//!
//! A next hop is behind the port of a peering. The address of its interface is configured, or
//! asked for by ARP (RFC 826) and neighbour discovery (RFC 4861); one that was found is asked
//! again and again whether it is still there, as RFC 4861 section 7.3 does with neighbours.
//!
//! Entries of prefixes name a next hop by a tag that follows from its address, so that an
//! instance that begins anew reads in them what the last one meant.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::siphash::siphash_2_4;

use super::acceptance::Whereabouts;
use super::table::HopId;
use crate::northbound::SdnIp;
use crate::place::PortId;

/// The most next hops at a time.
pub const MAX_NEXT_HOPS: usize = 1_024;
/// How long an answer is waited for (RFC 4861 section 10, `RETRANS_TIMER`).
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// How often one is asked before it is taken to be gone (`MAX_UNICAST_SOLICIT`).
const MAX_ASKED: u8 = 3;
/// How long an answer holds (`REACHABLE_TIME`).
const REACHABLE: Duration = Duration::from_secs(30);
/// How long one is left that did not answer.
const REST: Duration = Duration::from_secs(5);
/// The same in every controller, so that the next one knows the tags of the last.
const KEY: [u8; 16] = *b"taktos-next-hops";

/// By what entries of prefixes name a next hop; never nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HopTag(pub u32);

/// A next hop.
#[derive(Clone, Debug)]
pub struct NextHop {
    pub address: IpAddr,
    pub tag: HopTag,
    pub at: Whereabouts,
    /// The address of its interface, once that is known.
    pub mac: Option<MacAddress>,
    /// Whether somebody has said so: it is not asked.
    is_configured: bool,
    /// Whether it was neither heard nor found to be silent yet.
    is_fresh: bool,
    /// How many routes have it.
    pub routes: u32,
    asked: u8,
    due: Instant,
}

/// All next hops.
#[derive(Debug, Default)]
pub struct NextHops {
    all: BTreeMap<HopId, NextHop>,
    by_address: BTreeMap<IpAddr, HopId>,
    tags: BTreeMap<HopTag, HopId>,
    due: BTreeSet<(Instant, HopId)>,
}

/// What becomes of a next hop that was to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// It is to be asked now.
    Ask,
    /// It has not answered: it is taken to be gone, and asked again.
    Gone,
}

impl NextHops {
    #[must_use]
    pub fn get(&self, id: HopId) -> Option<&NextHop> {
        self.all.get(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (HopId, &NextHop)> {
        self.all.iter().map(|(id, hop)| (*id, hop))
    }

    /// Returns whether some were asked for the first time, and have time to answer.
    #[must_use]
    pub fn are_some_fresh(&self) -> bool {
        self.all.values().any(|hop| hop.is_fresh)
    }

    /// Returns when somebody is to be asked next.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Returns the next hop with this address, a new one if there was none; nothing if
    /// there is room for no more.
    pub fn find(
        &mut self,
        now: Instant,
        settings: &SdnIp,
        address: IpAddr,
        at: Whereabouts,
    ) -> Option<(HopId, IsNew)> {
        if let Some(id) = self.by_address.get(&address) {
            return Some((*id, IsNew::No));
        }
        if self.all.len() >= MAX_NEXT_HOPS {
            return None;
        }
        let id = (0..=u16::MAX)
            .map(HopId)
            .find(|id| !self.all.contains_key(id))?;
        let mut peers = settings.peerings.iter().flat_map(|peering| &peering.peers);
        let configured = peers.find(|peer| peer.address == address);
        let mac = configured.and_then(|peer| peer.mac);
        let hop = NextHop {
            address,
            tag: self.free_tag(address),
            at,
            mac,
            is_configured: mac.is_some(),
            is_fresh: mac.is_none(),
            routes: 0,
            asked: 0,
            due: now,
        };
        self.by_address.insert(address, id);
        self.tags.insert(hop.tag, id);
        if !hop.is_configured {
            self.due.insert((now, id));
        }
        self.all.insert(id, hop);
        Some((id, IsNew::Yes))
    }

    /// Returns the tag of an address; another one if that is taken.
    fn free_tag(&self, address: IpAddr) -> HopTag {
        let bytes = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let [.., a, b, c, d] = siphash_2_4(KEY, &bytes).to_be_bytes();
        let mut tag = u32::from_be_bytes([a, b, c, d]);
        while tag == 0 || self.tags.contains_key(&HopTag(tag)) {
            tag = tag.wrapping_add(1);
        }
        HopTag(tag)
    }

    /// Counts a route that has a next hop.
    pub fn gain(&mut self, id: HopId) {
        if let Some(hop) = self.all.get_mut(&id) {
            hop.routes += 1;
        }
    }

    /// Counts a route that has it no longer. Returns whether that was the last one.
    pub fn lose(&mut self, id: HopId) -> bool {
        match self.all.get_mut(&id) {
            Some(hop) => {
                hop.routes -= 1;
                hop.routes == 0
            }
            None => false,
        }
    }

    /// Forgets a next hop that no route has.
    pub fn remove(&mut self, id: HopId) -> Option<NextHop> {
        let hop = self.all.remove(&id)?;
        self.by_address.remove(&hop.address);
        self.tags.remove(&hop.tag);
        self.due.remove(&(hop.due, id));
        Some(hop)
    }

    /// Takes in that somebody at a port says that this address is his. Returns the next
    /// hop if that is news about it.
    pub fn heard(
        &mut self,
        now: Instant,
        port: PortId,
        address: IpAddr,
        mac: MacAddress,
    ) -> Option<HopId> {
        let id = *self.by_address.get(&address)?;
        let hop = self.all.get_mut(&id)?;
        if hop.is_configured || hop.at.port != port {
            return None;
        }
        let is_news = hop.mac != Some(mac);
        hop.mac = Some(mac);
        hop.is_fresh = false;
        hop.asked = 0;
        self.put_off(id, now + REACHABLE);
        is_news.then_some(id)
    }

    /// Has all behind a port be asked anew, as it is up again.
    pub fn ask_anew(&mut self, now: Instant, port: PortId) {
        let there = self.all.iter().filter(|(_, hop)| hop.at.port == port);
        let there: Vec<HopId> = there.map(|(id, _)| *id).collect();
        for id in there {
            if self.get(id).is_some_and(|hop| !hop.is_configured) {
                self.put_off(id, now);
            }
        }
    }

    /// Takes a next hop whose turn it is to be asked.
    pub fn take_due(&mut self, now: Instant) -> Option<(HopId, Question)> {
        let (at, id) = self.due.first().copied()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        let hop = self.all.get_mut(&id)?;
        if hop.asked < MAX_ASKED {
            hop.asked += 1;
            self.put_off(id, now + ANSWER_WAIT);
            return Some((id, Question::Ask));
        }
        let was_known = hop.mac.take().is_some();
        hop.is_fresh = false;
        hop.asked = MAX_ASKED - 1;
        self.put_off(id, now + REST);
        let question = match was_known {
            true => Question::Gone,
            false => Question::Ask,
        };
        Some((id, question))
    }

    fn put_off(&mut self, id: HopId, due: Instant) {
        if let Some(hop) = self.all.get_mut(&id) {
            self.due.remove(&(hop.due, id));
            hop.due = due;
            self.due.insert((due, id));
        }
    }
}

/// Whether a next hop was not known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsNew {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
    const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    fn settings() -> SdnIp {
        crate::router::fixture::settings(
            &["192.0.2.1/24"],
            &[("192.0.2.9", Some(MacAddress([2, 0, 0, 0, 0, 9])))],
        )
    }

    fn at() -> Whereabouts {
        Whereabouts {
            port: "2:3".parse().unwrap(),
            own: "192.0.2.1".parse().unwrap(),
        }
    }

    #[test]
    fn one_that_does_not_answer_any_more_is_gone_and_is_back_when_it_does() {
        let mut hops = NextHops::default();
        let (id, _) = hops.find(Instant::ZERO, &settings(), PEER, at()).unwrap();
        assert_eq!(hops.take_due(Instant::ZERO), Some((id, Question::Ask)));
        assert_eq!(hops.heard(Instant::ZERO, at().port, PEER, MAC), Some(id));

        let mut questions = Vec::new();
        while hops.get(id).unwrap().mac.is_some() {
            let now = hops.deadline().unwrap();
            questions.extend(hops.take_due(now).map(|(_, question)| question));
        }
        let now = hops.deadline().unwrap();

        let ask = Question::Ask;
        assert_eq!(questions, [ask, ask, ask, Question::Gone]);
        assert_eq!(hops.heard(now, at().port, PEER, MAC), Some(id));
        assert_eq!(hops.heard(now, at().port, PEER, MAC), None, "no news");
    }

    #[test]
    fn nobody_takes_the_place_of_one_that_is_configured_or_elsewhere() {
        let mut hops = NextHops::default();
        let configured = IpAddr::from([192, 0, 2, 9]);
        let (fixed, _) = hops
            .find(Instant::ZERO, &settings(), configured, at())
            .unwrap();
        let (asked, _) = hops.find(Instant::ZERO, &settings(), PEER, at()).unwrap();

        assert_eq!(hops.heard(Instant::ZERO, at().port, configured, MAC), None);
        let elsewhere = "2:4".parse().unwrap();
        assert_eq!(hops.heard(Instant::ZERO, elsewhere, PEER, MAC), None);

        let known = MacAddress([2, 0, 0, 0, 0, 9]);
        assert_eq!(hops.get(fixed).unwrap().mac, Some(known));
        assert_eq!(hops.get(asked).unwrap().mac, None);
    }

    #[test]
    fn tags_follow_from_addresses_and_room_ends_at_the_limit() {
        let (mut hops, mut again) = (NextHops::default(), NextHops::default());
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        let limit = u32::try_from(MAX_NEXT_HOPS).unwrap();
        for number in 1..=limit {
            hops.find(Instant::ZERO, &settings(), address(number), at())
                .unwrap();
        }
        for number in (1..=limit).rev() {
            again
                .find(Instant::ZERO, &settings(), address(number), at())
                .unwrap();
        }

        assert!(
            hops.find(Instant::ZERO, &settings(), address(limit + 1), at())
                .is_none()
        );
        let tags = |hops: &NextHops| {
            let tags = hops.iter().map(|(_, hop)| (hop.address, hop.tag));
            tags.collect::<BTreeMap<_, _>>()
        };
        assert_eq!(tags(&hops), tags(&again));
    }
}
