//! Changes of groups, OF13 clauses 6.5 and 7.3.4.2.

use wire::openflow::{
    Actions, BadAction, ErrorKind, Fields, FlowMod, FlowModCommand, FlowModFlags,
    FlowRemovedReason, GroupId, GroupModCommand, GroupModFailed, GroupType, Instruction,
    Instructions, Message, PortNumber, TableId,
};

use crate::ways::*;
use crate::world::{CONTROLLER, World, from, output, unpaced};

/// OF13 clause 6.5: a group never uses itself, however indirectly.
#[test]
fn a_loop_of_groups_is_refused_and_changes_nothing() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::All, &[bucket(&[output(2)])]);
    add(&mut world, 2, GroupType::All, &[bucket(&[to_group(1)])]);
    add(
        &mut world,
        3,
        GroupType::All,
        &[watching_group(2, bucket(&[output(3)]))],
    );
    world.add(1, &[from(1)], &[to_group(2)]);

    for (command, group, buckets) in [
        (GroupModCommand::Add, 9, [bucket(&[to_group(9)])]),
        (
            GroupModCommand::Add,
            9,
            [watching_group(9, bucket(&[output(2)]))],
        ),
        (GroupModCommand::Modify, 1, [bucket(&[to_group(1)])]),
        (GroupModCommand::Modify, 1, [bucket(&[to_group(2)])]),
        (GroupModCommand::Modify, 1, [bucket(&[to_group(3)])]),
        (
            GroupModCommand::Modify,
            1,
            [watching_group(3, bucket(&[output(2)]))],
        ),
    ] {
        let message = change(command, group, GroupType::All, &buckets);
        assert_eq!(refused(&mut world, &message), failed(GroupModFailed::Loop));
    }
    assert_eq!(ways(&mut world, &plain()), [2]);
}

/// A frame goes through a bounded number of groups, one below the other,
/// whichever of them is added or changed last.
#[test]
fn a_chain_that_is_too_long_is_refused() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::All, &[bucket(&[output(2)])]);
    for group in 2..=8 {
        add(
            &mut world,
            group,
            GroupType::All,
            &[bucket(&[to_group(group - 1)])],
        );
    }
    add(&mut world, 100, GroupType::All, &[bucket(&[output(3)])]);
    world.add(1, &[from(1)], &[to_group(8)]);
    let too_long = failed(GroupModFailed::ChainingUnsupported);

    let above = change(
        GroupModCommand::Add,
        9,
        GroupType::All,
        &[bucket(&[to_group(8)])],
    );
    let below = change(
        GroupModCommand::Modify,
        1,
        GroupType::All,
        &[bucket(&[to_group(100)])],
    );

    assert_eq!(refused(&mut world, &above), too_long);
    assert_eq!(refused(&mut world, &below), too_long);
    modify(&mut world, 2, GroupType::All, &[bucket(&[output(3)])]);
    carry_out(&mut world, &above);
    assert_eq!(ways(&mut world, &plain()), [3]);
}

/// OF13 clauses 6.5 and 7.4.2.
#[test]
fn a_deleted_group_takes_its_entries_with_it() {
    for which in [GroupId(1), GroupId::ALL] {
        let mut world = with_group(GroupType::Indirect, &[bucket(&[output(2)])]);
        let actions = [to_group(1)];
        let instructions = [Instruction::WriteActions(Actions::of(&actions))];
        world.tell(&Message::FlowMod(FlowMod {
            priority: 7,
            instructions: Instructions::of(&instructions),
            flags: FlowModFlags::SEND_FLOW_REMOVED,
            ..FlowMod::add(TableId(3))
        }));
        world.add(9, &[from(3)], &[output(1)]);

        let message = change(GroupModCommand::Delete, which.0, GroupType::All, &[]);
        let (_, message) = Message::parse(&message).unwrap();
        let answers = world.ask(&message);

        assert_eq!(answers.len(), 1);
        let Message::FlowRemoved(removed) = answers[0].message() else {
            panic!("not what was expected")
        };
        assert_eq!(removed.reason, FlowRemovedReason::GroupDelete);
        assert_eq!((removed.table, removed.priority), (TableId(3), 7));
        assert!(ways(&mut world, &plain()).is_empty());
        world.frame(3, &plain());
        assert_eq!(world.take_sent().len(), 1, "the other entry is left");
    }
}

/// OF13 clause 6.5: to delete what is not there is no error.
#[test]
fn a_group_that_is_not_there_can_be_deleted() {
    let mut world = World::with_controller(unpaced());

    delete(&mut world, GroupId(77));
    delete(&mut world, GroupId::ALL);
}

/// OF13 clause 6.5.
#[test]
fn a_group_that_others_use_or_watch_stays_until_they_are_gone() {
    for user in [
        bucket(&[to_group(1)]),
        watching_group(1, bucket(&[output(3)])),
    ] {
        let mut world = with_group(GroupType::All, &[bucket(&[output(2)])]);
        add(&mut world, 2, GroupType::All, &[user]);

        let message = change(GroupModCommand::Delete, 1, GroupType::All, &[]);
        assert_eq!(
            refused(&mut world, &message),
            failed(GroupModFailed::ChainedGroup)
        );
        assert_eq!(ways(&mut world, &plain()), [2], "its entries stay as well");

        delete(&mut world, GroupId(2));
        delete(&mut world, GroupId(1));
        add(&mut world, 1, GroupType::All, &[]);
    }
}

/// OF13 clause 6.5: groups that use each other go together.
#[test]
fn all_groups_can_be_deleted_at_once() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::All, &[bucket(&[output(2)])]);
    add(&mut world, 2, GroupType::All, &[bucket(&[to_group(1)])]);

    delete(&mut world, GroupId::ALL);

    add(&mut world, 2, GroupType::All, &[]);
    let missing = change(GroupModCommand::Modify, 1, GroupType::All, &[]);
    assert_eq!(
        refused(&mut world, &missing),
        failed(GroupModFailed::UnknownGroup)
    );
}

/// OF13 clause 6.5: a group can be emptied and keeps its entries.
#[test]
fn a_changed_group_keeps_its_entries() {
    let mut world = with_group(GroupType::Indirect, &[bucket(&[output(2)])]);

    modify(&mut world, 1, GroupType::All, &[]);
    let nowhere = ways(&mut world, &plain());
    let buckets = [bucket(&[output(2)]), bucket(&[output(3)])];
    modify(&mut world, 1, GroupType::All, &buckets);
    let both = ways(&mut world, &plain());

    assert_eq!((nowhere, both), (vec![], vec![2, 3]));
}

/// OF13 clauses 6.5 and 7.4.4.6.
#[test]
fn impossible_groups_are_refused_with_their_error() {
    use GroupModCommand::{Add, Modify};
    use GroupType::{All, FastFailover, Indirect};
    let mut config = unpaced();
    config.groups = 2;
    config.group_buckets = 3;
    let mut world = World::with_controller(config);
    let (plain, heavy) = (bucket(&[output(2)]), weighing(1, bucket(&[output(2)])));
    add(&mut world, 1, All, &[plain]);

    for (message, expected) in [
        (change(Add, 1, All, &[plain]), GroupModFailed::GroupExists),
        (
            change(Modify, 2, All, &[plain]),
            GroupModFailed::UnknownGroup,
        ),
        (
            change(Add, GroupId::ALL.0, All, &[]),
            GroupModFailed::InvalidGroup,
        ),
        (
            change(Add, GroupId::MAX.0 + 1, All, &[]),
            GroupModFailed::InvalidGroup,
        ),
        (change(Add, 2, All, &[heavy]), GroupModFailed::InvalidGroup),
        (
            change(Add, 2, Indirect, &[plain; 2]),
            GroupModFailed::InvalidGroup,
        ),
        (
            change(Add, 2, All, &[plain; 4]),
            GroupModFailed::OutOfBuckets,
        ),
        (
            change(Add, 2, All, &[watching_port(9, plain)]),
            GroupModFailed::BadWatch,
        ),
        (
            change(Add, 2, All, &[watching_group(9, plain)]),
            GroupModFailed::BadWatch,
        ),
        (
            change(Add, 2, FastFailover, &[plain]),
            GroupModFailed::BadWatch,
        ),
    ] {
        assert_eq!(refused(&mut world, &message), failed(expected));
    }
    for (actions, expected) in [
        ([to_group(77)], BadAction::BadOutGroup),
        ([output(77)], BadAction::BadOutPort),
        ([output(PortNumber::TABLE.0)], BadAction::BadOutPort),
    ] {
        let message = change(Add, 2, All, &[bucket(&actions)]);
        assert_eq!(
            refused(&mut world, &message),
            ErrorKind::BadAction(expected)
        );
    }
    add(&mut world, 2, All, &[plain]);
    let third = change(Add, 3, All, &[plain]);
    assert_eq!(
        refused(&mut world, &third),
        failed(GroupModFailed::OutOfGroups)
    );
}

/// OF13 clause 7.4.4.6: what cannot be read.
#[test]
fn unreadable_groups_are_refused_with_their_error() {
    let mut world = World::with_controller(unpaced());
    let whole = change(
        GroupModCommand::Add,
        1,
        GroupType::All,
        &[bucket(&[output(2)])],
    );
    for (at, value, expected) in [
        (9, 7, GroupModFailed::BadCommand),
        (10, 7, GroupModFailed::BadType),
        (17, 0xff, GroupModFailed::BadBucket),
    ] {
        let mut bad = whole.clone();
        bad[at] = value;
        world.receive(CONTROLLER, &bad);
        let answers = world.answers(CONTROLLER);
        let Message::Error(error) = answers[0].message() else {
            panic!("not what was expected")
        };
        assert_eq!(error.kind, failed(expected));
    }
}

/// OF13 clause 6.4.
#[test]
fn an_entry_cannot_use_a_group_that_is_not_there() {
    let mut world = World::with_controller(unpaced());
    let actions = [to_group(1)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];

    let refused = world.refused(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));

    assert_eq!(refused, ErrorKind::BadAction(BadAction::BadOutGroup));
}

/// OF13 clause 6.4: a filter by group, together with one by port.
#[test]
fn entries_can_be_deleted_by_the_group_that_they_send_to() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::All, &[bucket(&[output(3)])]);
    add(&mut world, 2, GroupType::All, &[bucket(&[output(3)])]);
    world.add(1, &[from(1)], &[output(2), to_group(1)]);
    world.add(2, &[from(1)], &[to_group(1)]);
    world.add(3, &[from(1)], &[to_group(2)]);

    let delete = |out_port, out_group| FlowMod {
        command: FlowModCommand::Delete,
        out_port,
        out_group,
        matching: Fields::of(&[]),
        ..FlowMod::add(TableId::ALL)
    };
    let mut left = Vec::new();
    for (port, group) in [
        (PortNumber(3), GroupId(1)),
        (PortNumber::ANY, GroupId(9)),
        (PortNumber(2), GroupId(1)),
        (PortNumber::ANY, GroupId(1)),
    ] {
        world.tell(&Message::FlowMod(delete(port, group)));
        left.push(crate::group_statistics::references(&mut world));
    }

    assert_eq!(left, [[2, 1], [2, 1], [1, 1], [0, 1]]);
}
