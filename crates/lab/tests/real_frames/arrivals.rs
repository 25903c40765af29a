//! What arrives, as a port with a network card that stamps would take it.
//!
//! A virtual cable has no card: the frames come as they would, with the kernel's stamp
//! alone.

use linux::arrivals::Arrivals;
use linux::clock::WallTime;
use linux::interface::{CardStamps, Interface};
use linux::interface_guard::{InterfaceGuard, Tags};
use linux::namespace::Namespace;
use linux::sender::{ClassId, Queued, Sender};
use linux::stamps::Stamps;

use crate::{Plugged, await_some, frame, joined, namespace_or_skip};

const NO_CLASS: ClassId = ClassId { major: 0, minor: 0 };
const FRAMES: u32 = 100;

#[test]
fn frames_arrive_in_order_and_whole() {
    let Some([left, right]) = cable("arrivals on a cable") else {
        return;
    };
    let mut sender = sender(&left);
    let mut arrivals = arrivals(&right);

    for number in 0..FRAMES {
        assert_eq!(sender.send(&frame(60, number)).unwrap(), Queued::Taken);
    }

    for number in 0..FRAMES {
        let (bytes, length, stamps) = next(&mut arrivals);
        assert_eq!((bytes, length), (frame(60, number), 60));
        assert_eq!(stamps.card, None);
    }
    assert_eq!(arrivals.lost(), 0);
}

#[test]
fn the_kernels_stamp_comes_beside_a_frame_once_it_stamps() {
    let Some([left, right]) = cable("arrivals with stamps") else {
        return;
    };
    let mut sender = sender(&left);
    let mut arrivals = arrivals(&right);

    // The kernel begins to stamp some time after it was asked to.
    let (before, stamp) = await_some("a stamp", || {
        let before = WallTime::now();
        sender.send(&frame(60, 7)).unwrap();
        let (_, _, stamps) = next(&mut arrivals);
        stamps.kernel.map(|stamp| (before, stamp))
    });

    assert!((before..=WallTime::now()).contains(&stamp));
}

#[test]
fn a_tag_stands_in_the_frame_again() {
    let Some([left, right]) = cable("arrivals with tags") else {
        return;
    };
    let mut sender = sender(&left);
    let mut arrivals = arrivals(&right);
    let mut tagged = frame(64, 7);
    tagged[12..16].copy_from_slice(&[0x81, 0x00, 0x60, 0x64]);
    tagged[16..18].copy_from_slice(&[0x88, 0xb5]);

    sender.send(&tagged).unwrap();
    let (bytes, length, _) = next(&mut arrivals);

    assert_eq!((bytes, length), (tagged, 64));
}

#[test]
fn what_leaves_does_not_arrive() {
    let Some([left, right]) = cable("arrivals and departures") else {
        return;
    };
    let mut sender = sender(&left);
    let mut own = arrivals(&left);
    let mut others = arrivals(&right);

    sender.send(&frame(60, 7)).unwrap();
    next(&mut others);

    assert!(own.take(|_| ()).unwrap().is_none());
}

#[test]
fn an_interface_without_a_card_cannot_be_told_to_stamp_and_stays_as_it_is() {
    let Some([left, _right]) = cable("a loan without a card") else {
        return;
    };

    let (asked, told) = left.namespace.run(|| {
        let interface = || Interface::named("left").unwrap();
        let mut guard = InterfaceGuard::take(interface(), Tags::Anywhere).unwrap();
        (
            guard.stamp_by_card(),
            interface().let_card_stamp(CardStamps::EVERYTHING),
        )
    });

    assert!(asked.is_err() && told.is_err(), "{asked:?}, {told:?}");
}

fn cable(test: &str) -> Option<[Plugged; 2]> {
    let left = namespace_or_skip(test)?;
    Some(joined(left, Namespace::new().unwrap()))
}

fn sender(at: &Plugged) -> Sender {
    at.namespace
        .run(|| Sender::open(at.index, NO_CLASS).unwrap())
}

fn arrivals(at: &Plugged) -> Arrivals {
    at.namespace.run(|| Arrivals::open(at.index).unwrap())
}

fn next(arrivals: &mut Arrivals) -> (Vec<u8>, usize, Stamps) {
    await_some("a frame", || {
        let taken = arrivals.take(|it| (it.bytes.to_vec(), it.length, it.stamps));
        taken.unwrap()
    })
}
