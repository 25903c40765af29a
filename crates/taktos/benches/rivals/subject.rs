//! What is compared.

use std::fmt;
use std::process::Command;

use clap::ValueEnum;
use lab::switches::Carried;
use linux::packet_loop::Waiting;

use crate::arrangement::Arrangement;
use lab::open_vswitch;
use lab::process::is_installed;

/// Something that carries frames from one port to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The bare forwarder.
    Bare(Ports, Turns),
    /// The Taktos switch, its core moving the frames.
    Taktos(Ports, Turns),
    /// The Taktos switch, its tables compiled into the kernel.
    TaktosKernel,
    /// Open vSwitch, its datapath in user space.
    OpenVswitch(Ports),
    /// The bridge in the kernel.
    Bridge,
    /// A program in the kernel that moves frames to the other port and does
    /// nothing else, where traffic control takes them in.
    TcRedirect,
    /// The same, where the driver takes them in.
    XdpRedirect,
}

/// Whose processor time a frame takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// That of programs of the subject.
    Programs,
    /// That of whoever sends: the kernel carries a frame on at once.
    Kernel,
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
    pub const ALL: [Self; 14] = [
        Self::TcRedirect,
        Self::TaktosKernel,
        Self::OpenVswitch(Ports::Xdp),
        Self::Bridge,
        Self::XdpRedirect,
        Self::Bare(Ports::Xdp, Turns::Spin),
        Self::Taktos(Ports::Xdp, Turns::Spin),
        Self::Bare(Ports::Packet, Turns::Spin),
        Self::Taktos(Ports::Packet, Turns::Spin),
        Self::OpenVswitch(Ports::Packet),
        Self::Bare(Ports::Xdp, Turns::Sleep),
        Self::Taktos(Ports::Xdp, Turns::Sleep),
        Self::Bare(Ports::Packet, Turns::Sleep),
        Self::Taktos(Ports::Packet, Turns::Sleep),
    ];

    /// Returns what this machine lacks to run it.
    pub fn lacks(self) -> Option<String> {
        let (programs, package): (&[&str], _) = match self {
            Self::Bare(..) | Self::Taktos(..) | Self::TcRedirect | Self::XdpRedirect => (&[], ""),
            Self::TaktosKernel if has_kernel_engine() => (&[], ""),
            Self::TaktosKernel => {
                return Some("`taktos switch` has no `--engine kernel`".to_owned());
            }
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
            Self::Taktos(..) | Self::TaktosKernel | Self::OpenVswitch(_) => true,
            Self::Bare(..) | Self::Bridge | Self::TcRedirect | Self::XdpRedirect => false,
        }
    }

    /// Tells whether it is ours.
    pub fn is_taktos(self) -> bool {
        match self {
            Self::Taktos(..) | Self::TaktosKernel => true,
            Self::Bare(..)
            | Self::OpenVswitch(_)
            | Self::Bridge
            | Self::TcRedirect
            | Self::XdpRedirect => false,
        }
    }

    /// Tells whether it is a program that waits in the kernel by choice.
    pub fn sleeps(self) -> bool {
        match self {
            Self::Bare(_, turns) | Self::Taktos(_, turns) => turns == Turns::Sleep,
            Self::TaktosKernel
            | Self::OpenVswitch(_)
            | Self::Bridge
            | Self::TcRedirect
            | Self::XdpRedirect => false,
        }
    }

    /// Returns whose processor time a frame takes.
    pub fn home(self) -> Home {
        match self {
            Self::Bare(..) | Self::Taktos(..) | Self::OpenVswitch(_) => Home::Programs,
            Self::TaktosKernel | Self::Bridge | Self::TcRedirect | Self::XdpRedirect => {
                Home::Kernel
            }
        }
    }

    /// Returns the one that only moves frames, by the same means: the floor.
    pub fn floor(self) -> Self {
        match self {
            Self::Bare(ports, turns) | Self::Taktos(ports, turns) => Self::Bare(ports, turns),
            Self::OpenVswitch(ports) => Self::Bare(ports, Turns::Spin),
            Self::TaktosKernel | Self::Bridge | Self::TcRedirect => Self::TcRedirect,
            Self::XdpRedirect => Self::XdpRedirect,
        }
    }

    /// Tells whether its work can be put on processors like that. A program has one
    /// of its own; what the driver hands on stays where it is.
    pub fn can_be(self, arrangement: Arrangement) -> bool {
        match (self, arrangement) {
            (Self::XdpRedirect, Arrangement::Apart) => false,
            (Self::TaktosKernel | Self::Bridge | Self::TcRedirect | Self::XdpRedirect, _) => true,
            (Self::Bare(..) | Self::Taktos(..) | Self::OpenVswitch(_), _) => false,
        }
    }

    /// Returns into how many parts the frames of a round are divided, of which it
    /// has one: the tails of those that sleep are the machine's.
    pub fn share(self) -> usize {
        if self.sleeps() { 4 } else { 1 }
    }

    /// Tells whether its port can be given a rate and classes that go first.
    pub fn paces(self) -> bool {
        match self {
            Self::Taktos(_, turns) => turns == Turns::Spin,
            // Its packet sockets leave by the queueing discipline of the port.
            Self::OpenVswitch(ports) => ports == Ports::Packet,
            Self::TaktosKernel | Self::TcRedirect => true,
            Self::Bare(..) | Self::Bridge | Self::XdpRedirect => false,
        }
    }
}

/// Looks whether the program of this build has the engine.
fn has_kernel_engine() -> bool {
    let help = Command::new(env!("CARGO_BIN_EXE_taktos"))
        .args(["switch", "--help"])
        .output();
    let help = help.map_or_else(
        |_| String::new(),
        |said| String::from_utf8_lossy(&said.stdout).into_owned(),
    );
    let engine = help.split_once("--engine").map_or("", |(_, rest)| rest);
    let engine = engine.split("\n      --").next().unwrap_or("");
    engine.contains("kernel:")
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(ports, turns) => write!(f, "bare forwarder, {ports}, {turns}"),
            Self::Taktos(ports, turns) => write!(f, "Taktos, {ports}, {turns}"),
            Self::TaktosKernel => write!(f, "Taktos, kernel"),
            Self::OpenVswitch(ports) => write!(f, "Open vSwitch, {ports}"),
            Self::Bridge => write!(f, "Linux bridge"),
            Self::TcRedirect => write!(f, "tc redirect"),
            Self::XdpRedirect => write!(f, "XDP redirect"),
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
