//! Random numbers that follow from a seed.

/// `SplitMix64` steps by this: the golden ratio of 2^64, which is odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of numbers that follows from its seed: the same on every machine.
///
/// The generator is `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, OOPSLA 2014), a counter whose steps are mixed.
#[derive(Clone, Debug)]
pub struct Seeded {
    state: u64,
}

impl Seeded {
    /// Returns the sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the seed of one of many sequences that all follow from `seed`.
    #[must_use]
    pub const fn seed_of(seed: u64, number: u64) -> u64 {
        seed.wrapping_add(number.wrapping_mul(STEP))
    }

    /// Returns the next number.
    pub const fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `most`, all alike.
    pub fn up_to(&mut self, most: u64) -> u64 {
        // The upper half of a product: off by at most (most + 1) / 2^64.
        let scaled = (u128::from(self.number()) * (u128::from(most) + 1)) >> u64::BITS;
        u64::try_from(scaled).expect("the upper half of 128 bits has 64")
    }

    /// Returns a number below `bound`, all alike.
    ///
    /// # Panics
    ///
    /// If there is none below it.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.up_to(bound.checked_sub(1).expect("no number is below zero"))
    }

    /// Returns a place in a list of this length.
    ///
    /// # Panics
    ///
    /// If the list is empty.
    pub fn index(&mut self, length: usize) -> usize {
        let place = self.below(length as u64);
        usize::try_from(place).expect("below a length")
    }

    /// Returns one of the items, or nothing if there are none.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        (!items.is_empty()).then(|| &items[self.index(items.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = Seeded::new(1_234_567);

        let first = [random.number(), random.number()];

        // The published sequence for this seed.
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn numbers_below_a_bound_reach_all_of_it_and_repeat_with_the_seed() {
        let draw = |seed| {
            let mut random = Seeded::new(seed);
            (0..1_000).map(|_| random.below(10)).collect::<Vec<_>>()
        };

        let numbers = draw(1);

        for number in 0..10 {
            let times = numbers.iter().filter(|other| **other == number).count();
            assert!((60..140).contains(&times), "{number} {times} times");
        }
        assert_eq!(draw(1), numbers);
        assert_ne!(draw(2), numbers);
    }

    #[test]
    fn nothing_is_chosen_from_nothing() {
        assert_eq!(Seeded::new(1).choose::<u8>(&[]), None);
    }
}
