//! Frames go where the entries say, changed as they say.

use std::net::Ipv4Addr;

use switch::{FRAME_BYTES_MAX, Input, Link, Unreceived};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    Action, Actions, Fields, FlowMod, Instruction, Instructions, MatchField, Message, PortConfig,
    PortFeatures, PortMod, PortNumber, TableId,
};

use crate::frames::{checksums_hold, frame, tagged, udp};
use crate::world::{World, from, output, unpaced};

const IPV4: MatchField = MatchField::EthType(EtherType::IPV4);
const UDP: MatchField = MatchField::IpProto(17);

#[test]
fn a_frame_goes_where_its_entry_says_and_nowhere_else() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[from(1)], &[output(2)]);

    world.frame(1, &frame(0x88b5, b"hello"));
    world.frame(3, &frame(0x88b5, b"unknown"));

    assert_eq!(world.take_sent(), [(2, frame(0x88b5, b"hello"))]);
    assert_eq!(world.switch.counters().missed, 1);
}

#[test]
fn what_is_given_up_before_the_first_table_is_counted_by_name() {
    let mut world = World::with_controller(unpaced());
    let frames = Unreceived {
        oversized: 2,
        overrun: 3,
    };
    let port = PortNumber(1);

    world.frame(1, &[0; FRAME_BYTES_MAX + 1]);
    world.frame(1, &[0; 13]);
    world
        .switch
        .handle(world.now, Input::Unreceived { port, frames });

    let counters = world.switch.counters();
    assert_eq!((counters.frames, counters.refused), (7, 7));
    assert_eq!((counters.oversized, counters.overrun), (3, 3));
    let of_port = world.switch.port_counters(port).unwrap();
    assert_eq!((of_port.received_frames, of_port.received_dropped), (7, 7));
}

/// OF13 clause 5.3.
#[test]
fn of_two_entries_that_match_the_one_with_the_higher_priority_wins() {
    let mut world = World::with_controller(unpaced());
    let dst = MatchField::EthDst(Masked::exact(MacAddress([2, 0, 0, 0, 0, 2])));
    world.add(10, &[from(1)], &[output(2)]);
    world.add(20, &[dst], &[output(3)]);
    world.add(5, &[], &[]);

    world.frame(1, &frame(0x88b5, b""));

    assert_eq!(world.take_sent(), [(3, frame(0x88b5, b""))]);
}

/// OF13 clause 5.1.
#[test]
fn tables_are_walked_forward_and_see_the_metadata_of_earlier_ones() {
    let mut world = World::with_controller(unpaced());
    let actions = [output(2)];
    let first = [
        Instruction::WriteMetadata {
            metadata: 0xab,
            mask: 0xff,
        },
        Instruction::GotoTable(TableId(4)),
    ];
    world.tell(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&first),
        ..FlowMod::add(TableId(0))
    }));
    let second = [Instruction::ApplyActions(Actions::of(&actions))];
    world.tell(&Message::FlowMod(FlowMod {
        matching: Fields::of(&[MatchField::Metadata(Masked::exact(0xab))]),
        instructions: Instructions::of(&second),
        ..FlowMod::add(TableId(4))
    }));

    world.frame(1, &frame(0x88b5, b""));

    assert_eq!(world.take_sent(), [(2, frame(0x88b5, b""))]);
}

/// OF13 clause 5.10.
#[test]
fn the_action_set_is_executed_at_the_end_and_can_be_cleared() {
    let mut world = World::with_controller(unpaced());
    for (port, clears) in [(1, false), (3, true)] {
        let write = [output(2)];
        let first = [
            Instruction::WriteActions(Actions::of(&write)),
            Instruction::GotoTable(TableId(if clears { 2 } else { 1 })),
        ];
        world.tell(&Message::FlowMod(FlowMod {
            matching: Fields::of(&[from(port)]),
            instructions: Instructions::of(&first),
            ..FlowMod::add(TableId(0))
        }));
    }
    world.tell(&Message::FlowMod(FlowMod::add(TableId(1))));
    world.tell(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&[Instruction::ClearActions]),
        ..FlowMod::add(TableId(2))
    }));

    world.frame(1, &frame(0x88b5, b"kept"));
    world.frame(3, &frame(0x88b5, b"cleared"));

    assert_eq!(world.take_sent(), [(2, frame(0x88b5, b"kept"))]);
}

/// OF13 clause 4.5.
#[test]
fn reserved_ports_mean_what_the_specification_says() {
    let mut world = World::with_controller(unpaced());
    let frame = frame(0x88b5, b"");
    for (port, expected) in [
        (PortNumber(1), vec![]),
        (PortNumber::IN_PORT, vec![1]),
        (PortNumber::ALL, vec![2, 3]),
        (PortNumber::FLOOD, vec![2, 3]),
    ] {
        world.add(1, &[from(1)], &[Action::output(port)]);

        world.frame(1, &frame);

        let ports: Vec<_> = world
            .take_sent()
            .into_iter()
            .map(|(port, _)| port)
            .collect();
        assert_eq!(ports, expected, "{port}");
    }
}

#[test]
fn a_change_between_two_outputs_does_not_reach_the_first() {
    let mut world = World::with_controller(unpaced());
    let stamp = MatchField::EthSrc(Masked::exact(MacAddress([6; 6])));
    world.add(1, &[], &[output(2), Action::SetField(stamp), output(3)]);
    let original = frame(0x88b5, b"payload");

    world.frame(1, &original);

    let mut changed = original.clone();
    changed[6..12].copy_from_slice(&[6; 6]);
    assert_eq!(world.take_sent(), [(2, original), (3, changed)]);
}

/// OF13 clause 5.12.1.
#[test]
fn tags_are_pushed_set_and_popped() {
    let mut world = World::with_controller(unpaced());
    let set = [
        MatchField::VlanVid(Masked::exact(VlanMatch::tagged(5))),
        MatchField::VlanPcp(6),
    ];
    let push = [
        Action::PushVlan(EtherType::VLAN),
        Action::SetField(set[0]),
        Action::SetField(set[1]),
        output(2),
    ];
    world.add(1, &[from(1)], &push);
    let any_tag = MatchField::VlanVid(Masked::under(VlanMatch::PRESENT, VlanMatch::PRESENT));
    world.add(1, &[from(2), any_tag], &[Action::PopVlan, output(1)]);
    let untagged = frame(0x88ba, b"samples");

    world.frame(1, &untagged);
    world.frame(2, &tagged(5, 6, &untagged));

    assert_eq!(
        world.take_sent(),
        [(2, tagged(5, 6, &untagged)), (1, untagged)]
    );
}

/// OF13 clause 5.12.1: a new tag inherits the values of the one below.
#[test]
fn a_second_tag_takes_over_the_values_of_the_first() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[], &[Action::PushVlan(EtherType::VLAN), output(2)]);
    let once = tagged(5, 6, &frame(0x88ba, b"samples"));

    world.frame(1, &once);

    assert_eq!(world.take_sent(), [(2, tagged(5, 6, &once))]);
}

#[test]
fn rewritten_packets_keep_their_checksums_right() {
    let mut world = World::with_controller(unpaced());
    let new = [
        MatchField::Ipv4Src(Masked::exact(Ipv4Addr::new(192, 168, 3, 4))),
        MatchField::Ipv4Dst(Masked::exact(Ipv4Addr::new(192, 168, 3, 5))),
        MatchField::UdpSrc(4000),
        MatchField::UdpDst(5000),
        MatchField::IpDscp(46),
    ];
    let mut actions: Vec<_> = new.into_iter().map(Action::SetField).collect();
    actions.extend([Action::DecrementNetworkTtl, output(2)]);
    world.add(1, &[IPV4, UDP], &actions);

    world.frame(1, &udp(64, b"odd"));

    let (_, sent) = &world.take_sent()[0];
    assert!(checksums_hold(sent), "{sent:02x?}");
    assert_eq!(sent[26..34], [192, 168, 3, 4, 192, 168, 3, 5]);
    assert_eq!(sent[34..38], [0x0f, 0xa0, 0x13, 0x88]);
    assert_eq!((sent[15], sent[22]), (46 << 2, 63));
}

/// OF13 clause 5.12.
#[test]
fn a_packet_whose_time_to_live_ends_goes_no_further() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[IPV4], &[Action::DecrementNetworkTtl, output(2)]);

    world.frame(1, &udp(1, b""));

    assert_eq!(world.take_sent(), []);
    assert_eq!(world.switch.counters().abandoned, 1);
}

#[test]
fn frames_that_cannot_be_taken_are_counted() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[], &[output(2)]);

    world.frame(1, &[0; 13]);
    world.frame(1, &[0; FRAME_BYTES_MAX + 1]);
    world.frame(9, &frame(0x88b5, b"no such port"));
    world.link(1, Link::Down);
    world.frame(1, &frame(0x88b5, b"link down"));
    world.frame(3, &[0; FRAME_BYTES_MAX]);

    let counters = world.switch.counters();
    assert_eq!(
        (counters.frames, counters.refused, counters.sent),
        (5, 4, 1)
    );
    let port = world.switch.port_counters(PortNumber(1)).unwrap();
    assert_eq!((port.received_frames, port.received_dropped), (2, 2));
}

/// OF13 clause 7.2.1.
#[test]
fn a_port_does_only_what_its_configuration_allows() {
    let mut world = World::with_controller(unpaced());
    world.add(1, &[], &[Action::output(PortNumber::FLOOD)]);
    let everything = PortConfig::PORT_DOWN
        .with(PortConfig::NO_RECEIVE)
        .with(PortConfig::NO_FORWARD);
    let mut send = |receives: u32, config| {
        let message = Message::PortMod(PortMod {
            port: PortNumber(2),
            address: MacAddress([2, 0, 0, 0, 1, 2]),
            config,
            mask: everything,
            advertise: PortFeatures::NONE,
        });
        let answers = world.ask(&message);
        assert!(matches!(answers[0].message(), Message::PortStatus(_)));
        world.frame(receives, &frame(0x88b5, b""));
        let ports = world.take_sent().into_iter().map(|(port, _)| port);
        ports.collect::<Vec<_>>()
    };

    assert_eq!(send(1, PortConfig::NONE), [2, 3]);
    assert_eq!(send(1, PortConfig::NO_FORWARD), [3]);
    assert_eq!(send(1, PortConfig::PORT_DOWN), [3]);
    assert_eq!(send(2, PortConfig::NO_FORWARD), [1, 3]);
    assert_eq!(send(2, PortConfig::NO_RECEIVE), [0; 0]);
    assert_eq!(send(2, PortConfig::PORT_DOWN), [0; 0]);
    assert_eq!(send(2, PortConfig::NONE), [1, 3]);
}
