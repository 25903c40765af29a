//! Applications under os-ken: a learning switch in one table, by either version
//! of OpenFlow, and one in two tables. (os-ken itself comes without any since
//! version 3.)

use std::process::Command;

use crate::workbench::{Workbench, neighbour, python_or_skip};

#[test]
fn a_learning_switch_learns() {
    learns("a_learning_switch_learns", "learning_switch");
}

#[test]
fn a_learning_switch_learns_by_openflow_1_0() {
    let test = "a_learning_switch_learns_by_openflow_1_0";
    learns(test, "learning_switch_10");
}

#[test]
fn a_learning_switch_in_two_tables_learns() {
    learns("a_learning_switch_in_two_tables_learns", "two_tables");
}

/// Checks that two hosts come to talk without a third hearing them, and that
/// they can go on without the controller: the switch has learned.
fn learns(test: &str, application: &str) {
    let Some(mut bench) = Workbench::new(test, 3) else {
        return;
    };
    let Some(programs) = python_or_skip(test, "os-ken") else {
        return;
    };
    let mut os_ken = Command::new(programs.join("python"));
    os_ken
        .arg(neighbour("start_os_ken.py"))
        .args(["--ofp-listen-host=127.0.0.1", application])
        .env("OSKEN_HUB_TYPE", "eventlet")
        .env("PYTHONPATH", neighbour(""));
    let controller = bench.start("os-ken", os_ken);
    bench.await_listener();
    bench.start_switch(&["--controller", "tcp:127.0.0.1:6653"]);

    bench.await_answer(1, 2);
    bench.until("frames that host 3 does not hear", || {
        let heard = bench.frames_received(3);
        bench.reaches(1, 2) && bench.frames_received(3) == heard
    });

    bench.kill(controller);
    let heard = bench.frames_received(3);
    bench.await_answer(1, 2);
    assert_eq!(bench.frames_received(3), heard);
}
