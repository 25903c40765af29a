//! What happens to the frames that switches hand over.

use units::Duration;
use wire::ethernet::{EtherType, Header};
use wire::openflow::{DatapathId, PacketIn};

use crate::desired::is_guard;
use crate::discovery::{ECHO, ECHOED};
use crate::forwarding::{self, Shortage};
use crate::mac_table::Station;
use crate::northbound::{Detection, Event};
use crate::packet_in_classes::FrameClass;
use crate::place::{LinkEnds, PortId};
use crate::session::Slot;
use crate::view::Confirmed;

use super::memory::Memory;
use super::{Context, Controller, Owners, Topology};

/// In a network of so many switches floods follow each change at once.
const FOLLOWED_AT_ONCE: usize = 64;
/// How long floods stay as they are after they have followed the links, for each
/// switch of the network: some ten times as long as it takes to follow them.
const FLOODS_REST_A_SWITCH: Duration = Duration::from_us(100);

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

impl Topology {
    /// Returns whether a link may be there, as probes say.
    fn is_believed(&mut self, ctx: &mut Context, link: LinkEnds) -> bool {
        if self.view.is_up(link) {
            return true;
        }
        if self.link_trust.is_held(ctx.now, link) {
            return false;
        }
        let is_new = self.view.link(link).is_none();
        let is_doubtful = is_new && self.link_trust.is_doubtful(ctx.now, link);
        if is_doubtful && self.link_trust.is_to_tell(ctx.now, link) {
            ctx.outbox.notify(Event::LinkDoubted { link });
        }
        !is_doubtful
    }
}

impl Owners {
    /// Lets floods follow the links that are up now. In a large network that has
    /// just happened it is done after a while, with all that changes until then: one
    /// that comes up has thousands of changes, and each concerns all of it. Returns
    /// whether it is done.
    pub(super) fn follow_links(&mut self, ctx: &mut Context, topology: &Topology) -> bool {
        self.try_waiting_intents(ctx);
        let switches = topology.view.switches().len();
        let last = ctx.schedule.floods_followed;
        let last = last.filter(|_| switches > FOLLOWED_AT_ONCE);
        let rest = FLOODS_REST_A_SWITCH * u64::try_from(switches).unwrap_or(u64::MAX);
        match last {
            Some(last) if ctx.now.saturating_since(last) < rest => {
                ctx.schedule.floods = Some(last + rest);
                false
            }
            Some(_) | None => {
                self.follow_links_now(ctx, topology);
                true
            }
        }
    }

    /// Lets floods follow a link that was found, or keep off it until they follow
    /// all: meanwhile frames may go too few ways, but never in a circle.
    pub(super) fn follow_link(&mut self, ctx: &mut Context, topology: &Topology, link: LinkEnds) {
        if !self.follow_links(ctx, topology)
            && let Some(forwarding) = &mut self.forwarding
        {
            forwarding.keep_off(ctx.now, &topology.view, link);
        }
    }

    /// Lets floods follow the links that are up now.
    pub(super) fn follow_links_now(&mut self, ctx: &mut Context, topology: &Topology) {
        ctx.schedule.floods = None;
        let Some(forwarding) = &mut self.forwarding else {
            return;
        };
        ctx.schedule.floods_followed = Some(ctx.now);
        let connected = ctx.sessions.iter();
        let connected =
            connected.filter_map(|(_, session)| Some((session.datapath()?, session.connection)));
        let connected: Vec<_> = connected.collect();
        for (datapath, deletion) in forwarding.change(ctx.now, &topology.view, &connected) {
            if let Some(slot) = ctx.sessions.of_switch(datapath) {
                deletion.emit(ctx.outbox.to(slot));
            }
        }
    }

    /// Has switches forget a station that has appeared at a port of another one.
    pub(super) fn forget_elsewhere(
        &mut self,
        ctx: &mut Context,
        station: Station,
        now_at: DatapathId,
    ) {
        let Some(forwarding) = &mut self.forwarding else {
            return;
        };
        for (slot, session) in ctx.sessions.iter() {
            let is_elsewhere = session.datapath().is_some_and(|it| it != now_at);
            if is_elsewhere && forwarding.forget(session.connection, station) {
                forwarding::emit_deletion(Some(station.mac), ctx.outbox.to(slot));
            }
        }
    }
}
