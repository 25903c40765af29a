//! Changes of flow tables, OF13 clauses 6.4 and 7.3.4.1, and entries that
//! expire, OF13 clauses 5.5 and 7.4.2.

use units::Instant;
use wire::openflow::{
    BadAction, BufferId, ErrorKind, Fields, FlowMod, FlowModCommand, FlowModFailed, FlowModFlags,
    FlowRemoved, FlowRemovedReason, Message, TableId,
};

use super::journal::Change;
use super::sweep::overlaps;
use super::{Agent, EXPIRIES_MAX};
use crate::action::Program;
use crate::counters::EntryCounters;
use crate::egress::Egress;
use crate::entry::{Entry, Expiry};
use crate::flow_table::{EntryIndex, FlowTable, Rule, TableFull};
use crate::matching;
use crate::pipeline::Pipeline;
use crate::program::{Compiler, InstructionSite, POLICERS_MAX};
use crate::selection::{OutGroup, OutPort, Selection};
use crate::timeouts::{EntryId, Timeouts, Verdict};

const FLAGS: FlowModFlags = FlowModFlags::SEND_FLOW_REMOVED
    .with(FlowModFlags::CHECK_OVERLAP)
    .with(FlowModFlags::RESET_COUNTS)
    .with(FlowModFlags::NO_PACKET_COUNTS)
    .with(FlowModFlags::NO_BYTE_COUNTS);

/// A flow-mod with what was made of it, so that carrying it out fails for want
/// of room only.
#[derive(Debug)]
pub(super) struct Order<'a> {
    pub(super) flow_mod: &'a FlowMod<'a>,
    pub(super) rule: Rule,
    /// What its entries do; nothing if it deletes them.
    pub(super) program: Program,
    pub(super) missing: Missing,
}

/// Why an entry is gone, and what it had matched until then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Farewell {
    reason: FlowRemovedReason,
    counters: EntryCounters,
}

/// What becomes of a modification that meets no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Nothing, OF13 clause 6.4.
    Ignored,
    /// It adds one, OF10 section 4.6.
    Added,
}

impl<'a> Order<'a> {
    /// Checks a flow-mod.
    ///
    /// # Errors
    ///
    /// With the specification's error for the first thing that is wrong.
    pub(super) fn compile(
        pipeline: &Pipeline,
        flow_mod: &'a FlowMod<'a>,
    ) -> Result<Self, ErrorKind> {
        if !FLAGS.contains(flow_mod.flags) {
            return Err(ErrorKind::FlowModFailed(FlowModFailed::BadFlags));
        }
        check_table(pipeline, flow_mod)?;
        let rule = matching::compile(&flow_mod.matching, flow_mod.priority)?;
        let program = match flow_mod.command {
            FlowModCommand::Add | FlowModCommand::Modify | FlowModCommand::ModifyStrict => {
                compile(pipeline, flow_mod, &rule)?
            }
            FlowModCommand::Delete | FlowModCommand::DeleteStrict => Program::default(),
        };
        Ok(Self {
            flow_mod,
            rule,
            program,
            missing: Missing::Ignored,
        })
    }

    /// Returns which entries a flow-mod is about. Where they send to counts for
    /// deletions only, OF13 clause 6.4.
    pub(super) fn selection(&self, pipeline: &Pipeline) -> Selection {
        let flow_mod = self.flow_mod;
        let (out, group) = match flow_mod.command {
            FlowModCommand::Add | FlowModCommand::Modify | FlowModCommand::ModifyStrict => {
                (OutPort::Any, OutGroup::Any)
            }
            FlowModCommand::Delete | FlowModCommand::DeleteStrict => (
                OutPort::new(&pipeline.egress, flow_mod.out_port),
                OutGroup::new(&pipeline.egress, flow_mod.out_group),
            ),
        };
        Selection {
            table: flow_mod.table,
            rule: self.rule,
            cookie: flow_mod.cookie,
            cookie_mask: flow_mod.cookie_mask,
            out,
            group,
        }
    }
}

impl Agent {
    pub(super) fn flow_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        flow_mod: &FlowMod<'_>,
    ) -> Result<(), ErrorKind> {
        if let Some(buffer) = buffer_of(flow_mod) {
            self.buffers.check(buffer)?;
        }
        let order = Order::compile(pipeline, flow_mod)?;
        self.carry_out(now, pipeline, order)?;
        self.release_for(now, pipeline, flow_mod)
    }

    /// Sends the frame that a flow-mod names through the tables.
    pub(super) fn release_for(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        flow_mod: &FlowMod<'_>,
    ) -> Result<(), ErrorKind> {
        match buffer_of(flow_mod) {
            Some(buffer) => self.release(now, pipeline, buffer),
            None => Ok(()),
        }
    }

    /// Does what a flow-mod asks for, once everything about it is checked.
    pub(super) fn carry_out(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        order: Order<'_>,
    ) -> Result<(), ErrorKind> {
        let flow_mod = order.flow_mod;
        let selection = order.selection(pipeline);
        match flow_mod.command {
            FlowModCommand::Add => self.add(now, pipeline, order),
            FlowModCommand::Modify | FlowModCommand::ModifyStrict => {
                let changed = self.modify(now, pipeline, &order, &selection);
                match order.missing {
                    Missing::Added if changed == 0 => self.add(now, pipeline, order),
                    Missing::Added | Missing::Ignored => Ok(()),
                }
            }
            FlowModCommand::Delete | FlowModCommand::DeleteStrict => {
                self.delete(now, pipeline, flow_mod.command, &selection);
                Ok(())
            }
        }
    }

    /// Adds an entry, or overwrites the one with the same rule, which then keeps
    /// its age among those of its priority.
    fn add(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        order: Order<'_>,
    ) -> Result<(), ErrorKind> {
        let flow_mod = order.flow_mod;
        let flows = &pipeline.tables[usize::from(flow_mod.table.0)].flows;
        let overlapped = || {
            let mut entries = flows.iter();
            entries.any(|(_, entry)| overlaps(&order.rule, entry))
        };
        if flow_mod.flags.contains(FlowModFlags::CHECK_OVERLAP) && overlapped() {
            return Err(ErrorKind::FlowModFailed(FlowModFailed::Overlap));
        }
        self.put(now, pipeline, order)
    }

    /// Puts an entry into its table.
    pub(super) fn put(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        order: Order<'_>,
    ) -> Result<(), ErrorKind> {
        let Order { flow_mod, rule, .. } = order;
        let table = usize::from(flow_mod.table.0);
        let mut entry = new_entry(now, flow_mod, rule, order.program);
        let found = pipeline.tables[table].flows.find(&rule);
        let counted = found.map(|index| pipeline.counted_elsewhere(id(flow_mod.table, index)));
        if found.is_none() && !pipeline.admits(table, &rule) {
            return Err(ErrorKind::FlowModFailed(FlowModFailed::TableFull));
        }
        let Pipeline { tables, egress, .. } = pipeline;
        let flows = &mut tables[table].flows;
        let index = match found {
            Some(index) => {
                let id = id(flow_mod.table, index);
                let old = flows.entry_mut(index);
                self.timeouts.stop(id, old);
                entry.counters.begin_anew(counted.unwrap_or_default());
                if !flow_mod.flags.contains(FlowModFlags::RESET_COUNTS) {
                    entry.counters.frames = old.counters.frames;
                    entry.counters.bytes = old.counters.bytes;
                }
                egress.hold_for(now, &mut entry.program, Some(&old.program));
                let old = flows.replace(index, entry);
                egress.release_for(&old.program);
                self.note(|| Change::Replaced(id, Box::new(old)));
                index
            }
            None => {
                let index = flows
                    .insert(entry)
                    .map_err(|TableFull| ErrorKind::FlowModFailed(FlowModFailed::TableFull))?;
                egress.hold_for(now, &mut flows.entry_mut(index).program, None);
                self.note(|| Change::Added(id(flow_mod.table, index)));
                index
            }
        };
        let entry = flows.entry_mut(index);
        self.timeouts.start(id(flow_mod.table, index), entry);
        for sweep in self
            .sessions
            .values_mut()
            .filter_map(|it| it.sweep.as_mut())
        {
            sweep.notice(flow_mod.table, entry);
        }
        Ok(())
    }

    /// Adds an entry that another process had, as it was there.
    pub(crate) fn put_again(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        flow_mod: &FlowMod<'_>,
        (created, counters): (Instant, EntryCounters),
    ) -> Result<EntryId, ErrorKind> {
        pipeline.make_room_for_monitors();
        let order = Order::compile(pipeline, flow_mod)?;
        let entry = Entry {
            counters,
            ..new_entry(created, flow_mod, order.rule, order.program)
        };
        let Pipeline { tables, egress, .. } = pipeline;
        let flows = &mut tables[usize::from(flow_mod.table.0)].flows;
        let index = flows.insert(entry);
        let index =
            index.map_err(|TableFull| ErrorKind::FlowModFailed(FlowModFailed::TableFull))?;
        let id = id(flow_mod.table, index);
        let entry = flows.entry_mut(index);
        egress.hold_for(now, &mut entry.program, None);
        self.timeouts.start(id, entry);
        Ok(id)
    }

    /// Gives every entry that is meant new instructions, and returns how many
    /// there are.
    fn modify(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        order: &Order<'_>,
        selection: &Selection,
    ) -> usize {
        let flow_mod = order.flow_mod;
        let flows = &pipeline.tables[usize::from(flow_mod.table.0)].flows;
        let meant = meant(flows, flow_mod.command, selection);
        for &index in &meant {
            self.change(now, pipeline, id(flow_mod.table, index), order);
        }
        meant.len()
    }

    /// Replaces what an entry does; all else stays, OF13 clause 6.4.
    pub(super) fn change(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: EntryId,
        order: &Order<'_>,
    ) {
        let counted = pipeline.counted_elsewhere(id);
        let Pipeline { tables, egress, .. } = pipeline;
        let flows = &mut tables[usize::from(id.table.0)].flows;
        self.note(|| Change::Replaced(id, Box::new(flows.entry(id.index).clone())));
        let to = (order.flow_mod, order.program.clone());
        change(now, egress, flows, id.index, to);
        if order.flow_mod.flags.contains(FlowModFlags::RESET_COUNTS) {
            let counters = &mut flows.entry_mut(id.index).counters;
            let dropped = counters.dropped;
            counters.begin_anew(counted);
            counters.dropped = dropped;
        }
    }

    fn delete(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        command: FlowModCommand,
        selection: &Selection,
    ) {
        for at in 0..pipeline.tables.len() {
            let table = TableId(u8::try_from(at).expect("made from a u8"));
            if !selection.includes_table(table) {
                continue;
            }
            let flows = &pipeline.tables[at].flows;
            for index in meant(flows, command, selection) {
                self.remove(now, pipeline, id(table, index), FlowRemovedReason::Delete);
            }
        }
    }

    /// Forgets all entries of all tables, and tells nobody.
    pub(super) fn forget_entries(&mut self, pipeline: &mut Pipeline) {
        self.timeouts = Timeouts::default();
        pipeline.clear();
    }

    /// Removes entries whose time has come, up to a limit.
    pub(super) fn expire(&mut self, now: Instant, pipeline: &mut Pipeline) {
        for _ in 0..EXPIRIES_MAX {
            let Some(id) = self.timeouts.due(now) else {
                return;
            };
            pipeline.note_last_use(id);
            let flows = &mut pipeline.tables[usize::from(id.table.0)].flows;
            let reason = match self.timeouts.judge(now, id, flows.entry_mut(id.index)) {
                Verdict::Lives => continue,
                Verdict::Expires(Expiry::Idle) => FlowRemovedReason::IdleTimeout,
                Verdict::Expires(Expiry::Hard) => FlowRemovedReason::HardTimeout,
            };
            self.remove(now, pipeline, id, reason);
        }
    }

    pub(super) fn remove(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: EntryId,
        reason: FlowRemovedReason,
    ) {
        let counters = pipeline.entry_counters(id);
        let flows = &mut pipeline.tables[usize::from(id.table.0)].flows;
        let mut removed = flows.remove(id.index);
        self.timeouts.stop(id, &mut removed.entry);
        pipeline.egress.release_for(&removed.entry.program);
        let farewell = Farewell { reason, counters };
        match &mut self.journal {
            Some(journal) => journal.note(Change::Removed(id, Box::new(removed), farewell)),
            None => self.announce_removal(now, id.table, &removed.entry, farewell),
        }
    }

    /// Tells controllers that an entry is gone, if they want to know.
    pub(super) fn announce_removal(
        &mut self,
        now: Instant,
        table: TableId,
        entry: &Entry,
        Farewell { reason, counters }: Farewell,
    ) {
        if !entry.flags.contains(FlowModFlags::SEND_FLOW_REMOVED) {
            return;
        }
        let removed = FlowRemoved {
            cookie: entry.cookie,
            priority: entry.rule.priority,
            reason,
            table,
            age: now - entry.created,
            idle_timeout_s: entry.idle_timeout,
            hard_timeout_s: entry.hard_timeout,
            packets: counters.frames,
            bytes: counters.bytes,
            matching: Fields::from_bytes(&entry.fields),
        };
        self.announce(
            |session| session.wants(session.asynchronous.flow_removed, reason.number()),
            &Message::FlowRemoved(removed),
        );
    }
}

fn id(table: TableId, index: EntryIndex) -> EntryId {
    EntryId { table, index }
}

/// Returns the kept frame that goes through the tables once the flow-mod is
/// carried out. One that deletes has none, OF13 clause 7.3.4.1.
pub(super) fn buffer_of(flow_mod: &FlowMod<'_>) -> Option<BufferId> {
    match (flow_mod.command, flow_mod.buffer) {
        (FlowModCommand::Delete | FlowModCommand::DeleteStrict, _) | (_, BufferId::NONE) => None,
        (FlowModCommand::Add | FlowModCommand::Modify | FlowModCommand::ModifyStrict, buffer) => {
            Some(buffer)
        }
    }
}

/// All tables together can only be emptied, OF13 clause 7.3.4.1.
fn check_table(pipeline: &Pipeline, flow_mod: &FlowMod<'_>) -> Result<(), ErrorKind> {
    let all = match flow_mod.command {
        FlowModCommand::Delete | FlowModCommand::DeleteStrict => flow_mod.table == TableId::ALL,
        FlowModCommand::Add | FlowModCommand::Modify | FlowModCommand::ModifyStrict => false,
    };
    if all || usize::from(flow_mod.table.0) < pipeline.tables.len() {
        return Ok(());
    }
    Err(ErrorKind::FlowModFailed(FlowModFailed::BadTableId))
}

fn compile(pipeline: &Pipeline, flow_mod: &FlowMod<'_>, rule: &Rule) -> Result<Program, ErrorKind> {
    let compiler = Compiler {
        egress: &pipeline.egress,
        tables: u8::try_from(pipeline.tables.len()).expect("made from a u8"),
        place: InstructionSite::Entry(flow_mod.table, rule),
    };
    let program = compiler.program(&flow_mod.instructions)?;
    let is_full = pipeline.egress.meters.policers() >= POLICERS_MAX;
    let flows = &pipeline.tables[usize::from(flow_mod.table.0)].flows;
    let is_in_place = || {
        let before = flows.find(rule).map(|index| flows.entry(index));
        before.is_some_and(|entry| entry.program.police.is_some())
    };
    match program.police {
        Some(_) if is_full && !is_in_place() => Err(ErrorKind::BadAction(BadAction::TooMany)),
        Some(_) | None => Ok(program),
    }
}

fn new_entry(now: Instant, flow_mod: &FlowMod<'_>, rule: Rule, program: Program) -> Entry {
    Entry {
        rule,
        counters: EntryCounters {
            last_used: now,
            ..EntryCounters::default()
        },
        program,
        cookie: flow_mod.cookie,
        flags: flow_mod.flags,
        idle_timeout: flow_mod.idle_timeout_s,
        hard_timeout: flow_mod.hard_timeout_s,
        created: now,
        timer: None,
        fields: bytes_of(|out| flow_mod.matching.emit(out)),
        instructions: bytes_of(|out| flow_mod.instructions.emit(out)),
    }
}

pub(super) fn bytes_of(emit: impl FnOnce(&mut Vec<u8>)) -> Box<[u8]> {
    let mut bytes = Vec::new();
    emit(&mut bytes);
    bytes.into()
}

/// Returns the entries that a command is about, OF13 clause 6.4: the one with
/// the very rule, or all that the match covers.
fn meant(flows: &FlowTable, command: FlowModCommand, selection: &Selection) -> Vec<EntryIndex> {
    match command {
        FlowModCommand::ModifyStrict | FlowModCommand::DeleteStrict => {
            let found = flows.find(&selection.rule).into_iter();
            let meant = found.filter(|index| selection.includes_exactly(flows.entry(*index)));
            meant.collect()
        }
        FlowModCommand::Add | FlowModCommand::Modify | FlowModCommand::Delete => {
            let entries = flows.iter().filter(|(_, entry)| selection.includes(entry));
            entries.map(|(index, _)| index).collect()
        }
    }
}

/// Replaces what an entry does; all else stays, OF13 clause 6.4.
fn change(
    now: Instant,
    egress: &mut Egress,
    flows: &mut FlowTable,
    index: EntryIndex,
    (flow_mod, mut program): (&FlowMod<'_>, Program),
) {
    egress.hold_for(now, &mut program, Some(&flows.entry(index).program));
    let instructions = bytes_of(|out| flow_mod.instructions.emit(out));
    egress.release_for(&flows.reprogram(index, program, instructions));
}
