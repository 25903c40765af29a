//! The controllers that are compared, and how each is started.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::packet_ins::Dialect;

use crate::process::Process;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Taktos,
    /// Answers from the frame alone.
    Null,
    /// Reads, looks up, answers, and nothing else.
    Learning,
    /// The one that comes with Open vSwitch.
    TestController,
    /// os-ken with a learning switch of some thirty lines.
    OsKen,
}

impl Subject {
    /// All of them, in the order of their turns.
    pub const ALL: [Self; 5] = [
        Self::Null,
        Self::Learning,
        Self::Taktos,
        Self::TestController,
        Self::OsKen,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Taktos => "taktos",
            Self::Null => "null responder",
            Self::Learning => "learning responder",
            Self::TestController => "ovs-testcontroller",
            Self::OsKen => "os-ken",
        }
    }

    /// Returns the version of OpenFlow that it is spoken to in.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Taktos | Self::Null | Self::Learning | Self::OsKen => Dialect::OpenFlow13,
            // What it speaks unless it is told otherwise.
            Self::TestController => Dialect::OpenFlow10,
        }
    }

    /// Returns how many switches it can serve.
    pub const fn most_switches(self) -> u16 {
        match self {
            Self::Taktos | Self::Null | Self::Learning | Self::OsKen => u16::MAX,
            // `MAX_SWITCHES` of its source.
            Self::TestController => 16,
        }
    }

    /// Says why it cannot take part, if it cannot.
    pub fn missing(self) -> Option<String> {
        match self {
            Self::Taktos | Self::Null | Self::Learning => None,
            Self::TestController => {
                let mut program = Command::new(TEST_CONTROLLER);
                let program = program.arg("--version").stdout(Stdio::null());
                let is_there = program.stderr(Stdio::null()).status().is_ok();
                let missing = "needs the Debian package openvswitch-testcontroller";
                (!is_there).then(|| missing.to_owned())
            }
            Self::OsKen => {
                let missing = "needs its Python environment: cargo xtask neighbours";
                (!os_ken_python().is_file()).then(|| missing.to_owned())
            }
        }
    }

    /// Starts it; it listens on `port` of the loopback address.
    pub fn start(self, port: u16, processor: usize) -> io::Result<Process> {
        let own = env::current_exe()?.display().to_string();
        let job = |name: &str| vec![own.clone(), name.to_owned(), port.to_string()];
        let (command, environment): (_, &[_]) = match self {
            Self::Taktos => (job("taktos"), &[]),
            Self::Null => (job("null"), &[]),
            Self::Learning => (job("learn"), &[]),
            Self::TestController => {
                let method = format!("ptcp:{port}:127.0.0.1");
                (
                    vec![
                        TEST_CONTROLLER.to_owned(),
                        "--unixctl=none".to_owned(),
                        method,
                    ],
                    &[],
                )
            }
            Self::OsKen => (os_ken(port), &[("OSKEN_HUB_TYPE", "eventlet")]),
        };
        Process::start(processor, &command, environment)
    }
}

const TEST_CONTROLLER: &str = "ovs-testcontroller";

fn os_ken(port: u16) -> Vec<String> {
    let neighbours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../neighbours");
    let file = |name: &str| neighbours.join(name).display().to_string();
    vec![
        os_ken_python().display().to_string(),
        file("start_os_ken.py"),
        "--ofp-listen-host=127.0.0.1".to_owned(),
        format!("--ofp-tcp-listen-port={port}"),
        file("learning_switch.py"),
    ]
}

/// Returns where `cargo xtask` puts the interpreter with os-ken.
fn os_ken_python() -> PathBuf {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let target = env::var_os("CARGO_TARGET_DIR").map_or(usual, PathBuf::from);
    target.join("neighbours/os-ken/bin/python")
}
