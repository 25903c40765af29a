//! Takes over entries that switches have from before they connected.

use units::Instant;
use wire::openflow::multipart::{FlowStatistics, FlowStatisticsRequest};
use wire::openflow::{Action, DatapathId, Instruction, MatchField, PortNumber, TableId};

use crate::mac_table::Station;
use crate::session::ConnectionId;
use crate::view::View;

use super::flood_tree::FloodTree;
use super::{COOKIE, COOKIE_MASK, Deletion, Forwarding, MAX_SENDERS, emit_deletion, is_learned};

impl Forwarding {
    /// Notes that the switch at a connection may have entries from before: they stay until
    /// it has said which.
    pub fn expect_entries(&mut self, owner: ConnectionId) {
        self.awaited.insert(owner, false);
    }

    /// Returns whether a switch is to be asked for its entries, and takes it for asked.
    pub fn take_unasked(&mut self, owner: ConnectionId) -> bool {
        let asked = self.awaited.get_mut(&owner);
        asked.is_some_and(|asked| !std::mem::replace(asked, true))
    }

    /// Takes over an entry that a switch has. One that contradicts what was seen since is
    /// deleted, with all others to the same station.
    pub fn adopt(
        &mut self,
        now: Instant,
        owner: ConnectionId,
        entry: &FlowStatistics<'_>,
        out: &mut Vec<u8>,
    ) {
        let read = is_learned(entry.cookie).then(|| Adopted::read(entry));
        let Some(entry) = read.flatten() else {
            return;
        };
        let mut table = self.table.at(owner);
        // Who sends comes in there, unless it was seen elsewhere since.
        if table.port_of(entry.source).is_none() {
            table.learn(now, entry.source, entry.input);
        }
        if table.port_of(entry.destination).is_none() {
            table.learn(now, entry.destination, entry.output);
        }
        if table.lead_to(now, entry.destination) != Some(entry.output) {
            emit_deletion(Some(entry.destination.mac), out);
        } else if self.senders.len() < MAX_SENDERS {
            self.senders.insert(entry.source.mac);
        }
    }

    /// Notes that a switch has said all that it has.
    pub fn adopted(&mut self, owner: ConnectionId) {
        self.is_unsifted |= self.awaited.remove(&owner).is_some();
    }

    /// Once all switches have said what they have: forgets what does not lead along the
    /// tree, and returns what they have to delete.
    pub fn sift(
        &mut self,
        view: &View,
        connected: &[(DatapathId, ConnectionId)],
    ) -> Vec<(DatapathId, Deletion)> {
        if !self.awaited.is_empty() || !std::mem::take(&mut self.is_unsifted) {
            return Vec::new();
        }
        self.accounted
            .extend(connected.iter().map(|(_, owner)| *owner));
        let forgotten = self.forget_strays(view, &FloodTree::of(view), connected);
        self.deletions(&forgotten, connected)
    }
}

/// Returns the question for all entries of this application.
#[must_use]
pub const fn question() -> FlowStatisticsRequest<'static> {
    let mut question = FlowStatisticsRequest::all(TableId(0));
    (question.cookie, question.cookie_mask) = (COOKIE, COOKIE_MASK);
    question
}

/// An entry of this application, as a switch reports it.
struct Adopted {
    source: Station,
    destination: Station,
    input: PortNumber,
    output: PortNumber,
}

impl Adopted {
    /// Reads an entry; none if this application could not have made it.
    fn read(entry: &FlowStatistics<'_>) -> Option<Self> {
        let (mut input, mut source, mut destination, mut vlan) = (None, None, None, 0);
        for field in entry.matching.iter() {
            match field.ok()? {
                MatchField::InPort(port) => input = Some(port),
                MatchField::EthSrc(mac) => source = Some(mac.value),
                MatchField::EthDst(mac) => destination = Some(mac.value),
                MatchField::VlanVid(tag) => vlan = tag.value.id().unwrap_or(0),
                _ => return None,
            }
        }
        let mut instructions = entry.instructions.iter();
        let Instruction::ApplyActions(actions) = instructions.next()?.ok()? else {
            return None;
        };
        let Action::Output { port, .. } = actions.iter().next()?.ok()? else {
            return None;
        };
        let station = |mac| Station { vlan, mac };
        Some(Self {
            source: station(source?),
            destination: station(destination?),
            input: input?,
            output: port,
        })
    }
}
