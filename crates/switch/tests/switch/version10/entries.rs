//! Changes of the flow table: OF10 sections 3.4, 4.6, 4.7 and 5.3.3.

use units::Duration;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::{Cookie, FlowModCommand, FlowRemovedReason};
use wire::openflow10::statistics::FlowStatistics;
use wire::openflow10::{
    Action, Actions, AddressPrefix, BadAction, ErrorKind, FlowMod, FlowModFailed, FlowModFlags,
    Match10, Message, PortNumber,
};

use super::statistics::entries;
use super::{add, flow_mod, from, output, refused, tell, world};
use crate::frames::{frame, udp};
use crate::world::{CONTROLLER, World, unpaced};

fn order(world: &mut World, command: FlowModCommand, flow_mod: FlowMod<'_>) {
    tell(
        world,
        &Message::FlowMod(FlowMod {
            command,
            ..flow_mod
        }),
    );
}

/// The priorities, cookies and outputs of all entries.
fn listed(world: &mut World) -> Vec<(u16, u64, Vec<u16>)> {
    entries(world, |entry: FlowStatistics<'_>| {
        let ports = entry
            .actions
            .iter()
            .map(|action| match action.expect("a known action") {
                Action::Output { port, .. } => port.0,
                other => panic!("no output: {other:?}"),
            });
        (entry.priority, entry.cookie.0, ports.collect())
    })
}

/// Where a frame from port 1 goes.
fn way(world: &mut World, frame: &[u8]) -> Vec<u32> {
    world.frame(1, frame);
    world.take_sent().into_iter().map(|it| it.0).collect()
}

/// OF10 section 3.4.
#[test]
fn the_entry_of_the_highest_priority_wins() {
    let mut world = world(unpaced());
    add(&mut world, 2, from(1), &[output(2)]);
    add(&mut world, 3, Match10::ANY, &[output(3)]);

    assert_eq!(way(&mut world, &frame(0x88b5, b"")), [3]);
}

/// OF10 section 3.4.
#[test]
fn an_entry_without_wildcards_wins_whatever_its_priority() {
    let mut world = world(unpaced());
    let exact = Match10 {
        in_port: Some(PortNumber(1)),
        dl_src: Some(MacAddress([2, 0, 0, 0, 0, 1])),
        dl_dst: Some(MacAddress([2, 0, 0, 0, 0, 2])),
        dl_vlan: Some(Match10::NO_VLAN),
        dl_vlan_pcp: Some(0),
        dl_type: Some(EtherType::IPV4),
        nw_tos: Some(0),
        nw_proto: Some(17),
        nw_src: AddressPrefix::host([10, 0, 0, 1].into()),
        nw_dst: AddressPrefix::host([10, 0, 0, 2].into()),
        tp_src: Some(1000),
        tp_dst: Some(2000),
    };
    add(&mut world, 0xfffe, Match10::ANY, &[output(3)]);
    add(&mut world, 0, exact, &[output(2)]);

    assert_eq!(way(&mut world, &udp(9, b"")), [2]);
    order(
        &mut world,
        FlowModCommand::DeleteStrict,
        flow_mod(77, exact, &[]),
    );
    assert_eq!(way(&mut world, &udp(9, b"")), [3]);
}

/// OF10 section 4.6.
#[test]
fn an_entry_with_the_same_match_and_priority_is_replaced_counters_and_all() {
    let mut world = world(unpaced());
    add(&mut world, 2, from(1), &[output(2)]);
    way(&mut world, &frame(0x88b5, b""));

    add(&mut world, 2, from(1), &[output(3)]);

    assert_eq!(listed(&mut world), [(2, 0, vec![3])]);
    assert_eq!(entries(&mut world, |entry| entry.packets), [0]);
}

/// OF10 section 4.6.
#[test]
fn a_modification_changes_what_it_covers_and_keeps_counters() {
    let mut world = world(unpaced());
    add(&mut world, 2, from(1), &[output(2)]);
    add(&mut world, 3, from(2), &[output(1)]);
    way(&mut world, &frame(0x88b5, b""));

    let change = [output(3)];
    order(
        &mut world,
        FlowModCommand::Modify,
        flow_mod(9, Match10::ANY, &change),
    );

    assert_eq!(listed(&mut world), [(2, 0, vec![3]), (3, 0, vec![3])]);
    assert_eq!(entries(&mut world, |entry| entry.packets), [1, 0]);
}

/// OF10 section 4.6.
#[test]
fn a_strict_modification_changes_one() {
    let mut world = world(unpaced());
    add(&mut world, 2, from(1), &[output(2)]);
    add(&mut world, 3, from(1), &[output(2)]);

    let change = [output(3)];
    order(
        &mut world,
        FlowModCommand::ModifyStrict,
        flow_mod(3, from(1), &change),
    );

    assert_eq!(listed(&mut world), [(2, 0, vec![2]), (3, 0, vec![3])]);
}

/// OF10 section 4.6.
#[test]
fn a_modification_that_meets_no_entry_adds_one() {
    for command in [FlowModCommand::Modify, FlowModCommand::ModifyStrict] {
        let mut world = world(unpaced());
        let actions = [output(2)];
        let mut flow_mod = flow_mod(4, from(1), &actions);
        flow_mod.cookie = Cookie(5);

        order(&mut world, command, flow_mod);

        assert_eq!(listed(&mut world), [(4, 5, vec![2])], "{command:?}");
    }
}

/// OF10 section 4.6.
#[test]
fn a_deletion_takes_what_it_covers_and_a_strict_one_the_very_entry() {
    let mut world = world(unpaced());
    add(&mut world, 2, from(1), &[output(2)]);
    add(&mut world, 3, from(1), &[output(3)]);
    add(&mut world, 4, from(2), &[output(1)]);

    order(
        &mut world,
        FlowModCommand::DeleteStrict,
        flow_mod(3, from(1), &[]),
    );
    let after_strict = listed(&mut world);
    order(
        &mut world,
        FlowModCommand::Delete,
        flow_mod(0, from(1), &[]),
    );

    assert_eq!(after_strict, [(2, 0, vec![2]), (4, 0, vec![1])]);
    assert_eq!(listed(&mut world), [(4, 0, vec![1])]);
}

/// OF10 section 4.6 (`out_port`); an output through a queue counts.
#[test]
fn a_deletion_can_be_about_a_port() {
    let mut world = world(unpaced());
    add(&mut world, 2, from(1), &[output(2)]);
    add(&mut world, 3, from(1), &[output(3)]);
    let enqueue = Action::Enqueue {
        port: PortNumber(3),
        queue: wire::openflow::QueueId(4),
    };
    add(&mut world, 4, from(1), &[enqueue]);

    let mut deletion = flow_mod(0, Match10::ANY, &[]);
    deletion.out_port = PortNumber(3);
    order(&mut world, FlowModCommand::Delete, deletion);

    assert_eq!(listed(&mut world), [(2, 0, vec![2])]);
}

/// OF10 section 4.6 (`OFPFF_CHECK_OVERLAP`).
#[test]
fn an_overlap_is_refused_if_it_is_to_be_checked() {
    let mut world = world(unpaced());
    add(&mut world, 2, from(1), &[]);
    let tcp = Match10 {
        dl_type: Some(EtherType::IPV4),
        ..Match10::ANY
    };
    let mut checked = flow_mod(2, tcp, &[]);
    checked.flags = FlowModFlags::CHECK_OVERLAP;

    let kind = refused(&mut world, &Message::FlowMod(checked));
    checked.priority = 3;
    tell(&mut world, &Message::FlowMod(checked));

    assert_eq!(kind, ErrorKind::FlowModFailed(FlowModFailed::Overlap));
}

/// OF10 section 5.4.4.
#[test]
fn impossible_changes_are_refused_with_their_error() {
    let mut config = unpaced();
    config.table_capacity = 1;
    let mut world = world(config);
    add(&mut world, 1, from(1), &[]);
    let (nowhere, tables) = ([output(9)], [Action::output(PortNumber::TABLE)]);
    let no_queue = [Action::Enqueue {
        port: PortNumber(1),
        queue: wire::openflow::QueueId(8),
    }];
    let too_many = [output(1); 65];
    let bad_action = |code| ErrorKind::BadAction(code);
    let failed = |code| ErrorKind::FlowModFailed(code);
    let emergency = |seconds| FlowMod {
        flags: FlowModFlags::EMERGENCY,
        hard_timeout_s: seconds,
        ..FlowMod::ADD
    };
    for (flow_mod, expected) in [
        (
            flow_mod(1, from(2), &[]),
            failed(FlowModFailed::AllTablesFull),
        ),
        (
            flow_mod(1, from(1), &nowhere),
            bad_action(BadAction::BadOutPort),
        ),
        (
            flow_mod(1, from(1), &tables),
            bad_action(BadAction::BadOutPort),
        ),
        (
            flow_mod(1, from(1), &no_queue),
            bad_action(BadAction::BadQueue),
        ),
        (
            flow_mod(1, from(1), &too_many),
            bad_action(BadAction::TooMany),
        ),
        (emergency(0), failed(FlowModFailed::AllTablesFull)),
        (emergency(5), failed(FlowModFailed::BadEmergencyTimeout)),
    ] {
        let kind = refused(&mut world, &Message::FlowMod(flow_mod));

        assert_eq!(kind, expected, "{flow_mod:?}");
    }
    assert_eq!(listed(&mut world), [(1, 0, vec![])]);
}

/// OF10 section 5.4.4.
#[test]
fn a_command_and_an_action_that_nobody_knows_are_refused() {
    let mut world = world(unpaced());
    let mut bytes = Vec::new();
    let actions = Actions::from_bytes(&[0xff, 0xff, 0, 8, 0, 0, 0x23, 0x20]);
    let vendor = FlowMod {
        actions,
        ..FlowMod::ADD
    };
    flow_mod(1, Match10::ANY, &[]).emit(wire::openflow::TransactionId(1), &mut bytes);
    bytes[57] = 9;

    world.receive(CONTROLLER, &bytes);
    let answers = world.answers(CONTROLLER);
    let kind = refused(&mut world, &Message::FlowMod(vendor));

    let Message::Error(error) = answers[0].narrow() else {
        panic!("no error: {:?}", answers[0].narrow())
    };
    assert_eq!(
        error.kind,
        ErrorKind::FlowModFailed(FlowModFailed::BadCommand)
    );
    assert_eq!(kind, ErrorKind::BadAction(BadAction::BadVendor));
}

/// OF10 sections 4.7 and 5.4.2.
#[test]
fn an_entry_that_goes_is_told_if_it_asked_for_it() {
    let mut world = world(unpaced());
    let mut expiring = flow_mod(7, from(1), &[]);
    expiring.cookie = Cookie(0xc0de);
    expiring.idle_timeout_s = 2;
    expiring.flags = FlowModFlags::SEND_FLOW_REMOVED;
    tell(&mut world, &Message::FlowMod(expiring));
    add(&mut world, 8, from(2), &[]);
    way(&mut world, &frame(0x88b5, b""));

    let end = world.now + Duration::from_secs(3);
    world.run_until(end);
    let answers = world.answers(CONTROLLER);
    order(
        &mut world,
        FlowModCommand::Delete,
        flow_mod(0, Match10::ANY, &[]),
    );

    let removed = answers.iter().filter_map(|answer| match answer.narrow() {
        Message::FlowRemoved(removed) => Some(removed),
        _ => None,
    });
    let removed: Vec<_> = removed.collect();
    assert_eq!(removed.len(), 1);
    let removed = removed[0];
    assert_eq!(removed.matching, from(1));
    assert_eq!((removed.cookie, removed.priority), (Cookie(0xc0de), 7));
    assert_eq!(removed.reason, FlowRemovedReason::IdleTimeout);
    assert_eq!((removed.packets, removed.bytes), (1, 14));
    assert_eq!(removed.idle_timeout_s, 2);
}
