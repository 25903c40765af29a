//! The controller with a network of the simplest switches.

mod applications;
mod budgets;
mod contested;
mod fake;
mod fast_failover;
mod hops;
mod hosts;
mod intents;
mod inventory;
mod many_moves;
mod modal_flows;
mod mode_promises;
mod modes;
mod neighbours;
mod paths;
mod policing;
mod profiles;
mod promises;
mod protection;
mod routes;
mod rules;
mod seamless;
mod settings;
mod telemetry;
mod together;
mod version10;

use std::collections::{BTreeMap, BTreeSet};

use controller::northbound::{
    ApplicationKind, FlowId, Manifest, Promise, PromiseState, Protection, Travels,
};
use controller::priority;
use controller::refusal::Refusal;
use controller::session::{MAX_CONNECTIONS, MAX_GREETING};
use controller::{CloseReason, Config, ConnectionId, Event, Input, Reply, Request, Requirement};
use fake::{Network, PROMISED, group, link, mac, port, requirement};
use proptest::prelude::*;
use units::{BitRate, DataSize, Delay, Duration};
use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::{
    Capabilities, DatapathId, FeaturesReply, Hello, Message, Sequence, TransactionId,
};

const DIAMOND: [(u64, u64); 4] = [(1, 2), (1, 3), (2, 4), (3, 4)];
const RING: [(u64, u64); 5] = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)];

/// A link has to be back for half a second; then the old ways have to empty.
const RETURN: Duration = Duration::from_ms(1_600);

#[test]
fn links_and_hosts_are_found_as_soon_as_switches_are_connected() {
    let mut network = Network::started(4, &DIAMOND);

    let topology = network.topology();

    assert_eq!(
        (topology.switches, topology.links, topology.hosts),
        (4, 4, 4)
    );
    let found = network
        .events
        .iter()
        .filter(|event| matches!(event, Event::LinkFound { .. }));
    assert_eq!(found.count(), 4);
}

#[test]
fn an_admitted_flow_reaches_its_destination_in_its_queue() {
    let mut network = Network::started(4, &DIAMOND);

    let accepted = network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();

    assert_eq!(accepted.route.switches, ["s1", "s2", "s4"]);
    assert!(accepted.guarantee.unwrap() <= Delay::from_us(20_000));
    assert_eq!(accepted.alternatives.len(), 2);
    let (reached, queues) = network.trace(1, group(1));
    assert_eq!(reached, BTreeMap::from([(4, 1)]));
    assert_eq!(
        queues.into_iter().collect::<Vec<_>>(),
        [u32::from(PROMISED)]
    );
    assert!(network.events.contains(&Event::Installed {
        flow: accepted.id,
        name: Some("trip".to_owned()),
    }));
}

#[test]
fn a_multicast_flow_reaches_each_destination_once() {
    let mut network = Network::started(5, &RING);

    network
        .admit(requirement("sv", 1, &[2, 3, 4, 5], group(1)))
        .unwrap();

    let once = BTreeMap::from([(2, 1), (3, 1), (4, 1), (5, 1)]);
    assert_eq!(network.trace(1, group(1)).0, once);
}

#[test]
fn every_flow_is_restored_whichever_link_breaks() {
    for (one, other) in RING {
        let mut network = Network::started(5, &RING);
        network
            .admit(requirement("sv", 1, &[2, 3, 4, 5], group(1)))
            .unwrap();
        network
            .admit(requirement("trip", 3, &[1, 5], group(2)))
            .unwrap();

        network.cut(one, other);

        let all = BTreeMap::from([(2, 1), (3, 1), (4, 1), (5, 1)]);
        assert_eq!(network.trace(1, group(1)).0, all, "{one}-{other} cut");
        assert_eq!(
            network.trace(3, group(2)).0,
            BTreeMap::from([(1, 1), (5, 1)])
        );
        assert!(
            !network
                .events
                .iter()
                .any(|event| stands(event, PromiseState::NotCovered)
                    || stands(event, PromiseState::Broken))
        );
    }
}

/// S0-3, S1-5.
#[test]
fn a_restoration_says_when_it_began_what_it_sent_and_when_it_was_confirmed() {
    let mut network = Network::started(4, &DIAMOND);
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    network.now += Duration::from_ms(3);

    network.cut(1, 2);

    let at = network.now;
    let about = |event: &&Event| {
        matches!(
            event,
            Event::RestorationStarted { .. }
                | Event::RestorationSent { .. }
                | Event::Restored { .. }
        )
    };
    let events: Vec<&Event> = network.events.iter().filter(about).collect();
    let link = link(1, 2);
    assert_eq!(events.len(), 3);
    assert_eq!(
        *events[0],
        Event::RestorationStarted {
            link,
            detected_at: at
        }
    );
    let (flows, flow_mods) = (1, 3);
    let sent = Event::RestorationSent {
        link,
        detected_at: at,
        flows,
        flow_mods,
    };
    assert_eq!(*events[1], sent);
    assert!(matches!(events[2], Event::Restored { switches: 3, .. }));
}

/// What was prepared leaves in slices, and between two of them a switch goes that all
/// alternatives pass, or the one where all flows begin.
#[test]
fn a_switch_that_goes_amid_a_restoration_keeps_no_flow_from_its_way() {
    for gone in [3, 1] {
        let mut network = Network::with(4, &DIAMOND, |config| {
            for switch in config.switches.values_mut() {
                let wide = Delay::from_us(2_000);
                let processing = switch.processing.as_mut().unwrap();
                processing.budget = wide;
                let ports = switch.ports.values_mut();
                ports.for_each(|port| port.budgets[usize::from(PROMISED)] = Some(wide));
            }
        });
        network.connect_all();
        // The first slice is 64 of them.
        let flows = 0..200;
        for number in flows.clone() {
            let mut flow = requirement(&format!("trip{number}"), 1, &[4], group(number));
            let frame = DataSize::from_bytes(84);
            (flow.traffic.burst, flow.traffic.largest_frame) = (frame, frame);
            flow.traffic.smallest_frame = frame;
            flow.traffic.rate = BitRate::from_bps(10_000);
            network.admit(flow).unwrap();
        }
        let is_sent = |event: &Event| matches!(event, Event::RestorationSent { .. });

        network.set_carrier(port(1, 2), false);
        let was_amid = !network.events.iter().any(is_sent);
        network.disconnect(gone);
        network.connect(gone);
        network.pass(Duration::from_secs(2));

        assert!(was_amid, "a slice was all of it");
        assert!(network.events.iter().any(is_sent));
        let without = link(1, 2);
        let alternatives = travels(&mut network);
        let is_alternative = |way: &Travels| *way == Travels::Alternative { without };
        assert_eq!(alternatives.len(), flows.len());
        assert!(alternatives.iter().all(is_alternative), "{gone} was gone");
        for number in flows {
            let (reached, _) = network.trace(1, group(number));
            assert_eq!(reached, BTreeMap::from([(4, 1)]), "{gone} was gone");
        }
    }
}

#[test]
fn a_flow_returns_when_the_link_is_back_for_a_while() {
    let mut network = Network::started(4, &DIAMOND);
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    let before = entries(&network);
    network.cut(1, 2);

    network.heal(1, 2);
    let at_once = travels(&mut network);
    network.pass(RETURN);

    assert_eq!(
        at_once,
        [Travels::Alternative {
            without: link(1, 2)
        }]
    );
    assert_eq!(travels(&mut network), [Travels::Base]);
    assert!(network.events.contains(&Event::Returned { flows: 1 }));
    assert_eq!(entries(&network), before);
}

#[test]
fn a_second_break_gets_a_detour_without_promise_in_the_lowest_queue() {
    let mut network = Network::started(4, &[(1, 2), (1, 3), (1, 4), (2, 4), (3, 4)]);
    let flow = network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    network.cut(1, 4);

    network.cut(2, 4);

    let promise = promise(&mut network, flow.id);
    assert_eq!(promise.state, PromiseState::NotCovered);
    assert_eq!(travels(&mut network), [Travels::Detour]);
    let (reached, queues) = network.trace(1, group(1));
    assert_eq!(reached, BTreeMap::from([(4, 1)]));
    assert_eq!(queues.into_iter().collect::<Vec<_>>(), [0]);
}

#[test]
fn a_flow_recovers_from_a_second_break() {
    let mut network = Network::started(4, &[(1, 2), (1, 3), (1, 4), (2, 4), (3, 4)]);
    let flow = network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    let before = entries(&network);
    network.cut(1, 4);
    network.cut(2, 4);
    network.pass(Duration::from_ms(100));

    network.heal(1, 4);
    network.heal(2, 4);
    network.pass(RETURN);

    let told: Vec<_> = network.events.iter().filter_map(state_told).collect();
    assert!(told.contains(&PromiseState::NotCovered), "{told:?}");
    assert_eq!(told.last(), Some(&PromiseState::Holds));
    assert_eq!(promise(&mut network, flow.id).state, PromiseState::Holds);
    assert_eq!(entries(&network), before);
}

#[test]
fn a_break_during_a_return_is_restored_all_the_same() {
    let mut network = Network::started(5, &RING);
    network
        .admit(requirement("sv", 1, &[2, 3, 4, 5], group(1)))
        .unwrap();
    network.cut(1, 2);
    network.heal(1, 2);
    network.barriers_work = false;
    network.pass(RETURN);

    network.cut(2, 3);

    let all = BTreeMap::from([(2, 1), (3, 1), (4, 1), (5, 1)]);
    assert_eq!(network.trace(1, group(1)).0, all);
}

#[test]
fn a_flow_without_any_way_takes_the_first_link_that_comes_back_at_once() {
    let mut network = Network::started(4, &DIAMOND);
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    let mut unprotected = requirement("waits", 1, &[4], group(2));
    unprotected.protection = Protection::None;
    network.admit(unprotected).unwrap();
    network.cut(1, 2);
    network.cut(1, 3);
    let cut_off = [1, 2].map(|number| network.trace(1, group(number)).0);

    network.heal(1, 3);
    let by_another = network.trace(1, group(1)).0;
    network.heal(1, 2);
    let by_its_own = network.trace(1, group(2)).0;

    assert_eq!(cut_off, [BTreeMap::new(), BTreeMap::new()]);
    assert_eq!(by_another, BTreeMap::from([(4, 1)]));
    assert_eq!(by_its_own, BTreeMap::from([(4, 1)]));
}

#[test]
fn a_flow_without_protection_waits_for_its_link() {
    let mut network = Network::started(4, &DIAMOND);
    let mut unprotected = requirement("trip", 1, &[4], group(1));
    unprotected.protection = Protection::None;
    let flow = network.admit(unprotected).unwrap();

    network.cut(1, 2);
    let cut_off = network.trace(1, group(1)).0;
    network.heal(1, 2);
    network.pass(RETURN);

    assert_eq!(*flow.alternatives, []);
    assert_eq!(cut_off, BTreeMap::new());
    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
    assert_eq!(promise(&mut network, flow.id).state, PromiseState::Holds);
}

#[test]
fn a_flow_that_cannot_be_restored_is_refused_with_the_link() {
    let mut network = Network::started(3, &[(1, 2), (2, 3)]);

    let refused = network.admit(requirement("trip", 1, &[3], group(1)));

    assert_eq!(
        refused.unwrap_err().to_string(),
        "without link s1-s2 no path leads from h1 to h3"
    );
}

/// S0-6.
#[test]
fn a_flow_that_does_not_fit_is_refused_with_what_would() {
    let mut network = Network::started(4, &DIAMOND);
    let mut greedy = requirement("archive", 1, &[4], group(1));
    greedy.traffic.rate = BitRate::from_mbps(120);

    let refused = network.admit(greedy).unwrap_err();

    let text = refused.to_string();
    assert!(text.contains("Mbit/s would fit"), "{text}");
    assert!(text.contains("link s1-"), "{text}");
}

/// Each flow is a burst of ten frames; two of them fill a link's budget.
#[test]
fn a_flow_takes_a_longer_way_where_the_shortest_has_no_room() {
    let mut network = Network::started(5, &RING);
    let mut admit = |number: u8, to: u64| {
        let name = format!("flow {number}");
        let mut flow = requirement(&name, 1, &[to], group(number));
        flow.traffic.rate = BitRate::from_mbps(1);
        flow.traffic.burst = flow.traffic.largest_frame * 10;
        flow.protection = Protection::None;
        network.admit(flow)
    };

    let routes = [(1, 2), (2, 3), (3, 2)].map(|(number, to)| {
        let accepted = admit(number, to).unwrap();
        accepted.route.switches.join(" ")
    });
    let refused = admit(4, 2);

    assert_eq!(routes, ["s1 s2", "s1 s2 s3", "s1 s5 s4 s3 s2"]);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("s1-s2"), "{text}");
    let (reached, _) = network.trace(1, group(3));
    assert_eq!(reached, BTreeMap::from([(2, 1)]));
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let mut network = Network::started(4, &DIAMOND);
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    let refusal = |network: &mut Network, change: &Change| {
        let mut changed = requirement("other", 1, &[4], group(2));
        change(&mut changed);
        network.admit(changed).unwrap_err()
    };

    let cases: [(&Change, &str); 6] = [
        (&|it| it.name = "trip".into(), "another flow is called trip"),
        (&|it| it.source = "x".into(), "host x is not known"),
        (
            &|it| it.destinations.clear(),
            "0 destinations, where 1 to 256 are possible",
        ),
        (
            &|it| it.class = 0,
            "class 0 is for flows without a deadline",
        ),
        (
            &|it| it.deadline = None,
            "class 6 is for flows with a deadline",
        ),
        (
            &|it| it.matching.destination = Some(group(1)),
            "its frames cannot be told from those of trip",
        ),
    ];
    for (change, text) in cases {
        assert_eq!(refusal(&mut network, change).to_string(), text);
    }
}

#[test]
fn best_effort_is_admitted_without_promise_and_restored() {
    let mut network = Network::started(4, &DIAMOND);
    let mut flood = requirement("flood", 1, &[4], mac(4));
    (flood.deadline, flood.class) = (None, 0);

    let accepted = network.admit(flood).unwrap();
    network.cut(1, 2);

    assert_eq!(accepted.guarantee, None);
    assert_eq!(network.trace(1, mac(4)).0, BTreeMap::from([(4, 1)]));
}

#[test]
fn a_withdrawn_flow_leaves_nothing_behind() {
    let mut network = Network::started(4, &DIAMOND);
    let before = entries(&network);
    let flow = network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();

    let replies = network.request(Request::Withdraw("trip".into()));

    assert_eq!(replies, [Reply::Withdrawn(flow.id)]);
    assert_eq!(entries(&network), before);
    assert!(network.admissions() == 0);
    let again = network.request(Request::Withdraw("trip".into()));
    assert_eq!(again, [Reply::UnknownFlow("trip".into())]);
}

/// S4-6.
#[test]
fn what_promises_rest_on_can_be_seen() {
    let mut network = Network::started(5, &RING);
    let accepted = network.admit(requirement("watched", 1, &[3], group(1)));
    let mut free = requirement("free", 2, &[4], group(2));
    (free.class, free.deadline) = (0, None);
    network.admit(free).unwrap();

    let replies = network.request(Request::Promises);

    let [Reply::Promises(promises)] = &replies[..] else {
        panic!("{replies:?}")
    };
    let [flow] = &promises.flows[..] else {
        panic!("{:?}", promises.flows)
    };
    assert_eq!(flow.name, "watched");
    assert_eq!(Some(flow.guarantee), accepted.unwrap().guarantee);
    let explained = promises.ledger.explain(flow.reservation).unwrap();
    assert_eq!(promises.places.len(), promises.ledger.stages().len());
    assert!(explained.hops.iter().all(|hop| hop.bound <= hop.budget));
}

#[test]
fn what_the_store_cannot_keep_is_refused_and_leaves_nothing_behind() {
    let mut network = Network::started(4, &DIAMOND);
    network.store_works = false;

    let refused = network.admit(requirement("trip", 1, &[4], group(1)));
    network.store_works = true;
    let accepted = network.admit(requirement("trip", 1, &[4], group(1)));

    assert_eq!(refused, Err(Refusal::NotStored));
    assert!(accepted.is_ok());
}

#[test]
fn admissions_survive_a_restart_of_the_controller_with_the_same_promises() {
    let mut network = Network::started(5, &RING);
    for (number, to) in [(1, 3), (2, 4), (3, 5)] {
        let name = format!("flow{number}");
        network
            .admit(requirement(&name, 1, &[to], group(number)))
            .unwrap();
    }
    let before = network.request(Request::Flows);
    let flow_mods = flow_mods(&network);

    network.restart_controller(5, &RING);

    assert_eq!(network.request(Request::Flows), before);
    // The third takes away what a controller with routes may have left.
    let services = 5 * 3;
    let hosts = 5 * 2;
    let after = self::flow_mods(&network);
    assert!(
        after <= flow_mods + services + hosts,
        "entries were rewritten: {flow_mods} FlowMods before, {after} after"
    );
    network.cut(1, 2);
    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(3, 1)]));
}

#[test]
fn a_link_that_broke_while_the_controller_was_away_is_made_up_for() {
    let mut network = Network::started(5, &RING);
    network
        .admit(requirement("trip", 1, &[3], group(1)))
        .unwrap();

    network.cut(1, 2);
    network.restart_controller(5, &RING);

    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(3, 1)]));
    assert_eq!(
        travels(&mut network),
        [Travels::Alternative {
            without: link(1, 2)
        }]
    );
}

#[test]
fn a_switch_that_lost_its_entries_gets_them_back() {
    let mut network = Network::started(4, &DIAMOND);
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    let before = entries(&network);

    network.disconnect(2);
    network.switches.get_mut(&2).unwrap().entries.clear();
    network.connect(2);

    assert_eq!(entries(&network), before);
    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
}

#[test]
fn a_switch_that_was_away_loses_what_was_withdrawn() {
    let mut network = Network::started(4, &DIAMOND);
    let before = entries(&network);
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    network.disconnect(2);

    network.request(Request::Withdraw("trip".into()));
    network.connect(2);

    assert_eq!(entries(&network), before);
}

#[test]
fn a_link_whose_probes_stop_is_lost_without_a_word_from_the_switches() {
    let mut network = Network::started(4, &DIAMOND);
    let flow = network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    network.pass(Duration::from_secs(10));
    let before = network.topology().links;

    network.cut.insert(port(1, 2));
    network.pass(Duration::from_secs(5));

    assert_eq!(before, 4);
    assert_eq!(network.topology().links, 3);
    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
    assert_eq!(flow.id, FlowId(1));
}

#[test]
fn the_flows_of_a_host_move_with_it() {
    let mut network = Network::started(5, &RING);
    network.admit(requirement("to", 1, &[3], group(1))).unwrap();
    let mut from = requirement("from", 3, &[1], group(2));
    from.protection = Protection::None;
    network.admit(from).unwrap();

    network.move_host(3, 4);

    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
    let at_new_port = network.trace_from(3, fake::port(4, 100), group(2)).0;
    assert_eq!(at_new_port, BTreeMap::from([(1, 1)]));
    let replies = network.request(Request::Flows);
    let [Reply::Flows(flows)] = &replies[..] else {
        panic!("{replies:?}")
    };
    assert!(
        flows
            .iter()
            .all(|flow| flow.promise.state == PromiseState::Holds && flow.installed)
    );
    network.pass(RETURN); // Frames may still have been on the old way.
    assert_eq!(network.switches[&3].flow_entries().count(), 0);
}

/// S1-1.
#[test]
fn a_host_is_learned_from_its_first_frame_and_not_asked_for_again() {
    let mut network = Network::with(2, &[(1, 2)], |config| {
        for host in &mut config.hosts {
            host.attachment = None;
        }
    });
    network.connect_all();
    let before = network.topology().hosts;

    network.trace(1, mac(2));
    let punted = network.controller.counters().messages;
    network.trace(1, mac(2));

    assert_eq!(before, 0);
    assert_eq!(network.topology().hosts, 1);
    // Only the request for the topology lies between: no message.
    assert_eq!(network.controller.counters().messages, punted);
}

#[test]
fn a_peer_that_sends_garbage_is_closed_and_the_others_do_not_notice() {
    let mut network = Network::started(4, &DIAMOND);
    let before = entries(&network);
    let stranger = ConnectionId(99);
    network.input(Input::Connected(stranger));

    network.receive(stranger, b"GET / HTTP/1.1\r\n\r\n");

    assert_eq!(network.closed, [(stranger, CloseReason::Garbage)]);
    assert_eq!(network.topology().switches, 4);
    assert_eq!(entries(&network), before);
}

#[test]
fn a_flow_to_its_own_source_is_refused() {
    let mut network = Network::started(4, &DIAMOND);

    let refused = network.admit(requirement("loop", 1, &[2, 1], mac(1)));

    let name = "h1".to_owned();
    assert_eq!(refused, Err(Refusal::ToItself { name }));
}

#[test]
fn thousands_who_say_nothing_keep_no_switch_out() {
    let mut network = Network::started(1, &[]);
    let idle = 1_000_000..1_000_000 + 2 * MAX_CONNECTIONS as u64;
    for number in idle.clone() {
        network.input(Input::Connected(ConnectionId(number)));
    }

    network.disconnect(1);
    network.connect(1);
    network.settle();

    assert_eq!(network.topology().switches, 1);
    let oldest: Vec<_> = network
        .closed
        .iter()
        .map(|(connection, _)| connection.0)
        .collect();
    let expected = idle.take(2 * MAX_CONNECTIONS - MAX_GREETING + 1);
    assert_eq!(oldest, expected.collect::<Vec<_>>());
}

#[test]
fn a_peer_that_says_nothing_is_closed() {
    let mut network = Network::started(4, &DIAMOND);
    let stranger = ConnectionId(99);
    network.input(Input::Connected(stranger));

    network.pass(Duration::from_secs(7));

    assert_eq!(network.closed.len(), 1);
    assert_eq!(network.topology().switches, 4);
}

#[test]
fn a_peer_that_claims_to_be_another_switch_is_closed() {
    let mut network = Network::started(4, &DIAMOND);
    let first = network.switches[&2].connection;

    let second = network.connect(2);

    assert_eq!(network.closed, [(second, CloseReason::Duplicate)]);
    network.switches.get_mut(&2).unwrap().connection = first;
    assert!(
        network
            .admit(requirement("trip", 1, &[2], group(1)))
            .is_ok()
    );
}

#[test]
fn forwarding_floods_without_loops_and_then_follows_what_it_learned() {
    let mut network = Network::with(5, &RING, |config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    });
    network.connect_all();

    let flooded = network.trace(1, mac(3)).0;
    let answered = network.trace(3, mac(1)).0;
    let followed = network.trace(1, mac(3)).0;
    let messages = network.controller.counters().messages;
    let by_entries = network.trace(1, mac(3)).0;

    assert_eq!(flooded, BTreeMap::from([(2, 1), (3, 1), (4, 1), (5, 1)]));
    assert_eq!(answered, BTreeMap::from([(1, 1)]));
    assert_eq!(followed, BTreeMap::from([(3, 1)]));
    assert_eq!(by_entries, followed);
    assert_eq!(network.controller.counters().messages, messages);
}

#[test]
fn forwarding_finds_another_way_when_a_link_breaks() {
    let mut network = Network::with(5, &RING, |config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    });
    network.connect_all();
    network.trace(1, mac(3));
    network.trace(3, mac(1));

    network.cut(1, 2);
    network.trace(1, mac(3));
    network.trace(3, mac(1));

    assert_eq!(network.trace(1, mac(3)).0, BTreeMap::from([(3, 1)]));
}

#[test]
fn what_switches_forward_goes_on_while_the_controller_is_started_anew() {
    let reactive = |config: &mut Config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    };
    let mut network = Network::with(5, &RING, reactive);
    network.connect_all();
    for _ in 0..2 {
        network.trace(1, mac(3));
        network.trace(3, mac(1));
    }
    let learned = |network: &Network| {
        let of = |fake: &fake::FakeSwitch| {
            let entries = fake.entries.iter();
            entries
                .filter(|it| it.priority == priority::REACTIVE_FORWARDING)
                .count()
        };
        network.switches.values().map(of).collect::<Vec<_>>()
    };
    let before = learned(&network);

    let mut config = fake::config(5, &RING);
    reactive(&mut config);
    network.restart_controller_as(config);
    network.pass(Duration::from_secs(5));
    let after = learned(&network);
    let by_another = network.trace(2, mac(3)).0;
    network.cut(1, 2);
    network.trace(1, mac(3));
    network.trace(3, mac(1));
    let around = network.trace(1, mac(3)).0;

    assert_eq!(before.iter().sum::<usize>(), 6);
    assert_eq!(after, before);
    // It is known where the station is, though it has said nothing since.
    assert_eq!(by_another, BTreeMap::from([(3, 1)]));
    assert_eq!(around, BTreeMap::from([(3, 1)]));
}

/// The link on the other side of the ring is none of theirs.
#[test]
fn traffic_that_a_cut_does_not_concern_does_not_notice_it() {
    let mut network = Network::with(5, &RING, |config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    });
    network.connect_all();
    for _ in 0..2 {
        network.trace(1, mac(2));
        network.trace(2, mac(1));
    }

    network.cut(4, 5);
    let messages = network.controller.counters().messages;

    assert_eq!(network.trace(1, mac(2)).0, BTreeMap::from([(2, 1)]));
    assert_eq!(network.trace(2, mac(1)).0, BTreeMap::from([(1, 1)]));
    assert_eq!(network.controller.counters().messages, messages);
}

/// Entries to where it was would hold as long as somebody uses them.
#[test]
fn a_station_that_moved_is_reached_where_it_is_as_soon_as_it_sends() {
    let mut network = Network::with(5, &RING, |config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    });
    network.connect_all();
    for _ in 0..2 {
        network.trace(1, mac(3));
        network.trace(3, mac(1));
    }

    network.trace_from(3, fake::port(5, 100), mac(1));

    assert_eq!(network.trace(1, mac(3)).0, BTreeMap::from([(5, 1)]));
}

proptest! {
    /// Bytes from a stranger, cut anywhere, before or after a good beginning.
    #[test]
    fn no_bytes_from_a_stranger_disturb_anything(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..12),
        politeness in 0..4usize,
    ) {
        let mut network = Network::started(4, &DIAMOND);
        network.admit(requirement("trip", 1, &[4], group(1))).unwrap();
        let before = entries(&network);
        let stranger = ConnectionId(99);
        network.input(Input::Connected(stranger));

        network.receive(stranger, &polite_beginning(politeness));
        for piece in &pieces {
            network.receive(stranger, piece);
        }

        prop_assert_eq!(network.topology().links, 4);
        prop_assert_eq!(entries(&network), before);
        prop_assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
    }

    /// Messages of a switch that is known, with a byte changed.
    #[test]
    fn no_message_of_a_switch_makes_the_controller_panic(
        kind in 0u8..32,
        body in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut network = Network::started(4, &DIAMOND);
        network.admit(requirement("trip", 1, &[4], group(1))).unwrap();
        let connection = network.switches[&2].connection.unwrap();
        let mut message = vec![4, kind, 0, u8::try_from(body.len() + 8).unwrap(), 0, 0, 0, 1];
        message.extend(&body);

        network.receive(connection, &message);

        prop_assert_eq!(network.topology().flows, 1);
    }

    /// On any network, whichever link breaks, every flow that was admitted with
    /// protection still reaches each of its destinations once.
    #[test]
    fn protected_flows_survive_any_one_break(
        chords in prop::collection::vec((1..8u64, 1..8u64), 0..6),
        flows in prop::collection::vec(
            (1..8u64, prop::collection::btree_set(1..8u64, 1..4)), 1..8),
        broken in any::<prop::sample::Index>(),
    ) {
        let mut links: BTreeSet<(u64, u64)> =
            [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (1, 7)].into();
        links.extend(chords.iter().filter(|(one, other)| one < other));
        let links: Vec<(u64, u64)> = links.into_iter().collect();
        let mut network = Network::started(7, &links);
        for (number, (source, destinations)) in (0u8..).zip(&flows) {
            let to: Vec<u64> = destinations.iter().copied().filter(|to| to != source).collect();
            let name = format!("flow{number}");
            if !to.is_empty() {
                network.admit(requirement(&name, *source, &to, group(number))).unwrap();
            }
        }
        let before = entries(&network);
        let (one, other) = *broken.get(&links);

        network.cut(one, other);

        for (number, (source, destinations)) in (0u8..).zip(&flows) {
            let to = destinations.iter().filter(|to| *to != source);
            let once: BTreeMap<u64, usize> = to.map(|to| (*to, 1)).collect();
            prop_assert_eq!(network.trace(*source, group(number)).0, once);
        }
        network.heal(one, other);
        network.barriers_work = false;
        network.pass(RETURN);
        while network.release() {
            for (number, (source, destinations)) in (0u8..).zip(&flows) {
                let reached = network.trace(*source, group(number)).0;
                let mut to = destinations.iter().filter(|to| *to != source);
                prop_assert!(to.all(|to| reached.contains_key(to)), "lost on the way back");
            }
        }
        network.barriers_work = true;
        network.pass(RETURN);
        prop_assert_eq!(entries(&network), before);
    }
}

proptest! {
    /// However slow and in whatever order the messages of a restoration and of
    /// the return reach the switches, no frame ever loops, and on the return
    /// none is lost.
    #[test]
    fn no_order_of_delivery_makes_a_loop(
        chords in prop::collection::vec((1..8u64, 1..8u64), 0..6),
        source in 1..8u64,
        destinations in prop::collection::btree_set(1..8u64, 1..4),
        broken in any::<prop::sample::Index>(),
        choices in prop::collection::vec(0..7usize, 200),
    ) {
        let mut links: BTreeSet<(u64, u64)> =
            [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (1, 7)].into();
        links.extend(chords.iter().filter(|(one, other)| one < other));
        let links: Vec<(u64, u64)> = links.into_iter().collect();
        let to: Vec<u64> = destinations.into_iter().filter(|to| *to != source).collect();
        prop_assume!(!to.is_empty());
        let mut network = Network::started(7, &links);
        network.admit(requirement("sv", source, &to, group(1))).unwrap();
        let before = entries(&network);
        network.delivery_works = false;
        let (one, other) = *broken.get(&links);
        let mut choices = choices.into_iter().cycle();

        network.cut(one, other);
        while network.deliver(choices.next().unwrap()) {
            network.trace(source, group(1)); // Panics if a frame loops.
        }
        network.heal(one, other);
        while network.deliver(choices.next().unwrap()) {
            network.settle();
        }
        for _ in 0..2 {
            network.pass(RETURN); // Once to return, once to clear the old way.
            while network.deliver(choices.next().unwrap()) {
                let reached = network.trace(source, group(1)).0;
                prop_assert!(to.iter().all(|to| reached.contains_key(to)), "{reached:?}");
            }
        }
        prop_assert_eq!(entries(&network), before);
    }
}

/// Returns the first messages of a switch, as many as `count`.
fn polite_beginning(count: usize) -> Vec<u8> {
    let mut stream = Vec::new();
    let features = FeaturesReply {
        datapath: DatapathId(77),
        buffers: 0,
        tables: 1,
        auxiliary: 0,
        capabilities: Capabilities::NONE,
    };
    let ports = ReplyBody::PortDescription(Sequence::EMPTY);
    let messages = [
        Message::Hello(Hello::OURS),
        Message::FeaturesReply(features),
        Message::MultipartReply(MultipartReply::new(ports)),
    ];
    for message in messages.iter().take(count) {
        message.emit(TransactionId(0), &mut stream);
    }
    stream
}

/// Changes a requirement that could be met.
type Change = dyn Fn(&mut Requirement);

/// Priority, outputs and queue of an entry.
type Summary = (u16, Vec<u32>, Option<u32>);

fn entries(network: &Network) -> Vec<(u64, Vec<Summary>)> {
    let of = |fake: &fake::FakeSwitch| {
        let mut entries: Vec<_> = fake
            .flow_entries()
            .map(|entry| (entry.priority, entry.outputs.clone(), entry.queue))
            .collect();
        entries.sort();
        entries
    };
    network
        .switches
        .iter()
        .map(|(at, fake)| (*at, of(fake)))
        .collect()
}

fn flow_mods(network: &Network) -> usize {
    network.switches.values().map(|fake| fake.flow_mods).sum()
}

fn travels(network: &mut Network) -> Vec<Travels> {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => flows.iter().map(|flow| flow.travels).collect(),
        other => panic!("{other:?}"),
    }
}

/// Returns how the promise of a flow stands.
fn promise(network: &mut Network, flow: FlowId) -> Promise {
    let replies = network.request(Request::Flows);
    let [Reply::Flows(flows)] = &replies[..] else {
        panic!("{replies:?}")
    };
    let mut flows = flows.iter().filter(|it| it.accepted.id == flow);
    flows.next().expect("it is admitted").promise.clone()
}

fn state_told(event: &Event) -> Option<PromiseState> {
    match event {
        Event::PromiseChanged { promise, .. } => Some(promise.state),
        _ => None,
    }
}

fn stands(event: &Event, state: PromiseState) -> bool {
    state_told(event) == Some(state)
}
