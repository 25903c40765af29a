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

use units::Instant;
use wire::ethernet::{Header, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, BufferId, Cookie, DatapathId, Fields, FlowMod, Instruction, Instructions,
    MatchField, PacketIn, PacketOut, PortNumber, TableId, TransactionId,
};

use crate::mac_table::MacTable;
use crate::place::{LinkEnds, PortId};
use crate::priority;
use crate::punts::PUNT_WINDOW;
use crate::session::ConnectionId;
use crate::view::{Carrier, Switch, SwitchId, View};

/// The cookie of all entries of this application.
const COOKIE: Cookie = Cookie(0x52 << 56);
const COOKIE_MASK: Cookie = Cookie(0xff << 56);
/// An entry that nobody uses goes, so that tables do not fill up with the past.
const IDLE_TIMEOUT_S: u16 = 60;

/// How many frames of hosts at one switch with links are flooded within
/// [`PUNT_WINDOW`]: each occupies all other switches.
pub const MAX_FLOODS: u32 = 200;

/// The application.
#[derive(Debug)]
pub struct Forwarding {
    table: MacTable,
    /// The switches that have links. The others may flood to all ports, as often
    /// as they like: that reaches nobody else.
    floods: BTreeMap<DatapathId, Floods>,
}

/// What one switch with links may flood.
#[derive(Debug)]
struct Floods {
    /// Where to.
    ports: FloodPorts,
    /// How many frames of hosts were flooded since.
    spent: u32,
    since: Instant,
}

/// The ports of one switch with links.
#[derive(Debug, PartialEq, Eq)]
struct FloodPorts {
    /// Those that lead to no switch, and those whose link is on the tree.
    open: Vec<PortNumber>,
    /// Those that lead to a switch.
    trunks: Vec<PortNumber>,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether it was not known that its source is there.
    pub is_news: bool,
    /// Whether it would have been flooded, and was one too many.
    pub is_dropped: bool,
}

impl Forwarding {
    /// Starts with nothing learned.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            table: MacTable::new(seed),
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
        let is_news = self.table.learn(owner, header.source, at.port);
        let known = match header.destination.is_multicast() {
            true => None,
            false => self.table.port(owner, header.destination),
        };
        let mut is_dropped = false;
        match known {
            Some(port) if port == at.port => {}
            Some(port) => {
                emit_entry(header, at.port, port, out);
                emit_frame(packet_in, at.port, &[Action::output(port)], out);
            }
            None => is_dropped = !self.flood(now, at, packet_in, out),
        }
        Taken {
            is_news,
            is_dropped,
        }
    }

    /// Forgets what was learned. Entries stay where they are.
    pub fn begin_anew(&mut self) {
        self.table.clear();
    }

    /// Takes a change of the links or of a switch's ports: floods follow the new
    /// tree. Returns whether all that was learned is forgotten for it; then every
    /// switch has to be sent [`emit_forget`].
    pub fn change(&mut self, now: Instant, view: &View) -> bool {
        let ports = flood_ports(view);
        let is_same = ports.len() == self.floods.len()
            && ports.iter().all(|(datapath, ports)| {
                let known = self.floods.get(datapath);
                known.is_some_and(|known| known.ports == *ports)
            });
        if is_same {
            return false;
        }
        let floods = ports.into_iter().map(|(datapath, ports)| {
            let floods = Floods {
                ports,
                spent: 0,
                since: now,
            };
            (datapath, floods)
        });
        self.floods = floods.collect();
        self.table.clear();
        true
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
            let ports = ports_of(view, &view.switches()[switch.index()], is_on_tree);
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

/// Returns where each switch with a link may flood to.
fn flood_ports(view: &View) -> BTreeMap<DatapathId, FloodPorts> {
    let on_tree = tree_ports(view);
    let mut ports = BTreeMap::new();
    for switch in view.switches() {
        let is_on_tree = |port| on_tree.contains(&PortId::new(switch.datapath, port));
        let found = ports_of(view, switch, is_on_tree);
        if !found.trunks.is_empty() {
            ports.insert(switch.datapath, found);
        }
    }
    ports
}

/// Returns where a switch may flood to, given which of its links are on the tree.
fn ports_of(view: &View, switch: &Switch, is_on_tree: impl Fn(PortNumber) -> bool) -> FloodPorts {
    let (mut open, mut trunks) = (Vec::new(), Vec::new());
    for port in &switch.ports {
        if port.carrier == Carrier::Down {
            continue;
        }
        let link = port.link.map(|link| &view.links()[link.index()]);
        let is_trunk = link.is_some_and(|link| link.carrier == Carrier::Up);
        if is_trunk {
            trunks.push(port.number);
        }
        if !is_trunk || is_on_tree(port.number) {
            open.push(port.number);
        }
    }
    FloodPorts { open, trunks }
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

#[cfg(test)]
mod tests {
    use wire::ethernet::EtherType;
    use wire::openflow::{Message, PacketInReason};

    use super::*;
    use crate::path::fixture::{ACCESS, access, network};

    #[test]
    fn floods_keep_off_a_link_that_closes_a_circle_until_they_follow_the_links() {
        let mut forwarding = Forwarding::new(1);
        forwarding.change(Instant::ZERO, &network(3, &[(1, 2), (2, 3)]));
        let ring = network(3, &[(1, 2), (2, 3), (3, 1)]);
        let closing = ring.links()[2].ends;

        forwarding.keep_off(Instant::ZERO, &ring, closing);
        let before = flooded(&mut forwarding, 1);
        forwarding.change(Instant::ZERO, &ring);
        let after = flooded(&mut forwarding, 1);

        let closed = closing.both().map(|end| end.port);
        assert!(
            before.iter().all(|port| !closed.contains(port)),
            "{before:?}"
        );
        assert_eq!(before, [PortNumber(1)]);
        // From switch 1, both its links are on the tree of the ring.
        assert_eq!(after, [PortNumber(1), PortNumber(2)]);
    }

    /// Returns where a frame of the host at a switch is flooded to.
    fn flooded(forwarding: &mut Forwarding, switch: u64) -> Vec<PortNumber> {
        let header = Header {
            destination: MacAddress::BROADCAST,
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            vlan: None,
            ether_type: EtherType::ARP,
        };
        let mut frame = Vec::new();
        header.emit(&mut frame);
        let fields = [MatchField::InPort(PortNumber(ACCESS))];
        let packet_in = PacketIn {
            buffer: BufferId::NONE,
            total_length: 14,
            reason: PacketInReason::NoMatch,
            table: TableId(0),
            cookie: Cookie(0),
            fields: Fields::of(&fields),
            data: &frame,
        };
        let (mut out, owner) = (Vec::new(), ConnectionId(switch));
        let at = access(switch);
        forwarding.take(Instant::ZERO, owner, at, &header, &packet_in, &mut out);
        let (_, message) = Message::parse(&out).unwrap();
        let Message::PacketOut(packet_out) = message else {
            panic!("{message:?}");
        };
        let outputs = packet_out
            .actions
            .iter()
            .map(|action| match action.unwrap() {
                Action::Output { port, .. } => port,
                other => panic!("{other:?}"),
            });
        outputs.collect()
    }
}
