//! Three switches in a triangle, a speaker at the first, and an autonomous system at each of
//! the others: FRRouting and BIRD, just as `docs/sdn-ip.md` sets them up.
//!
//! ```text
//!            gobgpd (AS 65000)
//!               │
//!               s1
//!              /  \
//!   FRR ─── s2 ──── s3 ─── BIRD
//!  AS 65001               AS 65002
//! ```

use std::fs::{self, Permissions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use linux::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;

use crate::workbench::{Workbench, has_or_skip, taktos};

const FRR: &str = "/usr/lib/frr";
const SWITCHES: [(&str, &str, &str); 3] = [
    ("s1", "1", "s1-out,s1-s2,s1-s3"),
    ("s2", "2", "s2-out,s2-s1,s2-s3"),
    ("s3", "3", "s3-out,s3-s1,s3-s2"),
];
const CABLES: [[&str; 2]; 3] = [["s1-s2", "s2-s1"], ["s1-s3", "s3-s1"], ["s2-s3", "s3-s2"]];
const SPEAKER: [&str; 4] = [
    "192.0.2.1/30",
    "198.51.100.1/30",
    "2001:db8:1::1/64",
    "2001:db8:2::1/64",
];
const FRR_SIDE: [&str; 2] = ["192.0.2.2/30", "2001:db8:1::2/64"];
const BIRD_SIDE: [&str; 2] = ["198.51.100.2/30", "2001:db8:2::2/64"];

/// The hosts behind FRR, and those behind BIRD.
pub const INSIDE_FRR: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xa1, 0, 0, 0, 0, 1)),
];
pub const INSIDE_BIRD: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(10, 2, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xa2, 0, 0, 0, 0, 1)),
];
/// What the two announce.
pub const PREFIXES: [&str; 4] = [
    "10.1.0.0/16",
    "10.2.0.0/16",
    "2001:db8:a1::/48",
    "2001:db8:a2::/48",
];

/// The network and what is around it. Everything ends with this value.
pub struct Internet {
    pub bench: Workbench,
    pub speaker: Namespace,
    pub frr: Namespace,
    pub bird: Namespace,
    pub gobgpd: usize,
    pub birdd: usize,
}

impl Internet {
    /// Starts everything as it is documented, but for what the peers are told, or says loudly
    /// why it cannot.
    pub fn or_skip(test: &str, bgpd: &str, bird: &str) -> Option<Self> {
        Self::with_switches(test, [bgpd, bird], &[])
    }

    /// The same with switches that are told more.
    pub fn with_switches(test: &str, [bgpd, bird]: [&str; 2], more: &[&str]) -> Option<Self> {
        let bgpd_program = format!("{FRR}/bgpd");
        let is_there = has_or_skip(test, "gobgpd", "gobgpd")
            && has_or_skip(test, &bgpd_program, "frr")
            && has_or_skip(test, "bird", "bird2");
        if !is_there {
            return None;
        }
        let mut bench = Workbench::new(test, 0)?;
        // FRR runs as a user of its own.
        fs::set_permissions(bench.folder(), Permissions::from_mode(0o777)).unwrap();
        CABLES.into_iter().for_each(|cable| bench.lay_cable(cable));
        let speaker = outside(&mut bench, "s1-out", 1, &SPEAKER);
        let frr = outside(&mut bench, "s2-out", 2, &FRR_SIDE);
        let bird_side = outside(&mut bench, "s3-out", 3, &BIRD_SIDE);
        host(&frr, &INSIDE_FRR);
        host(&bird_side, &INSIDE_BIRD);
        start_network(&mut bench, more);
        let gobgpd = start_speaker(&mut bench, &speaker, &[]);
        start_frr(&mut bench, &frr, bgpd);
        fs::write(bench.folder().join("bird.conf"), bird).unwrap();
        let birdd = start_bird(&mut bench, &bird_side);
        Some(Self {
            bench,
            speaker,
            frr,
            bird: bird_side,
            gobgpd,
            birdd,
        })
    }

    /// The same with peers that are told what is documented.
    pub fn as_documented(test: &str) -> Option<Self> {
        Self::or_skip(test, &documented("bgpd.conf"), &documented("bird.conf"))
    }

    /// Starts the speaker again, as one that was restarted gracefully.
    pub fn restart_speaker(&mut self) {
        self.gobgpd = start_speaker(&mut self.bench, &self.speaker, &["--graceful-restart"]);
    }

    /// Starts BIRD again.
    pub fn restart_bird(&mut self) {
        self.birdd = start_bird(&mut self.bench, &self.bird);
    }

    /// Ends a program as its service manager would, and waits for its end.
    pub fn end(&mut self, program: usize) {
        self.bench.signal(program, Signal::TERM);
        self.bench.await_end(program);
    }

    /// Tells BIRD to do something.
    pub fn birdc(&self, words: &str) -> String {
        let mut birdc = Command::new("birdc");
        birdc.args(["-s", "bird.ctl"]).args(words.split(' '));
        String::from_utf8_lossy(&self.bench.run(birdc).stdout).into_owned()
    }

    /// Returns what `taktos routes --json` says, with more arguments.
    pub fn routes(&self, more: &[&str]) -> Value {
        let mut routes = taktos("routes");
        routes.arg("--json").args(more);
        let output = self.bench.run(routes);
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// Returns the route of a prefix.
    pub fn route(&self, prefix: &str) -> Value {
        self.routes(&["--prefix", prefix])["routes"][0].clone()
    }

    /// Waits until a prefix has a route that all switches have confirmed.
    #[track_caller]
    pub fn await_route(&self, prefix: &str) {
        self.bench.until(&format!("route to {prefix}"), || {
            self.route(prefix)["state"] == "installed"
        });
    }

    /// Waits until a prefix has no route.
    #[track_caller]
    pub fn await_withdrawal(&self, prefix: &str) {
        self.bench.until(&format!("withdrawal of {prefix}"), || {
            let routes = self.routes(&["--prefix", prefix]);
            routes["routes"].as_array().is_some_and(Vec::is_empty)
        });
    }

    /// Waits until the hosts of both systems reach each other, by IPv4 and IPv6.
    #[track_caller]
    pub fn await_traffic(&self) {
        for (here, there) in INSIDE_FRR.into_iter().zip(INSIDE_BIRD) {
            self.bench
                .until(&format!("answer of {there} to {here}"), || {
                    reaches(&self.frr, here, there)
                });
            self.bench
                .until(&format!("answer of {here} to {there}"), || {
                    reaches(&self.bird, there, here)
                });
        }
    }

    /// Returns whether a host behind FRR is answered by one behind BIRD.
    pub fn crosses(&self) -> bool {
        reaches(&self.frr, INSIDE_FRR[0], INSIDE_BIRD[0])
    }
}

/// Returns a file as it stands in the documentation.
pub fn documented(name: &str) -> String {
    fs::read_to_string(docs().join("sdn-ip").join(name)).unwrap()
}

/// Returns the folder of the documentation.
pub fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Joins somebody from outside to a port.
fn outside(bench: &mut Workbench, port: &str, number: u8, addresses: &[&str]) -> Namespace {
    let outside = bench.join_outside(port, number);
    // An address that nobody else has needs no second to be sure of it.
    let free = "/proc/sys/net/ipv6/conf/uplink/accept_dad";
    outside.run(|| fs::write(free, "0")).unwrap();
    ip(&outside, "link set lo up");
    ip(&outside, "link set uplink arp on up");
    for address in addresses {
        ip(&outside, &format!("address add {address} dev uplink"));
    }
    outside
}

/// Puts addresses of hosts behind a router.
fn host(outside: &Namespace, addresses: &[IpAddr]) {
    for address in addresses {
        ip(outside, &format!("address add {address} dev lo"));
    }
}

#[track_caller]
fn ip(outside: &Namespace, words: &str) {
    let mut ip = Command::new("ip");
    ip.args(words.split(' '));
    let output = outside.run(|| ip.output()).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {words}: {complaint}");
}

fn reaches(outside: &Namespace, from: IpAddr, to: IpAddr) -> bool {
    let mut ping = Command::new("ping");
    ping.args(["-c1", "-W1", "-q", "-I", &from.to_string(), &to.to_string()]);
    outside.run(|| ping.output()).unwrap().status.success()
}

fn start_network(bench: &mut Workbench, more: &[&str]) {
    let socket = format!("unix:{}", bench.folder().join("gobgpd.sock").display());
    let settings = documented("sdn-ip.toml").replace("unix:/run/gobgpd.sock", &socket);
    assert!(settings.contains(&socket), "{settings}");
    fs::write(bench.folder().join("sdn-ip.toml"), settings).unwrap();
    bench.start_controller(&["--app", "sdn-ip", "--sdn-ip", "sdn-ip.toml"]);
    for (name, datapath, ports) in SWITCHES {
        let to = ["--controller", "tcp:127.0.0.1:6653"];
        let own = ["--dpid", datapath, "--ports", ports];
        bench.start_switch_named(name, &[&own[..], &to, more].concat());
    }
    bench.await_network(3, 3);
}

fn start_speaker(bench: &mut Workbench, speaker: &Namespace, more: &[&str]) -> usize {
    let path = bench.folder().join("gobgpd.conf");
    fs::write(&path, documented("gobgpd.conf")).unwrap();
    let socket = bench.folder().join("gobgpd.sock");
    // One that was killed has left it behind.
    let _ = fs::remove_file(&socket);
    let mut gobgpd = Command::new("gobgpd");
    gobgpd
        .args(["--pprof-disable", "--log-plain", "-f"])
        .arg(path);
    gobgpd.arg(format!("--api-hosts=unix://{}", socket.display()));
    gobgpd.args(more);
    bench.start_outside(speaker, "gobgpd", gobgpd)
}

fn start_frr(bench: &mut Workbench, frr: &Namespace, config: &str) {
    let folder = bench.folder().to_owned();
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(path("zebra.conf"), "").unwrap();
    fs::write(path("bgpd.conf"), config).unwrap();
    let daemon = |name: &str| {
        let mut command = Command::new(format!("{FRR}/{name}"));
        command.args(["-u", "frr", "-g", "frr", "--log", "stdout"]);
        command.args(["-z", &path("zserv"), "--vty_socket", &path("")]);
        command.args(["-i", &path(&format!("{name}.pid"))]);
        command.args(["-f", &path(&format!("{name}.conf"))]);
        command
    };
    bench.start_outside(frr, "zebra", daemon("zebra"));
    bench.until("socket of zebra", || folder.join("zserv").exists());
    bench.start_outside(frr, "bgpd", daemon("bgpd"));
}

fn start_bird(bench: &mut Workbench, outside: &Namespace) -> usize {
    let mut bird = Command::new("bird");
    bird.args(["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"]);
    bench.start_outside(outside, "bird", bird)
}
