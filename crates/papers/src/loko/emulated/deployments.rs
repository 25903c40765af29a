//! LOKO Figs. 3 and 15: Silo, QJump and Loko on the same two switches, and which
//! of them keeps its promise (S4-7).
//!
//! # Differs from the paper
//!
//! The paper says of LOKO Fig. 3 that 17 entries are there, 4 of them used, and
//! that two switches process for 257 us. In its section 6 one switch takes that
//! long, with the used entries last and priorities that increase. With the used
//! entries first and priorities that decrease, two switches process for 254 us by
//! our times of the entries, and Silo loses about what the paper prints. Both
//! tables are run here.
//!
//! The length of a run is divided where hosts send at tens of kilohertz: what is
//! overloaded all the time does not need ten seconds to show it.

use calculus::baselines::qjump::QJump;
use calculus::baselines::silo::{OutputPort, Silo};
use calculus::loko::Fraction;
use calculus::min_plus::TokenBucket;
use measure::Contract;
use units::{BitRate, Delay, Duration};

use super::experiment::{Observation, Repetitions};
use super::figures::{FRAME, allocation, contracts};
use super::shaped_host::OfferedLoad;
use super::two_switches::{EmulatedRun, TableOrder};
use crate::Progress;
use sim::zodiac_fx::Profile;

/// The frames of a data port, LOKO appendix A.
const FRAMES_A_PORT: u64 = 3;
const HOSTS: u64 = 4;
const SWITCHES: u64 = 2;

/// What was deployed and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// The approach, the device, and the table where that matters.
    pub name: &'static str,
    /// What the paper prints as lost, in a hundred.
    pub printed_lost: &'static str,
    /// What the paper prints as late, in a hundred.
    pub printed_late: &'static str,
    pub guarantee: Delay,
    /// What each of the observed hosts may send.
    pub contract: Contract,
    pub observation: Observation,
}

/// One of the deployments, before it is run.
struct Planned {
    name: &'static str,
    printed: [&'static str; 2],
    profile: Profile,
    table: TableOrder,
    approach: Approach,
    /// By what the length of a run is divided.
    shortened: u64,
}

#[derive(Clone, Copy)]
enum Approach {
    /// With this rate of a host.
    Silo(BitRate),
    /// With this time of processing on the way.
    QJump(Delay),
    /// With this part of the switch.
    Loko(Fraction),
}

/// The promise and the contracts of the two hosts of a switch.
struct SwitchPromise {
    guarantee: Delay,
    contracts: [Option<Contract>; 2],
}

const SILO_FX: Approach = Approach::Silo(BitRate::from_mbps(45));
const QJUMP_FX: Approach = Approach::QJump(Delay::from_us(257));

const PLANNED: [Planned; 8] = [
    Planned {
        name: "Silo, Zodiac FX, used entries last",
        printed: ["92.4", "7.6"],
        profile: Profile::ZODIAC_FX,
        table: TableOrder::WORST,
        approach: SILO_FX,
        shortened: 10,
    },
    Planned {
        name: "Silo, Zodiac FX, used entries first",
        printed: ["92.4", "7.6"],
        profile: Profile::ZODIAC_FX,
        table: TableOrder::BEST,
        approach: SILO_FX,
        shortened: 10,
    },
    Planned {
        name: "Silo, Banana Pi R1",
        printed: ["87.5", "12.5"],
        profile: Profile::BANANA_PI_R1,
        table: TableOrder::WORST,
        approach: Approach::Silo(BitRate::from_mbps(450)),
        shortened: 100,
    },
    Planned {
        name: "QJump, Zodiac FX, used entries last",
        printed: ["6.5", "49.9"],
        profile: Profile::ZODIAC_FX,
        table: TableOrder::WORST,
        approach: QJUMP_FX,
        shortened: 1,
    },
    Planned {
        name: "QJump, Zodiac FX, used entries first",
        printed: ["6.5", "49.9"],
        profile: Profile::ZODIAC_FX,
        table: TableOrder::BEST,
        approach: QJUMP_FX,
        shortened: 1,
    },
    Planned {
        name: "QJump, Banana Pi R1",
        printed: ["36.3", "63.7"],
        profile: Profile::BANANA_PI_R1,
        table: TableOrder::WORST,
        approach: Approach::QJump(Delay::from_us(4)),
        shortened: 20,
    },
    Planned {
        name: "Loko, Zodiac FX, fifth rate, N = 2",
        printed: ["0", "0"],
        profile: Profile::ZODIAC_FX,
        table: TableOrder::WORST,
        approach: Approach::Loko(Fraction::FIFTH_RATE),
        shortened: 1,
    },
    Planned {
        name: "Loko, Zodiac FX, 95 % of the full rate, N = 0",
        printed: ["0", "0"],
        profile: Profile::ZODIAC_FX,
        table: TableOrder::WORST,
        approach: Approach::Loko(Fraction::FULL_RATE),
        shortened: 1,
    },
];

/// How many of the deployments are not Loko's.
const OTHERS: usize = 6;

/// LOKO Fig. 3: Silo and QJump.
#[must_use]
pub fn fig3(effort: Repetitions, seed: u64, progress: &mut Progress<'_>) -> Vec<Deployment> {
    deploy_all(&PLANNED[..OTHERS], effort, seed, progress)
}

/// LOKO Fig. 15: every deployment. The last two are those of Loko.
#[must_use]
pub fn fig15(effort: Repetitions, seed: u64, progress: &mut Progress<'_>) -> Vec<Deployment> {
    deploy_all(&PLANNED, effort, seed, progress)
}

fn deploy_all(
    planned: &[Planned],
    effort: Repetitions,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Vec<Deployment> {
    let whole = planned.len() as u64 * effort.runs;
    let mut runs_done = 0;
    let mut done = || {
        runs_done += 1;
        progress(runs_done, whole);
    };
    planned
        .iter()
        .filter_map(|it| it.deploy(effort, seed, &mut done))
        .collect()
}

impl Planned {
    fn deploy(&self, effort: Repetitions, seed: u64, done: &mut dyn FnMut()) -> Option<Deployment> {
        let SwitchPromise {
            guarantee,
            contracts,
        } = self.approach.promise(self.profile.port_rate)?;
        let run = EmulatedRun {
            profile: self.profile,
            table: self.table,
            frame: FRAME,
            contracts,
            load: OfferedLoad::BUSY,
            echoes_a_second: 0,
            length: Duration::ZERO,
            seed,
        };
        let effort = Repetitions {
            length: Duration::from_ns(effort.length.as_ns() / self.shortened),
            ..effort
        };
        Some(Deployment {
            name: self.name,
            printed_lost: self.printed[0],
            printed_late: self.printed[1],
            guarantee,
            contract: contracts.into_iter().flatten().next()?,
            observation: Observation::of(&run, guarantee, effort, done),
        })
    }
}

impl Approach {
    fn promise(self, link: BitRate) -> Option<SwitchPromise> {
        match self {
            Self::Silo(rate) => silo(rate, link),
            Self::QJump(processing) => qjump(processing, link),
            Self::Loko(fraction) => loko(fraction),
        }
    }
}

/// LOKO appendix A: the two flows that cross from one switch to the other.
fn silo(rate: BitRate, link: BitRate) -> Option<SwitchPromise> {
    let port = OutputPort {
        rate: link,
        buffer: FRAME * FRAMES_A_PORT,
    };
    let mut silo = Silo::new(vec![port; 3]);
    let flow = TokenBucket::new(rate, FRAME);
    let guarantee = silo.admit(flow, &[0, 1]).ok()?;
    silo.admit(flow, &[0, 2]).ok()?;
    let burst = FRAME;
    Some(SwitchPromise {
        guarantee,
        contracts: [Some(Contract { rate, burst }); 2],
    })
}

/// LOKO section 2.3: one frame in each epoch.
fn qjump(processing: Delay, link: BitRate) -> Option<SwitchPromise> {
    let network = QJump {
        hosts: HOSTS,
        frame: FRAME,
        link,
        processing,
    };
    let contract = Contract {
        rate: network.host_rate()?,
        burst: FRAME,
    };
    Some(SwitchPromise {
        guarantee: network.guarantee(),
        contracts: [Some(contract); 2],
    })
}

/// LOKO section 6.1.
fn loko(fraction: Fraction) -> Option<SwitchPromise> {
    let allocation = allocation(fraction)?;
    let (ratio, rate) = match fraction {
        Fraction::FULL_RATE => (0, 95),
        _ => (2, 100),
    };
    Some(SwitchPromise {
        guarantee: allocation.end_to_end(SWITCHES),
        contracts: contracts(&allocation, ratio, 0, [rate, 100])?,
    })
}

#[cfg(test)]
mod tests;
