//! Signs of life (OF13 clauses 7.5.2 and 7.5.3).

use super::header::{begin, finish};
use super::{MessageType, TransactionId};

/// What a request carries and its reply carries back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo<'a> {
    /// Anything.
    pub data: &'a [u8],
}

impl Echo<'_> {
    /// Appends a request to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit_request(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::EchoRequest, transaction, out);
    }

    /// Appends a reply to `out`. It has the transaction of its request.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit_reply(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::EchoReply, transaction, out);
    }

    fn emit(&self, kind: MessageType, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(kind, transaction, out);
        finish(message.bytes(self.data));
    }
}
