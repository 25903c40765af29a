//! The network as the controller knows it: switches, ports, links and hosts.
//!
//! One compact record each, numbered by small integers in the order of
//! discovery (S1-1). Every mutation leaves the whole consistent: a link joins
//! two ports that are there, a port names at most one link, and no host sits on
//! a port whose link is up (S1-2). A record is never renumbered; what goes away
//! is marked and comes back under its number. Hosts alone can be removed, and
//! another one takes the number then; nobody keeps numbers of hosts.

mod host;

pub use api::ProfileStanding;
pub use api::topology::HostOrigin;
pub use host::{Host, HostId, MAX_ADDRESSES, MAX_HOSTS};

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use units::Instant;
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use crate::place::{LinkEnds, PortId};

/// The most switches that a view holds.
pub const MAX_SWITCHES: usize = 4_096;
/// The most ports that a switch may have.
pub const MAX_PORTS: usize = 4_096;
/// The most links that a view holds, those that are down included.
pub const MAX_LINKS: usize = 65_536;

/// A switch of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwitchId(u32);

/// A link of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(u32);

impl SwitchId {
    /// Returns the place of the switch in [`View::switches`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// Returns the place of the link in [`View::links`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether a switch listens to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// It answered the handshake and its connection stands.
    Connected,
    /// Its connection is gone, or was not there since the start; it may still
    /// forward.
    Lost,
    /// Somebody said that it will not come back.
    Forgotten,
}

/// Whether a port or a link carries frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Up,
    /// It does not, or nobody has seen it do so.
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub datapath: DatapathId,
    pub control: Control,
    /// Whether what is seen of it agrees with its profile.
    pub profile: ProfileStanding,
    pub ports: Vec<Port>,
}

impl Switch {
    #[must_use]
    pub fn port(&self, number: PortNumber) -> Option<&Port> {
        self.index_of(number).ok().map(|index| &self.ports[index])
    }

    fn port_mut(&mut self, number: PortNumber) -> Option<&mut Port> {
        self.index_of(number)
            .ok()
            .map(|index| &mut self.ports[index])
    }

    fn index_of(&self, number: PortNumber) -> Result<usize, usize> {
        self.ports.binary_search_by_key(&number, |port| port.number)
    }
}

/// A port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    pub number: PortNumber,
    pub mac: MacAddress,
    pub carrier: Carrier,
    /// The link that was last seen to end here, up or down.
    pub link: Option<LinkId>,
}

/// A link between two switches.
///
/// It is up while both directions are confirmed: a cable of which one fibre is
/// broken is no link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The ports that it joins.
    pub ends: LinkEnds,
    /// Whether it carries frames both ways.
    pub carrier: Carrier,
    /// Since when it is up or down.
    pub since: Instant,
    switches: [SwitchId; 2],
    /// When a probe that left the lower (first) or the higher (second) end last
    /// arrived at the other; `None` since the link was lost.
    confirmed: [Option<Instant>; 2],
}

impl Link {
    /// Returns until when both directions were confirmed.
    #[must_use]
    pub fn confirmed_until(&self) -> Instant {
        let [one, other] = self.confirmed.map(|at| at.unwrap_or(Instant::ZERO));
        one.min(other)
    }
}

/// What a probe that arrived has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// The link was up before.
    Known,
    /// This direction is confirmed, the other one is not yet.
    OneWay,
    /// The link is up now. `replaced` was lost: one of its ports is joined to
    /// another one now.
    Up {
        /// The link that is up.
        link: LinkId,
        /// The links that this one takes the place of.
        replaced: [Option<LinkId>; 2],
    },
    /// One of the ports is not there or has no carrier, or the view is full.
    Ignored,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    switches: Vec<Switch>,
    links: Vec<Link>,
    hosts: Vec<Host>,
    by_datapath: BTreeMap<DatapathId, SwitchId>,
    /// The places of switches that nobody knows any more.
    free: Vec<SwitchId>,
    by_ends: BTreeMap<LinkEnds, LinkId>,
    by_mac: BTreeMap<MacAddress, HostId>,
    by_name: BTreeMap<String, HostId>,
    by_attachment: BTreeSet<(PortId, HostId)>,
    by_address: BTreeMap<IpAddr, HostId>,
    /// The ends of links that are not up and may be there, and when that was last likely.
    suspected: BTreeMap<PortId, Instant>,
    edition: u64,
}

impl View {
    /// Returns a number that is another one after each change of what frames can
    /// travel over: of switches, of links, and of where these end.
    #[must_use]
    pub const fn edition(&self) -> u64 {
        self.edition
    }

    /// Returns all switches that were ever connected, by [`SwitchId`].
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// Returns all links that were ever found, by [`LinkId`].
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    #[must_use]
    pub fn switch(&self, datapath: DatapathId) -> Option<SwitchId> {
        self.by_datapath.get(&datapath).copied()
    }

    /// Returns the link that joins these ports, up or down.
    #[must_use]
    pub fn link(&self, ends: LinkEnds) -> Option<LinkId> {
        self.by_ends.get(&ends).copied()
    }

    #[must_use]
    pub fn port(&self, id: PortId) -> Option<&Port> {
        self.switches[self.switch(id.datapath)?.index()].port(id.port)
    }

    /// Returns whether the link between these ports is up.
    #[must_use]
    pub fn is_up(&self, ends: LinkEnds) -> bool {
        self.link(ends)
            .is_some_and(|link| self.links[link.index()].carrier == Carrier::Up)
    }

    /// Returns whether a link is out of sight: a switch at an end of it is not
    /// connected, so whatever is known of it is old.
    #[must_use]
    pub fn is_out_of_sight(&self, link: &Link) -> bool {
        let mut ends = link.switches.iter();
        ends.any(|end| self.switches[end.index()].control != Control::Connected)
    }

    /// Returns whether a switch is out of reach, and its neighbours have no link to it any
    /// more though they had: it is gone as far as anybody can tell.
    #[must_use]
    pub fn is_cut_off(&self, switch: SwitchId) -> bool {
        let record = &self.switches[switch.index()];
        let mut links = record.ports.iter().filter_map(|port| port.link).peekable();
        record.control != Control::Connected
            && links.peek().is_some()
            && links.all(|link| self.links[link.index()].carrier == Carrier::Down)
    }

    /// Returns the switches next to this one over links that are up: the port
    /// that leads there, the neighbour, and its port. By port number.
    pub fn neighbours(
        &self,
        switch: SwitchId,
    ) -> impl Iterator<Item = (PortNumber, SwitchId, PortNumber)> + '_ {
        let record = &self.switches[switch.index()];
        record.ports.iter().filter_map(move |port| {
            let link = &self.links[port.link?.index()];
            if link.carrier == Carrier::Down {
                return None;
            }
            let here = PortId::new(record.datapath, port.number);
            let [lower, higher] = link.ends.both();
            let (far, id) = match here == lower {
                true => (higher, link.switches[1]),
                false => (lower, link.switches[0]),
            };
            Some((port.number, id, far.port))
        })
    }

    /// Takes in a switch with its ports, or takes it back after it was gone.
    /// Ports that it had and does not name any more go down. Returns the links
    /// that were lost meanwhile, or `None` if the view is full.
    pub fn connect(
        &mut self,
        now: Instant,
        datapath: DatapathId,
        ports: &[Port],
    ) -> Option<(SwitchId, Vec<LinkId>)> {
        if ports.len() > MAX_PORTS {
            return None;
        }
        let id = match self.switch(datapath) {
            Some(id) => id,
            None => self.add_switch(datapath)?,
        };
        self.edition += 1;
        let record = &mut self.switches[id.index()];
        record.control = Control::Connected;
        let gone = record.ports.iter().filter(|known| {
            known.carrier == Carrier::Up && !ports.iter().any(|port| port.number == known.number)
        });
        let gone: Vec<Port> = gone
            .map(|port| Port {
                carrier: Carrier::Down,
                ..*port
            })
            .collect();
        let lost = gone
            .iter()
            .chain(ports)
            .filter_map(|port| self.set_port(now, id, *port))
            .collect();
        Some((id, lost))
    }

    /// Marks a switch as out of reach. Its links stay as they are.
    pub fn disconnect(&mut self, switch: SwitchId) {
        self.edition += 1;
        self.switches[switch.index()].control = Control::Lost;
    }

    /// Takes in a switch that was known before the start. One that is there
    /// already stays as it is.
    pub fn remember_switch(&mut self, now: Instant, datapath: DatapathId, ports: &[Port]) {
        if self.switch(datapath).is_some() || ports.len() > MAX_PORTS {
            return;
        }
        if let Some(id) = self.add_switch(datapath) {
            for port in ports {
                self.set_port(now, id, *port);
            }
        }
    }

    /// Takes in a link that was known before the start, as one that is down, if
    /// its ports are there and joined to nothing else.
    pub fn remember_link(&mut self, now: Instant, ends: LinkEnds) {
        let is_free = |end: PortId| self.port(end).is_some_and(|port| port.link.is_none());
        if self.link(ends).is_some() || !ends.both().into_iter().all(is_free) {
            return;
        }
        if let Some(link) = self.add_link(now, ends) {
            for end in ends.both() {
                self.join(now, end, link);
            }
        }
    }

    /// Marks a switch that is out of reach as one that will not come back.
    pub fn forget(&mut self, switch: SwitchId) {
        let record = &mut self.switches[switch.index()];
        match record.control {
            Control::Lost | Control::Forgotten => record.control = Control::Forgotten,
            Control::Connected => {}
        }
    }

    /// Returns whether a switch has no link, and had none.
    #[must_use]
    pub fn is_alone(&self, switch: SwitchId) -> bool {
        !self
            .links
            .iter()
            .any(|link| link.switches.contains(&switch))
    }

    /// Gives the place of a switch that was [forgotten](Self::forget) to the next one that
    /// is new, if it is [alone](Self::is_alone).
    pub fn release(&mut self, switch: SwitchId) {
        let is_alone = self.is_alone(switch);
        let record = &mut self.switches[switch.index()];
        if record.control == Control::Forgotten && is_alone {
            record.ports = Vec::new();
            self.by_datapath.remove(&record.datapath);
            self.free.push(switch);
            self.edition += 1;
        }
    }

    /// Returns whether there is no place for a switch that is new.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.free.is_empty() && self.switches.len() >= MAX_SWITCHES
    }

    /// Adds a port, or takes over its carrier and address. Returns the link
    /// that went down with it.
    pub fn set_port(&mut self, now: Instant, switch: SwitchId, port: Port) -> Option<LinkId> {
        let record = &mut self.switches[switch.index()];
        match record.index_of(port.number) {
            Ok(index) => {
                let known = &mut record.ports[index];
                let is_back = known.carrier == Carrier::Down && port.carrier == Carrier::Up;
                known.mac = port.mac;
                known.carrier = port.carrier;
                let link = known.link?;
                if is_back {
                    self.suspect(now, link);
                }
                (port.carrier == Carrier::Down && self.lose(now, link)).then_some(link)
            }
            Err(index) if record.ports.len() < MAX_PORTS => {
                record.ports.insert(index, Port { link: None, ..port });
                None
            }
            Err(_) => None,
        }
    }

    /// Notes that a probe which left `from` arrived at `to`.
    pub fn confirm(&mut self, now: Instant, from: PortId, to: PortId) -> Confirmed {
        let alive = |view: &Self, id| {
            view.port(id)
                .is_some_and(|port| port.carrier == Carrier::Up)
        };
        if from == to || !alive(self, from) || !alive(self, to) {
            return Confirmed::Ignored;
        }
        let ends = LinkEnds::new(from, to);
        let Some(link) = self.link(ends).or_else(|| self.add_link(now, ends)) else {
            return Confirmed::Ignored;
        };
        let direction = usize::from(from != ends.both()[0]);
        let record = &mut self.links[link.index()];
        record.confirmed[direction] = Some(now);
        if record.carrier == Carrier::Up {
            return Confirmed::Known;
        }
        if record.confirmed.contains(&None) {
            return Confirmed::OneWay;
        }
        record.carrier = Carrier::Up;
        record.since = now;
        self.edition += 1;
        let replaced = ends.both().map(|end| self.join(now, end, link));
        Confirmed::Up { link, replaced }
    }

    /// Notes that a frame which left by this port came back over the link that is there:
    /// both directions carry. Returns whether there is one that is up.
    pub fn echoed(&mut self, now: Instant, port: PortId) -> bool {
        let Some(link) = self.port(port).and_then(|port| port.link) else {
            return false;
        };
        let record = &mut self.links[link.index()];
        let is_up = record.carrier == Carrier::Up;
        if is_up {
            record.confirmed = [Some(now); 2];
        }
        is_up
    }

    /// Takes a link down. Returns whether it was up.
    pub fn lose(&mut self, now: Instant, link: LinkId) -> bool {
        let record = &mut self.links[link.index()];
        record.confirmed = [None; 2];
        let was_up = record.carrier == Carrier::Up;
        if was_up {
            record.carrier = Carrier::Down;
            record.since = now;
            self.edition += 1;
            self.suspect(now, link);
        }
        was_up
    }

    /// Notes that a link that is not up may be there all the same. Returns whether nobody
    /// thought so.
    pub fn suspect(&mut self, now: Instant, link: LinkId) -> bool {
        let mut is_new = false;
        for end in self.links[link.index()].ends.both() {
            if self.port(end).is_some_and(|port| port.link == Some(link)) {
                is_new |= self.suspected.insert(end, now).is_none();
            }
        }
        is_new
    }

    /// Suspects no more what nothing was heard of since `limit`. Returns whether there was
    /// something.
    pub fn trust(&mut self, limit: Instant) -> bool {
        let before = self.suspected.len();
        self.suspected.retain(|_, since| *since >= limit);
        self.suspected.len() < before
    }

    /// Returns whether a port leads to no switch as far as anybody knows: not over a link
    /// that is up, nor over one that was lost, or is not believed, and may be there.
    #[must_use]
    pub fn is_edge(&self, port: PortId) -> bool {
        self.is_access(port) && !self.suspected.contains_key(&port)
    }

    /// Returns the links that are up and of which a direction was last
    /// confirmed before `limit`, but for those at a switch that is out of
    /// reach: it cannot send probes, and its silence says nothing.
    pub fn silent_since(&self, limit: Instant) -> impl Iterator<Item = LinkId> + '_ {
        self.links
            .iter()
            .zip(0u32..)
            .filter(move |(link, _)| {
                link.carrier == Carrier::Up
                    && link.confirmed.iter().any(|at| *at < Some(limit))
                    && !self.is_out_of_sight(link)
            })
            .map(|(_, id)| LinkId(id))
    }

    /// Returns whether a port is there and not joined to another switch.
    #[must_use]
    pub fn is_access(&self, port: PortId) -> bool {
        self.port(port).is_some_and(|port| {
            !port
                .link
                .is_some_and(|link| self.links[link.index()].carrier == Carrier::Up)
        })
    }

    /// Notes whether what is seen of a switch agrees with its profile.
    pub fn set_profile(&mut self, datapath: DatapathId, standing: ProfileStanding) {
        if let Some(id) = self.by_datapath.get(&datapath) {
            self.switches[id.index()].profile = standing;
        }
    }

    fn add_switch(&mut self, datapath: DatapathId) -> Option<SwitchId> {
        if self.is_full() {
            return None;
        }
        self.edition += 1;
        let switch = Switch {
            datapath,
            control: Control::Lost,
            profile: ProfileStanding::Unwatched,
            ports: Vec::new(),
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.switches[id.index()] = switch;
                id
            }
            None => {
                self.switches.push(switch);
                SwitchId(number(self.switches.len() - 1))
            }
        };
        self.by_datapath.insert(datapath, id);
        Some(id)
    }

    fn add_link(&mut self, now: Instant, ends: LinkEnds) -> Option<LinkId> {
        if self.links.len() >= MAX_LINKS {
            return None;
        }
        let [Some(lower), Some(higher)] = ends.both().map(|end| self.switch(end.datapath)) else {
            return None;
        };
        let id = LinkId(number(self.links.len()));
        self.links.push(Link {
            ends,
            switches: [lower, higher],
            carrier: Carrier::Down,
            since: now,
            confirmed: [None; 2],
        });
        self.by_ends.insert(ends, id);
        Some(id)
    }

    /// Makes `link` the one at `end`; returns the link it took the place of if
    /// that one was up.
    fn join(&mut self, now: Instant, end: PortId, link: LinkId) -> Option<LinkId> {
        self.edition += 1;
        self.detach_all(end);
        self.suspected.remove(&end);
        let switch = self.switch(end.datapath)?;
        let port = self.switches[switch.index()].port_mut(end.port)?;
        let before = port.link.replace(link).filter(|before| *before != link)?;
        self.lose(now, before).then_some(before)
    }
}

/// Returns the number of a record. All tables are bounded well below 2³².
fn number(index: usize) -> u32 {
    u32::try_from(index).expect("tables of the view are bounded by constants")
}

#[cfg(test)]
mod tests;
