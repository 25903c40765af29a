//! LOKO Figs. 17 to 19: how much more than promised can be sent until the promise
//! breaks (S4-8).
//!
//! Rates and bursts are those of LOKO Eq. (8), times a multiplier. The promise is
//! the delay of both switches, 3.72 ms with the full rate and 4.13 ms with a fifth.
//!
//! # Differs from the paper
//!
//! With `N = 0` the first flows of LOKO Eq. (8) are nothing, so the second flows
//! are observed; the paper says that it observes the first.

use calculus::loko::processing_time::Setting;
use calculus::loko::{Allocation, Fraction, SwitchModel, SymmetricFlows};
use calculus::min_plus::TokenBucket;
use measure::Contract;
use units::{BitRate, DataSize, Delay, Duration};

use super::experiment::{Observation, Repetitions};
use super::shaped_host::OfferedLoad;
use super::two_switches::{EmulatedRun, TableOrder};
use crate::Progress;
use sim::zodiac_fx::Profile;

/// The frames of LOKO section 6.
pub const FRAME: DataSize = DataSize::from_bytes(306);
/// The entries of LOKO section 6.
pub const ENTRIES: u64 = 17;
/// The size of an echo request, LOKO section 6.1.
const ECHO: DataSize = DataSize::from_bytes(66);
const SWITCHES: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varied {
    /// The rate multiplier `m_r`, in hundredths.
    Rate,
    /// The burst multiplier `m_b`, in hundredths.
    Burst,
    /// Echo requests a second, of which the promise knows nothing.
    EchoesUnknown,
    /// Echo requests a second, of which the promise knows 750.
    EchoesKnown,
}

/// A part of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Its name in the paper.
    pub name: &'static str,
    pub varied: Varied,
    /// The promise for both switches.
    pub guarantee: Delay,
    /// The delay of a frame that waits for nobody.
    pub least: Delay,
    /// What was observed, by what was varied.
    pub points: Vec<(u64, Observation)>,
}

/// A figure of two parts.
struct FigurePart {
    name: &'static str,
    varied: Varied,
    values: &'static [u64],
    fraction: Fraction,
    ratio: u64,
    /// The rate multiplier in hundredths, where it is not varied.
    rate: u64,
    known_echoes: u64,
}

const FIG17: [FigurePart; 2] = [
    FigurePart {
        name: "Fig. 17a",
        varied: Varied::Rate,
        values: &[100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, 1_100],
        fraction: Fraction::FIFTH_RATE,
        ratio: 2,
        rate: 100,
        known_echoes: 0,
    },
    FigurePart {
        name: "Fig. 17b",
        varied: Varied::Burst,
        values: &[100, 200, 300, 400, 500, 600, 700, 800],
        fraction: Fraction::FIFTH_RATE,
        ratio: 2,
        rate: 100,
        known_echoes: 0,
    },
];

const FIG18: [FigurePart; 2] = [
    FigurePart {
        name: "Fig. 18a",
        varied: Varied::Rate,
        values: &[90, 95, 100, 105, 115, 125, 135, 145, 155],
        fraction: Fraction::FULL_RATE,
        ratio: 0,
        rate: 100,
        known_echoes: 0,
    },
    FigurePart {
        name: "Fig. 18b",
        varied: Varied::Burst,
        values: &[100, 200, 300, 400, 500, 600, 700, 800],
        fraction: Fraction::FULL_RATE,
        ratio: 0,
        rate: 95,
        known_echoes: 0,
    },
];

const ECHOES: &[u64] = &[0, 150, 300, 450, 600, 750, 900];

const FIG19: [FigurePart; 2] = [
    FigurePart {
        name: "Fig. 19a",
        varied: Varied::EchoesUnknown,
        values: ECHOES,
        fraction: Fraction::FULL_RATE,
        ratio: 0,
        rate: 95,
        known_echoes: 0,
    },
    FigurePart {
        name: "Fig. 19b",
        varied: Varied::EchoesKnown,
        values: ECHOES,
        fraction: Fraction::FULL_RATE,
        ratio: 0,
        rate: 95,
        known_echoes: 750,
    },
];

/// LOKO Fig. 17: a fifth of the rate, `N = 2`.
#[must_use]
pub fn fig17(effort: Repetitions, seed: u64, progress: &mut Progress<'_>) -> Vec<Sweep> {
    sweep_all(&FIG17, effort, seed, progress)
}

/// LOKO Fig. 18: the full rate, `N = 0`.
#[must_use]
pub fn fig18(effort: Repetitions, seed: u64, progress: &mut Progress<'_>) -> Vec<Sweep> {
    sweep_all(&FIG18, effort, seed, progress)
}

/// LOKO Fig. 19: the full rate, `N = 0`, beside echo requests of the controller.
#[must_use]
pub fn fig19(effort: Repetitions, seed: u64, progress: &mut Progress<'_>) -> Vec<Sweep> {
    sweep_all(&FIG19, effort, seed, progress)
}

/// Returns what LOKO section 6 sets aside of each switch, or nothing if there is
/// no room.
#[must_use]
pub fn allocation(fraction: Fraction) -> Option<Allocation> {
    let setting = Setting::worst_five_tuple(ENTRIES, FRAME);
    SwitchModel::zodiac_fx(FRAME, setting.processing_time()).allocate(fraction)
}

/// Returns what the hosts of each switch may send within an allocation, beside
/// echo requests, LOKO Eq. (8), times multipliers in hundredths of rate and burst.
#[must_use]
pub fn contracts(
    allocation: &Allocation,
    ratio: u64,
    known_echoes: u64,
    multipliers: [u64; 2],
) -> Option<[Option<Contract>; 2]> {
    let control = match known_echoes {
        0 => TokenBucket::NOTHING,
        _ => TokenBucket::new(BitRate::new(ECHO.as_bits() * known_echoes)?, ECHO),
    };
    let flows = SymmetricFlows::share(allocation, ratio, control)?;
    let [rate, burst] = multipliers;
    let multiplied = |flow: TokenBucket| {
        Some(Contract {
            rate: BitRate::new(flow.rate()?.as_bps() * rate / 100)?,
            burst: DataSize::from_bits(flow.burst().as_bits() * burst / 100),
        })
    };
    Some([multiplied(flows.first), multiplied(flows.second)])
}

fn sweep_all(
    parts: &[FigurePart],
    effort: Repetitions,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Vec<Sweep> {
    let points: usize = parts.iter().map(|part| part.values.len()).sum();
    let whole = points as u64 * effort.runs;
    let mut runs_done = 0;
    let mut done = || {
        runs_done += 1;
        progress(runs_done, whole);
    };
    let sweeps = parts.iter();
    sweeps
        .filter_map(|part| part.sweep(effort, seed, &mut done))
        .collect()
}

impl FigurePart {
    fn sweep(&self, effort: Repetitions, seed: u64, done: &mut dyn FnMut()) -> Option<Sweep> {
        let allocation = allocation(self.fraction)?;
        let guarantee = allocation.end_to_end(SWITCHES);
        let mut points = Vec::new();
        for value in self.values {
            let run = self.run(&allocation, *value, seed)?;
            let observation = Observation::of(&run, guarantee, effort, done);
            points.push((*value, observation));
        }
        Some(Sweep {
            name: self.name,
            varied: self.varied,
            guarantee,
            least: least_delay(),
            points,
        })
    }

    fn run(&self, allocation: &Allocation, value: u64, seed: u64) -> Option<EmulatedRun> {
        let (multipliers, echoes_a_second) = match self.varied {
            Varied::Rate => ([value, 100], 0),
            Varied::Burst => ([self.rate, value], 0),
            Varied::EchoesUnknown | Varied::EchoesKnown => ([self.rate, 100], value),
        };
        Some(EmulatedRun {
            profile: Profile::ZODIAC_FX,
            table: TableOrder::WORST,
            frame: FRAME,
            contracts: contracts(allocation, self.ratio, self.known_echoes, multipliers)?,
            load: OfferedLoad::BUSY,
            echoes_a_second,
            length: Duration::ZERO,
            seed,
        })
    }
}

/// Returns the delay of a frame that waits for nobody, between the taps: twice
/// through a switch and twice over a cable.
fn least_delay() -> Delay {
    let in_switch = Setting::worst_five_tuple(ENTRIES, FRAME).processing_time();
    let on_cable = Profile::ZODIAC_FX
        .port_rate
        .time_to_send(FRAME + DataSize::from_bytes(8));
    (in_switch + on_cable) * SWITCHES
}

#[cfg(test)]
mod tests;
