//! How a quantity is spread: quantiles, never a mean alone.
//!
//! Values go into a histogram whose buckets are never wider than a hundredth of
//! their value (HDR histogram), so a quantile is right to 1 % and errs upward; a fine
//! one is right to a thousandth. The smallest, the greatest and the mean are exact.
//!
//! A quantile of few values says little. Its confidence interval comes from the
//! ranks alone, whatever the distribution: the number of values below the true
//! quantile is binomial. So does the bound that a share of all values, seen or not,
//! keeps with a stated confidence. Both take the values for independent, which
//! neighbours on a busy machine are not: the true interval is wider.

mod ranks;
pub mod tail;

use std::cmp::Ordering;

use hdrhistogram::Histogram;
use thiserror::Error;
use units::Duration;

const SIGNIFICANT_DIGITS: u8 = 2;
/// What [`Distribution::fine`] has: a microsecond in a millisecond.
const FINE_DIGITS: u8 = 3;
/// Longer values are counted as this one; the exact maximum is kept apart.
const LONGEST_NS: u64 = 100_000_000_000;
const CONFIDENCE: f64 = 0.95;

#[derive(Clone, Debug)]
pub struct Distribution {
    histogram: Histogram<u32>,
    count: u64,
    sum_ns: u128,
    /// The sum of the squared differences from the mean, in square nanoseconds.
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
        self.histogram
            .saturating_record_n(value.as_ns().min(LONGEST_NS), counted);
        self.squares += self.squares_between(as_f64(value.as_ns()), times);
        self.count += times;
        self.sum_ns += u128::from(value.as_ns()) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the values of another distribution, as finely as this one holds them; one
    /// without values becomes the other.
    pub fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            other.clone_into(self);
            return;
        }
        if other.count == 0 {
            return;
        }
        self.squares += other.squares + self.squares_between(other.real_mean(), other.count);
        self.histogram
            .add(&other.histogram)
            .expect("both histograms have the same bounds");
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns how many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the value that `per_mille` thousandths of all values do not
    /// exceed, rounded **up** to the edge of its bucket.
    #[must_use]
    pub fn quantile(&self, per_mille: u32) -> Option<Duration> {
        let rank = (u128::from(self.count) * u128::from(per_mille)).div_ceil(1000);
        let rank = u64::try_from(rank.max(1)).expect("at most the count");
        self.value_of_rank(rank.min(self.count))
    }

    /// Returns an interval that holds the true quantile with at least 95 % confidence,
    /// or nothing if there are too few values to say.
    #[must_use]
    pub fn confidence(&self, per_mille: u32) -> Option<(Duration, Duration)> {
        let quantile = f64::from(per_mille) / 1000.0;
        let (low, high) = ranks::around(self.count, quantile, CONFIDENCE)?;
        Some((self.value_of_rank(low)?, self.value_of_rank(high)?))
    }

    /// Returns what `per_mille` thousandths of all values, those that were not seen
    /// included, do not exceed with at least 95 % confidence, or nothing if there are
    /// too few values to say.
    #[must_use]
    pub fn tolerance(&self, per_mille: u32) -> Option<Duration> {
        let quantile = f64::from(per_mille) / 1000.0;
        self.value_of_rank(ranks::above(self.count, quantile, CONFIDENCE)?)
    }

    /// Returns what all but one in `one_in` values, those that were not seen included, do
    /// not exceed with at least 95 % confidence, or nothing if there are too few values to
    /// say: three times `one_in` are enough.
    #[must_use]
    pub fn tolerance_of(&self, one_in: u64) -> Option<Duration> {
        let quantile = 1.0 - 1.0 / as_f64(one_in);
        self.value_of_rank(ranks::above(self.count, quantile, CONFIDENCE)?)
    }

    /// Returns the standard deviation of the values, rounded to the nearest nanosecond,
    /// or nothing for fewer than two values.
    #[must_use]
    pub fn deviation(&self) -> Option<Duration> {
        if self.count < 2 {
            return None;
        }
        let deviation = (self.squares / as_f64(self.count - 1)).max(0.0).sqrt();
        Some(Duration::from_ns(nearest(deviation)))
    }

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

    /// Returns the distribution that these buckets came from, with what is exact.
    ///
    /// # Errors
    ///
    /// If the parts contradict each other.
    pub fn restore(exact: &Exact, buckets: &[(Duration, u64)]) -> Result<Self, Contradiction> {
        let mut restored = Self::fine();
        let mut before = None;
        for (edge, count) in buckets {
            let is_within = *edge <= exact.max && *edge >= exact.min;
            if *count == 0 || !is_within || before.is_some_and(|before| before >= *edge) {
                return Err(Contradiction);
            }
            before = Some(*edge);
            restored.record_many(*edge, *count);
        }
        let values: u64 = buckets.iter().map(|(_, count)| *count).sum();
        if values > exact.count || (values == 0) != (exact.count == 0) {
            return Err(Contradiction);
        }
        if exact.count == 0 {
            return Ok(Self::fine());
        }
        if !(exact.min..=exact.max).contains(&exact.mean) {
            return Err(Contradiction);
        }
        let deviation = as_f64(exact.deviation.map_or(0, Duration::as_ns));
        Ok(Self {
            count: exact.count,
            sum_ns: u128::from(exact.mean.as_ns()) * u128::from(exact.count),
            squares: deviation.powi(2) * as_f64(exact.count - 1),
            min: exact.min,
            max: exact.max,
            ..restored
        })
    }

    /// Returns what `times` values with this mean add to the squares.
    fn squares_between(&self, mean: f64, times: u64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let (own, others) = (as_f64(self.count), as_f64(times));
        (mean - self.real_mean()).powi(2) * own * others / (own + others)
    }

    #[expect(clippy::cast_precision_loss, reason = "for statistics only")]
    fn real_mean(&self) -> f64 {
        self.sum_ns as f64 / as_f64(self.count)
    }

    fn value_of_rank(&self, rank: u64) -> Option<Duration> {
        // The middle of the rank, so that no rounding leads to the next.
        (self.count > 0).then(|| self.value_at((as_f64(rank) - 0.5) / as_f64(self.count)))
    }

    fn value_at(&self, quantile: f64) -> Duration {
        self.clamp(self.histogram.value_at_quantile(quantile))
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
    pub count: u64,
    pub min: Duration,
    /// The mean, rounded to the nearest nanosecond.
    pub mean: Duration,
    pub p50: Duration,
    /// What 99 % do not exceed.
    pub p99: Duration,
    /// What 99.9 % do not exceed.
    pub p999: Duration,
    pub max: Duration,
}

/// What a distribution knows exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    pub count: u64,
    pub min: Duration,
    /// The mean, rounded to the nearest nanosecond.
    pub mean: Duration,
    /// The standard deviation, if there are two values.
    pub deviation: Option<Duration>,
    pub max: Duration,
}

/// Parts of a distribution that cannot belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the buckets of a distribution contradict its count, its order or its bounds")]
pub struct Contradiction;

/// Returns the nearest whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length of time: not negative, and saturating is right for what is beyond"
)]
fn nearest(value: f64) -> u64 {
    value.round() as u64
}

/// Returns the value in the middle, the greater one of two, and sorts the others around it.
pub fn middle<T: Copy>(values: &mut [T], order: impl FnMut(&T, &T) -> Ordering) -> Option<T> {
    let place = values.len() / 2;
    let found = (!values.is_empty()).then(|| values.select_nth_unstable_by(place, order));
    found.map(|(_, middle, _)| *middle)
}

/// Returns a number of things as a share of another.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> f64 {
    as_f64(part) / as_f64(whole)
}

#[expect(clippy::cast_precision_loss, reason = "for statistics only")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// Returns a number with so many significant digits, and no others.
#[must_use]
pub fn significant(value: f64, digits: u32) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = i32::try_from(digits).unwrap_or(i32::MAX);
    let size = |value: f64| value.abs().log10().floor();
    let scale = |value: f64| 10f64.powf(f64::from(digits - 1) - size(value));
    let rounded = (value * scale(value)).round() / scale(value);
    // What is rounded up to the next power of ten has a digit less behind the point.
    let decimals = f64::from(digits - 1) - size(rounded);
    let width = (0..=18usize)
        .find(|width| decimals <= real(*width))
        .unwrap_or(18);
    format!("{rounded:.width$}")
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn real(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_that_mean_something_are_all_that_is_written() {
        let written = [
            (0.4549, 2),
            (0.00951, 1),
            (1.0, 3),
            (9.96, 2),
            (1_234.5, 2),
            (0.0996, 2),
        ];
        let written = written.map(|(value, digits)| significant(value, digits));

        assert_eq!(written, ["0.45", "0.01", "1.00", "10", "1200", "0.10"]);
    }

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
    fn the_deviation_is_that_of_the_values_however_they_were_added() {
        // Two thousand values, half at 1 s − 3 ns and half at 1 s + 3 ns.
        let second = Duration::from_secs(1).as_ns();
        let mut together = Distribution::fine();
        together.record_many(Duration::from_ns(second - 3), 1_000);
        let other = of((0..1_000).map(|_| Duration::from_ns(second + 3)));
        together.merge(&other);

        assert_eq!(together.deviation(), Some(Duration::from_ns(3)));
        assert_eq!(together.count(), 2_000);
        assert_eq!(of([Duration::from_ns(5)]).deviation(), None);
    }

    #[test]
    fn a_fine_one_is_right_to_a_thousandth_and_merges_with_a_coarse_one() {
        let mut fine = Distribution::fine();
        fine.record(Duration::from_ns(1_234_567));
        fine.record(Duration::from_ns(9_000_000));
        let median = fine.quantile(500).unwrap().as_ns();
        assert!(
            (1_234_567..=1_234_567 + 1_235).contains(&median),
            "{median}"
        );

        fine.merge(&of([Duration::from_us(3)]));
        let mut coarse = of([Duration::from_us(3)]);
        coarse.merge(&fine);

        assert_eq!((fine.count(), coarse.count()), (3, 4));
        assert_eq!(coarse.max(), Some(Duration::from_ms(9)));
    }

    /// Of 299,572 values the greatest is above all but one in 100,000 with 95 %
    /// confidence, since 0.99999 to that power is 5 %.
    #[test]
    fn seldom_values_are_bounded_by_ranks_where_there_are_enough() {
        let mut distribution = Distribution::default();
        distribution.record_many(Duration::from_us(1), 299_570);
        distribution.record(Duration::from_us(7));

        assert_eq!(distribution.tolerance_of(100_000), None);
        distribution.record(Duration::from_us(7));
        assert_eq!(
            distribution.tolerance_of(100_000),
            Some(Duration::from_us(7))
        );
        assert!(distribution.tolerance_of(1_000) < Some(Duration::from_us(2)));
    }

    #[test]
    fn tolerance_needs_more_values_than_a_quantile() {
        let distribution = of((1..=300).map(Duration::from_us));

        assert_eq!(distribution.tolerance(990), Some(Duration::from_us(300)));
        assert_eq!(distribution.tolerance(999), None);
    }

    #[test]
    fn buckets_that_contradict_their_count_are_refused() {
        let (low, high) = (Duration::from_us(1), Duration::from_us(9));
        let exact = Exact {
            count: 2,
            min: low,
            mean: Duration::from_us(5),
            deviation: None,
            max: high,
        };

        assert!(Distribution::restore(&exact, &[(low, 1), (high, 1)]).is_ok());
        for buckets in [
            &[(low, 3)][..],
            &[(high, 1), (low, 1)],
            &[(Duration::from_us(10), 1)],
            &[],
        ] {
            assert_eq!(
                Distribution::restore(&exact, buckets).unwrap_err(),
                Contradiction
            );
        }
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

        /// What is written and read back tells the same.
        #[test]
        fn a_restored_distribution_tells_the_same(
            values in prop::collection::vec(0u64..1 << 50, 1..200),
        ) {
            let mut distribution = Distribution::fine();
            for ns in values {
                distribution.record(Duration::from_ns(ns));
            }
            let summary = distribution.summary().unwrap();
            let exact = Exact {
                count: summary.count,
                min: summary.min,
                mean: summary.mean,
                deviation: distribution.deviation(),
                max: summary.max,
            };
            let buckets: Vec<_> = distribution.buckets().collect();

            let restored = Distribution::restore(&exact, &buckets).unwrap();

            prop_assert_eq!(restored.summary(), distribution.summary());
            prop_assert_eq!(restored.deviation(), distribution.deviation());
            prop_assert_eq!(restored.buckets().collect::<Vec<_>>(), buckets);
            prop_assert_eq!(restored.confidence(500), distribution.confidence(500));
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
