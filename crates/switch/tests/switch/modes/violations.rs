//! A flow that wants more than its contract raises the level.

use switch::Input;
use units::Duration;
use wire::mode_signal::{Kind, Level};
use wire::openflow::taktos::{Answer, Demanded, LevelSet, ModeEventKind, ModeFlags, Question};
use wire::openflow::{Action, PortNumber};

use super::{
    MONITOR, OWN, PERIOD, ask, at_level, configure, events, from_host, held, level, message, mode,
    pass, settings, signals, taking_part, through, told, trunks, watch,
};
use crate::frames::frame;
use crate::world::{World, output};

/// Frames of the watched flow leave by port 2, from level 1 on by port 4.
fn watched() -> World {
    let mut world = taking_part(None);
    let watched = Action::FlowMonitor(MONITOR);
    world.add(5, &[from_host(), at_level(0)], &[watched, output(2)]);
    world.add(5, &[from_host(), at_level(1)], &[watched, output(4)]);
    watch(&mut world);
    world
}

fn ports_of(sent: &[(u32, Vec<u8>)]) -> Vec<u32> {
    sent.iter().map(|(port, _)| *port).collect()
}

#[test]
fn the_frame_that_violates_goes_its_way_and_the_next_one_meets_the_new_level() {
    let mut world = watched();

    let within = through(&mut world, 1, &message(0, 100));
    pass(&mut world, PERIOD);
    let violating = through(&mut world, 1, &message(1, 150));
    let next = through(&mut world, 1, &message(1, 150));

    assert_eq!(ports_of(&within), [2]);
    assert!(violating.contains(&(2, message(1, 150))));
    assert_eq!(next, [(4, message(1, 150))]);
}

#[test]
fn a_violation_is_told_to_all_neighbours_at_once_and_to_nobody_else() {
    let mut world = watched();
    through(&mut world, 1, &message(0, 100));

    // Too early.
    let sent = through(&mut world, 1, &message(1, 100));

    let told = signals(&sent);
    assert_eq!(
        told.iter().map(|(port, _)| *port).collect::<Vec<_>>(),
        [3, 4]
    );
    for (port, signal) in told {
        assert_eq!((signal.kind, signal.mode), (Kind::Signal, mode(0, 1)));
        assert_eq!((signal.origin, signal.sender), (OWN, OWN));
        assert_eq!(signal.port, PortNumber(port));
    }
}

#[test]
fn the_controller_hears_of_the_violation_and_of_the_mode() {
    let mut world = watched();

    through(&mut world, 1, &message(0, 300));
    through(&mut world, 1, &message(0, 300));

    let kinds: Vec<_> = events(&mut world).iter().map(|it| it.kind).collect();
    let beyond = Demanded::Beyond(level(1));
    assert_eq!(
        kinds,
        [ModeEventKind::Entered, ModeEventKind::Violation(beyond)]
    );
}

#[test]
fn a_locked_switch_counts_and_does_nothing_else() {
    let mut world = watched();
    let trunks = trunks();
    let locked = ModeFlags::LOCKED;
    configure(
        &mut world,
        &super::ModeConfig {
            flags: locked,
            ..settings(&trunks)
        },
    );

    let sent = through(&mut world, 1, &message(0, 150));

    assert_eq!(ports_of(&sent), [2]);
    let (held, _, counters) = held(&mut world);
    assert_eq!(
        (held, counters.demanded, counters.disregarded),
        (mode(0, 0), 1, 1)
    );
}

#[test]
fn a_switch_that_asks_tells_the_controller_and_does_nothing_else() {
    let mut world = watched();
    let trunks = trunks();
    let asking = ModeFlags::ASK;
    configure(
        &mut world,
        &super::ModeConfig {
            flags: asking,
            ..settings(&trunks)
        },
    );

    let sent = through(&mut world, 1, &message(0, 150));

    assert_eq!(ports_of(&sent), [2]);
    let kinds: Vec<_> = events(&mut world).iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [ModeEventKind::Violation(Demanded::Level(level(1)))]);
    assert_eq!(held(&mut world).0, mode(0, 0));
}

#[test]
fn a_level_that_is_not_complete_is_agreed_on_but_the_default_is_served() {
    let mut world = watched();
    let trunks = trunks();
    let complete = LevelSet::NONE.with(Level::LOWEST);
    configure(
        &mut world,
        &super::ModeConfig {
            complete,
            ..settings(&trunks)
        },
    );

    through(&mut world, 1, &message(0, 150));
    let next = through(&mut world, 1, &message(0, 150));

    assert_eq!(ports_of(&next), [2]);
    let kinds: Vec<_> = events(&mut world).iter().map(|it| it.kind).collect();
    assert!(kinds.contains(&ModeEventKind::Incomplete));
    let (agreed, served, _) = held(&mut world);
    assert_eq!((agreed, served), (mode(0, 1), Level::LOWEST));

    configure(&mut world, &settings(&trunks));
    let complete = through(&mut world, 1, &message(0, 150));
    assert_eq!(ports_of(&complete), [4]);
}

#[test]
fn an_entry_that_names_no_monitor_that_is_there_forwards_all_the_same() {
    let mut world = taking_part(None);
    world.add(
        5,
        &[from_host()],
        &[Action::FlowMonitor(MONITOR), output(2)],
    );

    let sent = through(&mut world, 1, &message(0, 1_000_000));

    assert_eq!(ports_of(&sent), [2]);
    assert_eq!(held(&mut world).0, mode(0, 0));
}

#[test]
fn a_frame_without_the_header_of_a_message_is_counted_and_demands_nothing() {
    let mut world = watched();

    through(&mut world, 1, &frame(0x88b5, &[0; 46]));
    through(&mut world, 1, &crate::frames::udp(64, &[0; 11]));

    let answers = ask(&mut world, Question::Monitors);
    let Answer::Monitors(reports) = told(&answers[0]) else {
        panic!("another answer");
    };
    let report = reports.iter().next().unwrap().unwrap();
    assert_eq!(
        (report.monitor, report.unreadable, report.packets),
        (MONITOR, 2, 0)
    );
    assert_eq!(held(&mut world).0, mode(0, 0));
}

#[test]
fn violations_are_told_within_a_budget_and_none_is_lost_from_the_count() {
    const MESSAGES: u64 = 1_000;
    let mut world = watched();

    let mut told = Vec::new();
    for number in 0..1_000 {
        world.frame(1, &message(number, 150));
        told.extend(events(&mut world));
    }
    pass(&mut world, Duration::from_secs(1));
    world.frame(1, &message(2_000, 150));
    told.extend(events(&mut world));
    world.handle(Input::Timeout);

    let violations = told
        .iter()
        .filter(|it| matches!(it.kind, ModeEventKind::Violation(_)));
    let counts: Vec<_> = violations.map(|it| it.count).collect();
    assert!(counts.len() < 20, "{}", counts.len());
    assert_eq!(counts.iter().sum::<u64>(), MESSAGES + 1);
}
