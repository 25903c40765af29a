//! A switch that goes on where another process has ended.
//!
//! Its tables are made again from what was written down ([`RetainedState`]), in memory of
//! its own, while walks go on by the old one. What walks remember of streams and of the
//! mode stands in words that both have. Once the new tables are visible, the world has walks
//! take them, and what was counted until then is added ([`Switch::count_on`]).
//!
//! # Left out
//!
//! How long frames stayed, what monitors know of their flows and how sessions with
//! neighbours stand begins anew.

use std::collections::BTreeMap;

use thiserror::Error;
use units::Instant;
use wire::openflow::{Message, PortConfig, TableId, TransactionId};

use crate::agent::ConnectionId;
use crate::compiled::{Kept, Memory, NO_RECORD, Overflow, Retention};
use crate::config::Config;
use crate::counters::{EntryCounters, Tally};
use crate::group_table::GroupIndex;
use crate::meter_table::MeterIndex;
use crate::pipeline::Pipeline;
use crate::port::PortIndex;
use crate::retained_state::{RetainedState, StateLog, Subject};
use crate::switch::Switch;
use crate::timeouts::EntryId;

/// Nobody: no connection has this number.
const NOBODY: ConnectionId = ConnectionId(u32::MAX);

/// Why a switch cannot go on from what was left.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResumeError {
    #[error("its tables are laid out otherwise (version {0})")]
    Layout(u64),
    #[error("what it has written down is not what is in force: it was altered, or cut short")]
    Altered,
    #[error("what it has written down cannot be read")]
    Unreadable,
    #[error("what it has written down is refused: {0}")]
    Refused(String),
}

/// Which records of the process before are those of what things.
#[derive(Clone, Debug, Default)]
pub struct Resumption {
    entries: Vec<(EntryId, Kept)>,
    groups: Vec<(GroupIndex, u32)>,
    meters: Vec<(MeterIndex, u32)>,
}

impl Switch {
    /// Writes down what a process needs that goes on when this one has died, from the
    /// next publication on. `identity` says of which switch that is.
    ///
    /// # Panics
    ///
    /// If there is no compiled form.
    pub fn retain(&mut self, log: Box<dyn StateLog>, identity: &[u8]) {
        let identity = (Subject::Identity, identity.to_vec());
        self.retain_with(log, BTreeMap::from([identity]));
    }

    fn retain_with(&mut self, log: Box<dyn StateLog>, messages: BTreeMap<Subject, Vec<u8>>) {
        let seed = self.pipeline.tables[0].flows.seed();
        let form = self.pipeline.form.as_mut();
        let form = form.expect("the compiled form is kept");
        form.retention = Some(Retention::new(log, seed, messages));
        self.touched = true;
    }

    /// Makes a switch that goes on from what another process has written down, in
    /// `memory`, of which the regions of streams and modes are those of that process. Its
    /// ports are to be carried and its tables to be published before walks take them.
    ///
    /// # Errors
    ///
    /// If this switch would not take what that process took.
    pub fn resume(
        now: Instant,
        config: Config,
        (memory, overflow): (Memory, Overflow),
        log: Box<dyn StateLog>,
        state: &RetainedState,
    ) -> Result<(Self, Resumption), ResumeError> {
        let mut switch = Self::new(now, config);
        switch.keep_form(memory.resumed(), overflow);
        let mut resumption = Resumption::default();
        let mut messages = BTreeMap::new();
        let mut entries = Vec::new();
        let mut groups = Vec::new();
        for (subject, what) in &state.things {
            match *subject {
                Subject::Identity => {
                    messages.insert(*subject, what.clone());
                }
                Subject::Config
                | Subject::Monitor(_)
                | Subject::Modes
                | Subject::Sessions
                | Subject::Hops => {
                    switch.take_up(what)?;
                    messages.insert(*subject, what.clone());
                }
                Subject::Port(port) => switch.restrict_port(port, what)?,
                Subject::Meter(_) => {
                    let (kept, message) = parts(what)?;
                    resumption
                        .meters
                        .push(switch.remake_meter(&kept, &message)?);
                }
                Subject::Group(_) => groups.push(parts(what)?),
                Subject::Entry(table, _) => entries.push((TableId(table), parts(what)?)),
            }
        }
        resumption.groups = switch.remake_groups(groups)?;
        // Of entries of the same priority the older one ranks higher, and comes first.
        entries.sort_by_key(|(table, (kept, _))| (*table, std::cmp::Reverse(kept.rank)));
        for (_, (kept, message)) in &entries {
            let id = switch.remake_entry(kept, message)?;
            resumption.entries.push((id, *kept));
        }
        switch.pipeline.egress.streams.forget_left();
        switch.retain_with(log, messages);
        Ok((switch, resumption))
    }

    /// Does what a message asked for once more.
    fn take_up(&mut self, message: &[u8]) -> Result<(), ResumeError> {
        let message = parse(message)?;
        let Self {
            now,
            pipeline,
            agent,
            ..
        } = self;
        let done = agent.dispatch(*now, pipeline, NOBODY, TransactionId(0), message);
        done.map_err(|kind| refused(&kind))
    }

    fn restrict_port(&mut self, port: u32, policy: &[u8]) -> Result<(), ResumeError> {
        let policy = policy.first_chunk().ok_or(ResumeError::Unreadable)?;
        let at = u16::try_from(port).ok().map(PortIndex);
        let at = at.filter(|at| at.at() < self.pipeline.egress.ports.len());
        let at = at.ok_or_else(|| ResumeError::Refused("it had more ports".to_owned()))?;
        let egress = &mut self.pipeline.egress;
        egress.port_mut(at).policy = PortConfig(u32::from_be_bytes(*policy));
        egress.heed_port(at);
        Ok(())
    }

    fn remake_meter(
        &mut self,
        kept: &Kept,
        message: &Message<'_>,
    ) -> Result<(MeterIndex, u32), ResumeError> {
        let Message::MeterMod(it) = message else {
            return Err(ResumeError::Unreadable);
        };
        let Self {
            pipeline, agent, ..
        } = self;
        let done = agent.meter_mod(kept.created, pipeline, it);
        done.map_err(|kind| refused(&kind))?;
        let meters = &mut pipeline.egress.meters;
        let index = meters.find(it.meter).ok_or(ResumeError::Unreadable)?;
        meters.meter_mut(index).tally = tally(kept);
        Ok((index, kept.record))
    }

    /// Makes groups again: first those on which others rely.
    fn remake_groups(
        &mut self,
        mut groups: Vec<(Kept, Message<'_>)>,
    ) -> Result<Vec<(GroupIndex, u32)>, ResumeError> {
        let mut made = Vec::new();
        while !groups.is_empty() {
            let mut refusal = None;
            let mut later = Vec::new();
            let before = made.len();
            for (kept, message) in groups {
                match self.remake_group(&kept, &message) {
                    Ok(group) => made.push(group),
                    Err(error) => {
                        refusal = Some(error);
                        later.push((kept, message));
                    }
                }
            }
            if let Some(refusal) = refusal.filter(|_| made.len() == before) {
                return Err(refusal);
            }
            groups = later;
        }
        Ok(made)
    }

    fn remake_group(
        &mut self,
        kept: &Kept,
        message: &Message<'_>,
    ) -> Result<(GroupIndex, u32), ResumeError> {
        let Message::GroupMod(it) = message else {
            return Err(ResumeError::Unreadable);
        };
        let Self {
            pipeline, agent, ..
        } = self;
        let done = agent.group_mod(kept.created, pipeline, it);
        done.map_err(|kind| refused(&kind))?;
        let groups = &mut pipeline.egress.groups;
        let index = groups.find(it.group).ok_or(ResumeError::Unreadable)?;
        groups.group_mut(index).tally = tally(kept);
        Ok((index, kept.record))
    }

    fn remake_entry(&mut self, kept: &Kept, message: &Message<'_>) -> Result<EntryId, ResumeError> {
        let Message::FlowMod(flow_mod) = message else {
            return Err(ResumeError::Unreadable);
        };
        let counters = EntryCounters {
            frames: kept.frames,
            bytes: kept.bytes,
            dropped: kept.dropped,
            last_used: kept.last_used,
        };
        let Self {
            now,
            pipeline,
            agent,
            ..
        } = self;
        let made = agent.put_again(*now, pipeline, flow_mod, (kept.created, counters));
        made.map_err(|kind| refused(&kind))
    }

    /// Takes what is left in the buckets of meters of the process before. To be called
    /// before walks take the new tables.
    pub fn fill_meters(&self, resumption: &Resumption, before: &Memory) {
        self.for_each_meter(resumption, |form, index, record| {
            form.fill_meter(index, before, record);
        });
    }

    /// Adds what was counted until walks took the new tables: none goes by the old ones
    /// any more. What the core has to remember of it is written down when the tables are
    /// published next.
    pub fn count_on(&mut self, resumption: &Resumption, before: &Memory) {
        let Pipeline { tables, form, .. } = &mut self.pipeline;
        let form = form.as_ref().expect("the compiled form is kept");
        form.count_on_everywhere(before);
        for (id, kept) in &resumption.entries {
            let flows = &mut tables[usize::from(id.table.0)].flows;
            let rank = flows.rank(id.index);
            let left = form.count_on_entry((id.table, id.index, rank), before, kept.record);
            if let Some(left) = left {
                flows.entry_mut(id.index).counters.add(left);
                flows.note_change(id.index);
            }
        }
        self.touched = true;
        for (index, record) in &resumption.groups {
            if *record != NO_RECORD {
                form.count_on_group(*index, before, *record);
            }
        }
        self.for_each_meter(resumption, |form, index, record| {
            form.count_on_meter(index, before, record);
        });
        let entries = resumption.entries.iter();
        entries.for_each(|(id, _)| self.pipeline.note_last_use(*id));
    }

    fn for_each_meter(
        &self,
        resumption: &Resumption,
        mut work: impl FnMut(&crate::compiled::Form, MeterIndex, u32),
    ) {
        let form = self.pipeline.form.as_ref();
        let form = form.expect("the compiled form is kept");
        let policers = resumption.entries.iter().filter_map(|(id, kept)| {
            let program = &self.pipeline.tables[usize::from(id.table.0)].flows;
            let program = &program.get(id.index)?.program;
            Some((
                program.meter.filter(|_| program.police.is_some())?,
                kept.policer,
            ))
        });
        for (index, record) in resumption.meters.iter().copied().chain(policers) {
            if record != NO_RECORD {
                work(form, index, record);
            }
        }
    }
}

/// Takes apart what was written down of a thing.
fn parts(what: &[u8]) -> Result<(Kept, Message<'_>), ResumeError> {
    let (kept, message) = Kept::read(what).ok_or(ResumeError::Unreadable)?;
    Ok((kept, parse(message)?))
}

fn parse(message: &[u8]) -> Result<Message<'_>, ResumeError> {
    let parsed = Message::parse(message);
    parsed
        .map(|(_, message)| message)
        .map_err(|_| ResumeError::Unreadable)
}

fn refused(kind: &wire::openflow::ErrorKind) -> ResumeError {
    ResumeError::Refused(format!("{kind:?}"))
}

fn tally(kept: &Kept) -> Tally {
    Tally {
        frames: kept.frames,
        bytes: kept.bytes,
    }
}
