//! One case: a switch, and what happens to it.
//!
//! A case is text that can be read again, a line for each step, so that one that
//! failed becomes a test by being kept in a file.

use std::fmt::{self, Display, Formatter};

use wire::openflow::Message;

/// A switch, and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub setup: Setup,
    pub steps: Vec<Step>,
}

/// How the switch is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    pub ports: u8,
    pub tables: u8,
    pub masks: usize,
    /// How many entries the compiled form has room for.
    pub room: usize,
    pub seed: u64,
    /// Whether it is a bridge while nobody controls it: 1 or 0.
    pub standalone: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Connect(u32),
    Disconnect(u32),
    /// Bytes arrive from a controller.
    Message(u32, Vec<u8>),
    /// A frame arrives at a port.
    Frame(u8, Vec<u8>),
    /// A link goes down (0) or up (1).
    Link(u8, u8),
    Wait(u64),
}

impl Case {
    /// Reads what [`Display`] writes; what follows `#` is for people.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(|line| line.split('#').next().unwrap());
        let mut lines = lines.filter(|line| !line.trim().is_empty());
        let setup = Setup::parse(lines.next().expect("a case begins with the switch"));
        Self {
            setup,
            steps: lines.map(Step::parse).collect(),
        }
    }

    pub fn frames(&self) -> usize {
        let frames = self.steps.iter();
        frames
            .filter(|step| matches!(step, Step::Frame(..)))
            .count()
    }
}

impl Setup {
    fn parse(line: &str) -> Self {
        let numbers: Vec<u64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [ports, tables, masks, room, seed, standalone] = numbers[..] else {
            panic!("`{line}` is not a switch");
        };
        Self {
            ports: u8::try_from(ports).unwrap(),
            tables: u8::try_from(tables).unwrap(),
            masks: usize::try_from(masks).unwrap(),
            room: usize::try_from(room).unwrap(),
            seed,
            standalone: u8::try_from(standalone).unwrap(),
        }
    }
}

impl Step {
    fn parse(line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["connect", id] => Self::Connect(id.parse().unwrap()),
            ["disconnect", id] => Self::Disconnect(id.parse().unwrap()),
            ["message", id, bytes] => Self::Message(id.parse().unwrap(), from_hex(bytes)),
            ["frame", port, bytes] => Self::Frame(port.parse().unwrap(), from_hex(bytes)),
            ["link", port, up] => Self::Link(port.parse().unwrap(), up.parse().unwrap()),
            ["wait", ns] => Self::Wait(ns.parse().unwrap()),
            _ => panic!("`{line}` is not a step"),
        }
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Setup {
            ports,
            tables,
            masks,
            room,
            seed,
            standalone,
        } = self.setup;
        write!(f, "switch ports {ports} tables {tables} masks {masks} ")?;
        writeln!(f, "room {room} seed {seed} standalone {standalone}")?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(id) => write!(f, "connect {id}"),
            Self::Disconnect(id) => write!(f, "disconnect {id}"),
            Self::Message(id, bytes) => {
                write!(f, "message {id} {}", to_hex(bytes))?;
                match Message::parse(bytes) {
                    Ok((_, message)) => write!(f, " # {message:?}"),
                    Err(_) => Ok(()),
                }
            }
            Self::Frame(port, bytes) => write!(f, "frame {port} {}", to_hex(bytes)),
            Self::Link(port, up) => write!(f, "link {port} {up}"),
            Self::Wait(ns) => write!(f, "wait {ns}"),
        }
    }
}

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let pairs = (0..text.len() / 2).map(|at| &text[2 * at..2 * at + 2]);
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}
