//! A real switch that is slower than its profile, and what its source sends, as an operator
//! sees them.

use rustix::process::Signal;
use serde_json::Value;

use crate::testbed::{Testbed, eventually, stop};
use crate::workplace::{Ended, Running};

const OPENFLOW: &str = "tcp:127.0.0.1:6653";
const FRAMES: u64 = 200;
/// A burst of all frames, and time for whatever a busy machine makes of them.
const ASKED: &str =
    "admit sv --source h1 --destination h2 --rate 100kbit/s --burst 40kB --deadline 10s";
/// A switch that no machine is as fast as.
const NETWORK: &str = r#"
[scenario]
title = "One switch"
duration = "1 s"
[network]
host_rate = "40 Gbit/s"
profile = "fast.toml"
[switches]
s1 = {}
[hosts]
h1 = { at = "s1" }
h2 = { at = "s1" }
[flows.any]
kind = "udp"
from = "h1"
to = "h2"
frame = "306 B"
rate = "1 Mbit/s"
deadline = "10 ms"
"#;
const PROFILE: &str = r#"
about = "faster than any machine"
[processing]
latency = { value = "1 ns", origin = "stated", note = "to be contradicted" }
per_frame = { value = "1 ns", origin = "stated", note = "to be contradicted" }
[buffers]
pool_frames = { value = 65536, origin = "stated", note = "enough" }
queue_frames = { value = 4096, origin = "stated", note = "enough" }
[control]
flow_mod = { value = "1 ms", origin = "stated", note = "any" }
packet_in = { value = "1 ms", origin = "stated", note = "any" }
packet_out = { value = "1 ms", origin = "stated", note = "any" }
barrier = { value = "1 ms", origin = "stated", note = "any" }
echo = { value = "1 ms", origin = "stated", note = "any" }
"#;

#[test]
fn a_switch_that_is_slower_than_its_profile_is_found_and_corrected() {
    let test = "a_switch_that_is_slower_than_its_profile_is_found_and_corrected";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    bed.workplace.write("net.toml", NETWORK);
    bed.workplace.write("fast.toml", PROFILE);
    let start = |arguments: &[&str]| {
        let command = bed.workplace.taktos(arguments);
        bed.room.run(|| Running::start(command))
    };
    let http = ["--http", "127.0.0.1:8181", "--network", "net.toml"];
    let mut controller = start(&[&["controller", "--openflow", OPENFLOW][..], &http].concat());
    assert!(controller.says("programs ask at"));
    let ports = ["--ports", "s1,s2", "--dpid", "1", "--engine", "packet"];
    let switch = bed.start(&[&ports[..], &["--controller", OPENFLOW]].concat());
    let ask = |line: &str| {
        let command = bed.workplace.taktos(line.split(' '));
        bed.room.run(|| {
            let mut command = command;
            Ended::from(command.output().unwrap())
        })
    };
    let json = |line: &str| -> Value {
        let ended = ask(&format!("{line} --json"));
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    };
    eventually("both ends are policed and watched", || {
        ask(&format!("{ASKED} --require enforced")).code == Some(0)
    });
    eventually("it holds", || json("flows sv")["promise"] == "holds");

    assert_eq!(json("contract suggest sv --for 1")["frames"], 0);
    send(&bed, &json("hosts"));
    let suggested = json("contract suggest sv --for 2");
    assert_eq!(suggested["frames"], FRAMES, "{suggested}");
    assert_eq!(suggested["exceeded"], 0, "{suggested}");

    eventually("it is contradicted", || {
        json("profile")["switches"][0]["standing"] == "contradicted"
    });
    let flow = json("flows sv");
    assert_eq!(flow["promise"], "unknown", "{flow}");
    assert!(ask("profile").stdout.contains("taktos profile adopt s1"));
    assert_eq!(json("profile adopt s1 --dry-run")["adopted"], false);
    assert_eq!(json("flows sv")["guarantee_ns"], flow["guarantee_ns"]);

    let offer = json("profile adopt s1 --margin 50");

    assert_eq!(
        (&offer["adopted"], &offer["in_time"]),
        (&true.into(), &1.into()),
        "{offer}"
    );
    let profile = &json("profile")["switches"][0];
    assert_eq!(profile["adopted"], true, "{profile}");
    assert_eq!(profile["processor"], offer["after"], "{profile}");
    eventually("it holds again", || json("flows sv")["promise"] == "holds");
    let now = json("flows sv");
    assert!(
        now["guarantee_ns"].as_u64() > flow["guarantee_ns"].as_u64(),
        "{now}"
    );
    assert_eq!(ask("profile adopt s1").code, Some(2));
    assert_eq!(stop(switch).code, Some(0));
    controller.signal(Signal::INT);
    assert_eq!(controller.end().code, Some(0));
}

/// Sends frames from the first of the hosts to the second.
fn send(bed: &Testbed, hosts: &Value) {
    let [from, to] = [0, 1].map(|host| address(&hosts["hosts"][host]["mac"]));
    let mut left = bed.host(1);
    let frame = [&to[..], &from, &[0x88, 0xb5], &[0; 86]].concat();
    for _ in 0..FRAMES {
        left.send_frame(&frame);
        std::thread::yield_now();
    }
}

/// Returns an address as bytes.
fn address(text: &Value) -> [u8; 6] {
    let parts = text.as_str().unwrap().split(':');
    let bytes: Vec<u8> = parts
        .map(|part| u8::from_str_radix(part, 16).unwrap())
        .collect();
    bytes.try_into().unwrap()
}

/// The source that exceeds its contract is dropped, and named, in a run with real frames.
#[test]
fn who_exceeds_a_contract_in_the_lab_is_named() {
    let workplace = crate::workplace::Workplace::new();
    let excess = "[[events]]\nat = \"1 s\"\nkind = \"exceed\"\nflow = \"control\"\nfactor = 40.0\n";
    let longer = crate::workplace::PAIR.replace("\"1 s\"", "\"3 s\"");
    workplace.write("excess.toml", format!("{longer}\n{excess}"));
    let line = "run excess.toml --world lab --profile committed --json";

    let ended = workplace.run(&line.split(' ').collect::<Vec<_>>());

    if ended.code == Some(4) {
        crate::testbed::skip("who_exceeds_a_contract_in_the_lab_is_named");
        return;
    }
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let culprits = report["culprits"].as_array().unwrap();
    let named: Vec<_> = culprits
        .iter()
        .map(|it| (&it["kind"], &it["name"]))
        .collect();
    assert_eq!(
        named,
        [(&"source".into(), &"control".into())],
        "{culprits:?}"
    );
    assert!(culprits[0]["frames"].as_u64() > Some(0), "{culprits:?}");
}
