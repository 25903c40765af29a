//! What happens when it becomes known where a host is, or which addresses it has.

use crate::desired::EntryOwner;
use crate::forwarding;
use crate::hosts::Change;
use crate::mac_table::Station;
use crate::northbound::{Dispute, Event, FlowId, MAX_DISPUTES_SHOWN, Requirement};
use crate::packet_in_classes::FrameClass;
use crate::place::PortId;
use crate::rules;

use wire::ethernet::{Header, MacAddress};

use super::Controller;

impl Controller {
    /// Learns from a frame that came in by `port`.
    pub(super) fn learn_from(&mut self, port: PortId, header: &Header, payload: &[u8]) {
        if self.topology.view.is_access(port)
            && FrameClass::of(header, payload) != FrameClass::Other
        {
            self.topology.link_trust.host_seen(self.ctx.now, port);
        }
        let place = (port, self.end(header.source));
        let (now, view) = (self.ctx.now, &mut self.topology.view);
        for change in self.topology.hosts.learn(now, view, place, header, payload) {
            if let Change::Moved { to, .. } = &change {
                let station = Station::of(header.source, header.vlan);
                self.forget_elsewhere(station, to.datapath);
            }
            self.tell_of_host(change);
        }
    }

    /// Returns the name of the host with this address if it is elsewhere than at `port` and
    /// no frame moves it.
    pub(super) fn contested(&self, port: PortId, mac: MacAddress) -> Option<String> {
        if mac.is_multicast() || !self.topology.view.is_access(port) {
            return None;
        }
        let home = self
            .topology
            .hosts
            .held_at(&self.topology.view, mac, self.end(mac))?;
        (home != port).then(|| self.name_of_host(mac))
    }

    /// Returns where the host with this address is, as the flows say that begin or end at
    /// it; nothing if none does, or its switch is gone.
    fn end(&self, mac: MacAddress) -> Option<PortId> {
        if self.owners.flows.is_empty() {
            return None;
        }
        let end = self.owners.flows.home(&self.name_of_host(mac))?;
        let known = self
            .topology
            .view
            .host_by_mac(mac)
            .and_then(|host| host.attachment);
        let switch = self.topology.view.switch(known.unwrap_or(end).datapath);
        let is_gone = switch.is_some_and(|switch| self.topology.view.is_cut_off(switch));
        (!is_gone || self.is_settling()).then_some(end)
    }

    fn name_of_host(&self, mac: MacAddress) -> String {
        let known = self.topology.view.host_by_mac(mac);
        known.map_or_else(|| mac.to_string(), |host| host.name.clone())
    }

    /// Returns who claims to be an end of a flow, and is not where it is.
    pub(super) fn disputes(&self, requirement: &Requirement) -> Vec<Dispute> {
        let receivers = requirement.destinations.iter();
        let ends = std::iter::once(&requirement.source).chain(receivers);
        let disputes = ends.flat_map(|host| {
            let contests = self.topology.contests.of(self.ctx.now, host);
            contests.map(|(at, contest)| Dispute {
                host: host.clone(),
                at,
                frames: contest.frames,
                since: contest.since,
            })
        });
        disputes.take(MAX_DISPUTES_SHOWN).collect()
    }

    /// Has switches delete what they forward by reactive forwarding for hosts from which or
    /// to which a flow has just been admitted, if there is any: it may have been forged.
    pub(super) fn end_hosts(&mut self, id: FlowId) {
        let Some((forwarding, flow)) = self
            .owners
            .forwarding
            .as_mut()
            .zip(self.owners.flows.get(id))
        else {
            return;
        };
        let requirement = &flow.admission.requirement;
        let names = std::iter::once(&requirement.source).chain(&requirement.destinations);
        let macs = names.filter_map(|name| self.topology.view.host(name).map(|host| host.mac));
        let senders: Vec<MacAddress> = macs.filter(|mac| forwarding.take_sender(*mac)).collect();
        for mac in senders {
            for (slot, session) in self.ctx.sessions.iter() {
                if session.datapath().is_some() {
                    forwarding::emit_silence(mac, self.ctx.outbox.to(slot));
                }
            }
        }
    }

    /// Tells of a host, and has its switch stop asking about it.
    pub(super) fn tell_of_host(&mut self, change: Change) {
        match change {
            Change::Found { name, port } => {
                self.attached(&name, port);
                self.keep_host(&name, port);
                self.host_concerns_intents(&name);
                let at = self.named(port);
                self.ctx.outbox.notify(Event::HostFound { name, at });
            }
            Change::Moved { name, from, to } => {
                self.attached(&name, to);
                self.keep_host(&name, to);
                self.host_moved(&name);
                self.host_concerns_intents(&name);
                let [from, to] = [from, to].map(|port| self.named(port));
                self.ctx.outbox.notify(Event::HostMoved { name, from, to });
            }
            Change::Addressed { name, addresses } => {
                self.ctx
                    .outbox
                    .notify(Event::HostAddressed { name, addresses });
            }
            Change::Doubted { name, at, stays } => {
                let [at, stays] = [at, stays].map(|port| self.named(port));
                self.ctx
                    .outbox
                    .notify(Event::HostDoubted { name, at, stays });
            }
            Change::Disputed {
                address,
                holder,
                claimant,
            } => self.ctx.outbox.notify(Event::AddressDisputed {
                address,
                holder,
                claimant,
            }),
        }
    }

    /// Has the switch of a host stop asking about it.
    fn attached(&mut self, name: &str, port: PortId) {
        let Some(mac) = self.topology.view.host(name).map(|host| host.mac) else {
            return;
        };
        let subject = EntryOwner::KnownHost(mac);
        match self.owners.forwarding {
            None => self.set_rules(subject, vec![rules::known_host(mac, port)]),
            Some(_) => self.clear_rules(subject),
        }
    }
}
