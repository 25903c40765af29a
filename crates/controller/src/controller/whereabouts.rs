//! What happens when it becomes known where a host is, or which addresses it has.

use crate::desired::Subject;
use crate::hosts::Change;
use crate::mac_table::Station;
use crate::northbound::Event;
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
            if let Change::Moved { to, .. } = &change {
                let station = Station::of(header.source, header.vlan);
                self.forget_elsewhere(station, to.datapath);
            }
            self.tell_of_host(change);
        }
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
