//! Answers to what cannot be done, OF13 clause 7.4.4.

use wire::openflow::{ErrorKind, ErrorMessage, Header, TransactionId};

use super::Agent;
use super::session::ConnectionId;

impl Agent {
    /// Answers a message that is refused, and counts it.
    pub(super) fn refuse(&mut self, id: ConnectionId, message: &[u8], kind: ErrorKind) {
        self.bad_messages += 1;
        let transaction = Header::parse(message).map_or(TransactionId(0), |it| it.transaction);
        if let Some(session) = self.sessions.get_mut(&id) {
            ErrorMessage::about(message, kind).emit(transaction, &mut session.sending);
        }
    }
}
