//! Ratios between two subjects.
//!
//! A ratio is the median over the rounds of the ratio within one round: what
//! disturbs a round disturbs both. A round has too few frames to say where the last
//! of a thousand lies: that ratio is of all rounds together.

use measure::statistics::{Distribution, Summary, middle, ratio};
use units::Duration;

use crate::arrangement::Arrangement;
use crate::disturbance::Disturbance;
use crate::latency::Slot;
use crate::run::{Results, Shown};
use crate::subject::Subject;
use crate::throughput::Rate;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    P50,
    /// Exceeded by one in a hundred.
    P99,
    /// Exceeded by one in a thousand.
    P999,
}

impl Quantile {
    /// Returns how it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    fn of(self, distribution: &Distribution) -> Option<Duration> {
        distribution.quantile(match self {
            Self::P50 => 500,
            Self::P99 => 990,
            Self::P999 => 999,
        })
    }
}

#[derive(Clone, Debug)]
pub struct Pooled {
    /// Of all frames that arrived.
    pub latency: Distribution,
    pub summary: Summary,
    /// How many frames did not arrive.
    pub lost: u64,
    pub disturbance: Disturbance,
}

impl Pooled {
    /// Puts slots together, unless nothing arrived.
    pub fn of(slots: &[Slot]) -> Option<Self> {
        let mut latency = Distribution::default();
        let (mut lost, mut disturbance) = (0, Disturbance::default());
        for slot in slots {
            latency.merge(&slot.latency);
            lost += slot.lost;
            disturbance.add(&slot.disturbance);
        }
        Some(Self {
            summary: latency.summary()?,
            latency,
            lost,
            disturbance,
        })
    }
}

impl Results {
    /// Returns what a subject showed.
    pub fn find(&self, subject: Subject) -> Option<&Shown> {
        self.shown.iter().find(|shown| shown.subject == subject)
    }

    /// Returns the ratio of two subjects' latency.
    pub fn latency_ratio(
        &self,
        [subject, other]: [Subject; 2],
        spacing: Duration,
        quantile: Quantile,
    ) -> Option<f64> {
        let slots = |subject| self.find(subject)?.latency.get(&spacing);
        let (ours, theirs) = (slots(subject)?, slots(other)?);
        let of = |latency: &Distribution| Some(quantile.of(latency)?.as_ns());
        match quantile {
            Quantile::P50 | Quantile::P99 => {
                let rounds = ours.iter().zip(theirs);
                let ratios = rounds.filter_map(|(one, two)| {
                    Some(ratio(of(&one.latency)?, of(&two.latency)?.max(1)))
                });
                median(ratios)
            }
            Quantile::P999 => {
                let all = |slots| of(&Pooled::of(slots)?.latency);
                Some(ratio(all(ours)?, all(theirs)?.max(1)))
            }
        }
    }

    /// Returns the ratio of two subjects' rates for frames of `size` bytes.
    pub fn rate_ratio(&self, [subject, other]: [Subject; 2], size: usize) -> Option<f64> {
        let rates = |subject| self.find(subject)?.throughput.get(&size);
        of_rates(rates(subject)?, rates(other)?)
    }

    /// Returns the ratio of two subjects' rates where processors are shared like
    /// that.
    pub fn one_processor_ratio(
        &self,
        [subject, other]: [Subject; 2],
        arrangement: Arrangement,
    ) -> Option<f64> {
        let rates = |subject| self.find(subject)?.one_processor.get(&arrangement);
        of_rates(rates(subject)?, rates(other)?)
    }
}

fn of_rates(ours: &[Rate], theirs: &[Rate]) -> Option<f64> {
    let rounds = ours.iter().zip(theirs);
    let ratios =
        rounds.map(|(one, two)| ratio(one.frames_per_second, two.frames_per_second.max(1)));
    median(ratios)
}

/// Returns the better of the two middle rounds, or the middle one.
pub fn typical(rates: &[Rate]) -> Option<Rate> {
    middle(&mut rates.to_vec(), Ord::cmp)
}

fn median(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    middle(&mut ratios.collect::<Vec<_>>(), f64::total_cmp)
}
