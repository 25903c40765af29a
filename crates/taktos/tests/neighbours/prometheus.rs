//! Prometheus reads what the controller counts, and the dashboard for Grafana shows it:
//! every one of its questions has an answer.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::workbench::{Workbench, has_or_skip};

const MACS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
const DASHBOARD: &str = include_str!("../../../../docs/grafana-dashboard.json");
const CONFIG: &str = "global: {scrape_interval: 1s}
scrape_configs:
  - job_name: taktos
    static_configs: [{targets: ['127.0.0.1:8181']}]
";
const QUERY: &str = "http://127.0.0.1:9090/api/v1/query";

#[test]
fn prometheus_has_an_answer_to_all_that_the_dashboard_asks() {
    let test = "prometheus_has_an_answer_to_all_that_the_dashboard_asks";
    if !has_or_skip(test, "prometheus", "prometheus") {
        return;
    }
    let Some(mut bench) = Workbench::new(test, 2) else {
        return;
    };
    bench.start_controller(&["--data", "kept"]);
    bench.start_switch(&["--controller", "tcp:127.0.0.1:6653"]);
    bench.await_answer(1, 2);
    admit(&bench);
    start_prometheus(&mut bench);
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();

    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|it| it["targets"].as_array().unwrap());
    for target in targets {
        let question = target["expr"].as_str().unwrap();
        bench.until(question, || {
            bench.reaches(1, 2);
            rows(&bench, question) > 0
        });
    }

    // What a switch says of its ports is what went through them.
    bench.until("frames of the flow", || {
        bench.reaches(1, 2);
        rows(
            &bench,
            "taktos_flow_packets_total{flow=\"read \\\"me\\\"\"} > 0",
        ) > 0
            && rows(&bench, "taktos_port_sent_packets_total{port=\"2\"} > 0") > 0
    });
}

/// Has a flow admitted whose name has to be escaped.
fn admit(bench: &Workbench) {
    let hosts = || MACS.map(|mac| bench.host_named(mac));
    bench.until("hosts", || hosts().iter().all(Option::is_some));
    let [one, other] = hosts();
    let flow = json!({
        "name": "read \"me\"", "source": one, "destinations": [other],
        "match": {"ipv4_destination": "10.0.0.2", "protocol": "udp", "destination_port": 5_000},
        "deadline_ns": 10_000_000, "rate_bps": 100_000, "largest_frame_bytes": 128,
    });
    let (status, decisions) = bench.ask("POST", "flows", &flow);
    assert_eq!(status, 201, "{decisions}");
}

fn start_prometheus(bench: &mut Workbench) {
    fs::write(bench.folder().join("prometheus.yml"), CONFIG).unwrap();
    let mut prometheus = Command::new("prometheus");
    prometheus.args([
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=series",
        "--web.listen-address=127.0.0.1:9090",
    ]);
    bench.start("prometheus", prometheus);
    bench.until("Prometheus", || rows(bench, "up == 1") > 0);
}

/// Returns how many rows Prometheus has for a question; none while it does not answer.
fn rows(bench: &Workbench, question: &str) -> usize {
    bench.within(|| {
        let answer = ureq::get(QUERY).query("query", question).call();
        let text = answer.and_then(|mut it| it.body_mut().read_to_string());
        let document: Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        document["data"]["result"].as_array().map_or(0, Vec::len)
    })
}
