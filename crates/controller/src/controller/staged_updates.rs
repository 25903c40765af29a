//! Replaces entries by others in stages, so that no frame is lost.
//!
//! A move replaces the entries of one subject or of many at once, each by its own
//! plan ([`Stages`]); all send their next stage together, and go on when every
//! switch has confirmed. What is sent becomes what the switches should have in
//! the same moment, so that a switch which is asked what it has, or comes back,
//! is always brought to where the move is.
//!
//! A subject whose entry a switch has refused is taken out of its move and waits
//! until the switch takes the entry; it stays on its old way. So do subjects with
//! entries on a switch whose connection is gone.
//!
//! When the new ways stand, what only the old ones used stays until the frames on
//! it have arrived.

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;
use wire::openflow::DatapathId;

use crate::desired::{Content, EntryOwner, Form, Order, Outcome, RuleKey, Standing};
use crate::flows::Way;
use crate::northbound::FlowId;
use crate::record::Admission;
use crate::session::Slot;
use crate::transition::{EntryChange, Stages, TransitionStage};

use super::tables::Operation;
use super::{Context, Owners, Tables};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpdateId(u64);

/// What a subject still has to do in a move.
#[derive(Debug, Default)]
pub struct Part {
    pub stages: Stages,
    /// The way that a flow takes when it is built.
    pub to: Option<Way>,
    /// Entries that have to be confirmed before the next stage is sent.
    relies_on: Vec<RuleKey>,
    /// Whether entries that frames meet have been written over.
    is_switched: bool,
}

impl Part {
    /// Returns a move that has not begun, and that relies on some entries which
    /// stay.
    pub fn new(stages: Stages, to: Option<Way>, relies_on: Vec<RuleKey>) -> Self {
        Self {
            stages,
            to,
            relies_on,
            ..Self::default()
        }
    }
}

/// How far a move is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The new ways are being built.
    Build,
    /// Frames are still on the old ways.
    Linger,
    /// The old ways are being taken away.
    Clear,
}

#[derive(Debug)]
struct StagedUpdate {
    parts: BTreeMap<EntryOwner, Part>,
    phase: Phase,
    /// The switches that have to confirm what was sent last.
    asked: BTreeSet<DatapathId>,
    /// Those of them whose connection is gone.
    away: BTreeSet<DatapathId>,
    is_unconfirmed: bool,
}

#[derive(Debug, Default)]
pub struct StagedUpdates {
    next: u64,
    all: BTreeMap<UpdateId, StagedUpdate>,
    of: BTreeMap<EntryOwner, UpdateId>,
    /// When old ways are empty.
    lingering: BTreeSet<(Instant, UpdateId)>,
}

impl StagedUpdates {
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Returns when the next old way is empty.
    pub fn deadline(&self) -> Option<Instant> {
        self.lingering.first().map(|(until, _)| *until)
    }

    /// Returns the way that a flow is about to take.
    pub fn way_to(&self, flow: FlowId) -> Option<&Way> {
        let subject = EntryOwner::Flow(flow);
        let moving = self.all.get(self.of.get(&subject)?)?;
        moving.parts.get(&subject)?.to.as_ref()
    }

    /// Returns whether entries that a subject's frames meet have been written
    /// over.
    pub fn is_switched(&self, subject: EntryOwner) -> bool {
        let moving = self.of.get(&subject).and_then(|id| self.all.get(id));
        let part = moving.and_then(|moving| moving.parts.get(&subject));
        part.is_some_and(|part| part.is_switched)
    }

    /// Returns whether changes of a subject were sent and others follow them.
    fn is_under_way(&self, subject: EntryOwner) -> bool {
        let moving = self.of.get(&subject).and_then(|id| self.all.get(id));
        moving.is_some_and(|moving| moving.phase != Phase::Linger)
    }

    /// Takes a subject out of its move.
    pub fn take(&mut self, subject: EntryOwner) -> Option<Part> {
        let id = self.of.remove(&subject)?;
        let moving = self.all.get_mut(&id)?;
        let part = moving.parts.remove(&subject);
        if moving.parts.is_empty() {
            self.all.remove(&id);
        }
        part
    }

    fn insert(&mut self, parts: BTreeMap<EntryOwner, Part>, phase: Phase) -> UpdateId {
        let id = UpdateId(self.next);
        self.next += 1;
        self.of.extend(parts.keys().map(|subject| (*subject, id)));
        let moving = StagedUpdate {
            parts,
            phase,
            asked: BTreeSet::new(),
            away: BTreeSet::new(),
            is_unconfirmed: false,
        };
        self.all.insert(id, moving);
        id
    }

    fn remove(&mut self, id: UpdateId) -> Option<StagedUpdate> {
        let moving = self.all.remove(&id)?;
        for subject in moving.parts.keys() {
            self.of.remove(subject);
        }
        Some(moving)
    }
}

/// Where a stage has gone.
#[derive(Debug, Default)]
pub struct Reached {
    /// The connections by which it was sent.
    slots: BTreeSet<Slot>,
    /// The switches that are concerned.
    switches: BTreeSet<DatapathId>,
    /// Those of them that are not connected.
    away: BTreeSet<DatapathId>,
    spots: Vec<RuleKey>,
}

/// Where something was sent at once, and not asked about yet.
#[derive(Debug, Default)]
pub struct Unasked {
    slots: BTreeSet<Slot>,
    /// Those for whom nobody has to be asked.
    idle: Vec<EntryOwner>,
}

impl Unasked {
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.idle.is_empty()
    }

    /// Forgets a connection that is gone.
    pub fn forget(&mut self, slot: Slot) {
        self.slots.remove(&slot);
    }
}

impl Tables {
    /// Returns those entries of a subject that are to stay and that its switches
    /// have not confirmed.
    pub fn unconfirmed(&self, subject: EntryOwner, wanted: &Content) -> Vec<RuleKey> {
        let is_unconfirmed = |spot: &RuleKey| {
            let rule = self.desired.get(spot.0, spot.1);
            let own = rule.filter(|rule| rule.subject == subject);
            own.is_some_and(|rule| rule.standing != Standing::Confirmed)
        };
        wanted.keys().copied().filter(is_unconfirmed).collect()
    }

    pub fn begin_move(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        parts: BTreeMap<EntryOwner, Part>,
    ) {
        if !parts.is_empty() {
            let id = self.moves.insert(parts, Phase::Build);
            self.advance_move(ctx, owners, id);
        }
    }

    /// Sends the next stages of a move whose last ones are confirmed.
    fn advance_move(&mut self, ctx: &mut Context, owners: &mut Owners, id: UpdateId) {
        while let Some(moving) = self.moves.all.get(&id) {
            let phase = moving.phase;
            if moving.is_unconfirmed || !moving.away.is_empty() || phase == Phase::Linger {
                return;
            }
            if phase == Phase::Build && !self.hold_up_unconfirmed(id) {
                return;
            }
            let Some(reached) = self.send_next_stages(ctx, owners, id, phase) else {
                match phase {
                    Phase::Build => self.built(ctx, owners, id),
                    Phase::Clear => drop(self.moves.remove(id)),
                    Phase::Linger => return,
                }
                continue;
            };
            let Some(moving) = self.moves.all.get_mut(&id) else {
                return;
            };
            moving.asked = reached.switches;
            // What an old way leaves behind there is taken when it is back.
            if phase == Phase::Build {
                moving.away = reached.away;
            }
            if !reached.slots.is_empty() {
                moving.is_unconfirmed = true;
                let done = self.await_all(ctx, Operation::StagedUpdate(id), reached.slots);
                debug_assert!(done.is_none(), "switches are waited for");
                return;
            }
        }
    }

    /// Sends the next stage of each part of a move. Returns nothing if none is left.
    fn send_next_stages(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        id: UpdateId,
        phase: Phase,
    ) -> Option<Reached> {
        let mut all = Reached::default();
        let moving = self.moves.all.get_mut(&id)?;
        let mut due = Vec::new();
        for (subject, part) in &mut moving.parts {
            let stages = match phase {
                Phase::Build => &mut part.stages.build,
                Phase::Linger | Phase::Clear => &mut part.stages.clear,
            };
            if let Some(stage) = stages.pop_front() {
                due.push((*subject, stage));
            }
        }
        if due.is_empty() {
            return None;
        }
        for (subject, stage) in due {
            let mut reached = Reached::default();
            let is_over = stage.iter().any(|(spot, _)| {
                self.desired
                    .get(spot.0, spot.1)
                    .is_some_and(|rule| rule.subject == subject)
            });
            self.send_stage(ctx, owners, subject, stage, &mut reached);
            all.slots.append(&mut reached.slots);
            all.switches.append(&mut reached.switches);
            all.away.append(&mut reached.away);
            let moving = self.moves.all.get_mut(&id);
            if let Some(part) = moving.and_then(|moving| moving.parts.get_mut(&subject)) {
                part.relies_on = reached.spots;
                part.is_switched |= is_over;
            }
        }
        Some(all)
    }

    /// Makes changes what the switches should have, and sends them.
    pub fn send_stage(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        subject: EntryOwner,
        stage: TransitionStage,
        reached: &mut Reached,
    ) {
        for (spot, change) in stage {
            let (order, contest) = match change {
                EntryChange::Put(form) => self.desired.put(subject, spot, form),
                EntryChange::Take => (self.desired.take(subject, spot), None),
            };
            let (datapath, _) = spot;
            reached.spots.push(spot);
            reached.switches.insert(datapath);
            match (order, ctx.sessions.of_switch(datapath)) {
                (Order::Nothing, _) => {}
                (_, None) => {
                    reached.away.insert(datapath);
                }
                (Order::Add(rule), Some(slot)) => {
                    rule.emit_add(ctx.outbox.to(slot));
                    reached.slots.insert(slot);
                }
                (Order::Delete(form), Some(slot)) => {
                    form.emit_delete(subject.transaction(), ctx.outbox.to(slot));
                    reached.slots.insert(slot);
                    self.note_room(ctx, datapath);
                }
            }
            if let Some(contest) = contest {
                owners.lost_contest(ctx, contest);
            }
        }
    }

    /// Goes on with a move when all its switches have confirmed what they were sent.
    pub fn move_confirmed(&mut self, ctx: &mut Context, owners: &mut Owners, id: UpdateId) {
        if let Some(moving) = self.moves.all.get_mut(&id) {
            moving.is_unconfirmed = false;
            self.advance_move(ctx, owners, id);
        }
    }

    /// Takes in that a switch has done all messages up to one.
    pub fn messages_confirmed(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        covers: u64,
    ) {
        let mut answered = Vec::new();
        // Who moves may wait for one entry of several.
        let is_all = !self.moves.is_empty();
        let refusals = &mut self.refusals;
        let is_news = self
            .desired
            .confirm_up_to(datapath, covers, is_all, |subject, place| {
                if let Some(place) = place {
                    refusals.made_good((datapath, place));
                }
                if answered.last() != Some(&subject) {
                    answered.push(subject);
                }
            });
        if is_news {
            ctx.promises_changed();
        }
        for subject in answered {
            self.entries_answered(ctx, owners, subject);
        }
    }

    /// Tells a subject what became of its entries, unless its move does when it comes to
    /// an end.
    pub fn entries_answered(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        subject: EntryOwner,
    ) {
        if !self.moves.is_under_way(subject) {
            self.settle(ctx, owners, subject);
        }
        self.resume_subject(ctx, owners, subject);
    }

    /// Notes that a switch has an entry, unless it has refused it. One that is
    /// gone, or has come back and was not compared yet, may have lost it.
    pub fn confirm_entry(&mut self, spot: RuleKey) {
        if self.desired.confirm(spot) {
            self.refusals.made_good(spot);
        }
    }

    /// Tells that the new ways of a move stand, and lets the old ones run empty.
    fn built(&mut self, ctx: &mut Context, owners: &mut Owners, id: UpdateId) {
        let Some(mut moving) = self.moves.remove(id) else {
            return;
        };
        let mut flows = Vec::new();
        for (subject, part) in &mut moving.parts {
            if let EntryOwner::Flow(flow) = *subject {
                if let Some(way) = part.to.take() {
                    owners.change_way(ctx, flow, way);
                    owners.has_moved(ctx, flow);
                }
                flows.push(flow);
            }
        }
        let travel_time = owners.travel_time(&flows);
        owners.moved(ctx, &flows);
        for subject in moving.parts.keys() {
            self.settle(ctx, owners, *subject);
        }
        moving.parts.retain(|_, part| !part.stages.clear.is_empty());
        if moving.parts.is_empty() {
            return;
        }
        let id = self.moves.insert(moving.parts, Phase::Linger);
        self.moves.lingering.insert((ctx.now + travel_time, id));
    }

    /// Takes the old ways away that have become empty.
    pub fn clear_old_ways(&mut self, ctx: &mut Context, owners: &mut Owners) {
        while let Some((until, id)) = self.moves.lingering.first().copied()
            && until <= ctx.now
        {
            self.moves.lingering.pop_first();
            if let Some(moving) = self.moves.all.get_mut(&id) {
                moving.phase = Phase::Clear;
                self.advance_move(ctx, owners, id);
            }
        }
    }

    /// Sends all that is left of a subject's move at once: what follows relies on
    /// its entries being what they should be.
    pub fn hasten(&mut self, ctx: &mut Context, owners: &mut Owners, subject: EntryOwner) {
        let Some(part) = self.moves.take(subject) else {
            return;
        };
        let mut reached = Reached::default();
        for stage in part.stages.build.into_iter().chain(part.stages.clear) {
            self.send_stage(ctx, owners, subject, stage, &mut reached);
        }
        if let (EntryOwner::Flow(flow), Some(way)) = (subject, part.to) {
            owners.change_way(ctx, flow, way);
            owners.has_moved(ctx, flow);
        }
        self.ask_later(subject, &reached);
    }

    /// Takes all entries of a subject away at once.
    pub fn take_all(&mut self, ctx: &mut Context, owners: &mut Owners, subject: EntryOwner) {
        let spots: Vec<RuleKey> = self.desired.of_subject(subject).collect();
        let takes = spots.into_iter().map(|spot| (spot, EntryChange::Take));
        let mut reached = Reached::default();
        self.send_stage(ctx, owners, subject, takes.collect(), &mut reached);
        self.ask_later(subject, &reached);
    }

    /// Gives a flow that has no entries those of its base tree.
    pub fn send_first(&mut self, ctx: &mut Context, owners: &mut Owners, id: FlowId) {
        if let Some(flow) = owners.flows.get(id) {
            let Admission {
                requirement, ways, ..
            } = &flow.admission;
            let entries = match ways.are_local {
                true => flow.content(&Way::Base).into_iter().collect(),
                false => flow.rule.forms(&ways.base, requirement.class).collect(),
            };
            self.give(ctx, owners, EntryOwner::Flow(id), entries);
        }
    }

    /// Gives entries to a subject that has none.
    pub fn give(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        subject: EntryOwner,
        entries: Vec<(RuleKey, Form)>,
    ) {
        if !self.desired.has_room(0, entries.len()) {
            owners.rules_settled(ctx, subject, Outcome::TooMany);
            return;
        }
        let (outbox, sessions, unasked) = (&mut ctx.outbox, &ctx.sessions, &mut self.unasked);
        let (mut is_asked, mut contests) = (false, Vec::new());
        self.desired
            .put_all(subject, entries, |spot, order, contest| {
                contests.extend(contest);
                if let (Order::Add(rule), Some(slot)) = (order, sessions.of_switch(spot.0)) {
                    rule.emit_add(outbox.to(slot));
                    unasked.slots.insert(slot);
                    is_asked = true;
                }
            });
        if !is_asked {
            self.unasked.idle.push(subject);
        }
        for contest in contests {
            owners.lost_contest(ctx, contest);
        }
    }

    /// Has the switches that changes have reached be asked to confirm them, with all
    /// else that is sent until the driver takes what is to be sent.
    pub fn ask_later(&mut self, subject: EntryOwner, reached: &Reached) {
        if reached.slots.is_empty() {
            self.unasked.idle.push(subject);
        }
        self.unasked.slots.extend(&reached.slots);
    }

    /// Asks each switch once to confirm all that it was sent.
    pub fn ask_now(&mut self, ctx: &mut Context, owners: &mut Owners) {
        while !self.unasked.is_empty() {
            let Unasked { slots, idle } = std::mem::take(&mut self.unasked);
            for slot in slots {
                self.ask_to_confirm(ctx, slot);
            }
            for subject in idle {
                self.settle(ctx, owners, subject);
                self.resume_subject(ctx, owners, subject);
            }
        }
    }

    /// Asks a switch to confirm all that it was sent.
    pub fn ask_to_confirm(&mut self, ctx: &mut Context, slot: Slot) {
        let session = ctx.sessions.get(slot);
        if let Some(datapath) = session.and_then(|session| session.datapath()) {
            let covers = self.desired.messages(datapath);
            self.confirmations.ask(slot, covers, ctx.outbox.to(slot));
        }
    }

    /// Lets those subjects of a move wait that rely on an entry which its switch
    /// has refused or not confirmed; the others go on. Returns whether there are
    /// others.
    fn hold_up_unconfirmed(&mut self, id: UpdateId) -> bool {
        let Some(moving) = self.moves.all.get_mut(&id) else {
            return false;
        };
        let mut held = Vec::new();
        for (subject, part) in &mut moving.parts {
            part.relies_on.retain(|(datapath, place)| {
                let rule = self.desired.get(*datapath, *place);
                let own = rule.filter(|rule| rule.subject == *subject);
                own.is_some_and(|rule| rule.standing != Standing::Confirmed)
            });
            if !part.relies_on.is_empty() {
                held.push(*subject);
            }
        }
        if held.len() == moving.parts.len() {
            return false;
        }
        for subject in held {
            if let Some(part) = self.moves.take(subject) {
                let alone = BTreeMap::from([(subject, part)]);
                self.moves.insert(alone, Phase::Build);
            }
        }
        true
    }

    /// Notes that a connection is gone: moves wait for the switch.
    pub fn stall_moves(&mut self, datapath: DatapathId) {
        for moving in self.moves.all.values_mut() {
            let is_asked = moving.is_unconfirmed && moving.asked.contains(&datapath);
            if is_asked && moving.phase == Phase::Build {
                moving.away.insert(datapath);
            }
        }
    }

    /// Goes on with the moves that waited for a switch, which has what it should
    /// have now.
    pub fn resume_moves(&mut self, ctx: &mut Context, owners: &mut Owners, datapath: DatapathId) {
        let waiting = self.moves.all.iter_mut();
        let mut resumed = Vec::new();
        for (id, moving) in waiting {
            if moving.away.remove(&datapath) {
                resumed.push(*id);
            }
        }
        resumed
            .into_iter()
            .for_each(|id| self.advance_move(ctx, owners, id));
    }

    /// Goes on with the move of a subject whose refused entries a switch has
    /// taken.
    pub fn resume_subject(&mut self, ctx: &mut Context, owners: &mut Owners, subject: EntryOwner) {
        if let Some(id) = self.moves.of.get(&subject).copied() {
            self.advance_move(ctx, owners, id);
        }
    }
}
