//! What has been computed of sets of flows, so that nothing is computed twice.
//!
//! A hash table whose keys are sorted lists of places: lists of all lengths lie
//! one behind the other in one vector, so remembering a set allocates nothing
//! of its own.

use units::fine::Data;

use super::histories::Place;

/// How many places all remembered sets of one table may have: 64 MiB.
pub(super) const PLACES_MAX: usize = 1 << 24;

/// A burst for each of many sets; `None` is a set that has no bound.
#[derive(Debug)]
pub(super) struct Remembered {
    /// A power of two of them; more than half are empty.
    slots: Vec<Slot>,
    filled: usize,
    /// What was remembered in an earlier round has been forgotten.
    round: u32,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u64,
    begin: u32,
    length: u32,
    round: u32,
    burst: Option<Data>,
}

impl Remembered {
    /// Returns a table that remembers nothing.
    pub(super) fn new() -> Self {
        Self {
            slots: vec![Slot::default(); 64],
            filled: 0,
            round: 1,
            places: Vec::new(),
        }
    }

    /// Returns what is remembered of a set, or nothing.
    pub(super) fn get(&self, set: &[Place]) -> Option<Option<Data>> {
        let slot = self.slots[self.slot(hash(set), set)];
        (slot.round == self.round).then_some(slot.burst)
    }

    /// Remembers the burst of a set of which nothing was remembered. Returns
    /// whether there was room for it.
    pub(super) fn insert(&mut self, set: &[Place], burst: Option<Data>) -> bool {
        if self.places.len() + set.len() > PLACES_MAX {
            return false;
        }
        if 2 * self.filled >= self.slots.len() {
            self.grow();
        }
        let hash = hash(set);
        let index = self.slot(hash, set);
        self.slots[index] = Slot {
            hash,
            begin: number(self.places.len()),
            length: number(set.len()),
            round: self.round,
            burst,
        };
        self.filled += 1;
        self.places.extend_from_slice(set);
        true
    }

    /// Forgets everything and keeps the room.
    pub(super) fn clear(&mut self) {
        self.round += 1;
        self.filled = 0;
        self.places.clear();
    }

    /// Returns the slot of a set, or the empty one where it would stand.
    fn slot(&self, hash: u64, set: &[Place]) -> usize {
        let last = self.slots.len() - 1;
        let mut index = (hash >> 32) as usize & last;
        loop {
            let slot = &self.slots[index];
            if slot.round != self.round || (slot.hash == hash && self.set(slot) == set) {
                return index;
            }
            index = (index + 1) & last;
        }
    }

    fn set(&self, slot: &Slot) -> &[Place] {
        let begin = slot.begin as usize;
        &self.places[begin..begin + slot.length as usize]
    }

    fn grow(&mut self) {
        let twice = vec![Slot::default(); 2 * self.slots.len()];
        let slots = std::mem::replace(&mut self.slots, twice);
        let last = self.slots.len() - 1;
        for slot in slots.into_iter().filter(|slot| slot.round == self.round) {
            let mut index = (slot.hash >> 32) as usize & last;
            while self.slots[index].round == self.round {
                index = (index + 1) & last;
            }
            self.slots[index] = slot;
        }
    }
}

/// Mixes the numbers of a set; two sets rarely have the same.
fn hash(set: &[Place]) -> u64 {
    let mix = |hash: u64, place: &Place| {
        (hash.rotate_left(5) ^ u64::from(place.number())).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    set.iter().fold(0, mix)
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("places are fewer than their limit")
}
