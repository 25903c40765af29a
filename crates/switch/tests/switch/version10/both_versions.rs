//! Controllers of version 1.0 and 1.3 at one switch.

use switch::ConnectionId;
use wire::ethernet::EtherType;
use wire::openflow::multipart::{
    FlowStatisticsRequest, MultipartReply, MultipartRequest, ReplyBody, RequestBody,
};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    self, Fields, FlowModFlags, Instruction, Instructions, MatchField, Message, TableId,
    TransactionId,
};
use wire::openflow10::{self, Action, FlowMod, Match10};

use super::statistics::entries;
use super::{add, flow_mod, from, greet, output, packet_ins, world};
use crate::frames::frame;
use crate::world::{World, unpaced};

const NEW: ConnectionId = ConnectionId(2);

/// A world with a controller of each version.
fn both() -> World {
    let mut world = world(unpaced());
    world.greet(NEW);
    world
}

/// Sends a message in version 1.3.
fn tell(world: &mut World, message: &Message<'_>) {
    let mut bytes = Vec::new();
    message.emit(TransactionId(1), &mut bytes);
    world.receive(NEW, &bytes);
    assert_eq!(world.answers(NEW).len(), 0, "{message:?}");
}

/// OF13 clause 5.4, OF10 section 3.4.
#[test]
fn only_the_older_hears_of_a_frame_that_no_entry_matches() {
    let mut world = both();

    world.frame(1, &frame(0x88b5, b""));

    assert_eq!(packet_ins(&mut world, |_| {}), 1);
    assert_eq!(world.answers(NEW).len(), 0);
}

#[test]
fn both_hear_of_what_an_entry_sends_each_in_its_version() {
    let mut world = both();
    add(&mut world, 1, Match10::ANY, &[super::to_controller()]);
    let frame = frame(0x88b5, b"to all");

    world.frame(3, &frame);

    let count = packet_ins(&mut world, |packet_in| assert_eq!(packet_in.data, frame));
    assert_eq!(count, 1);
    let answers = world.answers(NEW);
    let Message::PacketIn(packet_in) = answers[0].message() else {
        panic!("no packet-in: {:?}", answers[0].message())
    };
    assert_eq!(packet_in.data, frame);
}

#[test]
fn an_entry_of_the_newer_is_listed_as_well_as_possible() {
    let mut world = both();
    let fields = [
        MatchField::InPort(openflow::PortNumber(1)),
        MatchField::EthType(EtherType::IPV6),
        MatchField::Metadata(Masked::exact(0)),
    ];
    let actions = [
        openflow::Action::PushVlan(EtherType::VLAN),
        openflow::Action::SetField(MatchField::VlanVid(VlanMatch::tagged(5).into())),
        openflow::Action::DecrementNetworkTtl,
        openflow::Action::output(openflow::PortNumber(2)),
    ];
    let instructions = [
        Instruction::ApplyActions(openflow::Actions::of(&actions)),
        Instruction::GotoTable(TableId(1)),
    ];
    tell(
        &mut world,
        &Message::FlowMod(openflow::FlowMod {
            priority: 9,
            matching: Fields::of(&fields),
            instructions: Instructions::of(&instructions),
            ..openflow::FlowMod::add(TableId(0))
        }),
    );
    tell(
        &mut world,
        &Message::FlowMod(openflow::FlowMod::add(TableId(1))),
    );

    let listed = entries(&mut world, |entry| {
        let actions: Vec<_> = entry.actions.iter().map(Result::unwrap).collect();
        (entry.priority, entry.matching, actions)
    });

    let matching = Match10 {
        dl_type: Some(EtherType::IPV6),
        ..from(1)
    };
    let actions = vec![Action::SetVlanVid(5), output(2)];
    assert_eq!(listed, [(9, matching, actions)], "of table 0 alone");
}

#[test]
fn an_entry_of_the_older_does_the_same_in_the_newer_version() {
    let mut world = both();
    let untagged = Match10 {
        dl_vlan: Some(Match10::NO_VLAN),
        ..from(1)
    };
    add(&mut world, 9, untagged, &[Action::SetVlanVid(5), output(2)]);

    let mut bytes = Vec::new();
    let body = RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL));
    MultipartRequest::new(body).emit(TransactionId(1), &mut bytes);
    world.receive(NEW, &bytes);

    let answers = world.answers(NEW);
    let Message::MultipartReply(MultipartReply {
        body: ReplyBody::Flow(flows),
        ..
    }) = answers[0].message()
    else {
        panic!("no entries: {:?}", answers[0].message())
    };
    let flow = flows.iter().next().unwrap().unwrap();
    let fields = [
        MatchField::InPort(openflow::PortNumber(1)),
        MatchField::VlanVid(VlanMatch::UNTAGGED.into()),
    ];
    let actions = [
        openflow::Action::PushVlan(EtherType::VLAN),
        openflow::Action::SetField(MatchField::VlanVid(VlanMatch::tagged(5).into())),
        openflow::Action::output(openflow::PortNumber(2)),
    ];
    let instructions = [Instruction::ApplyActions(openflow::Actions::of(&actions))];
    assert_eq!(flow.matching, Fields::of(&fields));
    assert_eq!(flow.instructions, Instructions::of(&instructions));
}

#[test]
fn a_deletion_of_the_older_is_told_to_both() {
    let mut world = both();
    let instructions = [];
    tell(
        &mut world,
        &Message::FlowMod(openflow::FlowMod {
            flags: FlowModFlags::SEND_FLOW_REMOVED,
            instructions: Instructions::of(&instructions),
            ..openflow::FlowMod::add(TableId(0))
        }),
    );
    let deletion = FlowMod {
        command: openflow::FlowModCommand::Delete,
        ..flow_mod(0, Match10::ANY, &[])
    };

    let told = super::ask(&mut world, &openflow10::Message::FlowMod(deletion));

    assert!(matches!(
        told[0].narrow(),
        openflow10::Message::FlowRemoved(_)
    ));
    let told = world.answers(NEW);
    assert!(matches!(told[0].message(), Message::FlowRemoved(_)));
}

/// OF10 knows one table.
#[test]
fn what_happens_in_other_tables_is_the_newers_alone() {
    let mut world = both();
    tell(
        &mut world,
        &Message::FlowMod(openflow::FlowMod {
            flags: FlowModFlags::SEND_FLOW_REMOVED,
            ..openflow::FlowMod::add(TableId(1))
        }),
    );
    let all = FlowMod {
        command: openflow::FlowModCommand::Delete,
        ..flow_mod(0, Match10::ANY, &[])
    };
    super::tell(&mut world, &openflow10::Message::FlowMod(all));

    let mut bytes = Vec::new();
    openflow::FlowMod::delete(TableId(1)).emit(TransactionId(1), &mut bytes);
    world.receive(NEW, &bytes);

    assert_eq!(world.answers(NEW).len(), 1);
    assert_eq!(world.answers(crate::world::CONTROLLER).len(), 0);
}

#[test]
fn a_second_older_controller_is_told_everything_too() {
    let mut world = world(unpaced());
    let other = ConnectionId(3);
    greet(&mut world, other);

    world.frame(1, &frame(0x88b5, b""));

    assert_eq!(packet_ins(&mut world, |_| {}), 1);
    assert_eq!(world.answers(other).len(), 1);
}
