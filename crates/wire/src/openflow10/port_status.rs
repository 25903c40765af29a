//! A port changed (OF10 section 5.4.3).

use super::header::{begin, finish};
use super::{MessageType, PortDescription};
use crate::openflow::{
    BadRequest, DecodeError, Element, ErrorKind, PortStatusReason, TransactionId,
};
use crate::reader::Reader;

/// Says that a port changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortStatus {
    /// How it changed.
    pub reason: PortStatusReason,
    /// What it is now.
    pub port: PortDescription,
}

impl PortStatus {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let reason = reader.u8()?;
        let reason = PortStatusReason::from_number(reason).ok_or(DecodeError::Value {
            field: "reason",
            value: u32::from(reason),
            kind: ErrorKind::BadRequest(BadRequest::BadType),
        })?;
        reader.skip(7)?;
        let (port, _) = PortDescription::parse(reader.rest())?;
        Ok(Self { reason, port })
    }

    /// Appends the message to `out`.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::PortStatus, transaction, out);
        message.u8(self.reason.number()).zeros::<7>();
        message.with(|out| self.port.emit(out));
        finish(&mut message);
    }
}
