//! What a variant met at one path length, over all runs.

use super::super::super::amounts::{mbps, real};
use super::super::zodiac_fx;
use super::ring::SWITCHES;
use super::traffic::ObservedPromise;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experience {
    /// The share of the requests that was accepted, by run.
    pub accepted: Vec<f64>,
    /// The sum of rates of every switch in every run, in Mbit/s.
    pub rates: Vec<f64>,
    /// The share of the rate that is used at the bottleneck, by run.
    pub bottleneck_rate: Vec<f64>,
    /// The share of the burst that is used at the bottleneck, by run, where the
    /// variant has such a sum.
    pub bottleneck_burst: Vec<f64>,
    /// The share of its rate that is used at the busiest switch when the first request is
    /// refused, by run; at the end where none is.
    pub before_refusal: Vec<f64>,
    /// How many requests were refused for their rate.
    pub refused_for_rate: u64,
    /// How many requests were refused for what would have to wait.
    pub refused_for_burst: u64,
    /// The worst that frames of what was admitted met.
    pub seen: ObservedPromise,
}

impl Experience {
    /// Adds a run: how many requests of how many were accepted, the rates of all
    /// switches, and the shares of their bursts that are used.
    pub fn add(
        &mut self,
        accepted: usize,
        requests: usize,
        rates: &[f64; SWITCHES],
        bursts: Option<[f64; SWITCHES]>,
    ) {
        let count = |number: usize| real(u64::try_from(number).unwrap_or(u64::MAX));
        self.accepted.push(count(accepted) / count(requests));
        self.rates.extend(rates);
        let whole = mbps(zodiac_fx().service.rate);
        let tightness = |at: usize| {
            let burst = bursts.map_or(0.0, |bursts| bursts[at]);
            burst.max(rates[at] / whole)
        };
        let bottleneck = (0..SWITCHES).max_by(|a, b| tightness(*a).total_cmp(&tightness(*b)));
        let at = bottleneck.unwrap_or(0);
        self.bottleneck_rate.push(rates[at] / whole);
        self.bottleneck_burst
            .extend(bursts.map(|bursts| bursts[at]));
    }

    /// Returns the share of all requests that was accepted.
    pub fn mean_accepted(&self) -> f64 {
        mean(&self.accepted)
    }

    /// Returns the share of the busiest switch that is used at the first refusal.
    pub fn mean_before_refusal(&self) -> f64 {
        mean(&self.before_refusal)
    }

    /// Returns the highest sum of rates of any switch in any run.
    pub fn highest_rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }
}

fn mean(samples: &[f64]) -> f64 {
    let count = u64::try_from(samples.len()).unwrap_or(u64::MAX).max(1);
    samples.iter().sum::<f64>() / real(count)
}
