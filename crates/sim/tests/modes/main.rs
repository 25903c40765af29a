//! Networks that go through an ordeal end in one mode (S2-11). Replay one with
//! `TAKTOS_SEED=… cargo test -p sim --test modes`; `cargo xtask modes` runs many more.

mod signals_ahead;
mod stages;

use std::ops::RangeInclusive;

use sim::modes::deployment::Strategy;
use sim::modes::fault_schedule::FaultSchedule;
use sim::modes::finding::Finding;
use sim::modes::promise::Promise;
use sim::modes::run::{Flaw, run};
use sim::modes::trial::Trial;

const ORDEALS: u64 = 400;
const TRIALS: usize = 150;

/// The switches are those that ship, told by OpenFlow how they take part.
#[test]
fn all_who_are_connected_end_in_one_mode_in_time() {
    let (mut refused_signals, mut refused_ways_back) = (0, 0);
    for seed in seeds() {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.

        let outcome = run(&FaultSchedule::draw(seed), Flaw::None);

        assert_eq!(outcome.findings, []);
        assert!(outcome.agreed_after <= outcome.agreed_within, "{outcome:?}");
        refused_signals += outcome.refused_signals;
        refused_ways_back += outcome.refused_ways_back;
    }
    assert!(refused_signals > 0, "no forgery was refused");
    assert!(refused_ways_back > 0, "no way back was refused");
}

/// No message of the flow that matters is later than its bound while the mode changes.
#[test]
fn a_flow_that_needs_more_has_it_within_the_bound_of_the_change() {
    for seed in seeds().take(TRIALS) {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.

        let promise = Promise::of(seed);

        assert!(promise.is_kept(), "{promise}");
    }
}

/// No message is late at any level or while it changes, whatever happens to signals, cables
/// and switches.
#[test]
fn every_message_that_something_is_promised_to_is_in_time_whatever_happens() {
    let (mut in_changes, mut in_time) = (0, 0);
    for seed in seeds().take(TRIALS) {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.

        let verdict = Trial::draw(seed).verdict();

        assert_eq!(verdict.missed, []);
        in_changes += verdict.in_changes;
        in_time += verdict.in_time;
    }
    let is_one_seed = seeds().count() == 1;
    assert!(is_one_seed || in_changes > 1_000 && in_time > 2 * in_changes);
}

/// In these a message breaks its contract while the switch that watches its flow is away:
/// the level stays, and what matters less is sent and counted.
#[test]
fn nothing_is_given_up_for_a_demand_that_nobody_saw() {
    for seed in [5_081, 6_806, 7_276] {
        assert_eq!(Trial::draw(seed).verdict().missed, [], "seed {seed}");
    }
}

/// The check can fail: without modes what matters less is ahead.
#[test]
fn without_modes_messages_are_late() {
    let late = (0..40).filter(|seed| {
        let trial = Trial {
            strategy: Strategy::McAgnostic,
            ..Trial::draw(*seed)
        };
        !trial.verdict().is_kept()
    });

    assert!(late.count() > 5);
}

/// The check can fail: who does not repeat what it holds stays behind.
#[test]
fn without_heart_beats_some_stay_apart() {
    let apart = (0..100)
        .map(|seed| run(&FaultSchedule::draw(seed), Flaw::Silent))
        .filter(|outcome| {
            let is_it = |finding: &Finding| matches!(finding, Finding::NotAgreed { .. });
            outcome.findings.iter().any(is_it)
        });

    assert!(apart.count() > 5);
}

/// The check can fail: who forges signals under the key changes modes that nobody began.
#[test]
fn without_a_secret_key_a_forged_signal_changes_modes() {
    let entered = (0..100).map(|seed| run(&FaultSchedule::draw(seed), Flaw::KeyIsKnown));

    let fooled = entered.filter(|outcome| {
        let is_it = |finding: &Finding| matches!(finding, Finding::FromNowhere { .. });
        outcome.findings.iter().any(is_it)
    });

    assert!(fooled.count() > 5);
}

#[expect(clippy::disallowed_methods, reason = "replays one seed")]
fn seeds() -> RangeInclusive<u64> {
    let fixed = std::env::var("TAKTOS_SEED").ok();
    match fixed.map(|seed| seed.parse().expect("a number")) {
        Some(seed) => seed..=seed,
        None => 0..=ORDEALS,
    }
}
