//! The entries of a flow table that look at the same bits, as one hash table.
//!
//! Robin Hood hashing with linear probing: a slot keeps the hash and the number
//! of an entry, and no entry lies further from its home than
//! [`LONGEST_PROBE`], because the table grows before that happens. A lookup
//! therefore looks at no more than that many slots, whatever is looked up.
//!
//! The hash is seeded, so nobody outside can choose frames that collide.

use crate::flow_table::{EntryIndex, Rank};
use crate::masked_hash::MaskedHash;
use crate::packet_key::PacketKey;
use std::collections::BTreeSet;

/// How many slots a lookup looks at before it knows that there is no match.
pub(crate) const LONGEST_PROBE: u32 = 16;

const SLOTS_MIN: usize = 8;
/// How many slots an entry may cost at most.
const SPARSEST: usize = 64;
const EMPTY: EntryIndex = EntryIndex(u32::MAX);

#[derive(Clone, Copy, Debug)]
struct HashSlot {
    hash: u32,
    entry: EntryIndex,
}

const EMPTY_SLOT: HashSlot = HashSlot {
    hash: 0,
    entry: EMPTY,
};

/// Too many entries want the same few slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooCrowded;

/// All entries with one mask.
#[derive(Debug)]
pub(crate) struct MaskGroup {
    mask: PacketKey,
    hash: MaskedHash,
    slots: Vec<HashSlot>,
    used: usize,
    /// The ranks of all entries, to know the best without a search.
    ranks: BTreeSet<Rank>,
    best: Option<Rank>,
}

impl MaskGroup {
    pub(crate) fn new(mask: PacketKey, seed: u64) -> Self {
        Self {
            hash: MaskedHash::new(&mask, seed),
            mask,
            slots: vec![EMPTY_SLOT; SLOTS_MIN],
            used: 0,
            ranks: BTreeSet::new(),
            best: None,
        }
    }

    pub(crate) const fn mask(&self) -> &PacketKey {
        &self.mask
    }

    /// Returns the best rank in the group, which is never empty for long.
    pub(crate) const fn best(&self) -> Option<Rank> {
        self.best
    }

    /// Returns whether an entry of the group has one of these ranks.
    pub(crate) fn has_rank(&self, ranks: std::ops::RangeInclusive<Rank>) -> bool {
        self.ranks.range(ranks).next().is_some()
    }

    pub(crate) fn add_rank(&mut self, rank: Rank) {
        self.ranks.insert(rank);
        self.best = self.ranks.last().copied();
    }

    pub(crate) fn remove_rank(&mut self, rank: Rank) {
        self.ranks.remove(&rank);
        self.best = self.ranks.last().copied();
    }

    /// Returns the entry under `key`, masked, if `is_it` recognises it.
    pub(crate) fn find(
        &self,
        key: &PacketKey,
        is_it: impl Fn(EntryIndex) -> bool,
    ) -> Option<EntryIndex> {
        let hash = self.hash(key);
        let mut at = home(&self.slots, hash);
        for distance in 0..LONGEST_PROBE {
            let slot = self.slots[at];
            if slot.entry == EMPTY || distance_of(&self.slots, slot.hash, at) < distance {
                return None;
            }
            if slot.hash == hash && is_it(slot.entry) {
                return Some(slot.entry);
            }
            at = after(&self.slots, at);
        }
        None
    }

    /// Returns whether `value`, already masked, is what `key` is under the mask.
    pub(crate) fn matches(&self, key: &PacketKey, value: &PacketKey) -> bool {
        let (key, value) = (key.words(), value.words());
        self.hash
            .parts()
            .iter()
            .all(|&(word, mask)| key[word] & mask == value[word])
    }

    /// Adds `entry` under `key`, which must not be there yet. Fails if no table
    /// of reasonable size keeps every entry close to its home, which happens
    /// only if somebody who knows the seed makes it happen.
    pub(crate) fn insert(&mut self, key: &PacketKey, entry: EntryIndex) -> Result<(), TooCrowded> {
        let slot = HashSlot {
            hash: self.hash(key),
            entry,
        };
        self.used += 1;
        let homeless = if self.used * 2 > self.slots.len() {
            slot
        } else {
            match place(&mut self.slots, slot) {
                Ok(()) => return Ok(()),
                Err(homeless) => homeless,
            }
        };
        let mut all = self.occupied();
        all.push(homeless);
        let mut size = self.slots.len() * 2;
        while size <= self.used * SPARSEST {
            if let Ok(slots) = place_all(&all, size) {
                self.slots = slots;
                return Ok(());
            }
            size *= 2;
        }
        self.used -= 1;
        all.retain(|slot| slot.entry != entry);
        // The distances do not depend on the order of arrival.
        self.slots = place_all(&all, self.slots.len()).expect("they fitted before");
        Err(TooCrowded)
    }

    /// Puts `new` in the place of `old` under `key`.
    pub(crate) fn replace(&mut self, key: &PacketKey, old: EntryIndex, new: EntryIndex) {
        let at = self.position(key, old);
        self.slots[at].entry = new;
    }

    /// Takes `entry` out from under `key`.
    pub(crate) fn remove(&mut self, key: &PacketKey, entry: EntryIndex) {
        let mut at = self.position(key, entry);
        self.used -= 1;
        // Whatever was pushed away from home moves one back.
        loop {
            let next = after(&self.slots, at);
            let moved = self.slots[next];
            if moved.entry == EMPTY || distance_of(&self.slots, moved.hash, next) == 0 {
                break;
            }
            self.slots[at] = moved;
            at = next;
        }
        self.slots[at] = EMPTY_SLOT;
    }

    fn position(&self, key: &PacketKey, entry: EntryIndex) -> usize {
        let mut at = home(&self.slots, self.hash(key));
        for _ in 0..LONGEST_PROBE {
            if self.slots[at].entry == entry {
                return at;
            }
            at = after(&self.slots, at);
        }
        panic!("an entry is no longer where it was put");
    }

    fn occupied(&self) -> Vec<HashSlot> {
        let occupied = self.slots.iter().filter(|slot| slot.entry != EMPTY);
        occupied.copied().collect()
    }

    #[expect(clippy::cast_possible_truncation, reason = "folding is the purpose")]
    fn hash(&self, key: &PacketKey) -> u32 {
        let hash = self.hash.of(key);
        (hash ^ hash >> 32) as u32
    }
}

fn place_all(all: &[HashSlot], size: usize) -> Result<Vec<HashSlot>, HashSlot> {
    let mut slots = vec![EMPTY_SLOT; size];
    for slot in all {
        place(&mut slots, *slot)?;
    }
    Ok(slots)
}

/// Places a slot, and moves those on that are closer to their home. Returns the
/// one that would come to lie too far away.
fn place(slots: &mut [HashSlot], mut slot: HashSlot) -> Result<(), HashSlot> {
    let mut at = home(slots, slot.hash);
    let mut distance = 0;
    while distance < LONGEST_PROBE {
        let here = slots[at];
        if here.entry == EMPTY {
            slots[at] = slot;
            return Ok(());
        }
        let theirs = distance_of(slots, here.hash, at);
        if theirs < distance {
            slots[at] = slot;
            slot = here;
            distance = theirs;
        }
        at = after(slots, at);
        distance += 1;
    }
    Err(slot)
}

fn home(slots: &[HashSlot], hash: u32) -> usize {
    usize::try_from(hash).expect("32 bits fit") & (slots.len() - 1)
}

fn after(slots: &[HashSlot], at: usize) -> usize {
    (at + 1) & (slots.len() - 1)
}

fn distance_of(slots: &[HashSlot], hash: u32, at: usize) -> u32 {
    let distance = at.wrapping_sub(home(slots, hash)) & (slots.len() - 1);
    u32::try_from(distance).expect("no table has 2^32 slots")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 0x5eed;
    /// The largest table that 17 entries may have.
    const LARGEST: u32 = 1024;

    #[test]
    fn no_lookup_looks_further_than_promised_whatever_the_keys() {
        let mut group = MaskGroup::new(key(u64::MAX), SEED);
        let wanted = group.hash(&key(0)) % LARGEST;
        let colliding = (0..).filter(|value| group.hash(&key(*value)) % LARGEST == wanted);
        let colliding: Vec<u64> = colliding.take(17).collect();
        let (last, others) = colliding.split_last().unwrap();

        for (entry, value) in (0..).map(EntryIndex).zip(others) {
            assert_eq!(group.insert(&key(*value), entry), Ok(()));
        }

        assert_eq!(group.insert(&key(*last), EntryIndex(99)), Err(TooCrowded));
        for (entry, value) in (0..).map(EntryIndex).zip(others) {
            assert_eq!(group.find(&key(*value), |it| it == entry), Some(entry));
        }
    }

    #[test]
    fn removal_closes_the_gap() {
        let mut group = MaskGroup::new(key(u64::MAX), SEED);
        for value in 0..200 {
            group
                .insert(&key(value), EntryIndex(u32::try_from(value).unwrap()))
                .unwrap();
        }

        for value in (0..200).step_by(2) {
            group.remove(&key(value), EntryIndex(u32::try_from(value).unwrap()));
        }

        for value in 0..200 {
            let entry = EntryIndex(u32::try_from(value).unwrap());
            let expected = (value % 2 == 1).then_some(entry);
            assert_eq!(group.find(&key(value), |it| it == entry), expected);
        }
    }

    fn key(value: u64) -> PacketKey {
        let mut words = [0; crate::packet_key::WORDS];
        words[0] = value;
        PacketKey::from_words(words)
    }
}
