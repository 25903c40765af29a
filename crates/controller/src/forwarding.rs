//! Reactive forwarding: frames follow where their destination was last seen.
//!
//! The switch hands over the first frame for each pair of stations, that is of
//! addresses in a VLAN. Where its destination is known, an entry is installed that
//! forwards all that follow, and the frame is sent on; where it is not, the frame is
//! flooded. Flooding follows a tree of the links that are up (`flood_tree`), so
//! that no frame comes back; what is learned on a tree leads along the tree.
//!
//! When the tree changes, what still leads along it stays: where a station is known
//! from the port at which it is no other switch's, and a switch that knows the next
//! port on the way there goes on. All else is forgotten, and its entries are deleted.
//! Entries that a switch has when it connects are taken over in the same way.
//! A station that appears elsewhere is forgotten wherever it was known. Entries to a
//! station that makes room for another one are deleted: what a switch forwards is
//! always known here.
//!
//! # Left out
//!
//! Frames are flooded to all ports, whatever their VLAN: which port belongs to which
//! is not known here.

mod adoption;
mod flood_tree;

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;
use wire::ethernet::{Header, MacAddress};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    Action, Actions, BufferId, Cookie, DatapathId, Fields, FlowMod, Instruction, Instructions,
    MatchField, PacketIn, PacketOut, PortNumber, TableId, TransactionId,
};

use crate::mac_table::{AtSwitch, Learned, MacTable, Station};
use crate::packet_in_classes::PUNT_WINDOW;
use crate::place::{LinkEnds, PortId};
use crate::priority;
use crate::session::ConnectionId;
use crate::view::{Carrier, SwitchId, View};

pub use adoption::question;
use flood_tree::{FloodPorts, FloodTree};

/// The cookie of all entries of this application.
const COOKIE: Cookie = Cookie(0x52 << 56);
const COOKIE_MASK: Cookie = Cookie(0xff << 56);
/// An entry that nobody uses goes, so that tables do not fill up with the past.
const IDLE_TIMEOUT_S: u16 = 60;

/// How many frames of hosts at one switch with links are flooded within
/// [`PUNT_WINDOW`]: each occupies all other switches.
pub const MAX_FLOODS: u32 = 200;
/// The most senders that are remembered.
pub const MAX_SENDERS: usize = 65_536;
/// The most stations whose entries are deleted one by one at a switch when the tree
/// changes; if there are more, all entries are.
const MAX_DELETIONS: usize = 64;

#[derive(Debug)]
pub struct Forwarding {
    table: MacTable,
    /// The connections whose switches have no entries but those that the table
    /// accounts for.
    accounted: BTreeSet<ConnectionId>,
    /// The connections whose switches may have entries from before, and whether they were
    /// asked for them.
    awaited: BTreeMap<ConnectionId, bool>,
    /// Whether entries were taken over that may not lead along the tree.
    is_unsifted: bool,
    /// From whom entries forward; beyond [`MAX_SENDERS`] nobody knows.
    senders: BTreeSet<MacAddress>,
    /// The switches that have links. The others may flood to all ports, as often
    /// as they like: that reaches nobody else.
    floods: BTreeMap<DatapathId, Floods>,
}

/// What one switch with links may flood.
#[derive(Debug)]
struct Floods {
    ports: FloodPorts,
    /// How many frames of hosts were flooded since.
    spent: u32,
    since: Instant,
}

/// The entries that a switch is to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    All,
    To(BTreeSet<MacAddress>),
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether it was not known that its source is there.
    pub is_news: bool,
    /// Whether it would have been flooded, and was one too many.
    pub is_dropped: bool,
    /// Whether its source went short of room.
    pub shortage: Shortage,
}

/// Whether stations of a port go short of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    None,
    /// One was not learned, or another one of which somebody has heard made room.
    Known,
    /// The same, which nobody was told of for a while.
    News,
}

impl Forwarding {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            table: MacTable::new(seed),
            accounted: BTreeSet::new(),
            awaited: BTreeMap::new(),
            is_unsifted: false,
            senders: BTreeSet::new(),
            floods: BTreeMap::new(),
        }
    }

    /// Takes a frame of a station that may be forwarded, and appends what its
    /// switch has to do.
    #[inline]
    pub fn take(
        &mut self,
        now: Instant,
        owner: ConnectionId,
        at: PortId,
        header: &Header,
        packet_in: &PacketIn<'_>,
        out: &mut Vec<u8>,
    ) -> Taken {
        let source = Station::of(header.source, header.vlan);
        let mut table = self.table.at(owner);
        let learned = table.learn(now, source, at.port);
        let shortage = make_room(now, learned, &mut table, source, at.port, out);
        let known = match header.destination.is_multicast() {
            true => None,
            false => table.lead_to(now, Station::of(header.destination, header.vlan)),
        };
        let mut is_dropped = false;
        match known {
            Some(port) if port == at.port => {}
            Some(port) => {
                if self.senders.len() < MAX_SENDERS {
                    self.senders.insert(source.mac);
                }
                emit_entry(header, at.port, port, out);
                emit_frame(packet_in, at.port, &[Action::output(port)], out);
            }
            None => is_dropped = !self.flood(now, at, packet_in, out),
        }
        Taken {
            is_news: matches!(learned, Learned::Found { .. } | Learned::Moved),
            is_dropped,
            shortage,
        }
    }

    /// Returns whether entries may forward what comes from this address. It is taken to be
    /// the end of that: they have to be [deleted](emit_silence).
    pub fn take_sender(&mut self, mac: MacAddress) -> bool {
        self.senders.len() >= MAX_SENDERS || self.senders.remove(&mac)
    }

    /// Forgets what was learned. Entries stay where they are.
    pub fn begin_anew(&mut self) {
        self.table.clear();
        self.accounted.clear();
    }

    /// Forgets what was learned over a connection that is no more.
    pub fn close(&mut self, owner: ConnectionId) {
        self.table.close(owner);
        self.accounted.remove(&owner);
        self.awaited.remove(&owner);
    }

    /// Forgets a station at a switch. Returns whether it was known there; then the
    /// entries to it have to be deleted.
    pub fn forget(&mut self, owner: ConnectionId, station: Station) -> bool {
        self.table.forget(owner, station)
    }

    /// Takes a change of the links or of a switch's ports: floods follow the new
    /// tree, and what does not lead along it is forgotten. Returns what connected
    /// switches have to delete.
    pub fn change(
        &mut self,
        now: Instant,
        view: &View,
        connected: &[(DatapathId, ConnectionId)],
    ) -> Vec<(DatapathId, Deletion)> {
        let tree = FloodTree::of(view);
        let ports = tree.flood_ports(view);
        let is_same = ports.len() == self.floods.len()
            && ports.iter().all(|(datapath, ports)| {
                let known = self.floods.get(datapath);
                known.is_some_and(|known| known.ports == *ports)
            });
        if is_same {
            return Vec::new();
        }
        let forgotten = self.forget_strays(view, &tree, connected);
        let floods = ports.into_iter().map(|(datapath, ports)| {
            let floods = Floods {
                ports,
                spent: 0,
                since: now,
            };
            (datapath, floods)
        });
        self.floods = floods.collect();
        self.deletions(&forgotten, connected)
    }

    /// Returns what connected switches have to delete of what was forgotten. Of those
    /// that may have other entries as well, all have to be, unless they are asked for.
    fn deletions(
        &mut self,
        forgotten: &BTreeMap<ConnectionId, BTreeSet<MacAddress>>,
        connected: &[(DatapathId, ConnectionId)],
    ) -> Vec<(DatapathId, Deletion)> {
        let before = std::mem::take(&mut self.accounted);
        self.accounted
            .extend(connected.iter().map(|(_, owner)| *owner));
        let deletions = connected.iter().map(|(datapath, owner)| {
            let stations = forgotten.get(owner).cloned().unwrap_or_default();
            let is_known = before.contains(owner) || self.awaited.contains_key(owner);
            let deletion = match is_known && stations.len() <= MAX_DELETIONS {
                true => Deletion::To(stations),
                false => Deletion::All,
            };
            (*datapath, deletion)
        });
        let nothing = Deletion::To(BTreeSet::new());
        deletions
            .filter(|(_, deletion)| *deletion != nothing)
            .collect()
    }

    /// Forgets what does not lead along a tree. Returns it by connection.
    fn forget_strays(
        &mut self,
        view: &View,
        tree: &FloodTree,
        connected: &[(DatapathId, ConnectionId)],
    ) -> BTreeMap<ConnectionId, BTreeSet<MacAddress>> {
        let switches = connected.iter();
        let switches: BTreeMap<ConnectionId, (DatapathId, SwitchId)> = switches
            .filter_map(|(datapath, owner)| Some((*owner, (*datapath, view.switch(*datapath)?))))
            .collect();
        let homes = self.homes(view, &switches);
        let mut forgotten: BTreeMap<ConnectionId, BTreeSet<MacAddress>> = BTreeMap::new();
        self.table.retain(|owner, station, port| {
            let Some((datapath, switch)) = switches.get(&owner) else {
                return false;
            };
            let by = PortId::new(*datapath, port);
            let is_kept = homes.get(&station).is_some_and(|home| match home {
                Home::At(at) => *at == by || tree.leads(*switch, by, at_switch(view, *at, *switch)),
                Home::Unsure => false,
            });
            if !is_kept {
                forgotten.entry(owner).or_default().insert(station.mac);
            }
            is_kept
        });
        forgotten
    }

    /// Returns where stations are: at the ports that led, and lead, to no switch.
    fn homes(
        &self,
        view: &View,
        switches: &BTreeMap<ConnectionId, (DatapathId, SwitchId)>,
    ) -> BTreeMap<Station, Home> {
        let mut homes = BTreeMap::new();
        for (owner, station, port) in self.table.iter() {
            let Some((datapath, _)) = switches.get(&owner) else {
                continue;
            };
            let at = PortId::new(*datapath, port);
            let before = self.floods.get(datapath);
            let was_trunk = before.is_some_and(|floods| floods.ports.trunks.contains(&port));
            let has_carrier = view
                .port(at)
                .is_some_and(|port| port.carrier == Carrier::Up);
            if !was_trunk && has_carrier && view.is_access(at) {
                let home = homes.entry(station).or_insert(Home::At(at));
                if *home != Home::At(at) {
                    *home = Home::Unsure;
                }
            }
        }
        homes
    }

    /// Has floods keep off a link that was found until the next
    /// [`change`](Self::change).
    pub fn keep_off(&mut self, now: Instant, view: &View, link: LinkEnds) {
        for end in link.both() {
            let Some(switch) = view.switch(end.datapath) else {
                continue;
            };
            let known = self.floods.get(&end.datapath);
            let is_on_tree = |port: PortNumber| {
                let was_open = |floods: &Floods| {
                    let ports = &floods.ports;
                    ports.trunks.contains(&port) && ports.open.contains(&port)
                };
                port != end.port && known.is_some_and(was_open)
            };
            let ports = FloodPorts::of(view, &view.switches()[switch.index()], is_on_tree);
            let (spent, since) = known.map_or((0, now), |floods| (floods.spent, floods.since));
            let floods = Floods {
                ports,
                spent,
                since,
            };
            self.floods.insert(end.datapath, floods);
        }
    }

    /// Floods a frame. Returns whether it was within the budget of its switch.
    fn flood(
        &mut self,
        now: Instant,
        at: PortId,
        packet_in: &PacketIn<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(floods) = self.floods.get_mut(&at.datapath) else {
            let everywhere = [Action::output(PortNumber::FLOOD)];
            emit_frame(packet_in, at.port, &everywhere, out);
            return true;
        };
        if !floods.ports.trunks.contains(&at.port) && !floods.take(now) {
            return false;
        }
        let others = floods.ports.open.iter().filter(|port| **port != at.port);
        let actions: Vec<Action> = others.map(|port| Action::output(*port)).collect();
        emit_frame(packet_in, at.port, &actions, out);
        true
    }
}

/// Has a switch delete the entries to a station that is elsewhere now, or has made room
/// for another one. Returns whether stations go short.
fn make_room(
    now: Instant,
    learned: Learned,
    table: &mut AtSwitch<'_>,
    source: Station,
    port: PortNumber,
    out: &mut Vec<u8>,
) -> Shortage {
    match learned {
        Learned::Nothing | Learned::Found { instead: None } => return Shortage::None,
        Learned::Moved => {
            emit_deletion(Some(source.mac), out);
            return Shortage::None;
        }
        Learned::Found {
            instead: Some(other),
        } => {
            if other.is_led_to {
                emit_deletion(Some(other.mac), out);
            }
            if other.is_aged {
                return Shortage::None;
            }
        }
        Learned::Refused => {}
    }
    match table.is_to_tell(now, port) {
        true => Shortage::News,
        false => Shortage::Known,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    At(PortId),
    /// At several ports, or it was elsewhere before.
    Unsure,
}

/// Returns the switch of a port; `other` if it is not there any more.
fn at_switch(view: &View, port: PortId, other: SwitchId) -> SwitchId {
    view.switch(port.datapath).unwrap_or(other)
}

impl Deletion {
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::All => emit_forget(out),
            Self::To(stations) => {
                for station in stations {
                    emit_deletion(Some(*station), out);
                }
            }
        }
    }
}

impl Floods {
    /// Counts a frame of a host. Returns whether it may be flooded.
    fn take(&mut self, now: Instant) -> bool {
        if now.saturating_since(self.since) >= PUNT_WINDOW {
            self.since = now;
            self.spent = 0;
        }
        let is_within = self.spent < MAX_FLOODS;
        self.spent += u32::from(is_within);
        is_within
    }
}

/// Returns whether an entry with this cookie is one of this application.
#[must_use]
pub const fn is_learned(cookie: Cookie) -> bool {
    cookie.matches(COOKIE, COOKIE_MASK)
}

/// Appends the order to delete all entries of this application.
pub fn emit_forget(out: &mut Vec<u8>) {
    emit_deletion(None, out);
}

/// Appends the order to delete the entries of this application to an address, in
/// whatever VLAN, or all.
pub fn emit_deletion(to: Option<MacAddress>, out: &mut Vec<u8>) {
    let matching = to.map(|mac| MatchField::EthDst(Masked::exact(mac)));
    emit_delete(matching, out);
}

/// Appends the order to delete the entries of this application that forward what comes
/// from an address.
pub fn emit_silence(from: MacAddress, out: &mut Vec<u8>) {
    emit_delete(Some(MatchField::EthSrc(Masked::exact(from))), out);
}

fn emit_delete(matching: Option<MatchField>, out: &mut Vec<u8>) {
    let flow_mod = FlowMod {
        cookie: COOKIE,
        cookie_mask: COOKIE_MASK,
        matching: Fields::of(matching.as_slice()),
        ..FlowMod::delete(TableId(0))
    };
    flow_mod.emit(TransactionId(0), out);
}

fn emit_entry(header: &Header, input: PortNumber, output: PortNumber, out: &mut Vec<u8>) {
    let exact = |mac: MacAddress| Masked::exact(mac);
    let tag = header.vlan.map(|tag| VlanMatch::tagged(tag.id));
    let matching = [
        MatchField::InPort(input),
        MatchField::EthDst(exact(header.destination)),
        MatchField::EthSrc(exact(header.source)),
        MatchField::VlanVid(Masked::exact(tag.unwrap_or(VlanMatch::UNTAGGED))),
    ];
    let actions = [Action::output(output)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = FlowMod {
        cookie: COOKIE,
        priority: priority::REACTIVE_FORWARDING,
        idle_timeout_s: IDLE_TIMEOUT_S,
        matching: Fields::of(&matching),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(0), out);
}

/// Appends the order to send the frame on, from where the switch keeps it or
/// as it came.
fn emit_frame(packet_in: &PacketIn<'_>, input: PortNumber, actions: &[Action], out: &mut Vec<u8>) {
    let data = match packet_in.buffer {
        BufferId::NONE => packet_in.data,
        _ => &[],
    };
    let packet_out = PacketOut {
        buffer: packet_in.buffer,
        in_port: input,
        actions: Actions::of(actions),
        data,
    };
    packet_out.emit(TransactionId(0), out);
}

#[cfg(test)]
mod tests;
