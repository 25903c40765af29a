//! Sources are held to their contracts where their switches can do so, and it is said where
//! they cannot.
#![expect(clippy::unwrap_used, reason = "only tests use this")]

use controller::Event;
use controller::northbound::Requirement;
use controller::refusal::Refusal;
use units::{BitRate, Delay, Duration, Instant};
use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::taktos::{Answer, ExceedAction, Police, PoliceEvent, PolicedEntry};
use wire::openflow::{Action, Message, PortNumber, Sequence, TableId, TransactionId};

use crate::fake::{HOST_PORT, Network, group, requirement};

pub const DIAMOND: [(u64, u64); 4] = [(1, 2), (2, 4), (1, 3), (3, 4)];
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

fn gentle() -> Requirement {
    let mut asked = requirement("trip", 1, &[4], group(1));
    asked.excess = ExceedAction::BestEffort;
    asked
}

/// Else the entry of the next switch would put what goes on into the promised queue.
#[test]
fn what_may_go_on_is_policed_at_every_switch_by_what_is_admitted_there() {
    let mut network = network(&[]);
    let (asked, traffic) = (gentle(), gentle().traffic);

    network.admit(asked).unwrap();
    network.pass(SOON);

    assert_eq!(all_policed(&network), [1, 1, 0, 1]);
    let at = |switch| policed(&network, switch)[0];
    assert_eq!(at(2), at(4));
    for police in [at(1), at(2)] {
        assert_eq!(police.excess, ExceedAction::BestEffort);
    }
    let deadline = gentle().deadline.unwrap();
    let later = traffic.burst + traffic.rate.most_in(deadline);
    assert!(at(1).burst < later && at(2).burst >= later, "{:?}", at(2));
}

/// With such a burst it is admitted, so that no promise of others relies on less.
#[test]
fn what_may_go_on_is_admitted_with_all_that_later_switches_let_through() {
    let mut network = network(&[]);
    let mut asked = gentle();
    asked.traffic.rate = BitRate::from_mbps(8);
    asked.deadline = Some(Delay::from_us(10_000));

    let gently = network.admit(asked.clone());
    asked.excess = ExceedAction::Drop;
    let strictly = network.admit(asked);

    assert!(strictly.is_ok(), "{strictly:?}");
    assert!(gently.is_err(), "10 kB more at once do not fit its budgets");
}

#[test]
fn where_a_switch_on_a_way_cannot_tell_it_the_excess_is_dropped() {
    for other in [2, 3, 4] {
        let mut network = network(&[other]);
        network.admit(gentle()).unwrap();
        network.pass(SOON);

        assert_eq!(all_policed(&network), [1, 0, 0, 0], "without {other}");
        assert_eq!(policed(&network, 1)[0].excess, ExceedAction::Drop);

        network.disconnect(other);
        network.switches.get_mut(&other).unwrap().habits.polices = true;
        network.connect(other);
        network.pass(Duration::from_secs(10));

        assert_eq!(all_policed(&network), [1, 1, 0, 1], "with {other}");
        assert_eq!(policed(&network, 1)[0].excess, ExceedAction::BestEffort);
    }
}

#[test]
fn a_restored_flow_whose_excess_goes_on_is_policed_on_its_other_way_as_well() {
    let mut network = network(&[]);
    network.admit(gentle()).unwrap();
    network.pass(SOON);

    network.cut(1, 2);
    network.pass(SOON);

    assert_eq!(policed(&network, 3).len(), 1);
    network.restart_controller(4, &DIAMOND);
    network.pass(Duration::from_secs(10));
    assert_eq!(policed(&network, 3)[0].excess, ExceedAction::BestEffort);
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
    let told = |cookie, input| {
        let entry = PolicedEntry {
            excess: ExceedAction::BestEffort,
            table: TableId(0),
            priority: 1_000,
            input: PortNumber(input),
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
    let own = told(entry.cookie, HOST_PORT);
    let nobodys = told(wire::openflow::Cookie(entry.cookie.0 ^ 1), HOST_PORT);
    let behind = told(entry.cookie, HOST_PORT + 1);
    let connection = network.switches[&1].connection.unwrap();
    network.receive(connection, &nobodys);
    network.receive(connection, &behind);
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
                excess,
                ..
            } => Some((
                (name.clone().unwrap(), source.clone()),
                (*frames, *frames_in_all),
                *excess,
            )),
            _ => None,
        })
        .collect();
    let names = ("trip".to_owned(), "h1".to_owned());
    assert_eq!(said, [(names, (3, 5), ExceedAction::BestEffort)]);
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
