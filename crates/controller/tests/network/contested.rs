//! Who has the address of an end of a flow, and is not where that end is.

use std::collections::{BTreeMap, BTreeSet};

use controller::northbound::{ApplicationKind, Dispute, Manifest, PromiseState, Protection};
use controller::{Event, Input, Reply, Request, StoreEvent};
use units::Duration;
use wire::ethernet::MacAddress;

use crate::DIAMOND;
use crate::fake::{FakeSwitch, HOST_PORT, Network, PROMISED, group, mac, port, requirement};

/// The flow goes from the first to the last switch, the others are on its way.
const SOURCE: u64 = 1;
const RECEIVER: u64 = 4;
const APPLICATIONS: [ApplicationKind; 2] = [
    ApplicationKind::Deterministic,
    ApplicationKind::ReactiveForwarding,
];

#[test]
fn a_frame_with_the_address_of_an_end_moves_nothing_and_goes_nowhere() {
    for application in APPLICATIONS {
        let mut network = started(application);
        network
            .admit(requirement("trip", SOURCE, &[RECEIVER], group(1)))
            .unwrap();
        network.pass(Duration::from_secs(1));
        let mut forged = 0;

        for (claimed, at) in [
            (SOURCE, 2),
            (RECEIVER, 2),
            (SOURCE, 3),
            (SOURCE, 4),
            (RECEIVER, 1),
        ] {
            for to in [
                group(1),
                MacAddress::BROADCAST,
                mac(RECEIVER),
                mac(SOURCE),
                mac(2),
            ] {
                let place = port(at, u64::from(HOST_PORT));
                let (reached, queues) = network.trace_from(claimed, place, to);

                assert_eq!(
                    reached,
                    BTreeMap::new(),
                    "{application:?} {claimed} {at} {to}"
                );
                assert!(!queues.contains(&u32::from(PROMISED)));
                forged += 1;
            }
            let (reached, queues) = network.trace(SOURCE, group(1));
            assert_eq!(reached, BTreeMap::from([(RECEIVER, 1)]));
            assert_eq!(queues, BTreeSet::from([u32::from(PROMISED)]));
        }

        let moved = |event: &Event| matches!(event, Event::HostMoved { .. });
        let doubted = |event: &Event| matches!(event, Event::HostDoubted { .. });
        assert!(!network.events.iter().any(moved));
        // One for each end, however many frames there were.
        assert_eq!(network.events.iter().filter(|it| doubted(it)).count(), 2);
        assert_eq!(state(&mut network), PromiseState::Unknown);
        let disputes = disputes(&mut network);
        let total: u64 = disputes.iter().map(|dispute| dispute.frames).sum();
        let hosts: BTreeSet<_> = disputes.iter().map(|it| it.host.as_str()).collect();
        assert_eq!((total, hosts), (forged, BTreeSet::from(["h1", "h4"])));
        assert_eq!(network.controller.counters().frames_contested, forged);
        // Probes go on meanwhile, so time passes as it does.
        network.pass(Duration::from_secs(61));
        assert_eq!(self::disputes(&mut network), []);
        assert_eq!(state(&mut network), PromiseState::Holds);
        let last = network.events.iter().rev().find_map(|event| match event {
            Event::PromiseChanged { promise, .. } => Some(promise.state),
            _ => None,
        });
        assert_eq!(
            last,
            Some(PromiseState::Holds),
            "nobody asked, and it was told"
        );
    }
}

#[test]
fn a_receiver_whose_cable_is_out_may_appear_elsewhere() {
    for application in APPLICATIONS {
        let mut network = started(application);
        network
            .admit(requirement("trip", SOURCE, &[RECEIVER], group(1)))
            .unwrap();

        network.plug(port(RECEIVER, u64::from(HOST_PORT)), false);
        network.trace_from(RECEIVER, port(3, u64::from(HOST_PORT)), mac(9));

        assert_eq!(network.trace(SOURCE, group(1)).0, BTreeMap::from([(3, 1)]));
    }
}

/// What an attacker had forwarded before the flow was admitted does not lead into it.
#[test]
fn what_was_forwarded_for_a_forged_source_ends_when_its_flow_begins() {
    let mut network = started(ApplicationKind::ReactiveForwarding);
    let (home, elsewhere) = (
        port(SOURCE, u64::from(HOST_PORT)),
        port(2, u64::from(HOST_PORT)),
    );
    network.trace(RECEIVER, MacAddress::BROADCAST);
    let (reached, _) = network.trace_from(SOURCE, elsewhere, mac(RECEIVER));
    assert_eq!(reached, BTreeMap::from([(RECEIVER, 1)]));
    network.trace_from(SOURCE, home, MacAddress::BROADCAST);
    let mut to_receiver = requirement("trip", SOURCE, &[RECEIVER], mac(RECEIVER));
    to_receiver.matching.destination = Some(mac(RECEIVER));
    network.admit(to_receiver).unwrap();

    let (reached, queues) = network.trace_from(SOURCE, elsewhere, mac(RECEIVER));

    assert_eq!((reached, queues.len()), (BTreeMap::new(), 0));
}

#[test]
fn a_receiver_that_only_its_flow_remembers_is_not_taken_by_the_first_frame() {
    let mut network = Network::started(4, &DIAMOND);
    let (home, elsewhere) = (port(2, u64::from(HOST_PORT)), port(3, u64::from(HOST_PORT)));
    network.trace_from(9, home, group(9));
    let mut flow = requirement("trip", SOURCE, &[], group(1));
    flow.destinations = vec![mac(9).to_string()];
    network.admit(flow).unwrap();

    network.restart_controller(4, &DIAMOND);
    network.trace_from(9, elsewhere, group(9));

    assert_eq!(network.trace(SOURCE, group(1)).0, BTreeMap::from([(2, 1)]));
    assert_eq!(disputes(&mut network).len(), 1);
}

/// Where the network goes by addresses alone, a forged frame is led onto links of the flow's
/// way. What looks like the flow and comes from elsewhere gets no further than the first
/// switch of the way that it comes to; all else goes on as before.
#[test]
fn beside_proactive_routes_a_flow_is_entered_only_through_the_port_of_its_source() {
    // The way leads from 1 to 4; 5 and 6 stand beside it.
    let links = [(1, 2), (2, 3), (3, 4), (5, 2), (6, 3)];
    for application in APPLICATIONS {
        for (to, destination) in [(mac(RECEIVER), Some(mac(RECEIVER))), (group(1), None)] {
            let mut network = Network::with(6, &links, |config| {
                let routes = ApplicationKind::ProactiveRoutes;
                config.applications = [application, routes].map(Manifest::built_in).to_vec();
            });
            network.connect_all();
            network.pass(Duration::from_secs(1));
            let mut flow = requirement("trip", SOURCE, &[RECEIVER], to);
            flow.matching.destination = destination.or(flow.matching.destination);
            flow.protection = Protection::None;
            network.admit(flow).unwrap();
            network.pass(Duration::from_secs(1));

            for at in [2, 3, 5, 6] {
                let place = port(at, u64::from(HOST_PORT));
                let (reached, queues) = network.trace_from(SOURCE, place, to);

                assert!(!queues.contains(&u32::from(PROMISED)), "from {at}");
                assert!(!reached.contains_key(&RECEIVER), "from {at}: {reached:?}");
            }
            let (reached, queues) = network.trace(SOURCE, to);
            assert_eq!(reached, BTreeMap::from([(RECEIVER, 1)]));
            assert_eq!(queues, BTreeSet::from([u32::from(PROMISED)]));
            assert_eq!(network.trace(SOURCE, mac(5)).0, BTreeMap::from([(5, 1)]));
            assert_eq!(guards(&network), [1, 2, 3]);

            network.request(Request::Withdraw("trip".into()));
            network.pass(Duration::from_secs(1));
            assert_eq!(guards(&network), [0; 0]);
        }
    }
}

#[test]
fn the_guards_of_a_flow_follow_it_onto_another_way() {
    let mut network = started(ApplicationKind::Deterministic);
    network
        .admit(requirement("trip", SOURCE, &[RECEIVER], group(1)))
        .unwrap();
    network.pass(Duration::from_secs(1));
    let before = guards(&network);

    let on_the_way = before[1];
    network.cut(SOURCE, on_the_way);
    network.pass(Duration::from_ms(100));

    assert_eq!(before.len(), 2);
    assert_eq!(guards(&network), [1, 2, 3], "what returns finds its guards");
}

#[test]
fn no_frame_places_an_end_of_a_flow_before_the_store_has_told_all() {
    let mut network = started(ApplicationKind::ReactiveForwarding);
    network
        .admit(requirement("trip", SOURCE, &[RECEIVER], group(1)))
        .unwrap();
    network.pass(Duration::from_secs(1));
    let elsewhere = port(3, u64::from(HOST_PORT));

    let records = network.restart_controller_with_slow_store();
    let (reached, _) = network.trace_from(SOURCE, elsewhere, group(9));
    for record in records {
        network.input(Input::Stored(StoreEvent::Written(record)));
    }
    network.input(Input::Stored(StoreEvent::Replayed));
    network.pass(Duration::from_secs(1));
    network.trace(SOURCE, group(9));

    assert_eq!(reached, BTreeMap::new());
    assert_eq!(
        disputes(&mut network),
        [],
        "the host is where its flow says"
    );
    network.trace_from(SOURCE, elsewhere, group(9));
    let places: Vec<_> = disputes(&mut network).iter().map(|it| it.at).collect();
    assert_eq!(places, [elsewhere]);
}

/// Returns the switches that have guards.
fn guards(network: &Network) -> Vec<u64> {
    let has_one = |switch: &FakeSwitch| switch.entries.iter().any(|entry| entry.priority == 900);
    let guarding = network.switches.iter().filter(|(_, it)| has_one(it));
    guarding.map(|(number, _)| *number).collect()
}

fn started(application: ApplicationKind) -> Network {
    let mut network = Network::with(4, &DIAMOND, |config| {
        config.applications = vec![Manifest::built_in(application)];
    });
    network.connect_all();
    network
}

fn disputes(network: &mut Network) -> Vec<Dispute> {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => flows[0].disputes.clone(),
        other => panic!("{other:?}"),
    }
}

fn state(network: &mut Network) -> PromiseState {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => flows[0].promise.state,
        other => panic!("{other:?}"),
    }
}
