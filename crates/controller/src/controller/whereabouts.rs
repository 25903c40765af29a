//! What happens when it becomes known where a host is, or who it is.

use crate::desired::Subject;
use crate::hosts::Change;
use crate::northbound::{Event, HostRefusal, Reply, RequestId, StaticHost};
use crate::place::PortId;
use crate::punts::FrameClass;
use crate::rules;

use wire::ethernet::Header;

use super::Controller;

impl Controller {
    /// Learns from a frame that came in by `port`.
    pub(super) fn learn_from(&mut self, port: PortId, header: &Header, payload: &[u8]) {
        if self.view.is_access(port) && FrameClass::of(header, payload) != FrameClass::Other {
            self.link_trust.host_seen(self.now, port);
        }
        let (now, view) = (self.now, &mut self.view);
        for change in self.hosts.learn(now, view, port, header, payload) {
            self.tell_of_host(change);
        }
    }

    /// Takes what somebody says of a host.
    pub(super) fn set_host(&mut self, id: RequestId, host: StaticHost) {
        let before = self.view.host_by_mac(host.mac).map(|host| &host.name);
        let renamed = before.filter(|name| **name != host.name);
        let in_use = renamed.and_then(|name| Some((name.clone(), self.flow_of_host(name)?)));
        let result = match in_use {
            Some((name, flow)) => Err(HostRefusal::InUse { name, flow }),
            None => self.hosts.set(&mut self.view, host),
        };
        match result {
            Ok(changes) => {
                for change in changes {
                    self.tell_of_host(change);
                }
                self.outbox.reply(id, Reply::HostSet);
            }
            Err(refusal) => self.outbox.reply(id, Reply::HostRefused(refusal)),
        }
    }

    /// Forgets a host at which no flow begins or ends.
    pub(super) fn remove_host(&mut self, id: RequestId, name: String) {
        let Some(mac) = self.view.host(&name).map(|host| host.mac) else {
            self.outbox.reply(id, Reply::UnknownHost(name));
            return;
        };
        if let Some(flow) = self.flow_of_host(&name) {
            let refusal = HostRefusal::InUse { name, flow };
            self.outbox.reply(id, Reply::HostRefused(refusal));
            return;
        }
        self.mark_route(&name);
        self.host_concerns_intents(&name);
        self.hosts.remove(&mut self.view, mac);
        self.clear_rules(Subject::KnownHost(mac));
        self.outbox.notify(Event::HostRemoved { name });
        self.outbox.reply(id, Reply::HostRemoved);
    }

    /// Returns the name of a flow that begins or ends at a host.
    fn flow_of_host(&self, host: &str) -> Option<String> {
        let flows = self.flows.iter();
        let mut requirements = flows.map(|flow| &flow.admission.requirement);
        let uses = requirements.find(|requirement| {
            let mut destinations = requirement.destinations.iter();
            requirement.source == host || destinations.any(|other| other == host)
        });
        uses.map(|requirement| requirement.name.clone())
    }

    /// Tells of a host, and has its switch stop asking about it.
    pub(super) fn tell_of_host(&mut self, change: Change) {
        match change {
            Change::Found { name, port } => {
                self.attached(&name, port);
                self.host_concerns_intents(&name);
                self.outbox.notify(Event::HostFound { name, port });
            }
            Change::Moved { name, from, to } => {
                self.attached(&name, to);
                self.host_moved(&name);
                self.host_concerns_intents(&name);
                self.outbox.notify(Event::HostMoved { name, from, to });
            }
            Change::Addressed { name, addresses } => {
                self.outbox.notify(Event::HostAddressed { name, addresses });
            }
            Change::Doubted { name, at, stays } => {
                self.outbox.notify(Event::HostDoubted { name, at, stays });
            }
            Change::Disputed {
                address,
                holder,
                claimant,
            } => self.outbox.notify(Event::AddressDisputed {
                address,
                holder,
                claimant,
            }),
        }
    }

    /// Has the switch of a host stop asking about it.
    fn attached(&mut self, name: &str, port: PortId) {
        let Some(mac) = self.view.host(name).map(|host| host.mac) else {
            return;
        };
        let subject = Subject::KnownHost(mac);
        match self.forwarding {
            None => self.set_rules(subject, vec![rules::known_host(mac, port)]),
            Some(_) => self.clear_rules(subject),
        }
    }
}
