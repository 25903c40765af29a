//! What the comparison is told.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use units::Duration;

use crate::control_plane::Means;
use crate::subject::{Home, Ports, Subject, Turns};

/// Compares the Taktos switch with Open vSwitch, the Linux bridge and a bare
/// forwarder, on virtual Ethernet in namespaces of its own.
///
/// Needs root, or a system that gives users namespaces of their own (without
/// AF_XDP then), and the Debian packages openvswitch-switch and iproute2 for the
/// rivals; what is missing is left out and said so.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Takes two minutes instead of six: fewer rounds, fewer frames.
    #[arg(long)]
    pub quick: bool,
    /// Compares only subjects whose name contains this, such as `taktos` or
    /// `af_xdp, spinning`; `kernel` stands for all that the kernel carries, and Open
    /// vSwitch with AF_XDP beside them. May be repeated.
    #[arg(long)]
    pub only: Vec<String>,
    /// Measures only this.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub part: Vec<Part>,
    /// Where all figures go.
    #[arg(long, default_value = "rivals.json")]
    pub json: PathBuf,
    /// Where the tables go, in Markdown.
    #[arg(long, default_value = "rivals.md")]
    pub markdown: PathBuf,
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
    /// Barriers, flow-mods and bundles.
    Control,
    /// One-way latency of the most urgent class under overload of the others.
    Overload,
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
    /// How often the rate of what the kernel carries is searched, on one processor.
    pub one_processor_rounds: usize,
    /// How many entries are changed at once, by what, and how often.
    pub changes: Vec<(u32, Means, u32)>,
    /// How often each subject is overloaded.
    pub overload_rounds: usize,
    /// How many urgent frames are sent meanwhile.
    pub urgent_frames: usize,
}

impl Arguments {
    /// Tells whether a subject takes part.
    pub fn includes(&self, subject: Subject) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| is_meant(subject, word))
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
                one_processor_rounds: 1,
                changes: changes([100, 10, 5]),
                overload_rounds: 2,
                urgent_frames: 1000,
            };
        }
        Plan {
            latency_rounds: 5,
            spacings: vec![(us(125), 8000), (us(1000), 1600)],
            throughput_rounds: 1,
            trial: Duration::from_ms(150),
            one_processor_rounds: 2,
            changes: changes([300, 30, 15]),
            overload_rounds: 3,
            urgent_frames: 2500,
        }
    }
}

/// One entry, ten thousand at once, ten thousand one by one: so many changes.
fn changes([one, many, bundles]: [u32; 3]) -> Vec<(u32, Means, u32)> {
    vec![
        (1, Means::FlowMod, one),
        (10_000, Means::FlowMod, many),
        (10_000, Means::Bundle, bundles),
    ]
}

/// Tells whether somebody who says `word` means this subject.
fn is_meant(subject: Subject, word: &str) -> bool {
    let (name, word) = (subject.to_string().to_lowercase(), word.to_lowercase());
    if word != "kernel" {
        return name.contains(&word);
    }
    subject.home() == Home::Kernel || subject == Subject::OpenVswitch(Ports::Xdp)
}
