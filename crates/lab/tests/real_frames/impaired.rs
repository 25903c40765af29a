//! Cables that lose or corrupt frames while both of their ends see a carrier.

use std::num::NonZeroU32;
use std::os::fd::AsFd;

use linux::impaired_interface::{HitFrames, ImpairedInterface};
use linux::interface::{Carrier, Interface};
use linux::namespace::Namespace;
use linux::port::{PacketPort, Sent};

use crate::{await_some, frame, joined, kernel_forwards, namespace_or_skip};

const RING_BYTES: usize = 1 << 20;
const NUMBER: u64 = 7;
/// Frames of which one in ten is lost.
const MANY: u32 = 1_000;

#[test]
fn a_cable_loses_one_way_what_it_is_told_to_and_both_ends_see_a_carrier() {
    let test = "a_cable_loses_one_way_what_it_is_told_to_and_both_ends_see_a_carrier";
    let Some(mut pair) = Pair::impaired(test) else {
        return;
    };

    pair.there(1);
    assert_eq!(pair.arrived_there(), [1]);
    pair.impaired.lose(Some(NonZeroU32::MIN));
    pair.there(2);
    pair.there(3);
    pair.back(4);
    assert_eq!(pair.arrived_back(), [4]);
    pair.impaired.lose(None);
    pair.there(5);

    assert_eq!(pair.arrived_there(), [5]);
    assert_eq!(pair.carriers(), [Carrier::Present; 2]);
    assert_eq!((pair.impaired.lost(), pair.impaired.untold()), (2, 0));
    let hits = pair.hit_frames();
    assert_eq!(
        hits,
        [(NUMBER, false, frame(60, 2)), (NUMBER, false, frame(60, 3))]
    );
}

#[test]
fn a_corrupted_frame_differs_from_what_was_sent_by_one_bit() {
    let test = "a_corrupted_frame_differs_from_what_was_sent_by_one_bit";
    let Some(mut pair) = Pair::impaired(test) else {
        return;
    };
    pair.impaired.corrupt(Some(NonZeroU32::MIN));

    for mark in 0..50 {
        pair.there(mark);

        let arrived = pair.next_there();
        let bits = arrived
            .iter()
            .zip(frame(60, mark))
            .map(|(is, was)| (is ^ was).count_ones());
        assert_eq!(bits.sum::<u32>(), 1, "{arrived:?}");
    }
    assert_eq!((pair.impaired.corrupted(), pair.impaired.lost()), (50, 0));
    let hits = pair.hit_frames();
    assert!(
        hits.iter()
            .zip(0..)
            .all(|(hit, mark)| *hit == (NUMBER, true, frame(60, mark)))
    );
}

#[test]
fn one_frame_in_ten_is_lost_at_random() {
    let Some(mut pair) = Pair::impaired("one_frame_in_ten_is_lost_at_random") else {
        return;
    };
    pair.impaired.lose(NonZeroU32::new(10));

    for mark in 0..MANY {
        pair.there(mark);
    }

    // Seven standard deviations.
    let lost = pair.impaired.lost();
    assert!((34..166).contains(&lost), "{lost}");
    assert_eq!(pair.hit_frames().len() as u64, lost);
}

/// Two ports with a cable that is impaired from the left to the right.
struct Pair {
    ports: [PacketPort; 2],
    interfaces: [Interface; 2],
    impaired: ImpairedInterface,
    hits: HitFrames,
}

impl Pair {
    fn impaired(test: &str) -> Option<Self> {
        let left = namespace_or_skip(test).filter(|_| kernel_forwards(test))?;
        let ends = joined(left, Namespace::new().unwrap());
        let hits = HitFrames::create().unwrap();
        let (descriptor, right) = (hits.as_fd(), ends[1].index);
        let attach = || ImpairedInterface::attach(right, NUMBER, descriptor).unwrap();
        let impaired = ends[1].namespace.run(attach);
        let open = |end: usize| {
            let index = ends[end].index;
            ends[end]
                .namespace
                .run(|| PacketPort::open(index, RING_BYTES).unwrap())
        };
        let named = |end: usize, name| ends[end].namespace.run(|| Interface::named(name).unwrap());
        Some(Self {
            ports: [open(0), open(1)],
            interfaces: [named(0, "left"), named(1, "right")],
            impaired,
            hits,
        })
    }

    fn there(&mut self, mark: u32) {
        assert_eq!(self.ports[0].send(&frame(60, mark)), Sent::Taken);
    }

    fn back(&mut self, mark: u32) {
        assert_eq!(self.ports[1].send(&frame(60, mark)), Sent::Taken);
    }

    fn next_there(&mut self) -> Vec<u8> {
        await_some("the frame", || {
            self.ports[1].receive(|arrived| arrived.frame.whole().unwrap().to_vec())
        })
    }

    fn arrived_there(&mut self) -> [u32; 1] {
        [mark(&self.next_there())]
    }

    fn arrived_back(&mut self) -> [u32; 1] {
        let frame = await_some("the frame", || {
            self.ports[0].receive(|arrived| arrived.frame.whole().unwrap().to_vec())
        });
        [mark(&frame)]
    }

    fn carriers(&self) -> [Carrier; 2] {
        self.interfaces.each_ref().map(|it| it.carrier().unwrap())
    }

    fn hit_frames(&mut self) -> Vec<(u64, bool, Vec<u8>)> {
        let mut hits = Vec::new();
        let take = |hit: linux::impaired_interface::HitFrame<'_>| {
            hits.push((hit.number, hit.is_corrupted, hit.bytes.to_vec()));
        };
        self.hits.drain(take).unwrap();
        hits
    }
}

fn mark(frame: &[u8]) -> u32 {
    u32::from_be_bytes(*frame.last_chunk().unwrap())
}
