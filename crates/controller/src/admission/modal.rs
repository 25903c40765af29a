//! Promises at the levels of criticality, and while the level changes (S2-8, S2-11).
//!
//! What a flow requires is promised at the lowest level by the ledger of all flows. Each
//! higher level has a ledger of its own: there other flows are served, and by other
//! contracts. While a level becomes another one, flows that are served at both may be
//! late by the time that a change takes; that is taken from their deadlines and added to
//! their guarantees (MC-SDN section VI). The levels need not fit beside each other:
//!
//! - the bound of a change ends when the frames of flows that are given up are out of
//!   the way, dropped or overtaken;
//! - a flow grants itself no less at a higher level, so what it sent before keeps the
//!   contract of that level, too;
//! - on the way back everything is quiet and drained before anything returns.
//!
//! What a change holds back comes to the next hop in one burst, so at these levels each
//! flow has a burst larger by what it sends within D_mc (`held_back`).
//!
//! The first of these is seen to here: what is given up waits in no queue that is as
//! urgent as one of those that stay (`reserved_queues`). It is dropped at the first switch
//! that it comes to, which takes time of that switch's processing stage: so much of it is
//! reserved at every level.
//!
//! The budgets of the network are chosen for its lowest level. Where they are no good at
//! a higher one, the smallest that do are taken there instead, if every flow that was
//! admitted keeps what it was told.

use std::collections::{BTreeMap, BTreeSet};

use calculus::admission::{
    BestEffort, Constraint, Headroom, Ledger, MAX_DELAY, Refusal, Request, Stage, StageId, Tree,
    suggest_budgets,
};
use units::Delay;
use wire::mode_signal::Level;

use crate::modes::{Modes, Service, Strategy};
use crate::northbound::{ExceedAction, Requirement};
use crate::place::PortId;
use crate::ways::Ways;

use super::reserved_queues::ReservedQueues;
use super::{Fits, LedgerPlace, Refused, ReservationId, Reservations};

/// What is promised at the levels above the lowest.
#[derive(Clone, Debug)]
pub(super) struct Modal {
    modes: Modes,
    /// What was promised at the lowest level, a change included.
    lowest: BTreeMap<ReservationId, Delay>,
    levels: BTreeMap<Level, AtLevel>,
    unpromised: Vec<(StageId, BestEffort)>,
    probes: Vec<Request>,
    /// Stages at which nothing can be promised.
    unfit: BTreeSet<StageId>,
    queues: ReservedQueues,
}

/// What is promised at one level.
#[derive(Clone, Debug)]
struct AtLevel {
    ledger: Ledger,
    flows: BTreeMap<ReservationId, Reserved>,
}

/// What one flow was promised.
#[derive(Clone, Debug)]
struct Reserved {
    request: Request,
    /// Its number in the ledger of the level.
    number: ReservationId,
    guarantee: Delay,
}

impl Modal {
    /// Begins with no promise; there is nothing to promise without modes.
    pub(super) fn new(modes: Option<&Modes>) -> Option<Self> {
        let modes = modes.filter(|modes| modes.strategy != Strategy::McAgnostic)?;
        let empty = || AtLevel {
            ledger: Ledger::new(Vec::new()),
            flows: BTreeMap::new(),
        };
        let higher = modes.all().filter(|level| *level > Level::LOWEST);
        Some(Self {
            levels: higher.map(|level| (level, empty())).collect(),
            lowest: BTreeMap::new(),
            modes: modes.clone(),
            unpromised: Vec::new(),
            probes: Vec::new(),
            unfit: BTreeSet::new(),
            queues: ReservedQueues::default(),
        })
    }

    pub(super) fn add_stage(&mut self, stage: &Stage) {
        for at in self.levels.values_mut() {
            at.ledger.add_stage(stage.clone());
        }
    }

    /// Notes that nothing can be promised at a stage.
    pub(super) fn give_up(&mut self, stage: StageId) {
        self.unfit.insert(stage);
    }

    pub(super) fn declare_unpromised(&mut self, stage: StageId, work: BestEffort) {
        self.unpromised.push((stage, work));
        for at in self.levels.values_mut() {
            let declared = at.ledger.declare_unpromised(stage, work);
            declared.expect("it fitted the same stage a moment ago");
        }
    }

    /// Admits a probe, which is sent at all levels.
    pub(super) fn admit_probe(&mut self, probe: &Request) {
        self.probes.push(probe.clone());
        for at in self.levels.values_mut() {
            let admitted = at.ledger.admit(probe.clone());
            admitted.expect("it fitted the same stage a moment ago");
        }
    }

    pub(super) fn release(&mut self, id: ReservationId) {
        self.queues.leave(id);
        self.lowest.remove(&id);
        for at in self.levels.values_mut() {
            if let Some(kept) = at.flows.remove(&id) {
                at.ledger.withdraw(kept.number);
            }
        }
    }

    /// Promises a flow what it requires at a level, and returns how late a frame may be
    /// there, without what a change takes.
    fn admit(
        &mut self,
        level: Level,
        id: ReservationId,
        request: Request,
    ) -> Result<Delay, Refusal> {
        let Some(at) = self.levels.get(&level) else {
            return Ok(Delay::ZERO);
        };
        let mut at = at.clone();
        let guarantee = match at.ledger.admit(request.clone()) {
            Ok(admitted) => {
                let others = admitted.alternatives.iter().map(|(_, delay)| *delay);
                let guarantee = others.fold(admitted.guarantee, Delay::max);
                let number = admitted.id;
                let kept = Reserved {
                    request,
                    number,
                    guarantee,
                };
                at.flows.insert(id, kept);
                guarantee
            }
            Err(refusal) => {
                // Other budgets may delay it by as much as it allows.
                let guarantee = request.deadline;
                let fresh = Reserved {
                    request,
                    number: id,
                    guarantee,
                };
                at.flows.insert(id, fresh);
                at = self.with_other_budgets(&at).ok_or(refusal)?;
                guarantee
            }
        };
        self.levels.insert(level, at);
        Ok(guarantee)
    }

    /// Returns the same flows with the smallest budgets that admit them; nothing if there
    /// are none, or one of them would lose by it.
    fn with_other_budgets(&self, at: &AtLevel) -> Option<AtLevel> {
        let flows = at.flows.values();
        let mut requests = self.probes.clone();
        requests.extend(flows.map(|kept| kept.request.clone()));
        let hops = requests.iter().flat_map(|request| &request.base.hops);
        if hops.into_iter().any(|hop| self.unfit.contains(&hop.stage)) {
            return None;
        }
        let least: Vec<Stage> = at.ledger.stages().iter().map(without_budgets).collect();
        let stages = suggest_budgets(&least, &self.unpromised, &requests, Headroom::default())?;
        let mut ledger = Ledger::new(stages);
        for (stage, work) in &self.unpromised {
            ledger.declare_unpromised(*stage, *work).ok()?;
        }
        for probe in &self.probes {
            ledger.admit(probe.clone()).ok()?;
        }
        let mut kept = BTreeMap::new();
        for (id, flow) in &at.flows {
            let admitted = ledger.admit(flow.request.clone()).ok()?;
            let others = admitted.alternatives.iter().map(|(_, delay)| *delay);
            if others.fold(admitted.guarantee, Delay::max) > flow.guarantee {
                return None;
            }
            let number = admitted.id;
            kept.insert(
                *id,
                Reserved {
                    number,
                    ..flow.clone()
                },
            );
        }
        Some(AtLevel {
            ledger,
            flows: kept,
        })
    }
}

impl Reservations {
    /// Returns a copy of the ledger of each level above the lowest, the lowest of them
    /// first.
    #[must_use]
    pub fn copy_levels(&self) -> Vec<Ledger> {
        let levels = self.modal.iter().flat_map(|modal| modal.levels.values());
        levels.map(|at| at.ledger.clone()).collect()
    }

    /// Returns what was promised to a flow at each level, the lowest first, with what a
    /// change may add; nothing at those that give it up. Without levels that is
    /// `guarantee` alone.
    #[must_use]
    pub fn guarantees(
        &self,
        id: ReservationId,
        requirement: &Requirement,
        guarantee: Delay,
    ) -> Vec<Option<Delay>> {
        let Some(modal) = &self.modal else {
            return vec![Some(guarantee)];
        };
        let lowest = modal.lowest.get(&id).copied().unwrap_or(guarantee);
        let higher = modal.levels.iter().map(|(level, at)| {
            let kept = at.flows.get(&id)?;
            let served = modal.modes.service(requirement, *level) != Service::Dropped;
            served.then(|| kept.guarantee + modal.modes.change_bound)
        });
        std::iter::once(Some(lowest)).chain(higher).collect()
    }

    /// Notes what was promised at the lowest level.
    pub(super) fn note_lowest(&mut self, id: ReservationId, guarantee: Delay) {
        if let Some(modal) = &mut self.modal {
            modal.lowest.insert(id, guarantee);
        }
    }

    /// Returns how late a change of mode may make the frames of a flow: nothing if it is
    /// served at the lowest level alone, or there are no modes.
    pub(super) fn lateness(&self, requirement: &Requirement) -> Delay {
        let Some(modal) = &self.modal else {
            return Delay::ZERO;
        };
        let mut levels = modal.levels.keys();
        let is_served =
            |level: &Level| modal.modes.service(requirement, *level) != Service::Dropped;
        match levels.any(is_served) {
            true => modal.modes.change_bound,
            false => Delay::ZERO,
        }
    }

    /// Reserves what a flow gets at each level above the lowest, and returns the longest
    /// delay at any of them, a change included; zero without modes.
    pub(super) fn reserve_levels(
        &mut self,
        id: ReservationId,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Result<Delay, Box<Refused>> {
        let lateness = self.lateness(requirement);
        self.bound_change(requirement, source, ways)?;
        self.reserve_queues(id, requirement, source, ways)?;
        let Some(modal) = &self.modal else {
            return Ok(Delay::ZERO);
        };
        let mut worst = Delay::ZERO;
        for (level, required) in at_levels(&modal.modes, requirement, lateness) {
            let request = match &required {
                Some(required) => {
                    let request = self.request(required, source, ways);
                    Some(held_back(request, lateness))
                }
                None => self.given_up(requirement, source, ways),
            };
            let (Some(request), Some(modal)) = (request, &mut self.modal) else {
                continue;
            };
            match modal.admit(level, id, request.clone()) {
                Ok(guarantee) if required.is_some() => worst = worst.max(guarantee + lateness),
                Ok(_) => {}
                Err(refusal) => {
                    modal.release(id);
                    let refused = self.refused(refusal, request);
                    let level = Some(level);
                    return Err(Box::new(Refused { level, ..refused }));
                }
            }
        }
        Ok(worst)
    }

    /// Returns what a flow asks of a level that gives it up: its source goes on sending,
    /// and its first switch has to look at each frame to drop it. Nothing where switches
    /// take no time for that.
    fn given_up(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Option<Request> {
        let request = self.request(requirement, source, ways);
        let first = request.base.hops.first()?.stage;
        match self.places[first.0 as usize] {
            LedgerPlace::Switch(_) => Some(Request {
                deadline: MAX_DELAY,
                base: Tree::path([first]),
                alternatives: Vec::new(),
                ..request
            }),
            LedgerPlace::Port(_) => None,
        }
    }

    /// Sees to it that a change of level that may make the flow late has a bound: none of
    /// the processors that its signals pass works without end on something else.
    fn bound_change(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Result<(), Box<Refused>> {
        let Some(modal) = self.modal.as_ref() else {
            return Ok(());
        };
        let unfit = modal
            .unfit
            .iter()
            .map(|stage| self.places[stage.0 as usize]);
        let mut switches = unfit.filter(|place| matches!(place, LedgerPlace::Switch(_)));
        match switches.next() {
            Some(place) if self.lateness(requirement) > Delay::ZERO => Err(Box::new(Refused {
                place: Some(place),
                after: None,
                level: None,
                constraint: Constraint::UnboundedChange,
                probes_break: None,
                fits: Fits::default(),
                asked: self.request(requirement, source, ways),
            })),
            Some(_) | None => Ok(()),
        }
    }

    /// Sees to it that nothing which a higher level gives up waits in front of what it
    /// serves.
    fn reserve_queues(
        &mut self,
        id: ReservationId,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Result<(), Box<Refused>> {
        let asked = match &self.modal {
            Some(modal)
                if modal.modes.strategy == Strategy::Taktos
                    && modal.modes.change_bound > Delay::ZERO =>
            {
                self.request(requirement, source, ways)
            }
            Some(_) | None => return Ok(()),
        };
        let alternatives = asked.alternatives.iter().flat_map(|(_, tree)| &tree.hops);
        let hops = asked.base.hops.iter().chain(alternatives);
        let is_port = |stage: &StageId| match self.places[stage.0 as usize] {
            LedgerPlace::Port(_) => true,
            LedgerPlace::Switch(_) => false,
        };
        let ports = hops.map(|hop| hop.stage).filter(is_port).collect();
        let Some(modal) = &mut self.modal else {
            return Ok(());
        };
        let at_level = |level| match modal.modes.service(requirement, level) {
            Service::Dropped => (level, None),
            Service::Served { class, .. } => (level, Some(class)),
        };
        let queues = modal.modes.all().map(at_level).collect();
        modal.queues.enter(id, ports, queues).map_err(|clash| {
            Box::new(Refused {
                place: clash.port.map(|stage| self.places[stage.0 as usize]),
                after: None,
                level: Some(clash.level).filter(|level| *level > Level::LOWEST),
                constraint: clash.constraint,
                probes_break: None,
                fits: Fits::default(),
                asked,
            })
        })
    }
}

/// Returns what a flow requires at each level above the lowest, and nothing for one that
/// gives it up.
fn at_levels(
    modes: &Modes,
    requirement: &Requirement,
    lateness: Delay,
) -> Vec<(Level, Option<Requirement>)> {
    let higher = modes.all().filter(|level| *level > Level::LOWEST);
    let required = higher.map(|level| match modes.service(requirement, level) {
        Service::Dropped => (level, None),
        Service::Served { class, traffic } => {
            let usual = requirement.deadline;
            let deadline = usual.map(|usual| modes.deadline(requirement, usual, level));
            let required = Requirement {
                class,
                is_class_free: false,
                must_be_enforced: false,
                excess: ExceedAction::Drop,
                traffic,
                deadline: deadline.map(|deadline| deadline.saturating_sub(lateness)),
                ..requirement.clone()
            };
            (level, Some(required))
        }
    });
    required.collect()
}

/// Returns what a flow asks of a level if a change may hold its frames back: what it sent
/// meanwhile comes to the next hop with what is due there then.
fn held_back(request: Request, lateness: Delay) -> Request {
    Request {
        burst: request.burst + request.rate.most_in(lateness),
        peak: request.peak.map(|peak| peak.spread_by(lateness)),
        frames: request.frames.map(|frames| frames.spread_by(lateness)),
        ..request
    }
}

/// Returns a stage with the least budgets.
fn without_budgets(stage: &Stage) -> Stage {
    let mut stage = stage.clone();
    match &mut stage {
        Stage::Processing { budget, .. } => *budget = Delay::ZERO,
        Stage::Port { budgets, .. } => *budgets = [None; 8],
    }
    stage
}

#[cfg(test)]
mod tests {
    use calculus::admission::FrameBucket;
    use calculus::min_plus::TokenBucket;
    use units::{BitRate, DataSize};

    use super::*;

    #[test]
    fn what_a_change_holds_back_comes_in_one_burst() {
        let rate = BitRate::from_mbps(8);
        let flow = Request {
            class: 5,
            rate,
            burst: DataSize::from_bytes(1000),
            peak: Some(TokenBucket::new(
                BitRate::from_mbps(80),
                DataSize::from_bytes(100),
            )),
            frames: Some(FrameBucket {
                rate_per_second: 8_000_000_000,
                burst: 2_000_000,
            }),
            largest_frame: DataSize::from_bytes(100),
            smallest_frame: DataSize::from_bytes(84),
            deadline: Delay::from_us(500),
            initial: Delay::ZERO,
            base: Tree::path([StageId(0)]),
            alternatives: Vec::new(),
            is_held_back: false,
            redundant: None,
        };

        let behind = held_back(flow, Delay::from_us(250));

        assert_eq!(behind.burst, DataSize::from_bytes(1250));
        assert_eq!(behind.peak.unwrap().burst(), DataSize::from_bytes(2600));
        assert_eq!(behind.frames.unwrap().burst, 4_000_000);
    }
}
