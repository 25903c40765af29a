//! The way of a frame through the tables, OF13 clause 5.1.
//!
//! From the first table on: find the entry, do what it says at once, collect
//! what it says for later, go on to the table it names. At the end the action
//! set is executed. A frame that a table has no entry for is dropped, OF13
//! clause 5.4, and told to the controllers of version 1.0 if there are any. The walk goes forward only, so it ends after as many lookups as
//! there are tables.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use units::Instant;
use wire::openflow::{FragmentHandling, Message, PacketInReason, PortConfig, PortNumber, TableId};

use crate::action::{Action, Program};
use crate::action_set::ActionSet;
use crate::buffer_pool::{Arrival, FRAME_BYTES_MAX};
use crate::compiled::Form;
use crate::config::Config;
use crate::cost::{self, Cost};
use crate::counters::{TableCounters, Unreceived};
use crate::egress::{Egress, FrameOutcome};
use crate::entry::Entry;
use crate::flow_table::{EntryIndex, FlowTable};
use crate::headers;
use crate::hops::Owner;
use crate::packet::{Origin, Packet};
use crate::packet_key::PacketKey;
use crate::port::PortIndex;
use crate::retained_state::Subject;
use crate::timeouts::EntryId;

/// How long a frame may be; a shorter one has no header.
pub(crate) const FRAME_BYTES: RangeInclusive<usize> = 14..=FRAME_BYTES_MAX;

/// Who decides what becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarder {
    Tables,
    /// Nobody: the switch is a bridge, OF13 clause 6.3.2.
    Bridge,
}

/// What a frame is looked up in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The flow tables themselves.
    Tables,
    /// Their compiled form, as far as it goes.
    Compiled,
}

/// What becomes of a frame that a table has no entry for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misses {
    /// It is dropped, OF13 clause 5.4.
    Dropped,
    /// It goes to the controllers of version 1.0, OF10 section 3.4.
    Told,
}

/// The tables of a switch and what frames need on their way.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) tables: Vec<Table>,
    tables_max: usize,
    pub(crate) egress: Egress,
    pub(crate) treatment: Forwarder,
    /// What becomes of fragments of IP packets, OF13 clause 7.3.2.
    pub(crate) fragments: FragmentHandling,
    pub(crate) misses: Misses,
    /// The compiled form of all this, if somebody walks it.
    pub(crate) form: Option<Box<Form>>,
    pub(crate) action_set: ActionSet,
}

/// One table with its counters.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) flows: FlowTable,
    pub(crate) counters: TableCounters,
    pub(crate) name: String,
}

impl Pipeline {
    pub(crate) fn new(now: Instant, config: &Config) -> Self {
        assert!(config.tables > 0, "a switch has at least one table");
        let flows = || FlowTable::new(config.table_capacity, config.mask_capacity, config.seed);
        let tables = (0..config.tables).map(usize::from);
        Self {
            tables: tables.map(|at| Table::new(at, flows())).collect(),
            tables_max: usize::from(config.tables),
            egress: Egress::new(now, config),
            treatment: Forwarder::Tables,
            fragments: FragmentHandling::Normal,
            misses: Misses::Dropped,
            form: None,
            action_set: ActionSet::new(),
        }
    }

    /// Has a message written down that holds from now on, if anything is written down.
    pub(crate) fn retain(&mut self, message: &Message<'_>, emit: impl FnOnce(&mut Vec<u8>)) {
        let retention = self.form.as_mut().and_then(|form| form.retention.as_mut());
        if let (Some(retention), Some((subject, holds))) = (retention, Subject::of(message)) {
            let mut bytes = Vec::new();
            emit(&mut bytes);
            retention.note(subject, holds.then_some(&bytes));
        }
    }

    pub(crate) fn entry(&self, id: EntryId) -> &Entry {
        self.tables[usize::from(id.table.0)].flows.entry(id.index)
    }

    /// Returns how many tables there can be.
    pub(crate) const fn tables_max(&self) -> usize {
        self.tables_max
    }

    /// Returns what a frame costs at most, as the tables stand.
    pub(crate) fn cost(&self) -> Cost {
        let count = |count: usize| u32::try_from(count).expect("the capacity is below 2^32");
        let tables = self.tables.iter().map(|table| {
            let flows = &table.flows;
            (count(flows.len()), count(flows.masks()), flows.shapes())
        });
        cost::cost(tables)
    }

    pub(crate) fn clear(&mut self) {
        for table in &mut self.tables {
            let entries = table.flows.iter();
            entries.for_each(|(_, entry)| self.egress.release_for(&entry.program));
            table.flows = table.flows.emptied();
        }
    }

    /// Takes the last tables away, or adds empty ones.
    ///
    /// # Panics
    ///
    /// If no table would be left, or more than there can be.
    pub(crate) fn resize(&mut self, count: usize) {
        assert!((1..=self.tables_max).contains(&count), "{count} tables");
        self.tables.truncate(count);
        for at in self.tables.len()..count {
            let flows = self.tables[0].flows.emptied();
            let mut table = Table::new(at, flows);
            let others = self.looked_up_elsewhere(at);
            table.counters.lookups = others.lookups.wrapping_neg();
            table.counters.matches = others.matches.wrapping_neg();
            self.tables.push(table);
        }
    }

    /// Takes a frame that arrived at a port.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        number: PortNumber,
        frame: Arrival<'_>,
        engine: Engine,
    ) {
        self.egress.counters.frames += 1;
        let port = self.egress.find_port(number);
        if port.is_some_and(|port| self.egress.port(port).bfd.is_some())
            && self.hears(now, port, frame)
        {
            return;
        }
        let packet = port.and_then(|port| self.admit(port, number, frame));
        match packet {
            Some(packet) if self.drops(&packet) => self.drop_fragment(&packet),
            Some(packet) => match self.treatment {
                Forwarder::Tables => match engine {
                    Engine::Tables => self.walk(now, packet),
                    Engine::Compiled => self.walk_compiled(now, packet),
                },
                Forwarder::Bridge => self.bridge(now, packet),
            },
            None => self.egress.counters.refused += 1,
        }
    }

    /// Returns whether a frame is one of the session of the port by which it came.
    #[cold]
    fn hears(&mut self, now: Instant, port: Option<PortIndex>, frame: Arrival<'_>) -> bool {
        let up = port.filter(|port| self.egress.port(*port).is_up());
        up.is_some_and(|port| self.egress.hear_neighbour(now, port, frame))
    }

    /// Takes a frame that a controller sends, and does with it what it says.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        in_port: PortNumber,
        frame: &[u8],
        actions: &[Action],
    ) {
        self.egress.counters.frames += 1;
        let port = self.egress.find_port(in_port);
        let frame = Arrival {
            bytes: frame,
            at: now,
        };
        let Some(mut packet) = self.egress.admit(port, in_port, frame) else {
            self.egress.counters.refused += 1;
            return;
        };
        for &action in actions {
            match self.egress.execute(now, &mut packet, action) {
                FrameOutcome::Lives => {}
                FrameOutcome::Ends => break,
                FrameOutcome::Walks => {
                    self.egress.pool.hold(packet.slot);
                    self.walk(now, packet.clone());
                }
            }
        }
        self.egress.finish(&packet);
    }

    /// Returns the entries that do something, up to `most`.
    pub(crate) fn entries_with(
        &self,
        most: usize,
        does: impl Fn(&Program) -> bool,
    ) -> Vec<EntryId> {
        let tables = (0..).map(TableId).zip(&self.tables);
        let entries = tables.flat_map(|(table, it)| {
            let entries = it.flows.iter();
            entries.map(move |(index, entry)| (EntryId { table, index }, entry))
        });
        let meant = entries.filter(|(_, entry)| does(&entry.program));
        meant.map(|(id, _)| id).take(most).collect()
    }

    /// Lets new numbers of monitors find a place, if all are taken and some by numbers
    /// that nobody names any more.
    pub(crate) fn make_room_for_monitors(&mut self) {
        if self.egress.modes.monitors.is_full() {
            let entries = self.tables.iter().flat_map(|table| table.flows.iter());
            let named: BTreeSet<_> = entries
                .flat_map(|(_, entry)| entry.program.monitors())
                .collect();
            self.egress
                .modes
                .monitors
                .keep_named(|id| named.contains(&id));
        }
    }

    /// Counts frames that came to a port and cannot be handed in.
    pub(crate) fn count_unreceived(&mut self, number: PortNumber, frames: Unreceived) {
        let Unreceived { oversized, overrun } = frames;
        let counters = &mut self.egress.counters;
        counters.frames += oversized + overrun;
        counters.refused += oversized + overrun;
        counters.oversized += oversized;
        counters.overrun += overrun;
        if let Some(port) = self.egress.find_port(number) {
            let counters = &mut self.egress.port_mut(port).counters;
            counters.received_frames += oversized + overrun;
            counters.received_dropped += oversized + overrun;
        }
    }

    fn admit(&mut self, port: PortIndex, number: PortNumber, frame: Arrival<'_>) -> Option<Packet> {
        let bytes = frame.bytes.len();
        let receiver = self.egress.port_mut(port);
        if !receiver.is_up() {
            return None;
        }
        receiver.counters.received_frames += 1;
        receiver.counters.received_bytes += u64::try_from(bytes).expect("a frame is short");
        let listens = !receiver.forbids(PortConfig::NO_RECEIVE);
        let wanted = listens && FRAME_BYTES.contains(&bytes);
        self.egress.counters.oversized += u64::from(listens && bytes > FRAME_BYTES_MAX);
        let packet = wanted.then(|| self.egress.admit(Some(port), number, frame));
        if packet.as_ref().is_none_or(Option::is_none) {
            self.egress.port_mut(port).counters.received_dropped += 1;
        }
        packet.flatten()
    }

    /// Returns whether a frame carries a fragment that nobody wants.
    #[inline]
    fn drops(&self, packet: &Packet) -> bool {
        self.fragments == FragmentHandling::Drop && {
            let frame = self.egress.pool.frame(packet.slot);
            headers::is_fragment(&packet.key, &packet.headers, frame)
        }
    }

    #[cold]
    fn drop_fragment(&mut self, packet: &Packet) {
        self.egress.counters.refused += 1;
        if let Some(port) = packet.port {
            self.egress.port_mut(port).counters.received_dropped += 1;
        }
        self.egress.finish(packet);
    }

    #[cold]
    fn bridge(&mut self, now: Instant, mut packet: Packet) {
        self.egress.counters.standalone += 1;
        self.egress.bridge(now, &mut packet);
        self.egress.finish(&packet);
    }

    pub(crate) fn walk(&mut self, now: Instant, mut packet: Packet) {
        self.action_set.clear();
        if self.walk_tables(now, &mut packet) == FrameOutcome::Lives {
            let before = self.egress.counters.dropped;
            self.execute_set(now, &mut packet);
            let lost = self.egress.counters.dropped - before;
            charge(&mut self.tables, packet.origin, lost);
        }
        self.egress.finish(&packet);
    }

    fn walk_tables(&mut self, now: Instant, packet: &mut Packet) -> FrameOutcome {
        let Self {
            tables,
            egress,
            action_set,
            tables_max: _,
            treatment: _,
            fragments: _,
            misses,
            form,
        } = self;
        let mut at = TableId(0);
        loop {
            packet.refresh(&egress.pool);
            let bytes = egress.pool.frame(packet.slot).len();
            let found = tables[usize::from(at.0)].find(&packet.key, now, bytes);
            let Some((index, age, entry)) = found else {
                egress.counters.missed += 1;
                if *misses == Misses::Told {
                    packet.origin = Origin::miss(at);
                    let length = egress.miss_send_length;
                    egress.pending(now, packet, PacketInReason::NoMatch, length);
                }
                return FrameOutcome::Ends;
            };
            packet.origin = entry.origin(at, index);
            packet.owner = Some(Owner {
                table: at,
                index,
                age,
            });
            let program = &entry.program;
            let before = egress.counters.dropped;
            let fate = egress.apply(now, packet, program, action_set, form.as_deref());
            if program.clear {
                action_set.clear();
            }
            action_set.write(&program.write);
            if let Some(change) = program.metadata {
                packet.write_metadata(change);
            }
            let next = program.goto;
            charge(tables, packet.origin, egress.counters.dropped - before);
            match (fate, next) {
                (FrameOutcome::Lives, Some(next)) => at = next,
                (fate, _) => return fate,
            }
        }
    }

    pub(crate) fn execute_set(&mut self, now: Instant, packet: &mut Packet) {
        for action in self.action_set.in_order() {
            // A group comes last: it needs no copy of the frame.
            if let Action::Group(group) = action {
                return self.egress.enter_group(now, packet, group);
            }
            if self.egress.execute(now, packet, action) == FrameOutcome::Ends {
                return;
            }
        }
    }
}

impl Table {
    fn new(at: usize, flows: FlowTable) -> Self {
        Self {
            flows,
            counters: TableCounters::default(),
            name: format!("table{at}"),
        }
    }

    /// Returns the entry for a frame and its age, and counts it.
    #[inline]
    fn find(
        &mut self,
        key: &PacketKey,
        now: Instant,
        bytes: usize,
    ) -> Option<(EntryIndex, u32, &Entry)> {
        self.counters.lookups = self.counters.lookups.wrapping_add(1);
        let index = self.flows.lookup(key)?;
        self.counters.matches = self.counters.matches.wrapping_add(1);
        let age = self.flows.rank(index).age();
        let entry = self.flows.entry_mut(index);
        entry.count(now, bytes);
        Some((index, age, entry))
    }
}

/// Returns the entry of an owner, if it still is there.
pub(crate) fn entry_of(tables: &[Table], owner: Owner) -> Option<&Entry> {
    let table = tables.get(usize::from(owner.table.0))?;
    let (rank, entry) = table.flows.ranked_entry(owner.index)?;
    (rank.age() == owner.age).then_some(entry)
}

/// Counts copies of a frame that were dropped at a port for the entry on whose
/// behalf they were to leave.
#[inline]
fn charge(tables: &mut [Table], origin: Origin, dropped: u64) {
    if dropped > 0
        && let Some(entry) = origin.entry
    {
        let flows = &mut tables[usize::from(origin.table.0)].flows;
        let counters = &mut flows.entry_mut(entry).counters;
        counters.dropped = counters.dropped.wrapping_add(dropped);
    }
}
