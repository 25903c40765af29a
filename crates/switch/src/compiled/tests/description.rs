//! What a walk finds, told word by word.

use super::super::layout::{Region, action, band, bucket, entry, group, limit, meter, operation};
use super::super::walk::{Found, Walk, low16, low32};
use crate::packet_key::PacketKey;

/// What a walk finds in a table, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    ToCore,
    Entry { rank: u64, does: Vec<u64> },
}

/// A walk that tells what it sees.
pub(super) struct Describing<'a>(pub(super) Walk<'a>);

impl Describing<'_> {
    pub(super) fn find(&self, table: u32, key: &PacketKey) -> Seen {
        match self.0.find(table, key) {
            Found::Nothing => Seen::Nothing,
            Found::ToCore => Seen::ToCore,
            Found::Entry(rank, record) => Seen::Entry {
                rank,
                does: self.entry(record),
            },
        }
    }

    fn entry(&self, entry: u32) -> Vec<u64> {
        let word = |at: usize| self.0.record(Region::Entries, entry).get(at);
        let (apply, write) = (word(entry::APPLY), word(entry::WRITE));
        let mut does = vec![apply >> 48, write >> 48];
        does.extend([word(entry::METADATA), word(entry::METADATA_MASK)]);
        does.push(word(entry::MONITOR));
        self.describe_meter(low32(word(entry::METER)), &mut does);
        for list in [apply, write] {
            self.describe_actions(low32(list), low16(list >> 32), 0, &mut does);
        }
        does
    }

    fn describe_meter(&self, meter: u32, does: &mut Vec<u64>) {
        let Some(meter) = meter.checked_sub(1) else {
            return does.push(0);
        };
        let words = self.0.record(Region::Meters, meter);
        let version = self
            .0
            .version(words, meter::SINCE)
            .expect("the meter is shown");
        let word = words.get(meter::VERSIONS[version]);
        does.push(low32(word).into());
        for band in 0..u32::from(low16(word >> 16)) {
            let words = self.0.record(Region::Bands, low32(word >> 32) + band);
            does.extend([
                words.get(band::WHAT),
                words.get(band::RATE),
                words.get(band::BURST),
            ]);
        }
    }

    fn describe_actions(&self, first: u32, count: u16, level: usize, does: &mut Vec<u64>) {
        does.push(count.into());
        for record in first..first + u32::from(count) {
            let words = self.0.record(Region::Actions, record);
            let word = |at: usize| words.get(at);
            let what = word(action::WHAT);
            if what & 0xff == operation::GROUP.into() {
                self.describe_group(low32(what >> 32), level + 1, does);
            } else {
                does.extend([what, word(action::VALUE), word(action::LOW)]);
            }
        }
    }

    pub(super) fn describe_group(&self, group: u32, level: usize, does: &mut Vec<u64>) {
        let words = self.0.record(Region::Groups, group);
        let version = self
            .0
            .version(words, group::SINCE)
            .expect("the group is shown");
        let word = |at: usize| words.get(group::VERSIONS[version] + at);
        let head = word(group::HEAD);
        does.extend([head, word(group::SHARES)].map(|word| u64::from(low32(word))));
        does.push(word(group::NUMBER));
        if head & group::TO_CORE != 0 || level > limit::LEVELS {
            return;
        }
        for bucket in 0..u32::from(low16(head >> 16)) {
            let words = self.0.record(Region::Buckets, low32(head >> 32) + bucket);
            let actions = words.get(bucket::ACTIONS);
            does.extend([actions >> 48, low32(words.get(bucket::WATCHES)).into()]);
            does.push(words.get(bucket::SHARE));
            self.describe_actions(low32(actions), low16(actions >> 32), level, does);
        }
    }
}
