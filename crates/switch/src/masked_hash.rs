//! Hashes the fields of a packet key that a mask selects.
//!
//! The hash is seeded, so nobody outside can choose frames that collide.

use crate::packet_key::{PacketKey, WORDS};

/// An odd constant without pattern: the golden ratio in 64 bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A mask with the seed of its hash.
#[derive(Debug)]
pub(crate) struct MaskedHash {
    /// The words of the mask that are not zero, and where they are.
    parts: Vec<(usize, u64)>,
    seed: u64,
}

impl MaskedHash {
    pub(crate) fn new(mask: &PacketKey, seed: u64) -> Self {
        let parts = (0..WORDS)
            .map(|word| (word, mask.words()[word]))
            .filter(|(_, mask)| *mask != 0)
            .collect();
        Self { parts, seed }
    }

    /// Returns the words of the mask that are not zero, and where they are.
    pub(crate) fn parts(&self) -> &[(usize, u64)] {
        &self.parts
    }

    /// Returns the hash of a key under the mask.
    pub(crate) fn of(&self, key: &PacketKey) -> u64 {
        let words = key.words();
        let mut hash = self.seed;
        for &(word, mask) in &self.parts {
            hash = Self::mix(hash, words[word] & mask);
        }
        hash
    }

    /// Works a word into a hash.
    #[expect(clippy::cast_possible_truncation, reason = "folding is the purpose")]
    pub(crate) const fn mix(hash: u64, word: u64) -> u64 {
        let product = (hash ^ word) as u128 * MULTIPLIER as u128;
        (product as u64) ^ (product >> 64) as u64
    }
}
