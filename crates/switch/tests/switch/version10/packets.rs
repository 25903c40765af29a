//! Frames to and from a controller of version 1.0.

use switch::{ConnectionId, Peer};
use wire::openflow::{BufferId, ControllerLength, PacketInReason};
use wire::openflow10::{
    Action, Actions, BadAction, BadRequest, ErrorKind, Match10, Message, PacketIn, PacketOut,
    PortConfig, PortNumber,
};

use super::{
    HELLO, add, ask, flow_mod, from, output, packet_ins, refused, tell, to_controller, world,
};
use crate::frames::{frame, udp};
use crate::world::{CONTROLLER, World, unpaced};

fn packet_out<'a>(in_port: PortNumber, actions: &'a [Action], data: &'a [u8]) -> Message<'a> {
    Message::PacketOut(PacketOut {
        buffer: BufferId::NONE,
        in_port,
        actions: Actions::of(actions),
        data,
    })
}

/// OF10 section 3.4.
#[test]
fn a_frame_that_no_entry_matches_goes_to_the_controller() {
    let mut world = world(unpaced());
    let frame = frame(0x88b5, b"what is this?");

    world.frame(3, &frame);

    let count = packet_ins(
        &mut world,
        |PacketIn {
             in_port,
             reason,
             data,
             ..
         }| {
            assert_eq!((in_port, reason), (PortNumber(3), PacketInReason::NoMatch));
            assert_eq!(data, &frame[..data.len()]);
        },
    );
    assert_eq!((count, world.take_sent()), (1, vec![]));
    assert_eq!(world.switch.counters().missed, 1);
}

/// OF10 section 3.4: an entry without actions drops.
#[test]
fn a_frame_that_an_entry_drops_does_not() {
    let mut world = world(unpaced());
    add(&mut world, 0, Match10::ANY, &[]);

    world.frame(3, &frame(0x88b5, b""));

    assert_eq!(packet_ins(&mut world, |_| {}), 0);
}

#[test]
fn nobody_hears_of_it_once_the_controller_is_gone() {
    let mut world = world(unpaced());
    world.handle(switch::Input::Disconnected(CONTROLLER));

    world.frame(3, &frame(0x88b5, b""));

    assert_eq!(world.switch.counters().punted, 0);
    assert_eq!(world.switch.counters().punts_dropped, 0);
}

#[test]
fn who_only_looks_at_the_switch_does_not_change_what_it_does() {
    let mut world = World::new(unpaced());
    let visitor = ConnectionId(5);
    world.greet_with(visitor, Peer::Management, HELLO);

    world.frame(3, &frame(0x88b5, b""));

    assert_eq!(world.answers(visitor).len(), 0);
    assert_eq!(world.switch.counters().punted, 0);
}

/// OF10 section 5.4.1.
#[test]
fn an_entry_that_sends_to_the_controller_says_so() {
    let mut world = world(unpaced());
    add(&mut world, 5, from(1), &[to_controller(), output(2)]);
    let frame = frame(0x88b5, b"both of you");

    world.frame(1, &frame);

    let count = packet_ins(&mut world, |packet_in| {
        assert_eq!(packet_in.reason, PacketInReason::Action);
        assert_eq!(usize::from(packet_in.total_length), frame.len());
        assert_eq!(packet_in.data, frame);
    });
    assert_eq!(count, 1);
    assert_eq!(world.take_sent(), [(2, frame)]);
}

/// OF10 section 5.2.1 (`OFPPC_NO_PACKET_IN`).
#[test]
fn a_port_that_is_told_to_hands_nothing_to_the_controller() {
    let mut world = world(unpaced());
    let no_packet_in = super::ports::configure(1, PortConfig::NO_PACKET_IN);
    ask(&mut world, &no_packet_in);

    world.frame(1, &frame(0x88b5, b""));
    world.frame(2, &frame(0x88b5, b""));

    assert_eq!(packet_ins(&mut world, |_| {}), 1);
}

/// OF10 section 5.3.6.
#[test]
fn a_packet_out_does_its_actions_in_order() {
    let mut world = world(unpaced());
    let frame = udp(9, b"datagram");
    let actions = [output(1), Action::SetVlanVid(5), output(2)];

    tell(&mut world, &packet_out(PortNumber::NONE, &actions, &frame));

    let tagged = crate::frames::tagged(5, 0, &frame);
    assert_eq!(world.take_sent(), [(1, frame), (2, tagged)]);
}

/// OF10 sections 3.3 and 5.3.6.
#[test]
fn a_packet_out_can_flood_return_and_ask_the_tables() {
    let mut world = world(unpaced());
    add(&mut world, 5, from(2), &[output(3)]);
    let frame = frame(0x88b5, b"");
    for (port, expected) in [
        (PortNumber::FLOOD, vec![1, 3]),
        (PortNumber::ALL, vec![1, 3]),
        (PortNumber::IN_PORT, vec![2]),
        (PortNumber::TABLE, vec![3]),
        (PortNumber(2), vec![]),
    ] {
        let actions = [Action::output(port)];

        tell(&mut world, &packet_out(PortNumber(2), &actions, &frame));

        let ports: Vec<_> = world.take_sent().into_iter().map(|it| it.0).collect();
        assert_eq!(ports, expected, "{port:?}");
    }
}

/// OF10 section 5.4.4.
#[test]
fn an_impossible_packet_out_is_refused_with_its_error() {
    let mut world = world(unpaced());
    let data = frame(0x88b5, b"");
    let (known, unknown) = ([output(1)], [output(9)]);
    let buffered = PacketOut {
        buffer: BufferId(1),
        in_port: PortNumber::NONE,
        actions: Actions::of(&known),
        data: &[],
    };
    for (message, expected) in [
        (
            packet_out(PortNumber::NONE, &unknown, &data),
            ErrorKind::BadAction(BadAction::BadOutPort),
        ),
        (
            packet_out(PortNumber(9), &known, &data),
            ErrorKind::BadAction(BadAction::BadOutPort),
        ),
        (
            packet_out(PortNumber::NONE, &known, &data[..9]),
            ErrorKind::BadRequest(BadRequest::BadLength),
        ),
        (
            Message::PacketOut(buffered),
            ErrorKind::BadRequest(BadRequest::BufferUnknown),
        ),
    ] {
        assert_eq!(refused(&mut world, &message), expected);
    }
}

/// OF10 section 5.3.3: the entry of a flow-mod treats the frame that it names.
#[test]
fn a_flow_mod_about_a_frame_that_is_not_kept_is_refused() {
    let mut world = world(unpaced());
    let actions = [output(2)];
    let mut flow_mod = flow_mod(1, Match10::ANY, &actions);
    flow_mod.buffer = BufferId(3);

    let kind = refused(&mut world, &Message::FlowMod(flow_mod));

    assert_eq!(kind, ErrorKind::BadRequest(BadRequest::BufferUnknown));
}

/// OF10 sections 5.2.4 and 5.4.1.
#[test]
fn the_controller_gets_as_much_as_the_action_says_and_the_number_of_the_rest() {
    let mut world = world(unpaced());
    let actions = [Action::Output {
        port: PortNumber::CONTROLLER,
        max_length: ControllerLength(20),
    }];
    add(&mut world, 5, from(1), &actions);

    world.frame(1, &frame(0x88b5, &[7; 100]));

    let count = packet_ins(&mut world, |packet_in| {
        assert_eq!((packet_in.data.len(), packet_in.total_length), (20, 114));
        assert_ne!(packet_in.buffer, BufferId::NONE);
    });
    assert_eq!(count, 1);
}

/// OF10 sections 5.3.2, 5.3.3 and 5.3.6: what a learning switch does.
#[test]
fn a_kept_frame_leaves_by_a_flow_mod_or_a_packet_out() {
    let mut world = world(unpaced());
    let frame = frame(0x88b5, &[7; 300]);
    let actions = [output(2)];
    let mut buffers = Vec::new();
    for _ in 0..2 {
        world.frame(1, &frame);
    }
    packet_ins(&mut world, |packet_in| {
        assert_eq!(packet_in.data, &frame[..128], "the miss send length");
        buffers.push(packet_in.buffer);
    });

    let packet_out = PacketOut {
        buffer: buffers[0],
        in_port: PortNumber(1),
        actions: Actions::of(&actions),
        data: &[],
    };
    tell(&mut world, &Message::PacketOut(packet_out));
    let mut flow_mod = flow_mod(1, from(1), &actions);
    flow_mod.buffer = buffers[1];
    tell(&mut world, &Message::FlowMod(flow_mod));

    assert_eq!(world.take_sent(), [(2, frame.clone()), (2, frame)]);
}
