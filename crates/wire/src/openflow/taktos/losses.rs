//! Which entries lost frames: the queue that they were to leave through was
//! full, or the port down.

use crate::openflow::{Cookie, DecodeError, Element, Fields, TableId};
use crate::reader::Reader;
use crate::writer::Writer;

const FIXED_BYTES: usize = 24;

/// What one entry lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryLosses<'a> {
    /// Its table.
    pub table: TableId,
    /// Its priority.
    pub priority: u16,
    /// Its cookie.
    pub cookie: Cookie,
    /// Frames that were to leave on its behalf, and were dropped at the port.
    pub dropped: u64,
    /// Its match, without padding.
    pub matching: Fields<'a>,
}

impl<'a> Element<'a> for EntryLosses<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = usize::from(reader.u16()?);
        let table = TableId(reader.u8()?);
        reader.skip(1)?;
        let priority = reader.u16()?;
        reader.skip(2)?;
        let (cookie, dropped) = (Cookie(reader.u64()?), reader.u64()?);
        let (fields, rest) = length
            .checked_sub(FIXED_BYTES)
            .and_then(|length| reader.rest().split_at_checked(length))
            .ok_or(DecodeError::Length)?;
        let losses = Self {
            table,
            priority,
            cookie,
            dropped,
            matching: Fields::from_bytes(fields),
        };
        Ok((losses, rest))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut writer = Writer::new(out);
        writer.u16(0).u8(self.table.0).zeros::<1>();
        writer.u16(self.priority).zeros::<2>();
        writer.u64(self.cookie.0).u64(self.dropped);
        self.matching.emit(out);
        let length = u16::try_from(out.len() - start).expect("a match is short");
        out[start..start + 2].copy_from_slice(&length.to_be_bytes());
    }
}
