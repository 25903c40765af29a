//! The profile of the Taktos switch as it is on this machine, under as much load as a
//! scenario brings: measured once, in some twenty seconds, and kept.
//!
//! - *What a frame costs* is the processor time of a flood through a switch, less that over
//!   a cable: of several runs the greatest ([`lab::forwarding_times`]). It is held to a
//!   contract, and its stay is noted.
//! - *What a switch takes* is what 99 of 100 frames do not exceed that pass one switch while
//!   the machine carries the load ([`super::under_load`]), with 95 % confidence by ranks.
//! - *What the machine adds*, once on the way of a frame, is what goes beyond that for as
//!   many switches as it has passed: interruptions, and whatever else is seldom. It is
//!   covered up to what all but one in 100,000 frames keep, with 95 % confidence: by ranks
//!   where there were frames enough, else by a tail that was fitted ([`Cover`]).
//!
//! So bounds that are calculated with these figures are statistical. All switches of a lab
//! share its processors, and a bound that counts what one switch has to do would not hold
//! for certain, whatever was measured. The distributions are kept whole.
//!
//! A measurement in which frames were lost or not sent, or whose outcome no switch like
//! this can have, is none ([`Doubt`]).
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
use measure::statistics::tail::Tail;
use scenario::{Lookup, MachineShare, Origin, Profile, Stated};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::{Delay, Duration};

use super::conditions;
use super::under_load::{self, UnderLoad};
use crate::experiment::ExperimentError;
use crate::experiment::demand::RunDemand;
pub use kept::{Found, Kept, KeptError};

/// The profile whose figures are replaced.
const SHIPPED: &str = "taktos-kernel";
/// What the profile is called.
pub const NAME: &str = "taktos-kernel, measured here";
/// To be raised whenever it is measured in another way.
const METHOD: u32 = 3;
/// Of so many frames one may take longer than what a switch is said to take.
const ONE_IN_OF_SWITCH: u64 = 100;
/// Of so many frames one may be later than what is covered, the fewest first.
const ONE_IN: [u64; 7] = [100_000, 50_000, 20_000, 10_000, 5_000, 2_000, 1_000];
const CONFIDENCE_PERCENT: u32 = 95;
/// A tail is fitted to what lies above so many thousandths of all values.
const THRESHOLD_PER_MILLE: u32 = 995;
/// What samples of a fitted tail are drawn from.
const TAIL_SEED: u64 = 1;
/// So much of a processor can be used, in thousandths, before what waits grows.
const MOST_BUSY_PER_MILLE: u64 = 800;
/// A value so many times larger or smaller than the shipped one is not believed.
const UNLIKELY: u64 = 10;
/// Of a hundred frames so many may be lost.
const MOST_LOST_PERCENT: u64 = 1;
/// Of a hundred frames of the load so many may be lost or not sent.
const MOST_MISSING_PERCENT: u64 = 10;

/// What the outcome depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circumstances {
    pub kernel: String,
    pub processor: String,
    /// How many of them may be used.
    pub processors: usize,
    /// The version of this program.
    pub version: String,
    pub engine: String,
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
    pub longest_stall_ns: u64,
    /// What the machine was to carry.
    pub asked: RunDemand,
    pub load: RunDemand,
    /// How much of the processor of the hosts that took, in thousandths.
    pub busy_per_mille: Option<u64>,
    /// Frames of the load that were to be delivered.
    pub due: u64,
    /// Of them, those that were lost or not sent.
    pub missing: u64,
    /// How long frames took that passed one switch: the upper edge of each bucket, and how
    /// many are in it.
    pub one_switch_ns: Vec<(u64, u64)>,
    /// How many switches stood in a line.
    pub switches: u64,
    /// How long frames took that passed all of them, likewise.
    pub all_switches_ns: Vec<(u64, u64)>,
    /// How often the processor of the hosts was taken away under load.
    pub interruptions: u64,
    /// How long that took together.
    pub interrupted_ns: u64,
    pub longest_interruption_ns: u64,
    /// What a switch takes, at most, of 99 of 100 frames.
    pub latency_ns: u64,
    /// What the machine adds, once on the way of a frame, the longest first.
    pub covers: Vec<Cover>,
}

/// What the machine adds to the delay of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cover {
    /// Of so many frames one is later.
    pub one_in: u64,
    pub ns: u64,
    /// Whether a tail was fitted since there were too few frames.
    pub fitted: bool,
}

/// Why a measurement is not believed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Doubt {
    /// Frames were lost on the way.
    #[error("{lost} of {sent} frames were lost")]
    Lost { lost: u64, sent: u64 },
    /// The machine did not carry the load.
    #[error("{missing} of {due} frames of the load were lost or not sent")]
    NotCarried { missing: u64, due: u64 },
    /// The machine stood still too much.
    #[error("the machine stood still while {disturbed} of {sent} frames crossed the switch")]
    Disturbed { disturbed: u64, sent: u64 },
    /// A value is out of the question.
    #[error(
        "{what} came out as {value}, which no such switch has ({shipped} where it was developed)"
    )]
    Unlikely {
        what: &'static str,
        value: Duration,
        shipped: Duration,
    },
}

/// Why there is no profile of this machine.
#[derive(Debug, Error)]
pub enum OwnProfileError {
    /// It could not be measured.
    #[error(transparent)]
    Times(#[from] TimesError),
    /// The load could not be brought.
    #[error("the load of the scenario could not be brought: {0}")]
    Load(#[from] ExperimentError),
    /// What was measured is not believed.
    #[error(transparent)]
    Doubt(#[from] Doubt),
}

impl OwnProfile {
    /// Measures, with as much load as `demand`. `step` is told how many of how many steps
    /// are done.
    ///
    /// # Errors
    ///
    /// Without the privilege, or if the outcome is not believed.
    pub fn measure(
        demand: RunDemand,
        stop: &AtomicBool,
        step: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Self, OwnProfileError> {
        let (began, load) = (clock::now(), conditions::load());
        let measured_unix_ns = WallTime::now().as_ns();
        let times =
            forwarding_times::measure(Amount::SHORT, stop, &mut |done, of| step(done, 2 * of))?;
        let load_seen = under_load::measure(demand, stop, &mut |done, of| step(of + done, 2 * of))?;
        let found = Self {
            circumstances: Circumstances::here(),
            measured_unix_ns,
            took_ns: (clock::now() - began).as_ns(),
            load_hundredths: load,
            asked: demand,
            ..Self::of(&times, &load_seen)
        };
        found.believe()?;
        Ok(found)
    }

    fn of(times: &ForwardingTimes, load: &UnderLoad) -> Self {
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
        let latency = load.near.tolerance_of(ONE_IN_OF_SWITCH);
        let latency = latency.or(load.near.max()).unwrap_or_default();
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
            asked: load.demand,
            load: load.demand,
            busy_per_mille: load.busy_per_mille,
            due: load.due,
            missing: load.missing,
            one_switch_ns: buckets(&load.near),
            switches: load.switches,
            all_switches_ns: buckets(&load.far),
            interruptions: load.interruptions.count(),
            interrupted_ns: load.interruptions.total().as_ns(),
            longest_interruption_ns: load.interruptions.longest().as_ns(),
            latency_ns: latency.as_ns(),
            covers: covers(load, latency),
        }
    }

    /// Returns what is covered of what the machine adds where no more than `most` may be:
    /// all of that, and which share of frames keeps it for certain. Nothing if not even
    /// one in a thousand does.
    #[must_use]
    pub fn cover_within(&self, most: Duration) -> Option<Cover> {
        let mut covers = self.covers.iter();
        let kept = covers.find(|cover| cover.ns <= most.as_ns())?;
        let is_longest = self.covers.first() == Some(kept);
        Some(match is_longest {
            true => *kept,
            false => Cover {
                ns: most.as_ns(),
                ..*kept
            },
        })
    }

    /// Tells whether it was measured with as much as that.
    #[must_use]
    pub fn is_for(&self, demand: &RunDemand) -> bool {
        demand.is_within(&self.load) || demand.is_within(&self.asked)
    }

    /// Returns how often frames can be sent, handed on and delivered in a second, all
    /// together, before what waits grows; nothing where the machine does not say how busy
    /// it was.
    #[must_use]
    pub fn carries(&self) -> Option<u64> {
        let busy = self.busy_per_mille?.max(1);
        Some(self.load.events().saturating_mul(MOST_BUSY_PER_MILLE) / busy)
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
        let (missing, due) = (self.missing, self.due);
        if missing.saturating_mul(100) > due.saturating_mul(MOST_MISSING_PERCENT) {
            return Err(Doubt::NotCarried { missing, due });
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
                self.per_frame_most_ns,
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

    /// Returns the longest time that a frame is taken to need in a switch.
    #[must_use]
    pub fn latency(&self) -> Duration {
        Duration::from_ns(self.latency_ns)
    }

    /// Returns it as a profile: the shipped one with these figures, and what the machine
    /// adds.
    #[must_use]
    pub fn profile(&self, cover: Option<Cover>) -> Profile {
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
                "processor time, greatest slope".to_owned(),
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
                    "99 of 100 frames through one switch, {CONFIDENCE_PERCENT} % confidence, of {} \
                     under load ({}); idle median {}",
                    count(&self.one_switch_ns),
                    loaded(&self.load),
                    ns(self.calmest_median_ns),
                ),
            ),
            per_frame: measured(
                ns(self.per_frame_most_ns),
                format!(
                    "processor time of a flood through the switch less that over a cable, greatest \
                     of 7 runs of 20,000 frames (least {})",
                    ns(self.per_frame_ns)
                ),
            ),
            machine: cover.map(|cover| self.machine(cover)),
            lookup,
            ..shipped
        }
    }

    fn machine(&self, cover: Cover) -> MachineShare {
        let how = match cover.fitted {
            true => "by a tail fitted to the seldom ones (generalised Pareto)",
            false => "by ranks",
        };
        MachineShare {
            cover: Delay::from(Duration::from_ns(cover.ns)),
            one_in: cover.one_in,
            confidence_percent: CONFIDENCE_PERCENT,
            about: format!(
                "measured on this machine under {}, {how}; its processor was taken away {} times \
                 meanwhile, {} at most",
                loaded(&self.load),
                self.interruptions,
                Duration::from_ns(self.longest_interruption_ns)
            ),
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

fn loaded(load: &RunDemand) -> String {
    format!("{} frames and {} hops a second", load.frames, load.hops)
}

fn buckets(distribution: &Distribution) -> Vec<(u64, u64)> {
    let buckets = distribution.buckets();
    buckets.map(|(edge, count)| (edge.as_ns(), count)).collect()
}

fn count(buckets: &[(u64, u64)]) -> u64 {
    buckets.iter().map(|(_, count)| count).sum()
}

/// Returns what goes beyond what switches take: of frames that passed one, and of frames
/// that passed all of them, whichever is more.
fn covers(load: &UnderLoad, latency: Duration) -> Vec<Cover> {
    let both = [
        beyond(&load.near, latency),
        beyond(&load.far, latency * load.switches),
    ];
    let covers = ONE_IN.map(|one_in| {
        let covers = both.each_ref().map(|excess| cover(excess, one_in));
        covers.into_iter().max_by_key(|cover| cover.ns)
    });
    covers.into_iter().flatten().collect()
}

fn beyond(seen: &Distribution, expected: Duration) -> Distribution {
    let mut beyond = Distribution::fine();
    for (edge, count) in seen.buckets() {
        beyond.record_many(edge.saturating_sub(expected), count);
    }
    beyond
}

fn cover(excess: &Distribution, one_in: u64) -> Cover {
    let (ns, fitted) = match excess.tolerance_of(one_in) {
        Some(bound) => (bound, false),
        None => {
            let tail = Tail::fit(excess, THRESHOLD_PER_MILLE);
            let fitted = tail.map(|tail| tail.bound(one_in, TAIL_SEED));
            // No less than what was seen.
            let most = excess.max().unwrap_or_default();
            (fitted.unwrap_or_default().max(most), true)
        }
    };
    Cover {
        one_in,
        ns: ns.as_ns(),
        fitted,
    }
}

fn shipped() -> Profile {
    Profile::built_in(SHIPPED).expect("it is shipped")
}

#[cfg(test)]
mod tests;
