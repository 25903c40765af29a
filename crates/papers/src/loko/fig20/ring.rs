//! The ring and what is asked of it.

use std::ops::RangeInclusive;

use calculus::min_plus::TokenBucket;
use units::{BitRate, Seeded};

use super::super::super::amounts::mbps;
use super::super::{FRAME, zodiac_fx};
use super::experience::Experience;
use super::traffic::{Promised, observe};
use super::variant::Variant;

/// The switches of the ring.
pub const SWITCHES: usize = 31;
/// How many links a path has.
pub const LENGTHS: RangeInclusive<usize> = 0..=30;
/// How many flows ask to be admitted, one after the other.
const REQUESTS: usize = 100;
/// After how many runs frames are sent, too.
const OBSERVED_RUNS: u64 = 20;
const LEAST_RATE: BitRate = BitRate::from_bps(750_000);
const MOST_RATE: BitRate = BitRate::from_bps(1_000_000);

/// A flow that asks to be admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRequest {
    pub rate: BitRate,
    /// The switches that it passes.
    pub path: Vec<usize>,
}

impl FlowRequest {
    /// Returns what it may send.
    pub fn traffic(&self) -> TokenBucket {
        TokenBucket::new(self.rate, FRAME)
    }
}

/// Why a flow is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// For the sum of rates.
    Rate,
    /// For what would have to wait: bursts, buffers, delays.
    Burst,
}

/// Returns what is asked in one run: flows from a random switch to the one that is
/// `length` links further round, at a random rate, in bursts of a frame.
pub fn requests(length: usize, run: u64, seed: u64) -> Vec<FlowRequest> {
    let mut random = Seeded::new(seed ^ (run << 8) ^ u64::try_from(length).unwrap_or(0));
    // The first numbers of neighbouring seeds are mixed once more.
    let mut random = Seeded::new(random.up_to(u64::MAX - 1));
    let switches: Vec<usize> = (0..SWITCHES).collect();
    let spread = MOST_RATE.as_bps() - LEAST_RATE.as_bps();
    let request = |_| {
        let from = random.choose(&switches).copied().unwrap_or(0);
        let rate = BitRate::from_bps(LEAST_RATE.as_bps() + random.up_to(spread));
        FlowRequest {
            rate,
            path: (from..=from + length).map(|at| at % SWITCHES).collect(),
        }
    };
    (0..REQUESTS).map(request).collect()
}

/// Lets `variant` decide on the requests of `runs` runs.
pub fn simulate(variant: &Variant, length: usize, runs: u64, seed: u64) -> Experience {
    let network = variant.network(length, seed);
    let mut experience = Experience::default();
    for run in 0..runs {
        let mut network = network.clone();
        let mut rates = [0; SWITCHES];
        let mut accepted = Vec::new();
        let mut before_refusal = None;
        for flow in requests(length, run, seed) {
            match network.admit(&flow) {
                Ok(guarantee) => {
                    for switch in &flow.path {
                        rates[*switch] += flow.rate.as_bps();
                    }
                    accepted.push(Promised { flow, guarantee });
                }
                Err(refused) => {
                    before_refusal = before_refusal.or(Some(busiest(&rates)));
                    match refused {
                        Refused::Rate => experience.refused_for_rate += 1,
                        Refused::Burst => experience.refused_for_burst += 1,
                    }
                }
            }
        }
        let used = before_refusal.unwrap_or_else(|| busiest(&rates));
        experience.before_refusal.push(used);
        let rates = rates.map(|bps| BitRate::new(bps).map_or(0.0, mbps));
        experience.add(accepted.len(), REQUESTS, &rates, network.bursts());
        if run < OBSERVED_RUNS {
            let seen = observe(&accepted, &mut Seeded::new(seed ^ run));
            experience.seen = experience.seen.or_worse(seen);
        }
    }
    experience
}

/// Returns the share of the rate of a switch that is in use where most is.
fn busiest(rates: &[u64; SWITCHES]) -> f64 {
    let most = rates.iter().copied().max().and_then(BitRate::new);
    most.map_or(0.0, mbps) / mbps(zodiac_fx().service.rate)
}
