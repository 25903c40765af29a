//! Recordings and MMS: as flows of a scenario, as what is measured, and beside it.

use std::fs;

use measure::measurement::{Measurement, Value};
use serde_json::Value as Json;

use crate::workplace::Workplace;

const SCENARIO: &str = r#"
[scenario]
title = "A sensor and a station"
duration = "2 s"

[network]
link_rate = "1 Gbit/s"

[switches]
s1 = {}

[hosts]
sensor = { at = "s1" }
station = { at = "s1" }

[flows]
film = { kind = "trace", from = "sensor", to = "station", file = "FILE", deadline = "50 ms" }
values = { kind = "mms", from = "station", to = "sensor", period = "20 ms", deadline = "50 ms" }
"#;

/// Three frames each 10 ms, for two seconds.
fn table() -> String {
    let burst = |start: u32| [0, 40, 80].map(|us| format!("0.{:06},8000,1\n", start * 10_000 + us));
    (0..90).flat_map(burst).collect()
}

fn workplace() -> Workplace {
    let workplace = Workplace::new();
    fs::write(workplace.path("sensor.csv"), table()).unwrap();
    let text = SCENARIO.replace("FILE", "sensor.csv");
    fs::write(workplace.path("sensor.toml"), text).unwrap();
    workplace
}

#[test]
fn a_recording_and_reads_of_values_are_flows_like_others() {
    let workplace = workplace();

    let ended = workplace.run(&["run", "sensor.toml", "--world", "sim", "--json"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report: Json = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["verdict"], "held");
    let [film, values] = &report["flows"].as_array().unwrap()[..] else {
        panic!("{report}");
    };
    assert_eq!((&film["sent"], &film["lost"]), (&270.into(), &0.into()));
    // One request each 20 ms; the connection's own messages are no requests but count.
    let sent = values["sent"].as_u64().unwrap();
    assert!((100..=104).contains(&sent), "{sent}");
    assert_eq!(values["lost"], 0);
}

#[test]
fn a_file_that_is_no_recording_is_shown_where_it_is_named() {
    let workplace = workplace();
    let with = |file: &str| SCENARIO.replace("FILE", file);
    fs::write(workplace.path("time.csv"), "time,size\n0,80\n").unwrap();
    fs::write(workplace.path("seen.pcap"), "nothing").unwrap();
    for (file, said) in [
        ("none.csv", "none.csv"),
        ("time.csv", "line 1 is no time in seconds"),
        ("seen.pcap", "the file begins with"),
    ] {
        fs::write(workplace.path("bad.toml"), with(file)).unwrap();

        let ended = workplace.run(&["run", "bad.toml", "--world", "sim"]);

        assert_eq!(ended.code, Some(2), "{file}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{file}: {}", ended.stderr);
    }
}

#[test]
fn two_stations_have_one_association() {
    let workplace = workplace();
    let twice = SCENARIO.replace("FILE", "sensor.csv")
        + "again = { kind = \"mms\", from = \"station\", to = \"sensor\", period = \"1 s\", \
           deadline = \"50 ms\" }\n";
    fs::write(workplace.path("twice.toml"), twice).unwrap();

    let ended = workplace.run(&["check", "twice.toml"]);

    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let said = "reads values from `sensor` twice";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

#[test]
fn a_recording_is_replayed_and_the_lateness_is_told() {
    let workplace = workplace();
    let device = "emulated:pica8-p3297";

    let ended = workplace.run(&[
        "measure",
        "replay",
        device,
        "--traffic",
        "trace:sensor.csv",
        "--background",
        "trace:sensor.csv,mms",
        "--json",
    ]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = Measurement::from_json(&ended.stdout).unwrap();
    let value = |name: &str| {
        let mut figures = found.figures.iter();
        let figure = figures.find(|figure| figure.quantity == name);
        &figure.unwrap_or_else(|| panic!("no {name}")).value
    };
    let counts = ["sent", "lost"].map(|name| match value(name) {
        Value::Count(count) => *count,
        other => panic!("{name}: {other:?}"),
    });
    assert_eq!(counts, [270, 0]);
    for name in ["latency", "lateness of the tester"] {
        assert!(matches!(value(name), Value::Times(_)), "{name}");
    }
    let told = |part: &str| found.remarks.iter().any(|remark| remark.contains(part));
    assert!(
        told("the recording sensor.csv: 270 frames"),
        "{:?}",
        found.remarks
    );
    assert!(told("read values over TCP port 102"), "{:?}", found.remarks);
}

#[test]
fn what_cannot_be_replayed_is_refused_before_anything_starts() {
    let workplace = workplace();
    fs::write(workplace.path("bad.csv"), "1,80\n0,80\n").unwrap();
    for (arguments, said) in [
        (
            ["replay", "emulated:zodiac-fx", "", ""],
            "needs a recording",
        ),
        (
            ["replay", "emulated:zodiac-fx", "--traffic", "trace:bad.csv"],
            "line 2 is earlier",
        ),
        (
            [
                "loss",
                "emulated:zodiac-fx",
                "--traffic",
                "trace:sensor.csv",
            ],
            "--background",
        ),
        (
            ["stall", "emulated:zodiac-fx", "--background", "mms"],
            "bears nothing beside it",
        ),
    ] {
        let arguments = arguments.into_iter().filter(|it| !it.is_empty());
        let arguments: Vec<_> = std::iter::once("measure").chain(arguments).collect();

        let ended = workplace.run(&arguments);

        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(said),
            "{arguments:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "");
    }
}
