//! Counters that wrap, made into sequences that do not.
//!
//! The sample counter of Sampled Values starts again every second. A reading of
//! it stands for the one sequence number near to where the stream should be at
//! the time of the reading; that is unambiguous as long as the reading is less
//! than half a turn early or late.

/// Returns the sequence number nearest to `expected` at which a counter from 0
/// to `modulus` − 1 reads `counter`.
///
/// # Panics
///
/// If the modulus is zero.
#[must_use]
pub fn nearest(counter: u64, modulus: u64, expected: u64) -> u64 {
    assert!(modulus > 0, "a counter has at least one value");
    let ahead = (counter % modulus + modulus - expected % modulus) % modulus;
    let behind = modulus - ahead;
    match ahead <= modulus / 2 || behind > expected {
        true => expected + ahead,
        false => expected - behind,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_sample_counter_runs_on_over_the_second() {
        assert_eq!(nearest(3999, 4000, 3999), 3999);
        assert_eq!(nearest(0, 4000, 3999), 4000);
        assert_eq!(nearest(3998, 4000, 4001), 3998);
        assert_eq!(nearest(2, 4000, 0), 2);
        assert_eq!(nearest(3999, 4000, 1), 3999);
    }

    proptest! {
        #[test]
        fn half_a_turn_off_is_understood(
            modulus in 2u64..10_000, truth in 10_000u64..1 << 50, off in 0u64..10_000, early: bool,
        ) {
            let off = off % modulus.div_ceil(2);
            let expected = match early {
                true => truth + off,
                false => truth - off,
            };

            prop_assert_eq!(nearest(truth % modulus, modulus, expected), truth);
        }
    }
}
