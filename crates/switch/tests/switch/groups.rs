//! Groups, OF13 clauses 5.6, 6.5 and 7.3.4.2.

use std::collections::BTreeMap;

use proptest::prelude::*;
use switch::{GROUP_COPIES_A_FRAME, Link};
use units::{Duration, Instant};
use wire::ethernet::EtherType;
use wire::openflow::{
    Action, Actions, BufferId, FlowMod, GroupType, Instruction, Instructions, Message, PacketOut,
    PortConfig, PortFeatures, PortMod, PortNumber, TableId,
};

use crate::frames::{frame, tagged, udp};
use crate::ways::*;
use crate::world::{CONTROLLER, World, from, output, ports, unpaced};

/// OF13 clause 5.6.1: every bucket gets the frame as it came to the group, and
/// so does what follows the group.
#[test]
fn every_bucket_of_an_all_group_gets_a_frame_of_its_own() {
    let mut world = World::with_controller(unpaced());
    let push = [Action::PushVlan(EtherType::VLAN), output(2)];
    let set = [stamp(), output(3)];
    add(
        &mut world,
        1,
        GroupType::All,
        &[bucket(&push), bucket(&set)],
    );
    world.add(1, &[from(1)], &[to_group(1), output(PortNumber::IN_PORT.0)]);

    world.frame(1, &plain());

    let mut stamped = plain();
    stamped[6..12].copy_from_slice(&STAMP.0);
    let expected = [(2, tagged(0, 0, &plain())), (3, stamped), (1, plain())];
    assert_eq!(world.take_sent(), expected);
}

/// OF13 clause 5.6.1: indirect.
#[test]
fn an_indirect_group_executes_its_one_bucket() {
    let mut world = with_group(GroupType::Indirect, &[bucket(&[output(3)])]);

    assert_eq!(ways(&mut world, &plain()), [3]);
}

/// OF13 clauses 5.6 and 5.10: the actions of a bucket are an action set.
#[test]
fn the_actions_of_a_bucket_are_executed_in_the_order_of_an_action_set() {
    let actions = [output(3), output(2), Action::PushVlan(EtherType::VLAN)];
    let mut world = with_group(GroupType::All, &[bucket(&actions), bucket(&[stamp()])]);

    world.frame(1, &plain());

    assert_eq!(world.take_sent(), [(2, tagged(0, 0, &plain()))]);
}

/// OF13 clause 5.10: with a group in the action set the output is ignored, and
/// the group comes last.
#[test]
fn a_group_in_the_action_set_comes_last_and_replaces_the_output() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::Indirect, &[bucket(&[output(3)])]);
    let actions = [to_group(1), output(2), stamp()];
    let instructions = [Instruction::WriteActions(Actions::of(&actions))];
    world.tell(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));

    world.frame(1, &plain());

    let mut stamped = plain();
    stamped[6..12].copy_from_slice(&STAMP.0);
    assert_eq!(world.take_sent(), [(3, stamped)]);
}

/// OF13 clause 5.11: what earlier tables wrote is executed behind a group, on the
/// frame as it was.
#[test]
fn the_action_set_sees_nothing_of_what_a_group_did() {
    let mut world = World::with_controller(unpaced());
    let change = [Action::PushVlan(EtherType::VLAN), output(3)];
    add(&mut world, 1, GroupType::Indirect, &[bucket(&change)]);
    let (later, now) = ([output(2)], [to_group(1)]);
    for (table, instructions) in [
        (
            0,
            [
                Instruction::WriteActions(Actions::of(&later)),
                Instruction::GotoTable(TableId(1)),
            ],
        ),
        (
            1,
            [
                Instruction::ApplyActions(Actions::of(&now)),
                Instruction::WriteMetadata {
                    metadata: 1,
                    mask: 1,
                },
            ],
        ),
    ] {
        world.tell(&Message::FlowMod(FlowMod {
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(table))
        }));
    }

    world.frame(1, &plain());

    let expected = [(3, tagged(0, 0, &plain())), (2, plain())];
    assert_eq!(world.take_sent(), expected);
}

/// OF13 clause 5.6: a group without buckets does nothing with a frame.
#[test]
fn a_group_without_buckets_lets_nothing_through() {
    for kind in GroupType::ALL {
        let mut world = with_group(*kind, &[]);

        assert!(ways(&mut world, &plain()).is_empty(), "{kind:?}");
    }
}

/// OF13 clause 7.3.7.
#[test]
fn a_packet_out_can_go_through_a_group() {
    let mut world = World::with_controller(unpaced());
    let buckets = [bucket(&[output(1)]), bucket(&[output(3)])];
    add(&mut world, 5, GroupType::All, &buckets);
    let actions = [to_group(5)];

    world.tell(&Message::PacketOut(PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber::CONTROLLER,
        actions: Actions::of(&actions),
        data: &plain(),
    }));

    let ways: Vec<_> = world
        .take_sent()
        .into_iter()
        .map(|(port, _)| port)
        .collect();
    assert_eq!(ways, [1, 3]);
}

/// OF13 clause 5.6.1: a time to live that ends in one bucket does not
/// end the others.
#[test]
fn a_frame_that_ends_in_one_bucket_goes_on_in_the_next() {
    let buckets = [
        bucket(&[Action::DecrementNetworkTtl, output(2)]),
        bucket(&[output(3)]),
    ];
    let mut world = with_group(GroupType::All, &buckets);

    assert_eq!(ways(&mut world, &udp(1, b"payload")), [3]);
    let counters = world.switch.counters();
    assert_eq!((counters.abandoned, counters.sent), (1, 1));
}

/// OF13 clause 5.6.1, fast failover: the first bucket that is alive, at once and
/// without a controller.
#[test]
fn a_fast_failover_group_takes_the_first_way_that_is_up() {
    let buckets = [
        watching_port(2, bucket(&[output(2)])),
        watching_port(3, bucket(&[output(3)])),
    ];
    let mut world = with_group(GroupType::FastFailover, &buckets);

    let first = ways(&mut world, &plain());
    world.link(2, Link::Down);
    let second = ways(&mut world, &plain());
    world.link(3, Link::Down);
    let none = ways(&mut world, &plain());
    world.link(2, Link::Up);
    let again = ways(&mut world, &plain());

    assert_eq!((first, second), (vec![2], vec![3]));
    assert_eq!((none, again), (vec![], vec![2]));
}

/// OF13 clauses 5.6.1 and 7.2.1: a port that a controller took down is not alive
/// either.
#[test]
fn a_port_that_was_configured_down_is_not_alive() {
    let buckets = [
        watching_port(2, bucket(&[output(2)])),
        watching_port(3, bucket(&[output(3)])),
    ];
    let mut world = with_group(GroupType::FastFailover, &buckets);

    world.ask(&Message::PortMod(PortMod {
        port: PortNumber(2),
        address: ports(3, None)[1].mac,
        config: PortConfig::PORT_DOWN,
        mask: PortConfig::PORT_DOWN,
        advertise: PortFeatures::NONE,
    }));

    assert_eq!(ways(&mut world, &plain()), [3]);
}

/// OF13 clause 7.3.4.2: a group is alive if one of its buckets is, and a bucket
/// if its port or its group is.
#[test]
fn a_bucket_lives_as_long_as_the_group_that_it_watches() {
    let mut world = World::with_controller(unpaced());
    let watched = [
        watching_port(2, bucket(&[output(2)])),
        watching_port(3, bucket(&[output(3)])),
    ];
    add(&mut world, 10, GroupType::FastFailover, &watched);
    add(
        &mut world,
        20,
        GroupType::FastFailover,
        &[watching_group(10, bucket(&[to_group(10)]))],
    );
    let top = [
        watching_group(20, bucket(&[to_group(20)])),
        watching_port(1, bucket(&[output(PortNumber::IN_PORT.0)])),
    ];
    add(&mut world, 30, GroupType::FastFailover, &top);
    world.add(1, &[from(1)], &[to_group(30)]);

    let mut seen = Vec::new();
    for (port, link) in [
        (2, Link::Up),
        (2, Link::Down),
        (3, Link::Down),
        (2, Link::Up),
    ] {
        world.link(port, link);
        seen.extend(ways(&mut world, &plain()));
    }
    world.answers(CONTROLLER); // What the ports did.
    modify(&mut world, 10, GroupType::FastFailover, &watched[1..]);
    seen.extend(ways(&mut world, &plain()));

    assert_eq!(seen, [2, 3, 1, 2, 1]);
}

/// OF13 clause 5.6.1, select: dead buckets are passed over, and whoever had a
/// living one keeps it.
#[test]
fn flows_of_a_dead_bucket_spread_over_the_others_and_come_back() {
    let buckets = [
        watching_port(2, weighing(1, bucket(&[output(2)]))),
        watching_port(3, weighing(1, bucket(&[output(3)]))),
        watching_port(4, weighing(2, bucket(&[output(4)]))),
    ];
    let mut config = unpaced();
    config.ports = ports(4, None);
    let mut world = World::with_controller(config);
    add(&mut world, 1, GroupType::Select, &buckets);
    world.add(1, &[from(1)], &[to_group(1)]);
    let flows: Vec<_> = (0..400).map(flow).collect();
    let all =
        |world: &mut World| -> Vec<_> { flows.iter().flat_map(|flow| ways(world, flow)).collect() };

    let before = all(&mut world);
    world.link(4, Link::Down);
    let meanwhile = all(&mut world);
    world.link(4, Link::Up);
    let after = all(&mut world);

    assert_eq!(before, after);
    for (before, meanwhile) in before.iter().zip(&meanwhile) {
        assert!(before == meanwhile || *before == 4 && [2, 3].contains(meanwhile));
    }
    let moved = [2, 3].map(|port| {
        let both = before.iter().zip(&meanwhile);
        both.filter(|it| *it == (&4, &port)).count()
    });
    assert!(
        moved.iter().all(|moved| (60..140).contains(moved)),
        "{moved:?}"
    );
}

/// OF13 clause 5.6.1: the fragments of a packet stay together.
#[test]
fn fragments_with_and_without_ports_go_the_same_way() {
    let buckets = [
        weighing(1, bucket(&[output(2)])),
        weighing(1, bucket(&[output(3)])),
    ];
    let mut world = with_group(GroupType::Select, &buckets);

    for number in 0..100 {
        let mut first = flow(number);
        first[20] = 0x20;
        let mut later = first.clone();
        later[20..22].copy_from_slice(&[0x00, 0x10]);
        let way = ways(&mut world, &first);
        assert_eq!(way, ways(&mut world, &later));
    }
}

/// OF13 clause 5.6.1, in IPv6.
#[test]
fn fragments_of_ipv6_go_the_same_way() {
    let buckets = [
        weighing(1, bucket(&[output(2)])),
        weighing(1, bucket(&[output(3)])),
    ];
    let mut world = with_group(GroupType::Select, &buckets);

    for number in 0..100u16 {
        let mut packet = vec![0; 56];
        packet[0] = 0x60;
        packet[4..8].copy_from_slice(&[0, 16, 44, 64]);
        packet[40..44].copy_from_slice(&[17, 0, 0, 1]);
        packet[48..50].copy_from_slice(&number.to_be_bytes());
        let first = ways(&mut world, &frame(0x86dd, &packet));
        packet[43] = 8;
        assert_eq!(first, ways(&mut world, &frame(0x86dd, &packet)));
    }
}

/// A datagram of one of many flows.
fn flow(number: u16) -> Vec<u8> {
    let mut frame = udp(64, b"payload");
    frame[34..36].copy_from_slice(&number.to_be_bytes());
    frame
}

proptest! {
    /// OF13 clause 5.6.1: the shares follow the weights (five standard
    /// deviations of a fair draw), a bucket without a weight gets nothing, and
    /// a flow always takes the same way.
    #[test]
    fn shares_follow_the_weights_and_a_flow_sticks(
        weights in prop::collection::vec(0u16..5, 1..5),
        seed: u64,
        vary in 0usize..4,
    ) {
        let actions: Vec<_> = (2..6).map(|port| [output(port)]).collect();
        let buckets: Vec<_> = weights.iter().zip(&actions).map(|(weight, actions)| {
            weighing(*weight, bucket(actions))
        }).collect();
        let mut config = unpaced();
        config.ports = ports(5, None);
        config.seed = seed;
        let mut world = World::with_controller(config);
        add(&mut world, 1, GroupType::Select, &buckets);
        world.add(1, &[from(1)], &[to_group(1)]);
        let total: u16 = weights.iter().sum();
        const FLOWS: u16 = 1_000;

        let mut seen = BTreeMap::<u32, u32>::new();
        for number in 0..FLOWS {
            let mut frame = udp(64, b"payload");
            // Source address, IPv4 source, IPv4 destination, or UDP source.
            let at = [10, 28, 30, 34][vary];
            frame[at..at + 2].copy_from_slice(&number.to_be_bytes());
            let way = ways(&mut world, &frame);
            prop_assert_eq!(way.len(), usize::from(total > 0));
            prop_assert_eq!(&way, &ways(&mut world, &frame));
            way.iter().for_each(|port| *seen.entry(*port).or_default() += 1);
        }

        for (port, weight) in (2..).zip(&weights) {
            let share = f64::from(*weight) / f64::from(total.max(1));
            let expected = share * f64::from(FLOWS);
            let slack = 5.0 * (expected * (1.0 - share)).sqrt();
            let seen = f64::from(seen.get(&port).copied().unwrap_or(0));
            prop_assert!((seen - expected).abs() <= slack, "{seen} instead of {expected}");
        }
    }

    /// OF13 clause 5.6.1: whatever goes up and down, the first bucket that is
    /// alive is taken.
    #[test]
    fn the_first_living_bucket_is_taken_whatever_goes_up_and_down(
        order in Just(vec![2u32, 3, 4, 5]).prop_shuffle(),
        changes in prop::collection::vec((2u32..6, any::<bool>()), 1..30),
    ) {
        let actions: Vec<_> = order.iter().map(|port| [output(*port)]).collect();
        let buckets: Vec<_> = order.iter().zip(&actions).map(|(port, actions)| {
            watching_port(*port, bucket(actions))
        }).collect();
        let mut config = unpaced();
        config.ports = ports(5, None);
        let mut world = World::with_controller(config);
        add(&mut world, 1, GroupType::FastFailover, &buckets);
        world.add(1, &[from(1)], &[to_group(1)]);
        let mut up = [true; 6];

        for (port, rises) in changes {
            world.link(port, if rises { Link::Up } else { Link::Down });
            up[usize::try_from(port).unwrap()] = rises;

            let expected = order.iter().find(|port| up[usize::try_from(**port).unwrap()]);
            let expected: Vec<_> = expected.copied().into_iter().collect();
            prop_assert_eq!(ways(&mut world, &plain()), expected);
        }
    }
}

/// OF13 clause 5.6: groups lead to groups.
#[test]
fn groups_can_be_chained() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::Indirect, &[bucket(&[output(2)])]);
    add(&mut world, 2, GroupType::Indirect, &[bucket(&[output(3)])]);
    let push = [Action::PushVlan(EtherType::VLAN), to_group(1)];
    let buckets = [bucket(&push), bucket(&[to_group(2)])];
    add(&mut world, 3, GroupType::All, &buckets);
    world.add(1, &[from(1)], &[to_group(3)]);

    world.frame(1, &plain());

    let expected = [(2, tagged(0, 0, &plain())), (3, plain())];
    assert_eq!(world.take_sent(), expected);
}

/// The work of one frame is bounded, and what is beyond is counted.
#[test]
fn a_frame_goes_through_a_bounded_number_of_buckets() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::All, &[bucket(&[output(2)]); 30]);
    add(&mut world, 2, GroupType::All, &[bucket(&[to_group(1)]); 30]);
    world.add(1, &[from(1)], &[to_group(2)]);

    let sent = ways(&mut world, &plain()).len();

    // 30 buckets of the upper group, and as many of the lower as are left.
    let buckets = usize::try_from(GROUP_COPIES_A_FRAME).unwrap();
    let entered = (1..=30)
        .take_while(|upper| upper + (upper - 1) * 30 < buckets)
        .count();
    assert_eq!(sent, buckets - entered);
    let skipped = world.switch.counters().buckets_skipped;
    assert!(skipped > 0, "{skipped} buckets");
    let again = ways(&mut world, &plain()).len();
    assert_eq!(again, sent, "the next frame has a budget of its own");
}

/// A bucket that floods counts as the copies that it makes.
#[test]
fn floods_of_a_group_are_bounded_by_their_copies() {
    let mut world = World::with_controller(unpaced());
    let flood = bucket(&[output(PortNumber::FLOOD.0)]);
    add(&mut world, 1, GroupType::All, &[flood; 250]);
    world.add(1, &[from(1)], &[to_group(1)]);

    let sent = ways(&mut world, &plain()).len();

    let ports = 3;
    let floods = usize::try_from(GROUP_COPIES_A_FRAME).unwrap() / ports;
    assert_eq!(sent, floods * (ports - 1));
}

/// OF13 clause 5.6: a paced port holds copies of one frame that differ.
#[test]
fn copies_that_wait_keep_what_their_bucket_made_of_them() {
    let mut world = World::with_controller(crate::world::paced());
    let push = [Action::PushVlan(EtherType::VLAN), output(2)];
    let set = [stamp(), output(2)];
    let buckets = [bucket(&[output(2)]), bucket(&push), bucket(&set)];
    add(&mut world, 1, GroupType::All, &buckets);
    world.add(1, &[from(1)], &[to_group(1)]);

    world.frame(1, &plain());
    world.run_until(Instant::ZERO + Duration::from_ms(1));

    let mut stamped = plain();
    stamped[6..12].copy_from_slice(&STAMP.0);
    let expected = [(2, plain()), (2, tagged(0, 0, &plain())), (2, stamped)];
    assert_eq!(world.take_sent(), expected);
}
