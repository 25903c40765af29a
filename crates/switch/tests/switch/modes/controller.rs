//! What a controller may ask of modes, and what it is refused.

use switch::Input;
use units::Duration;
use wire::mode_signal::{Kind, Level};
use wire::openflow::taktos::{
    Answer, Demanded, LevelSet, ModeCommand, ModeConfig, ModeFailed, ModeFlags, ModeMessage,
    ModeSet, MonitorCommand, MonitorContract, MonitorId, MonitorMod, Question, ShadowMod, Trunk,
};
use wire::openflow::{
    Action, Actions, BadAction, BadRequest, DatapathId, ErrorKind, Fields, FlowMod, FlowModCommand,
    Instruction, Instructions, Message, PortNumber, Role, RoleMessage, Sequence, TableId,
};

use super::{
    MONITOR, PERIOD, ask, configure, from_host, held, level, message, mode, pass, refused,
    settings, signal, signals, taking_part, tell, through, told, trunks, watch,
};
use crate::frames::frame;
use crate::world::{CONTROLLER, World, from, output};

fn set(command: ModeCommand, number: u8) -> Message<'static> {
    let level = level(number);
    Message::Mode(ModeMessage::Set(ModeSet { command, level }))
}

fn failed(world: &mut World, message: &ModeMessage<'_>) -> Option<ModeFailed> {
    ModeFailed::of(refused(world, &Message::Mode(*message)))
}

fn monitor(command: MonitorCommand, id: u32, contracts: &[MonitorContract]) -> ModeMessage<'_> {
    ModeMessage::MonitorMod(MonitorMod {
        command,
        monitor: MonitorId(id),
        jitter: Duration::ZERO,
        contracts: Sequence::of(contracts),
    })
}

fn shadow<'a>(
    levels: LevelSet,
    command: FlowModCommand,
    instructions: &'a [Instruction<'a>],
) -> Message<'a> {
    Message::Mode(ModeMessage::ShadowMod(ShadowMod {
        levels,
        entry: FlowMod {
            command,
            priority: 5,
            matching: Fields::EMPTY,
            instructions: Instructions::of(instructions),
            ..FlowMod::add(TableId(0))
        },
    }))
}

/// Where a frame from port 1 leaves at each level.
fn ways(world: &mut World, first_era: u32) -> Vec<Vec<u32>> {
    let levels = (0..8).zip(first_era..);
    let ways = levels.map(|(level, era)| {
        through(world, 3, &signal(Kind::Signal, mode(era, level), 3));
        let sent = through(world, 1, &frame(0x88b5, &[0; 46]));
        sent.iter().map(|(port, _)| *port).collect()
    });
    ways.collect()
}

#[test]
fn shadow_entries_are_added_changed_and_deleted_for_the_levels_that_are_named() {
    let mut world = taking_part(None);
    let levels = |numbers: &[u8]| numbers.iter().map(|it| level(*it)).collect::<LevelSet>();
    let out = [2, 4].map(|port| [output(port)]);
    let [first, second] =
        [0, 1].map(|at: usize| [Instruction::ApplyActions(Actions::of(&out[at]))]);

    tell(
        &mut world,
        &shadow(levels(&[0, 1, 5]), FlowModCommand::Add, &first),
    );
    let added = ways(&mut world, 1);
    tell(
        &mut world,
        &shadow(levels(&[1, 6]), FlowModCommand::ModifyStrict, &second),
    );
    let changed = ways(&mut world, 20);
    tell(
        &mut world,
        &shadow(levels(&[0, 6]), FlowModCommand::DeleteStrict, &[]),
    );
    let deleted = ways(&mut world, 40);

    let nowhere = || vec![];
    let at = |ways: [u32; 8]| {
        let ways = ways.into_iter();
        ways.map(|port| if port == 0 { nowhere() } else { vec![port] })
            .collect::<Vec<_>>()
    };
    assert_eq!(added, at([2, 2, 0, 0, 0, 2, 0, 0]));
    assert_eq!(changed, at([2, 4, 0, 0, 0, 2, 0, 0]));
    assert_eq!(deleted, at([0, 4, 0, 0, 0, 2, 0, 0]));
}

#[test]
fn a_shadow_mod_is_carried_out_for_all_its_levels_or_for_none() {
    let mut config = super::config(None);
    config.table_capacity = 2;
    let mut world = World::with_controller(config);
    let out = [output(2)];
    let instructions = [Instruction::ApplyActions(Actions::of(&out))];

    let kind = refused(
        &mut world,
        &shadow(LevelSet::ALL, FlowModCommand::Add, &instructions),
    );

    assert!(matches!(kind, ErrorKind::FlowModFailed(_)), "{kind:?}");
    assert_eq!(
        world
            .switch
            .cost()
            .tables
            .iter()
            .map(|it| it.entries)
            .sum::<u32>(),
        0
    );
}

#[test]
fn a_deletion_of_shadow_entries_leaves_those_of_other_levels_and_of_none() {
    let mut world = taking_part(None);
    let out = [2, 4].map(|port| [output(port)]);
    let [usual, shadowed] =
        [0, 1].map(|at: usize| [Instruction::ApplyActions(Actions::of(&out[at]))]);
    let plain = FlowMod {
        priority: 1,
        instructions: Instructions::of(&usual),
        ..FlowMod::add(TableId(0))
    };
    tell(&mut world, &Message::FlowMod(plain));
    tell(
        &mut world,
        &shadow(LevelSet::ALL, FlowModCommand::Add, &shadowed),
    );

    let some = [level(2), level(7)].into_iter().collect();
    tell(&mut world, &shadow(some, FlowModCommand::Delete, &[]));
    let modified = [level(0)].into_iter().collect();
    tell(
        &mut world,
        &shadow(modified, FlowModCommand::Modify, &usual),
    );

    let ways: Vec<u32> = ways(&mut world, 1).into_iter().flatten().collect();
    assert_eq!(ways, [2, 4, 2, 4, 4, 4, 4, 2]);
}

/// The entries of a level half there, and the controller gone: the switch agrees on the
/// level and serves the default, and whoever comes next is told so.
#[test]
fn after_a_controller_that_dies_half_way_the_default_is_served_and_the_next_one_is_told() {
    let mut world = taking_part(None);
    let trunks = trunks();
    let lowest_alone = ModeConfig {
        complete: LevelSet::NONE.with(Level::LOWEST),
        ..settings(&trunks)
    };
    configure(&mut world, &lowest_alone);
    let out = [2, 4].map(|port| [output(port)]);
    let [usual, shadowed] =
        [0, 1].map(|at: usize| [Instruction::ApplyActions(Actions::of(&out[at]))]);
    let at = |number: u8| [level(number)].into_iter().collect::<LevelSet>();
    tell(&mut world, &shadow(at(0), FlowModCommand::Add, &usual));
    tell(&mut world, &shadow(at(1), FlowModCommand::Add, &shadowed));
    world.handle(Input::Disconnected(CONTROLLER));

    through(&mut world, 3, &signal(Kind::Signal, mode(0, 1), 3));
    let sent = through(&mut world, 1, &frame(0x88b5, &[0; 46]));
    world.greet(CONTROLLER);

    assert_eq!(sent.iter().map(|it| it.0).collect::<Vec<_>>(), [2]);
    let (agreed, served, _) = held(&mut world);
    assert_eq!((agreed, served), (mode(0, 1), Level::LOWEST));
    configure(&mut world, &settings(&trunks));
    let (_, served, _) = held(&mut world);
    assert_eq!(served, level(1));
    let sent = through(&mut world, 1, &frame(0x88b5, &[0; 46]));
    assert_eq!(sent.iter().map(|it| it.0).collect::<Vec<_>>(), [4]);
}

/// A level may be complete and have no entry for a frame: it meets what stands for all
/// levels, and is dropped if nothing does.
#[test]
fn a_level_that_no_entry_covers_has_what_stands_for_all_levels() {
    let mut world = taking_part(None);
    let out = [output(2)];
    let usual = [Instruction::ApplyActions(Actions::of(&out))];
    let lowest = [Level::LOWEST].into_iter().collect();
    tell(&mut world, &shadow(lowest, FlowModCommand::Add, &usual));

    let without = ways(&mut world, 1);
    let plain = FlowMod {
        priority: 1,
        instructions: Instructions::of(&usual),
        ..FlowMod::add(TableId(0))
    };
    tell(&mut world, &Message::FlowMod(plain));
    let with = ways(&mut world, 20);

    assert_eq!(without[0], [2]);
    assert!(without[1..].iter().all(Vec::is_empty), "{without:?}");
    assert!(with.iter().all(|way| *way == [2]), "{with:?}");
}

/// A monitor for a flow that nobody has entries for sees nothing and hinders nothing.
#[test]
fn a_monitor_of_an_unknown_flow_watches_nothing_and_is_told_as_such() {
    let mut world = taking_part(None);
    let contracts = [MonitorContract {
        period: PERIOD,
        size_bytes: 100,
    }];
    let add = Message::Mode(monitor(MonitorCommand::Add, 99, &contracts));
    tell(&mut world, &add);

    through(&mut world, 1, &message(0, 100_000));

    let answers = ask(&mut world, Question::Monitors);
    let Answer::Monitors(reports) = told(&answers[0]) else {
        panic!("another answer");
    };
    let reports: Vec<_> = reports.iter().map(Result::unwrap).collect();
    let one = reports.iter().find(|it| it.monitor == MonitorId(99));
    assert_eq!(one.unwrap().messages, 0);
    let (agreed, _, _) = held(&mut world);
    assert_eq!(agreed, mode(0, 0));
}

#[test]
fn the_level_falls_only_once_flows_were_quiet_and_a_violation_undoes_it() {
    let mut world = taking_part(None);
    world.add(
        5,
        &[from_host()],
        &[Action::FlowMonitor(MONITOR), output(2)],
    );
    watch(&mut world);
    through(&mut world, 1, &message(0, 150));

    let early = refused(&mut world, &set(ModeCommand::Lower, 0));
    pass(&mut world, Duration::from_ms(100));
    world.take_sent();
    tell(&mut world, &set(ModeCommand::Lower, 0));
    let told = signals(&world.take_sent());
    let lowered = held(&mut world).0;
    through(&mut world, 1, &message(1, 150));

    assert_eq!(ModeFailed::of(early), Some(ModeFailed::NotQuiet));
    assert_eq!(told.len(), 2);
    assert_eq!((lowered, held(&mut world).0), (mode(1, 0), mode(1, 1)));
}

#[test]
fn an_operator_forces_a_level_and_demands_one() {
    let mut world = taking_part(None);

    tell(&mut world, &set(ModeCommand::Force, 5));
    let forced = held(&mut world).0;
    tell(&mut world, &set(ModeCommand::Demand, 6));
    let not_lower = refused(&mut world, &set(ModeCommand::Lower, 6));

    assert_eq!((forced, held(&mut world).0), (mode(1, 5), mode(1, 6)));
    assert_eq!(ModeFailed::of(not_lower), Some(ModeFailed::NotLower));
}

#[test]
fn monitors_are_refused_what_makes_no_sense() {
    let mut world = taking_part(None);
    let contract = |ms, size_bytes| MonitorContract {
        period: Duration::from_ms(ms),
        size_bytes,
    };
    let good = [contract(10, 100)];
    let shrinking = [contract(10, 100), contract(20, 100)];
    let add = MonitorCommand::Add;
    let delete = MonitorCommand::Delete;

    let refusals = [
        failed(&mut world, &monitor(add, 1, &[])),
        failed(&mut world, &monitor(add, 1, &shrinking)),
        failed(&mut world, &monitor(add, u32::MAX, &good)),
        failed(&mut world, &monitor(delete, 1, &[])),
    ];
    tell(&mut world, &Message::Mode(monitor(add, MONITOR.0, &good)));
    world.add(
        5,
        &[from_host()],
        &[Action::FlowMonitor(MONITOR), output(2)],
    );
    let in_use = failed(&mut world, &monitor(delete, MONITOR.0, &[]));

    let expected = [
        ModeFailed::BadContracts,
        ModeFailed::BadContracts,
        ModeFailed::UnknownMonitor,
        ModeFailed::UnknownMonitor,
    ];
    assert_eq!(refusals, expected.map(Some));
    assert_eq!(in_use, Some(ModeFailed::MonitorInUse));
}

#[test]
fn a_switch_watches_so_many_flows_and_no_more() {
    let mut world = taking_part(None);
    let good = [MonitorContract {
        period: PERIOD,
        size_bytes: 100,
    }];
    let count = u32::try_from(switch::modes::MONITORS_MAX).unwrap();
    for id in 0..count {
        tell(
            &mut world,
            &Message::Mode(monitor(MonitorCommand::Add, 1_000 * id, &good)),
        );
    }

    let one_more = failed(&mut world, &monitor(MonitorCommand::Add, 7, &good));
    let delete = monitor(MonitorCommand::Delete, 3_000, &[]);
    tell(&mut world, &Message::Mode(delete));
    tell(
        &mut world,
        &Message::Mode(monitor(MonitorCommand::Add, 7, &good)),
    );

    assert_eq!(one_more, Some(ModeFailed::TooManyMonitors));
    let answers = ask(&mut world, Question::Monitors);
    let listed = answers.iter().flat_map(|answer| match told(answer) {
        Answer::Monitors(reports) => reports
            .iter()
            .map(|it| it.expect("a report").monitor.0)
            .collect(),
        _ => Vec::new(),
    });
    let listed: Vec<_> = listed.collect();
    assert_eq!(listed.len(), switch::modes::MONITORS_MAX);
    assert!(listed.is_sorted());
}

#[test]
fn numbers_of_monitors_that_nobody_names_any_more_make_room() {
    let mut world = taking_part(None);
    let count = u32::try_from(switch::modes::MONITORS_MAX).unwrap();
    for id in 0..count {
        world.add(
            5,
            &[from_host()],
            &[Action::FlowMonitor(MonitorId(id)), output(2)],
        );
    }

    world.add(
        5,
        &[from(2)],
        &[Action::FlowMonitor(MonitorId(99_999)), output(1)],
    );
}

#[test]
fn trunks_flags_and_roles_are_checked() {
    let mut world = taking_part(None);
    let unknown = [Trunk {
        port: PortNumber(77),
        ..trunks()[0]
    }];
    let many = [trunks()[0]; 5];
    let some = trunks();
    let odd = ModeConfig {
        flags: ModeFlags(1 << 7),
        ..settings(&some)
    };

    let refusals = [
        failed(&mut world, &ModeMessage::Config(settings(&unknown))),
        failed(&mut world, &ModeMessage::Config(settings(&many))),
        failed(&mut world, &ModeMessage::Config(odd)),
    ];
    world.ask(&Message::RoleRequest(RoleMessage {
        role: Role::Slave,
        generation: 1,
    }));
    let of_slave = refused(&mut world, &set(ModeCommand::Force, 3));

    let expected = [
        ModeFailed::BadPort,
        ModeFailed::TooManyPorts,
        ModeFailed::BadFlags,
    ];
    assert_eq!(refusals, expected.map(Some));
    assert_eq!(of_slave, ErrorKind::BadRequest(BadRequest::IsSlave));
    assert_eq!(held(&mut world).0, mode(0, 0));
}

#[test]
fn actions_of_modes_stand_in_no_action_set() {
    let mut world = taking_part(None);
    let actions = [Action::FlowMonitor(MONITOR)];
    let instructions = [Instruction::WriteActions(Actions::of(&actions))];

    let kind = refused(
        &mut world,
        &Message::FlowMod(FlowMod {
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        }),
    );

    assert_eq!(kind, ErrorKind::BadAction(BadAction::BadExperimenterType));
}

#[test]
fn the_status_tells_what_is_agreed_on_and_who_was_heard_when() {
    let mut world = taking_part(None);
    through(&mut world, 4, &signal(Kind::HeartBeat, mode(3, 2), 4));
    pass(&mut world, Duration::from_ms(5));

    let answers = ask(&mut world, Question::Modes);

    let Answer::Modes(status) = told(&answers[0]) else {
        panic!("another answer");
    };
    assert_eq!((status.mode, status.origin), (mode(3, 2), DatapathId(9)));
    assert_eq!((status.served, status.complete), (level(2), LevelSet::ALL));
    assert_eq!(
        (status.default, status.quiet, status.waiting),
        (Level::LOWEST, None, 0)
    );
    let trunks: Vec<_> = status.trunks.iter().map(Result::unwrap).collect();
    let heard: Vec<_> = trunks.iter().map(|it| (it.port.0, it.heard)).collect();
    assert_eq!(heard, [(3, None), (4, Some(Duration::from_ms(5)))]);
}

#[test]
fn what_a_monitor_saw_is_told_and_kept_if_its_contracts_stay() {
    let mut world = taking_part(None);
    world.add(
        5,
        &[from_host()],
        &[Action::FlowMonitor(MONITOR), output(2)],
    );
    watch(&mut world);
    through(&mut world, 1, &message(0, 150));
    watch(&mut world);
    pass(&mut world, Duration::from_ms(3));

    let answers = ask(&mut world, Question::Monitors);

    let Answer::Monitors(reports) = told(&answers[0]) else {
        panic!("another answer");
    };
    let reports: Vec<_> = reports.iter().map(Result::unwrap).collect();
    assert_eq!(reports.len(), 1);
    assert_eq!(
        (
            reports[0].monitor,
            reports[0].messages,
            reports[0].violations
        ),
        (MONITOR, 1, 1)
    );
    assert_eq!(reports[0].demanded, Some(Demanded::Level(level(1))));
    assert_eq!(reports[0].quiet, Some(Duration::from_ms(3)));
}

#[test]
fn a_switch_that_starts_anew_follows_its_neighbours_once_it_is_told_who_they_are() {
    let mut world = taking_part(None);
    let beat = signal(Kind::HeartBeat, mode(7, 3), 3);
    let trunks = trunks();
    configure(&mut world, &settings(&trunks[1..]));

    through(&mut world, 3, &beat);
    let before = held(&mut world).0;
    configure(&mut world, &settings(&trunks));
    through(&mut world, 3, &beat);

    assert_eq!((before, held(&mut world).0), (mode(0, 0), mode(7, 3)));
}
