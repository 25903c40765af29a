//! What the store says, at the start and later.
//!
//! Until the store has told all that it kept, no switch is compared with what it
//! should have and nothing is decided: rules of flows that the controller has not
//! heard of yet would be taken for rules in excess.

use wire::ethernet::MacAddress;

use crate::hosts::record;
use crate::northbound::{Event, FlowId, IntentId, Reply};
use crate::store::{Key, StoreEvent, StoreWrite};

use super::context::Memory;
use super::{Controller, Topology};

impl Controller {
    /// Acts on what the store says.
    pub(super) fn stored(&mut self, event: StoreEvent) {
        let Self { ctx, network, .. } = self;
        match event {
            StoreEvent::Replayed => self.replayed(),
            StoreEvent::Written(StoreWrite { key, value }) => match (key, value) {
                (Key::Admission(id), Some(record)) => {
                    self.promises.admitted(ctx, network, FlowId(id), &record)
                }
                (Key::Profile(datapath), Some(record)) => {
                    self.promises.profile_kept(ctx, network, datapath, &record)
                }
                (Key::Admission(id), None) => self.promises.withdrawn(ctx, network, FlowId(id)),
                (Key::Leaving(number), Some(record)) => {
                    self.promises
                        .leaving_kept(ctx, &mut network.owners, number, &record)
                }
                (Key::Intent(id), Some(record)) => {
                    self.programs
                        .intent_kept(ctx, network, IntentId(id), &record)
                }
                (Key::Intent(id), None) => self.programs.intent_struck(ctx, network, IntentId(id)),
                (Key::Switch(datapath), Some(record)) => {
                    network.topology.switch_kept(ctx, datapath, &record)
                }
                (Key::Host(mac), Some(record)) => self.host_kept(mac, &record),
                (Key::Host(mac), None) => self.host_desk.host_struck(ctx, network, mac),
                (Key::Seen(mac), Some(record)) => self.host_seen(mac, &record),
                (Key::Link(link), Some(_)) => network.topology.link_kept(ctx, link),
                (Key::Application(id), Some(record)) => {
                    self.loading.application_kept(ctx, network, id, &record)
                }
                (Key::Application(id), None) => self.loading.application_struck(ctx, network, id),
                (Key::Settings, Some(record)) => {
                    self.settings_desk
                        .settings_kept(ctx, network, &mut self.promises, &record)
                }
                (Key::Unloaded, Some(record)) => self.loading.unloading_kept(ctx, network, &record),
                (Key::Mode, Some(record)) => self.modes.orders_kept(ctx, network, &record),
                // Whoever writes for an instance deals with these.
                (Key::Epoch(_) | Key::Instance(_) | Key::Secrets, _) => {}
                (
                    Key::Leaving(_)
                    | Key::Profile(_)
                    | Key::Switch(_)
                    | Key::Seen(_)
                    | Key::Link(_)
                    | Key::Settings
                    | Key::Unloaded
                    | Key::Mode,
                    None,
                ) => {}
            },
            StoreEvent::Rejected(key) => self.not_stored(key),
        }
    }

    /// Acts on a change that was not made.
    fn not_stored(&mut self, key: Key) {
        let Self { ctx, network, .. } = self;
        match key {
            Key::Admission(id) => self.promises.rejected(ctx, &mut network.owners, FlowId(id)),
            Key::Profile(datapath) => self.promises.profile_rejected(ctx, datapath),
            // It is counted all the same, as long as this instance runs.
            Key::Leaving(_) | Key::Epoch(_) | Key::Instance(_) | Key::Secrets => {}
            Key::Intent(id) => {
                self.programs
                    .intent_rejected(ctx, &mut network.owners, IntentId(id))
            }
            Key::Switch(datapath) => network.topology.inventory.switch_rejected(datapath),
            Key::Host(mac) => self.host_desk.host_rejected(ctx, mac),
            Key::Seen(mac) => network.topology.inventory.host_rejected(mac),
            Key::Link(link) => network.topology.inventory.link_rejected(link),
            Key::Application(id) => self.loading.application_rejected(ctx, id),
            Key::Settings => self.settings_desk.settings_rejected(ctx),
            Key::Unloaded => self.loading.unloading_rejected(ctx),
            Key::Mode => self.modes.orders_rejected(ctx),
        }
    }

    /// Begins to act: all that was kept is known.
    fn replayed(&mut self) {
        let Self { ctx, network, .. } = self;
        self.promises.decide_who_is_late(ctx, network);
        ctx.memory = Memory::Complete;
        self.promises.follow_budgets(ctx, &mut network.owners);
        // By then every link that is there has been seen.
        ctx.settled_at = ctx.now + ctx.timers.link_timeout;
        let ready: Vec<_> = ctx.sessions.ready().collect();
        for (datapath, _) in ready {
            network.topology.keep_switch(ctx, datapath);
        }
        ctx.outbox.notify(Event::Ready);
    }

    /// Takes in where a host was last seen. A host of which that cannot be read is found
    /// again by its next frame.
    fn host_seen(&mut self, mac: MacAddress, record: &[u8]) {
        let topology = &mut self.network.topology;
        if let Some(port) = topology.inventory.host_kept(mac, record)
            && let Some(change) = topology.hosts.remember(&mut topology.view, mac, port)
        {
            self.tell_of_host(change);
        }
    }

    /// Takes a host that the store has kept, whoever named it.
    pub(super) fn host_kept(&mut self, mac: MacAddress, bytes: &[u8]) {
        self.host_desk.kept.insert(mac);
        let waiting = self.host_desk.named.remove(&mac);
        let named = record::from_bytes(mac, bytes);
        let Topology { hosts, view, .. } = &mut self.network.topology;
        let result = named.map(|host| hosts.set(view, host));
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
}
