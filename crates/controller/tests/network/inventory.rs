//! What the store keeps of the network, and what waits for the store.

use std::ops::Range;

use controller::northbound::Decision;
use controller::store::Key;
use controller::view::{Carrier, Control, MAX_SWITCHES, View};
use controller::{CloseReason, Config, Event, Input, Reply, Request, StoreEvent};
use units::Duration;
use wire::openflow::DatapathId;

use crate::DIAMOND;
use crate::fake::{Network, group, link, requirement};

#[test]
fn a_switch_that_does_not_come_back_after_a_restart_is_known_and_away() {
    let mut network = kept();

    network.restart_controller_without(&[4]);

    let view = view(&mut network);
    let away = view.switch(DatapathId(4)).unwrap();
    assert_eq!(view.switches()[away.index()].control, Control::Lost);
    let lost = view.link(link(2, 4)).unwrap();
    assert_eq!(view.links()[lost.index()].carrier, Carrier::Down);
    assert!(view.is_up(link(1, 2)));
}

/// What it had may still forward, but nobody knows.
#[test]
fn links_of_a_switch_that_is_away_are_out_of_sight_and_not_counted() {
    let mut network = Network::started(4, &DIAMOND);

    network.disconnect(4);

    assert_eq!(network.topology().links, 2);
    let view = view(&mut network);
    let links = view.links().iter();
    let away = links.filter(|link| view.is_out_of_sight(link));
    assert_eq!(away.count(), 2);
    assert!(view.is_up(link(2, 4)));
}

#[test]
fn a_network_that_comes_back_as_it_was_writes_nothing_to_the_store() {
    let mut network = kept();
    let before = network.writes;

    network.restart_controller(4, &DIAMOND);

    assert_eq!(network.topology().links, 4);
    assert_eq!(network.writes, before);
}

#[test]
fn a_switch_that_is_forgotten_does_not_come_back_by_itself() {
    let mut network = kept();

    let connected = network.request(Request::ForgetSwitch(DatapathId(4)));
    network.restart_controller_without(&[4]);
    let away = network.request(Request::ForgetSwitch(DatapathId(4)));
    let again = network.request(Request::ForgetSwitch(DatapathId(4)));
    network.restart_controller_without(&[4]);

    assert_eq!(connected, [Reply::StillConnected(DatapathId(4))]);
    assert_eq!(away, [Reply::Forgotten]);
    assert_eq!(again, [Reply::UnknownSwitch(DatapathId(4))]);
    assert_eq!(view(&mut network).switch(DatapathId(4)), None);
}

/// A switch that connects before the store has told of its flows keeps their
/// rules.
#[test]
fn no_rule_is_in_excess_before_all_that_was_kept_is_known() {
    let mut network = kept();
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    let before = crate::entries(&network);

    let records = network.restart_controller_with_slow_store();
    let early = network.request(Request::Admit(vec![requirement("next", 1, &[4], group(2))]));
    let meanwhile = crate::entries(&network);
    for record in records {
        network.input(Input::Stored(StoreEvent::Written(record)));
    }
    network.input(Input::Stored(StoreEvent::Replayed));
    network.settle();

    assert_eq!(early, [Reply::Starting]);
    assert_eq!(meanwhile, before);
    assert_eq!(crate::entries(&network), before);
    assert!(network.events.contains(&Event::Ready));
    let late = network.request(Request::Admit(vec![requirement("next", 1, &[4], group(2))]));
    let [Reply::Decisions(decisions)] = &late[..] else {
        panic!("{late:?}")
    };
    assert!(matches!(decisions[..], [Decision::Accepted(_)]));
}

#[test]
fn a_switch_of_which_nothing_is_known_is_forgotten_when_it_was_away_for_long() {
    let mut network = Network::with(3, &[(1, 2)], without_3);
    network.connect_all();
    let kept = network.records.len();

    network.disconnect(2);
    network.disconnect(3);
    network.pass(Duration::from_secs(290));
    let before = view(&mut network).switch(DatapathId(3));
    network.pass(Duration::from_secs(20));

    assert!(before.is_some());
    let view = view(&mut network);
    assert_eq!(view.switch(DatapathId(3)), None);
    assert!(view.switch(DatapathId(2)).is_some(), "it is configured");
    assert_eq!(network.records.len(), kept - 1);
    network.connect(3);
    assert_eq!(network.topology().switches, 2);
}

#[test]
fn made_up_switches_that_are_away_leave_their_places_to_those_that_come() {
    let mut network = Network::with(3, &[(1, 2)], without_3);
    remember(&mut network, 1_000..1_000 + MAX_SWITCHES as u64);

    network.connect_all();

    assert_eq!(network.topology().switches, 3);
    let oldest = (1_000..1_003).map(|it| view(&mut network).switch(DatapathId(it)));
    assert_eq!(oldest.flatten().count(), 0);
}

#[test]
fn a_configured_switch_takes_the_place_of_a_stranger_that_is_connected() {
    let others = 1_000..999 + MAX_SWITCHES as u64;
    let mut network = Network::with(3, &[(1, 2)], |config| {
        without_3(config);
        let like = config.switches[&DatapathId(1)].clone();
        let named = others.clone().map(|it| (DatapathId(it), like.clone()));
        config.switches.extend(named);
    });
    remember(&mut network, others.clone());
    network.connect(3);
    let stranger = network.switches[&3].connection.unwrap();

    network.connect(1);

    assert_eq!(network.closed, [(stranger, CloseReason::TooLarge)]);
    assert_eq!(network.topology().switches, 1);
}

/// Leaves the third switch and its host out of a configuration.
fn without_3(config: &mut Config) {
    config.switches.remove(&DatapathId(3));
    config.hosts.retain(|host| host.name != "h3");
}

/// Has the store tell of switches without ports.
fn remember(network: &mut Network, switches: Range<u64>) {
    for switch in switches {
        let record = controller::StoreWrite {
            key: Key::Switch(DatapathId(switch)),
            value: Some(vec![1, 0]),
        };
        network.input(Input::Stored(StoreEvent::Written(record)));
    }
}

#[test]
fn a_damaged_record_of_a_switch_is_told_and_left_alone() {
    let mut network = Network::new(1, &[]);

    let record = controller::StoreWrite {
        key: controller::store::Key::Switch(DatapathId(9)),
        value: Some(vec![0xff]),
    };
    network.input(Input::Stored(StoreEvent::Written(record)));

    let datapath = DatapathId(9);
    assert!(
        network
            .events
            .contains(&Event::SwitchUnreadable { datapath })
    );
    assert_eq!(view(&mut network).switch(datapath), None);
}

/// Returns a network whose switches and links the store has kept.
fn kept() -> Network {
    let network = Network::started(4, &DIAMOND);
    assert_eq!(network.records.len(), 4 + DIAMOND.len());
    network
}

fn view(network: &mut Network) -> View {
    match &network.request(Request::View)[..] {
        [Reply::View(view)] => (**view).clone(),
        other => panic!("{other:?}"),
    }
}
