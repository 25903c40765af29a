//! What the switches of a run were taken to be: every promise rests on it.

use serde::Serialize;

/// A profile and the switches that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileReport {
    /// Its name.
    pub name: String,
    /// How many switches have it.
    pub switches: usize,
    /// Where its figures come from.
    pub origin: ProfileOrigin,
    /// Which device it describes, in a sentence.
    pub about: String,
    /// The longest time from the arrival of a frame to its queue in an idle switch, with
    /// its tables.
    pub latency_ns: u64,
    /// The longest time for which one frame occupies the processing stage, likewise.
    pub per_frame_ns: u64,
    /// How it was measured on this machine, if it was.
    pub measured: Option<MeasuredHere>,
    /// Why it is not one measured on this machine, where that was wanted.
    pub instead: Option<String>,
}

/// Where the figures of a profile come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileOrigin {
    /// The scenario names it: one that the program carries with it, or a file.
    Scenario,
    /// The command line names it.
    Chosen,
    /// It is that of the engine that forwards for the switches.
    Engine,
    /// It was measured on this machine.
    Measured,
}

/// Under which conditions a profile was measured on the machine of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeasuredHere {
    /// When, in nanoseconds since the beginning of 1970.
    pub at_unix_ns: u64,
    /// How long it took.
    pub took_ns: u64,
    /// Whether an earlier run did it.
    pub kept: bool,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// How many of them could be used.
    pub processors: usize,
    /// The load of the minute before, in hundredths.
    pub load_hundredths: u32,
    /// Frames whose latency was taken.
    pub frames: u64,
    /// Frames that were left out, since the machine stood still while they crossed.
    pub disturbed: u64,
    /// How often the machine stood still meanwhile.
    pub stalls: u64,
    /// The longest of these.
    pub longest_stall_ns: u64,
}
