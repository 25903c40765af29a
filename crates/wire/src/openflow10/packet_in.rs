//! A frame for the controller (OF10 section 5.4.1).

use super::header::{begin, finish};
use super::{MessageType, PortNumber};
use crate::openflow::{
    BadRequest, BufferId, DecodeError, ErrorKind, PacketInReason, TransactionId,
};
use crate::reader::Reader;

/// Hands a frame to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketIn<'a> {
    /// Where the switch keeps the frame.
    pub buffer: BufferId,
    /// How long the whole frame is.
    pub total_length: u16,
    /// The port at which it arrived.
    pub in_port: PortNumber,
    /// Why it comes. That its time to live is over is no reason in this
    /// version.
    pub reason: PacketInReason,
    /// The frame, or its beginning if the switch keeps it.
    pub data: &'a [u8],
}

impl<'a> PacketIn<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let buffer = BufferId(reader.u32()?);
        let total_length = reader.u16()?;
        let in_port = PortNumber(reader.u16()?);
        let reason = reader.u8()?;
        let known = PacketInReason::from_number(reason);
        reader.skip(1)?;
        Ok(Self {
            buffer,
            total_length,
            in_port,
            reason: known.ok_or(DecodeError::Value {
                field: "reason",
                value: u32::from(reason),
                kind: ErrorKind::BadRequest(BadRequest::BadType),
            })?,
            data: reader.rest(),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    #[inline]
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::PacketIn, transaction, out);
        message.u32(self.buffer.0).u16(self.total_length);
        message.u16(self.in_port.0);
        message.u8(self.reason.number()).zeros::<1>();
        finish(message.bytes(self.data));
    }
}
