//! Cables, ports and taps.

use lab::veth::{self, Power};
use linux::interface::{Carrier, Interface};
use linux::namespace::Namespace;
use linux::port::{PacketPort, Sent};
use linux::tap::{Direction, Tap};

use crate::{await_some, frame, joined, namespace_or_skip, next_frame};

const RING_BYTES: usize = 1 << 20;

#[test]
fn a_frame_crosses_a_cable_and_is_stamped_at_both_ends_in_order() {
    let test = "a_frame_crosses_a_cable_and_is_stamped_at_both_ends_in_order";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [left, right] = joined(left, Namespace::new().unwrap());
    let open_tap = |index| move || Tap::open(index, RING_BYTES).unwrap();
    let mut left_tap = left.namespace.run(open_tap(left.index));
    let mut right_tap = right.namespace.run(open_tap(right.index));
    let mut sender = left.namespace.run(|| {
        let class = linux::sender::ClassId { major: 0, minor: 0 };
        linux::sender::Sender::open(left.index, class).unwrap()
    });

    sender.send(&frame(60, 7)).unwrap();

    let (_, left_at) = next_frame(&mut left_tap, Direction::Out);
    let (bytes, right_at) = next_frame(&mut right_tap, Direction::In);
    assert_eq!(bytes, frame(60, 7));
    assert!(
        left_at <= right_at,
        "left {left_at:?}, arrived {right_at:?}"
    );
}

#[test]
fn a_tag_that_the_kernel_took_out_is_back_in_the_frame() {
    let test = "a_tag_that_the_kernel_took_out_is_back_in_the_frame";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [left, right] = joined(left, Namespace::new().unwrap());
    let open_port = |index| move || PacketPort::open(index, RING_BYTES).unwrap();
    let mut left_port = left.namespace.run(open_port(left.index));
    let mut right_port = right.namespace.run(open_port(right.index));
    let untagged = frame(60, 1);
    let tagged = |tag: [u8; 4]| [&untagged[..12], &tag, &untagged[12..]].concat();
    let priority_only = tagged([0x81, 0x00, 0x80, 0x00]);
    let service_tag = tagged([0x88, 0xa8, 0x20, 0x65]);

    for sent in [&untagged, &priority_only, &service_tag] {
        assert_eq!(left_port.send(sent), Sent::Taken);

        let received = await_some("the frame", || {
            right_port.receive(|arrived| arrived.frame.whole().unwrap().to_vec())
        });

        assert_eq!(&received, sent);
    }
}

#[test]
fn a_port_does_not_hear_itself_and_survives_that_its_cable_is_cut_and_healed() {
    let test = "a_port_does_not_hear_itself_and_survives_that_its_cable_is_cut_and_healed";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [mut left, right] = joined(left, Namespace::new().unwrap());
    let mut left_port = left
        .namespace
        .run(|| PacketPort::open(left.index, RING_BYTES).unwrap());
    let mut right_port = right
        .namespace
        .run(|| PacketPort::open(right.index, RING_BYTES).unwrap());
    let right_interface = right.namespace.run(|| Interface::named("right").unwrap());
    assert_eq!(right_interface.carrier().unwrap(), Carrier::Present);

    veth::switch(&mut left.netlink, left.index, Power::Off).unwrap();

    assert_eq!(right_interface.carrier().unwrap(), Carrier::Lost);
    assert_eq!(left_port.send(&frame(60, 1)), Sent::Dropped);
    assert_eq!(right_port.send(&frame(60, 2)), Sent::Dropped);

    veth::switch(&mut left.netlink, left.index, Power::On).unwrap();

    assert_eq!(right_interface.carrier().unwrap(), Carrier::Present);
    assert_eq!(left_port.send(&frame(60, 3)), Sent::Taken);
    let received = await_some("the frame", || {
        right_port.receive(|arrived| arrived.frame.whole().unwrap().to_vec())
    });
    assert_eq!(received, frame(60, 3));
    assert_eq!(left_port.receive(|_| ()), None);
}

#[test]
fn the_longest_frame_is_captured_whole() {
    let test = "the_longest_frame_is_captured_whole";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [left, right] = joined(left, Namespace::new().unwrap());
    let mut port = left
        .namespace
        .run(|| PacketPort::open(left.index, RING_BYTES).unwrap());
    let mut tap = right
        .namespace
        .run(|| Tap::open(right.index, RING_BYTES).unwrap());
    let sent = frame(1514, 5);

    assert_eq!(port.send(&sent), Sent::Taken);

    await_some("the frame", || {
        tap.take(|captured| {
            assert_eq!(captured.length, 1514);
            assert_eq!(captured.bytes, sent);
        })
    });
}
