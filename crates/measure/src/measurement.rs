//! What a measurement found, and under which conditions: one document for every
//! method, from which tables, JSON, CSV, pages and comparisons are made.
//!
//! A figure without its conditions says nothing. Each one keeps its distribution,
//! never a mean alone, and the document keeps what the machine did meanwhile.
//!
//! | module | shows it as |
//! |---|---|
//! | [`document`] | JSON, and reads that back |
//! | `csv` | a table for spreadsheets |
//! | `text`, `layout`, `pictures` | lines, tables and plots for people |

mod csv;
pub mod document;
mod layout;
mod pictures;
#[cfg(test)]
mod tests;
mod text;

use units::{BitRate, DataSize, Duration};

use crate::statistics::Distribution;
use crate::time_series::TimeSeries;
use crate::trial::Stamps;

/// What a method found out about a device.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The method, as the command line has it.
    pub method: String,
    /// The device, as in "Open vSwitch 3.1.0, AF_XDP ports".
    pub device: String,
    /// Whether it was shortened: then no figure of it is for publication.
    pub quick: bool,
    pub figures: Vec<Figure>,
    /// What is to be known about it, a sentence or more each: what makes a figure
    /// doubtful, what was left out.
    pub remarks: Vec<String>,
    pub conditions: Conditions,
    /// Under which conditions earlier runs of the same plan, which were interrupted,
    /// measured the points that were taken over from them.
    pub earlier: Vec<Earlier>,
}

/// An earlier run of a plan.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// How many points were taken over from it.
    pub points: u64,
    /// Its conditions at these points.
    pub conditions: Conditions,
}

/// One quantity at one setting.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it is, as in "one-way latency".
    pub quantity: String,
    /// By which formula or clause, as in "S3-1, ASYNC Eq. (4)".
    pub source: String,
    /// The setting, by name and value, in the order of the method's plan, as in
    /// ("interval", "125 us").
    pub setting: Vec<(String, String)>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub enum Value {
    Times(Distribution),
    Time(Duration),
    Rate(BitRate),
    /// A rate that the device has, and perhaps a higher one: more was not offered.
    RateAtLeast(BitRate),
    Size(DataSize),
    Count(u64),
    /// A number that the device has room for, and perhaps for more: no more were tried.
    CountAtLeast(u64),
    /// A share of 1.
    Share(f64),
    /// The greatest of several lengths of time, and what was lost, over the run.
    Series(TimeSeries),
    /// It could not be found, and why.
    Unknown(String),
}

/// Under which conditions a measurement was made.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The command that made it.
    pub command: String,
    /// When it began, in nanoseconds since the beginning of 1970.
    pub began_unix_ns: u64,
    pub took: Duration,
    /// Everything random follows from it.
    pub seed: u64,
    pub version: String,
    /// The versions of what else took part, by name, the device's among them.
    pub versions: Vec<(String, String)>,
    /// The kernel and the machine, or nothing in virtual time.
    pub machine: Option<Machine>,
    pub stamps: Stamps,
    /// How much later an arrival is stamped than it should be, if that was
    /// measured.
    pub bias: Option<Duration>,
    /// By how much the stamps of two ports may be apart though they are of one moment.
    pub clocks_apart: Duration,
    /// How long after its intended time each frame left the tester.
    pub lateness: Distribution,
    /// How long the machine stood still, each time.
    pub stalls: Distribution,
    /// Frames that went by unseen, as the tester's own buffers were full.
    pub unseen: u64,
    /// Frames that passed without a stamp of the network card that could be believed.
    pub unstamped: u64,
    /// Frames that arrived when another trial than theirs was under way.
    pub strays: u64,
    /// Frames that were left out, since the tester came too late for them.
    pub skipped: u64,
}

impl Conditions {
    /// Adds what happened in another part of the same run.
    pub fn absorb(&mut self, other: &Self) {
        self.took += other.took;
        self.lateness.merge(&other.lateness);
        self.stalls.merge(&other.stalls);
        self.unseen += other.unseen;
        self.unstamped += other.unstamped;
        self.clocks_apart = self.clocks_apart.max(other.clocks_apart);
        self.strays += other.strays;
        self.skipped += other.skipped;
        if let (Some(machine), Some(other)) = (&mut self.machine, &other.machine) {
            machine.load_after = other.load_after;
        }
    }
}

/// The machine on which a measurement was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The kernel's release, as in "6.18.0".
    pub kernel: String,
    pub processor: String,
    /// How many of them may be used.
    pub processors: usize,
    /// The kernel's clock source, as in "tsc".
    pub clock_source: String,
    /// The load of the last minute at the beginning, in hundredths.
    pub load_before: u32,
    /// The same at the end.
    pub load_after: u32,
}
