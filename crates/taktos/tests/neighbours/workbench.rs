//! A switch between hosts, each in a namespace of its own, with the programs
//! that are started beside the switch.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::veth::{self, Power, VethEnd};
use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::netlink::Netlink;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use wire::ethernet::MacAddress;

/// How long a test waits for what must come, before it fails: on a machine that
/// is busy with other tests a controller needs half a minute to start, and Mininet
/// more than two.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long an answer may be under way before the question is repeated.
const REPEAT_AFTER: Duration = Duration::from_millis(100);
const PORT: u16 = 5_000;
/// A socket that listens on port 6653, as `/proc/net/tcp` spells it.
const LISTENS_ON_6653: &str = ":19FD 00000000:0000 0A";
/// The loopback has this number in every namespace.
const LOOPBACK: u32 = 1;

/// Hosts around the place of a switch. Everything ends with this value.
pub struct Workbench {
    namespace: Namespace,
    hosts: Vec<Host>,
    programs: Vec<Child>,
    cables: u8,
    folder: TempDir,
}

/// How a cable is laid.
type Lay = fn(&mut Netlink, [VethEnd<'_>; 2]) -> io::Result<()>;

/// A host that sends back every datagram that it hears.
struct Host {
    namespace: Namespace,
    address: Ipv4Addr,
}

impl Workbench {
    /// Lays a cable to each of `hosts` hosts, or says loudly why it cannot.
    pub fn new(test: &str, hosts: u8) -> Option<Self> {
        Self::by_cables(test, hosts, veth::lay)
    }

    /// The same with hosts that leave to cards what ordinary ones do.
    pub fn with_ordinary_hosts(test: &str, hosts: u8) -> Option<Self> {
        Self::by_cables(test, hosts, veth::lay_ordinary)
    }

    fn by_cables(test: &str, hosts: u8, lay: Lay) -> Option<Self> {
        let namespace = namespace_or_skip(test)?;
        veth::forbid_ipv6(&namespace).unwrap();
        let mut netlink = namespace.run(Netlink::open).unwrap();
        veth::switch(&mut netlink, LOOPBACK, Power::On).unwrap();
        let hosts = (1..=hosts).map(|number| join(&mut netlink, &namespace, number, lay));
        let hosts = hosts.collect();
        Some(Self {
            namespace,
            hosts,
            programs: Vec::new(),
            cables: 0,
            folder: tempfile::tempdir().unwrap(),
        })
    }

    /// Lays a cable between two ports of switches.
    pub fn lay_cable(&mut self, names: [&str; 2]) {
        let mut netlink = self.namespace.run(Netlink::open).unwrap();
        self.cables += 1;
        let end = |name, index, kind| VethEnd {
            namespace: &self.namespace,
            name,
            index: index + u32::from(self.cables),
            mac: MacAddress([2, 0, 0, 0, kind, self.cables]),
        };
        let ends = [end(names[0], 300, 2), end(names[1], 400, 3)];
        veth::lay(&mut netlink, ends).unwrap();
        for end in ends {
            veth::switch(&mut netlink, end.index, Power::On).unwrap();
        }
    }

    /// Lays a cable from a port of a switch to the interface `uplink` of a namespace in which
    /// nothing is forbidden; its address ends in `number`.
    pub fn join_outside(&mut self, port: &str, number: u8) -> Namespace {
        let outside = Namespace::new().unwrap();
        let mut netlink = self.namespace.run(Netlink::open).unwrap();
        let ends = [
            VethEnd {
                namespace: &self.namespace,
                name: port,
                index: 500 + u32::from(number),
                mac: MacAddress([2, 0, 0, 0, 5, number]),
            },
            VethEnd {
                namespace: &outside,
                name: "uplink",
                index: 600 + u32::from(number),
                mac: MacAddress([2, 0, 0, 0, 6, number]),
            },
        ];
        veth::lay(&mut netlink, ends).unwrap();
        veth::switch(&mut netlink, ends[0].index, Power::On).unwrap();
        outside
    }

    /// Switches an interface of the switches on or off.
    pub fn power(&self, interface: &str, power: Power) {
        let mut netlink = self.namespace.run(Netlink::open).unwrap();
        let named = self.namespace.run(|| Interface::named(interface)).unwrap();
        veth::switch(&mut netlink, named.index(), power).unwrap();
    }

    /// Starts the switch, with a port for each host.
    pub fn start_switch(&mut self, arguments: &[&str]) {
        let ports: Vec<_> = (1..=self.hosts.len()).map(port_name).collect();
        let ports = ports.join(",");
        let first = ["--dpid", "1", "--ports", &ports];
        self.start_switch_with(&[&first, arguments].concat());
    }

    /// Starts a switch that is just as the arguments say, and returns its place.
    pub fn start_switch_with(&mut self, arguments: &[&str]) -> usize {
        self.start_switch_named("switch", arguments)
    }

    /// Starts one of several switches, whose control socket and log are called like it.
    pub fn start_switch_named(&mut self, name: &str, arguments: &[&str]) -> usize {
        let mut command = taktos("switch");
        command
            .args(["--control", &control_socket(name), "--sleep"])
            .args(arguments);
        self.start(name, command)
    }

    /// Returns the entries of a switch that was started.
    pub fn entries_of(&self, switch: &str) -> Value {
        self.show(switch, "flows")
    }

    /// Returns what a switch that was started says of itself.
    pub fn show(&self, switch: &str, topic: &str) -> Value {
        let mut show = taktos("switch");
        show.args(["show", topic, "--json", "--control"])
            .arg(control_socket(switch));
        let output = self.run(show);
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// Starts a program beside the switch, and returns its place.
    pub fn start(&mut self, name: &str, command: Command) -> usize {
        self.start_reading(name, command, Stdio::null())
    }

    /// Starts a program that is told what to do while it runs.
    pub fn start_interactive(&mut self, name: &str, command: Command) -> (usize, ChildStdin) {
        let program = self.start_reading(name, command, Stdio::piped());
        let input = self.programs[program].stdin.take().expect("it is piped");
        (program, input)
    }

    fn start_reading(&mut self, name: &str, mut command: Command, input: Stdio) -> usize {
        let mut log = File::options();
        let log = log.create(true).append(true).open(self.log_path(name));
        let log = log.unwrap();
        let complaints = log.try_clone().unwrap();
        command
            .current_dir(self.folder.path())
            .stdin(input)
            .stdout(log)
            .stderr(complaints);
        let program = self.namespace.run(|| command.spawn()).unwrap();
        self.programs.push(program);
        self.programs.len() - 1
    }

    /// Starts a program at a host, and returns its place.
    pub fn start_at_host(&mut self, host: u8, name: &str, mut command: Command) -> usize {
        let log = File::create(self.log_path(name)).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::null());
        let program = self.within_host(host, || command.spawn()).unwrap();
        self.programs.push(program);
        self.programs.len() - 1
    }

    /// Starts a program in a namespace, and returns its place.
    pub fn start_outside(
        &mut self,
        outside: &Namespace,
        name: &str,
        mut command: Command,
    ) -> usize {
        let log = File::create(self.log_path(name)).unwrap();
        let complaints = log.try_clone().unwrap();
        command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(complaints);
        let program = outside.run(|| command.spawn()).unwrap();
        self.programs.push(program);
        self.programs.len() - 1
    }

    /// Sends a signal to a program that was started.
    pub fn signal(&self, program: usize, signal: Signal) {
        let process = Pid::from_child(&self.programs[program]);
        kill_process(process, signal).unwrap();
    }

    /// Runs a program beside the switch to its end.
    pub fn run(&self, mut command: Command) -> Output {
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        self.namespace.run(|| command.output()).unwrap()
    }

    /// Ends a program that was started.
    pub fn kill(&mut self, program: usize) {
        self.programs[program].kill().unwrap();
        self.programs[program].wait().unwrap();
    }

    /// Takes away what switches that were killed have left in the kernel.
    pub fn clear_killed_switches(&self) {
        let mut clear = taktos("switch");
        clear.arg("clear");
        assert!(self.run(clear).status.success());
    }

    /// Waits until a program ends by itself.
    pub fn await_end(&mut self, program: usize) {
        let ended = self.programs[program].wait().unwrap();
        assert!(ended.success(), "{ended}{}", self.logs());
    }

    /// Runs `work` where the programs run.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.namespace.run(work)
    }

    /// Runs `work` at a host.
    pub fn within_host<T: Send>(&self, host: u8, work: impl FnOnce() -> T + Send) -> T {
        self.host(host).namespace.run(work)
    }

    /// Returns what a program has said so far.
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.log_path(name)).unwrap_or_default()
    }

    /// Waits until somebody listens where controllers do.
    pub fn await_listener(&self) {
        let sockets = || fs::read_to_string("/proc/thread-self/net/tcp");
        self.until("a listener on port 6653", || {
            let sockets = self.namespace.run(sockets).unwrap();
            sockets.contains(LISTENS_ON_6653)
        });
    }

    /// Waits for `ready`, and fails with the logs of all programs if it does not
    /// come.
    #[track_caller]
    pub fn until(&self, what: &str, ready: impl FnMut() -> bool) {
        assert!(comes_within(PATIENCE, ready), "no {what}{}", self.logs());
    }

    /// Returns whether a datagram from one host to another comes back.
    pub fn reaches(&self, from: u8, to: u8) -> bool {
        let (from, to) = (self.host(from), self.host(to));
        let socket = from
            .namespace
            .run(|| UdpSocket::bind((from.address, 0)))
            .unwrap();
        socket.set_read_timeout(Some(REPEAT_AFTER)).unwrap();
        // What cannot be resolved comes back as an error of the next call.
        if socket.send_to(b"takt", (to.address, PORT)).is_err() {
            return false;
        }
        let mut answer = [0; 16];
        socket
            .recv(&mut answer)
            .is_ok_and(|length| &answer[..length] == b"takt")
    }

    /// Waits until a datagram from one host to another comes back. A single one that
    /// does not come back in time says nothing on a busy machine.
    #[track_caller]
    pub fn await_answer(&self, from: u8, to: u8) {
        let what = format!("answer of host {to} to host {from}");
        self.until(&what, || self.reaches(from, to));
    }

    /// Sends bytes from one host to the port `to` of an address, where another host
    /// hears them at its port 5000, and returns what that one heard.
    pub fn carry(&self, from: u8, to: (Ipv4Addr, u16), hears: u8, bytes: &[u8]) -> Vec<u8> {
        let ears = (self.host(hears).address, PORT);
        let listener = self.within_host(hears, || TcpListener::bind(ears)).unwrap();
        let mut mouth = self
            .within_host(from, || TcpStream::connect_timeout(&to.into(), PATIENCE))
            .unwrap();
        thread::scope(|scope| {
            let heard = scope.spawn(move || {
                let mut heard = Vec::new();
                let (mut ear, _) = listener.accept().unwrap();
                ear.set_read_timeout(Some(PATIENCE)).unwrap();
                ear.read_to_end(&mut heard).unwrap();
                heard
            });
            mouth.write_all(bytes).unwrap();
            drop(mouth);
            heard.join().unwrap()
        })
    }

    /// Returns how many frames a host has received.
    pub fn frames_received(&self, host: u8) -> u64 {
        let devices = || fs::read_to_string("/proc/thread-self/net/dev");
        let devices = self.host(host).namespace.run(devices).unwrap();
        let mut lines = devices
            .lines()
            .filter_map(|line| line.trim().split_once(':'));
        let (_, counters) = lines.find(|(name, _)| *name == "uplink").unwrap();
        let packets = counters.split_whitespace().nth(1).unwrap();
        packets.parse().unwrap()
    }

    /// Returns the folder in which the programs run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn host(&self, number: u8) -> &Host {
        &self.hosts[usize::from(number) - 1]
    }

    fn log_path(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    fn logs(&self) -> String {
        let mut all = String::new();
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "log") {
                let text = fs::read_to_string(&path).unwrap_or_default();
                all += &format!("\n--- {}\n{text}", path.display());
            }
        }
        all
    }
}

impl Drop for Workbench {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// Joins a new host to the place of the switch.
fn join(netlink: &mut Netlink, switch: &Namespace, number: u8, lay: Lay) -> Host {
    let namespace = Namespace::new().unwrap();
    veth::forbid_ipv6(&namespace).unwrap();
    let ends = [
        VethEnd {
            namespace: switch,
            name: &port_name(usize::from(number)),
            index: 100 + u32::from(number),
            mac: MacAddress([2, 0, 0, 0, 1, number]),
        },
        VethEnd {
            namespace: &namespace,
            name: "uplink",
            index: 200 + u32::from(number),
            mac: MacAddress([2, 0, 0, 0, 0, number]),
        },
    ];
    lay(netlink, ends).unwrap();
    veth::switch(netlink, ends[0].index, Power::On).unwrap();
    let address = Ipv4Addr::new(10, 0, 0, number);
    let mut netlink = namespace.run(Netlink::open).unwrap();
    veth::switch_on_with_address(&mut netlink, ends[1].index, address, 24).unwrap();
    let socket = namespace.run(|| UdpSocket::bind((address, PORT))).unwrap();
    thread::spawn(move || echo(&socket));
    Host { namespace, address }
}

/// Sends every datagram back; ends with the test program.
fn echo(socket: &UdpSocket) -> io::Result<()> {
    let mut datagram = [0; 64];
    loop {
        let (length, from) = socket.recv_from(&mut datagram)?;
        let _ = socket.send_to(&datagram[..length], from);
    }
}

/// Waits for `ready`, and returns whether it came.
pub fn comes_within(patience: Duration, mut ready: impl FnMut() -> bool) -> bool {
    let give_up = Instant::now() + patience;
    while !ready() {
        if Instant::now() > give_up {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Returns the program, about to be started as `command`.
pub fn taktos(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_taktos"));
    program.arg(command);
    program
}

fn control_socket(switch: &str) -> String {
    format!("{switch}.sock")
}

fn port_name(number: usize) -> String {
    format!("port{number}")
}

/// Returns a namespace, or says loudly why not.
fn namespace_or_skip(test: &str) -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => Some(namespace),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let needs = "CAP_NET_ADMIN and CAP_SYS_ADMIN: run it as root, or by cargo xtask test";
            skip(test, needs, "TAKTOS_REQUIRE_NAMESPACES");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns the folder of the programs of a Python environment, or says loudly
/// that it is not there.
pub fn python_or_skip(test: &str, environment: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let environment = target.join("neighbours").join(environment);
    if environment.join("packages.txt").exists() {
        return Some(environment.join("bin"));
    }
    let needs = format!("{}, which cargo xtask test makes", environment.display());
    skip(test, &needs, "TAKTOS_REQUIRE_NEIGHBOURS");
    None
}

/// Returns whether a program is there, and says loudly if it is not.
pub fn has_or_skip(test: &str, program: &str, package: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        let needs = format!("{program}: apt-get install {package}");
        skip(test, &needs, "TAKTOS_REQUIRE_NEIGHBOURS");
    }
    there
}

/// Returns a file of the folder `neighbours/`.
pub fn neighbour(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../../neighbours").join(name)
}

fn skip(test: &str, needs: &str, unless: &str) {
    let notice = format!("SKIPPED {test}: needs {needs}");
    assert!(std::env::var_os(unless).is_none(), "{notice}");
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(io::stderr(), "\n{notice}\n");
}
