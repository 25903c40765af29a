//! Groups to send frames through, and how to ask for them.

use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, Bucket, Buckets, Element, ErrorKind, GroupId, GroupMod, GroupModCommand,
    GroupModFailed, GroupType, MatchField, Message, PortNumber, TransactionId,
};

use crate::frames::frame;
use crate::world::{World, from, unpaced};

pub const PLAIN: [u8; 46] = [0; 46];
pub const STAMP: MacAddress = MacAddress([6; 6]);

pub fn plain() -> Vec<u8> {
    frame(0x88b5, &PLAIN)
}

pub fn stamp() -> Action {
    Action::SetField(MatchField::EthSrc(Masked::exact(STAMP)))
}

pub const fn to_group(group: u32) -> Action {
    Action::Group(GroupId(group))
}

pub fn change(command: GroupModCommand, group: u32, kind: GroupType, buckets: &[Way]) -> Vec<u8> {
    let written = written(buckets);
    let mut message = Vec::new();
    let group_mod = GroupMod {
        command,
        kind,
        group: GroupId(group),
        buckets: Buckets::from_bytes(&written),
    };
    Message::GroupMod(group_mod).emit(TransactionId(7), &mut message);
    message
}

pub fn add(world: &mut World, group: u32, kind: GroupType, buckets: &[Way]) {
    let message = change(GroupModCommand::Add, group, kind, buckets);
    carry_out(world, &message);
}

pub fn modify(world: &mut World, group: u32, kind: GroupType, buckets: &[Way]) {
    let message = change(GroupModCommand::Modify, group, kind, buckets);
    carry_out(world, &message);
}

pub fn delete(world: &mut World, group: GroupId) {
    let message = change(GroupModCommand::Delete, group.0, GroupType::All, &[]);
    carry_out(world, &message);
}

pub fn carry_out(world: &mut World, message: &[u8]) {
    let (_, message) = Message::parse(message).expect("written by this test");
    world.tell(&message);
}

pub fn refused(world: &mut World, message: &[u8]) -> ErrorKind {
    let (_, message) = Message::parse(message).expect("written by this test");
    world.refused(&message)
}

pub const fn failed(code: GroupModFailed) -> ErrorKind {
    ErrorKind::GroupModFailed(code)
}

/// A bucket with up to three actions.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    weight: u16,
    watch_port: PortNumber,
    watch_group: GroupId,
    actions: [Option<Action>; 3],
}

pub fn bucket(actions: &[Action]) -> Way {
    Way {
        weight: 0,
        watch_port: PortNumber::ANY,
        watch_group: GroupId::ANY,
        actions: std::array::from_fn(|at| actions.get(at).copied()),
    }
}

pub fn weighing(weight: u16, bucket: Way) -> Way {
    Way { weight, ..bucket }
}

pub fn watching_port(port: u32, bucket: Way) -> Way {
    let watch_port = PortNumber(port);
    Way {
        watch_port,
        ..bucket
    }
}

pub fn watching_group(group: u32, bucket: Way) -> Way {
    let watch_group = GroupId(group);
    Way {
        watch_group,
        ..bucket
    }
}

/// Writes buckets as they stand in messages.
pub fn written(ways: &[Way]) -> Vec<u8> {
    let mut out = Vec::new();
    for way in ways {
        let actions: Vec<_> = way.actions.into_iter().flatten().collect();
        let bucket = Bucket {
            weight: way.weight,
            watch_port: way.watch_port,
            watch_group: way.watch_group,
            actions: Actions::of(&actions),
        };
        bucket.emit(&mut out);
    }
    out
}

pub fn with_group(kind: GroupType, buckets: &[Way]) -> World {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, kind, buckets);
    world.add(1, &[from(1)], &[to_group(1)]);
    world
}

/// The ports out of which a frame from port 1 leaves.
pub fn ways(world: &mut World, bytes: &[u8]) -> Vec<u32> {
    world.frame(1, bytes);
    world
        .take_sent()
        .into_iter()
        .map(|(port, _)| port)
        .collect()
}
