//! Makes the tables of switches what they should be.
//!
//! Whoever wants entries says which ones he wants ([`Controller::set_rules`]).
//! What is new is sent first, then what is written over, then what is deleted;
//! each waits until the switches have confirmed what stands before it. When all
//! is done, or cannot be done, the subject is told ([`Outcome`]).

use std::collections::{BTreeSet, VecDeque};

use wire::openflow::{
    Cookie, DatapathId, ErrorKind, ErrorMessage, HEADER_LENGTH, Header, MessageType,
};

use crate::batch::Batch;
use crate::desired::{Difference, Outcome, PlacedRule, Subject, TooManyRules};
use crate::northbound::Event;
use crate::rules;
use crate::session::Slot;

use super::Controller;
use super::links::Operation;

/// A change of a subject's entries, of which some stages are sent.
#[derive(Debug)]
pub(super) struct Placement {
    subject: Subject,
    /// Those that are not sent yet.
    stages: VecDeque<Batch>,
    refused: Option<(DatapathId, ErrorKind)>,
}

impl Controller {
    /// Makes these the rules of a subject, in place of those it had: make before
    /// break, smallest difference.
    pub(super) fn set_rules(&mut self, subject: Subject, rules: Vec<PlacedRule>) {
        match self.desired.replace(subject, &rules) {
            Ok(difference) => self.carry_out(subject, difference),
            Err(TooManyRules) => self.rules_settled(subject, Outcome::TooMany),
        }
    }

    /// Takes all rules of a subject away.
    pub(super) fn clear_rules(&mut self, subject: Subject) {
        self.set_rules(subject, Vec::new());
    }

    /// Gives a switch what every switch has, before anything else.
    pub(super) fn want_services(&mut self, slot: Slot, datapath: DatapathId) {
        let services = rules::services(datapath);
        // The least of what can be wanted: there is room for it.
        let _ = self.desired.extend(Subject::Service, &services);
        let out = self.outbox.to(slot);
        for service in services {
            if let Some(rule) = self.desired.get(datapath, service.place()) {
                rule.emit_add(out);
            }
        }
    }

    /// Returns who has one of these rules already, and where: the same frames
    /// with the same priority.
    #[allow(dead_code, reason = "asked by whoever adds intents")]
    pub(super) fn holder(
        &self,
        subject: Subject,
        rules: &[PlacedRule],
    ) -> Option<(DatapathId, Subject)> {
        rules.iter().find_map(|rule| {
            let holder = self.desired.get(rule.datapath, rule.place())?.subject;
            (holder != subject).then_some((rule.datapath, holder))
        })
    }

    fn carry_out(&mut self, subject: Subject, difference: Difference) {
        let (mut make, mut over, mut break_up) =
            (Batch::default(), Batch::default(), Batch::default());
        for (datapath, rule) in &difference.added {
            make.push(*datapath, |out| rule.emit_add(out));
        }
        for (datapath, _, rule) in &difference.changed {
            over.push(*datapath, |out| rule.emit_add(out));
        }
        for (datapath, rule) in &difference.removed {
            break_up.push(*datapath, |out| rule.emit_delete(out));
        }
        let stages = [make, over, break_up].into_iter();
        self.advance_placement(Placement {
            subject,
            stages: stages.filter(|stage| !stage.is_empty()).collect(),
            refused: None,
        });
        for (datapath, loser, with) in difference.contested {
            self.rules_settled(loser, Outcome::Contested { datapath, with });
        }
    }

    /// Sends the next stage, or tells how it ended if there is none.
    pub(super) fn advance_placement(&mut self, mut placement: Placement) {
        while let Some(stage) = placement.stages.pop_front() {
            let slots = self.send(&stage);
            if !slots.is_empty() {
                self.await_all(Operation::Place(placement), slots);
                return;
            }
        }
        let subject = placement.subject;
        let away = self.switch_away(subject);
        let outcome = match (placement.refused, away) {
            (Some((datapath, error)), _) => Outcome::Refused { datapath, error },
            (None, Some(datapath)) => Outcome::Away { datapath },
            (None, None) => Outcome::Confirmed,
        };
        self.rules_settled(subject, outcome);
    }

    /// Returns a switch that should have an entry of a subject and is not
    /// connected.
    fn switch_away(&self, subject: Subject) -> Option<DatapathId> {
        let mut switches = self.desired.of_subject(subject).map(|(at, _)| at);
        switches.find(|at| self.sessions.of_switch(*at).is_none())
    }

    /// Returns whose entry a switch refuses: an error quotes the beginning of the
    /// message that it is about, cookie included.
    pub(super) fn owner_of_refused(
        &self,
        datapath: DatapathId,
        error: &ErrorMessage<'_>,
    ) -> Option<Subject> {
        let cookie = quoted_cookie(error.data)?;
        self.desired.owner(datapath, cookie)
    }

    /// Notes that a switch refused an entry of a subject.
    pub(super) fn placement_refused(
        &mut self,
        subject: Subject,
        datapath: DatapathId,
        error: ErrorKind,
    ) {
        for operation in self.confirmations.waiting_mut() {
            if let Operation::Place(placement) = operation
                && placement.subject == subject
            {
                placement.refused.get_or_insert((datapath, error));
            }
        }
    }

    /// Tells the owner of rules what became of them.
    fn rules_settled(&mut self, subject: Subject, outcome: Outcome) {
        match subject {
            Subject::Service | Subject::KnownHost(_) | Subject::Flow(_) => {}
            Subject::Intent(_) | Subject::Application(_) => {
                self.outbox.notify(Event::RulesSettled { subject, outcome });
            }
        }
    }

    /// Tells those who have rules on a switch that it has them now.
    pub(super) fn settle_switch(&mut self, datapath: DatapathId) {
        let rules = self.desired.of_switch(datapath);
        let subjects: BTreeSet<Subject> = rules.map(|(_, rule)| rule.subject).collect();
        for subject in subjects {
            let outcome = match self.switch_away(subject) {
                Some(datapath) => Outcome::Away { datapath },
                None => Outcome::Confirmed,
            };
            self.rules_settled(subject, outcome);
        }
    }

    /// Sends all entries that a switch should have and that it has not
    /// reported. Returns how many.
    pub(super) fn send_lacking(
        &mut self,
        slot: Slot,
        datapath: DatapathId,
        reported: &BTreeSet<Cookie>,
    ) -> usize {
        let out = self.outbox.to(slot);
        let rules = self.desired.of_switch(datapath);
        let lacking = rules.filter(|(_, rule)| !reported.contains(&rule.cookie()));
        lacking.map(|(_, rule)| rule.emit_add(out)).count()
    }
}

/// Returns the cookie of a FlowMod of which `message` is the beginning.
fn quoted_cookie(message: &[u8]) -> Option<Cookie> {
    let kind = Header::parse(message).ok()?.kind;
    let cookie = message.get(HEADER_LENGTH..HEADER_LENGTH + 8)?;
    let cookie = u64::from_be_bytes(cookie.try_into().ok()?);
    (kind == MessageType::FlowMod.number()).then_some(Cookie(cookie))
}
