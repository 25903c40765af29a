//! Connections: agreeing on a version, errors, barriers, plain questions.

use switch::{CONNECTIONS_MAX, CloseReason, ConnectionId, Input, Peer};
use wire::openflow::{
    Action, Actions, BadRequest, Capabilities, ControllerLength, DatapathId, Echo, ErrorKind,
    Experimenter, FlowMod, FragmentHandling, HelloFailed, Instruction, Instructions, Message,
    PortNumber, QueueOpFailed, SwitchConfig, SwitchConfigFailed, TableId, TransactionId,
};

use crate::frames::frame;
use crate::world::{CONTROLLER, World, output, unpaced};

/// A hello of this version without a bitmap.
fn hello(version: u8) -> [u8; 8] {
    [version, 0, 0, 8, 0, 0, 0, 9]
}

/// OF13 clause 6.3.1.
#[test]
fn the_switch_greets_first_and_takes_every_later_version() {
    for version in 4..=6 {
        let mut world = World::new(unpaced());
        world.connect(CONTROLLER, Peer::Controller);
        let greeting = world.answers(CONTROLLER);
        assert!(matches!(greeting[0].message(), Message::Hello(_)));

        world.receive(CONTROLLER, &hello(version));

        let echo = Message::EchoRequest(Echo { data: b"alive?" });
        let answers = world.ask(&echo);
        let reply = Message::EchoReply(Echo { data: b"alive?" });
        assert_eq!(answers[0].message(), reply, "version {version}");
        assert_eq!(answers[0].header().transaction, TransactionId(7));
    }
}

/// OF13 clause 6.3.1.
#[test]
fn a_version_between_is_refused_with_an_error_and_the_connection_closed() {
    for version in 2..=3 {
        let mut world = World::new(unpaced());
        world.connect(CONTROLLER, Peer::Controller);

        world.receive(CONTROLLER, &hello(version));

        let answers = world.answers(CONTROLLER);
        let Message::Error(error) = answers[1].message() else {
            panic!("no error: {:?}", answers[1].message())
        };
        assert_eq!(
            error.kind,
            ErrorKind::HelloFailed(HelloFailed::Incompatible)
        );
        assert_eq!(world.closed, [(CONTROLLER, CloseReason::NoCommonVersion)]);
        assert_eq!(world.switch.counters().bad_connections, 1);
    }
}

#[test]
fn who_does_not_greet_is_not_listened_to() {
    let mut world = World::new(unpaced());
    world.connect(CONTROLLER, Peer::Controller);

    world.receive(CONTROLLER, b"GET / HTTP/1.1\r\nHost: switch\r\n\r\n");

    assert_eq!(world.closed, [(CONTROLLER, CloseReason::NoCommonVersion)]);
}

#[test]
fn a_stream_that_cannot_be_cut_is_closed_and_others_go_on() {
    let mut world = World::with_controller(unpaced());
    let other = ConnectionId(2);
    world.greet(other);

    world.receive(other, &[4, 2, 0, 7, 0, 0, 0, 1]);

    assert_eq!(world.closed, [(other, CloseReason::Framing)]);
    assert_eq!(world.ask(&Message::BarrierRequest).len(), 1);
}

#[test]
fn one_connection_too_many_is_closed() {
    let mut world = World::new(unpaced());

    for id in 0..=CONNECTIONS_MAX {
        let connection = ConnectionId(u32::try_from(id).unwrap());
        world.connect(connection, Peer::Controller);
    }

    let last = ConnectionId(u32::try_from(CONNECTIONS_MAX).unwrap());
    assert_eq!(world.closed, [(last, CloseReason::TooManyConnections)]);
}

/// OF13 clause 7.4.4.
#[test]
fn what_is_not_understood_is_answered_with_the_right_error() {
    let mut world = World::with_controller(unpaced());
    for (message, expected) in [
        (&[1, 2, 0, 8, 0, 0, 0, 1][..], BadRequest::BadVersion),
        (&[4, 99, 0, 8, 0, 0, 0, 1], BadRequest::BadType),
        (
            &[4, 20, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            BadRequest::BadLength,
        ),
        (
            &[4, 18, 0, 16, 0, 0, 0, 1, 0, 99, 0, 0, 0, 0, 0, 0],
            BadRequest::BadMultipart,
        ),
        (
            &[4, 18, 0, 16, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0],
            BadRequest::BadLength,
        ),
        (&[4, 10, 0, 8, 0, 0, 0, 1], BadRequest::BadLength),
    ] {
        world.receive(CONTROLLER, message);

        let answers = world.answers(CONTROLLER);
        let Message::Error(error) = answers[0].message() else {
            panic!("no error: {:?}", answers[0].message())
        };
        assert_eq!(error.kind, ErrorKind::BadRequest(expected), "{message:?}");
        assert_eq!(error.data, message);
        assert_eq!(answers[0].header().transaction, TransactionId(1));
    }
    assert_eq!(world.switch.counters().bad_messages, 6);
    assert_eq!(world.closed, []);
}

#[test]
fn what_only_a_switch_says_and_what_this_one_lacks_is_refused() {
    let mut world = World::with_controller(unpaced());
    let experimenter = Experimenter {
        experimenter: 1,
        kind: 2,
        data: &[],
    };

    let bad_type = ErrorKind::BadRequest(BadRequest::BadType);
    assert_eq!(world.refused(&Message::BarrierReply), bad_type);
    assert_eq!(
        world.refused(&Message::Experimenter(experimenter)),
        ErrorKind::BadRequest(BadRequest::BadExperimenter)
    );
    let port = PortNumber(9);
    assert_eq!(
        world.refused(&Message::QueueGetConfigRequest(port)),
        ErrorKind::QueueOpFailed(QueueOpFailed::BadPort)
    );
}

/// OF13 clause 7.3.1.
#[test]
fn features_tell_name_tables_and_what_is_counted() {
    let mut world = World::with_controller(unpaced());

    let answers = world.ask(&Message::FeaturesRequest);

    let Message::FeaturesReply(features) = answers[0].message() else {
        panic!("no features: {:?}", answers[0].message())
    };
    assert_eq!((features.datapath, features.tables), (DatapathId(1), 16));
    assert_eq!((features.buffers, features.auxiliary), (256, 0));
    assert!(
        features
            .capabilities
            .contains(Capabilities::QUEUE_STATISTICS)
    );
}

/// OF13 clause 7.3.2.
#[test]
fn the_configuration_is_kept_and_reassembly_refused() {
    let mut world = World::with_controller(unpaced());
    let config = SwitchConfig {
        fragments: FragmentHandling::Normal,
        miss_send_length: ControllerLength::NO_BUFFER,
    };
    world.tell(&Message::SetConfig(config));

    let reassemble = SwitchConfig {
        fragments: FragmentHandling::Reassemble,
        ..config
    };
    let refused = world.refused(&Message::SetConfig(reassemble));
    let answers = world.ask(&Message::GetConfigRequest);

    assert_eq!(
        refused,
        ErrorKind::SwitchConfigFailed(SwitchConfigFailed::BadFlags)
    );
    assert_eq!(answers[0].message(), Message::GetConfigReply(config));
}

/// OF13 clause 7.3.6.
#[test]
fn every_port_has_eight_queues() {
    let mut world = World::with_controller(unpaced());

    let answers = world.ask(&Message::QueueGetConfigRequest(PortNumber::ANY));

    let Message::QueueGetConfigReply(reply) = answers[0].message() else {
        panic!("no queues: {:?}", answers[0].message())
    };
    let queues: Vec<_> = reply.queues.iter().map(|it| it.unwrap().queue.0).collect();
    assert_eq!(queues, [0, 1, 2, 3, 4, 5, 6, 7].repeat(3));
}

/// OF13 clause 6.2: everything before the barrier is done when it is answered,
/// nothing behind it is.
#[test]
fn a_barrier_is_answered_when_what_precedes_it_is_done_and_not_before() {
    let mut world = World::with_controller(unpaced());
    let mut stream = Vec::new();
    let actions = [output(2)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    for priority in 0..500 {
        let flow_mod = FlowMod {
            priority,
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        };
        flow_mod.emit(TransactionId(0), &mut stream);
    }
    Message::BarrierRequest.emit(TransactionId(1), &mut stream);
    FlowMod::delete(TableId(0)).emit(TransactionId(0), &mut stream);

    let connection = CONTROLLER;
    world.switch.handle(
        world.now,
        Input::Received {
            connection,
            bytes: &stream,
        },
    );
    let mut slices = 0;
    let replied = |world: &mut World| {
        world.handle(Input::Timeout);
        !world.answers(CONTROLLER).is_empty()
    };
    while !replied(&mut world) {
        slices += 1;
        assert_eq!(
            world.switch.deadline(),
            Some(world.now),
            "there is more to do"
        );
    }

    assert!(slices > 1, "the work is done in slices");
    world.run_until(world.now);
    world.frame(1, &frame(0x88b5, b"deleted by now"));
    assert_eq!(world.take_sent(), []);
}

#[test]
fn a_message_may_come_byte_by_byte() {
    let mut world = World::with_controller(unpaced());
    let mut message = Vec::new();
    Message::EchoRequest(Echo { data: &[7; 3_000] }).emit(TransactionId(1), &mut message);

    for byte in message {
        world.receive(CONTROLLER, &[byte]);
    }

    assert_eq!(world.answers(CONTROLLER).len(), 1);
}

#[test]
fn a_connection_that_comes_again_begins_anew() {
    let mut world = World::with_controller(unpaced());
    world.receive(CONTROLLER, &[4, 2, 0, 20, 0, 0]); // The first part of a message.

    world.handle(Input::Disconnected(CONTROLLER));
    world.greet(CONTROLLER);

    assert_eq!(world.ask(&Message::BarrierRequest).len(), 1);
}

#[test]
fn entries_stay_when_the_controller_goes() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[], &[Action::output(PortNumber(2))]);

    world.handle(Input::Disconnected(CONTROLLER));
    world.frame(1, &frame(0x88b5, b""));

    assert_eq!(world.take_sent().len(), 1);
}
