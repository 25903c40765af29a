//! Proactive routes: every two known hosts are connected before they send.

use std::collections::BTreeMap;

use controller::northbound::{ApplicationKind, Manifest};
use controller::{Reply, Request};
use proptest::prelude::*;
use units::Duration;
use wire::ethernet::MacAddress;
use wire::openflow::{Action, MatchField};

use crate::fake::{HOST_PORT, Network, group, mac, port};
use crate::{DIAMOND, RETURN, RING};

/// What changes in a network that comes up is taken together.
const SOON: Duration = Duration::from_ms(50);

#[test]
fn every_two_hosts_reach_each_other_before_anybody_has_sent() {
    let mut network = routed(5, &RING);

    for from in 1..=5 {
        for to in (1..=5).filter(|to| *to != from) {
            let (reached, _) = network.trace(from, mac(to));
            assert_eq!(reached, BTreeMap::from([(to, 1)]), "{from} to {to}");
        }
    }
}

#[test]
fn what_goes_to_all_arrives_once_everywhere_and_also_after_a_link_has_broken() {
    let mut network = routed(5, &RING);
    let others = BTreeMap::from([(2, 1), (3, 1), (4, 1), (5, 1)]);

    for to_all in [MacAddress::BROADCAST, group(1)] {
        assert_eq!(network.trace(1, to_all).0, others);
    }
    network.cut(1, 2);
    network.pass(SOON);

    assert_eq!(network.trace(1, MacAddress::BROADCAST).0, others);
    assert_eq!(network.trace(1, mac(2)).0, BTreeMap::from([(2, 1)]));
}

#[test]
fn each_host_has_one_rule_at_each_switch_whoever_sends() {
    let network = routed(4, &DIAMOND);

    for switch in network.switches.values() {
        let routes = switch.entries.iter().filter(|entry| entry.priority == 200);
        // One for each of four hosts, and one for what goes to all.
        assert_eq!(routes.count(), 5);
    }
}

#[test]
fn a_host_that_moves_and_asks_for_an_address_is_reached_where_it_is() {
    let mut network = routed(5, &RING);

    let heard = network.ask_for_address(2, 4);
    network.pass(RETURN);

    assert_eq!(heard.len(), 4, "all but the port where it asks");
    assert_eq!(network.trace(1, mac(2)).0, BTreeMap::from([(4, 1)]));
    let at = port(4, u64::from(HOST_PORT));
    assert_eq!(
        network.trace_from(2, at, mac(1)).0,
        BTreeMap::from([(1, 1)])
    );
}

#[test]
fn a_switch_that_comes_later_is_part_of_every_route() {
    let mut network = Network::with(4, &DIAMOND, |config| {
        config
            .applications
            .push(Manifest::built_in(ApplicationKind::ProactiveRoutes));
    });
    for switch in 1..=3 {
        network.connect(switch);
    }
    network.pass(SOON);

    network.connect(4);
    network.pass(SOON);

    assert_eq!(network.trace(4, mac(1)).0, BTreeMap::from([(1, 1)]));
    assert_eq!(network.trace(1, mac(4)).0, BTreeMap::from([(4, 1)]));
}

#[test]
fn an_application_that_is_unloaded_takes_its_routes_with_it() {
    let mut network = routed(4, &DIAMOND);

    let replies = network.request(Request::Unload("proactive-routes".into()));
    network.pass(SOON);

    assert_eq!(replies, [Reply::Unloaded]);
    assert_eq!(network.trace(1, mac(4)).0, BTreeMap::new());
    let left = network.switches.values().flat_map(|switch| &switch.entries);
    assert!(
        left.into_iter()
            .all(|entry| !(200..=202).contains(&entry.priority))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// In whatever order switches take what they are told after a cut: only those
    /// that have to change do, and no frame goes round or arrives twice meanwhile.
    #[test]
    fn no_frame_goes_round_while_routes_leave_a_broken_link(
        broken in 0..RING.len(),
        choices in prop::collection::vec(any::<usize>(), 60),
    ) {
        let mut network = routed(5, &RING);
        let before = rules(&network);
        network.delivery_works = false;
        let (one, other) = RING[broken];
        network.cut(one, other);
        network.pass(SOON);

        for choice in choices {
            network.deliver(choice);
            for to in 1..=5 {
                for from in (1..=5).filter(|from| *from != to) {
                    let (reached, _) = network.trace(from, mac(to));
                    prop_assert!(reached.is_empty() || reached == BTreeMap::from([(to, 1)]));
                }
            }
        }
        network.delivery_works = true;
        network.pass(SOON);

        // A tree of the ring loses one of its four links: for one host three
        // switches at most look elsewhere.
        let after = rules(&network);
        for to in 1..=5 {
            let to = mac(to);
            let changed = before.iter().filter(|(key, actions)| {
                key.1 == to && after.get(*key) != Some(*actions)
            });
            prop_assert!(changed.count() <= 3);
            let (reached, _) = network.trace(if to == mac(1) { 2 } else { 1 }, to);
            prop_assert_eq!(reached.len(), 1);
        }
    }

    /// Whatever breaks and comes back, frames get where a path leads, once, and none
    /// goes round.
    #[test]
    fn frames_get_wherever_a_path_leads(
        changes in prop::collection::vec(0..200usize, 1..10),
    ) {
        let mesh = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3), (4, 5), (5, 2)];
        let mut network = routed(5, &mesh);
        let mut cut = Vec::new();
        for change in changes {
            let link = mesh[change % mesh.len()];
            match cut.iter().position(|other| *other == link) {
                Some(place) => {
                    cut.swap_remove(place);
                    network.heal(link.0, link.1);
                }
                None => {
                    cut.push(link);
                    network.cut(link.0, link.1);
                }
            }
            network.pass(if change > 100 { RETURN } else { SOON });

            let left: Vec<(u64, u64)> =
                mesh.iter().copied().filter(|link| !cut.contains(link)).collect();
            for from in 1..=5 {
                let reachable: Vec<u64> = (1..=5)
                    .filter(|to| *to != from && crate::intents::joined(&left, from, *to))
                    .collect();
                for to in (1..=5).filter(|to| *to != from) {
                    let (reached, _) = network.trace(from, mac(to));
                    let expected = reachable.contains(&to).then_some((to, 1));
                    prop_assert_eq!(reached, expected.into_iter().collect());
                }
                let (reached, _) = network.trace(from, MacAddress::BROADCAST);
                let expected: BTreeMap<u64, usize> =
                    reachable.into_iter().map(|to| (to, 1)).collect();
                prop_assert_eq!(reached, expected);
            }
        }
    }
}

/// Returns what switches do with frames to a host.
fn rules(network: &Network) -> BTreeMap<(u64, MacAddress), Vec<Action>> {
    let mut rules = BTreeMap::new();
    for (switch, fake) in &network.switches {
        for entry in fake.entries.iter().filter(|entry| entry.priority == 200) {
            if let [MatchField::EthDst(to)] = entry.matching[..] {
                rules.insert((*switch, to.value), entry.actions.clone());
            }
        }
    }
    rules
}

fn routed(switches: u64, links: &[(u64, u64)]) -> Network {
    let mut network = Network::with(switches, links, |config| {
        config
            .applications
            .push(Manifest::built_in(ApplicationKind::ProactiveRoutes));
    });
    network.connect_all();
    network.pass(SOON);
    network
}
