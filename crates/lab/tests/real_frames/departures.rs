//! When frames leave, by the stamp of the driver.

use lab::stage::{LEFT, RIGHT, Testbed};
use linux::bpf::relay::{Hook, Relay};
use linux::clock::WallTime;
use linux::departures::{Departure, StampedBy, StampedSender};
use linux::namespace::Namespace;
use linux::sender::Queued;
use linux::tap::{Direction, Tap};

use crate::{frame, joined, namespace_or_skip, next_frame};

const FRAMES: u32 = 100;

#[test]
fn a_frame_is_stamped_while_it_is_sent_and_before_it_arrives() {
    let Some(left) = namespace_or_skip("departures on a cable") else {
        return;
    };
    let [left, right] = joined(left, Namespace::new().unwrap());
    let mut sender = left
        .namespace
        .run(|| StampedSender::open(left.index, StampedBy::Driver).unwrap());
    let mut tap = right
        .namespace
        .run(|| Tap::open(right.index, 1 << 20).unwrap());

    for number in 0..FRAMES {
        let before = WallTime::now();
        let (queued, name) = sender.send(&frame(60, 7)).unwrap();
        let after = WallTime::now();

        let [departure] = known(&mut sender)[..] else {
            panic!("frame {number} has not one departure");
        };
        let (_, arrived) = next_frame(&mut tap, Direction::In);
        assert_eq!((queued, name), (Queued::Taken, Some(number)));
        assert_eq!(departure.number, number);
        assert_eq!(departure.stamps.card, None);
        let left = departure.stamps.kernel.unwrap();
        assert!((before..=after).contains(&left));
        assert!(left.as_ns() <= arrived.as_ns());
    }
}

#[test]
fn what_a_relay_in_the_kernel_hands_on_departs_a_second_time_under_its_number() {
    if namespace_or_skip("departures through a relay").is_none() {
        return;
    }
    let stage = Testbed::build(2).unwrap();
    let [from, to] = [LEFT, RIGHT].map(|side| stage.port_indices()[side]);
    let _relay = stage
        .room
        .run(|| Relay::attach(from, to, Hook::TrafficControl).unwrap());
    let mut sender = stage.hosts[LEFT]
        .run(|| StampedSender::open(stage.interface(LEFT), StampedBy::Driver).unwrap());
    let mut tap = stage.hosts[RIGHT].run(|| Tap::open(stage.interface(RIGHT), 1 << 20).unwrap());

    for number in 0..FRAMES {
        sender.send(&frame(60, 7)).unwrap();

        let (_, arrived) = next_frame(&mut tap, Direction::In);
        let [here, there] = known(&mut sender)[..] else {
            panic!("frame {number} has not two departures");
        };
        assert_eq!([here.number, there.number], [number, number]);
        let [here, there] = [here, there].map(|it| it.stamps.kernel.unwrap());
        assert!(here <= there && there.as_ns() <= arrived.as_ns());
    }
}

/// Returns what is known to have left.
fn known(sender: &mut StampedSender) -> Vec<Departure> {
    let mut known = Vec::new();
    while sender
        .departures(|departure| known.push(departure))
        .unwrap()
        > 0
    {}
    known
}
