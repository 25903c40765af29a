//! What is asked of intents, and what the store says to it (S1-7).
//!
//! An intent that makes sense is proposed to the store; when the store has kept it,
//! it is in force, whatever the network lets it do. A request with several intents is
//! answered when all are settled. Who may not see another's intents cannot end them.

use std::collections::BTreeMap;

use crate::desired::EntryOwner;
use crate::intents::{Held, Item, Standing, record};
use crate::northbound::{
    Asker, Event, Intent, IntentDecision, IntentId, IntentRefusal, IntentState, IntentSummary,
    MAX_WAITING, Reply, RequestId,
};
use crate::routes::Flood;
use crate::store::{Key, StoreWrite};

use super::{Context, Network, Owners};

/// What is programmed beside flows, and what was asked of it.
#[derive(Debug)]
pub struct Programs {
    pub intent_desk: IntentDesk,
    /// By which ports proactive routes send what goes to all.
    pub flood: Flood,
}

impl Programs {
    pub fn new() -> Self {
        Self {
            intent_desk: IntentDesk::default(),
            flood: Flood::new(),
        }
    }
}

/// Requests that wait for the store.
#[derive(Debug, Default)]
pub struct IntentDesk {
    next: u64,
    batches: BTreeMap<u64, PendingIntents>,
    proposals: BTreeMap<IntentId, (u64, usize)>,
    removals: BTreeMap<IntentId, Vec<RequestId>>,
}

/// A request of which not all is settled.
#[derive(Debug)]
struct PendingIntents {
    id: RequestId,
    decisions: Vec<Option<IntentDecision>>,
    unsettled: usize,
}

impl IntentDesk {
    /// Notes a decision. Returns the request and all its decisions if that was the
    /// last.
    fn settle(
        &mut self,
        intent: IntentId,
        decision: IntentDecision,
    ) -> Option<(RequestId, Vec<IntentDecision>)> {
        let (batch, place) = self.proposals.remove(&intent)?;
        let waiting = self.batches.get_mut(&batch)?;
        waiting.decisions[place] = Some(decision);
        waiting.unsettled -= 1;
        if waiting.unsettled > 0 {
            return None;
        }
        let waiting = self.batches.remove(&batch)?;
        let decisions = waiting.decisions.into_iter().flatten().collect();
        Some((waiting.id, decisions))
    }

    fn removals(&self) -> usize {
        self.removals.values().map(Vec::len).sum()
    }
}

impl Programs {
    pub fn add_intents(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        (id, by): (RequestId, &Asker),
        intents: Vec<Intent>,
    ) {
        if self.intent_desk.proposals.len() + intents.len() > MAX_WAITING {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        let batch = self.intent_desk.next;
        self.intent_desk.next += 1;
        let mut decisions = Vec::with_capacity(intents.len());
        let mut unsettled = 0;
        for (place, intent) in intents.into_iter().enumerate() {
            let name = intent.name.clone();
            match Self::propose_intent(ctx, network, by, intent) {
                Ok(proposed) => {
                    self.intent_desk.proposals.insert(proposed, (batch, place));
                    decisions.push(None);
                    unsettled += 1;
                }
                Err(reason) => decisions.push(Some(IntentDecision::Refused { name, reason })),
            }
        }
        if unsettled == 0 {
            let decisions = decisions.into_iter().flatten().collect();
            ctx.outbox.reply(id, Reply::IntentDecisions(decisions));
            return;
        }
        let waiting = PendingIntents {
            id,
            decisions,
            unsettled,
        };
        self.intent_desk.batches.insert(batch, waiting);
    }

    /// Checks an intent and asks the store to keep it.
    fn propose_intent(
        ctx: &mut Context,
        network: &mut Network,
        by: &Asker,
        intent: Intent,
    ) -> Result<IntentId, IntentRefusal> {
        network.owners.check_intent(&network.topology, &intent)?;
        if let Some((datapath, holder)) = Self::conflict_of_new(ctx, network, by, &intent.kind) {
            return Err(IntentRefusal::Conflict {
                owner: network.owners.name_of_subject(holder),
                datapath: datapath.0,
            });
        }
        let id = network.owners.intents.next_id();
        ctx.outbox.store(StoreWrite {
            key: Key::Intent(id.0),
            value: Some(record::to_bytes(by, &intent)),
        });
        network.owners.intents.insert(id, new(by.clone(), intent));
        Ok(id)
    }

    pub fn remove_intent(
        &mut self,
        ctx: &mut Context,
        owners: &Owners,
        id: RequestId,
        by: &Asker,
        name: String,
    ) {
        let found = owners.intents.by_name(&name).filter(|intent| {
            let held = owners.intents.get(*intent);
            held.is_some_and(|held| {
                held.standing == Standing::Accepted && (*by == Asker::Operator || held.owner == *by)
            })
        });
        let Some(intent) = found else {
            ctx.outbox.reply(id, Reply::UnknownIntent(name));
            return;
        };
        if self.intent_desk.removals() >= MAX_WAITING {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        self.intent_desk
            .removals
            .entry(intent)
            .or_default()
            .push(id);
        ctx.outbox.store(StoreWrite {
            key: Key::Intent(intent.0),
            value: None,
        });
    }

    pub fn intent_summaries(ctx: &Context, network: &Network) -> Vec<IntentSummary> {
        let tables = &network.tables;
        let summary = |(id, held): (IntentId, &Held)| {
            let course = network.owners.intents.course(Item::Intent(id));
            let trees = course.map_or(&[][..], |course| &course.trees);
            IntentSummary {
                id,
                intent: held.intent.clone(),
                owner: held.owner.clone(),
                state: held.state.clone(),
                routes: trees.iter().map(|tree| ctx.route(tree)).collect(),
                rules: tables.desired.of_subject(EntryOwner::Intent(id)).count(),
            }
        };
        network.owners.intents.accepted().map(summary).collect()
    }

    /// Puts an intent in force, whichever instance has accepted it.
    pub fn intent_kept(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: IntentId,
        bytes: &[u8],
    ) {
        let is_proposed = network
            .owners
            .intents
            .get(id)
            .is_some_and(|held| held.standing == Standing::Proposed);
        if !is_proposed {
            let Ok((owner, intent)) = record::from_bytes(bytes) else {
                ctx.outbox.notify(Event::IntentUnreadable { intent: id });
                return;
            };
            match network.owners.intents.get(id) {
                Some(held) if held.owner == owner && held.intent == intent => return,
                Some(_) => Self::let_intent_go(ctx, network, id),
                None => {}
            }
            network.owners.intents.insert(id, new(owner, intent));
        }
        let Some(held) = network.owners.intents.get_mut(id) else {
            return;
        };
        held.standing = Standing::Accepted;
        let (name, kind) = (held.intent.name.clone(), held.intent.kind.clone());
        network.owners.intents.mark(Item::Intent(id));
        network
            .owners
            .mark_gatherings(ctx, &network.topology, &kind);
        let decision = IntentDecision::Accepted { id, name };
        if let Some((request, decisions)) = self.intent_desk.settle(id, decision) {
            ctx.outbox.reply(request, Reply::IntentDecisions(decisions));
        }
    }

    /// Ends an intent that the store holds no longer.
    pub fn intent_struck(&mut self, ctx: &mut Context, network: &mut Network, id: IntentId) {
        Self::let_intent_go(ctx, network, id);
        let requests = self.intent_desk.removals.remove(&id);
        for request in requests.into_iter().flatten() {
            ctx.outbox.reply(request, Reply::IntentRemoved(id));
        }
    }

    pub fn intent_rejected(&mut self, ctx: &mut Context, owners: &mut Owners, id: IntentId) {
        let requests = self.intent_desk.removals.remove(&id);
        for request in requests.into_iter().flatten() {
            ctx.outbox.reply(request, Reply::NotStored);
        }
        let is_proposed = |held: &Held| held.standing == Standing::Proposed;
        if !owners.intents.get(id).is_some_and(is_proposed) {
            return;
        }
        let Some(held) = owners.intents.remove(id) else {
            return;
        };
        let decision = IntentDecision::Refused {
            name: held.intent.name,
            reason: IntentRefusal::NotStored,
        };
        if let Some((request, decisions)) = self.intent_desk.settle(id, decision) {
            ctx.outbox.reply(request, Reply::IntentDecisions(decisions));
        }
    }

    /// Takes away the rules of an intent, and what its hosts sent to each other by.
    fn let_intent_go(ctx: &mut Context, network: &mut Network, id: IntentId) {
        let Some(held) = network.owners.intents.remove(id) else {
            return;
        };
        network.clear_rules(ctx, EntryOwner::Intent(id));
        network
            .owners
            .mark_gatherings(ctx, &network.topology, &held.intent.kind);
        // Intents of others may have given way to it.
        network.owners.try_waiting_intents(ctx);
    }
}

fn new(owner: Asker, intent: Intent) -> Held {
    Held {
        intent,
        owner,
        standing: Standing::Proposed,
        state: IntentState::Installing,
    }
}
