//! Faucet, which expects much of a switch: its pipeline has up to nine tables,
//! VLANs are pushed and popped, hosts are learned with timeouts.

use std::process::Command;

use crate::workbench::{Workbench, neighbour, python_or_skip};

#[test]
fn hosts_of_one_vlan_reach_each_other_and_nobody_else() {
    let test = "hosts_of_one_vlan_reach_each_other_and_nobody_else";
    let Some(mut bench) = Workbench::new(test, 4) else {
        return;
    };
    let Some(programs) = python_or_skip(test, "faucet") else {
        return;
    };
    let mut faucet = Command::new(programs.join("faucet"));
    let search = std::env::var("PATH").unwrap_or_default();
    faucet
        .arg("--ryu-ofp-listen-host=127.0.0.1")
        // Faucet looks for its os-ken there.
        .env("PATH", format!("{}:{search}", programs.display()))
        .env("FAUCET_CONFIG", neighbour("faucet.yaml"))
        .env("FAUCET_LOG", bench.folder().join("faucet-events.log"))
        .env(
            "FAUCET_EXCEPTION_LOG",
            bench.folder().join("faucet-faults.log"),
        )
        .env("FAUCET_PROMETHEUS_ADDR", "127.0.0.1");
    bench.start("faucet", faucet);
    bench.await_listener();
    bench.start_switch(&["--controller", "tcp:127.0.0.1:6653"]);

    bench.await_answer(1, 2);
    bench.await_answer(3, 4);

    for (from, to) in [(1, 3), (2, 4), (4, 1)] {
        assert!(!bench.reaches(from, to), "{from} reaches {to}");
    }
    bench.await_answer(2, 1);
    bench.await_answer(4, 3);
}
