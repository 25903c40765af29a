//! The hosts of a view: what is known of each, and where they are attached.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use api::topology::HostOrigin;
use wire::ethernet::MacAddress;

use crate::place::PortId;

use super::{View, number};

/// The most hosts that a view holds.
pub const MAX_HOSTS: usize = 65_536;
/// The most IP addresses of one host.
pub const MAX_ADDRESSES: usize = 8;

/// A host of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(u32);

impl HostId {
    /// Returns the place of the host in [`View::hosts`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name; its address in text if nobody named it.
    pub name: String,
    pub mac: MacAddress,
    /// Its IP addresses, in the order in which they became known; at most
    /// [`MAX_ADDRESSES`], and none is that of another host.
    pub addresses: Vec<IpAddr>,
    /// The port that it is attached to, if that is known.
    pub attachment: Option<PortId>,
    /// How the controller came to know it.
    pub origin: HostOrigin,
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

impl View {
    /// Returns all hosts, by [`HostId`].
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.by_name.get(name).map(|id| &self.hosts[id.index()])
    }

    #[must_use]
    pub fn host_by_mac(&self, mac: MacAddress) -> Option<&Host> {
        self.by_mac.get(&mac).map(|id| &self.hosts[id.index()])
    }

    #[must_use]
    pub fn host_by_address(&self, address: IpAddr) -> Option<&Host> {
        let id = self.by_address.get(&address)?;
        Some(&self.hosts[id.index()])
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

    /// Returns the hosts that are attached to a port.
    pub fn hosts_at(&self, port: PortId) -> impl Iterator<Item = &Host> {
        let here = (port, HostId(0))..=(port, HostId(u32::MAX));
        let ids = self.by_attachment.range(here);
        ids.map(|(_, id)| &self.hosts[id.index()])
    }

    fn detach(&mut self, id: HostId) {
        if let Some(port) = self.hosts[id.index()].attachment.take() {
            self.by_attachment.remove(&(port, id));
        }
    }

    /// Takes all hosts from a port that turned out to lead to a switch.
    pub(super) fn detach_all(&mut self, port: PortId) {
        let here = (port, HostId(0))..=(port, HostId(u32::MAX));
        let ids: Vec<HostId> = self.by_attachment.range(here).map(|(_, id)| *id).collect();
        for id in ids {
            self.detach(id);
        }
    }
}
