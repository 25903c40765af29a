//! Intents on the switch that ships: do frames get where they are to while links
//! break and hosts move?

use controller::northbound::{Endpoint, FlowMatch, FrameMatch, Intent, IntentKind};
use sim::parts::Fault;
use units::Duration;
use wire::ethernet::EtherType;

use crate::blueprint::{BEST_EFFORT, Blueprint, group, host_name};
use crate::run::{Outcome, run_intents};
use crate::{assert_no_loss_after, seeds};

/// How long the switches and the controller may take to notice that something has
/// broken, and to lead frames elsewhere.
const MENDED_WITHIN: Duration = Duration::from_ms(5);
const DURATION: Duration = Duration::from_ms(1_500);

#[test]
fn a_multicast_intent_brings_each_frame_once_to_each_subscriber() {
    let blueprint = Blueprint::measurements();

    let outcome = run_intents(&blueprint, published(), &[], DURATION);

    for flow in &outcome.flows {
        assert!(flow.record.sent > 0);
        assert_eq!((flow.record.lost, flow.record.misfits), (0, 0));
        for receiver in &flow.record.receivers {
            assert_eq!(receiver.duplicates, 0);
        }
    }
}

#[test]
fn measurements_arrive_again_soon_after_any_link_of_their_tree_is_cut() {
    for link in 0..4 {
        let blueprint = Blueprint::measurements();
        let (cut, healed) = (Duration::from_ms(200), Duration::from_ms(300));
        let faults = [(cut, Fault::Cut { link }), (healed, Fault::Heal { link })];

        let outcome = run_intents(&blueprint, published(), &faults, DURATION);

        assert_mended(&outcome, cut + MENDED_WITHIN);
    }
}

/// Both directions, over and over: what one sends the other one gets.
#[test]
fn two_hosts_stay_connected_while_links_are_cut_one_after_the_other() {
    for seed in seeds().take(20) {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let blueprint = conversation();
        let first = usize::try_from(seed % 4).unwrap();
        let cut = |after, link| (Duration::from_ms(after), Fault::Cut { link });
        let heal = |after, link| (Duration::from_ms(after), Fault::Heal { link });
        let second = (first + 1) % 4;
        let faults = [cut(100, first), heal(200, first), cut(1_000, second)];

        let outcome = run_intents(&blueprint, vec![pair(0, 2)], &faults, DURATION);

        assert_lost_only_near(&outcome, &[100, 1_000]);
    }
}

#[test]
fn two_hosts_stay_connected_when_one_moves() {
    let blueprint = conversation();
    let to = blueprint.spare(1);
    let moved = Duration::from_ms(100);
    let faults = [(moved, Fault::HostMoves { host: 2, to })];

    let outcome = run_intents(&blueprint, vec![pair(0, 2)], &faults, DURATION);

    for flow in &outcome.flows {
        assert_no_loss_after(&outcome, flow, moved + Duration::from_ms(100));
    }
}

#[test]
fn who_is_connected_by_no_intent_hears_nothing() {
    let blueprint = conversation();

    let outcome = run_intents(&blueprint, vec![pair(1, 3)], &[], Duration::from_ms(100));

    for flow in &outcome.flows {
        assert!(flow.record.sent > 0);
        assert_eq!(flow.record.lost, flow.record.sent);
    }
}

/// A ring of four in which the hosts 0 and 2 send each other datagrams.
fn conversation() -> Blueprint {
    let mut blueprint = Blueprint::one_flow();
    blueprint.wishes[0].class = BEST_EFFORT;
    let mut back = blueprint.wishes[0].clone();
    (back.source, back.receivers) = (2, vec![0]);
    blueprint.wishes.push(back);
    blueprint
}

/// One intent for each flow of [`Blueprint::measurements`].
fn published() -> Vec<Intent> {
    let types = [EtherType::SAMPLED_VALUES, EtherType::GOOSE];
    let intents = types
        .into_iter()
        .enumerate()
        .map(|(flow, ether_type)| Intent {
            name: format!("publish-{flow}"),
            kind: IntentKind::Multicast {
                from: host(0),
                to: [1, 2, 3].map(host).to_vec(),
                matching: FrameMatch {
                    flow: FlowMatch {
                        ether_type: Some(ether_type),
                        destination: Some(group(flow)),
                        ..FlowMatch::default()
                    },
                    ..FrameMatch::default()
                },
            },
        });
    intents.collect()
}

fn pair(one: usize, other: usize) -> Intent {
    Intent {
        name: format!("h{one}-h{other}"),
        kind: IntentKind::HostToHost {
            one: host_name(one),
            other: host_name(other),
        },
    }
}

fn host(number: usize) -> Endpoint {
    Endpoint::Host(host_name(number))
}

/// Asserts that nothing is lost later, also when flows return.
fn assert_mended(outcome: &Outcome, after: Duration) {
    for flow in &outcome.flows {
        for receiver in &flow.record.receivers {
            let from = outcome.start + after;
            let late = receiver.loss_runs.iter().find(|run| run.last_sent >= from);
            assert_eq!(late, None, "{:?}", outcome.notices);
        }
    }
}

/// Asserts that frames are lost only shortly after these times, in milliseconds.
fn assert_lost_only_near(outcome: &Outcome, times_ms: &[u64]) {
    for flow in &outcome.flows {
        for receiver in &flow.record.receivers {
            for run in &receiver.loss_runs {
                let near = times_ms.iter().any(|at| {
                    let from = outcome.start + Duration::from_ms(*at);
                    // A frame that was under way when the link broke is lost, too.
                    run.last_sent + Duration::from_ms(1) >= from
                        && run.last_sent <= from + MENDED_WITHIN
                });
                assert!(near, "{run:?} {:?}", outcome.notices);
            }
        }
    }
}
