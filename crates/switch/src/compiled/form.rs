//! The compiled form of a switch: what the switch keeps to write it, to know what
//! others see of it, and to read what others counted.

use units::Instant;
use wire::openflow::taktos::{MonitorId, StreamHandle};
use wire::openflow::{FragmentHandling, PortConfig};

use super::groups::GroupForms;
use super::layout::{NEVER, Region, VERSION, flag, limit, need, port, queue, settings, table};
use super::masks::Masks;
use super::memory::Memory;
use super::meters::MeterForms;
use super::operations::Places;
use super::publication::{Carried, Overflow};
use super::retention::{Changed, Retention};
use super::store::Store;
use super::tables::{Draft, EntryPlaces, TableForm};
use crate::egress::Egress;
use crate::flow_table::Rule;
use crate::group_table::GroupIndex;
use crate::matching::mac_bits;
use crate::meter_band;
use crate::meter_table::{Meter, MeterIndex};
use crate::modes::{ModeKeeper, SharedModes};
use crate::pipeline::{Forwarder, Misses, Pipeline};
use crate::port::{Port, PortIndex};
use crate::streams::StreamTable;

/// The compiled form of a switch.
#[derive(Debug)]
pub(crate) struct Form {
    pub(super) store: Store,
    masks: Masks,
    pub(super) tables: Vec<TableForm>,
    pub(super) groups: GroupForms,
    pub(super) meters: MeterForms,
    carried: Vec<Option<Carried>>,
    /// What walks see of the ports.
    ports_shown: Vec<[u64; 2]>,
    overflow: Overflow,
    /// Whether what entries and groups name may stand elsewhere now.
    moved: bool,
    /// How often modes had changed when they were shown last.
    pub(super) modes_shown: Option<u64>,
    /// The same of the monitors.
    pub(super) monitors_shown: Option<u64>,
    /// The same of the queues that are watched.
    hops_shown: Option<u64>,
    /// Where it is written down what a process needs that goes on with it, if anywhere.
    pub(crate) retention: Option<Retention>,
    draft: Draft,
}

/// Where everything is that entries and groups name.
struct Named<'a> {
    carried: &'a [Option<Carried>],
    groups: &'a GroupForms,
    meters: &'a MeterForms,
    modes: &'a ModeKeeper,
    streams: &'a StreamTable,
    /// How many monitors have a record.
    monitors: usize,
}

impl Places for Named<'_> {
    fn ports(&self) -> usize {
        self.carried.len()
    }

    fn reaches(&self, port: PortIndex) -> bool {
        self.carried[port.at()].is_some()
    }

    fn group(&self, group: GroupIndex) -> Option<u32> {
        self.groups.record(group)
    }

    fn monitor(&self, monitor: MonitorId) -> Option<u32> {
        place_of(self.modes, self.monitors, monitor)
    }

    fn stream(&self, stream: StreamHandle) -> Option<u32> {
        self.streams.find(stream)
    }
}

impl EntryPlaces for Named<'_> {
    fn meter(&self, meter: MeterIndex) -> Option<u32> {
        self.meters.record(meter)
    }
}

impl Form {
    /// Begins the compiled form of a pipeline, which notes its changes from now on.
    ///
    /// # Panics
    ///
    /// If the memory was made for less ports or tables.
    pub(super) fn new(pipeline: &mut Pipeline, mut memory: Memory, overflow: Overflow) -> Self {
        let (ports, tables) = (pipeline.egress.ports.len(), pipeline.tables_max());
        let sizes = memory.sizes();
        assert!(
            sizes.records(Region::Ports) >= ports,
            "a record for each port"
        );
        assert!(
            sizes.records(Region::Tables) >= tables,
            "a record for each table"
        );
        for table in &mut pipeline.tables {
            table.flows.note_changes();
        }
        pipeline.egress.groups.note_changes();
        pipeline.egress.meters.note_changes();
        let seed = pipeline.tables[0].flows.seed();
        let (modes, beginning) = (SharedModes::of(&mut memory), memory.beginning());
        pipeline.egress.modes.share(modes, beginning);
        pipeline.egress.hops.share(&mut memory);
        let streams = memory.give(Region::Streams);
        pipeline.egress.streams.share(streams, beginning);
        let times = memory.give(Region::FrameTimes);
        pipeline.egress.frame_times.share(times);
        let hop_lines = pipeline.egress.hops.end() / Region::HopKeys.record_words();
        let form = Self {
            store: Store::new(memory),
            masks: Masks::new(seed),
            tables: (0..).map(TableForm::new).take(tables).collect(),
            groups: GroupForms::default(),
            meters: MeterForms::default(),
            carried: vec![None; ports],
            ports_shown: vec![[0; 2]; ports],
            overflow,
            moved: false,
            modes_shown: None,
            monitors_shown: None,
            hops_shown: None,
            retention: None,
            draft: Draft::default(),
        };
        form.write_constants(seed, ports);
        form.set(settings::HOP_LINES, count(hop_lines) - 1);
        form
    }

    pub(super) fn carry(&mut self, port: PortIndex, carried: Carried) {
        let before = self.carried[port.at()].replace(carried);
        self.moved |= before.is_none();
    }

    /// Returns whether everybody sees the pipeline as it is.
    pub(super) fn shows(&self, pipeline: &Pipeline) -> bool {
        let tables = pipeline.tables.iter();
        let mut flows = tables.filter_map(|table| table.flows.changes());
        let groups = &pipeline.egress.groups;
        !self.moved
            && self
                .retention
                .as_ref()
                .is_none_or(|it| !it.has_news(&pipeline.egress.ports))
            && self.modes_shown == Some(pipeline.egress.modes.changes)
            && self.hops_shown == Some(pipeline.egress.hops.changes())
            && flows.all(|changes| changes.is_empty())
            && groups.changes().is_none_or(|changes| changes.is_empty())
            && pipeline.egress.meters.changes().is_empty()
            && !self.wants_more()
            && self.setting(settings::FLAGS) == flags(pipeline)
            && self.setting(settings::TABLES) == count(pipeline.tables.len())
            && self.shows_ports(&pipeline.egress.ports)
    }

    /// Lets a meter judge a frame that the core handles.
    pub(crate) fn judge(
        &self,
        now: Instant,
        index: MeterIndex,
        meter: &mut Meter,
        bytes: usize,
    ) -> Option<meter_band::BandAction> {
        self.meters.judge(&self.store, now, index, meter, bytes)
    }

    pub(super) fn settle(&mut self) -> bool {
        self.store.settle(&mut self.masks)
    }

    /// Makes everybody see the pipeline as it is.
    ///
    /// # Panics
    ///
    /// If an older walk may be under way.
    pub(super) fn publish(&mut self, pipeline: &mut Pipeline) {
        assert!(self.settle(), "an older walk may be under way");
        self.store.want_fragments(match pipeline.fragments {
            FragmentHandling::Drop => need::NETWORK | need::EXTENSIONS,
            FragmentHandling::Normal | FragmentHandling::Reassemble => 0,
        });
        let all = std::mem::take(&mut self.moved);
        let changed = self.retention.is_some().then(|| Changed::of(pipeline));
        let egress = &mut pipeline.egress;
        self.meters.update(&mut egress.meters, &mut self.store);
        let groups = self.groups.place(&mut egress.groups, all, &mut self.store);
        self.write_groups(groups, pipeline);
        self.write_tables(pipeline, all);
        self.groups
            .write_lives(&pipeline.egress.groups, &self.store);
        self.write_ports(&pipeline.egress);
        self.write_modes(&pipeline.egress);
        self.write_watched(&pipeline.egress);
        self.set(settings::TABLES, count(pipeline.tables.len()));
        self.set(settings::FLAGS, flags(pipeline));
        // Whoever goes on with what walks see has to know all of it.
        if let Some(changed) = changed {
            self.write_down(pipeline, changed);
        }
        self.store.flip();
        // Where nobody walks, nothing has to be waited for.
        self.settle();
    }

    /// Returns whether entries are refused for which there is no room.
    pub(super) fn refuses(&self) -> bool {
        self.overflow == Overflow::Refuse
    }

    /// Returns whether something could be shown as soon as what was replaced is
    /// given up.
    pub(super) fn wants_more(&self) -> bool {
        self.tables.iter().any(TableForm::may_return)
    }

    fn write_constants(&self, seed: u64, ports: usize) {
        self.set(settings::VERSION, VERSION);
        self.set(settings::SEED, seed);
        self.set(settings::FLOW_SEED, seed);
        self.set(settings::PORTS, count(ports));
        for number in 0..self.store.memory().sizes().records(Region::Tables) {
            let number = u32::try_from(number).expect("at most 255");
            for since in table::SINCE {
                self.store.set(Region::Tables, number, since, NEVER);
            }
        }
    }

    fn write_groups(&mut self, changed: Vec<GroupIndex>, pipeline: &Pipeline) {
        if changed.is_empty() {
            return;
        }
        // Groups name each other, so they are written with all records known.
        let mut groups = std::mem::take(&mut self.groups);
        let records = groups.records();
        let named = GroupsNamed {
            carried: &self.carried,
            records: &records,
            modes: &pipeline.egress.modes,
            monitors: self.store.memory().sizes().records(Region::Monitors),
        };
        groups.write(changed, &pipeline.egress.groups, &mut self.store, &named);
        self.groups = groups;
    }

    fn write_tables(&mut self, pipeline: &mut Pipeline, all: bool) {
        let named = Named {
            carried: &self.carried,
            groups: &self.groups,
            meters: &self.meters,
            modes: &pipeline.egress.modes,
            streams: &pipeline.egress.streams,
            monitors: self.store.memory().sizes().records(Region::Monitors),
        };
        for (at, form) in self.tables.iter_mut().enumerate() {
            let Some(table) = pipeline.tables.get_mut(at) else {
                form.clear(&mut self.store);
                continue;
            };
            let changed = table
                .flows
                .changes()
                .is_some_and(|changes| !changes.is_empty());
            if changed || all || form.may_return() || !form.is_shown() {
                let (store, masks) = (&mut self.store, &mut self.masks);
                form.update(&mut table.flows, all, store, masks, &named, &mut self.draft);
            }
        }
    }

    fn write_ports(&mut self, egress: &Egress) {
        for (at, port) in (0..).map(PortIndex).zip(&egress.ports) {
            let shown = self.port_words(at.at(), port);
            self.ports_shown[at.at()] = shown;
            let ([interface, number], address) = (shown, mac_bits(port.config.mac));
            let words = egress.modes.shared().port(at);
            words.write(port::INTERFACE, &[interface, number, address]);
        }
    }

    /// Shows which queues are watched.
    fn write_watched(&mut self, egress: &Egress) {
        let hops = &egress.hops;
        if self.hops_shown.replace(hops.changes()) == Some(hops.changes()) {
            return;
        }
        for (at, word) in (0..).zip(hops.watched().iter().flatten()) {
            self.store.set(Region::Queues, at, queue::BUDGET, *word);
        }
    }

    fn shows_ports(&self, ports: &[Port]) -> bool {
        let shown = self.ports_shown.iter().zip(ports).enumerate();
        let mut shown = shown.map(|(at, (shown, port))| *shown == self.port_words(at, port));
        shown.all(|is_shown| is_shown)
    }

    fn port_words(&self, at: usize, port: &Port) -> [u64; 2] {
        let carried = self.carried[at].unwrap_or_default();
        let bits = [
            (port.is_up(), port::IS_UP),
            (port.sends(), port::SENDS),
            (port.sends_floods(), port::SENDS_FLOODS),
            (port.forbids(PortConfig::NO_RECEIVE), port::NO_RECEIVE),
            (port.far_end.is_some(), port::IS_TRUNK),
            (port.is_live(), port::IS_LIVE),
            (port.bfd.is_some(), port::HAS_SESSION),
        ];
        let bits = bits.iter().filter(|(is_so, _)| *is_so);
        let bits: u32 = bits.map(|(_, bit)| bit).sum();
        [
            u64::from(carried.interface) | u64::from(bits) << 32,
            u64::from(port.config.number.0) | u64::from(carried.class) << 32,
        ]
    }

    pub(super) fn setting(&self, at: usize) -> u64 {
        self.store.word(Region::Settings, 0, at)
    }

    pub(super) fn set(&self, at: usize, value: u64) {
        self.store.set(Region::Settings, 0, at, value);
    }
}

/// Where everything is that groups name.
struct GroupsNamed<'a> {
    carried: &'a [Option<Carried>],
    records: &'a [Option<u32>],
    modes: &'a ModeKeeper,
    /// How many monitors have a record.
    monitors: usize,
}

impl Places for GroupsNamed<'_> {
    fn ports(&self) -> usize {
        self.carried.len()
    }

    fn reaches(&self, port: PortIndex) -> bool {
        self.carried[port.at()].is_some()
    }

    fn group(&self, group: GroupIndex) -> Option<u32> {
        self.records.get(group.at()).copied().flatten()
    }

    fn monitor(&self, monitor: MonitorId) -> Option<u32> {
        place_of(self.modes, self.monitors, monitor)
    }

    /// No group names one.
    fn stream(&self, _: StreamHandle) -> Option<u32> {
        None
    }
}

fn place_of(modes: &ModeKeeper, records: usize, monitor: MonitorId) -> Option<u32> {
    let place = modes.monitors.find(monitor)?;
    u32::try_from(place).ok().filter(|_| place < records)
}

fn count(count: usize) -> u64 {
    u64::try_from(count).expect("64 bits suffice")
}

fn flags(pipeline: &Pipeline) -> u64 {
    let bridge = match pipeline.treatment {
        Forwarder::Bridge => flag::ALL_TO_CORE,
        Forwarder::Tables => 0,
    };
    let fragments = match pipeline.fragments {
        FragmentHandling::Drop => flag::DROP_FRAGMENTS,
        FragmentHandling::Normal | FragmentHandling::Reassemble => 0,
    };
    let misses = match pipeline.misses {
        Misses::Told => flag::MISSES_TO_CORE,
        Misses::Dropped => 0,
    };
    bridge | fragments | misses
}

impl Pipeline {
    /// Returns whether the compiled form lets another entry be added to a table.
    pub(crate) fn admits(&self, table: usize, rule: &Rule) -> bool {
        let form = self.form.as_ref().filter(|form| form.refuses());
        form.is_none_or(|form| {
            let entries: usize = self.tables.iter().map(|table| table.flows.len()).sum();
            let flows = &self.tables[table].flows;
            let mut masks = flows.ranked_masks();
            entries < form.store.memory().sizes().entries()
                && (flows.masks() < limit::MASKS || masks.any(|(mask, _)| *mask == rule.mask))
        })
    }
}
