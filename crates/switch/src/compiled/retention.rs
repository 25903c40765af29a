//! What is written down of the tables each time they are made visible
//! ([`retained_state`](crate::retained_state)).
//!
//! What others count stands in words that outlive the process, so it is written down which
//! record counts for a thing. What the core itself has counted is written down whenever
//! the thing changes, and no oftener.

use std::collections::BTreeMap;

use units::Instant;
use wire::openflow::{
    Bands, Buckets, BufferId, Cookie, Fields, FlowMod, FlowModCommand, GroupId, GroupMod,
    GroupModCommand, Instructions, Message, MeterId, MeterMod, MeterModCommand, PortConfig,
    PortNumber, TableId, TransactionId,
};

use super::form::Form;
use super::layout::settings;
use crate::entry::Entry;
use crate::flow_table::EntryIndex;
use crate::group_table::GroupIndex;
use crate::meter_table::MeterIndex;
use crate::pipeline::Pipeline;
use crate::port::Port;
use crate::retained_state::{Batch, Key, StateLog, Subject};

/// From how many bytes on a log is written anew that is longer than twice what it has to
/// say.
const REWRITTEN_FROM: usize = 1 << 20;
/// What stands for the number of a record that there is not.
pub(crate) const NO_RECORD: u32 = u32::MAX;

/// Where it is written down what a process needs that goes on.
#[derive(Debug)]
pub(crate) struct Retention {
    log: Box<dyn StateLog>,
    key: Key,
    /// The digest of all that was written.
    digest: u64,
    /// How many bytes were written since all was, and how many that was.
    appended: usize,
    whole: usize,
    /// Messages that hold as they came, the identity of the switch among them.
    messages: BTreeMap<Subject, Vec<u8>>,
    /// Those of them that were not written yet.
    unwritten: Vec<Subject>,
    /// What was written of the ports.
    policies: Vec<PortConfig>,
    groups: BTreeMap<GroupIndex, GroupId>,
    meters: BTreeMap<MeterIndex, MeterId>,
}

/// What changed since all was visible.
#[derive(Debug)]
pub(super) struct Changed {
    /// Of each table: whether it is another one, and entries.
    tables: Vec<(bool, Vec<EntryIndex>)>,
    groups: Vec<GroupIndex>,
    meters: Vec<MeterIndex>,
}

impl Changed {
    pub(super) fn of(pipeline: &Pipeline) -> Self {
        let tables = pipeline.tables.iter().map(|table| {
            let changes = table.flows.changes();
            changes.map_or_else(Default::default, |it| (it.anew, it.entries.clone()))
        });
        let groups = pipeline.egress.groups.changes();
        Self {
            tables: tables.collect(),
            groups: groups.map_or_else(Vec::new, |changes| changes.groups.clone()),
            meters: pipeline.egress.meters.changes().to_vec(),
        }
    }
}

/// A thing as it is written down, apart from its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) created: Instant,
    pub(crate) last_used: Instant,
    /// Which of the entries of a table that have the same priority is older.
    pub(crate) rank: u64,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) dropped: u64,
    /// The tally of an entry; the record of a group or meter.
    pub(crate) record: u32,
    /// The record of the meter of an entry that polices.
    pub(crate) policer: u32,
}

impl Kept {
    fn write(&self, message: &Message<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [
            self.created.as_ns(),
            self.last_used.as_ns(),
            self.rank,
            self.frames,
            self.bytes,
            self.dropped,
            u64::from(self.record) << 32 | u64::from(self.policer),
        ] {
            bytes.extend(word.to_be_bytes());
        }
        message.emit(TransactionId(0), &mut bytes);
        bytes
    }

    /// Reads what was written, and returns the message.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = bytes;
        let mut words = [0; 7];
        for word in &mut words {
            let (first, behind) = rest.split_first_chunk::<8>()?;
            (*word, rest) = (u64::from_be_bytes(*first), behind);
        }
        let [created, last_used, rank, frames, bytes, dropped, records] = words;
        let kept = Self {
            created: Instant::from_ns(created),
            last_used: Instant::from_ns(last_used),
            rank,
            frames,
            bytes,
            dropped,
            record: u32::try_from(records >> 32).ok()?,
            policer: u32::try_from(records & u64::from(u32::MAX)).ok()?,
        };
        Some((kept, rest))
    }
}

impl Retention {
    /// Begins to write down; `messages` hold already.
    pub(crate) fn new(
        log: Box<dyn StateLog>,
        seed: u64,
        messages: BTreeMap<Subject, Vec<u8>>,
    ) -> Self {
        Self {
            log,
            key: Key::of_seed(seed),
            digest: 0,
            appended: 0,
            whole: 0,
            unwritten: Vec::new(),
            messages,
            policies: Vec::new(),
            groups: BTreeMap::new(),
            meters: BTreeMap::new(),
        }
    }

    /// Notes a message that holds until another one about the same is noted; nothing if
    /// it holds no more.
    pub(crate) fn note(&mut self, subject: Subject, message: Option<&[u8]>) {
        match message {
            Some(message) => self.messages.insert(subject, message.to_vec()),
            None => self.messages.remove(&subject),
        };
        self.unwritten.push(subject);
    }

    /// Returns whether something is to be written that is not in the tables.
    pub(super) fn has_news(&self, ports: &[Port]) -> bool {
        let policies = ports.iter().map(|port| port.policy);
        !self.unwritten.is_empty() || !policies.eq(self.policies.iter().copied())
    }
}

impl Form {
    /// Writes down what changed, or all if that is shorter. Where it cannot, nothing is in
    /// force any more, and nothing is written from then on.
    pub(super) fn write_down(&mut self, pipeline: &Pipeline, changed: Changed) {
        let Some(mut retention) = self.retention.take() else {
            return;
        };
        let tallied: Vec<_> = self.tables.iter_mut().map(|it| it.take_tallied()).collect();
        let is_long = retention.appended > REWRITTEN_FROM.max(2 * retention.whole);
        let written = match retention.digest == 0 || is_long {
            true => self.write_all(pipeline, &mut retention),
            false => self.append(pipeline, &mut retention, changed, tallied),
        };
        match written {
            true => self.retention = Some(retention),
            false => [settings::STATE, settings::STATE_NEXT]
                .into_iter()
                .for_each(|at| self.set(at, 0)),
        }
    }

    fn write_all(&self, pipeline: &Pipeline, retention: &mut Retention) -> bool {
        let mut batch = Batch::new();
        for (subject, message) in &retention.messages {
            batch.put(*subject, message);
        }
        retention.unwritten.clear();
        retention.policies.clear();
        put_policies(pipeline, retention, &mut batch);
        for index in pipeline.egress.meters.places() {
            self.put_meter(pipeline, retention, index, &mut batch);
        }
        for (index, _) in pipeline.egress.groups.iter() {
            self.put_group(pipeline, retention, index, &mut batch);
        }
        for (number, table) in (0..).map(TableId).zip(&pipeline.tables) {
            for (index, _) in table.flows.iter() {
                self.put_entry(pipeline, number, index, &mut batch);
            }
        }
        let (bytes, digest) = batch.finish(retention.key, 0);
        (retention.whole, retention.appended) = (bytes.len(), 0);
        self.set(settings::STATE_NEXT, digest);
        let written = retention.log.replace(&bytes);
        self.set(settings::STATE, digest);
        retention.digest = digest;
        written
    }

    fn append(
        &self,
        pipeline: &Pipeline,
        retention: &mut Retention,
        changed: Changed,
        tallied: Vec<Vec<EntryIndex>>,
    ) -> bool {
        if changed.tables.iter().any(|(is_other, _)| *is_other) {
            return self.write_all(pipeline, retention);
        }
        let mut batch = Batch::new();
        for subject in std::mem::take(&mut retention.unwritten) {
            let message = retention.messages.get(&subject);
            batch.put(subject, message.map_or(&[], Vec::as_slice));
        }
        put_policies(pipeline, retention, &mut batch);
        for index in distinct(changed.meters) {
            self.put_meter(pipeline, retention, index, &mut batch);
        }
        for index in distinct(changed.groups) {
            self.put_group(pipeline, retention, index, &mut batch);
        }
        let tables = (0..).map(TableId).zip(changed.tables).zip(tallied);
        for ((table, (_, mut entries)), tallied) in tables {
            entries.extend(tallied);
            for index in distinct(entries) {
                self.put_entry(pipeline, table, index, &mut batch);
            }
        }
        if batch.is_empty() {
            return true;
        }
        let (bytes, digest) = batch.finish(retention.key, retention.digest);
        retention.appended += bytes.len();
        self.set(settings::STATE_NEXT, digest);
        let written = retention.log.append(&bytes);
        self.set(settings::STATE, digest);
        retention.digest = digest;
        written
    }

    fn put_entry(&self, pipeline: &Pipeline, table: TableId, index: EntryIndex, to: &mut Batch) {
        let subject = Subject::Entry(table.0, index.0);
        let at = usize::from(table.0);
        let flows = &pipeline.tables[at].flows;
        let Some((rank, entry)) = flows.ranked_entry(index) else {
            return to.put(subject, &[]);
        };
        let policer = entry.program.police.as_ref().and(entry.program.meter);
        let policer = policer.and_then(|meter| self.meters.record(meter));
        let kept = Kept {
            created: entry.created,
            last_used: entry.counters.last_used,
            rank: rank.0,
            frames: entry.counters.frames,
            bytes: entry.counters.bytes,
            dropped: entry.counters.dropped,
            record: self.tables[at].tally(index, rank).unwrap_or(NO_RECORD),
            policer: policer.unwrap_or(NO_RECORD),
        };
        to.put(subject, &kept.write(&flow_mod(table, entry)));
    }

    fn put_group(
        &self,
        pipeline: &Pipeline,
        retention: &mut Retention,
        index: GroupIndex,
        to: &mut Batch,
    ) {
        let group = pipeline.egress.groups.get(index);
        let id = group.map(|group| group.config.id);
        let before = match id {
            Some(id) => retention.groups.insert(index, id),
            None => retention.groups.remove(&index),
        };
        if let Some(before) = before.filter(|before| Some(*before) != id) {
            to.put(Subject::Group(before.0), &[]);
        }
        let Some(group) = group else { return };
        let message = GroupMod {
            command: GroupModCommand::Add,
            kind: group.config.kind,
            group: group.config.id,
            buckets: Buckets::from_bytes(&group.config.written),
        };
        let kept = kept(group.created, (group.tally.frames, group.tally.bytes));
        let record = self.groups.record(index).unwrap_or(NO_RECORD);
        let what = Kept { record, ..kept }.write(&Message::GroupMod(message));
        to.put(Subject::Group(group.config.id.0), &what);
    }

    /// Those of entries that police come with their entries.
    fn put_meter(
        &self,
        pipeline: &Pipeline,
        retention: &mut Retention,
        index: MeterIndex,
        to: &mut Batch,
    ) {
        let meter = pipeline.egress.meters.get(index);
        let meter = meter.filter(|meter| !meter.is_policer());
        let id = meter.map(|meter| meter.config.id);
        let before = match id {
            Some(id) => retention.meters.insert(index, id),
            None => retention.meters.remove(&index),
        };
        if let Some(before) = before.filter(|before| Some(*before) != id) {
            to.put(Subject::Meter(before.0), &[]);
        }
        let Some(meter) = meter else { return };
        let message = MeterMod {
            command: MeterModCommand::Add,
            flags: meter.config.flags,
            meter: meter.config.id,
            bands: Bands::from_bytes(&meter.config.written),
        };
        let kept = kept(meter.created, (meter.tally.frames, meter.tally.bytes));
        let record = self.meters.record(index).unwrap_or(NO_RECORD);
        let what = Kept { record, ..kept }.write(&Message::MeterMod(message));
        to.put(Subject::Meter(meter.config.id.0), &what);
    }
}

fn put_policies(pipeline: &Pipeline, retention: &mut Retention, to: &mut Batch) {
    let ports = &pipeline.egress.ports;
    retention.policies.resize(ports.len(), PortConfig::NONE);
    for (at, (port, written)) in (0..).zip(ports.iter().zip(&mut retention.policies)) {
        if port.policy != *written {
            *written = port.policy;
            to.put(Subject::Port(at), &port.policy.0.to_be_bytes());
        }
    }
}

fn kept(created: Instant, (frames, bytes): (u64, u64)) -> Kept {
    Kept {
        created,
        last_used: created,
        rank: 0,
        frames,
        bytes,
        dropped: 0,
        record: NO_RECORD,
        policer: NO_RECORD,
    }
}

/// Returns the message that makes an entry.
fn flow_mod(table: TableId, entry: &Entry) -> Message<'_> {
    Message::FlowMod(FlowMod {
        cookie: entry.cookie,
        cookie_mask: Cookie(0),
        table,
        command: FlowModCommand::Add,
        idle_timeout_s: entry.idle_timeout,
        hard_timeout_s: entry.hard_timeout,
        priority: entry.rule.priority,
        buffer: BufferId::NONE,
        out_port: PortNumber::ANY,
        out_group: GroupId::ANY,
        flags: entry.flags,
        matching: Fields::from_bytes(&entry.fields),
        instructions: Instructions::from_bytes(&entry.instructions),
    })
}

fn distinct<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all
}
