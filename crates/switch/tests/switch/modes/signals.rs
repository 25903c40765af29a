//! What neighbours say changes the mode, and nothing that others say does.

use proptest::prelude::*;
use switch::Link;
use units::{BitRate, Duration, Instant};
use wire::mode_signal::{FRAME_LENGTH, Kind, ModeSignal};
use wire::openflow::taktos::{ModeConfig, ModeEventKind, ModeKey, SignalFault};
use wire::openflow::{Action, DatapathId, PortNumber};

use super::{
    KEY, configure, events, from_host, held, mode, pass, settings, signal, signal_of, signals,
    taking_part, through, timeout, trunks,
};
use crate::frames::{frame, tagged};
use crate::world::output;

fn told_by(sent: &[(u32, Vec<u8>)]) -> Vec<(u32, Kind, u32, u8)> {
    let of = |(port, it): (u32, ModeSignal)| (port, it.kind, it.mode.era, it.mode.level.number());
    signals(sent).into_iter().map(of).collect()
}

#[test]
fn a_greater_mode_is_entered_and_passed_on_by_all_other_trunks() {
    let mut world = taking_part(None);

    let sent = through(&mut world, 3, &signal(Kind::Signal, mode(2, 1), 3));

    assert_eq!(told_by(&sent), [(4, Kind::Signal, 2, 1)]);
    let (held, served, counters) = held(&mut world);
    assert_eq!((held, served.number()), (mode(2, 1), 1));
    assert_eq!((counters.entered, counters.received), (1, 1));
}

#[test]
fn the_same_mode_again_is_not_passed_on() {
    let mut world = taking_part(None);
    through(&mut world, 3, &signal(Kind::Signal, mode(2, 1), 3));

    let sent = through(&mut world, 4, &signal(Kind::Signal, mode(2, 1), 4));

    assert_eq!(told_by(&sent), []);
    assert_eq!(held(&mut world).2.duplicate, 1);
}

#[test]
fn a_neighbour_that_is_behind_is_told() {
    let mut world = taking_part(None);
    through(&mut world, 3, &signal(Kind::Signal, mode(2, 1), 3));

    let sent = through(&mut world, 4, &signal(Kind::HeartBeat, mode(1, 7), 4));

    assert_eq!(told_by(&sent), [(4, Kind::Signal, 2, 1)]);
    let (held, _, counters) = held(&mut world);
    assert_eq!(
        (held, counters.stale, counters.beats_received),
        (mode(2, 1), 1, 1)
    );
}

#[test]
fn heart_beats_leave_by_all_trunks_at_their_times() {
    let mut world = taking_part(None);
    let interval = Duration::from_ms(10);
    let trunks = trunks();
    let beating = ModeConfig {
        heart_beat: Some(interval),
        ..settings(&trunks)
    };
    configure(&mut world, &beating);

    pass(&mut world, Duration::from_ms(35));

    let begins: Vec<_> = world.sent.iter().map(|it| (it.port.0, it.begins)).collect();
    let at = |count: u64| Instant::ZERO + interval * count;
    let expected = (1..=3).flat_map(|count| [(3, at(count)), (4, at(count))]);
    assert_eq!(begins, expected.collect::<Vec<_>>());
    assert_eq!(held(&mut world).2.beats_sent, 6);
}

#[test]
fn a_switch_that_comes_late_leaves_heart_beats_out() {
    let mut world = taking_part(None);
    let trunks = trunks();
    let beating = ModeConfig {
        heart_beat: Some(Duration::from_ms(10)),
        ..settings(&trunks)
    };
    configure(&mut world, &beating);

    timeout(&mut world, Instant::ZERO + Duration::from_ms(95));

    assert_eq!(world.take_sent().len(), 2);
    let deadline = Instant::ZERO + Duration::from_ms(105);
    assert_eq!(world.switch.deadline(), Some(deadline));
}

#[test]
fn a_trunk_that_comes_up_hears_the_mode_at_once() {
    let mut world = taking_part(None);
    through(&mut world, 3, &signal(Kind::Signal, mode(2, 1), 3));
    world.link(4, Link::Down);
    world.take_sent();

    world.link(4, Link::Up);

    assert_eq!(told_by(&world.take_sent()), [(4, Kind::Signal, 2, 1)]);
}

#[test]
fn a_new_neighbour_hears_the_mode_at_once_and_an_old_one_only_once() {
    let mut world = taking_part(None);
    let mut others = trunks();
    others[1].far_switch = DatapathId(999);

    configure(&mut world, &settings(&others));
    let changed = told_by(&world.take_sent());
    configure(&mut world, &settings(&others));

    assert_eq!(changed, [(4, Kind::Signal, 0, 0)]);
    assert_eq!(told_by(&world.take_sent()), []);
}

#[test]
fn a_signal_leaves_ahead_of_all_that_waits_and_the_last_one_takes_the_place_of_others() {
    let mut world = taking_part(Some(BitRate::from_mbps(100)));
    pass(&mut world, Duration::from_ms(1));
    world.take_sent();
    let urgent = Action::SetQueue(wire::openflow::QueueId(7));
    world.add(5, &[from_host()], &[urgent, output(4)]);
    for mark in 0..5 {
        world.frame(1, &frame(0x88b5, &[mark; 46]));
    }
    world.frame(3, &signal(Kind::Signal, mode(0, 1), 3));
    world.frame(3, &signal(Kind::Signal, mode(0, 2), 3));
    assert_eq!(world.switch.waiting(), 5);

    pass(&mut world, Duration::from_ms(1));

    let sent = world.take_sent();
    assert_eq!(told_by(&sent), [(4, Kind::Signal, 0, 2)]);
    assert_eq!(sent[1].0, 4);
    assert_eq!(
        signals(&sent[1..2]).len(),
        1,
        "second, behind the one under way"
    );
    assert_eq!(sent.len(), 6);
    let counters = world.switch.counters();
    assert_eq!(counters.outputs, counters.sent + counters.dropped);
}

#[test]
fn signals_find_a_buffer_though_frames_have_taken_all() {
    let mut config = super::config(Some(BitRate::from_mbps(100)));
    config.buffers = 4;
    let mut world = crate::world::World::with_controller(config);
    let of_signals = wire::openflow::MatchField::EthType(wire::ethernet::EtherType::MODE_SIGNAL);
    world.add(1000, &[of_signals], &[Action::ModeArrange]);
    world.add(5, &[from_host()], &[output(2)]);
    configure(&mut world, &settings(&trunks()));
    pass(&mut world, Duration::from_ms(1));
    for _ in 0..4 {
        world.frame(1, &frame(0x88b5, &[0; 46]));
    }
    assert_eq!(
        world.switch.free_buffers(),
        1,
        "one is on its way out at once"
    );
    world.frame(1, &frame(0x88b5, &[0; 46]));
    world.frame(1, &frame(0x88b5, &[0; 46]));
    assert_eq!(world.switch.free_buffers(), 0);
    world.take_sent();

    world.link(3, Link::Down);
    world.link(3, Link::Up);

    assert_eq!(told_by(&world.take_sent()), [(3, Kind::Signal, 0, 0)]);
}

#[test]
fn what_is_no_signal_of_a_neighbour_is_counted_by_its_fault_and_told() {
    let greater = mode(5, 3);
    let right = signal(Kind::Signal, greater, 3);
    let forged = {
        let mut forged = right.clone();
        forged[19] ^= 1;
        forged
    };
    let cases = [
        (SignalFault::Misplaced, 1, right.clone()),
        (SignalFault::Replayed, 4, right.clone()),
        (SignalFault::Forged, 3, forged),
        (SignalFault::Malformed, 3, right[..40].to_vec()),
    ];
    for (fault, port, frame) in cases {
        let mut world = taking_part(None);

        let sent = through(&mut world, port, &frame);

        assert_eq!(sent, []);
        let told = events(&mut world);
        assert_eq!(told.len(), 1);
        assert_eq!(
            (told[0].kind, told[0].port.0),
            (ModeEventKind::SignalsRefused(fault), port)
        );
        let (held, _, counters) = held(&mut world);
        assert_eq!(held, mode(0, 0));
        let counted = [
            counters.misplaced,
            counters.replayed,
            counters.forged,
            counters.malformed,
        ];
        assert_eq!(counted.iter().sum::<u64>(), 1);
    }
}

#[test]
fn signals_that_do_not_count_are_told_within_a_budget() {
    let mut world = taking_part(None);
    let misplaced = signal(Kind::Signal, mode(5, 3), 3);

    for _ in 0..1_000 {
        world.frame(1, &misplaced);
    }

    assert_eq!(events(&mut world).len(), 1);
    assert_eq!(held(&mut world).2.misplaced, 1_000);
}

proptest! {
    /// S2-11: a signal that only the network itself can send.
    #[test]
    fn no_frame_but_a_neighbours_changes_the_mode(
        port in 1u32..5, era in 1u32.., number in 0u8..8, beat: bool,
        sender in 102u64..106, far_port in 12u32..16, other_key: bool,
        flips in prop::collection::vec((14..FRAME_LENGTH, 0u8..8), 0..3),
        cut in 0..FRAME_LENGTH, tag: bool, cuts: bool,
    ) {
        let kind = if beat { Kind::HeartBeat } else { Kind::Signal };
        let said = ModeSignal {
            kind,
            mode: mode(era, number),
            origin: DatapathId(9),
            sender: DatapathId(sender),
            port: PortNumber(far_port),
        };
        let key = if other_key { ModeKey([1; 16]) } else { KEY };
        let whole = signal_of(&said, key);
        let mut bytes = whole.clone();
        for (at, bit) in flips {
            bytes[at] ^= 1 << bit;
        }
        if cuts {
            bytes.truncate(cut);
        }
        if tag && bytes.len() > 14 {
            bytes = tagged(1, 0, &bytes);
        }
        let mut world = taking_part(None);

        let sent = through(&mut world, port, &bytes);

        let is_neighbours = bytes == whole
            && !other_key
            && port >= 3
            && (sender, far_port) == (u64::from(100 + port), 10 + port);
        let (held, _, _) = held(&mut world);
        prop_assert_eq!(held == mode(era, number), is_neighbours);
        prop_assert_eq!(held == mode(0, 0), !is_neighbours);
        prop_assert_eq!(sent.is_empty(), !is_neighbours);
    }
}
