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

/// Both baselines are settings of a scenario: one changes the mode by its controller, the
/// other never does (S2-9).
#[test]
fn a_scenario_runs_under_each_strategy_and_only_with_modes_a_flow_is_given_up() {
    let [taktos, standard, agnostic] = ["taktos", "std-sdn", "mc-agnostic"].map(braking);

    for report in [&taktos, &standard, &agnostic] {
        assert!(report.flows.iter().all(|flow| flow.admitted));
        assert_eq!(flow(report, "cam").lost, 0, "{:?}", report.modes);
    }
    let changes = &taktos.modes.as_ref().unwrap().changes;
    let levels: Vec<_> = changes.iter().map(|it| it.level.as_str()).collect();
    assert_eq!(levels, ["hi", "lo"]);
    let bound = taktos.modes.as_ref().unwrap().change_bound_ns.unwrap();
    assert!(changes.iter().all(|it| it.took_ns <= bound), "{changes:?}");
    assert!(agnostic.modes.as_ref().unwrap().changes.is_empty());
    let given_up = |report: &Report| flow(report, "film").lost;
    assert!(given_up(&taktos) > 0 && given_up(&standard) > 0);
    assert_eq!(given_up(&agnostic), 0);
}

fn flow<'a>(report: &'a Report, name: &str) -> &'a measure::report::FlowReport {
    let mut flows = report.flows.iter();
    let found = flows.find(|flow| flow.facts.name == name);
    found.expect("the scenario has such a flow")
}

/// Runs a camera that looks more often for a while, and a film, under a strategy.
fn braking(strategy: &str) -> Report {
    let text = format!(
        r#"
[scenario]
title = "A camera and a film"
duration = "1 s"
[switches]
sw1 = {{}}
sw2 = {{}}
[hosts]
s1 = {{ at = "sw1" }}
s2 = {{ at = "sw1" }}
d1 = {{ at = "sw2" }}
d2 = {{ at = "sw2" }}
[links]
trunk = ["sw1", "sw2"]
[classes]
mid.queue = 5
low.queue = 4
best-effort.queue = 0
[modes]
levels = ["lo", "hi"]
serve = {{ hi = 4 }}
hold = "150 ms"
strategy = "{strategy}"
[flows.film]
kind = "message"
from = "s2"
to = "d2"
size = "6 kB"
period = "10 ms"
deadline = "10 ms"
class = "mid"
criticality = 1
[flows.cam]
kind = "message"
from = "s1"
to = "d1"
size = "6 kB"
period = "40 ms"
deadline = "40 ms"
class = "low"
criticality = 5
modes.hi = {{ period = "20 ms", deadline = "20 ms" }}
[[events]]
at = "300 ms"
kind = "violate"
flow = "cam"
level = "hi"
until = "500 ms"
"#
    );
    let scenario = Scenario::parse("braking.toml", &text, &mut |_| unreachable!("one file"));
    let experiment = Experiment {
        scenario: &scenario.expect("the scenario is well-formed"),
        stop: &AtomicBool::new(false),
        store: PathBuf::new(),
        captures: PathBuf::new(),
        profiles: Vec::new(),
    };
    experiment
        .run(Place::Sim, &mut Nobody)
        .expect("virtual time does not break down")
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
