//! Frames that the switch keeps while a controller decides, and what becomes of
//! fragments: OF13 clauses 6.1.2, 7.3.2 and 7.4.1.

use switch::{Config, PacketBuffersConfig};
use units::Duration;
use wire::ethernet::EtherType;
use wire::openflow::{
    Action, Actions, AsyncConfig, BadRequest, BufferId, ControllerLength, ErrorKind, FlowMod,
    FlowModCommand, FlowModFailed, FlowModFlags, FragmentHandling, Instruction, Instructions,
    MatchField, Message, PacketIn, PacketOut, PortNumber, SwitchConfig, TableId,
};

use crate::frames::{frame, udp};
use crate::world::{CONTROLLER, World, from, output, unpaced};

const HOLD: Duration = Duration::from_secs(1);

/// A switch that sends 20 bytes of every frame to its controller.
fn asking(frames: usize) -> World {
    let hold = HOLD;
    let mut world = World::with_controller(Config {
        packet_buffers: PacketBuffersConfig { frames, hold },
        ..unpaced()
    });
    world.add(0, &[], &[to_controller(20)]);
    world
}

fn to_controller(length: u16) -> Action {
    Action::Output {
        port: PortNumber::CONTROLLER,
        max_length: ControllerLength(length),
    }
}

fn some_frame() -> Vec<u8> {
    frame(0x88b5, &[7; 86])
}

/// What the controller hears: number of the kept frame, whole length, bytes.
fn heard(world: &mut World) -> Vec<(BufferId, u16, usize)> {
    let answers = world.answers(CONTROLLER);
    let packet_ins = answers.iter().map(|answer| match answer.message() {
        Message::PacketIn(PacketIn {
            buffer,
            total_length,
            data,
            ..
        }) => (buffer, total_length, data.len()),
        other => panic!("not what was expected: {other:?}"),
    });
    packet_ins.collect()
}

fn kept(world: &mut World) -> BufferId {
    world.frame(1, &some_frame());
    let heard = heard(world);
    assert_ne!(heard[0].0, BufferId::NONE);
    heard[0].0
}

fn packet_out(buffer: BufferId, actions: &[Action]) -> Message<'_> {
    Message::PacketOut(PacketOut {
        buffer,
        in_port: PortNumber(1),
        actions: Actions::of(actions),
        data: &[],
    })
}

fn refused(code: BadRequest) -> ErrorKind {
    ErrorKind::BadRequest(code)
}

/// OF13 clauses 7.2.5 and 7.4.1.
#[test]
fn a_controller_gets_as_much_as_it_wants_and_the_number_of_the_rest() {
    for (length, expected) in [(0, 0), (20, 20), (100, 100), (200, 100)] {
        let mut world = asking(2);
        world.add(1, &[], &[to_controller(length)]);

        world.frame(1, &some_frame());

        let heard = heard(&mut world);
        assert_eq!((heard[0].1, heard[0].2), (100, expected));
        assert_ne!(heard[0].0, BufferId::NONE);
    }
}

/// OF13 clauses 7.2.5 (`OFPCML_NO_BUFFER`) and 7.4.1.
#[test]
fn a_frame_is_sent_whole_if_that_is_wanted_or_nothing_more_can_be_kept() {
    let mut world = asking(1);

    world.add(1, &[from(2)], &[Action::output(PortNumber::CONTROLLER)]);
    world.frame(2, &some_frame());
    assert_eq!(heard(&mut world), [(BufferId::NONE, 100, 100)]);
    kept(&mut world);
    world.frame(1, &some_frame());

    assert_eq!(heard(&mut world), [(BufferId::NONE, 100, 100)]);
}

/// OF13 clause 7.4.1: an answer that never comes does no harm.
#[test]
fn an_old_frame_is_given_up_for_a_young_one() {
    let mut world = asking(1);
    let free = world.switch.free_buffers();
    let old = kept(&mut world);

    world.run_until(world.now + HOLD);
    let young = kept(&mut world);

    assert_ne!(old, young);
    assert_eq!(
        world.refused(&packet_out(old, &[output(2)])),
        refused(BadRequest::BufferUnknown)
    );
    world.tell(&packet_out(young, &[output(2)]));
    assert_eq!(world.take_sent(), [(2, some_frame())]);
    assert_eq!(world.switch.free_buffers(), free);
}

/// OF13 clauses 7.3.7 and 7.4.4.
#[test]
fn a_kept_frame_is_sent_once() {
    let mut world = asking(2);
    let buffer = kept(&mut world);
    let actions = [output(3)];

    world.tell(&packet_out(buffer, &actions));

    assert_eq!(world.take_sent(), [(3, some_frame())]);
    let again = packet_out(buffer, &actions);
    assert_eq!(world.refused(&again), refused(BadRequest::BufferEmpty));
    let never = packet_out(BufferId(1), &actions);
    assert_eq!(world.refused(&never), refused(BadRequest::BufferUnknown));
}

#[test]
fn a_packet_out_without_actions_drops_the_kept_frame() {
    let mut world = asking(2);
    let buffer = kept(&mut world);

    world.tell(&packet_out(buffer, &[]));

    assert_eq!(world.take_sent(), []);
    let again = packet_out(buffer, &[]);
    assert_eq!(world.refused(&again), refused(BadRequest::BufferEmpty));
}

#[test]
fn a_packet_out_that_is_refused_leaves_the_frame_where_it_is() {
    let mut world = asking(2);
    let buffer = kept(&mut world);

    world.refused(&packet_out(buffer, &[output(9)]));

    world.tell(&packet_out(buffer, &[output(2)]));
    assert_eq!(world.take_sent().len(), 1);
}

fn flow_mod(buffer: BufferId, instructions: Instructions<'_>) -> FlowMod<'_> {
    FlowMod {
        priority: 5,
        buffer,
        instructions,
        ..FlowMod::add(TableId(0))
    }
}

/// OF13 clause 7.3.4.1: the same as the flow-mod and a packet-out to the first
/// table behind it, whatever the table of the flow-mod.
#[test]
fn a_flow_mod_sends_the_kept_frame_through_the_tables() {
    let actions = [output(2)];
    let apply = [Instruction::ApplyActions(Actions::of(&actions))];
    let instructions = Instructions::of(&apply);
    for (table, expected) in [(0, 1), (1, 0)] {
        let mut world = asking(2);
        let buffer = kept(&mut world);
        let matching = [from(1)];

        let answers = world.ask(&Message::FlowMod(FlowMod {
            table: TableId(table),
            matching: wire::openflow::Fields::of(&matching),
            ..flow_mod(buffer, instructions)
        }));

        assert_eq!(world.take_sent().len(), expected);
        let packet_ins = answers.len();
        assert_eq!(packet_ins, 1 - expected, "by the table-miss entry again");
    }
}

/// OF13 clause 7.3.4.1.
#[test]
fn a_flow_mod_for_a_frame_that_is_not_kept_changes_nothing() {
    let mut world = asking(2);
    let buffer = kept(&mut world);
    let actions = [output(2)];
    let apply = [Instruction::ApplyActions(Actions::of(&actions))];
    let message = Message::FlowMod(flow_mod(buffer, Instructions::of(&apply)));
    world.tell(&packet_out(buffer, &[]));

    assert_eq!(world.refused(&message), refused(BadRequest::BufferEmpty));

    world.frame(1, &some_frame());
    assert_eq!(world.take_sent(), []);
}

/// OF13 clause 7.3.4.1.
#[test]
fn a_flow_mod_that_is_refused_leaves_the_frame_where_it_is() {
    let mut world = asking(2);
    let buffer = kept(&mut world);
    let refused = world.refused(&Message::FlowMod(FlowMod {
        priority: 0,
        flags: FlowModFlags::CHECK_OVERLAP,
        ..flow_mod(buffer, Instructions::EMPTY)
    }));

    assert_eq!(refused, ErrorKind::FlowModFailed(FlowModFailed::Overlap));
    world.tell(&packet_out(buffer, &[output(2)]));
    assert_eq!(world.take_sent().len(), 1);
}

/// OF13 clause 7.3.4.1.
#[test]
fn a_flow_mod_that_deletes_looks_at_no_frame() {
    let mut world = asking(2);
    for command in [FlowModCommand::Delete, FlowModCommand::DeleteStrict] {
        world.tell(&Message::FlowMod(FlowMod {
            command,
            ..flow_mod(BufferId(77), Instructions::EMPTY)
        }));
    }
}

/// OF13 clause 7.3.1.
#[test]
fn features_tell_how_many_frames_are_kept() {
    let mut world = asking(33);

    let answers = world.ask(&Message::FeaturesRequest);

    let Message::FeaturesReply(features) = answers[0].message() else {
        panic!("no features: {:?}", answers[0].message())
    };
    assert_eq!(features.buffers, 33);
}

/// OF13 clause 7.3.2: what no action says, the configuration does.
#[test]
fn a_frame_whose_time_to_live_ended_is_sent_as_far_as_the_configuration_says() {
    let mut world = asking(4);
    let ipv4 = MatchField::EthType(EtherType::IPV4);
    world.add(1, &[ipv4], &[Action::DecrementNetworkTtl, output(2)]);
    world.tell(&Message::SetAsync(AsyncConfig {
        packet_in: [0b111, 0],
        ..AsyncConfig::DEFAULT
    }));

    let frame = udp(1, &[0; 200]);
    for (length, expected) in [
        (ControllerLength(64), 64),
        (ControllerLength::NO_BUFFER, 242),
    ] {
        world.tell(&Message::SetConfig(SwitchConfig {
            fragments: FragmentHandling::Normal,
            miss_send_length: length,
        }));
        world.frame(1, &frame);

        let heard = heard(&mut world);
        assert_eq!((heard[0].1, heard[0].2), (242, expected));
    }
}

/// A piece of a packet: more follow, or it is a later one.
fn fragment(bits: u16) -> Vec<u8> {
    let mut frame = udp(64, b"payload");
    frame[20..22].copy_from_slice(&bits.to_be_bytes());
    frame
}

/// OF13 clause 7.3.2.
#[test]
fn fragments_are_dropped_if_the_controller_wants_that() {
    let mut world = World::with_controller(unpaced());
    world.add(0, &[], &[output(2)]);
    let ipv6 = {
        let mut payload = vec![0x60, 0, 0, 0, 0, 8, 44, 64];
        payload.extend([1; 32]);
        payload.extend([59, 0, 0, 1, 0, 0, 0, 1]);
        frame(0x86dd, &payload)
    };
    let pieces = [fragment(0x2000), fragment(0x0001), ipv6];
    let wholes = [fragment(0x4000), frame(0x88b5, b"")];

    for piece in &pieces {
        world.frame(1, piece);
    }
    assert_eq!(world.take_sent().len(), pieces.len());
    world.tell(&Message::SetConfig(SwitchConfig {
        fragments: FragmentHandling::Drop,
        miss_send_length: ControllerLength(128),
    }));
    for frame in pieces.iter().chain(&wholes) {
        world.frame(1, frame);
    }

    assert_eq!(world.take_sent().len(), wholes.len());
    let counters = world.switch.port_counters(PortNumber(1)).unwrap();
    assert_eq!(counters.received_dropped, 3);
    assert_eq!(world.switch.counters().refused, 3);
}
