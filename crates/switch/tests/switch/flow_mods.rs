//! Changes of flow tables, and entries that expire.

use proptest::prelude::*;

use units::{Duration, Instant};
use wire::ethernet::EtherType;
use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::{
    Action, Actions, BadAction, BadInstruction, BadMatch, BadRequest, BufferId, Cookie, ErrorKind,
    Fields, FlowMod, FlowModCommand, FlowModFailed, FlowModFlags, FlowRemovedReason, GroupId,
    Instruction, Instructions, MatchField, Message, PortNumber, QueueId, TableId,
};

use crate::frames::frame;
use crate::world::{CONTROLLER, World, from, output, unpaced};

const IPV4: MatchField = MatchField::EthType(EtherType::IPV4);
const TCP: MatchField = MatchField::IpProto(6);

fn flow_failed(code: FlowModFailed) -> ErrorKind {
    ErrorKind::FlowModFailed(code)
}

/// The priorities and cookies of all entries, by priority.
fn entries(world: &mut World) -> Vec<(u16, u64)> {
    let request = RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL));
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(request)));
    let mut entries = Vec::new();
    for answer in &answers {
        let Message::MultipartReply(reply) = answer.message() else {
            panic!("no statistics: {:?}", answer.message())
        };
        let ReplyBody::Flow(flows) = reply.body else {
            panic!("no entries: {:?}", reply.body)
        };
        entries.extend(flows.iter().map(|it| {
            let flow = it.expect("the switch sends good entries");
            (flow.priority, flow.cookie.0)
        }));
    }
    entries.sort_unstable();
    entries
}

fn add_with_cookie(world: &mut World, priority: u16, cookie: u64, fields: &[MatchField]) {
    world.tell(&Message::FlowMod(FlowMod {
        priority,
        cookie: Cookie(cookie),
        matching: Fields::of(fields),
        ..FlowMod::add(TableId(0))
    }));
}

/// OF13 clause 6.4.
#[test]
fn adding_the_same_match_and_priority_again_replaces_the_entry() {
    let mut world = World::with_controller(unpaced());
    add_with_cookie(&mut world, 5, 1, &[from(1)]);
    add_with_cookie(&mut world, 6, 2, &[from(1)]);

    add_with_cookie(&mut world, 5, 3, &[from(1)]);

    assert_eq!(entries(&mut world), [(5, 3), (6, 2)]);
}

/// OF13 clause 6.4.
#[test]
fn an_overlapping_entry_is_refused_if_asked_to() {
    let mut world = World::with_controller(unpaced());
    add_with_cookie(&mut world, 5, 1, &[from(1)]);
    let mut checked = |priority, fields: &[MatchField]| {
        let answers = world.ask(&Message::FlowMod(FlowMod {
            priority,
            flags: FlowModFlags::CHECK_OVERLAP,
            matching: Fields::of(fields),
            ..FlowMod::add(TableId(0))
        }));
        answers.is_empty()
    };

    assert!(!checked(5, &[IPV4]), "a frame from port 1 can be of IPv4");
    assert!(checked(6, &[IPV4]), "another priority does not overlap");
    assert!(checked(5, &[from(2)]), "no frame is from two ports");
    assert!(!checked(5, &[from(2)]), "an equal entry overlaps");
}

/// OF13 clause 6.4.
#[test]
fn modify_changes_what_entries_do_and_nothing_else() {
    let mut world = World::with_controller(unpaced());
    add_with_cookie(&mut world, 5, 1, &[from(1)]);
    add_with_cookie(&mut world, 6, 2, &[from(1), IPV4]);
    add_with_cookie(&mut world, 7, 3, &[from(2)]);
    let actions = [output(3)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];

    world.tell(&Message::FlowMod(FlowMod {
        command: FlowModCommand::Modify,
        cookie: Cookie(99),
        matching: Fields::of(&[from(1)]),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));

    world.frame(1, &frame(0x88b5, b""));
    world.frame(1, &frame(0x0800, b""));
    world.frame(2, &frame(0x88b5, b""));
    let ports: Vec<_> = world
        .take_sent()
        .into_iter()
        .map(|(port, _)| port)
        .collect();
    assert_eq!(ports, [3, 3]);
    assert_eq!(entries(&mut world), [(5, 1), (6, 2), (7, 3)]);
}

/// OF13 clause 6.4.
#[test]
fn strict_commands_mean_the_one_entry_with_this_match_and_priority() {
    let mut world = World::with_controller(unpaced());
    for (priority, fields) in [(5, &[from(1)][..]), (6, &[from(1)]), (5, &[from(1), IPV4])] {
        add_with_cookie(&mut world, priority, priority.into(), fields);
    }
    let actions = [output(3)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let fields = [from(1)];
    let strict = FlowMod {
        command: FlowModCommand::ModifyStrict,
        priority: 6,
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };

    world.tell(&Message::FlowMod(strict));
    world.frame(1, &frame(0x88b5, b""));
    world.tell(&Message::FlowMod(FlowMod {
        command: FlowModCommand::DeleteStrict,
        ..strict
    }));

    assert_eq!(world.take_sent().len(), 1);
    assert_eq!(entries(&mut world), [(5, 5), (5, 5)]);
}

/// OF13 clause 6.4.
#[test]
fn delete_takes_what_is_covered_and_fits_cookie_and_port() {
    let all = FlowMod::delete(TableId::ALL);
    for (delete, left) in [
        (all, vec![]),
        (FlowMod::delete(TableId(1)), vec![1, 2, 3]),
        (
            FlowMod {
                matching: Fields::of(&[from(1)]),
                ..all
            },
            vec![3],
        ),
        (
            FlowMod {
                matching: Fields::of(&[IPV4]),
                ..all
            },
            vec![1, 3],
        ),
        (
            FlowMod {
                cookie: Cookie(2),
                cookie_mask: Cookie(2),
                ..all
            },
            vec![1],
        ),
        (
            FlowMod {
                cookie: Cookie(2),
                cookie_mask: Cookie::EXACT,
                ..all
            },
            vec![1, 3],
        ),
        (
            FlowMod {
                out_port: PortNumber(2),
                ..all
            },
            vec![1, 2],
        ),
        (
            FlowMod {
                out_port: PortNumber(77),
                ..all
            },
            vec![1, 2, 3],
        ),
        (
            FlowMod {
                out_group: GroupId(1),
                ..all
            },
            vec![1, 2, 3],
        ),
    ] {
        assert_eq!(cookies_left_by(delete), left, "{delete:?}");
    }
}

/// Deletes from a table with entry 1 for port 1, entry 2 for IPv4 of port 1, and
/// entry 3 for port 2, which alone sends to port 2.
fn cookies_left_by(delete: FlowMod<'_>) -> Vec<u64> {
    let mut world = World::with_controller(unpaced());
    add_with_cookie(&mut world, 1, 1, &[from(1)]);
    add_with_cookie(&mut world, 2, 2, &[from(1), IPV4]);
    let actions = [output(2)];
    world.tell(&Message::FlowMod(FlowMod {
        priority: 3,
        cookie: Cookie(3),
        matching: Fields::of(&[from(2)]),
        instructions: Instructions::of(&[Instruction::WriteActions(Actions::of(&actions))]),
        ..FlowMod::add(TableId(0))
    }));

    world.tell(&Message::FlowMod(delete));

    let left = entries(&mut world).into_iter();
    left.map(|(_, cookie)| cookie).collect()
}

/// OF13 clauses 6.4 and 7.4.4.
#[test]
fn impossible_changes_are_refused_with_their_error() {
    let mut config = unpaced();
    config.table_capacity = 2;
    let mut world = World::with_controller(config);
    let add = FlowMod::add(TableId(0));
    for (flow_mod, expected) in [
        (
            FlowMod::add(TableId(16)),
            flow_failed(FlowModFailed::BadTableId),
        ),
        (
            FlowMod::add(TableId::ALL),
            flow_failed(FlowModFailed::BadTableId),
        ),
        (
            FlowMod {
                flags: FlowModFlags(1 << 9),
                ..add
            },
            flow_failed(FlowModFailed::BadFlags),
        ),
        (
            FlowMod {
                buffer: BufferId(1),
                ..add
            },
            ErrorKind::BadRequest(BadRequest::BufferUnknown),
        ),
        (
            FlowMod {
                matching: Fields::of(&[TCP]),
                ..add
            },
            ErrorKind::BadMatch(BadMatch::BadPrerequisite),
        ),
        (
            FlowMod {
                matching: Fields::of(&[from(1), from(1)]),
                ..add
            },
            ErrorKind::BadMatch(BadMatch::DuplicateField),
        ),
    ] {
        assert_eq!(
            world.refused(&Message::FlowMod(flow_mod)),
            expected,
            "{flow_mod:?}"
        );
    }
    add_with_cookie(&mut world, 1, 1, &[]);
    add_with_cookie(&mut world, 2, 2, &[]);
    let third = FlowMod { priority: 3, ..add };
    let refused = world.refused(&Message::FlowMod(third));
    assert_eq!(refused, flow_failed(FlowModFailed::TableFull));
}

/// OF13 clauses 5.12 and 7.4.4.
#[test]
fn impossible_actions_are_refused_with_their_error() {
    let mut world = World::with_controller(unpaced());
    let too_many = [output(1); 65];
    for (actions, expected) in [
        (&[output(9)][..], BadAction::BadOutPort),
        (&[Action::output(PortNumber::TABLE)], BadAction::BadOutPort),
        (&[Action::output(PortNumber::LOCAL)], BadAction::BadOutPort),
        (&[Action::SetQueue(QueueId(8))], BadAction::BadQueue),
        (&[Action::Group(GroupId(1))], BadAction::BadOutGroup),
        (&too_many, BadAction::TooMany),
    ] {
        let refused = world.refused(&Message::FlowMod(FlowMod {
            instructions: Instructions::of(&[Instruction::WriteActions(Actions::of(actions))]),
            ..FlowMod::add(TableId(0))
        }));
        assert_eq!(refused, ErrorKind::BadAction(expected), "{actions:?}");
    }
    assert_eq!(entries(&mut world), []);
}

/// OF13 clauses 5.9 and 7.4.4.
#[test]
fn impossible_instructions_are_refused_with_their_error() {
    let mut world = World::with_controller(unpaced());
    for (instructions, expected) in [
        (
            &[Instruction::GotoTable(TableId(3))][..],
            BadInstruction::BadTableId,
        ),
        (
            &[Instruction::GotoTable(TableId(2))],
            BadInstruction::BadTableId,
        ),
        (
            &[Instruction::GotoTable(TableId(16))],
            BadInstruction::BadTableId,
        ),
        (
            &[Instruction::ClearActions; 2],
            BadInstruction::UnsupportedInstruction,
        ),
    ] {
        let refused = world.refused(&Message::FlowMod(FlowMod {
            instructions: Instructions::of(instructions),
            ..FlowMod::add(TableId(3))
        }));
        assert_eq!(
            refused,
            ErrorKind::BadInstruction(expected),
            "{instructions:?}"
        );
    }
}

/// Returns the reason and the counted frames of every entry that was reported
/// gone.
fn removed(world: &mut World) -> Vec<(FlowRemovedReason, u64, Duration)> {
    let answers = world.answers(CONTROLLER);
    let removed = answers.iter().map(|answer| match answer.message() {
        Message::FlowRemoved(removed) => (removed.reason, removed.packets, removed.age),
        other => panic!("not what was expected: {other:?}"),
    });
    removed.collect()
}

fn seconds(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// OF13 clause 5.5.
#[test]
fn a_hard_timeout_ends_an_entry_however_much_it_is_used() {
    let mut world = World::with_controller(unpaced());
    world.tell(&Message::FlowMod(FlowMod {
        hard_timeout_s: 3,
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        ..FlowMod::add(TableId(0))
    }));

    for second in 1..=2 {
        world.run_until(seconds(second));
        world.frame(1, &frame(0x88b5, b""));
    }
    assert_eq!(world.switch.deadline(), Some(seconds(3)));
    world.run_until(seconds(3));

    let expected = (FlowRemovedReason::HardTimeout, 2, Duration::from_secs(3));
    assert_eq!(removed(&mut world), [expected]);
    assert_eq!(entries(&mut world), []);
    assert_eq!(world.switch.deadline(), None);
}

/// OF13 clause 5.5.
#[test]
fn an_idle_timeout_counts_from_the_last_frame() {
    let mut world = World::with_controller(unpaced());
    world.tell(&Message::FlowMod(FlowMod {
        idle_timeout_s: 3,
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        ..FlowMod::add(TableId(0))
    }));

    world.run_until(seconds(2));
    world.frame(1, &frame(0x88b5, b""));
    world.run_until(seconds(5) - Duration::from_ns(1));
    assert_eq!(removed(&mut world), []);
    world.run_until(seconds(5));

    let expected = (FlowRemovedReason::IdleTimeout, 1, Duration::from_secs(5));
    assert_eq!(removed(&mut world), [expected]);
}

/// OF13 clause 6.4.
#[test]
fn a_deleted_entry_is_reported_if_it_asked_for_that_a_replaced_one_never() {
    let mut world = World::with_controller(unpaced());
    let add = FlowMod {
        idle_timeout_s: 1,
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        ..FlowMod::add(TableId(0))
    };
    world.tell(&Message::FlowMod(add));
    world.tell(&Message::FlowMod(FlowMod {
        idle_timeout_s: 0,
        ..add
    }));
    world.run_until(seconds(10));
    assert_eq!(removed(&mut world), []);
    add_with_cookie(&mut world, 9, 9, &[]);

    let answers = world.ask(&Message::FlowMod(FlowMod::delete(TableId(0))));

    let reasons = answers.iter().map(|it| match it.message() {
        Message::FlowRemoved(removed) => removed.reason,
        other => panic!("not what was expected: {other:?}"),
    });
    assert_eq!(reasons.collect::<Vec<_>>(), [FlowRemovedReason::Delete]);
}

proptest! {
    /// However many entries expire together, none stays and none is reported
    /// twice.
    #[test]
    fn every_entry_with_a_timeout_goes_once(
        timeouts in prop::collection::vec((0u16..4, 0u16..4), 1..400),
    ) {
        let mut world = World::with_controller(unpaced());
        for (priority, (idle, hard)) in (0..).zip(&timeouts) {
            world.tell(&Message::FlowMod(FlowMod {
                priority,
                idle_timeout_s: *idle,
                hard_timeout_s: *hard,
                flags: FlowModFlags::SEND_FLOW_REMOVED,
                ..FlowMod::add(TableId(0))
            }));
        }

        world.run_until(seconds(10));

        let mortal = timeouts.iter().filter(|it| **it != (0, 0)).count();
        prop_assert_eq!(removed(&mut world).len(), mortal);
        prop_assert_eq!(entries(&mut world).len(), timeouts.len() - mortal);
    }
}
