//! Reactive forwarding: frames follow where their destination was last seen.
//!
//! The switch hands over the first frame for each pair of hosts. Where its
//! destination is known, an entry is installed that forwards all that follow,
//! and the frame is sent on; where it is not, the frame is flooded. Flooding
//! follows a tree of the links that are up (from each switch with the lowest
//! datapath id, by number of links), so that no frame comes back; what is learned
//! on a tree leads along the tree. When the tree changes, everything learned is
//! forgotten and every entry deleted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wire::ethernet::{Header, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, BufferId, Cookie, DatapathId, Fields, FlowMod, Instruction, Instructions,
    MatchField, PacketIn, PacketOut, PortNumber, TableId, TransactionId,
};

use crate::mac_table::MacTable;
use crate::place::PortId;
use crate::session::ConnectionId;
use crate::view::{Carrier, SwitchId, View};

/// The cookie of all entries of this application.
const COOKIE: Cookie = Cookie(0x52 << 56);
const COOKIE_MASK: Cookie = Cookie(0xff << 56);
/// Below the flows that are admitted.
const PRIORITY: u16 = 100;
/// An entry that nobody uses goes, so that tables do not fill up with the past.
const IDLE_TIMEOUT_S: u16 = 60;

/// The application.
#[derive(Debug)]
pub struct Forwarding {
    table: MacTable,
    /// Where a switch that has links may flood to. The others may to all ports.
    flood_ports: BTreeMap<DatapathId, Vec<PortNumber>>,
}

impl Forwarding {
    /// Starts with nothing learned.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            table: MacTable::new(seed),
            flood_ports: BTreeMap::new(),
        }
    }

    /// Takes a frame and appends what its switch has to do. Returns whether it
    /// was not known that its source is there.
    #[inline]
    pub fn take(
        &mut self,
        owner: ConnectionId,
        at: PortId,
        packet_in: &PacketIn<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Ok((header, _)) = Header::parse(packet_in.data) else {
            return false;
        };
        if header.source.is_multicast() || header.destination.is_link_local() {
            return false;
        }
        let is_news = self.table.learn(owner, header.source, at.port);
        let known = match header.destination.is_multicast() {
            true => None,
            false => self.table.port(owner, header.destination),
        };
        match known {
            Some(port) if port == at.port => {}
            Some(port) => {
                emit_entry(&header, at.port, port, out);
                emit_frame(packet_in, at.port, &[Action::output(port)], out);
            }
            None => self.flood(at, packet_in, out),
        }
        is_news
    }

    /// Takes a change of the links or of a switch's ports: floods follow the new
    /// tree. Returns whether all that was learned is forgotten for it; then every
    /// switch has to be sent [`emit_forget`].
    pub fn change(&mut self, view: &View) -> bool {
        let flood_ports = flood_ports(view);
        if flood_ports == self.flood_ports {
            return false;
        }
        self.flood_ports = flood_ports;
        self.table.clear();
        true
    }

    fn flood(&self, at: PortId, packet_in: &PacketIn<'_>, out: &mut Vec<u8>) {
        let Some(ports) = self.flood_ports.get(&at.datapath) else {
            emit_frame(
                packet_in,
                at.port,
                &[Action::output(PortNumber::FLOOD)],
                out,
            );
            return;
        };
        let others = ports.iter().filter(|port| **port != at.port);
        let actions: Vec<Action> = others.map(|port| Action::output(*port)).collect();
        emit_frame(packet_in, at.port, &actions, out);
    }
}

/// Appends the order to delete all entries of this application.
pub fn emit_forget(out: &mut Vec<u8>) {
    let flow_mod = FlowMod {
        cookie: COOKIE,
        cookie_mask: COOKIE_MASK,
        ..FlowMod::delete(TableId(0))
    };
    flow_mod.emit(TransactionId(0), out);
}

fn emit_entry(header: &Header, input: PortNumber, output: PortNumber, out: &mut Vec<u8>) {
    let exact = |mac: MacAddress| Masked::exact(mac);
    let matching = [
        MatchField::InPort(input),
        MatchField::EthDst(exact(header.destination)),
        MatchField::EthSrc(exact(header.source)),
    ];
    let actions = [Action::output(output)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = FlowMod {
        cookie: COOKIE,
        priority: PRIORITY,
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

/// Returns, for each switch with a link, its ports that lead to no switch and
/// those whose link is on the tree.
fn flood_ports(view: &View) -> BTreeMap<DatapathId, Vec<PortNumber>> {
    let on_tree = tree_ports(view);
    let mut ports = BTreeMap::new();
    for switch in view.switches() {
        let trunks = switch
            .ports
            .iter()
            .map(|port| PortId::new(switch.datapath, port.number));
        let is_alone = trunks.clone().all(|port| view.is_access(port));
        if is_alone {
            continue;
        }
        let up = switch
            .ports
            .iter()
            .filter(|port| port.carrier == Carrier::Up);
        let open = up.map(|port| port.number).filter(|number| {
            let port = PortId::new(switch.datapath, *number);
            view.is_access(port) || on_tree.contains(&port)
        });
        ports.insert(switch.datapath, open.collect());
    }
    ports
}

/// Returns both ends of each link of the tree.
fn tree_ports(view: &View) -> BTreeSet<PortId> {
    let mut by_datapath: Vec<SwitchId> = view
        .switches()
        .iter()
        .filter_map(|switch| view.switch(switch.datapath))
        .collect();
    by_datapath.sort_by_key(|switch| view.switches()[switch.index()].datapath);
    let mut seen = vec![false; view.switches().len()];
    let mut ports = BTreeSet::new();
    for root in by_datapath {
        if std::mem::replace(&mut seen[root.index()], true) {
            continue;
        }
        let mut open = VecDeque::from([root]);
        while let Some(here) = open.pop_front() {
            let datapath = view.switches()[here.index()].datapath;
            for (output, next, input) in view.neighbours(here) {
                if std::mem::replace(&mut seen[next.index()], true) {
                    continue;
                }
                let far = view.switches()[next.index()].datapath;
                ports.extend([PortId::new(datapath, output), PortId::new(far, input)]);
                open.push_back(next);
            }
        }
    }
    ports
}
