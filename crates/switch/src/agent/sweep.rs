//! Work on all the entries of a table, slice by slice.
//!
//! What a flow-mod that is not strict changes or deletes, what a check for
//! overlaps looks at, what is summed up, and which entries go with their group
//! or meter: all that has to look at every entry, and would keep frames waiting
//! if it were done at once. It is done in slices; frames and other connections
//! have their turn in between. The connection that asked for it looks at no
//! further message before it is finished, so that a barrier still has nothing to
//! wait for (OF13 clause 6.2).
//!
//! What other connections do meanwhile is heeded: a flow-mod is compiled anew
//! for every slice, since a group that it names may be gone, and an entry that is
//! added is compared with every check for overlaps that is under way. An entry
//! that is added behind the place where a change or a deletion has come to stays
//! as it is, as if it had been added afterwards.
//!
//! # Left out
//!
//! The messages of a bundle, which are carried out between two frames.

use units::Instant;
use wire::openflow::multipart::{AggregateStatistics, MultipartReply, ReplyBody};
use wire::openflow::{
    Bands, Buckets, ErrorKind, Fields, FlowMod, FlowModCommand, FlowModFailed, FlowModFlags,
    FlowRemovedReason, GroupId, GroupMod, GroupModCommand, GroupModFailed, GroupType, Instructions,
    Message, MeterFlags, MeterId, MeterMod, MeterModCommand, TableId, TransactionId,
};

use super::Agent;
use super::flow_mods::{Missing, Order, buffer_of, bytes_of};
use super::journal::{Journal, Reach};
use super::session::ConnectionId;
use crate::action::Program;
use crate::entry::Entry;
use crate::flow_table::{EntryIndex, Rule};
use crate::pipeline::Pipeline;
use crate::selection::{OutGroup, Selection};
use crate::timeouts::EntryId;

/// How many places of tables are looked at in a slice.
const SLICE_LOOKS: usize = 256;
/// How many looks a change of an entry counts for.
const CHANGE_LOOKS: usize = 16;

/// The way through the entries of one table or of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    meant: TableId,
    table: usize,
    next: EntryIndex,
}

/// What is at the place that a [`Cursor`] has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SweptPlace {
    Entry(EntryId),
    Empty,
    /// That was the last one.
    End,
}

impl Cursor {
    pub(super) const fn new(meant: TableId) -> Self {
        Self {
            meant,
            table: 0,
            next: EntryIndex(0),
        }
    }

    /// Looks at the next place. Takes a bounded time.
    pub(super) fn step(&mut self, pipeline: &Pipeline) -> SweptPlace {
        let Some(table) = pipeline.tables.get(self.table) else {
            return SweptPlace::End;
        };
        let number = TableId(u8::try_from(self.table).expect("made from a u8"));
        let meant = self.meant == TableId::ALL || self.meant == number;
        if !meant || self.next >= table.flows.end() {
            self.table += 1;
            self.next = EntryIndex(0);
            return SweptPlace::Empty;
        }
        let index = self.next;
        self.next = EntryIndex(index.0 + 1);
        match table.flows.get(index) {
            Some(_) => SweptPlace::Entry(EntryId {
                table: number,
                index,
            }),
            None => SweptPlace::Empty,
        }
    }
}

/// Work that is not finished.
#[derive(Debug)]
pub(super) struct Sweep {
    cursor: Cursor,
    task: Task,
    /// The message that asked for it, for an error to quote.
    pub(super) message: Vec<u8>,
}

/// What is to be done.
#[derive(Debug)]
enum Task {
    FlowMod(Box<KeptFlowMod>),
    Sum {
        transaction: TransactionId,
        selection: Box<Selection>,
        sum: AggregateStatistics,
    },
    DeleteGroup(GroupId),
    DeleteMeter(MeterId),
}

/// A flow-mod that outlives its message.
#[derive(Debug)]
struct KeptFlowMod {
    head: FlowMod<'static>,
    /// What its entries match, at each level that is meant if it is about levels.
    matching: Vec<Box<[u8]>>,
    instructions: Box<[u8]>,
    rules: Vec<Rule>,
    /// What its entries do, if it came in version 1.0, which knows no groups and
    /// no meters that could be gone when it goes on.
    fixed: Option<Program>,
    /// How many entries it has changed.
    changed: usize,
    /// Whether something that overlaps was added meanwhile.
    overlapped: bool,
}

impl KeptFlowMod {
    /// Keeps flow-mods that differ in the match alone.
    ///
    /// # Panics
    ///
    /// If there is none.
    fn new(mut orders: Vec<Order<'_>>) -> Self {
        let matching = orders.iter().map(|order| order.flow_mod.matching);
        let matching = matching.map(|it| bytes_of(|out| it.emit(out))).collect();
        let rules = orders.iter().map(|order| order.rule).collect();
        let order = orders.swap_remove(0);
        let flow_mod = order.flow_mod;
        Self {
            head: FlowMod {
                cookie: flow_mod.cookie,
                cookie_mask: flow_mod.cookie_mask,
                table: flow_mod.table,
                command: flow_mod.command,
                idle_timeout_s: flow_mod.idle_timeout_s,
                hard_timeout_s: flow_mod.hard_timeout_s,
                priority: flow_mod.priority,
                buffer: flow_mod.buffer,
                out_port: flow_mod.out_port,
                out_group: flow_mod.out_group,
                flags: flow_mod.flags,
                matching: Fields::EMPTY,
                instructions: Instructions::EMPTY,
            },
            matching,
            instructions: bytes_of(|out| flow_mod.instructions.emit(out)),
            rules,
            fixed: match order.missing {
                Missing::Added => Some(order.program),
                Missing::Ignored => None,
            },
            changed: 0,
            overlapped: false,
        }
    }

    fn as_written(&self) -> Vec<FlowMod<'_>> {
        let flow_mods = self.matching.iter().map(|matching| FlowMod {
            matching: Fields::from_bytes(matching),
            instructions: Instructions::from_bytes(&self.instructions),
            ..self.head
        });
        flow_mods.collect()
    }

    /// Compiles the flow-mod anew, unless it cannot have become impossible.
    fn order<'a>(
        &self,
        pipeline: &Pipeline,
        flow_mod: &'a FlowMod<'a>,
    ) -> Result<Order<'a>, ErrorKind> {
        match &self.fixed {
            Some(program) => Ok(Order {
                flow_mod,
                rule: self.rules[0],
                program: program.clone(),
                missing: Missing::Added,
            }),
            None => Order::compile(pipeline, flow_mod),
        }
    }
}

impl Sweep {
    /// Sums up what entries have counted.
    pub(super) fn sum(transaction: TransactionId, selection: Selection) -> Self {
        let tables = selection.table;
        let task = Task::Sum {
            transaction,
            selection: Box::new(selection),
            sum: AggregateStatistics::default(),
        };
        Self::new(tables, task)
    }

    fn new(tables: TableId, task: Task) -> Self {
        Self {
            cursor: Cursor::new(tables),
            task,
            message: Vec::new(),
        }
    }

    /// Takes note of an entry that another connection added: a check for
    /// overlaps may have passed its place.
    pub(super) fn notice(&mut self, table: TableId, entry: &Entry) {
        match &mut self.task {
            Task::FlowMod(kept) if kept.head.command == FlowModCommand::Add => {
                let meets = |rule: &Rule| overlaps(rule, entry);
                kept.overlapped |= kept.head.table == table && kept.rules.iter().any(meets);
            }
            Task::FlowMod(_) | Task::Sum { .. } | Task::DeleteGroup(_) | Task::DeleteMeter(_) => {}
        }
    }
}

/// How far a slice has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    Paused,
    Ended,
}

/// Walks on, for one slice. A visit says how many looks it counted for besides
/// its own.
fn walk(
    cursor: &mut Cursor,
    pipeline: &mut Pipeline,
    mut visit: impl FnMut(&mut Pipeline, EntryId) -> Result<usize, ErrorKind>,
) -> Result<Walk, ErrorKind> {
    let mut looks = 0;
    while looks < SLICE_LOOKS {
        looks += 1;
        match cursor.step(pipeline) {
            SweptPlace::Entry(id) => looks += visit(pipeline, id)?,
            SweptPlace::Empty => {}
            SweptPlace::End => return Ok(Walk::Ended),
        }
    }
    Ok(Walk::Paused)
}

impl Agent {
    /// Begins what a flow-mod asks for, and finishes it if it is short.
    pub(super) fn begin_flow_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        order: Order<'_>,
    ) -> Result<(), ErrorKind> {
        let flow_mod = order.flow_mod;
        if !is_short(pipeline, flow_mod) {
            return self.begin_flow_mods(now, pipeline, id, vec![order]);
        }
        if let Some(buffer) = buffer_of(flow_mod) {
            self.buffers.check(buffer)?;
        }
        self.carry_out_short(now, pipeline, order)?;
        self.release_for(now, pipeline, flow_mod)
    }

    /// Begins what a flow-mod asks for at some levels of criticality, which differs in the
    /// match alone, and finishes it if it is short. Nothing is done if it cannot be at one
    /// of them.
    pub(super) fn begin_flow_mods(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        orders: Vec<Order<'_>>,
    ) -> Result<(), ErrorKind> {
        let Some(flow_mod) = orders.first().map(|order| order.flow_mod) else {
            return Ok(());
        };
        if let Some(buffer) = buffer_of(flow_mod) {
            self.buffers.check(buffer)?;
        }
        if is_short(pipeline, flow_mod) {
            self.carry_out_all(now, pipeline, orders)?;
            return self.release_for(now, pipeline, flow_mod);
        }
        let task = Task::FlowMod(Box::new(KeptFlowMod::new(orders)));
        self.begin(now, pipeline, id, Sweep::new(flow_mod.table, task))
    }

    /// Does what flow-mods ask for, that of all of them or of none.
    fn carry_out_all(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        orders: Vec<Order<'_>>,
    ) -> Result<(), ErrorKind> {
        let is_one = orders.len() == 1;
        if !is_one {
            self.journal = Some(Journal::new(pipeline, Reach::Entries));
        }
        for order in orders {
            if let Err(kind) = self.carry_out_short(now, pipeline, order) {
                self.take_back(now, pipeline);
                return Err(kind);
            }
        }
        self.confirm(now, pipeline);
        Ok(())
    }

    /// Does what a flow-mod asks for that looks at no more than one entry.
    fn carry_out_short(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        order: Order<'_>,
    ) -> Result<(), ErrorKind> {
        match order.flow_mod.command {
            // Whether it overlaps has been looked at.
            FlowModCommand::Add => self.put(now, pipeline, order),
            FlowModCommand::Modify
            | FlowModCommand::ModifyStrict
            | FlowModCommand::Delete
            | FlowModCommand::DeleteStrict => self.carry_out(now, pipeline, order),
        }
    }

    /// Begins to delete a group, or all, with the entries that use it.
    pub(super) fn begin_group_deletion(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        group: GroupId,
    ) -> Result<(), ErrorKind> {
        let sweep = Sweep::new(TableId::ALL, Task::DeleteGroup(group));
        self.begin(now, pipeline, id, sweep)
    }

    /// Begins to delete a meter, or all, with the entries that use it.
    pub(super) fn begin_meter_deletion(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        meter: MeterId,
    ) -> Result<(), ErrorKind> {
        let sweep = Sweep::new(TableId::ALL, Task::DeleteMeter(meter));
        self.begin(now, pipeline, id, sweep)
    }

    /// Does the first slice of some work, and keeps what is left of it.
    fn begin(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        mut sweep: Sweep,
    ) -> Result<(), ErrorKind> {
        let Sweep { cursor, task, .. } = &mut sweep;
        let walked = match task {
            Task::FlowMod(kept) => self.sweep_flow_mod(now, pipeline, cursor, kept)?,
            Task::Sum {
                transaction,
                selection,
                sum,
            } => {
                let walked = walk(cursor, pipeline, |pipeline, id| {
                    add_to(sum, pipeline, id, selection);
                    Ok(0)
                })?;
                if walked == Walk::Ended {
                    let reply = MultipartReply::new(ReplyBody::Aggregate(*sum));
                    self.reply(id, *transaction, &Message::MultipartReply(reply));
                }
                walked
            }
            Task::DeleteGroup(group) => self.sweep_group(now, pipeline, cursor, *group)?,
            Task::DeleteMeter(meter) => self.sweep_meter(now, pipeline, cursor, *meter)?,
        };
        if walked == Walk::Paused
            && let Some(session) = self.sessions.get_mut(&id)
        {
            session.sweep = Some(Box::new(sweep));
        }
        Ok(())
    }

    fn sweep_flow_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        cursor: &mut Cursor,
        kept: &mut KeptFlowMod,
    ) -> Result<Walk, ErrorKind> {
        let overlap = ErrorKind::FlowModFailed(FlowModFailed::Overlap);
        if kept.overlapped {
            return Err(overlap);
        }
        let flow_mods = kept.as_written();
        let orders = flow_mods.iter().map(|it| kept.order(pipeline, it));
        let mut orders = orders.collect::<Result<Vec<_>, ErrorKind>>()?;
        let selections: Vec<_> = orders.iter().map(|it| it.selection(pipeline)).collect();
        let command = kept.head.command;
        let mut changed = 0;
        let walked = walk(cursor, pipeline, |pipeline, id| {
            let entry = pipeline.entry(id);
            let is_meant = || selections.iter().any(|it| it.includes(entry));
            match command {
                FlowModCommand::Add if kept.rules.iter().any(|it| overlaps(it, entry)) => {
                    return Err(overlap);
                }
                FlowModCommand::Add => return Ok(0),
                _ if !is_meant() => return Ok(0),
                // What entries do is the same at all levels that are meant.
                FlowModCommand::Modify | FlowModCommand::ModifyStrict => {
                    self.change(now, pipeline, id, &orders[0]);
                }
                FlowModCommand::Delete | FlowModCommand::DeleteStrict => {
                    self.remove(now, pipeline, id, FlowRemovedReason::Delete);
                }
            }
            changed += 1;
            Ok(CHANGE_LOOKS)
        })?;
        changed += kept.changed;
        if walked == Walk::Ended {
            let adds = match (command, orders[0].missing) {
                (FlowModCommand::Add, _) => true,
                (FlowModCommand::Modify, Missing::Added) => changed == 0,
                _ => false,
            };
            match (command, adds) {
                (FlowModCommand::Add, _) => self.carry_out_all(now, pipeline, orders)?,
                (_, true) => self.put(now, pipeline, orders.swap_remove(0))?,
                (_, false) => {}
            }
            self.release_for(now, pipeline, &flow_mods[0])?;
        }
        kept.changed = changed;
        Ok(walked)
    }

    fn sweep_group(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        cursor: &mut Cursor,
        group: GroupId,
    ) -> Result<Walk, ErrorKind> {
        let out = OutGroup::new(&pipeline.egress, group);
        if pipeline.egress.groups.entries_of(group) > 0 {
            let found = pipeline.egress.groups.find(group);
            if found.is_some_and(|index| pipeline.egress.groups.group(index).is_chained()) {
                return Err(ErrorKind::GroupModFailed(GroupModFailed::ChainedGroup));
            }
            let walked = walk(cursor, pipeline, |pipeline, id| {
                let program = &pipeline.entry(id).program;
                let uses = match group {
                    GroupId::ALL => !program.groups().is_empty(),
                    _ => out.includes(program),
                };
                if !uses {
                    return Ok(0);
                }
                self.remove(now, pipeline, id, FlowRemovedReason::GroupDelete);
                Ok(CHANGE_LOOKS)
            })?;
            if pipeline.egress.groups.entries_of(group) > 0 {
                // Another connection may have added some that use it.
                if walked == Walk::Ended {
                    *cursor = Cursor::new(TableId::ALL);
                }
                return Ok(Walk::Paused);
            }
        }
        let deletion = GroupMod {
            command: GroupModCommand::Delete,
            kind: GroupType::All,
            group,
            buckets: Buckets::EMPTY,
        };
        self.group_mod(now, pipeline, &deletion)?;
        Ok(Walk::Ended)
    }

    fn sweep_meter(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        cursor: &mut Cursor,
        meter: MeterId,
    ) -> Result<Walk, ErrorKind> {
        let index = pipeline.egress.meters.find(meter);
        if pipeline.egress.meters.entries_of(meter) > 0 {
            let walked = walk(cursor, pipeline, |pipeline, id| {
                let used = pipeline.entry(id).program.meter;
                if used.is_none() || meter != MeterId::ALL && used != index {
                    return Ok(0);
                }
                self.remove(now, pipeline, id, FlowRemovedReason::Delete);
                Ok(CHANGE_LOOKS)
            })?;
            if pipeline.egress.meters.entries_of(meter) > 0 {
                if walked == Walk::Ended {
                    *cursor = Cursor::new(TableId::ALL);
                }
                return Ok(Walk::Paused);
            }
        }
        let deletion = MeterMod {
            command: MeterModCommand::Delete,
            flags: MeterFlags::default(),
            meter,
            bands: Bands::EMPTY,
        };
        self.meter_mod(now, pipeline, &deletion)?;
        Ok(Walk::Ended)
    }

    /// Goes on with work that is not finished. Answers it with an error if it
    /// turns out to be impossible.
    pub(super) fn go_on(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        mut sweep: Sweep,
    ) {
        let message = std::mem::take(&mut sweep.message);
        match self.begin(now, pipeline, id, sweep) {
            Ok(()) => self.keep_message(id, &message),
            Err(kind) => self.refuse(id, &message, kind),
        }
    }

    /// Keeps the message at hand for as long as what it asked for takes.
    pub(super) fn keep_message(&mut self, id: ConnectionId, message: &[u8]) {
        if let Some(session) = self.sessions.get_mut(&id)
            && let Some(sweep) = &mut session.sweep
        {
            sweep.message = message.to_vec();
        }
    }
}

/// Returns whether a flow-mod looks at no more than one entry.
fn is_short(pipeline: &Pipeline, flow_mod: &FlowMod<'_>) -> bool {
    match flow_mod.command {
        FlowModCommand::ModifyStrict | FlowModCommand::DeleteStrict => true,
        FlowModCommand::Add => !may_overlap(pipeline, flow_mod),
        FlowModCommand::Modify | FlowModCommand::Delete => false,
    }
}

/// Returns whether entries have to be looked at before one is added.
fn may_overlap(pipeline: &Pipeline, flow_mod: &FlowMod<'_>) -> bool {
    let flows = &pipeline.tables[usize::from(flow_mod.table.0)].flows;
    flow_mod.flags.contains(FlowModFlags::CHECK_OVERLAP) && flows.has_priority(flow_mod.priority)
}

/// Returns whether a frame could match the rule and an entry of the same
/// priority, OF13 clause 6.4.
pub(super) fn overlaps(rule: &Rule, entry: &Entry) -> bool {
    entry.rule.priority == rule.priority && entry.rule.meets(rule)
}

fn add_to(sum: &mut AggregateStatistics, pipeline: &Pipeline, id: EntryId, selection: &Selection) {
    if selection.includes(pipeline.entry(id)) {
        let counters = pipeline.entry_counters(id);
        sum.packets += counters.frames;
        sum.bytes += counters.bytes;
        sum.flows += 1;
    }
}
