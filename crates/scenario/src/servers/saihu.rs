//! The output-port networks of Saihu (TSAI23): numbers with or without units,
//! which each object and the network as a whole may name for those without.
//!
//! The option `IS` (input shaping) is our line shaping. A multicast flow is a
//! flow and its branches, named after their paths. What Saihu has and our networks
//! have not is refused by name, never left out in silence.
//!
//! Saihu's own examples have bursts with no room for a packet. Without packetizers
//! it counts bits and no packet matters; with them such a flow could send nothing,
//! and its burst is taken for a packet. Either is said.

use units::fine::{Data, Rate, Time};

use super::decimal::{Decimal, NumberFlaw, Rounding};
use super::names::Names;
use super::object::{Object, Value};
use super::read::{elements, has_no_room_for_packet, member, read_path, refuse_faster_than_link};
use super::{Multiplexing, ServedFlow, Server, ServerNetwork};
use crate::Mistake;
use crate::limits::{MOST_PIECES, MOST_SERVED_FLOWS, MOST_SERVERS};
use crate::mistake::quote;
use crate::problem::Problems;

const NETWORK_KEYS: [&str; 12] = [
    "name",
    "multiplexing",
    "packetizer",
    "analysis_option",
    "time_unit",
    "data_unit",
    "rate_unit",
    "arrival_curve",
    "service_curve",
    "capacity",
    "max_packet_length",
    "min_packet_length",
];
const SERVER_KEYS: [&str; 6] = [
    "name",
    "service_curve",
    "capacity",
    "time_unit",
    "data_unit",
    "rate_unit",
];
const FLOW_KEYS: [&str; 10] = [
    "name",
    "path",
    "path_name",
    "multicast",
    "arrival_curve",
    "max_packet_length",
    "min_packet_length",
    "time_unit",
    "data_unit",
    "rate_unit",
];
/// Keys that say nothing of the network, those included that Saihu leaves where it
/// has converted a physical network.
const NOTES: [&str; 8] = [
    "id",
    "comment",
    "converted",
    "physical_node",
    "port",
    "type",
    "source",
    "arrival-curve",
];

/// What the key `path` says.
const PATH: &str = "the servers that it crosses, in order";

/// Multiples of a unit, by the letter before it.
const MULTIPLES: [(char, i64); 12] = [
    ('a', -18),
    ('f', -15),
    ('p', -12),
    ('n', -9),
    ('u', -6),
    ('m', -3),
    ('k', 3),
    ('M', 6),
    ('G', 9),
    ('T', 12),
    ('P', 15),
    ('E', 18),
];

/// What an amount is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitKind {
    Time,
    Data,
    Rate,
}

/// A unit: `10^exponent * numerator / denominator` of second, bit, bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    exponent: i64,
    fraction: [u32; 2],
}

/// The units of numbers that name none.
#[derive(Clone, Copy, Debug)]
struct Units {
    time: Unit,
    data: Unit,
    rate: Unit,
}

impl Units {
    /// Seconds, bits and bits per second, as Saihu takes them.
    const SI: Self = Self {
        time: Unit::ONE,
        data: Unit::ONE,
        rate: Unit::ONE,
    };

    fn of(self, kind: UnitKind) -> Unit {
        match kind {
            UnitKind::Time => self.time,
            UnitKind::Data => self.data,
            UnitKind::Rate => self.rate,
        }
    }

    /// Returns these units where `object` names no others.
    fn within(self, object: &Object<'_>, problems: &mut Problems) -> Self {
        let mut read = |key, kind| {
            let value = object.get(key)?;
            let text = value.string(&member(object, key), problems)?;
            let unit = Unit::parse(&text, kind);
            if unit.is_none() {
                let mistake = no_amount(&text, kind);
                value.report(&member(object, key), mistake, problems);
            }
            unit
        };
        Self {
            time: read("time_unit", UnitKind::Time).unwrap_or(self.time),
            data: read("data_unit", UnitKind::Data).unwrap_or(self.data),
            rate: read("rate_unit", UnitKind::Rate).unwrap_or(self.rate),
        }
    }
}

impl Unit {
    const ONE: Self = Self {
        exponent: 0,
        fraction: [1, 1],
    };

    /// Reads a unit such as `us`, `kB` or `Mbps`.
    fn parse(text: &str, kind: UnitKind) -> Option<Self> {
        let (multiple, fraction) = match kind {
            UnitKind::Time => {
                let (multiple, time) = split_last(text)?;
                (multiple, [seconds(time)?, 1])
            }
            UnitKind::Data => {
                let (multiple, data) = split_last(text)?;
                (multiple, [bits(data)?, 1])
            }
            UnitKind::Rate => {
                let (rest, time) = split_last(text)?;
                let (multiple, data) = split_last(rest.strip_suffix('p')?)?;
                (multiple, [bits(data)?, seconds(time)?])
            }
        };
        let mut letters = multiple.chars();
        let exponent = match letters.next() {
            None => 0,
            Some(letter) => MULTIPLES.iter().find(|(known, _)| *known == letter)?.1,
        };
        letters
            .next()
            .is_none()
            .then_some(Self { exponent, fraction })
    }
}

fn split_last(text: &str) -> Option<(&str, char)> {
    let last = text.chars().next_back()?;
    Some((&text[..text.len() - last.len_utf8()], last))
}

fn seconds(letter: char) -> Option<u32> {
    match letter {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3_600),
        _ => None,
    }
}

fn bits(letter: char) -> Option<u32> {
    match letter {
        'b' => Some(1),
        'B' => Some(8),
        _ => None,
    }
}

/// Reads a network. What it returns is of use only if no problem was noted.
pub(super) fn read(top: Object<'_>, problems: &mut Problems) -> ServerNetwork {
    top.refuse_others(&["network", "flows", "servers"], &[], problems);
    let network = top.get("network");
    let Some(general) = network.and_then(|value| value.object("network", problems)) else {
        return ServerNetwork::default();
    };
    general.refuse_others(&NETWORK_KEYS, &NOTES, problems);
    let reader = ServerReader {
        units: Units::SI.within(&general, problems),
        general: &general,
    };
    let mut read = ServerNetwork {
        id: reader.general_text("name", problems),
        method: None,
        packetizer: reader.packetizer(problems),
        line_shaping: reader.line_shaping(problems),
        ..ServerNetwork::default()
    };
    let multiplexing = reader.multiplexing(problems);
    let mut servers = Names::default();
    for (name, value) in elements(&top, "servers", "a list of servers", MOST_SERVERS, problems) {
        if let Some(mut server) = reader.server(value, &name, problems) {
            server.multiplexing = multiplexing;
            servers.declare("server", &server.id, value, problems);
            read.servers.push(server);
        }
    }
    if !problems.is_empty() {
        return read; // Flows would complain of servers that were not read.
    }
    let mut names = Names::default();
    for (name, value) in elements(
        &top,
        "flows",
        "a list of flows",
        MOST_SERVED_FLOWS,
        problems,
    ) {
        let trunk = read.flows.len();
        for mut flow in reader.flow(value, &name, &servers, &mut read.warnings, problems) {
            names.declare("flow", &flow.id, value, problems);
            flow.branch_of = (read.flows.len() > trunk).then_some(trunk);
            read.flows.push(flow);
        }
    }
    read
}

struct ServerReader<'a, 't> {
    general: &'a Object<'t>,
    units: Units,
}

impl<'t> ServerReader<'_, 't> {
    fn general_text(&self, key: &str, problems: &mut Problems) -> Option<String> {
        self.general
            .get(key)?
            .string(&member(self.general, key), problems)
    }

    fn packetizer(&self, problems: &mut Problems) -> bool {
        let value = self.general.get("packetizer");
        let truth = value.and_then(|value| value.truth("network.packetizer", problems));
        truth.unwrap_or(false)
    }

    /// Whether the options have `IS`; the others refine how xTFA computes.
    fn line_shaping(&self, problems: &mut Problems) -> bool {
        let Some(value) = self.general.get("analysis_option") else {
            return false;
        };
        let name = "network.analysis_option";
        let options = value.list(name, problems).unwrap_or_default();
        let mut options = options
            .into_iter()
            .filter_map(|option| option.string(name, problems));
        options.any(|option| option == "IS")
    }

    fn multiplexing(&self, problems: &mut Problems) -> Option<Multiplexing> {
        let value = self.general.get("multiplexing")?;
        let name = "network.multiplexing";
        match value.string(name, problems)?.to_ascii_uppercase().as_str() {
            "FIFO" => Some(Multiplexing::Fifo),
            "ARBITRARY" => Some(Multiplexing::Arbitrary),
            other => {
                let mistake = Mistake::UnknownChoice {
                    what: "multiplexing",
                    text: quote(other),
                    nearest: None,
                    choices: "FIFO, ARBITRARY".to_owned(),
                };
                value.report(name, mistake, problems);
                None
            }
        }
    }

    fn server(&self, value: Value<'t>, name: &str, problems: &mut Problems) -> Option<Server> {
        let (server, id) = named(value, name, problems)?;
        server.refuse_others(&SERVER_KEYS, &NOTES, problems);
        let units = self.units.within(&server, problems);
        let keys = ["rates", "latencies"];
        let service = self.curve(&server, "service_curve", keys, units, problems, |amount| {
            let rate = amount(0, UnitKind::Rate, Rounding::Down)?;
            let latency = amount(1, UnitKind::Time, Rounding::Up)?;
            Some((Rate::from_ubps(rate), Time::from_fs(latency)))
        })?;
        let link = self.own_or_general(&server, "capacity", units);
        let link = link.and_then(|(value, name, units)| {
            let ubps = amount(value, &name, UnitKind::Rate, units, Rounding::Up, problems);
            ubps.map(Rate::from_ubps)
        });
        refuse_faster_than_link(&server, &service, link, problems);
        Some(Server {
            id,
            service,
            link,
            multiplexing: None,
        })
    }

    /// Reads a flow with all its branches.
    fn flow(
        &self,
        value: Value<'t>,
        name: &str,
        servers: &Names,
        warnings: &mut Vec<String>,
        problems: &mut Problems,
    ) -> Vec<ServedFlow> {
        let read = |problems: &mut Problems, warnings| {
            let (flow, id) = named(value, name, problems)?;
            flow.refuse_others(&FLOW_KEYS, &NOTES, problems);
            let units = self.units.within(&flow, problems);
            let trunk = self.trunk(&flow, id, units, servers, problems)?;
            let trunk = self.with_room(trunk, &flow.name, warnings);
            let Some(others) = flow.get("multicast") else {
                return Some(vec![trunk]);
            };
            branches(&flow, others, trunk, servers, problems)
        };
        read(problems, warnings).unwrap_or_default()
    }

    /// Reads a flow along its own path.
    fn trunk(
        &self,
        flow: &Object<'t>,
        id: String,
        units: Units,
        servers: &Names,
        problems: &mut Problems,
    ) -> Option<ServedFlow> {
        let keys = ["rates", "bursts"];
        let buckets = self.curve(flow, "arrival_curve", keys, units, problems, |amount| {
            let rate = amount(0, UnitKind::Rate, Rounding::Up)?;
            let burst = amount(1, UnitKind::Data, Rounding::Up)?;
            Some((Rate::from_ubps(rate), Data::from_ubits(burst)))
        })?;
        let path = flow.need("path", PATH, problems)?;
        let path = read_path(flow, path, servers, problems)?;
        let packet = self.own_or_general(flow, "max_packet_length", units);
        let packet = packet.and_then(|(value, name, units)| {
            amount(value, &name, UnitKind::Data, units, Rounding::Up, problems)
        });
        Some(ServedFlow {
            id,
            buckets,
            path,
            max_packet: Data::from_ubits(packet.unwrap_or(0)),
            priority: 0,
            branch_of: None,
        })
    }

    /// Returns the flow with packets and bursts that go together.
    fn with_room(
        &self,
        mut flow: ServedFlow,
        name: &str,
        warnings: &mut Vec<String>,
    ) -> ServedFlow {
        let packet = flow.max_packet;
        if !has_no_room_for_packet(&flow.buckets, packet) {
            return flow;
        }
        let all_bits = self.general.get("packetizer").map(Value::written) != Some("true");
        let taken = if all_bits {
            let bursts = flow.buckets.iter().map(|(_, burst)| *burst);
            flow.max_packet = bursts.min().unwrap_or_default();
            "its packets are taken to be no larger, which changes nothing as long as bits count \
             and not packets"
        } else {
            for (_, burst) in &mut flow.buckets {
                *burst = packet.max(*burst);
            }
            "it is taken to be one"
        };
        warnings.push(format!(
            "{name}: its burst has no room for its largest packet; {taken}."
        ));
        flow
    }

    /// Reads a curve whose pieces stand in two lists of the same length.
    fn curve<T>(
        &self,
        object: &Object<'t>,
        key: &'static str,
        keys: [&'static str; 2],
        units: Units,
        problems: &mut Problems,
        piece: impl Fn(&mut dyn FnMut(usize, UnitKind, Rounding) -> Option<u64>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Some((value, name, units)) = self.own_or_general(object, key, units) else {
            object.need(key, "a curve of one or more pieces", problems);
            return None;
        };
        let curve = value.object(&name, problems)?;
        curve.refuse_others(&keys, &[], problems);
        let [first, second] = keys.map(|key| {
            let list = curve.need(key, "a list of numbers", problems)?;
            list.list(&member(&curve, key), problems)
        });
        let (first, second) = (first?, second?);
        let (count, limit) = (first.len(), MOST_PIECES);
        if count != second.len() || first.is_empty() {
            let sentence = format!("has {count} {} and {} {}", keys[0], second.len(), keys[1]);
            let help = "both lists need the same length, of one at least".to_owned();
            curve.report(Mistake::Contradiction { sentence, help }, problems);
            return None;
        }
        if count > limit {
            curve.report(
                Mistake::TooMany {
                    what: key,
                    count,
                    limit,
                },
                problems,
            );
            return None;
        }
        let pieces = (0..count).map(|at| {
            piece(&mut |which, kind, rounding| {
                let value = [&first, &second][which][at];
                let name = format!("{}[{at}]", member(&curve, keys[which]));
                amount(value, &name, kind, units, rounding, problems)
            })
        });
        pieces.collect()
    }

    /// Returns the value of a key in the object, or else the one that the network
    /// has for all, with its name and the units that count there.
    fn own_or_general(
        &self,
        object: &Object<'t>,
        key: &str,
        units: Units,
    ) -> Option<(Value<'t>, String, Units)> {
        if let Some(value) = object.get(key) {
            return Some((value, member(object, key), units));
        }
        let value = self.general.get(key)?;
        Some((value, member(self.general, key), self.units))
    }
}

/// Reads the other branches of a multicast flow, and names all after their paths.
fn branches(
    flow: &Object<'_>,
    others: Value<'_>,
    trunk: ServedFlow,
    servers: &Names,
    problems: &mut Problems,
) -> Option<Vec<ServedFlow>> {
    let list = member(flow, "multicast");
    let others = others.list(&list, problems)?;
    if others.is_empty() {
        return Some(vec![trunk]);
    }
    let id = trunk.id.clone();
    let path_name = |branch: &Object<'_>, key, at: usize, problems: &mut Problems| {
        let name = branch.get(key);
        let name = name.map(|value| value.string(&member(branch, key), problems));
        name.unwrap_or_else(|| Some(format!("p{at}")))
    };
    let mut read = vec![ServedFlow {
        id: format!("{id}/{}", path_name(flow, "path_name", 0, problems)?),
        ..trunk
    }];
    for (value, at) in others.into_iter().zip(1..) {
        let branch = value.object(&format!("{list}[{}]", at - 1), problems)?;
        branch.refuse_others(&["name", "path"], &NOTES, problems);
        let path = branch.need("path", PATH, problems)?;
        read.push(ServedFlow {
            id: format!("{id}/{}", path_name(&branch, "name", at, problems)?),
            path: read_path(&branch, path, servers, problems)?,
            ..read[0].clone()
        });
    }
    Some(read)
}

fn named<'t>(
    value: Value<'t>,
    name: &str,
    problems: &mut Problems,
) -> Option<(Object<'t>, String)> {
    let mut object = value.object(name, problems)?;
    let id = object.need("name", "a name that no other one has", problems)?;
    let id = id.string(&member(&object, "name"), problems)?;
    object.name = format!("{name} (`{}`)", quote(&id));
    Some((object, id))
}

/// Reads an amount, with a unit of its own or in the one that counts here, in
/// femtoseconds or millionths of a bit (per second).
fn amount(
    value: Value<'_>,
    name: &str,
    kind: UnitKind,
    units: Units,
    rounding: Rounding,
    problems: &mut Problems,
) -> Option<u64> {
    let text = match value.kind() {
        "a text" => value.string(name, problems)?,
        _ => value.written().to_owned(),
    };
    let counted = parse_amount(&text, kind, units.of(kind), rounding);
    if counted.is_err() {
        let mistake = match counted {
            Err(NumberFlaw::Negative | NumberFlaw::TooLarge) => Mistake::OutOfRange {
                value: quote(&text),
                least: "0".to_owned(),
                most: "18 Tbps, 18 Tb or 5 hours".to_owned(),
            },
            Ok(_) | Err(NumberFlaw::NotANumber) => no_amount(&text, kind),
        };
        value.report(name, mistake, problems);
    }
    counted.ok()
}

fn parse_amount(
    text: &str,
    kind: UnitKind,
    unit: Unit,
    rounding: Rounding,
) -> Result<u64, NumberFlaw> {
    let text = text.trim();
    let letters = text
        .char_indices()
        .find(|(at, letter)| letter.is_alphabetic() && !is_exponent(text, *at));
    let (number, unit) = match letters {
        None => (text, unit),
        Some((at, _)) => {
            let unit = Unit::parse(&text[at..], kind).ok_or(NumberFlaw::NotANumber)?;
            (text[..at].trim_end(), unit)
        }
    };
    let places = match kind {
        UnitKind::Time => 15,
        UnitKind::Data | UnitKind::Rate => 6,
    };
    Decimal::parse(number)?.count(places + unit.exponent, unit.fraction, rounding)
}

/// Returns whether the letter at a place is the `e` of an exponent.
fn is_exponent(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    let digits = rest.strip_prefix(['e', 'E']);
    let digits = digits.map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
    digits.is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

fn no_amount(text: &str, kind: UnitKind) -> Mistake {
    let (what, example) = match kind {
        UnitKind::Time => ("time", "10us"),
        UnitKind::Data => ("amount of data", "2kB"),
        UnitKind::Rate => ("rate", "10Mbps"),
    };
    Mistake::NotAnAddress {
        what,
        text: quote(text),
        example,
    }
}
