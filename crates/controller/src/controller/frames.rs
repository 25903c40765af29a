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

use super::Controller;
use super::memory::Memory;

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
                session
                    .punts
                    .take(self.ctx.now, FrameClass::Other, self.owners.budgets());
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
            .take(self.ctx.now, class, self.owners.budgets())
        {
            self.ctx.counters.punts_dropped += 1;
            return;
        }
        let owner = session.connection;
        let contested = self.contested(port, header.source);
        if contested.is_some() || is_guard(packet_in.cookie) {
            // Nobody learns from it, and it goes nowhere: a switch on the way would take it
            // for one of a flow of that host.
            self.ctx.counters.frames_contested += 1;
            if let Some(host) = contested {
                self.contest(&host, port);
            }
            self.learn_from(port, &header, payload);
            return;
        }
        let may_be_new = match &mut self.owners.forwarding {
            Some(forwarding) => {
                let out = self.ctx.outbox.to(slot);
                let taken = forwarding.take(self.ctx.now, owner, port, &header, packet_in, out);
                self.ctx.counters.floods_dropped += u64::from(taken.is_dropped);
                if taken.shortage != Shortage::None {
                    self.ctx.counters.stations_displaced += 1;
                }
                if taken.shortage == Shortage::News {
                    let at = self.named(port);
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
                .take(self.ctx.now, class, self.owners.budgets());
        }
        let Some(from) = origin else {
            self.ctx.counters.foreign_probes += 1;
            return;
        };
        if destination == ECHO || destination == ECHOED {
            // One that was not turned round has met a switch without the entry.
            if destination == ECHOED {
                self.echo_returned(from, to);
            }
            return;
        }
        let ends = LinkEnds::new(from, to);
        if !self.is_believed(ends) {
            // One that was there before carries frames, whatever is thought of it.
            if let Some(link) = self.topology.view.link(ends)
                && self.topology.view.suspect(self.ctx.now, link)
            {
                self.follow_links();
            }
            return;
        }
        match self.topology.view.confirm(self.ctx.now, from, to) {
            Confirmed::Known | Confirmed::Ignored => {}
            // The other side may have been deaf when this side was probed.
            Confirmed::OneWay => self.probe(to),
            Confirmed::Up { link, replaced } => {
                for lost in replaced.into_iter().flatten() {
                    self.strike_link(self.topology.view.links()[lost.index()].ends);
                    self.link_lost(lost, Detection::Recabled);
                }
                self.link_found(link);
            }
        }
    }

    /// Returns whether a link may be there, as probes say.
    fn is_believed(&mut self, link: LinkEnds) -> bool {
        if self.topology.view.is_up(link) {
            return true;
        }
        if self.topology.link_trust.is_held(self.ctx.now, link) {
            return false;
        }
        let is_new = self.topology.view.link(link).is_none();
        let is_doubtful = is_new && self.topology.link_trust.is_doubtful(self.ctx.now, link);
        if is_doubtful && self.topology.link_trust.is_to_tell(self.ctx.now, link) {
            self.ctx.outbox.notify(Event::LinkDoubted { link });
        }
        !is_doubtful
    }

    /// Lets floods follow the links that are up now. In a large network that has
    /// just happened it is done after a while, with all that changes until then: one
    /// that comes up has thousands of changes, and each concerns all of it. Returns
    /// whether it is done.
    pub(super) fn follow_links(&mut self) -> bool {
        self.try_waiting_intents();
        let switches = self.topology.view.switches().len();
        let last = self.ctx.schedule.floods_followed;
        let last = last.filter(|_| switches > FOLLOWED_AT_ONCE);
        let rest = FLOODS_REST_A_SWITCH * u64::try_from(switches).unwrap_or(u64::MAX);
        match last {
            Some(last) if self.ctx.now.saturating_since(last) < rest => {
                self.ctx.schedule.floods = Some(last + rest);
                false
            }
            Some(_) | None => {
                self.follow_links_now();
                true
            }
        }
    }

    /// Lets floods follow a link that was found, or keep off it until they follow
    /// all: meanwhile frames may go too few ways, but never in a circle.
    pub(super) fn follow_link(&mut self, link: LinkEnds) {
        if !self.follow_links()
            && let Some(forwarding) = &mut self.owners.forwarding
        {
            forwarding.keep_off(self.ctx.now, &self.topology.view, link);
        }
    }

    /// Lets floods follow the links that are up now.
    pub(super) fn follow_links_now(&mut self) {
        self.ctx.schedule.floods = None;
        let Some(forwarding) = &mut self.owners.forwarding else {
            return;
        };
        self.ctx.schedule.floods_followed = Some(self.ctx.now);
        let connected = self.ctx.sessions.iter();
        let connected =
            connected.filter_map(|(_, session)| Some((session.datapath()?, session.connection)));
        let connected: Vec<_> = connected.collect();
        for (datapath, deletion) in forwarding.change(self.ctx.now, &self.topology.view, &connected)
        {
            if let Some(slot) = self.ctx.sessions.of_switch(datapath) {
                deletion.emit(self.ctx.outbox.to(slot));
            }
        }
    }

    /// Has switches forget a station that has appeared at a port of another one.
    pub(super) fn forget_elsewhere(&mut self, station: Station, now_at: DatapathId) {
        let Some(forwarding) = &mut self.owners.forwarding else {
            return;
        };
        for (slot, session) in self.ctx.sessions.iter() {
            let is_elsewhere = session.datapath().is_some_and(|it| it != now_at);
            if is_elsewhere && forwarding.forget(session.connection, station) {
                forwarding::emit_deletion(Some(station.mac), self.ctx.outbox.to(slot));
            }
        }
    }
}
