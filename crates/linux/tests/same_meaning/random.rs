//! Random choices that follow from a seed.

use units::Seeded;

/// A source of random choices: the same for the same seed, everywhere.
#[derive(Clone, Debug)]
pub struct Random(Seeded);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Seeded::new(seed))
    }

    pub fn number(&mut self) -> u64 {
        self.0.number()
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// Returns a number of both ends or between.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.0.index(most - least + 1)
    }

    /// Returns whether something happens that does once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns whether something happens that does so often in a hundred.
    pub fn percent(&mut self, often: u64) -> bool {
        self.below(100) < often
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.index(from.len())]
    }

    pub fn byte(&mut self) -> u8 {
        self.number().to_be_bytes()[0]
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}
