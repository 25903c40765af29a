//! How large a difference is, and how sure that is.
//!
//! The effect is a ratio, the second device's value over the first one's. From rounds
//! it is that of the geometric means, with bounds by Welch's interval on logarithms
//! (WELCH), which asks neither for equal spreads nor for equally many rounds. From the
//! values of one round each, the bounds of the two quantiles are combined, which errs
//! on the wide side.
//!
//! Beside it stands how often a value of the second device is smaller than one of the
//! first, half of the ties counted (VARGHA-DELANEY): 0.5 if neither tends to be, 1 if
//! always. Its bounds take the values for independent (HANLEY-MCNEIL).

use serde::Serialize;
use units::Duration;

use crate::statistics::{Distribution, as_f64};

/// The 97.5 % quantiles of Student's distribution for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The same of the normal distribution.
const NORMAL: f64 = 1.960;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// How many times larger the second one is.
    pub ratio: f64,
    /// Between which bounds that lies with 95 % confidence, if it can be said.
    pub bounds: Option<(f64, f64)>,
    pub basis: Basis,
    /// How often a value of the second is the smaller one, of lengths of time.
    pub superiority: Option<Superiority>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    Rounds,
    /// The values of one round each, taken for independent.
    Values,
}

/// How often a value of the second device is smaller than one of the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Superiority {
    /// The share of all pairs, half of the ties counted.
    pub share: f64,
    /// Between which bounds that lies with 95 % confidence.
    pub bounds: (f64, f64),
}

impl Effect {
    /// Returns the effect between what rounds gave, or nothing if a side has no value
    /// above zero: a ratio to zero says nothing. Two sides of nothing but zeros are
    /// equal.
    #[must_use]
    pub fn of_rounds(rounds: &[Vec<f64>; 2]) -> Option<Self> {
        let effect = |ratio, bounds| Self {
            ratio,
            bounds,
            basis: Basis::Rounds,
            superiority: None,
        };
        if rounds.iter().any(Vec::is_empty) {
            return None;
        }
        if rounds.iter().flatten().all(|value| *value == 0.0) {
            return Some(effect(1.0, None));
        }
        if rounds.iter().flatten().any(|value| *value <= 0.0) {
            return None;
        }
        let [first, second] = rounds.each_ref().map(|values| Logarithms::of(values));
        let difference = second.mean - first.mean;
        let bounds = first
            .margin(&second)
            .map(|margin| ((difference - margin).exp(), (difference + margin).exp()));
        Some(effect(difference.exp(), bounds))
    }

    /// Returns the effect between a quantile of the one and of the other, from their
    /// values alone.
    #[must_use]
    pub fn of_values(first: &Distribution, second: &Distribution, per_mille: u32) -> Option<Self> {
        let (one, other) = (first.quantile(per_mille)?, second.quantile(per_mille)?);
        let bounds = first
            .confidence(per_mille)
            .zip(second.confidence(per_mille))
            .and_then(|((low, high), (other_low, other_high))| {
                Some((ratio(other_low, high)?, ratio(other_high, low)?))
            });
        Some(Self {
            ratio: ratio(other, one)?,
            bounds,
            basis: Basis::Values,
            superiority: None,
        })
    }
}

impl Superiority {
    /// Compares all values of the one with all of the other.
    #[must_use]
    pub fn of(first: &Distribution, second: &Distribution) -> Option<Self> {
        let (many, others) = (as_f64(first.count()), as_f64(second.count()));
        if many == 0.0 || others == 0.0 {
            return None;
        }
        let mut larger = first.buckets().peekable();
        let mut not_above = 0;
        let mut wins = 0.0;
        for (edge, count) in second.buckets() {
            while let Some((_, below)) = larger.next_if(|(at, _)| *at < edge) {
                not_above += below;
            }
            let ties = larger
                .peek()
                .filter(|(at, _)| *at == edge)
                .map_or(0, |(_, it)| *it);
            let above = first.count() - not_above - ties;
            wins += as_f64(count) * (as_f64(above) + as_f64(ties) / 2.0);
        }
        let share = wins / (many * others);
        // HANLEY-MCNEIL: the variance of the share from the share alone.
        let (one_below_two, two_below_one) =
            (share / (2.0 - share), 2.0 * share * share / (1.0 + share));
        let square = share * share;
        let variance = share * (1.0 - share)
            + (others - 1.0) * (one_below_two - square)
            + (many - 1.0) * (two_below_one - square);
        let margin = NORMAL * (variance.max(0.0) / (many * others)).sqrt();
        Some(Self {
            share,
            bounds: ((share - margin).max(0.0), (share + margin).min(1.0)),
        })
    }
}

/// The logarithms of some values.
struct Logarithms {
    count: f64,
    mean: f64,
    variance: Option<f64>,
}

impl Logarithms {
    fn of(values: &[f64]) -> Self {
        let count = as_f64(values.len() as u64);
        let mean = values.iter().map(|value| value.ln()).sum::<f64>() / count;
        let squares = values.iter().map(|value| (value.ln() - mean).powi(2));
        let variance = (values.len() > 1).then(|| squares.sum::<f64>() / (count - 1.0) / count);
        Self {
            count,
            mean,
            variance,
        }
    }

    /// Returns half of Welch's interval for the difference of the means, WELCH.
    fn margin(&self, other: &Self) -> Option<f64> {
        let (one, two) = (self.variance?, other.variance?);
        let whole = one + two;
        if whole == 0.0 {
            return Some(0.0);
        }
        let freedom =
            whole * whole / (one * one / (self.count - 1.0) + two * two / (other.count - 1.0));
        Some(student(freedom) * whole.sqrt())
    }
}

/// Returns the 97.5 % quantile of Student's distribution, for the next smaller whole
/// number of degrees of freedom: on the wide side.
fn student(freedom: f64) -> f64 {
    let degrees = STUDENT.iter().zip(1u32..);
    degrees
        .take_while(|(_, degrees)| f64::from(*degrees) <= freedom)
        .last()
        .map_or(STUDENT[0], |(quantile, _)| *quantile)
}

fn ratio(above: Duration, below: Duration) -> Option<f64> {
    (below > Duration::ZERO).then(|| as_f64(above.as_ns()) / as_f64(below.as_ns()))
}
