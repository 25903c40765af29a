//! How large the compiled form of a switch is.
//!
//! It is made once, and does not grow: what does not fit is left to the switch's
//! own core. An entry that is changed has two records until nobody can see the old
//! one any more, and a bundle may change all entries at once, so there are two
//! records for each entry. With 1,024 entries all regions together have about 2.3
//! megabytes.

use super::layout::{Region, limit};
use crate::config::Config;
use crate::hops::HOP_RECORDS_MAX;
use crate::modes::MONITORS_MAX;
use crate::port::QUEUES;
use crate::program::POLICERS_MAX;
use crate::streams::STREAMS_MAX;

/// Records of entries for each entry that is to fit.
const VERSIONS: usize = 2;
/// Actions for each entry that is to fit, old versions and those of groups
/// included.
const ACTIONS_PER_ENTRY: usize = 6;
/// One group, meter or monitor for so many entries.
const ENTRIES_PER_GROUP: usize = 4;
/// The fewest records of how long frames stay; else there are as many as entries.
const HOP_RECORDS_MIN: usize = 64;
/// One stream that goes over several ways for so many entries.
const ENTRIES_PER_STREAM: usize = 4;
/// The fewest records of that kind.
const STREAMS_MIN: usize = 16;
/// Buckets of a group or bands of a meter, on the average.
const PARTS: usize = 4;
/// Bands of a meter of an entry that polices.
const BANDS_OF_POLICER: usize = 2;
/// Masks of all tables together, for each table; at least those that one table can
/// have.
const MASKS_PER_TABLE: usize = 16;
/// The fewest entries that room is made for.
const ENTRIES_MIN: usize = 16;

/// How many records each region has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    entries: usize,
    tables: usize,
    ports: usize,
    groups: usize,
    meters: usize,
    policers: usize,
    processors: usize,
}

impl Sizes {
    /// Returns room for so many entries, in all tables together, and as many
    /// groups and meters as usually go with them; for walks on so many processors.
    #[must_use]
    pub fn new(config: &Config, entries: usize, processors: usize) -> Self {
        let entries = entries.max(ENTRIES_MIN);
        Self {
            entries,
            tables: usize::from(config.tables),
            ports: config.ports.len(),
            groups: config.groups.min(entries / ENTRIES_PER_GROUP),
            meters: config.meters.min(entries / ENTRIES_PER_GROUP),
            policers: entries.min(POLICERS_MAX),
            processors,
        }
    }

    /// Returns how many entries fit, in all tables together.
    #[must_use]
    pub const fn entries(&self) -> usize {
        self.entries
    }

    /// Returns how many records a region has at least.
    #[must_use]
    pub fn records(&self, region: Region) -> usize {
        let entries = self.entries * VERSIONS;
        let buckets = self.groups * PARTS;
        let meters = self.meters + self.policers;
        let bands = self.meters * PARTS + self.policers * BANDS_OF_POLICER;
        let records = match region {
            Region::Settings | Region::Totals | Region::Modes => 1,
            Region::Monitors => MONITORS_MAX.min(self.entries / ENTRIES_PER_GROUP),
            Region::HopKeys => self.hops() / Region::HopKeys.record_words(),
            Region::Hops => self.hops(),
            Region::Streams => self.streams(),
            Region::Busy => self.processors,
            Region::Ports | Region::Arrivals | Region::FrameTimes => self.ports,
            Region::Queues => self.ports * QUEUES,
            Region::Tables | Region::Lookups => self.tables,
            Region::Masks => limit::MASKS + self.tables * MASKS_PER_TABLE,
            // Half of the places of a line are used at most, the number of lines is
            // rounded up to a power of two, and there are two while one grows.
            Region::Lines => entries + limit::MASKS,
            Region::Entries => entries,
            Region::Actions => self.entries * ACTIONS_PER_ENTRY,
            Region::Groups => self.groups,
            Region::Buckets => buckets,
            Region::Meters => meters,
            Region::Bands => bands,
            Region::Tallies => entries + self.groups + buckets + meters + bands,
        };
        // Nobody can map an array of nothing.
        records.max(1)
    }

    /// Returns how many streams fit that go over several ways.
    fn streams(&self) -> usize {
        let wanted = self.entries / ENTRIES_PER_STREAM;
        wanted.clamp(STREAMS_MIN, STREAMS_MAX)
    }

    /// Returns how many records there are of how long frames stay: a power of two.
    fn hops(&self) -> usize {
        let bounded = self.entries.clamp(HOP_RECORDS_MIN, HOP_RECORDS_MAX);
        bounded.next_power_of_two()
    }

    /// Returns how many bytes all regions have together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = |region: Region| self.records(region) * region.record_words() * 8;
        Region::ALL.into_iter().map(bytes).sum()
    }
}
