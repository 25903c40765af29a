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
use crate::northbound::Event;

use super::{Context, Owners, Tables};

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
pub struct Refusals {
    all: BTreeMap<RuleKey, Refusal>,
    due: BTreeSet<(Instant, RuleKey)>,
}

impl Refusals {
    /// Returns when the next entry is sent again.
    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Returns what became of an entry, if it was refused.
    pub fn outcome(&self, spot: RuleKey) -> Option<Outcome> {
        let (datapath, _) = spot;
        let error = self.all.get(&spot)?.error;
        Some(Outcome::Refused { datapath, error })
    }

    /// Returns why an entry is refused, if it is.
    pub fn error(&self, spot: RuleKey) -> Option<ErrorKind> {
        self.all.get(&spot).map(|refusal| refusal.error)
    }

    /// Notes that a switch has taken an entry that it may have refused before.
    pub fn made_good(&mut self, spot: RuleKey) {
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

impl Tables {
    /// Takes the error of a switch about a FlowMod.
    pub fn entry_refused(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        transaction: TransactionId,
        error: &ErrorMessage<'_>,
    ) {
        let flow = flow_of(transaction).filter(|id| owners.flows.get(*id).is_some());
        if let Some(flow) = flow {
            self.record(owners, flow);
        }
        let cookie = quoted_cookie(error.data);
        let entry = cookie.and_then(|cookie| self.desired.by_cookie(datapath, cookie));
        let subject = entry.map(|(_, rule)| rule.subject);
        let place = entry.map(|(place, _)| place);
        ctx.outbox.notify(Event::EntryRefused {
            datapath,
            flow,
            name: flow.and_then(|flow| owners.name_of_flow(flow)),
            error: format!("{:?}", error.kind),
        });
        match (subject, place) {
            (Some(subject), Some(place)) => {
                self.refuse(ctx, owners, subject, (datapath, place), error.kind)
            }
            // The switch does not say which entry.
            (None, _) | (_, None) => {
                if let Some(flow) = flow {
                    owners.mark_refused(ctx, flow);
                }
            }
        }
    }

    fn refuse(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        subject: EntryOwner,
        spot: RuleKey,
        error: ErrorKind,
    ) {
        self.desired.set_standing(spot, Standing::Refused);
        let tries = self.refusals.add(spot, error);
        let (datapath, _) = spot;
        if tries < MAX_TRIES {
            let wait = ctx.timers.retry_wait.as_ns() << (tries - 1);
            let at = ctx.now + Duration::from_ns(wait);
            self.refusals.due.insert((at, spot));
        } else {
            ctx.outbox.notify(Event::GivenUp {
                datapath,
                subject: subject.to_string(),
                error: format!("{error:?}"),
            });
        }
        owners.rules_settled(ctx, subject, Outcome::Refused { datapath, error });
    }

    /// Sends entries again that switches have refused.
    pub fn retry_refused(&mut self, ctx: &mut Context) {
        for spot in self.refusals.take_due(ctx.now) {
            self.retry(ctx, spot);
        }
    }

    fn retry(&mut self, ctx: &mut Context, spot: RuleKey) {
        let (datapath, place) = spot;
        let refused = self.desired.get(datapath, place);
        if refused.is_none_or(|rule| rule.standing != Standing::Refused) {
            self.refusals.all.remove(&spot);
            return;
        }
        let Some(slot) = ctx.sessions.of_switch(datapath) else {
            // It is given what it lacks when it comes back.
            return;
        };
        if let Order::Add(rule) = self.desired.send_again(spot) {
            rule.emit_add(ctx.outbox.to(slot));
            self.ask_to_confirm(ctx, slot);
        }
    }

    /// Sends all entries again that a switch has refused, whatever was given up.
    pub fn retry_all_refused(&mut self, ctx: &mut Context, datapath: DatapathId) {
        let places = RulePlace::ALL;
        let there = (datapath, *places.start())..=(datapath, *places.end());
        let refused: Vec<RuleKey> = self
            .refusals
            .all
            .range(there)
            .map(|(spot, _)| *spot)
            .collect();
        for spot in refused {
            if let Some(refusal) = self.refusals.all.get_mut(&spot) {
                refusal.tries = 0;
            }
            self.retry(ctx, spot);
        }
    }

    /// Notes that an entry of a switch is deleted, which makes room for others.
    pub fn note_room(&mut self, ctx: &Context, datapath: DatapathId) {
        if !self.refusals.all.is_empty() {
            self.refusals.room(ctx.now, datapath);
        }
    }
}

/// Returns the cookie of a FlowMod of which `message` is the beginning.
pub(super) fn quoted_cookie(message: &[u8]) -> Option<Cookie> {
    let kind = Header::parse(message).ok()?.kind;
    let cookie = message.get(HEADER_LENGTH..HEADER_LENGTH + 8)?;
    let cookie = u64::from_be_bytes(cookie.try_into().ok()?);
    (kind == MessageType::FlowMod.number()).then_some(Cookie(cookie))
}
