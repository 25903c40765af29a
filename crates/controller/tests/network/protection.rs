//! What a switch that floods, lies, flaps or stalls does to the others: nothing.

use std::collections::BTreeMap;

use controller::northbound::{
    ApplicationKind, ClassCount, FrameClass, Manifest, PromiseState, Statistics,
};
use controller::{Event, Reply, Request};
use proptest::prelude::*;
use units::Duration;
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::PortNumber;

use super::fake::{self, HOST_PORT, Network, UNCLAIMED, group, requirement};
use super::{DIAMOND, RING, promise};

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
    fake::emit_packet_in(PortNumber(1), UNCLAIMED, &probe, &mut read);
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

#[test]
fn a_link_that_flaps_is_left_alone_until_it_has_stayed() {
    let mut network = Network::started(4, &DIAMOND);
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();

    for _ in 0..50 {
        network.cut(1, 2);
        network.heal(1, 2);
        network.pass(Duration::from_ms(100));
    }
    let losses = count_of(&network, |event| matches!(event, Event::LinkLost { .. }));
    let told = count_of(&network, |event| matches!(event, Event::LinkFlaps { .. }));
    let held = network.topology().links;
    let reached = network.trace(1, group(1)).0;
    network.pass(Duration::from_secs(25));

    assert_eq!((losses, told, held), (7, 1, 3));
    assert_eq!(reached, BTreeMap::from([(4, 1)]));
    assert_eq!(network.topology().links, 4);
}

/// Who has no other way has nothing to lose by a link that may go again.
#[test]
fn a_link_that_flapped_is_believed_when_a_promised_flow_has_no_other() {
    let mut network = Network::started(4, &DIAMOND);
    let trip = requirement("trip", 1, &[4], group(1));
    let flow = network.admit(trip).unwrap();
    for _ in 0..10 {
        network.cut(1, 2);
        network.heal(1, 2);
        network.pass(Duration::from_ms(100));
    }
    let held = network.topology().links;

    network.cut(1, 3);
    network.pass(Duration::from_secs(1));

    assert_eq!((held, network.topology().links), (3, 3));
    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
    assert_eq!(promise(&mut network, flow.id).state, PromiseState::Holds);
}

/// A link that is not believed carries frames all the same: floods keep off it.
#[test]
fn nothing_is_flooded_over_a_link_that_flaps_and_is_left_alone() {
    let mut network = forwarding(&RING);

    for _ in 0..10 {
        network.cut(1, 2);
        network.heal(1, 2);
        network.pass(Duration::from_ms(100));
    }

    assert_eq!(network.topology().links, 4);
    assert_reached_once(&mut network, 1);
}

/// A host in the place of a switch is reached once nothing was heard of the switch.
#[test]
fn a_host_in_the_place_of_a_switch_is_flooded_to_after_a_while() {
    let mut network = forwarding(&RING);
    network.cut(1, 2);
    network.pass(Duration::from_secs(1));

    // Both ends have a carrier again, of whoever is there.
    for end in fake::link(1, 2).both() {
        network.plug(end, true);
    }
    network.pass(Duration::from_secs(10));

    let at = fake::port(1, 2);
    let before = network.sent.get(&at).copied();
    assert_reached_once(&mut network, 3);
    assert_eq!(
        network.sent.get(&at).copied(),
        Some(before.unwrap_or(0) + 1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever links do, whatever is flooded arrives no more than once.
    #[test]
    fn what_is_flooded_arrives_once_in_any_order_of_what_links_do(
        steps in prop::collection::vec((0..5_usize, any::<bool>(), 1..2_000_u64), 1..40),
    ) {
        let mut network = forwarding(&RING);
        for (link, is_cut, ms) in steps {
            let (one, other) = RING[link];
            match is_cut {
                true => network.cut(one, other),
                false => network.heal(one, other),
            }
            network.pass(Duration::from_ms(ms));
            let host = 1 + u64::try_from(link).unwrap();
            let reached = network.ask_for_address(host, host);
            prop_assert!(reached.values().all(|times| *times == 1), "{reached:?}");
        }
    }
}

/// Returns a network whose frames reactive forwarding forwards.
fn forwarding(links: &[(u64, u64)]) -> Network {
    let mut network = Network::with(5, links, |config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    });
    network.connect_all();
    network
}

/// Has a host ask for an address: that reaches every other one, once.
#[track_caller]
fn assert_reached_once(network: &mut Network, host: u64) {
    let others = (1..=5).filter(|other| *other != host);
    let once: BTreeMap<u64, usize> = others.map(|other| (other, 1)).collect();
    assert_eq!(network.ask_for_address(host, host), once);
}

/// Two hosts that pass probes on to each other are no link.
#[test]
fn a_link_that_appears_between_hosts_is_not_believed() {
    let mut network = Network::started(4, &DIAMOND);
    network.pass(Duration::from_secs(20));
    let relay = |network: &mut Network| {
        for (from, to) in [(1, 3), (3, 1), (1, 3)] {
            let [from, to] = [from, to].map(|at| fake::port(at, u64::from(HOST_PORT)));
            let connection = network.switches[&to.datapath.0].connection.unwrap();
            let mut bytes = Vec::new();
            fake::emit_packet_in(to.port, UNCLAIMED, &network.probes[&from], &mut bytes);
            network.receive(connection, &bytes);
        }
    };

    // Their frames were discarded by their switches: a frame of a stranger that
    // they carry is what is seen.
    for switch in [1, 3] {
        let connection = network.switches[&switch].connection.unwrap();
        network.receive(connection, &storm(1, mac(2), EtherType::GOOSE));
    }
    relay(&mut network);
    relay(&mut network);

    assert_eq!(network.topology().links, 4);
    let told = count_of(&network, |event| matches!(event, Event::LinkDoubted { .. }));
    assert_eq!(told, 1);
    assert!(count(&mut network, FrameClass::LinkProbe).taken() > 0);
}

#[test]
fn a_probe_that_was_recorded_makes_no_link_later() {
    let mut network = Network::started(4, &DIAMOND);
    let recorded = network.probes[&fake::port(1, 2)].clone();
    let foreign = count(&mut network, FrameClass::ForeignLldp).offered;
    network.pass(Duration::from_secs(10));
    let connection = network.switches[&3].connection.unwrap();
    let mut bytes = Vec::new();
    fake::emit_packet_in(PortNumber(HOST_PORT), UNCLAIMED, &recorded, &mut bytes);

    network.receive(connection, &bytes);

    assert_eq!(
        count(&mut network, FrameClass::ForeignLldp).offered,
        foreign + 1
    );
}

fn count_of(network: &Network, is_it: impl Fn(&Event) -> bool) -> usize {
    network.events.iter().filter(|event| is_it(event)).count()
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
        fake::emit_packet_in(PortNumber(HOST_PORT), UNCLAIMED, &frame, &mut bytes);
    }
    bytes
}

fn mac(host: u64) -> MacAddress {
    fake::mac(host)
}
