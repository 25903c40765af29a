//! An entry is gone (OF13 clause 7.4.2).

use units::Duration;

use super::header::{begin, finish};
use super::multipart::{emit_duration, parse_duration};
use super::oxm::{emit_match, parse_match};
use super::{
    BadRequest, Cookie, DecodeError, ErrorKind, Fields, MessageType, TableId, TransactionId,
};
use crate::reader::Reader;

numbered! {
    /// Why an entry is gone (`ofp_flow_removed_reason`).
    pub enum FlowRemovedReason: u8 {
        /// No frame came for too long.
        IdleTimeout = 0,
        /// Its time is over.
        HardTimeout = 1,
        /// It was deleted.
        Delete = 2,
        /// The group that it uses was deleted.
        GroupDelete = 3,
    }
}

/// Says that an entry is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRemoved<'a> {
    /// What the controller wrote on the entry.
    pub cookie: Cookie,
    /// The entry's priority.
    pub priority: u16,
    /// Why it is gone.
    pub reason: FlowRemovedReason,
    /// Which table it was in.
    pub table: TableId,
    /// How long it was there.
    pub age: Duration,
    /// Its idle timeout in seconds.
    pub idle_timeout_s: u16,
    /// Its hard timeout in seconds.
    pub hard_timeout_s: u16,
    /// How many frames it matched.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
    /// Which frames it matched.
    pub matching: Fields<'a>,
}

impl<'a> FlowRemoved<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let cookie = Cookie(reader.u64()?);
        let priority = reader.u16()?;
        let reason = reader.u8()?;
        let reason = FlowRemovedReason::from_number(reason).ok_or(DecodeError::Value {
            field: "reason",
            value: u32::from(reason),
            kind: ErrorKind::BadRequest(BadRequest::BadType),
        })?;
        Ok(Self {
            cookie,
            priority,
            reason,
            table: TableId(reader.u8()?),
            age: parse_duration(&mut reader)?,
            idle_timeout_s: reader.u16()?,
            hard_timeout_s: reader.u16()?,
            packets: reader.u64()?,
            bytes: reader.u64()?,
            matching: parse_match(&mut reader)?,
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::FlowRemoved, transaction, out);
        message.u64(self.cookie.0).u16(self.priority);
        message.u8(self.reason.number()).u8(self.table.0);
        emit_duration(&mut message, self.age);
        message.u16(self.idle_timeout_s).u16(self.hard_timeout_s);
        message.u64(self.packets).u64(self.bytes);
        message.with(|out| emit_match(&self.matching, out));
        finish(&mut message);
    }
}
