//! What the comparison is told.

use clap::{Parser, Subcommand, ValueEnum};
use units::Duration;

use crate::subject::Subject;

/// Compares controllers on this machine: packet-ins answered a second, and how long
/// an answer takes.
///
/// Needs two processors. The Debian package openvswitch-testcontroller and the Python
/// environment `os-ken` (made by `cargo xtask neighbours`) are used where they are.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Takes one short round.
    #[arg(long)]
    pub quick: bool,
    /// How often each has its turn.
    #[arg(long, default_value_t = 5)]
    pub rounds: u32,
    /// For how long each is measured in one turn, in milliseconds.
    #[arg(long, default_value_t = 1_000)]
    pub trial_ms: u64,
    /// Compares only controllers whose name contains this. May be repeated.
    #[arg(long)]
    pub only: Vec<String>,
    /// How many switches are played.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64")]
    pub switches: Vec<u16>,
    /// How many hosts each has, a multiple of four.
    #[arg(long, default_value_t = 64)]
    pub hosts: u32,
    /// How the switches ask.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub mode: Vec<Mode>,
    /// How many questions a switch that floods leaves open.
    #[arg(long, default_value_t = 1_024)]
    pub outstanding: usize,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    pub bench: bool,
    /// What this process is to do for the comparison.
    #[command(subcommand)]
    pub job: Option<Job>,
}

/// What the program does for itself.
#[derive(Debug, Subcommand)]
pub enum Job {
    /// Is the null responder.
    #[command(hide = true)]
    Null {
        /// Where it listens.
        port: u16,
    },
    /// Is the learning responder.
    #[command(hide = true)]
    Learn {
        /// Where it listens.
        port: u16,
    },
    /// Is Taktos.
    #[command(hide = true)]
    Taktos {
        /// Where it listens.
        port: u16,
    },
}

/// How the switches ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Mode {
    /// As much as the connection takes, so many questions open.
    Flooded,
    /// The next question when the last one is answered.
    One,
    /// On a schedule, at half of what was answered when flooded; the null responder
    /// then at the same rate.
    Open,
}

impl Arguments {
    /// Tells whether a controller takes part.
    pub fn includes(&self, subject: Subject) -> bool {
        let is_meant = |word: &String| subject.name().contains(word.as_str());
        self.only.is_empty() || self.only.iter().any(is_meant)
    }

    /// Tells whether switches ask like this.
    pub fn measures(&self, mode: Mode) -> bool {
        self.mode.is_empty() || self.mode.contains(&mode)
    }

    /// Returns how often each has its turn.
    pub fn rounds(&self) -> u32 {
        match self.quick {
            true => 1,
            false => self.rounds.max(1),
        }
    }

    /// Returns for how long each is measured in one turn.
    pub fn trial(&self) -> Duration {
        match self.quick {
            true => Duration::from_ms(300),
            false => Duration::from_ms(self.trial_ms.max(1)),
        }
    }
}
