//! Sources are held to their contracts where their switches can do so, and it is said where
//! they cannot.
#![expect(clippy::unwrap_used, reason = "only tests use this")]

use controller::Event;
use controller::refusal::Refusal;
use units::{Delay, Duration, Instant};
use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::taktos::{Answer, Police, PoliceEvent, PolicedEntry};
use wire::openflow::{Action, Message, PortNumber, Sequence, TableId, TransactionId};

use crate::fake::{HOST_PORT, Network, group, requirement};

const DIAMOND: [(u64, u64); 4] = [(1, 2), (2, 4), (1, 3), (3, 4)];
const SOON: Duration = Duration::from_ms(100);

/// Returns a diamond whose switches but those of `others` police.
pub fn network(others: &[u64]) -> Network {
    let mut network = Network::new(4, &DIAMOND);
    for (number, fake) in &mut network.switches {
        fake.habits.polices = !others.contains(number);
    }
    network.connect_all();
    network.pass(Duration::from_secs(3));
    network
}

/// The same with a flow from 1 over 2 to 4.
pub fn with_a_flow(others: &[u64]) -> Network {
    let mut network = network(others);
    let asked = requirement("trip", 1, &[4], group(1));
    network.admit(asked).unwrap();
    network.pass(SOON);
    network
}

/// Returns what a switch polices.
fn policed(network: &Network, switch: u64) -> Vec<Police> {
    let entries = &network.switches[&switch].entries;
    let actions = entries.iter().flat_map(|entry| entry.actions.first());
    let contracts = actions.filter_map(|action| match action {
        Action::Police(police) => Some(*police),
        _ => None,
    });
    contracts.collect()
}

fn all_policed(network: &Network) -> [usize; 4] {
    [1, 2, 3, 4].map(|switch| policed(network, switch).len())
}

#[test]
fn a_flow_is_policed_where_it_comes_in_and_nowhere_else() {
    let mut network = network(&[]);
    let asked = requirement("trip", 1, &[4], group(1));
    let traffic = asked.traffic;

    let accepted = network.admit(asked).unwrap();
    network.pass(SOON);

    assert!(accepted.enforced);
    assert_eq!(all_policed(&network), [1, 0, 0, 0]);
    let [police] = policed(&network, 1)[..] else {
        panic!("one entry polices")
    };
    let sizes = (police.smallest, police.largest);
    assert_eq!(sizes, (traffic.smallest_frame, traffic.largest_frame));
    assert_eq!((police.rate, police.frames), (traffic.rate, None));
    // Frames may come closer together than they left by no more than what the first link
    // and the switch are late: here less than a millisecond.
    let most = traffic.burst + traffic.rate.most_in(Delay::from_us(1_000));
    assert!((traffic.burst..=most).contains(&police.burst), "{police:?}");
}

#[test]
fn best_effort_is_not_policed() {
    let mut network = network(&[]);
    let mut asked = requirement("bulk", 1, &[4], group(1));
    (asked.deadline, asked.class) = (None, 0);

    let accepted = network.admit(asked).unwrap();
    network.pass(SOON);

    assert!(!accepted.enforced);
    assert_eq!(all_policed(&network), [0; 4]);
}

#[test]
fn who_wants_it_enforced_is_refused_where_nobody_can_and_nothing_stays_reserved() {
    let mut network = network(&[1]);
    let mut asked = requirement("trip", 1, &[4], group(1));
    let trusted = network.admit(asked.clone()).unwrap();
    network.pass(SOON);
    asked.name = "enforced".to_owned();
    asked.matching.destination = Some(group(2));
    asked.must_be_enforced = true;

    // So many that the network would be full if each left something behind.
    let refused: Vec<_> = (0..1_000).map(|_| network.admit(asked.clone())).collect();
    asked.must_be_enforced = false;
    let accepted = network.admit(asked);

    assert!(!trusted.enforced);
    assert_eq!(all_policed(&network), [0; 4]);
    let expected = Refusal::NotEnforced {
        switch: "s1".to_owned(),
    };
    assert!(
        refused.iter().all(|it| *it == Err(expected.clone())),
        "{:?}",
        refused[0]
    );
    assert!(accepted.is_ok(), "{accepted:?}");
}

#[test]
fn a_way_around_a_broken_link_is_policed_too() {
    let mut network = with_a_flow(&[]);
    let before = policed(&network, 1);

    network.cut(1, 2);
    network.pass(SOON);

    assert_eq!(policed(&network, 1), before);
    assert_eq!(all_policed(&network), [1, 0, 0, 0]);
}

#[test]
fn a_controller_that_begins_anew_goes_on_policing() {
    let mut network = with_a_flow(&[]);
    let before = policed(&network, 1);

    network.restart_controller(4, &DIAMOND);
    network.pass(Duration::from_secs(10));

    assert_eq!(policed(&network, 1), before);
    assert_eq!(all_policed(&network), [1, 0, 0, 0]);
}

/// Another make in the place of a switch is not sent what it would refuse.
#[test]
fn what_a_switch_can_do_is_asked_each_time_it_connects() {
    let mut network = with_a_flow(&[]);
    let mut seen = vec![all_policed(&network)];
    for polices in [false, true] {
        network.disconnect(1);
        network.switches.get_mut(&1).unwrap().habits.polices = polices;
        network.connect(1);
        network.pass(Duration::from_secs(10));
        seen.push(all_policed(&network));
    }

    assert_eq!(seen, [[1, 0, 0, 0], [0; 4], [1, 0, 0, 0]]);
}

#[test]
fn who_exceeds_his_contract_is_named() {
    let mut network = with_a_flow(&[]);
    let entries = &network.switches[&1].entries;
    let is_policed = |actions: &[Action]| matches!(actions.first(), Some(Action::Police(_)));
    let entry = entries.iter().find(|it| is_policed(&it.actions)).unwrap();
    let told = |cookie| {
        let entry = PolicedEntry {
            table: TableId(0),
            priority: 1_000,
            input: PortNumber(HOST_PORT),
            cookie,
            frames: 9,
            bytes: 900,
            exceeded: 5,
            exceeded_bytes: 500,
        };
        let mut bytes = Vec::new();
        let message = Message::Police(PoliceEvent {
            entry,
            since_last: 3,
            noticed: Instant::ZERO,
        });
        message.emit(TransactionId(0), &mut bytes);
        bytes
    };
    let own = told(entry.cookie);
    let nobodys = told(wire::openflow::Cookie(entry.cookie.0 ^ 1));
    let connection = network.switches[&1].connection.unwrap();
    network.receive(connection, &nobodys);
    network.receive(connection, &own);
    network.settle();

    let said: Vec<_> = network
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ContractExceeded {
                name,
                source,
                frames,
                frames_in_all,
                ..
            } => Some((
                name.clone().unwrap(),
                source.clone(),
                *frames,
                *frames_in_all,
            )),
            _ => None,
        })
        .collect();
    assert_eq!(said, [("trip".to_owned(), "h1".to_owned(), 3, 5)]);
}

/// Transactions can be guessed: what a switch says is of itself alone.
#[test]
fn a_switch_cannot_answer_for_another() {
    let mut network = Network::new(4, &DIAMOND);
    network.switches.get_mut(&2).unwrap().habits.polices = true;
    network.connect_all();
    let liar = network.switches[&2].connection.unwrap();
    let mut data = Vec::new();
    let answer = Answer::Policed(Sequence::EMPTY);
    let body = answer.body(&mut data);
    network.disconnect(1);
    let fake = network.switches.get_mut(&1).unwrap();
    fake.habits.is_silent = true;
    network.connect(1);
    for transaction in 0..1_000 {
        let mut bytes = Vec::new();
        let reply = MultipartReply::new(ReplyBody::Experimenter(body));
        Message::MultipartReply(reply).emit(TransactionId(transaction), &mut bytes);
        network.receive(liar, &bytes);
    }
    network.settle();

    let accepted = network.admit(requirement("trip", 1, &[4], group(1)));

    assert!(accepted.is_ok_and(|accepted| !accepted.enforced));
}
