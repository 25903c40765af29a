//! Promises of a network that changes its mode, and with it which flows it serves
//! and how (`S4-11`).
//!
//! A flow states for each mode in which it is served what it asks for there. Modes
//! that are never in force together need not fit beside each other. While the mode
//! changes, frames of the old one are under way and the first of the new one come:
//! so what has to fit is each set of modes whose frames may be in the network
//! together. Each is a *case* with a ledger of its own, on the same stages with the
//! same budgets, and with the failures of its own.
//!
//! In a case of modes `m` and `m'` a flow that asks for the same in both is one
//! flow. One that differs in rate and burst alone counts as
//!
//! ```text
//! rate   max(r_m, r_m')
//! burst  b_m + b_m'
//! ```
//!
//! as its source sends by one contract at a time. Any other difference makes it two
//! flows. The proof, and what it asks of sources and of changes, is in
//! `docs/promises.md`.

use std::collections::BTreeMap;

use thiserror::Error;
use units::{DataSize, Delay};

use super::ledger::{FlowId, Ledger};
use super::refusal::Refusal;
use super::request::Request;
use super::stage::{BestEffort, Stage, StageId};
use crate::bounds::processing::FrameBucket;
use crate::min_plus::TokenBucket;

/// The number of a mode, given by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode(pub u8);

/// A flow that the network serves differently from mode to mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModalRequest {
    /// What it asks for in each mode in which it is served.
    pub by_mode: BTreeMap<Mode, Request>,
}

/// A promise for all modes in which a flow is served, and while they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModalAdmitted {
    /// The flow it was made to.
    pub id: FlowId,
    /// The longest that a frame takes that was sent in a mode.
    pub guarantees: BTreeMap<Mode, Delay>,
}

/// Why a flow was refused, and in which case.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{refusal}")]
pub struct ModalRefusal {
    /// The modes that are in force together there.
    pub together: Vec<Mode>,
    /// Why not.
    #[source]
    pub refusal: Refusal,
}

/// All promises of a network with modes.
#[derive(Clone, Debug)]
pub struct ModalLedger {
    cases: Vec<ModeCase>,
    /// The numbers of a flow in each case.
    flows: BTreeMap<FlowId, Vec<Vec<FlowId>>>,
    next: u64,
}

#[derive(Clone, Debug)]
struct ModeCase {
    together: Vec<Mode>,
    ledger: Ledger,
}

impl ModalLedger {
    /// Starts with no promises. `together` are the sets of modes whose frames may
    /// be in the network at the same time: the two of each change that may happen,
    /// and a mode alone from which and to which there is none.
    ///
    /// # Panics
    ///
    /// If a stage is beyond the limits named in this module.
    #[must_use]
    pub fn new(stages: &[Stage], together: &[&[Mode]]) -> Self {
        let case = |modes: &&[Mode]| ModeCase {
            together: modes.to_vec(),
            ledger: Ledger::new(stages.to_vec()),
        };
        Self {
            cases: together.iter().map(case).collect(),
            flows: BTreeMap::new(),
            next: 0,
        }
    }

    /// Promises a flow what it asks for in each of its modes, and while they
    /// change.
    ///
    /// # Errors
    ///
    /// The first case in which that cannot be promised, and why. Nothing has
    /// changed then.
    pub fn admit(&mut self, request: &ModalRequest) -> Result<ModalAdmitted, ModalRefusal> {
        let mut numbers: Vec<Vec<FlowId>> = Vec::with_capacity(self.cases.len());
        let mut guarantees = BTreeMap::new();
        for at in 0..self.cases.len() {
            let case = &mut self.cases[at];
            let (modes, requests): (Vec<_>, Vec<_>) = case.flows(request).into_iter().unzip();
            match case.ledger.admit_all(requests) {
                Ok(admitted) => {
                    for (modes, admitted) in modes.iter().zip(&admitted) {
                        let worst = admitted.alternatives.iter().map(|(_, delay)| *delay);
                        let worst = worst.fold(admitted.guarantee, Delay::max);
                        for mode in modes {
                            let known = guarantees.entry(*mode).or_insert(worst);
                            *known = worst.max(*known);
                        }
                    }
                    numbers.push(admitted.iter().map(|admitted| admitted.id).collect());
                }
                Err(refused) => {
                    let together = case.together.clone();
                    self.take_back(&numbers);
                    let refusal = refused.refusal;
                    return Err(ModalRefusal { together, refusal });
                }
            }
        }
        let id = FlowId(self.next);
        self.next += 1;
        self.flows.insert(id, numbers);
        Ok(ModalAdmitted { id, guarantees })
    }

    /// Takes a promise back and returns whether there was one. All sums are then
    /// what they would be without it.
    pub fn withdraw(&mut self, id: FlowId) -> bool {
        let numbers = self.flows.remove(&id);
        if let Some(numbers) = &numbers {
            self.take_back(numbers);
        }
        numbers.is_some()
    }

    /// Counts work for which nothing is promised at a processing stage, whatever
    /// the mode.
    ///
    /// # Errors
    ///
    /// As [`Ledger::declare_unpromised`] in the first case. Nothing has changed
    /// then.
    pub fn declare_unpromised(
        &mut self,
        stage: StageId,
        work: BestEffort,
    ) -> Result<(), ModalRefusal> {
        for at in 0..self.cases.len() {
            let declared = self.cases[at].ledger.declare_unpromised(stage, work);
            if let Err(refusal) = declared {
                for before in &mut self.cases[..at] {
                    let retracted = before.ledger.retract_unpromised(stage, work);
                    retracted.expect("it was declared a moment ago");
                }
                let together = self.cases[at].together.clone();
                return Err(ModalRefusal { together, refusal });
            }
        }
        Ok(())
    }

    /// Returns the ledger of each case, with the modes that are in force together.
    pub fn cases(&self) -> impl Iterator<Item = (&[Mode], &Ledger)> {
        let cases = self.cases.iter();
        cases.map(|case| (case.together.as_slice(), &case.ledger))
    }

    fn take_back(&mut self, numbers: &[Vec<FlowId>]) {
        for (case, numbers) in self.cases.iter_mut().zip(numbers) {
            for number in numbers {
                case.ledger.withdraw(*number);
            }
        }
    }
}

impl ModeCase {
    /// Returns what a flow asks for in this case, and in which modes that is what
    /// it asks for.
    fn flows(&self, request: &ModalRequest) -> Vec<(Vec<Mode>, Request)> {
        let mut flows: Vec<(Vec<Mode>, Request)> = Vec::new();
        let of_case = |mode: &Mode| Some((*mode, request.by_mode.get(mode)?));
        for (mode, request) in self.together.iter().filter_map(of_case) {
            let mut known = flows.iter_mut();
            match known.find_map(|(modes, other)| Some((modes, merged(other, request)?, other))) {
                Some((modes, merged, other)) => {
                    modes.push(mode);
                    *other = merged;
                }
                None => flows.push((vec![mode], request.clone())),
            }
        }
        flows
    }
}

/// Returns a request that covers a source which sends by one of two at a time, or
/// nothing if they differ in more than contract and deadline.
fn merged(one: &Request, other: &Request) -> Option<Request> {
    let likened = Request {
        rate: other.rate,
        burst: other.burst,
        peak: other.peak,
        frames: other.frames,
        largest_frame: other.largest_frame,
        smallest_frame: other.smallest_frame,
        deadline: other.deadline,
        ..one.clone()
    };
    if likened != *other {
        return None;
    }
    if contract(one) == contract(other) {
        let deadline = one.deadline.min(other.deadline);
        // Beside a peak, the size bounds how many frames come at once (`plan`).
        let smallest_frame = one.smallest_frame.min(other.smallest_frame);
        return Some(Request {
            smallest_frame,
            deadline,
            ..likened
        });
    }
    let peak = one.peak.zip(other.peak).and_then(|(one, other)| {
        let rate = one.rate().max(other.rate())?;
        Some(TokenBucket::new(rate, one.burst() + other.burst()))
    });
    let counted = one.frames.is_some() || other.frames.is_some();
    let [frames, others] = [one, other].map(|it| it.frames_of(it.traffic()));
    Some(Request {
        frames: counted.then(|| FrameBucket {
            rate_per_second: frames.rate_per_second.max(others.rate_per_second),
            burst: frames.burst + others.burst,
        }),
        rate: one.rate.max(other.rate),
        burst: one.burst + other.burst,
        peak,
        largest_frame: one.largest_frame.max(other.largest_frame),
        smallest_frame: one.smallest_frame.min(other.smallest_frame),
        deadline: one.deadline.min(other.deadline),
        ..likened
    })
}

/// Returns what a source keeps to.
fn contract(request: &Request) -> (TokenBucket, Option<TokenBucket>, FrameBucket, DataSize) {
    let frames = request.frames_of(request.traffic());
    (
        request.traffic(),
        request.peak,
        frames,
        request.largest_frame,
    )
}

#[cfg(test)]
mod tests {
    use units::BitRate;

    use super::*;
    use crate::admission::{CLASSES, Tree};

    const NORMAL: Mode = Mode(0);
    const EMERGENCY: Mode = Mode(1);
    const FRAME: DataSize = DataSize::from_bytes(250);

    #[test]
    fn flows_of_modes_that_never_meet_do_not_add_up() {
        let apart: &[&[Mode]] = &[&[NORMAL], &[EMERGENCY]];
        let meeting: &[&[Mode]] = &[&[NORMAL, EMERGENCY]];
        let admit_both = |together| {
            let mut ledger = ModalLedger::new(&stages(), together);
            ledger.admit(&served(&[(NORMAL, 60)])).unwrap();
            ledger.admit(&served(&[(EMERGENCY, 60)]))
        };

        assert!(admit_both(apart).is_ok());
        let refused = admit_both(meeting).unwrap_err();
        assert_eq!(refused.together, [NORMAL, EMERGENCY]);
        assert!(refused.refusal.constraint.is_overload(), "{refused}");
    }

    #[test]
    fn a_flow_that_is_the_same_in_both_modes_counts_once() {
        let mut ledger = ModalLedger::new(&stages(), &[&[NORMAL, EMERGENCY]]);

        let admitted = ledger
            .admit(&served(&[(NORMAL, 60), (EMERGENCY, 60)]))
            .unwrap();

        assert_eq!(
            admitted.guarantees[&NORMAL],
            admitted.guarantees[&EMERGENCY]
        );
        let (_, case) = ledger.cases().next().unwrap();
        let request = case.request(FlowId(0)).unwrap();
        assert_eq!(request.traffic(), of_rate(60).traffic());
    }

    #[test]
    fn a_flow_whose_contract_changes_counts_its_higher_rate_and_both_bursts() {
        let mut ledger = ModalLedger::new(&stages(), &[&[NORMAL, EMERGENCY]]);

        ledger
            .admit(&served(&[(NORMAL, 60), (EMERGENCY, 30)]))
            .unwrap();

        let (_, case) = ledger.cases().next().unwrap();
        let request = case.request(FlowId(0)).unwrap();
        assert_eq!(
            request.traffic(),
            TokenBucket::new(BitRate::from_mbps(60), FRAME * 2)
        );
    }

    #[test]
    fn a_flow_that_changes_its_class_is_two_while_it_does() {
        let mut ledger = ModalLedger::new(&stages(), &[&[NORMAL, EMERGENCY]]);
        let mut request = served(&[(NORMAL, 10), (EMERGENCY, 10)]);
        request.by_mode.get_mut(&EMERGENCY).unwrap().class = 5;

        let admitted = ledger.admit(&request).unwrap();

        let (_, case) = ledger.cases().next().unwrap();
        assert_eq!(case.flows(), 2);
        assert!(admitted.guarantees[&NORMAL] < admitted.guarantees[&EMERGENCY]);
    }

    #[test]
    fn refusing_and_withdrawing_leave_nothing_behind() {
        let together: &[&[Mode]] = &[&[NORMAL], &[NORMAL, EMERGENCY]];
        let mut ledger = ModalLedger::new(&stages(), together);
        ledger.admit(&served(&[(NORMAL, 50)])).unwrap();
        let untouched = ledger.clone();

        let refused = ledger.admit(&served(&[(NORMAL, 20), (EMERGENCY, 60)]));
        let admitted = ledger
            .admit(&served(&[(NORMAL, 20), (EMERGENCY, 30)]))
            .unwrap();
        assert!(ledger.withdraw(admitted.id));

        assert_eq!(refused.unwrap_err().together, [NORMAL, EMERGENCY]);
        assert!(!ledger.withdraw(admitted.id));
        for ((_, case), (_, before)) in ledger.cases().zip(untouched.cases()) {
            assert_eq!(case, before);
        }
    }

    #[test]
    fn work_without_promise_is_declared_for_all_modes_or_none() {
        let mut ledger = ModalLedger::new(&stages(), &[&[NORMAL], &[EMERGENCY]]);
        let work = BestEffort {
            traffic: TokenBucket::new(BitRate::from_mbps(60), FRAME),
            smallest_frame: FRAME,
        };
        ledger.admit(&served(&[(EMERGENCY, 60)])).unwrap();
        let untouched = ledger.clone();

        let refused = ledger.declare_unpromised(StageId(0), work).unwrap_err();

        assert_eq!(refused.together, [EMERGENCY]);
        for ((_, case), (_, before)) in ledger.cases().zip(untouched.cases()) {
            assert_eq!(case, before);
        }
    }

    /// Their number is the same by contract, and what a peak lets through at once is not.
    #[test]
    fn a_flow_may_send_the_smaller_frames_of_either_mode() {
        let size = |bytes| Request {
            peak: Some(TokenBucket::new(BitRate::from_mbps(1_000), FRAME)),
            frames: Some(FrameBucket {
                rate_per_second: 1_000,
                burst: 10,
            }),
            smallest_frame: DataSize::from_bytes(bytes),
            ..of_rate(50)
        };
        let (small, large) = (size(84), size(1_000));

        for (one, other) in [(&small, &large), (&large, &small)] {
            assert_eq!(merged(one, other), Some(small.clone()));
        }
    }

    fn served(modes: &[(Mode, u64)]) -> ModalRequest {
        let by_mode = modes.iter().map(|(mode, mbps)| (*mode, of_rate(*mbps)));
        ModalRequest {
            by_mode: by_mode.collect(),
        }
    }

    fn of_rate(mbps: u64) -> Request {
        Request {
            class: 7,
            rate: BitRate::from_mbps(mbps),
            burst: FRAME,
            peak: None,
            frames: None,
            largest_frame: FRAME,
            smallest_frame: FRAME,
            deadline: Delay::from_us(10_000),
            initial: Delay::ZERO,
            base: Tree::path([StageId(0), StageId(1)]),
            alternatives: Vec::new(),
            is_held_back: false,
            redundant: None,
        }
    }

    /// A processor for 50,000 frames a second, 100 Mbit/s of these, and a port.
    fn stages() -> Vec<Stage> {
        let mut budgets = [None; CLASSES];
        budgets[7] = Some(Delay::from_us(1_000));
        budgets[5] = Some(Delay::from_us(2_000));
        vec![
            Stage::Processing {
                latency: Delay::from_us(5),
                per_frame: Delay::from_us(20),
                fastest_per_frame: Delay::ZERO,
                budget: Delay::from_us(500),
                buffer_frames: None,
            },
            Stage::Port {
                rate: BitRate::from_mbps(100),
                propagation: Delay::ZERO,
                budgets,
                buffers: [None; CLASSES],
                largest_frame: FRAME,
            },
        ]
    }
}
