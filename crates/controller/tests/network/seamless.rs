//! Two trees carry a flow at the same time: what its switches are given for it, and what is
//! said when one of them brings no copies.

use controller::northbound::{Cause, FlowSummary, FrameOrder, Promise, PromiseState, Protection};
use controller::refusal::Refusal;
use controller::seamless::SeamlessError;
use controller::{Event, Reply, Request, Requirement};
use units::{BitRate, Delay, Duration, Instant};
use wire::openflow::taktos::{
    RecoveryAlgorithm, SequenceEncoding, StreamCounters, StreamEvent, StreamHandle, StreamReport,
    TrailerAction,
};
use wire::openflow::{Action, Message, TransactionId};
use wire::prp::Lan;

use super::RING;
use super::fake::{FakeEntry, Network, group, link, requirement};

fn doubled(name: &str, source: u64, destinations: &[u64]) -> Requirement {
    Requirement {
        protection: Protection::Seamless {
            encoding: SequenceEncoding::RTag,
            order: FrameOrder::Any,
        },
        deadline: Some(Delay::from_us(20_000)),
        ..requirement(name, source, destinations, group(1))
    }
}

/// Says in letters what a switch does with frames of each port: sends them on (o), numbers
/// them (n), ends copies (e).
fn doings(network: &Network, switch: u64) -> Vec<String> {
    let entries = network.switches[&switch].entries.iter();
    let doings = entries.map(|entry| {
        let letters = entry.actions.iter().filter_map(|action| match action {
            Action::Output { .. } => Some('o'),
            Action::Sequence(_) => Some('n'),
            Action::Eliminate(_) => Some('e'),
            _ => None,
        });
        letters.collect::<String>()
    });
    let mut doings: Vec<String> = doings.filter(|it| it.len() > 1).collect();
    doings.sort();
    doings
}

#[test]
fn copies_are_sent_on_before_one_is_handed_out() {
    let mut network = Network::started(5, &RING);

    network.admit(doubled("sv", 1, &[3, 4])).unwrap();
    network.pass(Duration::from_ms(10));

    assert_eq!(doings(&network, 1), ["noo"]);
    // From one side it goes on to the other receiver, and from there it ends here.
    for receiver in [3, 4] {
        assert_eq!(doings(&network, receiver), ["eo", "oeo"]);
    }
}

/// A switch that does not say so ignores how long frames are to be held, as one does that is
/// older than that.
#[test]
fn order_is_kept_by_a_switch_that_says_so_and_refused_elsewhere_by_name() {
    for (polices, orders) in [(false, false), (true, false), (true, true)] {
        let mut network = Network::new(5, &RING);
        for fake in network.switches.values_mut() {
            (fake.habits.polices, fake.habits.orders) = (polices, orders);
        }
        network.connect_all();
        network.pass(Duration::from_secs(3));
        let in_order = Requirement {
            protection: Protection::Seamless {
                encoding: SequenceEncoding::RTag,
                order: FrameOrder::Kept,
            },
            ..doubled("sv", 1, &[3])
        };

        let admitted = network.admit(in_order);
        network.pass(Duration::from_ms(10));

        let entries = network.switches[&3].entries.iter();
        let actions = entries.flat_map(|entry| entry.actions.iter());
        let holds: Vec<_> = actions
            .filter_map(|action| match action {
                Action::Eliminate(how) => Some(how.hold),
                _ => None,
            })
            .collect();
        match orders {
            true => {
                let half = Duration::from_ms(10);
                assert!(admitted.unwrap().guarantee.unwrap() > half.into());
                assert_eq!(holds, [half, half]);
            }
            false => {
                let switch = "s3".to_owned();
                let refused = Refusal::Seamless(SeamlessError::NoOrder { switch });
                assert_eq!(admitted, Err(refused));
                assert_eq!(holds, []);
            }
        }
        // Whoever does not know the question is still one that polices.
        let is_policed = |entry: &FakeEntry| {
            let mut actions = entry.actions.iter();
            actions.any(|it| matches!(it, Action::Police(_)))
        };
        let other = requirement("other", 1, &[3], group(2));
        network.admit(other).unwrap();
        network.pass(Duration::from_ms(10));
        let entries = &network.switches[&1].entries;
        assert_eq!(entries.iter().any(is_policed), polices);
    }
}

/// Who speaks PRP knows a copy by its source and number: so a source's flows share a counter.
#[test]
fn by_prp_each_way_is_a_lan_and_all_flows_of_a_source_are_numbered_together() {
    let mut network = Network::started(5, &RING);
    let by_prp = |requirement: Requirement| Requirement {
        protection: Protection::Seamless {
            encoding: SequenceEncoding::Prp,
            order: FrameOrder::Any,
        },
        ..requirement
    };
    let other = Requirement {
        deadline: Some(Delay::from_us(20_000)),
        ..requirement("goose", 1, &[4], group(2))
    };
    for flow in [doubled("sv", 1, &[3]), other] {
        network.admit(by_prp(flow)).unwrap();
    }
    network.pass(Duration::from_ms(10));

    let number = |entry: &[Action]| match entry {
        [
            Action::SetQueue(_),
            Action::Trailer(TrailerAction::Number(stream)),
            Action::Output { port: first, .. },
            Action::Trailer(TrailerAction::Lan(Lan::B)),
            Action::Output { port: second, .. },
        ] => Some((*stream, *first, *second)),
        _ => None,
    };
    let entries = &network.switches[&1].entries;
    let numbered: Vec<_> = entries
        .iter()
        .filter_map(|it| number(&it.actions))
        .collect();
    let [(one, ..), (another, ..)] = numbered[..] else {
        panic!("{numbered:?}")
    };
    assert_eq!(one, another);
    assert!(numbered.iter().all(|(_, first, second)| first != second));
    let ends = network.switches[&3]
        .entries
        .iter()
        .flat_map(|it| &it.actions);
    let ends = ends.filter_map(|action| match action {
        Action::Eliminate(how) => Some((how.algorithm, how.encoding)),
        _ => None,
    });
    let expected = (RecoveryAlgorithm::DuplicateDiscard, SequenceEncoding::Prp);
    assert_eq!(ends.collect::<Vec<_>>(), [expected; 2]);
}

#[test]
fn copies_that_are_missing_are_told_of_once_and_not_where_a_cut_is_known() {
    let mut network = Network::started(5, &RING);
    let accepted = network.admit(doubled("sv", 1, &[3])).unwrap();
    network.pass(Duration::from_ms(10));
    let say = |network: &mut Network, switch: u64| {
        let event = StreamEvent {
            report: StreamReport {
                stream: StreamHandle(accepted.id.0),
                entries: 2,
                counters: StreamCounters::default(),
            },
            passed: 8_000,
            discarded: 0,
            noticed: Instant::ZERO,
        };
        let mut bytes = Vec::new();
        Message::Stream(event).emit(TransactionId(0), &mut bytes);
        let connection = network.switches[&switch].connection.unwrap();
        network.receive(connection, &bytes);
        network.settle();
        let told = network.events.iter().filter_map(|event| match event {
            Event::CopiesMissing { name, switch, .. } => Some(format!("{name} at {switch}")),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };

    assert_eq!(say(&mut network, 2), [""; 0]);
    assert_eq!(say(&mut network, 3), ["sv at s3"]);
    assert_eq!(say(&mut network, 3), ["sv at s3"]);
    network.pass(Duration::from_secs(61));
    assert_eq!(say(&mut network, 3).len(), 2);
    network.cut(1, 2);
    network.pass(Duration::from_secs(61));
    assert_eq!(say(&mut network, 3).len(), 2);
}

/// Three ways lead from s1 to s5.
const THREE_WAYS: [(u64, u64); 6] = [(1, 2), (2, 5), (1, 3), (3, 5), (1, 4), (4, 5)];

fn summary(network: &mut Network, name: &str) -> FlowSummary {
    let replies = network.request(Request::Flow(name.to_owned()));
    match &replies[..] {
        [Reply::Flows(flows)] => flows[0].clone(),
        other => panic!("{other:?}"),
    }
}

/// Returns the switches between the first and the last one that a flow passes now, if its
/// promise holds without a word.
fn passed(network: &mut Network) -> Result<Vec<u64>, Promise> {
    let now = summary(network, "sv");
    let passes = |at: &u64| {
        let first = link(1, *at);
        now.accepted.route.links.contains(&first)
    };
    match (now.promise.state, &now.promise.cause) {
        (PromiseState::Holds, None) => Ok((2..=4).filter(passes).collect()),
        _ => Err(now.promise),
    }
}

#[test]
fn a_broken_way_is_replaced_until_its_link_has_stayed() {
    let mut network = Network::started(5, &THREE_WAYS);
    network.admit(doubled("sv", 1, &[5])).unwrap();
    network.pass(Duration::from_ms(10));
    assert_eq!(passed(&mut network), Ok(vec![2, 3]));

    network.cut(1, 2);
    network.pass(Duration::from_ms(100));
    assert_eq!(passed(&mut network), Ok(vec![3, 4]));
    assert_eq!(doings(&network, 1), ["noo"]);
    network.cut(3, 5);
    network.pass(Duration::from_ms(100));
    let left = passed(&mut network).unwrap_err();
    assert_eq!(left.state, PromiseState::Holds);
    assert_eq!(left.cause, Some(Cause::OneWayLeft(link(3, 5))));

    network.heal(1, 2);
    network.pass(Duration::from_ms(200));
    assert_eq!(
        passed(&mut network),
        Ok(vec![2, 4]),
        "there is nothing to lose"
    );
    network.heal(3, 5);
    network.pass(Duration::from_ms(400));
    assert_eq!(passed(&mut network), Ok(vec![2, 4]), "it may flap");
    network.pass(Duration::from_ms(300));
    assert_eq!(passed(&mut network), Ok(vec![2, 3]));
    assert_eq!(doings(&network, 4), [""; 0]);
}

#[test]
fn what_has_no_room_is_tried_again_when_something_is_given_back() {
    let mut network = Network::started(5, &THREE_WAYS);
    network.admit(doubled("sv", 1, &[5])).unwrap();
    let mut full = requirement("full", 4, &[5], group(2));
    full.protection = Protection::None;
    full.traffic.rate = BitRate::from_bps(19_700_000);
    network.admit(full).unwrap();

    network.cut(1, 2);
    network.pass(Duration::from_secs(1));
    let left = passed(&mut network).unwrap_err();
    assert_eq!(left.cause, Some(Cause::OneWayLeft(link(1, 2))));
    network.request(Request::Withdraw("full".to_owned()));
    network.pass(Duration::from_secs(1));

    assert_eq!(passed(&mut network), Ok(vec![3, 4]));
}

#[test]
fn a_controller_that_begins_anew_brings_a_flow_back_to_its_usual_ways() {
    let mut network = Network::started(5, &THREE_WAYS);
    network.admit(doubled("sv", 1, &[5])).unwrap();
    network.cut(1, 2);
    network.pass(Duration::from_secs(1));

    network.restart_controller(5, &THREE_WAYS);
    network.pass(Duration::from_secs(2));
    assert_eq!(passed(&mut network), Ok(vec![3, 4]));
    network.heal(1, 2);
    network.pass(Duration::from_secs(2));

    assert_eq!(passed(&mut network), Ok(vec![2, 3]));
}
