//! Hosts that somebody names, and that the store keeps (S1-1).
//!
//! A host is named once the store has kept what is said of it, and again after a
//! restart; it is removed once the store has forgotten it.

use std::collections::{BTreeMap, BTreeSet};

use wire::ethernet::MacAddress;

use crate::desired::EntryOwner;
use crate::hosts::record;
use crate::northbound::{Event, HostRefusal, MAX_WAITING, Reply, RequestId, StaticHost};
use crate::store::{Key, StoreWrite};

use super::Controller;

/// What waits for the store, and what it has kept.
#[derive(Debug, Default)]
pub(super) struct HostDesk {
    named: BTreeMap<MacAddress, (RequestId, String)>,
    removed: BTreeMap<MacAddress, Vec<RequestId>>,
    kept: BTreeSet<MacAddress>,
}

impl HostDesk {
    /// Returns whether something waits that has to do with this host.
    fn is_waiting_for(&self, host: &StaticHost) -> bool {
        let mut names = self.named.values().map(|(_, name)| name);
        self.named.contains_key(&host.mac)
            || self.removed.contains_key(&host.mac)
            || names.any(|name| *name == host.name)
    }
}

impl Controller {
    /// Takes what somebody says of a host.
    pub(super) fn set_host(&mut self, id: RequestId, host: StaticHost) {
        if self.host_desk.is_waiting_for(&host) || self.host_desk.named.len() >= MAX_WAITING {
            self.ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        if let Err(refusal) = self.check_host(&host) {
            self.ctx.outbox.reply(id, Reply::HostRefused(refusal));
            return;
        }
        self.ctx.outbox.store(StoreWrite {
            key: Key::Host(host.mac),
            value: Some(record::to_bytes(&host)),
        });
        self.host_desk.named.insert(host.mac, (id, host.name));
    }

    fn check_host(&self, host: &StaticHost) -> Result<(), HostRefusal> {
        let before = self
            .topology
            .view
            .host_by_mac(host.mac)
            .map(|host| &host.name);
        let renamed = before.filter(|name| **name != host.name);
        let in_use = renamed.and_then(|name| Some((name.clone(), self.flow_of_host(name)?)));
        match in_use {
            Some((name, flow)) => Err(HostRefusal::InUse { name, flow }),
            None => self.topology.hosts.check(&self.topology.view, host),
        }
    }

    /// Takes a host that the store has kept, whoever named it.
    pub(super) fn host_kept(&mut self, mac: MacAddress, bytes: &[u8]) {
        self.host_desk.kept.insert(mac);
        let waiting = self.host_desk.named.remove(&mac);
        let named = record::from_bytes(mac, bytes);
        let result = named.map(|host| self.topology.hosts.set(&mut self.topology.view, host));
        let reply = match result {
            Some(Ok(changes)) => {
                for change in changes {
                    self.tell_of_host(change);
                }
                Reply::HostSet
            }
            Some(Err(refusal)) if waiting.is_some() => {
                self.ctx.outbox.store(StoreWrite {
                    key: Key::Host(mac),
                    value: None,
                });
                Reply::HostRefused(refusal)
            }
            Some(Err(refusal)) => {
                self.ctx.outbox.notify(Event::HostUnusable { mac });
                Reply::HostRefused(refusal)
            }
            None => {
                self.ctx.outbox.notify(Event::HostUnusable { mac });
                Reply::NotStored
            }
        };
        if let Some((id, _)) = waiting {
            self.ctx.outbox.reply(id, reply);
        }
    }

    /// Forgets a host at which no flow begins or ends.
    pub(super) fn remove_host(&mut self, id: RequestId, name: String) {
        let Some(mac) = self.topology.view.host(&name).map(|host| host.mac) else {
            self.ctx.outbox.reply(id, Reply::UnknownHost(name));
            return;
        };
        if let Some(flow) = self.flow_of_host(&name) {
            let refusal = HostRefusal::InUse { name, flow };
            self.ctx.outbox.reply(id, Reply::HostRefused(refusal));
            return;
        }
        if !self.host_desk.kept.contains(&mac) {
            self.drop_host(mac);
            self.ctx.outbox.reply(id, Reply::HostRemoved);
            return;
        }
        self.host_desk.removed.entry(mac).or_default().push(id);
        self.ctx.outbox.store(StoreWrite {
            key: Key::Host(mac),
            value: None,
        });
    }

    /// Removes a host that the store has forgotten.
    pub(super) fn host_struck(&mut self, mac: MacAddress) {
        self.host_desk.kept.remove(&mac);
        self.drop_host(mac);
        let waiting = self.host_desk.removed.remove(&mac);
        for id in waiting.into_iter().flatten() {
            self.ctx.outbox.reply(id, Reply::HostRemoved);
        }
    }

    pub(super) fn host_rejected(&mut self, mac: MacAddress) {
        let named = self.host_desk.named.remove(&mac).map(|(id, _)| id);
        let removed = self.host_desk.removed.remove(&mac);
        for id in named.into_iter().chain(removed.into_iter().flatten()) {
            self.ctx.outbox.reply(id, Reply::NotStored);
        }
    }

    /// Removes a host from the view, with its rules.
    pub(super) fn drop_host(&mut self, mac: MacAddress) {
        let Some(name) = self
            .topology
            .view
            .host_by_mac(mac)
            .map(|host| host.name.clone())
        else {
            return;
        };
        self.mark_route(&name);
        self.host_concerns_intents(&name);
        self.topology.hosts.remove(&mut self.topology.view, mac);
        if let Some(write) = self.topology.inventory.strike_host(mac) {
            self.ctx.outbox.store(write);
        }
        self.clear_rules(EntryOwner::KnownHost(mac));
        self.ctx.outbox.notify(Event::HostRemoved { name });
    }

    /// Returns the name of a flow that begins or ends at a host.
    pub(super) fn flow_of_host(&self, host: &str) -> Option<String> {
        let flows = self.owners.flows.iter();
        let mut requirements = flows.map(|flow| &flow.admission.requirement);
        let uses = requirements.find(|requirement| {
            let mut destinations = requirement.destinations.iter();
            requirement.source == host || destinations.any(|other| other == host)
        });
        uses.map(|requirement| requirement.name.clone())
    }
}
