//! How a switch treats fragments and the controller (OF13 clause 7.3.2).

use super::header::{begin, finish};
use super::{
    ControllerLength, DecodeError, ErrorKind, MessageType, SwitchConfigFailed, TransactionId,
};
use crate::reader::Reader;

numbered! {
    /// What a switch does with IP fragments (`ofp_config_flags`).
    pub enum FragmentHandling: u16 {
        /// Nothing special.
        Normal = 0,
        /// Drops them.
        Drop = 1,
        /// Puts them together.
        Reassemble = 2,
    }
}

/// The configuration of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// What it does with IP fragments.
    pub fragments: FragmentHandling,
    /// How much of a frame that no entry matches the controller gets.
    pub miss_send_length: ControllerLength,
}

impl SwitchConfig {
    /// Appends the question for the configuration to `out`.
    pub fn emit_request(transaction: TransactionId, out: &mut Vec<u8>) {
        begin(MessageType::GetConfigRequest, transaction, out);
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let flags = reader.u16()?;
        let fragments = FragmentHandling::from_number(flags).ok_or(DecodeError::Value {
            field: "flags",
            value: u32::from(flags),
            kind: ErrorKind::SwitchConfigFailed(SwitchConfigFailed::BadFlags),
        })?;
        Ok(Self {
            fragments,
            miss_send_length: ControllerLength(reader.u16()?),
        })
    }

    /// Appends the answer to the question to `out`.
    pub fn emit_reply(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::GetConfigReply, transaction, out);
    }

    /// Appends the order to take this configuration to `out`.
    pub fn emit_set(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::SetConfig, transaction, out);
    }

    fn emit(&self, kind: MessageType, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(kind, transaction, out);
        message.u16(self.fragments.number());
        finish(message.u16(self.miss_send_length.0));
    }
}
