//! What the tables of switches should be, and what is done so that they are.
//!
//! Whoever wants entries says which ones he wants ([`Network::set_rules`](super::Network)).
//! The smallest difference to what he has is planned as a move, so that frames
//! find a whole way at any time. When all is done, or cannot be done, the subject
//! is told ([`Outcome`]).

use std::collections::BTreeSet;

use units::Instant;
use wire::mode_signal::Level;
use wire::openflow::multipart::{FlowStatistics, MultipartReply, MultipartRequest, RequestBody};
use wire::openflow::taktos::Question;
use wire::openflow::{DatapathId, PortNumber, TransactionId};

use crate::audit::Scope;
use crate::confirmation::Confirmations;
use crate::desired::{Desired, EntryOwner, Form, Outcome, Progress, RuleKey, Standing};
use crate::failover::Failover;
use crate::flows::Flow;
use crate::northbound::{Event, FlowId, ForeignRules};
use crate::place::LinkEnds;
use crate::rules;
use crate::session::Slot;
use crate::telemetry::MAX_ENTRIES;

use super::reconciliation::Reconciliation;
use super::refusals::Refusals;
use super::repairs::Repair;
use super::staged_updates::{StagedUpdates, Unasked, UpdateId};
use super::{Context, Owners};

/// How many restored flows are recorded at once, so that nothing waits long
/// behind them.
const RECORDED_AT_ONCE: usize = 256;
/// After how many entries that were looked at what remains waits for the next turn.
const SETTLED_AT_ONCE: usize = 8_192;

/// What waits for switches to confirm it.
#[derive(Debug)]
pub enum Operation {
    /// The entries that make up for a broken link.
    Restore(Restoration),
    /// One stage of a move; the others follow.
    StagedUpdate(UpdateId),
    /// What a switch lacked or had otherwise.
    Repair(DatapathId, Repair),
    /// A level that somebody asked for.
    Level(TransactionId),
    /// The entries of another level, where the controller writes them.
    Written { level: Level, begun: Instant },
}

/// What was done about a broken link.
#[derive(Debug)]
pub struct Restoration {
    pub link: LinkEnds,
    pub detected_at: Instant,
    pub flows: Vec<FlowId>,
    pub flow_mods: usize,
    pub switches: usize,
}

/// What the tables of switches should be, and how far they are.
#[derive(Debug)]
pub struct Tables {
    pub desired: Desired,
    pub confirmations: Confirmations<Operation>,
    pub moves: StagedUpdates,
    pub unasked: Unasked,
    pub refusals: Refusals,
    pub reconciliation: Reconciliation,
    /// Bundles that failed, whose errors may still arrive.
    pub refused_bundles: BTreeSet<(Slot, TransactionId)>,
    /// Flows whose prepared entries were sent and are not in the desired state
    /// yet.
    pub unrecorded: BTreeSet<FlowId>,
    /// Those whose entries are to be looked at, as a switch was given what it lacked.
    pub unsettled: BTreeSet<EntryOwner>,
    /// The groups that entries of flows need. They stay as long as the switch is known: all
    /// flows with the same two ports share one.
    failovers: BTreeSet<(DatapathId, Failover)>,
}

impl Tables {
    pub fn new(foreign: ForeignRules) -> Self {
        Self {
            desired: Desired::default(),
            confirmations: Confirmations::default(),
            moves: StagedUpdates::default(),
            unasked: Unasked::default(),
            refusals: Refusals::default(),
            reconciliation: Reconciliation::new(foreign),
            refused_bundles: BTreeSet::new(),
            unrecorded: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            failovers: BTreeSet::new(),
        }
    }

    /// Gives a switch what every switch has, before anything else.
    pub fn want_services(&mut self, ctx: &mut Context, slot: Slot, datapath: DatapathId) {
        self.failovers_at(datapath)
            .for_each(|failover| failover.emit(ctx.outbox.to(slot)));
        let class = ctx.parameters.echo_class(datapath);
        for service in rules::services(datapath, class) {
            let spot = (datapath, service.place());
            self.desired.put(EntryOwner::Service, spot, service.form());
            if let Some(rule) = self.desired.get(datapath, spot.1) {
                rule.emit_add(ctx.outbox.to(slot));
            }
        }
    }

    /// Wants nothing any more of a switch that will not come back.
    pub fn unwant_services(&mut self, ctx: &Context, datapath: DatapathId) {
        let class = ctx.parameters.echo_class(datapath);
        for service in rules::services(datapath, class) {
            let spot = (datapath, service.place());
            self.desired.take(EntryOwner::Service, spot);
        }
        self.desired.forget(datapath);
        self.failovers.retain(|(at, _)| *at != datapath);
    }

    fn failovers_at(&self, datapath: DatapathId) -> impl Iterator<Item = Failover> {
        let first = (datapath, Failover::FIRST);
        let all = self.failovers.range(first..);
        all.take_while(move |(at, _)| *at == datapath)
            .map(|(_, failover)| *failover)
    }

    /// Gives switches the groups that the entries of a flow need, before these.
    pub fn want_failovers(&mut self, ctx: &mut Context, flow: &Flow) {
        for (datapath, failover) in flow.failovers() {
            let is_new = self.failovers.insert((datapath, failover));
            let slot = ctx.sessions.of_switch(datapath).filter(|_| is_new);
            if let Some(slot) = slot {
                failover.emit(ctx.outbox.to(slot));
            }
        }
    }

    /// Brings what the switches should have up to date for a flow whose prepared
    /// entries were sent.
    pub fn record(&mut self, owners: &Owners, id: FlowId) {
        if !self.unrecorded.remove(&id) {
            return;
        }
        let Some(flow) = owners.flows.get(id) else {
            return;
        };
        let subject = EntryOwner::Flow(id);
        for (spot, form) in flow.content(&flow.way) {
            self.desired.record(subject, spot, form);
        }
    }

    /// Does so for some of the flows that were restored.
    pub fn record_some(&mut self, owners: &Owners) {
        for _ in 0..RECORDED_AT_ONCE {
            let Some(flow) = self.unrecorded.first().copied() else {
                return;
            };
            self.record(owners, flow);
        }
    }

    /// Does so for all of them.
    pub fn record_all(&mut self, owners: &Owners) {
        while let Some(flow) = self.unrecorded.first().copied() {
            self.record(owners, flow);
        }
    }

    /// Notes that all that a subject was sent has been confirmed.
    pub fn confirm_entries(&mut self, subject: EntryOwner) {
        let spots: Vec<RuleKey> = self.desired.of_subject(subject).collect();
        for spot in spots {
            if self.is_synchronised(spot.0) {
                self.confirm_entry(spot);
            }
        }
    }

    /// Returns whether a switch is connected and was given what it lacked.
    pub fn is_synchronised(&self, datapath: DatapathId) -> bool {
        self.desired.is_synchronised(datapath)
    }

    /// Returns what became of the entries of a subject, or `None` if switches
    /// have not confirmed them all yet.
    pub fn outcome(&self, subject: EntryOwner) -> Option<Outcome> {
        match self.desired.progress(subject) {
            Progress::Confirmed => return Some(Outcome::Confirmed),
            Progress::Pending => return None,
            Progress::Unclear => {}
        }
        let mut is_pending = false;
        let (mut away, mut contested) = (None, None);
        for (datapath, place) in self.desired.of_subject(subject) {
            let Some(rule) = self.desired.get(datapath, place) else {
                continue;
            };
            if rule.subject != subject {
                let with = rule.subject;
                contested = contested.or(Some(Outcome::Contested { datapath, with }));
            } else if !self.is_synchronised(datapath) {
                away = away.or(Some(Outcome::Away { datapath }));
            } else if rule.standing == Standing::Refused {
                return self.refusals.outcome((datapath, place));
            }
            is_pending |= rule.standing == Standing::Sent;
        }
        let pending = is_pending.then_some(None);
        contested
            .or(away)
            .map(Some)
            .or(pending)
            .unwrap_or(Some(Outcome::Confirmed))
    }

    /// Returns whether all entries that a subject wants are on their switches, as these have
    /// confirmed, be they its own or the same ones of another subject.
    pub fn is_served(&self, subject: EntryOwner) -> bool {
        let content = self.desired.content(subject);
        content.iter().all(|((datapath, place), form)| {
            let there = self.desired.get(*datapath, *place);
            let is_there =
                there.is_some_and(|it| it.form == *form && it.standing == Standing::Confirmed);
            is_there && self.is_synchronised(*datapath)
        })
    }

    /// Tells the owner of entries what became of them, if that is settled.
    pub fn settle(&self, ctx: &mut Context, owners: &mut Owners, subject: EntryOwner) {
        if let Some(outcome) = self.outcome(subject) {
            owners.rules_settled(ctx, subject, outcome);
        }
    }

    /// Takes in that a switch was given what it lacked: tells those who have
    /// entries there, and goes on with what waited for it.
    pub fn synchronised(&mut self, ctx: &mut Context, owners: &mut Owners, datapath: DatapathId) {
        self.desired.synchronise(datapath);
        ctx.promises_changed();
        let rules = self.desired.of_switch(datapath);
        let spots: Vec<RuleKey> = rules.map(|(place, _)| (datapath, place)).collect();
        spots.into_iter().for_each(|spot| self.confirm_entry(spot));
        self.retry_all_refused(ctx, datapath);
        self.settle_switch(ctx, owners, datapath);
        self.resume_moves(ctx, owners, datapath);
        // Flows that would pass it have waited.
        owners.return_soon(ctx);
    }

    fn settle_switch(&mut self, ctx: &mut Context, owners: &mut Owners, datapath: DatapathId) {
        let rules = self.desired.of_switch(datapath);
        let subjects: BTreeSet<EntryOwner> = rules.map(|(_, rule)| rule.subject).collect();
        self.unsettled.extend(subjects);
        self.settle_some(ctx, owners);
    }

    /// Tells some of those who have entries on switches that were given what they
    /// lacked what became of all of them. Where many switches come back at once, who
    /// has entries on all of them is looked at a few times, not once a switch.
    pub fn settle_some(&mut self, ctx: &mut Context, owners: &mut Owners) {
        let mut looked_at = 0;
        while looked_at < SETTLED_AT_ONCE
            && let Some(subject) = self.unsettled.pop_first()
        {
            looked_at += self.desired.of_subject(subject).count();
            self.settle(ctx, owners, subject);
            self.resume_subject(ctx, owners, subject);
        }
    }

    /// Asks switches to confirm what they were sent. Gives the operation back if there is
    /// none to wait for.
    pub fn await_all(
        &mut self,
        ctx: &mut Context,
        operation: Operation,
        slots: impl IntoIterator<Item = Slot>,
    ) -> Option<Operation> {
        let (outbox, sessions) = (&mut ctx.outbox, &ctx.sessions);
        let desired = &self.desired;
        self.confirmations
            .await_all(operation, slots, |slot, emit| {
                emit(outbox.to(slot));
                let session = sessions.get(slot);
                let datapath = session.and_then(|session| session.datapath());
                datapath.map_or(0, |datapath| desired.messages(datapath))
            })
    }

    /// Asks a switch to confirm what it was sent.
    pub fn await_one(&mut self, ctx: &mut Context, operation: Operation, slot: Slot) {
        let done = self.await_all(ctx, operation, [slot]);
        debug_assert!(done.is_none(), "a switch is waited for");
    }

    /// Takes in that all that makes up for a broken link is there.
    pub fn restored(&mut self, ctx: &mut Context, owners: &mut Owners, restoration: Restoration) {
        ctx.promises_changed();
        for flow in &restoration.flows {
            self.record(owners, *flow);
            self.confirm_entries(EntryOwner::Flow(*flow));
            self.settle(ctx, owners, EntryOwner::Flow(*flow));
            self.resume_subject(ctx, owners, EntryOwner::Flow(*flow));
        }
        let confirmed_at = ctx.now;
        ctx.outbox.notify(restoration.into_event(confirmed_at));
    }

    /// Asks switches what they have counted. Those of version 1.0 are not asked: their
    /// translator knows no such question.
    pub fn ask_for_counts(&mut self, ctx: &mut Context) {
        let wide: Vec<_> = ctx.sessions.ready().collect();
        for (datapath, slot) in wide {
            let entries = self.desired.count(datapath);
            let is_narrow = ctx.sessions.narrow().contains(&slot);
            let session = ctx.sessions.get_mut(slot).filter(|_| !is_narrow);
            let Some(session) = session else {
                continue;
            };
            let telemetry = &mut session.telemetry;
            if !telemetry.is_due(ctx.now) {
                continue;
            }
            let out = ctx.outbox.to(slot);
            let mut ask = |question| {
                let transaction = self.confirmations.transaction();
                MultipartRequest::new(question).emit(transaction, out);
                transaction
            };
            let ports = ask(RequestBody::PortStatistics(PortNumber::ANY));
            telemetry.ports.expect(ports);
            telemetry.tables.expect(ask(RequestBody::Table));
            if entries <= MAX_ENTRIES {
                let ours = ask(RequestBody::Flow(Scope::Ours.question()));
                telemetry.flows.expect(ours);
            }
            if ctx.policing.is_able(datapath) {
                let hops = ask(RequestBody::Experimenter(Question::Hops.body()));
                telemetry.hops.expect(hops);
            }
        }
    }

    /// Asks a switch what it has counted of the contracts that it polices.
    pub fn ask_for_policed(&mut self, ctx: &mut Context, datapath: DatapathId) {
        let slot = ctx.sessions.of_switch(datapath);
        let session = slot.and_then(|slot| Some((slot, ctx.sessions.get_mut(slot)?)));
        let Some((slot, session)) = session else {
            return;
        };
        if session.telemetry.is_policed_due(ctx.now) {
            let transaction = self.confirmations.transaction();
            session.telemetry.policed.expect(transaction);
            let question = RequestBody::Experimenter(Question::Policed.body());
            MultipartRequest::new(question).emit(transaction, ctx.outbox.to(slot));
        }
    }

    /// Takes a part of what a switch has counted. Returns whether it was asked for that.
    pub fn counts_reported(
        &self,
        ctx: &mut Context,
        slot: Slot,
        datapath: DatapathId,
        transaction: TransactionId,
        reply: &MultipartReply<'_>,
    ) -> bool {
        let desired = &self.desired;
        let flow_of = |entry: &FlowStatistics<'_>| {
            let place = Form::read(entry).ok()?.place();
            match desired.get(datapath, place)?.subject {
                EntryOwner::Flow(flow) | EntryOwner::Levels(flow) => Some(flow),
                _ => None,
            }
        };
        let owner_of = |cookie| match desired.by_cookie(datapath, cookie)?.1.subject {
            EntryOwner::Flow(flow) => Some(flow),
            _ => None,
        };
        let session = ctx.sessions.get_mut(slot);
        session.is_some_and(|it| it.telemetry.take(transaction, reply, flow_of, owner_of))
    }
}

impl Restoration {
    fn into_event(self, confirmed_at: Instant) -> Event {
        Event::Restored {
            link: self.link,
            detected_at: self.detected_at,
            took: confirmed_at.saturating_since(self.detected_at),
            flows: self.flows.len(),
            flow_mods: self.flow_mods,
            switches: self.switches,
        }
    }
}
