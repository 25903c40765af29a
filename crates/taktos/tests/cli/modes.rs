//! The baselines of criticality modes with real frames, as `taktos run` plays them (S2-9).

use serde_json::Value;

use crate::testbed::skip;
use crate::workplace::Workplace;

/// A film, and a camera that needs more for a while.
const MODES: &str = r#"
[scenario]
title = "Modes"
duration = "1500 ms"
[switches]
s1 = {}
s2 = {}
[hosts]
h1 = { at = "s1" }
h2 = { at = "s1" }
h3 = { at = "s2" }
h4 = { at = "s2" }
[links]
trunk = ["s1", "s2"]
[classes]
mid.queue = 5
low.queue = 4
best-effort.queue = 0
[modes]
levels = ["lo", "hi"]
strategy = "STRATEGY"
serve = { hi = 4 }
hold = "100 ms"
[flows.film]
kind = "message"
from = "h2"
to = "h4"
size = "30 kB"
period = "40 ms"
deadline = "40 ms"
class = "low"
[flows.cam]
kind = "message"
from = "h1"
to = "h3"
size = "6 kB"
period = "50 ms"
deadline = "50 ms"
class = "mid"
criticality = 5
modes.hi = { size = "12 kB" }
[[events]]
at = "500 ms"
kind = "violate"
flow = "cam"
level = "hi"
until = "800 ms"
"#;

/// Returns the report of a run, unless real frames are not to be had here.
fn run(test: &str, strategy: &str) -> Option<Value> {
    let workplace = Workplace::new();
    workplace.write("modes.toml", MODES.replace("STRATEGY", strategy));
    let line = "run modes.toml --world lab --profile committed --json";

    let ended = workplace.run(&line.split(' ').collect::<Vec<_>>());

    if ended.code == Some(4) {
        skip(test);
        return None;
    }
    // On a busy machine a promise may be missed, and the report says so.
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["world"], "lab");
    assert_eq!(report["modes"]["strategy"], strategy);
    Some(report)
}

/// Returns how many frames of the film were given up at the higher level.
fn given_up(report: &Value) -> u64 {
    let flows = report["flows"].as_array().unwrap();
    let film = flows.iter().find(|flow| flow["name"] == "film").unwrap();
    film["levels"][1]["given_up"].as_u64().unwrap()
}

#[test]
fn a_controller_writes_the_entries_of_another_level_on_real_switches() {
    let test = "a_controller_writes_the_entries_of_another_level_on_real_switches";
    let Some(report) = run(test, "std-sdn") else {
        return;
    };

    let first = &report["modes"]["changes"][0];
    assert_eq!(first["level"], "hi", "{}", report["modes"]);
    assert_eq!(first["origin"], "the controller");
    assert!(given_up(&report) > 0, "{}", report["flows"]);
}

#[test]
fn real_switches_without_modes_give_nothing_up() {
    let test = "real_switches_without_modes_give_nothing_up";
    let Some(report) = run(test, "mc-agnostic") else {
        return;
    };

    let changes = report["modes"]["changes"].as_array().unwrap();
    assert!(changes.is_empty(), "{changes:?}");
    assert_eq!(given_up(&report), 0);
}
