//! The controller of a device under test that asks about every new flow: it answers
//! each frame that no entry matches with an entry for its two stations and with the
//! frame itself, at once. What a flow's first frame waits is then the device's own
//! affair (S3-4). When the table is full it is emptied: who sends again is asked about
//! again.

use std::collections::BTreeMap;

use wire::ethernet::{self, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, BufferId, ErrorKind, Fields, FlowMod, FlowModCommand, FlowModFailed,
    Instruction, Instructions, MatchField, Message, PacketIn, PacketOut, PortNumber, TableId,
    TransactionId,
};

/// Above the entry that hands over whatever nothing else matches.
const PRIORITY: u16 = 1;
/// What it sends has no number that a tester uses.
const TRANSACTION: TransactionId = TransactionId(0xA77E_0000);
const TABLE_FULL: ErrorKind = ErrorKind::FlowModFailed(FlowModFailed::TableFull);
/// The most stations that it remembers.
const MOST_STATIONS: usize = 1 << 17;

/// The controller. It remembers where it saw each station, as a bridge does.
#[derive(Debug, Default)]
pub struct Attendant {
    seen_at: BTreeMap<MacAddress, PortNumber>,
}

/// Returns the orders that empty the table but for the entry of the beginning.
fn begin_again() -> Vec<u8> {
    let mut bytes = Vec::new();
    let delete = FlowMod {
        command: FlowModCommand::Delete,
        ..FlowMod::add(TableId::ALL)
    };
    delete.emit(TRANSACTION, &mut bytes);
    bytes.extend(Attendant::greeting());
    bytes
}

impl Attendant {
    /// Returns what it tells a device that begins: to hand over what no entry matches.
    #[must_use]
    pub fn greeting() -> Vec<u8> {
        let actions = [Action::output(PortNumber::CONTROLLER)];
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        let mut bytes = Vec::new();
        let miss = FlowMod {
            priority: 0,
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        };
        miss.emit(TRANSACTION, &mut bytes);
        bytes
    }

    /// Returns the answer to a message of the device, empty if it needs none.
    pub fn answer(&mut self, message: &[u8]) -> Vec<u8> {
        match Message::parse(message) {
            Ok((_, Message::PacketIn(packet_in))) => self.decide(&packet_in).unwrap_or_default(),
            Ok((_, Message::Error(error))) if error.kind == TABLE_FULL => begin_again(),
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    fn decide(&mut self, packet_in: &PacketIn<'_>) -> Option<Vec<u8>> {
        let (header, _) = ethernet::Header::parse(packet_in.data).ok()?;
        let in_port = packet_in.in_port()?;
        if self.seen_at.len() < MOST_STATIONS {
            self.seen_at.insert(header.source, in_port);
        }
        let mut answer = Vec::new();
        let known = self.seen_at.get(&header.destination).copied();
        let out = known.unwrap_or(PortNumber::FLOOD);
        let actions = [Action::output(out)];
        if known.is_some() {
            let pair = [
                MatchField::InPort(in_port),
                MatchField::EthSrc(Masked::exact(header.source)),
                MatchField::EthDst(Masked::exact(header.destination)),
            ];
            let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
            let entry = FlowMod {
                priority: PRIORITY,
                matching: Fields::of(&pair),
                instructions: Instructions::of(&instructions),
                ..FlowMod::add(TableId(0))
            };
            entry.emit(TRANSACTION, &mut answer);
        }
        let frame = PacketOut {
            buffer: packet_in.buffer,
            in_port,
            actions: Actions::of(&actions),
            data: match packet_in.buffer {
                BufferId::NONE => packet_in.data,
                BufferId(_) => &[],
            },
        };
        frame.emit(TRANSACTION, &mut answer);
        Some(answer)
    }
}
