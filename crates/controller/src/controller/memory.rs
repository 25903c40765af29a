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

use super::Controller;

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
                (Key::Admission(id), Some(record)) => self.admitted(FlowId(id), &record),
                (Key::Admission(id), None) => self.withdrawn(FlowId(id)),
                (Key::Leaving(number), Some(record)) => self.leaving_kept(number, &record),
                (Key::Intent(id), Some(record)) => self.intent_kept(IntentId(id), &record),
                (Key::Intent(id), None) => self.intent_struck(IntentId(id)),
                (Key::Switch(datapath), Some(record)) => self.switch_kept(datapath, &record),
                (Key::Host(mac), Some(record)) => self.host_kept(mac, &record),
                (Key::Host(mac), None) => self.host_struck(mac),
                (Key::Seen(mac), Some(record)) => self.host_seen(mac, &record),
                (Key::Link(link), Some(_)) => self.link_kept(link),
                (Key::Application(id), Some(record)) => self.application_kept(id, &record),
                (Key::Application(id), None) => self.application_struck(id),
                (Key::Settings, Some(record)) => self.settings_kept(&record),
                (Key::Unloaded, Some(record)) => self.unloading_kept(&record),
                (Key::Mode, Some(record)) => self.orders_kept(&record),
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
                Key::Admission(id) => self.rejected(FlowId(id)),
                // It is counted all the same, as long as this instance runs.
                Key::Leaving(_) => {}
                Key::Intent(id) => self.intent_rejected(IntentId(id)),
                Key::Switch(datapath) => self.topology.inventory.switch_rejected(datapath),
                Key::Host(mac) => self.host_rejected(mac),
                Key::Seen(mac) => self.topology.inventory.host_rejected(mac),
                Key::Link(link) => self.topology.inventory.link_rejected(link),
                Key::Application(id) => self.application_rejected(id),
                Key::Settings => self.settings_rejected(),
                Key::Unloaded => self.unloading_rejected(),
                Key::Mode => self.orders_rejected(),
            },
        }
    }

    /// Begins to act: all that was kept is known.
    fn replayed(&mut self) {
        self.ctx.memory = Memory::Complete;
        self.follow_budgets();
        // By then every link that is there has been seen.
        self.ctx.settled_at = self.ctx.now + self.ctx.timers.link_timeout;
        let ready: Vec<_> = self.ctx.sessions.ready().collect();
        for (datapath, _) in ready {
            self.keep_switch(datapath);
            self.ask_for_entries(datapath);
        }
        self.ctx.outbox.notify(Event::Ready);
    }

    /// Returns whether the network is still being found after a start: what is not
    /// wanted yet may be wanted soon.
    pub(super) fn is_settling(&self) -> bool {
        self.ctx.now < self.ctx.settled_at
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
            | Request::ForgetSwitch(_) => self.ctx.memory == Memory::Complete,
        }
    }

    /// Has the store keep a switch as it is now, if that is new to it.
    pub(super) fn keep_switch(&mut self, datapath: DatapathId) {
        if self.ctx.memory == Memory::Incomplete {
            return;
        }
        let Some(switch) = self.topology.view.switch(datapath) else {
            return;
        };
        let switch = &self.topology.view.switches()[switch.index()];
        if let Some(write) = self.topology.inventory.note_switch(switch) {
            self.ctx.outbox.store(write);
        }
    }

    /// Has the store keep a link, if it is new to it.
    pub(super) fn keep_link(&mut self, link: LinkEnds) {
        if let Some(write) = self.topology.inventory.note_link(link) {
            self.ctx.outbox.store(write);
        }
    }

    /// Has the store forget a link of which an end is joined to another port now.
    pub(super) fn strike_link(&mut self, link: LinkEnds) {
        if let Some(write) = self.topology.inventory.strike_link(link) {
            self.ctx.outbox.store(write);
        }
    }

    /// Forgets a switch that will not come back.
    pub(super) fn forget_switch(&mut self, id: RequestId, datapath: DatapathId) {
        let reply = match self.topology.view.switch(datapath) {
            None => Reply::UnknownSwitch(datapath),
            Some(switch) => match self.topology.view.switches()[switch.index()].control {
                Control::Connected => Reply::StillConnected(datapath),
                Control::Forgotten => Reply::UnknownSwitch(datapath),
                Control::Lost => {
                    self.drop_switch(datapath);
                    Reply::Forgotten
                }
            },
        };
        self.ctx.outbox.reply(id, reply);
    }

    /// Forgets a switch that is away.
    pub(super) fn drop_switch(&mut self, datapath: DatapathId) {
        if let Some(switch) = self.topology.view.switch(datapath) {
            self.topology.view.forget(switch);
            self.topology.view.release(switch);
            self.unwant_services(datapath);
            for write in self.topology.inventory.strike_switch(datapath) {
                self.ctx.outbox.store(write);
            }
        }
    }

    fn switch_kept(&mut self, datapath: DatapathId, record: &[u8]) {
        match self.topology.inventory.switch_kept(datapath, record) {
            Some(ports) => {
                self.topology
                    .view
                    .remember_switch(self.ctx.now, datapath, &ports);
                self.note_away(datapath);
            }
            None => self.ctx.outbox.notify(Event::SwitchUnreadable { datapath }),
        }
    }

    /// Takes in where a host was last seen. A host of which that cannot be read is found
    /// again by its next frame.
    fn host_seen(&mut self, mac: MacAddress, record: &[u8]) {
        if let Some(port) = self.topology.inventory.host_kept(mac, record)
            && let Some(change) = self
                .topology
                .hosts
                .remember(&mut self.topology.view, mac, port)
        {
            self.tell_of_host(change);
        }
    }

    /// Has the store keep where a host is, if it was seen there and that is new.
    pub(super) fn keep_host(&mut self, name: &str, port: PortId) {
        if self.ctx.memory == Memory::Incomplete {
            return;
        }
        let Some(host) = self.topology.view.host(name) else {
            return;
        };
        let is_seen = match host.origin {
            HostOrigin::Learned | HostOrigin::Named => true,
            HostOrigin::Configured => false,
        };
        let write = is_seen.then(|| self.topology.inventory.note_host(host.mac, port));
        if let Some(write) = write.flatten() {
            self.ctx.outbox.store(write);
        }
    }

    fn link_kept(&mut self, link: LinkEnds) {
        self.topology.inventory.link_kept(link);
        self.topology.view.remember_link(self.ctx.now, link);
    }
}
