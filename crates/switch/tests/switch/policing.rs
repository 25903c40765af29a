//! Entries that police a contract (`docs/openflow-extension.md`).

use units::{BitRate, DataSize, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    Answer as Told, ExceedAction, FrameLimit, Police, PoliceEvent, PolicedEntry, Question,
};
use wire::openflow::{
    Action, Actions, BadAction, Cookie, ErrorKind, Fields, FlowMod, FlowModCommand, Instruction,
    Instructions, MatchField, Message, MeterFlags, MeterId, MeterMod, MeterModCommand, PortNumber,
    QueueId, TableId,
};

use crate::frames::frame;
use crate::world::{CONTROLLER, World, from, output, unpaced};

/// Three frames of 1,000 bytes on the wire at once, and one a millisecond.
const CONTRACT: Police = Police {
    smallest: DataSize::from_bytes(84),
    largest: DataSize::from_bytes(1_000),
    rate: BitRate::from_mbps(8),
    burst: DataSize::from_bytes(3_000),
    frames: None,
    excess: ExceedAction::Drop,
};

fn kilobyte() -> Vec<u8> {
    frame(0x88b5, &[0; 1_000 - 24 - 14])
}

fn entry<'a>(instructions: &'a [Instruction<'a>], cookie: u64) -> FlowMod<'a> {
    FlowMod {
        cookie: Cookie(cookie),
        priority: 7,
        instructions: Instructions::of(instructions),
        ..FlowMod::add(TableId(0))
    }
}

fn policed(police: Police, port: u32) -> World {
    let mut world = World::with_controller(unpaced());
    add(&mut world, police, port);
    world
}

fn add(world: &mut World, police: Police, port: u32) {
    let actions = [Action::Police(police), output(port)];
    let applied = [Instruction::ApplyActions(Actions::of(&actions))];
    world.tell(&Message::FlowMod(FlowMod {
        matching: Fields::of(&[from(1)]),
        ..entry(&applied, 9)
    }));
}

fn send(world: &mut World, count: usize, bytes: &[u8]) -> usize {
    for _ in 0..count {
        world.frame(1, bytes);
    }
    world.take_sent().len()
}

fn seen(world: &mut World) -> Vec<PolicedEntry> {
    let body = RequestBody::Experimenter(Question::Policed.body());
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    let mut all = Vec::new();
    for answer in &answers {
        let Message::MultipartReply(reply) = answer.message() else {
            panic!("not what was expected")
        };
        let ReplyBody::Experimenter(body) = reply.body else {
            panic!("not what was expected")
        };
        match Told::parse(&body) {
            Ok(Some(Told::Policed(entries))) => all.extend(entries.iter().map(Result::unwrap)),
            other => panic!("not what was expected: {other:?}"),
        }
    }
    all
}

fn events(world: &mut World) -> Vec<PoliceEvent> {
    let answers = world.answers(CONTROLLER);
    let events = answers.iter().filter_map(|answer| match answer.message() {
        Message::Police(event) => Some(event),
        _ => None,
    });
    events.collect()
}

#[test]
fn what_keeps_the_contract_passes_and_the_rest_is_dropped_and_counted() {
    let mut world = policed(CONTRACT, 2);

    let at_once = send(&mut world, 10, &kilobyte());
    world.run_until(world.now + Duration::from_us(1_999));
    let later = send(&mut world, 10, &kilobyte());

    assert_eq!((at_once, later), (3, 1));
    let expected = PolicedEntry {
        excess: ExceedAction::Drop,
        table: TableId(0),
        priority: 7,
        input: PortNumber(1),
        cookie: Cookie(9),
        frames: 20,
        bytes: 20 * 976,
        exceeded: 16,
        exceeded_bytes: 16 * 976,
    };
    assert_eq!(seen(&mut world), [expected]);
    assert_eq!(world.switch.counters().metered, 16);
}

/// It leaves by the queue of what has no promise, and is counted as what it is.
#[test]
fn what_exceeds_may_go_on_as_best_effort() {
    let gentle = Police {
        excess: ExceedAction::BestEffort,
        ..CONTRACT
    };
    let mut world = World::with_controller(unpaced());
    let actions = [
        Action::Police(gentle),
        Action::SetQueue(QueueId(5)),
        output(2),
    ];
    let applied = [Instruction::ApplyActions(Actions::of(&actions))];
    world.tell(&Message::FlowMod(FlowMod {
        matching: Fields::of(&[from(1)]),
        ..entry(&applied, 9)
    }));

    assert_eq!(send(&mut world, 10, &kilobyte()), 10);
    let by_queue = |queue: usize| {
        let queues = world.switch.queue_counters(PortNumber(2)).unwrap();
        queues[queue].sent_frames
    };
    assert_eq!((by_queue(5), by_queue(0)), (3, 7));
    let counters = world.switch.counters();
    assert_eq!((counters.metered, counters.demoted), (0, 7));
    let begun = world.now;
    world.run_until(begun + Duration::from_secs(1));
    let told: Vec<_> = events(&mut world)
        .iter()
        .map(|it| (it.entry.excess, it.since_last))
        .collect();
    assert_eq!(told, [(ExceedAction::BestEffort, 7)]);
}

/// There is no room for another, but who is there may be written again.
#[test]
fn the_last_that_finds_room_can_be_changed() {
    const POLICERS: u16 = 16_384;
    let mut config = unpaced();
    config.table_capacity = 2 * usize::from(POLICERS);
    let mut world = World::with_controller(config);
    let from_host = |number: u16| {
        let [high, low] = number.to_be_bytes();
        MatchField::EthSrc(Masked::exact(MacAddress([2, 0, 0, 0, high, low])))
    };
    let add = |world: &mut World, number, police, port| {
        let actions = [Action::Police(police), output(port)];
        let applied = [Instruction::ApplyActions(Actions::of(&actions))];
        let matching = [from_host(number)];
        let flow_mod = FlowMod {
            matching: Fields::of(&matching),
            ..entry(&applied, number.into())
        };
        let answers = world.ask(&Message::FlowMod(flow_mod));
        answers.len()
    };
    let other = Police {
        burst: DataSize::from_bytes(4_000),
        ..CONTRACT
    };

    let refused: usize = (0..POLICERS)
        .map(|it| add(&mut world, it, CONTRACT, 2))
        .sum();
    let one_more = add(&mut world, POLICERS, CONTRACT, 2);
    let again = [(CONTRACT, 3), (other, 2), (CONTRACT, 2)];
    let again = again.map(|(police, port)| add(&mut world, 7, police, port));

    assert_eq!((refused, one_more, again), (0, 1, [0, 0, 0]));
    assert_eq!(seen(&mut world).len(), usize::from(POLICERS));
}

#[test]
fn a_frame_that_is_too_long_is_dropped_and_one_that_is_too_short_counts_as_a_longer_one() {
    let coarse = Police {
        smallest: DataSize::from_bytes(1_000),
        ..CONTRACT
    };
    let mut world = policed(coarse, 2);

    let long = send(&mut world, 1, &frame(0x88b5, &[0; 1_001 - 24 - 14]));
    let short = send(&mut world, 10, &frame(0x88b5, &[0; 46]));

    assert_eq!((long, short), (0, 3));
}

#[test]
fn frames_are_limited_besides() {
    let few = Police {
        frames: Some(FrameLimit {
            rate: 1_000_000,
            burst: 2_000_000,
        }),
        ..CONTRACT
    };
    let mut world = policed(few, 2);

    let at_once = send(&mut world, 10, &frame(0x88b5, &[0; 46]));
    world.run_until(world.now + Duration::from_secs(1));
    let later = send(&mut world, 10, &frame(0x88b5, &[0; 46]));

    assert_eq!((at_once, later), (2, 1));
}

/// Who exceeds is told within a second, and then once a second.
#[test]
fn controllers_hear_who_exceeds_no_more_than_once_a_second() {
    let mut world = policed(CONTRACT, 2);
    world.run_until(world.now + Duration::from_secs(5));
    assert_eq!(events(&mut world), []);

    send(&mut world, 5, &kilobyte());
    let begun = world.now;
    world.run_until(begun + Duration::from_ms(500));
    let first = events(&mut world);
    send(&mut world, 100, &kilobyte());
    world.run_until(begun + Duration::from_ms(1_000));
    let soon = events(&mut world);
    world.run_until(begun + Duration::from_secs(5));
    let later = events(&mut world);

    let told = |events: &[PoliceEvent]| -> Vec<_> {
        let counts = events.iter().map(|it| (it.entry.exceeded, it.since_last));
        counts.collect()
    };
    assert_eq!(told(&first), [(2, 2)]);
    assert_eq!(told(&soon), []);
    // The bucket was full again after half a second.
    assert_eq!(told(&later), [(99, 97)]);
    assert_eq!(first[0].entry.cookie, Cookie(9));
}

/// Else whoever changes an entry often would grant a burst each time.
#[test]
fn an_entry_that_goes_elsewhere_keeps_what_is_left() {
    let mut world = policed(CONTRACT, 2);
    let before = send(&mut world, 2, &kilobyte());
    add(&mut world, CONTRACT, 3);
    let added = send(&mut world, 2, &kilobyte());
    let actions = [Action::Police(CONTRACT), output(2)];
    let applied = [Instruction::ApplyActions(Actions::of(&actions))];
    world.tell(&Message::FlowMod(FlowMod {
        command: FlowModCommand::ModifyStrict,
        matching: Fields::of(&[from(1)]),
        ..entry(&applied, 9)
    }));
    let modified = send(&mut world, 2, &kilobyte());

    assert_eq!((before, added, modified), (2, 1, 0));
    assert_eq!(seen(&mut world)[0].exceeded, 3);
}

#[test]
fn another_contract_begins_anew_and_a_deleted_entry_leaves_nothing() {
    let mut world = policed(CONTRACT, 2);
    send(&mut world, 10, &kilobyte());
    let other = Police {
        burst: DataSize::from_bytes(4_000),
        ..CONTRACT
    };
    add(&mut world, other, 2);

    let anew = send(&mut world, 10, &kilobyte());
    world.tell(&Message::FlowMod(FlowMod::delete(TableId(0))));

    assert_eq!(anew, 4);
    assert_eq!(seen(&mut world), []);
}

/// They have no number, and whoever deletes all meters does not mean them.
#[test]
fn meters_with_numbers_are_others() {
    let mut world = policed(CONTRACT, 2);
    world.tell(&Message::MeterMod(MeterMod {
        command: MeterModCommand::Delete,
        flags: MeterFlags::NONE,
        meter: MeterId::ALL,
        bands: wire::openflow::Bands::EMPTY,
    }));

    assert_eq!(send(&mut world, 10, &kilobyte()), 3);
    let body = RequestBody::Meter(MeterId::ALL);
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    let Message::MultipartReply(reply) = answers[0].message() else {
        panic!("not what was expected")
    };
    assert!(matches!(reply.body, ReplyBody::Meter(meters) if meters.iter().next().is_none()));
}

#[test]
fn a_contract_stands_first_and_alone() {
    let mut world = World::with_controller(unpaced());
    world.tell(&Message::MeterMod(MeterMod {
        command: MeterModCommand::Add,
        flags: MeterFlags::PACKETS_PER_SECOND,
        meter: MeterId(1),
        bands: wire::openflow::Bands::of(&[wire::openflow::Band::Drop { rate: 1, burst: 1 }]),
    }));
    let police = Action::Police(CONTRACT);
    let first = [police, output(2)];
    let behind = [output(2), police];
    let twice = [police, police, output(2)];
    let metered = |meter_first: bool| {
        let meter = Instruction::Meter(MeterId(1));
        let applied = Instruction::ApplyActions(Actions::of(&first));
        match meter_first {
            true => vec![meter, applied],
            false => vec![applied, meter],
        }
    };
    let all = [
        vec![Instruction::ApplyActions(Actions::of(&behind))],
        vec![Instruction::ApplyActions(Actions::of(&twice))],
        vec![Instruction::WriteActions(Actions::of(&first))],
        metered(true),
        metered(false),
    ];

    for instructions in all {
        let refused = world.refused(&Message::FlowMod(entry(&instructions, 1)));

        let expected = ErrorKind::BadAction(BadAction::BadExperimenterType);
        assert_eq!(refused, expected, "{instructions:?}");
    }
}
