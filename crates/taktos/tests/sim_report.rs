//! A run in virtual time can be repeated: the same seed gives the same report,
//! to the byte.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use measure::report::Report;
use scenario::Scenario;
use taktos::experiment::{Admission, Audience, Discovered, Experiment, Place};
use units::Duration;

#[test]
fn the_same_seed_gives_the_same_report_to_the_byte() {
    let [first, second] = [7, 7].map(run);

    assert_eq!(first.to_json(), second.to_json());
    assert_eq!(first.to_html(), second.to_html());
}

#[test]
fn another_seed_gives_another_report() {
    assert_ne!(run(7).to_json(), run(8).to_json());
}

/// Runs the default scenario, with its cut in the middle of a shorter run.
fn run(seed: u64) -> Report {
    let mut scenario = substation();
    scenario.seed = seed;
    scenario.duration = Duration::from_secs(1);
    for (event, at) in scenario.events.iter_mut().zip([300, 600]) {
        event.at = Duration::from_ms(at);
    }
    let experiment = Experiment {
        scenario: &scenario,
        stop: &AtomicBool::new(false),
        store: PathBuf::new(),
        captures: PathBuf::new(),
        profiles: Vec::new(),
    };
    experiment
        .run(Place::Sim, &mut Nobody)
        .expect("virtual time does not break down")
}

fn substation() -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/substation.toml");
    let text = std::fs::read_to_string(file).expect("the scenario is there");
    Scenario::parse("substation.toml", &text, &mut |_| unreachable!("one file"))
        .expect("the scenario is well-formed")
}

struct Nobody;

impl Audience for Nobody {
    fn built(&mut self, _: Duration) {}

    fn discovered(&mut self, _: Discovered, _: Duration) {}
    fn decided(&mut self, _: &[Admission]) {}
    fn running(&mut self, _: Duration, _: Duration) {}
    fn happened(&mut self, _: Duration, _: &str) {}
}
