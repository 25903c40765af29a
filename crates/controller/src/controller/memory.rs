//! What the store says, at the start and later.
//!
//! Until the store has told all that it kept, no switch is compared with what it
//! should have and nothing is decided: rules of flows that the controller has not
//! heard of yet would be taken for rules in excess.

use crate::northbound::{Event, FlowId, IntentId, Reply, Request, RequestId};
use crate::place::{LinkEnds, PortId};
use crate::store::{Key, StoreEvent, StoreWrite};
use crate::view::{Control, HostOrigin};
use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use super::{Context, Controller, Network, Topology};

/// Whether the store has told all that it kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Incomplete,
    Complete,
}

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
}

impl Context {
    /// Returns whether the network is still being found after a start: what is not
    /// wanted yet may be wanted soon.
    pub(super) fn is_settling(&self) -> bool {
        self.now < self.settled_at
    }

    /// Returns whether a request can be answered before all that was kept is
    /// known.
    pub(super) fn is_answerable(&self, request: &Request) -> bool {
        match request {
            Request::View
            | Request::Topology
            | Request::Statistics
            | Request::Rules(_)
            | Request::Mode
            | Request::Applications => true,
            Request::Admit(_)
            | Request::AdmitTogether(_)
            | Request::WhatIf(_)
            | Request::MakeRoom(_)
            | Request::Withdraw(_)
            | Request::Prepare(_)
            | Request::AssignClasses { .. }
            | Request::Flows
            | Request::FlowsAfter { .. }
            | Request::Flow(_)
            | Request::Promises
            | Request::Reconcile(_)
            | Request::Settings
            | Request::Configure(_)
            | Request::SetMode(_)
            | Request::Paths(_)
            | Request::AddIntents(_)
            | Request::RemoveIntent(_)
            | Request::Intents
            | Request::SetHost(_)
            | Request::Load(_)
            | Request::Unload(_)
            | Request::Reload(_)
            | Request::RemoveHost(_)
            | Request::ForgetSwitch(_) => self.memory == Memory::Complete,
        }
    }
}

impl Topology {
    /// Has the store keep a switch as it is now, if that is new to it.
    pub(super) fn keep_switch(&mut self, ctx: &mut Context, datapath: DatapathId) {
        if ctx.memory == Memory::Incomplete {
            return;
        }
        let Some(switch) = self.view.switch(datapath) else {
            return;
        };
        let switch = &self.view.switches()[switch.index()];
        if let Some(write) = self.inventory.note_switch(switch) {
            ctx.outbox.store(write);
        }
    }

    /// Has the store keep a link, if it is new to it.
    pub(super) fn keep_link(&mut self, ctx: &mut Context, link: LinkEnds) {
        if let Some(write) = self.inventory.note_link(link) {
            ctx.outbox.store(write);
        }
    }

    /// Has the store forget a link of which an end is joined to another port now.
    pub(super) fn strike_link(&mut self, ctx: &mut Context, link: LinkEnds) {
        if let Some(write) = self.inventory.strike_link(link) {
            ctx.outbox.store(write);
        }
    }

    fn switch_kept(&mut self, ctx: &mut Context, datapath: DatapathId, record: &[u8]) {
        match self.inventory.switch_kept(datapath, record) {
            Some(ports) => {
                self.view.remember_switch(ctx.now, datapath, &ports);
                self.note_away(ctx, datapath);
            }
            None => ctx.outbox.notify(Event::SwitchUnreadable { datapath }),
        }
    }

    /// Has the store keep where a host is, if it was seen there and that is new.
    pub(super) fn keep_host(&mut self, ctx: &mut Context, name: &str, port: PortId) {
        if ctx.memory == Memory::Incomplete {
            return;
        }
        let Some(host) = self.view.host(name) else {
            return;
        };
        let is_seen = match host.origin {
            HostOrigin::Learned | HostOrigin::Named => true,
            HostOrigin::Configured => false,
        };
        let write = is_seen.then(|| self.inventory.note_host(host.mac, port));
        if let Some(write) = write.flatten() {
            ctx.outbox.store(write);
        }
    }

    fn link_kept(&mut self, ctx: &Context, link: LinkEnds) {
        self.inventory.link_kept(link);
        self.view.remember_link(ctx.now, link);
    }
}

impl Network {
    /// Forgets a switch that will not come back.
    pub(super) fn forget_switch(&mut self, ctx: &mut Context, id: RequestId, datapath: DatapathId) {
        let reply = match self.topology.view.switch(datapath) {
            None => Reply::UnknownSwitch(datapath),
            Some(switch) => match self.topology.view.switches()[switch.index()].control {
                Control::Connected => Reply::StillConnected(datapath),
                Control::Forgotten => Reply::UnknownSwitch(datapath),
                Control::Lost => {
                    self.drop_switch(ctx, datapath);
                    Reply::Forgotten
                }
            },
        };
        ctx.outbox.reply(id, reply);
    }

    /// Forgets a switch that is away.
    pub(super) fn drop_switch(&mut self, ctx: &mut Context, datapath: DatapathId) {
        if let Some(switch) = self.topology.view.switch(datapath) {
            self.topology.view.forget(switch);
            self.topology.view.release(switch);
            self.tables.unwant_services(ctx, datapath);
            for write in self.topology.inventory.strike_switch(datapath) {
                ctx.outbox.store(write);
            }
        }
    }
}
