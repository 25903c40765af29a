//! Mends what a switch has otherwise than it should.
//!
//! All of a repair goes out in one bundle where the switch has bundles: done
//! whole or not at all, in one step that no frame sees half of. A switch that
//! refuses bundles is sent the messages one by one, new ones first; so is one
//! that refuses what is in a bundle, so that it says of each entry why. Entries
//! that were different are looked at again afterwards: either all is well, or the
//! switch says them in words of its own, or it is mended again, a few times.

use std::collections::BTreeSet;

use units::Instant;
use wire::openflow::{
    BundleAdd, BundleControl, BundleControlKind, BundleFlags, BundleId, DatapathId, Sequence,
    TransactionId,
};

use crate::audit::{Finding, Reported};
use crate::desired::{EntryOwner, RulePlace, Standing};
use crate::northbound::Event;
use crate::rules;
use crate::session::Slot;

use super::reconciliation::{MAX_REPAIRS, Task};
use super::tables::Operation;
use super::{Context, Owners, Tables};

/// The most entries that are mended at once; the rest follows.
pub const MAX_MENDED: usize = 16_384;

const FLAGS: BundleFlags = BundleFlags(BundleFlags::ATOMIC.0 | BundleFlags::ORDERED.0);
const BUNDLE: BundleId = BundleId(1);

/// Whether a switch has bundles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bundles {
    /// It was not asked yet.
    #[default]
    Unknown,
    Known,
    None,
}

/// What is being mended on a switch.
#[derive(Debug)]
pub struct Repair {
    task: Task,
    write: Vec<RulePlace>,
    delete: Vec<Reported>,
    added: usize,
    changed: usize,
    /// Whether there was more than is mended at once.
    is_part: bool,
    /// That of the messages of its bundle.
    transaction: Option<TransactionId>,
    is_committing: bool,
    since: Instant,
}

impl Tables {
    /// Mends what was found on a switch, if that is not too often.
    pub fn mend(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        task: Task,
        finding: Finding,
    ) {
        let Some(slot) = ctx.sessions.of_switch(datapath) else {
            return;
        };
        if finding.is_empty() {
            self.well(ctx, owners, datapath, task);
            return;
        }
        if let Task::Verify(MAX_REPAIRS, _) = task {
            ctx.outbox.notify(Event::NotMended {
                datapath,
                lacking: finding.missing.len(),
                different: finding.different.len(),
                excess: finding.excess.len(),
            });
            self.doubt(ctx, datapath, &finding);
            self.task_done(ctx, owners, datapath);
            return;
        }
        self.doubt(ctx, datapath, &finding);
        let repair = self.plan_repair(ctx, datapath, task, finding);
        let bundles = match self.reconciliation.switches.get(&datapath) {
            Some(watched) => watched.bundles,
            None => return,
        };
        match bundles {
            Bundles::None => self.mend_plainly(ctx, slot, datapath, repair),
            Bundles::Unknown | Bundles::Known => {
                self.open_bundle(ctx, slot, datapath, repair, bundles)
            }
        }
    }

    /// Takes in that a switch has what it should have.
    fn well(&mut self, ctx: &mut Context, owners: &mut Owners, datapath: DatapathId, task: Task) {
        match task {
            Task::Connect => {
                ctx.outbox.notify(Event::Synchronised {
                    datapath,
                    added: 0,
                    removed: 0,
                });
                self.synchronised(ctx, owners, datapath);
            }
            Task::Verify(..) => ctx.outbox.notify(Event::Consistent { datapath }),
            Task::Adopt | Task::Inspect(_) | Task::Whole | Task::Slice(_) | Task::Count => {}
        }
        self.task_done(ctx, owners, datapath);
    }

    /// Notes that entries which were confirmed are not there.
    fn doubt(&mut self, ctx: &mut Context, datapath: DatapathId, finding: &Finding) {
        ctx.promises_changed();
        let different = finding.different.iter().map(|different| different.place);
        for place in finding.missing.iter().copied().chain(different) {
            let rule = self.desired.get(datapath, place);
            if rule.is_some_and(|rule| rule.standing == Standing::Confirmed) {
                self.desired.set_standing((datapath, place), Standing::Sent);
            }
        }
    }

    fn plan_repair(
        &mut self,
        ctx: &Context,
        datapath: DatapathId,
        task: Task,
        finding: Finding,
    ) -> Repair {
        let mut room = MAX_MENDED;
        let mut take = |count: usize| {
            let taken = count.min(room);
            room -= taken;
            taken
        };
        let changed = take(finding.different.len());
        // What is refused is sent again in its own time.
        let is_refused = |place: &RulePlace| {
            let rule = self.desired.get(datapath, *place);
            rule.is_some_and(|rule| rule.standing == Standing::Refused)
        };
        let missing = finding.missing.into_iter().filter(|at| !is_refused(at));
        let missing: Vec<RulePlace> = missing.collect();
        let added = take(missing.len());
        let removed = take(finding.excess.len());
        let is_part = changed < finding.different.len()
            || added < missing.len()
            || removed < finding.excess.len();
        let different = &finding.different[..changed];
        if let Some(watched) = self.reconciliation.switches.get_mut(&datapath) {
            different
                .iter()
                .for_each(|different| watched.dialect.written_over(different));
        }
        let write = different.iter().map(|different| different.place);
        Repair {
            task,
            write: write.chain(missing.into_iter().take(added)).collect(),
            delete: finding.excess.into_iter().take(removed).collect(),
            added,
            changed,
            is_part,
            transaction: None,
            is_committing: false,
            since: ctx.now,
        }
    }

    fn open_bundle(
        &mut self,
        ctx: &mut Context,
        slot: Slot,
        datapath: DatapathId,
        mut repair: Repair,
        bundles: Bundles,
    ) {
        let transaction = self.confirmations.transaction();
        control(BundleControlKind::OpenRequest).emit(transaction, ctx.outbox.to(slot));
        repair.transaction = Some(transaction);
        if let Some(watched) = self.reconciliation.switches.get_mut(&datapath) {
            watched.repair = Some(repair);
        }
        if bundles == Bundles::Known {
            self.fill_bundle(ctx, slot, datapath);
        }
    }

    /// Puts a repair into its bundle, and has that committed.
    fn fill_bundle(&mut self, ctx: &mut Context, slot: Slot, datapath: DatapathId) {
        let watched = self.reconciliation.switches.get_mut(&datapath);
        let repair = watched.and_then(|watched| watched.repair.as_mut());
        let Some(repair) = repair.filter(|repair| !repair.is_committing) else {
            return;
        };
        let Some(transaction) = repair.transaction else {
            return;
        };
        repair.is_committing = true;
        let out = ctx.outbox.to(slot);
        let mut message = Vec::new();
        let mut add = |message: &mut Vec<u8>| {
            transaction.patch(message);
            let add = BundleAdd {
                bundle: BUNDLE,
                flags: FLAGS,
                message,
                properties: Sequence::EMPTY,
            };
            add.emit(transaction, out);
            message.clear();
        };
        // All in one step: what goes makes room for what comes.
        for reported in &repair.delete {
            emit_delete(reported, &mut message);
            add(&mut message);
        }
        for place in &repair.write {
            if let Some(rule) = self.desired.get(datapath, *place) {
                rule.emit_add(&mut message);
                add(&mut message);
            }
        }
        let out = ctx.outbox.to(slot);
        control(BundleControlKind::CloseRequest).emit(transaction, out);
        control(BundleControlKind::CommitRequest).emit(transaction, out);
    }

    /// Takes what a switch says about a bundle.
    pub fn bundle_controlled(
        &mut self,
        ctx: &mut Context,
        slot: Slot,
        datapath: DatapathId,
        transaction: TransactionId,
        said: &BundleControl<'_>,
    ) {
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return;
        };
        let repair = watched.repair.as_ref();
        if repair.and_then(|repair| repair.transaction) != Some(transaction) {
            return;
        }
        match said.kind {
            BundleControlKind::OpenReply => {
                watched.bundles = Bundles::Known;
                self.fill_bundle(ctx, slot, datapath);
            }
            BundleControlKind::CommitReply => {
                if let Some(repair) = watched.repair.take() {
                    self.await_one(ctx, Operation::Repair(datapath, repair), slot);
                }
            }
            BundleControlKind::OpenRequest
            | BundleControlKind::CloseRequest
            | BundleControlKind::CloseReply
            | BundleControlKind::CommitRequest
            | BundleControlKind::DiscardRequest
            | BundleControlKind::DiscardReply => {}
        }
    }

    /// Takes the refusal of a bundle, or of something in it. Returns whether it
    /// was one.
    pub fn bundle_refused(
        &mut self,
        ctx: &mut Context,
        slot: Slot,
        datapath: DatapathId,
        transaction: TransactionId,
    ) -> bool {
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return false;
        };
        let is_it = |repair: &mut Repair| repair.transaction == Some(transaction);
        let Some(mut repair) = watched.repair.take_if(is_it) else {
            return self.refused_bundles.contains(&(slot, transaction));
        };
        match repair.is_committing {
            true => {
                control(BundleControlKind::DiscardRequest).emit(transaction, ctx.outbox.to(slot))
            }
            false => watched.bundles = Bundles::None,
        }
        self.refused_bundles.insert((slot, transaction));
        repair.transaction = None;
        self.mend_plainly(ctx, slot, datapath, repair);
        true
    }

    /// Sends a repair message by message.
    fn mend_plainly(
        &mut self,
        ctx: &mut Context,
        slot: Slot,
        datapath: DatapathId,
        repair: Repair,
    ) {
        let out = ctx.outbox.to(slot);
        for place in &repair.write {
            if let Some(rule) = self.desired.get(datapath, *place) {
                rule.emit_add(out);
            }
        }
        for reported in &repair.delete {
            emit_delete(reported, out);
        }
        if !repair.delete.is_empty() {
            self.note_room(ctx, datapath);
        }
        self.await_one(ctx, Operation::Repair(datapath, repair), slot);
    }

    /// Takes in that a switch has been mended.
    pub fn mended(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        repair: Repair,
    ) {
        let slot = ctx.sessions.of_switch(datapath);
        self.refused_bundles.retain(|(at, _)| Some(*at) != slot);
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return;
        };
        watched.mended_at = Some(ctx.now);
        let (added, changed, removed) = (repair.added, repair.changed, repair.delete.len());
        let slice = match repair.task {
            Task::Slice(slice) | Task::Verify(_, Some(slice)) => Some(slice),
            Task::Connect
            | Task::Adopt
            | Task::Inspect(_)
            | Task::Verify(_, None)
            | Task::Whole
            | Task::Count => None,
        };
        let tries = match repair.task {
            Task::Verify(tries, _) if !repair.is_part => tries + 1,
            Task::Verify(tries, _) => tries,
            Task::Connect
            | Task::Adopt
            | Task::Inspect(_)
            | Task::Whole
            | Task::Slice(_)
            | Task::Count => 1,
        };
        let is_first = repair.task == Task::Connect;
        if !is_first || changed > 0 || repair.is_part {
            watched.tasks.insert(Task::Verify(tries, slice));
        }
        for place in &repair.write {
            self.confirm_entry((datapath, *place));
        }
        if is_first {
            ctx.outbox.notify(Event::Synchronised {
                datapath,
                added: added + changed,
                removed,
            });
            self.synchronised(ctx, owners, datapath);
        } else {
            ctx.outbox.notify(Event::Mended {
                datapath,
                added,
                changed,
                removed,
            });
            self.settle_places(ctx, owners, datapath, &repair.write);
        }
        self.task_done(ctx, owners, datapath);
    }

    fn settle_places(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        places: &[RulePlace],
    ) {
        let rules = places
            .iter()
            .filter_map(|place| self.desired.get(datapath, *place));
        let subjects: BTreeSet<EntryOwner> = rules.map(|rule| rule.subject).collect();
        for subject in subjects {
            self.settle(ctx, owners, subject);
            self.resume_subject(ctx, owners, subject);
        }
    }

    /// Does without bundles where a switch says nothing to one for long.
    pub fn give_up_repairs(&mut self, ctx: &mut Context) {
        let (now, limit) = (ctx.now, ctx.timers.echo_timeout);
        let switches = self.reconciliation.switches.iter_mut();
        let late = switches.filter_map(|(datapath, watched)| {
            let is_late = |repair: &mut Repair| now.saturating_since(repair.since) >= limit;
            let mut repair = watched.repair.take_if(is_late)?;
            watched.bundles = Bundles::None;
            repair.transaction = None;
            Some((*datapath, repair))
        });
        let late: Vec<(DatapathId, Repair)> = late.collect();
        for (datapath, repair) in late {
            if let Some(slot) = ctx.sessions.of_switch(datapath) {
                self.mend_plainly(ctx, slot, datapath, repair);
            }
        }
    }
}

fn control(kind: BundleControlKind) -> BundleControl<'static> {
    BundleControl {
        bundle: BUNDLE,
        kind,
        flags: FLAGS,
        properties: Sequence::EMPTY,
    }
}

fn emit_delete(reported: &Reported, out: &mut Vec<u8>) {
    match &reported.form {
        Some(form) => form.emit_delete(TransactionId(0), out),
        // What cannot be read can only be named by its cookie.
        None => rules::emit_delete_cookie(reported.cookie, out),
    }
}
