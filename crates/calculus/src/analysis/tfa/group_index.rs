//! Finds a group by where it comes from and where it goes.
//!
//! An open hash table with a fixed multiplier: what is found does not depend on
//! the order in it, and half a million look-ups cost a few milliseconds.

/// The server before and the queue.
type GroupKey = (u32, u32);

/// Groups by their ends.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupIndex {
    /// A power of two of places, at most half of them taken.
    places: Vec<Option<(GroupKey, u32)>>,
    taken: usize,
}

impl GroupIndex {
    /// Returns the group of a key.
    pub(super) fn get(&self, key: GroupKey) -> Option<u32> {
        let mut at = self.home(key)?;
        loop {
            match self.places[at] {
                None => return None,
                Some((found, group)) if found == key => return Some(group),
                Some(_) => at = (at + 1) & (self.places.len() - 1),
            }
        }
    }

    /// Puts in a key that is not there.
    pub(super) fn insert(&mut self, key: GroupKey, group: u32) {
        if 2 * self.taken >= self.places.len() {
            let larger = vec![None; (2 * self.places.len()).max(64)];
            let old = std::mem::replace(&mut self.places, larger);
            for (key, group) in old.into_iter().flatten() {
                self.put(key, group);
            }
        }
        self.put(key, group);
        self.taken += 1;
    }

    fn put(&mut self, key: GroupKey, group: u32) {
        let mut at = self.home(key).expect("there is room");
        while self.places[at].is_some() {
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = Some((key, group));
    }

    /// The place at which a key is looked for first.
    fn home(&self, (from, queue): GroupKey) -> Option<usize> {
        let bits = self.places.len().checked_ilog2()?;
        let key = u64::from(from) << 32 | u64::from(queue);
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        usize::try_from(hash >> (u64::BITS - bits)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found_and_nothing_else() {
        let mut index = GroupIndex::default();
        assert_eq!(index.get((0, 0)), None);

        for key in 0..1_000 {
            index.insert((key % 7, key), key);
        }

        for key in 0..1_000 {
            assert_eq!(index.get((key % 7, key)), Some(key));
            assert_eq!(index.get((key % 7 + 1, key)), None);
        }
    }
}
