//! Changing a table (OF13 clause 7.3.3).

use super::header::{begin, finish};
use super::{DecodeError, MessageType, TableId, TransactionId};
use crate::reader::Reader;

/// Changes a table. Version 1.3 knows no configuration to change any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableMod {
    /// Which table.
    pub table: TableId,
    /// The new configuration.
    pub config: u32,
}

impl TableMod {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        let config = reader.u32()?;
        Ok(Self { table, config })
    }

    /// Appends the message to `out`.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::TableMod, transaction, out);
        finish(message.u8(self.table.0).zeros::<3>().u32(self.config));
    }
}
