//! A subject that runs: how each is started, told to stand still, and asked what
//! it took of the processor.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use linux::bpf::relay::{Hook, Relay};
use units::{BitRate, Duration};

use crate::controller::Controller;
use crate::kernel_forwarder;
use crate::subject::{Ports, Subject, Turns};
use crate::traffic::Entry;
use lab::open_vswitch;
use lab::process::{self, Process, Processors, Start};
use lab::stage::Testbed;

/// Where and how a subject is to run.
#[derive(Clone, Copy, Debug)]
pub struct Post<'a> {
    pub stage: &'a Testbed,
    /// The processor that its programs have for themselves.
    pub processor: usize,
    pub folder: &'a Path,
    /// The rate of its port towards the right host; without one it sends as fast
    /// as it can.
    pub rate: Option<BitRate>,
}

/// A subject that runs; it ends with this value.
#[derive(Debug)]
pub struct Running {
    processes: Vec<Process>,
    /// The socket at which it takes controllers.
    control: Option<PathBuf>,
    /// What it has in the kernel.
    _attached: Vec<Relay>,
}

impl Running {
    /// Starts a subject, with these entries if it has any.
    pub fn start(subject: Subject, post: Post<'_>, entries: &[Entry]) -> io::Result<Self> {
        std::fs::create_dir_all(post.folder)?;
        let mut running = match subject {
            Subject::Bare(ports, turns) => forwarder(post, ports, turns)?,
            Subject::Taktos(ports, turns) => {
                let waiting = match turns {
                    Turns::Spin => "--spin",
                    Turns::Sleep => "--sleep",
                };
                taktos(post, ports.word(), waiting)?
            }
            Subject::TaktosKernel => taktos(post, "kernel", "--sleep")?,
            Subject::OpenVswitch(ports) => open_vswitch(post, ports)?,
            Subject::Bridge => bridge(post.stage)?,
            Subject::TcRedirect => {
                Self::attached(kernel_forwarder::start(post, Hook::TrafficControl)?)
            }
            Subject::XdpRedirect => Self::attached(kernel_forwarder::start(post, Hook::Driver)?),
        };
        if let Some(mut controller) = running.controller()? {
            controller.replace_entries(entries)?;
        }
        Ok(running)
    }

    /// Connects a controller, if the subject takes any.
    pub fn controller(&mut self) -> io::Result<Option<Controller>> {
        let Some(socket) = self.control.clone() else {
            return Ok(None);
        };
        Controller::connect(&socket, || self.has_ended()).map(Some)
    }

    /// Makes it stand still, so that others have the processor. What runs in the
    /// kernel takes none without frames.
    pub fn pause(&self) -> io::Result<()> {
        self.processes.iter().try_for_each(Process::pause)
    }

    pub fn resume(&self) -> io::Result<()> {
        self.processes.iter().try_for_each(Process::resume)
    }

    /// Returns for how long it stood ready while something else had the processor.
    pub fn waited(&self) -> Duration {
        self.processes.iter().map(Process::waited).sum()
    }

    /// Returns for how long each of its threads has run.
    pub fn busy(&self) -> BTreeMap<PathBuf, Duration> {
        self.processes.iter().flat_map(Process::busy).collect()
    }

    /// Tells whether one of its programs has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.processes.iter_mut().any(Process::has_ended)
    }

    fn attached(attached: Vec<Relay>) -> Self {
        Self {
            processes: Vec::new(),
            control: None,
            _attached: attached,
        }
    }

    fn programs(processes: Vec<Process>, control: Option<PathBuf>) -> Self {
        Self {
            processes,
            control,
            _attached: Vec::new(),
        }
    }
}

fn forwarder(post: Post<'_>, ports: Ports, turns: Turns) -> io::Result<Running> {
    let program = std::env::current_exe()?;
    let program = program.display().to_string();
    let process = Process::start(&Start {
        room: &post.stage.room,
        processors: Processors::Only(post.processor),
        command: &[&program, "forward", ports.word(), turns.word()],
        environment: &[],
        log: &post.folder.join("forwarder.log"),
    })?;
    Ok(Running::programs(vec![process], None))
}

fn taktos(post: Post<'_>, engine: &str, waiting: &str) -> io::Result<Running> {
    let control = post.folder.join("taktos.sock");
    let control_name = control.display().to_string();
    let (interfaces, processor) = (post.stage.ports().join(","), post.processor.to_string());
    let rate = match post.rate {
        Some(rate) => format!("{}={rate}", post.stage.ports()[1]),
        None => "none".to_owned(),
    };
    let process = Process::start(&Start {
        room: &post.stage.room,
        processors: Processors::All,
        command: &[
            env!("CARGO_BIN_EXE_taktos"),
            "switch",
            "--ports",
            &interfaces,
            "--rate",
            &rate,
            "--engine",
            engine,
            waiting,
            "--cpu",
            &processor,
            "--control",
            &control_name,
        ],
        environment: &[],
        log: &post.folder.join("taktos.log"),
    })?;
    Ok(Running::programs(vec![process], Some(control)))
}

fn open_vswitch(post: Post<'_>, ports: Ports) -> io::Result<Running> {
    let (processes, control) = open_vswitch::start(&open_vswitch::Post {
        room: &post.stage.room,
        ports: post.stage.ports(),
        carried: ports.carried(),
        processor: post.processor,
        folder: post.folder,
        rate: post.rate,
    })?;
    Ok(Running::programs(processes, Some(control)))
}

fn bridge(stage: &Testbed) -> io::Result<Running> {
    let run = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        process::run(&stage.room, &words)
    };
    run("ip link add bridge0 type bridge mcast_snooping 0 stp_state 0")?;
    for port in stage.ports() {
        run(&format!("ip link set {port} master bridge0"))?;
    }
    run("ip link set bridge0 up")?;
    Ok(Running::programs(Vec::new(), None))
}
