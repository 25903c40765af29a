//! Counters that wrap, made into sequences that do not.
//!
//! The sample counter of Sampled Values starts again every second, the packet
//! counters of other protocols at a power of two. Each reading is taken as the
//! value next to the greatest one so far, as for the sequence numbers of RTP
//! (RFC 3550 appendix A.1), so readings may come late, twice or out of order by
//! less than half a turn.

/// Unwraps readings of one counter.
#[derive(Clone, Debug)]
pub struct Unwrapper {
    modulus: u64,
    greatest: Option<u64>,
}

impl Unwrapper {
    /// Returns an unwrapper for a counter that runs from 0 to `modulus` − 1.
    ///
    /// # Panics
    ///
    /// If the modulus is zero.
    #[must_use]
    pub fn new(modulus: u64) -> Self {
        assert!(modulus > 0, "a counter has at least one value");
        Self {
            modulus,
            greatest: None,
        }
    }

    /// Returns the sequence number of a reading. The first turn is number one,
    /// so that a frame from before the first reading has its place too.
    pub fn unwrap(&mut self, counter: u64) -> u64 {
        let counter = counter % self.modulus;
        let Some(greatest) = self.greatest else {
            self.greatest = Some(self.modulus + counter);
            return self.modulus + counter;
        };
        let ahead = (counter + self.modulus - greatest % self.modulus) % self.modulus;
        let behind = self.modulus - ahead;
        let sequence = match ahead <= self.modulus / 2 || behind > greatest {
            true => greatest + ahead,
            false => greatest - behind,
        };
        self.greatest = Some(greatest.max(sequence));
        sequence
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_sample_counter_runs_on_over_the_second() {
        let mut samples = Unwrapper::new(4000);

        let sequences = [3999, 0, 1, 3998].map(|counter| samples.unwrap(counter));

        assert_eq!(sequences, [7999, 8000, 8001, 7998]);
    }

    proptest! {
        #[test]
        fn any_order_within_half_a_turn_is_understood(
            modulus in 8u64..10_000,
            steps in prop::collection::vec((0u64..1_000_000, any::<bool>()), 1..200),
        ) {
            let mut unwrapper = Unwrapper::new(modulus);
            let mut truth = modulus;
            unwrapper.unwrap(0);
            for (step, forward) in steps {
                let reading = match forward {
                    true => truth + step % (modulus / 2),
                    false => truth - step % (modulus / 2),
                };
                prop_assert_eq!(unwrapper.unwrap(reading % modulus), reading);
                truth = truth.max(reading);
            }
        }
    }
}
