//! A switch whose compiled form others walk: who handles what, and who counted.

use switch::compiled::layout::{Region, entry, line, lookup, tally};
use switch::compiled::{Carried, Memory, Overflow, Sizes};
use switch::{Config, Input};
use units::Duration;
use wire::ethernet::EtherType;
use wire::openflow::multipart::{
    FlowStatisticsRequest, MultipartRequest, ReplyBody, RequestBody, TableStatistics,
};
use wire::openflow::taktos::{Answer as Told, CoreReason, EngineSubject, MonitorId, Question};
use wire::openflow::{
    Action, Actions, Band, Bands, ErrorKind, Fields, FlowMod, FlowModCommand, FlowModFailed,
    FlowModFlags, FlowRemovedReason, Instruction, Instructions, MatchField, Message, MeterFlags,
    MeterId, MeterMod, MeterModCommand, PortNumber, TableId,
};

use crate::frames::{frame, udp, with_dscp};
use crate::world::{CONTROLLER, World, from, output, ports, unpaced};

/// Returns the records of all entries that stand in some line.
fn entries(memory: &Memory) -> Vec<usize> {
    let lines = 0..memory.sizes().records(Region::Lines);
    let places = lines.flat_map(|line| {
        let line = memory.record(Region::Lines, line);
        line.read::<{ line::PLACES_COUNT }>(line::PLACES)
    });
    let numbers = places.map(|place| place & 0xffff_ffff);
    let taken = numbers.filter(|number| *number > 0);
    taken
        .map(|number| usize::try_from(number - 1).expect("32 bits fit"))
        .collect()
}

/// Counts frames of 100 bytes for the only entry there is, as others would.
fn count(world: &World, frames: u64, last: Duration) {
    let memory = world.switch.memory().expect("it is kept");
    let entries = entries(memory);
    assert_eq!(entries.len(), 1);
    let meter = memory.record(Region::Entries, entries[0]).get(entry::METER);
    let tally = usize::try_from(meter >> 32).expect("32 bits fit");
    let words = memory.record(Region::Tallies, tally);
    let [before, bytes, used] = words.read(tally::FRAMES);
    let last = used.max(last.as_ns());
    words.write(
        tally::FRAMES,
        &[before + frames, bytes + 100 * frames, last],
    );
}

pub fn compiled(config: Config, entries: usize, overflow: Overflow) -> World {
    let sizes = Sizes::new(&config, entries, 1);
    let mut world = World::with_controller(config);
    world.switch.compile_into(Memory::private(sizes), overflow);
    for port in 1..=3 {
        let carried = Carried {
            interface: port,
            class: 0,
        };
        world.switch.carry_port(PortNumber(port), carried);
    }
    publish(&mut world);
    world
}

pub fn publish(world: &mut World) {
    while !world.switch.is_published() {
        assert!(world.switch.settle(), "nobody walks");
        world.switch.publish();
    }
}

fn entry_of<'a>(
    command: FlowModCommand,
    flags: FlowModFlags,
    fields: &'a [wire::openflow::MatchField],
    instructions: &'a [Instruction<'a>],
) -> FlowMod<'a> {
    FlowMod {
        command,
        flags,
        idle_timeout_s: 10,
        matching: Fields::of(fields),
        instructions: Instructions::of(instructions),
        ..FlowMod::add(TableId(0))
    }
}

/// Sends a flow-mod about frames of port 1, which go to a port.
fn send(world: &mut World, command: FlowModCommand, flags: FlowModFlags, to: u32) {
    let (fields, actions) = ([from(1)], [output(to)]);
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = entry_of(command, flags, &fields, &instructions);
    world.tell(&Message::FlowMod(flow_mod));
    publish(world);
}

/// Returns the frames and bytes of the only entry.
fn counted(world: &mut World) -> (u64, u64) {
    let body = RequestBody::Flow(FlowStatisticsRequest::all(TableId(0)));
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    match answers[0].message() {
        Message::MultipartReply(reply) => match reply.body {
            ReplyBody::Flow(entries) => {
                let entry = entries
                    .iter()
                    .next()
                    .expect("an entry")
                    .expect("the switch writes what can be read");
                (entry.packets, entry.bytes)
            }
            other => panic!("not what was expected: {other:?}"),
        },
        other => panic!("not what was expected: {other:?}"),
    }
}

const QUIET: FlowModFlags = FlowModFlags::NONE;

#[test]
fn an_entry_counts_what_the_core_and_others_counted_through_every_change() {
    let mut world = compiled(unpaced(), 64, Overflow::ToCore);
    send(&mut world, FlowModCommand::Add, QUIET, 2);
    count(&world, 3, Duration::ZERO);
    world.frame(1, &frame(0x88b5, &[0; 46]));
    assert_eq!(counted(&mut world), (4, 360));

    send(&mut world, FlowModCommand::ModifyStrict, QUIET, 3);
    count(&world, 1, Duration::ZERO);
    assert_eq!(counted(&mut world), (5, 460));
    send(&mut world, FlowModCommand::Add, QUIET, 2);
    assert_eq!(counted(&mut world), (5, 460));

    let reset = FlowModFlags::RESET_COUNTS;
    send(&mut world, FlowModCommand::ModifyStrict, reset, 3);
    assert_eq!(counted(&mut world), (0, 0));
    count(&world, 2, Duration::ZERO);
    world.frame(1, &frame(0x88b5, &[0; 46]));
    assert_eq!(counted(&mut world), (3, 260));
    send(&mut world, FlowModCommand::Add, reset, 3);
    assert_eq!(counted(&mut world), (0, 0));
}

/// Lets a frame from port 1 walk the words, and returns how many leave.
fn walk(world: &mut World, bytes: &[u8]) -> usize {
    let (port, arrived) = (PortNumber(1), world.now);
    world.handle(Input::Walked {
        port,
        bytes,
        arrived,
    });
    world.take_sent().len()
}

#[test]
fn a_frame_that_walks_the_words_counts_as_one_of_the_tables_and_sees_what_is_published() {
    let mut world = compiled(unpaced(), 64, Overflow::ToCore);
    send(&mut world, FlowModCommand::Add, QUIET, 2);
    let bytes = frame(0x88b5, &[0; 46]);

    assert_eq!(walk(&mut world, &bytes), 1);
    world.frame(1, &bytes);
    assert_eq!(world.take_sent().len(), 1);
    assert_eq!(counted(&mut world), (2, 120));

    let fields = [from(1)];
    let gone = entry_of(FlowModCommand::DeleteStrict, QUIET, &fields, &[]);
    world.tell(&Message::FlowMod(gone));
    assert_eq!(walk(&mut world, &bytes), 1, "nobody has published that");
    world.frame(1, &bytes);
    assert_eq!(world.take_sent().len(), 0);
    publish(&mut world);
    assert_eq!(walk(&mut world, &bytes), 0);
}

#[test]
fn an_entry_that_takes_the_place_of_another_begins_at_zero() {
    let mut world = compiled(unpaced(), 64, Overflow::ToCore);
    send(&mut world, FlowModCommand::Add, QUIET, 2);
    count(&world, 3, Duration::ZERO);

    for _ in 0..200 {
        send(&mut world, FlowModCommand::DeleteStrict, QUIET, 2);
        send(&mut world, FlowModCommand::Add, QUIET, 2);
        assert_eq!(counted(&mut world), (0, 0));
        publish(&mut world);
        count(&world, 1, Duration::ZERO);
    }
}

#[test]
fn an_entry_that_others_use_does_not_expire_and_its_end_tells_all_it_matched() {
    let mut world = compiled(unpaced(), 64, Overflow::ToCore);
    let told = FlowModFlags::SEND_FLOW_REMOVED;
    send(&mut world, FlowModCommand::Add, told, 2);
    let start = world.now;

    world.run_until(start + Duration::from_secs(9));
    count(&world, 7, Duration::from_secs(9));
    world.run_until(start + Duration::from_secs(18));
    assert!(world.answers(CONTROLLER).is_empty());
    world.run_until(start + Duration::from_secs(20));

    let answers = world.answers(CONTROLLER);
    let Some(Message::FlowRemoved(removed)) = answers.first().map(|it| it.message()) else {
        panic!("nobody said that the entry is gone");
    };
    assert_eq!((removed.packets, removed.bytes), (7, 700));
    assert_eq!(removed.reason, FlowRemovedReason::IdleTimeout);
}

#[test]
fn a_bundle_that_fails_changes_no_count() {
    use wire::openflow::{BundleAdd, BundleControl, BundleControlKind, BundleFlags, BundleId};
    use wire::openflow::{Sequence, TransactionId};
    let mut world = compiled(unpaced(), 64, Overflow::ToCore);
    send(&mut world, FlowModCommand::Add, QUIET, 2);
    count(&world, 3, Duration::ZERO);
    let (fields, actions) = ([from(1)], [output(3)]);
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let reset = FlowModFlags::RESET_COUNTS;
    let good = entry_of(FlowModCommand::ModifyStrict, reset, &fields, &instructions);
    let delete = entry_of(FlowModCommand::DeleteStrict, QUIET, &fields, &[]);
    let unknown = MeterMod {
        command: MeterModCommand::Modify,
        flags: MeterFlags::KBPS,
        meter: MeterId(5),
        bands: Bands::EMPTY,
    };
    let (bundle, flags) = (BundleId(1), BundleFlags::ATOMIC);
    for message in [
        Message::FlowMod(good),
        Message::FlowMod(delete),
        Message::MeterMod(unknown),
    ] {
        let mut bytes = Vec::new();
        message.emit(TransactionId(7), &mut bytes);
        world.tell(&Message::BundleAdd(BundleAdd {
            bundle,
            flags,
            message: &bytes,
            properties: Sequence::EMPTY,
        }));
    }

    let answers = world.ask(&Message::BundleControl(BundleControl {
        bundle,
        kind: BundleControlKind::CommitRequest,
        flags,
        properties: Sequence::EMPTY,
    }));

    assert_eq!(
        answers.len(),
        2,
        "an error for the message and one for the bundle"
    );
    publish(&mut world);
    assert_eq!(counted(&mut world), (3, 300));
    count(&world, 1, Duration::ZERO);
    assert_eq!(counted(&mut world), (4, 400));
}

#[test]
fn a_table_counts_what_others_looked_up_in_it() {
    let mut world = compiled(unpaced(), 64, Overflow::ToCore);
    let memory = world.switch.memory().expect("it is kept");
    memory
        .record(Region::Lookups, 0)
        .write(lookup::LOOKUPS, &[5, 4]);
    world.frame(1, &[0; 60]);

    let body = RequestBody::Table;
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));

    let Message::MultipartReply(reply) = answers[0].message() else {
        panic!("no answer");
    };
    let ReplyBody::Table(tables) = reply.body else {
        panic!("not what was expected: {:?}", reply.body);
    };
    let first: TableStatistics = tables.iter().next().unwrap().unwrap();
    assert_eq!((first.lookups, first.matched), (6, 4));
}

#[test]
fn meters_that_judged_a_frame_elsewhere_do_not_judge_it_again() {
    let mut world = compiled(unpaced(), 64, Overflow::ToCore);
    let bands = [Band::Drop { rate: 1, burst: 1 }];
    world.tell(&Message::MeterMod(MeterMod {
        command: MeterModCommand::Add,
        flags: MeterFlags::PACKETS_PER_SECOND.with(MeterFlags::BURST),
        meter: MeterId(1),
        bands: Bands::of(&bands),
    }));
    let actions = [output(2)];
    let instructions = [
        Instruction::Meter(MeterId(1)),
        Instruction::ApplyActions(Actions::of(&actions)),
    ];
    world.tell(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));
    let assured = with_dscp(0b00_1010, &udp(64, &[0; 40]));

    for levels in [0, 0, 1] {
        let arrived = world.now;
        world.handle(Input::Handed {
            port: PortNumber(1),
            bytes: &assured,
            arrived,
            verdicts: &[levels],
        });
    }
    for _ in 0..3 {
        world.frame(1, &assured);
    }

    let sent: Vec<_> = world
        .take_sent()
        .into_iter()
        .map(|(_, frame)| frame)
        .collect();
    let raised = with_dscp(0b00_1100, &assured);
    assert_eq!(sent, [assured.clone(), assured.clone(), raised, assured]);
}

/// Returns why the core handles each entry of table 0, by priority.
pub fn reasons(world: &mut World) -> Vec<(u16, Option<CoreReason>)> {
    let body = RequestBody::Experimenter(Question::Engine.body());
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    let mut reasons = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let Message::MultipartReply(reply) = answer.message() else {
            panic!("not an answer");
        };
        assert_eq!(reply.more, at + 1 < answers.len());
        let ReplyBody::Experimenter(body) = reply.body else {
            panic!("not an answer of ours");
        };
        let Some(Told::Engine(part)) =
            Told::parse(&body).expect("the switch writes what can be read")
        else {
            panic!("not an answer about the engine");
        };
        for item in part.items.iter().map(Result::unwrap) {
            if let EngineSubject::Entry { priority, .. } = item.subject {
                reasons.push((priority, item.reason));
            }
        }
    }
    reasons
}

#[test]
fn what_the_core_handles_is_told_with_the_reason() {
    let mut world = compiled(unpaced(), 64, Overflow::ToCore);
    world.add(1, &[from(1)], &[output(2)]);
    world.add(2, &[from(2)], &[Action::output(PortNumber::CONTROLLER)]);
    world.add(3, &[from(3)], &[Action::output(PortNumber::NORMAL)]);
    world.add(4, &[from(4)], &[output(2); 33]);
    world.add(
        5,
        &[from(5)],
        &[Action::PushMpls(wire::ethernet::EtherType::MPLS)],
    );
    publish(&mut world);

    let mut reasons = reasons(&mut world);

    reasons.sort_unstable();
    let expected = [
        (1, None),
        (2, Some(CoreReason::Controller)),
        (3, Some(CoreReason::Bridge)),
        (4, Some(CoreReason::Actions)),
        (5, Some(CoreReason::Change)),
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn what_may_change_the_mode_of_a_switch_with_many_ports_is_for_the_core() {
    for (count, expected) in [(32, None), (33, Some(CoreReason::Mode))] {
        let config = Config {
            ports: ports(count, None),
            ..unpaced()
        };
        let mut world = compiled(config, 64, Overflow::ToCore);
        let watches = Action::FlowMonitor(MonitorId(1));
        world.add(1, &[from(1)], &[watches, output(2)]);
        world.add(2, &[from(2)], &[output(2), watches]);
        let signals = MatchField::EthType(EtherType::MODE_SIGNAL);
        world.add(3, &[signals], &[Action::ModeArrange]);
        publish(&mut world);

        let mut reasons = reasons(&mut world);

        reasons.sort_unstable();
        assert_eq!(reasons, [1, 2, 3].map(|priority| (priority, expected)));
    }
}

#[test]
fn a_monitor_without_a_record_is_for_the_core() {
    let mut world = compiled(unpaced(), 16, Overflow::ToCore);
    let records = Sizes::new(&unpaced(), 16, 1).records(Region::Monitors);
    let records = u16::try_from(records).unwrap();
    for number in 1..=records + 1 {
        let watches = Action::FlowMonitor(MonitorId(number.into()));
        world.add(number, &[from(number.into())], &[watches, output(2)]);
    }
    publish(&mut world);

    let mut reasons = reasons(&mut world);

    reasons.sort_unstable();
    let mut expected: Vec<_> = (1..=records).map(|priority| (priority, None)).collect();
    expected.push((records + 1, Some(CoreReason::Mode)));
    assert_eq!(reasons, expected);
}

#[test]
fn a_switch_that_nobody_walks_says_nothing_about_where_things_are() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[], &[output(2)]);

    assert_eq!(reasons(&mut world), []);
}

#[test]
fn an_entry_beyond_the_room_is_refused_if_that_is_wanted() {
    let mut world = compiled(unpaced(), 16, Overflow::Refuse);
    for priority in 1..=16 {
        world.add(priority, &[], &[output(2)]);
    }

    let refused = world.refused(&Message::FlowMod(FlowMod {
        priority: 17,
        ..FlowMod::add(TableId(1))
    }));

    assert_eq!(refused, ErrorKind::FlowModFailed(FlowModFailed::TableFull));
    world.add(16, &[], &[output(3)]);
}
