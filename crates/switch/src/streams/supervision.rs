//! What a switch says of the stations that it stands for, as a RedBox of PRP, and what it does
//! with what others say (IEC 62439-3 clause 4.2.7).
//!
//! It stands for those whose frames its entries number in trailers: while their port is up and
//! a frame was numbered in the last minute, it says every two seconds over both LANs that they
//! are there. A switch on the way hands that on where entries send frames of that station that
//! come by the same port, so it takes the ways of flows and needs no entries of its own; where
//! copies are ended it ends as well, as the receiver does not speak PRP. Numbers keep it from
//! going round, whatever entries there are.

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::PortNumber;
use wire::openflow::taktos::{StreamHandle, TrailerAction};
use wire::prp::{self, Lan, Supervision, SupervisionKind, Trailer};

use super::node_table::{FORGET, NODES_MAX};
use crate::action::{Action, Target};
use crate::entry::Entry;
use crate::packet_key::{KeyBits, field};
use crate::pipeline::Pipeline;
use crate::port::PortIndex;

/// The last byte of the group that supervision frames go to, as it is by default.
const GROUP: u8 = 0;

impl Pipeline {
    /// Says that the stations are there that the switch stands for.
    pub(crate) fn supervise(&mut self, now: Instant) {
        let stations = self.stations(now);
        let Some(port) = self.egress.ports.first() else {
            return;
        };
        let redbox = port.config.mac;
        let mut frame = Vec::new();
        for (station, ways) in stations {
            let nodes = &mut self.egress.nodes;
            let sequence = nodes.sequence;
            nodes.sequence = sequence.wrapping_add(1);
            let said = Supervision {
                sequence,
                kind: SupervisionKind::DuplicateDiscard,
                station,
                redbox: Some(redbox),
            };
            for (lan, port) in ways {
                frame.clear();
                said.emit_frame(redbox, GROUP, &mut frame);
                let trailer = Trailer { sequence, lan };
                prp::append(&mut frame, trailer).expect("it is short");
                self.egress.nodes.counters.sent += 1;
                self.say(now, port, &frame);
            }
        }
    }

    /// Returns the stations whose frames get trailers here, and by which ports each LAN begins.
    fn stations(&mut self, now: Instant) -> BTreeMap<MacAddress, BTreeSet<(Lan, PortIndex)>> {
        let numbers = |actions: &[Action]| actions.iter().find_map(numbered_stream);
        let entries = self.entries_with(NODES_MAX, |program| numbers(&program.apply).is_some());
        let mut stations: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let mut named = BTreeSet::new();
        for id in entries {
            let entry = self.tables[usize::from(id.table.0)].flows.entry(id.index);
            let (Some((at, station)), Some(stream)) = (ends(entry), numbers(&entry.program.apply))
            else {
                continue;
            };
            let ways = lans(&entry.program.apply);
            named.insert(stream.0);
            let port = self.egress.find_port(at);
            let is_up = port.is_some_and(|port| self.egress.port(port).is_up());
            if is_up && self.is_active(now, stream) {
                stations.entry(station).or_default().extend(ways);
            }
        }
        let active = &mut self.egress.nodes.active;
        active.retain(|stream, _| named.contains(stream));
        stations
    }

    /// Returns whether a frame of the stream was numbered in the last minute.
    fn is_active(&mut self, now: Instant, stream: StreamHandle) -> bool {
        let report = self.egress.streams.report(stream);
        let numbered = report.map_or(0, |it| it.counters.numbered);
        let active = &mut self.egress.nodes.active;
        let (seen, since) = active.entry(stream.0).or_insert((numbered, now));
        if *seen != numbered {
            (*seen, *since) = (numbered, now);
        }
        numbered > 0 && now.saturating_since(*since) < FORGET
    }

    /// Looks at what was said of stations, and hands it on.
    #[cold]
    pub(crate) fn hear_stations(&mut self, now: Instant) {
        while let Some(frame) = self.egress.nodes.next(now) {
            let Some((said, lan)) = read(frame.frame()) else {
                self.egress.nodes.counters.malformed += 1;
                continue;
            };
            if !self.egress.nodes.is_news(now, &said, lan) {
                self.egress.nodes.counters.repeated += 1;
                continue;
            }
            let onward = frame.port.and_then(|port| self.onward(port, said.station));
            let Some(onward) = onward else {
                self.egress.nodes.counters.unexpected += 1;
                continue;
            };
            if self.egress.nodes.note(now, said, lan) {
                for port in onward {
                    self.say(now, port, frame.frame());
                }
            }
        }
    }

    /// Returns by which ports frames of a station go on that come in there: none at all if it
    /// is not from there that they come.
    fn onward(&self, port: PortIndex, station: MacAddress) -> Option<BTreeSet<PortIndex>> {
        let at = self.egress.port(port).config.number;
        let entries = self.tables.iter().flat_map(|table| table.flows.iter());
        let of_station = entries.filter(|(_, entry)| ends(entry) == Some((at, station)));
        let programs = of_station.map(|(_, entry)| &*entry.program.apply);
        let mut handing_on =
            programs.filter(|it| !it.iter().any(|it| numbered_stream(it).is_some()));
        let first = handing_on.next()?;
        let all = std::iter::once(first).chain(handing_on);
        Some(all.flat_map(before_elimination).collect())
    }

    /// Sends a frame of the switch itself by the least urgent queue of a port.
    fn say(&mut self, now: Instant, port: PortIndex, frame: &[u8]) {
        let output = Action::Output(Target::Port(port));
        self.send(now, PortNumber::CONTROLLER, frame, &[output]);
    }
}

/// Returns what a frame says of a station, and over which LAN.
fn read(frame: &[u8]) -> Option<(Supervision, Lan)> {
    let (trailer, length) = Trailer::of_frame(frame).ok()?;
    let (header, payload) = Header::parse(&frame[..length]).ok()?;
    let is_one = header.ether_type == EtherType::PRP;
    let said = Supervision::parse(payload).ok().filter(|_| is_one)?;
    Some((said, trailer.lan))
}

/// Returns by which port and from which address the frames of an entry come, if it says so.
fn ends(entry: &Entry) -> Option<(PortNumber, MacAddress)> {
    let (value, mask) = (&entry.rule.value, &entry.rule.mask);
    let says = |field: KeyBits| mask.get(field) == field.ones();
    if !says(field::IN_PORT) || !says(field::ETH_SRC) {
        return None;
    }
    let port = u32::try_from(value.get(field::IN_PORT)).ok()?;
    let [_, _, address @ ..] = value.get(field::ETH_SRC).to_be_bytes();
    Some((PortNumber(port), MacAddress(address)))
}

const fn numbered_stream(action: &Action) -> Option<StreamHandle> {
    match action {
        Action::Trailer(TrailerAction::Number(stream)) => Some(*stream),
        _ => None,
    }
}

/// Returns by which ports frames leave that get a trailer, and which LAN it names there.
fn lans(actions: &[Action]) -> impl Iterator<Item = (Lan, PortIndex)> + use<> {
    let mut lan = None;
    let mut ways = Vec::new();
    for action in actions {
        match action {
            Action::Trailer(TrailerAction::Number(_)) => lan = Some(Lan::A),
            Action::Trailer(TrailerAction::Lan(other)) => lan = lan.and(Some(*other)),
            Action::Output(Target::Port(port)) => ways.extend(lan.map(|lan| (lan, *port))),
            _ => {}
        }
    }
    ways.into_iter()
}

/// Returns the ports to which frames go before copies of them are ended.
fn before_elimination(actions: &[Action]) -> impl Iterator<Item = PortIndex> {
    let ends = |action: &&Action| !matches!(action, Action::Eliminate(_));
    actions
        .iter()
        .take_while(ends)
        .filter_map(|action| match action {
            Action::Output(Target::Port(port)) => Some(*port),
            _ => None,
        })
}
