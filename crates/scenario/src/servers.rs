//! A network of servers and flows, as `taktos analyze` is given it.
//!
//! The text is JSON: our own format, in SI units, or the output-port network of
//! Saihu, in whatever units it names. Every number is read exactly and rounded
//! against us where it is finer than a millionth of a bit or a femtosecond:
//! what arrives up, what is served down. `docs/analysis.md` describes both.

mod decimal;
mod names;
mod object;
mod read;
mod saihu;
mod write;

use units::fine::{Data, Rate, Time};

pub use decimal::exact_decimal;
pub use write::NotExpressible;

use crate::limits::LONGEST_NETWORK;
use crate::problem::Problems;
use crate::{Mistake, ScenarioError};
use units::DataSize;

/// A network of servers and flows. Servers are referred to by their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerNetwork {
    pub id: Option<String>,
    /// The method that the file asks for, as it is written.
    pub method: Option<String>,
    /// Whether a packet leaves a server only when its last bit has been served.
    pub packetizer: bool,
    /// Whether what a link carries counts as shaped by its rate.
    pub line_shaping: bool,
    /// The servers; their names are unique.
    pub servers: Vec<Server>,
    /// The flows; their names are unique.
    pub flows: Vec<ServedFlow>,
    /// What was taken differently from how it is written, in whole sentences.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub id: String,
    /// What it does at least: the maximum of one or more rates, each after a
    /// latency. Rates are rounded down, latencies up.
    pub service: Vec<(Rate, Time)>,
    /// The rate of the link behind it, rounded up.
    pub link: Option<Rate>,
    /// In which order it serves, if the file says.
    pub multiplexing: Option<Multiplexing>,
}

/// A flow that crosses servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedFlow {
    pub id: String,
    /// What arrives at most: the minimum of one or more token buckets of rate and
    /// burst, rounded up.
    pub buckets: Vec<(Rate, Data)>,
    /// The servers that it crosses, by their places.
    pub path: Vec<usize>,
    /// Its largest packet, rounded up; zero for a fluid.
    pub max_packet: Data,
    /// How urgent it is; 0 is the most urgent.
    pub priority: u8,
    /// The place of the multicast flow of which it is another branch: that flow,
    /// which is none itself, and its branches stand one behind the other.
    pub branch_of: Option<usize>,
}

/// In which order a server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplexing {
    Arbitrary,
    Fifo,
    /// The most urgent first, no packet interrupted.
    StrictPriority,
}

impl Multiplexing {
    /// All of them, with the words that files use.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("arbitrary", Self::Arbitrary),
        ("fifo", Self::Fifo),
        ("strict-priority", Self::StrictPriority),
    ];

    /// Returns the word that files use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Arbitrary => "arbitrary",
            Self::Fifo => "fifo",
            Self::StrictPriority => "strict-priority",
        }
    }
}

impl ServerNetwork {
    /// Reads a network in either format: a Saihu file is known by its `network`.
    ///
    /// # Errors
    ///
    /// All mistakes of the text, each at its place.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let mut problems = Problems::default();
        if text.len() > LONGEST_NETWORK {
            let (size, limit) = (text.len() as u64, LONGEST_NETWORK as u64);
            let mistake = Mistake::FileTooLong {
                size: DataSize::from_bytes(size),
                limit: DataSize::from_bytes(limit),
            };
            problems.report(0..0, mistake);
            return Err(problems.into_error(name, "", "JSON"));
        }
        let network = object::top(text, &mut problems).map(|top| match top.has("network") {
            true => saihu::read(top, &mut problems),
            false => read::read(top, &mut problems),
        });
        match network.filter(|_| problems.is_empty()) {
            Some(network) => Ok(network),
            None => Err(problems.into_error(name, text, "JSON")),
        }
    }
}

#[cfg(test)]
mod tests;
