//! What has been computed of sets of flows, so that nothing is computed twice.
//!
//! A hash table whose keys are sorted lists of places: lists of all lengths lie
//! one behind the other in one vector, so remembering a set allocates nothing
//! of its own.

use super::histories::HistoryIndex;
use crate::analysis::TokenBucket;

/// How many places all remembered sets of one table may have: 64 MiB.
pub(super) const PLACES_MAX: usize = 1 << 24;

/// A bound for each of many sets; `None` is a set that has none.
#[derive(Debug)]
pub(super) struct Remembered {
    /// A power of two of them; more than half are empty.
    slots: Vec<BoundSlot>,
    /// What was remembered in an earlier round has been forgotten.
    round: u32,
    entries: Vec<RememberedBound>,
    places: Vec<HistoryIndex>,
}

/// Where an entry is, if its round is the present one. Small, so that many
/// are near at hand.
#[derive(Clone, Copy, Debug, Default)]
struct BoundSlot {
    round: u32,
    entry: u32,
}

#[derive(Clone, Copy, Debug)]
struct RememberedBound {
    hash: u64,
    begin: u32,
    length: u32,
    bound: Option<TokenBucket>,
}

impl Remembered {
    /// Returns a table that remembers nothing.
    pub(super) fn new() -> Self {
        Self {
            slots: vec![BoundSlot::default(); 64],
            round: 1,
            entries: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Returns what is remembered of a set, or nothing.
    pub(super) fn get(&self, set: &[HistoryIndex]) -> Option<Option<TokenBucket>> {
        let hash = hash(set);
        let mut index = self.first_slot(hash);
        while let Some(entry) = self.entry(index) {
            if entry.hash == hash && self.set(entry) == set {
                return Some(entry.bound);
            }
            index = self.slot_behind(index);
        }
        None
    }

    /// Remembers the bound of a set of which nothing was remembered. Returns
    /// whether there was room for it.
    pub(super) fn insert(&mut self, set: &[HistoryIndex], bound: Option<TokenBucket>) -> bool {
        if self.places.len() + set.len() > PLACES_MAX {
            return false;
        }
        if 2 * self.entries.len() >= self.slots.len() {
            self.grow();
        }
        self.entries.push(RememberedBound {
            hash: hash(set),
            begin: number(self.places.len()),
            length: number(set.len()),
            bound,
        });
        self.places.extend_from_slice(set);
        self.enter(self.entries.len() - 1);
        true
    }

    /// Forgets everything and keeps the room.
    pub(super) fn clear(&mut self) {
        self.round += 1;
        self.entries.clear();
        self.places.clear();
    }

    fn first_slot(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    fn slot_behind(&self, index: usize) -> usize {
        (index + 1) & (self.slots.len() - 1)
    }

    fn entry(&self, slot: usize) -> Option<&RememberedBound> {
        let slot = self.slots[slot];
        (slot.round == self.round).then(|| &self.entries[slot.entry as usize])
    }

    fn set(&self, entry: &RememberedBound) -> &[HistoryIndex] {
        let begin = entry.begin as usize;
        &self.places[begin..begin + entry.length as usize]
    }

    /// Points an empty slot to an entry.
    fn enter(&mut self, entry: usize) {
        let mut index = self.first_slot(self.entries[entry].hash);
        while self.entry(index).is_some() {
            index = self.slot_behind(index);
        }
        self.slots[index] = BoundSlot {
            round: self.round,
            entry: number(entry),
        };
    }

    fn grow(&mut self) {
        self.slots = vec![BoundSlot::default(); 2 * self.slots.len()];
        for entry in 0..self.entries.len() {
            self.enter(entry);
        }
    }
}

/// Mixes the numbers of a set; two sets rarely have the same. No place waits
/// for the one before it, so a processor mixes several at a time.
fn hash(set: &[HistoryIndex]) -> u64 {
    let mix = |place: &HistoryIndex| {
        let mixed = u64::from(place.number()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    };
    let sum = set.iter().map(mix).fold(0, u64::wrapping_add);
    sum ^ (sum << 32)
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("places are fewer than their limit")
}

#[cfg(test)]
mod tests {
    use units::fine::{Data, Rate};

    use super::*;
    use crate::analysis::dnc::histories::tests::place;

    #[test]
    fn every_set_is_found_again_with_its_own_bound_until_all_is_forgotten() {
        let mut table = Remembered::new();
        let sets: Vec<Vec<HistoryIndex>> = (0..50)
            .flat_map(|first| (first..50).map(move |last| (first..=last).map(place).collect()))
            .collect();
        let bound = |at: usize| (at > 9).then(|| bucket(u64::try_from(at).unwrap()));

        for (at, set) in sets.iter().enumerate() {
            assert_eq!(table.get(set), None);
            assert!(table.insert(set, bound(at)));
        }

        for (at, set) in sets.iter().enumerate() {
            assert_eq!(table.get(set), Some(bound(at)));
        }
        table.clear();
        assert!(sets.iter().all(|set| table.get(set).is_none()));
    }

    #[test]
    fn a_full_table_says_so() {
        let mut table = Remembered::new();
        let half: Vec<_> = vec![place(0); PLACES_MAX / 2];

        assert!(table.insert(&half, None));
        assert!(table.insert(&half[1..], None));
        assert!(!table.insert(&half[2..], None));
    }

    fn bucket(burst: u64) -> TokenBucket {
        TokenBucket {
            rate: Rate::ZERO,
            burst: Data::from_ubits(burst),
        }
    }
}
