//! The ways to decide that are compared.

use calculus::admission::{Ledger, Request, Spare, Stage, StageId, Tree, allocate_for_deadlines};
use calculus::baselines::qjump::QJump;
use calculus::baselines::silo::{OutputPort, Silo};
use calculus::loko::{Allocation, Fraction, SwitchModel, admission};
use units::{BitRate, DataSize, Delay};

use super::super::super::amounts::bytes;
use super::super::baselines::FRAMES_A_PORT;
use super::super::{FRAME, zodiac_fx};
use super::ring::{FlowRequest, Refused, SWITCHES, requests};

/// How much larger the paper makes the buffer, LOKO section 6.2.
const MORE_BUFFER: u64 = 10;
/// The class of all flows; a Zodiac FX has but one queue.
const CLASS: u8 = 7;
/// The run after which budgets are chosen: none of those that are counted.
const EXPECTED_RUN: u64 = u64::MAX >> 8;

#[derive(Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name, as part of the name of a file.
    pub name: &'static str,
    /// What it is, in a few words.
    pub label: &'static str,
    rule: AdmissionRule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AdmissionRule {
    /// As the paper has it.
    Loko,
    /// Ten times the buffer, and the delay as it was.
    LokoTenfoldDelayKept,
    /// Ten times the buffer, and the delay that follows.
    LokoTenfold,
    /// SILO, which counts the links and leaves the processor out.
    Silo,
    /// QJUMP, with a host at every switch.
    QJump,
    Taktos(Budgets, Spacing),
}

/// How our ledger's budgets are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Budgets {
    /// The delay of the paper's allocation at every switch.
    FullRate,
    /// Fitted to flows of the kind that is to come, and to their deadlines.
    ForDeadlines,
    /// Chosen anew for whoever comes (`admission::fit`).
    Following,
}

/// What is known of how close together a switch hands on two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    Unknown,
    /// A processing time apart, as the processor needs as long for each.
    Measured,
}

/// Loko with the buffer of the switch, LOKO Fig. 20a.
pub const LOKO: usize = 0;
/// Loko with ten times the buffer as the paper has it, LOKO Fig. 20b.
pub const TENFOLD_DELAY_KEPT: usize = 1;
/// The same with the delay that follows.
pub const TENFOLD: usize = 2;

/// The first of ours: those before have rules of others.
pub const OURS: usize = 5;

/// The rate of every link of a Zodiac FX.
const LINK: BitRate = BitRate::from_mbps(100);

pub const ALL: [Variant; 9] = [
    Variant {
        name: "fig20a",
        label: "Loko",
        rule: AdmissionRule::Loko,
    },
    Variant {
        name: "fig20b-unsound",
        label: "Loko, buffer x 10, delay kept (unsound)",
        rule: AdmissionRule::LokoTenfoldDelayKept,
    },
    Variant {
        name: "fig20b-sound",
        label: "Loko, buffer x 10, sound",
        rule: AdmissionRule::LokoTenfold,
    },
    Variant {
        name: "fig20-silo",
        label: "Silo (unsound: without the processor)",
        rule: AdmissionRule::Silo,
    },
    Variant {
        name: "fig20-qjump",
        label: "QJump (unsound: frames do not wait for the processor)",
        rule: AdmissionRule::QJump,
    },
    Variant {
        name: "fig20-taktos-budgets",
        label: "Taktos, budgets for deadlines, spacing unknown",
        rule: AdmissionRule::Taktos(Budgets::ForDeadlines, Spacing::Unknown),
    },
    Variant {
        name: "fig20-taktos-spacing",
        label: "Taktos, full-rate budgets, spacing measured",
        rule: AdmissionRule::Taktos(Budgets::FullRate, Spacing::Measured),
    },
    Variant {
        name: "fig20-taktos",
        label: "Taktos, budgets for deadlines, spacing measured",
        rule: AdmissionRule::Taktos(Budgets::ForDeadlines, Spacing::Measured),
    },
    Variant {
        name: "fig20-taktos-following",
        label: "Taktos, budgets that follow the flows, spacing measured",
        rule: AdmissionRule::Taktos(Budgets::Following, Spacing::Measured),
    },
];

/// Returns what may be used of a Zodiac FX, full-rate.
pub fn allocation() -> Allocation {
    let allocation = zodiac_fx().allocate(Fraction::FULL_RATE);
    allocation.expect("LOKO Table 2 has this allocation")
}

/// Returns the same with ten times the buffer.
pub fn tenfold() -> Allocation {
    let switch = zodiac_fx();
    let larger = SwitchModel {
        buffer_frames: switch.buffer_frames * MORE_BUFFER,
        ..switch
    };
    let allocation = larger.allocate(Fraction::FULL_RATE);
    allocation.expect("what fits a buffer fits a larger one")
}

impl Variant {
    /// Returns how many of `runs` are made: to choose budgets for each flow takes long.
    pub fn runs_of(&self, runs: u64) -> u64 {
        match self.rule {
            AdmissionRule::Taktos(Budgets::Following, _) => runs.div_ceil(5),
            AdmissionRule::Loko
            | AdmissionRule::LokoTenfoldDelayKept
            | AdmissionRule::LokoTenfold
            | AdmissionRule::Silo
            | AdmissionRule::QJump
            | AdmissionRule::Taktos(Budgets::FullRate | Budgets::ForDeadlines, _) => runs,
        }
    }

    /// Returns how many frames each switch can hold.
    pub fn buffer_frames(&self) -> u64 {
        let frames = zodiac_fx().buffer_frames;
        match self.rule {
            AdmissionRule::Loko
            | AdmissionRule::Silo
            | AdmissionRule::QJump
            | AdmissionRule::Taktos(..) => frames,
            AdmissionRule::LokoTenfoldDelayKept | AdmissionRule::LokoTenfold => {
                frames * MORE_BUFFER
            }
        }
    }

    /// Returns the ring with nothing admitted, for flows whose paths have `length`
    /// links.
    pub fn network(&self, length: usize, seed: u64) -> AdmittedRing {
        let delay = allocation().delay;
        match self.rule {
            AdmissionRule::Loko => AdmittedRing::loko(allocation()),
            AdmissionRule::LokoTenfoldDelayKept => {
                AdmittedRing::loko(Allocation { delay, ..tenfold() })
            }
            AdmissionRule::LokoTenfold => AdmittedRing::loko(tenfold()),
            AdmissionRule::Silo => AdmittedRing::Silo(Silo::new(vec![
                OutputPort {
                    rate: LINK,
                    buffer: FRAME * FRAMES_A_PORT,
                };
                SWITCHES
            ])),
            AdmissionRule::QJump => AdmittedRing::QJump {
                promised: QJump {
                    hosts: SWITCHES as u64,
                    frame: FRAME,
                    link: LINK,
                    processing: zodiac_fx().processing_time * (length as u64 + 1),
                },
                hosts: [0; SWITCHES],
            },
            AdmissionRule::Taktos(budgets, spacing) => AdmittedRing::Taktos {
                ledger: ledger(budgets, spacing, length, seed),
                rates: [0; SWITCHES],
            },
        }
    }
}

/// Returns our ledger of the ring.
fn ledger(budgets: Budgets, spacing: Spacing, length: usize, seed: u64) -> Ledger {
    let stages = stages(budgets, spacing, length, seed);
    match budgets {
        Budgets::FullRate | Budgets::ForDeadlines => Ledger::new(stages),
        Budgets::Following => Ledger::fitted(stages, Spare::None),
    }
}

/// Returns the switches of the ring with their budgets, or with the least that they are to
/// have.
fn stages(budgets: Budgets, spacing: Spacing, length: usize, seed: u64) -> Vec<Stage> {
    let switch = zodiac_fx();
    let per_frame = switch.service.rate.time_to_send(FRAME);
    let stage = Stage::Processing {
        latency: switch.processing_time,
        per_frame,
        fastest_per_frame: match spacing {
            Spacing::Unknown => Delay::ZERO,
            Spacing::Measured => per_frame,
        },
        budget: match budgets {
            Budgets::FullRate | Budgets::ForDeadlines => allocation().delay,
            Budgets::Following => Delay::ZERO,
        },
        buffer_frames: Some(switch.buffer_frames),
    };
    let stages = vec![stage; SWITCHES];
    match budgets {
        Budgets::FullRate | Budgets::Following => stages,
        Budgets::ForDeadlines => {
            let expected = requests(length, EXPECTED_RUN, seed);
            let expected: Vec<_> = expected.iter().map(request).collect();
            // No budgets admit any flow: those of the paper refuse all as well.
            allocate_for_deadlines(&stages, &[], &expected).map_or(stages, |fitted| fitted.stages)
        }
    }
}

/// Returns what is asked as our ledger takes it, with the deadline that the paper
/// gives.
fn request(asked: &FlowRequest) -> Request {
    let switches = asked.path.iter();
    let stage = |switch: &usize| StageId(u32::try_from(*switch).expect("31 switches"));
    let passed = u64::try_from(asked.path.len()).expect("31 switches");
    Request {
        class: CLASS,
        rate: asked.rate,
        burst: FRAME,
        peak: None,
        frames: None,
        largest_frame: FRAME,
        smallest_frame: FRAME,
        deadline: allocation().end_to_end(passed),
        initial: Delay::ZERO,
        base: Tree::path(switches.map(stage)),
        is_held_back: false,
        redundant: None,
        alternatives: Vec::new(),
    }
}

/// A ring with what has been admitted.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one a run")]
pub enum AdmittedRing {
    /// By the paper's own admission.
    Loko {
        switches: admission::LokoAdmission,
        /// What may be used of each switch.
        burst: DataSize,
    },
    Silo(Silo),
    QJump {
        promised: QJump,
        /// The sum of rates of each host.
        hosts: [u64; SWITCHES],
    },
    Taktos {
        ledger: Ledger,
        /// The sum of rates at each switch.
        rates: [u64; SWITCHES],
    },
}

impl AdmittedRing {
    fn loko(allocation: Allocation) -> Self {
        Self::Loko {
            switches: admission::LokoAdmission::new(vec![allocation; SWITCHES]),
            burst: allocation.burst,
        }
    }

    /// Decides on a request, and returns the guarantee.
    ///
    /// # Errors
    ///
    /// Why it is refused.
    pub fn admit(&mut self, asked: &FlowRequest) -> Result<Delay, Refused> {
        match self {
            Self::Loko { switches, burst: _ } => {
                match switches.admit(asked.traffic(), &asked.path) {
                    Ok(guarantee) => Ok(guarantee),
                    Err(admission::LokoRefusal::Rate { .. }) => Err(Refused::Rate),
                    Err(admission::LokoRefusal::Burst { .. }) => Err(Refused::Burst),
                    Err(admission::LokoRefusal::UnknownSwitch { switch }) => {
                        unreachable!("the ring has {SWITCHES} switches and no switch {switch}")
                    }
                }
            }
            Self::Silo(silo) => {
                let admitted = silo.admit(asked.traffic(), &asked.path);
                admitted.map_err(|_| Refused::Burst)
            }
            Self::QJump { promised, hosts } => {
                let host = &mut hosts[asked.path[0]];
                let sum = *host + asked.rate.as_bps();
                match promised.host_rate() {
                    Some(most) if sum <= most.as_bps() => {
                        *host = sum;
                        Ok(promised.guarantee())
                    }
                    Some(_) | None => Err(Refused::Rate),
                }
            }
            Self::Taktos { ledger, rates } => admit_to_ledger(ledger, rates, asked),
        }
    }

    /// Returns the share of the burst of each switch that is used, if that is what
    /// decides.
    pub fn bursts(&self) -> Option<[f64; SWITCHES]> {
        match self {
            Self::Loko { switches, burst } => {
                let loads = switches.loads();
                let share = |at: usize| bytes(loads[at].burst()) / bytes(*burst);
                Some(std::array::from_fn(share))
            }
            Self::Silo(_) | Self::QJump { .. } | Self::Taktos { .. } => None,
        }
    }
}

fn admit_to_ledger(
    ledger: &mut Ledger,
    rates: &mut [u64; SWITCHES],
    asked: &FlowRequest,
) -> Result<Delay, Refused> {
    let request = request(asked);
    let rate = asked.rate.as_bps();
    // To be told more than whether it fits takes many times as long.
    if !ledger.admits(&request) {
        let most = zodiac_fx().service.rate.as_bps();
        let overloaded = asked.path.iter().any(|switch| rates[*switch] + rate > most);
        return Err(match overloaded {
            true => Refused::Rate,
            false => Refused::Burst,
        });
    }
    let deadline = request.deadline;
    let admitted = ledger.admit(request).map_err(|_| Refused::Burst)?;
    for switch in &asked.path {
        rates[*switch] += rate;
    }
    // Where budgets follow the flows, guarantees move below the deadline when others come.
    Ok(match ledger.slowdown() {
        Some(_) => deadline,
        None => admitted.guarantee,
    })
}
