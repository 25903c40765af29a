//! Which messages come unasked (OF13 clause 7.3.10).

use super::header::{begin, finish};
use super::{
    DecodeError, FlowRemovedReason, MessageType, PacketInReason, PortStatusReason, TransactionId,
};
use crate::reader::Reader;

/// Which messages a controller gets unasked: a bit for each reason. The first
/// of each pair counts for a master or an equal, the second for a slave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncConfig {
    /// Bits of [`PacketInReason`].
    pub packet_in: [u32; 2],
    /// Bits of [`PortStatusReason`].
    pub port_status: [u32; 2],
    /// Bits of [`FlowRemovedReason`].
    pub flow_removed: [u32; 2],
}

impl AsyncConfig {
    /// What holds until something else is asked for: everything but frames of
    /// no valid time to live for a master, only changes of ports for a slave
    /// (OF13 clause 6.3.4).
    pub const DEFAULT: Self = Self {
        packet_in: [
            1 << PacketInReason::NoMatch.number() | 1 << PacketInReason::Action.number(),
            0,
        ],
        port_status: [
            1 << PortStatusReason::Add.number()
                | 1 << PortStatusReason::Delete.number()
                | 1 << PortStatusReason::Modify.number(),
            1 << PortStatusReason::Add.number()
                | 1 << PortStatusReason::Delete.number()
                | 1 << PortStatusReason::Modify.number(),
        ],
        flow_removed: [
            1 << FlowRemovedReason::IdleTimeout.number()
                | 1 << FlowRemovedReason::HardTimeout.number()
                | 1 << FlowRemovedReason::Delete.number()
                | 1 << FlowRemovedReason::GroupDelete.number(),
            0,
        ],
    };

    /// Appends the question for this to `out`.
    pub fn emit_request(transaction: TransactionId, out: &mut Vec<u8>) {
        begin(MessageType::GetAsyncRequest, transaction, out);
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            packet_in: [reader.u32()?, reader.u32()?],
            port_status: [reader.u32()?, reader.u32()?],
            flow_removed: [reader.u32()?, reader.u32()?],
        })
    }

    /// Appends the answer to the question to `out`.
    pub fn emit_reply(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::GetAsyncReply, transaction, out);
    }

    /// Appends the order to do so to `out`.
    pub fn emit_set(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        self.emit(MessageType::SetAsync, transaction, out);
    }

    fn emit(&self, kind: MessageType, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(kind, transaction, out);
        for [master, slave] in [self.packet_in, self.port_status, self.flow_removed] {
            message.u32(master).u32(slave);
        }
        finish(&mut message);
    }
}
