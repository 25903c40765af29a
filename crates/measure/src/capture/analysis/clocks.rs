//! How two clocks differ: how fast they drift apart, and when one was set.
//!
//! What two captures tell of a packet is its latency plus the difference of their
//! clocks. Latencies vary, but never fall below what an empty network takes: so the
//! smallest differences of each stretch of time follow the clocks. Their median slope
//! is the drift, which few disturbed stretches do not move (the Theil–Sen estimate); where they jump and
//! stay there, a clock was set.

use super::Side;
use super::matching::Pair;
use crate::statistics::middle;

/// The most stretches of time that a capture is divided into.
const MOST_STRETCHES: usize = 400;
/// The fewest packets of a stretch, on average.
const LEAST_PACKETS: usize = 16;
/// The fewest stretches that tell of a drift.
const LEAST_STRETCHES: usize = 8;
/// The shortest time that tells of a drift.
const SHORTEST_NS: u64 = 1_000_000_000;
/// The smallest jump that is called a step.
const LEAST_STEP_NS: u64 = 200_000;
/// A step stands out of the usual changes by this factor.
const OUTSTANDING: u64 = 12;
/// So many stretches on either side of a step are compared.
const COMPARED: usize = 4;
/// The most steps that are told apart.
const MOST_STEPS: usize = 64;
const BILLION: f64 = 1e9;

/// A jump of the difference of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// When, by the clock of the first capture, in nanoseconds since 1970: the first
    /// packet after it.
    pub at_unix_ns: u64,
    /// By how much the stamps of the second capture are later from then on.
    pub later_ns: i64,
}

/// What the packets that went one way tell of two clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trend {
    /// By how much the second clock gains on the first, in parts of a billion, or
    /// nothing if there was too little to tell.
    pub drift_ppb: Option<i64>,
    /// When one of the clocks, or the latency, jumped.
    pub steps: Vec<ClockStep>,
}

/// The least difference of a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
struct Least {
    at: u64,
    later_ns: i64,
}

impl Trend {
    /// Reads the trend off the packets that one side sent, in the order of their
    /// first stamps.
    pub(super) fn of(pairs: &[Pair], sender: Side) -> Self {
        match sender {
            Side::First => Self::of_latencies(pairs),
            Side::Second => {
                // What takes longer is stamped earlier by the second capture.
                let turned: Vec<Pair> = pairs
                    .iter()
                    .map(|pair| Pair {
                        later_ns: pair.later_ns.saturating_neg(),
                        ..*pair
                    })
                    .collect();
                let mut trend = Self::of_latencies(&turned);
                trend.drift_ppb = trend.drift_ppb.map(i64::saturating_neg);
                let steps = trend.steps.iter_mut();
                steps.for_each(|step| step.later_ns = step.later_ns.saturating_neg());
                trend
            }
        }
    }

    fn of_latencies(pairs: &[Pair]) -> Self {
        let mut leasts = leasts(pairs);
        let steps = steps(&leasts, pairs);
        for step in &steps {
            let after = leasts.iter_mut().filter(|it| it.at >= step.at_unix_ns);
            after.for_each(|it| it.later_ns = it.later_ns.saturating_sub(step.later_ns));
        }
        Self {
            drift_ppb: drift(&leasts),
            steps,
        }
    }

    /// Returns what is left of a difference of stamps that was seen at `at` without
    /// drift and steps, counted from `origin`.
    pub(super) fn level(&self, pair: &Pair, origin: u64) -> i64 {
        let passed = i128::from(pair.first_ns.saturating_sub(origin));
        let drifted = passed * i128::from(self.drift_ppb.unwrap_or(0)) / 1_000_000_000;
        let stepped = self.steps.iter();
        let stepped = stepped.filter(|step| step.at_unix_ns <= pair.first_ns);
        let stepped: i128 = stepped.map(|step| i128::from(step.later_ns)).sum();
        let level = i128::from(pair.later_ns) - drifted - stepped;
        i64::try_from(level).unwrap_or(if level < 0 { i64::MIN } else { i64::MAX })
    }
}

/// Returns the least difference of each stretch of time.
fn leasts(pairs: &[Pair]) -> Vec<Least> {
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else {
        return Vec::new();
    };
    let stretches = (pairs.len() / LEAST_PACKETS).clamp(1, MOST_STRETCHES);
    let span = u128::from(last.first_ns.saturating_sub(first.first_ns)) + 1;
    let mut leasts = vec![None::<Least>; stretches];
    for pair in pairs {
        let after = u128::from(pair.first_ns.saturating_sub(first.first_ns));
        let place = after * stretches as u128 / span;
        let place = usize::try_from(place).unwrap_or(0).min(stretches - 1);
        let least = &mut leasts[place];
        if least.is_none_or(|least| pair.later_ns < least.later_ns) {
            *least = Some(Least {
                at: pair.first_ns,
                later_ns: pair.later_ns,
            });
        }
    }
    leasts.into_iter().flatten().collect()
}

/// Returns the median slope, in parts of a billion.
fn drift(leasts: &[Least]) -> Option<i64> {
    let (first, last) = (leasts.first()?, leasts.last()?);
    if leasts.len() < LEAST_STRETCHES || last.at - first.at < SHORTEST_NS {
        return None;
    }
    // The least of a stretch may stand at either of its ends: only slopes between
    // stretches far apart are told from that.
    let apart = leasts.len() / 4;
    let mut slopes = Vec::with_capacity(leasts.len() * leasts.len() / 2);
    for (place, from) in leasts.iter().enumerate() {
        for to in leasts.iter().skip(place + apart.max(1)) {
            let span = to.at.saturating_sub(from.at);
            if span > 0 {
                let rise = to.later_ns.saturating_sub(from.later_ns);
                slopes.push(as_f64(rise) / as_f64(span.cast_signed()));
            }
        }
    }
    Some(rounded(middle(&mut slopes, f64::total_cmp)? * BILLION))
}

/// Returns where the least differences jump and stay.
fn steps(leasts: &[Least], pairs: &[Pair]) -> Vec<ClockStep> {
    let jumps: Vec<i64> = (1..leasts.len()).map(|at| jump(leasts, at)).collect();
    let mut sizes: Vec<u64> = jumps.iter().map(|jump| jump.unsigned_abs()).collect();
    let Some(usual) = middle(&mut sizes, Ord::cmp) else {
        return Vec::new();
    };
    let threshold = usual.saturating_mul(OUTSTANDING).max(LEAST_STEP_NS);
    let mut steps = Vec::new();
    let mut place = 0;
    while place < jumps.len() && steps.len() < MOST_STEPS {
        if jumps[place].unsigned_abs() < threshold {
            place += 1;
            continue;
        }
        // Several comparisons see the same step: it is where neighbours differ most.
        let seen = place..jumps.len().min(place + COMPARED);
        let neighbours = |at: usize| leasts[at + 1].later_ns.abs_diff(leasts[at].later_ns);
        let at = seen.max_by_key(|at| neighbours(*at)).unwrap_or(place);
        steps.push(located(&leasts[at..=at + 1], jumps[at], pairs));
        place = at + COMPARED;
    }
    steps
}

/// Returns by how much the stretches from `at` on lie above those before.
fn jump(leasts: &[Least], at: usize) -> i64 {
    let before = usual(&leasts[at.saturating_sub(COMPARED)..at]);
    let after = usual(&leasts[at..leasts.len().min(at + COMPARED)]);
    after.saturating_sub(before)
}

fn usual(leasts: &[Least]) -> i64 {
    let mut each: Vec<i64> = leasts.iter().map(|least| least.later_ns).collect();
    middle(&mut each, Ord::cmp).unwrap_or(0)
}

/// Finds the first packet after a step between two stretches.
fn located(around: &[Least], later_ns: i64, pairs: &[Pair]) -> ClockStep {
    let [before, after] = around else {
        return ClockStep {
            at_unix_ns: 0,
            later_ns,
        };
    };
    let half = before.later_ns.saturating_add(later_ns / 2);
    let from = pairs.partition_point(|pair| pair.first_ns <= before.at);
    let to = pairs.partition_point(|pair| pair.first_ns <= after.at);
    let between = &pairs[from..to.max(from)];
    let place = match later_ns > 0 {
        // Nothing falls below the new level: what does was before the step.
        true => between.iter().rposition(|pair| pair.later_ns < half),
        false => {
            let first = between.iter().position(|pair| pair.later_ns < half);
            first.and_then(|first| first.checked_sub(1))
        }
    };
    let next = between.get(place.map_or(0, |place| place + 1));
    ClockStep {
        at_unix_ns: next.map_or(after.at, |pair| pair.first_ns),
        later_ns,
    }
}

#[expect(clippy::cast_precision_loss, reason = "for statistics only")]
fn as_f64(ns: i64) -> f64 {
    ns as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast to an integer saturates"
)]
fn rounded(value: f64) -> i64 {
    value.round() as i64
}
