//! `ovs-ofctl`, the tool of Open vSwitch for any OpenFlow switch, over a
//! connection that the switch accepts.

use std::fs;
use std::process::{Command, Output};

use crate::workbench::{Workbench, has_or_skip};

const SWITCH: &str = "tcp:127.0.0.1:6653";
const VERSIONS: [&str; 2] = ["OpenFlow10", "OpenFlow13"];
/// Joins hosts 1 and 2.
const CROSSED: [&str; 2] = [
    "priority=10,in_port=1,actions=output:2",
    "priority=10,in_port=2,actions=output:1",
];

#[test]
fn a_switch_shows_what_it_is() {
    let Some(bench) = switch_that_listens("a_switch_shows_what_it_is") else {
        return;
    };

    for version in VERSIONS {
        let ofctl = |command| of_switch(&bench, version, command);
        assert_has(
            &ofctl("show"),
            &["dpid:0000000000000001", "1(port1)", "2(port2)"],
        );
        assert_has(&ofctl("dump-desc"), &["Taktos"]);
        assert_has(
            &ofctl("dump-ports"),
            &["port  1: rx pkts=", "port  2: rx pkts="],
        );
        assert_has(&ofctl("dump-tables"), &["table 0", "active=0"]);
        assert_has(&ofctl("queue-stats"), &["port 1 queue 0", "port 2 queue 7"]);
        assert_has(
            &ofctl("dump-aggregate"),
            &["packet_count=0", "flow_count=0"],
        );
        assert_has(&ofctl("get-frags"), &["normal"]);
    }
    // In OpenFlow 1.0 entries know nothing of further tables.
    assert_has(&of_switch(&bench, "OpenFlow10", "show"), &["n_tables:1,"]);
    assert_has(&of_switch(&bench, "OpenFlow13", "show"), &["n_tables:16,"]);
    let features = of_switch(&bench, "OpenFlow13", "dump-table-features");
    assert_has(
        &features,
        &[
            "table 0",
            "max_entries=",
            "eth_{src,dst}",
            "next tables: 1-15",
        ],
    );
    let ports = of_switch(&bench, "OpenFlow13", "dump-ports-desc");
    assert_has(&ports, &["1(port1)", "2(port2)"]);
}

#[test]
fn entries_are_added_changed_and_deleted() {
    let Some(bench) = switch_that_listens("entries_are_added_changed_and_deleted") else {
        return;
    };

    for version in VERSIONS {
        let ofctl = |words: &[&str]| ofctl(&bench, version, words);
        let flows = || of_switch(&bench, version, "dump-flows");

        ofctl(&["add-flow", SWITCH, CROSSED[0]]);
        ofctl(&["add-flow", SWITCH, CROSSED[1]]);
        bench.await_answer(1, 2);
        assert_has(&flows(), &["in_port=1", "in_port=2", "priority=10"]);

        ofctl(&["mod-flows", SWITCH, "in_port=1,actions=drop"]);
        assert!(!bench.reaches(1, 2), "{}", flows());
        assert_has(&flows(), &["actions=drop"]);

        ofctl(&["--strict", "del-flows", SWITCH, "priority=11,in_port=1"]);
        assert_has(&flows(), &["in_port=1"]);
        ofctl(&["--strict", "del-flows", SWITCH, "priority=10,in_port=1"]);
        assert!(!flows().contains("in_port=1"));
        ofctl(&["del-flows", SWITCH]);
        assert!(!flows().contains("actions="), "{}", flows());
    }
}

#[test]
fn a_file_of_entries_is_added_and_compared() {
    let Some(bench) = switch_that_listens("a_file_of_entries_is_added_and_compared") else {
        return;
    };
    write_flows(&bench, "flows.txt", &CROSSED);

    for version in VERSIONS {
        ofctl(&bench, version, &["add-flows", SWITCH, "flows.txt"]);

        ofctl(&bench, version, &["diff-flows", SWITCH, "flows.txt"]);
        bench.await_answer(1, 2);
        ofctl(&bench, version, &["del-flows", SWITCH]);
    }
}

#[test]
fn a_bundle_of_entries_replaces_others_at_once() {
    let Some(bench) = switch_that_listens("a_bundle_of_entries_replaces_others_at_once") else {
        return;
    };
    let bundle = |words: &[&str]| ofctl(&bench, "OpenFlow13", &[&["--bundle"], words].concat());
    write_flows(
        &bench,
        "old.txt",
        &["in_port=1,actions=drop", "tcp,actions=drop"],
    );
    write_flows(&bench, "new.txt", &CROSSED);
    bundle(&["add-flows", SWITCH, "old.txt"]);

    bundle(&["replace-flows", SWITCH, "new.txt"]);

    ofctl(&bench, "OpenFlow13", &["diff-flows", SWITCH, "new.txt"]);
    bench.await_answer(1, 2);
}

#[test]
fn a_bundle_with_one_wrong_entry_changes_nothing() {
    let Some(bench) = switch_that_listens("a_bundle_with_one_wrong_entry_changes_nothing") else {
        return;
    };
    let wrong = "in_port=1,actions=group:77";
    write_flows(&bench, "wrong.txt", &[CROSSED[0], wrong]);

    let refused = ["--bundle", "add-flows", SWITCH, "wrong.txt"];
    let refused = run(&bench, "OpenFlow13", &refused);

    assert!(!refused.status.success());
    let flows = of_switch(&bench, "OpenFlow13", "dump-flows");
    assert!(!flows.contains("actions="), "{flows}");
}

#[test]
fn groups_and_meters_are_added_used_and_shown() {
    let Some(bench) = switch_that_listens("groups_and_meters_are_added_used_and_shown") else {
        return;
    };
    let ofctl = |words: &[&str]| ofctl(&bench, "OpenFlow13", words);
    let shown = |command| of_switch(&bench, "OpenFlow13", command);

    ofctl(&[
        "add-group",
        SWITCH,
        "group_id=5,type=all,bucket=actions=output:2",
    ]);
    ofctl(&[
        "add-meter",
        SWITCH,
        "meter=7,kbps,stats,bands=type=drop,rate=100000",
    ]);
    ofctl(&["add-flow", SWITCH, "in_port=1,actions=meter:7,group:5"]);
    ofctl(&["add-flow", SWITCH, CROSSED[1]]);

    bench.await_answer(1, 2);
    assert_has(&shown("dump-groups"), &["group_id=5,type=all", "output:2"]);
    assert_has(&shown("dump-group-stats"), &["group_id=5", "ref_count=1"]);
    assert_has(
        &shown("dump-group-features"),
        &["all group:", "select group:", "fast failover group:"],
    );
    assert_has(
        &shown("dump-meters"),
        &["meter=7", "type=drop", "rate=100000"],
    );
    assert_has(&shown("meter-stats"), &["meter:7", "flow_count:1"]);
    assert_has(
        &shown("meter-features"),
        &["max_meter:", "drop", "dscp_remark"],
    );

    ofctl(&["del-groups", SWITCH, "group_id=5"]);
    ofctl(&["del-meters", SWITCH]);
    assert!(
        !shown("dump-flows").contains("in_port=1"),
        "{}",
        shown("dump-flows")
    );
}

#[test]
fn a_frame_that_is_sent_out_arrives() {
    let Some(bench) = switch_that_listens("a_frame_that_is_sent_out_arrives") else {
        return;
    };
    let frame = format!("ffffffffffff02000000006388b5{}", "00".repeat(46));

    for version in VERSIONS {
        let heard = bench.frames_received(2);
        let order = format!("in_port=controller,packet={frame},actions=output:2");

        ofctl(&bench, version, &["packet-out", SWITCH, &order]);

        bench.until("frame at host 2", || bench.frames_received(2) == heard + 1);
    }
}

/// Returns a switch between two hosts that accepts connections, or `None` if
/// this machine cannot have one or has no `ovs-ofctl`.
fn switch_that_listens(test: &str) -> Option<Workbench> {
    if !has_or_skip(test, "ovs-ofctl", "openvswitch-switch") {
        return None;
    }
    let mut bench = Workbench::new(test, 2)?;
    bench.start_switch(&["--listen", SWITCH]);
    bench.await_listener();
    Some(bench)
}

/// Returns what a command prints that needs nothing but the switch.
#[track_caller]
fn of_switch(bench: &Workbench, version: &str, command: &str) -> String {
    ofctl(bench, version, &[command, SWITCH])
}

/// Runs `ovs-ofctl`, which must succeed, and returns what it prints.
#[track_caller]
fn ofctl(bench: &Workbench, version: &str, words: &[&str]) -> String {
    let output = run(bench, version, words);
    let [printed, complaints] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let words = words.join(" ");
    assert!(
        output.status.success(),
        "{version} {words}: {printed}{complaints}"
    );
    printed
}

fn run(bench: &Workbench, version: &str, words: &[&str]) -> Output {
    let mut command = Command::new("ovs-ofctl");
    command.args(["-O", version, "--timeout=10"]).args(words);
    bench.run(command)
}

fn write_flows(bench: &Workbench, name: &str, flows: &[&str]) {
    fs::write(bench.folder().join(name), flows.join("\n") + "\n").unwrap();
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}
