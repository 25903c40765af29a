//! Entries, one by one.

use units::Duration;

use crate::openflow::multipart::{emit_duration, parse_duration};
use crate::openflow::{Cookie, DecodeError, Element, TableId};
use crate::openflow10::{Actions, Match10, PortNumber};
use crate::reader::Reader;
use crate::writer::Writer;

const LENGTH_LENGTH: usize = 2;

/// Which entries are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatisticsRequest {
    /// Those whose match this one covers.
    pub matching: Match10,
    /// Those of this table.
    pub table: TableId,
    /// Those that send out of this port.
    pub out_port: PortNumber,
}

impl FlowStatisticsRequest {
    /// Every entry.
    pub const ALL: Self = Self {
        matching: Match10::ANY,
        table: TableId::ALL,
        out_port: PortNumber::NONE,
    };

    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let matching = Match10::parse(&mut reader)?;
        let table = TableId(reader.u8()?);
        reader.skip(1)?;
        Ok(Self {
            matching,
            table,
            out_port: PortNumber(reader.u16()?),
        })
    }

    pub(super) fn emit(&self, writer: &mut Writer<'_>) {
        self.matching.emit(writer);
        writer.u8(self.table.0).zeros::<1>().u16(self.out_port.0);
    }
}

/// An entry and what it did (`ofp_flow_stats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatistics<'a> {
    /// The table that it is in.
    pub table: TableId,
    /// Which frames it matches.
    pub matching: Match10,
    /// How long it has been there.
    pub age: Duration,
    /// Its priority.
    pub priority: u16,
    /// Its idle timeout in seconds.
    pub idle_timeout_s: u16,
    /// Its hard timeout in seconds.
    pub hard_timeout_s: u16,
    /// What the controller wrote on it.
    pub cookie: Cookie,
    /// How many frames it matched.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
    /// What it does with them.
    pub actions: Actions<'a>,
}

impl<'a> FlowStatistics<'a> {
    fn parse_one(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let table = TableId(reader.u8()?);
        reader.skip(1)?;
        let matching = Match10::parse(&mut reader)?;
        let age = parse_duration(&mut reader)?;
        let priority = reader.u16()?;
        let idle_timeout_s = reader.u16()?;
        let hard_timeout_s = reader.u16()?;
        reader.skip(6)?;
        Ok(Self {
            table,
            matching,
            age,
            priority,
            idle_timeout_s,
            hard_timeout_s,
            cookie: Cookie(reader.u64()?),
            packets: reader.u64()?,
            bytes: reader.u64()?,
            actions: Actions::from_bytes(reader.rest()),
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
        self.matching.emit(&mut writer);
        emit_duration(&mut writer, self.age);
        writer.u16(self.priority);
        writer.u16(self.idle_timeout_s).u16(self.hard_timeout_s);
        writer.zeros::<6>();
        writer.u64(self.cookie.0).u64(self.packets).u64(self.bytes);
        writer.with(|out| self.actions.emit(out));
        writer.length_at(0);
    }
}
