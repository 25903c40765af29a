//! When frames leave: strict priority, not preemptive, at the rate of the port.

use proptest::prelude::*;
use switch::{Config, Input, Link, QUEUES};
use units::{BitRate, Duration, Instant};
use wire::ethernet::wire_size;
use wire::openflow::{Action, DatapathId, MatchField, PortNumber, QueueId};

use crate::frames::{frame, tagged};
use crate::world::{Sent, World, from, output, paced, ports, unpaced};

/// 84 bytes of wire at 100 Mbit/s.
const SHORTEST: Duration = Duration::from_ns(6_720);

/// A switch that sends frames from port 1 to port 2 through the queue that the
/// priority of their tag names, and frames from port 3 through queue 0.
fn by_priority(config: Config) -> World {
    let mut world = World::with_controller(config);
    world.add(1, &[from(3)], &[output(2)]);
    for queue in 0..8 {
        let tagged = MatchField::VlanVid(wire::openflow::oxm::Masked::under(
            wire::openflow::oxm::VlanMatch::PRESENT,
            wire::openflow::oxm::VlanMatch::PRESENT,
        ));
        let fields = [from(1), tagged, MatchField::VlanPcp(queue)];
        let queue = QueueId(u32::from(queue));
        world.add(2, &fields, &[Action::SetQueue(queue), output(2)]);
    }
    world
}

fn of_priority(priority: u16, mark: u8) -> Vec<u8> {
    tagged(1, priority, &frame(0x88ba, &[mark]))
}

fn marks(sent: &[Sent]) -> Vec<u8> {
    let last = sent.iter().map(|it| it.frame.last().copied());
    last.flatten().collect()
}

#[test]
fn an_idle_port_begins_at_once_and_its_last_bit_leaves_after_the_wire_time() {
    let mut world = by_priority(paced());
    world.run_until(Instant::from_ns(500));

    world.frame(1, &of_priority(0, 1));

    let sent = &world.sent[0];
    assert_eq!(
        (sent.begins, sent.departs),
        (world.now, world.now + SHORTEST)
    );
    assert_eq!(world.switch.deadline(), None);
}

#[test]
fn what_waits_begins_the_moment_the_port_is_free() {
    let mut world = by_priority(paced());

    world.frame(1, &of_priority(0, 1));
    world.frame(1, &of_priority(0, 2));
    assert_eq!(world.switch.deadline(), Some(Instant::ZERO + SHORTEST));
    world.run_until(Instant::from_ns(1_000_000));

    assert_eq!(world.sent[1].begins, Instant::ZERO + SHORTEST);
    assert_eq!(world.sent[1].departs, Instant::ZERO + SHORTEST * 2u64);
    assert_eq!(world.switch.deadline(), None);
}

#[test]
fn the_most_urgent_goes_first_but_interrupts_nothing() {
    let mut world = by_priority(paced());

    for (priority, mark) in [(0, 1), (0, 2), (7, 3), (3, 4), (7, 5)] {
        world.frame(1, &of_priority(priority, mark));
    }
    world.run_until(Instant::from_ns(1_000_000));

    assert_eq!(marks(&world.sent), [1, 3, 5, 4, 2]);
}

#[test]
fn a_full_queue_drops_the_newest_and_counts_it() {
    let mut config = paced();
    config.queue_capacity = 2;
    let mut world = by_priority(config);

    for mark in 0..5 {
        world.frame(1, &of_priority(4, mark));
    }
    world.frame(1, &of_priority(5, 9));
    world.run_until(Instant::from_ns(1_000_000));

    assert_eq!(marks(&world.sent), [0, 9, 1, 2]);
    let queues = world.switch.queue_counters(PortNumber(2)).unwrap();
    assert_eq!((queues[4].sent_frames, queues[4].dropped_frames), (3, 2));
    assert_eq!((queues[5].sent_frames, queues[5].dropped_frames), (1, 0));
    assert_eq!(
        world
            .switch
            .port_counters(PortNumber(2))
            .unwrap()
            .sent_dropped,
        2
    );
}

#[test]
fn a_link_that_goes_down_loses_what_waits_and_takes_nothing() {
    let mut world = by_priority(paced());
    let free = world.switch.free_buffers();
    for mark in 0..4 {
        world.frame(1, &of_priority(1, mark));
    }

    world.link(2, Link::Down);
    world.frame(1, &of_priority(1, 9));
    world.run_until(Instant::from_ns(1_000_000));
    world.link(2, Link::Up);
    world.frame(1, &of_priority(1, 10));

    assert_eq!(marks(&world.sent), [0, 10]);
    assert_eq!(world.switch.counters().dropped, 4);
    assert_eq!(world.switch.free_buffers(), free);
}

#[test]
fn a_world_that_comes_a_little_late_does_not_slow_the_port_down() {
    let mut world = by_priority(paced());
    for mark in 0..3 {
        world.frame(1, &of_priority(0, mark));
    }

    world.now = Instant::ZERO + SHORTEST + Duration::from_us(2);
    world.handle(Input::Timeout);
    assert_eq!(world.sent[1].departs, Instant::ZERO + SHORTEST * 2u64);
    world.now = world.sent[1].departs + Duration::from_ms(1);
    world.handle(Input::Timeout);

    assert_eq!(world.sent[2].departs, world.now + SHORTEST);
}

#[test]
fn a_pool_that_is_used_up_refuses_frames_until_one_leaves() {
    let mut config = paced();
    config.buffers = 3;
    let mut world = by_priority(config);

    for mark in 0..5 {
        world.frame(1, &of_priority(0, mark));
    }
    world.run_until(Instant::ZERO + SHORTEST);
    world.frame(1, &of_priority(0, 9));
    world.run_until(Instant::from_ns(1_000_000));

    // The first left at once, three wait, the fifth finds no buffer.
    assert_eq!(marks(&world.sent), [0, 1, 2, 3, 9]);
    assert_eq!(world.switch.counters().refused, 1);
}

#[test]
fn buffers_that_suffice_do() {
    let config = paced();
    let world = by_priority(config.clone());

    assert_eq!(world.switch.free_buffers(), config.buffers_that_suffice());
}

/// What happens to the switch of the properties below.
#[derive(Clone, Debug)]
enum Event {
    Frame { priority: u16, bytes: usize },
    Flood { bytes: usize },
    Wait(u64),
    Link(bool),
}

fn event() -> impl Strategy<Value = Event> {
    let bytes = || 1usize..1_500;
    prop_oneof![
        8 => (0u16..8, bytes()).prop_map(|(priority, bytes)| Event::Frame { priority, bytes }),
        3 => bytes().prop_map(|bytes| Event::Flood { bytes }),
        4 => (0u64..300_000).prop_map(Event::Wait),
        1 => any::<bool>().prop_map(Event::Link),
    ]
}

fn run(world: &mut World, events: &[Event]) {
    for event in events {
        match *event {
            Event::Frame { priority, bytes } => {
                world.frame(1, &tagged(1, priority, &frame(0x88ba, &vec![0; bytes])));
            }
            Event::Flood { bytes } => world.frame(3, &frame(0x88b5, &vec![0; bytes])),
            Event::Wait(ns) => world.run_until(world.now + Duration::from_ns(ns)),
            Event::Link(true) => world.link(2, Link::Up),
            Event::Link(false) => world.link(2, Link::Down),
        }
    }
}

proptest! {
    /// Every copy that was asked for leaves, waits, or is counted as dropped;
    /// and every buffer is either free or waits.
    #[test]
    fn nothing_is_lost_uncounted(events in prop::collection::vec(event(), 0..200)) {
        let mut config = paced();
        (config.queue_capacity, config.buffers) = (4, 20);
        let mut world = by_priority(config);

        run(&mut world, &events);

        let counters = world.switch.counters();
        let waiting = u64::try_from(world.switch.waiting()).unwrap();
        prop_assert_eq!(counters.outputs, counters.sent + waiting + counters.dropped);
        prop_assert_eq!(counters.frames, counters.refused + counters.missed + counters.outputs);
        prop_assert_eq!(world.switch.free_buffers() + world.switch.waiting(), 20);
        let queues = world.switch.queue_counters(PortNumber(2)).unwrap();
        let dropped: u64 = queues.iter().map(|it| it.dropped_frames).sum();
        prop_assert_eq!(dropped, counters.dropped);
        prop_assert_eq!(queues.len(), QUEUES);
    }

    /// No two frames overlap on the wire, each takes the time of its size, and
    /// the port is never idle while something waits.
    #[test]
    fn the_wire_is_used_by_one_frame_at_a_time_and_never_idle_in_between(
        events in prop::collection::vec(event(), 0..200),
        bps in 1_000_000u64..1_000_000_000,
    ) {
        let rate = BitRate::from_bps(bps);
        let mut world = by_priority(Config::new(DatapathId(1), ports(3, Some(rate))));

        run(&mut world, &events);
        world.run_until(world.now + Duration::from_secs(100));

        for sent in &world.sent {
            let time = rate.time_to_send(wire_size(sent.frame.len())).round_up();
            prop_assert_eq!(sent.departs, sent.begins + time);
        }
        for two in world.sent.windows(2) {
            prop_assert!(two[1].begins >= two[0].departs);
        }
        prop_assert_eq!(world.switch.waiting(), 0);
    }

    /// Among frames that are there when one begins, none is more urgent.
    #[test]
    fn no_frame_begins_while_a_more_urgent_one_waits(
        priorities in prop::collection::vec(0u16..8, 1..60),
    ) {
        let mut world = by_priority(paced());

        for (mark, priority) in (0..).zip(&priorities) {
            world.frame(1, &of_priority(*priority, mark));
        }
        world.run_until(Instant::from_ns(1_000_000_000));

        // The first began at once; of the others each order is known.
        let mut expected: Vec<_> = (0u8..).zip(&priorities).skip(1).collect();
        expected.sort_by_key(|(mark, priority)| (std::cmp::Reverse(**priority), *mark));
        let expected: Vec<_> = expected.into_iter().map(|(mark, _)| mark).collect();
        prop_assert_eq!(&marks(&world.sent)[1..], &expected[..]);
    }
}

#[test]
fn every_queue_knows_how_long_its_frames_stayed() {
    let mut world = by_priority(paced());

    for mark in 0..3 {
        world.frame(1, &of_priority(0, mark));
    }
    world.frame(1, &of_priority(7, 3));
    world.run_until(Instant::from_ns(1_000_000));

    let residence = world.switch.residence(PortNumber(2)).unwrap();
    assert_eq!((residence[0].frames(), residence[7].frames()), (3, 1));
    assert_eq!(residence[7].longest(), SHORTEST * 2u64);
    assert_eq!(residence[0].longest(), SHORTEST * 4u64);
    assert_eq!(residence[1].frames(), 0);
}

#[test]
fn a_frame_stays_from_its_arrival_on_not_from_when_it_was_handed_in() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[from(1)], &[output(2)]);
    world.run_until(Instant::from_ns(5_000));

    world.handle(Input::Frame {
        port: PortNumber(1),
        bytes: &frame(0x88ba, &[1]),
        arrived: Instant::from_ns(2_000),
    });

    let residence = world.switch.residence(PortNumber(2)).unwrap();
    assert_eq!(residence[0].longest(), Duration::from_ns(3_000));
}
