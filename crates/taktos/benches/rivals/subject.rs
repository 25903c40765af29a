//! What is compared.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use lab::switches::Carried;
use linux::packet_loop::Waiting;
use units::Duration;

use crate::controller::Controller;
use crate::process::{self, Process, Processors, Start, is_installed};
use crate::stage::{PORTS, Stage};
use crate::{open_vswitch, traffic};

/// Something that carries frames from one port to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The bare forwarder.
    Bare(Ports, Turns),
    /// The Taktos switch.
    Taktos(Ports, Turns),
    /// Open vSwitch, its datapath in user space.
    OpenVswitch(Ports),
    /// The bridge in the kernel.
    Bridge,
}

/// How a subject's ports are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Ports {
    /// By AF_XDP.
    Xdp,
    /// By packet sockets.
    Packet,
}

/// How a subject waits for frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Turns {
    /// Without pause.
    Spin,
    /// In the kernel.
    Sleep,
}

impl Subject {
    /// All of them, in the order in which they have their turns.
    pub const ALL: [Self; 11] = [
        Self::Bare(Ports::Xdp, Turns::Spin),
        Self::Taktos(Ports::Xdp, Turns::Spin),
        Self::OpenVswitch(Ports::Xdp),
        Self::Bare(Ports::Packet, Turns::Spin),
        Self::Taktos(Ports::Packet, Turns::Spin),
        Self::OpenVswitch(Ports::Packet),
        Self::Bridge,
        Self::Bare(Ports::Xdp, Turns::Sleep),
        Self::Taktos(Ports::Xdp, Turns::Sleep),
        Self::Bare(Ports::Packet, Turns::Sleep),
        Self::Taktos(Ports::Packet, Turns::Sleep),
    ];

    /// Returns what this machine lacks to run it.
    pub fn lacks(self) -> Option<String> {
        let (programs, package): (&[&str], _) = match self {
            Self::Bare(..) | Self::Taktos(..) => (&[], ""),
            Self::OpenVswitch(_) => (&open_vswitch::PROGRAMS, open_vswitch::PACKAGE),
            Self::Bridge => (&["ip"], "iproute2"),
        };
        let missing = programs.iter().find(|program| !is_installed(program))?;
        Some(format!(
            "`{missing}` is not installed: apt install {package}"
        ))
    }

    /// Tells whether it has rules that a controller can change.
    pub fn has_rules(self) -> bool {
        match self {
            Self::Taktos(..) | Self::OpenVswitch(_) => true,
            Self::Bare(..) | Self::Bridge => false,
        }
    }

    /// Tells whether it waits in the kernel by choice.
    pub fn sleeps(self) -> bool {
        match self {
            Self::Bare(_, turns) | Self::Taktos(_, turns) => turns == Turns::Sleep,
            Self::OpenVswitch(_) | Self::Bridge => false,
        }
    }

    /// Returns the bare forwarder that is carried alike and waits alike: the floor
    /// for a subject in user space.
    pub fn floor(self) -> Self {
        match self {
            Self::Bare(ports, turns) | Self::Taktos(ports, turns) => Self::Bare(ports, turns),
            Self::OpenVswitch(ports) => Self::Bare(ports, Turns::Spin),
            Self::Bridge => Self::Bare(Ports::Xdp, Turns::Spin),
        }
    }

    /// Starts it on a stage, with the hundred entries if it has any.
    pub fn start(self, stage: &Stage, processor: usize, folder: &Path) -> io::Result<Running> {
        std::fs::create_dir_all(folder)?;
        let mut running = match self {
            Self::Bare(ports, turns) => forwarder(stage, (ports, turns), processor, folder)?,
            Self::Taktos(ports, turns) => taktos(stage, (ports, turns), processor, folder)?,
            Self::OpenVswitch(ports) => {
                let carried = ports.carried();
                let started = open_vswitch::start(&stage.room, carried, processor, folder);
                let (processes, control) = started?;
                Running {
                    processes,
                    control: Some(control),
                }
            }
            Self::Bridge => bridge(stage)?,
        };
        if let Some(mut controller) = running.controller()? {
            controller.replace_entries(&traffic::entries())?;
        }
        Ok(running)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(ports, turns) => write!(f, "bare forwarder, {ports}, {turns}"),
            Self::Taktos(ports, turns) => write!(f, "Taktos, {ports}, {turns}"),
            Self::OpenVswitch(ports) => write!(f, "Open vSwitch, {ports}"),
            Self::Bridge => write!(f, "Linux bridge"),
        }
    }
}

impl Ports {
    /// Returns the word for it on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::Packet => "packet",
        }
    }

    /// Returns how the lab says it.
    pub fn carried(self) -> Carried {
        match self {
            Self::Xdp => Carried::Xdp,
            Self::Packet => Carried::Packet,
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xdp => "AF_XDP",
            Self::Packet => "AF_PACKET",
        })
    }
}

impl Turns {
    /// Returns the word for it on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Sleep => "sleep",
        }
    }

    /// Returns how the loop says it.
    pub fn waiting(self) -> Waiting {
        match self {
            Self::Spin => Waiting::Spinning,
            Self::Sleep => Waiting::Sleeping,
        }
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spin => "spinning",
            Self::Sleep => "sleeping",
        })
    }
}

/// A subject that runs; it ends with this value.
#[derive(Debug)]
pub struct Running {
    processes: Vec<Process>,
    /// The socket at which it takes controllers.
    control: Option<PathBuf>,
}

impl Running {
    /// Connects a controller, if the subject takes any.
    pub fn controller(&mut self) -> io::Result<Option<Controller>> {
        self.control.as_deref().map(Controller::connect).transpose()
    }

    /// Makes it stand still, so that others have the processor.
    pub fn pause(&self) -> io::Result<()> {
        self.processes.iter().try_for_each(Process::pause)
    }

    /// Lets it go on.
    pub fn resume(&self) -> io::Result<()> {
        self.processes.iter().try_for_each(Process::resume)
    }

    /// Returns for how long it stood ready while something else had the processor.
    pub fn waited(&self) -> Duration {
        let waits = self.processes.iter().map(Process::waited);
        waits.fold(Duration::ZERO, |sum, wait| sum + wait)
    }

    /// Returns for how long each of its threads has run.
    pub fn busy(&self) -> BTreeMap<PathBuf, Duration> {
        self.processes.iter().flat_map(Process::busy).collect()
    }

    /// Tells whether one of its programs has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.processes.iter_mut().any(Process::has_ended)
    }
}

fn forwarder(
    stage: &Stage,
    (ports, turns): (Ports, Turns),
    processor: usize,
    folder: &Path,
) -> io::Result<Running> {
    let program = std::env::current_exe()?;
    let program = program.display().to_string();
    let process = Process::start(&Start {
        room: &stage.room,
        processors: Processors::Only(processor),
        command: &[&program, "forward", ports.word(), turns.word()],
        environment: &[],
        log: &folder.join("forwarder.log"),
    })?;
    Ok(Running {
        processes: vec![process],
        control: None,
    })
}

fn taktos(
    stage: &Stage,
    (ports, turns): (Ports, Turns),
    processor: usize,
    folder: &Path,
) -> io::Result<Running> {
    let control = folder.join("taktos.sock");
    let control_name = control.display().to_string();
    let (interfaces, processor) = (PORTS.join(","), processor.to_string());
    let waiting = match turns {
        Turns::Spin => "--spin",
        Turns::Sleep => "--sleep",
    };
    let process = Process::start(&Start {
        room: &stage.room,
        processors: Processors::All,
        command: &[
            env!("CARGO_BIN_EXE_taktos"),
            "switch",
            "--ports",
            &interfaces,
            "--engine",
            ports.word(),
            waiting,
            "--cpu",
            &processor,
            "--control",
            &control_name,
        ],
        environment: &[],
        log: &folder.join("taktos.log"),
    })?;
    Ok(Running {
        processes: vec![process],
        control: Some(control),
    })
}

fn bridge(stage: &Stage) -> io::Result<Running> {
    let run = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        process::run(&stage.room, &words)
    };
    run("ip link add bridge0 type bridge mcast_snooping 0 stp_state 0")?;
    for port in PORTS {
        run(&format!("ip link set {port} master bridge0"))?;
    }
    run("ip link set bridge0 up")?;
    Ok(Running {
        processes: Vec::new(),
        control: None,
    })
}
