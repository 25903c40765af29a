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

use super::{Context, Network};

/// What waits for the store, and what it has kept.
#[derive(Debug, Default)]
pub struct HostDesk {
    pub named: BTreeMap<MacAddress, (RequestId, String)>,
    removed: BTreeMap<MacAddress, Vec<RequestId>>,
    pub kept: BTreeSet<MacAddress>,
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

impl HostDesk {
    /// Takes what somebody says of a host.
    pub fn set_host(
        &mut self,
        ctx: &mut Context,
        network: &Network,
        id: RequestId,
        host: StaticHost,
    ) {
        if self.is_waiting_for(&host) || self.named.len() >= MAX_WAITING {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        if let Err(refusal) = Self::check_host(network, &host) {
            ctx.outbox.reply(id, Reply::HostRefused(refusal));
            return;
        }
        ctx.outbox.store(StoreWrite {
            key: Key::Host(host.mac),
            value: Some(record::to_bytes(&host)),
        });
        self.named.insert(host.mac, (id, host.name));
    }

    fn check_host(network: &Network, host: &StaticHost) -> Result<(), HostRefusal> {
        let (topology, owners) = (&network.topology, &network.owners);
        let before = topology.view.host_by_mac(host.mac).map(|host| &host.name);
        let renamed = before.filter(|name| **name != host.name);
        let in_use = renamed.and_then(|name| Some((name.clone(), owners.flow_of_host(name)?)));
        match in_use {
            Some((name, flow)) => Err(HostRefusal::InUse { name, flow }),
            None => topology.hosts.check(&topology.view, host),
        }
    }

    /// Forgets a host at which no flow begins or ends.
    pub fn remove_host(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: RequestId,
        name: String,
    ) {
        let Some(mac) = network.topology.view.host(&name).map(|host| host.mac) else {
            ctx.outbox.reply(id, Reply::UnknownHost(name));
            return;
        };
        if let Some(flow) = network.owners.flow_of_host(&name) {
            let refusal = HostRefusal::InUse { name, flow };
            ctx.outbox.reply(id, Reply::HostRefused(refusal));
            return;
        }
        if !self.kept.contains(&mac) {
            Self::drop_host(ctx, network, mac);
            ctx.outbox.reply(id, Reply::HostRemoved);
            return;
        }
        self.removed.entry(mac).or_default().push(id);
        ctx.outbox.store(StoreWrite {
            key: Key::Host(mac),
            value: None,
        });
    }

    /// Removes a host that the store has forgotten.
    pub fn host_struck(&mut self, ctx: &mut Context, network: &mut Network, mac: MacAddress) {
        self.kept.remove(&mac);
        Self::drop_host(ctx, network, mac);
        let waiting = self.removed.remove(&mac);
        for id in waiting.into_iter().flatten() {
            ctx.outbox.reply(id, Reply::HostRemoved);
        }
    }

    pub fn host_rejected(&mut self, ctx: &mut Context, mac: MacAddress) {
        let named = self.named.remove(&mac).map(|(id, _)| id);
        let removed = self.removed.remove(&mac);
        for id in named.into_iter().chain(removed.into_iter().flatten()) {
            ctx.outbox.reply(id, Reply::NotStored);
        }
    }

    /// Removes a host from the view, with its rules.
    pub fn drop_host(ctx: &mut Context, network: &mut Network, mac: MacAddress) {
        let Some(name) = network
            .topology
            .view
            .host_by_mac(mac)
            .map(|host| host.name.clone())
        else {
            return;
        };
        network.owners.mark_route(&network.topology, &name);
        network
            .owners
            .host_concerns_intents(ctx, &network.topology, &name);
        network
            .topology
            .hosts
            .remove(&mut network.topology.view, mac);
        if let Some(write) = network.topology.inventory.strike_host(mac) {
            ctx.outbox.store(write);
        }
        network.clear_rules(ctx, EntryOwner::KnownHost(mac));
        ctx.outbox.notify(Event::HostRemoved { name });
    }
}
