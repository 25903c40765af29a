//! Ports in version 1.0: OF10 sections 5.2.1 and 5.3.3.

use wire::ethernet::MacAddress;
use wire::openflow10::{
    Action, ErrorKind, Message, PortConfig, PortFeatures, PortMod, PortModFailed, PortNumber,
    QueueOpFailed,
};

use super::{ask, output, refused, world};
use crate::frames::frame;
use crate::world::{World, paced, unpaced};

/// The order to set these bits of a port, and no others.
pub fn configure(port: u16, config: PortConfig) -> Message<'static> {
    change(port, config, config)
}

fn change(port: u16, config: PortConfig, mask: PortConfig) -> Message<'static> {
    Message::PortMod(PortMod {
        port: PortNumber(port),
        address: MacAddress([2, 0, 0, 0, 1, port.to_be_bytes()[1]]),
        config,
        mask,
        advertise: PortFeatures::NONE,
    })
}

/// Returns what the switch says of the configuration of a port.
fn config_of(world: &mut World, port: u16) -> PortConfig {
    let answers = ask(world, &Message::FeaturesRequest);
    let Message::FeaturesReply(features) = answers[0].narrow() else {
        panic!("no features: {:?}", answers[0].narrow())
    };
    let mut ports = features.ports.iter().map(Result::unwrap);
    let found = ports.find(|it| it.number.0 == port);
    found.expect("the port is told").config
}

/// OF10 section 5.3.3.
#[test]
fn a_port_mod_changes_the_masked_bits_and_is_told_to_everybody() {
    let mut world = world(unpaced());
    let both = PortConfig::NO_RECEIVE.with(PortConfig::NO_FORWARD);

    let told = ask(&mut world, &configure(2, both));
    ask(
        &mut world,
        &change(2, PortConfig::NONE, PortConfig::NO_RECEIVE),
    );

    assert!(matches!(told[0].narrow(), Message::PortStatus(_)));
    assert_eq!(config_of(&mut world, 2), PortConfig::NO_FORWARD);
}

/// OF10 section 4.5: no spanning tree, no part in it.
#[test]
fn what_is_about_a_spanning_tree_changes_nothing() {
    let mut world = world(unpaced());
    let bits = PortConfig::NO_STP.with(PortConfig::NO_RECEIVE_STP);

    ask(&mut world, &configure(2, bits));

    assert_eq!(config_of(&mut world, 2), PortConfig::NONE);
}

/// OF10 section 5.2.1 (`OFPPC_NO_FLOOD`).
#[test]
fn a_port_that_is_closed_to_floods_is_still_one_of_all() {
    let mut world = world(unpaced());
    let flood = [Action::output(PortNumber::FLOOD)];
    let all = [Action::output(PortNumber::ALL)];
    super::add(&mut world, 1, super::from(1), &flood);
    super::add(&mut world, 1, super::from(2), &all);
    let told = ask(&mut world, &configure(3, PortConfig::NO_FLOOD));
    let ports = |world: &mut World| -> Vec<_> {
        let sent = world.take_sent().into_iter();
        sent.map(|it| it.0).collect()
    };

    world.frame(1, &frame(0x88b5, b""));
    let flooded = ports(&mut world);
    world.frame(2, &frame(0x88b5, b""));
    let to_all = ports(&mut world);
    ask(
        &mut world,
        &change(3, PortConfig::NONE, PortConfig::NO_FLOOD),
    );
    world.frame(1, &frame(0x88b5, b""));

    let Message::PortStatus(status) = told[0].narrow() else {
        panic!("not told: {:?}", told[0].narrow())
    };
    assert_eq!(status.port.config, PortConfig::NO_FLOOD);
    assert_eq!((flooded, to_all), (vec![2], vec![1, 3]));
    assert_eq!(ports(&mut world), [2, 3], "open again");
}

/// OF10 section 5.2.1 (`OFPPC_PORT_DOWN`).
#[test]
fn a_port_that_is_switched_off_carries_nothing() {
    let mut world = world(unpaced());
    super::add(&mut world, 1, super::Match10::ANY, &[output(2)]);

    ask(&mut world, &configure(2, PortConfig::PORT_DOWN));
    world.frame(1, &frame(0x88b5, b""));

    assert_eq!(world.take_sent(), []);
}

/// OF10 section 5.4.4.
#[test]
fn an_impossible_port_mod_is_refused_with_its_error() {
    let mut world = world(unpaced());
    let Message::PortMod(mut wrong) = configure(2, PortConfig::NO_FORWARD) else {
        unreachable!()
    };
    wrong.address = MacAddress([9; 6]);

    for (message, expected) in [
        (configure(9, PortConfig::NO_FORWARD), PortModFailed::BadPort),
        (Message::PortMod(wrong), PortModFailed::BadHardwareAddress),
    ] {
        let kind = refused(&mut world, &message);
        assert_eq!(kind, ErrorKind::PortModFailed(expected));
    }
}

/// OF10 section 5.3.4.
#[test]
fn every_port_has_eight_queues() {
    let mut world = world(paced());

    let answers = ask(&mut world, &Message::QueueGetConfigRequest(PortNumber(2)));

    let Message::QueueGetConfigReply(reply) = answers[0].narrow() else {
        panic!("no queues: {:?}", answers[0].narrow())
    };
    assert_eq!(reply.port, PortNumber(2));
    let queues: Vec<_> = reply.queues.iter().map(|it| it.unwrap().queue.0).collect();
    assert_eq!(queues, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// OF10 section 5.3.4: the port is a physical one.
#[test]
fn queues_of_a_port_that_is_none_are_refused() {
    let mut world = world(unpaced());
    for port in [9, 0xfffc, 0xffff] {
        let question = Message::QueueGetConfigRequest(PortNumber(port));

        let kind = refused(&mut world, &question);

        assert_eq!(kind, ErrorKind::QueueOpFailed(QueueOpFailed::BadPort));
    }
}
