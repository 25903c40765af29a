//! Which of several controllers may change things (OF13 clause 7.3.9).

use super::header::{begin, finish};
use super::{DecodeError, ErrorKind, MessageType, RoleRequestFailed, TransactionId};
use crate::reader::Reader;

numbered! {
    /// What a controller is to a switch (`ofp_controller_role`).
    pub enum Role: u32 {
        /// What it was; only in requests.
        NoChange = 0,
        /// One of several that may change everything.
        Equal = 1,
        /// The only one that may change things.
        Master = 2,
        /// One that may only look.
        Slave = 3,
    }
}

/// Asks for a role, or says which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleMessage {
    /// The role.
    pub role: Role,
    /// Counts the elections of a master, so that an old one cannot come back.
    pub generation: u64,
}

impl RoleMessage {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let role = reader.u32()?;
        let role = Role::from_number(role).ok_or(DecodeError::Value {
            field: "role",
            value: role,
            kind: ErrorKind::RoleRequestFailed(RoleRequestFailed::BadRole),
        })?;
        reader.skip(4)?;
        let generation = reader.u64()?;
        Ok(Self { role, generation })
    }

    /// Appends the request for the role to `out`.
    pub fn emit_request(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::RoleRequest, transaction, out);
    }

    /// Appends the answer to a request to `out`.
    pub fn emit_reply(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::RoleReply, transaction, out);
    }

    fn emit(&self, kind: MessageType, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(kind, transaction, out);
        message.u32(self.role.number()).zeros::<4>();
        finish(message.u64(self.generation));
    }
}
