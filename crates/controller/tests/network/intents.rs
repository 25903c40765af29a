//! Intents: what is kept while the network changes.

use std::collections::BTreeMap;

use controller::northbound::{
    Endpoint, Extent, FlowMatch, FrameAction, FrameMatch, Intent, IntentDecision, IntentId,
    IntentKind, IntentRefusal, IntentState, IntentSummary, Scope, Waypoint,
};
use controller::store::Key;
use controller::{Event, Input, Reply, Request, StoreEvent, StoreWrite};
use proptest::prelude::*;
use units::Duration;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::{DatapathId, PortNumber};

use crate::fake::{HOST_PORT, Network, group, link, mac, port};
use crate::{DIAMOND, RETURN, RING};

const SOON: Duration = Duration::from_ms(50);

#[test]
fn two_hosts_reach_each_other_and_nobody_else_does() {
    let mut network = Network::started(4, &DIAMOND);

    let id = add(&mut network, pair(1, 4)).unwrap();

    assert_eq!(reached(&mut network, 1, mac(4)), [4]);
    assert_eq!(reached(&mut network, 4, mac(1)), [1]);
    assert_eq!(reached(&mut network, 2, mac(4)), [0; 0]);
    assert_eq!(state(&mut network, id), IntentState::Installed);
}

/// A request for an address goes to all; so does the solicitation of a neighbour.
#[test]
fn hosts_that_know_only_ip_addresses_find_those_they_are_connected_with() {
    let mut network = Network::started(5, &RING);
    add(&mut network, pair(1, 3)).unwrap();
    add(&mut network, pair(1, 4)).unwrap();
    network.pass(SOON);

    let solicitation = MacAddress([0x33, 0x33, 0xff, 0, 0, 4]);
    for to_all in [MacAddress::BROADCAST, solicitation] {
        assert_eq!(reached(&mut network, 1, to_all), [3, 4]);
        assert_eq!(reached(&mut network, 3, to_all), [1]);
        assert_eq!(reached(&mut network, 2, to_all), [0; 0]);
    }
    remove(&mut network, "h1-h3");
    network.pass(SOON);
    assert_eq!(reached(&mut network, 1, MacAddress::BROADCAST), [4]);
}

#[test]
fn an_intent_moves_away_from_a_broken_link_and_back_when_it_has_stayed() {
    let mut network = Network::started(5, &RING);
    let id = add(&mut network, pair(1, 3)).unwrap();
    let usual = summary(&mut network, id).routes;

    network.cut(1, 2);
    let detour = summary(&mut network, id).routes;
    let still = reached(&mut network, 1, mac(3));
    network.heal(1, 2);
    network.pass(Duration::from_ms(100));
    let too_early = summary(&mut network, id).routes;
    network.pass(RETURN);

    assert_eq!(usual[0].switches, ["s1", "s2", "s3"]);
    assert_eq!(detour[0].switches, ["s1", "s5", "s4", "s3"]);
    assert_eq!(detour[1].switches, ["s3", "s4", "s5", "s1"]);
    assert_eq!(still, [3]);
    assert_eq!(too_early, detour);
    assert_eq!(summary(&mut network, id).routes, usual);
    assert_eq!(reached(&mut network, 3, mac(1)), [1]);
}

#[test]
fn an_intent_goes_back_though_the_way_around_is_as_short() {
    let mut network = Network::started(4, &DIAMOND);
    let id = add(&mut network, pair(1, 4)).unwrap();
    let usual = summary(&mut network, id).routes;
    let [near, far] = [2, 3].map(|middle| format!("s{middle}"));
    let middle = &usual[0].switches[1];
    let (cut, other) = if *middle == near {
        (2, &far)
    } else {
        (3, &near)
    };

    network.cut(1, cut);
    let detour = summary(&mut network, id).routes;
    network.heal(1, cut);
    network.pass(Duration::from_ms(100));
    let too_early = summary(&mut network, id).routes;
    network.pass(RETURN);

    assert_eq!(detour[0].switches, ["s1", other, "s4"]);
    assert_eq!(too_early, detour);
    assert_eq!(summary(&mut network, id).routes, usual);
    assert_eq!(reached(&mut network, 4, mac(1)), [1]);
}

#[test]
fn a_change_that_concerns_no_intent_sends_nothing() {
    let mut network = Network::started(5, &RING);
    add(&mut network, pair(1, 2)).unwrap();
    network.pass(SOON);
    let before = flow_mods(&network);

    network.cut(3, 4);
    network.heal(3, 4);
    network.pass(RETURN);

    assert_eq!(flow_mods(&network), before);
}

#[test]
fn an_intent_that_cannot_hold_says_why_and_holds_as_soon_as_it_can() {
    let mut network = Network::started(4, &DIAMOND);
    let id = add(&mut network, pair(1, 4)).unwrap();

    network.cut(1, 2);
    network.cut(1, 3);
    let waits = state(&mut network, id);
    network.heal(1, 3);
    network.pass(SOON);

    let IntentState::Waiting { reason } = waits else {
        panic!("{waits:?}")
    };
    assert!(reason.contains("no path leads"), "{reason}");
    assert_eq!(reached(&mut network, 1, mac(4)), [4]);
    let states: Vec<&IntentState> = network
        .events
        .iter()
        .filter_map(|event| match event {
            Event::IntentChanged { intent, state, .. } if *intent == id => Some(state),
            _ => None,
        })
        .collect();
    assert!(matches!(
        states[..],
        [
            ..,
            IntentState::Waiting { .. },
            IntentState::Installing,
            IntentState::Installed
        ]
    ));
}

#[test]
fn an_intent_follows_a_host_that_moves() {
    let mut network = Network::started(5, &RING);
    network.cut(5, 1);
    add(&mut network, pair(1, 2)).unwrap();

    network.move_host(2, 4);

    let (there, _) = network.trace(1, mac(2));
    assert_eq!(there, BTreeMap::from([(4, 1)]));
    let (back, _) = network.trace_from(2, port(4, u64::from(HOST_PORT)), mac(1));
    assert_eq!(back, BTreeMap::from([(1, 1)]));
}

#[test]
fn intents_survive_a_restart() {
    let mut network = Network::started(4, &DIAMOND);
    let id = add(&mut network, pair(1, 4)).unwrap();

    network.restart_controller(4, &DIAMOND);
    network.pass(SOON);

    assert_eq!(reached(&mut network, 1, mac(4)), [4]);
    assert_eq!(reached(&mut network, 1, MacAddress::BROADCAST), [4]);
    assert_eq!(state(&mut network, id), IntentState::Installed);
}

/// The links are found only after the switches have said what they have: until then
/// nobody knows that these rules are wanted.
#[test]
fn a_restart_of_the_controller_deletes_no_rule_of_an_intent() {
    let mut network = Network::started(5, &RING);
    add(&mut network, pair(1, 3)).unwrap();
    network.pass(SOON);
    let before = crate::entries(&network);
    let deleted = |network: &Network| -> usize {
        let switches = network.switches.values();
        switches.map(|fake| fake.deleted).sum()
    };
    let deleted_before = deleted(&network);

    network.restart_controller(5, &RING);
    network.pass(Duration::from_secs(30));

    assert_eq!(crate::entries(&network), before);
    assert_eq!(deleted(&network), deleted_before);
}

/// What was removed while nobody looked is noticed when the network has been found.
#[test]
fn rules_of_an_intent_that_is_gone_go_once_the_network_is_found() {
    let mut network = Network::started(5, &RING);
    let empty = rules(&network);
    add(&mut network, pair(1, 3)).unwrap();
    network.pass(SOON);
    let intents = |record: &StoreWrite| matches!(record.key, Key::Intent(_));
    network.records.retain(|_, record| !intents(record));

    network.restart_controller(5, &RING);
    let at_once = rules(&network);
    network.pass(Duration::from_secs(60));

    assert_ne!(at_once, empty);
    assert_eq!(rules(&network), empty);
}

#[test]
fn an_intent_that_is_removed_leaves_nothing_behind() {
    let mut network = Network::started(4, &DIAMOND);
    let before: Vec<usize> = rules(&network);
    let id = add(&mut network, pair(1, 4)).unwrap();
    let with = rules(&network);

    let replies = network.request(Request::RemoveIntent("h1-h4".into()));
    let again = network.request(Request::RemoveIntent("h1-h4".into()));

    assert_eq!(replies, [Reply::IntentRemoved(id)]);
    assert_eq!(again, [Reply::UnknownIntent("h1-h4".into())]);
    assert_ne!(with, before);
    assert_eq!(rules(&network), before);
}

#[test]
fn an_intent_that_the_store_does_not_keep_is_refused() {
    let mut network = Network::started(4, &DIAMOND);
    network.store_works = false;

    let refused = add(&mut network, pair(1, 4));

    assert_eq!(refused, Err(IntentRefusal::NotStored));
    assert_eq!(reached(&mut network, 1, mac(4)), [0; 0]);
    network.store_works = true;
    assert!(add(&mut network, pair(1, 4)).is_ok());
}

#[test]
fn each_intent_of_a_request_is_decided_by_itself() {
    let mut network = Network::started(4, &DIAMOND);
    let stranger = Intent {
        name: "stranger".into(),
        kind: IntentKind::HostToHost {
            one: "h1".into(),
            other: "nobody".into(),
        },
    };
    let twice = pair(1, 4);
    let all = vec![pair(1, 4), stranger, twice, pair(2, 2)];

    let replies = network.request(Request::AddIntents(all));

    let [Reply::IntentDecisions(decisions)] = &replies[..] else {
        panic!("{replies:?}")
    };
    let reasons = decisions.iter().map(|decision| match decision {
        IntentDecision::Accepted { .. } => None,
        IntentDecision::Refused { reason, .. } => Some(reason.clone()),
    });
    let [first, second, third, fourth] = &reasons.collect::<Vec<_>>()[..] else {
        panic!("four decisions")
    };
    assert_eq!(*first, None);
    let name = "nobody".to_owned();
    assert_eq!(*second, Some(IntentRefusal::UnknownHost { name }));
    let name = "h1-h4".to_owned();
    assert_eq!(*third, Some(IntentRefusal::NameTaken { name }));
    assert!(matches!(fourth, Some(IntentRefusal::Senseless(_))));
}

/// Measurements and trips are multicast.
#[test]
fn a_multicast_intent_brings_each_frame_once_to_each_receiver() {
    let mut network = Network::started(5, &RING);
    let publish = Intent {
        name: "sv".into(),
        kind: IntentKind::Multicast {
            from: host(1),
            to: [3, 4, 5].map(host).to_vec(),
            matching: to_group(1),
        },
    };

    add(&mut network, publish).unwrap();
    let before = network.trace(1, group(1)).0;
    network.cut(5, 1);
    let after = network.trace(1, group(1)).0;

    let once = BTreeMap::from([(3, 1), (4, 1), (5, 1)]);
    assert_eq!([before, after], [once.clone(), once]);
    assert_eq!(reached(&mut network, 1, group(2)), [0; 0]);
}

#[test]
fn a_flow_path_passes_its_places_and_is_found_anew_when_it_is_partial() {
    let grid = [(1, 2), (2, 3), (1, 4), (2, 5), (3, 6), (4, 5), (5, 6)];
    let mut network = Network::started(6, &grid);
    let through = vec![Waypoint::Switch(DatapathId(5))];
    let id = add(&mut network, path("by-5", through, Extent::Partial)).unwrap();
    let before = summary(&mut network, id).routes[0].switches.clone();

    network.cut(2, 5);
    let after = summary(&mut network, id).routes[0].switches.clone();

    assert_eq!(before, ["s1", "s2", "s5", "s6", "s3"]);
    assert_eq!(after, ["s1", "s4", "s5", "s6", "s3"]);
    assert_eq!(reached(&mut network, 1, group(1)), [3]);
}

#[test]
fn a_flow_path_that_is_said_in_full_waits_where_a_link_of_it_is_broken() {
    let mut network = Network::started(5, &RING);
    let through = vec![
        Waypoint::Link(link(5, 1)),
        Waypoint::Link(link(4, 5)),
        Waypoint::Link(link(3, 4)),
    ];
    let id = add(&mut network, path("long-way", through, Extent::Full)).unwrap();
    let before = reached(&mut network, 1, group(1));

    network.cut(4, 5);

    assert_eq!(before, [3]);
    assert!(matches!(
        state(&mut network, id),
        IntentState::Waiting { .. }
    ));
    assert_eq!(reached(&mut network, 1, group(1)), [0; 0]);
}

#[test]
fn a_match_action_holds_at_switches_to_come() {
    let mut network = Network::new(4, &DIAMOND);
    for switch in 1..=3 {
        network.connect(switch);
    }
    let mirror = match_action(Scope::Everywhere, vec![FrameAction::Output(HOST)]);

    let id = add(&mut network, mirror).unwrap();
    let before = rules(&network);
    network.connect(4);

    assert_eq!(summary(&mut network, id).rules, 4);
    assert_eq!(before, [1, 1, 1, 0]);
    assert_eq!(rules(&network), [1, 1, 1, 1]);
}

#[test]
fn a_record_that_cannot_be_read_is_told_of_and_left_alone() {
    let mut network = Network::started(4, &DIAMOND);

    network.input(Input::Stored(StoreEvent::Written(StoreWrite {
        key: Key::Intent(5),
        value: Some(vec![9]),
    })));

    let intent = IntentId(5);
    assert!(network.events.contains(&Event::IntentUnreadable { intent }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever breaks, comes back and moves: hosts with an intent reach each other
    /// exactly if a path leads there, what goes to a group arrives once everywhere,
    /// and no frame goes round.
    #[test]
    fn frames_get_where_they_are_to_whatever_happens(
        changes in prop::collection::vec(any_change(), 1..12),
    ) {
        let mesh = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3), (4, 5), (5, 2)];
        let mut network = Network::started(5, &mesh);
        for (one, other) in [(1, 2), (1, 5), (3, 5)] {
            add(&mut network, pair(one, other)).unwrap();
        }
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
            if change > 100 {
                network.pass(RETURN);
            } else {
                network.pass(SOON);
            }

            let left: Vec<(u64, u64)> =
                mesh.iter().copied().filter(|link| !cut.contains(link)).collect();
            for (one, other) in [(1, 2), (2, 1), (1, 5), (5, 1), (3, 5), (5, 3)] {
                let expected = if joined(&left, one, other) { vec![other] } else { vec![] };
                prop_assert_eq!(reached(&mut network, one, mac(other)), expected);
            }
            let peers = [2, 5].into_iter().filter(|peer| joined(&left, 1, *peer));
            let expected: Vec<u64> = peers.collect();
            prop_assert_eq!(reached(&mut network, 1, MacAddress::BROADCAST), expected);
        }
    }
}

fn any_change() -> impl Strategy<Value = usize> {
    0..200usize
}

pub fn joined(links: &[(u64, u64)], from: u64, to: u64) -> bool {
    let mut seen = vec![from];
    let mut next = 0;
    while let Some(at) = seen.get(next).copied() {
        next += 1;
        for (one, other) in links {
            for (here, there) in [(one, other), (other, one)] {
                if *here == at && !seen.contains(there) {
                    seen.push(*there);
                }
            }
        }
    }
    seen.contains(&to)
}

const HOST: PortNumber = PortNumber(HOST_PORT);

fn pair(one: u64, other: u64) -> Intent {
    Intent {
        name: format!("h{one}-h{other}"),
        kind: IntentKind::HostToHost {
            one: format!("h{one}"),
            other: format!("h{other}"),
        },
    }
}

fn path(name: &str, through: Vec<Waypoint>, extent: Extent) -> Intent {
    Intent {
        name: name.into(),
        kind: IntentKind::Path {
            from: host(1),
            to: host(3),
            through,
            extent,
            matching: to_group(1),
            actions: Vec::new(),
        },
    }
}

fn match_action(at: Scope, actions: Vec<FrameAction>) -> Intent {
    Intent {
        name: "mirror".into(),
        kind: IntentKind::MatchAction {
            at,
            priority: 7,
            matching: to_group(1),
            actions,
        },
    }
}

fn to_group(number: u8) -> FrameMatch {
    FrameMatch {
        flow: FlowMatch {
            ether_type: Some(EtherType::GOOSE),
            destination: Some(group(number)),
            ..FlowMatch::default()
        },
        ..FrameMatch::default()
    }
}

fn host(number: u64) -> Endpoint {
    Endpoint::Host(format!("h{number}"))
}

fn add(network: &mut Network, intent: Intent) -> Result<IntentId, IntentRefusal> {
    match &network.request(Request::AddIntents(vec![intent]))[..] {
        [Reply::IntentDecisions(decisions)] => match &decisions[..] {
            [IntentDecision::Accepted { id, .. }] => Ok(*id),
            [IntentDecision::Refused { reason, .. }] => Err(reason.clone()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn remove(network: &mut Network, name: &str) {
    let replies = network.request(Request::RemoveIntent(name.into()));
    assert!(matches!(replies[..], [Reply::IntentRemoved(_)]));
}

fn summary(network: &mut Network, id: IntentId) -> IntentSummary {
    match &network.request(Request::Intents)[..] {
        [Reply::Intents(intents)] => {
            let mut intents = intents.iter();
            intents
                .find(|intent| intent.id == id)
                .cloned()
                .expect("it is there")
        }
        other => panic!("{other:?}"),
    }
}

fn state(network: &mut Network, id: IntentId) -> IntentState {
    summary(network, id).state
}

/// Returns the hosts that a frame reaches, each as often as it does.
fn reached(network: &mut Network, from: u64, to: MacAddress) -> Vec<u64> {
    let (reached, _) = network.trace(from, to);
    let copies = reached
        .into_iter()
        .flat_map(|(host, times)| vec![host; times]);
    copies.collect()
}

/// Returns how many rules each switch has that are neither flows' nor those that
/// every switch has.
fn rules(network: &Network) -> Vec<usize> {
    let switches = network.switches.values();
    let programmed = |priority: u16| (2..1_000).contains(&priority);
    let counts = switches.map(|switch| {
        let entries = switch.entries.iter();
        entries.filter(|entry| programmed(entry.priority)).count()
    });
    counts.collect()
}

fn flow_mods(network: &Network) -> usize {
    let switches = network.switches.values();
    switches.map(|switch| switch.flow_mods).sum()
}
