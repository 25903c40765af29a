//! The ports that are no ports, in each place where they may stand: OF13 clause
//! 4.5.

use switch::{Config, Link, Pacing, PortConfig};
use units::Duration;
use wire::ethernet::MacAddress;
use wire::openflow::multipart::{MultipartRequest, RequestBody};
use wire::openflow::{
    Action, Actions, BadAction, BadRequest, BufferId, ErrorKind, FlowMod, Instruction,
    Instructions, Message, PacketOut, PortNumber, TableId,
};

use crate::frames::tagged;
use crate::world::{CONTROLLER, World, output, unpaced};

/// A frame between two stations.
fn between(source: u8, destination: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, destination, 2, 0, 0, 0, 0, source];
    frame.extend_from_slice(&[0x88, 0xb5]);
    frame
}

fn to(address: [u8; 6]) -> Vec<u8> {
    let mut frame = between(1, 0);
    frame[..6].copy_from_slice(&address);
    frame
}

/// A switch that treats every frame like a bridge.
fn bridge() -> World {
    let mut world = World::with_controller(unpaced());
    world.add(0, &[], &[Action::output(PortNumber::NORMAL)]);
    world
}

/// A switch with a port of its own host.
fn with_local() -> Config {
    let mut config = unpaced();
    config.ports.push(PortConfig {
        number: PortNumber::LOCAL,
        name: "local".into(),
        mac: MacAddress([2, 0, 0, 0, 1, 99]),
        rate: None,
        pacing: Pacing::Core,
    });
    config
}

fn reached(world: &mut World, port: u32, frame: &[u8]) -> Vec<u32> {
    world.frame(port, frame);
    let sent = world.take_sent();
    sent.into_iter().map(|(port, _)| port).collect()
}

/// IEEE 802.1Q clauses 8.7 and 8.8.
#[test]
fn normal_floods_what_it_has_not_heard_of_and_learns_from_where_frames_come() {
    let mut world = bridge();

    assert_eq!(reached(&mut world, 1, &between(1, 2)), [2, 3]);
    assert_eq!(reached(&mut world, 2, &between(2, 1)), [1]);
    assert_eq!(reached(&mut world, 1, &between(1, 2)), [2]);
}

#[test]
fn normal_follows_a_station_that_moves_and_forgets_one_whose_link_went_down() {
    let mut world = bridge();
    reached(&mut world, 2, &between(2, 9));

    reached(&mut world, 3, &between(2, 9));
    assert_eq!(reached(&mut world, 1, &between(1, 2)), [3]);
    world.link(3, Link::Down);
    world.link(3, Link::Up);

    assert_eq!(reached(&mut world, 1, &between(1, 2)), [2, 3]);
}

#[test]
fn normal_forgets_a_station_that_is_silent() {
    let mut world = bridge();
    reached(&mut world, 2, &between(2, 1));

    world.run_until(world.now + Duration::from_secs(301));

    assert_eq!(reached(&mut world, 1, &between(1, 2)), [2, 3]);
}

#[test]
fn normal_never_sends_a_frame_back_to_where_it_came_from() {
    let mut world = bridge();
    reached(&mut world, 1, &between(1, 9));
    reached(&mut world, 1, &between(2, 9));

    assert_eq!(reached(&mut world, 1, &between(1, 2)), []);
}

#[test]
fn normal_keeps_vlans_apart() {
    let mut world = bridge();
    reached(&mut world, 2, &tagged(5, 0, &between(2, 1)));

    assert_eq!(reached(&mut world, 1, &tagged(5, 0, &between(1, 2))), [2]);
    assert_eq!(
        reached(&mut world, 1, &tagged(6, 0, &between(1, 2))),
        [2, 3]
    );
    assert_eq!(reached(&mut world, 1, &between(1, 2)), [2, 3]);
}

/// IEEE 802.1Q clause 8.6.3.
#[test]
fn normal_floods_groups_and_keeps_what_is_meant_for_the_next_bridge() {
    let mut world = bridge();

    for (destination, expected) in [
        ([0xff; 6], &[2, 3][..]),
        ([1, 0, 0x5e, 0, 0, 1], &[2, 3]),
        ([1, 0x80, 0xc2, 0, 0, 0], &[]),
        ([1, 0x80, 0xc2, 0, 0, 0x0f], &[]),
        ([1, 0x80, 0xc2, 0, 0, 0x10], &[2, 3]),
    ] {
        assert_eq!(reached(&mut world, 1, &to(destination)), expected);
    }
}

#[test]
fn normal_sees_the_frame_as_the_actions_before_it_left_it() {
    use wire::openflow::MatchField;
    use wire::openflow::oxm::Masked;

    let mut world = World::with_controller(unpaced());
    let other = MatchField::EthDst(Masked::exact(MacAddress([2, 0, 0, 0, 0, 7])));
    let actions = [Action::SetField(other), Action::output(PortNumber::NORMAL)];
    world.add(0, &[], &actions);
    reached(&mut world, 3, &between(7, 9));

    assert_eq!(reached(&mut world, 1, &between(1, 2)), [3]);
}

#[test]
fn the_own_host_is_a_port_like_others_if_there_is_one() {
    let mut world = World::with_controller(with_local());
    let local = PortNumber::LOCAL;
    world.add(1, &[crate::world::from(1)], &[Action::output(local)]);
    world.add(0, &[], &[Action::output(PortNumber::ALL)]);

    assert_eq!(reached(&mut world, 1, &between(1, 2)), [local.0]);
    assert_eq!(reached(&mut world, local.0, &between(9, 1)), [1, 2, 3]);
    assert_eq!(reached(&mut world, 2, &between(1, 2)), [1, 3, local.0]);
}

/// OF13 clause 7.2.5.
#[test]
fn an_entry_may_send_to_some_reserved_ports_only() {
    let mut world = World::with_controller(unpaced());
    let bad = Some(ErrorKind::BadAction(BadAction::BadOutPort));
    for (port, expected) in [
        (PortNumber::IN_PORT, None),
        (PortNumber::NORMAL, None),
        (PortNumber::FLOOD, None),
        (PortNumber::ALL, None),
        (PortNumber::CONTROLLER, None),
        (PortNumber::TABLE, bad),
        (PortNumber::LOCAL, bad),
        (PortNumber::ANY, bad),
        (PortNumber(0), bad),
        (PortNumber(4), bad),
        (PortNumber(PortNumber::MAX.0 + 1), bad),
    ] {
        let actions = [Action::output(port)];
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        let message = Message::FlowMod(FlowMod {
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        });

        let answers = world.ask(&message);

        let error = answers.first().map(|answer| match answer.message() {
            Message::Error(error) => error.kind,
            other => panic!("not what was expected: {other:?}"),
        });
        assert_eq!(error, expected, "{port}");
    }
}

/// OF13 clause 7.3.7: any port that exists, or the controller.
#[test]
fn a_packet_out_comes_from_a_port_that_exists_or_from_the_controller() {
    let mut world = World::with_controller(with_local());
    let actions = [output(1)];
    let data = between(1, 2);
    let packet_out = |in_port| {
        Message::PacketOut(PacketOut {
            buffer: BufferId::NONE,
            in_port,
            actions: Actions::of(&actions),
            data: &data,
        })
    };

    for port in [PortNumber(2), PortNumber::CONTROLLER, PortNumber::LOCAL] {
        world.tell(&packet_out(port));
        assert_eq!(world.take_sent().len(), 1, "{port}");
    }
    for port in [
        PortNumber::IN_PORT,
        PortNumber::TABLE,
        PortNumber::NORMAL,
        PortNumber::FLOOD,
        PortNumber::ALL,
        PortNumber::ANY,
        PortNumber(0),
        PortNumber(4),
    ] {
        let refused = world.refused(&packet_out(port));
        assert_eq!(refused, ErrorKind::BadRequest(BadRequest::BadPort));
    }
}

/// OF13 clause 7.3.5.6.
#[test]
fn statistics_are_kept_of_ports_that_exist() {
    let mut world = World::with_controller(with_local());
    let statistics =
        |port| Message::MultipartRequest(MultipartRequest::new(RequestBody::PortStatistics(port)));

    for port in [PortNumber(1), PortNumber::LOCAL, PortNumber::ANY] {
        let answers = world.ask(&statistics(port));
        assert!(matches!(answers[0].message(), Message::MultipartReply(_)));
    }
    for port in [PortNumber::ALL, PortNumber::CONTROLLER, PortNumber(4)] {
        let refused = world.refused(&statistics(port));
        assert_eq!(refused, ErrorKind::BadRequest(BadRequest::BadPort));
    }
    assert!(world.answers(CONTROLLER).is_empty());
}
