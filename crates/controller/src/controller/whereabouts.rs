//! What happens when it becomes known where a host is, or which addresses it has.

use wire::ethernet::Header;

use crate::hosts::HostChange;
use crate::mac_table::Station;
use crate::northbound::Event;
use crate::packet_in_classes::FrameClass;
use crate::place::PortId;

use super::{Controller, Topology};

impl Controller {
    /// Learns from a frame that came in by `port`.
    pub(super) fn learn_from(&mut self, port: PortId, header: &Header, payload: &[u8]) {
        let (now, topology) = (self.ctx.now, &mut self.network.topology);
        if topology.view.is_access(port) && FrameClass::of(header, payload) != FrameClass::Other {
            topology.link_trust.host_seen(now, port);
        }
        let owners = &self.network.owners;
        let end = owners.end(&self.ctx, topology, header.source);
        let known = topology.view.host_by_mac(header.source);
        let home = known.and_then(|host| host.attachment).or(end);
        // What the host of another switch sends comes by there as well.
        if home.is_some_and(|home| home != port) && topology.may_be_joined(&self.ctx, port) {
            return;
        }
        let place = (port, end);
        let Topology { hosts, view, .. } = topology;
        for change in hosts.learn(now, view, place, header, payload) {
            if let HostChange::Moved { to, .. } = &change {
                let station = Station::of(header.source, header.vlan);
                let owners = &mut self.network.owners;
                owners.forget_elsewhere(&mut self.ctx, station, to.datapath);
            }
            self.tell_of_host(change);
        }
    }

    /// Tells of a host, and has its switch stop asking about it.
    pub(super) fn tell_of_host(&mut self, change: HostChange) {
        let Self { ctx, network, .. } = self;
        match change {
            HostChange::Found { name, port } => {
                network.attached(ctx, &name, port);
                network.topology.keep_host(ctx, &name, port);
                network
                    .owners
                    .host_concerns_intents(ctx, &network.topology, &name);
                let at = ctx.named(port);
                ctx.outbox.notify(Event::HostFound { name, at });
            }
            HostChange::Moved { name, from, to } => {
                network.attached(ctx, &name, to);
                network.topology.keep_host(ctx, &name, to);
                self.promises.host_moved(ctx, network, &self.modes, &name);
                network
                    .owners
                    .host_concerns_intents(ctx, &network.topology, &name);
                let [from, to] = [from, to].map(|port| ctx.named(port));
                ctx.outbox.notify(Event::HostMoved { name, from, to });
            }
            HostChange::Addressed { name, addresses } => {
                ctx.outbox.notify(Event::HostAddressed { name, addresses });
            }
            HostChange::Doubted { name, at, stays } => {
                let [at, stays] = [at, stays].map(|port| ctx.named(port));
                ctx.outbox.notify(Event::HostDoubted { name, at, stays });
            }
            HostChange::Disputed {
                address,
                holder,
                claimant,
            } => ctx.outbox.notify(Event::AddressDisputed {
                address,
                holder,
                claimant,
            }),
        }
    }
}
