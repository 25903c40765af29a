//! What cannot be used is refused with exit code 2 before anything is started.

use std::fs;

use crate::workplace::{Ended, Running, Workplace, scenario};
use rustix::process::Signal;

#[test]
fn all_mistakes_of_a_file_are_shown_at_once_where_they_stand() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["run", &scenario("malformed.toml")]);

    ended.is_refused("has 9 mistakes");
    for place in [
        "12:17", "16:25", "19:8", "23:10", "28:8", "30:9", "31:1", "32:12", "35:6",
    ] {
        let place = format!("malformed.toml:{place}]");
        assert!(
            ended.stderr.contains(&place),
            "no {place}: {}",
            ended.stderr
        );
    }
    assert!(ended.stderr.contains("did you mean `deadline`?"));
    assert!(!workplace.has("out"), "nothing was started");
}

#[test]
fn what_is_no_readable_scenario_is_named_with_the_reason() {
    let workplace = Workplace::new();
    fs::create_dir(workplace.path("folder.toml")).unwrap();
    workplace.write("bytes.toml", [0xff, 0xfe, 0, 1, 2, 0x80]);
    workplace.write("zeros.toml", [0; 100]);
    workplace.write("long.toml", vec![b'#'; scenario::LONGEST_FILE + 1]);
    workplace.write("empty.toml", "");

    for (file, reason) in [
        ("missing.toml", "cannot read missing.toml: No such file"),
        ("folder.toml", "cannot read folder.toml: not a file"),
        ("/dev/zero", "cannot read /dev/zero: not a file"),
        ("bytes.toml", "cannot read bytes.toml: "),
        ("zeros.toml", "zeros.toml"),
        ("long.toml", "cannot read long.toml: longer than"),
        ("empty.toml", "empty.toml"),
    ] {
        for command in ["run", "check"] {
            workplace.run(&[command, file]).is_refused(reason);
        }
    }
    assert!(!workplace.has("out"), "nothing was started");
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused() {
    let workplace = Workplace::new();

    for (arguments, saying) in [
        (&[][..], "Usage"),
        (&["walk", "pair.toml"], "unrecognized subcommand 'walk'"),
        (&["run"], "<FILE>"),
        (&["run", "pair.toml", "--wrld", "sim"], "'--world'"),
        (&["run", "pair.toml", "--world", "moon"], "lab"),
        (&["run", "pair.toml", "--seed", "-1"], "-1"),
        (&["run", "pair.toml", "--duration", "30"], "unit"),
        (&["run", "pair.toml", "--duration", "0 s"], "--duration"),
        (&["run", "pair.toml", "--duration", "25 h"], "--duration"),
    ] {
        workplace.run(arguments).is_refused(saying);
    }
    assert!(!workplace.has("out"), "nothing was started");
}

#[test]
fn help_and_version_are_results() {
    let workplace = Workplace::new();

    for argument in ["--help", "--version"] {
        let ended = workplace.run(&[argument]);

        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
        assert!(ended.stdout.contains("taktos") || ended.stdout.contains("Usage"));
    }
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_run() {
    let workplace = Workplace::new();
    workplace.write("file", "not a folder");

    for folder in ["file", "file/below", "/proc/report", "/sys"] {
        let ended = workplace.run(&["run", "pair.toml", "--world", "sim", "--report", folder]);

        ended.is_refused(&format!("cannot write to the report folder {folder}: "));
    }
}

#[test]
fn two_runs_of_one_scenario_do_not_share_a_folder() {
    let workplace = Workplace::new();
    let run = ["run", "pair.toml", "--world", "sim"];
    let mut first =
        Running::start(workplace.taktos(run.iter().chain(&["--duration", "24 h"]).copied()));
    assert!(first.says("running"));

    let second = workplace.run(&run);
    let elsewhere = workplace.run(&[&run[..], &["--report", "elsewhere"]].concat());
    first.signal(Signal::INT);
    let first = first.end();

    second.is_refused("another run writes to out/pair: wait for its end, or choose another folder");
    assert_eq!(elsewhere.code, Some(0), "{}", elsewhere.stderr);
    assert_eq!(first.code, Some(130), "{}", first.stderr);
}

#[test]
fn what_a_crashed_run_left_does_not_matter() {
    let workplace = Workplace::new();
    fs::create_dir_all(workplace.path("out/pair")).unwrap();
    workplace.write("out/pair/controller.redb", "half a store");
    workplace.write("out/pair/report.json", "half a report");

    let run = "run pair.toml --duration 500ms --profile committed";
    let ended = workplace.run(&run.split(' ').collect::<Vec<_>>());

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(workplace.report()["completion"], "complete");
}

#[test]
fn a_scenario_of_another_folder_finds_what_it_imports_beside_itself() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["check", &scenario("abilene.toml")]);

    assert!(
        matches!(
            ended,
            Ended {
                code: Some(0 | 3),
                ..
            }
        ),
        "{}",
        ended.stderr
    );
}
