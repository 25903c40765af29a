//! Scenarios that are carried out in virtual time, with nobody to watch.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use calculus::admission::Spare;
use measure::report::Report;
use run::experiment::{
    Admission, Audience, Carrying, Discovered, Experiment, SimEngine, WorldChoice,
};
use scenario::Scenario;
use units::Duration;

/// Carries a scenario out and returns what came of it.
pub fn carry_out(scenario: &Scenario) -> Report {
    carry_out_with(scenario, Spare::default())
}

/// Carries a scenario out with budgets that leave so much to spare.
pub fn carry_out_with(scenario: &Scenario, spare: Spare) -> Report {
    carry_out_by(SimEngine::Tables, scenario, spare)
}

/// The same, with frames that are looked up by an engine.
pub fn carry_out_by(engine: SimEngine, scenario: &Scenario, spare: Spare) -> Report {
    let experiment = Experiment {
        scenario,
        stop: &AtomicBool::new(false),
        store: PathBuf::new(),
        captures: PathBuf::new(),
        profiles: Vec::new(),
        carrying: Carrying::Whole,
        spare,
    };
    experiment
        .run(WorldChoice::Sim(engine), &mut Nobody)
        .expect("virtual time does not break down")
}

/// Returns the text of one of the project's scenarios.
pub fn text_of(file: &str) -> String {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    std::fs::read_to_string(scenarios.join(file)).expect("the scenario is there")
}

/// Reads a scenario that needs no other file.
pub fn scenario(name: &str, text: &str) -> Scenario {
    Scenario::parse(name, text, &mut |_| unreachable!("one file"))
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
