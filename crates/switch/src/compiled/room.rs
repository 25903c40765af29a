//! Which records of a region are free.

use std::collections::BTreeSet;

/// Records that are given one by one.
#[derive(Debug)]
pub(super) struct Slots {
    count: u32,
    /// All from here on were never given.
    fresh: u32,
    returned: Vec<u32>,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self {
            count: u32::try_from(count).expect("a region has less than 2^32 records"),
            fresh: 0,
            returned: Vec::new(),
        }
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        self.returned.pop().or_else(|| {
            let fresh = (self.fresh < self.count).then_some(self.fresh)?;
            self.fresh += 1;
            Some(fresh)
        })
    }

    pub(super) fn give(&mut self, record: u32) {
        self.returned.push(record);
    }

    /// Returns how many records are free.
    pub(super) fn free(&self) -> usize {
        let returned = self.returned.len();
        returned + usize::try_from(self.count - self.fresh).expect("32 bits fit")
    }
}

/// Records one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u32,
    pub(super) count: u32,
}

/// Records that are given in ranges. Free ones are kept in blocks whose length is a
/// power of two and that begin at a multiple of it, so that to take and to give
/// takes a few steps, however many blocks there are; neighbours that are both free
/// become one block.
#[derive(Debug)]
pub(super) struct Ranges {
    /// Where the free blocks of 2^n records begin.
    blocks: [BTreeSet<u32>; ORDERS],
    free: usize,
}

const ORDERS: usize = 32;

impl Ranges {
    pub(super) fn new(count: usize) -> Self {
        let mut all = Self {
            blocks: std::array::from_fn(|_| BTreeSet::new()),
            free: 0,
        };
        all.give(Range {
            first: 0,
            count: u32::try_from(count).expect("a region has less than 2^32 records"),
        });
        all
    }

    /// Takes so many records out of the smallest block that has them.
    pub(super) fn take(&mut self, count: usize) -> Option<Range> {
        let count = u32::try_from(count).ok()?;
        if count == 0 {
            return Some(Range::default());
        }
        let wanted = count.checked_next_power_of_two()?.trailing_zeros();
        let mut orders = wanted..u32::try_from(ORDERS).expect("few");
        let (order, first) = orders.find_map(|order| {
            let first = self.blocks[at(order)].pop_first()?;
            Some((order, first))
        })?;
        self.free -= 1 << order;
        self.give(Range {
            first: first + count,
            count: (1 << order) - count,
        });
        Some(Range { first, count })
    }

    pub(super) fn give(&mut self, range: Range) {
        let Range { first, count } = range;
        let (mut next, end) = (first, first + count);
        while next < end {
            let aligned = next.trailing_zeros();
            let fits = (end - next).ilog2();
            let order = aligned.min(fits);
            self.give_block(next, order);
            next += 1 << order;
        }
    }

    /// Returns how many records are free.
    #[cfg(test)]
    pub(super) const fn free(&self) -> usize {
        self.free
    }

    fn give_block(&mut self, mut first: u32, mut order: u32) {
        self.free += 1 << order;
        while at(order) + 1 < ORDERS && self.blocks[at(order)].remove(&(first ^ 1 << order)) {
            first &= !(1 << order);
            order += 1;
        }
        self.blocks[at(order)].insert(first);
    }
}

fn at(order: u32) -> usize {
    usize::try_from(order).expect("32 bits fit")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_never_overlap_and_all_come_back(
            count in 1usize..200,
            steps in prop::collection::vec((0usize..20, any::<prop::sample::Index>()), 1..100),
        ) {
            let mut ranges = Ranges::new(count);
            let (mut taken, mut used) = (Vec::<Range>::new(), vec![false; count]);
            for (wanted, which) in steps {
                if wanted == 0 && !taken.is_empty() {
                    let range = taken.swap_remove(which.index(taken.len()));
                    (range.first..range.first + range.count).for_each(|it| used[at(it)] = false);
                    ranges.give(range);
                } else if let Some(range) = ranges.take(wanted) {
                    for record in range.first..range.first + range.count {
                        prop_assert!(!std::mem::replace(&mut used[at(record)], true));
                    }
                    taken.push(range);
                }
                prop_assert_eq!(ranges.free(), used.iter().filter(|used| !**used).count());
            }
            taken.into_iter().for_each(|range| ranges.give(range));

            prop_assert_eq!(ranges.free(), count);
            let largest = 1 << count.ilog2();
            prop_assert!(ranges.take(largest).is_some(), "all blocks became one again");
        }
    }

    #[test]
    fn every_record_is_given_once() {
        let mut slots = Slots::new(3);

        let first: Vec<_> = std::iter::from_fn(|| slots.take()).collect();
        slots.give(1);

        assert_eq!((first, slots.free()), (vec![0, 1, 2], 1));
        assert_eq!((slots.take(), slots.take()), (Some(1), None));
    }
}
