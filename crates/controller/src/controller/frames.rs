//! What happens to the frames that switches hand over.

use wire::ethernet::{EtherType, Header};
use wire::openflow::{DatapathId, PacketIn};

use crate::desired::{is_guard, is_of_peering};
use crate::discovery::{ECHO, ECHOED};
use crate::forwarding::{Shortage, Taken};
use crate::northbound::{Detection, Event};
use crate::packet_in_classes::FrameClass;
use crate::place::{LinkEnds, PortId};
use crate::session::Slot;
use crate::view::Confirmed;

use super::context::Memory;
use super::{Context, Controller, Recovery};

impl Controller {
    /// Takes a frame that a switch handed over.
    pub(super) fn punted(&mut self, slot: Slot, datapath: DatapathId, packet_in: &PacketIn<'_>) {
        let Self { ctx, network, .. } = self;
        ctx.counters.packet_ins += 1;
        let Some(input) = packet_in.in_port() else {
            return;
        };
        let port = PortId::new(datapath, input);
        let Some(session) = ctx.sessions.get_mut(slot) else {
            return;
        };
        let (header, payload) = match Header::parse(packet_in.data) {
            Ok(parsed) => parsed,
            Err(_) => {
                session
                    .punts
                    .take(ctx.now, FrameClass::Other, network.owners.budgets());
                ctx.counters.punts_dropped += 1;
                return;
            }
        };
        if header.ether_type == EtherType::LLDP {
            self.probe_arrived(slot, port, &header, payload);
            return;
        }
        if ctx.memory == Memory::Incomplete {
            // Nobody knows yet which hosts are ends of flows, and must not be moved by it.
            ctx.counters.punts_dropped += 1;
            return;
        }
        let class = FrameClass::of(&header, payload);
        if !session.punts.take(ctx.now, class, network.owners.budgets()) {
            ctx.counters.punts_dropped += 1;
            return;
        }
        let owner = session.connection;
        self.routing.heard(ctx, port, &header, payload);
        let contested = network
            .owners
            .contested(ctx, &network.topology, port, header.source);
        if contested.is_some() || is_guard(packet_in.cookie) {
            // Nobody learns from it, and it goes nowhere: a switch on the way would take it
            // for one of a flow of that host.
            ctx.counters.frames_contested += 1;
            if let Some(host) = contested {
                self.promises
                    .contest(ctx, &mut network.topology, &host, port);
            }
            self.learn_from(port, &header, payload);
            return;
        }
        let may_be_new = match &mut network.owners.forwarding {
            // It goes to the speaker already.
            Some(_) if is_of_peering(packet_in.cookie) => true,
            Some(forwarding) => {
                let out = ctx.outbox.to(slot);
                let taken = forwarding.take(ctx.now, owner, port, &header, packet_in, out);
                note_taken(ctx, port, taken);
                taken.is_news || class.tells_addresses()
            }
            None => true,
        };
        if may_be_new {
            self.learn_from(port, &header, payload);
        }
    }

    fn probe_arrived(&mut self, slot: Slot, to: PortId, header: &Header, payload: &[u8]) {
        let Self { ctx, network, .. } = self;
        let destination = header.destination;
        let origin = network
            .topology
            .prober
            .origin(ctx.now, destination, payload);
        let class = match origin {
            Some(_) => FrameClass::LinkProbe,
            None => FrameClass::ForeignLldp,
        };
        if let Some(session) = ctx.sessions.get_mut(slot) {
            session.punts.take(ctx.now, class, network.owners.budgets());
        }
        let Some(from) = origin else {
            ctx.counters.foreign_probes += 1;
            return;
        };
        if destination == ECHO || destination == ECHOED {
            // One that was not turned round has met a switch without the entry.
            if destination == ECHOED {
                network.topology.echo_returned(ctx, from, to);
            }
            return;
        }
        let ends = LinkEnds::new(from, to);
        Recovery::believe_for_want_of_another(ctx, network, ends);
        if !network.topology.is_believed(ctx, ends) {
            // One that was there before carries frames, whatever is thought of it.
            if let Some(link) = network.topology.view.link(ends)
                && network.topology.view.suspect(ctx.now, link)
            {
                network.owners.follow_links(ctx, &network.topology);
            }
            return;
        }
        match network.topology.view.confirm(ctx.now, from, to) {
            Confirmed::Known | Confirmed::Ignored => {}
            // The other side may have been deaf when this side was probed.
            Confirmed::OneWay => network.topology.probe(ctx, to),
            Confirmed::Up { link, replaced } => {
                for lost in replaced.into_iter().flatten() {
                    network
                        .topology
                        .strike_link(ctx, network.topology.view.links()[lost.index()].ends);
                    self.recovery
                        .link_lost(ctx, network, lost, Detection::Recabled);
                }
                Recovery::link_found(ctx, network, link);
            }
        }
    }
}

/// Counts, and tells, what became of a frame that reactive forwarding has taken.
fn note_taken(ctx: &mut Context, port: PortId, taken: Taken) {
    ctx.counters.floods_dropped += u64::from(taken.is_dropped);
    if taken.shortage != Shortage::None {
        ctx.counters.stations_displaced += 1;
    }
    if taken.shortage == Shortage::News {
        let at = ctx.named(port);
        ctx.outbox.notify(Event::StationsCrowded { at });
    }
}
