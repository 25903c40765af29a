//! The adversary against the bounds: none may be broken, and bounds that are made
//! too small must be (S4-11). Replay one network with `TAKTOS_SEED=… cargo test`, or
//! with `cargo xtask soundness --seed …`, which runs many more.

mod textbook;

use std::collections::BTreeSet;

use sim::servers::adversary::Effort;
use sim::servers::check::{Candidate, Check, CheckedPromise, Violation};
use sim::servers::methods;
use sim::servers::ratios::Tallies;

const EFFORT: Effort = Effort {
    flows: 3,
    events: 60_000,
    changes: 60,
};

const NETWORKS: u64 = 300;

const TEXTBOOK: Candidate = Candidate {
    name: "textbook",
    analyze: textbook::analyze,
    one_in: 1,
    in_best: false,
};

/// The simulator obeys the model: a bound of which nobody doubts is not broken,
/// and it is reached, since the first of a few servers alone does so.
#[test]
fn the_adversary_keeps_to_the_model() {
    let check = check(&[TEXTBOOK], 100);
    let mut tallies = Tallies::default();

    for seed in 0..400 {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let outcome = check.run(seed);
        assert_eq!(outcome.violations, [], "{}", outcome.violations[0]);
        tallies.count(&outcome);
    }

    let tally = &tallies.by_method[&(TEXTBOOK.name, None)];
    assert_eq!(tallies.not_simulated, 0);
    assert!(tally.within(2.0) > 20, "{tally:?}");
    assert!(tally.quantile(50) < Some(3.0), "{tally:?}");
}

/// The bounds of all methods, on fewer networks than `cargo xtask soundness` takes.
#[test]
#[expect(clippy::disallowed_methods, reason = "replays one seed")]
fn no_method_promises_too_little() {
    let fixed = std::env::var("TAKTOS_SEED").ok();
    let fixed = fixed.map(|seed| seed.parse().expect("a number"));
    let seeds = match fixed {
        Some(seed) => seed..=seed,
        None => 1_000..=1_000 + NETWORKS,
    };
    let check = check(&all(), 100);

    for seed in seeds {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let outcome = check.run(seed);
        assert_eq!(outcome.violations, [], "{}", outcome.violations[0]);
    }
}

/// The check can fail: of each method, bounds that are a tenth smaller are broken
/// somewhere.
#[test]
fn bounds_a_tenth_smaller_are_broken() {
    let check = check(&all(), 90);
    let mut broken = BTreeSet::new();

    for seed in 0..NETWORKS {
        let violations = check.run(seed).violations;
        broken.extend(
            violations
                .iter()
                .filter(|it| is_delay(it))
                .map(|it| it.method),
        );
    }

    let asked: BTreeSet<_> = methods::all().iter().map(|it| it.name).collect();
    assert_eq!(broken, asked);
}

fn is_delay(violation: &Violation) -> bool {
    matches!(violation.promise, CheckedPromise::Delay { .. })
}

/// Returns all methods, the slow ones asked more often than in a run of many networks.
fn all() -> Vec<Candidate> {
    let mut candidates = methods::all();
    for candidate in &mut candidates {
        candidate.one_in = candidate.one_in.min(4);
    }
    candidates
}

fn check(candidates: &[Candidate], share_percent: u64) -> Check {
    Check {
        candidates: candidates.to_vec(),
        effort: EFFORT,
        share_percent,
    }
}
