//! The queues of a paced interface: what they hold, in which order they are served,
//! what they count, and that the interface is given back.

use std::io::{self, Write};

use lab::veth::Power;
use linux::interface::{self, Interface, Steering};
use linux::interface_guard::{InterfaceGuard, Tags};
use linux::namespace::Namespace;
use linux::netlink::{Purpose, Request, attribute};
use linux::port::{Engine, PacketPort, Port, Sent};
use linux::qdisc::{Length, PacedLink, PacingError, QUEUES, Qdisc, QueueReader, QueueState, Shape};
use linux::scheduling::{self, Placement, Wish};
use units::BitRate;

use crate::{Plugged, await_some, frame, joined, namespace_or_skip};

/// Slow enough for a test to be done before a second frame has left: a quarter of a
/// second a frame.
const SLOW: BitRate = BitRate::from_bps(50_000);
/// Slower than any machine offers frames.
const MODERATE: BitRate = BitRate::from_mbps(2);
const FAST: BitRate = BitRate::from_mbps(100);
const LONG: usize = 1514;
const RING_BYTES: usize = 1 << 20;

/// A cable whose left end is paced, and what is seen of it.
struct Bench {
    left: Plugged,
    port: Port,
    far_end: PacketPort,
    reader: QueueReader,
    _paced: PacedLink,
    right: Plugged,
}

impl Bench {
    fn new(test: &str, shape: Shape) -> Option<Self> {
        let [left, right] = joined(namespace_or_skip(test)?, Namespace::new().unwrap());
        let far_end = right.namespace.run(|| PacketPort::open(12, RING_BYTES));
        let paced = left
            .namespace
            .run(|| PacedLink::take(&named("left"), Qdisc::Htb, shape));
        let port = left.namespace.run(|| Port::open(Engine::Kernel, 11));
        let reader = left.namespace.run(|| QueueReader::open(11));
        Some(Self {
            port: port.unwrap(),
            far_end: far_end.unwrap(),
            reader: reader.unwrap(),
            _paced: paced.unwrap(),
            left,
            right,
        })
    }

    /// Sends frames through a queue; they are marked by queue and number. Returns
    /// how many were taken.
    fn send(&mut self, queue: u8, length: usize, count: u32) -> u32 {
        let frames = (0..count).map(|n| frame(length, mark(queue, n)));
        let taken = frames.filter(|frame| self.port.send(queue, frame) == Sent::Taken);
        u32::try_from(taken.count()).unwrap()
    }

    /// Waits for the next `count` frames and returns their marks.
    fn marks(&mut self, count: u32) -> Vec<u32> {
        let mut next = || await_some("a frame", || self.mark());
        (0..count).map(|_| next()).collect()
    }

    /// Returns the mark of the next frame that has arrived.
    fn mark(&mut self) -> Option<u32> {
        self.far_end.receive(|captured| {
            let (_, mark) = captured.frame.whole().unwrap().split_last_chunk().unwrap();
            u32::from_be_bytes(*mark)
        })
    }

    fn state(&mut self, queue: u8) -> QueueState {
        self.reader.read().unwrap()[usize::from(queue)]
    }
}

fn named(name: &str) -> Interface {
    Interface::named(name).unwrap()
}

fn mark(queue: u8, number: u32) -> u32 {
    u32::from(queue) * 1_000 + number
}

fn of_frames(rate: BitRate, frames: u32) -> Shape {
    let length = Length::Frames(frames);
    Shape { rate, length }
}

/// The name and the number of the outermost discipline of the left end, if it shows
/// one.
fn outermost(left: &mut Plugged) -> Option<(String, u32)> {
    const GET_DISCIPLINE: u16 = 38;
    const KIND: u16 = 1;
    let mut found = None;
    let request = Request::new(GET_DISCIPLINE, Purpose::Show, &about_outermost(left, 0));
    left.netlink
        .ask_for(request, |message| {
            let (header, rest) = message.body.split_at(20);
            let kind = attribute(rest, KIND).unwrap();
            let kind = String::from_utf8(kind.to_vec()).unwrap();
            let handle = u32::from_ne_bytes(header[8..12].try_into().unwrap());
            found = Some((kind.trim_end_matches('\0').into(), handle));
        })
        .unwrap();
    found
}

/// Gives the left end a discipline that is not ours.
fn occupy(left: &mut Plugged) {
    const NEW_DISCIPLINE: u16 = 36;
    const KIND: u16 = 1;
    let header = about_outermost(left, 0x0005_0000);
    let request = Request::new(NEW_DISCIPLINE, Purpose::Create, &header).with(KIND, b"pfifo\0");
    left.netlink.ask(request).unwrap();
}

fn about_outermost(left: &Plugged, handle: u32) -> Vec<u8> {
    const ROOT: u32 = u32::MAX;
    let words = [0, left.index, handle, ROOT, 0];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[test]
fn an_urgent_frame_waits_for_no_more_than_what_has_begun() {
    let test = "an_urgent_frame_waits_for_no_more_than_what_has_begun";
    let Some(mut bench) = Bench::new(test, of_frames(SLOW, 10)) else {
        return;
    };

    for queue in 0..7 {
        assert_eq!(bench.send(queue, LONG, 1), 1);
    }
    assert_eq!(bench.send(7, 60, 1), 1);

    // The first leaves at once, and the second by the burst of one frame.
    let [zero, one, urgent] = [mark(0, 0), mark(1, 0), mark(7, 0)];
    assert_eq!(bench.marks(3), [zero, one, urgent]);
    let lower = (2..7).rev().map(|queue| mark(queue, 0));
    assert_eq!(bench.marks(5), lower.collect::<Vec<_>>());
}

/// Timers pace a port, and go off on any processor: without steering some dozens of
/// 100,000 frames are overtaken.
#[test]
fn frames_keep_their_order_though_their_sender_changes_its_processor() {
    const FRAMES: u32 = 100_000;
    const AT_ONCE: u32 = 8;
    let test = "frames_keep_their_order_though_their_sender_changes_its_processor";
    let Some(mut bench) = Bench::new(test, of_frames(FAST, 200)) else {
        return;
    };
    let processors = scheduling::allowed_processors();
    let far_end = &bench.right.namespace;
    let steering = far_end.run(|| Steering::to(&named("right"), processors[0]));
    if let Err(reason) = &steering {
        let _ = writeln!(io::stderr(), "\nSKIPPED {test}: {reason}\n");
        return;
    }

    let mut latest = None;
    let mut arrived = 0;
    for (turn, processor) in (0..FRAMES / AT_ONCE).zip(processors.iter().cycle()) {
        scheduling::apply(Wish {
            nice: 0,
            placement: Placement::Only(*processor),
        });
        for number in 0..AT_ONCE {
            bench.port.send(0, &frame(250, turn * AT_ONCE + number));
        }
        while let Some(mark) = bench.mark() {
            assert!(latest < Some(mark), "{mark} came after {latest:?}");
            latest = Some(mark);
            arrived += 1;
        }
    }
    assert!(arrived > FRAMES / 10, "{arrived} arrived");
}

#[test]
fn the_most_urgent_pass_an_overloaded_queue_in_order() {
    const LOW: u32 = 400;
    const HIGH: u32 = 20;
    /// What may have begun before the urgent ones, as the rate has a burst.
    const BEGUN: usize = 2;
    let test = "the_most_urgent_pass_an_overloaded_queue_in_order";
    let Some(mut bench) = Bench::new(test, of_frames(FAST, 200)) else {
        return;
    };

    // A machine that stands still meanwhile may find the queue empty.
    await_some("a queue that is still full", || {
        let low = bench.send(0, LONG, LOW);
        let high = bench.send(7, 60, HIGH);
        let waiting = usize::try_from(bench.state(0).waiting_frames).unwrap();
        let marks = bench.marks(low + high);

        assert_eq!(high, HIGH, "their own queue has room");
        let of = |queue: u8| {
            let queue = u32::from(queue);
            marks.iter().filter(move |it| **it / 1_000 == queue)
        };
        assert!(of(0).is_sorted() && of(7).is_sorted());
        let last_urgent = marks.iter().rposition(|it| *it >= mark(7, 0)).unwrap();
        let behind = marks.len() - 1 - last_urgent;
        assert!(
            behind + BEGUN >= waiting,
            "{behind} left behind the last urgent frame, and {waiting} waited"
        );
        (waiting >= 50).then_some(())
    });
}

#[test]
fn what_was_offered_was_sent_or_dropped_or_waits() {
    const OFFERED: u32 = 100;
    let test = "what_was_offered_was_sent_or_dropped_or_waits";
    let Some(mut bench) = Bench::new(test, of_frames(MODERATE, 10)) else {
        return;
    };

    let taken = bench.send(3, LONG, OFFERED);

    let now = bench.state(3);
    assert!(now.waiting_frames <= 10, "{now:?}");
    let accounted = now.tally.sent_frames + now.tally.dropped_frames;
    assert_eq!(
        accounted + u64::from(now.waiting_frames),
        u64::from(OFFERED)
    );
    bench.marks(taken);
    let end = bench.state(3);
    assert_eq!((end.waiting_frames, end.waiting_bytes), (0, 0));
    assert_eq!(end.tally.sent_frames, u64::from(taken));
    assert_eq!(end.tally.sent_bytes, u64::from(taken) * LONG as u64);
    assert_eq!(end.tally.dropped_frames, u64::from(OFFERED - taken));
    assert!(end.tally.dropped_frames > 0);
    assert_eq!(bench.state(2), QueueState::default(), "nobody sent there");
}

#[test]
fn a_queue_bounded_in_bytes_holds_more_short_frames_than_long_ones() {
    let test = "a_queue_bounded_in_bytes_holds_more_short_frames_than_long_ones";
    let length = Length::Bytes(5 * 1514);
    let Some(mut bench) = Bench::new(test, Shape { rate: SLOW, length }) else {
        return;
    };

    bench.send(1, LONG, 20);
    bench.send(2, 60, 100);

    let (long, short) = (bench.state(1), bench.state(2));
    assert!((4..=5).contains(&long.waiting_frames), "{long:?}");
    assert!(long.tally.dropped_frames > 0);
    assert_eq!(short.tally.dropped_frames, 0);
}

#[test]
fn a_link_faster_than_32_bits_of_bytes_can_say_is_paced() {
    let test = "a_link_faster_than_32_bits_of_bytes_can_say_is_paced";
    let Some(mut bench) = Bench::new(test, of_frames(BitRate::from_mbps(100_000), 10)) else {
        return;
    };

    assert_eq!(bench.send(6, LONG, 10), 10);

    let marks = (0..10).map(|number| mark(6, number));
    assert_eq!(bench.marks(10), marks.collect::<Vec<_>>());
    assert_eq!(bench.state(6).tally.sent_frames, 10);
}

#[test]
fn an_interface_has_the_kernels_discipline_again_afterwards() {
    let test = "an_interface_has_the_kernels_discipline_again_afterwards";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [mut left, _right] = joined(left, Namespace::new().unwrap());
    let before = outermost(&mut left);

    let paced = left
        .namespace
        .run(|| PacedLink::take(&named("left"), Qdisc::Auto, of_frames(FAST, 10)));
    let during = outermost(&mut left);
    drop(paced.unwrap());

    assert_eq!(during.unwrap().0, "tbf");
    assert_eq!(outermost(&mut left), before);
}

#[test]
fn a_loan_ends_with_the_discipline_and_the_power_that_it_began_with() {
    let test = "a_loan_ends_with_the_discipline_and_the_power_that_it_began_with";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [mut left, _right] = joined(left, Namespace::new().unwrap());
    lab::veth::switch(&mut left.netlink, left.index, Power::Off).unwrap();
    let before = outermost(&mut left);

    left.namespace.run(|| {
        let mut guard = InterfaceGuard::take(named("left"), Tags::Anywhere).unwrap();
        let shape = of_frames(FAST, 10);
        guard.pace(Qdisc::Auto, shape).unwrap();
        guard.pace(Qdisc::Auto, shape).unwrap();
        assert_eq!(named("left").power().unwrap(), interface::Power::On);
    });

    let power = left.namespace.run(|| named("left").power().unwrap());
    assert_eq!(power, interface::Power::Off);
    assert_eq!(outermost(&mut left), before);
}

#[test]
fn what_a_killed_process_left_is_replaced() {
    let test = "what_a_killed_process_left_is_replaced";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [mut left, _right] = joined(left, Namespace::new().unwrap());
    let before = outermost(&mut left);
    let take = |qdisc| PacedLink::take(&named("left"), qdisc, of_frames(SLOW, 10));
    let killed = left.namespace.run(|| take(Qdisc::Htb).unwrap());
    // A discipline knows no process: this is what SIGKILL leaves.
    std::mem::forget(killed);
    let mut port = left
        .namespace
        .run(|| Port::open(Engine::Kernel, 11).unwrap());
    port.send(4, &frame(60, 1));

    let next = left.namespace.run(|| take(Qdisc::Htb).unwrap());
    let mut reader = left.namespace.run(|| QueueReader::open(11).unwrap());

    let fresh = [QueueState::default(); QUEUES as usize];
    assert_eq!(reader.read().unwrap(), fresh);
    std::mem::forget(next);
    // Whoever wants no pacing does not get that of the one before, either.
    let unpaced = left.namespace.run(|| take(Qdisc::None).unwrap());
    assert_eq!(outermost(&mut left), before);
    drop(unpaced);
    assert_eq!(outermost(&mut left), before);
}

#[test]
fn a_discipline_that_somebody_chose_stays_and_is_named() {
    let test = "a_discipline_that_somebody_chose_stays_and_is_named";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [mut left, _right] = joined(left, Namespace::new().unwrap());
    occupy(&mut left);
    let take = |qdisc| PacedLink::take(&named("left"), qdisc, of_frames(FAST, 10));

    for qdisc in [Qdisc::Auto, Qdisc::Htb] {
        let refused = left.namespace.run(|| take(qdisc)).unwrap_err();
        assert!(matches!(refused, PacingError::Occupied { .. }));
        let text = refused.to_string();
        assert!(
            text.contains("`left`") && text.contains("`pfifo` 5:"),
            "{text}"
        );
    }
    drop(left.namespace.run(|| take(Qdisc::None)).unwrap());

    let still = outermost(&mut left);
    assert_eq!(still, Some(("pfifo".into(), 0x0005_0000)));
}

#[test]
fn an_interface_that_is_not_paced_has_no_queues_to_read() {
    let test = "an_interface_that_is_not_paced_has_no_queues_to_read";
    let Some(left) = namespace_or_skip(test) else {
        return;
    };
    let [left, _right] = joined(left, Namespace::new().unwrap());
    let mut reader = left.namespace.run(|| QueueReader::open(11).unwrap());

    let error = reader.read().unwrap_err();

    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_frame_into_a_link_that_is_down_is_dropped_and_the_next_one_after_it_is_not() {
    let test = "a_frame_into_a_link_that_is_down_is_dropped_and_the_next_one_after_it_is_not";
    let Some(mut bench) = Bench::new(test, of_frames(FAST, 10)) else {
        return;
    };
    let set = |bench: &mut Bench, power| {
        lab::veth::switch(&mut bench.left.netlink, bench.left.index, power).unwrap();
    };

    set(&mut bench, Power::Off);
    assert_eq!(bench.port.send(5, &frame(60, 1)), Sent::Dropped);
    set(&mut bench, Power::On);

    await_some("a way out", || {
        (bench.port.send(5, &frame(60, 2)) == Sent::Taken).then_some(())
    });
    assert_eq!(bench.marks(1), [2]);
}
