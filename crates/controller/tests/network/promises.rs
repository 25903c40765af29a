//! What is said of promises is never more than is known.
#![expect(clippy::unwrap_used, reason = "only tests use this")]

use controller::northbound::{Cause, Cover, Promise, PromiseState, Protection};
use controller::refusal::Refusal;
use controller::{Event, Reply, Request};
use units::Duration;

use crate::fake::{self, HOST_PORT, Network, group, requirement};

const DIAMOND: [(u64, u64); 4] = [(1, 2), (2, 4), (1, 3), (3, 4)];
/// Long enough for all that is owed to be told.
const SOON: Duration = Duration::from_ms(100);

#[test]
fn a_promise_is_unknown_while_a_switch_on_its_way_is_not_heard_and_then_holds_again() {
    let mut network = with_a_flow();
    let before = promise(&mut network).state;
    let lost_at = network.now;

    network.disconnect(2);
    network.pass(SOON);
    let meanwhile = promise(&mut network);
    network.connect(2);
    network.pass(SOON);

    assert_eq!(before, PromiseState::Holds);
    assert_eq!(meanwhile.state, PromiseState::Unknown);
    assert_eq!(meanwhile.since, lost_at);
    assert!(matches!(meanwhile.cause, Some(Cause::NotHeard { datapath, .. }) if datapath.0 == 2));
    assert_eq!(promise(&mut network).state, PromiseState::Holds);
    assert_eq!(told(&network), [PromiseState::Unknown, PromiseState::Holds]);
}

/// Promises are gone through in slices with a rest in between; whoever asks is answered at
/// once.
#[test]
fn a_promise_that_somebody_was_told_of_does_not_cease_to_hold_in_silence() {
    let mut network = with_a_flow();
    let second = requirement("second", 1, &[4], group(2));

    network.admit(second).unwrap();
    let Reply::Flows(flows) = &network.request(Request::Flows)[0] else {
        panic!("flows were asked for")
    };
    let states: Vec<_> = flows.iter().map(|flow| flow.promise.state).collect();
    network.disconnect(2);
    network.pass(SOON);

    assert_eq!(states, [PromiseState::Holds; 2]);
    let unknown = |event: &&Event| {
        matches!(event, Event::PromiseChanged { promise, .. }
            if promise.state == PromiseState::Unknown)
    };
    assert_eq!(network.events.iter().filter(unknown).count(), 2);
}

#[test]
fn two_links_that_are_broken_where_one_is_covered_are_not_a_broken_promise() {
    let mut network = with_a_flow();

    network.cut(1, 2);
    network.pass(SOON);
    let one = promise(&mut network).state;
    network.cut(3, 4);
    network.pass(SOON);
    let two = promise(&mut network);
    network.heal(1, 2);
    network.heal(3, 4);
    network.pass(Duration::from_secs(3));

    assert_eq!(
        (one, two.state),
        (PromiseState::Holds, PromiseState::NotCovered)
    );
    assert_eq!(promise(&mut network).state, PromiseState::Holds);
    assert!(!told(&network).contains(&PromiseState::Broken));
}

#[test]
fn entries_that_somebody_deletes_disturb_a_promise_until_they_are_back() {
    let mut network = with_a_flow();
    network.pass(Duration::from_secs(10));
    let fake = network.switches.get_mut(&2).unwrap();
    fake.entries.retain(|entry| entry.priority < 1_000);

    network.pass(Duration::from_secs(6));

    assert_eq!(
        told(&network),
        [PromiseState::Disturbed, PromiseState::Holds]
    );
    assert_eq!(promise(&mut network).state, PromiseState::Holds);
}

#[test]
fn a_promise_does_not_hold_while_a_port_of_its_hosts_has_no_carrier() {
    let mut network = with_a_flow();

    network.set_carrier(fake::port(4, u64::from(HOST_PORT)), false);
    network.pass(SOON);
    let unplugged = promise(&mut network);
    network.set_carrier(fake::port(4, u64::from(HOST_PORT)), true);
    network.pass(SOON);

    assert_eq!(unplugged.state, PromiseState::Disturbed);
    let port = fake::port(4, u64::from(HOST_PORT));
    assert_eq!(unplugged.cause, Some(Cause::NoCarrier(port)));
    assert_eq!(promise(&mut network).state, PromiseState::Holds);
}

#[test]
fn an_entry_that_a_switch_refuses_breaks_a_promise() {
    let mut network = Network::started(4, &DIAMOND);
    let fake = network.switches.get_mut(&2).unwrap();
    fake.habits.capacity = Some(fake.entries.len());
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();

    network.pass(SOON);

    assert_eq!(promise(&mut network).state, PromiseState::Broken);
    assert_eq!(told(&network), [PromiseState::Broken]);
}

#[test]
fn an_interruption_that_silent_faults_exceed_covers_carrier_loss_only_or_is_refused() {
    let mut network = Network::started(4, &DIAMOND);
    let ask = |network: &mut Network, name: &str, interruption, covers| {
        let mut asked = requirement(name, 1, &[4], group(name.as_bytes()[0]));
        asked.protection = Protection::Restore {
            interruption,
            covers,
        };
        network.admit(asked)
    };
    let short = Duration::from_ms(10);
    let least = controller::config::Timers::default().least_for_any_fault();

    let usual = ask(&mut network, "a", short, Cover::CarrierLoss);
    let refused = ask(&mut network, "b", short, Cover::Any);
    let nearly = ask(&mut network, "c", least - Duration::from_ns(1), Cover::Any);
    let long = ask(&mut network, "d", least, Cover::Any);

    assert_eq!(usual.unwrap().cover, Some(Cover::CarrierLoss));
    let interruption = short;
    assert_eq!(
        refused,
        Err(Refusal::Unnoticed {
            interruption,
            least
        })
    );
    assert!(nearly.is_err());
    assert_eq!(long.unwrap().cover, Some(Cover::Any));
}

fn with_a_flow() -> Network {
    let mut network = Network::started(4, &DIAMOND);
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    network.pass(SOON);
    network
}

fn promise(network: &mut Network) -> Promise {
    let replies = network.request(Request::Flows);
    let [Reply::Flows(flows)] = &replies[..] else {
        panic!("{replies:?}")
    };
    flows[0].promise.clone()
}

/// Returns how the promise stood, as was told.
fn told(network: &Network) -> Vec<PromiseState> {
    let states = network.events.iter().filter_map(|event| match event {
        Event::PromiseChanged { promise, .. } => Some(promise.state),
        _ => None,
    });
    let mut states: Vec<_> = states.collect();
    states.dedup();
    states
}
