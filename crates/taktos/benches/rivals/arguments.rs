//! What the comparison is told.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use units::Duration;

use crate::subject::{Ports, Subject, Turns};

/// Compares the Taktos switch with Open vSwitch, the Linux bridge and a bare
/// forwarder, on virtual Ethernet in namespaces of its own.
///
/// Needs root, or a system that gives users namespaces of their own (without
/// AF_XDP then), and the Debian packages openvswitch-switch and iproute2 for the
/// rivals; what is missing is left out and said so.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Takes two minutes instead of ten: fewer rounds, fewer spacings.
    #[arg(long)]
    pub quick: bool,
    /// Compares only subjects whose name contains this, such as `taktos` or
    /// `af_xdp, spinning`; may be repeated.
    #[arg(long)]
    pub only: Vec<String>,
    /// Measures only this.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub part: Vec<Part>,
    /// Where all figures go.
    #[arg(long, default_value = "rivals.json")]
    pub json: PathBuf,
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
    /// Is the bare forwarder.
    #[command(hide = true)]
    Forward {
        /// How its ports are carried.
        ports: Ports,
        /// How it waits.
        turns: Turns,
    },
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// One-way latency.
    Latency,
    /// Throughput without loss.
    Throughput,
    /// Processor time of a frame.
    Cost,
    /// Barriers and flow-mods.
    Control,
}

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How often each subject has its turn.
    pub latency_rounds: usize,
    /// How far apart frames are, and how many go in one turn.
    pub spacings: Vec<(Duration, usize)>,
    /// How often the rate of each subject is searched.
    pub throughput_rounds: usize,
    /// How long one trial takes.
    pub trial: Duration,
    /// How often rules are changed: one entry at once, and ten thousand.
    pub changes: [u32; 2],
}

impl Arguments {
    /// Tells whether a subject takes part.
    pub fn includes(&self, subject: Subject) -> bool {
        let name = subject.to_string().to_lowercase();
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|word| name.contains(&word.to_lowercase()))
    }

    /// Tells whether this is measured.
    pub fn measures(&self, part: Part) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    /// Returns how much is measured.
    pub fn plan(&self) -> Plan {
        let us = Duration::from_us;
        if self.quick {
            return Plan {
                latency_rounds: 3,
                spacings: vec![(us(125), 2400), (us(1000), 300)],
                throughput_rounds: 1,
                trial: Duration::from_ms(100),
                changes: [100, 20],
            };
        }
        Plan {
            latency_rounds: 6,
            spacings: vec![
                (us(125), 4000),
                (us(250), 2000),
                (us(500), 1000),
                (us(1000), 600),
                (us(2000), 300),
            ],
            throughput_rounds: 2,
            trial: Duration::from_ms(250),
            changes: [1000, 100],
        }
    }
}
