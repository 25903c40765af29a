//! Makes the tables of switches what they should be.
//!
//! Whoever wants entries says which ones he wants ([`Controller::set_rules`]).
//! The smallest difference to what he has is planned as a move, so that frames
//! find a whole way at any time. When all is done, or cannot be done, the subject
//! is told ([`Outcome`]).

use std::collections::{BTreeMap, BTreeSet};

use wire::openflow::DatapathId;

use crate::desired::{Content, EntryOwner, Outcome, PlacedRule, Progress, RuleKey, Standing};
use crate::flows::{Flow, Installation, Standing as FlowStanding};
use crate::northbound::{Event, FlowId};
use crate::rules;
use crate::session::Slot;
use crate::transition::Stages;

use super::staged_updates::Part;
use super::{Context, Network, Owners, Tables};

/// How many restored flows are recorded at once, so that nothing waits long
/// behind them.
const RECORDED_AT_ONCE: usize = 256;
/// The same for flows whose guards are looked at.
const GUARDED_AT_ONCE: usize = 64;

/// After how many entries that were looked at what remains waits for the next turn.
const SETTLED_AT_ONCE: usize = 8_192;

impl Network {
    /// Makes these the rules of a subject, in place of those it had: make before
    /// break, smallest difference.
    pub(super) fn set_rules(
        &mut self,
        ctx: &mut Context,
        subject: EntryOwner,
        rules: Vec<PlacedRule>,
    ) {
        let forms = rules.iter().map(|rule| (rule.datapath, rule.form()));
        let wanted: Content = forms
            .map(|(datapath, form)| ((datapath, form.place()), form))
            .collect();
        self.tables.moves.take(subject);
        let present = self.tables.desired.content(subject);
        if !self.tables.desired.has_room(present.len(), wanted.len()) {
            self.owners.rules_settled(ctx, subject, Outcome::TooMany);
            return;
        }
        let stages = Stages::plan(&present, &wanted, None, &|port| self.topology.far_end(port));
        let part = Part::new(stages, None, self.tables.unconfirmed(subject, &wanted));
        self.tables
            .begin_move(ctx, &mut self.owners, BTreeMap::from([(subject, part)]));
    }

    /// Takes all rules of a subject away.
    pub(super) fn clear_rules(&mut self, ctx: &mut Context, subject: EntryOwner) {
        self.set_rules(ctx, subject, Vec::new());
    }

    /// Makes the guards of some of the flows what they should be whose way is another one.
    pub(super) fn guard_some(&mut self, ctx: &mut Context) {
        for _ in 0..GUARDED_AT_ONCE {
            let Some(id) = self.owners.flows.take_altered() else {
                return;
            };
            let subject = EntryOwner::Guard(id);
            let wanted = self
                .owners
                .flows
                .get(id)
                .map(Flow::guards)
                .unwrap_or_default();
            match self.tables.desired.is_owner(subject) {
                true => self.set_content_at_once(ctx, subject, &wanted.into_iter().collect()),
                false if wanted.is_empty() => {}
                false => self.tables.give(ctx, &mut self.owners, subject, wanted),
            }
        }
    }
}

impl Tables {
    /// Gives a switch what every switch has, before anything else.
    pub(super) fn want_services(&mut self, ctx: &mut Context, slot: Slot, datapath: DatapathId) {
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
    pub(super) fn unwant_services(&mut self, ctx: &Context, datapath: DatapathId) {
        let class = ctx.parameters.echo_class(datapath);
        for service in rules::services(datapath, class) {
            let spot = (datapath, service.place());
            self.desired.take(EntryOwner::Service, spot);
        }
        self.desired.forget(datapath);
    }

    /// Brings what the switches should have up to date for a flow whose prepared
    /// entries were sent.
    pub(super) fn record(&mut self, owners: &Owners, id: FlowId) {
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
    pub(super) fn record_some(&mut self, owners: &Owners) {
        for _ in 0..RECORDED_AT_ONCE {
            let Some(flow) = self.unrecorded.first().copied() else {
                return;
            };
            self.record(owners, flow);
        }
    }

    /// Does so for all of them.
    pub(super) fn record_all(&mut self, owners: &Owners) {
        while let Some(flow) = self.unrecorded.first().copied() {
            self.record(owners, flow);
        }
    }

    /// Notes that all that a subject was sent has been confirmed.
    pub(super) fn confirm_entries(&mut self, subject: EntryOwner) {
        let spots: Vec<RuleKey> = self.desired.of_subject(subject).collect();
        for spot in spots {
            if self.is_synchronised(spot.0) {
                self.confirm_entry(spot);
            }
        }
    }

    /// Returns whether a switch is connected and was given what it lacked.
    pub(super) fn is_synchronised(&self, datapath: DatapathId) -> bool {
        self.desired.is_synchronised(datapath)
    }

    /// Returns what became of the entries of a subject, or `None` if switches
    /// have not confirmed them all yet.
    pub(super) fn outcome(&self, subject: EntryOwner) -> Option<Outcome> {
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

    /// Tells the owner of entries what became of them, if that is settled.
    pub(super) fn settle(&self, ctx: &mut Context, owners: &mut Owners, subject: EntryOwner) {
        if let Some(outcome) = self.outcome(subject) {
            owners.rules_settled(ctx, subject, outcome);
        }
    }

    /// Takes in that a switch was given what it lacked: tells those who have
    /// entries there, and goes on with what waited for it.
    pub(super) fn synchronised(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
    ) {
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
    pub(super) fn settle_some(&mut self, ctx: &mut Context, owners: &mut Owners) {
        let mut looked_at = 0;
        while looked_at < SETTLED_AT_ONCE
            && let Some(subject) = self.unsettled.pop_first()
        {
            looked_at += self.desired.of_subject(subject).count();
            self.settle(ctx, owners, subject);
            self.resume_subject(ctx, owners, subject);
        }
    }
}

impl Owners {
    /// Tells the owner of rules what became of them.
    pub(super) fn rules_settled(
        &mut self,
        ctx: &mut Context,
        subject: EntryOwner,
        outcome: Outcome,
    ) {
        ctx.modes_changed();
        match subject {
            EntryOwner::Service
            | EntryOwner::KnownHost(_)
            | EntryOwner::Gathering(_)
            | EntryOwner::Route(_)
            | EntryOwner::Modes
            | EntryOwner::Levels(_)
            | EntryOwner::Guard(_) => {}
            EntryOwner::Flow(flow) => self.flow_settled(ctx, flow, outcome),
            EntryOwner::Intent(intent) => self.intent_settled(ctx, intent, outcome),
            EntryOwner::Application(_) => {
                let (subject, outcome) = (subject.to_string(), ctx.in_words(outcome));
                ctx.outbox.notify(Event::RulesSettled { subject, outcome });
            }
        }
    }

    fn flow_settled(&mut self, ctx: &mut Context, id: FlowId, outcome: Outcome) {
        ctx.promises_changed();
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        match outcome {
            Outcome::Confirmed => {
                let is_news = flow.installation != Installation::Confirmed
                    && flow.standing == FlowStanding::Admitted;
                if is_news {
                    flow.installation = Installation::Confirmed;
                    let name = Some(flow.admission.requirement.name.clone());
                    ctx.outbox.notify(Event::Installed { flow: id, name });
                }
            }
            Outcome::Refused { .. } | Outcome::Contested { .. } | Outcome::TooMany => {
                flow.installation = Installation::Refused;
            }
            Outcome::Away { .. } => {}
        }
    }
}
