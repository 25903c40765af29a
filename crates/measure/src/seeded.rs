//! Random numbers that follow from a seed: where in a period a cable is cut, and which
//! values a resampling draws.
//!
//! `SplitMix64`: a counter whose steps are mixed. The same seed gives the same numbers
//! on every machine.

/// A sequence of numbers that follows from its seed.
#[derive(Clone, Debug)]
pub struct Seeded {
    state: u64,
}

impl Seeded {
    /// Returns the sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns the next number below `bound`.
    ///
    /// # Panics
    ///
    /// If there is none below it.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below zero");
        // The upper half of a product: off by at most bound / 2^64.
        let scaled = (u128::from(self.number()) * u128::from(bound)) >> u64::BITS;
        u64::try_from(scaled).expect("below the bound")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
