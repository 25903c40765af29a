//! What was seen once and may be seen again: a table of bounded size.
//!
//! A key has a shelf of eight places. Whoever comes to a full shelf takes the place
//! of the one who waited longest, who is returned: so a table needs no clearing up,
//! and what never finds its partner leaves by itself.

/// The places of a shelf.
const PLACES: usize = 8;

/// Things that wait under keys that are spread evenly.
#[derive(Clone, Debug)]
pub(super) struct WaitingTable<T> {
    shelves: Vec<[Option<WaitingItem<T>>; PLACES]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitingItem<T> {
    pub(super) key: u64,
    pub(super) at: u64,
    pub(super) what: T,
}

impl<T: Copy> WaitingTable<T> {
    /// Returns an empty table with 2^`power` shelves.
    pub(super) fn new(power: u32) -> Self {
        Self {
            shelves: vec![[None; PLACES]; 1 << power],
        }
    }

    /// Adds something. Returns who had to leave for it.
    #[inline]
    pub(super) fn put(&mut self, entry: WaitingItem<T>) -> Option<WaitingItem<T>> {
        let shelf = self.shelf(entry.key);
        let place = match shelf.iter().position(Option::is_none) {
            Some(place) => place,
            None => oldest(shelf),
        };
        shelf[place].replace(entry)
    }

    /// Takes what waits under `key` and came nearest to `expected`, or first where
    /// nothing is expected.
    #[inline]
    pub(super) fn take(
        &mut self,
        key: u64,
        expected: Option<u64>,
        is_meant: impl FnOnce(&WaitingItem<T>) -> bool,
    ) -> Option<WaitingItem<T>> {
        let shelf = self.shelf(key);
        let (place, nearest) = nearest(shelf, key, expected)?;
        if !is_meant(nearest) {
            return None;
        }
        shelf[place].take()
    }

    /// Returns what waits under `key` and came nearest to `at`.
    #[inline]
    pub(super) fn near(&mut self, key: u64, at: u64) -> Option<&mut WaitingItem<T>> {
        let shelf = self.shelf(key);
        let (place, _) = nearest(shelf, key, Some(at))?;
        shelf[place].as_mut()
    }

    /// Returns all that wait, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = &WaitingItem<T>> {
        self.shelves.iter().flatten().flatten()
    }

    fn shelf(&mut self, key: u64) -> &mut [Option<WaitingItem<T>>; PLACES] {
        let mask = self.shelves.len() - 1;
        // The upper bits of a product are spread better than the lower ones.
        let place = usize::try_from(key >> 32).unwrap_or(0) & mask;
        &mut self.shelves[place]
    }
}

/// Returns what waits under `key` and came nearest to `expected`, or first where nothing
/// is expected, and its place.
#[inline]
fn nearest<T>(
    shelf: &[Option<WaitingItem<T>>; PLACES],
    key: u64,
    expected: Option<u64>,
) -> Option<(usize, &WaitingItem<T>)> {
    let far = |entry: &WaitingItem<T>| expected.map_or(entry.at, |at| at.abs_diff(entry.at));
    let waiting = shelf.iter().enumerate();
    let same = waiting.filter_map(|(place, entry)| Some((place, entry.as_ref()?)));
    let same = same.filter(|(_, entry)| entry.key == key);
    same.min_by_key(|(_, entry)| far(entry))
}

fn oldest<T>(shelf: &[Option<WaitingItem<T>>; PLACES]) -> usize {
    let ages = shelf.iter().enumerate();
    ages.min_by_key(|(_, entry)| entry.as_ref().map(|it| it.at))
        .map_or(0, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: u64, at: u64) -> WaitingItem<()> {
        WaitingItem { key, at, what: () }
    }

    #[test]
    fn of_several_under_one_key_the_nearest_is_taken() {
        let mut waiting = WaitingTable::new(2);
        for at in [100, 200, 300] {
            waiting.put(entry(7, at));
        }

        assert_eq!(waiting.take(7, Some(220), |_| true), Some(entry(7, 200)));
        assert_eq!(waiting.take(7, None, |_| true), Some(entry(7, 100)));
        assert_eq!(waiting.take(7, None, |it| it.at < 300), None);
        assert_eq!(waiting.iter().count(), 1);
    }

    #[test]
    fn a_full_shelf_loses_the_oldest() {
        let mut waiting = WaitingTable::new(0);
        (1..=8).for_each(|at| assert_eq!(waiting.put(entry(at, at)), None));

        assert_eq!(waiting.put(entry(9, 9)), Some(entry(1, 1)));
        assert_eq!(waiting.iter().count(), 8);
    }
}
