//! The pacing of a host's link, judged by the stamps behind it.

use linux::clock::WallTime;
use linux::namespace::Namespace;
use linux::qdisc::{self, Length, Shape};
use linux::sender::{Queued, Sender};
use linux::tap::{Direction, Tap};
use units::{BitRate, Instant};
use wire::ethernet::wire_size;

use crate::{frame, joined, namespace_or_skip, next_frame};

const RATE: BitRate = BitRate::from_mbps(5);
const FRAMES: u32 = 60;
/// What may have begun before an urgent frame, as the rate has a burst.
const BEGUN: usize = 2;

#[test]
fn frames_leave_no_faster_than_the_link_and_the_most_urgent_first() {
    let test = "frames_leave_no_faster_than_the_link_and_the_most_urgent_first";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [mut left, _right] = joined(left, Namespace::new().unwrap());
    let shape = Shape {
        rate: RATE,
        length: Length::Frames(FRAMES),
    };
    qdisc::pace(&mut left.netlink, left.index, shape).unwrap();
    let mut tap = left
        .namespace
        .run(|| Tap::open(left.index, 1 << 20).unwrap());
    let open = |queue| {
        left.namespace
            .run(move || Sender::open(11, qdisc::class(queue)).unwrap())
    };
    let (mut low, mut high) = (open(0), open(7));

    for mark in 0..FRAMES {
        assert_eq!(low.send(&frame(1514, mark)).unwrap(), Queued::Taken);
    }
    assert_eq!(high.send(&frame(60, 1000)).unwrap(), Queued::Taken);
    let handed_over = Instant::from_ns(WallTime::now().as_ns());

    let sent: Vec<_> = (0..=FRAMES)
        .map(|_| next_frame(&mut tap, Direction::Out))
        .collect();
    let urgent = sent.iter().position(|(bytes, _)| bytes.len() == 60);
    let before = &sent[..urgent.unwrap()];
    let late = before.iter().filter(|(_, at)| *at > handed_over).count();
    assert!(
        late <= BEGUN,
        "{late} frames left before an urgent one that was there"
    );
    let (first, last) = (sent[0].1, sent[sent.len() - 1].1);
    // One frame may leave early by the burst, and the last one begins only.
    let least = RATE.time_to_send(wire_size(1514)) * u64::from(FRAMES - 3);
    assert!(
        last - first >= least.round_up(),
        "{} < {least}",
        last - first
    );
}
