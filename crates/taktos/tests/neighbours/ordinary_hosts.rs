//! Hosts as everybody has them, behind virtual Ethernet: they leave checksums, and the
//! cutting of what is long, to a card that is not there. With every engine, all that
//! they send arrives, and nothing is lost that no counter names.

use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;

use serde_json::Value;

use crate::workbench::{Workbench, has_or_skip};

const SWITCH: &str = "tcp:127.0.0.1:6653";
const ENGINES: [&str; 3] = ["kernel", "packet", "xdp"];
const CROSSED: &str = "in_port=1,actions=output:2
                       in_port=2,actions=output:1";
/// What the core does, whatever the engine.
const AS_A_BRIDGE: &str = "actions=normal";
/// Host 2 is known to host 1 by another address and port.
const RENAMED: &str = "arp,actions=normal
    ip,in_port=1,nw_dst=10.0.0.2,actions=output:2
    tcp,in_port=1,nw_dst=10.0.0.9,actions=set_field:10.0.0.2->ip_dst,set_field:5000->tcp_dst,output:2
    udp,in_port=2,actions=output:1
    tcp,in_port=2,actions=set_field:10.0.0.9->ip_src,set_field:9->tcp_src,output:1";
/// Drops nothing: all that host 1 sends fits the burst.
const METER: &str = "meter=1,kbps,burst,band=type=drop,rate=1000000,burst_size=100000";
const METERED: &str = "in_port=1,actions=meter:1,output:2
                       in_port=2,actions=output:1";
const HOST_2: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 2), 5000);
const ALIAS: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 9), 9);
/// The payload of a frame, of hosts with time stamps.
const SEGMENT: usize = 1448;

#[test]
fn what_ordinary_hosts_send_arrives_with_every_engine() {
    let test = "what_ordinary_hosts_send_arrives_with_every_engine";
    for engine in ENGINES {
        let Some(bench) = ordinary(test, &["--engine", engine]) else {
            return;
        };
        for (entries, to) in [(CROSSED, HOST_2), (AS_A_BRIDGE, HOST_2), (RENAMED, ALIAS)] {
            change(&bench, entries);
            exchange(&bench, to, 4_000_000);
        }
    }
}

/// A piece of many frames is many where a rate and a meter are for frames.
#[test]
fn a_rate_and_a_meter_are_for_frames_one_by_one() {
    let test = "a_rate_and_a_meter_are_for_frames_one_by_one";
    for engine in ENGINES {
        let Some(bench) = ordinary(test, &["--engine", engine, "--rate", "200M"]) else {
            return;
        };
        change(&bench, CROSSED);
        exchange(&bench, HOST_2, 1_000_000);
        assert!(frames_sent(&bench, 2) > 1_000_000 / SEGMENT, "{engine}");

        ofctl(&bench, &["add-meter", SWITCH, METER]);
        change(&bench, METERED);
        exchange(&bench, HOST_2, 100_000);
        let metered = &bench.show("switch", "meters")["meters"][0]["packets"];
        assert!(number(metered) > 100_000 / SEGMENT, "{engine}: {metered}");
    }
}

/// Returns a switch with a port for each of two hosts.
fn ordinary(test: &str, arguments: &[&str]) -> Option<Workbench> {
    if !has_or_skip(test, "ovs-ofctl", "openvswitch-switch") {
        return None;
    }
    let mut bench = Workbench::with_ordinary_hosts(test, 2)?;
    bench.start_switch(&[&["--listen", SWITCH], arguments].concat());
    bench.await_listener();
    Some(bench)
}

/// Gives the switch these entries and no others.
#[track_caller]
fn change(bench: &Workbench, entries: &str) {
    let entries: String = entries
        .lines()
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    fs::write(bench.folder().join("entries"), entries).unwrap();
    ofctl(bench, &["del-flows", SWITCH]);
    ofctl(bench, &["add-flows", SWITCH, "entries"]);
}

#[track_caller]
fn ofctl(bench: &Workbench, words: &[&str]) {
    let mut command = Command::new("ovs-ofctl");
    command
        .args(["-O", "OpenFlow13", "--timeout=20"])
        .args(words);
    let output = bench.run(command);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaints}", words.join(" "));
}

/// Has host 1 send so many bytes of TCP, and a datagram of UDP that comes back. All
/// arrives, and the switch has given nothing up.
#[track_caller]
fn exchange(bench: &Workbench, to: (Ipv4Addr, u16), bytes: usize) {
    bench.await_answer(1, 2);
    bench.within_host(1, || learn(to.0));
    let said: Vec<u8> = (0..=250).cycle().take(bytes).collect();

    let heard = bench.carry(1, to, 2, &said);

    assert!(heard == said, "{} of {bytes} bytes", heard.len());
    for counter in ["oversized", "abandoned"] {
        assert_eq!(counted(bench, counter), 0, "{counter}");
    }
}

/// Teaches this host that an address is at host 2.
fn learn(address: Ipv4Addr) {
    let words = format!("neigh replace {address} lladdr 02:00:00:00:00:02 dev uplink");
    let told = Command::new("ip").args(words.split(' ')).status().unwrap();
    assert!(told.success());
}

/// Returns a counter of the switch as a whole.
fn counted(bench: &Workbench, counter: &str) -> usize {
    let shown = bench.show("switch", "switch");
    let rows = shown["switch"].as_array().unwrap();
    let row = rows.iter().find(|row| row["counter"] == counter);
    number(&row.unwrap()["value"])
}

/// Returns how many frames have left the queues of a port.
fn frames_sent(bench: &Workbench, port: u64) -> usize {
    let shown = bench.show("switch", "queues");
    let rows = shown["queues"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["port"] == port);
    rows.map(|row| number(&row["sent_packets"])).sum()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}
