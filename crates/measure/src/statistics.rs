//! How a quantity is spread: quantiles, never a mean alone.
//!
//! Values go into a histogram whose buckets are never wider than a hundredth of
//! their value (HDR histogram), so a quantile is right to 1 % and errs upward.
//! The smallest, the greatest and the mean are exact.
//!
//! A quantile of few values says little. Its confidence interval comes from the
//! ranks alone, whatever the distribution: the number of values below the true
//! quantile is binomial, here by the normal approximation.

use hdrhistogram::Histogram;
use units::Duration;

const SIGNIFICANT_DIGITS: u8 = 2;
/// What [`Distribution::fine`] has: a microsecond in a millisecond.
const FINE_DIGITS: u8 = 3;
/// Longer values are counted as this one; the exact maximum is kept apart.
const LONGEST_NS: u64 = 100_000_000_000;
/// The number of standard deviations on each side that hold 95 %.
const DEVIATIONS_95: f64 = 1.96;

/// Lengths of time, collected.
#[derive(Clone, Debug)]
pub struct Distribution {
    histogram: Histogram<u32>,
    count: u64,
    sum_ns: u128,
    /// The sum of the squares, in square nanoseconds.
    squares: f64,
    min: Duration,
    max: Duration,
}

impl Default for Distribution {
    fn default() -> Self {
        Self::with_digits(SIGNIFICANT_DIGITS)
    }
}

impl Distribution {
    /// Returns an empty distribution whose quantiles are right to a thousandth, for ten
    /// times the memory: what a measurement publishes.
    #[must_use]
    pub fn fine() -> Self {
        Self::with_digits(FINE_DIGITS)
    }

    fn with_digits(digits: u8) -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, LONGEST_NS, digits)
                .expect("bounds and digits are constants that the histogram takes"),
            count: 0,
            sum_ns: 0,
            squares: 0.0,
            min: Duration::from_ns(u64::MAX),
            max: Duration::ZERO,
        }
    }

    /// Adds a value.
    pub fn record(&mut self, value: Duration) {
        self.record_many(value, 1);
    }

    /// Adds a value that was met `times` times.
    pub fn record_many(&mut self, value: Duration, times: u64) {
        if times == 0 {
            return;
        }
        // Beyond 2^32 equal values the quantiles are off; the sums are not.
        let counted = u32::try_from(times).unwrap_or(u32::MAX);
        self.histogram.saturating_record_n(value.as_ns(), counted);
        self.count += times;
        self.sum_ns += u128::from(value.as_ns()) * u128::from(times);
        self.squares += as_f64(value.as_ns()).powi(2) * as_f64(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the values of another distribution.
    pub fn merge(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("both histograms have the same bounds");
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns how many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the greatest value.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the value that `per_mille` thousandths of all values do not
    /// exceed, rounded **up** to the edge of its bucket.
    #[must_use]
    pub fn quantile(&self, per_mille: u32) -> Option<Duration> {
        self.value_at(f64::from(per_mille) / 1000.0)
    }

    /// Returns an interval that holds the true quantile with 95 % confidence,
    /// or nothing if there are too few values to say.
    #[must_use]
    pub fn confidence(&self, per_mille: u32) -> Option<(Duration, Duration)> {
        let (quantile, count) = (f64::from(per_mille) / 1000.0, as_f64(self.count));
        let deviation = (count * quantile * (1.0 - quantile)).sqrt();
        let (low, high) = (
            (count * quantile - DEVIATIONS_95 * deviation) / count,
            (count * quantile + DEVIATIONS_95 * deviation + 1.0) / count,
        );
        if self.count == 0 || low < 0.0 || high > 1.0 {
            return None;
        }
        Some((self.value_at(low)?, self.value_at(high)?))
    }

    /// Returns the usual figures.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        if self.count == 0 {
            return None;
        }
        let mean = (self.sum_ns + u128::from(self.count) / 2) / u128::from(self.count);
        Some(Summary {
            count: self.count,
            min: self.min,
            mean: Duration::from_ns(u64::try_from(mean).expect("a mean is at most the maximum")),
            p50: self.quantile(500)?,
            p99: self.quantile(990)?,
            p999: self.quantile(999)?,
            max: self.max,
        })
    }

    /// Returns the upper edge of each bucket that holds values, in order, with
    /// their number. The last edge is the exact maximum.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.histogram.iter_recorded().map(|bucket| {
            let edge = self.clamp(bucket.value_iterated_to());
            (edge, bucket.count_since_last_iteration())
        })
    }

    fn value_at(&self, quantile: f64) -> Option<Duration> {
        (self.count > 0).then(|| self.clamp(self.histogram.value_at_quantile(quantile)))
    }

    /// A bucket may end above the greatest value that is in it.
    fn clamp(&self, ns: u64) -> Duration {
        Duration::from_ns(self.histogram.highest_equivalent(ns))
            .min(self.max)
            .max(self.min)
    }
}

/// The usual figures of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The number of values.
    pub count: u64,
    /// The smallest value.
    pub min: Duration,
    /// The mean, rounded to the nearest nanosecond.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// What 99 % do not exceed.
    pub p99: Duration,
    /// What 99.9 % do not exceed.
    pub p999: Duration,
    /// The greatest value.
    pub max: Duration,
}

/// Returns a number of things as a share of another.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> f64 {
    as_f64(part) / as_f64(whole)
}

#[expect(clippy::cast_precision_loss, reason = "for statistics only")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_thousand_equal_steps_have_the_quantiles_they_should() {
        let distribution = of((1..=1000).map(Duration::from_us));

        let summary = distribution.summary().unwrap();

        assert_eq!(summary.count, 1000);
        assert_eq!(summary.min, Duration::from_us(1));
        assert_eq!(summary.mean, Duration::from_ns(500_500));
        assert_eq!(summary.max, Duration::from_us(1000));
        assert_within_a_hundredth(summary.p50, Duration::from_us(500));
        assert_within_a_hundredth(summary.p99, Duration::from_us(990));
        assert_within_a_hundredth(summary.p999, Duration::from_us(999));
    }

    #[test]
    fn ten_values_have_no_confident_p99() {
        let distribution = of((1..=10).map(Duration::from_us));

        assert_eq!(distribution.confidence(990), None);
        assert!(distribution.confidence(500).is_some());
    }

    #[test]
    fn nothing_has_no_figures() {
        let distribution = Distribution::default();

        assert_eq!(distribution.summary(), None);
        assert_eq!(distribution.max(), None);
        assert_eq!(distribution.quantile(500), None);
    }

    proptest! {
        /// Sound and tight: a quantile is at least the exact one, and at most a
        /// hundredth above it.
        #[test]
        fn quantiles_err_upward_by_a_hundredth(
            mut values in prop::collection::vec(1u64..10_000_000_000, 1..300),
            per_mille in 1u32..=1000,
        ) {
            let distribution = of(values.iter().copied().map(Duration::from_ns));
            values.sort_unstable();
            let count = u64::try_from(values.len()).unwrap();
            let rank = (count * u64::from(per_mille)).div_ceil(1000).max(1);
            let exact = values[usize::try_from(rank - 1).unwrap()];

            let quantile = distribution.quantile(per_mille).unwrap().as_ns();

            prop_assert!(quantile >= exact);
            prop_assert!(quantile <= exact + exact / 100);
        }

        #[test]
        fn buckets_hold_every_value(values in prop::collection::vec(0u64..1 << 40, 0..300)) {
            let distribution = of(values.iter().copied().map(Duration::from_ns));

            let held: u64 = distribution.buckets().map(|(_, count)| count).sum();

            prop_assert_eq!(held, distribution.count());
        }
    }

    fn of(values: impl IntoIterator<Item = Duration>) -> Distribution {
        let mut distribution = Distribution::default();
        for value in values {
            distribution.record(value);
        }
        distribution
    }

    fn assert_within_a_hundredth(value: Duration, exact: Duration) {
        assert!(value >= exact && value.as_ns() <= exact.as_ns() + exact.as_ns() / 100);
    }
}
