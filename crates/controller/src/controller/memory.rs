//! What the store says, at the start and later.
//!
//! Until the store has told all that it kept, no switch is compared with what it
//! should have and nothing is decided: rules of flows that the controller has not
//! heard of yet would be taken for rules in excess.

use wire::ethernet::MacAddress;

use crate::hosts::record;
use crate::northbound::{Event, FlowId, IntentId, Reply};
use crate::store::{Key, StoreEvent, StoreWrite};

use super::Controller;
use super::context::Memory;

impl Controller {
    /// Acts on what the store says.
    pub(super) fn stored(&mut self, event: StoreEvent) {
        match event {
            StoreEvent::Replayed => self.replayed(),
            StoreEvent::Written(StoreWrite { key, value }) => match (key, value) {
                (Key::Admission(id), Some(record)) => {
                    self.promises
                        .admitted(&mut self.ctx, &mut self.network, FlowId(id), &record)
                }
                (Key::Admission(id), None) => {
                    self.promises
                        .withdrawn(&mut self.ctx, &mut self.network, FlowId(id))
                }
                (Key::Leaving(number), Some(record)) => self.promises.leaving_kept(
                    &mut self.ctx,
                    &mut self.network.owners,
                    number,
                    &record,
                ),
                (Key::Intent(id), Some(record)) => self.programs.intent_kept(
                    &mut self.ctx,
                    &mut self.network,
                    IntentId(id),
                    &record,
                ),
                (Key::Intent(id), None) => {
                    self.programs
                        .intent_struck(&mut self.ctx, &mut self.network, IntentId(id))
                }
                (Key::Switch(datapath), Some(record)) => {
                    self.network
                        .topology
                        .switch_kept(&mut self.ctx, datapath, &record)
                }
                (Key::Host(mac), Some(record)) => self.host_kept(mac, &record),
                (Key::Host(mac), None) => {
                    self.host_desk
                        .host_struck(&mut self.ctx, &mut self.network, mac)
                }
                (Key::Seen(mac), Some(record)) => self.host_seen(mac, &record),
                (Key::Link(link), Some(_)) => self.network.topology.link_kept(&self.ctx, link),
                (Key::Application(id), Some(record)) => {
                    self.loading
                        .application_kept(&mut self.ctx, &mut self.network, id, &record)
                }
                (Key::Application(id), None) => {
                    self.loading
                        .application_struck(&mut self.ctx, &mut self.network, id)
                }
                (Key::Settings, Some(record)) => self.settings_desk.settings_kept(
                    &mut self.ctx,
                    &mut self.network,
                    &mut self.promises,
                    &record,
                ),
                (Key::Unloaded, Some(record)) => {
                    self.loading
                        .unloading_kept(&mut self.ctx, &mut self.network, &record)
                }
                (Key::Mode, Some(record)) => {
                    self.modes
                        .orders_kept(&mut self.ctx, &self.network, &record)
                }
                (
                    Key::Leaving(_)
                    | Key::Switch(_)
                    | Key::Seen(_)
                    | Key::Link(_)
                    | Key::Settings
                    | Key::Unloaded
                    | Key::Mode,
                    None,
                ) => {}
            },
            StoreEvent::Rejected(key) => match key {
                Key::Admission(id) => {
                    self.promises
                        .rejected(&mut self.ctx, &mut self.network.owners, FlowId(id))
                }
                // It is counted all the same, as long as this instance runs.
                Key::Leaving(_) => {}
                Key::Intent(id) => self.programs.intent_rejected(
                    &mut self.ctx,
                    &mut self.network.owners,
                    IntentId(id),
                ),
                Key::Switch(datapath) => self.network.topology.inventory.switch_rejected(datapath),
                Key::Host(mac) => self.host_desk.host_rejected(&mut self.ctx, mac),
                Key::Seen(mac) => self.network.topology.inventory.host_rejected(mac),
                Key::Link(link) => self.network.topology.inventory.link_rejected(link),
                Key::Application(id) => self.loading.application_rejected(&mut self.ctx, id),
                Key::Settings => self.settings_desk.settings_rejected(&mut self.ctx),
                Key::Unloaded => self.loading.unloading_rejected(&mut self.ctx),
                Key::Mode => self.modes.orders_rejected(&mut self.ctx),
            },
        }
    }

    /// Begins to act: all that was kept is known.
    fn replayed(&mut self) {
        self.ctx.memory = Memory::Complete;
        self.promises
            .follow_budgets(&mut self.ctx, &mut self.network.owners);
        // By then every link that is there has been seen.
        self.ctx.settled_at = self.ctx.now + self.ctx.timers.link_timeout;
        let ready: Vec<_> = self.ctx.sessions.ready().collect();
        for (datapath, _) in ready {
            self.network.topology.keep_switch(&mut self.ctx, datapath);
            self.network
                .tables
                .ask_for_entries(&mut self.ctx, &self.network.owners, datapath);
        }
        self.ctx.outbox.notify(Event::Ready);
    }

    /// Takes in where a host was last seen. A host of which that cannot be read is found
    /// again by its next frame.
    fn host_seen(&mut self, mac: MacAddress, record: &[u8]) {
        if let Some(port) = self.network.topology.inventory.host_kept(mac, record)
            && let Some(change) =
                self.network
                    .topology
                    .hosts
                    .remember(&mut self.network.topology.view, mac, port)
        {
            self.tell_of_host(change);
        }
    }

    /// Takes a host that the store has kept, whoever named it.
    pub(super) fn host_kept(&mut self, mac: MacAddress, bytes: &[u8]) {
        self.host_desk.kept.insert(mac);
        let waiting = self.host_desk.named.remove(&mac);
        let named = record::from_bytes(mac, bytes);
        let result = named.map(|host| {
            self.network
                .topology
                .hosts
                .set(&mut self.network.topology.view, host)
        });
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
