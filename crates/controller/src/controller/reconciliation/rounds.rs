//! When switches are asked: in rounds, and when they say that entries are gone.

use wire::openflow::{DatapathId, FlowRemoved};

use super::{LOSS_WAIT, MAX_SUSPECTS, Question, ROUND_PHASES, STALLED, Task, Telling};
use crate::desired::{COOKIE_MASK_OURS, COOKIE_OURS, slice_of};
use crate::session::Slot;

use super::super::{Context, Owners, Tables};

impl Tables {
    /// Notes that a switch says that an entry is gone.
    pub fn entry_gone(&mut self, ctx: &Context, datapath: DatapathId, removed: &FlowRemoved<'_>) {
        let is_ours = removed.cookie.matches(COOKIE_OURS, COOKIE_MASK_OURS);
        if !is_ours || self.desired.by_cookie(datapath, removed.cookie).is_none() {
            return;
        }
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return;
        };
        if watched.suspects.is_empty() {
            let rested = watched.mended_at.map(|at| at + ctx.timers.retry_wait);
            let soon = ctx.now + LOSS_WAIT;
            let at = rested.map_or(soon, |rested| rested.max(soon));
            self.reconciliation.due.insert((at, datapath));
        }
        watched.suspects.insert(slice_of(removed.cookie));
    }

    /// Asks the switches that said a while ago that entries are gone.
    pub fn look_at_losses(&mut self, ctx: &mut Context, owners: &Owners) {
        while let Some((at, datapath)) = self.reconciliation.due.first().copied()
            && at <= ctx.now
        {
            self.reconciliation.due.pop_first();
            let watched = self.reconciliation.switches.get_mut(&datapath);
            let suspects = watched.map(|watched| std::mem::take(&mut watched.suspects));
            let suspects = suspects.unwrap_or_default();
            if suspects.len() > MAX_SUSPECTS {
                self.want_task(ctx, owners, datapath, Task::Whole);
            } else {
                for slice in suspects {
                    self.want_task(ctx, owners, datapath, Task::Slice(slice));
                }
            }
        }
    }

    /// Begins a round for the switches whose turn it is.
    pub fn begin_rounds(&mut self, ctx: &mut Context, owners: &Owners, turn: u64) {
        // What is found anew is not complete: numbers would not agree.
        if ctx.is_settling() {
            return;
        }
        let is_due = |slot: Slot| slot.index() as u64 % ROUND_PHASES == turn;
        let ready = ctx.sessions.ready().filter(|(_, slot)| is_due(*slot));
        let due: Vec<DatapathId> = ready.map(|(datapath, _)| datapath).collect();
        for datapath in due {
            let is_synchronised = self.is_synchronised(datapath);
            let watched = self.reconciliation.switches.get_mut(&datapath);
            let Some(watched) = watched.filter(|_| is_synchronised) else {
                continue;
            };
            let task = match watched.tells {
                Telling::Sums | Telling::Count => Task::Count,
                Telling::Slices => watched.turn_slice(),
                Telling::Nothing => continue,
            };
            if watched.tasks.is_empty() {
                self.want_task(ctx, owners, datapath, task);
            }
        }
    }

    /// Gives up questions that are not answered for long.
    pub fn give_up_questions(&mut self, ctx: &mut Context, owners: &mut Owners) {
        let (now, limit) = (ctx.now, ctx.timers.echo_timeout);
        let switches = self.reconciliation.switches.iter_mut();
        let late = switches.filter_map(|(datapath, watched)| {
            let is_late =
                |question: &mut Question| now.saturating_since(question.heard_at) >= limit;
            Some((*datapath, watched.question.take_if(is_late)?))
        });
        let late: Vec<_> = late.collect();
        for (datapath, question) in late {
            self.unanswered(ctx, owners, datapath, &question);
        }
        self.give_up_repairs(ctx);
        self.pass_over_stalled(ctx, owners);
    }

    /// Lets the turns of switches that are being asked or mended for very long go
    /// to others: whoever stalls harms only himself.
    fn pass_over_stalled(&mut self, ctx: &mut Context, owners: &Owners) {
        let (now, limit) = (ctx.now, ctx.timers.echo_timeout * STALLED);
        let busy = self.reconciliation.busy.iter();
        let stalled = busy.filter(|(_, since)| now.saturating_since(**since) >= limit);
        let stalled: Vec<DatapathId> = stalled.map(|(datapath, _)| *datapath).collect();
        for datapath in stalled {
            self.task_done(ctx, owners, datapath);
        }
    }
}
