//! What the switches of a run are taken to be: measured on this machine the first time,
//! kept, and said.

use std::fs;
use std::io::Write;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::workplace::{Ended, PAIR, Running, Workplace};

const RUN: &str = "run pair.toml --world lab --duration 300ms --json";
const KEPT: &str = "cache/taktos/profile-kernel.json";
/// How long each of two switches must not take where 500 us are to do for all.
const SLOW_NS: u64 = 130_000;

/// Runs the command line, its words separated by blanks.
fn run(workplace: &Workplace, line: &str) -> Ended {
    workplace.run(&line.split(' ').collect::<Vec<_>>())
}

fn profile(ended: &Ended) -> Value {
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    report["profiles"][0].clone()
}

#[test]
fn a_profile_is_measured_once_and_kept() {
    let workplace = Workplace::new();
    let first = run(&workplace, RUN);
    if !first.stderr.contains("lab, forwarded by the kernel") {
        return skip("a_profile_is_measured_once_and_kept", &first);
    }
    assert!(matches!(first.code, Some(0 | 3)), "{}", first.stderr);
    assert!(
        first.stderr.contains("profile: measuring"),
        "{}",
        first.stderr
    );
    if profile(&first)["instead"] != Value::Null {
        // A machine that is too busy to be measured says so, and keeps nothing.
        assert!(first.stderr.contains("as the scenario says, since"));
        return assert!(!workplace.has(KEPT));
    }

    let second = run(&workplace, RUN);
    let kept = fs::read_to_string(workplace.path(KEPT)).unwrap();
    // In time by the figures that are built in, and not by those of so slow a machine.
    let mut slow: Value = serde_json::from_str(&kept).unwrap();
    slow["latency_ns"] = json!(SLOW_NS);
    workplace.write(KEPT, slow.to_string());
    let tight = PAIR.replace("deadline = \"10 ms\"", "deadline = \"500 us\"");
    workplace.write("tight.toml", tight);
    let nowhere = run(&workplace, "run tight.toml --duration 300ms --json");
    let wanted = run(&workplace, "run tight.toml --duration 300ms --world lab");
    workplace.write(KEPT, &kept[..kept.len() / 2]);
    let committed = run(&workplace, &format!("{RUN} --profile committed"));
    let decided = run(&workplace, "check pair.toml --profile measured");

    assert_eq!(profile(&first)["origin"], "measured");
    assert_eq!(profile(&first)["measured"]["kept"], false);
    assert_eq!(profile(&second)["measured"]["kept"], true);
    assert_eq!(
        profile(&first)["latency_ns"],
        profile(&second)["latency_ns"]
    );
    assert!(second.stderr.contains("profile: measured on this machine"));
    assert!(
        nowhere.stderr.contains("so in virtual time"),
        "{}",
        nowhere.stderr
    );
    assert_eq!(nowhere.code, Some(0), "{}", nowhere.stderr);
    assert_eq!(profile(&nowhere)["origin"], "scenario");
    assert_eq!(wanted.code, Some(3), "{}", wanted.stderr);
    assert_eq!(profile(&committed)["origin"], "scenario");
    assert_eq!(profile(&committed)["name"], "taktos-packet");
    assert!(decided.stderr.contains("is damaged"), "{}", decided.stderr);
    assert_eq!(decided.code, Some(4), "{}", decided.stderr);
}

#[test]
fn a_measurement_of_the_profile_can_be_stopped() {
    let workplace = Workplace::new();
    let mut running = Running::start(workplace.taktos(RUN.split(' ')));
    if !running.says("profile: measuring") {
        return skip(
            "a_measurement_of_the_profile_can_be_stopped",
            &running.end(),
        );
    }

    running.signal(Signal::INT);
    let ended = running.end();

    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(!workplace.has(KEPT));
}

#[test]
fn another_profile_takes_the_place_of_the_switchs_own() {
    let workplace = Workplace::new();
    let sim = "run pair.toml --world sim --duration 300ms --json";

    let chosen = run(&workplace, &format!("{sim} --profile line-rate"));
    let usual = run(&workplace, sim);

    assert_eq!(chosen.code, Some(0), "{}", chosen.stderr);
    assert_eq!(profile(&chosen)["origin"], "chosen");
    assert_eq!(profile(&chosen)["name"], "line-rate");
    assert_eq!(profile(&usual)["origin"], "scenario");
    assert!(!workplace.has("cache"), "virtual time measures nothing");
}

#[test]
fn what_is_no_profile_is_refused() {
    let workplace = Workplace::new();
    workplace.write("broken.toml", "about = 3");

    run(&workplace, "check pair.toml --profile taktos-kernal").is_refused("taktos-kernel");
    run(
        &workplace,
        "run pair.toml --world sim --profile broken.toml",
    )
    .is_refused("broken.toml");
    run(&workplace, "check pair.toml --profile none.toml").is_refused("none.toml");
    let none_kept = run(&workplace, "check pair.toml --profile measured");

    assert_eq!(none_kept.code, Some(4), "{}", none_kept.stderr);
    assert!(none_kept.stderr.contains("run a scenario there first"));
}

/// Says loudly that the kernel does not forward for this process.
#[track_caller]
fn skip(test: &str, ended: &Ended) {
    let required = std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_some();
    assert!(!required, "{test}: {}", ended.stderr);
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(std::io::stderr(), "\nSKIPPED {test}: {}\n", ended.stderr);
}
