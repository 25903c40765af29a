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

use serde::{Deserialize, Serialize};
use units::{BitRate, DataSize, Duration};

use crate::statistics::Distribution;
use crate::time_series::TimeSeries;
use crate::trial::Stamps;
use document::{FigureText, bps, bytes, ns, pairs, some_ns};

/// What a method found out about a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Earlier>,
}

/// An earlier run of a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Earlier {
    /// How many points were taken over from it.
    pub points: u64,
    /// Its conditions at these points.
    pub conditions: Conditions,
}

/// One quantity at one setting.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "FigureText")]
pub struct Figure {
    /// What it is, as in "one-way latency".
    pub quantity: String,
    /// By which formula or clause, as in "S3-1, ASYNC Eq. (4)".
    pub source: String,
    /// The setting, by name and value, in the order of the method's plan, as in
    /// ("interval", "125 us").
    #[serde(serialize_with = "pairs::serialize")]
    pub setting: Vec<(String, String)>,
    pub value: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    #[serde(rename = "distribution_ns")]
    Times(Distribution),
    #[serde(rename = "time_ns", with = "ns")]
    Time(Duration),
    #[serde(rename = "rate_bps", with = "bps")]
    Rate(BitRate),
    /// A rate that the device has, and perhaps a higher one: more was not offered.
    #[serde(rename = "rate_at_least_bps", with = "bps")]
    RateAtLeast(BitRate),
    #[serde(rename = "size_bytes", with = "bytes")]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conditions {
    /// The command that made it.
    pub command: String,
    /// When it began, in nanoseconds since the beginning of 1970.
    pub began_unix_ns: u64,
    #[serde(rename = "took_ns", with = "ns")]
    pub took: Duration,
    /// Everything random follows from it.
    pub seed: u64,
    pub version: String,
    /// The versions of what else took part, by name, the device's among them.
    #[serde(with = "pairs")]
    pub versions: Vec<(String, String)>,
    /// The kernel and the machine, or nothing in virtual time.
    pub machine: Option<Machine>,
    pub stamps: Stamps,
    /// How much later an arrival is stamped than it should be, if that was
    /// measured.
    #[serde(default, rename = "bias_ns", with = "some_ns")]
    pub bias: Option<Duration>,
    /// By how much the stamps of two ports may be apart though they are of one moment.
    #[serde(default, rename = "clocks_apart_ns", with = "ns")]
    pub clocks_apart: Duration,
    /// How long after its intended time each frame left the tester.
    #[serde(rename = "lateness_ns")]
    pub lateness: Distribution,
    /// How long the machine stood still, each time.
    #[serde(rename = "stalls_ns")]
    pub stalls: Distribution,
    /// Frames that went by unseen, as the tester's own buffers were full.
    pub unseen: u64,
    /// Frames that passed without a stamp of the network card that could be believed.
    #[serde(default)]
    pub unstamped: u64,
    /// Frames that arrived when another trial than theirs was under way.
    #[serde(default)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel's release, as in "6.18.0".
    pub kernel: String,
    pub processor: String,
    /// How many of them may be used.
    pub processors: usize,
    /// The kernel's clock source, as in "tsc".
    pub clock_source: String,
    /// The load of the last minute at the beginning, in hundredths.
    #[serde(rename = "load_before_percent")]
    pub load_before: u32,
    /// The same at the end.
    #[serde(rename = "load_after_percent")]
    pub load_after: u32,
}
