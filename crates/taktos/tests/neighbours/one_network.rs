//! A switch of Taktos and one of Open vSwitch side by side under `taktos
//! controller`: what is found between them, what they are told, and what comes back
//! after something was killed.

use serde_json::{Value, json};

use crate::open_vswitch::OpenVswitch;
use crate::workbench::Workbench;

const CONTROLLER: &str = "tcp:127.0.0.1:6653";
/// The entries of the service, without which nothing is found: the first lines of
/// every table that the controller keeps.
const PROBES: &str = "dl_type=0x88cc actions=CONTROLLER";
/// What the cookies of entries begin with that the controller keeps as they are.
const DESIRED: &str = "cookie=0x54";
const MACS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];

/// host 1 - Taktos, 0xa1 - Open vSwitch, 0xb1 - host 2
struct Plant {
    bench: Workbench,
    open_vswitch: OpenVswitch,
    controller: usize,
    switch: usize,
}

impl Plant {
    fn or_skip(test: &str, controller: &[&str]) -> Option<Self> {
        let mut bench = Workbench::new(test, 2)?;
        let open_vswitch = OpenVswitch::or_skip(test, &mut bench)?;
        bench.lay_cable(["uplink-a", "uplink-b"]);
        let controller = start_controller(&mut bench, controller);
        open_vswitch.vsctl(
            &bench,
            "add-br ovs -- set bridge ovs datapath_type=netdev fail_mode=secure \
             other-config:disable-in-band=true \
             other-config:datapath-id=00000000000000b1 -- add-port ovs port2 -- \
             add-port ovs uplink-b -- set-controller ovs tcp:127.0.0.1:6653",
        );
        let switch = start_switch(&mut bench);
        bench.await_network(2, 1);
        Some(Self {
            bench,
            open_vswitch,
            controller,
            switch,
        })
    }

    /// Waits until the hosts reach each other.
    #[track_caller]
    fn await_traffic(&self) {
        self.bench.await_answer(1, 2);
    }

    /// Waits until answers of host 2 have entries at both switches. An admission takes
    /// away what was learned of the flow's hosts, and Open vSwitch goes on for a moment by
    /// what it has cached: answers may come while no entry is left that would do without
    /// the controller.
    #[track_caller]
    fn await_way_back(&self) {
        let from = format!("dl_src={}", MACS[1]);
        self.bench.until("entries for answers of host 2", || {
            self.await_traffic();
            let ours = self.flows_of_ours();
            let mut ours = ours["flows"].as_array().into_iter().flatten();
            self.flows().contains(&from) && ours.any(|entry| entry["match"]["eth_src"] == MACS[1])
        });
    }

    fn flows(&self) -> String {
        self.open_vswitch.flows(&self.bench, "ovs")
    }

    /// Returns the entries of the switch of Taktos.
    fn flows_of_ours(&self) -> Value {
        self.bench.entries_of("switch")
    }

    /// Has a flow admitted from host 1 to host 2, and waits until it is installed.
    #[track_caller]
    fn admit(&self) {
        let [source, destination] = MACS.map(|mac| self.bench.host_named(mac).unwrap());

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
            }]}),
        );
        assert_eq!(status, 201, "{decisions}");
        self.await_installation();
    }

    #[track_caller]
    fn await_installation(&self) {
        self.bench.until("flow that is installed", || {
            let (_, flows) = self.bench.ask("GET", "flows", &Value::Null);
            flows["flows"][0]["installed"] == true
        });
    }

    /// Waits until frames of the flow have passed both switches.
    #[track_caller]
    fn await_flow(&self) {
        self.bench.until("frames of the flow at both switches", || {
            self.await_traffic();
            has_carried(&self.flows()) && has_carried_ours(&self.flows_of_ours())
        });
    }
}

fn start_controller(bench: &mut Workbench, more: &[&str]) -> usize {
    bench.start_controller(&[&["--openflow", "127.0.0.1:6653"], more].concat())
}

fn start_switch(bench: &mut Workbench) -> usize {
    let ports = "port1,uplink-a";
    bench.start_switch_with(&[
        "--ports",
        ports,
        "--dpid",
        "0xa1",
        "--controller",
        CONTROLLER,
    ])
}

#[test]
fn switches_that_were_killed_get_their_entries_back() {
    let test = "switches_that_were_killed_get_their_entries_back";
    let Some(mut plant) = Plant::or_skip(test, &[]) else {
        return;
    };
    plant.await_traffic();

    plant.bench.kill(plant.switch);
    plant.bench.clear_killed_switches();
    // Nobody knows whether the link carries frames: a switch out of reach goes on as
    // it was told, if it runs.
    plant.bench.await_network(1, 0);
    plant.switch = start_switch(&mut plant.bench);
    plant.bench.await_network(2, 1);
    plant.await_traffic();

    plant.open_vswitch.crash(&mut plant.bench);
    plant.bench.until("entries of a switch that came back", || {
        plant.flows().contains(PROBES)
    });
    plant.bench.await_network(2, 1);
    plant.await_traffic();
}

#[test]
fn what_is_deleted_behind_the_controllers_back_comes_back() {
    let test = "what_is_deleted_behind_the_controllers_back_comes_back";
    let Some(plant) = Plant::or_skip(test, &[]) else {
        return;
    };
    plant.await_traffic();
    plant.admit();

    plant.open_vswitch.delete_flows(&plant.bench, "ovs");

    plant.bench.until("entries that were deleted", || {
        plant.flows().contains(PROBES)
    });
    plant.await_flow();
}

#[test]
fn flows_go_on_while_the_controller_is_away_and_are_not_sent_again_when_it_is_back() {
    let test = "flows_go_on_while_the_controller_is_away_and_are_not_sent_again_when_it_is_back";
    let Some(mut plant) = Plant::or_skip(test, &["--data", "data"]) else {
        return;
    };
    plant.await_traffic();
    plant.admit();
    plant.await_flow();
    plant.await_way_back();
    let before = age_of_entry(&plant.flows());

    plant.bench.kill(plant.controller);
    plant.await_traffic();
    plant.controller = start_controller(&mut plant.bench, &["--data", "data"]);
    plant.bench.await_network(2, 1);
    plant.await_installation();

    plant.await_flow();
    let after = age_of_entry(&plant.flows());
    assert!(after > before, "{after} s old, and {before} s before");
}

/// Returns how long the flow's entry has been in Open vSwitch, in seconds.
fn age_of_entry(flows: &str) -> f64 {
    let entry = flows.lines().find(|line| line.contains("tp_dst=5000"));
    let (_, duration) = entry.unwrap().split_once("duration=").unwrap();
    duration.split_once('s').unwrap().0.parse().unwrap()
}

#[test]
fn an_admitted_flow_has_its_entries_in_every_switch_of_its_way() {
    let test = "an_admitted_flow_has_its_entries_in_every_switch_of_its_way";
    let Some(plant) = Plant::or_skip(test, &[]) else {
        return;
    };
    plant.await_traffic();

    plant.admit();

    plant.await_flow();
}

#[test]
fn two_hosts_are_joined_by_an_intent_across_both_kinds_of_switches() {
    let test = "two_hosts_are_joined_by_an_intent_across_both_kinds_of_switches";
    let Some(plant) = Plant::or_skip(test, &[]) else {
        return;
    };
    plant.await_traffic();
    let [one, other] = MACS.map(|mac| plant.bench.host_named(mac).unwrap());

    let intent = json!({"kind": "host-to-host", "name": "pair", "one": one, "other": other});
    let (status, decisions) = plant.bench.ask("POST", "intents", &intent);

    assert_eq!(status, 201, "{decisions}");
    plant.bench.until("intent that is installed", || {
        let (_, intents) = plant.bench.ask("GET", "intents", &Value::Null);
        intents["intents"][0]["state"] == "installed"
    });
    plant.bench.until("frames by the intent's entries", || {
        plant.await_traffic();
        let flows = plant.flows();
        let mut desired = flows.lines().filter(|line| line.contains(DESIRED));
        desired.any(|line| line.contains(MACS[1]) && !line.contains("n_packets=0,"))
    });
}

/// Returns whether the flow's entry in Open vSwitch has matched.
fn has_carried(flows: &str) -> bool {
    let mut entries = flows.lines().filter(|line| line.contains("tp_dst=5000"));
    entries.any(|line| !line.contains("n_packets=0,"))
}

/// Returns whether the flow's entry in the switch of Taktos has matched.
fn has_carried_ours(flows: &Value) -> bool {
    let entries = flows["flows"].as_array().into_iter().flatten();
    let mut entries = entries.filter(|entry| entry["match"].to_string().contains("5000"));
    entries.any(|entry| entry["packets"].as_u64() > Some(0))
}
