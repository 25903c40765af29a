//! Mininet under `taktos controller`, alone and beside Open vSwitch and Taktos.
//!
//! `mn` runs in a process and mount namespace of its own: when it fails, it ends
//! processes by their names and removes files of others.

use std::io::Write;
use std::process::{ChildStdin, Command};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::open_vswitch::OpenVswitch;
use crate::workbench::{Workbench, comes_within, has_or_skip, neighbour};

/// What a user types, apart from `sudo`.
const MN: &str = "mn --topo linear,2 --mac --ipbase 10.0.0.100/24 \
                  --controller remote,ip=127.0.0.1,port=6653";
/// Other people's switch, without the kernel's module.
const OPEN_VSWITCH: &str = "--switch ovs,datapath=user";
/// Keeps `mn` from everything but the network, the folder of the test and `$0`, where the
/// project is, which may be below `/tmp`.
const ROOM: &str = "mount --bind . /mnt && mount --bind \"$0\" /media && \
                    mount -t tmpfs tmpfs /tmp && mkdir -p \"$0\" && mount --bind /media \"$0\" && \
                    mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && \
                    cd /mnt && exec env OVS_RUNDIR=/mnt ";
const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// How often hosts are asked to reach each other: on a busy machine the first times
/// may be too early.
const MOST_TRIES: u32 = 10;

/// How often it is started, and how long it may be at its first step.
const MOST_STARTS: u32 = 3;
const START_PATIENCE: Duration = Duration::from_secs(60);
const FIRST_STEP: &str = "*** Adding controller";

/// Mininet speaks with a shell for each host and each switch, one word after the other:
/// two of them beside each other take minutes on a busy machine.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Mininet {
    program: usize,
    input: ChildStdin,
    asked: usize,
}

impl Mininet {
    /// Starts it and waits until it takes commands. Now and then it waits for ever, before it
    /// has made anything, for the program by which it looks whether the controller listens:
    /// then it is started anew. One that is slow is waited for.
    fn start(bench: &mut Workbench, switch: &str) -> Self {
        let mut starts = 1;
        loop {
            let mut mininet = Self::begin(bench, switch);
            let done = mininet.ask("");
            let takes_commands = || bench.log("mininet").contains(&done);
            let is_in_time = comes_within(START_PATIENCE, takes_commands);
            let hangs = bench.log("mininet").trim_end().ends_with(FIRST_STEP);
            if is_in_time || !hangs || starts == MOST_STARTS {
                bench.until(&done, takes_commands);
                return mininet;
            }
            bench.kill(mininet.program);
            starts += 1;
        }
    }

    fn begin(bench: &mut Workbench, switch: &str) -> Self {
        let mut command = Command::new("unshare");
        let isolated = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
        command.args(isolated).args(["sh", "-c"]);
        command.arg(format!("{ROOM}{MN} {switch}")).arg(PROJECT);
        let (program, input) = bench.start_interactive("mininet", command);
        Self {
            program,
            input,
            asked: 0,
        }
    }

    /// Has it do something, and returns what it says when it has.
    fn ask(&mut self, command: &str) -> String {
        self.asked += 1;
        let done = format!("done-{}-{}", self.program, self.asked);
        // At once: what comes while a host is busy with a command, Mininet gives to it.
        let lines = format!("{command}\nsh echo {done}\n");
        self.input.write_all(lines.as_bytes()).unwrap();
        done
    }

    /// Has it do something and returns what it has said so far.
    fn tell(&mut self, bench: &Workbench, command: &str) -> String {
        let done = self.ask(command);
        bench.until(&done, || bench.log("mininet").contains(&done));
        bench.log("mininet")
    }

    /// Has it do something until what it has said so far is as it is to be.
    #[track_caller]
    fn tell_until(&mut self, bench: &Workbench, command: &str, is_so: impl Fn(&str) -> bool) {
        let tried = (0..MOST_TRIES).any(|_| is_so(&self.tell(bench, command)));
        assert!(tried, "{}", bench.log("mininet"));
    }

    fn exit(mut self, bench: &mut Workbench) {
        self.input.write_all(b"exit\n").unwrap();
        bench.await_end(self.program);
    }
}

/// Returns a workbench with a controller and an Open vSwitch, or says why not.
fn bench_or_skip(test: &str, hosts: u8) -> Option<(Workbench, OpenVswitch)> {
    if !has_or_skip(test, "mn", "mininet") || !has_or_skip(test, "ping", "iputils-ping") {
        return None;
    }
    let mut bench = Workbench::new(test, hosts)?;
    let open_vswitch = OpenVswitch::or_skip(test, &mut bench)?;
    bench.start_controller(&["--openflow", "127.0.0.1:6653"]);
    Some((bench, open_vswitch))
}

#[test]
fn mininet_pings_and_pings_again_when_it_is_started_anew() {
    let test = "mininet_pings_and_pings_again_when_it_is_started_anew";
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((mut bench, _open_vswitch)) = bench_or_skip(test, 0) else {
        return;
    };

    for _ in 0..2 {
        let mut mininet = Mininet::start(&mut bench, OPEN_VSWITCH);
        bench.await_network(2, 1);
        mininet.tell_until(&bench, "pingall", |said| {
            let last = said.lines().rfind(|line| line.contains("Results"));
            last.is_some_and(|it| it.contains(" 0% dropped (2/2 received)"))
        });
        mininet.exit(&mut bench);
        bench.await_network(0, 0);
    }
}

#[test]
fn mininet_open_vswitch_and_taktos_make_one_network() {
    let test = "mininet_open_vswitch_and_taktos_make_one_network";
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((mut bench, open_vswitch)) = bench_or_skip(test, 1) else {
        return;
    };
    // host 1 - Taktos - Open vSwitch alone - s2 of Mininet - s1
    bench.lay_cable(["taktos-2", "alone-1"]);
    bench.lay_cable(["alone-2", "s2-eth9"]);
    let mut mininet = Mininet::start(&mut bench, OPEN_VSWITCH);
    open_vswitch.vsctl(&bench, "add-port s2 s2-eth9");
    open_vswitch.vsctl(
        &bench,
        "add-br alone -- set bridge alone datapath_type=netdev fail_mode=secure \
             other-config:disable-in-band=true \
         other-config:datapath-id=00000000000000b1 -- add-port alone alone-1 -- \
         add-port alone alone-2 -- set-controller alone tcp:127.0.0.1:6653",
    );
    bench.start_switch_with(&[
        "--ports",
        "port1,taktos-2",
        "--dpid",
        "0xa1",
        "--controller",
        "tcp:127.0.0.1:6653",
    ]);
    bench.await_network(4, 3);

    mininet.tell_until(&bench, "h1 ping -c 3 -W 5 10.0.0.1", |said| {
        said.contains("3 received, 0% packet loss")
    });
    mininet.exit(&mut bench);
}

/// As everybody uses it: hosts keep their defaults, and no switch asks them to leave
/// nothing to cards.
#[test]
fn iperf_between_hosts_of_mininet_is_not_slow_with_any_engine() {
    let test = "iperf_between_hosts_of_mininet_is_not_slow_with_any_engine";
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if !has_or_skip(test, "iperf", "iperf") {
        return;
    }
    let Some((mut bench, _open_vswitch)) = bench_or_skip(test, 0) else {
        return;
    };
    let class = neighbour("mininet_taktos.py");
    let ours = |engine| {
        let program = env!("CARGO_BIN_EXE_taktos");
        let class = class.display();
        format!("--custom {class} --switch taktos,engine={engine},program={program}")
    };

    for switch in ["kernel", "packet", "xdp"].map(ours) {
        let mut mininet = Mininet::start(&mut bench, &switch);
        bench.await_network(2, 1);
        mininet.tell_until(&bench, "pingall", |said| {
            let last = said.lines().rfind(|line| line.contains("Results"));
            last.is_some_and(|it| it.contains(" 0% dropped (2/2 received)"))
        });
        mininet.tell(&bench, "h2 iperf -s > /dev/null &");
        let before = bench.log("mininet").len();
        // One that stands still says so in bits a second, or not at all.
        mininet.tell_until(&bench, "h1 iperf -c h2 -t 2", |said| {
            said[before..].contains(" Gbits/sec") || said[before..].contains(" Mbits/sec")
        });
        mininet.exit(&mut bench);
        bench.await_network(0, 0);
    }
}
