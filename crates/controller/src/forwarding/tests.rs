use proptest::prelude::*;
use wire::ethernet::{EtherType, VlanTag};
use wire::openflow::{FlowModCommand, Message, PacketInReason, first_message};

use super::*;
use crate::mac_table::stations::{AGEING_TIME, MAX_AT_SWITCH};
use crate::path::fixture::{ACCESS, access, any_network, network};

#[test]
fn floods_keep_off_a_link_that_closes_a_circle_until_they_follow_the_links() {
    let mut forwarding = Forwarding::new(1);
    forwarding.change(Instant::ZERO, &network(3, &[(1, 2), (2, 3)]), &[]);
    let ring = network(3, &[(1, 2), (2, 3), (3, 1)]);
    let closing = ring.links()[2].ends;

    forwarding.keep_off(Instant::ZERO, &ring, closing);
    let before = flooded(&mut forwarding, 1);
    forwarding.change(Instant::ZERO, &ring, &[]);
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

#[test]
fn what_a_cut_does_not_concern_stays_learned_and_its_entries_stay() {
    let mut line = Line::new(4);
    line.learn_all();

    let deleted = line.cut(3, 4);

    assert_eq!(line.known(1), [1, 2, 3]);
    assert_eq!(line.known(4), [4]);
    let to = |hosts: &[u8]| Deletion::To(hosts.iter().copied().map(mac).collect());
    let expected: Vec<_> = [
        (1, to(&[4])),
        (2, to(&[4])),
        (3, to(&[4])),
        (4, to(&[1, 2, 3])),
    ]
    .map(|(switch, deletion)| (DatapathId(switch), deletion))
    .into();
    assert_eq!(deleted, expected);
}

#[test]
fn a_switch_whose_entries_are_not_known_deletes_all_once() {
    let mut line = Line::new(3);
    line.learn_all();
    line.connections[1] = (DatapathId(2), ConnectionId(22));

    let first = line.cut(2, 3);
    let second = line.heal();

    assert!(first.contains(&(DatapathId(2), Deletion::All)), "{first:?}");
    let all = second.iter().filter(|(_, it)| *it == Deletion::All);
    assert_eq!(all.count(), 0, "{second:?}");
}

#[test]
fn entries_to_a_station_that_makes_room_are_deleted() {
    let mut forwarding = Forwarding::new(1);
    let at = |port| PortId::new(DatapathId(1), PortNumber(port));
    let later = Instant::ZERO + AGEING_TIME;
    let stranger = |number: u32| {
        let [a, b, c, d] = number.to_be_bytes();
        MacAddress([2, 1, a, b, c, d])
    };
    let frame = |source, destination| Header {
        destination,
        source,
        vlan: None,
        ether_type: EtherType::GOOSE,
    };
    taken(&mut forwarding, at(1), &frame(mac(9), mac(8)));
    taken(&mut forwarding, at(2), &frame(mac(8), mac(9)));

    // As many as a switch may have, from its other ports.
    let mut deleted = 0;
    let mut told = Vec::new();
    for number in 0..2 * MAX_AT_SWITCH {
        let header = frame(stranger(number), MacAddress::BROADCAST);
        let port = 3 + number % 2;
        let (said, became) = take_at(&mut forwarding, later, at(port), &header);
        deleted += said
            .iter()
            .filter(|it| matches!(it, Said::Deletion))
            .count();
        if became.shortage == Shortage::News {
            told.push(port);
        }
    }

    assert_eq!(deleted, 1, "the one to which an entry leads");
    let mut known = forwarding.table.iter();
    assert!(known.all(|(_, station, _)| station.mac != mac(9)));
    drop(known);
    told.sort_unstable();
    assert_eq!(told, [3, 4]);
}

#[test]
fn what_was_learned_over_a_connection_goes_with_it() {
    let mut line = Line::new(3);
    line.learn_all();

    line.forwarding.close(ConnectionId(2));

    assert_eq!((line.known(2), line.known(1)), (vec![], vec![1, 2, 3]));
}

/// The same address at two ports, in two VLANs.
#[test]
fn frames_follow_their_destination_in_their_own_vlan() {
    let mut forwarding = Forwarding::new(1);
    let at = |port| PortId::new(DatapathId(1), PortNumber(port));
    let header = |from, to, vlan: u16| Header {
        destination: mac(to),
        source: mac(from),
        vlan: (vlan > 0).then(|| VlanTag::from_control(vlan)),
        ether_type: EtherType::GOOSE,
    };
    taken(&mut forwarding, at(1), &header(9, 8, 5));
    taken(&mut forwarding, at(2), &header(9, 8, 6));
    taken(&mut forwarding, at(3), &header(9, 8, 0));

    let outputs = [5, 6, 0].map(|vlan| {
        let messages = taken(&mut forwarding, at(4), &header(8, 9, vlan));
        let entry = messages.iter().find_map(|message| match message {
            Said::Entry { fields, output } => Some((fields.clone(), *output)),
            Said::Frame | Said::Deletion => None,
        });
        entry.unwrap()
    });

    for ((fields, output), (port, tag)) in outputs.into_iter().zip([
        (1, VlanMatch::tagged(5)),
        (2, VlanMatch::tagged(6)),
        (3, VlanMatch::UNTAGGED),
    ]) {
        assert_eq!(output, PortNumber(port));
        assert!(fields.contains(&MatchField::VlanVid(Masked::exact(tag))));
    }
}

#[test]
fn entries_to_a_station_that_moved_at_a_switch_are_deleted_there() {
    let mut forwarding = Forwarding::new(1);
    let header = Header {
        destination: mac(8),
        source: mac(9),
        vlan: None,
        ether_type: EtherType::GOOSE,
    };
    let at = |port| PortId::new(DatapathId(1), PortNumber(port));

    let first = taken(&mut forwarding, at(1), &header);
    let moved = taken(&mut forwarding, at(2), &header);

    assert_eq!((first.len(), moved.len()), (1, 2));
    assert!(matches!(moved[0], Said::Deletion));
}

proptest! {
    /// However the links change: what is still known leads to where the station is,
    /// without a circle.
    #[test]
    fn what_stays_learned_leads_to_its_station(
        (count, links) in any_network(8, 12),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..6),
    ) {
        let mut net = Line::of(count, &links);
        net.learn_all();
        for (which, is_up) in changes {
            if net.view.links().is_empty() {
                break;
            }
            let link = which.get(net.view.links()).ends;
            match is_up {
                true => net.raise(link),
                false => net.lower(link),
            }
            net.change();

            for from in 1..=count {
                for host in net.known(from) {
                    prop_assert!(net.arrives(from, host), "from {} to {}", from, host);
                }
            }
        }
    }
}

/// Switches with a host each.
struct Line {
    view: View,
    forwarding: Forwarding,
    connections: Vec<(DatapathId, ConnectionId)>,
}

impl Line {
    fn new(switches: u64) -> Self {
        let links: Vec<_> = (1..switches).map(|at| (at, at + 1)).collect();
        Self::of(switches, &links)
    }

    fn of(switches: u64, links: &[(u64, u64)]) -> Self {
        let connections = (1..=switches).map(|at| (DatapathId(at), ConnectionId(at)));
        let mut line = Self {
            view: network(switches, links),
            forwarding: Forwarding::new(1),
            connections: connections.collect(),
        };
        line.change();
        line
    }

    fn change(&mut self) -> Vec<(DatapathId, Deletion)> {
        self.forwarding
            .change(Instant::ZERO, &self.view, &self.connections)
    }

    /// Has every switch learn every host from the port that leads to it on the tree.
    fn learn_all(&mut self) {
        let tree = FloodTree::of(&self.view);
        for (at, owner) in &self.connections {
            let here = self.view.switch(*at).unwrap();
            for (to, _) in &self.connections {
                let there = self.view.switch(*to).unwrap();
                let ports = self.view.switches()[here.index()].ports.iter();
                let mut ports = ports.map(|port| PortId::new(*at, port.number));
                let port = match at == to {
                    true => Some(access(at.0)),
                    false => ports.find(|port| tree.leads(here, *port, there)),
                };
                if let Some(port) = port {
                    let station = Station::of(mac(u8::try_from(to.0).unwrap()), None);
                    let mut table = self.forwarding.table.at(*owner);
                    table.learn(Instant::ZERO, station, port.port);
                }
            }
        }
    }

    fn cut(&mut self, one: u64, other: u64) -> Vec<(DatapathId, Deletion)> {
        let joins = |ends: LinkEnds| ends.both().map(|end| end.datapath.0) == [one, other];
        let mut links = self.view.links().iter().map(|link| link.ends);
        let link = links.find(|ends| joins(*ends)).unwrap();
        self.lower(link);
        self.change()
    }

    fn heal(&mut self) -> Vec<(DatapathId, Deletion)> {
        let links: Vec<_> = self.view.links().iter().map(|link| link.ends).collect();
        links.into_iter().for_each(|link| self.raise(link));
        self.change()
    }

    fn lower(&mut self, link: LinkEnds) {
        let id = self.view.link(link).unwrap();
        self.view.lose(Instant::ZERO, id);
    }

    fn raise(&mut self, link: LinkEnds) {
        let [one, other] = link.both();
        self.view.confirm(Instant::ZERO, one, other);
        self.view.confirm(Instant::ZERO, other, one);
    }

    /// Returns the hosts that a switch knows.
    fn known(&self, switch: u64) -> Vec<u8> {
        let all = self.forwarding.table.iter();
        let here = all.filter(|(owner, ..)| owner.0 == switch);
        let mut hosts: Vec<u8> = here.map(|(_, station, _)| station.mac.0[5]).collect();
        hosts.sort_unstable();
        hosts
    }

    /// Returns whether what is known leads from a switch to a host.
    fn arrives(&mut self, from: u64, host: u8) -> bool {
        let mut here = DatapathId(from);
        for _ in 0..self.connections.len() {
            let station = Station::of(mac(host), None);
            let mut table = self.forwarding.table.at(ConnectionId(here.0));
            let Some(port) = table.lead_to(Instant::ZERO, station) else {
                // It is flooded from here.
                return true;
            };
            let at = PortId::new(here, port);
            if at == access(u64::from(host)) {
                return true;
            }
            let link = self.view.port(at).and_then(|port| port.link);
            let Some(link) = link.map(|link| self.view.links()[link.index()]) else {
                return false;
            };
            if link.carrier == Carrier::Down {
                return false;
            }
            let ends = link.ends.both();
            here = ends.into_iter().find(|end| *end != at).unwrap().datapath;
        }
        false
    }
}

fn mac(host: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, host])
}

/// What a switch is told.
#[derive(Debug)]
enum Said {
    Entry {
        fields: Vec<MatchField>,
        output: PortNumber,
    },
    Deletion,
    Frame,
}

/// Returns what is said to a frame.
fn taken(forwarding: &mut Forwarding, at: PortId, header: &Header) -> Vec<Said> {
    take_at(forwarding, Instant::ZERO, at, header).0
}

/// The same at a moment, with what became of the frame.
fn take_at(
    forwarding: &mut Forwarding,
    now: Instant,
    at: PortId,
    header: &Header,
) -> (Vec<Said>, Taken) {
    let mut frame = Vec::new();
    header.emit(&mut frame);
    let fields = [MatchField::InPort(at.port)];
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: 14,
        reason: PacketInReason::NoMatch,
        table: TableId(0),
        cookie: Cookie(0),
        fields: Fields::of(&fields),
        data: &frame,
    };
    let (mut out, owner) = (Vec::new(), ConnectionId(at.datapath.0));
    let became = forwarding.take(now, owner, at, header, &packet_in, &mut out);
    let mut rest = &out[..];
    let mut said = Vec::new();
    while let Some(message) = first_message(rest).unwrap() {
        rest = &rest[message.len()..];
        said.push(match Message::parse(message).unwrap().1 {
            Message::FlowMod(it) if it.command == FlowModCommand::Delete => Said::Deletion,
            Message::FlowMod(it) => {
                let instruction = it.instructions.iter().next().unwrap().unwrap();
                let Instruction::ApplyActions(actions) = instruction else {
                    panic!("{instruction:?}")
                };
                let Action::Output { port, .. } = actions.iter().next().unwrap().unwrap() else {
                    panic!("{actions:?}")
                };
                Said::Entry {
                    fields: it.matching.iter().map(Result::unwrap).collect(),
                    output: port,
                }
            }
            Message::PacketOut(_) => Said::Frame,
            other => panic!("{other:?}"),
        });
    }
    (said, became)
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
