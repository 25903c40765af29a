//! What a switch tells of frames and entries (OF10 section 5.4).

use super::super::statistics::FlowStatistics;
use super::super::{Action, Actions, FlowRemoved, Match10, PacketIn, PortNumber, PortStatus};
use crate::openflow::{
    self, Cookie, Fields, FlowRemovedReason, Instruction, Instructions, MatchField, PacketInReason,
    QueueId, Sequence, TableId, TransactionId, multipart,
};

/// The one table that version 1.0 knows of.
const TABLE: TableId = TableId(0);

impl<'a> PacketIn<'a> {
    /// Appends the message of version 1.3 that says the same.
    pub fn emit_of13(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let fields = [MatchField::InPort(self.in_port.to_of13())];
        let packet_in = openflow::PacketIn {
            buffer: self.buffer,
            total_length: self.total_length,
            reason: self.reason,
            table: TABLE,
            cookie: Cookie::NONE,
            fields: Sequence::of(&fields),
            data: self.data,
        };
        packet_in.emit(transaction, out);
    }

    /// Returns what version 1.0 can say of a packet-in.
    #[must_use]
    pub fn from_of13(wide: &openflow::PacketIn<'a>) -> Self {
        let in_port = wide.in_port().and_then(PortNumber::from_of13);
        Self {
            buffer: wide.buffer,
            total_length: wide.total_length,
            in_port: in_port.unwrap_or(PortNumber::NONE),
            reason: match wide.reason {
                PacketInReason::NoMatch => PacketInReason::NoMatch,
                PacketInReason::Action | PacketInReason::InvalidTtl => PacketInReason::Action,
            },
            data: wide.data,
        }
    }
}

impl FlowRemoved {
    /// Appends the message of version 1.3 that says the same.
    pub fn emit_of13(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let fields = self.matching.to_of13();
        let removed = openflow::FlowRemoved {
            cookie: self.cookie,
            priority: self.priority,
            reason: self.reason,
            table: TABLE,
            age: self.age,
            idle_timeout_s: self.idle_timeout_s,
            hard_timeout_s: 0,
            packets: self.packets,
            bytes: self.bytes,
            matching: Fields::of(&fields),
        };
        removed.emit(transaction, out);
    }

    /// Returns what version 1.0 can say of an entry that is gone.
    #[must_use]
    pub fn from_of13(wide: &openflow::FlowRemoved<'_>) -> Self {
        Self {
            matching: Match10::from_of13(&wide.matching),
            cookie: wide.cookie,
            priority: wide.priority,
            reason: match wide.reason {
                FlowRemovedReason::GroupDelete => FlowRemovedReason::Delete,
                reason @ (FlowRemovedReason::IdleTimeout
                | FlowRemovedReason::HardTimeout
                | FlowRemovedReason::Delete) => reason,
            },
            age: wide.age,
            idle_timeout_s: wide.idle_timeout_s,
            packets: wide.packets,
            bytes: wide.bytes,
        }
    }
}

impl PortStatus {
    /// Returns the same in version 1.3.
    #[must_use]
    pub fn to_of13(&self) -> openflow::PortStatus {
        openflow::PortStatus {
            reason: self.reason,
            port: self.port.to_of13(),
        }
    }
}

impl FlowStatistics<'_> {
    /// Says to `told` what version 1.3 would say of the entry.
    pub fn tell_of13(&self, told: impl FnOnce(&multipart::FlowStatistics<'_>)) {
        let fields = self.matching.to_of13();
        let (mut actions, mut queue) = (Vec::new(), QueueId(0));
        for action in self.actions.iter().map_while(Result::ok) {
            action.to_of13(&mut queue, &mut actions);
        }
        let instructions = [Instruction::ApplyActions(openflow::Actions::of(&actions))];
        told(&multipart::FlowStatistics {
            table: TABLE,
            age: self.age,
            priority: self.priority,
            idle_timeout_s: self.idle_timeout_s,
            hard_timeout_s: self.hard_timeout_s,
            flags: openflow::FlowModFlags::NONE,
            cookie: self.cookie,
            packets: self.packets,
            bytes: self.bytes,
            matching: Fields::of(&fields),
            instructions: match actions.is_empty() {
                true => Instructions::EMPTY,
                false => Instructions::of(&instructions),
            },
        });
    }
}

impl<'a> FlowStatistics<'a> {
    /// Returns what version 1.0 can say of an entry that does `actions`.
    #[must_use]
    pub fn from_of13(wide: &multipart::FlowStatistics<'_>, actions: &'a [Action]) -> Self {
        Self {
            table: wide.table,
            matching: Match10::from_of13(&wide.matching),
            age: wide.age,
            priority: wide.priority,
            idle_timeout_s: wide.idle_timeout_s,
            hard_timeout_s: wide.hard_timeout_s,
            cookie: wide.cookie,
            packets: wide.packets,
            bytes: wide.bytes,
            actions: Actions::of(actions),
        }
    }
}
