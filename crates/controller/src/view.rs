//! The network as the controller knows it: switches, ports, links and hosts.
//!
//! One compact record each, numbered by small integers in the order of
//! discovery (S1-1). Every mutation leaves the whole consistent: a link joins
//! two ports that are there, a port names at most one link, and no host sits on
//! a port whose link is up (S1-2). A record is never renumbered; what goes away
//! is marked and comes back under its number. Hosts alone can be removed, and
//! another one takes the number then; nobody keeps numbers of hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
/// The most hosts that a view holds.
pub const MAX_HOSTS: usize = 65_536;
/// The most IP addresses of one host.
pub const MAX_ADDRESSES: usize = 8;

/// A switch of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwitchId(u32);

/// A link of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(u32);

/// A host of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(u32);

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

impl HostId {
    /// Returns the place of the host in [`View::hosts`].
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
    /// It does.
    Up,
    /// It does not, or nobody has seen it do so.
    Down,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its datapath id.
    pub datapath: DatapathId,
    /// Whether it is connected.
    pub control: Control,
    /// Its ports, by number.
    pub ports: Vec<Port>,
}

impl Switch {
    /// Returns the port with this number.
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
    /// Its number.
    pub number: PortNumber,
    /// Its own address.
    pub mac: MacAddress,
    /// Whether it has a carrier.
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

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name; its address in text if nobody named it.
    pub name: String,
    /// Its address.
    pub mac: MacAddress,
    /// Its IP addresses, in the order in which they became known; at most
    /// [`MAX_ADDRESSES`], and none is that of another host.
    pub addresses: Vec<IpAddr>,
    /// The port that it is attached to, if that is known.
    pub attachment: Option<PortId>,
    /// How the controller came to know it.
    pub origin: Origin,
}

impl Host {
    /// Returns its IPv4 addresses.
    pub fn ipv4(&self) -> impl Iterator<Item = Ipv4Addr> + '_ {
        self.addresses.iter().filter_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        })
    }

    /// Returns its IPv6 addresses.
    pub fn ipv6(&self) -> impl Iterator<Item = Ipv6Addr> + '_ {
        self.addresses.iter().filter_map(|address| match address {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => Some(*address),
        })
    }
}

/// How the controller came to know a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The configuration names it.
    Configured,
    /// Somebody named it while the controller ran.
    Named,
    /// A frame of it arrived.
    Learned,
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

/// The view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    switches: Vec<Switch>,
    links: Vec<Link>,
    hosts: Vec<Host>,
    by_datapath: BTreeMap<DatapathId, SwitchId>,
    by_ends: BTreeMap<LinkEnds, LinkId>,
    by_mac: BTreeMap<MacAddress, HostId>,
    by_name: BTreeMap<String, HostId>,
    by_attachment: BTreeSet<(PortId, HostId)>,
    by_address: BTreeMap<IpAddr, HostId>,
}

impl View {
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

    /// Returns all hosts, by [`HostId`].
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Returns the switch with this datapath id.
    #[must_use]
    pub fn switch(&self, datapath: DatapathId) -> Option<SwitchId> {
        self.by_datapath.get(&datapath).copied()
    }

    /// Returns the link that joins these ports, up or down.
    #[must_use]
    pub fn link(&self, ends: LinkEnds) -> Option<LinkId> {
        self.by_ends.get(&ends).copied()
    }

    /// Returns the host with this name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.by_name.get(name).map(|id| &self.hosts[id.index()])
    }

    /// Returns the host with this address.
    #[must_use]
    pub fn host_by_mac(&self, mac: MacAddress) -> Option<&Host> {
        self.by_mac.get(&mac).map(|id| &self.hosts[id.index()])
    }

    /// Returns the host with this IP address.
    #[must_use]
    pub fn host_by_address(&self, address: IpAddr) -> Option<&Host> {
        let id = self.by_address.get(&address)?;
        Some(&self.hosts[id.index()])
    }

    /// Returns a port, if it is there.
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

    /// Adds a port, or takes over its carrier and address. Returns the link
    /// that went down with it.
    pub fn set_port(&mut self, now: Instant, switch: SwitchId, port: Port) -> Option<LinkId> {
        let record = &mut self.switches[switch.index()];
        match record.index_of(port.number) {
            Ok(index) => {
                let known = &mut record.ports[index];
                known.mac = port.mac;
                known.carrier = port.carrier;
                let link = known.link.filter(|_| port.carrier == Carrier::Down)?;
                self.lose(now, link).then_some(link)
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
        let replaced = ends.both().map(|end| self.join(now, end, link));
        Confirmed::Up { link, replaced }
    }

    /// Takes a link down. Returns whether it was up.
    pub fn lose(&mut self, now: Instant, link: LinkId) -> bool {
        let record = &mut self.links[link.index()];
        record.confirmed = [None; 2];
        let was_up = record.carrier == Carrier::Up;
        if was_up {
            record.carrier = Carrier::Down;
            record.since = now;
        }
        was_up
    }

    /// Returns the links that are up and of which a direction was last
    /// confirmed before `limit`, but for those at a switch that is out of
    /// reach: it cannot send probes, and its silence says nothing.
    pub fn silent_since(&self, limit: Instant) -> impl Iterator<Item = LinkId> + '_ {
        let connected = |id: SwitchId| self.switches[id.index()].control == Control::Connected;
        self.links
            .iter()
            .zip(0u32..)
            .filter(move |(link, _)| {
                link.carrier == Carrier::Up
                    && link.confirmed.iter().any(|at| *at < Some(limit))
                    && link.switches.into_iter().all(connected)
            })
            .map(|(_, id)| LinkId(id))
    }

    /// Adds a host or takes over what is said of it; IP addresses of other hosts
    /// and those above [`MAX_ADDRESSES`] are left out. Returns `None`, and changes
    /// nothing, if its port is not there or joined to a switch, if its name or
    /// address belongs to another host, or if the view is full.
    pub fn set_host(&mut self, host: Host) -> Option<HostId> {
        if host.attachment.is_some_and(|port| !self.is_access(port)) {
            return None;
        }
        let known = self.by_mac.get(&host.mac).copied();
        let named = self.by_name.get(&host.name).copied();
        if named.is_some() && named != known {
            return None;
        }
        let id = match known {
            Some(id) => {
                self.unlist(id);
                id
            }
            None if self.hosts.len() < MAX_HOSTS => HostId(number(self.hosts.len())),
            None => return None,
        };
        let mut host = host;
        let (by_address, mut seen) = (&self.by_address, BTreeSet::new());
        host.addresses
            .retain(|address| !by_address.contains_key(address) && seen.insert(*address));
        host.addresses.truncate(MAX_ADDRESSES);
        match known {
            Some(id) => self.hosts[id.index()] = host,
            None => self.hosts.push(host),
        }
        self.list(id);
        Some(id)
    }

    /// Forgets all hosts, as for somebody who may not see them.
    pub fn hide_hosts(&mut self) {
        self.hosts.clear();
        self.by_mac.clear();
        self.by_name.clear();
        self.by_address.clear();
        self.by_attachment.clear();
    }

    /// Removes a host and returns it.
    pub fn remove_host(&mut self, mac: MacAddress) -> Option<Host> {
        let id = self.by_mac.get(&mac).copied()?;
        let last = HostId(number(self.hosts.len() - 1));
        self.unlist(id);
        if last != id {
            self.unlist(last);
        }
        let removed = self.hosts.swap_remove(id.index());
        if last != id {
            self.list(id);
        }
        Some(removed)
    }

    /// Enters a host into the indices.
    fn list(&mut self, id: HostId) {
        let host = &self.hosts[id.index()];
        self.by_mac.insert(host.mac, id);
        self.by_name.insert(host.name.clone(), id);
        let addresses = host.addresses.iter();
        self.by_address
            .extend(addresses.map(|address| (*address, id)));
        self.by_attachment
            .extend(host.attachment.map(|port| (port, id)));
    }

    /// Takes a host out of the indices.
    fn unlist(&mut self, id: HostId) {
        let host = &self.hosts[id.index()];
        self.by_mac.remove(&host.mac);
        self.by_name.remove(&host.name);
        for address in &host.addresses {
            self.by_address.remove(address);
        }
        if let Some(port) = host.attachment {
            self.by_attachment.remove(&(port, id));
        }
    }

    /// Returns how many hosts are attached to a port.
    #[must_use]
    pub fn hosts_at(&self, port: PortId) -> usize {
        let here = (port, HostId(0))..=(port, HostId(u32::MAX));
        self.by_attachment.range(here).count()
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

    fn detach(&mut self, id: HostId) {
        if let Some(port) = self.hosts[id.index()].attachment.take() {
            self.by_attachment.remove(&(port, id));
        }
    }

    /// Takes all hosts from a port that turned out to lead to a switch.
    fn detach_all(&mut self, port: PortId) {
        let here = (port, HostId(0))..=(port, HostId(u32::MAX));
        let ids: Vec<HostId> = self.by_attachment.range(here).map(|(_, id)| *id).collect();
        for id in ids {
            self.detach(id);
        }
    }

    fn add_switch(&mut self, datapath: DatapathId) -> Option<SwitchId> {
        if self.switches.len() >= MAX_SWITCHES {
            return None;
        }
        let id = SwitchId(number(self.switches.len()));
        self.switches.push(Switch {
            datapath,
            control: Control::Lost,
            ports: Vec::new(),
        });
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
        self.detach_all(end);
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_link_is_up_once_both_directions_are_confirmed() {
        let mut view = two_switches();

        let first = view.confirm(at(1), id(1, 1), id(2, 1));
        let up_after_first = view.is_up(LinkEnds::new(id(1, 1), id(2, 1)));
        let second = view.confirm(at(2), id(2, 1), id(1, 1));

        assert_eq!(first, Confirmed::OneWay);
        assert!(!up_after_first);
        assert!(matches!(
            second,
            Confirmed::Up {
                replaced: [None, None],
                ..
            }
        ));
    }

    #[test]
    fn a_recabled_port_loses_its_old_link() {
        let mut view = two_switches();
        view.confirm(at(1), id(1, 1), id(2, 1));
        view.confirm(at(1), id(2, 1), id(1, 1));
        let old = view.link(LinkEnds::new(id(1, 1), id(2, 1))).unwrap();

        view.confirm(at(2), id(1, 1), id(2, 2));
        let change = view.confirm(at(2), id(2, 2), id(1, 1));

        let Confirmed::Up { replaced, .. } = change else {
            panic!("{change:?}")
        };
        assert_eq!(replaced, [Some(old), None]);
        assert_eq!(view.links()[old.index()].carrier, Carrier::Down);
    }

    #[test]
    fn a_link_whose_probes_stopped_one_way_is_silent() {
        let mut view = two_switches();
        view.confirm(at(1), id(1, 1), id(2, 1));
        view.confirm(at(1), id(2, 1), id(1, 1));
        view.confirm(at(5), id(1, 1), id(2, 1));

        let silent: Vec<LinkId> = view.silent_since(at(3)).collect();

        assert_eq!(silent, [LinkId(0)]);
    }

    #[test]
    fn a_switch_out_of_reach_does_not_silence_its_links() {
        let mut view = two_switches();
        view.confirm(at(1), id(1, 1), id(2, 1));
        view.confirm(at(1), id(2, 1), id(1, 1));
        let switch = view.switch(DatapathId(2)).unwrap();

        view.disconnect(switch);

        assert_eq!(view.silent_since(at(9)).count(), 0);
    }

    #[test]
    fn a_host_leaves_a_port_that_turns_out_to_be_a_trunk() {
        let mut view = two_switches();
        let host = |attachment| Host {
            name: "h".into(),
            mac: MacAddress([2, 0, 0, 0, 0, 9]),
            addresses: Vec::new(),
            attachment,
            origin: Origin::Learned,
        };
        view.set_host(host(Some(id(1, 1)))).unwrap();

        view.confirm(at(1), id(1, 1), id(2, 1));
        view.confirm(at(1), id(2, 1), id(1, 1));

        assert_eq!(view.host("h").unwrap().attachment, None);
        assert_eq!(view.set_host(host(Some(id(1, 1)))), None);
    }

    proptest! {
        /// S1-2: whatever happens in whatever order, the structure stays whole.
        #[test]
        fn the_view_is_always_whole(steps in prop::collection::vec(step(), 0..80)) {
            let mut view = View::default();

            for (now, step) in (0..).zip(steps) {
                apply(&mut view, at(now), step);

                assert_whole(&view);
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Connect(u64),
        Disconnect(u64),
        Port(PortId, Carrier),
        Probe(PortId, PortId),
        Host(u8, PortId, Vec<u32>),
        Remove(u8),
        Age(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let port = || (0..4u64, 1..4u32).prop_map(|(datapath, port)| id(datapath, port));
        prop_oneof![
            (0..4u64).prop_map(Step::Connect),
            (0..4u64).prop_map(Step::Disconnect),
            (port(), any::<bool>()).prop_map(|(port, up)| {
                Step::Port(port, if up { Carrier::Up } else { Carrier::Down })
            }),
            (port(), port()).prop_map(|(from, to)| Step::Probe(from, to)),
            (port(), port()).prop_map(|(from, to)| Step::Probe(from, to)),
            (0..6u8, port(), prop::collection::vec(0..12u32, 0..10))
                .prop_map(|(host, port, addresses)| Step::Host(host, port, addresses)),
            (0..6u8).prop_map(Step::Remove),
            (0..80u64).prop_map(Step::Age),
        ]
    }

    fn apply(view: &mut View, now: Instant, step: Step) {
        match step {
            Step::Connect(datapath) => {
                view.connect(now, DatapathId(datapath), &ports());
            }
            Step::Disconnect(datapath) => {
                if let Some(switch) = view.switch(DatapathId(datapath)) {
                    view.disconnect(switch);
                }
            }
            Step::Port(port, carrier) => {
                if let Some(switch) = view.switch(port.datapath) {
                    view.set_port(
                        now,
                        switch,
                        Port {
                            carrier,
                            ..new_port(port.port.0)
                        },
                    );
                }
            }
            Step::Probe(from, to) => {
                view.confirm(now, from, to);
            }
            Step::Host(host, port, addresses) => {
                let addresses = addresses.into_iter().map(Ipv4Addr::from);
                view.set_host(Host {
                    name: format!("h{host}"),
                    mac: MacAddress([2, 0, 0, 0, 0, host]),
                    addresses: addresses.map(IpAddr::V4).collect(),
                    attachment: Some(port),
                    origin: Origin::Learned,
                });
            }
            Step::Remove(host) => {
                view.remove_host(MacAddress([2, 0, 0, 0, 0, host]));
            }
            Step::Age(limit) => {
                let silent: Vec<LinkId> = view.silent_since(at(limit)).collect();
                for link in silent {
                    view.lose(now, link);
                }
            }
        }
    }

    fn assert_whole(view: &View) {
        for (index, link) in view.links().iter().enumerate() {
            for end in link.ends.both() {
                let port = view.port(end).expect("a link joins ports that are there");
                if link.carrier == Carrier::Up {
                    assert_eq!(port.link.map(LinkId::index), Some(index));
                    assert_eq!(port.carrier, Carrier::Up);
                    assert!(!view.is_access(end));
                }
            }
        }
        for host in view.hosts() {
            assert!(host.attachment.is_none_or(|port| view.is_access(port)));
            assert_eq!(view.host(&host.name), Some(host));
            assert_eq!(view.host_by_mac(host.mac), Some(host));
            assert!(host.addresses.len() <= MAX_ADDRESSES);
            for address in &host.addresses {
                assert_eq!(view.host_by_address(*address), Some(host));
            }
        }
        let attached = view.hosts().iter().filter(|host| host.attachment.is_some());
        assert_eq!(view.by_attachment.len(), attached.count());
        let addresses = view.hosts().iter().map(|host| host.addresses.len());
        assert_eq!(view.by_address.len(), addresses.sum::<usize>());
        let hosts = view.hosts().len();
        assert_eq!((view.by_mac.len(), view.by_name.len()), (hosts, hosts));
    }

    fn two_switches() -> View {
        let mut view = View::default();
        view.connect(at(0), DatapathId(1), &ports());
        view.connect(at(0), DatapathId(2), &ports());
        view
    }

    fn ports() -> [Port; 3] {
        [1, 2, 3].map(new_port)
    }

    fn new_port(number: u32) -> Port {
        Port {
            number: PortNumber(number),
            mac: MacAddress::ZERO,
            carrier: Carrier::Up,
            link: None,
        }
    }

    fn id(datapath: u64, port: u32) -> PortId {
        PortId::new(DatapathId(datapath), PortNumber(port))
    }

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }
}
