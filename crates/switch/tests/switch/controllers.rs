//! Frames to and from controllers, and which controller gets what.

use switch::{ConnectionId, Input, Link, PacketInBudget};
use units::{Duration, Instant};
use wire::ethernet::EtherType;
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, AsyncConfig, BadAction, BadRequest, BufferId, Cookie, ErrorKind, Fields,
    FlowMod, Instruction, Instructions, MatchField, Message, PacketInReason, PacketOut,
    PortModFailed, PortNumber, PortState, Role, RoleMessage, RoleRequestFailed, TableId,
    TransactionId,
};

use crate::frames::{frame, udp};
use crate::world::{CONTROLLER, World, from, output, unpaced};

const OTHER: ConnectionId = ConnectionId(2);

fn to_controller() -> Action {
    Action::output(PortNumber::CONTROLLER)
}

fn packet_out<'a>(in_port: PortNumber, actions: &'a [Action], data: &'a [u8]) -> Message<'a> {
    Message::PacketOut(PacketOut {
        buffer: BufferId::NONE,
        in_port,
        actions: Actions::of(actions),
        data,
    })
}

/// How many frames arrived at a controller.
fn packet_ins(world: &mut World, connection: ConnectionId) -> usize {
    let answers = world.answers(connection);
    let packet_ins = answers
        .iter()
        .filter(|it| matches!(it.message(), Message::PacketIn(_)));
    packet_ins.count()
}

/// OF13 clause 7.4.1.
#[test]
fn a_packet_in_says_where_the_frame_came_from_and_who_sent_it() {
    let mut world = World::with_controller(unpaced());
    let actions = [to_controller()];
    let first = [
        Instruction::WriteMetadata {
            metadata: 5,
            mask: u64::MAX,
        },
        Instruction::GotoTable(TableId(2)),
    ];
    world.tell(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&first),
        ..FlowMod::add(TableId(0))
    }));
    world.tell(&Message::FlowMod(FlowMod {
        priority: 4,
        cookie: Cookie(77),
        instructions: Instructions::of(&[Instruction::ApplyActions(Actions::of(&actions))]),
        ..FlowMod::add(TableId(2))
    }));
    let frame = frame(0x88b5, b"what is this?");

    world.frame(3, &frame);

    let answers = world.answers(CONTROLLER);
    let Message::PacketIn(packet_in) = answers[0].message() else {
        panic!("no packet-in: {:?}", answers[0].message())
    };
    assert_eq!(packet_in.data, frame);
    assert_eq!(packet_in.buffer, BufferId::NONE);
    assert_eq!(
        (packet_in.table, packet_in.cookie),
        (TableId(2), Cookie(77))
    );
    assert_eq!(packet_in.reason, PacketInReason::Action);
    let known = [from(3), MatchField::Metadata(Masked::exact(5))];
    assert_eq!(packet_in.fields, Fields::of(&known));
}

/// OF13 clause 5.4.
#[test]
fn a_frame_without_an_entry_reaches_the_controller_only_by_a_table_miss_entry() {
    let mut world = World::with_controller(unpaced());

    world.frame(1, &frame(0x88b5, b""));
    assert_eq!(packet_ins(&mut world, CONTROLLER), 0);
    world.add(0, &[], &[to_controller()]);
    world.frame(1, &frame(0x88b5, b""));

    let answers = world.answers(CONTROLLER);
    let Message::PacketIn(packet_in) = answers[0].message() else {
        panic!("no packet-in: {:?}", answers[0].message())
    };
    assert_eq!(packet_in.reason, PacketInReason::NoMatch);
}

#[test]
fn a_flood_of_unknown_frames_does_not_drown_the_controller_nor_discovery() {
    let interval = Duration::from_ms(1);
    let mut config = unpaced();
    config.packet_ins = PacketInBudget { interval, burst: 5 };
    config.discovery = PacketInBudget { interval, burst: 2 };
    let mut world = World::with_controller(config);
    world.add(0, &[], &[to_controller()]);
    world.add(
        9,
        &[MatchField::EthType(EtherType::LLDP)],
        &[to_controller()],
    );

    for _ in 0..100 {
        world.frame(1, &frame(0x88b5, b""));
    }
    let flood = packet_ins(&mut world, CONTROLLER);
    for _ in 0..100 {
        world.frame(1, &frame(0x88cc, b""));
    }
    let discovery = packet_ins(&mut world, CONTROLLER);
    world.run_until(Instant::ZERO + interval);
    world.frame(1, &frame(0x88b5, b""));
    world.frame(1, &frame(0x88cc, b""));

    assert_eq!((flood, discovery), (5, 2));
    assert_eq!(packet_ins(&mut world, CONTROLLER), 2);
    let counters = world.switch.counters();
    assert_eq!((counters.punted, counters.punts_dropped), (9, 193));
}

/// OF13 clause 6.3.4: an invalid time to live is reported only on demand.
#[test]
fn a_packet_whose_time_to_live_ended_is_reported_to_who_asked_for_it() {
    let mut world = World::with_controller(unpaced());
    let ipv4 = MatchField::EthType(EtherType::IPV4);
    world.add(1, &[ipv4], &[Action::DecrementNetworkTtl, output(2)]);
    let everything = AsyncConfig {
        packet_in: [0b111, 0],
        ..AsyncConfig::DEFAULT
    };

    world.frame(1, &udp(1, b""));
    assert_eq!(packet_ins(&mut world, CONTROLLER), 0);
    world.tell(&Message::SetAsync(everything));
    world.frame(1, &udp(1, b""));

    let answers = world.answers(CONTROLLER);
    let Message::PacketIn(packet_in) = answers[0].message() else {
        panic!("no packet-in: {:?}", answers[0].message())
    };
    assert_eq!(packet_in.reason, PacketInReason::InvalidTtl);
    let answers = world.ask(&Message::GetAsyncRequest);
    assert_eq!(answers[0].message(), Message::GetAsyncReply(everything));
}

/// OF13 clause 7.3.7.
#[test]
fn a_packet_out_does_what_its_actions_say() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[from(2)], &[output(3)]);
    let data = frame(0x88b5, b"made by the controller");
    for (in_port, action, expected) in [
        (PortNumber::CONTROLLER, output(2), &[2][..]),
        (
            PortNumber::CONTROLLER,
            Action::output(PortNumber::ALL),
            &[1, 2, 3],
        ),
        (PortNumber(2), Action::output(PortNumber::FLOOD), &[1, 3]),
        (PortNumber(2), Action::output(PortNumber::IN_PORT), &[2]),
        (PortNumber(2), output(2), &[]),
        (PortNumber(2), Action::output(PortNumber::TABLE), &[3]),
        (PortNumber(1), Action::output(PortNumber::TABLE), &[]),
    ] {
        world.tell(&packet_out(in_port, &[action], &data));

        let sent = world.take_sent();
        assert!(sent.iter().all(|(_, frame)| *frame == data));
        let ports: Vec<_> = sent.into_iter().map(|(port, _)| port).collect();
        assert_eq!(ports, expected, "{in_port} {action:?}");
    }
}

/// OF13 clauses 7.3.7 and 7.4.4.
#[test]
fn an_impossible_packet_out_is_refused_with_its_error() {
    let mut world = World::with_controller(unpaced());
    let data = frame(0x88b5, b"");
    let from_controller = PortNumber::CONTROLLER;
    let request = |code| ErrorKind::BadRequest(code);
    let kept = Message::PacketOut(PacketOut {
        buffer: BufferId(3),
        in_port: from_controller,
        actions: Actions::EMPTY,
        data: &[],
    });

    for (message, expected) in [
        (kept, request(BadRequest::BufferUnknown)),
        (
            packet_out(PortNumber(9), &[], &data),
            request(BadRequest::BadPort),
        ),
        (
            packet_out(PortNumber::ANY, &[], &data),
            request(BadRequest::BadPort),
        ),
        (
            packet_out(from_controller, &[], &data[..13]),
            request(BadRequest::BadPacket),
        ),
        (
            packet_out(from_controller, &[], &[0; 2_000]),
            request(BadRequest::BadPacket),
        ),
        (
            packet_out(from_controller, &[output(9)], &data),
            ErrorKind::BadAction(BadAction::BadOutPort),
        ),
    ] {
        assert_eq!(world.refused(&message), expected, "{message:?}");
    }
}

/// OF13 clause 7.4.3.
#[test]
fn a_link_that_changes_is_reported_once() {
    let mut world = World::with_controller(unpaced());

    for link in [Link::Up, Link::Down, Link::Down, Link::Up] {
        world.link(2, link);
    }

    let answers = world.answers(CONTROLLER);
    let states = answers.iter().map(|it| match it.message() {
        Message::PortStatus(status) => (status.port.number, status.port.state),
        other => panic!("not what was expected: {other:?}"),
    });
    let port = PortNumber(2);
    let expected = [(port, PortState::LINK_DOWN), (port, PortState::LIVE)];
    assert_eq!(states.collect::<Vec<_>>(), expected);
}

/// OF13 clause 7.3.4.3.
#[test]
fn an_impossible_port_mod_is_refused_with_its_error() {
    use wire::ethernet::MacAddress;
    use wire::openflow::{PortConfig, PortFeatures, PortMod};

    let mut world = World::with_controller(unpaced());
    let good = PortMod {
        port: PortNumber(1),
        address: MacAddress([2, 0, 0, 0, 1, 1]),
        config: PortConfig::NONE,
        mask: PortConfig::NONE,
        advertise: PortFeatures::NONE,
    };

    for (port_mod, expected) in [
        (
            PortMod {
                port: PortNumber(9),
                ..good
            },
            PortModFailed::BadPort,
        ),
        (
            PortMod {
                address: MacAddress::ZERO,
                ..good
            },
            PortModFailed::BadHardwareAddress,
        ),
        (
            PortMod {
                mask: PortConfig(1 << 20),
                ..good
            },
            PortModFailed::BadConfig,
        ),
        (
            PortMod {
                advertise: PortFeatures(1),
                ..good
            },
            PortModFailed::BadAdvertise,
        ),
    ] {
        let refused = world.refused(&Message::PortMod(port_mod));
        assert_eq!(refused, ErrorKind::PortModFailed(expected));
    }
}

fn role(role: Role, generation: u64) -> Message<'static> {
    Message::RoleRequest(RoleMessage { role, generation })
}

/// Sends a message over the second connection and returns the first answer's
/// error, if it is one.
fn ask_other(world: &mut World, message: &Message<'_>) -> Option<ErrorKind> {
    let mut bytes = Vec::new();
    message.emit(TransactionId(1), &mut bytes);
    world.receive(OTHER, &bytes);
    let answers = world.answers(OTHER);
    match answers.first()?.message() {
        Message::Error(error) => Some(error.kind),
        _ => None,
    }
}

/// OF13 clause 6.3.4.
#[test]
fn a_new_master_makes_the_old_one_a_slave() {
    let mut world = World::with_controller(unpaced());
    world.greet(OTHER);
    world.add(0, &[], &[to_controller()]);

    let answers = world.ask(&role(Role::Master, 1));
    assert_eq!(answers[0].message(), {
        let (role, generation) = (Role::Master, 1);
        Message::RoleReply(RoleMessage { role, generation })
    });
    assert_eq!(ask_other(&mut world, &role(Role::Master, 2)), None);

    let slave = Some(ErrorKind::BadRequest(BadRequest::IsSlave));
    let flow_mod = Message::FlowMod(FlowMod::add(TableId(0)));
    let data = frame(0x88b5, b"");
    let actions = [output(1)];
    let frame_out = packet_out(PortNumber::CONTROLLER, &actions, &data);
    assert_eq!(Some(world.refused(&flow_mod)), slave);
    assert_eq!(Some(world.refused(&frame_out)), slave);
    assert_eq!(ask_other(&mut world, &frame_out), None);
    world.frame(1, &data);
    world.link(1, Link::Down);
    assert_eq!(
        packet_ins(&mut world, CONTROLLER),
        0,
        "a slave gets no frames"
    );
    assert_eq!(packet_ins(&mut world, OTHER), 1);
}

/// OF13 clause 6.3.4.
#[test]
fn an_old_election_is_refused_even_when_the_numbers_wrap_around() {
    let mut world = World::with_controller(unpaced());
    let stale = ErrorKind::RoleRequestFailed(RoleRequestFailed::Stale);

    for generation in [u64::MAX - 1, u64::MAX, 0, 1] {
        assert_eq!(world.ask(&role(Role::Master, generation)).len(), 1);
    }

    assert_eq!(world.refused(&role(Role::Slave, u64::MAX)), stale);
    assert_eq!(world.refused(&role(Role::Master, 0)), stale);
    let answers = world.ask(&role(Role::NoChange, 0));
    let (role, generation) = (Role::Master, 1);
    let expected = Message::RoleReply(RoleMessage { role, generation });
    assert_eq!(answers[0].message(), expected);
}

#[test]
fn without_a_controller_frames_for_it_are_counted_and_their_buffers_freed() {
    let mut world = World::with_controller(unpaced());
    world.add(0, &[], &[to_controller()]);
    let free = world.switch.free_buffers();

    world.handle(Input::Disconnected(CONTROLLER));
    for _ in 0..10 {
        world.frame(1, &frame(0x88b5, b""));
    }

    assert_eq!(world.switch.counters().punts_dropped, 10);
    assert_eq!(world.switch.free_buffers(), free);
}
