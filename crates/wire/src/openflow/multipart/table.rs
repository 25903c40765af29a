//! What tables did (OF13 clause 7.3.5.4).

use crate::openflow::{DecodeError, Element, TableId};
use crate::reader::Reader;
use crate::writer::Writer;

/// What a table did (`ofp_table_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStatistics {
    /// Which table.
    pub table: TableId,
    /// How many entries it has.
    pub entries: u32,
    /// How many frames it looked up.
    pub lookups: u64,
    /// How many of them matched.
    pub matched: u64,
}

impl<'a> Element<'a> for TableStatistics {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        let statistics = Self {
            table,
            entries: reader.u32()?,
            lookups: reader.u64()?,
            matched: reader.u64()?,
        };
        Ok((statistics, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u8(self.table.0).zeros::<3>().u32(self.entries);
        writer.u64(self.lookups).u64(self.matched);
    }
}
