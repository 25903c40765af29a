//! Whoever exceeds his contract is stopped where he comes in, and nobody else loses a frame.

use measure::report::Verdict;
use units::Duration;

use super::{Witness, run_before};

const SUBSTATION: &str = include_str!("../../../../scenarios/substation.toml");

/// Returns the substation for so many seconds, without what happens to it.
fn substation(seconds: u64, more: &str) -> String {
    let (before, _) = SUBSTATION.split_once("[[events]]").unwrap();
    let long = "duration = \"30 s\"";
    assert!(before.contains(long));
    before.replace(long, &format!("duration = \"{seconds} s\"")) + more
}

#[test]
fn who_keeps_his_contract_loses_nothing() {
    let mut witness = Witness::of("exceeds the contract");

    run_before(&substation(3, ""), &mut witness);

    assert_eq!(witness.heard, []);
}

#[test]
fn who_exceeds_is_named_within_a_second_and_harms_himself_alone() {
    let excess = "[[events]]\nat = \"1 s\"\nkind = \"exceed\"\nflow = \"sv-mu1\"\nfactor = 2.0\n";
    let mut witness = Witness::of("exceeds the contract");

    let report = run_before(&substation(3, excess), &mut witness);

    let [(at, what)] = &witness.heard[..] else {
        panic!("{:?}", witness.heard)
    };
    assert!(what.contains("mu1") && what.contains("sv-mu1"), "{what}");
    let begun = Duration::from_secs(1);
    assert!((begun..=begun * 2u64).contains(at), "{at}");
    let broken: Vec<_> = report
        .flows
        .iter()
        .filter(|flow| flow.verdict == Verdict::Broken)
        .map(|flow| flow.facts.name.as_str())
        .collect();
    assert_eq!(broken, ["sv-mu1"]);
}
