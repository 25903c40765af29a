//! Switches of Taktos and of Open vSwitch that prove to `taktos controller` who they
//! are, and such that cannot.

use std::fs;

use crate::open_vswitch::OpenVswitch;
use crate::site::{Papers, Site};
use crate::workbench::Workbench;

/// What a controller of a site is told; its files are in the folder of the bench.
const CONTROLLER: [&str; 8] = [
    "--openflow",
    "ssl:127.0.0.1:6653",
    "--openflow-tls-key",
    "controller.key",
    "--openflow-tls-cert",
    "controller.pem",
    "--openflow-tls-ca",
    "authority.pem",
];
/// The same for the switch of Taktos.
const SWITCH: [&str; 12] = [
    "--ports",
    "port1,uplink-a",
    "--dpid",
    "0xa1",
    "--controller",
    "ssl:127.0.0.1:6653",
    "--tls-key",
    "ours.key",
    "--tls-cert",
    "ours.pem",
    "--tls-ca",
    "authority.pem",
];

/// host 1 - Taktos, 0xa1 - Open vSwitch, 0xb1 - host 2, without controllers yet
struct Plant {
    bench: Workbench,
    open_vswitch: OpenVswitch,
    site: Site,
}

impl Plant {
    fn or_skip(test: &str, more: &[&str]) -> Option<Self> {
        let mut bench = Workbench::new(test, 2)?;
        let open_vswitch = OpenVswitch::or_skip(test, &mut bench)?;
        bench.lay_cable(["uplink-a", "uplink-b"]);
        let site = Site::new();
        write(&bench, "authority.pem", &site.authority());
        give(&bench, "controller", &site.certify("127.0.0.1"));
        give(&bench, "ours", &site.certify("dpid-00000000000000a1"));
        bench.start_controller(&[&CONTROLLER, more].concat());
        open_vswitch.vsctl(
            &bench,
            "add-br ovs -- set bridge ovs datapath_type=netdev fail_mode=secure \
             other-config:disable-in-band=true \
             other-config:datapath-id=00000000000000b1 -- add-port ovs port2 -- \
             add-port ovs uplink-b",
        );
        bench.start_switch_with(&SWITCH);
        Some(Self {
            bench,
            open_vswitch,
            site,
        })
    }

    /// Has Open vSwitch dial the controller with these papers.
    fn dial(&self, papers: &Papers) {
        give(&self.bench, "theirs", papers);
        let file = |name: &str| self.bench.folder().join(name).display().to_string();
        let [key, certificate, authority] = ["theirs.key", "theirs.pem", "authority.pem"].map(file);
        let words = format!(
            "del-ssl -- del-controller ovs -- set-ssl {key} {certificate} {authority} -- \
             set-controller ovs ssl:127.0.0.1:6653"
        );
        self.open_vswitch.vsctl(&self.bench, &words);
    }

    #[track_caller]
    fn await_refusal(&self, reason: &str) {
        self.bench
            .until(reason, || self.bench.log("controller").contains(reason));
        self.bench.await_network(1, 0);
    }
}

#[test]
fn switches_that_prove_which_one_they_are_come_in_and_find_each_other() {
    let test = "switches_that_prove_which_one_they_are_come_in_and_find_each_other";
    let Some(plant) = Plant::or_skip(test, &["--openflow-tls-dpid"]) else {
        return;
    };

    plant.dial(&plant.site.certify("dpid-00000000000000b2"));
    plant.await_refusal("does not bear `dpid-00000000000000b1`");
    plant.dial(&plant.site.certify("dpid-00000000000000b1"));

    plant.bench.await_network(2, 1);
    plant.bench.await_answer(1, 2);
}

#[test]
fn switches_that_prove_nothing_are_refused_and_harm_nobody() {
    let test = "switches_that_prove_nothing_are_refused_and_harm_nobody";
    let Some(plant) = Plant::or_skip(test, &[]) else {
        return;
    };

    plant.dial(&Site::new().certify("switch"));
    plant.await_refusal("its certificate is not of the authority that is trusted here");
    plant.dial(&plant.site.certify_for_the_past("switch"));
    plant.await_refusal("its certificate has expired");
    plant
        .open_vswitch
        .vsctl(&plant.bench, "set-controller ovs tcp:127.0.0.1:6653");
    plant.await_refusal("it does not speak TLS");

    assert!(!plant.bench.log("switch").contains("lost"));
    plant.dial(&plant.site.certify("switch"));
    plant.bench.await_network(2, 1);
}

fn give(bench: &Workbench, name: &str, papers: &Papers) {
    write(bench, &format!("{name}.key"), &papers.key);
    write(bench, &format!("{name}.pem"), &papers.certificate);
}

fn write(bench: &Workbench, name: &str, text: &str) {
    fs::write(bench.folder().join(name), text).unwrap();
}
