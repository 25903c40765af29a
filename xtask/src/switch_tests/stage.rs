//! The stage of one tester, inside namespaces of its own: three cables, the two
//! switches at their ends, and os-ken as the controller of both.
//!
//! ```text
//!     target 1 ─────── 1 tester's switch      port 1: the tester sends
//!            2 ─────── 2                      ports 2, 3: it receives
//!            3 ─────── 3
//! ```
//!
//! This is the first process of the namespace of processes, so when it ends for
//! whatever reason, the kernel ends Open vSwitch, the target and the tester, and
//! the network is gone with them. It ends by itself when its standard input
//! closes, that is when whoever started it has gone.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::case_file::{CaseFile, CaseLoad};
use super::{Engine, Target};
use crate::failure::Failure;
use crate::workspace::Workspace;

const PORTS: [u8; 3] = [1, 2, 3];
const CONTROLLER: &str = "tcp:127.0.0.1:6653";
const TARGET_DPID: &str = "0000000000000001";
const TESTER_DPID: &str = "0000000000000002";
/// How long os-ken has until it listens; its import alone takes a second.
const START_MAX: Duration = Duration::from_secs(60);
/// The port of the controller as `/proc/net/tcp` spells a socket that listens.
const LISTENS: &str = ":19FD 00000000:0000 0A";

/// What one tester is to do.
#[derive(Clone, Debug)]
pub struct TesterRun {
    /// Where databases, sockets and logs go. Its folder `cases` holds the tests.
    pub folder: PathBuf,
    /// The switch to be tested.
    pub target: Target,
    /// What its cases are like.
    pub load: CaseLoad,
    /// The pause after each case.
    pub interval_s: u32,
    /// The interpreter that has os-ken.
    pub python: PathBuf,
    /// The program `taktos`.
    pub taktos: PathBuf,
}

impl TesterRun {
    /// Returns the words by which this program is told to set the stage.
    pub fn words(&self) -> Vec<String> {
        vec![
            self.folder.display().to_string(),
            self.target.word().to_owned(),
            self.load.word().to_owned(),
            self.interval_s.to_string(),
            self.python.display().to_string(),
            self.taktos.display().to_string(),
        ]
    }

    /// Reads the words back.
    pub fn from_words(words: &[&str]) -> Option<Self> {
        let [folder, target, load, interval_s, python, taktos] = words else {
            return None;
        };
        Some(Self {
            folder: PathBuf::from(folder),
            target: Target::from_word(target)?,
            load: CaseLoad::from_word(load)?,
            interval_s: interval_s.parse().ok()?,
            python: PathBuf::from(python),
            taktos: PathBuf::from(taktos),
        })
    }

    /// Sets the stage and runs the tester to its end, with its words on our
    /// standard output.
    ///
    /// # Errors
    ///
    /// If a cable cannot be laid or a program cannot be started.
    pub fn run(&self, workspace: &Workspace) -> Result<ExitCode, Failure> {
        end_with_standard_input();
        if self.load == CaseLoad::Flood {
            // Before all ordinary programs, as everything that is started from
            // here. Where it is not allowed, the tester may fall behind its rate.
            let _ = self.call("chrt", &["--rr", "--pid", "1", "1"]);
        }
        self.lay_cables()?;
        let mut tester = self.start_tester(workspace)?;
        await_tester()?;
        self.start_open_vswitch()?;
        self.add_bridge("tester", TESTER_DPID)?;
        let _target = match self.target {
            Target::Taktos(engine) => Some(self.start_taktos(engine)?),
            Target::OpenVswitch => {
                self.add_bridge("target", TARGET_DPID)?;
                None
            }
        };
        // The tester ends itself by a signal: what it said tells how it went.
        tester.wait().map_err(not_started("os-ken"))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Lays the cables, on which nothing is sent that the tests did not ask for.
    fn lay_cables(&self) -> Result<(), Failure> {
        for interfaces in ["all", "default"] {
            let path = format!("/proc/sys/net/ipv6/conf/{interfaces}/disable_ipv6");
            // A kernel without IPv6 has nothing to switch off.
            let _ = fs::write(path, "1");
        }
        self.call("ip", &["link", "set", "lo", "up"])?;
        for port in PORTS {
            let ends = ["target", "tester"].map(|switch| format!("{switch}{port}"));
            let cable = ["type", "veth", "peer", "name", &ends[1]];
            self.call("ip", &[&["link", "add", &ends[0]][..], &cable].concat())?;
            for end in &ends {
                self.call("ip", &["link", "set", end, "up"])?;
            }
        }
        Ok(())
    }

    /// Starts a private Open vSwitch, with everything of it in our folder.
    fn start_open_vswitch(&self) -> Result<(), Failure> {
        let database = "unix:db.sock";
        self.call("ovsdb-tool", &["create", "conf.db"])?;
        let options = ["--detach", "--no-chdir", "--pidfile", "--log-file"];
        let listen = ["--remote=punix:db.sock", "conf.db"];
        self.call("ovsdb-server", &[&options[..], &listen].concat())?;
        self.vsctl(&["--no-wait", "init"])?;
        let set = ["--no-wait", "set", "Open_vSwitch", "."];
        let cache = match self.load {
            // It lags behind the tables, by which one test in five fails: without
            // room in it every frame is judged by the tables as they stand.
            CaseLoad::Single => "other_config:flow-limit=0",
            // It is needed here, and what it counts is to come to light soon.
            CaseLoad::Stream | CaseLoad::Flood => "other_config:max-revalidator=100",
        };
        self.vsctl(&[&set[..], &[cache]].concat())?;
        self.call("ovs-vswitchd", &[&options[..], &[database]].concat())
    }

    /// Adds a bridge of the userspace datapath that does nothing but what its
    /// controller says.
    fn add_bridge(&self, name: &str, dpid: &str) -> Result<(), Failure> {
        let set = ["--", "set", "bridge", name];
        let dpid = format!("other-config:datapath-id={dpid}");
        let settings = [
            "datapath_type=netdev",
            "protocols=OpenFlow13",
            "fail_mode=secure",
            "other-config:disable-in-band=true",
            &dpid,
        ];
        self.vsctl(&[&["add-br", name][..], &set, &settings].concat())?;
        for port in PORTS {
            let interface = format!("{name}{port}");
            let number = format!("ofport_request={port}");
            let set = ["--", "set", "interface", &interface, &number];
            self.vsctl(&[&["add-port", name, &interface][..], &set].concat())?;
        }
        let connect = ["set-controller", name, CONTROLLER];
        let apart = [
            "--",
            "set",
            "controller",
            name,
            "connection-mode=out-of-band",
        ];
        self.vsctl(&[&connect[..], &apart].concat())
    }

    fn start_taktos(&self, engine: Engine) -> Result<Child, Failure> {
        let ports = PORTS.map(|port| format!("target{port}")).join(",");
        let mut command = Command::new(&self.taktos);
        command
            .args(["switch", "--ports", &ports])
            .args(["--controller", CONTROLLER, "--dpid", TARGET_DPID])
            .args(["--engine", engine.word(), "--control", "taktos.sock"]);
        let log = self.log("taktos.log")?;
        let complaints = log.try_clone().map_err(Failure::at(&self.folder))?;
        let command = command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(complaints);
        command.spawn().map_err(not_started("taktos"))
    }

    fn start_tester(&self, workspace: &Workspace) -> Result<Child, Failure> {
        let words = io::stdout().as_fd().try_clone_to_owned();
        let words = words.map_err(Failure::at(&self.folder))?;
        let mut command = Command::new(&self.python);
        command
            .arg(workspace.root().join("neighbours/start_os_ken.py"))
            .arg("--ofp-listen-host=127.0.0.1")
            .arg("--test-switch-dir=cases")
            .arg(format!("--test-switch-interval={}", self.interval_s))
            .arg("switch_tester")
            .env("OSKEN_HUB_TYPE", "eventlet")
            .env("PYTHONUNBUFFERED", "1")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(words);
        command.spawn().map_err(not_started("os-ken"))
    }

    fn vsctl(&self, arguments: &[&str]) -> Result<(), Failure> {
        let options = ["--db=unix:db.sock", "--timeout=20"];
        self.call("ovs-vsctl", &[&options[..], arguments].concat())
    }

    /// Runs a program to its end in our folder; what it says goes to a log.
    fn call(&self, program: &str, arguments: &[&str]) -> Result<(), Failure> {
        let log = self.log("programs.log")?;
        let complaints = log.try_clone().map_err(Failure::at(&self.folder))?;
        let mut command = Command::new(program);
        let command = command
            .args(arguments)
            .current_dir(&self.folder)
            .env("OVS_RUNDIR", &self.folder)
            .env("OVS_LOGDIR", &self.folder)
            .env("OVS_DBDIR", &self.folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(complaints);
        if command.status().map_err(not_started(program))?.success() {
            return Ok(());
        }
        let log = self.folder.join("programs.log");
        let said = fs::read_to_string(&log).unwrap_or_default();
        let last = said.lines().last().unwrap_or("it did not say why");
        let words = arguments.join(" ");
        Err(Failure::Missing(format!("{program} {words}: {last}")))
    }

    fn log(&self, name: &str) -> Result<File, Failure> {
        let path = self.folder.join(name);
        let mut options = File::options();
        let options = options.append(true).create(true);
        options.open(&path).map_err(Failure::at(&path))
    }
}

/// Waits until the tester listens: a switch that is turned away tries again
/// later and later.
fn await_tester() -> Result<(), Failure> {
    let give_up = Instant::now() + START_MAX;
    while !fs::read_to_string("/proc/net/tcp").is_ok_and(|sockets| sockets.contains(LISTENS)) {
        if Instant::now() > give_up {
            let seconds = START_MAX.as_secs();
            let sentence = format!("os-ken does not listen after {seconds} s");
            return Err(Failure::Missing(sentence));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Ends this process when nobody holds the other end of its standard input.
fn end_with_standard_input() {
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
}

fn not_started(program: &str) -> impl FnOnce(io::Error) -> Failure {
    let name = program.to_owned();
    move |error| Failure::Program { name, error }
}

/// Lays the folder of a stage out anew, with these files as its cases.
///
/// # Errors
///
/// If it cannot be written.
pub fn lay_out(folder: &Path, cases: &[CaseFile]) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Failure::at(folder))?;
    }
    let within = folder.join("cases");
    fs::create_dir_all(&within).map_err(Failure::at(&within))?;
    for case in cases {
        let link = within.join(&case.name);
        std::os::unix::fs::symlink(&case.path, &link).map_err(Failure::at(&link))?;
    }
    Ok(())
}
