//! Long work is done in slices: frames and other connections have their turn in
//! between, and the message behind it waits, so that barriers stay exact. OF13
//! clauses 6.2 and 6.4.

use switch::{Config, ConnectionId, Input};
use wire::openflow::multipart::{
    FlowStatisticsRequest, MultipartReply, MultipartRequest, ReplyBody, RequestBody,
};
use wire::openflow::taktos::{LevelSet, ModeMessage, ShadowMod};
use wire::openflow::{
    Action, Actions, Bucket, Buckets, Echo, ErrorKind, Fields, FlowMod, FlowModCommand,
    FlowModFailed, FlowModFlags, GroupId, GroupMod, GroupModCommand, GroupType, Instruction,
    Instructions, MatchField, Message, PortNumber, TableId, TransactionId,
};

use crate::frames::udp;
use crate::world::{Answer, CONTROLLER, World, from, output, unpaced};

const OTHER: ConnectionId = ConnectionId(2);
/// How many entries: many slices of them.
const ENTRIES: u16 = 3_000;
/// How many entries change in a call.
const CHANGES_MAX: usize = 16;

fn datagrams_to(port: u16) -> [MatchField; 3] {
    [
        MatchField::EthType(wire::ethernet::EtherType::IPV4),
        MatchField::IpProto(17),
        MatchField::UdpDst(port),
    ]
}

/// A switch with many entries that send to port 2 whatever is for their UDP
/// port, and say when they are removed.
fn full() -> World {
    let mut world = World::with_controller(Config {
        tables: 2,
        ..unpaced()
    });
    world.greet(OTHER);
    fill(&mut world, output(2));
    world
}

fn fill(world: &mut World, action: Action) {
    let actions = [action];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    for port in 1..=ENTRIES {
        world.tell(&Message::FlowMod(FlowMod {
            priority: 7,
            matching: Fields::of(&datagrams_to(port)),
            instructions: Instructions::of(&instructions),
            flags: FlowModFlags::SEND_FLOW_REMOVED,
            ..FlowMod::add(TableId(0))
        }));
    }
}

fn bytes_of(message: &Message<'_>, transaction: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(TransactionId(transaction), &mut bytes);
    bytes
}

/// Says something without letting the switch go on afterwards.
fn say(world: &mut World, connection: ConnectionId, message: &Message<'_>) {
    let bytes = bytes_of(message, 7);
    let bytes = &bytes[..];
    world.handle(Input::Received { connection, bytes });
}

fn call(world: &mut World) -> Vec<Answer> {
    world.handle(Input::Timeout);
    world.answers(CONTROLLER)
}

fn removals(answers: &[Answer]) -> usize {
    let removed = answers
        .iter()
        .filter(|it| matches!(it.message(), Message::FlowRemoved(_)));
    removed.count()
}

fn barrier_replied(answers: &[Answer]) -> bool {
    let mut answers = answers.iter();
    answers.any(|it| matches!(it.message(), Message::BarrierReply))
}

#[test]
fn a_deletion_of_many_entries_is_done_bit_by_bit_and_the_barrier_waits_for_it() {
    let mut world = full();
    say(
        &mut world,
        CONTROLLER,
        &Message::FlowMod(FlowMod::delete(TableId::ALL)),
    );
    say(&mut world, CONTROLLER, &Message::BarrierRequest);

    let mut removed = 0;
    let mut calls = 0;
    loop {
        let answers = call(&mut world);
        let now = removals(&answers);
        // What is said is a call too.
        let slices = if calls == 0 { 3 } else { 2 };
        assert!(now <= slices * CHANGES_MAX, "{now} in a call");
        removed += now;
        calls += 1;
        if barrier_replied(&answers) {
            break;
        }
        assert_eq!(world.switch.deadline(), Some(world.now));
        // Others are served, and frames go through.
        say(&mut world, OTHER, &Message::EchoRequest(Echo { data: &[] }));
        world.frame(1, &udp(64, b"payload"));
    }

    assert_eq!(removed, usize::from(ENTRIES));
    assert!(calls > 80, "{calls} calls");
    world.run_until(world.now);
    let echoes = world.answers(OTHER);
    let echoes = echoes
        .iter()
        .filter(|it| matches!(it.message(), Message::EchoReply(_)));
    assert_eq!(echoes.count(), calls - 1);
    world.take_sent();
    world.frame(1, &udp(64, b"payload"));
    assert_eq!(world.take_sent(), [], "nothing matches after the barrier");
}

fn shadow(levels: LevelSet, entry: FlowMod<'_>) -> Message<'_> {
    Message::Mode(ModeMessage::ShadowMod(ShadowMod { levels, entry }))
}

/// The entries of some levels of criticality are one deletion, in slices like any other.
#[test]
fn a_deletion_of_the_entries_of_some_levels_is_done_bit_by_bit() {
    let mut world = World::with_controller(unpaced());
    let level = |number| wire::mode_signal::Level::new(number).unwrap();
    let levels = |numbers: [u8; 2]| numbers.into_iter().map(level).collect::<LevelSet>();
    let all = FlowMod {
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        ..FlowMod::add(TableId(0))
    };
    for port in 1..=ENTRIES / 3 {
        let matching = datagrams_to(port);
        let entry = FlowMod {
            matching: Fields::of(&matching),
            ..all
        };
        let of_all: LevelSet = [1, 2, 3].into_iter().map(level).collect();
        world.tell(&shadow(of_all, entry));
    }

    let deletion = shadow(levels([1, 3]), FlowMod::delete(TableId::ALL));
    say(&mut world, CONTROLLER, &deletion);
    say(&mut world, CONTROLLER, &Message::BarrierRequest);

    let (mut removed, mut calls) = (0, 0);
    loop {
        let answers = call(&mut world);
        let now = removals(&answers);
        let slices = if calls == 0 { 3 } else { 2 };
        assert!(now <= slices * CHANGES_MAX, "{now} in a call");
        removed += now;
        calls += 1;
        if barrier_replied(&answers) {
            break;
        }
    }
    assert_eq!(removed, usize::from(ENTRIES / 3 * 2));
    assert!(calls > 40, "{calls} calls");
    let left = world.switch.cost().tables;
    let left: u32 = left.iter().map(|table| table.entries).sum();
    assert_eq!(left, u32::from(ENTRIES / 3));
}

#[test]
fn a_modification_of_many_entries_is_complete_at_the_barrier() {
    let mut world = full();
    let actions = [output(3)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let modify = Message::FlowMod(FlowMod {
        command: FlowModCommand::Modify,
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    });

    say(&mut world, CONTROLLER, &modify);
    say(&mut world, CONTROLLER, &Message::BarrierRequest);
    while !barrier_replied(&call(&mut world)) {}

    for port in [1, 1_500, ENTRIES] {
        let mut frame = udp(64, b"payload");
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        world.frame(1, &frame);
        let sent = world.take_sent();
        assert_eq!(sent.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [3]);
    }
}

fn add_checked(fields: &[MatchField]) -> FlowMod<'_> {
    FlowMod {
        priority: 7,
        matching: Fields::of(fields),
        flags: FlowModFlags::CHECK_OVERLAP,
        ..FlowMod::add(TableId(0))
    }
}

/// What an addition with a check for overlaps is answered with.
fn outcome(world: &mut World) -> Option<ErrorKind> {
    say(world, CONTROLLER, &Message::BarrierRequest);
    let mut error = None;
    loop {
        let answers = call(world);
        for answer in &answers {
            if let Message::Error(found) = answer.message() {
                error = Some(found.kind);
            }
        }
        if barrier_replied(&answers) {
            return error;
        }
    }
}

/// OF13 clause 6.4.
#[test]
fn a_check_for_overlaps_finds_an_entry_anywhere() {
    let overlap = Some(ErrorKind::FlowModFailed(FlowModFailed::Overlap));
    for (port, expected) in [(1, overlap), (ENTRIES, overlap), (ENTRIES + 1, None)] {
        let mut world = full();
        let fields = datagrams_to(port);

        say(
            &mut world,
            CONTROLLER,
            &Message::FlowMod(add_checked(&fields)),
        );

        assert_eq!(outcome(&mut world), expected, "{port}");
    }
}

/// OF13 clause 6.4: also if it is added while the check is under way, at a place
/// that was passed already.
#[test]
fn a_check_for_overlaps_heeds_what_others_add_meanwhile() {
    let overlap = Some(ErrorKind::FlowModFailed(FlowModFailed::Overlap));
    for (priority, expected) in [(7, overlap), (8, None)] {
        let mut world = full();
        // A place near the beginning is free.
        world.ask(&Message::FlowMod(FlowMod {
            command: FlowModCommand::DeleteStrict,
            priority: 7,
            matching: Fields::of(&datagrams_to(1)),
            ..FlowMod::delete(TableId(0))
        }));
        let fields = datagrams_to(ENTRIES + 1);
        say(
            &mut world,
            CONTROLLER,
            &Message::FlowMod(add_checked(&fields)),
        );
        call(&mut world);

        let wide = [fields[0], fields[1], from(1)];
        let other = FlowMod {
            priority,
            matching: Fields::of(&wide),
            ..FlowMod::add(TableId(0))
        };
        say(&mut world, OTHER, &Message::FlowMod(other));

        assert_eq!(outcome(&mut world), expected);
    }
}

#[test]
fn an_error_about_long_work_quotes_its_message() {
    let mut world = full();
    let fields = datagrams_to(ENTRIES);
    let message = Message::FlowMod(add_checked(&fields));

    let answers = world.ask(&message);

    let Message::Error(error) = answers[0].message() else {
        panic!("not refused: {:?}", answers[0].message())
    };
    assert_eq!(answers[0].header().transaction, TransactionId(7));
    assert_eq!(error.data, &bytes_of(&message, 7)[..64]);
}

/// OF13 clause 7.3.5.3.
#[test]
fn a_sum_over_many_entries_is_right() {
    let mut world = full();
    let request = RequestBody::Aggregate(FlowStatisticsRequest::all(TableId::ALL));
    let request = Message::MultipartRequest(MultipartRequest::new(request));

    let answers = world.ask(&request);

    let Message::MultipartReply(MultipartReply {
        body: ReplyBody::Aggregate(sum),
        ..
    }) = answers[0].message()
    else {
        panic!("not what was expected")
    };
    assert_eq!(sum.flows, u32::from(ENTRIES));
}

fn group_mod(command: GroupModCommand, buckets: &[Bucket<'_>]) -> Vec<u8> {
    let message = Message::GroupMod(GroupMod {
        command,
        kind: GroupType::Indirect,
        group: GroupId(5),
        buckets: Buckets::of(buckets),
    });
    bytes_of(&message, 7)
}

/// A switch whose many entries send to a group.
fn grouped() -> World {
    let mut world = World::with_controller(unpaced());
    world.greet(OTHER);
    let actions = [output(3)];
    let bucket = Bucket {
        actions: Actions::of(&actions),
        weight: 0,
        watch_port: PortNumber::ANY,
        watch_group: GroupId::ANY,
    };
    world.receive(CONTROLLER, &group_mod(GroupModCommand::Add, &[bucket]));
    fill(&mut world, Action::Group(GroupId(5)));
    world
}

/// OF13 clause 6.5.
#[test]
fn a_group_goes_with_its_many_entries_bit_by_bit() {
    let mut world = grouped();

    let deletion = group_mod(GroupModCommand::Delete, &[]);
    let bytes = &deletion[..];
    let connection = CONTROLLER;
    world.handle(Input::Received { connection, bytes });
    say(&mut world, CONTROLLER, &Message::BarrierRequest);
    let mut removed = 0;
    let mut calls = 0;
    loop {
        let answers = call(&mut world);
        removed += removals(&answers);
        calls += 1;
        if barrier_replied(&answers) {
            break;
        }
    }

    assert_eq!(removed, usize::from(ENTRIES));
    assert!(calls > 100, "{calls} calls");
    let actions = [Action::Group(GroupId(5))];
    let apply = [Instruction::ApplyActions(Actions::of(&actions))];
    let gone = Message::FlowMod(FlowMod {
        instructions: Instructions::of(&apply),
        ..FlowMod::add(TableId(0))
    });
    world.refused(&gone);
}

/// A flow-mod that names a group which another controller deletes meanwhile.
#[test]
fn a_group_that_goes_while_a_modification_is_under_way_ends_it() {
    let mut world = grouped();
    let actions = [Action::Group(GroupId(5))];
    let apply = [Instruction::ApplyActions(Actions::of(&actions))];
    let modify = Message::FlowMod(FlowMod {
        command: FlowModCommand::Modify,
        instructions: Instructions::of(&apply),
        ..FlowMod::add(TableId(0))
    });

    say(&mut world, CONTROLLER, &modify);
    let bytes = group_mod(GroupModCommand::Delete, &[]);
    let (connection, bytes) = (OTHER, &bytes[..]);
    world.handle(Input::Received { connection, bytes });
    say(&mut world, CONTROLLER, &Message::BarrierRequest);
    world.run_until(world.now);

    assert!(barrier_replied(&world.answers(CONTROLLER)));
    world.frame(1, &udp(64, b"payload"));
    assert_eq!(world.take_sent(), []);
}

/// Messages of several connections are handled in turn.
#[test]
fn a_controller_that_floods_does_not_keep_others_waiting() {
    let mut world = World::with_controller(unpaced());
    world.greet(OTHER);
    let flood = bytes_of(&Message::BarrierRequest, 1).repeat(5_000);
    world.switch.handle(
        world.now,
        Input::Received {
            connection: CONTROLLER,
            bytes: &flood,
        },
    );

    say(&mut world, OTHER, &Message::BarrierRequest);

    assert_eq!(world.answers(OTHER).len(), 1);
    assert!(world.answers(CONTROLLER).len() < 100);
}
