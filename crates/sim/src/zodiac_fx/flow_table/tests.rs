use super::super::frame::{Fields, datagram};
use super::*;

use units::DataSize;

#[test]
fn a_new_entry_goes_to_the_end_even_if_it_is_there_already() {
    let mut table = table_of(&[1, 2]);

    table.add(entry(1, 7)).unwrap();

    assert_eq!(order_of(&table), [1, 2, 1]);
}

#[test]
fn the_129th_entry_is_refused() {
    let mut table = FlowTable::default();
    for port in 0..128 {
        table.add(entry(port, 1)).unwrap();
    }

    assert_eq!(table.add(entry(200, 1)), Err(TableFull));
}

#[test]
fn the_last_entry_takes_the_place_of_a_deleted_one() {
    let mut table = table_of(&[1, 2, 3, 4, 5]);

    let walk = table.delete(Which::Strict(to_port(2), 7), PortNumber::NONE);

    assert_eq!(order_of(&table), [1, 5, 3, 4]);
    assert_eq!(walk.touched, 1);
}

#[test]
fn deleting_all_looks_at_each_entry_once() {
    let mut table = table_of(&[1, 2, 3, 4, 5]);

    let walk = table.delete(Which::Covered(Match10::ANY), PortNumber::NONE);

    let all = Walk {
        seen: 5,
        touched: 5,
    };
    assert_eq!((walk, table.entries().len()), (all, 0));
}

#[test]
fn deleting_by_port_spares_what_sends_elsewhere() {
    let mut table = table_of(&[1, 2]);

    table.delete(Which::Covered(Match10::ANY), PortNumber(9));

    assert_eq!(table.entries().len(), 2);
}

#[test]
fn a_modified_entry_keeps_its_place() {
    let mut table = table_of(&[1, 2, 3]);
    let mut changed = entry(2, 7);
    changed.actions.clear();

    table.modify(Which::Strict(to_port(2), 7), &changed);

    assert_eq!(order_of(&table), [1, 2, 3]);
    assert!(table.entries().nth(1).unwrap().actions.is_empty());
}

#[test]
fn the_highest_priority_wins_and_of_equals_the_first() {
    let mut table = FlowTable::default();
    for (cookie, priority) in [(1, 5), (2, 9), (3, 9), (4, 1)] {
        let mut any = entry(1_000, priority);
        any.matching = Match10::ANY;
        any.cookie = Cookie(cookie);
        table.add(any).unwrap();
    }

    let (found, _) = table.search(&fields_to(1_000));

    assert_eq!(found.unwrap().cookie, Cookie(2));
}

#[test]
fn after_a_match_only_entries_of_no_lower_priority_are_compared() {
    let comparison = MatchFields::TP_DST.comparison_time();
    for (source, priorities, compared) in [
        ("decreasing", [9, 8, 7], 1u64),
        ("equal", [9, 9, 9], 3),
        ("increasing", [7, 8, 9], 3),
    ] {
        let mut table = FlowTable::default();
        for (port, priority) in (1..).zip(priorities) {
            table.add(entry(port, priority)).unwrap();
        }

        let (found, time) = table.search(&fields_to(1));

        let expected = comparison * compared + glance_time() * (3 - compared);
        assert_eq!((found.is_some(), time), (true, expected), "{source}");
    }
}

#[test]
fn the_way_in_which_an_entry_does_not_match_costs_the_same() {
    let mut table = table_of(&[1, 2, 3]);

    let (_, none) = table.search(&fields_to(9));
    let (_, last) = table.search(&fields_to(3));

    assert_eq!(none, last);
}

fn to_port(port: u16) -> Match10 {
    Match10 {
        tp_dst: Some(port),
        ..Match10::ANY
    }
}

fn entry(port: u16, priority: u16) -> Entry {
    Entry {
        matching: to_port(port),
        priority,
        cookie: Cookie(0),
        actions: vec![Action::output(PortNumber(2))],
        packets: 0,
        bytes: 0,
    }
}

fn table_of(ports: &[u16]) -> FlowTable {
    let mut table = FlowTable::default();
    for port in ports {
        table.add(entry(*port, 7)).unwrap();
    }
    table
}

fn order_of(table: &FlowTable) -> Vec<u16> {
    let ports = table.entries().map(|entry| entry.matching.tp_dst.unwrap());
    ports.collect()
}

fn fields_to(port: u16) -> Fields {
    let frame = datagram(
        ([10, 0, 0, 1].into(), 1_000),
        ([10, 0, 0, 2].into(), port),
        DataSize::from_bytes(64),
    );
    Fields::of(PortNumber(1), &frame)
}
