//! Draws what an emulated device does.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use scenario::{MILLION, Quantiles};
use units::{Delay, Seeded};

/// Draws; the same seed and device draw the same.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Starts from the seed of a run, for the device of this number.
    #[must_use]
    pub fn new(seed: u64, device: u64) -> Self {
        let seed = Seeded::seed_of(seed, device);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number from 0 to a million, all alike.
    pub fn per_million(&mut self) -> u32 {
        let product = u128::from(self.0.next_u64()) * (u128::from(MILLION) + 1);
        u32::try_from(product >> 64).expect("no more than a million")
    }

    /// Tells whether something happens that happens in so many of a million cases.
    pub fn happens(&mut self, of_a_million: u64) -> bool {
        of_a_million > 0 && self.0.next_u64() % u64::from(MILLION) < of_a_million
    }

    /// Returns a value of a distribution.
    pub fn draw(&mut self, spread: &Quantiles) -> Delay {
        spread.at(self.per_million())
    }
}
