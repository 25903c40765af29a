//! Results on standard output, verdicts in the exit code.

use serde_json::Value;

use crate::workplace::{PAIR, Workplace, scenario};

#[test]
fn a_run_whose_promises_hold_writes_both_reports_and_ends_with_0() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["run", "pair.toml", "--world", "sim", "--duration", "2 s"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(workplace.report()["verdict"], "held");
    let page = std::fs::read_to_string(workplace.path("out/pair/report.html")).unwrap();
    assert!(page.contains("A pair") && page.trim_end().ends_with("</html>"));
    let first = ended.stderr.lines().next();
    assert_eq!(
        first,
        Some("A pair · sim · 2 switches, 2 hosts, 1 flows · seed 1")
    );
    for words in [
        "control",
        "Every promise held",
        "report: out/pair/report.html",
        "page: `taktos view out/pair`",
    ] {
        assert!(ended.stdout.contains(words), "{}", ended.stdout);
    }
}

#[test]
fn the_table_is_short_and_details_are_asked_for() {
    let workplace = Workplace::new();
    let run = ["run", "pair.toml", "--world", "sim"];

    let short = workplace.run(&run);
    let long = workplace.run(&[&run[..], &["--details"]].concat());

    let head = short.stdout.lines().find(|line| line.starts_with("flow"));
    let head: Vec<_> = head.unwrap().split_whitespace().collect();
    assert_eq!(
        head,
        ["flow", "deadline", "bound", "highest", "safety", "verdict"]
    );
    assert!(!short.stdout.contains("beyond contract"));
    assert!(long.stdout.contains("beyond contract"), "{}", long.stdout);
}

#[test]
fn json_is_one_document_with_the_keys_that_programs_rely_on() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["run", "pair.toml", "--world", "sim", "--json"]);

    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report, workplace.report(), "the same as the file");
    has_keys(
        &report,
        &[
            "scenario", "world", "seed", "verdict", "flows", "events", "platform",
        ],
    );
    has_keys(&report["platform"], &["stall_ns"]);
    let flow = &report["flows"][0];
    has_keys(
        flow,
        &[
            "name",
            "admitted",
            "reason",
            "path",
            "deadline_ns",
            "guarantee_ns",
            "sent",
            "received",
            "lost",
            "duplicates",
            "late",
            "latency_ns",
        ],
    );
    has_keys(
        &flow["latency_ns"],
        &["min", "mean", "p50", "p99", "p999", "max"],
    );
    assert_eq!(flow["path"], serde_json::json!(["s1", "s2"]));
    nanoseconds_are_integers(&report);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let workplace = Workplace::new();
    let run = |seed: &str, folder: &str| {
        let arguments = ["run", "pair.toml", "--world", "sim", "--seed", seed];
        workplace.run(&[&arguments[..], &["--report", folder]].concat());
        std::fs::read(workplace.path(folder).join("report.json")).unwrap()
    };

    let (first, again, other) = (run("7", "first"), run("7", "again"), run("8", "other"));

    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn an_interruption_that_is_too_long_breaks_a_promise_and_ends_with_3() {
    let workplace = Workplace::new();
    workplace.write("ring.toml", ring_cut_at_500_ms("1 us"));
    workplace.write("slow.toml", ring_cut_at_500_ms("400 ms"));

    let broken = workplace.run(&["run", "ring.toml", "--world", "sim", "--json"]);
    let held = workplace.run(&["run", "slow.toml", "--world", "sim", "--json"]);

    assert_eq!((broken.code, held.code), (Some(3), Some(0)));
    let report: Value = serde_json::from_str(&broken.stdout).unwrap();
    assert_eq!(report["verdict"], "broken");
    let event = &report["events"][0];
    has_keys(event, &["at_ns", "kind", "target", "outage_ns"]);
    assert_eq!(event["at_ns"], 500_000_000);
    assert_eq!(event["kind"], "cut");
    assert!(event["outage_ns"]["control"].as_u64() > Some(1_000));
}

#[test]
fn flows_follow_a_host_that_moves_and_survive_a_switch_that_restarts() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["run", &scenario("moves.toml"), "--world", "sim", "--json"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let flow = &report["flows"][0];
    assert!(flow["lost"].as_u64() < Some(50), "{flow}");
}

/// A ring of three switches, in which the flow has another way.
fn ring_cut_at_500_ms(interruption: &str) -> String {
    let ring = PAIR
        .replace("\"line\"", "\"ring\"")
        .replace("size = 2", "size = 3")
        .replace("1 Mbit/s", "20 Mbit/s");
    format!(
        r#"{ring}
protection = "restore"
interruption = "{interruption}"

[[events]]
at = "500 ms"
kind = "cut"
link = "s1-s2"
"#
    )
}

#[test]
fn a_refusal_names_what_binds_and_ends_with_3() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["check", &scenario("refused.toml")]);

    assert_eq!((ended.code, &ended.stderr[..]), (Some(3), ""));
    let refused = ended.stdout.lines().find(|line| line.contains("refused"));
    let refused = refused.unwrap();
    assert!(
        refused.starts_with("camera") && refused.contains("link s1-s2 has"),
        "{refused}"
    );
    for said in [
        "2 of 3 flows would be admitted.",
        "No other choice admits more. control, camera do not all fit together.",
        "in time; 7.2x for all flows.",
    ] {
        assert!(ended.stdout.contains(said), "{}", ended.stdout);
    }
    assert!(!workplace.has("out"), "a check writes nothing");
}

#[test]
fn a_check_in_json_says_for_each_flow_what_would_be_promised() {
    let workplace = Workplace::new();

    let admitted = workplace.run(&["check", "pair.toml", "--json"]);
    let refused = workplace.run(&["check", &scenario("refused.toml"), "--json"]);

    assert_eq!((admitted.code, refused.code), (Some(0), Some(3)));
    for (ended, verdict) in [(admitted, "admitted"), (refused, "refused")] {
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(document["verdict"], verdict);
        nanoseconds_are_integers(&document);
        has_keys(&document, &["at_most", "conflicts", "slowdown_thousandths"]);
        has_keys(&document["processors"][0], &["switch", "busy_thousandths"]);
        for flow in document["flows"].as_array().unwrap() {
            let keys = [
                "name",
                "admitted",
                "reason",
                "deadline_ns",
                "guarantee_ns",
                "slack_ns",
                "slowdown_thousandths",
            ];
            has_keys(flow, &keys);
            assert_eq!(flow["admitted"], flow["reason"].is_null());
            assert_eq!(flow["admitted"], flow["guarantee_ns"].is_u64());
        }
    }
}

/// Without room to spare a guarantee is what the flow may meet, with what a failure adds.
#[test]
fn the_least_guarantees_are_shown_if_asked_for() {
    let workplace = Workplace::new();
    let guarantees = |fit: &str| -> Vec<u64> {
        let ended = workplace.run(&["check", "pair.toml", "--json", "--fit", fit]);
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        let flows = document["flows"].as_array().unwrap().iter();
        let guarantees = flows.map(|flow| flow["guarantee_ns"].as_u64().unwrap());
        guarantees.collect()
    };

    let (tight, roomy) = (guarantees("tight"), guarantees("roomy"));

    assert!(!tight.is_empty());
    for (tight, roomy) in tight.iter().zip(&roomy) {
        assert!(tight < roomy, "{tight} ns, {roomy} ns");
    }
}

#[test]
fn nothing_is_coloured_where_there_is_no_terminal() {
    let workplace = Workplace::new();

    let run = workplace.run(&["run", "pair.toml", "--world", "sim"]);
    let check = workplace.run(&["check", &scenario("malformed.toml")]);

    for text in [run.stdout, run.stderr, check.stderr] {
        assert!(!text.contains('\x1b'), "{text}");
    }
}

#[track_caller]
fn has_keys(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "no `{key}` in {value}");
    }
}

/// Asserts that whatever is called `…_ns` holds no fraction.
fn nanoseconds_are_integers(value: &Value) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let text = value.to_string();
                assert!(
                    !key.ends_with("_ns") || !text.contains('.'),
                    "{key}: {text}"
                );
                nanoseconds_are_integers(value);
            }
        }
        Value::Array(values) => values.iter().for_each(nanoseconds_are_integers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
