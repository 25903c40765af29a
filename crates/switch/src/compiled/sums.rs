//! What was counted, by the core and by those who walk the compiled form together.
//!
//! What others count is only ever added to. Where a counter begins anew while
//! others count on, the core's part of it begins with the opposite of theirs, so
//! parts are added modulo 2^64.

use units::Instant;

use super::form::Form;
use super::layout::{Region, arrival, lookup, queue, total};
use super::store::Counted;
use crate::config::Pacing;
use crate::counters::{
    EntryCounters, PortCounters, QueueCounters, SwitchCounters, TableCounters, Tally,
};
use crate::group_table::GroupIndex;
use crate::meter_table::MeterIndex;
use crate::pipeline::Pipeline;
use crate::port::{Port, PortIndex, QUEUES};
use crate::timeouts::EntryId;

impl Pipeline {
    /// Returns what an entry matched.
    pub(crate) fn entry_counters(&self, id: EntryId) -> EntryCounters {
        let core = self.entry(id).counters;
        let others = self.counted_elsewhere(id);
        EntryCounters {
            frames: core.frames.wrapping_add(others.frames),
            bytes: core.bytes.wrapping_add(others.bytes),
            dropped: core.dropped.wrapping_add(others.dropped),
            last_used: core.last_used.max(Instant::from_ns(others.last)),
        }
    }

    /// Returns what others counted for an entry.
    pub(crate) fn counted_elsewhere(&self, id: EntryId) -> Counted {
        let counted = self.form.as_ref().and_then(|form| {
            let flows = &self.tables[usize::from(id.table.0)].flows;
            let known = flows.changes().is_some_and(|changes| !changes.anew);
            let (rank, _) = flows.ranked_entry(id.index).filter(|_| known)?;
            form.tables[usize::from(id.table.0)].counted(&form.store, id.index, rank)
        });
        counted.unwrap_or_default()
    }

    /// Notes when others used an entry last.
    pub(crate) fn note_last_use(&mut self, id: EntryId) {
        if self.form.is_some() {
            let last_used = self.entry_counters(id).last_used;
            let flows = &mut self.tables[usize::from(id.table.0)].flows;
            flows.entry_mut(id.index).counters.last_used = last_used;
        }
    }

    /// Returns what a table was asked.
    pub(crate) fn table_counters(&self, table: usize) -> TableCounters {
        let core = self.tables[table].counters;
        let others = self.looked_up_elsewhere(table);
        TableCounters {
            lookups: core.lookups.wrapping_add(others.lookups),
            matches: core.matches.wrapping_add(others.matches),
        }
    }

    /// Returns what others asked a table.
    pub(crate) fn looked_up_elsewhere(&self, table: usize) -> TableCounters {
        let form = self.form.as_ref();
        form.map_or_else(TableCounters::default, |form| TableCounters {
            lookups: form.count(Region::Lookups, table, lookup::LOOKUPS),
            matches: form.count(Region::Lookups, table, lookup::MATCHES),
        })
    }

    /// Returns what went through a group.
    pub(crate) fn group_tally(&self, index: GroupIndex) -> Tally {
        let group = self.egress.groups.group(index);
        sum(group.tally, self.form.as_deref(), |form| {
            form.groups.counted(&form.store, index, group.added)
        })
    }

    /// Returns what went through each bucket of a group.
    pub(crate) fn bucket_tallies(&self, index: GroupIndex) -> impl Iterator<Item = Tally> {
        let group = self.egress.groups.group(index);
        let buckets = group.config.buckets.iter().enumerate();
        buckets.map(move |(at, bucket)| {
            sum(bucket.tally, self.form.as_deref(), |form| {
                let groups = &form.groups;
                groups.counted_bucket(&form.store, index, group.changed, at)
            })
        })
    }

    /// Returns what went through a meter.
    pub(crate) fn meter_tally(&self, index: MeterIndex) -> Tally {
        let meter = self.egress.meters.meter(index);
        sum(meter.tally, self.form.as_deref(), |form| {
            form.meters.counted(&form.store, index, meter.added)
        })
    }

    /// Returns what each band of a meter was applied to.
    pub(crate) fn band_tallies(&self, index: MeterIndex) -> impl Iterator<Item = Tally> {
        let meter = self.egress.meters.meter(index);
        let bands = meter.config.bands.iter().enumerate();
        bands.map(move |(at, band)| {
            sum(band.tally, self.form.as_deref(), |form| {
                let meters = &form.meters;
                meters.counted_band(&form.store, index, meter.changed, at)
            })
        })
    }

    /// Returns what a port has carried.
    pub(crate) fn port_counters(&self, port: PortIndex) -> PortCounters {
        let mut all = self.egress.port(port).counters;
        let Some(form) = &self.form else {
            return all;
        };
        let arrived = |at: usize| form.count(Region::Arrivals, port.at(), at);
        all.received_frames += arrived(arrival::FRAMES);
        all.received_bytes += arrived(arrival::BYTES);
        all.received_dropped += arrived(arrival::DROPPED);
        for queue in form.queue_counters(self.egress.port(port), port) {
            all.sent_frames += queue.sent_frames;
            all.sent_bytes += queue.sent_bytes;
            all.sent_dropped += queue.dropped_frames;
        }
        all
    }

    /// Returns what the queues of a port have carried.
    pub(crate) fn queue_counters(&self, index: PortIndex) -> [QueueCounters; QUEUES] {
        let port = self.egress.port(index);
        let core = port.queues().each_ref().map(|queue| queue.counters);
        let Some(form) = &self.form else {
            return core;
        };
        let others = form.queue_counters(port, index);
        std::array::from_fn(|at| QueueCounters {
            sent_frames: core[at].sent_frames + others[at].sent_frames,
            sent_bytes: core[at].sent_bytes + others[at].sent_bytes,
            dropped_frames: core[at].dropped_frames + others[at].dropped_frames,
        })
    }

    /// Returns how many frames others handled, and how many they gave to the core.
    pub(crate) fn engine_counters(&self) -> EngineCounters {
        let form = self.form.as_deref();
        form.map_or_else(EngineCounters::default, |form| EngineCounters {
            frames: form.count(Region::Totals, 0, total::FRAMES),
            handed: form.count(Region::Totals, 0, total::TO_CORE),
            lost: form.count(Region::Totals, 0, total::LOST),
            too_long: form.count(Region::Totals, 0, total::TOO_LONG_A_WAY),
        })
    }

    /// Returns what was done with frames, all ports together.
    pub(crate) fn counters(&self) -> SwitchCounters {
        let mut all = self.egress.counters;
        let Some(form) = &self.form else {
            return all;
        };
        let others = |at: usize| form.count(Region::Totals, 0, at);
        all.frames += others(total::FRAMES);
        all.refused += others(total::REFUSED);
        all.oversized += others(total::OVERSIZED);
        all.overrun += others(total::LOST);
        all.missed += others(total::MISSED);
        all.metered += others(total::METERED);
        all.demoted += others(total::DEMOTED);
        all.outputs += others(total::OUTPUTS);
        all.abandoned += others(total::ABANDONED);
        all.sent += others(total::SENT);
        all.dropped += others(total::DROPPED);
        all
    }
}

/// What others did with frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngineCounters {
    pub(crate) frames: u64,
    /// Frames that they gave to the core.
    pub(crate) handed: u64,
    /// Frames that they could not give to it.
    pub(crate) lost: u64,
    /// Frames that they gave to it since their way was too long.
    pub(crate) too_long: u64,
}

impl Form {
    /// Returns a word that others count in.
    fn count(&self, region: Region, record: usize, at: usize) -> u64 {
        let record = u32::try_from(record).expect("a region has less than 2^32 records");
        self.store.word(region, record, at)
    }

    /// Returns what the queues of a port carried for others, and what these dropped
    /// there. What queues of the world carry, the world tells.
    fn queue_counters(&self, port: &Port, index: PortIndex) -> [QueueCounters; QUEUES] {
        std::array::from_fn(|at| {
            let word = |word: usize| self.count(Region::Queues, QUEUES * index.at() + at, word);
            let handed = match port.config.pacing {
                Pacing::Core => [word(queue::FRAMES), word(queue::BYTES)],
                Pacing::World => [0; 2],
            };
            QueueCounters {
                sent_frames: handed[0],
                sent_bytes: handed[1],
                dropped_frames: word(queue::DROPPED),
            }
        })
    }
}

fn sum(core: Tally, form: Option<&Form>, counted: impl FnOnce(&Form) -> Option<Counted>) -> Tally {
    let others = form.and_then(counted).unwrap_or_default();
    Tally {
        frames: core.frames + others.frames,
        bytes: core.bytes + others.bytes,
    }
}
