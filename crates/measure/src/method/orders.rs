//! Messages that a method sends to an agent, in whichever version was agreed on.
//!
//! Entries are kept in the words of OpenFlow 1.0, in which LOKO measures, and said in
//! those of 1.3 where that was agreed on: what 1.0 does to a tag that is not there
//! becomes one that is pushed first, and fields bring along what they presuppose
//! (OF13 clause 7.2.3.8).

use wire::ethernet::EtherType;
use wire::ipv4::PROTOCOL_UDP;
use wire::openflow::{
    self, FlowModCommand, Instruction, MatchField, QueueId, TableId, TransactionId,
};
use wire::openflow10::{self, Action, Match10};

/// The version of OpenFlow that messages are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// OpenFlow 1.0.
    V10,
    /// OpenFlow 1.3.
    V13,
}

/// An entry of a flow table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    pub matching: Match10,
    /// Which of several wins: the highest.
    pub priority: u16,
    /// What is done with them.
    pub actions: Vec<Action>,
}

impl Version {
    /// Returns the version that a header's first byte names, if it is one of ours.
    #[must_use]
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            openflow10::VERSION => Some(Self::V10),
            openflow::VERSION => Some(Self::V13),
            _ => None,
        }
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V10 => "OpenFlow 1.0",
            Self::V13 => "OpenFlow 1.3",
        }
    }

    /// Returns the order to do something with an entry.
    #[must_use]
    pub fn flow_mod(self, command: FlowModCommand, entry: &FlowEntry) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::V10 => openflow10::FlowMod {
                command,
                matching: entry.matching,
                priority: entry.priority,
                actions: openflow10::Actions::of(&entry.actions),
                ..openflow10::FlowMod::ADD
            }
            .emit(TransactionId(0), &mut bytes),
            Self::V13 => {
                let fields = widened_match(entry);
                let actions = widened_actions(&entry.actions);
                let instructions = [Instruction::ApplyActions(openflow::Actions::of(&actions))];
                let deletes = matches!(
                    command,
                    FlowModCommand::Delete | FlowModCommand::DeleteStrict
                );
                let instructions = match actions.is_empty() || deletes {
                    true => openflow::Instructions::EMPTY,
                    false => openflow::Instructions::of(&instructions),
                };
                openflow::FlowMod {
                    command,
                    priority: entry.priority,
                    matching: openflow::Fields::of(&fields),
                    instructions,
                    ..openflow::FlowMod::add(TableId(0))
                }
                .emit(TransactionId(0), &mut bytes);
            }
        }
        bytes
    }

    /// Returns the order to add an entry.
    #[must_use]
    pub fn addition(self, entry: &FlowEntry) -> Vec<u8> {
        self.flow_mod(FlowModCommand::Add, entry)
    }

    /// Returns the order to delete every entry.
    #[must_use]
    pub fn delete_all(self) -> Vec<u8> {
        self.flow_mod(FlowModCommand::Delete, &FlowEntry::EVERYTHING)
    }

    /// Returns a request for a barrier.
    #[must_use]
    pub fn barrier(self) -> Vec<u8> {
        match self {
            Self::V10 => self.plain(&openflow10::Message::BarrierRequest),
            Self::V13 => widened(&openflow::Message::BarrierRequest),
        }
    }

    /// Returns a message of version 1.0.
    fn plain(self, message: &openflow10::Message<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.emit(TransactionId(0), &mut bytes);
        bytes
    }
}

impl FlowEntry {
    /// Matches every frame and drops it.
    pub const EVERYTHING: Self = Self {
        matching: Match10::ANY,
        priority: 0,
        actions: Vec::new(),
    };
}

/// Returns a message of version 1.3.
pub(super) fn widened(message: &openflow::Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(TransactionId(0), &mut bytes);
    bytes
}

/// Returns a message of version 1.0.
pub(super) fn plain(message: &openflow10::Message<'_>) -> Vec<u8> {
    Version::V10.plain(message)
}

/// Puts a transaction number into a message.
pub(super) fn number(message: &mut [u8], transaction: u32) {
    if let Some(place) = message.get_mut(4..8) {
        place.copy_from_slice(&transaction.to_be_bytes());
    }
}

fn widened_match(entry: &FlowEntry) -> Vec<MatchField> {
    let mut matching = entry.matching;
    let sets_ports = entry
        .actions
        .iter()
        .any(|action| matches!(action, Action::SetTpSrc(_) | Action::SetTpDst(_)));
    let sets_network = entry.actions.iter().any(|action| {
        matches!(
            action,
            Action::SetNwSrc(_) | Action::SetNwDst(_) | Action::SetNwTos(_)
        )
    });
    let has_ports = matching.tp_src.is_some() || matching.tp_dst.is_some();
    if sets_ports || has_ports {
        matching.nw_proto = matching.nw_proto.or(Some(PROTOCOL_UDP));
    }
    if sets_network || matching.nw_proto.is_some() {
        matching.dl_type = matching.dl_type.or(Some(EtherType::IPV4));
    }
    matching.to_of13()
}

/// Frames here come without a tag, and their ports are those of UDP.
fn widened_actions(actions: &[Action]) -> Vec<openflow::Action> {
    use openflow::Action as Wide;
    let (mut wide, mut queue) = (Vec::new(), QueueId(0));
    for action in actions {
        if let Action::SetVlanVid(_) | Action::SetVlanPcp(_) | Action::StripVlan = action {
            wide.push(Wide::PushVlan(EtherType::VLAN));
        }
        action.to_of13(&mut queue, &mut wide);
    }
    wide.retain(|it| {
        !matches!(
            it,
            Wide::SetField(MatchField::TcpSrc(_) | MatchField::TcpDst(_))
        )
    });
    wide
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::table_setting::{Rewrite, TableSetting};

    /// What presupposes something brings it along, and what was said is kept.
    #[test]
    fn every_entry_of_the_plan_can_be_said_in_both_versions() {
        for setting in TableSetting::all(&[17]) {
            for entry in setting.entries() {
                let narrow = Version::V10.addition(&entry);
                let wide = Version::V13.addition(&entry);

                let (_, narrow) = openflow10::Message::parse(&narrow).unwrap();
                let (_, wide) = openflow::Message::parse(&wide).unwrap();
                let openflow10::Message::FlowMod(narrow) = narrow else {
                    panic!("{narrow:?}");
                };
                let openflow::Message::FlowMod(wide) = wide else {
                    panic!("{wide:?}");
                };
                assert_eq!(wide.matching.check(), Ok(()), "{setting:?}");
                assert_eq!(narrow.matching, entry.matching);
                assert_eq!(wide.priority, entry.priority);
                let has_tag = matches!(
                    setting.rewrite,
                    Rewrite::SetVlanId | Rewrite::SetVlanPcp | Rewrite::StripVlan
                );
                let instructions = wide.instructions.iter().count();
                assert_eq!(instructions, 1, "{has_tag}");
            }
        }
    }

    #[test]
    fn a_number_is_put_where_it_belongs() {
        let mut message = Version::V13.barrier();

        number(&mut message, 0x0102_0304);

        let header = openflow::Header::parse(&message).unwrap();
        assert_eq!(header.transaction, TransactionId(0x0102_0304));
    }
}
