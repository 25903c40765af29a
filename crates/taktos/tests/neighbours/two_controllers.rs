//! Two controllers on the same switches: one decides, the other one says that it does not,
//! and neither deletes what the other has written.

use serde_json::{Value, json};

use crate::controller::HTTP;
use crate::workbench::Workbench;

const MACS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
const FIRST: [&str; 4] = ["--openflow", "127.0.0.1:6653", "--data", "first"];
const SECOND: [&str; 6] = [
    "--openflow",
    "127.0.0.1:6654",
    "--http",
    "127.0.0.1:8182",
    "--data",
    "second",
];
const SECOND_HTTP: u16 = 8_182;
const SWITCHES: [(&str, &str, &str); 2] = [
    ("s1", "port1,uplink-a", "0xa1"),
    ("s2", "uplink-b,port2", "0xa2"),
];

/// host 1 - s1 - s2 - host 2, under two controllers, of which the first was there first.
struct Rivals {
    bench: Workbench,
    second: usize,
}

impl Rivals {
    fn or_skip(test: &str) -> Option<Self> {
        let mut bench = Workbench::new(test, 2)?;
        bench.lay_cable(["uplink-a", "uplink-b"]);
        bench.start_controller_named("first", &FIRST);
        for (name, ports, datapath) in SWITCHES {
            let controllers = ["tcp:127.0.0.1:6653", "tcp:127.0.0.1:6654"];
            bench.start_switch_named(
                name,
                &[
                    "--ports",
                    ports,
                    "--dpid",
                    datapath,
                    "--controller",
                    controllers[0],
                    "--controller",
                    controllers[1],
                ],
            );
        }
        bench.await_network(2, 1);
        bench.await_answer(1, 2);
        let second = bench.start_controller_named("second", &SECOND);
        Some(Self { bench, second })
    }

    fn get(&self, port: u16, path: &str) -> Value {
        let (status, document) = self.bench.ask_at(port, "GET", path, &Value::Null);
        assert_eq!(status, 200, "{document}");
        document
    }

    /// Has a flow admitted by a controller, and waits until its promise holds.
    #[track_caller]
    fn admit(&self, port: u16) {
        let hosts = || {
            let topology = self.get(port, "/api/v1/topology");
            MACS.map(|mac| {
                let mut hosts = topology["hosts"].as_array().unwrap().iter();
                let host = hosts.find(|host| host["mac"] == mac && !host["attachment"].is_null());
                host.map(|host| host["name"].clone())
            })
        };
        let bench = &self.bench;
        bench.until("hosts", || {
            bench.reaches(1, 2);
            hosts().iter().all(Option::is_some)
        });
        let [source, destination] = hosts();
        let (status, decisions) = self.bench.ask_at(
            port,
            "POST",
            "/api/v1/flows",
            &json!({
                "name": "measurements",
                "source": source,
                "destinations": [destination],
                "match": {
                    "ipv4_destination": "10.0.0.2", "protocol": "udp", "destination_port": 5_000
                },
                "deadline_ns": 100_000_000,
                "rate_bps": 100_000,
                "largest_frame_bytes": 128,
            }),
        );
        assert_eq!(status, 201, "{decisions}");
        self.await_promise(port, "holds");
    }

    #[track_caller]
    fn await_promise(&self, port: u16, state: &str) {
        let what = format!("flow that stands as `{state}` at {port}");
        self.bench.until(&what, || {
            self.get(port, "/api/v1/flows")["flows"][0]["promise"] == state
        });
    }

    /// Waits until a controller has said of each switch that another one is its master,
    /// and that it does not decide.
    #[track_caller]
    fn await_loss(&self, port: u16) {
        self.bench.until("other master of both switches", || {
            let latest = self.get(port, "/api/v1/events/latest");
            let events = latest["events"].as_array().unwrap();
            let is_told = |(_, _, datapath): &(&str, &str, &str)| {
                events.iter().any(|event| {
                    let at = event["datapath"].as_str().unwrap_or_default();
                    event["kind"] == "other-master" && at.ends_with(&datapath[2..])
                })
            };
            SWITCHES.iter().all(is_told)
        });
        let (status, problem) = self.bench.ask_at(port, "GET", "/readyz", &Value::Null);
        assert_eq!(status, 503, "{problem}");
        assert_eq!(problem["error"]["code"], "not-master", "{problem}");
    }

    fn is_ready(&self, port: u16) -> bool {
        let (status, _) = self.bench.ask_at(port, "GET", "/readyz", &Value::Null);
        status == 200
    }

    /// Returns cookie and age of the entries that no application learned, by switch.
    fn entries(&self) -> Vec<(String, u64)> {
        let tables = SWITCHES.map(|(name, ..)| self.bench.entries_of(name));
        let entries = tables.iter().flat_map(|table| {
            let entries = table["flows"].as_array().into_iter().flatten();
            entries.filter_map(|entry| {
                let cookie = entry["cookie"].as_str()?.to_owned();
                Some((cookie, entry["age_ns"].as_u64()?))
            })
        });
        let kept = entries.filter(|(cookie, _)| cookie.starts_with("0x54"));
        kept.collect()
    }

    /// Waits while controllers look after their switches, and checks that no entry was
    /// written anew or deleted.
    #[track_caller]
    fn await_peace(&self) {
        let before = self.entries();
        assert!(before.len() > 6, "services and a flow: {before:?}");
        let oldest = before.iter().map(|(_, age)| *age).max().unwrap();
        let mut after = before.clone();
        self.bench.until("time to look after switches", || {
            after = self.entries();
            let oldest_now = after.iter().map(|(_, age)| *age).max().unwrap_or(0);
            oldest_now > oldest + ROUNDS_NS
        });
        let cookies = |all: &[(String, u64)]| all.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
        assert_eq!(cookies(&before), cookies(&after));
        // Ages of one switch are read a moment after those of the other.
        let mut ages = before.iter().zip(&after);
        let is_kept = ages.all(|((_, before), (_, after))| *after > before + ROUNDS_NS / 2);
        assert!(is_kept, "{before:?} {after:?}");
    }
}

/// What controllers look at in turns they have looked at by then (`audit_interval`).
const ROUNDS_NS: u64 = 12_000_000_000;

#[test]
fn a_second_controller_leaves_everything_as_it_is_and_says_that_it_does_not_decide() {
    let test = "a_second_controller_leaves_everything_as_it_is_and_says_that_it_does_not_decide";
    let Some(rivals) = Rivals::or_skip(test) else {
        return;
    };
    rivals.admit(HTTP);

    rivals.await_loss(SECOND_HTTP);

    rivals.await_peace();
    assert!(rivals.is_ready(HTTP));
    rivals.await_promise(HTTP, "holds");
    rivals.bench.await_answer(1, 2);
}

#[test]
fn a_controller_that_takes_over_decides_and_the_first_one_gives_way() {
    let test = "a_controller_that_takes_over_decides_and_the_first_one_gives_way";
    let Some(mut rivals) = Rivals::or_skip(test) else {
        return;
    };
    rivals.admit(HTTP);
    rivals.await_loss(SECOND_HTTP);

    rivals.bench.kill(rivals.second);
    let arguments = [&SECOND[..], &["--take-over"]].concat();
    rivals.bench.start_controller_named("second", &arguments);

    rivals.await_loss(HTTP);
    rivals.await_promise(HTTP, "unknown");
    let bench = &rivals.bench;
    bench.until("readiness", || rivals.is_ready(SECOND_HTTP));
    bench.until("links at the second", || {
        rivals.get(SECOND_HTTP, "/api/v1/topology")["counts"]["links"] == 1
    });
    rivals.admit(SECOND_HTTP);
    rivals.await_peace();
    assert!(!rivals.is_ready(HTTP), "it has come back by itself");
    rivals.await_promise(HTTP, "unknown");
    bench.await_answer(1, 2);
}
