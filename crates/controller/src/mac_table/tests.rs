use std::collections::BTreeMap;

use proptest::prelude::*;
use units::Duration;

use super::stations::{AGEING_TIME, MAX_AT_PORT, TELL_INTERVAL};
use super::*;

const SWITCH: ConnectionId = ConnectionId(1);
const NOW: Instant = Instant::ZERO;
const NEW: Learned = Learned::Found { instead: None };

#[test]
fn a_station_is_found_where_it_was_last_seen() {
    let mut table = MacTable::new(7);
    learn(&mut table, station(1), 1);

    learn(&mut table, station(1), 2);

    assert_eq!(port(&mut table, station(1)), Some(2));
    assert_eq!(table.at(ConnectionId(2)).lead_to(NOW, station(1)), None);
}

#[test]
fn the_same_address_is_another_station_in_another_vlan() {
    let mut table = MacTable::new(7);
    let tagged = Station {
        vlan: 5,
        ..station(1)
    };

    let first = learn(&mut table, station(1), 1);
    let second = learn(&mut table, tagged, 2);
    let again = learn(&mut table, station(1), 1);
    let moved = learn(&mut table, tagged, 3);

    assert_eq!((first, second), (NEW, NEW));
    assert_eq!((again, moved), (Learned::Nothing, Learned::Moved));
    assert_eq!(port(&mut table, station(1)), Some(1));
}

#[test]
fn one_station_can_be_forgotten_and_the_others_stay() {
    let mut table = MacTable::new(7);
    learn(&mut table, station(1), 1);
    learn(&mut table, station(2), 2);

    let forgotten = [1, 1].map(|number| table.forget(SWITCH, station(number)));

    assert_eq!(forgotten, [true, false]);
    let known: Vec<_> = table.iter().collect();
    assert_eq!(known, [(SWITCH, station(2), PortNumber(2))]);
}

#[test]
fn a_station_ages_unless_somebody_asks_for_it() {
    let mut table = MacTable::new(7);
    let half = Duration::from_ns(AGEING_TIME.as_ns() / 2);
    learn(&mut table, station(1), 1);
    learn(&mut table, station(2), 2);

    let asked = table.at(SWITCH).lead_to(NOW + half, station(1));
    let [one, two] =
        [1, 2].map(|number| table.at(SWITCH).lead_to(NOW + AGEING_TIME, station(number)));

    assert_eq!(
        (asked, one, two),
        (Some(PortNumber(1)), Some(PortNumber(1)), None)
    );
}

#[test]
fn sixteen_switches_know_a_hundred_thousand_stations_each_however_often_they_come_back() {
    let mut table = MacTable::new(1);
    let all = || (0..100_000).map(|number| (station(number), PortNumber(number % 4)));

    for connection in 1..=48 {
        for (station, port) in all() {
            table.at(ConnectionId(connection)).learn(NOW, station, port);
        }
        // The sixteen before come back by another connection.
        table.close(ConnectionId(connection.saturating_sub(15)));
    }

    for connection in 34..=48 {
        let at = &mut table.at(ConnectionId(connection));
        let known = all().filter(|(station, port)| at.lead_to(NOW, *station) == Some(*port));
        assert!(known.count() >= 99_990);
    }
    assert_eq!(table.switches.len(), 15);
}

#[test]
fn a_flood_of_addresses_at_one_port_takes_no_place_of_others_and_none_that_is_led_to() {
    let mut table = MacTable::new(3);
    for number in 0..20_000 {
        learn(&mut table, station(number), 1);
        table
            .at(ConnectionId(2))
            .learn(NOW, station(number), PortNumber(1));
    }
    for number in 20_000..40_000 {
        learn(&mut table, station(number), 2);
        assert_eq!(port(&mut table, station(number)), Some(2));
    }

    let flood = (1_000_000..2_000_000).map(|number| learn(&mut table, station(number), 2));
    let (mut displaced, mut refused) = (0, 0);
    for learned in flood {
        match learned {
            Learned::Found { instead: Some(it) } => {
                assert!(!it.is_led_to && !it.is_aged);
                displaced += 1;
            }
            Learned::Found { instead: None } => {}
            Learned::Refused => refused += 1,
            Learned::Nothing | Learned::Moved => unreachable!("each is new"),
        }
    }

    for number in 0..20_000 {
        assert_eq!(port(&mut table, station(number)), Some(1));
        assert_eq!(port(&mut table, station(20_000 + number)), Some(2));
        let elsewhere = table.at(ConnectionId(2)).lead_to(NOW, station(number));
        assert_eq!(elsewhere, Some(PortNumber(1)));
    }
    let at_port = table
        .iter()
        .filter(|it| it.0 == SWITCH && it.2 == PortNumber(2));
    assert_eq!(at_port.count(), MAX_AT_PORT as usize);
    assert_eq!(
        displaced + refused,
        1_000_000 - (MAX_AT_PORT as usize - 20_000)
    );
    // It is a new one that is not learned only if all around are led to.
    assert!(refused < displaced / 100, "{refused} of {displaced}");
}

#[test]
fn a_port_that_goes_short_is_told_of_once_in_a_while() {
    let mut table = MacTable::new(7);
    learn(&mut table, station(1), 1);
    let mut tell = |now| table.at(SWITCH).is_to_tell(now, PortNumber(1));

    let told = [NOW, NOW, NOW + TELL_INTERVAL].map(&mut tell);

    assert_eq!(told, [true, false, true]);
}

/// What may happen to a table.
#[derive(Clone, Copy, Debug)]
enum Act {
    Learn(u64, u32, u32),
    LeadTo(u64, u32),
    Forget(u64, u32),
    Close(u64),
    Wait(u64),
}

fn any_act() -> impl Strategy<Value = Act> {
    let who = || (1..4_u64, 0..40_u32);
    prop_oneof![
        6 => (who(), 1..4_u32).prop_map(|((at, number), port)| Act::Learn(at, number, port)),
        4 => who().prop_map(|(at, number)| Act::LeadTo(at, number)),
        1 => who().prop_map(|(at, number)| Act::Forget(at, number)),
        1 => (1..4_u64).prop_map(Act::Close),
        1 => (1..400_u64).prop_map(Act::Wait),
    ]
}

proptest! {
    /// As long as there is room, it is a map whose entries age.
    #[test]
    fn with_room_it_is_a_map(acts in prop::collection::vec(any_act(), 1..200), seed: u64) {
        let mut table = MacTable::new(seed);
        let mut model: BTreeMap<(u64, u32), (u32, u64)> = BTreeMap::new();
        let mut now_s = 0;
        for act in acts {
            let now = NOW + Duration::from_secs(now_s);
            match act {
                Act::Learn(at, number, port) => {
                    table.at(ConnectionId(at)).learn(now, station(number), PortNumber(port));
                    model.insert((at, number), (port, now_s));
                }
                Act::LeadTo(at, number) => {
                    let found = table.at(ConnectionId(at)).lead_to(now, station(number));
                    let known = model.get_mut(&(at, number));
                    let known = known.filter(|it| now_s - it.1 < AGEING_TIME.as_ns() / 1_000_000_000);
                    prop_assert_eq!(found, known.as_ref().map(|it| PortNumber(it.0)));
                    if let Some(it) = known {
                        it.1 = now_s;
                    }
                }
                Act::Forget(at, number) => {
                    let was_known = model.remove(&(at, number)).is_some();
                    prop_assert_eq!(table.forget(ConnectionId(at), station(number)), was_known);
                }
                Act::Close(at) => {
                    table.close(ConnectionId(at));
                    model.retain(|(it, _), _| *it != at);
                }
                Act::Wait(seconds) => now_s += seconds,
            }
            let mut known: Vec<_> = table.iter().map(|it| ((it.0.0, it.1), it.2.0)).collect();
            known.sort_unstable();
            let expected = model.iter().map(|((at, it), (port, _))| ((*at, station(*it)), *port));
            prop_assert_eq!(known, expected.collect::<Vec<_>>());
            let places: usize = table.switches.values().map(Stations::capacity).sum();
            prop_assert_eq!(places + table.spare, PLACES_OF_ALL);
        }
    }
}

fn learn(table: &mut MacTable, station: Station, port: u32) -> Learned {
    table.at(SWITCH).learn(NOW, station, PortNumber(port))
}

fn port(table: &mut MacTable, station: Station) -> Option<u32> {
    table.at(SWITCH).lead_to(NOW, station).map(|port| port.0)
}

fn station(number: u32) -> Station {
    let [a, b, c, d] = number.to_be_bytes();
    Station::of(MacAddress([2, 0, a, b, c, d]), None)
}
