//! The car of `scenarios/emergency-braking.toml` is promised all that it asks for, at
//! both levels and while the level changes, and gets it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use measure::report::{Outcome, Report};
use scenario::Scenario;
use taktos::experiment::{Admission, Audience, Discovered, Experiment, Place};
use units::Duration;

/// S2-8: frames of 300 kB and 154 kB in queues of 512, a film that ends, and a camera
/// whose frames never wait behind those that were still queued.
#[test]
fn all_three_flows_are_promised_and_what_steers_the_car_is_in_time() {
    let report = drive(&scenario());

    for flow in &report.flows {
        let name = &flow.facts.name;
        assert_ne!(flow.verdict, Outcome::Refused, "{name}");
        assert!(flow.guarantee_ns.is_some(), "{name}");
    }
    let modes = report.modes.as_ref().expect("there are levels");
    assert_eq!(modes.changes[0].level, "hi");
    for name in ["lidar", "cam"] {
        let flow = report.flows.iter().find(|flow| flow.facts.name == name);
        let flow = flow.expect("it is one of the three");
        assert_eq!(flow.verdict, Outcome::Held, "{flow:?}");
        assert_eq!((flow.lost, flow.late), (0, 0), "{name}");
        assert!(flow.sent > 100, "{name}");
    }
}

fn drive(scenario: &Scenario) -> Report {
    let experiment = Experiment {
        scenario,
        stop: &AtomicBool::new(false),
        store: PathBuf::new(),
        captures: PathBuf::new(),
        profiles: Vec::new(),
    };
    experiment
        .run(Place::Sim, &mut Nobody)
        .expect("virtual time does not break down")
}

/// Reads the scenario, for a shorter drive.
fn scenario() -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/emergency-braking.toml");
    let text = std::fs::read_to_string(file).expect("the scenario is there");
    let text = text
        .replace("\"6 s\"", "\"1500 ms\"")
        .replace("2381 ms", "700 ms");
    Scenario::parse("emergency-braking.toml", &text, &mut |_| {
        unreachable!("one file")
    })
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
