//! Agreeing on version 1.0, plain questions, errors.

use proptest::prelude::*;
use switch::{CloseReason, Peer};
use wire::openflow::{ControllerLength, DatapathId, Echo, Hello, PortStatusReason, TransactionId};
use wire::openflow10::{
    ActionKinds, BadRequest, Capabilities, ErrorKind, Message, PortFeatures, PortNumber,
    SwitchConfig, Vendor,
};

use super::{HELLO, ask, refused, tell, world};
use crate::world::{CONTROLLER, World, paced, unpaced};

/// OF10 section 4.2, OF13 clause 6.3.1.
#[test]
fn the_switch_speaks_the_highest_version_that_both_do() {
    for (hello, version) in [
        (HELLO, 1),
        (Hello::OURS, 4),
        (
            Hello {
                version: 4,
                versions: Some(1 << 1 | 1 << 4),
            },
            4,
        ),
        (
            Hello {
                version: 6,
                versions: Some(1 << 1 | 1 << 6),
            },
            1,
        ),
    ] {
        let mut world = World::new(unpaced());
        world.greet_with(CONTROLLER, Peer::Controller, hello);

        let message = [version, 2, 0, 8, 0, 0, 0, 9];
        world.receive(CONTROLLER, &message);

        let answers = world.answers(CONTROLLER);
        let header = answers[0].header();
        assert_eq!((header.version, header.kind), (version, 3), "{hello:?}");
        assert_eq!(header.transaction, TransactionId(9));
    }
}

/// OF10 section 5.5.
#[test]
fn echoes_and_barriers_are_answered_in_order() {
    let mut world = world(unpaced());
    let echo = Echo { data: b"alive?" };

    let echoed = ask(&mut world, &Message::EchoRequest(echo));
    let barrier = ask(&mut world, &Message::BarrierRequest);

    assert_eq!(echoed[0].narrow(), Message::EchoReply(echo));
    assert_eq!(barrier[0].narrow(), Message::BarrierReply);
    assert_eq!(barrier[0].header().transaction, TransactionId(7));
}

/// OF10 section 5.3.1.
#[test]
fn the_features_tell_of_one_table_every_action_and_the_ports() {
    let mut world = world(paced());

    let answers = ask(&mut world, &Message::FeaturesRequest);

    let Message::FeaturesReply(features) = answers[0].narrow() else {
        panic!("no features: {:?}", answers[0].narrow())
    };
    assert_eq!((features.datapath, features.tables), (DatapathId(1), 1));
    assert_eq!(features.actions, ActionKinds::ALL);
    let wanted = Capabilities::QUEUE_STATISTICS.with(Capabilities::ARP_MATCH_IP);
    assert!(features.capabilities.contains(wanted));
    let ports: Vec<_> = features.ports.iter().map(Result::unwrap).collect();
    let names: Vec<_> = ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["port1", "port2", "port3"]);
    assert_eq!(ports[2].number, PortNumber(3));
    assert_eq!(ports[2].current, PortFeatures::MBPS_100_FULL);
}

/// OF10 section 5.3.2: without the capability nobody can ask for reassembly.
#[test]
fn the_configuration_is_kept_and_fragments_are_never_put_together() {
    let mut world = world(unpaced());
    let config = |flags| SwitchConfig {
        flags,
        miss_send_length: ControllerLength(200),
    };

    tell(&mut world, &Message::SetConfig(config(2)));
    let answers = ask(&mut world, &Message::GetConfigRequest);

    assert_eq!(answers[0].narrow(), Message::GetConfigReply(config(0)));
}

/// OF10 sections 5.2.4 and 5.3.2: any length is one, as tools ask for that want
/// to see everything.
#[test]
fn a_length_beyond_every_frame_is_as_good_as_the_longest() {
    let mut world = world(unpaced());
    let config = SwitchConfig {
        flags: 0,
        miss_send_length: ControllerLength(65_534),
    };
    let everything = wire::openflow10::Action::Output {
        port: PortNumber::CONTROLLER,
        max_length: ControllerLength(65_534),
    };

    tell(&mut world, &Message::SetConfig(config));
    super::add(&mut world, 1, super::from(1), &[everything]);
    let frame = crate::frames::frame(0x88b5, &[7; 1_000]);
    world.frame(1, &frame);
    world.frame(2, &frame);

    let count = super::packet_ins(&mut world, |it| assert_eq!(it.data, frame));
    assert_eq!(count, 2);
}

/// OF10 section 5.4.4.
#[test]
fn what_is_not_understood_is_answered_with_the_right_error() {
    let mut world = world(unpaced());
    let statistics = [1, 16, 0, 12, 0, 0, 0, 1, 0, 99, 0, 0];
    let vendor_statistics = [1, 16, 0, 16, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0, 0x23, 0x20];
    for (message, expected) in [
        (&[4, 5, 0, 8, 0, 0, 0, 1][..], BadRequest::BadVersion),
        (&[1, 99, 0, 8, 0, 0, 0, 1], BadRequest::BadType),
        (&[1, 19, 0, 8, 0, 0, 0, 1], BadRequest::BadType),
        (&[1, 14, 0, 8, 0, 0, 0, 1], BadRequest::BadLength),
        (&statistics, BadRequest::BadStatistics),
        (&vendor_statistics, BadRequest::BadVendor),
    ] {
        world.receive(CONTROLLER, message);

        let answers = world.answers(CONTROLLER);
        let Message::Error(error) = answers[0].narrow() else {
            panic!("no error: {:?}", answers[0].narrow())
        };
        assert_eq!(error.kind, ErrorKind::BadRequest(expected), "{message:?}");
        assert_eq!(error.data, message);
        assert_eq!(answers[0].header().version, 1);
    }
    assert_eq!(world.switch.counters().bad_messages, 6);
    assert_eq!(world.closed, []);
}

/// OF10 section 5.5.4.
#[test]
fn what_a_vendor_defines_is_refused() {
    let mut world = world(unpaced());
    let vendor = Vendor {
        vendor: 0x2320,
        data: &[0, 0, 0, 12, 0, 0, 0, 2],
    };

    let kind = refused(&mut world, &Message::Vendor(vendor));

    assert_eq!(kind, ErrorKind::BadRequest(BadRequest::BadVendor));
}

#[test]
fn a_stream_that_cannot_be_cut_is_closed() {
    let mut world = world(unpaced());

    world.receive(CONTROLLER, &[1, 2, 0, 7, 0, 0, 0, 1]);

    assert_eq!(world.closed, [(CONTROLLER, CloseReason::Framing)]);
}

/// OF10 section 5.4.3.
#[test]
fn a_port_that_changes_is_told() {
    let mut world = world(unpaced());

    world.link(2, switch::Link::Down);

    let answers = world.answers(CONTROLLER);
    let Message::PortStatus(status) = answers[0].narrow() else {
        panic!("no port status: {:?}", answers[0].narrow())
    };
    assert_eq!(status.reason, PortStatusReason::Modify);
    assert_eq!(status.port.number, PortNumber(2));
    let down = wire::openflow10::PortState::LINK_DOWN;
    assert!(status.port.state.contains(down));
}

proptest! {
    #[test]
    fn no_message_makes_the_switch_panic_or_end_the_session(
        messages in prop::collection::vec(
            (0u8..23, prop::collection::vec(any::<u8>(), 0..120)),
            1..20,
        ),
    ) {
        let mut world = world(unpaced());
        for (kind, body) in messages {
            let length = u16::try_from(8 + body.len()).unwrap();
            let mut message = vec![1, kind, 0, 0, 0, 0, 0, 1];
            message[2..4].copy_from_slice(&length.to_be_bytes());
            message.extend(body);
            world.receive(CONTROLLER, &message);
            world.frame(1, &crate::frames::udp(9, b"datagram"));
        }

        let answers = ask(&mut world, &Message::BarrierRequest);
        let last = answers.last().map(crate::world::Answer::narrow);
        prop_assert_eq!(last, Some(Message::BarrierReply));
        prop_assert_eq!(&world.closed, &[]);
    }
}
