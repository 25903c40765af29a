//! Finds out where hosts are and which addresses they have: by what somebody
//! names, and by the frames that they send (S1-1).
//!
//! A frame that no flow claims and that came in by a port without a link tells
//! that the host with its source address is there ([`sighting`]). A host that the
//! configuration attaches to a port is there as soon as the port is. Frames do not move
//! every host ([`Hosts::held_at`]): one that the configuration fixes, or that was named
//! with its port while the controller ran, stays there whatever they say, and one at
//! which a flow begins or ends stays while its port has a carrier. What hosts say of each other's
//! addresses is not believed: an address stays with the host that had it first,
//! unless that host is unplugged or a DHCP server gives the address away; the
//! dispute is told.
//!
//! Everything is bounded: hosts of a port ([`MAX_LEARNED_AT_PORT`]), addresses of
//! a host ([`MAX_ADDRESSES`]), moves of a host ([`moves`]), questions to DHCP
//! servers ([`MAX_ASKED`]) and disputes that are remembered ([`MAX_DISPUTES`]).
//!
//! # Left out
//!
//! Hosts do not age by silence: what a host sends by an entry of its switch is not
//! seen here. A port without a carrier says more, and what was learned there is
//! forgotten after a while (`controller::ageing`). An address that moves between hosts on purpose (VRRP)
//! is a dispute. A known host that is plugged in where a switch was that is out of reach
//! is seen there once their link has been down for as long
//! (`controller::topology::Topology::may_be_joined`).

pub mod contests;
pub mod moves;
pub mod record;
pub mod sighting;

use std::collections::BTreeMap;
use std::net::IpAddr;

use units::{Duration, Instant};
use wire::ethernet::{Header, MacAddress};
use wire::openflow::DatapathId;

use crate::config::HostParameters;
use crate::northbound::{HostRefusal, StaticHost};
use crate::place::PortId;
use crate::view::{Carrier, Control, Host, HostOrigin, MAX_ADDRESSES, MAX_HOSTS, View};

use moves::{MoveVerdict, Moves};
pub use sighting::{Claim, Sighting};

/// The most hosts that are learned at one port: one that forges addresses fills
/// no table.
pub const MAX_LEARNED_AT_PORT: usize = 64;
/// The most clients that wait for a DHCP server; beyond them, answers are not
/// believed.
pub const MAX_ASKED: usize = 4_096;
/// How long a client waits for a DHCP server.
pub const ASKED_FOR: Duration = Duration::from_secs(60);
/// The most disputes for addresses that are remembered; beyond them, none is told.
pub const MAX_DISPUTES: usize = 1_024;
/// The time after which a dispute is told again.
pub const DISPUTE_INTERVAL: Duration = Duration::from_secs(60);

/// What became known of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostChange {
    /// Its port, which was not known.
    Found { name: String, port: PortId },
    Moved {
        name: String,
        from: PortId,
        to: PortId,
    },
    Addressed {
        name: String,
        addresses: Vec<IpAddr>,
    },
    /// Frames of it come in at several ports alternately, or elsewhere than where
    /// somebody has said that it is.
    Doubted {
        name: String,
        /// Where the last one came in.
        at: PortId,
        /// Where the host is taken to be.
        stays: PortId,
    },
    /// Another host claims its IP address.
    Disputed {
        address: IpAddr,
        holder: String,
        claimant: String,
    },
}

/// What is known of hosts beside the view.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    named: BTreeMap<MacAddress, Named>,
    moves: Moves,
    /// Clients that wait for a DHCP server.
    asked: BTreeMap<MacAddress, (u32, Instant)>,
    /// When a dispute for an address was last told.
    disputes: BTreeMap<(IpAddr, MacAddress), Instant>,
}

/// What somebody has said of a host.
#[derive(Clone, Debug)]
struct Named {
    addresses: Vec<IpAddr>,
    attachment: Option<PortId>,
    /// Whether frames cannot move it.
    is_fixed: bool,
}

impl Hosts {
    /// Takes the hosts of the configuration into the view, attached to nothing.
    ///
    /// # Panics
    ///
    /// If there are more than [`MAX_HOSTS`], or two share a name or an address.
    #[must_use]
    pub fn new(configured: Vec<HostParameters>, view: &mut View) -> Self {
        assert!(configured.len() <= MAX_HOSTS, "at most {MAX_HOSTS} hosts");
        let mut hosts = Self::default();
        for host in configured {
            let addresses: Vec<IpAddr> = host.ipv4.map(IpAddr::V4).into_iter().collect();
            let is_new = view.host_by_mac(host.mac).is_none();
            let added = view.set_host(Host {
                name: host.name.clone(),
                mac: host.mac,
                addresses: addresses.clone(),
                attachment: None,
                origin: HostOrigin::Configured,
            });
            assert!(
                is_new && added.is_some(),
                "host {} is configured twice",
                host.name
            );
            let named = Named {
                addresses,
                attachment: host.attachment,
                is_fixed: host.is_fixed && host.attachment.is_some(),
            };
            hosts.named.insert(host.mac, named);
        }
        hosts
    }

    /// Attaches the hosts that were named at ports of a switch that is connected
    /// now.
    pub fn attach(&self, view: &mut View, datapath: DatapathId) -> Vec<HostChange> {
        let named = self.named.iter();
        let here = named.filter_map(|(mac, named)| {
            let port = named.attachment.filter(|port| port.datapath == datapath)?;
            Some((*mac, port))
        });
        here.filter_map(|(mac, port)| {
            let known = view.host_by_mac(mac)?;
            if known.attachment.is_some() {
                return None;
            }
            let name = known.name.clone();
            let host = Host {
                attachment: Some(port),
                ..known.clone()
            };
            view.set_host(host)?;
            Some(HostChange::Found { name, port })
        })
        .collect()
    }

    /// Puts a host where it was last seen before the start, unless it is known to be
    /// somewhere. Returns what to tell.
    pub fn remember(&self, view: &mut View, mac: MacAddress, port: PortId) -> Option<HostChange> {
        let known = view.host_by_mac(mac).and_then(|host| host.attachment);
        let is_full = view.hosts_at(port).count() >= MAX_LEARNED_AT_PORT;
        if known.is_some() || is_full || view.port(port).is_none() || !place(view, mac, port) {
            return None;
        }
        let name = view.host_by_mac(mac)?.name.clone();
        Some(HostChange::Found { name, port })
    }

    /// Checks whether a host can be named so.
    ///
    /// # Errors
    ///
    /// If its name is that of another host, its port is not there or leads to a
    /// switch, or there are too many hosts.
    pub fn check(&self, view: &View, host: &StaticHost) -> Result<(), HostRefusal> {
        check_room(view, host)?;
        match host.attachment.filter(|port| !view.is_access(*port)) {
            Some(port) => Err(HostRefusal::NoAccess { port }),
            None => Ok(()),
        }
    }

    /// Takes a host that somebody names, or what he says anew of it. It is attached
    /// once its switch is connected, if its port is there then.
    ///
    /// # Errors
    ///
    /// If its name is that of another host, or there are too many hosts.
    pub fn set(
        &mut self,
        view: &mut View,
        host: StaticHost,
    ) -> Result<Vec<HostChange>, HostRefusal> {
        check_room(view, &host)?;
        let StaticHost {
            name,
            mac,
            ipv4,
            ipv6,
            attachment,
        } = host;
        let can_be_there = |port: &PortId| {
            let switch = view.switch(port.datapath);
            let switch = switch.map(|switch| &view.switches()[switch.index()]);
            view.is_access(*port) && switch.is_some_and(|it| it.control == Control::Connected)
        };
        let there = attachment.filter(can_be_there);
        let known = view.host_by_mac(mac);
        let before = known.and_then(|host| host.attachment);
        let addresses: Vec<IpAddr> = ipv4.map(IpAddr::V4).into_iter().collect();
        let addresses = [addresses, ipv6.map(IpAddr::V6).into_iter().collect()].concat();
        let mut changes = Vec::new();
        for address in &addresses {
            self.free(view, *address, mac, &mut changes);
        }
        let now_at = there.or(before.filter(|_| attachment.is_none()));
        view.set_host(Host {
            name: name.clone(),
            mac,
            addresses: addresses.clone(),
            attachment: now_at,
            origin: HostOrigin::Named,
        });
        let is_fixed = attachment.is_some();
        let configured = self.named.get(&mac).filter(|named| !named.is_fixed);
        let named = Named {
            addresses,
            attachment: attachment.or(configured.and_then(|named| named.attachment)),
            is_fixed,
        };
        self.named.insert(mac, named);
        changes.extend(moved(&name, before, now_at));
        Ok(changes)
    }

    /// Forgets a host. A frame of it makes it known again.
    pub fn remove(&mut self, view: &mut View, mac: MacAddress) -> Option<Host> {
        self.named.remove(&mac);
        self.asked.remove(&mac);
        view.remove_host(mac)
    }

    /// Returns the port from which no frame moves a host, if there is one. `end` is where
    /// flows that begin or end at it say that it is, if any does.
    #[must_use]
    pub fn held_at(&self, view: &View, mac: MacAddress, end: Option<PortId>) -> Option<PortId> {
        let named = self.named.get(&mac).filter(|named| named.is_fixed);
        let fixed = named.and_then(|named| named.attachment);
        fixed.or_else(|| {
            let known = view.host_by_mac(mac).and_then(|host| host.attachment);
            let home = known.or(end).filter(|_| end.is_some());
            home.filter(|home| may_be_in_use(view, *home))
        })
    }

    /// Learns from a frame that came in by `port`; `end` as for
    /// [`held_at`](Self::held_at). Returns what is new.
    pub fn learn(
        &mut self,
        now: Instant,
        view: &mut View,
        (port, end): (PortId, Option<PortId>),
        header: &Header,
        payload: &[u8],
    ) -> Vec<HostChange> {
        let mut changes = Vec::new();
        let Some(sighting) = Sighting::of(header, payload) else {
            return changes;
        };
        let place = (port, end);
        if view.is_access(port) && self.locate(now, view, place, sighting.mac, &mut changes) {
            self.hear(now, view, sighting, &mut changes);
        }
        changes
    }

    /// Notes where a host was seen. Returns whether it is taken to be there.
    fn locate(
        &mut self,
        now: Instant,
        view: &mut View,
        (port, end): (PortId, Option<PortId>),
        mac: MacAddress,
        changes: &mut Vec<HostChange>,
    ) -> bool {
        let from = view.host_by_mac(mac).and_then(|host| host.attachment);
        if from == Some(port) {
            return true;
        }
        let verdict = match self.held_at(view, mac, end) {
            Some(home) if home == port => MoveVerdict::Believed,
            Some(home) => self.moves.hold(now, mac, home),
            None => self.judge(now, view, mac, from),
        };
        match verdict {
            MoveVerdict::Believed => {}
            MoveVerdict::Refused => return false,
            MoveVerdict::Flapping { home } => {
                changes.extend(doubted(view, mac, port, home));
                return home == port;
            }
        }
        if view.hosts_at(port).count() >= MAX_LEARNED_AT_PORT || !place(view, mac, port) {
            return false;
        }
        let name = view.host_by_mac(mac).map(|host| host.name.clone());
        changes.extend(name.and_then(|name| moved(&name, from, Some(port))));
        true
    }

    fn judge(
        &mut self,
        now: Instant,
        view: &View,
        mac: MacAddress,
        from: Option<PortId>,
    ) -> MoveVerdict {
        let is_up = |from: &PortId| {
            let old = view.port(*from);
            old.is_some_and(|port| port.carrier == Carrier::Up)
        };
        match from.filter(is_up) {
            Some(from) => self.moves.judge(now, mac, from),
            None => MoveVerdict::Believed,
        }
    }

    /// Notes what a host says of addresses.
    fn hear(
        &mut self,
        now: Instant,
        view: &mut View,
        sighting: Sighting,
        changes: &mut Vec<HostChange>,
    ) {
        let mac = sighting.mac;
        match sighting.claim {
            Claim::Nothing => {}
            Claim::Sends(address) => {
                let family = |known: &IpAddr| known.is_ipv4() == address.is_ipv4();
                let has_one = |host: &Host| {
                    host.addresses.iter().any(family) || host.origin == HostOrigin::Named
                };
                if view.host_by_address(address).is_none()
                    && !view.host_by_mac(mac).is_some_and(has_one)
                {
                    changes.extend(self.give(view, mac, address));
                }
            }
            Claim::Has(address) => self.claim(now, view, mac, address, changes),
            Claim::Asks { transaction } => self.ask(now, mac, transaction),
            Claim::Leaves(address) => {
                let holder = view.host_by_address(address.into());
                if holder.is_some_and(|host| host.mac == mac) {
                    self.free(view, address.into(), MacAddress::ZERO, changes);
                }
            }
            Claim::Gives {
                station,
                transaction,
                address,
            } => {
                let asked = self.asked.get(&station).copied();
                if asked.is_some_and(|(number, _)| number == transaction) {
                    self.asked.remove(&station);
                    if !self.is_named(view, address.into()) {
                        self.free(view, address.into(), station, changes);
                    }
                    self.claim(now, view, station, address.into(), changes);
                }
            }
        }
    }

    fn ask(&mut self, now: Instant, mac: MacAddress, transaction: u32) {
        if self.asked.len() >= MAX_ASKED {
            self.asked
                .retain(|_, (_, at)| now.saturating_since(*at) < ASKED_FOR);
        }
        if self.asked.len() < MAX_ASKED || self.asked.contains_key(&mac) {
            self.asked.insert(mac, (transaction, now));
        }
    }

    /// Gives an address to the host that says it is its own, or tells that it is
    /// another one's.
    fn claim(
        &mut self,
        now: Instant,
        view: &mut View,
        mac: MacAddress,
        address: IpAddr,
        changes: &mut Vec<HostChange>,
    ) {
        let Some(claimant) = view.host_by_mac(mac).map(|host| host.name.clone()) else {
            return;
        };
        let Some(holder) = view.host_by_address(address) else {
            changes.extend(self.give(view, mac, address));
            return;
        };
        if holder.mac == mac {
            return;
        }
        let port = holder.attachment.and_then(|port| view.port(port));
        let is_there = port.is_some_and(|port| port.carrier == Carrier::Up);
        let holder = holder.name.clone();
        if !is_there && !self.is_named(view, address) {
            self.free(view, address, mac, changes);
            changes.extend(self.give(view, mac, address));
        } else if self.is_to_tell(now, address, mac) {
            changes.push(HostChange::Disputed {
                address,
                holder,
                claimant,
            });
        }
    }

    fn is_named(&self, view: &View, address: IpAddr) -> bool {
        let holder = view.host_by_address(address);
        let named = holder.and_then(|host| self.named.get(&host.mac));
        named.is_some_and(|named| named.addresses.contains(&address))
    }

    /// Returns whether a dispute was not told lately.
    fn is_to_tell(&mut self, now: Instant, address: IpAddr, claimant: MacAddress) -> bool {
        let is_recent = |at: &Instant| now.saturating_since(*at) < DISPUTE_INTERVAL;
        if self.disputes.len() >= MAX_DISPUTES {
            self.disputes.retain(|_, at| is_recent(at));
        }
        let key = (address, claimant);
        let is_known = self.disputes.get(&key).is_some_and(is_recent);
        let is_told = !is_known && self.disputes.len() < MAX_DISPUTES;
        if is_told {
            self.disputes.insert(key, now);
        }
        is_told
    }

    /// Adds an address to a host; the oldest one that nobody named makes room.
    fn give(&self, view: &mut View, mac: MacAddress, address: IpAddr) -> Option<HostChange> {
        let mut host = view.host_by_mac(mac)?.clone();
        if host.addresses.len() >= MAX_ADDRESSES {
            let named = self.named.get(&mac);
            let is_named = |it: &IpAddr| named.is_some_and(|named| named.addresses.contains(it));
            let oldest = host.addresses.iter().position(|it| !is_named(it))?;
            host.addresses.remove(oldest);
        }
        host.addresses.push(address);
        let (name, addresses) = (host.name.clone(), host.addresses.clone());
        view.set_host(host)?;
        Some(HostChange::Addressed { name, addresses })
    }

    /// Takes an address from the host that has it, unless that is `but`.
    fn free(
        &self,
        view: &mut View,
        address: IpAddr,
        but: MacAddress,
        changes: &mut Vec<HostChange>,
    ) {
        let holder = view.host_by_address(address).filter(|it| it.mac != but);
        let Some(mut host) = holder.cloned() else {
            return;
        };
        host.addresses.retain(|it| *it != address);
        let (name, addresses) = (host.name.clone(), host.addresses.clone());
        view.set_host(host);
        changes.push(HostChange::Addressed { name, addresses });
    }
}

fn check_room(view: &View, host: &StaticHost) -> Result<(), HostRefusal> {
    let holder = view.host(&host.name);
    if holder.is_some_and(|holder| holder.mac != host.mac) {
        let name = host.name.clone();
        return Err(HostRefusal::NameTaken { name });
    }
    match view.host_by_mac(host.mac) {
        None if view.hosts().len() >= MAX_HOSTS => Err(HostRefusal::TooMany { limit: MAX_HOSTS }),
        None | Some(_) => Ok(()),
    }
}

/// Tells whether a host may be at a port: the port has a carrier, or its switch is out of
/// reach and may forward to it all the same.
fn may_be_in_use(view: &View, at: PortId) -> bool {
    let Some(switch) = view.switch(at.datapath) else {
        return true;
    };
    match view.switches()[switch.index()].control {
        Control::Connected => view
            .port(at)
            .is_some_and(|port| port.carrier == Carrier::Up),
        Control::Lost => true,
        Control::Forgotten => false,
    }
}

/// Puts a host at a port; makes it known if it is not. Returns whether it is
/// there.
fn place(view: &mut View, mac: MacAddress, port: PortId) -> bool {
    let host = match view.host_by_mac(mac) {
        Some(host) => Host {
            attachment: Some(port),
            ..host.clone()
        },
        None => Host {
            name: mac.to_string(),
            mac,
            addresses: Vec::new(),
            attachment: Some(port),
            origin: HostOrigin::Learned,
        },
    };
    view.set_host(host).is_some()
}

/// Puts a host back to where it is taken to be, and returns what to tell of it.
fn doubted(view: &mut View, mac: MacAddress, at: PortId, home: PortId) -> Vec<HostChange> {
    let from = view.host_by_mac(mac).and_then(|host| host.attachment);
    // One of which only its flows were known is known from here on.
    let is_home = place(view, mac, home);
    let Some(name) = view.host_by_mac(mac).map(|host| host.name.clone()) else {
        return Vec::new();
    };
    let mut changes = Vec::new();
    let mut stays = from.unwrap_or(home);
    if is_home {
        stays = home;
        changes.extend(moved(&name, from, Some(home)));
    }
    changes.push(HostChange::Doubted { name, at, stays });
    changes
}

/// Returns what to tell of a host that was at one port and is at another now.
fn moved(name: &str, from: Option<PortId>, to: Option<PortId>) -> Option<HostChange> {
    let name = name.to_owned();
    match (from, to?) {
        (None, port) => Some(HostChange::Found { name, port }),
        (Some(from), to) if from != to => Some(HostChange::Moved { name, from, to }),
        (Some(_), _) => None,
    }
}

#[cfg(test)]
mod tests;
