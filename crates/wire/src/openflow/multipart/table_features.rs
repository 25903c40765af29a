//! What tables can do, and what they are told to do (OF13 clause 7.3.5.5).
//!
//! A [`TableProperty`] lists what is possible for entries of the table, or, if
//! its name ends in `Miss`, for the entry that matches every frame with
//! priority 0.

mod property;

pub use property::{ActionId, FieldId, InstructionId, TableProperty};

use super::description::{emit_text, text};
use crate::openflow::{DecodeError, Element, Sequence, TableId};
use crate::reader::Reader;
use crate::writer::Writer;

const LENGTH_LENGTH: usize = 2;
const NAME_LENGTH: usize = 32;

/// What a table can do (`ofp_table_features`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFeatures<'a> {
    /// Which table.
    pub table: TableId,
    /// What people call it. A text above 31 bytes is cut off.
    pub name: &'a str,
    /// Which bits of the metadata entries can look at.
    pub metadata_match: u64,
    /// Which bits of the metadata entries can write.
    pub metadata_write: u64,
    /// The configuration, as in a table-mod.
    pub config: u32,
    /// How many entries the table holds.
    pub max_entries: u32,
    /// What its entries can do.
    pub properties: Sequence<'a, TableProperty<'a>>,
}

impl<'a> Element<'a> for TableFeatures<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = usize::from(reader.u16()?)
            .checked_sub(LENGTH_LENGTH)
            .ok_or(DecodeError::Length)?;
        let mut body = Reader::new(reader.take(length)?);
        let table = TableId(body.u8()?);
        body.skip(5)?;
        let features = Self {
            table,
            name: text(body.take(NAME_LENGTH)?),
            metadata_match: body.u64()?,
            metadata_write: body.u64()?,
            config: body.u32()?,
            max_entries: body.u32()?,
            properties: Sequence::from_bytes(body.rest()),
        };
        Ok((features, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(0).u8(self.table.0).zeros::<5>();
        emit_text::<NAME_LENGTH>(&mut writer, self.name);
        writer.u64(self.metadata_match).u64(self.metadata_write);
        writer.u32(self.config).u32(self.max_entries);
        writer.with(|out| self.properties.emit(out)).length_at(0);
    }
}
