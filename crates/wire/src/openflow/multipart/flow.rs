//! Entries, one by one (OF13 clause 7.3.5.2).

use units::Duration;

use super::{emit_duration, parse_duration};
use crate::openflow::oxm::{emit_match, parse_match};
use crate::openflow::{
    Cookie, DecodeError, Element, Fields, FlowModFlags, GroupId, Instructions, PortNumber, TableId,
};
use crate::reader::Reader;
use crate::writer::Writer;

const LENGTH_LENGTH: usize = 2;

/// Which entries are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatisticsRequest<'a> {
    /// Those of this table.
    pub table: TableId,
    /// Those that send out of this port.
    pub out_port: PortNumber,
    /// Those that use this group.
    pub out_group: GroupId,
    /// Those with this cookie.
    pub cookie: Cookie,
    /// Which bits of the cookie count.
    pub cookie_mask: Cookie,
    /// Those whose match this one covers.
    pub matching: Fields<'a>,
}

impl<'a> FlowStatisticsRequest<'a> {
    /// Asks for every entry of a table.
    #[must_use]
    pub const fn all(table: TableId) -> Self {
        Self {
            table,
            out_port: PortNumber::ANY,
            out_group: GroupId::ANY,
            cookie: Cookie::NONE,
            cookie_mask: Cookie::NONE,
            matching: Fields::EMPTY,
        }
    }

    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        let out_port = PortNumber(reader.u32()?);
        let out_group = GroupId(reader.u32()?);
        reader.skip(4)?;
        Ok(Self {
            table,
            out_port,
            out_group,
            cookie: Cookie(reader.u64()?),
            cookie_mask: Cookie(reader.u64()?),
            matching: parse_match(reader)?,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u8(self.table.0).zeros::<3>();
        writer.u32(self.out_port.0).u32(self.out_group.0);
        writer.zeros::<4>();
        writer.u64(self.cookie.0).u64(self.cookie_mask.0);
        writer.with(|out| emit_match(&self.matching, out));
    }
}

/// An entry and what it did (`ofp_flow_stats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatistics<'a> {
    /// The table that it is in.
    pub table: TableId,
    /// How long it has been there.
    pub age: Duration,
    /// Its priority.
    pub priority: u16,
    /// Its idle timeout in seconds.
    pub idle_timeout_s: u16,
    /// Its hard timeout in seconds.
    pub hard_timeout_s: u16,
    /// How it behaves.
    pub flags: FlowModFlags,
    /// What the controller wrote on it.
    pub cookie: Cookie,
    /// How many frames it matched.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
    /// Which frames it matches.
    pub matching: Fields<'a>,
    /// What it does with them.
    pub instructions: Instructions<'a>,
}

impl<'a> FlowStatistics<'a> {
    fn parse_one(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let table = TableId(reader.u8()?);
        reader.skip(1)?;
        let age = parse_duration(&mut reader)?;
        let priority = reader.u16()?;
        let idle_timeout_s = reader.u16()?;
        let hard_timeout_s = reader.u16()?;
        let flags = FlowModFlags(reader.u16()?);
        reader.skip(4)?;
        Ok(Self {
            table,
            age,
            priority,
            idle_timeout_s,
            hard_timeout_s,
            flags,
            cookie: Cookie(reader.u64()?),
            packets: reader.u64()?,
            bytes: reader.u64()?,
            matching: parse_match(&mut reader)?,
            instructions: Instructions::from_bytes(reader.rest()),
        })
    }
}

impl<'a> Element<'a> for FlowStatistics<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = usize::from(reader.u16()?)
            .checked_sub(LENGTH_LENGTH)
            .ok_or(DecodeError::Length)?;
        let one = Self::parse_one(reader.take(length)?)?;
        Ok((one, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(0).u8(self.table.0).zeros::<1>();
        emit_duration(&mut writer, self.age);
        writer.u16(self.priority);
        writer.u16(self.idle_timeout_s).u16(self.hard_timeout_s);
        writer.u16(self.flags.0).zeros::<4>();
        writer.u64(self.cookie.0).u64(self.packets).u64(self.bytes);
        writer.with(|out| emit_match(&self.matching, out));
        writer.with(|out| self.instructions.emit(out));
        writer.length_at(0);
    }
}
