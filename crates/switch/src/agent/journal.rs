//! What a bundle has changed so far, so that all of it can be taken back.
//!
//! While a bundle is committed every change of an entry or a port is noted with
//! what was there before. If a message of the bundle fails, the changes are
//! undone, the latest first; what nobody can undo (controllers are told, frames
//! in queues are dropped) is done only once all messages have succeeded. No
//! frame is looked at in between. Groups and meters are few and hang together,
//! so they are copied as a whole, if the bundle is going to change them.

use units::Instant;
use wire::openflow::PortConfig;

use super::Agent;
use super::flow_mods::Farewell;
use crate::entry::Entry;
use crate::flow_table::Removed;
use crate::group_table::GroupTable;
use crate::meter_table::MeterTable;
use crate::pipeline::Pipeline;
use crate::port::PortIndex;
use crate::timeouts::EntryId;

/// One change, with what was there before. Entries are boxed: most changes are
/// additions.
#[derive(Debug)]
pub(super) enum Change {
    Added(EntryId),
    /// An entry took the place of this one.
    Replaced(EntryId, Box<Entry>),
    Removed(EntryId, Box<Removed>, Farewell),
    /// A port had this configuration.
    Policy(PortIndex, PortConfig),
}

/// Whether a bundle changes groups or meters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// It changes entries and ports only.
    Entries,
    /// It changes groups or meters too.
    GroupsAndMeters,
}

/// The changes of a bundle.
#[derive(Debug)]
pub(super) struct Journal {
    changes: Vec<Change>,
    /// What the groups and meters were, if the bundle changes any.
    before: Option<Box<(GroupTable, MeterTable)>>,
}

impl Journal {
    pub(super) fn new(pipeline: &mut Pipeline, reach: Reach) -> Self {
        pipeline.egress.streams.keep_unnamed();
        let (groups, meters) = (&pipeline.egress.groups, &pipeline.egress.meters);
        Self {
            changes: Vec::new(),
            before: match reach {
                Reach::Entries => None,
                Reach::GroupsAndMeters => Some(Box::new((groups.clone(), meters.clone()))),
            },
        }
    }

    pub(super) fn note(&mut self, change: Change) {
        self.changes.push(change);
    }
}

impl Agent {
    /// Notes a change, if a bundle is being committed.
    pub(super) fn note(&mut self, change: impl FnOnce() -> Change) {
        if let Some(journal) = &mut self.journal {
            journal.note(change());
        }
    }

    /// Does what cannot be undone, now that everything else succeeded.
    pub(super) fn confirm(&mut self, now: Instant, pipeline: &mut Pipeline) {
        let Some(journal) = self.journal.take() else {
            return;
        };
        for change in journal.changes {
            match change {
                Change::Added(_) | Change::Replaced(..) => {}
                Change::Removed(id, removed, farewell) => {
                    self.announce_removal(now, id.table, &removed.entry, farewell);
                }
                Change::Policy(port, _) => self.heed_port_mod(pipeline, port),
            }
        }
        pipeline.egress.forget_unnamed_streams();
    }

    pub(super) fn take_back(&mut self, now: Instant, pipeline: &mut Pipeline) {
        let Some(journal) = self.journal.take() else {
            return;
        };
        // Who uses which group and meter is part of what was copied.
        let counted = journal.before.is_none();
        for change in journal.changes.into_iter().rev() {
            self.undo(now, pipeline, change, counted);
        }
        if let Some(before) = journal.before {
            (pipeline.egress.groups, pipeline.egress.meters) = *before;
        }
        let egress = &mut pipeline.egress;
        egress.forget_unnamed_streams();
        egress.groups.find_live(&egress.ports);
    }

    /// Undoes the latest change. If `counted`, the groups and meters that
    /// entries use are told; streams are in any case.
    fn undo(&mut self, now: Instant, pipeline: &mut Pipeline, change: Change, counted: bool) {
        let Pipeline { tables, egress, .. } = pipeline;
        match change {
            Change::Added(id) => {
                let flows = &mut tables[usize::from(id.table.0)].flows;
                let mut removed = flows.remove(id.index);
                self.timeouts.stop(id, &mut removed.entry);
                match counted {
                    true => egress.release_for(&removed.entry.program),
                    false => egress.release_streams(&removed.entry.program.apply),
                }
            }
            Change::Replaced(id, mut before) => {
                let flows = &mut tables[usize::from(id.table.0)].flows;
                self.timeouts.stop(id, flows.entry_mut(id.index));
                let after = &flows.entry(id.index).program;
                match counted {
                    true => egress.hold_for(now, &mut before.program, Some(after)),
                    false => egress.hold_streams(&before.program.apply),
                }
                let after = flows.replace(id.index, *before);
                match counted {
                    true => egress.release_for(&after.program),
                    false => egress.release_streams(&after.program.apply),
                }
                self.timeouts.start(id, flows.entry_mut(id.index));
            }
            Change::Removed(id, mut removed, _) => {
                match counted {
                    true => egress.hold_for(now, &mut removed.entry.program, None),
                    false => egress.hold_streams(&removed.entry.program.apply),
                }
                let flows = &mut tables[usize::from(id.table.0)].flows;
                flows.put_back(id.index, *removed);
                self.timeouts.start(id, flows.entry_mut(id.index));
            }
            Change::Policy(port, before) => egress.port_mut(port).policy = before,
        }
    }
}
