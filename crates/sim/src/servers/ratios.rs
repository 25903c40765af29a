//! How far bounds lie above what an adversary has reached.
//!
//! The ratio of a bound to the largest delay seen is at least one if the bound
//! is right. It is large where a bound is loose and where the adversary was not
//! clever enough, so it is an upper estimate of how loose a bound is.

use std::collections::BTreeMap;

use super::check::{MethodAnswer, Outcome};
use super::family::Family;

/// Ratios are counted in steps of one percent.
const STEP: f64 = 1.01;

/// Bounds made smaller by so many percent are looked at, too: a check that would
/// not notice proves nothing.
pub const CUTS_PERCENT: [u32; 5] = [2, 5, 10, 20, 30];

/// What has been counted of each method, in all families and in each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tallies {
    /// By method and family; `None` is all families.
    pub by_method: BTreeMap<(&'static str, Option<Family>), Tally>,
    /// How many networks there were.
    pub networks: u64,
    /// How many of them cannot be simulated.
    pub not_simulated: u64,
    /// How many flows there were.
    pub flows: u64,
}

/// What has been counted of one method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Networks to which the method applies.
    pub applies: u64,
    /// Networks to which it does not.
    pub does_not_apply: u64,
    /// Flows that have a bound.
    pub bounded: u64,
    pub unbounded: u64,
    /// The closest that a run came to a bound, and the seed of its network.
    pub closest: Option<(f64, u64)>,
    /// In how many networks a run would have broken a bound that is smaller by
    /// each of [`CUTS_PERCENT`].
    pub noticed: [u64; CUTS_PERCENT.len()],
    /// How many flows have a ratio of so many steps.
    steps: BTreeMap<i32, u64>,
}

impl Tallies {
    pub fn count(&mut self, outcome: &Outcome) {
        self.networks += 1;
        self.flows += outcome.network.flows().len() as u64;
        self.not_simulated += u64::from(outcome.observed.is_none());
        for answer in &outcome.answers {
            for family in [None, Some(outcome.family)] {
                let key = (answer.candidate.name, family);
                self.by_method
                    .entry(key)
                    .or_default()
                    .count(answer, outcome);
            }
        }
    }

    /// Adds what has been counted elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.networks += other.networks;
        self.not_simulated += other.not_simulated;
        self.flows += other.flows;
        for (key, tally) in &other.by_method {
            self.by_method.entry(*key).or_default().merge(tally);
        }
    }
}

impl Tally {
    fn count(&mut self, answer: &MethodAnswer, outcome: &Outcome) {
        let Ok(analysis) = &answer.analysis else {
            self.does_not_apply += 1;
            return;
        };
        self.applies += 1;
        let mut least = f64::INFINITY;
        for (at, flow) in analysis.flows.iter().enumerate() {
            let Some(bound) = flow.delay else {
                self.unbounded += 1;
                continue;
            };
            self.bounded += 1;
            let observed = outcome.observed.as_ref().map(|it| it.delays[at].as_fs());
            if let Some(observed) = observed.filter(|observed| *observed > 0) {
                let ratio = ratio(bound.as_fs(), observed);
                least = least.min(ratio);
                self.count_ratio(ratio, outcome.seed);
            }
        }
        for (noticed, percent) in self.noticed.iter_mut().zip(CUTS_PERCENT) {
            let left = 1.0 - f64::from(percent) / 100.0;
            *noticed += u64::from(least * left < 1.0);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a few hundred steps")]
    fn count_ratio(&mut self, ratio: f64, seed: u64) {
        let step = (ratio.ln() / STEP.ln()).floor() as i32;
        *self.steps.entry(step).or_default() += 1;
        self.approach((ratio, seed));
    }

    /// Notes a ratio if it is the least; of equal ones the lower seed is kept.
    fn approach(&mut self, (ratio, seed): (f64, u64)) {
        let closer = self
            .closest
            .is_none_or(|(closest, by)| ratio.total_cmp(&closest).then(seed.cmp(&by)).is_lt());
        if closer {
            self.closest = Some((ratio, seed));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.applies += other.applies;
        self.does_not_apply += other.does_not_apply;
        self.bounded += other.bounded;
        self.unbounded += other.unbounded;
        for (noticed, more) in self.noticed.iter_mut().zip(other.noticed) {
            *noticed += more;
        }
        for (step, flows) in &other.steps {
            *self.steps.entry(*step).or_default() += flows;
        }
        if let Some(closest) = other.closest {
            self.approach(closest);
        }
    }

    /// Returns the ratio below which `percent` of all flows lie, to one percent.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> Option<f64> {
        let all: u64 = self.steps.values().sum();
        let mut below = 0;
        for (step, flows) in &self.steps {
            below += flows;
            if below * 100 >= all * percent {
                return Some(STEP.powi(*step).max(self.closest?.0));
            }
        }
        None
    }

    /// Returns how many flows have come within `percent` of their bound.
    #[must_use]
    pub fn within(&self, percent: f64) -> u64 {
        let most = 1.0 + percent / 100.0;
        let near = self
            .steps
            .iter()
            .filter(|(step, _)| STEP.powi(**step) < most);
        near.map(|(_, flows)| flows).sum()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a statistic")]
fn ratio(bound: u64, observed: u64) -> f64 {
    bound as f64 / observed as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_true_to_a_percent_however_tallies_are_merged() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        for at in 0..100_u32 {
            let tally = if at % 2 == 0 { &mut one } else { &mut other };
            tally.count_ratio(1.0 + f64::from(at) / 10.0, at.into());
        }
        let mut merged = other.clone();
        merged.merge(&one);
        one.merge(&other);

        assert_eq!(one, merged);
        assert_eq!(one.closest, Some((1.0, 0)));
        let median = one.quantile(50).unwrap();
        assert!((5.8..=6.0).contains(&median), "{median}");
        assert_eq!(one.within(45.0), 5);
    }
}
