//! What a frame costs at most.

use crate::openflow::{DecodeError, Element, Sequence, TableId};
use crate::reader::Reader;
use crate::writer::Writer;

/// A number of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Flow tables entered.
    pub tables: u32,
    /// Hash tables asked: one for each distinct mask.
    pub lookups: u32,
    /// Slots of hash tables looked at.
    pub slots: u32,
    /// Actions of entries executed.
    pub actions: u32,
    /// Buckets of groups executed.
    pub buckets: u32,
}

/// What a frame costs at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostReply<'a> {
    /// From the first table on.
    pub frame: Work,
    /// Tables that have entries.
    pub tables: Sequence<'a, TableCost>,
}

/// One table and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCost {
    /// Which table.
    pub table: TableId,
    /// How many entries it has.
    pub entries: u32,
    /// How many distinct masks these have.
    pub masks: u32,
    /// What a frame costs from here on.
    pub onward: Work,
}

impl Work {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            tables: reader.u32()?,
            lookups: reader.u32()?,
            slots: reader.u32()?,
            actions: reader.u32()?,
            buckets: reader.u32()?,
        })
    }

    fn emit(self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.tables).u32(self.lookups).u32(self.slots);
        writer.u32(self.actions).u32(self.buckets);
    }
}

impl<'a> CostReply<'a> {
    pub(super) fn parse(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        let frame = Work::parse(&mut reader)?;
        reader.skip(4)?;
        let tables = Sequence::from_bytes(reader.rest());
        Ok(Self { frame, tables })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        self.frame.emit(out);
        Writer::new(out).zeros::<4>();
        self.tables.emit(out);
    }
}

impl<'a> Element<'a> for TableCost {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        let cost = Self {
            table,
            entries: reader.u32()?,
            masks: reader.u32()?,
            onward: Work::parse(&mut reader)?,
        };
        Ok((cost, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u8(self.table.0).zeros::<3>();
        writer.u32(self.entries).u32(self.masks);
        self.onward.emit(out);
    }
}
