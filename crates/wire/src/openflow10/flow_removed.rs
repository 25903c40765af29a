//! An entry is gone (OF10 section 5.4.2).

use units::Duration;

use super::header::{begin, finish};
use super::{Match10, MessageType};
use crate::openflow::multipart::{emit_duration, parse_duration};
use crate::openflow::{
    BadRequest, Cookie, DecodeError, ErrorKind, FlowRemovedReason, TransactionId,
};
use crate::reader::Reader;

/// Says that an entry is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRemoved {
    /// Which frames it matched.
    pub matching: Match10,
    /// What the controller wrote on the entry.
    pub cookie: Cookie,
    /// The entry's priority.
    pub priority: u16,
    /// Why it is gone. That a group was deleted is no reason in this version.
    pub reason: FlowRemovedReason,
    /// How long it was there.
    pub age: Duration,
    /// Its idle timeout in seconds.
    pub idle_timeout_s: u16,
    /// How many frames it matched.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
}

impl FlowRemoved {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let matching = Match10::parse(&mut reader)?;
        let cookie = Cookie(reader.u64()?);
        let priority = reader.u16()?;
        let reason = reader.u8()?;
        let known = FlowRemovedReason::from_number(reason);
        reader.skip(1)?;
        let age = parse_duration(&mut reader)?;
        let idle_timeout_s = reader.u16()?;
        reader.skip(2)?;
        Ok(Self {
            matching,
            cookie,
            priority,
            reason: known.ok_or(DecodeError::Value {
                field: "reason",
                value: u32::from(reason),
                kind: ErrorKind::BadRequest(BadRequest::BadType),
            })?,
            age,
            idle_timeout_s,
            packets: reader.u64()?,
            bytes: reader.u64()?,
        })
    }

    /// Appends the message to `out`.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::FlowRemoved, transaction, out);
        self.matching.emit(&mut message);
        message.u64(self.cookie.0).u16(self.priority);
        message.u8(self.reason.number()).zeros::<1>();
        emit_duration(&mut message, self.age);
        message.u16(self.idle_timeout_s).zeros::<2>();
        finish(message.u64(self.packets).u64(self.bytes));
    }
}
