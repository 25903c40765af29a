//! Ports whose queues are the world's.

use proptest::prelude::*;
use switch::{Config, Input, Link, Output, Pacing, QUEUES, QueueTally};
use units::{Duration, Instant};
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::{Action, Message, PortNumber, QueueId, TransactionId};

use crate::frames::frame;
use crate::world::{CONTROLLER, World, from, output, paced};

/// A switch like [`paced`] whose port 2 is paced by the world.
fn paced_by_the_world() -> Config {
    let mut config = paced();
    config.ports[1].pacing = Pacing::World;
    config
}

/// One that sends what comes through port 1 through queue 5 of port 2.
fn forwarding() -> World {
    let mut world = World::with_controller(paced_by_the_world());
    world.add(1, &[from(1)], &[Action::SetQueue(QueueId(5)), output(2)]);
    world
}

fn tell(world: &mut World, port: u32, tallies: &[QueueTally; QUEUES]) {
    let port = PortNumber(port);
    world.handle(Input::Queues { port, tallies });
}

/// Tallies of a world in which only queue 5 has counted anything.
fn of_queue_five(sent: u64, dropped: u64) -> [QueueTally; QUEUES] {
    let mut tallies = [QueueTally::default(); QUEUES];
    tallies[5] = QueueTally {
        sent_frames: sent,
        sent_bytes: sent * 60,
        dropped_frames: dropped,
    };
    tallies
}

#[test]
fn the_world_gets_every_frame_at_once_with_its_queue() {
    let mut world = forwarding();

    for mark in 0..3 {
        world.frame(1, &frame(0x88b5, &[mark]));
    }

    assert_eq!(world.switch.deadline(), None);
    assert_eq!(world.sent.len(), 3);
    for sent in &world.sent {
        assert_eq!((sent.queue, sent.departs), (5, world.now));
    }
}

#[test]
fn a_frame_tells_its_queue_where_the_switch_paces_too() {
    let mut world = World::with_controller(paced());
    world.add(1, &[from(1)], &[Action::SetQueue(QueueId(3)), output(2)]);

    world.frame(1, &frame(0x88b5, &[0]));
    world.frame(1, &frame(0x88b5, &[1]));
    world.run_until(Instant::ZERO + Duration::from_ms(1));

    let queues: Vec<_> = world.sent.iter().map(|sent| sent.queue).collect();
    assert_eq!(queues, [3, 3]);
}

#[test]
fn the_rate_that_the_world_keeps_is_what_controllers_are_told() {
    let speed = |config| {
        let mut world = World::with_controller(config);
        let request = MultipartRequest::new(RequestBody::PortDescription);
        let answers = world.ask(&Message::MultipartRequest(request));
        let Message::MultipartReply(reply) = answers[0].message() else {
            panic!("not what was expected")
        };
        let ReplyBody::PortDescription(ports) = reply.body else {
            panic!("not what was expected")
        };
        ports.iter().nth(1).unwrap().unwrap().current_speed_kbps
    };

    assert_eq!(speed(paced_by_the_world()), speed(paced()));
}

#[test]
fn what_left_and_what_was_lost_is_what_the_worlds_queues_say() {
    let mut world = forwarding();
    for mark in 0..4 {
        world.frame(1, &frame(0x88b5, &[mark]));
    }
    let queue = |world: &World| world.switch.queue_counters(PortNumber(2)).unwrap()[5];
    assert_eq!(queue(&world).sent_frames, 0, "they may wait yet");

    tell(&mut world, 2, &of_queue_five(3, 1));
    tell(&mut world, 2, &of_queue_five(3, 1));

    let counted = queue(&world);
    assert_eq!((counted.sent_frames, counted.sent_bytes), (3, 180));
    assert_eq!(counted.dropped_frames, 1);
    let port = world.switch.port_counters(PortNumber(2)).unwrap();
    assert_eq!((port.sent_frames, port.sent_bytes), (3, 180));
    assert_eq!(port.sent_dropped, 1);
}

#[test]
fn who_asks_for_queues_is_told_what_the_world_says_when_it_is_asked() {
    let mut world = forwarding();
    let (now, mut bytes) = (world.now, Vec::new());
    let body = RequestBody::Queue {
        port: PortNumber(2),
        queue: QueueId(5),
    };
    let request = Message::MultipartRequest(MultipartRequest::new(body));
    request.emit(TransactionId(7), &mut bytes);
    let received = Input::Received {
        connection: CONTROLLER,
        bytes: &bytes,
    };
    world.switch.handle(now, received);

    assert_eq!(world.switch.poll(), Some(Output::Count));
    assert_eq!(world.switch.poll(), None, "the answer waits");
    assert_eq!(world.switch.deadline(), Some(now));
    tell(&mut world, 2, &of_queue_five(3, 1));
    world.run_until(now);

    let answers = world.answers(CONTROLLER);
    let Message::MultipartReply(reply) = answers[0].message() else {
        panic!("not what was expected")
    };
    let ReplyBody::Queue(queues) = reply.body else {
        panic!("not what was expected")
    };
    let queue = queues.iter().next().unwrap().unwrap();
    assert_eq!((queue.sent_packets, queue.sent_errors), (3, 1));
}

#[test]
fn what_the_switch_itself_refuses_counts_beside_what_the_world_drops() {
    let mut world = forwarding();
    world.link(2, Link::Down);
    world.frame(1, &frame(0x88b5, &[0]));

    tell(&mut world, 2, &of_queue_five(0, 2));

    let queues = world.switch.queue_counters(PortNumber(2)).unwrap();
    assert_eq!(queues[5].dropped_frames, 3);
    let port = world.switch.port_counters(PortNumber(2)).unwrap();
    assert_eq!(port.sent_dropped, 3);
}

#[test]
fn queues_that_begin_anew_add_to_what_those_before_them_did() {
    let mut world = forwarding();

    tell(&mut world, 2, &of_queue_five(10, 4));
    tell(&mut world, 2, &of_queue_five(1, 0));
    tell(&mut world, 2, &of_queue_five(2, 1));

    let counted = world.switch.queue_counters(PortNumber(2)).unwrap()[5];
    assert_eq!((counted.sent_frames, counted.dropped_frames), (12, 5));
}

#[test]
fn controllers_are_told_what_the_worlds_queues_did() {
    let mut world = forwarding();
    tell(&mut world, 2, &of_queue_five(7, 2));

    let request = RequestBody::Queue {
        port: PortNumber(2),
        queue: QueueId(5),
    };
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(request)));

    let Message::MultipartReply(reply) = answers[0].message() else {
        panic!("not what was expected")
    };
    let ReplyBody::Queue(queues) = reply.body else {
        panic!("not what was expected")
    };
    let told = queues.iter().next().unwrap().unwrap();
    assert_eq!(
        (told.sent_packets, told.sent_bytes, told.sent_errors),
        (7, 420, 2)
    );
}

#[test]
fn tallies_say_nothing_about_a_port_that_the_switch_paces_or_does_not_have() {
    let mut world = forwarding();

    tell(&mut world, 1, &of_queue_five(7, 2));
    tell(&mut world, 9, &of_queue_five(7, 2));

    let counted = world.switch.queue_counters(PortNumber(1)).unwrap()[5];
    assert_eq!((counted.sent_frames, counted.dropped_frames), (0, 0));
}

#[test]
fn only_ports_that_the_switch_paces_need_buffers() {
    let all = paced().buffers_that_suffice();
    let two = paced_by_the_world().buffers_that_suffice();

    assert_eq!(all - two, QUEUES * paced().queue_capacity);
}

proptest! {
    /// Whatever a world says: counters never go back.
    #[test]
    fn counters_grow_whatever_the_world_tells(
        told in prop::collection::vec((0..1_000_u64, 0..1_000_u64), 1..20),
    ) {
        let mut world = forwarding();
        let mut before = world.switch.queue_counters(PortNumber(2)).unwrap()[5];
        for (sent, dropped) in told {
            tell(&mut world, 2, &of_queue_five(sent, dropped));

            let after = world.switch.queue_counters(PortNumber(2)).unwrap()[5];
            prop_assert!(after.sent_frames >= before.sent_frames);
            prop_assert!(after.sent_bytes >= before.sent_bytes);
            prop_assert!(after.dropped_frames >= before.dropped_frames);
            before = after;
        }
    }
}
