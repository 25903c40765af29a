//! Numbers drawn from a seed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::Duration;

/// Draws numbers; the same seed draws the same ones.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number below `limit`.
    ///
    /// # Panics
    ///
    /// If `limit` is zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    /// Returns a place in a list of `length`.
    ///
    /// # Panics
    ///
    /// If `length` is zero.
    pub fn index(&mut self, length: usize) -> usize {
        let place = self.below(length as u64);
        usize::try_from(place).expect("a place is below the length of a list")
    }

    /// Returns a length of time below `limit`; none if there is none below it.
    pub fn time_below(&mut self, limit: Duration) -> Duration {
        Duration::from_ns(self.below(limit.as_ns().max(1)))
    }

    /// Returns a number from `least` to `most`, both possible.
    ///
    /// # Panics
    ///
    /// If `most` is less than `least`.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Returns one of `choices`.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// Returns true in `percent` of all cases.
    pub fn in_percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Puts a list into a random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for place in (1..list.len()).rev() {
            list.swap(place, self.index(place + 1));
        }
    }
}
