//! Errors of bundles, ONF-230.

use wire::openflow::{
    BundleAdd, BundleControl, BundleControlKind, BundleFailed, BundleFlags, BundleId, ErrorKind,
    FlowMod, GroupId, GroupMod, GroupModCommand, GroupType, Message, Sequence, TableId,
};

use super::{Case, bytes, check, refused};
use crate::world::World;

#[test]
fn every_failed_bundle_has_its_reason() {
    check(BundleFailed::ALL, ErrorKind::from, bundle);
}

fn bundle(code: BundleFailed) -> Case {
    match code {
        BundleFailed::Unknown => Case::Never("every failure has a code of its own"),
        BundleFailed::PermissionDenied => Case::Never("a slave is told that it is one"),
        BundleFailed::BadId => {
            Case::Given(|world| world.refused(&control(1, BundleControlKind::CloseRequest)))
        }
        BundleFailed::BundleExist => Case::Given(|world| {
            world.ask(&control(1, BundleControlKind::OpenRequest));
            world.refused(&control(1, BundleControlKind::OpenRequest))
        }),
        BundleFailed::BundleClosed => Case::Given(|world| {
            world.ask(&control(1, BundleControlKind::OpenRequest));
            world.ask(&control(1, BundleControlKind::CloseRequest));
            world.refused(&added(&flow_mod()))
        }),
        BundleFailed::OutOfBundles => Case::Given(|world| {
            for bundle in 1..=16 {
                world.ask(&control(bundle, BundleControlKind::OpenRequest));
            }
            world.refused(&control(17, BundleControlKind::OpenRequest))
        }),
        BundleFailed::BadType => Case::Given(|world| {
            let mut unknown = bytes(&control(1, BundleControlKind::OpenRequest));
            unknown[21] = 8;
            refused(world, &unknown)
        }),
        BundleFailed::BadFlags => Case::Given(|world| {
            let mut unknown = bytes(&control(1, BundleControlKind::OpenRequest));
            unknown[23] = 4;
            refused(world, &unknown)
        }),
        BundleFailed::MessageBadLength => Case::Given(|world| {
            let mut long = flow_mod();
            long[3] += 8;
            world.refused(&added(&long))
        }),
        BundleFailed::MessageBadTransaction => Case::Given(|world| {
            let mut other = flow_mod();
            other[7] += 1;
            world.refused(&added(&other))
        }),
        BundleFailed::MessageUnsupported => {
            Case::Given(|world| world.refused(&added(&bytes(&Message::BarrierRequest))))
        }
        BundleFailed::MessageConflict => Case::Never("messages are carried out in their order"),
        BundleFailed::MessageTooMany => Case::Given(|world| {
            let delete = bytes(&Message::FlowMod(FlowMod::delete(TableId(0))));
            for _ in 0..128 {
                world.tell(&added(&delete));
            }
            world.refused(&added(&delete))
        }),
        BundleFailed::MessageFailed => Case::Given(last_error_of_a_commit),
        BundleFailed::Timeout => Case::Never("a bundle stays as long as its connection"),
        BundleFailed::BundleInProgress => Case::Never("a commit is one step"),
    }
}

fn control(bundle: u32, kind: BundleControlKind) -> Message<'static> {
    Message::BundleControl(BundleControl {
        bundle: BundleId(bundle),
        kind,
        flags: BundleFlags::ATOMIC,
        properties: Sequence::EMPTY,
    })
}

fn added(message: &[u8]) -> Message<'_> {
    Message::BundleAdd(BundleAdd {
        bundle: BundleId(1),
        flags: BundleFlags::ATOMIC,
        message,
        properties: Sequence::EMPTY,
    })
}

fn flow_mod() -> Vec<u8> {
    bytes(&Message::FlowMod(FlowMod::add(TableId(0))))
}

/// Commits a bundle with a message that fails.
fn last_error_of_a_commit(world: &mut World) -> ErrorKind {
    let unknown = Message::GroupMod(GroupMod {
        command: GroupModCommand::Modify,
        kind: GroupType::All,
        group: GroupId(1),
        buckets: Sequence::EMPTY,
    });
    world.tell(&added(&bytes(&unknown)));
    let answers = world.ask(&control(1, BundleControlKind::CommitRequest));
    match answers[1].message() {
        Message::Error(error) => error.kind,
        other => panic!("another answer: {other:?}"),
    }
}
