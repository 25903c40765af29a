//! Flows whose contract changes with the mode, while it does.

use calculus::admission::modes::{ModalLedger, ModalRequest, Mode};
use calculus::admission::{Headroom, Request, suggest_budgets};
use calculus::min_plus::TokenBucket;
use units::{BitRate, DataSize};

use super::simulation::{self, Emission, Observation};
use super::{Bucket, Prng, Ring, SENDING_PS, conditions};

const RUNS: u64 = 300;
const MODES: [Mode; 2] = [Mode(0), Mode(1)];

/// Greedy sources send by the one contract until the mode changes and by the other
/// from then on, with full buckets both times.
#[test]
fn a_change_of_mode_breaks_no_promise() {
    let (mut runs, mut nearest_percent) = (0, 0);
    for seed in 0..RUNS {
        println!("seed {seed}"); // Shown only if the test fails.
        if let Some(percent) = change_once(seed) {
            runs += 1;
            nearest_percent = nearest_percent.max(percent);
        }
    }
    // Bounds that nothing comes near would pass as well.
    assert!(runs > RUNS / 2, "only {runs} runs had budgets");
    assert!(nearest_percent >= 90, "{nearest_percent} % of a budget");
}

/// Returns how much of a budget was used at most, or nothing if the flows do not
/// fit.
fn change_once(seed: u64) -> Option<u64> {
    let mut random = Prng::new(seed);
    let switches = 1 + random.below(4);
    let ring = Ring { switches };
    let stages = ring.stages(&mut random);
    let flows: Vec<[Request; 2]> = (0..2 + random.below(8))
        .map(|_| variants(ring.flow(&mut random), &mut random))
        .collect();
    // The budgets are fitted to sums of both, as the rule has them for a change.
    let fitted: Vec<Request> = flows.iter().map(both_at_once).collect();
    let stages = suggest_budgets(&stages, &[], &fitted, Headroom::default())?;
    let mut ledger = ModalLedger::new(&stages, &[&MODES]);
    let admitted: Vec<_> = flows
        .iter()
        .map(|flow| {
            let by_mode = MODES.into_iter().zip(flow.clone()).collect();
            ledger.admit(&ModalRequest { by_mode }).unwrap()
        })
        .collect();

    let changed_ps = random.below(SENDING_PS);
    let sources: Vec<Request> = flows.into_iter().flatten().collect();
    let emissions = emissions_around(&sources, changed_ps);
    let mut conditions = conditions(&stages, &mut random);
    conditions.detour = None;

    let mut nearest_percent = 0;
    simulation::run(
        &stages,
        &sources,
        &emissions,
        conditions,
        |observation| match observation {
            Observation::Came { .. } => {}
            Observation::Left {
                flow,
                stage,
                sojourn,
            } => {
                let budget = stages[stage].budget(sources[flow].class).unwrap();
                assert!(sojourn <= budget, "{sojourn} at {stage}, budget {budget}");
                nearest_percent = nearest_percent.max(sojourn.as_ps() * 100 / budget.as_ps());
            }
            Observation::Received { flow, latency, .. } => {
                let guarantee = admitted[flow / 2].guarantees[&MODES[flow % 2]];
                assert!(latency <= guarantee, "{latency}, guarantee {guarantee}");
            }
        },
    );
    Some(nearest_percent)
}

/// Returns what the sources send if those of the second mode take over from those
/// of the first at `changed_ps`, in the order of time.
fn emissions_around(sources: &[Request], changed_ps: u64) -> Vec<Emission> {
    let mut emissions = Vec::new();
    for (flow, request) in sources.iter().enumerate() {
        // A source does not notice a change that leaves it as it is.
        let sending = match (flow % 2, *request == sources[flow ^ 1]) {
            (0, true) => 0..SENDING_PS,
            (_, true) => 0..0,
            (0, false) => 0..changed_ps,
            (_, false) => changed_ps..SENDING_PS,
        };
        let mut buckets = Bucket::all_of(request, sending.start);
        let mut now = sending.start;
        loop {
            let size = request.largest_frame;
            now = Bucket::take_from_all(&mut buckets, size, now);
            if now >= sending.end {
                break;
            }
            let at_ps = now;
            emissions.push(Emission { flow, at_ps, size });
        }
    }
    emissions.sort_by_key(|emission| emission.at_ps);
    emissions
}

/// Returns a flow in both modes, the same or with another contract.
fn variants(flow: Request, random: &mut Prng) -> [Request; 2] {
    let mut other = flow.clone();
    if random.below(3) > 0 {
        other.rate = BitRate::from_bps(1_000 + random.below(6_000_000));
        other.burst = flow.largest_frame * (1 + random.below(3));
        other.peak = None;
    }
    [flow, other]
}

fn both_at_once([one, other]: &[Request; 2]) -> Request {
    if one == other {
        return one.clone();
    }
    let burst: DataSize = one.burst + other.burst;
    let peak = one.peak.zip(other.peak);
    let rate = one.rate.max(other.rate);
    Request {
        rate,
        burst,
        peak: peak.and_then(|(one, other)| {
            let rate = one.rate().max(other.rate())?;
            Some(TokenBucket::new(rate, one.burst() + other.burst()))
        }),
        ..one.clone()
    }
}
