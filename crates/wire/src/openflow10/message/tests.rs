use super::*;
use crate::ethernet::{EtherType, MacAddress};
use crate::openflow::{BufferId, ControllerLength, Cookie, Element, FlowModCommand, QueueId};
use crate::openflow10::statistics::RequestBody;
use crate::openflow10::{
    Action, Actions, AddressPrefix, FlowModFlags, Match10, PortConfig, PortFeatures, PortNumber,
};
use crate::vectors::frames;

mod properties;

const VECTORS: &str = include_str!("../../../tests/vectors/openflow10.hex");

/// Checks that `message` and the vector are the same, in both directions.
fn assert_is_vector(index: usize, transaction: u32, message: &Message<'_>) {
    let vector = &frames(VECTORS)[index];
    let mut out = Vec::new();

    message.emit(TransactionId(transaction), &mut out);
    let (header, parsed) = Message::parse(vector).unwrap();

    assert_eq!(&out, vector);
    assert_eq!(&parsed, message);
    assert_eq!(header.transaction, TransactionId(transaction));
}

fn mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

/// OF10 sections 5.2.3, 5.2.4 and 5.3.3.
#[test]
fn a_flow_mod_with_every_action_is_what_others_send() {
    let to_controller = Action::Output {
        port: PortNumber::CONTROLLER,
        max_length: ControllerLength(128),
    };
    let output = Action::Output {
        port: PortNumber(3),
        max_length: ControllerLength(0),
    };
    let enqueue = Action::Enqueue {
        port: PortNumber(2),
        queue: QueueId(7),
    };
    let actions = [
        Action::SetVlanVid(8),
        Action::SetVlanPcp(5),
        Action::StripVlan,
        Action::SetDlSrc(mac(10)),
        Action::SetDlDst(mac(11)),
        Action::SetNwSrc([10, 9, 9, 1].into()),
        Action::SetNwDst([10, 9, 9, 2].into()),
        Action::SetNwTos(184),
        Action::SetTpSrc(1024),
        Action::SetTpDst(8080),
        enqueue,
        to_controller,
        output,
    ];
    let flow_mod = FlowMod {
        matching: Match10 {
            in_port: Some(PortNumber(1)),
            dl_src: Some(mac(1)),
            dl_vlan: Some(7),
            dl_vlan_pcp: Some(4),
            dl_type: Some(EtherType::IPV4),
            nw_tos: Some(184),
            nw_proto: Some(6),
            nw_src: AddressPrefix::new([10, 0, 0, 0].into(), 8),
            nw_dst: AddressPrefix::host([10, 1, 2, 3].into()),
            tp_dst: Some(80),
            ..Match10::ANY
        },
        cookie: Cookie(7),
        idle_timeout_s: 10,
        priority: 0x8001,
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        actions: Actions::of(&actions),
        ..FlowMod::ADD
    };

    assert_is_vector(0, 6, &Message::FlowMod(flow_mod));
}

/// OF10 section 5.3.3.
#[test]
fn a_strict_deletion_is_what_others_send() {
    let flow_mod = FlowMod {
        matching: Match10 {
            dl_type: Some(EtherType::ARP),
            nw_proto: Some(1),
            nw_src: AddressPrefix::host([10, 0, 0, 1].into()),
            ..Match10::ANY
        },
        command: FlowModCommand::DeleteStrict,
        priority: 5,
        out_port: PortNumber(3),
        ..FlowMod::ADD
    };

    assert_is_vector(1, 6, &Message::FlowMod(flow_mod));
}

/// OF10 sections 5.3.3 to 5.3.6 and 5.5.4.
#[test]
fn other_messages_are_what_others_send() {
    let flood = [Action::Output {
        port: PortNumber::FLOOD,
        max_length: ControllerLength(0),
    }];
    let packet_out = PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber(1),
        actions: Actions::of(&flood),
        data: &[0xde, 0xad, 0xbe, 0xef].repeat(4)[..14],
    };
    let port_mod = PortMod {
        port: PortNumber(1),
        address: MacAddress([2, 0, 0, 0, 1, 1]),
        config: PortConfig::NO_FLOOD,
        mask: PortConfig::NO_FLOOD,
        advertise: PortFeatures::NONE,
    };
    let ask = |body| Message::StatisticsRequest(StatisticsRequest { body });
    let (port, queue) = (PortNumber(1), QueueId(2));
    let vendor = Vendor {
        vendor: 0x2320,
        data: &[0, 0, 0, 12, 0, 0, 0, 2],
    };

    assert_is_vector(2, 6, &Message::PacketOut(packet_out));
    assert_is_vector(3, 4, &Message::PortMod(port_mod));
    assert_is_vector(4, 2, &ask(RequestBody::Port(port)));
    assert_is_vector(5, 2, &ask(RequestBody::Queue { port, queue }));
    assert_is_vector(6, 2, &Message::QueueGetConfigRequest(port));
    assert_is_vector(7, 6, &Message::Vendor(vendor));
}

/// OF10 section 5.4.4.
#[test]
fn a_bad_action_is_told_from_a_bad_length() {
    for (action, expected) in [
        (&[0, 12, 0, 8, 0, 0, 0, 0][..], "action of unknown type 12"),
        (
            &[0, 4, 0, 8, 0, 0, 0, 0],
            "an action's length does not fit it",
        ),
        (&[0, 0, 0, 4], "an action's length does not fit it"),
        (
            &[0xff, 0xff, 0, 8, 0, 0, 0x23, 0x20],
            "action of unknown experimenter 0x2320",
        ),
    ] {
        let error = Action::parse(action).unwrap_err();

        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_message_of_another_version_or_type_or_length_is_refused() {
    for (message, expected) in [
        (
            &[4, 5, 0, 8, 0, 0, 0, 0][..],
            DecodeError::Version { version: 4 },
        ),
        (&[1, 22, 0, 8, 0, 0, 0, 0], DecodeError::Type { kind: 22 }),
        (&[1, 9, 0, 8, 0, 0, 0, 0], DecodeError::Length),
        (&[1, 5, 0, 9, 0, 0, 0, 0], DecodeError::Length),
    ] {
        assert_eq!(Message::parse(message).map(|(_, it)| it), Err(expected));
    }
}
