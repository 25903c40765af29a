//! The profile of the Taktos switch as it is on this machine: measured once, in some
//! ten seconds, and kept.
//!
//! What frames take ([`lab::forwarding_times`]) takes the place of what the shipped
//! profile says; the rest of that stays. As there, the latency is three times the
//! median: of the calmest half second here, so that it says what the switch does and
//! not who else was busy. What the machine itself does is watched in every run and
//! counted apart.
//!
//! A measurement in which the machine stood still more than the switch worked, or whose
//! outcome no switch like this can have, is none ([`Doubt`]).
//!
//! # Left out
//!
//! Times of messages, and the other engines: a loop that spins beside other programs
//! takes whatever those leave it, and some seconds do not tell how much that is.

mod kept;

use std::sync::atomic::AtomicBool;

use lab::forwarding_times::{self, Amount, ForwardingTimes, TimesError};
use linux::clock::{self, WallTime};
use measure::report::MeasuredHere;
use measure::statistics::Distribution;
use scenario::{Lookup, Origin, Profile, Stated};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::{Delay, Duration};

use super::conditions;
pub use kept::{Found, Kept, KeptError};

/// The profile whose figures are replaced.
const SHIPPED: &str = "taktos-kernel";
/// What the profile is called.
pub const NAME: &str = "taktos-kernel, measured here";
/// To be raised whenever it is measured in another way.
const METHOD: u32 = 1;
/// The latency is so many times the median.
const MEDIANS: u64 = 3;
/// A value so many times larger or smaller than the shipped one is not believed.
const UNLIKELY: u64 = 10;
/// Of a hundred frames so many may be lost.
const MOST_LOST_PERCENT: u64 = 1;

/// What the outcome depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circumstances {
    /// The kernel's release.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// How many of them may be used.
    pub processors: usize,
    /// The version of this program.
    pub version: String,
    /// Who forwards.
    pub engine: String,
    /// How it is measured.
    pub method: u32,
}

impl Circumstances {
    /// Returns those of this machine.
    #[must_use]
    pub fn here() -> Self {
        let (kernel, processor, processors) = conditions::identity();
        Self {
            kernel,
            processor,
            processors,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            engine: "kernel".to_owned(),
            method: METHOD,
        }
    }
}

/// What was found out, as it is kept. Lengths of time are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnProfile {
    /// On which machine, by which program.
    pub circumstances: Circumstances,
    /// When, in nanoseconds since the beginning of 1970.
    pub measured_unix_ns: u64,
    /// How long it took.
    pub took_ns: u64,
    /// The load of the minute before, in hundredths.
    pub load_hundredths: u32,
    /// Frames whose latency was taken.
    pub frames: u64,
    /// Of these, those that did not arrive.
    pub lost: u64,
    /// And those that were left out since the machine stood still.
    pub disturbed: u64,
    /// The median latency in the calmest half second, of the slower length.
    pub calmest_median_ns: u64,
    /// The median of all frames but those left out.
    pub median_ns: u64,
    /// What 99 % of them do not exceed.
    pub p99_ns: u64,
    /// The highest.
    pub highest_ns: u64,
    /// Processor time of a frame, of the slower length, in the run with the least.
    pub per_frame_ns: u64,
    /// The same in the run with the most.
    pub per_frame_most_ns: u64,
    /// What one more mask adds to it.
    pub per_mask_ns: u64,
    /// What one more action adds.
    pub per_action_ns: u64,
    /// How often the machine stood still while latency was watched.
    pub stalls: u64,
    /// The longest of these.
    pub longest_stall_ns: u64,
}

/// Why a measurement is not believed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Doubt {
    /// Frames were lost on the way.
    #[error("{lost} of {sent} frames were lost")]
    Lost {
        /// How many.
        lost: u64,
        /// Of how many.
        sent: u64,
    },
    /// The machine stood still too much.
    #[error("the machine stood still while {disturbed} of {sent} frames crossed the switch")]
    Disturbed {
        /// How many.
        disturbed: u64,
        /// Of how many.
        sent: u64,
    },
    /// A value is out of the question.
    #[error(
        "{what} came out as {value}, which no such switch has ({shipped} where it was developed)"
    )]
    Unlikely {
        /// Of what.
        what: &'static str,
        /// What was measured.
        value: Duration,
        /// What is shipped.
        shipped: Duration,
    },
}

/// Why there is no profile of this machine.
#[derive(Debug, Error)]
pub enum OwnProfileError {
    /// It could not be measured.
    #[error(transparent)]
    Times(#[from] TimesError),
    /// What was measured is not believed.
    #[error(transparent)]
    Doubt(#[from] Doubt),
}

impl OwnProfile {
    /// Measures. `step` is told how many of how many steps are done.
    ///
    /// # Errors
    ///
    /// Without the privilege, or if the outcome is not believed.
    pub fn measure(
        stop: &AtomicBool,
        step: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, OwnProfileError> {
        let (began, load) = (clock::now(), conditions::load());
        let measured_unix_ns = WallTime::now().as_ns();
        let times = forwarding_times::measure(Amount::SHORT, stop, step)?;
        let found = Self {
            circumstances: Circumstances::here(),
            measured_unix_ns,
            took_ns: (clock::now() - began).as_ns(),
            load_hundredths: load,
            ..Self::of(&times)
        };
        found.believe()?;
        Ok(found)
    }

    /// Returns the figures.
    fn of(times: &ForwardingTimes) -> Self {
        let latencies = || times.latency.iter().map(|(_, latency)| latency);
        let mut calm = Distribution::default();
        for latency in latencies() {
            calm.merge(&latency.calm);
        }
        let sent: u64 = latencies().map(|it| it.sent).sum();
        let disturbed: u64 = latencies().map(|it| it.disturbed).sum();
        let quantile = |per_mille| calm.quantile(per_mille).unwrap_or_default().as_ns();
        let spent = || times.per_frame.iter().map(|(_, spent)| spent);
        let ns = |time: Option<Delay>| time.unwrap_or_default().round_up().as_ns();
        let medians = latencies().map(|it| it.calmest_median);
        let longest_stall = times.stalls.kept().iter().map(|stall| stall.length).max();
        Self {
            circumstances: Circumstances::here(),
            measured_unix_ns: 0,
            took_ns: 0,
            load_hundredths: 0,
            frames: sent,
            lost: sent.saturating_sub(disturbed + calm.count()),
            disturbed,
            // Without one for each length there is none.
            calmest_median_ns: medians
                .collect::<Option<Vec<_>>>()
                .and_then(|medians| medians.into_iter().max())
                .unwrap_or_default()
                .as_ns(),
            median_ns: quantile(500),
            p99_ns: quantile(990),
            highest_ns: calm.max().unwrap_or_default().as_ns(),
            per_frame_ns: ns(spent().map(|it| it.least).max()),
            per_frame_most_ns: ns(spent().map(|it| it.most).max()),
            per_mask_ns: times.per_mask.round_up().as_ns(),
            per_action_ns: times.per_action.round_up().as_ns(),
            stalls: times.stalls.count(),
            longest_stall_ns: longest_stall.unwrap_or_default().as_ns(),
        }
    }

    /// Holds it against what is possible.
    ///
    /// # Errors
    ///
    /// What is doubtful.
    pub fn believe(&self) -> Result<(), Doubt> {
        let (lost, disturbed, sent) = (self.lost, self.disturbed, self.frames);
        if disturbed.saturating_mul(2) > sent {
            return Err(Doubt::Disturbed { disturbed, sent });
        }
        if lost.saturating_mul(100) > sent.saturating_mul(MOST_LOST_PERCENT) {
            return Err(Doubt::Lost { lost, sent });
        }
        let shipped = shipped();
        let lookup = shipped.lookup.as_ref();
        let of_lookup = |value: fn(&Lookup) -> Delay| lookup.map_or(Delay::ZERO, value);
        let none = Duration::ZERO;
        for (what, ns, known, may_be_nothing) in [
            (
                "latency",
                self.latency().as_ns(),
                shipped.latency.value,
                false,
            ),
            (
                "time a frame",
                self.per_frame_ns,
                shipped.per_frame.value,
                false,
            ),
            (
                "time a mask",
                self.per_mask_ns,
                of_lookup(|it| it.per_mask.value),
                true,
            ),
            (
                "time an action",
                self.per_action_ns,
                of_lookup(|it| it.per_action.value),
                true,
            ),
        ] {
            let (value, shipped) = (Duration::from_ns(ns), known.round_up());
            let least = match may_be_nothing {
                true => none,
                false => Duration::from_ns(shipped.as_ns() / UNLIKELY),
            };
            if value < least || value > shipped * UNLIKELY {
                return Err(Doubt::Unlikely {
                    what,
                    value,
                    shipped,
                });
            }
        }
        Ok(())
    }

    /// Returns the longest time that a frame is taken to need in an idle switch.
    #[must_use]
    pub fn latency(&self) -> Duration {
        Duration::from_ns(self.calmest_median_ns.saturating_mul(MEDIANS))
    }

    /// Returns it as a profile: the shipped one with these figures.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let shipped = shipped();
        let ns = Duration::from_ns;
        let measured = |value: Duration, note: String| Stated {
            value: Delay::from(value),
            origin: Origin::Measured,
            note,
        };
        let Circumstances {
            kernel,
            processor,
            processors,
            version,
            ..
        } = &self.circumstances;
        let lookup = shipped.lookup.map(|lookup| Lookup {
            per_mask: measured(
                ns(self.per_mask_ns),
                "processor time, least of 7 runs".to_owned(),
            ),
            per_action: measured(ns(self.per_action_ns), "the same".to_owned()),
            ..lookup
        });
        Profile {
            name: NAME.to_owned(),
            about: format!(
                "Taktos switch, kernel engine, as measured on this machine in {:.0} s (Linux \
                 {kernel}, {processors} x {processor}, Taktos {version}, load {:.2})",
                ns(self.took_ns).as_secs_f64(),
                f64::from(self.load_hundredths) / 100.0
            ),
            latency: measured(
                self.latency(),
                format!(
                    "{MEDIANS} times the median of the calmest half second, {}; of {} frames \
                     median {}, p99 {}, highest {}, {} in stalls left out",
                    ns(self.calmest_median_ns),
                    self.frames,
                    ns(self.median_ns),
                    ns(self.p99_ns),
                    ns(self.highest_ns),
                    self.disturbed
                ),
            ),
            per_frame: measured(
                ns(self.per_frame_ns),
                format!(
                    "processor time of a flood through the switch less that over a cable, least \
                     of 7 runs of 20,000 frames (highest {})",
                    ns(self.per_frame_most_ns)
                ),
            ),
            lookup,
            ..shipped
        }
    }

    /// Returns how it was measured, for the report of a run.
    #[must_use]
    pub fn conditions(&self, kept: bool) -> MeasuredHere {
        MeasuredHere {
            at_unix_ns: self.measured_unix_ns,
            took_ns: self.took_ns,
            kept,
            kernel: self.circumstances.kernel.clone(),
            processor: self.circumstances.processor.clone(),
            processors: self.circumstances.processors,
            load_hundredths: self.load_hundredths,
            frames: self.frames,
            disturbed: self.disturbed,
            stalls: self.stalls,
            longest_stall_ns: self.longest_stall_ns,
        }
    }
}

fn shipped() -> Profile {
    Profile::built_in(SHIPPED).expect("it is shipped")
}

#[cfg(test)]
mod tests;
