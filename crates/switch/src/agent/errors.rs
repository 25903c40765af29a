//! Answers to what cannot be done, OF13 clause 7.4.4.

use wire::openflow::{ErrorKind, ErrorMessage, Header, Message, TransactionId};

use super::Agent;
use super::session::ConnectionId;

impl Agent {
    /// Answers a message that is refused, and counts it.
    pub(super) fn refuse(&mut self, id: ConnectionId, message: &[u8], kind: ErrorKind) {
        self.bad_messages += 1;
        let transaction = Header::parse(message).map_or(TransactionId(0), |it| it.transaction);
        let error = ErrorMessage::about(message, kind);
        self.reply(id, transaction, &Message::Error(error));
    }
}
