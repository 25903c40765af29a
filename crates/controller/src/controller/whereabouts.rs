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

use super::{Context, Controller, Network, Owners, Topology};

impl Controller {
    /// Learns from a frame that came in by `port`.
    pub(super) fn learn_from(&mut self, port: PortId, header: &Header, payload: &[u8]) {
        if self.network.topology.view.is_access(port)
            && FrameClass::of(header, payload) != FrameClass::Other
        {
            self.network
                .topology
                .link_trust
                .host_seen(self.ctx.now, port);
        }
        let place = (
            port,
            self.network
                .owners
                .end(&self.ctx, &self.network.topology, header.source),
        );
        let (now, view) = (self.ctx.now, &mut self.network.topology.view);
        for change in self
            .network
            .topology
            .hosts
            .learn(now, view, place, header, payload)
        {
            if let Change::Moved { to, .. } = &change {
                let station = Station::of(header.source, header.vlan);
                self.network
                    .owners
                    .forget_elsewhere(&mut self.ctx, station, to.datapath);
            }
            self.tell_of_host(change);
        }
    }

    /// Tells of a host, and has its switch stop asking about it.
    pub(super) fn tell_of_host(&mut self, change: Change) {
        match change {
            Change::Found { name, port } => {
                self.network.attached(&mut self.ctx, &name, port);
                self.network.topology.keep_host(&mut self.ctx, &name, port);
                self.network
                    .owners
                    .host_concerns_intents(&self.ctx, &self.network.topology, &name);
                let at = self.ctx.named(port);
                self.ctx.outbox.notify(Event::HostFound { name, at });
            }
            Change::Moved { name, from, to } => {
                self.network.attached(&mut self.ctx, &name, to);
                self.network.topology.keep_host(&mut self.ctx, &name, to);
                self.promises
                    .host_moved(&mut self.ctx, &mut self.network, &self.modes, &name);
                self.network
                    .owners
                    .host_concerns_intents(&self.ctx, &self.network.topology, &name);
                let [from, to] = [from, to].map(|port| self.ctx.named(port));
                self.ctx.outbox.notify(Event::HostMoved { name, from, to });
            }
            Change::Addressed { name, addresses } => {
                self.ctx
                    .outbox
                    .notify(Event::HostAddressed { name, addresses });
            }
            Change::Doubted { name, at, stays } => {
                let [at, stays] = [at, stays].map(|port| self.ctx.named(port));
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
}

impl Owners {
    /// Returns the name of the host with this address if it is elsewhere than at `port` and
    /// no frame moves it.
    pub(super) fn contested(
        &self,
        ctx: &Context,
        topology: &Topology,
        port: PortId,
        mac: MacAddress,
    ) -> Option<String> {
        if mac.is_multicast() || !topology.view.is_access(port) {
            return None;
        }
        let home = topology
            .hosts
            .held_at(&topology.view, mac, self.end(ctx, topology, mac))?;
        (home != port).then(|| topology.name_of_host(mac))
    }

    /// Returns where the host with this address is, as the flows say that begin or end at
    /// it; nothing if none does, or its switch is gone.
    fn end(&self, ctx: &Context, topology: &Topology, mac: MacAddress) -> Option<PortId> {
        if self.flows.is_empty() {
            return None;
        }
        let end = self.flows.home(&topology.name_of_host(mac))?;
        let known = topology
            .view
            .host_by_mac(mac)
            .and_then(|host| host.attachment);
        let switch = topology.view.switch(known.unwrap_or(end).datapath);
        let is_gone = switch.is_some_and(|switch| topology.view.is_cut_off(switch));
        (!is_gone || ctx.is_settling()).then_some(end)
    }

    /// Has switches delete what they forward by reactive forwarding for hosts from which or
    /// to which a flow has just been admitted, if there is any: it may have been forged.
    pub(super) fn end_hosts(&mut self, ctx: &mut Context, topology: &Topology, id: FlowId) {
        let Some((forwarding, flow)) = self.forwarding.as_mut().zip(self.flows.get(id)) else {
            return;
        };
        let requirement = &flow.admission.requirement;
        let names = std::iter::once(&requirement.source).chain(&requirement.destinations);
        let macs = names.filter_map(|name| topology.view.host(name).map(|host| host.mac));
        let senders: Vec<MacAddress> = macs.filter(|mac| forwarding.take_sender(*mac)).collect();
        for mac in senders {
            for (slot, session) in ctx.sessions.iter() {
                if session.datapath().is_some() {
                    forwarding::emit_silence(mac, ctx.outbox.to(slot));
                }
            }
        }
    }
}

impl Topology {
    fn name_of_host(&self, mac: MacAddress) -> String {
        let known = self.view.host_by_mac(mac);
        known.map_or_else(|| mac.to_string(), |host| host.name.clone())
    }

    /// Returns who claims to be an end of a flow, and is not where it is.
    pub(super) fn disputes(&self, ctx: &Context, requirement: &Requirement) -> Vec<Dispute> {
        let receivers = requirement.destinations.iter();
        let ends = std::iter::once(&requirement.source).chain(receivers);
        let disputes = ends.flat_map(|host| {
            let contests = self.contests.of(ctx.now, host);
            contests.map(|(at, contest)| Dispute {
                host: host.clone(),
                at,
                frames: contest.frames,
                since: contest.since,
            })
        });
        disputes.take(MAX_DISPUTES_SHOWN).collect()
    }
}

impl Network {
    /// Has the switch of a host stop asking about it.
    fn attached(&mut self, ctx: &mut Context, name: &str, port: PortId) {
        let Some(mac) = self.topology.view.host(name).map(|host| host.mac) else {
            return;
        };
        let subject = EntryOwner::KnownHost(mac);
        match self.owners.forwarding {
            None => self.set_rules(ctx, subject, vec![rules::known_host(mac, port)]),
            Some(_) => self.clear_rules(ctx, subject),
        }
    }
}
