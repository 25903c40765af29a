//! Decides whether the network can keep one more promise.
//!
//! A tree through the network becomes a tree of stages: at each switch the
//! processing stage that its ports share, then a port for each output (S4-5).
//! The ledger of `calculus` knows what every stage has promised and whether it
//! can promise more (S4-6). A flow that is to be restored is reserved on its
//! base tree and, for the failure of each link of it, on the alternative as
//! well, so that the promise holds on every way that the flow may take.
//!
//! Where the network has modes, what a flow gets at each level is reserved as well, and
//! how late a change of level may make it is part of its promise (`modal`).
//!
//! The work of the network that no flow accounts for is part of every bound, see
//! [`unpromised`](crate::best_effort).

mod corrected;
mod modal;
mod reserved_queues;
mod sessions;

use std::collections::BTreeMap;
use std::sync::Arc;

use calculus::admission::{
    FailureId, Hop, Ledger, MAX_DELAY, Redundant, Request, Spare, Stage, StageId,
};
use calculus::min_plus::TokenBucket;
use units::Delay;
use wire::mode_signal::Level;
use wire::openflow::DatapathId;

use crate::best_effort::WithoutPromise;
use crate::config::{Config, Parameters, PortParameters, ProcessingParameters, SwitchParameters};
use crate::controller::policing::admitted_traffic;
use crate::northbound::{Requirement, Traffic};
use crate::path::Tree;
use crate::place::{LinkEnds, PortId};
use crate::seamless;
use crate::ways::{StagesAfter, Ways};
use modal::Modal;

pub use calculus::admission::{Constraint, Fits, FlowId as ReservationId};
pub use corrected::{Correction, Uncorrectable};
pub use sessions::SessionRooms;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LedgerPlace {
    /// The processing stage of a switch.
    Switch(DatapathId),
    Port(PortId),
}

/// Why the ledger refused, with places instead of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub place: Option<LedgerPlace>,
    /// After the failure of which link, if after one.
    pub after: Option<LinkEnds>,
    /// At which level of criticality, if at one above the lowest.
    pub level: Option<Level>,
    pub constraint: Constraint,
    /// What the controller's own probes break there already, if that is why there is no
    /// budget.
    pub probes_break: Option<Constraint>,
    /// What would have been admitted.
    pub fits: Fits,
    pub asked: Request,
}

/// What was reserved for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// By which it is given back.
    pub id: ReservationId,
    /// The longest delay on any way that the flow may take.
    pub guarantee: Delay,
}

/// All reservations in the network.
#[derive(Clone, Debug)]
pub struct Reservations {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) work: WithoutPromise,
    pub(crate) ledger: Ledger,
    /// What is promised at each level and while it changes, if there are modes.
    modal: Option<Modal>,
    pub(crate) places: Vec<LedgerPlace>,
    stages: BTreeMap<LedgerPlace, StageId>,
    /// The ports at which nothing is promised, as probes alone break this there.
    crowded: BTreeMap<LedgerPlace, Constraint>,
    links: Vec<LinkEnds>,
    failures: BTreeMap<LinkEnds, FailureId>,
    /// The packets by which neighbours ask each other whether they are there.
    sessions: SessionRooms,
    /// How often something was reserved or given back.
    changes: u64,
}

impl Reservations {
    /// Starts with the stages of the switches that are configured. Others are
    /// added when a flow first uses them.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self::with(config, Arc::new(Parameters::new(config)))
    }

    /// Does the same with parameters that others share.
    pub(crate) fn with(config: &Config, parameters: Arc<Parameters>) -> Self {
        let mut reservations = Self {
            parameters,
            work: WithoutPromise::new(config),
            ledger: empty_ledger(config),
            modal: Modal::new(config.modes.as_ref()),
            places: Vec::new(),
            stages: BTreeMap::new(),
            crowded: BTreeMap::new(),
            links: Vec::new(),
            failures: BTreeMap::new(),
            sessions: SessionRooms::default(),
            changes: 0,
        };
        for (datapath, switch) in &config.switches {
            reservations.add_switch(*datapath);
            for port in switch.ports.keys() {
                reservations.add_port(PortId::new(*datapath, *port));
            }
        }
        reservations
    }

    /// Returns what is known of a switch.
    #[must_use]
    pub fn parameters(&self, datapath: DatapathId) -> &SwitchParameters {
        self.parameters.of(datapath)
    }

    /// Reserves what a flow requires on all of its trees.
    ///
    /// # Errors
    ///
    /// Where and why that is not possible, and what would be.
    ///
    /// # Panics
    ///
    /// If the requirement has no deadline: best effort reserves nothing.
    pub fn reserve(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Result<Reserved, Box<Refused>> {
        let (sessions, made) = self.reserve_sessions(requirement, ways)?;
        let reserved = self.reserve_way(requirement, source, ways);
        match &reserved {
            Ok(reserved) => {
                let heart_beat = crate::neighbour_sessions::heart_beat_of(requirement.protection);
                self.sessions.use_by(reserved.id, sessions, heart_beat);
            }
            Err(_) => self.undo_sessions(made),
        }
        reserved
    }

    fn reserve_way(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Result<Reserved, Box<Refused>> {
        let lateness = self.lateness(requirement);
        let request = self.in_time(requirement, source, ways);
        self.changes += 1;
        let admitted = self.ledger.admit(request).map_err(|refusal| {
            let asked = self.request(requirement, source, ways);
            Box::new(self.refused(refusal, asked))
        })?;
        let on_alternatives = admitted.alternatives.iter().map(|(_, delay)| *delay);
        let guarantee = on_alternatives.fold(admitted.guarantee, Delay::max);
        let at_levels = self.reserve_levels(admitted.id, requirement, source, ways);
        let at_levels = at_levels.inspect_err(|_| {
            self.ledger.withdraw(admitted.id);
        })?;
        self.note_lowest(admitted.id, guarantee + lateness);
        Ok(Reserved {
            id: admitted.id,
            guarantee: at_levels.max(guarantee + lateness),
        })
    }

    /// Returns the delay that could be promised to a flow on a tree, without
    /// promising it.
    ///
    /// # Errors
    ///
    /// Where and why nothing can be promised, and what could be.
    ///
    /// # Panics
    ///
    /// If the requirement has no deadline.
    pub(crate) fn what_if(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        tree: &Tree,
    ) -> Result<Delay, Box<Refused>> {
        let ways = Ways::new(tree.clone(), Vec::new());
        let asked = self.request(requirement, source, &ways);
        let checked = self.ledger.check(&asked);
        checked.map_err(|refusal| Box::new(self.refused(refusal, asked)))
    }

    fn refused(&self, refusal: calculus::admission::Refusal, asked: Request) -> Refused {
        let place = refusal.stage.map(|stage| self.places[stage.0 as usize]);
        let crowded = place.and_then(|place| self.crowded.get(&place).copied());
        Refused {
            place,
            probes_break: match refusal.constraint {
                Constraint::NoBudget { .. } => crowded,
                _ => None,
            },
            after: refusal
                .failure
                .map(|failure| self.links[failure.0 as usize]),
            level: None,
            constraint: refusal.constraint,
            fits: refusal.fits,
            asked,
        }
    }

    /// Returns how often something was reserved or given back, or was tried.
    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns a copy of the ledger, where its stages are, and the links whose
    /// failures it provides for.
    #[must_use]
    pub fn copy(&self) -> (Ledger, Vec<LedgerPlace>, Vec<LinkEnds>) {
        (self.ledger.clone(), self.places.clone(), self.links.clone())
    }

    /// Returns what a flow asks of the ledger, so early that it is in time if a change of
    /// level makes it late.
    pub(crate) fn in_time(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Request {
        let request = self.request(requirement, source, ways);
        let lateness = self.lateness(requirement);
        Request {
            deadline: request.deadline.saturating_sub(lateness),
            ..request
        }
    }

    /// Returns what a flow asks of the ledger.
    ///
    /// # Panics
    ///
    /// If the requirement has no deadline.
    pub(crate) fn request(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Request {
        let deadline = requirement
            .deadline
            .expect("only a deadline can be promised");
        let as_sent = admitted_traffic(requirement);
        let is_doubled = ways.copies().is_some();
        let traffic = match is_doubled {
            true => seamless::numbered(as_sent, requirement),
            false => as_sent,
        };
        let first = *self.parameters(source.datapath).port(source.port);
        let (base, alternatives) = ways.stages.get_or_init(|| {
            let alternatives = ways.alternatives.iter();
            let mut others: StagesAfter = alternatives
                .map(|(link, tree)| (self.failure(*link), self.stages_of(tree)))
                .collect();
            others.sort_by_key(|(failure, _)| *failure);
            let copies = ways.copies();
            let base = copies.map_or(&ways.base, |[first, _]| first);
            (self.stages_of(base), others)
        });
        Request {
            class: requirement.class,
            rate: traffic.rate,
            burst: traffic.burst,
            // Tags make frames longer than they were on the link of their sender.
            peak: match is_doubled {
                true => None,
                false => self.peak(traffic, source),
            },
            frames: traffic.frames,
            largest_frame: traffic.largest_frame,
            smallest_frame: traffic.smallest_frame,
            deadline,
            initial: first.rate.time_to_send(as_sent.largest_frame) + first.propagation,
            base: base.clone(),
            alternatives: alternatives.clone(),
            is_held_back: self.modal.is_some() || is_doubled,
            redundant: self.redundant(requirement, ways),
        }
    }

    /// Returns where the second copies of frames go, if there are any: the switch at which
    /// both ways to a receiver meet drops what comes second. With several receivers copies
    /// meet at several switches, and both count up to the receivers.
    fn redundant(&mut self, requirement: &Requirement, ways: &Ways) -> Option<Box<Redundant>> {
        let [_, second] = ways.copies()?;
        let mut receivers = second.leaves();
        let last = receivers.next().filter(|_| receivers.next().is_none());
        drop(receivers);
        Some(Box::new(Redundant {
            tree: self.stages_of(second),
            eliminator: last.and_then(|at| self.add_switch(at.datapath)),
            hold: seamless::hold(requirement).into(),
        }))
    }

    /// Returns what the first link lets through of a flow, if the link is known and that
    /// says more than rate and burst do.
    ///
    /// A sender's interface sends one frame after the other: of what begins to leave in a
    /// time `t`, all but the last frame is through by its end, so it is no more than a
    /// frame and what the link carries in `t`. One frame more is for hosts that pace
    /// themselves by a bucket of one frame. An unknown link may be faster than it is taken
    /// for, which is well where a delay is asked for and not here.
    fn peak(&self, traffic: Traffic, source: PortId) -> Option<TokenBucket> {
        let switch = self.parameters.switches.get(&source.datapath)?;
        let link = switch.ports.get(&source.port)?.rate;
        let two_frames = traffic.largest_frame * 2;
        let says_more = traffic.burst > two_frames && traffic.rate <= link;
        says_more.then(|| TokenBucket::new(link, two_frames))
    }

    /// Returns the sessions that there is room for.
    pub(crate) const fn sessions(&self) -> &SessionRooms {
        &self.sessions
    }

    /// Returns the ledger of all reservations.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Gives back what was reserved for a flow.
    pub fn release(&mut self, id: ReservationId) {
        self.changes += 1;
        self.ledger.withdraw(id);
        for idle in self.sessions.leave(id) {
            self.ledger.withdraw(idle);
        }
        if let Some(modal) = &mut self.modal {
            modal.release(id);
        }
    }

    /// Returns the stages that frames on this tree pass, each behind the one
    /// before it.
    fn stages_of(&mut self, tree: &Tree) -> calculus::admission::Tree {
        let mut hops: Vec<Hop> = Vec::new();
        let mut exits = BTreeMap::new();
        for (index, branch) in tree.branches.iter().enumerate() {
            let mut parent = branch.parent.and_then(|before| exits.get(&before).copied());
            if let Some(stage) = self.add_switch(branch.datapath) {
                hops.push(Hop { stage, parent });
                parent = Some(hops.len() - 1);
            }
            for port in &branch.outputs {
                let stage = self.add_port(PortId::new(branch.datapath, *port));
                hops.push(Hop { stage, parent });
                exits.insert((index, *port), hops.len() - 1);
            }
        }
        calculus::admission::Tree { hops }
    }

    fn failure(&mut self, link: LinkEnds) -> FailureId {
        let next = FailureId(small(self.links.len()));
        *self.failures.entry(link).or_insert_with(|| {
            self.links.push(link);
            next
        })
    }

    /// Returns the processing stage of a switch, or `None` if it has none.
    pub(crate) fn add_switch(&mut self, datapath: DatapathId) -> Option<StageId> {
        let place = LedgerPlace::Switch(datapath);
        if let Some(stage) = self.stages.get(&place) {
            return Some(*stage);
        }
        let processing = self.parameters(datapath).processing?;
        let parameters = self.parameters(datapath).clone();
        let work = self.work.at(datapath, &parameters);
        let stage = processing_stage(&processing);
        let mut alone = self.alone(stage.clone());
        let mut declared = work
            .iter()
            .map(|work| alone.declare_unpromised(StageId(0), *work));
        let keeps_up = declared.all(|declared| declared.is_ok());
        let stage = match keeps_up {
            true => alone.stages()[0].clone(),
            false => without_end(stage),
        };
        let id = self.add_stage(place, stage);
        if let Some(modal) = self.modal.as_mut().filter(|_| !keeps_up) {
            modal.give_up(id);
        }
        for work in work.into_iter().filter(|_| keeps_up) {
            let declared = self.ledger.declare_unpromised(id, work);
            declared.expect("it fitted the same stage a moment ago");
            if let Some(modal) = &mut self.modal {
                modal.declare_unpromised(id, work);
            }
        }
        Some(id)
    }

    pub(crate) fn add_port(&mut self, port: PortId) -> StageId {
        let place = LedgerPlace::Port(port);
        if let Some(stage) = self.stages.get(&place) {
            return *stage;
        }
        let parameters = *self.parameters(port.datapath).port(port.port);
        let stage = port_stage(&parameters);
        let mut alone = self.alone(stage.clone());
        let probe = self.work.probe(&parameters);
        let breaks = |probe: &Request| {
            let refused = alone.admit(on_one_stage(probe, StageId(0))).err();
            refused.map(|refusal| refusal.constraint)
        };
        let broken = probe.as_ref().and_then(breaks);
        self.crowded.extend(broken.map(|broken| (place, broken)));
        let has_room = broken.is_none();
        let mut stage = match has_room {
            true => alone.stages()[0].clone(),
            false => stage,
        };
        if let Stage::Port { budgets, .. } = &mut stage
            && !has_room
        {
            // Probes alone break the lowest budget: nothing is promised here.
            *budgets = [None; 8];
        }
        let id = self.add_stage(place, stage);
        if let Some(modal) = self.modal.as_mut().filter(|_| !has_room) {
            modal.give_up(id);
        }
        if let Some(probe) = probe.filter(|_| has_room) {
            let request = on_one_stage(&probe, id);
            if let Some(modal) = &mut self.modal {
                modal.admit_probe(&request);
            }
            let admitted = self.ledger.admit(request);
            admitted.expect("it fitted the same stage a moment ago");
        }
        id
    }

    /// Returns a ledger of one stage that decides as that of the network does.
    fn alone(&self, stage: Stage) -> Ledger {
        match self.ledger.slowdown() {
            Some(_) => Ledger::fitted(vec![stage], Spare::None),
            None => Ledger::new(vec![stage]),
        }
    }

    fn add_stage(&mut self, place: LedgerPlace, stage: Stage) -> StageId {
        if let Some(modal) = &mut self.modal {
            modal.add_stage(&stage);
        }
        let id = self.ledger.add_stage(stage);
        self.places.push(place);
        self.stages.insert(place, id);
        id
    }
}

/// Returns the ledger of a network without stages.
fn empty_ledger(config: &Config) -> Ledger {
    let has_levels = Modal::new(config.modes.as_ref()).is_some();
    match config.fit.filter(|_| !has_levels) {
        Some(spare) => Ledger::fitted(Vec::new(), spare),
        None => Ledger::new(Vec::new()),
    }
}

/// Returns a processor that may work without end on what nothing is promised for: it does
/// not get round to a frame that something is promised for.
fn without_end(mut stage: Stage) -> Stage {
    if let Stage::Processing { per_frame, .. } = &mut stage {
        *per_frame = MAX_DELAY;
    }
    stage
}

fn processing_stage(parameters: &ProcessingParameters) -> Stage {
    Stage::Processing {
        latency: parameters.latency,
        per_frame: parameters.per_frame,
        // What a switch takes at least has not been measured.
        fastest_per_frame: Delay::ZERO,
        budget: parameters.budget,
        buffer_frames: parameters.buffer_frames,
    }
}

fn port_stage(parameters: &PortParameters) -> Stage {
    Stage::Port {
        rate: parameters.rate,
        propagation: parameters.propagation,
        budgets: parameters.budgets,
        buffers: parameters.buffers,
        largest_frame: parameters.largest_frame,
    }
}

fn on_one_stage(request: &Request, stage: StageId) -> Request {
    Request {
        base: calculus::admission::Tree::path([stage]),
        ..request.clone()
    }
}

fn small(index: usize) -> u32 {
    u32::try_from(index).expect("the view bounds the number of links and ports")
}
