//! Which links are believed, though probes say that they are there.
//!
//! A link that is lost again and again is taken to be down for a while, so that
//! flows do not move forever: each loss fills a bucket, which leaks. A flow that has no
//! other way has nothing to lose by it.
//!
//! Two stations that relay probes to each other make a link appear where there is
//! none, and with it draw traffic to themselves. Where hosts were seen, a link that
//! was never known is believed only if something came up lately that explains it:
//! one of its ports or one of its switches.
//!
//! # Left out
//!
//! Stations that relay probes before any host was seen at their ports, or that
//! unplug their own port first, are believed. Against them helps only what makes
//! the relay impossible: switches that keep LLDP from stations away, or cables
//! that nobody reaches.

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::openflow::DatapathId;

use crate::place::{LinkEnds, PortId};

/// How many losses of a link are borne before it is taken to be down.
pub const MAX_LOSSES: u64 = 6;
/// The time after which one loss is forgotten.
pub const LOSS_FORGOTTEN: Duration = Duration::from_secs(5);
/// How many losses may be left when a link that flapped is believed again.
pub const LOSSES_FORGIVEN: u64 = 3;
/// The most links, ports and switches that are remembered of each kind; beyond
/// them, the newest are not.
pub const MAX_REMEMBERED: usize = 65_536;
/// The time within which something that came up explains a new link.
pub const EXPLAINED_FOR: Duration = Duration::from_secs(10);
/// The time after which a link that is not believed is told of again.
pub const DOUBT_INTERVAL: Duration = Duration::from_secs(60);

/// What is known of links beside the view.
#[derive(Clone, Debug, Default)]
pub struct LinkTrust {
    /// The links that were lost lately: how often, when last, and whether they are
    /// held down.
    losses: BTreeMap<LinkEnds, Losses>,
    /// Ports at which hosts were seen since they are up.
    hosts: BTreeMap<PortId, Instant>,
    ports_up: BTreeMap<PortId, Instant>,
    switches_up: BTreeMap<DatapathId, Instant>,
    doubted: BTreeMap<LinkEnds, Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Losses {
    count: u64,
    last: Instant,
    is_held: bool,
}

impl Losses {
    /// Returns how many losses are not forgotten yet.
    fn left(&self, now: Instant) -> u64 {
        let forgotten = now.saturating_since(self.last).as_ns() / LOSS_FORGOTTEN.as_ns();
        self.count.saturating_sub(forgotten)
    }
}

impl LinkTrust {
    /// Notes that a link was lost. Returns for how long it is taken to be down, if
    /// that was one time too many.
    pub fn lost(&mut self, now: Instant, link: LinkEnds) -> Option<Duration> {
        make_room(&mut self.losses, |it| it.left(now) > 0);
        if self.losses.len() >= MAX_REMEMBERED && !self.losses.contains_key(&link) {
            return None;
        }
        let losses = self.losses.entry(link).or_insert(Losses {
            count: 0,
            last: now,
            is_held: false,
        });
        losses.count = losses.left(now) + 1;
        losses.last = now;
        losses.is_held = losses.count > MAX_LOSSES;
        let wait = LOSS_FORGOTTEN.as_ns() * (losses.count - LOSSES_FORGIVEN.min(losses.count));
        losses.is_held.then_some(Duration::from_ns(wait))
    }

    /// Returns whether a link is taken to be down whatever probes say.
    pub fn is_held(&mut self, now: Instant, link: LinkEnds) -> bool {
        let Some(losses) = self.losses.get_mut(&link) else {
            return false;
        };
        losses.is_held &= losses.left(now) > LOSSES_FORGIVEN;
        losses.is_held
    }

    /// Believes a link again before its losses are forgotten.
    pub fn release(&mut self, link: LinkEnds) {
        if let Some(losses) = self.losses.get_mut(&link) {
            losses.is_held = false;
        }
    }

    /// Notes that a host was seen at a port.
    pub fn host_seen(&mut self, now: Instant, port: PortId) {
        remember(&mut self.hosts, port, now);
    }

    /// Notes that a port has a carrier now.
    pub fn port_up(&mut self, now: Instant, port: PortId) {
        make_room(&mut self.ports_up, |at| is_recent(now, *at));
        remember(&mut self.ports_up, port, now);
    }

    /// Notes that a port has no carrier any more: who was there may be gone.
    pub fn port_down(&mut self, port: PortId) {
        self.hosts.remove(&port);
    }

    /// Notes that a switch is connected now.
    pub fn switch_up(&mut self, now: Instant, datapath: DatapathId) {
        make_room(&mut self.switches_up, |at| is_recent(now, *at));
        remember(&mut self.switches_up, datapath, now);
    }

    /// Notes that a link is up: what was seen at its ends came over it.
    pub fn found(&mut self, link: LinkEnds) {
        for end in link.both() {
            self.hosts.remove(&end);
        }
    }

    /// Returns whether a link that was never known has no explanation.
    #[must_use]
    pub fn is_doubtful(&self, now: Instant, link: LinkEnds) -> bool {
        let ends = link.both();
        ends.iter().any(|end| self.hosts.contains_key(end))
            && !ends.iter().any(|end| self.came_up_lately(now, *end))
    }

    /// Returns whether a link that is not believed was not told of lately.
    pub fn is_to_tell(&mut self, now: Instant, link: LinkEnds) -> bool {
        let is_known = |at: &Instant| now.saturating_since(*at) < DOUBT_INTERVAL;
        make_room(&mut self.doubted, is_known);
        let is_told = !self.doubted.get(&link).is_some_and(is_known);
        if is_told {
            self.doubted.remove(&link);
            remember(&mut self.doubted, link, now);
        }
        is_told
    }

    fn came_up_lately(&self, now: Instant, end: PortId) -> bool {
        let port = self.ports_up.get(&end);
        let switch = self.switches_up.get(&end.datapath);
        [port, switch]
            .into_iter()
            .flatten()
            .any(|at| is_recent(now, *at))
    }
}

fn is_recent(now: Instant, at: Instant) -> bool {
    now.saturating_since(at) < EXPLAINED_FOR
}

/// Forgets what is over, if there is no room otherwise.
fn make_room<K: Ord, V>(all: &mut BTreeMap<K, V>, is_needed: impl Fn(&V) -> bool) {
    if all.len() >= MAX_REMEMBERED {
        all.retain(|_, value| is_needed(value));
    }
}

fn remember<K: Ord>(all: &mut BTreeMap<K, Instant>, key: K, at: Instant) {
    if all.len() < MAX_REMEMBERED || all.contains_key(&key) {
        all.insert(key, at);
    }
}

#[cfg(test)]
mod tests {
    use wire::openflow::PortNumber;

    use super::*;

    #[test]
    fn a_link_that_is_lost_too_often_is_held_until_that_is_forgotten() {
        let mut trust = LinkTrust::default();
        let waits: Vec<_> = (0..7).map(|_| trust.lost(at(1), link(1))).collect();

        let held = [2, 20, 21].map(|seconds| trust.is_held(at(seconds), link(1)));

        assert_eq!(waits[..6], [None; 6]);
        assert_eq!(waits[6], Some(Duration::from_secs(20)));
        assert_eq!(held, [true, true, false]);
        assert!(!trust.is_held(at(2), link(2)));
    }

    #[test]
    fn a_link_that_is_lost_now_and_then_is_never_held() {
        let mut trust = LinkTrust::default();

        let waits = (0..1_000).map(|time| trust.lost(at(time * 6), link(1)));

        assert!(waits.into_iter().all(|wait| wait.is_none()));
    }

    #[test]
    fn a_new_link_where_hosts_are_needs_an_explanation() {
        let mut trust = LinkTrust::default();
        trust.switch_up(at(0), DatapathId(1));
        let before = trust.is_doubtful(at(100), link(1));
        trust.host_seen(at(50), port(1));

        let doubtful = trust.is_doubtful(at(100), link(1));
        trust.port_up(at(100), port(2));
        let explained = trust.is_doubtful(at(101), link(1));
        let later = trust.is_doubtful(at(111), link(1));
        trust.port_down(port(1));
        let unplugged = trust.is_doubtful(at(200), link(1));

        assert_eq!((before, doubtful), (false, true));
        assert_eq!((explained, later, unplugged), (false, true, false));
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let mut trust = LinkTrust::default();
        let count = u32::try_from(MAX_REMEMBERED).unwrap() + 10;

        for number in 0..count {
            trust.lost(at(1), link(number));
            trust.host_seen(at(1), port(number));
            trust.port_up(at(1), port(number));
            trust.switch_up(at(1), DatapathId(u64::from(number)));
            trust.is_to_tell(at(1), link(number));
        }

        let sizes = [trust.losses.len(), trust.doubted.len(), trust.hosts.len()];
        assert_eq!(sizes, [MAX_REMEMBERED; 3]);
        let sizes = [trust.ports_up.len(), trust.switches_up.len()];
        assert_eq!(sizes, [MAX_REMEMBERED; 2]);
    }

    fn link(number: u32) -> LinkEnds {
        LinkEnds::new(port(number), port(number + 1))
    }

    fn port(number: u32) -> PortId {
        PortId::new(DatapathId(1), PortNumber(number))
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }
}
