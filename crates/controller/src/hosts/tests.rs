use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use wire::arp::{Arp, Operation};
use wire::dhcp::{self, Dhcp, Kind};
use wire::ethernet::{EtherType, Header};
use wire::neighbour_discovery::NdMessage;
use wire::openflow::PortNumber;
use wire::{ipv4, ipv6, udp};

use super::*;
use crate::view::Port;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);
const OTHER: MacAddress = MacAddress([2, 0, 0, 0, 0, 8]);
const V4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
const V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 7);

#[test]
fn the_first_frame_of_a_host_tells_its_port_and_address() {
    let mut net = Net::new();

    let changes = net.hear(1, &arp(MAC, V4));

    assert!(matches!(
        changes[..],
        [HostChange::Found { .. }, HostChange::Addressed { .. }]
    ));
    let host = net.view.host_by_mac(MAC).unwrap();
    assert_eq!(host.attachment, Some(port(1)));
    assert_eq!(host.ipv4().collect::<Vec<_>>(), [V4]);
}

#[test]
fn a_second_frame_from_the_same_port_tells_nothing_new() {
    let mut net = Net::new();
    net.hear(1, &arp(MAC, V4));

    assert_eq!(net.hear(1, &arp(MAC, V4)), []);
}

#[test]
fn a_host_that_appears_elsewhere_has_moved() {
    let mut net = Net::new();
    net.hear(1, &arp(MAC, V4));

    let changes = net.hear(2, &arp(MAC, V4));

    let moved = HostChange::Moved {
        name: MAC.to_string(),
        from: port(1),
        to: port(2),
    };
    assert_eq!(changes, [moved]);
}

#[test]
fn one_port_has_room_for_so_many_hosts_and_no_more() {
    let mut net = Net::new();

    for number in 0..=u8::MAX {
        let forged = MacAddress([2, 0, 0, 0, 1, number]);
        net.hear(1, &arp(forged, Ipv4Addr::new(10, 0, 1, number)));
    }

    assert_eq!(net.view.hosts().len(), MAX_LEARNED_AT_PORT);
}

#[test]
fn a_group_address_is_no_host() {
    let mut net = Net::new();

    let changes = net.hear(1, &arp(MacAddress::BROADCAST, V4));

    assert_eq!(changes, []);
}

#[test]
fn a_configured_host_is_there_once_its_switch_is() {
    let mut view = View::default();
    let relay = HostParameters {
        name: "relay".into(),
        mac: MAC,
        ipv4: None,
        is_fixed: false,
        attachment: Some(port(2)),
        unpromised: None,
    };
    let hosts = Hosts::new(vec![relay], &mut view);
    let before = view.host("relay").unwrap().attachment;

    connect(&mut view);
    let changes = hosts.attach(&mut view, DatapathId(1));

    assert_eq!(before, None);
    assert_eq!(changes.len(), 1);
    assert_eq!(view.host("relay").unwrap().attachment, Some(port(2)));
}

#[test]
fn a_host_has_addresses_of_both_families() {
    let mut net = Net::new();

    net.hear(1, &arp(MAC, V4));
    net.hear(1, &solicitation(MAC, V6));

    let host = net.view.host_by_mac(MAC).unwrap();
    assert_eq!(host.addresses, [IpAddr::V4(V4), IpAddr::V6(V6)]);
}

#[test]
fn a_probe_for_duplicates_tells_the_port_and_no_address() {
    let mut net = Net::new();

    net.hear(1, &solicitation(MAC, Ipv6Addr::UNSPECIFIED));

    let host = net.view.host_by_mac(MAC).unwrap();
    assert_eq!((host.attachment, host.addresses.len()), (Some(port(1)), 0));
}

#[test]
fn a_host_with_more_addresses_than_there_is_room_for_loses_the_oldest() {
    let mut net = Net::new();

    for last in 1..=20 {
        net.hear(1, &arp(MAC, Ipv4Addr::new(10, 0, 0, last)));
    }

    let host = net.view.host_by_mac(MAC).unwrap();
    let last: Vec<u8> = host.ipv4().map(|address| address.octets()[3]).collect();
    assert_eq!(last, [13, 14, 15, 16, 17, 18, 19, 20]);
}

#[test]
fn a_client_has_the_address_that_a_server_gave_it_and_no_other() {
    let mut net = Net::new();
    let asks = dhcp(MAC, Kind::Request, 5);
    net.hear(1, &asks);
    let before = net.view.host_by_mac(MAC).unwrap().addresses.len();

    net.hear(2, &dhcp(OTHER, Kind::Acknowledge, 6));
    let forged = net.view.host_by_mac(MAC).unwrap().addresses.len();
    net.hear(2, &dhcp(OTHER, Kind::Acknowledge, 5));

    assert_eq!((before, forged), (0, 0));
    assert_eq!(net.view.host_by_mac(MAC).unwrap().addresses, [V4]);
}

#[test]
fn an_address_that_is_given_back_is_nobodys() {
    let mut net = Net::new();
    net.hear(1, &dhcp(MAC, Kind::Request, 5));
    net.hear(2, &dhcp(OTHER, Kind::Acknowledge, 5));

    net.hear(1, &dhcp_with(MAC, Kind::Release, 6, V4));

    assert_eq!(net.view.host_by_address(V4.into()), None);
}

#[test]
fn an_address_stays_with_its_host_and_the_dispute_is_told_once() {
    let mut net = Net::new();
    net.hear(1, &arp(MAC, V4));
    net.hear(2, &arp(OTHER, Ipv4Addr::new(10, 0, 0, 8)));

    let first = net.hear(2, &arp(OTHER, V4));
    let second = net.hear(2, &arp(OTHER, V4));

    let dispute = HostChange::Disputed {
        address: V4.into(),
        holder: MAC.to_string(),
        claimant: OTHER.to_string(),
    };
    assert_eq!((first, second), (vec![dispute], vec![]));
    assert_eq!(net.view.host_by_address(V4.into()).unwrap().mac, MAC);
}

#[test]
fn an_address_goes_on_when_its_host_is_unplugged() {
    let mut net = Net::new();
    net.hear(1, &arp(MAC, V4));
    net.unplug(1);

    net.hear(2, &arp(OTHER, V4));

    assert_eq!(net.view.host_by_address(V4.into()).unwrap().mac, OTHER);
}

#[test]
fn a_router_does_not_get_the_addresses_of_those_it_routes_for() {
    let mut net = Net::new();
    net.hear(1, &arp(MAC, V4));

    net.hear(1, &packet(MAC, Ipv4Addr::new(192, 0, 2, 1)));

    assert_eq!(net.view.host_by_mac(MAC).unwrap().addresses, [V4]);
}

#[test]
fn a_host_seen_here_and_there_goes_back_to_where_it_was() {
    let mut net = Net::new();
    net.hear(1, &arp(MAC, V4));
    let mut changes = Vec::new();

    for at in [2, 1].into_iter().cycle().take(100) {
        changes.extend(net.hear(at, &arp(MAC, V4)));
    }

    let doubted = changes
        .iter()
        .filter(|change| matches!(change, HostChange::Doubted { .. }));
    assert_eq!(doubted.count(), 1);
    assert!(changes.len() <= 5, "{changes:?}");
    assert_eq!(net.view.host_by_mac(MAC).unwrap().attachment, Some(port(1)));
}

#[test]
fn a_host_that_was_named_with_its_port_stays_there() {
    let mut net = Net::new();
    let changes = net.set("plc", Some(port(1))).unwrap();

    let doubted = net.hear(2, &arp(MAC, V4));
    let again = net.hear(2, &arp(MAC, V4));

    assert!(matches!(changes[..], [HostChange::Found { .. }]));
    let expected = HostChange::Doubted {
        name: "plc".into(),
        at: port(2),
        stays: port(1),
    };
    assert_eq!((doubted, again), (vec![expected], vec![]));
    assert_eq!(net.view.host("plc").unwrap().attachment, Some(port(1)));
}

#[test]
fn a_host_that_flows_need_stays_while_its_port_has_a_carrier_and_moves_then() {
    let mut net = Net::new();
    net.hear(1, &arp(MAC, V4));
    net.end = Some(port(1));

    let claims: Vec<HostChange> = (0..50)
        .flat_map(|_| net.hear(2, &arp(MAC, Ipv4Addr::new(10, 0, 0, 9))))
        .collect();
    let before = net.view.host_by_mac(MAC).cloned().unwrap();
    net.unplug(1);
    let moved = net.hear(2, &arp(MAC, V4));

    assert!(matches!(claims[..], [HostChange::Doubted { stays, .. }] if stays == port(1)));
    assert_eq!(
        (before.attachment, before.addresses.len()),
        (Some(port(1)), 1)
    );
    assert!(matches!(moved[..], [HostChange::Moved { to, .. }] if to == port(2)));
}

#[test]
fn a_host_that_only_flows_know_is_where_they_say() {
    let mut net = Net::new();
    net.end = Some(port(1));

    net.hear(2, &arp(MAC, V4));

    assert_eq!(net.view.host_by_mac(MAC).unwrap().attachment, Some(port(1)));
}

#[test]
fn a_host_that_the_configuration_fixes_is_moved_by_no_frame() {
    let mut net = Net::new();
    let relay = HostParameters {
        name: "relay".into(),
        mac: MAC,
        ipv4: None,
        attachment: Some(port(1)),
        is_fixed: true,
        unpromised: None,
    };
    net.hosts = Hosts::new(vec![relay], &mut net.view);
    net.hosts.attach(&mut net.view, DatapathId(1));

    net.unplug(1);
    net.hear(2, &arp(MAC, V4));

    assert_eq!(net.view.host("relay").unwrap().attachment, Some(port(1)));
}

#[test]
fn a_learned_host_can_be_named_and_removed() {
    let mut net = Net::new();
    net.hear(1, &arp(MAC, V4));

    net.set("plc", None).unwrap();
    let named = net.view.host("plc").cloned().unwrap();
    net.hosts.remove(&mut net.view, MAC);

    assert_eq!(named.attachment, Some(port(1)));
    assert_eq!(named.origin, HostOrigin::Named);
    assert_eq!(net.view.hosts(), []);
    assert_eq!(net.view.host_by_address(V4.into()), None);
}

#[test]
fn what_cannot_be_named_so_is_refused_and_changes_nothing() {
    let mut net = Net::new();
    net.hear(1, &arp(OTHER, V4));
    let before = net.view.clone();
    let name = OTHER.to_string();

    let taken = net.set(&name, None);
    let nowhere = PortId::new(DatapathId(7), PortNumber(1));
    let at_no_port = [port(9), nowhere].map(|port| (net.set("plc", Some(port)), port));

    assert_eq!(taken, Err(HostRefusal::NameTaken { name }));
    for (refused, port) in at_no_port {
        assert_eq!(refused, Err(HostRefusal::NoAccess { port }));
    }
    assert_eq!(net.view, before);
}

proptest! {
    /// Whatever arrives at whichever port, tables stay within their bounds.
    #[test]
    fn no_frames_fill_more_than_there_is_room_for(
        frames in prop::collection::vec((0..6u8, 0..8u8, 1..3u32, 0..30u8), 0..300),
    ) {
        let mut net = Net::new();

        for (kind, host, at, address) in frames {
            let mac = MacAddress([2, 0, 0, 0, 0, host]);
            let v4 = Ipv4Addr::new(10, 0, 0, address);
            net.now += Duration::from_ms(u64::from(address) * 50);
            net.hear(at, &match kind {
                0 => arp(mac, v4),
                1 => solicitation(mac, Ipv6Addr::from(u128::from(address))),
                2 => dhcp(mac, Kind::Request, u32::from(host)),
                3 => dhcp(mac, Kind::Acknowledge, u32::from(address)),
                4 => dhcp_with(mac, Kind::Release, 0, v4),
                _ => packet(mac, v4),
            });

            for host in net.view.hosts() {
                prop_assert!(host.addresses.len() <= MAX_ADDRESSES);
            }
        }
        prop_assert!(net.view.hosts().len() <= 8);
        prop_assert!(net.hosts.asked.len() <= 8);
    }

    #[test]
    fn no_frame_makes_it_panic(frame in prop::collection::vec(any::<u8>(), 0..100)) {
        Net::new().hear(1, &frame);
    }
}

/// One switch with two ports.
struct Net {
    view: View,
    hosts: Hosts,
    now: Instant,
    /// Where flows say that the host is that is heard of.
    end: Option<PortId>,
}

impl Net {
    fn new() -> Self {
        let mut view = View::default();
        connect(&mut view);
        Self {
            view,
            hosts: Hosts::default(),
            now: Instant::ZERO,
            end: None,
        }
    }

    fn hear(&mut self, at: u32, frame: &[u8]) -> Vec<HostChange> {
        let Ok((header, payload)) = Header::parse(frame) else {
            return Vec::new();
        };
        let view = &mut self.view;
        let place = (port(at), self.end);
        self.hosts.learn(self.now, view, place, &header, payload)
    }

    fn set(
        &mut self,
        name: &str,
        attachment: Option<PortId>,
    ) -> Result<Vec<HostChange>, HostRefusal> {
        let host = StaticHost {
            name: name.into(),
            mac: MAC,
            ipv4: None,
            ipv6: None,
            attachment,
        };
        self.hosts.check(&self.view, &host)?;
        self.hosts.set(&mut self.view, host)
    }

    fn unplug(&mut self, number: u32) {
        let switch = self.view.switch(DatapathId(1)).unwrap();
        let port = Port {
            carrier: Carrier::Down,
            ..new_port(number)
        };
        self.view.set_port(self.now, switch, port);
    }
}

fn connect(view: &mut View) {
    view.connect(Instant::ZERO, DatapathId(1), &[1, 2].map(new_port));
}

fn new_port(number: u32) -> Port {
    Port {
        number: PortNumber(number),
        mac: MacAddress::ZERO,
        carrier: Carrier::Up,
        link: None,
    }
}

fn port(number: u32) -> PortId {
    PortId::new(DatapathId(1), PortNumber(number))
}

fn ethernet(source: MacAddress, ether_type: EtherType) -> Vec<u8> {
    let mut frame = Vec::new();
    let header = Header {
        destination: MacAddress::BROADCAST,
        source,
        vlan: None,
        ether_type,
    };
    header.emit(&mut frame);
    frame
}

fn arp(source: MacAddress, sender: Ipv4Addr) -> Vec<u8> {
    let mut frame = ethernet(source, EtherType::ARP);
    let arp = Arp {
        operation: Operation::Request,
        sender_mac: source,
        sender,
        target_mac: MacAddress::ZERO,
        target: sender,
    };
    arp.emit(&mut frame);
    frame.resize(60, 0);
    frame
}

fn solicitation(source: MacAddress, address: Ipv6Addr) -> Vec<u8> {
    let mut frame = ethernet(source, EtherType::IPV6);
    let message = NdMessage::NeighbourSolicitation {
        target: V6,
        station: (!address.is_unspecified()).then_some(source),
    };
    let ip = ipv6::Header {
        source: address,
        destination: V6,
        next_header: ipv6::NEXT_HEADER_ICMP,
        hop_limit: 255,
    };
    message.emit_packet(&ip, &mut frame);
    frame
}

fn packet(source: MacAddress, address: Ipv4Addr) -> Vec<u8> {
    let mut frame = ethernet(source, EtherType::IPV4);
    ip(address, ipv4::PROTOCOL_TCP).emit(20, &mut frame);
    frame.resize(60, 0);
    frame
}

fn dhcp(source: MacAddress, kind: Kind, transaction: u32) -> Vec<u8> {
    dhcp_with(source, kind, transaction, Ipv4Addr::UNSPECIFIED)
}

fn dhcp_with(source: MacAddress, kind: Kind, transaction: u32, client: Ipv4Addr) -> Vec<u8> {
    let message = Dhcp {
        kind,
        transaction,
        client,
        given: V4,
        station: if kind.is_reply() { MAC } else { source },
        requested: None,
    };
    let mut payload = Vec::new();
    message.emit(&mut payload);
    let (client, server) = (dhcp::CLIENT_PORT, dhcp::SERVER_PORT);
    let ports = match kind.is_reply() {
        true => (server, client),
        false => (client, server),
    };
    let ports = udp::Header {
        source_port: ports.0,
        destination_port: ports.1,
    };
    let mut frame = ethernet(source, EtherType::IPV4);
    let ip = ip(Ipv4Addr::UNSPECIFIED, ipv4::PROTOCOL_UDP);
    ports.emit_packet(&ip, &payload, &mut frame);
    frame
}

fn ip(source: Ipv4Addr, protocol: u8) -> ipv4::Header {
    ipv4::Header {
        source,
        destination: Ipv4Addr::BROADCAST,
        protocol,
        traffic_class: 0,
        time_to_live: 64,
    }
}
