//! Budgets that follow the flows: whatever can be proven is promised, guarantees move
//! below deadlines, and no switch hears of it.

use calculus::admission::{Room, Spare};
use controller::northbound::{Decision, FlowSummary, Protection, Traffic};
use controller::refusal::Refusal;
use controller::{Event, Reply, Request, Requirement};
use proptest::prelude::*;
use units::{DataSize, Delay, Duration};

use crate::fake::{Network, PROMISED, config, group, requirement};
use crate::{DIAMOND, entries};

const LINE: [(u64, u64); 2] = [(1, 2), (2, 3)];

#[test]
fn what_fixed_budgets_refuse_is_promised_and_other_guarantees_move_below_deadlines() {
    let tight = wanted("tight", 2, 900);
    let mut fixed = Network::started(3, &LINE);
    let refused = fixed.admit(tight.clone());
    assert!(matches!(refused, Err(Refusal::Shortage(_))), "{refused:?}");
    let mut network = fitted(3, &LINE);
    let patient = network.admit(wanted("patient", 1, 20_000)).unwrap();
    let (before, there) = (entries(&network), network.events.len());

    let accepted = network.admit(tight).unwrap();

    assert!(accepted.guarantee.unwrap() <= Delay::from_us(900));
    let moved = guarantee(&mut network, "patient");
    assert!(moved < patient.guarantee.unwrap(), "{moved}");
    let moves = |event: &Event| matches!(event, Event::GuaranteesMoved { flows: 1.., .. });
    assert!(network.events[there..].iter().any(moves));
    // Beside its own entry nothing has changed in any switch.
    for ((switch, before), (_, mut after)) in before.into_iter().zip(entries(&network)) {
        assert_eq!(after.len(), before.len() + 1, "s{switch}");
        after.retain(|entry| before.contains(entry));
        assert!(
            after.len() >= before.len(),
            "s{switch}: {before:?}, {after:?}"
        );
    }
}

/// Where a queue is too short for the probes, that is why, and not the want of a budget.
#[test]
fn a_queue_that_is_too_short_for_probes_is_named_with_its_length() {
    let mut network = Network::with(3, &LINE, |config| {
        *config = following(3, &LINE);
        for switch in config.switches.values_mut() {
            for port in switch.ports.values_mut() {
                port.buffers = [Some(Room::Frames(1)); 8];
            }
        }
    });
    network.connect_all();

    let refused = network.admit(wanted("message", 1, 20_000));

    let refused = refused.unwrap_err().to_string();

    assert!(
        refused.contains("can promise nothing: with the controller's probes alone"),
        "{refused}"
    );
    assert!(refused.contains("its queue holds 1"), "{refused}");
}

#[test]
fn every_promise_is_there_after_a_restart_and_keeps_its_deadline() {
    let mut network = fitted(3, &LINE);
    for (number, deadline) in [(2, 900), (1, 20_000), (3, 5_000), (4, 1_200)] {
        network
            .admit(wanted(&format!("flow{number}"), number, deadline))
            .unwrap();
    }
    // Without these two the others get more than the store says that they were told.
    for name in ["flow2", "flow4"] {
        network.request(Request::Withdraw(name.into()));
    }
    let before = flows(&mut network);

    network.restart_controller_as(following(3, &LINE));

    let after = flows(&mut network);
    assert_eq!(after.len(), 2);
    for (before, after) in before.iter().zip(&after) {
        assert!(after.accepted.guarantee <= after.requirement.deadline);
        assert_eq!(before.promise.state, after.promise.state, "{after:?}");
        assert_eq!(before.promise.cause, after.promise.cause);
    }
}

#[test]
fn a_question_and_a_failed_attempt_move_no_guarantee() {
    let mut network = fitted(3, &LINE);
    network.admit(wanted("patient", 1, 20_000)).unwrap();
    let (before, there) = (flows(&mut network), network.events.len());
    let chosen = network.request(Request::Prepare(Vec::new()));
    let tight = wanted("tight", 2, 900);
    let impossible = wanted("impossible", 3, 100);

    let question = network.request(Request::WhatIf(vec![tight.clone()]));
    let together = Request::AdmitTogether(vec![tight.clone(), impossible]);
    let attempt = network.request(together);

    assert!(matches!(&decisions(&question)[..], [Decision::Accepted(_)]));
    let refused = |decision: &Decision| matches!(decision, Decision::Refused { .. });
    assert!(decisions(&attempt).iter().all(refused));
    assert_eq!(network.request(Request::Prepare(Vec::new())), chosen);
    assert_eq!(flows(&mut network), before);
    assert_eq!(network.events.len(), there);
    assert!(network.admit(tight).is_ok());
}

/// With the least deadline that can be promised beside another flow, the way is one on
/// which they share less than on the usual one.
#[test]
fn another_way_is_taken_where_the_usual_one_has_no_budgets() {
    let large = |name: &str, [from, receiver]: [u64; 2], to, deadline_us| {
        let usual = requirement(name, from, &[receiver], group(to));
        in_full_frames(usual, 9_000, deadline_us)
    };
    let route = |beside: bool, deadline_us| {
        let mut network = fitted(4, &DIAMOND);
        if beside {
            network.admit(large("other", [3, 2], 1, 20_000)).unwrap();
        }
        let accepted = network.admit(large("hasty", [1, 4], 2, deadline_us)).ok()?;
        Some(accepted.route.switches.clone())
    };
    let mut deadlines = (10..60u64).map(|tenths| tenths * 100);

    let usual = route(false, 20_000).unwrap();
    let hastiest = deadlines.find_map(|deadline_us| route(true, deadline_us));

    assert_eq!(usual, ["s1", "s2", "s4"]);
    assert_eq!(hastiest.unwrap(), ["s1", "s3", "s4"]);
}

/// What a withdrawn flow has sent may be under way, so its room is not given to others at
/// once. It is when that is over.
#[test]
fn the_room_of_a_withdrawn_flow_is_given_back_when_its_frames_are_gone() {
    let mut network = fitted(3, &LINE);
    network.admit(large(1)).unwrap();
    let alone = |network: &mut Network| network.admit(large(2)).is_ok();
    assert!(!alone(&mut network), "there is no room for both");

    network.request(Request::Withdraw("large1".into()));
    let at_once = alone(&mut network);
    network.pass(Duration::from_ms(6));
    let after_its_guarantee = alone(&mut network);
    network.pass(Duration::from_secs(1));

    assert!(!at_once && !after_its_guarantee);
    assert!(alone(&mut network));
}

/// Nor is it where the controller begins anew in between; and then the store forgets it.
#[test]
fn a_controller_that_begins_anew_counts_who_has_just_left() {
    let mut network = fitted(3, &LINE);
    network.admit(large(1)).unwrap();
    network.request(Request::Withdraw("large1".into()));

    network.restart_controller_as(following(3, &LINE));
    let at_once = network.admit(large(2)).is_ok();
    network.pass(Duration::from_secs(1));
    let later = network.admit(large(2)).is_ok();
    network.restart_controller_as(following(3, &LINE));

    assert!(!at_once && later);
    assert_eq!(network.admissions(), 1);
    network.request(Request::Withdraw("large2".into()));
    network.pass(Duration::from_secs(1));
    network.restart_controller_as(following(3, &LINE));
    assert!(
        network.admit(large(1)).is_ok(),
        "nobody is counted for ever"
    );
}

/// What a flow has sent before its host moved may be under way as well: it waits for its
/// own room as others do.
#[test]
fn a_flow_whose_host_moves_waits_until_what_it_sent_before_is_gone() {
    let mut network = fitted(3, &LINE);
    network.admit(large(1)).unwrap();
    let way = |network: &mut Network| {
        let flows = flows(network).into_iter();
        let mut routes = flows.map(|flow| flow.accepted.route.switches.clone());
        routes.next().expect("it is there")
    };
    assert_eq!(way(&mut network), ["s1", "s2", "s3"]);

    network.move_host(1, 2);
    let at_once = way(&mut network);
    network.pass(Duration::from_secs(1));

    assert_eq!(at_once, ["s1", "s2", "s3"], "there is no room for both");
    assert_eq!(way(&mut network), ["s2", "s3"]);
    let readmitted = |event: &&Event| matches!(event, Event::Readmitted { .. });
    assert_eq!(network.events.iter().filter(readmitted).count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// In whatever order a set is asked for, it is admitted as a whole or in no order.
    #[test]
    fn the_order_of_requests_changes_nothing_of_what_fits_as_a_set(
        deadlines in prop::collection::vec(600u64..3_000, 2..6),
        order in Just((0..6usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let all: Vec<_> = (1..).zip(&deadlines).map(|(number, deadline)| {
            wanted(&format!("flow{number}"), number, *deadline)
        }).collect();
        let shuffled = order.into_iter().filter_map(|at| all.get(at).cloned());

        let fits = |requirements: Vec<Requirement>| {
            let mut network = fitted(3, &LINE);
            requirements.into_iter().all(|one| network.admit(one).is_ok())
        };

        prop_assert_eq!(fits(shuffled.collect()), fits(all));
    }
}

/// A deadline that nothing could keep is refused with what the way takes alone, whoever
/// else is there; one that others stand in the way of is not.
#[test]
fn what_cannot_be_kept_even_alone_is_refused_with_the_least_that_can() {
    let alone = |beside: u8, deadline_us| {
        let mut network = fitted(3, &LINE);
        for number in 0..beside {
            network
                .admit(wanted(&format!("other{number}"), 10 + number, 20_000))
                .unwrap();
        }
        match network.admit(wanted("hasty", 1, deadline_us)) {
            Err(Refusal::Shortage(shortage)) => shortage.alone,
            other => panic!("{other:?}"),
        }
    };

    let least = alone(0, 10).unwrap();

    assert_eq!(alone(3, 10), Some(least));
    let mut network = fitted(3, &LINE);
    let in_time = least.as_ps().div_ceil(1_000_000);
    // Probes, for which nothing is asked, come on top.
    let with_probes = in_time + in_time / 4;
    assert!(network.admit(wanted("patient", 1, with_probes)).is_ok());
    assert!(alone(0, in_time - 2).is_some());
    let mut network = fitted(3, &LINE);
    network.admit(large(2)).unwrap();
    match network.admit(large(1)) {
        Err(Refusal::Shortage(shortage)) => {
            assert_eq!(shortage.alone, None, "{shortage}");
            assert!(!shortage.to_string().contains("alone"), "{shortage}");
        }
        other => panic!("{other:?}"),
    }
}

/// One flow stands in the way of another, goes the other way round while its frames travel,
/// each of them there once, and then there is room.
#[test]
fn a_flow_goes_another_way_so_that_another_one_has_room() {
    let (resident, hasty) = (crossing(20_000), beside());
    let mut network = fitted(4, &DIAMOND);
    network.admit(resident).unwrap();
    assert!(network.admit(hasty.clone()).is_err());
    assert_eq!(way(&mut network, "crossing"), ["s1", "s2", "s4"]);
    let readmitted = |event: &Event| matches!(event, Event::Readmitted { .. });
    network.delivery_works = false;

    let at_once = network.request(Request::MakeRoom(hasty.clone()));
    let mut messages = 0;
    while network.deliver(messages) {
        messages += 1;
        let (reached, _) = network.trace(1, group(1));
        assert_eq!(reached, [(4, 1)].into(), "after {messages} messages");
    }
    network.delivery_works = true;
    let is_answered = |network: &Network| {
        let moved = Reply::RoomMade(Some("crossing".into()));
        network.replies.iter().any(|(_, reply)| *reply == moved)
    };
    let too_soon = network.admit(hasty.clone()).is_ok() || is_answered(&network);
    network.pass(Duration::from_secs(1));

    assert_eq!(way(&mut network, "crossing"), ["s1", "s3", "s4"]);
    assert!(messages > 3 && network.events.iter().any(readmitted));
    assert!(at_once.is_empty() && !too_soon, "frames may be on the way");
    assert!(is_answered(&network));
    assert!(network.admit(hasty).is_ok());
}

#[test]
fn nobody_moves_for_what_fits_or_would_not_fit_either() {
    let mut network = fitted(4, &DIAMOND);
    network.admit(crossing(20_000)).unwrap();
    let impossible = Requirement {
        deadline: Some(Delay::from_us(10)),
        ..beside()
    };

    for asked in [beside_within(20_000), impossible] {
        let answers = network.request(Request::MakeRoom(asked));

        assert_eq!(answers, [Reply::RoomMade(None)]);
        assert_eq!(way(&mut network, "crossing"), ["s1", "s2", "s4"]);
    }
}

/// Where the store does not keep that a flow goes elsewhere, it stays, and who asked hears
/// of it.
#[test]
fn a_flow_whose_other_way_is_not_kept_stays_where_it_is() {
    let mut network = fitted(4, &DIAMOND);
    network.admit(crossing(20_000)).unwrap();
    // First what it leaves is kept.
    network.rejected_writes = vec![1];

    let answers = network.request(Request::MakeRoom(beside()));

    assert_eq!(answers, [Reply::RoomMade(None)]);
    assert_eq!(way(&mut network, "crossing"), ["s1", "s2", "s4"]);
    let answers = network.request(Request::MakeRoom(beside()));
    assert_eq!(answers, [], "it is asked anew");
    network.pass(Duration::from_secs(1));
    assert_eq!(way(&mut network, "crossing"), ["s1", "s3", "s4"]);
}

/// A flow that may have another class gets the least urgent one in which its deadline
/// holds, where it does not hold in its own.
#[test]
fn a_flow_without_a_class_of_its_own_gets_another_one_where_it_has_no_room() {
    let classes = [(true, 20_000), (true, 3_000), (false, 3_000)].map(|(is_free, deadline)| {
        let mut network = Network::with(3, &LINE, |known| {
            *known = following(3, &LINE);
            let switches = known.switches.values_mut();
            let ports = switches.flat_map(|switch| switch.ports.values_mut());
            for port in ports {
                port.budgets[usize::from(PROMISED) + 1] = Some(Delay::ZERO);
            }
        });
        network.connect_all();
        for number in [2, 3, 4] {
            let usual = requirement(&format!("other{number}"), 2, &[3], group(number));
            network
                .admit(in_full_frames(usual, 30_000, 50_000))
                .unwrap();
        }
        let free = Requirement {
            is_class_free: is_free,
            ..wanted("free", 1, deadline)
        };
        let admitted = network.admit(free).ok()?;
        let known = flows(&mut network);
        let known = known.iter().find(|flow| flow.accepted.id == admitted.id)?;
        assert!(!known.requirement.is_class_free);
        Some(known.requirement.class)
    });

    assert_eq!(classes, [Some(PROMISED), Some(PROMISED + 1), None]);
}

/// From one end of the diamond to the other.
fn crossing(deadline_us: u64) -> Requirement {
    let usual = requirement("crossing", 1, &[4], group(1));
    in_full_frames(usual, 30_000, deadline_us)
}

/// Over the first link of the usual way, in little more than the least time that there can be.
fn beside() -> Requirement {
    let alone = |deadline_us: &u64| {
        let mut network = fitted(4, &DIAMOND);
        network.admit(beside_within(*deadline_us)).is_ok()
    };
    let least = (3..100u64).map(|tenths| tenths * 100).find(alone);
    beside_within(least.expect("there is room at last") + 200)
}

fn beside_within(deadline_us: u64) -> Requirement {
    let usual = requirement("beside", 1, &[2], group(2));
    in_full_frames(usual, 3_000, deadline_us)
}

fn way(network: &mut Network, name: &str) -> Vec<String> {
    let flows = flows(network).into_iter();
    let mut ways = flows.filter(|flow| flow.accepted.name == name);
    let flow = ways.next().expect("it is there");
    flow.accepted.route.switches.clone()
}

/// From the host of switch 1 or 2 to that of 3, in so large a burst and such a hurry that
/// there is no room for both.
fn large(number: u8) -> Requirement {
    let both = |deadline_us: &u64| {
        let mut network = fitted(3, &LINE);
        let mut flows = [1, 2]
            .map(|number| large_within(number, *deadline_us))
            .into_iter();
        flows.all(|flow| network.admit(flow).is_ok())
    };
    let enough = (10..100u64).map(|tenths| tenths * 100).find(both);
    large_within(number, enough.expect("there is room at last") - 100)
}

fn large_within(number: u8, deadline_us: u64) -> Requirement {
    let name = format!("large{number}");
    let usual = requirement(&name, number.into(), &[3], group(number));
    in_full_frames(usual, 30_000, deadline_us)
}

fn in_full_frames(usual: Requirement, burst: u64, deadline_us: u64) -> Requirement {
    Requirement {
        traffic: Traffic {
            burst: DataSize::from_bytes(burst),
            largest_frame: DataSize::from_bytes(1_500),
            smallest_frame: DataSize::from_bytes(1_500),
            ..usual.traffic
        },
        deadline: Some(Delay::from_us(deadline_us)),
        protection: Protection::None,
        ..usual
    }
}

/// From one end of the line to the other.
pub fn wanted(name: &str, number: u8, deadline_us: u64) -> Requirement {
    Requirement {
        deadline: Some(Delay::from_us(deadline_us)),
        protection: Protection::None,
        ..requirement(name, 1, &[3], group(number))
    }
}

fn guarantee(network: &mut Network, name: &str) -> Delay {
    let flows = flows(network).into_iter();
    let mut guarantees = flows
        .filter(|flow| flow.accepted.name == name)
        .filter_map(|flow| flow.accepted.guarantee);
    guarantees.next().expect("it has a promise")
}

pub fn flows(network: &mut Network) -> Vec<FlowSummary> {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => flows.clone(),
        other => panic!("{other:?}"),
    }
}

fn decisions(replies: &[Reply]) -> Vec<Decision> {
    match replies {
        [Reply::Decisions(decisions)] => decisions.clone(),
        other => panic!("{other:?}"),
    }
}

pub fn fitted(switches: u64, links: &[(u64, u64)]) -> Network {
    let mut network = Network::with(switches, links, |known| {
        *known = following(switches, links);
    });
    network.connect_all();
    network
}

/// The usual network with budgets that follow the flows, from nothing.
pub fn following(switches: u64, links: &[(u64, u64)]) -> controller::Config {
    let mut known = config(switches, links);
    known.fit = Some(Spare::Shared);
    let all = known.switches.values_mut();
    for switch in all.chain([&mut known.unknown_switch]) {
        if let Some(processing) = &mut switch.processing {
            processing.budget = Delay::ZERO;
        }
        let ports = switch.ports.values_mut();
        for port in ports.chain([&mut switch.other_ports]) {
            port.budgets[usize::from(PROMISED)] = Some(Delay::ZERO);
        }
    }
    known
}
