//! What is done with frames: OF10 sections 3.3 and 5.2.4.

use wire::ethernet::MacAddress;
use wire::openflow::QueueId;
use wire::openflow10::{Action, Match10, PortNumber};

use super::{add, output, world};
use crate::frames::{checksums_hold, frame, tagged, udp};
use crate::world::{World, paced, unpaced};

/// Returns what becomes of a frame under these actions and an output.
fn after(actions: &[Action], frame: &[u8]) -> Vec<u8> {
    let mut world = world(unpaced());
    let actions = [actions, &[output(2)]].concat();
    add(&mut world, 1, Match10::ANY, &actions);
    world.frame(1, frame);
    let mut sent = world.take_sent();
    assert_eq!(sent.len(), 1);
    sent.remove(0).1
}

fn ports(world: &mut World) -> Vec<u32> {
    world.take_sent().into_iter().map(|it| it.0).collect()
}

/// OF10 section 3.3 (`OFPAT_SET_VLAN_VID`).
#[test]
fn setting_the_vlan_makes_a_tag_if_there_is_none() {
    let untagged = udp(9, b"datagram");

    assert_eq!(
        after(&[Action::SetVlanVid(7)], &untagged),
        tagged(7, 0, &untagged)
    );
    assert_eq!(
        after(&[Action::SetVlanVid(7)], &tagged(3, 5, &untagged)),
        tagged(7, 5, &untagged)
    );
}

/// OF10 section 3.3 (`OFPAT_SET_VLAN_PCP`).
#[test]
fn setting_the_priority_makes_a_tag_if_there_is_none() {
    let untagged = udp(9, b"datagram");

    assert_eq!(
        after(&[Action::SetVlanPcp(6)], &untagged),
        tagged(0, 6, &untagged)
    );
    assert_eq!(
        after(
            &[Action::SetVlanPcp(6), Action::SetVlanVid(7)],
            &tagged(3, 5, &untagged)
        ),
        tagged(7, 6, &untagged)
    );
}

/// OF10 section 3.3 (`OFPAT_STRIP_VLAN`).
#[test]
fn stripping_takes_a_tag_away_if_there_is_one() {
    let untagged = udp(9, b"datagram");

    let stripped = after(&[Action::StripVlan], &tagged(3, 5, &untagged));
    let unchanged = after(&[Action::StripVlan], &untagged);

    assert!(stripped.starts_with(&untagged));
    assert_eq!(unchanged, untagged);
}

/// OF10 section 3.3: stripped and made anew.
#[test]
fn a_tag_that_was_stripped_is_made_again() {
    let untagged = udp(9, &[7; 40]);
    let actions = [Action::StripVlan, Action::SetVlanVid(4)];

    assert_eq!(
        after(&actions, &tagged(3, 5, &untagged)),
        tagged(4, 0, &untagged)
    );
}

/// OF10 section 3.3.
#[test]
fn addresses_are_set_and_checksums_kept() {
    let mac = MacAddress([2, 0, 0, 0, 0, 9]);
    let before = udp(9, b"datagram");
    let actions = [
        Action::SetDlSrc(mac),
        Action::SetDlDst(MacAddress([2, 0, 0, 0, 0, 8])),
        Action::SetNwSrc([192, 0, 2, 1].into()),
        Action::SetNwDst([192, 0, 2, 2].into()),
        Action::SetNwTos(0xb8),
        Action::SetTpSrc(4000),
        Action::SetTpDst(5000),
    ];

    let sent = after(&actions, &before);

    assert_eq!(sent[..12], [2, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 9]);
    assert_eq!(sent[15], 0xb8);
    assert_eq!(sent[26..34], [192, 0, 2, 1, 192, 0, 2, 2]);
    assert_eq!(sent[34..38], [0x0f, 0xa0, 0x13, 0x88]);
    assert!(checksums_hold(&sent));
}

/// OF10 section 5.2.4: the type of service has two bits that are not set.
#[test]
fn the_lower_bits_of_the_type_of_service_stay() {
    let mut before = udp(9, b"datagram");
    before[15] = 0x03;

    let sent = after(&[Action::SetNwTos(0x20)], &before);

    assert_eq!(sent[15], 0x23);
}

/// OF10 section 3.3: what is not there is not changed.
#[test]
fn fields_of_the_network_are_left_alone_where_there_is_none() {
    let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1];
    let arp = frame(0x0806, &[&arp[..], &[0; 10]].concat());
    let actions = [
        Action::SetNwSrc([192, 0, 2, 1].into()),
        Action::SetNwDst([192, 0, 2, 2].into()),
        Action::SetNwTos(0xb8),
        Action::SetTpSrc(4000),
        Action::SetTpDst(5000),
    ];

    for before in [arp, frame(0x88b5, &[7; 46])] {
        assert_eq!(after(&actions, &before), before);
    }
}

/// OF10 section 3.3 (`OFPP_*`).
#[test]
fn an_output_can_be_every_port_but_that_of_arrival_or_just_that() {
    for (port, expected) in [
        (PortNumber::ALL, vec![1, 3]),
        (PortNumber::FLOOD, vec![1, 3]),
        (PortNumber::IN_PORT, vec![2]),
        (PortNumber(2), vec![]),
    ] {
        let mut world = world(unpaced());
        add(&mut world, 1, Match10::ANY, &[Action::output(port)]);

        world.frame(2, &frame(0x88b5, b""));

        assert_eq!(ports(&mut world), expected, "{port:?}");
    }
}

/// OF10 section 3.3 (`OFPAT_ENQUEUE`): the queue is for this output only.
#[test]
fn an_output_through_a_queue_leaves_later_ones_alone() {
    let mut world = world(paced());
    let enqueue = Action::Enqueue {
        port: PortNumber(2),
        queue: QueueId(6),
    };
    add(&mut world, 1, Match10::ANY, &[enqueue, output(3)]);

    world.frame(1, &frame(0x88b5, &[0; 46]));

    let sent = |world: &World, port| {
        let queues = world
            .switch
            .queue_counters(wire::openflow::PortNumber(port));
        queues.unwrap().map(|queue| queue.sent_frames)
    };
    assert_eq!(sent(&world, 2), [0, 0, 0, 0, 0, 0, 1, 0]);
    assert_eq!(sent(&world, 3), [1, 0, 0, 0, 0, 0, 0, 0]);
}

/// OF10 section 3.3: an output sends the frame as it is at that moment.
#[test]
fn actions_are_done_in_their_order() {
    let mut world = world(unpaced());
    let before = udp(9, b"datagram");
    add(
        &mut world,
        1,
        Match10::ANY,
        &[output(2), Action::SetVlanVid(7), output(3)],
    );

    world.frame(1, &before);

    let with_tag = tagged(7, 0, &before);
    assert_eq!(world.take_sent(), [(2, before), (3, with_tag)]);
}
