use std::collections::BTreeSet;

use proptest::prelude::*;
use units::Duration;
use wire::openflow::taktos::{SequenceEncoding, StreamHandle};

use super::*;

const RESET: Duration = Duration::from_ms(100);

fn vector(history: u8) -> Eliminate {
    Eliminate {
        stream: StreamHandle(1),
        algorithm: RecoveryAlgorithm::Vector,
        history,
        reset: RESET,
        takes_unnumbered: false,
        strips_tag: true,
        encoding: SequenceEncoding::RTag,
        ways: None,
        tolerance: 0,
        hold: Duration::ZERO,
    }
}

fn by_match() -> Eliminate {
    Eliminate {
        algorithm: RecoveryAlgorithm::Match,
        ..vector(2)
    }
}

fn duplicate_discard(history: u8) -> Eliminate {
    Eliminate {
        algorithm: RecoveryAlgorithm::DuplicateDiscard,
        encoding: SequenceEncoding::Prp,
        ..vector(history)
    }
}

/// A recovery function and a clock.
struct Bench {
    how: Eliminate,
    recovery: Recovery,
    now: Instant,
}

impl Bench {
    fn new(how: Eliminate) -> Self {
        Self {
            how,
            recovery: Recovery::default(),
            now: Instant::ZERO,
        }
    }

    fn passes(&mut self, number: u16) -> bool {
        let taken = self.recovery.take(&self.how, self.now, Some(number));
        taken == Passing::Passes
    }

    /// Returns which of these numbers are handed on.
    fn handed_on(&mut self, numbers: impl IntoIterator<Item = u16>) -> Vec<u16> {
        let mut numbers = Vec::from_iter(numbers);
        numbers.retain(|number| self.passes(*number));
        numbers
    }
}

#[test]
fn each_frame_is_handed_on_once_whichever_way_is_quicker() {
    let mut bench = Bench::new(vector(8));

    let handed = bench.handed_on([0, 1, 0, 2, 1, 3, 3, 2, 4, 5, 4, 5]);

    assert_eq!(handed, [0, 1, 2, 3, 4, 5]);
    assert_eq!(bench.recovery.discarded, 6);
    assert_eq!((bench.recovery.lost, bench.recovery.rogue), (0, 0));
}

#[test]
fn what_the_quicker_way_lost_is_taken_from_the_slower_one() {
    let mut bench = Bench::new(vector(8));

    let handed = bench.handed_on([0, 1, 3, 4, 0, 1, 2, 3, 4]);

    assert_eq!(handed, [0, 1, 3, 4, 2]);
    assert_eq!(bench.recovery.out_of_order, 2);
}

#[test]
fn a_number_that_neither_way_brought_is_lost_when_the_history_ends() {
    let mut bench = Bench::new(vector(4));

    bench.handed_on([0, 1, 3, 4, 5]);
    assert_eq!(bench.recovery.lost, 0);
    bench.passes(6);

    assert_eq!(bench.recovery.lost, 1);
}

/// P802.1CBec: with a history shorter than ways differ, copies are not recognised.
#[test]
fn a_history_that_is_too_short_drops_old_copies_as_rogues_and_hands_nothing_on_twice() {
    let mut bench = Bench::new(vector(4));

    // The slower way is six frames behind, and brings 3, which the quicker one lost.
    let quick = (0_u16..20).filter(|number| *number != 3);
    let both = quick.flat_map(|number| [Some(number), number.checked_sub(6)]);
    let handed = bench.handed_on(both.flatten());

    let expected: Vec<_> = (0..20).filter(|number| *number != 3).collect();
    assert_eq!(handed, expected);
    assert_eq!(bench.recovery.rogue, 14);
    assert_eq!(bench.recovery.discarded, 0);
}

/// P802.1CBec: a reset time shorter than ways differ forgets what the slower way brings.
#[test]
fn a_reset_before_the_copy_hands_it_on_twice() {
    let mut bench = Bench::new(vector(8));

    assert!(bench.passes(5));
    bench.now += RESET - Duration::from_ns(1);
    assert!(!bench.passes(5));
    bench.now += Duration::from_ns(1);

    assert!(bench.passes(5));
    assert_eq!(bench.recovery.resets, 1);
}

/// P802.1CBec: copies that are dropped do not put the reset off.
#[test]
fn a_sender_that_begins_anew_is_heard_again_after_the_reset() {
    let mut bench = Bench::new(vector(8));
    bench.handed_on(30_000..30_010);

    let mut waited = 0;
    for number in 0.. {
        if bench.passes(number) {
            break;
        }
        waited += 1;
        bench.now += Duration::from_ms(10);
    }

    assert_eq!(waited, 10);
    assert_eq!(bench.recovery.rogue, 10);
    assert_eq!(bench.handed_on([11, 11, 12]), [11, 12]);
}

#[test]
fn numbers_begin_again_after_the_last() {
    let mut bench = Bench::new(vector(8));

    let numbers = [65_533, 65_534, 65_535, 65_534, 0, 65_535, 1, 0, 65_533, 2];

    let handed = bench.handed_on(numbers);
    assert_eq!(handed, [65_533, 65_534, 65_535, 0, 1, 2]);
    assert_eq!(bench.recovery.out_of_order, 0);
}

#[test]
fn a_forged_number_far_away_is_dropped_and_changes_nothing() {
    let mut bench = Bench::new(vector(16));
    bench.handed_on(0..100);
    let before = bench.recovery;

    assert_eq!(bench.handed_on([5_000, 32_867, 40_000, 60_000]), []);

    let expected = Recovery { rogue: 4, ..before };
    assert_eq!(bench.recovery, expected);
    assert_eq!(bench.handed_on([100, 99]), [100]);
}

#[test]
fn what_is_replayed_is_dropped() {
    let mut bench = Bench::new(vector(64));
    bench.handed_on(0..200);

    assert_eq!(bench.handed_on(0..200), []);
    assert_eq!(bench.recovery.discarded + bench.recovery.rogue, 200);
}

#[test]
fn by_match_only_the_last_frame_is_told_apart() {
    let mut bench = Bench::new(by_match());

    assert_eq!(bench.handed_on([7, 7, 8, 8, 7]), [7, 8, 7]);
    assert_eq!(bench.recovery.discarded, 2);
    assert_eq!(bench.recovery.out_of_order, 1);
    bench.now += RESET;
    assert_eq!(bench.handed_on([7, 7]), [7]);
}

#[test]
fn a_frame_without_a_number_goes_on_only_if_that_is_wanted() {
    let mut bench = Bench::new(vector(8));

    let refused = bench.recovery.take(&bench.how, bench.now, None);
    bench.how.takes_unnumbered = true;
    let taken = bench.recovery.take(&bench.how, bench.now, None);

    assert_eq!((refused, taken), (Passing::Dropped, Passing::Passes));
    assert_eq!((bench.recovery.unnumbered, bench.recovery.passed), (2, 1));
}

/// A sender of PRP counts what it sends on behalf of all of its streams.
#[test]
fn numbers_with_gaps_are_new_and_numbers_that_came_are_not() {
    let mut bench = Bench::new(duplicate_discard(4));

    let handed = bench.handed_on([9, 500, 9, 40_000, 500, 65_535, 40_000, 3, 3, 65_535]);

    assert_eq!(handed, [9, 500, 40_000, 65_535, 3]);
    assert_eq!(bench.recovery.discarded, 5);
    assert_eq!((bench.recovery.rogue, bench.recovery.lost), (0, 0));
}

#[test]
fn a_sender_of_prp_that_begins_anew_is_heard_at_once() {
    let mut bench = Bench::new(duplicate_discard(64));
    bench.handed_on(30_000..30_100);

    assert_eq!(bench.handed_on([0, 0, 1]), [0, 1]);
    bench.now += RESET;
    assert_eq!(bench.handed_on([1, 1]), [1]);
    assert_eq!(bench.recovery.resets, 1);
}

/// An event at the recovery function: some time, then a frame.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    after: Duration,
    /// Its number, from where the stream is.
    offset: i64,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let offset = prop_oneof![
        8 => -6_i64..4,
        2 => -80_i64..80,
        1 => -70_000_i64..70_000,
    ];
    let after = prop_oneof![
        9 => Just(Duration::from_ms(1)),
        1 => Just(RESET),
        1 => Just(RESET - Duration::from_ms(1)),
    ];
    let arrival = (after, offset).prop_map(|(after, offset)| Arrival { after, offset });
    prop::collection::vec(arrival, 1..200)
}

/// The same as the standard says it, with numbers that do not end and a set of all that
/// have come.
#[derive(Default)]
struct Reference {
    came: BTreeSet<i64>,
    greatest: Option<i64>,
    heard: Duration,
}

impl Reference {
    /// Returns whether a frame is handed on whose number, were it longer, would be the
    /// nearest to the greatest.
    fn passes(&mut self, history: i64, now: Duration, number: u16) -> bool {
        if now - self.heard >= RESET {
            *self = Self::default();
        }
        let whole = match self.greatest {
            None => i64::from(number),
            Some(greatest) => {
                let ahead = (i64::from(number) - greatest).rem_euclid(1 << 16);
                let step = if ahead < 1 << 15 {
                    ahead
                } else {
                    ahead - (1 << 16)
                };
                greatest + step
            }
        };
        let is_near = self
            .greatest
            .is_none_or(|greatest| (greatest - whole).abs() < history);
        let is_new = is_near && self.came.insert(whole);
        if is_new {
            self.greatest = self.greatest.max(Some(whole));
            self.heard = now;
        }
        is_new
    }
}

proptest! {
    /// Duplicate discard against a list of all that was handed on.
    #[test]
    fn what_is_among_the_last_is_a_copy_and_all_else_is_new(
        history in 2_u8..=64,
        arrivals in prop::collection::vec((0_u64..20, 0_u16..100), 1..300),
    ) {
        let mut bench = Bench::new(duplicate_discard(history));
        let mut handed: Vec<u16> = Vec::new();
        let mut heard = bench.now;
        for (after, number) in arrivals {
            // Seldom a reset, in the middle of everything.
            bench.now += if after == 0 { RESET } else { Duration::from_ms(after / 4) };
            if bench.now - heard >= RESET {
                handed.clear();
            }
            let number = number.wrapping_mul(661);
            let is_new = !handed.iter().rev().take(history.into()).any(|it| *it == number);
            prop_assert_eq!(bench.passes(number), is_new);
            if is_new {
                handed.push(number);
                heard = bench.now;
            }
        }
    }

    #[test]
    fn it_hands_on_what_the_standard_says(history in 2_u8..=64, arrivals in arrivals()) {
        let mut bench = Bench::new(vector(history));
        let mut reference = Reference::default();
        let mut now = Duration::ZERO;
        let mut stream = 0_i64;

        for Arrival { after, offset } in arrivals {
            now += after;
            bench.now += after;
            let number = u16::try_from((stream + offset).rem_euclid(1 << 16)).unwrap();
            let expected = reference.passes(i64::from(history), now, number);
            prop_assert_eq!(bench.passes(number), expected);
            stream = reference.greatest.unwrap_or(stream);
        }
    }

    /// What both ways bring of a stream, any of it lost on either, is handed on once, as
    /// long as the slower one is no more than the history behind.
    #[test]
    fn of_two_ways_each_frame_that_one_brings_is_handed_on_once(
        lost in prop::collection::vec(any::<[bool; 2]>(), 1..300),
        behind in 0_usize..30,
        first: u16,
    ) {
        let mut bench = Bench::new(vector(64));
        let number = |at: usize| first.wrapping_add(u16::try_from(at).unwrap());
        let mut handed = Vec::new();
        let count = lost.len();
        for at in 0..count + behind {
            bench.now += Duration::from_ms(1);
            if at < count && !lost[at][0] {
                handed.extend(bench.handed_on([number(at)]));
            }
            if let Some(late) = at.checked_sub(behind)
                && late < count && !lost[late][1]
            {
                handed.extend(bench.handed_on([number(late)]));
            }
        }

        let brought = (0..count).filter(|at| !(lost[*at][0] && lost[*at][1]));
        // The first that came may be behind others by more than the history only if many
        // were lost one after the other, which this many cannot be.
        let expected: BTreeSet<_> = brought.map(number).collect();
        let once: BTreeSet<_> = handed.iter().copied().collect();
        prop_assert_eq!(once.len(), handed.len());
        let runs = lost.split(|[one, other]| !one || !other).map(<[_]>::len);
        if runs.max().unwrap_or(0) + behind < 63 {
            prop_assert_eq!(once, expected);
        }
    }
}
