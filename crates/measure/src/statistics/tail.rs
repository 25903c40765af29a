//! The tail of a distribution beyond what was seen, by extreme values.
//!
//! What lies above a high threshold follows, whatever the distribution is, a generalised
//! Pareto distribution the better the higher the threshold is (PICKANDS):
//!
//! ```text
//! P(X > u + x) = ζ (1 + ξ x / σ)^(-1/ξ)
//! ```
//!
//! with the share `ζ` of values above the threshold `u`. Shape `ξ` and scale `σ` are found
//! by probability-weighted moments (HOSKING section 4): with the mean `a0` of the
//! excesses and `a1`, their mean weighted by the share of those above each,
//!
//! ```text
//! ξ = 2 - a0 / (a0 - 2 a1),    σ = 2 a0 a1 / (a0 - 2 a1)
//! ```
//!
//! How sure a quantile is comes from drawing samples from what was fitted, fitting each,
//! and taking the value that 95 of 100 do not exceed.
//!
//! An extrapolation is an estimate and no bound: it takes what was seen for typical of
//! what was not. Values are taken for independent, which those of a busy machine are not.
//!
//! # Left out
//!
//! Shapes of a half and above, whose moments do not exist; the threshold is the caller's
//! choice.

use units::{Duration, Seeded};

use super::{Distribution, as_f64, nearest};

/// Fewer values above the threshold do not show a shape.
pub const FEWEST_PEAKS: u64 = 50;
/// More are not drawn again, which makes confidence no better than they would.
const MOST_DRAWN: u64 = 2_000;
const SAMPLES: usize = 400;
/// Of them so many in a hundred are not above the bound.
const CONFIDENCE_PERCENT: usize = 95;
/// The greatest shape whose moments exist, and a little less.
const GREATEST_SHAPE: f64 = 0.45;
/// A shape so near to none is the exponential distribution.
const NO_SHAPE: f64 = 1e-6;

/// The tail above a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    threshold: Duration,
    /// The share of values above the threshold.
    share: f64,
    peaks: u64,
    fitted: Pareto,
}

/// A generalised Pareto distribution, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pareto {
    shape: f64,
    scale: f64,
}

impl Tail {
    /// Fits the tail above the value that `per_mille` thousandths do not exceed, or
    /// returns nothing if there are too few values above it.
    #[must_use]
    pub fn fit(distribution: &Distribution, per_mille: u32) -> Option<Self> {
        let threshold = distribution.quantile(per_mille)?;
        let above = distribution.buckets().filter(|(edge, _)| *edge > threshold);
        let excesses = above.map(|(edge, count)| (as_f64((edge - threshold).as_ns()), count));
        let excesses: Vec<_> = excesses.collect();
        let peaks: u64 = excesses.iter().map(|(_, count)| count).sum();
        if peaks < FEWEST_PEAKS {
            return None;
        }
        Some(Self {
            threshold,
            share: as_f64(peaks) / as_f64(distribution.count()),
            peaks,
            fitted: Pareto::fit(&excesses, peaks),
        })
    }

    /// Returns the shape: above zero the tail falls slower than an exponential one.
    #[must_use]
    pub fn shape(&self) -> f64 {
        self.fitted.shape
    }

    /// Returns what one value in so many exceeds, by the fit, rounded up.
    #[must_use]
    pub fn quantile(&self, one_in: u64) -> Duration {
        self.beyond(self.fitted, one_in)
    }

    /// Returns what one value in so many exceeds at most, with 95 % confidence in the fit.
    /// The same seed gives the same.
    #[must_use]
    pub fn bound(&self, one_in: u64, seed: u64) -> Duration {
        let mut random = Seeded::new(seed);
        let drawn = self.peaks.min(MOST_DRAWN);
        let mut quantiles: Vec<_> = (0..SAMPLES)
            .map(|_| {
                let sample = self.fitted.sample(drawn, &mut random);
                self.beyond(Pareto::fit(&sample, drawn), one_in)
            })
            .collect();
        quantiles.sort_unstable();
        let rank = (SAMPLES * CONFIDENCE_PERCENT).div_ceil(100);
        quantiles[rank - 1].max(self.quantile(one_in))
    }

    fn beyond(&self, fitted: Pareto, one_in: u64) -> Duration {
        let beyond = self.share * as_f64(one_in);
        let excess = match beyond > 1.0 {
            true => fitted.exceeded_by(beyond),
            false => 0.0,
        };
        self.threshold + Duration::from_ns(nearest(excess.ceil()))
    }
}

impl Pareto {
    /// Fits excesses in ascending order, each with its number.
    fn fit(excesses: &[(f64, u64)], count: u64) -> Self {
        let (mut mean, mut weighted, mut before) = (0.0, 0.0, 0);
        for (excess, times) in excesses {
            mean += excess * as_f64(*times);
            // The ranks before+1 to before+times, each with the share 1 - (rank - 0.35) / n.
            let ranks = as_f64(*times) * (as_f64(before) + (as_f64(*times) + 1.0) / 2.0 - 0.35);
            weighted += excess * (as_f64(*times) - ranks / as_f64(count));
            before += times;
        }
        let (mean, weighted) = (mean / as_f64(count), weighted / as_f64(count));
        let apart = mean - 2.0 * weighted;
        if apart <= 0.0 || mean <= 0.0 {
            // All alike: as good as exponential.
            return Self {
                shape: 0.0,
                scale: mean.max(1.0),
            };
        }
        let shape = (2.0 - mean / apart).min(GREATEST_SHAPE);
        Self {
            shape,
            // The mean of the distribution is that of the excesses.
            scale: mean * (1.0 - shape),
        }
    }

    /// Returns the excess beyond which one in `times` lies.
    fn exceeded_by(self, times: f64) -> f64 {
        match self.shape.abs() < NO_SHAPE {
            true => self.scale * times.ln(),
            false => self.scale / self.shape * (times.powf(self.shape) - 1.0),
        }
    }

    fn sample(self, count: u64, random: &mut Seeded) -> Vec<(f64, u64)> {
        let mut drawn: Vec<_> = (0..count)
            .map(|_| {
                let share = (as_f64(random.below(1 << 52)) + 0.5) / as_f64(1 << 52);
                (self.exceeded_by(1.0 / share), 1)
            })
            .collect();
        drawn.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws from 10 us and more, whose tail is known.
    fn drawn(of: Pareto, count: u64, seed: u64) -> Distribution {
        let mut distribution = Distribution::fine();
        for (excess, _) in of.sample(count, &mut Seeded::new(seed)) {
            distribution.record(Duration::from_ns(10_000 + nearest(excess)));
        }
        distribution
    }

    /// Exponential, with a longer and with a shorter tail than that.
    const KNOWN: [Pareto; 3] = [
        Pareto {
            shape: 0.0,
            scale: 8_000.0,
        },
        Pareto {
            shape: 0.25,
            scale: 5_000.0,
        },
        Pareto {
            shape: -0.2,
            scale: 20_000.0,
        },
    ];

    #[test]
    fn the_tail_of_a_known_distribution_is_found_from_what_was_seen() {
        for (seed, known) in (1..).zip(KNOWN) {
            let tail = Tail::fit(&drawn(known, 200_000, seed), 980).unwrap();

            let found = as_f64(tail.quantile(1_000_000).as_ns());
            let truth = 10_000.0 + known.exceeded_by(1e6);
            assert!(
                (found / truth - 1.0).abs() < 0.3,
                "{known:?}: {found} {truth}"
            );
            assert!(
                (tail.shape() - known.shape).abs() < 0.1,
                "{known:?}: {tail:?}"
            );
        }
    }

    /// Sound as often as it says, and not needlessly large.
    #[test]
    fn the_bound_of_a_quantile_is_above_it_in_95_of_100_samples() {
        for known in KNOWN {
            let truth = 10_000.0 + known.exceeded_by(1e5);
            let bounds = (0..100).map(|seed| {
                let tail = Tail::fit(&drawn(known, 20_000, seed), 980).unwrap();
                as_f64(tail.bound(100_000, seed).as_ns())
            });
            let bounds: Vec<_> = bounds.collect();

            let sound = bounds.iter().filter(|bound| **bound >= truth).count();
            let large = bounds.iter().filter(|bound| **bound > 4.0 * truth).count();
            assert!(sound >= 85, "{known:?}: {sound} of 100");
            assert!(large <= 5, "{known:?}: {large} of 100");
        }
    }

    #[test]
    fn a_few_values_have_no_tail() {
        let few = drawn(KNOWN[0], FEWEST_PEAKS, 1);

        assert_eq!(Tail::fit(&few, 980), None);
        assert_eq!(Tail::fit(&Distribution::fine(), 980), None);
    }

    #[test]
    fn values_that_are_all_alike_have_a_tail_all_the_same() {
        let mut alike = Distribution::fine();
        alike.record_many(Duration::from_us(10), 10_000);
        alike.record_many(Duration::from_us(20), 100);

        let tail = Tail::fit(&alike, 980).unwrap();

        assert!(tail.quantile(1_000_000) >= Duration::from_us(20));
    }
}
