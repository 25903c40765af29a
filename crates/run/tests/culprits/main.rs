//! Is whoever breaks a promise named, and nobody else? On drawn networks, first without an
//! error and then with one (`cargo xtask culprits`).

#![allow(clippy::unwrap_used, reason = "a test may")]

mod draw;
mod lab_runs;
mod policing;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::thread;

use measure::report::{CulpritReport, Report};
use run::experiment::{Admission, Audience, Discovered, Experiment, SimEngine, WorldChoice};
use scenario::Scenario;
use units::{Duration, Seeded};

use draw::Planted;

/// How long after its beginning an error is to be named, in nanoseconds.
const NOTICED_NS: u64 = 1_000_000_000;

/// The outcome of one seed.
enum Outcome {
    Right {
        kind: String,
        /// Whether the error made frames late or lost.
        harmed: bool,
    },
    Wrong(String),
}

#[test]
fn of_some_networks_the_culprit_is_named() {
    for seed in 0..12 {
        if let Outcome::Wrong(why) = outcome(seed) {
            panic!("seed {seed}: {why}");
        }
    }
}

#[test]
#[ignore = "the long form: cargo xtask culprits"]
fn of_many_networks_the_culprit_is_named() {
    let number = |name: &str, default| {
        let said = std::env::var(name).ok();
        said.map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let (networks, first) = (number("TAKTOS_NETWORKS", 1_000), number("TAKTOS_FIRST", 0));
    let half = |odd: u64| {
        let seeds = (first..first + networks).filter(move |seed| seed % 2 == odd);
        seeds.map(|seed| (seed, outcome(seed))).collect::<Vec<_>>()
    };
    let outcomes: Vec<_> = thread::scope(|scope| {
        let halves = [0, 1].map(|odd| scope.spawn(move || half(odd)));
        halves
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    });

    let (mut tally, mut wrong) = (BTreeMap::<_, [u64; 2]>::new(), 0);
    for (seed, outcome) in outcomes {
        match outcome {
            Outcome::Right { kind, harmed } => {
                let counts = tally.entry(kind).or_default();
                counts[0] += 1;
                counts[1] += u64::from(harmed);
            }
            Outcome::Wrong(why) => {
                wrong += 1;
                println!("seed {seed}: {why}");
            }
        }
    }
    for (kind, [right, harmed]) in tally {
        println!("{kind}: {right} named rightly, of which {harmed} harmed promised frames");
    }
    assert_eq!(wrong, 0, "of {networks} seeds");
}

fn outcome(seed: u64) -> Outcome {
    let mut random = Seeded::new(seed);
    let (drawn, planted) = loop {
        let drawn = draw::network(&mut random);
        let before = run(&drawn.text);
        if !before.culprits.is_empty() {
            return Outcome::Wrong(format!(
                "named without an error: {}\n{}",
                sentences(&before.culprits),
                drawn.text
            ));
        }
        if let Some(planted) = draw::error(&mut random, &drawn, &before) {
            break (drawn, planted);
        }
    };
    let after = run(&format!("{}{}", drawn.text, planted.event));
    match is_right(&planted, &after.culprits) {
        true => Outcome::Right {
            kind: format!("{:?}", planted.kind),
            harmed: after.culprits[0].frames > 0,
        },
        false => Outcome::Wrong(format!(
            "{planted:?}\n    {}\n{}",
            sentences(&after.culprits),
            drawn.text
        )),
    }
}

/// Tells whether the one who was planted is named, in time, and nobody else.
fn is_right(planted: &Planted, named: &[CulpritReport]) -> bool {
    let [named] = named else { return false };
    let at_ns = planted.at_ms * 1_000_000;
    (named.kind, &named.name) == (planted.kind, &planted.name)
        && (at_ns..=at_ns + NOTICED_NS).contains(&named.since_ns)
}

fn sentences(named: &[CulpritReport]) -> String {
    let sentences: Vec<_> = named.iter().map(CulpritReport::sentence).collect();
    sentences.join("\n    ")
}

fn run(text: &str) -> Report {
    run_before(text, &mut Silent)
}

fn run_before(text: &str, audience: &mut dyn Audience) -> Report {
    run_at(text, WorldChoice::Sim(SimEngine::Tables), audience)
}

fn run_at(text: &str, place: WorldChoice, audience: &mut dyn Audience) -> Report {
    let scenario = Scenario::parse("drawn.toml", text, &mut |_| unreachable!());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let stop = AtomicBool::new(false);
    let experiment = Experiment::deciding(&scenario, &stop);
    experiment.run(place, audience).unwrap()
}

/// Notes what happens of which some words are said.
struct Witness {
    words: &'static str,
    heard: Vec<(Duration, String)>,
}

impl Witness {
    const fn of(words: &'static str) -> Self {
        let heard = Vec::new();
        Self { words, heard }
    }
}

impl Audience for Witness {
    fn built(&mut self, _took: Duration) {}
    fn discovered(&mut self, _found: Discovered, _took: Duration) {}
    fn decided(&mut self, _admissions: &[Admission]) {}
    fn running(&mut self, _elapsed: Duration, _total: Duration) {}

    fn happened(&mut self, at: Duration, what: &str) {
        if what.contains(self.words) {
            self.heard.push((at, what.to_owned()));
        }
    }
}

struct Silent;

impl Audience for Silent {
    fn built(&mut self, _took: Duration) {}
    fn discovered(&mut self, _found: Discovered, _took: Duration) {}
    fn decided(&mut self, _admissions: &[Admission]) {}
    fn running(&mut self, _elapsed: Duration, _total: Duration) {}
    fn happened(&mut self, _at: Duration, _what: &str) {}
}

#[test]
fn the_scenario_says_whose_fault_it_is() {
    let mut witness = Witness::of("slower than its profile says");

    let text = include_str!("../../../../scenarios/culprit.toml");
    let report = run_before(text, &mut witness);

    let text = sentences(&report.culprits);
    println!("{text}");
    assert!(text.contains("switch s2 took"), "{text}");
    assert!(text.contains("from 2.00"), "{text}");
    assert_eq!(report.culprits.len(), 1, "{text}");
    assert!(report.culprits[0].frames > 0, "{text}");
    // The controller knows by what switches say of hops, within a second.
    let [(at, what)] = &witness.heard[..] else {
        panic!("{:?}", witness.heard)
    };
    assert!(what.starts_with("switch s2:"), "{what}");
    let begun = Duration::from_secs(2);
    assert!((begun..begun + Duration::from_secs(1)).contains(at), "{at}");
}
