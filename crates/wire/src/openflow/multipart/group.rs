//! What groups did, are and can be (OF13 clauses 7.3.5.9 to 7.3.5.11).

use units::Duration;

use super::{emit_duration, parse_duration};
use crate::openflow::{Buckets, DecodeError, Element, GroupId, GroupType, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

const LENGTH_LENGTH: usize = 2;

/// What a group did (`ofp_group_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStatistics<'a> {
    /// Which group.
    pub group: GroupId,
    /// How many entries and groups use it.
    pub references: u32,
    /// How many frames went through it.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
    /// How long it has been there.
    pub age: Duration,
    /// What each of its buckets did, in their order.
    pub buckets: Sequence<'a, BucketCounters>,
}

/// What a bucket did (`ofp_bucket_counter`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BucketCounters {
    /// How many frames went through it.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
}

impl<'a> Element<'a> for GroupStatistics<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = usize::from(reader.u16()?)
            .checked_sub(LENGTH_LENGTH)
            .ok_or(DecodeError::Length)?;
        let mut body = Reader::new(reader.take(length)?);
        body.skip(2)?;
        let group = GroupId(body.u32()?);
        let references = body.u32()?;
        body.skip(4)?;
        let statistics = Self {
            group,
            references,
            packets: body.u64()?,
            bytes: body.u64()?,
            age: parse_duration(&mut body)?,
            buckets: Sequence::from_bytes(body.rest()),
        };
        Ok((statistics, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(0).zeros::<2>().u32(self.group.0);
        writer.u32(self.references).zeros::<4>();
        writer.u64(self.packets).u64(self.bytes);
        emit_duration(&mut writer, self.age);
        writer.with(|out| self.buckets.emit(out)).length_at(0);
    }
}

impl<'a> Element<'a> for BucketCounters {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let counters = Self {
            packets: reader.u64()?,
            bytes: reader.u64()?,
        };
        Ok((counters, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        Writer::new(out).u64(self.packets).u64(self.bytes);
    }
}

/// What a group is (`ofp_group_desc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupDescription<'a> {
    /// Which buckets a frame goes through.
    pub kind: GroupType,
    /// Which group.
    pub group: GroupId,
    /// Its buckets.
    pub buckets: Buckets<'a>,
}

impl<'a> Element<'a> for GroupDescription<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = usize::from(reader.u16()?)
            .checked_sub(LENGTH_LENGTH)
            .ok_or(DecodeError::Length)?;
        let mut body = Reader::new(reader.take(length)?);
        let kind = GroupType::parse(body.u8()?)?;
        body.skip(1)?;
        let description = Self {
            kind,
            group: GroupId(body.u32()?),
            buckets: Buckets::from_bytes(body.rest()),
        };
        Ok((description, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(0).u8(self.kind.number()).zeros::<1>();
        writer.u32(self.group.0);
        writer.with(|out| self.buckets.emit(out)).length_at(0);
    }
}

flags! {
    /// What groups can do beyond the minimum (`ofp_group_capabilities`).
    pub struct GroupCapabilities: u32 {
        /// Shares of the buckets of a select group.
        SELECT_WEIGHT = 1 << 0;
        /// Liveness of the buckets of a select group.
        SELECT_LIVENESS = 1 << 1;
        /// Groups that use groups.
        CHAINING = 1 << 2;
        /// Loops of groups are found, and used groups are not deleted.
        CHAINING_CHECKS = 1 << 3;
    }
}

/// What groups can be (`ofp_group_features`). Arrays have a place for every
/// [`GroupType`], at its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupFeatures {
    /// Bit n is set if there are groups of type n.
    pub types: u32,
    /// What they can do.
    pub capabilities: GroupCapabilities,
    /// How many groups of each type there can be.
    pub max_groups: [u32; 4],
    /// Bit n is set if buckets of this type can have actions of type n.
    pub actions: [u32; 4],
}

impl GroupFeatures {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            types: reader.u32()?,
            capabilities: GroupCapabilities(reader.u32()?),
            max_groups: four(&mut reader)?,
            actions: four(&mut reader)?,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.types).u32(self.capabilities.0);
        for number in self.max_groups.into_iter().chain(self.actions) {
            writer.u32(number);
        }
    }
}

fn four(reader: &mut Reader<'_>) -> Result<[u32; 4], DecodeError> {
    Ok([reader.u32()?, reader.u32()?, reader.u32()?, reader.u32()?])
}
