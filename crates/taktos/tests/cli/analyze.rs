//! Worst-case bounds of networks of servers.

use serde_json::{Value, json};

use crate::workplace::Workplace;

/// A published reference: total flow analysis, line shaping on and off (S4-11).
#[test]
fn the_published_bounds_of_a_ring_come_out() {
    let workplace = Workplace::new();
    for (servers, shaped, delay_us) in [
        (3, true, Some(292.395)),
        (3, false, Some(852.273)),
        (8, true, Some(1_033.175)),
        (8, false, None),
    ] {
        workplace.write("ring.json", ring(servers, shaped));

        let ended = workplace.run(&["analyze", "ring.json", "--method", "tfa", "--json"]);

        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        for flow in document["flows"].as_array().unwrap() {
            match delay_us {
                Some(us) => {
                    let found = flow["delay_s"].as_f64().unwrap() * 1e6;
                    assert!((found - us).abs() < 0.001, "{servers} servers: {found} us");
                }
                None => assert_eq!(flow["delay_s"], "unbounded"),
            }
        }
    }
}

#[test]
fn a_result_has_the_keys_that_programs_rely_on() {
    let workplace = Workplace::new();
    workplace.write("ring.json", ring(3, true));

    let ended = workplace.run(&[
        "analyze",
        "ring.json",
        "--method",
        "all",
        "--flow",
        "f1",
        "--json",
    ]);

    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(document["elapsed_ns"].as_u64().unwrap() > 0);
    let flow = &document["flows"][0];
    assert_eq!(
        (&flow["id"], &flow["method"]),
        (&json!("f1"), &json!("tfa"))
    );
    assert!(flow["backlog_bit"].as_f64().unwrap() > 8_000.0);
    let hop = &flow["hops"][0];
    assert_eq!(hop["server"], "s1");
    assert!(hop["delay_s"].is_f64() && hop["backlog_bit"].is_f64());
    let refused = document["not_applicable"].as_array().unwrap();
    let sfa = refused.iter().find(|one| one["method"] == "sfa").unwrap();
    assert!(
        sfa["reason"]
            .as_str()
            .unwrap()
            .contains("cycle through server `s")
    );
    let methods = document["flows"].as_array().unwrap().iter();
    let methods: Vec<_> = methods
        .map(|flow| flow["method"].as_str().unwrap())
        .collect();
    assert_eq!(methods, ["tfa", "lp"]);
}

#[test]
fn the_best_is_the_least_of_all_and_names_its_method() {
    let workplace = Workplace::new();
    workplace.write("tandem.json", TANDEM);

    let all = workplace.run(&["analyze", "tandem.json", "--method", "all", "--json"]);
    let best = workplace.run(&["analyze", "tandem.json", "--json"]);

    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    let best: Value = serde_json::from_str(&best.stdout).unwrap();
    let delay = |flow: &Value| flow["delay_s"].as_f64().unwrap();
    for flow in best["flows"].as_array().unwrap() {
        let same = all["flows"].as_array().unwrap().iter();
        let same: Vec<_> = same.filter(|other| other["id"] == flow["id"]).collect();
        let least = same
            .iter()
            .map(|other| delay(other))
            .fold(f64::MAX, f64::min);
        assert!(same.len() >= 6, "{same:?}");
        assert!((delay(flow) - least).abs() < 1e-15);
        let named = same.iter().find(|other| other["method"] == flow["method"]);
        assert!((delay(named.unwrap()) - least).abs() < 1e-15);
    }
}

/// Saihu's own example (TSAI23), without its second path as its printed bounds are.
#[test]
fn saihus_example_has_the_bounds_that_it_prints() {
    let workplace = Workplace::new();
    let demo = include_str!("../../../scenario/tests/vectors/saihu/demo.json");
    let printed = include_str!("../../../scenario/tests/vectors/saihu/demo_data.json");
    let mut one_path: Value = serde_json::from_str(demo).unwrap();
    one_path["flows"][0]
        .as_object_mut()
        .unwrap()
        .remove("multicast");
    workplace.write("demo.json", demo);
    workplace.write("one-path.json", one_path.to_string());

    let [one_path, both] = ["one-path.json", "demo.json"].map(|file| {
        let ended = workplace.run(&["analyze", file, "--method", "tfa", "--json"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    });

    let printed: Value = serde_json::from_str(printed).unwrap();
    let us = |value: &Value| value.as_f64().unwrap() * 1e6;
    for flow in one_path["flows"].as_array().unwrap() {
        let xtfa = &printed["flow_e2e_delay"][flow["id"].as_str().unwrap()]["xTFA_TFA"];
        let (ours, theirs) = (us(&flow["delay_s"]), xtfa.as_f64().unwrap());
        assert!((ours / theirs - 1.0).abs() < 1e-6, "{flow}: {theirs} us");
    }
    // Both paths are one flow at their first server, and no less than one later.
    let hop = |of: &Value, flow: usize, hop: usize| us(&of["flows"][flow]["hops"][hop]["delay_s"]);
    assert_eq!(both["flows"][1]["id"], "f0/p1");
    assert!((hop(&both, 1, 0) - hop(&one_path, 0, 0)).abs() < 1e-9);
    assert!(hop(&both, 1, 1) > hop(&one_path, 1, 1) + 10.0);
    assert!(
        both["notes"][0]
            .as_str()
            .unwrap()
            .contains("no room for its largest packet")
    );
}

/// What was not finished in time has the best that was found, and its name is said.
#[test]
fn a_search_without_time_says_which_flows_it_did_not_finish() {
    let workplace = Workplace::new();
    workplace.write("tandem.json", TANDEM);

    let found = ["0s", "30s"].map(|budget| {
        let ended = workplace.run(&[
            "analyze",
            "tandem.json",
            "--method",
            "ludb",
            "--budget",
            budget,
            "--json",
        ]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    });

    let [none, all] = &found;
    let cut = json!([{"method": "ludb", "flows": ["f0", "f1", "f2"]}]);
    assert_eq!(none["cut_short"], cut);
    assert_eq!(all["cut_short"], Value::Null);
    for (none, all) in none["flows"]
        .as_array()
        .unwrap()
        .iter()
        .zip(all["flows"].as_array().unwrap())
    {
        assert_eq!(
            (&none["method"], &all["method"]),
            (&json!("tfa"), &json!("ludb"))
        );
        assert!(none["delay_s"].as_f64() >= all["delay_s"].as_f64());
    }
}

#[test]
fn a_method_that_does_not_apply_is_no_success() {
    let workplace = Workplace::new();
    workplace.write("ring.json", ring(3, true));

    let ended = workplace.run(&["analyze", "ring.json", "--method", "ludb"]);

    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stdout
            .contains("ludb does not apply: paths form a cycle"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_network_goes_to_saihu_and_back_without_a_change() {
    let workplace = Workplace::new();
    workplace.write("ring.json", ring(3, true));

    let saihu = workplace.run(&["analyze", "ring.json", "--print-as", "saihu"]);
    workplace.write("saihu.json", &saihu.stdout);
    let direct = workplace.run(&["analyze", "ring.json", "--print-as", "taktos"]);
    let back = workplace.run(&["analyze", "saihu.json", "--print-as", "taktos"]);

    assert!(
        saihu.stdout.contains("\"analysis_option\""),
        "{}",
        saihu.stdout
    );
    assert_eq!(
        back.stdout.replace("\"network\"", "\"ring\""),
        direct.stdout
    );
}

#[test]
fn what_cannot_be_analysed_is_refused_with_its_place() {
    let workplace = Workplace::new();
    for (find, replace, said) in [
        (
            "\"burst_bit\": 8000",
            "\"burst_bit\": -8000",
            "flows[0] (`f0`).burst_bit: -8000 is out of range",
        ),
        ("\"s1\"]", "\"s9\"]", "no server is named `s9`"),
        (
            "\"multiplexing\"",
            "\"multiplexin\"",
            "unknown key `multiplexin`",
        ),
        ("{\"id\"", "", "no JSON"),
    ] {
        let text = TANDEM.replacen(find, replace, 1);
        assert_ne!(text, TANDEM, "{find}");
        workplace.write("wrong.json", &text);

        let ended = workplace.run(&["analyze", "wrong.json"]);

        assert_eq!(ended.code, Some(2), "{}", ended.stdout);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
        assert!(ended.stdout.is_empty());
    }
}

const TANDEM: &str = r#"{"id": "tandem", "multiplexing": "fifo",
 "servers": [{"id": "s0", "rate_bps": 1e7, "latency_s": 1e-4}, {"id": "s1", "rate_bps": 9e6}, {"id": "s2", "rate_bps": 1e7}],
 "flows": [{"id": "f0", "rate_bps": 1e6, "burst_bit": 8000, "path": ["s0", "s1"]},
           {"id": "f1", "rate_bps": 2e6, "burst_bit": 12000, "path": ["s0", "s1", "s2"]},
           {"id": "f2", "rate_bps": 3e6, "burst_bit": 4000, "path": ["s1", "s2"]}]}"#;

fn ring(servers: usize, shaped: bool) -> String {
    let all = (0..servers).map(
        |at| json!({"id": format!("s{at}"), "rate_bps": 1e8, "latency_s": 1e-5, "link_bps": 1e8}),
    );
    let flows = (0..servers).map(|at| {
        let path = (0..servers).map(|hop| format!("s{}", (at + hop) % servers));
        json!({"id": format!("f{at}"), "rate_bps": 4e6, "burst_bit": 8000,
               "max_packet_bit": 2000, "path": path.collect::<Vec<_>>()})
    });
    let ring = json!({
        "id": "ring", "multiplexing": "fifo", "line_shaping": shaped,
        "servers": all.collect::<Vec<_>>(), "flows": flows.collect::<Vec<_>>(),
    });
    ring.to_string()
}
