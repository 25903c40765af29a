//! BFD over IPv4 with FRRouting's `bfdd`: two implementations that agree on when to be up,
//! how often to send, and that the other one is silent.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::workbench::{Workbench, has_or_skip};

const FOLDER: &str = "/usr/lib/frr";
const CONFIG: &str = "bfd\n peer 10.0.0.9 local-address 10.0.0.1 interface uplink\n  \
                      detect-multiplier 3\n  receive-interval 240\n  transmit-interval 160\n !\n!\n";
const SESSION: &str = "port1=200ms*3@10.0.0.9-10.0.0.1";

/// FRRouting at a host: the daemon that knows the interfaces, and the one that speaks BFD.
struct Frr {
    folder: TempDir,
    bfdd: usize,
}

impl Frr {
    fn start(bench: &mut Workbench, host: u8) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // They run as a user of their own.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("zebra.conf"), "").unwrap();
        fs::write(path("bfdd.conf"), CONFIG).unwrap();
        let daemon = |name: &str| {
            let mut command = Command::new(format!("{FOLDER}/{name}"));
            command.args(["-u", "frr", "-g", "frr", "--log", "stdout"]);
            command.args(["-z", &path("zserv"), "--vty_socket", &path("")]);
            command.args(["-i", &path(&format!("{name}.pid"))]);
            command.args(["-f", &path(&format!("{name}.conf"))]);
            command
        };
        bench.start_at_host(host, "zebra", daemon("zebra"));
        bench.until("socket of zebra", || folder.path().join("zserv").exists());
        let mut bfdd = daemon("bfdd");
        bfdd.args(["--bfdctl", &path("bfdd.sock")]);
        let bfdd = bench.start_at_host(host, "bfdd", bfdd);
        Self { folder, bfdd }
    }

    /// Returns what it says of its session.
    fn peer(&self, bench: &Workbench) -> Value {
        let mut ask = Command::new("vtysh");
        ask.arg("--vty_socket").arg(self.folder.path());
        ask.args(["-c", "show bfd peers json"]);
        let said = bench.run(ask).stdout;
        let peers: Value = serde_json::from_slice(&said).unwrap_or_default();
        peers[0].clone()
    }
}

/// Starts a switch with a session, and `bfdd` as its neighbour.
fn begin(test: &str, arguments: &[&str]) -> Option<(Workbench, usize, Frr)> {
    let bfdd = format!("{FOLDER}/bfdd");
    if !(has_or_skip(test, &bfdd, "frr") && has_or_skip(test, "vtysh", "frr")) {
        return None;
    }
    let mut bench = Workbench::new(test, 1)?;
    let first = ["--dpid", "1", "--ports", "port1", "--bfd", SESSION];
    let switch = bench.start_switch_with(&[&first[..], arguments].concat());
    let frr = Frr::start(&mut bench, 1);
    Some((bench, switch, frr))
}

fn ours(bench: &Workbench) -> Value {
    bench.show("switch", "bfd")["bfd"][0].clone()
}

fn await_up(bench: &Workbench, frr: &Frr) {
    bench.until("session that is up at both ends", || {
        ours(bench)["state"] == "up" && frr.peer(bench)["status"] == "up"
    });
}

#[test]
fn bfdd_and_a_switch_agree_and_notice_each_others_silence() {
    let test = "bfdd_and_a_switch_agree_and_notice_each_others_silence";
    for engine in ["auto", "packet"] {
        let Some((bench, switch, frr)) = begin(test, &["--engine", engine]) else {
            return;
        };
        await_up(&bench, &frr);

        // Once up, both say by a poll how often they send: what they began with was a second.
        bench.until("end of the polls", || {
            let peer = frr.peer(&bench);
            peer["remote-transmit-interval"] == 200 && ours(&bench)["interval_ns"] == 240_000_000
        });
        let session = ours(&bench);
        assert_eq!(session["detection_ns"], 600_000_000, "{session}");
        assert_eq!(session["live"], "yes", "{session}");
        assert_eq!(session["malformed"], 0, "{session}");

        bench.signal(frr.bfdd, Signal::STOP);
        bench.until("end of the session here", || {
            ours(&bench)["state"] == "down"
        });
        let session = ours(&bench);
        assert_eq!(session["diagnostic"], "detection time expired", "{session}");
        assert_eq!(session["live"], "no", "{session}");
        bench.signal(frr.bfdd, Signal::CONT);
        await_up(&bench, &frr);

        bench.signal(switch, Signal::STOP);
        bench.until("end of the session there", || {
            frr.peer(&bench)["status"] == "down"
        });
        let peer = frr.peer(&bench);
        assert_eq!(
            peer["diagnostic"], "control detection time expired",
            "{peer}"
        );
        bench.signal(switch, Signal::CONT);
        await_up(&bench, &frr);
    }
}

/// Version 8.4 of `bfdd` authenticates nothing.
#[test]
fn who_does_not_prove_who_he_is_never_comes_up() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    fs::write(&key, "secret").unwrap();
    let key = format!("meticulous-sha1:1:{}", key.display());
    let test = "who_does_not_prove_who_he_is_never_comes_up";
    let Some((bench, _, frr)) = begin(test, &["--bfd-key", &key]) else {
        return;
    };

    bench.until("packets that are refused", || {
        ours(&bench)["forged"]
            .as_u64()
            .is_some_and(|forged| forged >= 3)
    });

    let session = ours(&bench);
    assert_eq!(session["state"], "down", "{session}");
    assert_eq!(session["received"], 0, "{session}");
    assert_eq!(session["live"], "yes", "{session}");
    assert_ne!(frr.peer(&bench)["status"], "up");
}
