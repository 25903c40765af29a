//! Keeps what will happen, in the order in which it will happen.
//!
//! A calendar queue: time is cut into days of `DAY_NS` nanoseconds, a year
//! has `DAYS` of them. Whatever falls into the year that has begun lies
//! unsorted under its day; only the day that has come is sorted, once. What is
//! still scheduled for that same day, and what is later than a year, waits in
//! heaps. A simulation never schedules into the past, and most of what it
//! schedules is due within microseconds, so that an event costs about the same
//! however many wait.
//!
//! Events of the same instant come in the order in which they were scheduled:
//! the same inputs give the same run.
//!
//! Source: R. Brown, Calendar Queues, Communications of the ACM 31(10), 1988.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Instant;

/// Length of a day: a small frame on a link of 1 Gbit/s.
const DAY_NS: u64 = 1 << DAY_BITS;
const DAY_BITS: u32 = 9;
/// Days in a year: 8.4 ms.
const DAYS: usize = 1 << 14;
const WORDS: usize = DAYS / 64;

/// What happens at a point in time, and which of several comes first.
#[derive(Clone, Copy, Debug)]
struct CalendarEntry<E> {
    at_ns: u64,
    order: u64,
    event: E,
}

impl<E> PartialEq for CalendarEntry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at_ns, self.order) == (other.at_ns, other.order)
    }
}

impl<E> Eq for CalendarEntry<E> {}

impl<E> PartialOrd for CalendarEntry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for CalendarEntry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.order).cmp(&(other.at_ns, other.order))
    }
}

/// Events by time; of the same time, by the order in which they were scheduled.
#[derive(Debug)]
pub struct Calendar<E> {
    /// The day that has come, counted from the origin of time.
    today: u64,
    /// What happens today, soonest last.
    present: Vec<CalendarEntry<E>>,
    /// What also happens today, but was scheduled after the day had come.
    sudden: BinaryHeap<Reverse<CalendarEntry<E>>>,
    /// What happens on one of the next `DAYS` − 1 days, by day modulo a year.
    year: Vec<Vec<CalendarEntry<E>>>,
    /// A bit a day of the year: whether anything happens on it.
    busy: [u64; WORDS],
    later: BinaryHeap<Reverse<CalendarEntry<E>>>,
    scheduled: u64,
    length: usize,
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self {
            today: 0,
            present: Vec::new(),
            sudden: BinaryHeap::new(),
            year: (0..DAYS).map(|_| Vec::new()).collect(),
            busy: [0; WORDS],
            later: BinaryHeap::new(),
            scheduled: 0,
            length: 0,
        }
    }
}

impl<E: Copy> Calendar<E> {
    /// Enters what happens at `at`. What is scheduled into a day gone by
    /// happens next.
    pub fn schedule(&mut self, at: Instant, event: E) {
        let entry = CalendarEntry {
            at_ns: at.as_ns(),
            order: self.scheduled,
            event,
        };
        self.scheduled += 1;
        self.length += 1;
        self.place(entry);
    }

    /// Removes and returns what happens next, if that is not after `until`.
    pub fn next(&mut self, until: Instant) -> Option<(Instant, E)> {
        if self.present.is_empty() && self.sudden.is_empty() {
            self.turn_page();
        }
        let planned = self.present.last();
        let sudden = self.sudden.peek().map(|Reverse(entry)| entry);
        let is_sudden = match (planned, sudden) {
            (Some(planned), Some(sudden)) => sudden < planned,
            (planned, _) => planned.is_none(),
        };
        let next = if is_sudden { sudden } else { planned };
        if next?.at_ns > until.as_ns() {
            return None;
        }
        let entry = match is_sudden {
            true => self.sudden.pop().map(|Reverse(entry)| entry),
            false => self.present.pop(),
        }?;
        self.length -= 1;
        Some((Instant::from_ns(entry.at_ns), entry.event))
    }

    /// Returns how many events wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn place(&mut self, entry: CalendarEntry<E>) {
        let day = entry.at_ns / DAY_NS;
        if day <= self.today {
            self.sudden.push(Reverse(entry));
        } else if day - self.today < DAYS as u64 {
            let index = day_of_year(day);
            self.year[index].push(entry);
            self.busy[index / 64] |= 1 << (index % 64);
        } else {
            self.later.push(Reverse(entry));
        }
    }

    /// Goes to the next day on which anything happens.
    fn turn_page(&mut self) {
        let in_year = self.next_busy_day();
        let in_later = self.later.peek().map(|Reverse(entry)| entry.at_ns / DAY_NS);
        let Some(day) = in_year.into_iter().chain(in_later).min() else {
            return;
        };

        self.today = day;
        let index = day_of_year(day);
        self.busy[index / 64] &= !(1 << (index % 64));
        self.present.append(&mut self.year[index]);
        self.present.sort_unstable_by(|one, other| other.cmp(one));
        while let Some(Reverse(entry)) = self.later.peek() {
            if entry.at_ns / DAY_NS - self.today >= DAYS as u64 {
                break;
            }
            let Some(Reverse(entry)) = self.later.pop() else {
                break;
            };
            self.place(entry);
        }
    }

    /// Returns the first day after today, within a year, that has an entry.
    fn next_busy_day(&self) -> Option<u64> {
        let start = day_of_year(self.today + 1);
        let first = self.busy[start / 64] & (u64::MAX << (start % 64));
        let rest = (1..=WORDS).map(|step| (start / 64 + step) % WORDS);
        let (word, bits) = std::iter::once((start / 64, first))
            .chain(rest.map(|word| (word, self.busy[word])))
            .find(|(_, bits)| *bits != 0)?;
        let index = word * 64 + bits.trailing_zeros() as usize;
        let ahead = (index + DAYS - day_of_year(self.today)) % DAYS;
        Some(self.today + ahead as u64)
    }
}

fn day_of_year(day: u64) -> usize {
    usize::try_from(day % DAYS as u64).expect("a day of the year is small")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is scheduled comes once, in order of time and then of
        /// scheduling, also when it is scheduled while others are taken.
        #[test]
        fn events_come_in_order(
            steps in proptest::collection::vec((0u64..40_000_000, 0usize..3), 1..200),
        ) {
            let mut calendar = Calendar::default();
            let mut model = BTreeMap::new();
            let mut now = 0;

            for (number, (ahead, takes)) in steps.into_iter().enumerate() {
                calendar.schedule(Instant::from_ns(now + ahead), number);
                model.insert((now + ahead, number), number);
                for _ in 0..takes {
                    let expected = model.pop_first();
                    let taken = calendar.next(Instant::FAR_FUTURE);
                    let taken = taken.map(|(at, event)| ((at.as_ns(), event), event));
                    prop_assert_eq!(taken, expected);
                    now = expected.map_or(now, |((at, _), _)| at);
                }
            }
            while let Some((at, event)) = calendar.next(Instant::FAR_FUTURE) {
                prop_assert_eq!(model.pop_first(), Some(((at.as_ns(), event), event)));
            }
            prop_assert!(model.is_empty() && calendar.is_empty());
        }
    }

    #[test]
    fn nothing_is_taken_before_its_time() {
        let mut calendar = Calendar::default();
        calendar.schedule(Instant::from_ns(50_000_000), 'a');

        assert_eq!(calendar.next(Instant::from_ns(49_999_999)), None);
        assert_eq!(calendar.len(), 1);
        assert_eq!(
            calendar.next(Instant::from_ns(50_000_000)),
            Some((Instant::from_ns(50_000_000), 'a'))
        );
    }
}
