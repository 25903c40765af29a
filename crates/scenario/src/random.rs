//! Random choices that follow from a seed.
//!
//! The generator is `SplitMix64` (Steele, Lea, Flood: Fast splittable
//! pseudorandom number generators, OOPSLA 2014): eight lines, and good enough
//! to draw a few million flows.

/// A source of random choices: the same for the same seed, everywhere.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Returns the source that follows from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns one of the items, or nothing if there are none.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let last = u64::try_from(items.len()).ok()?.checked_sub(1)?;
        items.get(usize::try_from(self.up_to(last)).ok()?)
    }

    /// Returns a number from 0 to `most`, all alike.
    pub fn up_to(&mut self, most: u64) -> u64 {
        // The high half of the product is uniform up to a bias of most / 2^64.
        let product = u128::from(self.next()) * (u128::from(most) + 1);
        u64::try_from(product >> 64).expect("the high half of 128 bits has 64")
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = Random::new(1_234_567);

        let first = [random.next(), random.next()];

        // The published sequence for this seed.
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn nothing_is_chosen_from_nothing() {
        assert_eq!(Random::new(1).choose::<u8>(&[]), None);
    }
}
