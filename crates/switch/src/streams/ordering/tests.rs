use std::collections::BTreeMap;

use proptest::prelude::*;
use units::Duration;
use wire::openflow::taktos::{RecoveryAlgorithm, SequenceEncoding, StreamHandle};

use super::*;
use crate::streams::Passing;
use crate::streams::recovery::Recovery;

const HISTORY: u8 = 64;
const RESET: Duration = Duration::from_ms(100);
/// No two frames are sent closer to each other, so that no more come between two copies than
/// are remembered.
const SPACING: Duration = Duration::from_us(10);
const DELAY_MAX: Duration = Duration::from_us(400);

fn holding(hold: Duration) -> Eliminate {
    Eliminate {
        stream: StreamHandle(1),
        algorithm: RecoveryAlgorithm::Vector,
        history: HISTORY,
        reset: RESET,
        takes_unnumbered: false,
        strips_tag: true,
        encoding: SequenceEncoding::RTag,
        ways: None,
        tolerance: 0,
        hold,
    }
}

/// A frame that came out: which of those that were sent, when it came in and when it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passed {
    frame: u64,
    arrived: Instant,
    left: Instant,
}

/// Both functions behind each other, which are called whenever they want to be.
struct Bench {
    how: Eliminate,
    recovery: Recovery,
    ordering: Ordering<(u64, Instant)>,
    passed: Vec<Passed>,
    held_most: usize,
}

impl Bench {
    fn new(how: Eliminate) -> Self {
        Self {
            how,
            recovery: Recovery::default(),
            ordering: Ordering::new(),
            passed: Vec::new(),
            held_most: 0,
        }
    }

    /// Takes a frame with a number; returns whether the recovery function hands it on.
    fn take(&mut self, now: Instant, number: u16, frame: u64) -> bool {
        self.wait_until(now);
        if self.recovery.take(&self.how, now, Some(number)) == Passing::Dropped {
            return false;
        }
        match self.ordering.take(&self.how, now, number) {
            Standing::Next => self.pass(now, (frame, now)),
            Standing::Ahead => self
                .ordering
                .hold((number, now + self.how.hold), (frame, now)),
            Standing::Late => {}
        }
        self.let_go(now);
        self.held_most = self.held_most.max(self.ordering.waiting());
        true
    }

    fn wait_until(&mut self, now: Instant) {
        while let Some(due) = self.ordering.due().filter(|due| *due <= now) {
            self.let_go(due);
        }
    }

    fn let_go(&mut self, now: Instant) {
        while let Some(held) = self.ordering.let_go(now) {
            self.pass(now, held);
        }
    }

    fn pass(&mut self, now: Instant, (frame, arrived): (u64, Instant)) {
        self.passed.push(Passed {
            frame,
            arrived,
            left: now,
        });
    }

    fn finish(&mut self) {
        self.wait_until(Instant::FAR_FUTURE);
        assert_eq!(self.ordering.waiting(), 0);
    }

    fn frames(&self) -> Vec<u64> {
        self.passed.iter().map(|it| it.frame).collect()
    }
}

/// The same by numbers without end.
struct Model {
    hold: Duration,
    next: Option<u64>,
    waiting: BTreeMap<u64, Instant>,
    passed: Vec<Passed>,
    late: u64,
}

impl Model {
    fn take(&mut self, now: Instant, frame: u64) {
        self.wait_until(now);
        match self.next.is_some_and(|next| frame < next) {
            true => self.late += 1,
            false => drop(self.waiting.insert(frame, now)),
        }
        self.let_go(now);
    }

    fn wait_until(&mut self, now: Instant) {
        while let Some(arrived) = self.waiting.values().min()
            && *arrived + self.hold <= now
        {
            self.let_go(*arrived + self.hold);
        }
    }

    fn let_go(&mut self, now: Instant) {
        while let Some((&frame, &arrived)) = self.waiting.first_key_value()
            && (Some(frame) == self.next || self.waiting.values().any(|it| *it + self.hold <= now))
        {
            self.waiting.remove(&frame);
            self.next = Some(frame + 1);
            self.passed.push(Passed {
                frame,
                arrived,
                left: now,
            });
        }
    }
}

/// What becomes of a frame: how long after the one before it is sent, and how long each of
/// two ways takes, unless it loses it.
type Sent = (u64, [Option<u64>; 2]);

fn any_frames() -> impl Strategy<Value = Vec<Sent>> {
    let way = |loss| prop::option::weighted(1.0 - loss, 0..=in_us(DELAY_MAX));
    let gap = in_us(SPACING)..=60;
    let losses = prop::sample::select(vec![0.02, 0.3]);
    losses.prop_flat_map(move |loss| {
        prop::collection::vec((gap.clone(), [way(loss), way(loss)]), 1..120)
    })
}

/// Returns when frames are sent, and all copies in the order in which they come.
fn arrivals(frames: &[Sent]) -> (Vec<Instant>, Vec<(Instant, u64)>) {
    let mut sent = Vec::new();
    let mut copies = Vec::new();
    let mut now = Instant::ZERO;
    for (frame, (gap, ways)) in (0..).zip(frames) {
        now += Duration::from_us(*gap);
        sent.push(now);
        let delays = ways.iter().flatten();
        copies.extend(delays.map(|us| (now + Duration::from_us(*us), frame)));
    }
    copies.sort_unstable();
    (sent, copies)
}

proptest! {
    /// Whatever is lost and whichever way is quicker.
    #[test]
    fn frames_leave_as_by_numbers_without_end(
        frames in any_frames(),
        hold_us in 1..=500u64,
        first in prop::sample::select(vec![0u16, 1, 40_000, u16::MAX - 30]),
    ) {
        let hold = Duration::from_us(hold_us);
        let mut bench = Bench::new(holding(hold));
        let mut model = Model {
            hold,
            next: (first == 0).then_some(0),
            waiting: BTreeMap::new(),
            passed: Vec::new(),
            late: 0,
        };
        let (_, copies) = arrivals(&frames);

        for (now, frame) in copies {
            let [.., high, low] = (u64::from(first) + frame).to_be_bytes();
            if bench.take(now, u16::from_be_bytes([high, low]), frame) {
                model.take(now, frame);
            }
        }
        bench.finish();
        model.wait_until(Instant::FAR_FUTURE);

        prop_assert_eq!(&bench.passed, &model.passed);
        prop_assert_eq!(bench.ordering.late, model.late);
        let numbers = bench.frames();
        prop_assert!(numbers.windows(2).all(|two| two[0] < two[1]), "{:?}", numbers);
        let waited = |it: &Passed| it.left.saturating_since(it.arrived);
        prop_assert!(bench.passed.iter().all(|it| waited(it) <= hold));
        let left = u64::try_from(numbers.len()).unwrap();
        prop_assert_eq!(left + bench.ordering.late, bench.recovery.passed);
    }

    /// What the promise rests on: a hold by which the ways differ at most loses nothing, and
    /// where one copy of each frame comes, order takes nobody beyond the slower way.
    #[test]
    fn with_a_hold_as_long_as_ways_differ_nothing_is_late(frames in any_frames()) {
        let mut bench = Bench::new(holding(DELAY_MAX));
        let (sent, copies) = arrivals(&frames);

        for (now, frame) in copies {
            bench.take(now, u16::try_from(frame).unwrap(), frame);
        }
        bench.finish();

        prop_assert_eq!(bench.ordering.late, 0);
        let is_whole = frames.iter().all(|(_, ways)| ways.iter().any(Option::is_some));
        let latest = if is_whole { DELAY_MAX } else { DELAY_MAX + DELAY_MAX };
        for Passed { frame, left, .. } in &bench.passed {
            let at = sent[usize::try_from(*frame).unwrap()];
            prop_assert!(left.saturating_since(at) <= latest, "{} {} {}", frame, at, left);
        }
        prop_assert!(bench.ordering.gave_up == 0 || !is_whole);
    }

    /// Forged, of several senders at once, after any silence.
    #[test]
    fn whatever_numbers_come_no_frame_is_held_for_longer_nor_more_than_there_is_room(
        frames in prop::collection::vec((0..=3u8, 0u16..100, any::<u16>(), 0..200u64), 1..200),
        history in 2..=HISTORY,
    ) {
        let hold = Duration::from_us(300);
        let mut bench = Bench::new(Eliminate { history, reset: Duration::from_ms(1), ..holding(hold) });
        let mut now = Instant::ZERO;

        for (at, (kind, near, far, gap)) in (0..).zip(frames) {
            let gap = if kind == 3 { gap * 20 } else { gap };
            now += Duration::from_us(gap);
            bench.take(now, if kind > 1 { far } else { near }, at);
        }
        bench.finish();

        prop_assert!(bench.held_most < usize::from(history), "{}", bench.held_most);
        let waited = |it: &Passed| it.left.saturating_since(it.arrived);
        prop_assert!(bench.passed.iter().all(|it| waited(it) <= hold));
        let left = u64::try_from(bench.passed.len()).unwrap();
        prop_assert_eq!(left + bench.ordering.late, bench.recovery.passed);
    }
}

fn in_us(time: Duration) -> u64 {
    time.as_ns() / 1_000
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

#[test]
fn a_sender_that_begins_anew_waits_for_one_hold_and_loses_nothing() {
    let mut bench = Bench::new(holding(Duration::from_us(300)));
    bench.take(at_us(0), 0, 0);
    bench.take(at_us(10), 1, 1);

    let again = in_us(RESET) + 10;
    bench.take(at_us(again), 7_001, 3);
    bench.take(at_us(again + 20), 7_000, 2);
    bench.take(at_us(again + 400), 7_002, 4);

    assert_eq!(bench.frames(), [0, 1, 2, 3, 4]);
    let left: Vec<_> = bench.passed.iter().map(|it| it.left).collect();
    let together = at_us(again + 300);
    assert_eq!(left[2..], [together, together, at_us(again + 400)]);
    assert_eq!(bench.ordering.late, 0);
}

#[test]
fn after_a_silence_the_next_number_leaves_at_once() {
    let mut bench = Bench::new(holding(Duration::from_us(300)));
    bench.take(at_us(0), 0, 0);

    bench.take(at_us(2 * in_us(RESET)), 1, 1);

    assert_eq!(bench.frames(), [0, 1]);
    assert_eq!(bench.ordering.held, 0);
}

/// A number that the recovery function would not hand on any more is not waited for.
#[test]
fn what_is_out_of_the_history_is_not_waited_for() {
    let how = Eliminate {
        history: 4,
        ..holding(Duration::from_ms(50))
    };
    let mut bench = Bench::new(how);
    bench.take(at_us(0), 0, 0);
    for number in 2..=4 {
        bench.take(at_us(u64::from(number)), number, number.into());
    }
    assert_eq!(bench.frames(), [0]);

    bench.take(at_us(5), 5, 5);

    assert_eq!(bench.frames(), [0, 2, 3, 4, 5]);
    assert_eq!((bench.ordering.held, bench.ordering.gave_up), (4, 1));
    assert!(!bench.take(at_us(6), 1, 1));
}
