//! The switches and controllers of the experiments.

use scenario::Profile;
use sim::emulation::Behaviour;
use sim::modes::stage::{ControllerTimes, Device};
use sim::parts::Processing;
use sim::servers::random::Random;
use units::{Delay, Duration};

/// Rates of the paper's links.
pub const RATE_MBPS: u64 = 100;

/// A kind of switch, with the controller that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchKind {
    /// What the paper used: Odroid boards, and POX on a workstation.
    Paper,
    /// Switches and controller of Taktos.
    Taktos,
    /// The same with real frames between namespaces, by the clock on the wall.
    Real,
}

impl SwitchKind {
    pub const ALL: [Self; 2] = [Self::Paper, Self::Taktos];

    /// Returns its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "the paper's boards",
            Self::Taktos => "our switches",
            Self::Real => "our switches, real frames",
        }
    }

    /// Returns the profile of its switches.
    #[must_use]
    pub fn profile(self) -> Profile {
        let name = match self {
            Self::Paper => "odroid-xu4",
            Self::Taktos | Self::Real => "taktos-kernel",
        };
        Profile::built_in(name).expect("it is built in")
    }

    #[must_use]
    pub fn device(self) -> Device {
        let profile = self.profile();
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Device {
            processing: Processing {
                latency: profile.longest_latency(),
                per_frame: profile.longest_per_frame(),
                capacity: count(profile.pool_frames.value),
            },
            behaviour: Behaviour::of(&profile),
            // Enough for everything that is sent while a message is too large.
            queue_frames: 4_096,
        }
    }

    /// Returns the longest that a switch works on a signal, some frames at its other
    /// ports included.
    #[must_use]
    pub fn processing_bound(self) -> Delay {
        let profile = self.profile();
        profile.longest_latency() + profile.longest_per_frame() * (2 * PORTS_MAX)
    }

    /// Draws how long its controller takes.
    ///
    /// Of the paper's, 31.83 ms with a deviation of 10.54 ms passed until 30 entries
    /// had come to one switch (MC-SDN Table I). That 900 entries take 90 ms longer, as
    /// up to 92 ms for 100 entries say (MC-SDN section VII-A), makes 0.1 ms each, and
    /// the rest of the former is the reaction. Ours is stated: a message there and
    /// back over sockets of a machine, and 50 us for each entry.
    #[must_use]
    pub fn controller(self, random: &mut Random) -> ControllerTimes {
        match self {
            Self::Paper => ControllerTimes {
                reaction: normal(28_830_000, 10_540_000, random),
                per_message: Duration::from_us(100),
                per_entry: Duration::ZERO,
            },
            Self::Taktos | Self::Real => ControllerTimes {
                reaction: Duration::from_us(200),
                per_message: Duration::from_us(1),
                per_entry: Duration::from_us(50),
            },
        }
    }
}

/// The most ports that a switch of the experiments has.
const PORTS_MAX: u64 = 10;

/// Draws from a normal distribution of a mean and a deviation in nanoseconds, by the
/// sum of twelve even ones; never less than a tenth of the mean.
fn normal(mean_ns: i64, deviation_ns: i64, random: &mut Random) -> Duration {
    let drawn = (0..12).map(|_| random.below(1_000_000)).sum::<u64>();
    let drawn = i64::try_from(drawn).expect("below twelve millions") - 6_000_000;
    let ns = mean_ns + deviation_ns * drawn / 1_000_000;
    Duration::from_ns(ns.max(mean_ns / 10).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reactions_have_the_mean_and_the_deviation_of_the_paper() {
        let mut random = Random::new(1);
        let draws: Vec<f64> = (0..2_000)
            .map(|_| {
                SwitchKind::Paper
                    .controller(&mut random)
                    .reaction
                    .as_secs_f64()
                    * 1e3
            })
            .collect();

        let mean = draws.iter().sum::<f64>() / 2_000.0;
        let square = draws.iter().map(|it| (it - mean).powi(2)).sum::<f64>();

        assert!((mean - 28.83).abs() < 1.0, "{mean}");
        assert!(((square / 2_000.0).sqrt() - 10.54).abs() < 1.0);
    }
}
