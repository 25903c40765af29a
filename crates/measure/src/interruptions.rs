//! Times in which somebody else had a processor that frames needed: the hypervisor below,
//! or another program.
//!
//! A lab's frames are carried by the processors of one machine. Its own work on them,
//! above all the soft interrupts in which the kernel forwards, is load that the profile
//! of its switches has to contain, and is no interruption. What an interruption did is
//! judged frame by frame: it accounts for no more of a frame's latency than the time for
//! which it lay within the frame's flight, from departure to arrival. What waited behind
//! frames that were held up is not excused by it.
//!
//! Where it is known when exactly, the times add up, and count once where they overlap.
//! Often it is only known that a processor was taken for so long within a longer time.
//! Such a span counts with its length at most. Spans that overlap may be the same
//! interruption, seen by two: of those the one counts that accounts for most, and only as
//! far as it goes beyond what is known exactly: rather too little than too much.

use units::{Duration, Instant};

/// A time within which a processor was taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// The beginning of the time.
    pub from: Instant,
    pub to: Instant,
    /// For how long of it the processor was taken; at most all of it.
    pub taken: Duration,
}

/// The interruptions of a run, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interruptions {
    groups: Vec<InterruptionGroup>,
}

/// Interruptions that overlap, one with the next.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InterruptionGroup {
    /// From the first to the last, with the longest time that was taken.
    whole: Interruption,
    /// Those of which it is known when they were, in order, none of which overlap.
    exact: Vec<Interruption>,
    /// Those that were at some time within a longer one.
    spans: Vec<Interruption>,
}

impl Interruptions {
    /// Returns these interruptions, in whatever order they are.
    #[must_use]
    pub fn of(interruptions: impl IntoIterator<Item = Interruption>) -> Self {
        let mut all: Vec<_> = interruptions
            .into_iter()
            .filter(|it| it.taken > Duration::ZERO && it.from <= it.to)
            .collect();
        all.sort_unstable_by_key(|it| (it.from, it.to));
        let mut groups: Vec<InterruptionGroup> = Vec::with_capacity(all.len());
        for next in all {
            match groups.last_mut() {
                Some(last) if next.from < last.whole.to => last.add(next),
                Some(_) | None => groups.push(InterruptionGroup::of(next)),
            }
        }
        Self { groups }
    }

    /// Returns for how long, at most, a processor was taken between two moments.
    #[must_use]
    pub fn within(&self, from: Instant, to: Instant) -> Duration {
        let after = self.groups.partition_point(|group| group.whole.to <= from);
        let groups = self.groups[after..].iter();
        groups
            .take_while(|group| group.whole.from < to)
            .map(|group| group.within(from, to))
            .sum()
    }

    /// Returns how many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.groups.len() as u64
    }

    #[must_use]
    pub fn longest(&self) -> Duration {
        let lengths = self.iter().map(|it| it.taken);
        lengths.max().unwrap_or_default()
    }

    /// Returns how long they took together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.iter().map(|it| it.taken).sum()
    }

    /// Returns them in order of time, those that overlap as one.
    pub fn iter(&self) -> impl Iterator<Item = &Interruption> {
        self.groups.iter().map(|group| &group.whole)
    }
}

impl Interruption {
    /// Tells whether it is known when it was.
    fn is_exact(&self) -> bool {
        self.taken == self.to.saturating_since(self.from)
    }

    /// Returns for how long, at most, it took the processor between two moments.
    fn within(&self, from: Instant, to: Instant) -> Duration {
        let overlap = to.min(self.to).saturating_since(from.max(self.from));
        overlap.min(self.taken)
    }
}

impl InterruptionGroup {
    fn of(first: Interruption) -> Self {
        let mut group = Self {
            whole: first,
            exact: Vec::new(),
            spans: Vec::new(),
        };
        group.add(first);
        group
    }

    /// Adds one that does not begin before any that is there.
    fn add(&mut self, next: Interruption) {
        self.whole.to = self.whole.to.max(next.to);
        match self.exact.last_mut() {
            _ if !next.is_exact() => self.spans.push(next),
            Some(last) if next.from <= last.to => {
                last.to = last.to.max(next.to);
                last.taken = last.to.saturating_since(last.from);
            }
            Some(_) | None => self.exact.push(next),
        }
        self.whole.taken = self.within(self.whole.from, self.whole.to);
    }

    fn within(&self, from: Instant, to: Instant) -> Duration {
        let exact = self.exact.iter().map(|it| it.within(from, to)).sum();
        let spans = self.spans.iter().map(|it| it.within(from, to));
        spans.fold(exact, Duration::max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(from_us: u64, to_us: u64, taken_us: u64) -> Interruption {
        Interruption {
            from: at(from_us),
            to: at(to_us),
            taken: Duration::from_us(taken_us),
        }
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn only_what_lies_within_a_flight_counts_and_no_more_than_was_taken() {
        let all = Interruptions::of([span(1_000, 3_000, 500), span(5_000, 5_400, 400)]);

        assert_eq!(all.within(at(0), at(1_000)), Duration::ZERO);
        assert_eq!(all.within(at(900), at(1_200)), Duration::from_us(200));
        assert_eq!(all.within(at(900), at(2_900)), Duration::from_us(500));
        assert_eq!(all.within(at(2_900), at(5_300)), Duration::from_us(400));
        assert_eq!(all.within(at(5_400), at(9_000)), Duration::ZERO);
    }

    #[test]
    fn what_is_known_exactly_adds_up_and_holds_what_is_known_less_exactly() {
        let exact = [span(1_000, 1_200, 200), span(1_500, 1_800, 300)];
        let wide = span(900, 2_000, 400);
        let all = Interruptions::of([exact[1], wide, exact[0]]);

        assert_eq!(all.count(), 1);
        assert_eq!(all.within(at(0), at(3_000)), Duration::from_us(500));
        assert_eq!(all.within(at(1_000), at(1_600)), Duration::from_us(400));
        assert_eq!(all.within(at(1_850), at(3_000)), Duration::from_us(150));
    }

    #[test]
    fn exact_ones_that_overlap_count_once() {
        let all = Interruptions::of([span(1_000, 1_400, 400), span(1_300, 1_500, 200)]);

        assert_eq!(all.total(), Duration::from_us(500));
        assert_eq!(all.within(at(1_350), at(1_450)), Duration::from_us(100));
    }

    #[test]
    fn two_that_saw_the_same_count_once() {
        let all = Interruptions::of([span(1_200, 1_700, 450), span(1_000, 2_000, 500)]);

        assert_eq!(all.count(), 1);
        assert_eq!(all.total(), Duration::from_us(500));
        assert_eq!(all.within(at(1_100), at(1_300)), Duration::from_us(200));
    }

    proptest! {
        /// Those that are known exactly are their union, to the microsecond.
        #[test]
        fn exact_ones_are_their_union(
            spans in prop::collection::vec((0u64..300, 1u64..60), 0..20),
            from in 0u64..300,
            length in 0u64..100,
        ) {
            let taken = |us: u64| spans.iter().any(|(from, length)| {
                (*from..from + length).contains(&us)
            });
            let all = spans.iter().map(|(from, length)| span(*from, from + length, *length));

            let within = Interruptions::of(all).within(at(from), at(from + length));

            let expected = (from..from + length).filter(|us| taken(*us)).count();
            prop_assert_eq!(within, Duration::from_us(expected as u64));
        }

        /// Never more than the flight lasted, nor than was taken in all.
        #[test]
        fn a_flight_is_excused_by_no_more_than_it_lasted(
            spans in prop::collection::vec((0u64..10_000, 1u64..2_000, 0u64..2_000), 0..40),
            from in 0u64..10_000,
            length in 0u64..5_000,
        ) {
            let spans = spans.iter().map(|(from, length, taken)| {
                span(*from, from + length, *taken.min(length))
            });
            let spans: Vec<_> = spans.collect();
            let all = Interruptions::of(spans.iter().copied());

            let within = all.within(at(from), at(from + length));

            let most: Duration = spans
                .iter()
                .filter(|it| it.from < at(from + length) && it.to > at(from))
                .map(|it| it.taken)
                .sum();
            prop_assert!(within <= Duration::from_us(length).min(most));
        }
    }
}
