//! What a switch that floods, lies, flaps or stalls does to the others: nothing.

use controller::northbound::{ApplicationKind, ClassCount, FrameClass, Manifest, Statistics};
use controller::{Reply, Request};
use units::Duration;
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::PortNumber;

use super::fake::{self, HOST_PORT, Network};
use super::{DIAMOND, RING};

#[test]
fn a_storm_of_frames_does_not_keep_probes_from_being_seen() {
    let mut network = Network::started(4, &DIAMOND);
    let connection = network.switches[&1].connection.unwrap();
    let storm = storm(2_000, MacAddress::ZERO, EtherType::GOOSE);

    for _ in 0..10 {
        network.receive(connection, &storm);
        network.pass(Duration::from_ms(500));
    }

    assert_eq!(network.topology().links, 4);
    assert!(network.controller.counters().punts_dropped >= 10_000);
    let probes = count(&mut network, FrameClass::LinkProbe);
    assert!(probes.offered > 0 && probes.dropped == 0, "{probes:?}");
}

#[test]
fn a_probe_within_a_storm_is_taken_out_of_the_same_read() {
    let mut network = Network::started(4, &DIAMOND);
    let connection = network.switches[&2].connection.unwrap();
    let probe = network.probes[&fake::port(1, 2)].clone();
    let before = count(&mut network, FrameClass::LinkProbe).taken();
    let mut read = storm(5_000, MacAddress::BROADCAST, EtherType::GOOSE);
    fake::emit_packet_in(PortNumber(1), &probe, &mut read);
    read.extend(storm(5_000, MacAddress::BROADCAST, EtherType::GOOSE));

    network.receive(connection, &read);

    assert_eq!(
        count(&mut network, FrameClass::LinkProbe).taken(),
        before + 1
    );
    let storm = count(&mut network, FrameClass::Multicast);
    assert_eq!((storm.offered, storm.taken()), (10_000, 1_000));
}

#[test]
fn a_storm_of_one_class_at_one_switch_takes_nothing_from_others() {
    let mut network = Network::with(5, &RING, |config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    });
    network.connect_all();
    let [one, other] = [1, 2].map(|switch| network.switches[&switch].connection.unwrap());

    network.receive(one, &storm(20_000, MacAddress::BROADCAST, EtherType::ARP));
    network.receive(one, &storm(10, mac(2), EtherType::IPV4));
    network.receive(other, &storm(10, MacAddress::BROADCAST, EtherType::ARP));

    let arp = FrameClass::AddressResolution;
    let dropped = |statistics: &Statistics, switch: u64, class| {
        let mut switches = statistics.switches.iter();
        let frames = &switches.find(|it| it.datapath.0 == switch).unwrap().frames;
        frames.iter().find(|it| it.class == class).unwrap().dropped
    };
    let statistics = statistics(&mut network);
    assert!(dropped(&statistics, 1, arp) >= 18_000);
    assert_eq!(dropped(&statistics, 1, FrameClass::Unicast), 0);
    assert_eq!(dropped(&statistics, 2, arp), 0);
    // What was taken was not flooded all the same: it occupies the others.
    assert!(statistics.counters.floods_dropped >= 1_800);
}

#[test]
fn what_was_counted_of_a_switch_outlives_its_connection() {
    let mut network = Network::started(4, &DIAMOND);
    let connection = network.switches[&1].connection.unwrap();
    network.receive(connection, &storm(7, mac(2), EtherType::GOOSE));

    network.disconnect(1);

    assert_eq!(count(&mut network, FrameClass::Unicast).offered, 7);
    assert_eq!(statistics(&mut network).switches.len(), 3);
}

fn statistics(network: &mut Network) -> Statistics {
    match &network.request(Request::Statistics)[..] {
        [Reply::Statistics(statistics)] => (**statistics).clone(),
        other => panic!("{other:?}"),
    }
}

/// Returns what was counted of a class at all switches together.
fn count(network: &mut Network, class: FrameClass) -> ClassCount {
    let statistics = statistics(network);
    let mut counts = statistics.frames.iter();
    *counts
        .find(|count| count.class == class)
        .expect("every class is counted")
}

/// Returns packet-ins of frames from as many sources, at the port of hosts.
fn storm(frames: u16, destination: MacAddress, ether_type: EtherType) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..frames {
        let [a, b] = number.to_be_bytes();
        let header = Header {
            destination,
            source: MacAddress([2, 1, 0, 0, a, b]),
            vlan: None,
            ether_type,
        };
        let mut frame = Vec::new();
        header.emit(&mut frame);
        frame.resize(60, 0);
        fake::emit_packet_in(PortNumber(HOST_PORT), &frame, &mut bytes);
    }
    bytes
}

fn mac(host: u64) -> MacAddress {
    fake::mac(host)
}
