//! What a table holds and was asked.

use crate::openflow::multipart::description::{emit_text, text};
use crate::openflow::{DecodeError, Element, TableId};
use crate::openflow10::Wildcards;
use crate::reader::Reader;
use crate::writer::Writer;

const NAME_LENGTH: usize = 32;

/// What a table holds and was asked (`ofp_table_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStatistics<'a> {
    /// Which table.
    pub table: TableId,
    /// What people call it; cut off after 31 bytes.
    pub name: &'a str,
    /// Which fields its entries can leave out.
    pub wildcards: Wildcards,
    /// How many entries it has room for.
    pub max_entries: u32,
    /// How many entries it has.
    pub entries: u32,
    /// How many frames were looked up in it.
    pub lookups: u64,
    /// How many of those matched.
    pub matched: u64,
}

impl<'a> Element<'a> for TableStatistics<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        let statistics = Self {
            table,
            name: text(reader.take(NAME_LENGTH)?),
            wildcards: Wildcards(reader.u32()?),
            max_entries: reader.u32()?,
            entries: reader.u32()?,
            lookups: reader.u64()?,
            matched: reader.u64()?,
        };
        Ok((statistics, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u8(self.table.0).zeros::<3>();
        emit_text::<NAME_LENGTH>(&mut writer, self.name);
        writer.u32(self.wildcards.0);
        writer.u32(self.max_entries).u32(self.entries);
        writer.u64(self.lookups).u64(self.matched);
    }
}
