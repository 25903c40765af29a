//! What becomes of the signals on one cable.

use units::{Duration, Seeded};
use wire::ethernet::EtherType;

use super::fault_schedule::Noise;
use crate::servers::random::Random;

/// Where an untagged frame says what it carries.
const TYPE_AT: std::ops::Range<usize> = 12..14;

/// Decides about the signals on one cable.
#[derive(Clone, Debug)]
pub struct SignalFaults {
    noise: Noise,
    is_deaf: bool,
    /// By direction, how many were lost one after the other.
    lost: [u64; 2],
    random: Random,
}

impl SignalFaults {
    /// Returns what becomes of signals on the cable of this number.
    #[must_use]
    pub fn new(noise: &Noise, cable: usize, seed: u64) -> Self {
        let seed = Seeded::seed_of(seed, cable as u64 + 1);
        Self {
            is_deaf: noise.deaf[cable],
            noise: noise.clone(),
            lost: [0; 2],
            random: Random::new(seed),
        }
    }

    /// Returns how late the next signal towards an end comes, and how late it comes
    /// again; nothing for a time that it does not come.
    pub fn next(&mut self, end: usize) -> [Option<Duration>; 2] {
        if self.is_deaf {
            return [None; 2];
        }
        let lost = &mut self.lost[end];
        if *lost < self.noise.losses_in_a_row && self.random.in_percent(self.noise.loss_percent) {
            *lost += 1;
            return [None; 2];
        }
        *lost = 0;
        let again = self.random.in_percent(self.noise.twice_percent);
        [Some(self.late()), again.then(|| self.late())]
    }

    /// Tells whether a frame is a signal.
    #[must_use]
    pub fn concern(frame: &[u8]) -> bool {
        frame.get(TYPE_AT) == Some(&EtherType::MODE_SIGNAL.0.to_be_bytes())
    }

    fn late(&mut self) -> Duration {
        match self.random.in_percent(self.noise.late_percent) {
            true => Duration::from_ns(self.random.below(self.noise.late_by.as_ns())),
            false => Duration::ZERO,
        }
    }
}
