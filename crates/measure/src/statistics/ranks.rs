//! Which values of a sorted list enclose a quantile, and with what confidence.
//!
//! How many of `n` values lie below the true quantile `q` is binomial with `n` and `q`,
//! whatever the distribution is, so that two ranks enclose the quantile with a
//! probability that can be computed (DAVID section 7.1). Where the variance is small
//! the binomial sum is exact, elsewhere it is normal within what matters.

use super::{as_f64, nearest};

/// Above this variance the binomial is taken for normal.
const EXACT_VARIANCE: f64 = 400.0;

/// How many values of a binomial distribution lie where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binomial {
    trials: u64,
    chance: f64,
}

impl Binomial {
    /// Returns the number of `trials` that succeed, each with `chance`.
    pub(super) fn new(trials: u64, chance: f64) -> Self {
        Self { trials, chance }
    }

    /// Returns the least number that is not exceeded with at least `probability`.
    pub(super) fn quantile(&self, probability: f64) -> u64 {
        let mean = as_f64(self.trials) * self.chance;
        let variance = mean * (1.0 - self.chance);
        if variance > EXACT_VARIANCE {
            let reached = mean + deviations(probability) * variance.sqrt() + 0.5;
            return nearest(reached.floor()).min(self.trials);
        }
        // Counted from the side with fewer, whose sum is short.
        match self.chance <= 0.5 {
            true => self.count_up(probability),
            false => {
                let failures = Self::new(self.trials, 1.0 - self.chance);
                failures.count_until_above(1.0 - probability, self.trials)
            }
        }
    }

    fn count_up(&self, probability: f64) -> u64 {
        let mut sum = 0.0;
        for (number, mass) in self.masses() {
            sum += mass;
            if sum >= probability {
                return number;
            }
        }
        self.trials
    }

    /// Returns `trials` less the greatest number of failures for which those up to it
    /// have at most `tail` together, and one more failure has more.
    fn count_until_above(&self, tail: f64, trials: u64) -> u64 {
        let mut sum = 0.0;
        for (number, mass) in self.masses() {
            sum += mass;
            if sum > tail {
                return trials - number;
            }
        }
        0
    }

    /// Returns each number with its probability, from zero on, as far as it matters.
    fn masses(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let odds = (self.chance / (1.0 - self.chance)).ln();
        let mut logarithm = as_f64(self.trials) * (1.0 - self.chance).ln();
        (0..=self.trials).map(move |number| {
            let mass = logarithm.exp();
            logarithm += (as_f64(self.trials - number) / as_f64(number + 1)).ln() + odds;
            (number, mass)
        })
    }
}

/// Returns two ranks, counted from 1, that enclose a quantile with at least this
/// confidence, or nothing if there are too few values to say.
pub(super) fn around(count: u64, quantile: f64, confidence: f64) -> Option<(u64, u64)> {
    let tail = (1.0 - confidence) / 2.0;
    let below = Binomial::new(count, quantile);
    let low = below.quantile(tail);
    let high = below.quantile(1.0 - tail) + 1;
    (low >= 1 && high <= count).then_some((low, high))
}

/// Returns the rank, counted from 1, of the value that bounds a quantile from above with
/// at least this confidence, or nothing if there are too few values to say.
pub(super) fn above(count: u64, quantile: f64, confidence: f64) -> Option<u64> {
    let rank = Binomial::new(count, quantile).quantile(confidence) + 1;
    (rank <= count).then_some(rank)
}

/// Returns the quantile of the standard normal distribution, right to 0.0005: the
/// rational approximation of ABRAMOWITZ section 26.2.23.
fn deviations(probability: f64) -> f64 {
    let tail = probability.min(1.0 - probability).max(1e-300);
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let size = t - above / below;
    match probability < 0.5 {
        true => -size,
        false => size,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ranks as the tables of nonparametric intervals have them: of ten values the
    /// second and the ninth enclose the median with 97.9 %, of 20 the sixth and the
    /// fifteenth with 95.9 %, of 100 the 40th and the 61st with 96.5 %.
    #[test]
    fn the_ranks_around_a_median_are_those_of_the_tables() {
        for (count, ranks) in [(10, (2, 9)), (20, (6, 15)), (100, (40, 61))] {
            assert_eq!(around(count, 0.5, 0.95), Some(ranks), "{count}");
        }
        assert_eq!(around(5, 0.5, 0.95), None, "1 − 2/32 is below 95 %");
        assert_eq!(around(6, 0.5, 0.95), Some((1, 6)));
    }

    /// The greatest of 59 values is above 95 % of all with 95 % confidence, of 299 above
    /// 99 %, of 2995 above 99.9 %: the classical sample sizes.
    #[test]
    fn tolerance_needs_the_sample_sizes_that_are_known() {
        for (quantile, least) in [(0.95, 59), (0.99, 299), (0.999, 2_995)] {
            assert_eq!(above(least - 1, quantile, 0.95), None, "{quantile}");
            assert_eq!(above(least, quantile, 0.95), Some(least), "{quantile}");
        }
    }

    #[test]
    fn the_normal_quantile_is_that_of_the_tables() {
        for (probability, expected) in [
            (0.5, 0.0),
            (0.975, 1.959_96),
            (0.025, -1.959_96),
            (0.999, 3.090_23),
        ] {
            assert!(
                (deviations(probability) - expected).abs() < 5e-4,
                "{probability}"
            );
        }
    }

    proptest! {
        /// Where both ways to count apply they differ by a rank at most.
        #[test]
        fn the_normal_continues_the_binomial(per_mille in 200u64..800, trials in 1_500u64..1_900) {
            let chance = as_f64(per_mille) / 1_000.0;
            let binomial = Binomial::new(trials, chance);
            let exact = match chance <= 0.5 {
                true => binomial.count_up(0.975),
                false => Binomial::new(trials, 1.0 - chance).count_until_above(0.025, trials),
            };
            let mean = as_f64(trials) * chance;
            let normal = mean + deviations(0.975) * (mean * (1.0 - chance)).sqrt() + 0.5;

            prop_assert!(exact.abs_diff(nearest(normal.floor())) <= 1);
        }
    }
}
