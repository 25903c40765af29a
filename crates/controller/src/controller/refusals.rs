//! What is done about entries that a switch refuses.
//!
//! An error quotes the beginning of the message that it is about (OF13 clause
//! 7.4.4): the cookie in it says which entry is refused. The entry is sent again
//! after a while, and after twice the time again; one for which the table was
//! full also as soon as another entry is deleted there. After
//! [`MAX_TRIES`] the controller gives up until the switch comes back or somebody
//! asks for a reconciliation.

use std::collections::{BTreeMap, BTreeSet};

use units::{Duration, Instant};
use wire::openflow::{
    Cookie, DatapathId, ErrorKind, ErrorMessage, FlowModFailed, HEADER_LENGTH, Header, MessageType,
    TransactionId,
};

use crate::desired::{EntryOwner, Order, Outcome, RuleKey, RulePlace, Standing, flow_of};
use crate::flows::Installation;
use crate::northbound::{Event, FlowId};

use super::Controller;

/// How often an entry is sent that a switch refuses.
pub const MAX_TRIES: u32 = 8;

/// A refusal that was not made good yet.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    error: ErrorKind,
    tries: u32,
}

/// The entries that switches refuse.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    all: BTreeMap<RuleKey, Refusal>,
    due: BTreeSet<(Instant, RuleKey)>,
}

impl Refusals {
    /// Returns when the next entry is sent again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Returns what became of an entry, if it was refused.
    pub(super) fn outcome(&self, spot: RuleKey) -> Option<Outcome> {
        let (datapath, _) = spot;
        let error = self.all.get(&spot)?.error;
        Some(Outcome::Refused { datapath, error })
    }

    /// Returns why an entry is refused, if it is.
    pub(super) fn error(&self, spot: RuleKey) -> Option<ErrorKind> {
        self.all.get(&spot).map(|refusal| refusal.error)
    }

    /// Notes that a switch has taken an entry that it may have refused before.
    pub(super) fn made_good(&mut self, spot: RuleKey) {
        if !self.all.is_empty() {
            self.all.remove(&spot);
        }
    }

    /// Notes a refusal. Returns how often there was one.
    fn add(&mut self, spot: RuleKey, error: ErrorKind) -> u32 {
        let first = Refusal { error, tries: 0 };
        let refusal = self.all.entry(spot).or_insert(first);
        refusal.error = error;
        refusal.tries += 1;
        refusal.tries
    }

    /// Lets those for which the table was full be sent again now.
    fn room(&mut self, now: Instant, datapath: DatapathId) {
        let places = RulePlace::ALL;
        let there = (datapath, *places.start())..=(datapath, *places.end());
        let full = ErrorKind::FlowModFailed(FlowModFailed::TableFull);
        let refusals = self.all.range(there);
        let waiting = refusals.filter(|(_, refusal)| refusal.error == full);
        self.due.extend(waiting.map(|(spot, _)| (now, *spot)));
    }

    fn take_due(&mut self, now: Instant) -> Vec<RuleKey> {
        let mut due = Vec::new();
        while let Some((at, spot)) = self.due.first().copied()
            && at <= now
        {
            self.due.pop_first();
            due.push(spot);
        }
        due.dedup();
        due
    }
}

impl Controller {
    /// Takes the error of a switch about a FlowMod.
    pub(super) fn entry_refused(
        &mut self,
        datapath: DatapathId,
        transaction: TransactionId,
        error: &ErrorMessage<'_>,
    ) {
        let flow = flow_of(transaction).filter(|id| self.owners.flows.get(*id).is_some());
        if let Some(flow) = flow {
            self.record(flow);
        }
        let cookie = quoted_cookie(error.data);
        let entry = cookie.and_then(|cookie| self.tables.desired.by_cookie(datapath, cookie));
        let subject = entry.map(|(_, rule)| rule.subject);
        let place = entry.map(|(place, _)| place);
        self.ctx.outbox.notify(Event::EntryRefused {
            datapath,
            flow,
            name: flow.and_then(|flow| self.name_of_flow(flow)),
            error: format!("{:?}", error.kind),
        });
        match (subject, place) {
            (Some(subject), Some(place)) => self.refuse(subject, (datapath, place), error.kind),
            // The switch does not say which entry.
            (None, _) | (_, None) => {
                if let Some(flow) = flow {
                    self.mark_refused(flow);
                }
            }
        }
    }

    fn refuse(&mut self, subject: EntryOwner, spot: RuleKey, error: ErrorKind) {
        self.tables.desired.set_standing(spot, Standing::Refused);
        let tries = self.tables.refusals.add(spot, error);
        let (datapath, _) = spot;
        if tries < MAX_TRIES {
            let wait = self.ctx.timers.retry_wait.as_ns() << (tries - 1);
            let at = self.ctx.now + Duration::from_ns(wait);
            self.tables.refusals.due.insert((at, spot));
        } else {
            self.ctx.outbox.notify(Event::GivenUp {
                datapath,
                subject: subject.to_string(),
                error: format!("{error:?}"),
            });
        }
        self.rules_settled(subject, Outcome::Refused { datapath, error });
    }

    /// Sends entries again that switches have refused.
    pub(super) fn retry_refused(&mut self) {
        for spot in self.tables.refusals.take_due(self.ctx.now) {
            self.retry(spot);
        }
    }

    fn retry(&mut self, spot: RuleKey) {
        let (datapath, place) = spot;
        let refused = self.tables.desired.get(datapath, place);
        if refused.is_none_or(|rule| rule.standing != Standing::Refused) {
            self.tables.refusals.all.remove(&spot);
            return;
        }
        let Some(slot) = self.ctx.sessions.of_switch(datapath) else {
            // It is given what it lacks when it comes back.
            return;
        };
        if let Order::Add(rule) = self.tables.desired.send_again(spot) {
            rule.emit_add(self.ctx.outbox.to(slot));
            self.ask_to_confirm(slot);
        }
    }

    /// Sends all entries again that a switch has refused, whatever was given up.
    pub(super) fn retry_all_refused(&mut self, datapath: DatapathId) {
        let places = RulePlace::ALL;
        let there = (datapath, *places.start())..=(datapath, *places.end());
        let refused: Vec<RuleKey> = self
            .tables
            .refusals
            .all
            .range(there)
            .map(|(spot, _)| *spot)
            .collect();
        for spot in refused {
            if let Some(refusal) = self.tables.refusals.all.get_mut(&spot) {
                refusal.tries = 0;
            }
            self.retry(spot);
        }
    }

    /// Notes that an entry of a switch is deleted, which makes room for others.
    pub(super) fn note_room(&mut self, datapath: DatapathId) {
        if !self.tables.refusals.all.is_empty() {
            self.tables.refusals.room(self.ctx.now, datapath);
        }
    }

    fn mark_refused(&mut self, id: FlowId) {
        if let Some(flow) = self.owners.flows.get_mut(id) {
            flow.installation = Installation::Refused;
        }
        self.ctx.promises_changed();
    }
}

/// Returns the cookie of a FlowMod of which `message` is the beginning.
fn quoted_cookie(message: &[u8]) -> Option<Cookie> {
    let kind = Header::parse(message).ok()?.kind;
    let cookie = message.get(HEADER_LENGTH..HEADER_LENGTH + 8)?;
    let cookie = u64::from_be_bytes(cookie.try_into().ok()?);
    (kind == MessageType::FlowMod.number()).then_some(Cookie(cookie))
}
