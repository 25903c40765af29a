//! An Open vSwitch of its own on a workbench: its database, its daemon, and the
//! datapath that runs in user space, which needs no module of the kernel.

use std::process::Command;

use crate::workbench::{Workbench, has_or_skip};

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const PACKAGE: &str = "openvswitch-switch";

/// An Open vSwitch that runs.
pub struct OpenVswitch {
    daemon: usize,
}

impl OpenVswitch {
    /// Starts it without bridges, or says loudly why not.
    pub fn or_skip(test: &str, bench: &mut Workbench) -> Option<Self> {
        if !has_or_skip(test, "ovs-vswitchd", PACKAGE) {
            return None;
        }
        let file = |name: &str| bench.folder().join(name).display().to_string();
        let (database, socket) = (file("conf.db"), file("db.sock"));
        succeed(bench, "ovsdb-tool", &["create", &database, SCHEMA]);
        let remote = format!("--remote=punix:{socket}");
        let server = program(bench, "ovsdb-server", &[&database, &remote]);
        bench.start("ovsdb-server", server);
        bench.until("socket of ovsdb-server", || {
            bench.folder().join("db.sock").exists()
        });
        succeed(bench, "ovs-vsctl", &["--no-wait", "init"]);
        Some(Self {
            daemon: start_daemon(bench),
        })
    }

    /// Ends the daemon as a crash would, and starts it again.
    pub fn crash(&mut self, bench: &mut Workbench) {
        bench.kill(self.daemon);
        self.daemon = start_daemon(bench);
    }

    /// Runs `ovs-vsctl` with these words.
    #[track_caller]
    pub fn vsctl(&self, bench: &Workbench, words: &str) {
        let words: Vec<_> = words.split_whitespace().collect();
        succeed(
            bench,
            "ovs-vsctl",
            &[&["--timeout=20"], &words[..]].concat(),
        );
    }

    /// Returns its controllers, a line each that ends with the role.
    pub fn controllers(&self, bench: &Workbench) -> String {
        let columns = "--columns=target,role";
        let words = [
            "--timeout=20",
            "--format=csv",
            "--no-headings",
            "--data=bare",
        ];
        let words = [&words[..], &[columns, "list", "controller"]].concat();
        let output = bench.run(program(bench, "ovs-vsctl", &words));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Deletes all entries of a bridge.
    #[track_caller]
    pub fn delete_flows(&self, bench: &Workbench, bridge: &str) {
        let words = ["-O", "OpenFlow13", "--timeout=20", "del-flows", bridge];
        succeed(bench, "ovs-ofctl", &words);
    }

    /// Returns the entries of a bridge, a line each; none while its daemon starts.
    pub fn flows(&self, bench: &Workbench, bridge: &str) -> String {
        let words = ["-O", "OpenFlow13", "--timeout=20", "dump-flows", bridge];
        let output = bench.run(program(bench, "ovs-ofctl", &words));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn start_daemon(bench: &mut Workbench) -> usize {
    let command = program(bench, "ovs-vswitchd", &[]);
    bench.start("ovs-vswitchd", command)
}

/// Returns a program of this Open vSwitch, about to be started.
pub fn program(bench: &Workbench, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
        command.env(variable, bench.folder());
    }
    if name.ends_with("-server") || name.ends_with("-vswitchd") {
        let control = bench.folder().join(name).with_extension("ctl");
        let control = format!("--unixctl={}", control.display());
        command.args(["--pidfile", "-vconsole:warn", &control]);
    }
    command.args(arguments);
    command
}

#[track_caller]
fn succeed(bench: &Workbench, name: &str, arguments: &[&str]) {
    let output = bench.run(program(bench, name, arguments));
    let complaints = String::from_utf8_lossy(&output.stderr);
    let words = arguments.join(" ");
    assert!(output.status.success(), "{name} {words}: {complaints}");
}
