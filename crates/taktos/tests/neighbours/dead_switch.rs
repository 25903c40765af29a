//! A switch whose process is killed while its interfaces stay up: who it is that has gone
//! is found out, flows leave it, and nothing is said to hold that does not.

use std::time::Instant;

use serde_json::{Value, json};

use crate::workbench::Workbench;

const MACS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
/// The ends of the cables of a diamond, and the ports of its switches.
const CABLES: [[&str; 2]; 4] = [
    ["s1-s2", "s2-s1"],
    ["s1-s3", "s3-s1"],
    ["s2-s4", "s4-s2"],
    ["s3-s4", "s4-s3"],
];
const SWITCHES: [(&str, &str); 4] = [
    ("s1", "port1,s1-s2,s1-s3"),
    ("s2", "s2-s1,s2-s4"),
    ("s3", "s3-s1,s3-s4"),
    ("s4", "port2,s4-s2,s4-s3"),
];

/// host 1 - s1 - s2 or s3 - s4 - host 2
struct Diamond {
    bench: Workbench,
    programs: Vec<usize>,
}

impl Diamond {
    fn or_skip(test: &str) -> Option<Self> {
        let mut bench = Workbench::new(test, 2)?;
        for cable in CABLES {
            bench.lay_cable(cable);
        }
        bench.start_controller(&["--openflow", "127.0.0.1:6653"]);
        let mut diamond = Self {
            bench,
            programs: Vec::new(),
        };
        for switch in 0..SWITCHES.len() {
            let program = diamond.start_switch(switch);
            diamond.programs.push(program);
        }
        diamond.bench.await_network(4, 4);
        diamond.bench.await_answer(1, 2);
        Some(diamond)
    }

    fn start_switch(&mut self, switch: usize) -> usize {
        let (name, ports) = SWITCHES[switch];
        self.bench.start_switch_named(
            name,
            &[
                "--ports",
                ports,
                "--dpid",
                &format!("0x{}", datapath(switch)),
                "--controller",
                "tcp:127.0.0.1:6653",
            ],
        )
    }

    /// Has a flow admitted that is restored when a link breaks, and waits until its promise
    /// holds. Returns the switch in the middle of its way.
    fn admit(&self) -> usize {
        let hosts = || MACS.map(|mac| self.bench.host_named(mac));
        self.bench
            .until("hosts", || hosts().iter().all(Option::is_some));
        let [source, destination] = hosts();
        let (status, decisions) = self.bench.ask(
            "POST",
            "flows",
            &json!({"requirements": [{
                "name": "measurements",
                "source": source,
                "destinations": [destination],
                "match": {
                    "ipv4_destination": "10.0.0.2", "protocol": "udp", "destination_port": 5_000
                },
                "deadline_ns": 100_000_000,
                "rate_bps": 100_000,
                "largest_frame_bytes": 128,
                "protection": {"kind": "restore", "interruption_ns": 10_000_000},
            }]}),
        );
        assert_eq!(status, 201, "{decisions}");
        self.await_promise("holds");
        let flow = self.flow();
        assert_eq!(flow["cover"], "carrier-loss", "{flow}");
        let route = flow["route"]["links"].to_string();
        let is_on_it = |switch: &usize| route.contains(&format!("{}:", datapath(*switch)));
        (1..3).find(is_on_it).expect(&route)
    }

    /// Returns what the engine of a switch says of itself.
    fn engine_of(&self, switch: usize) -> String {
        let name = SWITCHES[switch].0;
        let shown = || self.bench.show(name, "engine").to_string();
        self.bench
            .until("switch that answers", || shown() != "null");
        shown()
    }

    /// Returns the entries of a switch.
    fn entries(&self, switch: usize) -> Vec<Value> {
        let entries = self.bench.entries_of(SWITCHES[switch].0);
        entries["flows"].as_array().cloned().unwrap_or_default()
    }

    fn flow(&self) -> Value {
        let (_, flows) = self.bench.ask("GET", "flows", &Value::Null);
        flows["flows"][0].clone()
    }

    #[track_caller]
    fn await_promise(&self, state: &str) {
        let what = format!("flow that stands as `{state}`");
        self.bench.until(&what, || self.flow()["promise"] == state);
    }

    fn events(&self) -> Vec<Value> {
        let (_, latest) = self.bench.ask("GET", "events/latest", &Value::Null);
        latest["events"].as_array().unwrap().clone()
    }

    /// Returns how many frames of the flow a switch has carried.
    fn carried(&self, switch: usize) -> u64 {
        let entries = self.bench.entries_of(SWITCHES[switch].0);
        let entries = entries["flows"].as_array().into_iter().flatten();
        let mut own = entries.filter(|entry| entry["match"]["udp_dst"] == 5_000);
        own.find_map(|entry| entry["packets"].as_u64()).unwrap_or(0)
    }
}

#[test]
fn no_promise_holds_while_a_switch_on_the_way_is_dead_and_all_do_when_it_is_back() {
    let test = "no_promise_holds_while_a_switch_on_the_way_is_dead_and_all_do_when_it_is_back";
    let Some(mut diamond) = Diamond::or_skip(test) else {
        return;
    };
    let dead = diamond.admit();
    let other = 3 - dead;
    let before = diamond.events().len();

    diamond.bench.kill(diamond.programs[dead]);
    // Where the kernel forwards for it, it is not dead yet.
    diamond.bench.clear_killed_switches();
    let gone = |event: &Value| {
        let at = event["datapath"].as_str().unwrap_or_default();
        event["kind"] == "switch-gone" && at.ends_with(&datapath(dead))
    };
    let bench = &diamond.bench;
    bench.until("switch that is gone", || diamond.events().iter().any(gone));
    diamond.await_promise("not-covered");
    let carried = diamond.carried(other);
    bench.until("frames on the other way", || {
        bench.reaches(1, 2) && diamond.carried(other) > carried
    });
    assert_eq!(diamond.flow()["travels"]["way"], "alternative");
    let on_the_dead_way =
        |event: &Value| event["promise"] == "holds" && event["travels"]["way"] == "base";
    let said = promise_changes(&diamond.events()[before..]);
    assert!(!said.iter().any(on_the_dead_way), "{said:?}");

    diamond.start_switch(dead);
    diamond.bench.await_network(4, 4);
    diamond.await_promise("holds");
    diamond.bench.until("flow that is back on its way", || {
        diamond.flow()["travels"]["way"] == "base"
    });
    diamond.bench.until("frames on the first way", || {
        diamond.bench.reaches(1, 2) && diamond.carried(dead) > 0
    });
}

/// Where the kernel forwards, a switch whose process is replaced at once is the same switch:
/// its controller finds all entries, and leaves those of flows as they are.
#[test]
fn a_switch_whose_process_is_replaced_at_once_keeps_its_entries_and_flows() {
    let test = "a_switch_whose_process_is_replaced_at_once_keeps_its_entries_and_flows";
    let Some(mut diamond) = Diamond::or_skip(test) else {
        return;
    };
    let replaced = diamond.admit();
    let continuity = diamond.engine_of(replaced);
    if !continuity.contains("goes on forwarding when this process dies") {
        return;
    }
    let entries = diamond.entries(replaced).len();

    let killed = Instant::now();
    diamond.bench.kill(diamond.programs[replaced]);
    // It turns echoes round, so its controller knows that it forwards.
    diamond.await_promise("unknown");
    assert_eq!(diamond.flow()["travels"]["way"], "base");
    diamond.start_switch(replaced);
    let engine = diamond.engine_of(replaced);
    assert!(
        engine.contains("goes on from a process that has ended"),
        "{engine}"
    );
    diamond.bench.await_network(4, 4);
    diamond.await_promise("holds");

    // Its own entries, for probes, a controller sends to every switch that connects.
    let since = u64::try_from(killed.elapsed().as_nanos()).unwrap();
    let found = diamond.entries(replaced);
    let of_flow = |entry: &&Value| entry["match"]["udp_dst"] == 5_000;
    let mut own = found.iter().filter(of_flow).peekable();
    assert!(own.peek().is_some(), "{found:?}");
    let is_kept = |entry: &Value| entry["age_ns"].as_u64().is_some_and(|age| age > since);
    assert!(own.all(is_kept), "{found:?} since {since}");
    assert_eq!(found.len(), entries);
    assert_eq!(diamond.flow()["travels"]["way"], "base");
}

/// What deadlines leave, who stands in the way of a flow, and that nobody moves for one that
/// would not fit either, as a real controller of real switches answers it.
#[test]
fn room_and_conflicts_are_told_of_a_network_that_runs() {
    let test = "room_and_conflicts_are_told_of_a_network_that_runs";
    let Some(diamond) = Diamond::or_skip(test) else {
        return;
    };
    diamond.admit();
    let bench = &diamond.bench;
    let hosts = MACS.map(|mac| bench.host_named(mac));
    let asked = json!({
        "name": "impossible", "source": hosts[0], "destinations": [hosts[1]],
        "match": {"ipv4_destination": "10.0.0.2", "protocol": "udp", "destination_port": 5_001},
        "deadline_ns": 1_000, "rate_bps": 100_000, "largest_frame_bytes": 128,
    });

    let (status, room) = bench.ask("GET", "room", &Value::Null);
    let (_, question) = bench.ask("POST", "flows?dry_run=true", &asked);
    let (refused, request) = bench.ask("POST", "flows?rearrange=true", &asked);

    assert_eq!(status, 200, "{room}");
    assert_eq!(room["flows"][0]["name"], "measurements", "{room}");
    let factor = room["slowdown_thousandths"].as_u64().unwrap();
    assert!(factor >= 1_000, "{room}");
    assert_eq!(room["flows"][0]["slowdown_thousandths"], factor, "{room}");
    assert_eq!(room["switches"].as_array().unwrap().len(), 4, "{room}");
    assert_eq!(
        question["decisions"][0]["conflict"],
        json!([]),
        "{question}"
    );
    assert!(refused >= 400, "{request}");
    assert!(request["decisions"][0].get("moved").is_none(), "{request}");
    assert!(
        request["decisions"][0].get("refused").is_some(),
        "{request}"
    );
}

/// Returns how the promise of the flow came to stand, one after the other.
fn promise_changes(events: &[Value]) -> Vec<Value> {
    let changes = events
        .iter()
        .filter(|event| event["kind"] == "promise-changed");
    changes.cloned().collect()
}

/// Returns the datapath id of a switch, in hexadecimal.
fn datapath(switch: usize) -> String {
    format!("{:x}", 0xa1 + switch)
}
