//! A run may be stopped at any moment, and nothing of it is left behind.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::Command;

use rustix::process::Signal;

use crate::workplace::{Ended, Running, Workplace};

/// What a run says at moments of its life, and whether there is something to
/// report by then.
const MOMENTS: [(&str, bool); 4] = [
    ("·", false),
    ("discovered", false),
    ("admitted", false),
    ("running", true),
];

#[test]
fn a_run_in_virtual_time_stops_with_a_partial_report() {
    for signal in [Signal::INT, Signal::TERM] {
        let workplace = Workplace::new();
        let mut run = Running::start(long_run(&workplace, "sim"));
        assert!(run.says("running"));

        run.signal(signal);
        let ended = run.end();

        is_partial(&workplace, &ended);
    }
}

#[test]
fn a_run_with_real_frames_stops_at_any_moment_and_leaves_nothing() {
    let before = Surroundings::now();
    for (moment, reports) in MOMENTS {
        let workplace = Workplace::new();
        let mut run = Running::start(long_run(&workplace, "lab"));
        if !run.says(moment) {
            return skip("a_run_with_real_frames_stops_at_any_moment", &run.end());
        }

        run.signal(Signal::INT);
        let ended = run.end();

        if reports {
            is_partial(&workplace, &ended);
        }
        assert_eq!(ended.code, Some(130), "at `{moment}`: {}", ended.stderr);
        assert_eq!(Surroundings::now(), before);
    }
}

#[test]
fn a_run_that_is_killed_leaves_nothing_and_the_next_one_works() {
    let before = Surroundings::now();
    let workplace = Workplace::new();
    let mut run = Running::start(long_run(&workplace, "lab"));
    if !run.says("running") {
        return skip("a_run_that_is_killed_leaves_nothing", &run.end());
    }
    let meanwhile = Surroundings::now();

    run.signal(Signal::KILL);
    let ended = run.end();
    let next = "run pair.toml --world lab --duration 500ms --profile committed";
    let next = workplace.run(&next.split(' ').collect::<Vec<_>>());

    assert_eq!(ended.code, None);
    assert_eq!(meanwhile, before, "the lab is in namespaces of its own");
    assert_eq!(Surroundings::now(), before);
    // On a busy machine a promise may be missed, and the report says so.
    assert!(matches!(next.code, Some(0 | 3)), "{}", next.stderr);
    assert_eq!(workplace.report()["world"], "lab");
}

fn long_run(workplace: &Workplace, world: &str) -> Command {
    let mut run = workplace.taktos(["run", "pair.toml", "--duration", "24 h", "--world", world]);
    // Another test measures one.
    run.args(["--profile", "committed"]);
    run
}

#[track_caller]
fn is_partial(workplace: &Workplace, ended: &Ended) {
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(workplace.report()["completion"], "partial");
    assert!(workplace.has("out/pair/report.html"));
    assert!(ended.stdout.contains("report: "), "{}", ended.stdout);
}

/// What others see of the network of this machine.
#[derive(Debug, PartialEq, Eq)]
struct Surroundings {
    interfaces: BTreeSet<String>,
    named_namespaces: BTreeSet<String>,
}

impl Surroundings {
    fn now() -> Self {
        let table = fs::read_to_string("/proc/self/net/dev").unwrap();
        let names = table.lines().filter_map(|line| line.split_once(':'));
        let named = fs::read_dir("/run/netns").into_iter().flatten();
        Self {
            interfaces: names.map(|(name, _)| name.trim().to_owned()).collect(),
            named_namespaces: named
                .map(|entry| entry.unwrap().file_name().display().to_string())
                .collect(),
        }
    }
}

/// Says loudly that this machine gives no namespaces, if that is why the run
/// ended. With `TAKTOS_REQUIRE_NAMESPACES` set, as in continuous integration, it
/// is a failure.
#[track_caller]
fn skip(test: &str, ended: &Ended) {
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    let notice = format!("SKIPPED {test}: {}", ended.stderr);
    let required = std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_some();
    assert!(!required, "{notice}");
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(std::io::stderr(), "\n{notice}\n");
}
