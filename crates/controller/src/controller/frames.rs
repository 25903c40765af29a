//! What happens to the frames that switches hand over.

use wire::ethernet::{EtherType, Header};
use wire::openflow::{DatapathId, PacketIn};

use crate::desired::is_guard;
use crate::discovery::{ECHO, ECHOED};
use crate::forwarding::Shortage;
use crate::northbound::{Detection, Event};
use crate::packet_in_classes::FrameClass;
use crate::place::{LinkEnds, PortId};
use crate::session::Slot;
use crate::view::Confirmed;

use super::Controller;
use super::context::Memory;

impl Controller {
    /// Takes a frame that a switch handed over.
    pub(super) fn punted(&mut self, slot: Slot, datapath: DatapathId, packet_in: &PacketIn<'_>) {
        self.ctx.counters.packet_ins += 1;
        let Some(input) = packet_in.in_port() else {
            return;
        };
        let port = PortId::new(datapath, input);
        let Some(session) = self.ctx.sessions.get_mut(slot) else {
            return;
        };
        let (header, payload) = match Header::parse(packet_in.data) {
            Ok(parsed) => parsed,
            Err(_) => {
                session.punts.take(
                    self.ctx.now,
                    FrameClass::Other,
                    self.network.owners.budgets(),
                );
                self.ctx.counters.punts_dropped += 1;
                return;
            }
        };
        if header.ether_type == EtherType::LLDP {
            self.probe_arrived(slot, port, &header, payload);
            return;
        }
        if self.ctx.memory == Memory::Incomplete {
            // Nobody knows yet which hosts are ends of flows, and must not be moved by it.
            self.ctx.counters.punts_dropped += 1;
            return;
        }
        let class = FrameClass::of(&header, payload);
        if !session
            .punts
            .take(self.ctx.now, class, self.network.owners.budgets())
        {
            self.ctx.counters.punts_dropped += 1;
            return;
        }
        let owner = session.connection;
        let contested =
            self.network
                .owners
                .contested(&self.ctx, &self.network.topology, port, header.source);
        if contested.is_some() || is_guard(packet_in.cookie) {
            // Nobody learns from it, and it goes nowhere: a switch on the way would take it
            // for one of a flow of that host.
            self.ctx.counters.frames_contested += 1;
            if let Some(host) = contested {
                self.promises
                    .contest(&mut self.ctx, &mut self.network.topology, &host, port);
            }
            self.learn_from(port, &header, payload);
            return;
        }
        let may_be_new = match &mut self.network.owners.forwarding {
            Some(forwarding) => {
                let out = self.ctx.outbox.to(slot);
                let taken = forwarding.take(self.ctx.now, owner, port, &header, packet_in, out);
                self.ctx.counters.floods_dropped += u64::from(taken.is_dropped);
                if taken.shortage != Shortage::None {
                    self.ctx.counters.stations_displaced += 1;
                }
                if taken.shortage == Shortage::News {
                    let at = self.ctx.named(port);
                    self.ctx.outbox.notify(Event::StationsCrowded { at });
                }
                taken.is_news || class.tells_addresses()
            }
            None => true,
        };
        if may_be_new {
            self.learn_from(port, &header, payload);
        }
    }

    fn probe_arrived(&mut self, slot: Slot, to: PortId, header: &Header, payload: &[u8]) {
        let destination = header.destination;
        let origin = self
            .network
            .topology
            .prober
            .origin(self.ctx.now, destination, payload);
        let class = match origin {
            Some(_) => FrameClass::LinkProbe,
            None => FrameClass::ForeignLldp,
        };
        if let Some(session) = self.ctx.sessions.get_mut(slot) {
            session
                .punts
                .take(self.ctx.now, class, self.network.owners.budgets());
        }
        let Some(from) = origin else {
            self.ctx.counters.foreign_probes += 1;
            return;
        };
        if destination == ECHO || destination == ECHOED {
            // One that was not turned round has met a switch without the entry.
            if destination == ECHOED {
                self.network.topology.echo_returned(&self.ctx, from, to);
            }
            return;
        }
        let ends = LinkEnds::new(from, to);
        if !self.network.topology.is_believed(&mut self.ctx, ends) {
            // One that was there before carries frames, whatever is thought of it.
            if let Some(link) = self.network.topology.view.link(ends)
                && self.network.topology.view.suspect(self.ctx.now, link)
            {
                self.network
                    .owners
                    .follow_links(&mut self.ctx, &self.network.topology);
            }
            return;
        }
        match self.network.topology.view.confirm(self.ctx.now, from, to) {
            Confirmed::Known | Confirmed::Ignored => {}
            // The other side may have been deaf when this side was probed.
            Confirmed::OneWay => self.network.topology.probe(&mut self.ctx, to),
            Confirmed::Up { link, replaced } => {
                for lost in replaced.into_iter().flatten() {
                    self.network.topology.strike_link(
                        &mut self.ctx,
                        self.network.topology.view.links()[lost.index()].ends,
                    );
                    self.recovery.link_lost(
                        &mut self.ctx,
                        &mut self.network,
                        lost,
                        Detection::Recabled,
                    );
                }
                self.recovery
                    .link_found(&mut self.ctx, &mut self.network, link);
            }
        }
    }
}
