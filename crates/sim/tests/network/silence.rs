//! What is found out where nobody says that something is broken: a switch whose process
//! died while its interfaces stayed, a control connection that carries nothing.

use controller::Event;
use controller::northbound::Travels;
use sim::parts::Fault;
use units::Duration;

use super::assert_no_loss_after;
use crate::blueprint::{Blueprint, datapath};
use crate::run::{Outcome, run};

const WHEN: Duration = Duration::from_secs(1);
/// Four echoes in a row are missing by then: two probe intervals at most.
const NOTICED: Duration = Duration::from_secs(2);

#[test]
fn flows_leave_a_switch_whose_process_died_though_its_neighbours_see_a_carrier() {
    let blueprint = Blueprint::two_ways();
    let switch = middle(&blueprint);

    let outcome = run(
        &blueprint,
        &[(WHEN, Fault::Kill { switch })],
        Duration::from_secs(6),
    );

    let [flow] = &outcome.flows[..] else {
        panic!("one flow was asked for");
    };
    assert!(flow.record.lost > 0, "it went through the switch");
    assert_no_loss_after(&outcome, flow, WHEN + NOTICED);
    assert!(matches!(
        outcome.summaries[0].travels,
        Travels::Alternative { .. }
    ));
    let gone = Event::SwitchGone {
        datapath: datapath(switch),
        name: format!("s{switch}"),
    };
    assert!(
        outcome.heard(|event| *event == gone),
        "{:?}",
        outcome.notices
    );
}

#[test]
fn a_switch_that_is_started_again_is_given_its_entries_and_its_flows() {
    let blueprint = Blueprint::two_ways();
    let switch = middle(&blueprint);
    let faults = [
        (WHEN, Fault::Kill { switch }),
        (WHEN + Duration::from_secs(4), Fault::Restart { switch }),
    ];

    let outcome = run(&blueprint, &faults, Duration::from_secs(9));

    let [flow] = &outcome.flows[..] else {
        panic!("one flow was asked for");
    };
    assert_no_loss_after(&outcome, flow, WHEN + NOTICED);
    assert_eq!(outcome.summaries[0].travels, Travels::Base);
    assert!(outcome.summaries[0].installed);
}

/// The switch forwards as before: nothing says that it does not.
#[test]
fn nothing_moves_while_only_the_control_connection_of_a_switch_carries_nothing() {
    let blueprint = Blueprint::two_ways();
    let switch = middle(&blueprint);
    let faults = [
        (WHEN, Fault::Isolate { switch }),
        (WHEN + Duration::from_secs(12), Fault::Rejoin { switch }),
    ];

    let outcome = run(&blueprint, &faults, Duration::from_secs(18));

    let [flow] = &outcome.flows[..] else {
        panic!("one flow was asked for");
    };
    let lost = Event::SwitchLost {
        datapath: datapath(switch),
        name: format!("s{switch}"),
    };
    assert!(
        outcome.heard(|event| *event == lost),
        "{:?}",
        outcome.notices
    );
    let moved = |event: &Event| matches!(event, Event::LinkLost { .. } | Event::SwitchGone { .. });
    assert!(!outcome.heard(moved), "{:?}", outcome.notices);
    assert_eq!(flow.record.lost, 0);
    assert_eq!(outcome.summaries[0].travels, Travels::Base);
}

/// It dies while nobody can be told: neither an end of its connection nor a carrier.
#[test]
fn flows_leave_a_switch_that_dies_behind_a_control_connection_that_carries_nothing() {
    let blueprint = Blueprint::two_ways();
    let switch = middle(&blueprint);
    let faults = [
        (WHEN, Fault::Isolate { switch }),
        (WHEN + Duration::from_secs(8), Fault::Kill { switch }),
    ];

    let outcome = run(&blueprint, &faults, Duration::from_secs(14));

    let [flow] = &outcome.flows[..] else {
        panic!("one flow was asked for");
    };
    let died = WHEN + Duration::from_secs(8);
    let first = flow.record.receivers[0].loss_runs.first();
    assert!(
        first.is_some_and(|run| run.first_sent + Duration::from_ms(30) >= outcome.start + died)
    );
    assert_no_loss_after(&outcome, flow, died + NOTICED);
}

/// Who asked whom? A link between two switches that are not heard is nobody's to judge.
#[test]
fn nothing_moves_where_no_neighbour_is_heard_either() {
    let blueprint = Blueprint::two_ways();
    let switch = middle(&blueprint);
    let neighbours = [0, 1];
    let mut faults: Vec<_> = neighbours
        .iter()
        .map(|neighbour| (WHEN, Fault::Isolate { switch: *neighbour }))
        .collect();
    faults.push((WHEN, Fault::Isolate { switch }));

    let outcome: Outcome = run(&blueprint, &faults, Duration::from_secs(12));

    assert!(!outcome.heard(|event| matches!(event, Event::LinkLost { .. })));
    assert_eq!(outcome.flows[0].record.lost, 0);
}

/// Returns the switch in the middle of the way that the flow takes.
fn middle(blueprint: &Blueprint) -> usize {
    let outcome = run(blueprint, &[], Duration::from_ms(50));
    let links = &outcome.flows[0].accepted.route.links;
    let ends = links.iter().flat_map(|link| link.both());
    let mut between = ends.filter(|end| end.datapath.0 > 2);
    let switch = between.next().expect("a way over a third switch").datapath;
    usize::try_from(switch.0 - 1).expect("a small network")
}
