//! `taktos measure`: documents that can be read again, and plans that are resumed.

use measure::capture::reader::{End, Step};
use measure::capture::{CaptureReader, Direction};
use measure::measurement::Measurement;
use rustix::process::Signal;

use crate::workplace::{Running, Workplace};

const PLAN: [&str; 8] = [
    "measure",
    "jitter",
    "emulated:zodiac-fx",
    "--quick",
    "--duration",
    "100 ms",
    "--journal",
    "plan.journal",
];

#[test]
fn a_measurement_is_written_for_people_browsers_spreadsheets_and_programs() {
    let workplace = Workplace::new();

    let ended = workplace.run(&[&PLAN[..6], &["--json", "--out", "found"]].concat());

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let printed = Measurement::from_json(&ended.stdout).unwrap();
    assert!(printed.quick && printed.method == "jitter");
    let file = |name: &str| std::fs::read_to_string(workplace.path("found").join(name)).unwrap();
    assert_eq!(file("measurement.json"), ended.stdout);
    assert!(file("measurement.html").trim_end().ends_with("</html>"));
    assert!(file("measurement.csv").starts_with("device,method"));
    assert!(file("measurement.txt").contains("no figure for publication"));
}

#[test]
fn a_plan_is_resumed_from_its_journal_and_no_other() {
    let workplace = Workplace::new();
    let first = workplace.run(&PLAN);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let kept = std::fs::read_to_string(workplace.path("plan.journal")).unwrap();
    assert_eq!(kept.lines().count(), 2);

    let resumed = workplace.run(&PLAN);

    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(
        resumed
            .stdout
            .contains("1 of the points were measured by an earlier run")
    );
    let after = std::fs::read_to_string(workplace.path("plan.journal")).unwrap();
    assert_eq!(after, kept, "nothing was measured again");
    let other = workplace.run(&[&PLAN[..], &["--seed", "2"]].concat());
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(
        other.stderr.contains("the seed was 1 and is 2"),
        "{}",
        other.stderr
    );
}

/// Every method, on a device in virtual time: one document that can be read again, the
/// same each time but for when it was made and how long that took.
#[test]
fn every_method_prints_one_document_of_an_emulated_device() {
    let workplace = Workplace::new();
    let methods = [
        ("latency", "interval=1ms"),
        ("flow-setup", "flows=2"),
        ("throughput", "size=1518"),
        ("jitter", "window=1500"),
        ("loss", "window=1500"),
        ("buffer", "size=306"),
        ("failover", "times=1"),
        ("control-plane", "samples=2"),
        ("data-plane", "entries=1"),
        ("generator", "streams=2"),
        ("profile", "packets=2"),
        ("stall", ""),
    ];
    for (method, option) in methods {
        let mut arguments = vec!["measure", method, "emulated:zodiac-fx", "--quick", "--json"];
        let plan = [
            "--set",
            "match=port",
            "--set",
            "action=output",
            "--set",
            "packets=1",
        ];
        match method {
            "data-plane" => arguments.extend(plan),
            _ => arguments.extend(["--duration", "50 ms"]),
        }
        if !option.is_empty() {
            arguments.extend(["--set", option]);
        }

        let documents = [(); 2].map(|()| {
            let ended = workplace.run(&arguments);
            assert_eq!(ended.code, Some(0), "{method}: {}", ended.stderr);
            let found = Measurement::from_json(&ended.stdout);
            found.unwrap_or_else(|error| panic!("{method}: {error}\n{}", ended.stdout))
        });

        let [first, second] = documents.map(|mut document| {
            document.conditions.began_unix_ns = 0;
            document.conditions.took = units::Duration::ZERO;
            assert_eq!(document.method, method);
            document.to_json()
        });
        assert_eq!(first, second, "{method}");
    }
}

#[test]
fn a_plan_that_was_interrupted_goes_on_and_keeps_the_conditions_of_both_runs() {
    let workplace = Workplace::new();
    let plan = [
        "measure",
        "loss",
        "emulated:pica8-p3297",
        "--set",
        "window=1400,1401,1402,1403,1404,1405,1406,1407,1408,1409",
        "--journal",
        "plan.journal",
    ];
    let mut running = Running::start(workplace.taktos(plan));
    assert!(running.says("loss: 25 %"), "{}", running.said());
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    let kept = std::fs::read_to_string(workplace.path("plan.journal")).unwrap();
    let points = kept.lines().count() - 1;
    assert!((1..10).contains(&points), "{points}");

    let ended = workplace.run(&[&plan[..], &["--json"]].concat());

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = Measurement::from_json(&ended.stdout).unwrap();
    assert_eq!(found.earlier.len(), 1);
    let earlier = &found.earlier[0];
    assert_eq!(earlier.points, points as u64);
    // Each point sends a frame a millisecond, for two minutes.
    let frames = 120_000 * points as u64;
    assert_eq!(earlier.conditions.lateness.count(), frames);
    let rest = 120_000 * 10 - frames;
    assert_eq!(found.conditions.lateness.count(), rest);
}

#[test]
fn a_target_or_an_option_that_is_none_is_named_with_what_there_is() {
    let workplace = Workplace::new();
    for (arguments, code, said) in [
        (&["latncy"][..], 2, "did you mean `latency`?"),
        (&["latency", "emulated:pica9"], 2, "pica8-p3297"),
        (&["latency", "taktos:gpu"], 2, "kernel, packet, xdp"),
        (
            &["latency", "--ports", "nowhere0,nowhere1"],
            2,
            "no interface `nowhere0`",
        ),
        (
            &["latency", "emulated:zodiac-fx", "--set", "intervall=1ms"],
            2,
            "latency has interval",
        ),
        (
            &["latency", "emulated:zodiac-fx", "--set", "interval=soon"],
            2,
            "`soon`",
        ),
        (
            &["loss", "emulated:zodiac-fx", "--set", "window=0"],
            2,
            "`window` cannot be `0`",
        ),
    ] {
        let ended = workplace.run(&[&["measure"], arguments].concat());

        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(said),
            "{arguments:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
}

/// No error: everything is lost, and the result says so.
#[test]
fn a_device_that_drops_everything_is_reported_for_what_it_is() {
    let workplace = Workplace::new();
    let profile = format!(
        "{}\n[emulation]\nloss_ppm = {{ value = 1000000, origin = \"stated\" }}\n",
        include_str!("../../../../profiles/line-rate.toml")
    );
    std::fs::write(workplace.path("black-hole.toml"), profile).unwrap();

    for (method, said) in [
        ("latency", "no frame arrived: the device drops all of them"),
        ("loss", "100.0000 %"),
        ("throughput", "frames were lost at every rate"),
        ("buffer", "no burst is without loss"),
        ("flow-setup", "no flow had an answer"),
    ] {
        let ended = workplace.run(&[
            "measure",
            method,
            "emulated:black-hole.toml",
            "--quick",
            "--duration",
            "20 ms",
        ]);

        assert_eq!(ended.code, Some(0), "{method}: {}", ended.stderr);
        assert!(ended.stdout.contains(said), "{method}: {}", ended.stdout);
    }
}

#[test]
fn every_frame_that_the_tester_sees_is_kept_in_a_capture() {
    let workplace = Workplace::new();

    let plan = ["measure", "jitter", "emulated:taktos-kernel"];
    let keep = ["--duration", "100 ms", "--pcapng", "seen.pcapng"];
    let ended = workplace.run(&[&plan[..], &keep].concat());

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let bytes = std::fs::read(workplace.path("seen.pcapng")).unwrap();
    let mut reader = CaptureReader::default();
    reader.room()[..bytes.len()].copy_from_slice(&bytes);
    reader.filled(bytes.len());
    let mut ways = Vec::new();
    while let Step::Frame(frame) = reader.next_frame() {
        ways.push((frame.interface, frame.direction));
    }
    let count = |port, way| ways.iter().filter(|it| **it == (port, Some(way))).count();
    let sent = count(0, Direction::Out);
    assert_eq!(sent, 10, "one every 10 ms for 100 ms: {ways:?}");
    assert_eq!(count(1, Direction::In), sent);
    assert_eq!(reader.finish().end, End::Whole);
    let said = format!("{} frames are in seen.pcapng.", ways.len());
    assert!(ended.stdout.contains(&said), "{}", ended.stdout);
}

#[test]
fn a_capture_that_cannot_be_kept_is_refused_before_anything_is_measured() {
    let workplace = Workplace::new();

    let nowhere = workplace.run(&[&PLAN[..6], &["--pcapng", "no/seen.pcapng"]].concat());
    let calibrated = workplace.run(&["measure", "calibrate", "--pcapng", "seen.pcapng"]);

    nowhere.is_refused("no/seen.pcapng: No such file");
    calibrated.is_refused("`calibrate` keeps no frames");
    assert!(!workplace.has("seen.pcapng"));
}

#[test]
fn an_acceptance_has_a_row_for_each_service() {
    let workplace = Workplace::new();
    let plan = ["measure", "acceptance", "emulated:taktos-kernel", "--quick"];

    let ended = workplace.run(&[&plan[..], &["--out", "found"]].concat());

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let table = std::fs::read_to_string(workplace.path("found/acceptance.txt")).unwrap();
    assert!(ended.stdout.ends_with(&table), "{}", ended.stdout);
    for service in ["sv", "goose", "udp", "mms"] {
        let row = table.lines().find(|line| {
            line.starts_with("together") && line.split_whitespace().nth(1) == Some(service)
        });
        assert!(row.unwrap().ends_with("  accepted"), "{table}");
    }
}

#[test]
fn what_cannot_be_kept_is_said_before_it_is_measured_and_shown_if_it_was() {
    let workplace = Workplace::new();
    std::fs::write(workplace.path("taken"), "").unwrap();
    std::fs::create_dir_all(workplace.path("found/measurement.txt/other")).unwrap();
    let compare = [
        "measure",
        "compare",
        "emulated:zodiac-fx",
        "emulated:zodiac-fx",
    ];

    let measured = workplace.run(&[&PLAN[..6], &["--out", "taken"]].concat());
    let compared = workplace.run(&[&compare[..], &["--out", "taken/inside"]].concat());
    let after = workplace.run(&[&PLAN[..6], &["--json", "--report", "found"]].concat());

    measured.is_refused("cannot write to taken: ");
    compared.is_refused("cannot write to taken/inside: ");
    assert!(!measured.stderr.contains("jitter: "), "{}", measured.stderr);
    assert_eq!(after.code, Some(1), "{}", after.stderr);
    assert!(
        after.stderr.contains("cannot write to found: "),
        "{}",
        after.stderr
    );
    Measurement::from_json(&after.stdout).unwrap();
}

#[test]
fn what_an_option_may_be_is_said_where_it_is_wrong() {
    let workplace = Workplace::new();

    let value = workplace.run(&[&PLAN[..6], &["--set", "load=heavy"]].concat());
    let name = workplace.run(&[&PLAN[..6], &["--set", "intervall=1ms"]].concat());

    value.is_refused("option `load` cannot be `heavy`: what others send to the receiver, as in");
    name.is_refused("did you mean `interval`, the time between two messages");
}
