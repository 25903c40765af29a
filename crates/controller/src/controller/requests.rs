//! What applications ask for, and what the store says to it.
//!
//! A requirement is decided at once and reserved; then the store is asked to
//! keep it, and when it has, the flow is in force and its entries go out. A
//! request with several requirements is answered when all are settled. It is decided in
//! slices, so that the first entries are on their way while the last requirements are
//! decided; whoever asks for something else meanwhile finds all of it decided.

use std::collections::BTreeMap;

use calculus::admission::{Constraint, Largest, Request as Promise};

use crate::admission::{Refused, ReservationId};
use crate::budgets::Fitted;
use crate::desired::{Content, EntryOwner};
use crate::flows::{Flow, MAX_FLOWS};
use crate::neighbour_sessions;
use crate::northbound::{
    Decision, Event, FlowId, MAX_WAITING, Protection, Reply, RequestId, Requirement,
};
use crate::place::PortId;
use crate::record::Admission;
use crate::refusal::{Refusal, Shortage};
use crate::rules::FlowRule;
use crate::store::{Key, StoreWrite};
use crate::view::Host;
use crate::ways::Ways;

use super::context::Memory;
use super::{Context, ModeDesk, Network, Owners, Promises, Topology};

/// How many requirements are decided at once.
const DECIDED_AT_ONCE: usize = 8;

/// Requests that wait for the store.
#[derive(Debug, Default)]
pub struct Desk {
    next: u64,
    undecided: Option<Undecided>,
    batches: BTreeMap<u64, PendingAdmission>,
    proposals: BTreeMap<FlowId, (u64, usize)>,
    withdrawals: BTreeMap<FlowId, Vec<RequestId>>,
    /// What is reserved for flows that are to be admitted anew.
    held: BTreeMap<FlowId, ReservationId>,
}

/// A request for admission of which not all is settled.
#[derive(Debug)]
struct PendingAdmission {
    id: RequestId,
    bond: Bond,
    decisions: Vec<Option<Decision>>,
    unsettled: usize,
}

/// What is left to be decided of a request.
#[derive(Debug)]
struct Undecided {
    batch: u64,
    requirements: std::iter::Enumerate<std::vec::IntoIter<Requirement>>,
}

/// What the requirements of one request have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// Nothing: each is decided by itself.
    Single,
    /// None is to be met without the others.
    Together,
}

impl Desk {
    /// Holds what is reserved for a flow until the store has kept its new
    /// admission.
    pub fn hold(&mut self, flow: FlowId, reservation: Option<ReservationId>) {
        self.held
            .extend(reservation.map(|reservation| (flow, reservation)));
    }

    /// Returns what was held, and holds it no longer.
    pub fn held(&mut self, flow: FlowId) -> Option<ReservationId> {
        self.held.remove(&flow)
    }

    /// Returns whether something is held for a flow.
    pub fn holds(&self, flow: FlowId) -> bool {
        self.held.contains_key(&flow)
    }

    /// Returns whether a request is not decided as a whole.
    pub const fn is_deciding(&self) -> bool {
        self.undecided.is_some()
    }

    /// Returns how many flows wait for the store.
    pub fn proposed(&self) -> usize {
        self.proposals.len()
    }

    /// Has a request wait until the store has decided about all of these flows.
    pub fn wait_for(&mut self, id: RequestId, bond: Bond, flows: &[FlowId]) {
        let batch = self.open(id, bond, flows.len());
        for (place, flow) in flows.iter().enumerate() {
            self.proposals.insert(*flow, (batch, place));
        }
    }

    /// Has a request wait until so much is decided. Returns its number.
    fn open(&mut self, id: RequestId, bond: Bond, unsettled: usize) -> u64 {
        let batch = self.next;
        self.next += 1;
        let waiting = PendingAdmission {
            id,
            bond,
            decisions: vec![None; unsettled],
            unsettled,
        };
        self.batches.insert(batch, waiting);
        batch
    }

    /// Notes what the store has decided. Returns the request and all its decisions if that
    /// was the last.
    fn settle(&mut self, flow: FlowId, decision: Decision) -> Option<Settled> {
        let (batch, place) = self.proposals.remove(&flow)?;
        self.decide(batch, place, decision)
    }

    /// Notes a decision. Returns the request and all its decisions if that was
    /// the last.
    fn decide(&mut self, batch: u64, place: usize, decision: Decision) -> Option<Settled> {
        let waiting = self.batches.get_mut(&batch)?;
        waiting.decisions[place] = Some(decision);
        waiting.unsettled -= 1;
        if waiting.unsettled > 0 {
            return None;
        }
        let waiting = self.batches.remove(&batch)?;
        Some(Settled {
            id: waiting.id,
            bond: waiting.bond,
            decisions: waiting.decisions.into_iter().flatten().collect(),
        })
    }
}

/// A request of which all is decided.
struct Settled {
    id: RequestId,
    bond: Bond,
    decisions: Vec<Decision>,
}

impl Promises {
    pub fn admit(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
        id: RequestId,
        requirements: Vec<Requirement>,
    ) {
        if !self.has_room_for(requirements.len()) {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        if requirements.is_empty() {
            ctx.outbox.reply(id, Reply::Decisions(Vec::new()));
            return;
        }
        let batch = self.desk.open(id, Bond::Single, requirements.len());
        self.desk.undecided = Some(Undecided {
            batch,
            requirements: requirements.into_iter().enumerate(),
        });
        self.decide_some(ctx, network, modes);
    }

    /// Decides a slice of what is undecided. Where budgets follow the flows, that is all
    /// of it: what was accepted is told with the budgets that are chosen for the last.
    pub fn decide_some(&mut self, ctx: &mut Context, network: &mut Network, modes: &ModeDesk) {
        let Some(mut undecided) = self.desk.undecided.take() else {
            return;
        };
        let slice = match self.reservations.slowdown() {
            Some(_) => usize::MAX,
            None => DECIDED_AT_ONCE,
        };
        let batch = undecided.batch;
        for (place, requirement) in undecided.requirements.by_ref().take(slice) {
            let name = requirement.name.clone();
            match self.reserve_flow(ctx, network, modes, requirement) {
                Ok(flow) => {
                    self.desk.proposals.insert(flow, (batch, place));
                    network.owners.propose(ctx, flow);
                }
                Err(reason) => {
                    let refused = Decision::Refused { name, reason };
                    if let Some(settled) = self.desk.decide(batch, place, refused) {
                        Self::answer(ctx, settled);
                    }
                }
            }
        }
        if undecided.requirements.len() > 0 {
            self.desk.undecided = Some(undecided);
        }
        self.follow_budgets(ctx, &mut network.owners);
    }

    /// Decides on a requirement; if it can be met, reserves it. The store knows
    /// nothing of it yet.
    pub fn reserve_flow(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
        requirement: Requirement,
    ) -> Result<FlowId, Refusal> {
        if network.owners.flows.len() >= MAX_FLOWS {
            return Err(Refusal::TooManyFlows { limit: MAX_FLOWS });
        }
        if network.owners.flows.by_name(&requirement.name).is_some() {
            let name = requirement.name;
            return Err(Refusal::NameTaken { name });
        }
        modes.check_levels(&network.owners, &requirement)?;
        let id = network.owners.flows.next_id();
        let (admission, reservation) = self.decide(ctx, network, modes, id, requirement)?;
        let mut flow = Flow::new(id, admission, reservation);
        flow.rule.set_contract(ctx.contract(&flow.admission));
        network.owners.flows.insert(flow);
        network.owners.end_hosts(ctx, &network.topology, id);
        Ok(id)
    }

    /// Answers a request of which all is decided.
    fn answer(ctx: &mut Context, settled: Settled) {
        let refused = |decision: &Decision| matches!(decision, Decision::Refused { .. });
        let reply = match settled.bond {
            Bond::Together if settled.decisions.iter().any(refused) => {
                Self::undo(ctx, &settled.decisions);
                Reply::NotStored
            }
            Bond::Together | Bond::Single => Reply::Decisions(settled.decisions),
        };
        ctx.outbox.reply(settled.id, reply);
    }

    /// Finds the ways of a flow and reserves what it requires on them.
    pub fn decide(
        &mut self,
        ctx: &Context,
        network: &Network,
        modes: &ModeDesk,
        id: FlowId,
        mut requirement: Requirement,
    ) -> Result<(Admission, Option<ReservationId>), Refusal> {
        self.check_cover(ctx, &requirement)?;
        let mut ways = self.ways(ctx, &network.topology, &requirement)?;
        Self::check_neighbours(ctx, &requirement, &ways.ways)?;
        Self::check_order(ctx, &requirement, &ways)?;
        let rule = FlowRule::new(id, ways.source_mac, &requirement);
        network
            .owners
            .check_distinguishable(ways.source, id, &rule)?;
        let mut reserved = None;
        if requirement.deadline.is_some() {
            let usual = self.reserve(&requirement, &ways);
            reserved = Some(match usual {
                Ok(reserved) => reserved,
                Err(refused) => self
                    .reserve_elsewhere(ctx, &network.topology, &requirement, &mut ways)
                    .or_else(|| {
                        self.reserve_in_another_class(
                            ctx,
                            &network.topology,
                            &mut requirement,
                            &mut ways,
                        )
                    })
                    .ok_or_else(|| {
                        self.shortage(ctx, &network.topology, modes, &requirement, *refused)
                    })?,
            });
        }
        let must_be_enforced = std::mem::take(&mut requirement.must_be_enforced);
        requirement.is_class_free = false;
        let admission = Admission {
            requirement,
            source_mac: ways.source_mac,
            source: ways.source,
            destinations: ways.destinations,
            guarantee: reserved.map(|reserved| reserved.guarantee),
            ways: ways.ways,
        };
        let reservation = reserved.map(|reserved| reserved.id);
        if must_be_enforced && ctx.contract(&admission).is_none() {
            reservation.inspect(|id| self.reservations.release(*id));
            let switch = ctx.name_of_switch(admission.source.datapath);
            return Err(Refusal::NotEnforced { switch });
        }
        Ok((admission, reservation))
    }

    /// Refuses an interruption that is to cover what is noticed too late for it.
    fn check_cover(&self, ctx: &Context, requirement: &Requirement) -> Result<(), Refusal> {
        let protection = requirement.protection;
        let is_local = matches!(protection, Protection::FastFailover { .. });
        let asks = is_local && !self.reservations.has_levels();
        match protection.interruption() {
            Some(_) if asks && neighbour_sessions::interval_for(protection).is_some() => Ok(()),
            Some((interruption, covers)) if covers > ctx.timers.cover(interruption) => {
                let least = ctx.timers.least_for_any_fault();
                let least = match asks {
                    true => least.min(neighbour_sessions::least_interruption(protection)),
                    false => least,
                };
                Err(Refusal::Unnoticed {
                    interruption,
                    least,
                })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses to have switches notice what nobody reports that cannot ask their neighbours.
    fn check_neighbours(
        ctx: &Context,
        requirement: &Requirement,
        ways: &Ways,
    ) -> Result<(), Refusal> {
        let Some((interruption, covers)) = requirement.protection.interruption() else {
            return Ok(());
        };
        if covers <= ctx.timers.cover(interruption) {
            return Ok(());
        }
        let mut ends = ways.links().iter().flat_map(|link| link.both());
        let asks = neighbour_sessions::interval_for(requirement.protection).is_some();
        if !asks || ends.all(|end| ctx.policing.is_able(end.datapath)) {
            return Ok(());
        }
        Err(Refusal::Unnoticed {
            interruption,
            least: ctx.timers.least_for_any_fault(),
        })
    }

    /// Chooses budgets for the flows whose ways can be found.
    pub fn prepare(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: RequestId,
        requirements: &[Requirement],
    ) {
        let (places, requests) = self.on_usual_ways(ctx, &network.topology, requirements);
        let largest = match requests.is_empty() {
            true => Largest::default(),
            false => self.reservations.prepare(&requests),
        };
        self.follow_budgets(ctx, &mut network.owners);
        let placed = |among: Vec<usize>| among.into_iter().map(|at| places[at]).collect();
        let fitted = Fitted {
            switches: self.reservations.fitted(),
            left_out: placed(largest.left_out),
            conflicts: largest.conflicts.into_iter().map(placed).collect(),
        };
        ctx.outbox.reply(id, Reply::Budgets(Box::new(fitted)));
    }

    /// Says in which class each requirement fits with more of the others, where one is found.
    pub fn assign_classes(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        requirements: &[Requirement],
        free: &[bool],
        of: &[u8],
    ) -> Vec<u8> {
        let (places, requests) = self.on_usual_ways(ctx, topology, requirements);
        let free: Vec<bool> = places
            .iter()
            .map(|place| free.get(*place) == Some(&true))
            .collect();
        let ledger = &mut self.reservations.ledger;
        let assigned = ledger.assign_classes(&requests, &free, of);
        let mut classes: Vec<u8> = requirements.iter().map(|asked| asked.class).collect();
        for (place, class) in places.into_iter().zip(assigned) {
            classes[place] = class;
        }
        classes
    }

    /// Returns what is asked of the ledger for those requirements with a deadline of which
    /// the usual way can be found, and their places.
    fn on_usual_ways(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        requirements: &[Requirement],
    ) -> (Vec<usize>, Vec<Promise>) {
        let mut places = Vec::new();
        let mut requests = Vec::new();
        for (place, requirement) in requirements.iter().enumerate() {
            if requirement.deadline.is_none() {
                continue;
            }
            if let Ok(ways) = self.ways(ctx, topology, requirement) {
                let (source, ways) = (ways.source, &ways.ways);
                requests.push(self.reservations.in_time(requirement, source, ways));
                places.push(place);
            }
        }
        (places, requests)
    }

    pub fn withdraw(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        id: RequestId,
        name: String,
    ) {
        let Some(flow) = owners
            .flows
            .by_name(&name)
            .filter(|flow| owners.flows.get(*flow).is_some_and(Flow::is_admitted))
        else {
            ctx.outbox.reply(id, Reply::UnknownFlow(name));
            return;
        };
        if self.desk.withdrawals.values().map(Vec::len).sum::<usize>() >= MAX_WAITING {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        self.desk.withdrawals.entry(flow).or_default().push(id);
        self.keep_leaving(ctx, owners, flow);
        ctx.outbox.store(StoreWrite {
            key: Key::Admission(flow.0),
            value: None,
        });
    }

    /// Puts a flow in force, whichever instance has admitted it.
    pub fn admitted(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: FlowId,
        record: &[u8],
    ) {
        let is_proposed = network
            .owners
            .flows
            .get(id)
            .is_some_and(|flow| !flow.is_admitted());
        if !is_proposed {
            let Ok(admission) = Admission::from_bytes(record) else {
                ctx.outbox.notify(Event::RecordUnreadable { flow: id });
                return;
            };
            match network.owners.flows.get(id) {
                Some(flow) if flow.admission.is_but_for_guarantee(&admission) => return,
                Some(_) => return self.replace(ctx, network, id, admission),
                None => {
                    if matches!(
                        admission.requirement.protection,
                        Protection::Seamless { .. }
                    ) {
                        let settled = ctx.now + ctx.timers.link_timeout;
                        self.second_ways.note_elsewhere(id, settled);
                    }
                    self.adopt(ctx, network, id, admission);
                }
            }
        }
        network.owners.flows.set_admitted(id);
        if let Some(flow) = network.owners.flows.get(id) {
            let name = flow.admission.requirement.name.clone();
            ctx.outbox.notify(Event::Admitted { flow: id, name });
        }
        network.install(ctx, id);
        let Some(flow) = network.owners.flows.get(id) else {
            return;
        };
        let decision = Decision::Accepted(Self::accepted(ctx, flow));
        if let Some(settled) = self.desk.settle(id, decision) {
            Self::answer(ctx, settled);
        }
    }

    /// Takes over an admission from the store. It was admitted, so it stays;
    /// if what is known of the network has become less since, its promise
    /// does not. Where budgets are fitted it is promised its deadline, and the guarantee
    /// is what there is now.
    pub fn adopt(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: FlowId,
        mut admission: Admission,
    ) {
        let is_corrected = !self.profiles.adopted.is_empty();
        let reserved = admission.requirement.deadline.and_then(|_| {
            let source = admission.source;
            let requirement = &admission.requirement;
            if is_corrected && ctx.memory == Memory::Incomplete {
                // Whose deadlines hold is found when all are known.
                let reserved = self
                    .reservations
                    .reserve_late(requirement, source, &admission.ways);
                return reserved.ok();
            }
            let reserved = self
                .reservations
                .reserve(requirement, source, &admission.ways);
            reserved.ok()
        });
        if let Some(reserved) = reserved
            && (self.reservations.slowdown().is_some() || is_corrected)
        {
            admission.guarantee = Some(reserved.guarantee);
        }
        let promised = admission.guarantee;
        let kept = reserved.filter(|reserved| Some(reserved.guarantee) <= promised);
        if let Some(reserved) = reserved.filter(|_| kept.is_none()) {
            self.reservations.release(reserved.id);
        }
        network.owners.take_over(
            ctx,
            &mut network.topology,
            id,
            admission,
            kept.map(|reserved| reserved.id),
        );
        self.follow_budgets(ctx, &mut network.owners);
    }

    pub fn withdrawn(&mut self, ctx: &mut Context, network: &mut Network, id: FlowId) {
        self.let_go(id);
        network.tables.record(&network.owners, id);
        if let Some(flow) = network.owners.flows.remove(id) {
            network.owners.has_moved(ctx, id);
            self.leave(ctx, &mut network.owners, &flow);
            network.set_content_at_once(ctx, EntryOwner::Flow(id), &Content::new());
            let name = flow.admission.requirement.name;
            ctx.outbox.notify(Event::Withdrawn { flow: id, name });
        }
        for request in self.desk.withdrawals.remove(&id).into_iter().flatten() {
            ctx.outbox.reply(request, Reply::Withdrawn(id));
        }
    }

    pub fn rejected(&mut self, ctx: &mut Context, owners: &mut Owners, id: FlowId) {
        self.let_go(id);
        owners.stays(ctx, id);
        owners.moves_nowhere(ctx, id);
        for request in self.desk.withdrawals.remove(&id).into_iter().flatten() {
            ctx.outbox.reply(request, Reply::NotStored);
        }
        if owners.flows.get(id).is_none_or(Flow::is_admitted) {
            return;
        }
        let Some(flow) = owners.flows.remove(id) else {
            return;
        };
        self.give_back(&flow);
        let decision = Decision::Refused {
            name: flow.admission.requirement.name,
            reason: Refusal::NotStored,
        };
        if let Some(settled) = self.desk.settle(id, decision) {
            Self::answer(ctx, settled);
        }
    }

    pub fn give_back(&mut self, flow: &Flow) {
        if let Some(reservation) = flow.reservation {
            self.reservations.release(reservation);
        }
    }

    pub fn shortage(
        &self,
        ctx: &Context,
        topology: &Topology,
        modes: &ModeDesk,
        requirement: &Requirement,
        refused: Refused,
    ) -> Refusal {
        let alone = match refused.constraint {
            Constraint::Deadline { .. } => self.reservations.ledger.alone(&refused.asked),
            _ => None,
        };
        Refusal::Shortage(Box::new(Shortage {
            alone: alone.filter(|alone| *alone > refused.asked.deadline),
            place: refused
                .place
                .map(|place| topology.name_of_place(ctx, place)),
            after: refused.after.map(|link| ctx.name_of_link(link)),
            level: refused.level.map(|level| modes.name_of(level)),
            constraint: refused.constraint,
            probes_break: refused.probes_break,
            rate: requirement.traffic.rate,
            fits: refused.fits,
            asked: refused.asked,
        }))
    }
}

pub fn attachment(host: &Host) -> Result<PortId, Refusal> {
    host.attachment.ok_or_else(|| Refusal::HostNotFound {
        name: host.name.clone(),
    })
}
