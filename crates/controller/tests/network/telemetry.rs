//! What switches say of their ports, tables and flows, when somebody asks.

use std::collections::BTreeMap;

use controller::northbound::{FlowId, SwitchStatistics};
use controller::telemetry::{ASKED_EVERY, FlowCount};
use controller::{Reply, Request};

use super::DIAMOND;
use super::fake::{ENTRY_PACKETS, Network, carried, group, requirement};

#[test]
fn who_asks_again_gets_what_switches_have_said_since() {
    let mut network = Network::started(4, &DIAMOND);
    let flow = network
        .admit(requirement("f", 1, &[4], group(1)))
        .unwrap()
        .id;
    let first = statistics(&mut network);
    assert!(
        first
            .iter()
            .all(|switch| switch.ports.is_empty() && switch.flows.is_empty())
    );

    let second = statistics(&mut network);

    let of_the_flow = FlowCount {
        packets: ENTRY_PACKETS,
        bytes: 0,
    };
    for switch in &second {
        let fake = &network.switches[&switch.datapath.0];
        let ports: Vec<_> = fake.ports.keys().map(|port| carried(*port)).collect();
        assert_eq!(switch.ports, ports);
        assert_eq!(switch.tables[0].entries as usize, fake.entries.len());
        assert_eq!(switch.wanted_entries, fake.entries.len());
    }
    // Both ends are on every way of it, with one entry each; the ways between have guards,
    // which are none of its entries.
    let expected: BTreeMap<FlowId, FlowCount> = [(flow, of_the_flow)].into();
    assert_eq!(second[3].flows, expected);
}

#[test]
fn a_network_that_nobody_watches_is_asked_nothing_and_others_not_without_end() {
    let mut network = Network::started(4, &DIAMOND);
    network.pass(ASKED_EVERY * 20_u64);
    assert!(network.switches.values().all(|it| it.asked_for_counts == 0));

    for _ in 0..5 {
        statistics(&mut network);
    }
    assert!(network.switches.values().all(|it| it.asked_for_counts == 1));

    network.pass(ASKED_EVERY);
    statistics(&mut network);
    assert!(network.switches.values().all(|it| it.asked_for_counts == 2));
}

fn statistics(network: &mut Network) -> Vec<SwitchStatistics> {
    match &network.request(Request::Statistics)[..] {
        [Reply::Statistics(statistics)] => statistics.switches.clone(),
        other => panic!("{other:?}"),
    }
}
