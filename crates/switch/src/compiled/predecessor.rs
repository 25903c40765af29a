//! What the compiled form of a process that is gone has counted, and what its meters have
//! left.
//!
//! Its things stand in other records than ours. Walks have gone on counting in ours when
//! what they counted in its is added.

use super::form::Form;
use super::layout::{Region, arrival, band, bucket, group, lookup, meter, queue, settings, tally};
use super::memory::{Memory, Record};
use super::store::{Counted, Store};
use crate::flow_table::{EntryIndex, Rank};
use crate::group_table::GroupIndex;
use crate::meter_table::MeterIndex;
use wire::openflow::TableId;

impl Form {
    /// Adds what is counted by port, queue and table, and for the whole switch.
    pub(crate) fn count_on_everywhere(&self, before: &Memory) {
        let totals = 0..Region::Totals.record_words();
        let regions = [
            (Region::Totals, totals),
            (Region::Lookups, lookup::LOOKUPS..lookup::MATCHES + 1),
            (Region::Arrivals, arrival::FRAMES..arrival::DROPPED + 1),
            (Region::Queues, queue::FRAMES..queue::DROPPED + 1),
        ];
        let sizes = self.store.memory().sizes();
        for (region, words) in regions {
            for record in 0..sizes.records(region).min(before.sizes().records(region)) {
                let (old, new) = (before.record(region, record), self.memory(region, record));
                words.clone().for_each(|at| new.add(at, old.get(at)));
            }
        }
    }

    /// Returns what is left to be added by the core, as no record counts for the entry: one
    /// that no frame can meet has none.
    pub(crate) fn count_on_entry(
        &self,
        (table, index, rank): (TableId, EntryIndex, Rank),
        before: &Memory,
        old: u32,
    ) -> Option<Counted> {
        let form = self.tables.get(usize::from(table.0));
        if let Some(new) = form.and_then(|form| form.tally(index, rank)) {
            add_tally(&self.store, new, before, old);
            return None;
        }
        let [frames, bytes, last, dropped] = record_of(before, Region::Tallies, old)?.read(0);
        Some(Counted {
            frames,
            bytes,
            last,
            dropped,
        })
    }

    pub(crate) fn count_on_group(&self, index: GroupIndex, before: &Memory, old: u32) {
        if let Some(new) = self.groups.record(index) {
            let (new, old) = (
                group_tallies(self.store.memory(), new),
                group_tallies(before, old),
            );
            add_tallies(&self.store, &new, before, &old);
        }
    }

    pub(crate) fn count_on_meter(&self, index: MeterIndex, before: &Memory, old: u32) {
        if let Some(new) = self.meters.record(index) {
            let tallies = |memory, record| meter_tallies(memory, record);
            let (new, old) = (tallies(self.store.memory(), new), tallies(before, old));
            add_tallies(&self.store, &new, before, &old);
        }
    }

    /// Leaves a meter the tokens that it had.
    pub(crate) fn fill_meter(&self, index: MeterIndex, before: &Memory, old: u32) {
        let Some(new) = self.meters.record(index) else {
            return;
        };
        let (new, old) = (bands(self.store.memory(), new), bands(before, old));
        for (new, old) in new.zip(old) {
            let tokens: [u64; 2] = before.record(Region::Bands, old).read(band::TOKENS);
            self.memory(Region::Bands, new).write(band::TOKENS, &tokens);
        }
    }

    fn memory(&self, region: Region, record: usize) -> Record<'_> {
        self.store.memory().record(region, record)
    }
}

fn add_tallies(store: &Store, new: &[u32], before: &Memory, old: &[u32]) {
    // The process that is gone may have died amid a change of their number.
    if new.len() == old.len() {
        for (new, old) in new.iter().zip(old) {
            add_tally(store, *new, before, *old);
        }
    }
}

fn add_tally(store: &Store, new: u32, before: &Memory, old: u32) {
    let Some(old) = record_of(before, Region::Tallies, old) else {
        return;
    };
    let new = store.record(Region::Tallies, new);
    for at in [tally::FRAMES, tally::BYTES, tally::DROPPED] {
        new.add(at, old.get(at));
    }
    new.raise(tally::LAST, old.get(tally::LAST));
}

/// Returns the tally of a group and those of its buckets.
fn group_tallies(memory: &Memory, record: u32) -> Vec<u32> {
    let Some(words) = record_of(memory, Region::Groups, record) else {
        return Vec::new();
    };
    let Some(version) = seen(memory, words, group::SINCE) else {
        return Vec::new();
    };
    let version = group::VERSIONS[version];
    let (head, shares) = (
        words.get(version + group::HEAD),
        words.get(version + group::SHARES),
    );
    let (count, first) = (low(head) >> 16, high(head));
    let mut tallies = vec![high(shares)];
    for at in first..first.saturating_add(count) {
        let bucket = record_of(memory, Region::Buckets, at);
        tallies.extend(bucket.map(|it| low(it.get(bucket::TALLY))));
    }
    tallies
}

/// Returns the tally of a meter and those of its bands.
fn meter_tallies(memory: &Memory, record: u32) -> Vec<u32> {
    let Some(words) = record_of(memory, Region::Meters, record) else {
        return Vec::new();
    };
    let bands = bands(memory, record);
    let bands = bands.map(|at| low(memory.record(Region::Bands, at).get(band::TALLY)));
    std::iter::once(low(words.get(meter::TALLY)))
        .chain(bands)
        .collect()
}

/// Returns the records of the bands of a meter.
fn bands(memory: &Memory, record: u32) -> impl Iterator<Item = usize> {
    let words = record_of(memory, Region::Meters, record);
    let version = words
        .and_then(|words| Some(words.get(meter::VERSIONS[seen(memory, words, meter::SINCE)?])));
    let version = version.unwrap_or(0);
    let (count, first) = (low(version) >> 16, high(version));
    let bands = (first..first.saturating_add(count)).filter_map(|at| usize::try_from(at).ok());
    let end = memory.sizes().records(Region::Bands);
    bands.take_while(move |at| *at < end)
}

/// Returns the version of a record that walks see, if they see any.
fn seen(memory: &Memory, words: Record<'_>, since: [usize; 2]) -> Option<usize> {
    let generation = memory.record(Region::Settings, 0).get(settings::GENERATION);
    let versions = (0..since.len()).map(|version| (words.get(since[version]), version));
    let seen = versions.filter(|(since, _)| *since <= generation).max();
    seen.map(|(_, version)| version)
}

fn record_of(memory: &Memory, region: Region, record: u32) -> Option<Record<'_>> {
    let record = usize::try_from(record).ok()?;
    let is_there = record < memory.sizes().records(region);
    is_there.then(|| memory.record(region, record))
}

fn low(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).expect("32 bits are left")
}

fn high(word: u64) -> u32 {
    u32::try_from(word >> 32).expect("32 bits are left")
}
