//! Switches are told the budgets of their queues, and what they say of hops is told of the
//! flows.
#![expect(clippy::unwrap_used, reason = "only tests use this")]

use controller::northbound::{FlowHops, FlowId, Reply, Request};
use controller::{Config, Event};
use units::{Delay, Duration, Instant};
use wire::openflow::taktos::{HopEvent, HopMessage};
use wire::openflow::{Cookie, MatchField, Message, PortNumber, QueueId, TableId, TransactionId};

use crate::fake::{Network, config};
use crate::policing::{DIAMOND, with_a_flow};

const SOON: Duration = Duration::from_ms(300);

/// Returns the cookie of the flow's entry at a switch, and the port by which its frames leave.
pub fn entry(network: &Network, switch: u64) -> (Cookie, u32) {
    let entries = &network.switches[&switch].entries;
    let is_of_flow =
        |matching: &[MatchField]| matches!(matching[..], [MatchField::InPort(_), _, ..]);
    let mut of_flow = entries
        .iter()
        .filter(|it| it.queue.is_some() && is_of_flow(&it.matching));
    let entry = of_flow.next().unwrap();
    (entry.cookie, entry.outputs[0])
}

fn hops(network: &mut Network) -> FlowHops {
    network.request(asked());
    network.pass(SOON);
    told(network).unwrap()
}

fn asked() -> Request {
    Request::HopsAfter {
        after: FlowId(0),
        most: 10,
    }
}

/// Returns what was answered last of the first flow.
fn told(network: &Network) -> Option<FlowHops> {
    let mut replies = network.replies.iter().rev();
    replies.find_map(|(_, reply)| match reply {
        Reply::Hops(flows) => Some(flows[0].clone()),
        _ => None,
    })
}

#[test]
fn switches_are_told_the_budgets_of_their_queues_and_others_nothing() {
    let network = with_a_flow(&[2]);

    let told = [1, 2, 3, 4].map(|switch| !network.switches[&switch].watched.is_empty());
    assert_eq!(told, [true, false, true, true]);
    let watched = &network.switches[&1].watched;
    assert!(
        watched
            .iter()
            .all(|it| it.queue.0 > 0 && it.budget.is_some()),
        "{watched:?}"
    );
    let (_, port) = entry(&network, 1);
    assert!(
        watched.iter().any(|it| it.port == PortNumber(port)),
        "{watched:?}"
    );
}

/// A switch that was away has forgotten them.
#[test]
fn a_switch_that_comes_back_is_told_again() {
    let mut network = with_a_flow(&[]);
    let before = std::mem::take(&mut network.switches.get_mut(&1).unwrap().watched);

    network.pass(Duration::from_secs(5));
    assert!(
        network.switches[&1].watched.is_empty(),
        "nothing has changed"
    );
    network.disconnect(1);
    network.connect(1);
    network.pass(SOON);

    assert_eq!(network.switches[&1].watched, before);
}

#[test]
fn what_hops_have_seen_adds_up_to_the_way() {
    let mut network = with_a_flow(&[]);
    for (switch, us) in [(1, 30), (2, 50), (4, 20)] {
        let (cookie, port) = entry(&network, switch);
        let fake = network.switches.get_mut(&switch).unwrap();
        fake.hops = vec![(cookie, port, Duration::from_us(us))];
    }

    let seen = hops(&mut network);

    let longest: Vec<_> = seen
        .hops
        .iter()
        .map(|it| it.seen.unwrap().longest)
        .collect();
    assert_eq!(longest, [30, 50, 20].map(Duration::from_us));
    // The first link takes its time besides.
    let observed = seen.observed.unwrap();
    let most = Duration::from_us(100) + Delay::from_us(200).round_up();
    assert!(
        observed > Duration::from_us(100) && observed < most,
        "{observed}"
    );
}

/// The way would seem shorter than it is.
#[test]
fn a_way_of_which_one_hop_says_nothing_has_no_length() {
    let mut network = with_a_flow(&[2]);
    for switch in [1, 2, 4] {
        let (cookie, port) = entry(&network, switch);
        let fake = network.switches.get_mut(&switch).unwrap();
        fake.hops = vec![(cookie, port, Duration::from_us(30))];
    }

    let seen = hops(&mut network);

    let is_seen: Vec<_> = seen.hops.iter().map(|it| it.seen.is_some()).collect();
    assert_eq!((is_seen, seen.observed), (vec![true, false, true], None));
}

#[test]
fn a_hop_that_takes_too_long_is_named_and_words_of_no_entry_are_ignored() {
    let mut network = with_a_flow(&[]);
    let (cookie, port) = entry(&network, 2);
    let connection = network.switches[&2].connection.unwrap();
    for cookie in [Cookie(cookie.0 ^ 1), cookie] {
        let mut bytes = Vec::new();
        let event = HopEvent {
            table: TableId(0),
            priority: 1,
            unsaid: 0,
            cookie,
            port: PortNumber(port),
            queue: QueueId(1),
            budget: Duration::from_us(100),
            longest: Duration::from_us(250),
            frames: 3,
            at: Instant::ZERO,
        };
        Message::Hop(HopMessage::Event(event)).emit(TransactionId(0), &mut bytes);
        network.receive(connection, &bytes);
        network.settle();
    }

    let said = network.events.iter().filter_map(|event| match event {
        Event::HopExceeded {
            name,
            at,
            longest,
            frames,
            ..
        } => Some((name.clone().unwrap(), at.switch.clone(), *longest, *frames)),
        _ => None,
    });
    let said: Vec<_> = said.collect();
    assert_eq!(
        said,
        [(
            "trip".to_owned(),
            "s2".to_owned(),
            Duration::from_us(250),
            3
        )]
    );
}

#[test]
fn who_wants_nothing_watched_has_switches_told_so() {
    let mut network = with_a_flow(&[]);
    assert!(!network.switches[&1].watched.is_empty());

    network.restart_controller_as(Config {
        watch_hops: false,
        ..config(4, &DIAMOND)
    });
    network.pass(Duration::from_secs(10));

    let told = [1, 2, 3, 4].map(|switch| network.switches[&switch].watched.len());
    assert_eq!(told, [0; 4]);
}

/// A switch that hangs holds up nobody who wants to know of the others.
#[test]
fn a_switch_that_does_not_answer_is_waited_for_no_longer_than_half_a_second() {
    let mut network = with_a_flow(&[]);
    network.switches.get_mut(&2).unwrap().habits.is_silent = true;

    network.request(asked());
    network.pass(Duration::from_ms(400));
    let soon = told(&network);
    network.pass(Duration::from_ms(300));

    assert_eq!(soon, None);
    assert!(told(&network).is_some());
}
