//! What the specification does not know (OF10 section 5.5.4).

use super::MessageType;
use super::header::{begin, finish};
use crate::openflow::{DecodeError, TransactionId};
use crate::reader::Reader;

/// Says what the specification does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vendor<'a> {
    /// Who defines the message.
    pub vendor: u32,
    /// The message.
    pub data: &'a [u8],
}

impl<'a> Vendor<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            vendor: reader.u32()?,
            data: reader.rest(),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Vendor, transaction, out);
        finish(message.u32(self.vendor).bytes(self.data));
    }
}
