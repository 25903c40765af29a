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
use crate::flows::{BEST_EFFORT, Flow, MAX_FLOWS, Standing};
use crate::northbound::{
    Asker, Decision, Event, FlowId, MAX_DESTINATIONS, MAX_FLOWS_AT_ONCE, MAX_WAITING, Protection,
    Reply, Request, RequestId, Requirement,
};
use crate::place::PortId;
use crate::record::Admission;
use crate::refusal::{Refusal, Shortage};
use crate::rules::FlowRule;
use crate::store::{Key, StoreWrite};
use crate::view::Host;

use super::Controller;

/// How many requirements are decided at once.
const DECIDED_AT_ONCE: usize = 8;

/// Requests that wait for the store.
#[derive(Debug, Default)]
pub(super) struct Desk {
    next: u64,
    undecided: Option<Undecided>,
    batches: BTreeMap<u64, Waiting>,
    proposals: BTreeMap<FlowId, (u64, usize)>,
    withdrawals: BTreeMap<FlowId, Vec<RequestId>>,
    /// What is reserved for flows that are to be admitted anew.
    held: BTreeMap<FlowId, ReservationId>,
}

/// A request for admission of which not all is settled.
#[derive(Debug)]
struct Waiting {
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
pub(super) enum Bond {
    /// Nothing: each is decided by itself.
    Single,
    /// None is to be met without the others.
    Together,
}

impl Desk {
    /// Holds what is reserved for a flow until the store has kept its new
    /// admission.
    pub(super) fn hold(&mut self, flow: FlowId, reservation: Option<ReservationId>) {
        self.held
            .extend(reservation.map(|reservation| (flow, reservation)));
    }

    /// Returns what was held, and holds it no longer.
    pub(super) fn held(&mut self, flow: FlowId) -> Option<ReservationId> {
        self.held.remove(&flow)
    }

    /// Returns whether a request is not decided as a whole.
    pub(super) const fn is_deciding(&self) -> bool {
        self.undecided.is_some()
    }

    /// Returns how many flows wait for the store.
    pub(super) fn proposed(&self) -> usize {
        self.proposals.len()
    }

    /// Has a request wait until the store has decided about all of these flows.
    pub(super) fn wait_for(&mut self, id: RequestId, bond: Bond, flows: &[FlowId]) {
        let batch = self.open(id, bond, flows.len());
        for (place, flow) in flows.iter().enumerate() {
            self.proposals.insert(*flow, (batch, place));
        }
    }

    /// Has a request wait until so much is decided. Returns its number.
    fn open(&mut self, id: RequestId, bond: Bond, unsettled: usize) -> u64 {
        let batch = self.next;
        self.next += 1;
        let waiting = Waiting {
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

impl Controller {
    pub(super) fn requested(&mut self, id: RequestId, by: &Asker, request: Request) {
        while self.promises.desk.is_deciding() {
            self.decide_some();
        }
        if let Some(refusal) = self.not_looked_at(by, &request) {
            self.ctx.outbox.reply(id, refusal);
            return;
        }
        match request {
            Request::Admit(requirements) => self.admit(id, requirements),
            Request::AdmitTogether(requirements) => self.admit_together(id, requirements),
            Request::WhatIf(requirements) => self.what_if(id, requirements),
            Request::MakeRoom(requirement) => self.make_room(id, &requirement),
            Request::Withdraw(name) => self.withdraw(id, name),
            Request::ForgetSwitch(datapath) => self.forget_switch(id, datapath),
            Request::Prepare(requirements) => self.prepare(id, &requirements),
            Request::AssignClasses {
                requirements,
                free,
                classes,
            } => self.assign_classes(id, &requirements, &free, &classes),
            Request::Flows => {
                let flows = self.list_flows(FlowId(0), usize::MAX);
                self.ctx.outbox.reply(id, flows);
            }
            Request::FlowsAfter { after, most } => {
                let flows = self.list_flows(after, most.min(MAX_FLOWS_AT_ONCE));
                self.ctx.outbox.reply(id, flows);
            }
            Request::Flow(name) => self.show_flow(id, name),
            Request::Topology => {
                let reply = Reply::Topology(self.topology_summary());
                self.ctx.outbox.reply(id, reply);
            }
            Request::Promises => {
                let promises = Box::new(self.promises());
                self.ctx.outbox.reply(id, Reply::Promises(promises));
            }
            Request::AddIntents(intents) => self.add_intents((id, by), intents),
            Request::RemoveIntent(name) => self.remove_intent(id, by, name),
            Request::Intents => {
                let intents = self.intent_summaries();
                self.ctx.outbox.reply(id, Reply::Intents(intents));
            }
            Request::Paths(query) => {
                let paths = self.find_paths(&query);
                self.ctx.outbox.reply(id, Reply::Paths(paths));
            }
            Request::View => self.show_view(id, by),
            Request::SetHost(host) => self.set_host(id, host),
            Request::Load(manifest) => self.load(id, manifest),
            Request::Unload(name) => self.unload(id, name),
            Request::Reload(name) => self.reload(id, name),
            Request::Applications => {
                let applications = self.application_summaries();
                self.ctx.outbox.reply(id, Reply::Applications(applications));
            }
            Request::RemoveHost(name) => self.remove_host(id, name),
            Request::Rules(datapath) => self.list_rules(id, datapath),
            Request::Reconcile(datapath) => self.reconcile(id, datapath),
            Request::Settings => {
                let settings = Reply::Settings(self.settings());
                self.ctx.outbox.reply(id, settings);
            }
            Request::Configure(change) => self.configure(id, change),
            Request::Mode => self.show_mode(id),
            Request::SetMode(change) => self.set_mode(id, &change),
            Request::Statistics => {
                let statistics = Box::new(self.statistics());
                self.ctx.outbox.reply(id, Reply::Statistics(statistics));
            }
        }
    }

    /// Returns why a request is not looked at.
    fn not_looked_at(&mut self, by: &Asker, request: &Request) -> Option<Reply> {
        let lack = self.owners.applications.lack(by, request);
        match lack {
            Some((application, needs)) => Some(Reply::Denied { application, needs }),
            None => (!self.is_answerable(request)).then_some(Reply::Starting),
        }
    }

    fn admit(&mut self, id: RequestId, requirements: Vec<Requirement>) {
        if !self.has_room_for(requirements.len()) {
            self.ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        if requirements.is_empty() {
            self.ctx.outbox.reply(id, Reply::Decisions(Vec::new()));
            return;
        }
        let batch = self
            .promises
            .desk
            .open(id, Bond::Single, requirements.len());
        self.promises.desk.undecided = Some(Undecided {
            batch,
            requirements: requirements.into_iter().enumerate(),
        });
        self.decide_some();
    }

    /// Decides a slice of what is undecided. Where budgets follow the flows, that is all
    /// of it: what was accepted is told with the budgets that are chosen for the last.
    pub(super) fn decide_some(&mut self) {
        let Some(mut undecided) = self.promises.desk.undecided.take() else {
            return;
        };
        let slice = match self.promises.reservations.slowdown() {
            Some(_) => usize::MAX,
            None => DECIDED_AT_ONCE,
        };
        let batch = undecided.batch;
        for (place, requirement) in undecided.requirements.by_ref().take(slice) {
            let name = requirement.name.clone();
            match self.reserve_flow(requirement) {
                Ok(flow) => {
                    self.promises.desk.proposals.insert(flow, (batch, place));
                    self.propose(flow);
                }
                Err(reason) => {
                    let refused = Decision::Refused { name, reason };
                    if let Some(settled) = self.promises.desk.decide(batch, place, refused) {
                        self.answer(settled);
                    }
                }
            }
        }
        if undecided.requirements.len() > 0 {
            self.promises.desk.undecided = Some(undecided);
        }
        self.follow_budgets();
    }

    /// Decides on a requirement; if it can be met, reserves it. The store knows
    /// nothing of it yet.
    pub(super) fn reserve_flow(&mut self, requirement: Requirement) -> Result<FlowId, Refusal> {
        if self.owners.flows.len() >= MAX_FLOWS {
            return Err(Refusal::TooManyFlows { limit: MAX_FLOWS });
        }
        if self.owners.flows.by_name(&requirement.name).is_some() {
            let name = requirement.name;
            return Err(Refusal::NameTaken { name });
        }
        self.check_levels(&requirement)?;
        let id = self.owners.flows.next_id();
        let (admission, reservation) = self.decide(id, requirement)?;
        self.owners
            .flows
            .insert(Flow::new(id, admission, reservation));
        self.end_hosts(id);
        Ok(id)
    }

    /// Asks the store to keep a flow that is reserved.
    pub(super) fn propose(&mut self, id: FlowId) {
        if let Some(flow) = self.owners.flows.get(id) {
            self.ctx.outbox.store(StoreWrite {
                key: Key::Admission(id.0),
                value: Some(flow.admission.to_bytes()),
            });
        }
    }

    /// Answers a request of which all is decided.
    fn answer(&mut self, settled: Settled) {
        let refused = |decision: &Decision| matches!(decision, Decision::Refused { .. });
        let reply = match settled.bond {
            Bond::Together if settled.decisions.iter().any(refused) => {
                self.undo(&settled.decisions);
                Reply::NotStored
            }
            Bond::Together | Bond::Single => Reply::Decisions(settled.decisions),
        };
        self.ctx.outbox.reply(settled.id, reply);
    }

    /// Finds the ways of a flow and reserves what it requires on them.
    pub(super) fn decide(
        &mut self,
        id: FlowId,
        mut requirement: Requirement,
    ) -> Result<(Admission, Option<ReservationId>), Refusal> {
        self.check_cover(&requirement)?;
        let mut ways = self.ways(&requirement)?;
        let rule = FlowRule::new(id, ways.source_mac, &requirement);
        self.check_distinguishable(ways.source, id, &rule)?;
        let mut reserved = None;
        if requirement.deadline.is_some() {
            let usual = self.reserve(&requirement, &ways);
            reserved = Some(match usual {
                Ok(reserved) => reserved,
                Err(refused) => self
                    .reserve_elsewhere(&requirement, &mut ways)
                    .or_else(|| self.reserve_in_another_class(&mut requirement, &mut ways))
                    .ok_or_else(|| self.shortage(&requirement, *refused))?,
            });
        }
        requirement.is_class_free = false;
        let admission = Admission {
            requirement,
            source_mac: ways.source_mac,
            source: ways.source,
            destinations: ways.destinations,
            guarantee: reserved.map(|reserved| reserved.guarantee),
            ways: ways.ways,
        };
        Ok((admission, reserved.map(|reserved| reserved.id)))
    }

    /// Refuses an interruption that is to cover what is noticed too late for it.
    fn check_cover(&self, requirement: &Requirement) -> Result<(), Refusal> {
        match requirement.protection {
            Protection::Restore {
                interruption,
                covers,
            } if covers > self.ctx.timers.cover(interruption) => Err(Refusal::Unnoticed {
                interruption,
                least: self.ctx.timers.least_for_any_fault(),
            }),
            Protection::None | Protection::Restore { .. } => Ok(()),
        }
    }

    /// Chooses budgets for the flows whose ways can be found.
    fn prepare(&mut self, id: RequestId, requirements: &[Requirement]) {
        let (places, requests) = self.on_usual_ways(requirements);
        let largest = match requests.is_empty() {
            true => Largest::default(),
            false => self.promises.reservations.prepare(&requests),
        };
        self.follow_budgets();
        let placed = |among: Vec<usize>| among.into_iter().map(|at| places[at]).collect();
        let fitted = Fitted {
            switches: self.promises.reservations.fitted(),
            left_out: placed(largest.left_out),
            conflicts: largest.conflicts.into_iter().map(placed).collect(),
        };
        self.ctx.outbox.reply(id, Reply::Budgets(Box::new(fitted)));
    }

    /// Says in which class each requirement fits with more of the others, where one is found.
    fn assign_classes(
        &mut self,
        id: RequestId,
        requirements: &[Requirement],
        free: &[bool],
        of: &[u8],
    ) {
        let (places, requests) = self.on_usual_ways(requirements);
        let free: Vec<bool> = places
            .iter()
            .map(|place| free.get(*place) == Some(&true))
            .collect();
        let ledger = &mut self.promises.reservations.ledger;
        let assigned = ledger.assign_classes(&requests, &free, of);
        let mut classes: Vec<u8> = requirements.iter().map(|asked| asked.class).collect();
        for (place, class) in places.into_iter().zip(assigned) {
            classes[place] = class;
        }
        self.ctx.outbox.reply(id, Reply::Classes(classes));
    }

    /// Returns what is asked of the ledger for those requirements with a deadline of which
    /// the usual way can be found, and their places.
    fn on_usual_ways(&mut self, requirements: &[Requirement]) -> (Vec<usize>, Vec<Promise>) {
        let mut places = Vec::new();
        let mut requests = Vec::new();
        for (place, requirement) in requirements.iter().enumerate() {
            if requirement.deadline.is_none() {
                continue;
            }
            if let Ok(ways) = self.ways(requirement) {
                let (source, ways) = (ways.source, &ways.ways);
                requests.push(
                    self.promises
                        .reservations
                        .in_time(requirement, source, ways),
                );
                places.push(place);
            }
        }
        (places, requests)
    }

    /// Checks what can be checked without looking for a way; returns the hosts.
    pub(super) fn check(&self, requirement: &Requirement) -> Result<(&Host, Vec<&Host>), Refusal> {
        let Requirement {
            destinations,
            class,
            ..
        } = requirement;
        if destinations.is_empty() || destinations.len() > MAX_DESTINATIONS {
            return Err(Refusal::Destinations {
                count: destinations.len(),
                limit: MAX_DESTINATIONS,
            });
        }
        if destinations.contains(&requirement.source) {
            let name = requirement.source.clone();
            return Err(Refusal::ToItself { name });
        }
        let expected = match requirement.deadline {
            Some(_) if *class == BEST_EFFORT => Some("without a deadline"),
            None if *class != BEST_EFFORT => Some("with a deadline"),
            Some(_) | None => None,
        };
        if let Some(expected) = expected {
            let class = *class;
            return Err(Refusal::Class { class, expected });
        }
        let host = |name: &String| {
            let known = self.topology.view.host(name);
            known.ok_or_else(|| Refusal::UnknownHost { name: name.clone() })
        };
        let source = host(&requirement.source)?;
        let destinations = destinations.iter().map(host);
        Ok((source, destinations.collect::<Result<_, Refusal>>()?))
    }

    fn check_distinguishable(
        &self,
        source: PortId,
        id: FlowId,
        rule: &FlowRule,
    ) -> Result<(), Refusal> {
        let rivals = self.owners.flows.rivals(source, rule);
        let mut others = rivals.filter(|flow| flow.id != id);
        match others.find(|other| other.rule.conflicts_with(rule)) {
            None => Ok(()),
            Some(other) => Err(Refusal::Indistinguishable {
                other: other.admission.requirement.name.clone(),
            }),
        }
    }

    fn withdraw(&mut self, id: RequestId, name: String) {
        let Some(flow) = self
            .owners
            .flows
            .by_name(&name)
            .filter(|flow| self.owners.flows.get(*flow).is_some_and(is_admitted))
        else {
            self.ctx.outbox.reply(id, Reply::UnknownFlow(name));
            return;
        };
        if self
            .promises
            .desk
            .withdrawals
            .values()
            .map(Vec::len)
            .sum::<usize>()
            >= MAX_WAITING
        {
            self.ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        self.promises
            .desk
            .withdrawals
            .entry(flow)
            .or_default()
            .push(id);
        self.keep_leaving(flow);
        self.ctx.outbox.store(StoreWrite {
            key: Key::Admission(flow.0),
            value: None,
        });
    }

    /// Puts a flow in force, whichever instance has admitted it.
    pub(super) fn admitted(&mut self, id: FlowId, record: &[u8]) {
        let is_proposed = self
            .owners
            .flows
            .get(id)
            .is_some_and(|flow| !is_admitted(flow));
        if !is_proposed {
            let Ok(admission) = Admission::from_bytes(record) else {
                self.ctx.outbox.notify(Event::RecordUnreadable { flow: id });
                return;
            };
            match self.owners.flows.get(id) {
                Some(flow) if flow.admission.is_but_for_guarantee(&admission) => return,
                Some(_) => return self.replace(id, admission),
                None => self.adopt(id, admission),
            }
        }
        self.owners.flows.set_admitted(id);
        if let Some(flow) = self.owners.flows.get(id) {
            let name = flow.admission.requirement.name.clone();
            self.ctx.outbox.notify(Event::Admitted { flow: id, name });
        }
        self.install(id);
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
        let decision = Decision::Accepted(self.accepted(flow));
        if let Some(settled) = self.promises.desk.settle(id, decision) {
            self.answer(settled);
        }
    }

    /// Takes over an admission from the store. It was admitted, so it stays;
    /// if what is known of the network has become less since, its promise
    /// does not. Where budgets are fitted it is promised its deadline, and the guarantee
    /// is what there is now.
    pub(super) fn adopt(&mut self, id: FlowId, mut admission: Admission) {
        let reserved = admission.requirement.deadline.and_then(|_| {
            let source = admission.source;
            let requirement = &admission.requirement;
            let reserved = self
                .promises
                .reservations
                .reserve(requirement, source, &admission.ways);
            reserved.ok()
        });
        if let Some(reserved) = reserved
            && self.promises.reservations.slowdown().is_some()
        {
            admission.guarantee = Some(reserved.guarantee);
        }
        let promised = admission.guarantee;
        let kept = reserved.filter(|reserved| Some(reserved.guarantee) <= promised);
        if let Some(reserved) = reserved.filter(|_| kept.is_none()) {
            self.promises.reservations.release(reserved.id);
        }
        self.take_over(id, admission, kept.map(|reserved| reserved.id));
        self.follow_budgets();
    }

    /// Makes an admission with what is reserved for it a flow.
    pub(super) fn take_over(
        &mut self,
        id: FlowId,
        admission: Admission,
        reservation: Option<ReservationId>,
    ) {
        let links = admission.ways.links().iter().copied();
        let unconfirmed = links.filter(|link| {
            !self.topology.view.is_up(*link) && !self.topology.broken.contains(link)
        });
        self.topology
            .expected
            .extend(unconfirmed.map(|link| (link, None)));
        let flow = Flow::new(id, admission, reservation);
        self.owners.flows.insert(flow);
        self.end_hosts(id);
        self.ctx.promises_changed();
    }

    pub(super) fn withdrawn(&mut self, id: FlowId) {
        self.let_go(id);
        self.record(id);
        if let Some(flow) = self.owners.flows.remove(id) {
            self.has_moved(id);
            self.leave(&flow);
            self.set_content_at_once(EntryOwner::Flow(id), &Content::new());
            let name = flow.admission.requirement.name;
            self.ctx.outbox.notify(Event::Withdrawn { flow: id, name });
        }
        for request in self
            .promises
            .desk
            .withdrawals
            .remove(&id)
            .into_iter()
            .flatten()
        {
            self.ctx.outbox.reply(request, Reply::Withdrawn(id));
        }
    }

    pub(super) fn rejected(&mut self, id: FlowId) {
        self.let_go(id);
        self.stays(id);
        self.moves_nowhere(id);
        for request in self
            .promises
            .desk
            .withdrawals
            .remove(&id)
            .into_iter()
            .flatten()
        {
            self.ctx.outbox.reply(request, Reply::NotStored);
        }
        if self.owners.flows.get(id).is_none_or(is_admitted) {
            return;
        }
        let Some(flow) = self.owners.flows.remove(id) else {
            return;
        };
        self.give_back(&flow);
        let decision = Decision::Refused {
            name: flow.admission.requirement.name,
            reason: Refusal::NotStored,
        };
        if let Some(settled) = self.promises.desk.settle(id, decision) {
            self.answer(settled);
        }
    }

    pub(super) fn give_back(&mut self, flow: &Flow) {
        if let Some(reservation) = flow.reservation {
            self.promises.reservations.release(reservation);
        }
    }

    pub(super) fn shortage(&self, requirement: &Requirement, refused: Refused) -> Refusal {
        let alone = match refused.constraint {
            Constraint::Deadline { .. } => self.promises.reservations.ledger.alone(&refused.asked),
            _ => None,
        };
        Refusal::Shortage(Box::new(Shortage {
            alone: alone.filter(|alone| *alone > refused.asked.deadline),
            place: refused.place.map(|place| self.name_of_place(place)),
            after: refused.after.map(|link| self.name_of_link(link)),
            level: refused.level.map(|level| self.modes.name_of(level)),
            constraint: refused.constraint,
            probes_break: refused.probes_break,
            rate: requirement.traffic.rate,
            fits: refused.fits,
            asked: refused.asked,
        }))
    }
}

pub(super) fn is_admitted(flow: &Flow) -> bool {
    match flow.standing {
        Standing::Admitted => true,
        Standing::Proposed => false,
    }
}

pub(super) fn attachment(host: &Host) -> Result<PortId, Refusal> {
    host.attachment.ok_or_else(|| Refusal::HostNotFound {
        name: host.name.clone(),
    })
}
