//! The car of `scenarios/emergency-braking.toml` is promised all that it asks for, at
//! both levels and while the level changes, and gets it.

mod virtual_run;

use measure::report::Verdict;
use scenario::Scenario;

use virtual_run::{carry_out, scenario, text_of};

/// S2-8: frames of 300 kB and 154 kB in queues of 512, a film that ends, and a camera
/// whose frames never wait behind those that were still queued.
#[test]
fn all_three_flows_are_promised_and_what_steers_the_car_is_in_time() {
    let report = carry_out(&drive());

    for flow in &report.flows {
        let name = &flow.facts.name;
        assert_ne!(flow.verdict, Verdict::Refused, "{name}");
        assert!(flow.guarantee_ns.is_some(), "{name}");
    }
    let modes = report.modes.as_ref().expect("there are levels");
    assert_eq!(modes.changes[0].level, "hi");
    for name in ["lidar", "cam"] {
        let flow = report.flows.iter().find(|flow| flow.facts.name == name);
        let flow = flow.expect("it is one of the three");
        assert_eq!(flow.verdict, Verdict::Held, "{flow:?}");
        assert_eq!((flow.lost, flow.late), (0, 0), "{name}");
        assert!(flow.sent > 100, "{name}");
    }
}

/// Returns the scenario, for a shorter drive.
fn drive() -> Scenario {
    let file = "emergency-braking.toml";
    let text = text_of(file)
        .replace("\"6 s\"", "\"1500 ms\"")
        .replace("2381 ms", "700 ms");
    scenario(file, &text)
}
