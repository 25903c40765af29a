//! Switches ask each other whether they are there, where a flow relies on that: which, how
//! often, and what follows from what they notice.

use controller::northbound::{Cover, Protection, Request};
use controller::refusal::Refusal;
use controller::{Event, Requirement};
use units::{Delay, Duration};
use wire::bfd::SessionConfig;

use crate::RING;
use crate::fake::{Network, group, port, requirement};

const SOON: Duration = Duration::from_ms(300);

fn healed(name: &str, interruption: Duration, covers: Cover) -> Requirement {
    Requirement {
        protection: Protection::FastFailover {
            interruption,
            covers,
            heart_beat: None,
        },
        ..requirement(name, 1, &[3], group(1))
    }
}

fn network(others: &[u64]) -> Network {
    let mut network = Network::new(5, &RING);
    for (number, fake) in &mut network.switches {
        fake.habits.polices = !others.contains(number);
    }
    network.connect_all();
    network.pass(Duration::from_secs(3));
    network
}

/// Returns the ports of each switch that ask, and how often.
fn asked(network: &Network) -> Vec<(u64, u32, SessionConfig)> {
    let switches = network.switches.iter();
    let asked = switches.flat_map(|(switch, fake)| {
        let sessions = fake.sessions.iter();
        sessions.map(|it| (*switch, it.port.0, it.session))
    });
    asked.collect()
}

#[test]
fn both_ends_of_the_links_of_a_flow_ask_each_other_while_it_is_there() {
    let mut network = network(&[]);
    let five = Duration::from_ms(5);

    let carrier = healed("carrier", five, Cover::CarrierLoss);
    network.admit(carrier).unwrap();
    network.pass(SOON);
    assert_eq!(asked(&network), []);

    let asked_for = Requirement {
        matching: requirement("any", 1, &[3], group(2)).matching,
        ..healed("any", five, Cover::Any)
    };
    let any = network.admit(asked_for).unwrap();
    network.pass(SOON);

    assert_eq!(any.cover, Some(Cover::Any));
    let sessions = asked(&network);
    let ends = sessions
        .iter()
        .map(|(switch, at, _)| port(*switch, (*at).into()));
    let links = any.route.links.iter().flat_map(|link| link.both());
    let mut expected: Vec<_> = links.collect();
    expected.sort_unstable();
    assert_eq!(ends.collect::<Vec<_>>(), expected);
    let is_so = |it: &SessionConfig| it.desired_min_tx_us == 1_000 && it.detect_multiplier == 3;
    assert!(sessions.iter().all(|(_, _, session)| is_so(session)));

    // A switch that has started anew is told again.
    network.switches.get_mut(&2).unwrap().sessions.clear();
    network.disconnect(2);
    network.connect(2);
    network.pass(SOON);
    assert_eq!(asked(&network), sessions);

    network.request(Request::Withdraw(any.name.clone()));
    network.pass(Duration::from_secs(3));
    assert_eq!(asked(&network), []);
}

#[test]
fn the_most_impatient_flow_says_how_often() {
    let mut network = network(&[]);
    let slow = healed("slow", Duration::from_ms(50), Cover::Any);
    let fast = Requirement {
        matching: requirement("fast", 1, &[3], group(2)).matching,
        ..healed("fast", Duration::from_ms(10), Cover::Any)
    };
    let interval = |network: &Network| asked(network)[0].2.desired_min_tx_us;

    network.admit(slow).unwrap();
    network.pass(SOON);
    assert_eq!(interval(&network), 10_000);
    network.admit(fast).unwrap();
    network.pass(SOON);
    assert_eq!(interval(&network), 2_000);
}

/// A flow that is refused for its own sake leaves sessions as they were, and all room.
#[test]
fn a_more_impatient_flow_that_is_refused_leaves_sessions_as_they_were() {
    let mut network = network(&[]);
    let slow = healed("slow", Duration::from_ms(50), Cover::Any);
    let fast = Requirement {
        matching: requirement("fast", 1, &[3], group(2)).matching,
        deadline: Some(Delay::from_us(1)),
        ..healed("fast", Duration::from_ms(5), Cover::Any)
    };
    network.admit(slow.clone()).unwrap();
    network.pass(SOON);
    let before = asked(&network);

    for _ in 0..50 {
        let refused = network.admit(fast.clone());
        assert!(matches!(refused, Err(Refusal::Shortage(_))), "{refused:?}");
    }

    network.pass(SOON);
    assert_eq!(asked(&network), before);
    let timely = Requirement {
        deadline: slow.deadline,
        ..fast
    };
    network.admit(timely).unwrap();
    network.pass(SOON);
    assert_eq!(asked(&network)[0].2.desired_min_tx_us, 1_000);
    for name in ["slow", "fast"] {
        network.request(Request::Withdraw(name.to_owned()));
    }
    network.pass(Duration::from_secs(3));
    assert_eq!(asked(&network), []);
}

#[test]
fn what_cannot_be_noticed_in_time_is_refused_with_what_can() {
    let mut network = network(&[]);
    let refused = network.admit(healed("trip", Duration::from_ms(4), Cover::Any));
    let least = Duration::from_ms(5);
    assert!(
        matches!(refused, Err(Refusal::Unnoticed { least: it, .. }) if it == least),
        "{refused:?}"
    );

    let mut mixed = self::network(&[2]);
    let refused = mixed.admit(healed("trip", least, Cover::Any));
    assert!(
        matches!(refused, Err(Refusal::Unnoticed { least: it, .. }) if it > least),
        "{refused:?}"
    );
    mixed.pass(SOON);
    assert_eq!(asked(&mixed), []);
    assert!(
        mixed
            .admit(healed("trip", least, Cover::CarrierLoss))
            .is_ok()
    );
}

#[test]
fn a_link_that_a_switch_finds_dead_is_broken_without_a_carrier_lost_or_a_message_sent() {
    let mut network = network(&[]);
    let five = Duration::from_ms(5);
    network.admit(healed("trip", five, Cover::Any)).unwrap();
    network.pass(SOON);
    network.events.clear();

    network.set_live(port(2, 3), false);
    network.pass(Duration::from_ms(10));

    let restored = |event: &Event| matches!(event, Event::Restored { flow_mods: 0, .. });
    assert!(network.events.iter().any(restored), "{:?}", network.events);
    let lost = |event: &Event| matches!(event, Event::LinkLost { .. });
    assert!(network.events.iter().any(lost));
    // Probes still arrive, and say nothing of it.
    network.pass(Duration::from_secs(3));
    let found = |event: &Event| matches!(event, Event::LinkFound { .. });
    assert!(!network.events.iter().any(found));

    network.set_live(port(2, 3), true);
    network.pass(Duration::from_secs(3));
    assert!(network.events.iter().any(found), "{:?}", network.events);
}
