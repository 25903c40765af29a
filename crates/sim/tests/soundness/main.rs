//! The adversary against the bounds: none may be broken, and bounds that are made
//! too small must be (S4-5). Replay one network with `TAKTOS_SEED=… cargo test`, or
//! with `cargo xtask soundness --seed …`, which runs many more.

mod textbook;

use calculus::analysis::Method;
use sim::servers::adversary::Effort;
use sim::servers::check::{Candidate, Check};
use sim::servers::ratios::Tallies;

const EFFORT: Effort = Effort {
    flows: 3,
    events: 60_000,
    changes: 60,
};

const TEXTBOOK: Candidate = Candidate {
    method: Method::Tfa,
    analyze: textbook::analyze,
    one_in: 1,
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

    let tally = &tallies.by_method[&(Method::Tfa, None)];
    assert_eq!(tallies.not_simulated, 0);
    assert!(tally.within(1.0) > 20, "{tally:?}");
    assert!(tally.quantile(50) < Some(3.0), "{tally:?}");
}

fn check(candidates: &[Candidate], share_percent: u64) -> Check {
    Check {
        candidates: candidates.to_vec(),
        effort: EFFORT,
        share_percent,
    }
}
