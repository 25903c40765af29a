//! How a switch treats fragments and the controller (OF10 section 5.3.2).

use super::MessageType;
use super::header::{begin, finish};
use crate::openflow::{ControllerLength, DecodeError, TransactionId};
use crate::reader::Reader;

/// The configuration of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// What it does with IP fragments, as a number
    /// ([`FragmentHandling`](crate::openflow::FragmentHandling)): this version
    /// has no error for one that means nothing.
    pub flags: u16,
    /// How much of a frame that no entry matches the controller gets.
    pub miss_send_length: ControllerLength,
}

impl SwitchConfig {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            flags: reader.u16()?,
            miss_send_length: ControllerLength(reader.u16()?),
        })
    }

    /// Appends the answer to the question for it to `out`.
    pub fn emit_reply(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::GetConfigReply, transaction, out);
    }

    /// Appends the order to take this configuration to `out`.
    pub fn emit_set(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::SetConfig, transaction, out);
    }

    fn emit(&self, kind: MessageType, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(kind, transaction, out);
        finish(message.u16(self.flags).u16(self.miss_send_length.0));
    }
}
