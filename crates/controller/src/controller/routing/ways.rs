//! Keeps the ways to next hops, and those between outside routers and the speaker.

use std::collections::BTreeMap;
use std::net::IpAddr;

use units::Instant;
use wire::arp::{Arp, Operation};
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::ipv6;
use wire::neighbour_discovery::{HOP_LIMIT, NdMessage};
use wire::openflow::{Action, Actions, BufferId, PacketOut, PortNumber, TransactionId};

use crate::desired::{Content, EntryOwner};
use crate::hosts::{Claim, Sighting};
use crate::intents::frame::best_effort;
use crate::northbound::Event;
use crate::place::PortId;
use crate::router::acceptance::Whereabouts;
use crate::router::entries::{HopWay, PeeringEnds};
use crate::router::next_hops::Question;
use crate::router::table::HopId;
use crate::view::{Carrier, View};

use super::super::proactive::outwards;
use super::super::staged_updates::Part;
use super::super::upkeep::Slice;
use super::super::{Context, Network};
use super::Routing;
use super::adoption::begin_way;

/// The most ways that are looked at between two inputs.
const SLICE_WAYS: usize = 16;
/// The most next hops that are asked between two inputs.
const SLICE_QUESTIONS: usize = 64;

impl Routing {
    /// Looks at some of the ways that something has happened to.
    pub fn keep_ways(&mut self, ctx: &mut Context, network: &mut Network) {
        if !self.has_stale_ways() || self.are_ways_awaited(ctx, network) {
            return;
        }
        let mut slice = Slice {
            atlas: network.topology.take_atlas(ctx),
            moves: BTreeMap::new(),
        };
        for _ in 0..SLICE_WAYS {
            if let Some(hop) = self.stale_hops.pop_first() {
                self.keep_hop(ctx, network, hop, &mut slice);
            } else if let Some(peering) = self.stale_peerings.pop_first() {
                self.keep_peering(ctx, network, peering, &mut slice);
            }
        }
        network.topology.atlas = Some((ctx.metric, slice.atlas));
        let (tables, owners) = (&mut network.tables, &mut network.owners);
        tables.begin_move(ctx, owners, slice.moves);
    }

    fn keep_hop(&self, ctx: &mut Context, network: &mut Network, id: HopId, slice: &mut Slice) {
        let Some((hop, settings)) = self.hops.get(id).zip(self.settings.as_ref()) else {
            return;
        };
        let subject = EntryOwner::NextHop(hop.tag);
        let port = hop.at.port;
        let view = &network.topology.view;
        let tree = slice.atlas.span(view, port).filter(|_| is_up(view, port));
        let Some((mac, (tree, _))) = hop.mac.zip(tree) else {
            return network.set_content_at_once(ctx, subject, &Content::new());
        };
        let way = HopWay {
            address: hop.address,
            tag: hop.tag,
            mac,
            router: settings.router_mac,
            tree: &tree,
        };
        let wanted = way.content(&self.ingresses);
        let present = network.tables.desired.content(subject);
        if present == wanted {
            return;
        }
        if present.is_empty() {
            return begin_way(ctx, network, subject, wanted);
        }
        let branches = (0..tree.branches.len())
            .map(|place| (tree.branches[place].datapath, tree.depth(place)));
        let depths = branches.collect();
        network.tables.moves.take(subject);
        let stages = outwards(&present, &wanted, &depths);
        let relies_on = network.tables.unconfirmed(subject, &wanted);
        slice
            .moves
            .insert(subject, Part::new(stages, None, relies_on));
    }

    fn keep_peering(
        &self,
        ctx: &mut Context,
        network: &mut Network,
        place: usize,
        slice: &mut Slice,
    ) {
        let settings = self.settings.as_ref();
        let peering = settings.and_then(|it| Some((it, it.peerings.get(place)?)));
        let Some(((settings, peering), number)) = peering.zip(u32::try_from(place).ok()) else {
            return;
        };
        let (port, speaker) = (peering.port, settings.speaker);
        let view = &network.topology.view;
        let way = slice.atlas.shortest(view, port.datapath, speaker.datapath);
        let ways = way.map(|way| [way.tree(port, speaker), way.reversed().tree(speaker, port)]);
        let ends = PeeringEnds {
            port,
            own: peering.addresses.iter().map(|own| own.address).collect(),
            peers: peering.peers.iter().map(|peer| peer.address).collect(),
            router: settings.router_mac,
            ways: ways.as_ref().map(|[on, back]| [on, back]),
        };
        let (subject, wanted) = (EntryOwner::Peering(number), ends.content());
        let present = network.tables.desired.content(subject);
        if present.is_empty() {
            begin_way(ctx, network, subject, wanted);
        } else if present != wanted {
            network.set_content_at_once(ctx, subject, &wanted);
        }
    }

    /// Returns whether there are next hops that no route has and no switch sends to.
    pub fn are_idle_hops_unused(&self) -> bool {
        let mut deliveries = self.deliveries.values();
        !self.idle_hops.is_empty() && deliveries.all(|it| it.is_settled(&self.changes))
    }

    /// Forgets next hops that no route has, once no switch sends to them.
    pub fn forget_idle_hops(&mut self, ctx: &mut Context, network: &mut Network) {
        if !self.are_idle_hops_unused() {
            return;
        }
        for id in std::mem::take(&mut self.idle_hops) {
            if let Some(hop) = self.hops.remove(id) {
                self.stale_hops.remove(&id);
                let subject = EntryOwner::NextHop(hop.tag);
                network.set_content_at_once(ctx, subject, &Content::new());
            }
        }
    }

    /// Asks next hops whose turn it is where they are.
    pub fn ask_next_hops(&mut self, ctx: &mut Context, network: &Network) {
        for _ in 0..SLICE_QUESTIONS {
            let Some((id, question)) = self.hops.take_due(ctx.now) else {
                return;
            };
            let hop = self.hops.get(id).map(|hop| (hop.at, hop.address));
            let Some((at, address)) = hop else {
                continue;
            };
            if question == Question::Gone {
                self.stale_hops.insert(id);
                let next_hop = address;
                ctx.outbox.notify(Event::NextHopLost { next_hop });
            }
            if is_up(&network.topology.view, at.port) {
                self.ask(ctx, at, address);
            }
        }
    }

    fn ask(&self, ctx: &mut Context, at: Whereabouts, address: IpAddr) {
        let slot = ctx.sessions.of_switch(at.port.datapath);
        let Some((slot, settings)) = slot.zip(self.settings.as_ref()) else {
            return;
        };
        let frame = question(settings.router_mac, at.own, address);
        let actions = [best_effort(), Action::output(at.port.port)];
        let packet_out = PacketOut {
            buffer: BufferId::NONE,
            in_port: PortNumber::CONTROLLER,
            actions: Actions::of(&actions),
            data: &frame,
        };
        packet_out.emit(TransactionId(0), ctx.outbox.to(slot));
    }

    /// Learns where next hops are from a frame that came in by `port`.
    pub fn heard(&mut self, ctx: &mut Context, port: PortId, header: &Header, payload: &[u8]) {
        if !self.is_active {
            return;
        }
        let claim = Sighting::of(header, payload).map(|sighting| (sighting.claim, sighting.mac));
        let Some((Claim::Has(address), mac)) = claim else {
            return;
        };
        if let Some(hop) = self.hops.heard(ctx.now, port, address, mac) {
            self.stale_hops.insert(hop);
            let (next_hop, at) = (address, ctx.named(port));
            ctx.outbox
                .notify(Event::NextHopResolved { next_hop, mac, at });
        }
    }

    /// Has next hops behind a port that is up again be asked at once.
    pub fn port_up(&mut self, now: Instant, port: PortId) {
        self.hops.ask_anew(now, port);
    }
}

fn is_up(view: &View, port: PortId) -> bool {
    view.port(port)
        .is_some_and(|port| port.carrier == Carrier::Up)
}

/// Returns the frame by which somebody is asked who has an address: ARP for IPv4 (RFC 826), a
/// neighbour solicitation for IPv6 (RFC 4861 section 4.3).
fn question(router: MacAddress, own: IpAddr, address: IpAddr) -> Vec<u8> {
    let mut frame = Vec::new();
    match (own, address) {
        (IpAddr::V4(own), IpAddr::V4(address)) => {
            let header = Header {
                destination: MacAddress::BROADCAST,
                source: router,
                vlan: None,
                ether_type: EtherType::ARP,
            };
            header.emit(&mut frame);
            let arp = Arp {
                operation: Operation::Request,
                sender_mac: router,
                sender: own,
                target_mac: MacAddress::ZERO,
                target: address,
            };
            arp.emit(&mut frame);
        }
        (IpAddr::V6(own), IpAddr::V6(address)) => {
            let [.., a, b, c] = address.octets();
            let [low, high] = [u16::from_be_bytes([b, c]), 0xff00 | u16::from(a)];
            // RFC 4291 section 2.7.1, RFC 2464 section 7.
            let group = [0xff02, 0, 0, 0, 0, 1, high, low].into();
            let header = Header {
                destination: MacAddress([0x33, 0x33, 0xff, a, b, c]),
                source: router,
                vlan: None,
                ether_type: EtherType::IPV6,
            };
            header.emit(&mut frame);
            let ip = ipv6::Header {
                source: own,
                destination: group,
                next_header: ipv6::NEXT_HEADER_ICMP,
                hop_limit: HOP_LIMIT,
            };
            let station = Some(router);
            let target = address;
            NdMessage::NeighbourSolicitation { target, station }.emit_packet(&ip, &mut frame);
        }
        _ => unreachable!("a next hop is in the subnet of the address there"),
    }
    frame
}
