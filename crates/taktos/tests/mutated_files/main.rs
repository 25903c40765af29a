//! Whatever stands in a file, it is used or refused, and nothing panics: scenarios,
//! profiles, topologies, tables of flows, substation descriptions, traces, networks of
//! servers and certificates, changed at random, go the way that `taktos check`, `analyze`
//! and `verify` take.
//!
//! `cargo xtask mutated` asks more of it; `TAKTOS_SEED=… cargo test -p taktos --test
//! mutated_files` has one case again and shows it.

mod mutation;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use calculus::admission::{Background, FailureScope};
use certificate::Certificate;
use run::experiment::{self, Experiment};
use scenario::Scenario;
use scenario::servers::ServerNetwork;
use sim::servers::random::Random;

use mutation::mutated;

/// Cases in a run of the tests.
const CASES: u64 = 600;
/// Of so many cases one is that of a large file.
const LARGE_ONE_IN: u64 = 20;
const SMALL: [&str; 8] = [
    "abilene.toml",
    "diamond.toml",
    "emergency-braking.toml",
    "imported.toml",
    "moves.toml",
    "recorded.toml",
    "refused.toml",
    "substation.toml",
];
const LARGE: [&str; 2] = ["afdx.toml", "grid.toml"];
/// A network of servers, as docs/analysis.md has it.
const ANALYSIS: &str = include_str!("../../../../docs/analysis.md");

/// How far the cases came.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    cases: u64,
    /// Scenarios that were read all the same, and on which flows were decided.
    read: u64,
    decided: u64,
    /// Networks of servers and certificates that were read all the same.
    networks: u64,
    certificates: u64,
}

#[test]
fn no_file_ends_the_program() {
    let cases = match std::env::var("TAKTOS_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("a number");
            seed..seed + 1
        }
        Err(_) => 0..CASES,
    };
    let is_whole = cases.end - cases.start == CASES;

    let tally = read_all(cases);

    println!("{tally:?}");
    // What reads nothing would panic at nothing.
    if is_whole {
        assert!(
            tally.read > CASES / 10 && tally.decided > CASES / 20,
            "{tally:?}"
        );
        assert!(tally.networks > 5 && tally.certificates > 1, "{tally:?}");
    }
}

/// The same for as long as somebody wants to wait.
#[test]
#[ignore = "takes long: cargo xtask mutated"]
fn of_many_files_none_ends_the_program() {
    let number = |name| std::env::var(name).map_or(0, |it| it.parse().expect("a number"));
    let (first, cases): (u64, u64) = (number("TAKTOS_FIRST"), number("TAKTOS_NETWORKS"));
    println!("{:#?}", read_all(first..first + cases));
}

fn read_all(cases: Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in cases {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed);
        tally.cases += 1;
        match random.below(10) {
            0 => tally.networks += u64::from(analyze(&mut random)),
            1 => tally.certificates += u64::from(verify(&mut random)),
            _ => check(seed, &mut random, &mut tally),
        }
    }
    tally
}

/// Reads a scenario of which one file, its own or another, is changed, and decides on its
/// flows.
fn check(seed: u64, random: &mut Random, tally: &mut Tally) {
    let name = match seed.is_multiple_of(LARGE_ONE_IN) {
        true => random.pick(&LARGE),
        false => random.pick(&SMALL),
    };
    let files = files_of(name);
    let changed = files.keys().nth(random.index(files.len())).cloned();
    let changed = changed.expect("a scenario is a file");
    let mut texts = files;
    let text = mutated(&texts[&changed], random);
    texts.insert(changed.clone(), text);
    let mut load = |file: &str| {
        let text = texts.get(file).cloned();
        text.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    let Ok(scenario) = Scenario::parse(name, &texts[name], &mut load) else {
        return;
    };
    tally.read += 1;
    let stop = AtomicBool::new(false);
    let experiment = Experiment::deciding(&scenario, &stop);
    if let Ok((_, promises, _)) = experiment.weigh() {
        tally.decided += 1;
        let _ = Background::of(&promises.ledger, FailureScope::AnyFailure);
    }
}

fn analyze(random: &mut Random) -> bool {
    let (_, network) = ANALYSIS.split_once("```json\n").expect("an example");
    let (network, _) = network.split_once("```").expect("an end");
    let text = mutated(network, random);
    let Ok(network) = ServerNetwork::parse("mutated.json", &text) else {
        return false;
    };
    let again = ServerNetwork::parse("again.json", &network.to_json());
    assert_eq!(again.expect("what is written is read back"), network);
    true
}

fn verify(random: &mut Random) -> bool {
    static WHOLE: LazyLock<String> = LazyLock::new(|| {
        let files = files_of("diamond.toml");
        let mut load = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
        let scenario = Scenario::parse("diamond.toml", &files["diamond.toml"], &mut load);
        let (scenario, stop) = (scenario.expect("it is ours"), AtomicBool::new(false));
        let experiment = Experiment::deciding(&scenario, &stop);
        let (_, promises) = experiment.promises().expect("it is decided");
        experiment::certificate(&scenario, &promises).write()
    });
    let text = mutated(&WHOLE, random);
    let _ = Certificate::read(&text);
    // As if its digest were right.
    let Ok(certificate) = serde_json::from_str::<Certificate>(&text) else {
        return false;
    };
    if let Err(objections) = certificate::check(&certificate.seal()) {
        assert!(!objections.is_empty());
    }
    true
}

/// Returns a scenario and all files that it reads, by the names by which it does.
fn files_of(name: &str) -> BTreeMap<String, String> {
    let folder = folder();
    let text = fs::read_to_string(folder.join(name)).expect("it is ours");
    let mut files = BTreeMap::new();
    let mut load = |file: &str| {
        let text = fs::read_to_string(folder.join(file))?;
        files.insert(file.to_owned(), text.clone());
        Ok(text)
    };
    Scenario::parse(name, &text, &mut load).expect("ours are well formed");
    files.insert(name.to_owned(), text);
    files
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}
