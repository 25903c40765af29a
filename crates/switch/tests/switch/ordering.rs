//! Streams whose frames leave in order (RFC 9550): each is held until those before it came,
//! or for no longer than the hold.

use switch::{HELD_FRAMES_MAX, Input};
use units::Duration;
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{
    Answer, CoreReason, Eliminate, Question, RecoveryAlgorithm, SequenceEncoding, StreamHandle,
    SwitchFeatures,
};
use wire::openflow::{
    Action, Actions, BadAction, Bucket, ErrorKind, Fields, FlowMod, FlowModCommand, GroupId,
    GroupMod, GroupModCommand, GroupType, Instruction, Instructions, Message, PortNumber, Sequence,
    TableId,
};

use crate::compiled::reasons;
use crate::frames::frame;
use crate::streams::{Bench, STREAM, numbered};
use crate::world::{World, from, output, unpaced};

const HOLD: Duration = Duration::from_us(300);
const IN_ORDER: Eliminate = Eliminate {
    stream: STREAM,
    algorithm: RecoveryAlgorithm::Vector,
    history: 8,
    reset: Duration::from_ms(100),
    takes_unnumbered: false,
    strips_tag: true,
    encoding: SequenceEncoding::RTag,
    ways: None,
    tolerance: 0,
    hold: HOLD,
};

fn payload(number: u16) -> [u8; 100] {
    [u8::try_from(number).expect("a small one"); 100]
}

/// Hands in a frame with a number, and returns the numbers of those that leave.
fn send(bench: &mut Bench, port: u32, number: u16) -> Vec<u16> {
    let sent = bench.send(port, &numbered(number, &payload(number)));
    numbers(sent)
}

fn wait(bench: &mut Bench, time: Duration) -> Vec<u16> {
    let end = bench.world.now + time;
    bench.world.run_until(end);
    numbers(bench.world.take_sent())
}

/// Returns which frames were sent, each through port 1 and as it was before it was numbered.
fn numbers(sent: Vec<(u32, Vec<u8>)>) -> Vec<u16> {
    let numbers = sent.into_iter().map(|(port, bytes)| {
        let number = u16::from(bytes[20]);
        assert_eq!((port, bytes), (1, frame(0x88ba, &payload(number))));
        number
    });
    numbers.collect()
}

#[test]
fn frames_leave_in_order_whichever_way_is_quicker_and_wait_for_the_hold_at_most() {
    for mut bench in Bench::both() {
        bench.eliminates(IN_ORDER);

        assert_eq!(send(&mut bench, 2, 0), [0]);
        assert_eq!(send(&mut bench, 2, 2), []);
        assert_eq!(send(&mut bench, 3, 0), []);
        assert_eq!(send(&mut bench, 3, 1), [1, 2]);
        assert_eq!(send(&mut bench, 3, 2), []);
        // Three is lost by one way and late by the other.
        assert_eq!(send(&mut bench, 2, 5), []);
        assert_eq!(wait(&mut bench, Duration::from_us(100)), []);
        assert_eq!(send(&mut bench, 2, 4), []);
        assert_eq!(wait(&mut bench, Duration::from_ns(199_999)), []);
        assert_eq!(wait(&mut bench, Duration::from_ns(1)), [4, 5]);
        assert_eq!(send(&mut bench, 3, 3), []);
        assert_eq!(send(&mut bench, 3, 6), [6]);

        let counters = bench.report().counters;
        assert_eq!(
            (counters.held, counters.gave_up, counters.late),
            (3, 1, 1),
            "{counters:?}"
        );
        assert_eq!((counters.passed, counters.discarded), (7, 2));
    }
}

#[test]
fn how_long_a_frame_was_held_is_no_part_of_its_stay() {
    for mut bench in Bench::both() {
        bench.eliminates(IN_ORDER);
        send(&mut bench, 2, 0);
        send(&mut bench, 2, 2);

        assert_eq!(wait(&mut bench, HOLD), [2]);

        let residence = bench.world.switch.residence(PortNumber(1)).unwrap()[0];
        assert_eq!(residence.frames(), 2);
        assert_eq!(residence.longest(), Duration::ZERO);
    }
}

#[test]
fn frames_that_are_held_take_no_room_from_others_and_are_gone_with_their_entries() {
    for mut bench in Bench::both() {
        bench.eliminates(IN_ORDER);
        let free = bench.world.switch.free_buffers();
        send(&mut bench, 2, 0);
        for number in 2..8 {
            assert_eq!(send(&mut bench, 2, number), []);
        }
        assert_eq!(bench.world.switch.free_buffers(), free);

        bench.world.tell(&Message::FlowMod(FlowMod {
            command: FlowModCommand::Delete,
            ..FlowMod::add(TableId(0))
        }));

        assert_eq!(wait(&mut bench, HOLD), []);
        assert_eq!(bench.world.switch.free_buffers(), free);
        assert_eq!(bench.world.switch.counters().abandoned, 6);
    }
}

/// What is done with a frame was said by the entry that it met.
#[test]
fn a_frame_that_is_held_leaves_by_the_entry_that_it_met() {
    let [mut bench, _] = Bench::both();
    bench.eliminates(IN_ORDER);
    send(&mut bench, 2, 0);
    send(&mut bench, 2, 2);

    bench.add(&[from(2)], &[Action::Eliminate(IN_ORDER), output(3)]);

    assert_eq!(wait(&mut bench, HOLD), [2]);
}

/// A switch that is called too late still holds no more than there is room for.
#[test]
fn a_switch_that_is_called_late_keeps_the_order() {
    let [mut bench, _] = Bench::both();
    bench.eliminates(IN_ORDER);
    send(&mut bench, 2, 0);
    send(&mut bench, 2, 3);
    send(&mut bench, 2, 2);
    bench.world.now += HOLD * 3u64;

    let left = send(&mut bench, 3, 1);

    assert_eq!(left, [2, 3]);
    assert_eq!(bench.report().counters.late, 1);
}

#[test]
fn the_core_orders_what_others_cannot_and_says_so() {
    let [mut tables, mut compiled] = Bench::both();
    for (bench, orders_streams) in [(&mut tables, true), (&mut compiled, false)] {
        bench.eliminates(IN_ORDER);

        assert_eq!(
            features(&mut bench.world),
            SwitchFeatures { orders_streams }
        );
    }
    let order = Some(CoreReason::Order);
    assert_eq!(reasons(&mut compiled.world), [(7, order), (7, order)]);
}

fn features(world: &mut World) -> SwitchFeatures {
    let body = RequestBody::Experimenter(Question::Features.body());
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    let Message::MultipartReply(reply) = answers[0].message() else {
        panic!("not what was expected")
    };
    let ReplyBody::Experimenter(body) = reply.body else {
        panic!("not what was expected")
    };
    match Answer::parse(&body).expect("the switch writes what can be read") {
        Some(Answer::Features(features)) => features,
        other => panic!("not what was expected: {other:?}"),
    }
}

#[test]
fn what_could_not_go_on_later_is_refused() {
    let mut world = World::with_controller(unpaced());
    let out = [output(1)];
    let buckets = [Bucket::new(Actions::of(&out))];
    world.tell(&Message::GroupMod(GroupMod {
        command: GroupModCommand::Add,
        kind: GroupType::Indirect,
        group: GroupId(1),
        buckets: Sequence::of(&buckets),
    }));
    let eliminate = Action::Eliminate(IN_ORDER);
    let alone = [eliminate];
    let into_group = [eliminate, Action::Group(GroupId(1))];
    let twice = [eliminate, eliminate];
    let refused = [
        vec![
            Instruction::ApplyActions(Actions::of(&alone)),
            Instruction::GotoTable(TableId(1)),
        ],
        vec![
            Instruction::ApplyActions(Actions::of(&alone)),
            Instruction::WriteActions(Actions::of(&out)),
        ],
        vec![Instruction::ApplyActions(Actions::of(&into_group))],
        vec![Instruction::ApplyActions(Actions::of(&twice))],
    ];

    for instructions in refused {
        let message = Message::FlowMod(FlowMod {
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        });
        let misplaced = ErrorKind::BadAction(BadAction::BadExperimenterType);
        assert_eq!(world.refused(&message), misplaced, "{instructions:?}");
    }
}

#[test]
fn there_is_room_for_all_that_is_held_or_the_entry_is_refused() {
    let mut world = World::with_controller(unpaced());
    let stream = |number| {
        Action::Eliminate(Eliminate {
            stream: StreamHandle(number),
            history: Eliminate::HISTORY_MAX,
            ..IN_ORDER
        })
    };
    let streams = HELD_FRAMES_MAX / usize::from(Eliminate::HISTORY_MAX);
    let streams = u32::try_from(streams).unwrap();
    for number in 0..streams {
        world.add(7, &[from(1 + number)], &[stream(number), output(1)]);
    }
    let one_more = [stream(streams), output(1)];
    let one_more = [Instruction::ApplyActions(Actions::of(&one_more))];
    let fields = [from(1 + streams)];
    let one_more = Message::FlowMod(FlowMod {
        matching: Fields::of(&fields),
        instructions: Instructions::of(&one_more),
        ..FlowMod::add(TableId(0))
    });

    let too_many = ErrorKind::BadAction(BadAction::TooMany);
    assert_eq!(world.refused(&one_more), too_many);
    // A second entry of a stream needs no room of its own; one that is gone leaves its.
    world.add(8, &[from(1)], &[stream(0), output(2)]);
    for priority in [7, 8] {
        let fields = [from(1)];
        world.tell(&Message::FlowMod(FlowMod {
            command: FlowModCommand::DeleteStrict,
            priority,
            matching: Fields::of(&fields),
            ..FlowMod::add(TableId(0))
        }));
    }
    world.tell(&one_more);
}

#[test]
fn holding_allocates_nothing() {
    let [mut bench, _] = Bench::both();
    bench.eliminates(IN_ORDER);
    let world = &mut bench.world;
    let frames: Vec<_> = (0..200)
        .map(|number| numbered(number, &payload(number)))
        .collect();
    let mut now = world.now;
    let mut sent = 0;

    let allocations = allocation_counter::measure(|| {
        for pair in frames.chunks(2) {
            for bytes in [&pair[1], &pair[0]] {
                now += Duration::from_us(10);
                world.switch.handle(
                    now,
                    Input::Frame {
                        port: PortNumber(2),
                        bytes,
                        arrived: now,
                    },
                );
                while world.switch.poll().is_some() {
                    sent += 1;
                }
            }
        }
    });

    assert_eq!((sent, allocations.count_total), (200, 0));
    world.now = now;
    assert_eq!(bench.report().counters.held, 100);
}
