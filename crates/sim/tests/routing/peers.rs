//! A network whose hosts are outside routers, and one the speaker.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use controller::northbound::{
    ApplicationKind, InterfaceAddress, IpPrefix, Peer, Peering, Reply, Request, RouteChange,
    RoutePart, RoutingStatus, SdnIp, SpeakerState,
};
use controller::place::PortId;
use sim::parts::{Fault, FaultAt, Node};
use sim::{Engine, World};
use units::Duration;
use wire::arp::{Arp, Operation};
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::neighbour_discovery::NdMessage;
use wire::{ipv4, ipv6};

use crate::blueprint::{Blueprint, datapath, host_mac};
use crate::run::{ask, discover};

/// The address of the speaker, to which outside routers send.
pub const ROUTER: MacAddress = MacAddress([2, 0x52, 0, 0, 0, 1]);
/// What is sent with this protocol is a probe.
const PROBE_PROTOCOL: u8 = 253;
const TIME_TO_LIVE: u8 = 64;
/// How long a probe may take.
const PROBE_TIME: Duration = Duration::from_ms(5);
const STEP: Duration = Duration::from_ms(1);

/// The network, its outside routers, and what each prefix should lead to.
pub struct Routed {
    pub world: World,
    pub blueprint: Blueprint,
    /// All routes that were announced: the router by the prefix.
    pub routes: BTreeMap<IpPrefix, usize>,
    probes: u32,
}

/// Where a probe came out, and with how many hops left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub host: usize,
    pub header: Header,
    pub hops_left: u8,
}

/// Returns the address of an outside router, by its number.
pub fn address(peer: usize, is_v4: bool) -> IpAddr {
    let number = u8::try_from(peer).unwrap();
    match is_v4 {
        true => Ipv4Addr::new(192, 0, number, 2).into(),
        false => Ipv6Addr::new(0x2001, 0xdb8, number.into(), 0, 0, 0, 0, 2).into(),
    }
}

/// Returns the speaker's address towards an outside router.
pub fn own(peer: usize, is_v4: bool) -> IpAddr {
    let number = u8::try_from(peer).unwrap();
    match is_v4 {
        true => Ipv4Addr::new(192, 0, number, 1).into(),
        false => Ipv6Addr::new(0x2001, 0xdb8, number.into(), 0, 0, 0, 0, 1).into(),
    }
}

impl Routed {
    /// Builds a network in which host 0 is the speaker and all others are outside routers: of
    /// those with an odd number the address is asked for. Nothing is routed yet.
    pub fn new(mut blueprint: Blueprint, engine: Engine, entries: usize) -> Self {
        blueprint.applications.push(ApplicationKind::SdnIp);
        let mut parts = blueprint.parts();
        for switch in &mut parts.switches {
            switch.config.table_capacity = entries;
        }
        let mut world = World::with_engine(parts, engine);
        discover(&blueprint, &mut world);
        for host in 0..blueprint.hosts.len() {
            world.listen(host);
        }
        Self {
            world,
            blueprint,
            routes: BTreeMap::new(),
            probes: 0,
        }
    }

    /// Has the network be a router and begin with these settings changed.
    pub fn begin(&mut self, change: impl FnOnce(&mut SdnIp)) {
        self.configure(change);
        let connected = Request::SpeakerState(SpeakerState::Connected);
        assert_eq!(self.ask(connected), Reply::SpeakerNoted);
        let nothing = RoutePart::Snapshot {
            is_first: true,
            is_last: true,
        };
        self.change(&[], nothing);
    }

    /// Tells the controller these settings changed.
    pub fn configure(&mut self, change: impl FnOnce(&mut SdnIp)) {
        let mut settings = self.settings();
        change(&mut settings);
        let request = Request::ConfigureSdnIp(Some(Box::new(settings)));
        assert_eq!(self.ask(request), Reply::SdnIpConfigured);
    }

    pub fn peers(&self) -> std::ops::Range<usize> {
        1..self.blueprint.hosts.len()
    }

    fn settings(&self) -> SdnIp {
        let peering = |peer: usize| Peering {
            name: format!("as{peer}"),
            port: self.port(peer),
            addresses: [(true, 24), (false, 64)]
                .map(|(is_v4, length)| InterfaceAddress {
                    address: own(peer, is_v4),
                    length,
                })
                .to_vec(),
            peers: [true, false]
                .map(|is_v4| Peer {
                    address: address(peer, is_v4),
                    mac: peer.is_multiple_of(2).then(|| host_mac(peer)),
                    autonomous_system: 65_000 + u32::try_from(peer).unwrap(),
                })
                .to_vec(),
        };
        SdnIp {
            router_mac: ROUTER,
            speaker: self.port(0),
            peerings: self.peers().map(peering).collect(),
            own_prefixes: vec!["10.255.0.0/16".parse().unwrap()],
            accept_default: true,
            max_prefixes: 200_000,
            stale_time_s: 5,
            damping: None,
        }
    }

    /// Returns the port of a host.
    pub fn port(&self, host: usize) -> PortId {
        let cable = &self.blueprint.parts().links[self.cable(host)];
        let end = cable.ends.iter().find_map(|end| match end.node {
            Node::Switch(switch) => Some(PortId::new(datapath(switch), end.port)),
            Node::Host(_) => None,
        });
        end.unwrap()
    }

    /// Returns the number of the cable of a host.
    pub fn cable(&self, host: usize) -> usize {
        self.blueprint.links.len() + host
    }

    pub fn ask(&mut self, request: Request) -> Reply {
        ask(&mut self.world, request)
    }

    pub fn status(&mut self) -> RoutingStatus {
        match self.ask(Request::RoutingStatus) {
            Reply::RoutingStatus(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    /// Lets time pass in which outside routers answer who asks for their addresses.
    pub fn pass(&mut self, time: Duration) {
        let end = self.world.now() + time;
        while self.world.now() < end {
            let next = end.min(self.world.now() + STEP);
            self.world.run_until(next);
            self.answer();
        }
    }

    /// Answers what was asked; returns the other frames that came to somebody.
    fn answer(&mut self) -> Vec<(usize, Vec<u8>)> {
        let mut others = Vec::new();
        for overheard in self.world.overheard() {
            match answer(overheard.host, &overheard.bytes) {
                Some(answer) => self.world.announce(overheard.host, &answer),
                None => others.push((overheard.host, overheard.bytes)),
            }
        }
        others
    }

    pub fn fault(&mut self, fault: Fault) {
        let at = self.world.now();
        self.world.plan(&[FaultAt { at, fault }]);
    }

    /// Announces prefixes, each from an outside router, and withdraws those of nobody.
    pub fn change(&mut self, changes: &[(IpPrefix, Option<usize>)], part: RoutePart) {
        let told = changes.iter().map(|(prefix, peer)| RouteChange {
            prefix: *prefix,
            next_hop: peer.map(|peer| address(peer, prefix.address().is_ipv4())),
        });
        let changes_told = told.collect();
        let request = Request::ChangeRoutes {
            changes: changes_told,
            part,
        };
        match self.ask(request) {
            Reply::RoutesChanged(changed) => assert_eq!(changed.refused, []),
            other => panic!("{other:?}"),
        }
        for (prefix, peer) in changes {
            match peer {
                Some(peer) => self.routes.insert(*prefix, *peer),
                None => self.routes.remove(prefix),
            };
        }
    }

    /// Returns the outside router of the longest prefix, found by looking at all of them.
    pub fn expected(&self, destination: IpAddr) -> Option<usize> {
        let within = self.routes.iter().filter(|it| it.0.contains(destination));
        within.max_by_key(|it| it.0.length()).map(|it| *it.1)
    }

    /// Sends one packet from an outside router to an address, and returns where it came out.
    pub fn probe(&mut self, from: usize, destination: IpAddr) -> Vec<Arrival> {
        self.world.overheard();
        self.probes += 1;
        let payload = self.probes.to_be_bytes();
        let frame = packet(from, destination, PROBE_PROTOCOL, &payload);
        self.world.announce(from, &frame);
        let end = self.world.now() + PROBE_TIME;
        let mut arrivals = Vec::new();
        while self.world.now() < end {
            self.world.run_until(end.min(self.world.now() + STEP));
            for (host, bytes) in self.answer() {
                arrivals.extend(read(host, &bytes, &payload));
            }
        }
        arrivals
    }

    /// Asserts that a packet comes out where it should, once, as a router sends it.
    pub fn assert_routed(&mut self, from: usize, destination: IpAddr) {
        let expected = self.expected(destination);
        let arrivals = self.probe(from, destination);
        let expected: Vec<Arrival> = expected
            .map(Self::arrival(destination))
            .into_iter()
            .collect();
        assert_eq!(arrivals, expected, "from {from} to {destination}");
    }

    /// Returns how a packet should come out.
    pub fn arrival(destination: IpAddr) -> impl Fn(usize) -> Arrival {
        move |host| Arrival {
            host,
            header: Header {
                destination: host_mac(host),
                source: ROUTER,
                vlan: None,
                ether_type: match destination {
                    IpAddr::V4(_) => EtherType::IPV4,
                    IpAddr::V6(_) => EtherType::IPV6,
                },
            },
            hops_left: TIME_TO_LIVE - 1,
        }
    }

    /// Sends a segment of BGP from one to the other, and returns to whom it came.
    pub fn converse(&mut self, from: usize, to: usize) -> Vec<usize> {
        const TCP: u8 = 6;
        self.world.overheard();
        let mut segment = vec![0_u8; 20];
        segment[0..2].copy_from_slice(&[0, 179]);
        segment[2..4].copy_from_slice(&[0x80, 0]);
        segment[12] = 0x50;
        let (destination, mac) = match to {
            0 => (own(from, true), ROUTER),
            peer => (address(peer, true), host_mac(peer)),
        };
        let mut frame = packet(from, destination, TCP, &segment);
        frame[..6].copy_from_slice(&mac.0);
        self.world.announce(from, &frame);
        self.world.run_until(self.world.now() + PROBE_TIME);
        let came = self.answer();
        let came = came.iter().filter(|(_, bytes)| bytes.ends_with(&segment));
        came.map(|(host, _)| *host).collect()
    }
}

/// Returns a packet that an outside router sends to the network's address.
fn packet(from: usize, destination: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let header = |ether_type| Header {
        destination: ROUTER,
        source: if from == 0 { ROUTER } else { host_mac(from) },
        vlan: None,
        ether_type,
    };
    match destination {
        IpAddr::V4(destination) => {
            header(EtherType::IPV4).emit(&mut frame);
            let ip = ipv4::Header {
                source: Ipv4Addr::new(198, 51, 100, u8::try_from(from).unwrap()),
                destination,
                protocol,
                traffic_class: 0,
                time_to_live: TIME_TO_LIVE,
            };
            ip.emit(payload.len(), &mut frame);
        }
        IpAddr::V6(destination) => {
            header(EtherType::IPV6).emit(&mut frame);
            let ip = ipv6::Header {
                source: Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 9),
                destination,
                next_header: protocol,
                hop_limit: TIME_TO_LIVE,
            };
            ip.emit(payload.len(), &mut frame);
        }
    }
    frame.extend_from_slice(payload);
    frame
}

/// Reads a probe with this payload, its checksum included.
fn read(host: usize, frame: &[u8], payload: &[u8]) -> Option<Arrival> {
    let (header, packet) = Header::parse(frame).ok()?;
    let (hops_left, protocol, content) = match header.ether_type {
        EtherType::IPV4 => {
            let (ip, content) = ipv4::Header::parse(packet).ok()?;
            (ip.time_to_live, ip.protocol, content)
        }
        EtherType::IPV6 => {
            let (ip, content) = ipv6::Header::parse(packet).ok()?;
            (ip.hop_limit, ip.next_header, content)
        }
        _ => return None,
    };
    (protocol == PROBE_PROTOCOL && content == payload).then_some(Arrival {
        host,
        header,
        hops_left,
    })
}

/// Returns what an outside router answers if a frame asks for one of its addresses.
fn answer(host: usize, frame: &[u8]) -> Option<Vec<u8>> {
    let (header, payload) = Header::parse(frame).ok()?;
    if host == 0 {
        return None;
    }
    let mut answer = Vec::new();
    let reply = Header {
        destination: header.source,
        source: host_mac(host),
        ..header
    };
    reply.emit(&mut answer);
    match header.ether_type {
        EtherType::ARP => {
            let arp = Arp::parse(payload).ok()?;
            if arp.operation != Operation::Request || address(host, true) != arp.target {
                return None;
            }
            let arp = Arp {
                operation: Operation::Reply,
                sender_mac: host_mac(host),
                sender: arp.target,
                target_mac: arp.sender_mac,
                target: arp.sender,
            };
            arp.emit(&mut answer);
        }
        EtherType::IPV6 => {
            let (ip, message) = ipv6::Header::parse(payload).ok()?;
            let NdMessage::NeighbourSolicitation { target, .. } =
                NdMessage::parse(&ip, message).ok()?
            else {
                return None;
            };
            if address(host, false) != target {
                return None;
            }
            let station = Some(host_mac(host));
            let back = ipv6::Header {
                source: target,
                destination: ip.source,
                ..ip
            };
            NdMessage::NeighbourAdvertisement { target, station }.emit_packet(&back, &mut answer);
        }
        _ => return None,
    }
    Some(answer)
}
