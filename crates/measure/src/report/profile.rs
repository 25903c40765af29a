//! What the switches of a run were taken to be: every promise rests on it.

use serde::Serialize;

/// A profile and the switches that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileReport {
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
    /// What bounds that rest on it are worth, where that is less than a worst case.
    pub statistical: Option<Statistical>,
    /// How it was measured on this machine, if it was.
    pub measured: Option<MeasuredHere>,
    /// Why it is not one measured on this machine, where that was wanted.
    pub instead: Option<String>,
}

/// What a bound is worth that rests on measured quantiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statistical {
    /// Of so many frames one is later at most.
    pub one_in: u64,
    /// With so much confidence, in percent.
    pub confidence_percent: u32,
    /// What the machine adds, once on the way of a frame.
    pub cover_ns: u64,
    /// Under which load that was measured, and how.
    pub about: String,
}

impl Statistical {
    /// Returns which share of frames keeps the bound, and how sure that is.
    #[must_use]
    pub fn label(&self) -> String {
        // In hundred-thousandths of a percent, rounded down.
        let share = 10_000_000 - 10_000_000u64.div_ceil(self.one_in.max(1));
        let share = format!("{}.{:05}", share / 100_000, share % 100_000);
        let share = share.trim_end_matches('0').trim_end_matches('.');
        let confidence = self.confidence_percent;
        format!("statistical: q {share} %, confidence {confidence} %")
    }
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
    pub took_ns: u64,
    /// Whether an earlier run did it.
    pub kept: bool,
    pub kernel: String,
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
    pub longest_stall_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_frames_is_told_in_percent() {
        let label = |one_in| {
            let worth = Statistical {
                one_in,
                confidence_percent: 95,
                cover_ns: 0,
                about: String::new(),
            };
            worth.label()
        };

        for (one_in, percent) in [
            (100, "99"),
            (5_000, "99.98"),
            (100_000, "99.999"),
            (3, "66.66666"),
        ] {
            let expected = format!("statistical: q {percent} %, confidence 95 %");
            assert_eq!(label(one_in), expected);
        }
    }
}
