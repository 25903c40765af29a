//! Our own format: SI units, a key for each thing.

use std::collections::{BTreeMap, BTreeSet};

use units::fine::{Data, Rate, Time};

use super::decimal::Rounding;
use super::names::Names;
use super::object::{Object, Value};
use super::{Multiplexing, ServedFlow, Server, ServerNetwork};
use crate::Mistake;
use crate::limits::{MOST_PIECES, MOST_SERVED_FLOWS, MOST_SERVERS};
use crate::mistake::{nearest, quote};
use crate::problem::{Problems, TextSpan};

/// Millionths of a bit, and of a bit per second.
const MILLIONTHS: i64 = 6;
const FEMTO: i64 = 15;

const KEYS: [&str; 8] = [
    "id",
    "method",
    "multiplexing",
    "packetizer",
    "line_shaping",
    "servers",
    "links",
    "flows",
];
/// Notes that a file may carry for its readers.
const NOTES: [&str; 9] = [
    "expected",
    "title",
    "source",
    "family",
    "unit_note",
    "source_kind",
    "tolerance_rel",
    "check",
    "schema",
];
const SERVER_KEYS: [&str; 6] = [
    "id",
    "rate_bps",
    "latency_s",
    "service",
    "link_bps",
    "multiplexing",
];
const FLOW_KEYS: [&str; 8] = [
    "id",
    "rate_bps",
    "burst_bit",
    "buckets",
    "path",
    "max_packet_bit",
    "priority",
    "branch_of",
];

/// Reads a network. What it returns is of use only if no problem was noted.
pub(super) fn read(top: Object<'_>, problems: &mut Problems) -> ServerNetwork {
    top.refuse_others(&KEYS, &NOTES, problems);
    let text = |key, problems: &mut Problems| top.get(key)?.string(key, problems);
    let truth = |key, problems: &mut Problems| top.get(key)?.truth(key, problems);
    let multiplexing = top
        .get("multiplexing")
        .and_then(|value| read_multiplexing(value, "multiplexing", problems));
    let mut network = ServerNetwork {
        id: text("id", problems),
        method: text("method", problems),
        packetizer: truth("packetizer", problems).unwrap_or(false),
        line_shaping: truth("line_shaping", problems).unwrap_or(false),
        ..ServerNetwork::default()
    };
    let mut names = Names::default();
    let about = "a list of servers: [{\"id\": \"s1\", \"rate_bps\": 1e8, \"latency_s\": 1e-5}]";
    for (name, value) in elements(&top, "servers", about, MOST_SERVERS, problems) {
        if let Some(server) = read_server(value, &name, multiplexing, problems) {
            names.declare("server", &server.id, value, problems);
            network.servers.push(server);
        }
    }
    if !problems.is_empty() {
        return network; // Flows would complain of servers that were not read.
    }
    let links = read_links(&top, &names, problems);
    read_flows(&top, &names, links.as_ref(), &mut network, problems);
    network
}

fn read_flows(
    top: &Object<'_>,
    servers: &Names,
    links: Option<&BTreeSet<(usize, usize)>>,
    network: &mut ServerNetwork,
    problems: &mut Problems,
) {
    let mut names = Names::default();
    let about = "a list of flows: [{\"id\": \"f1\", \"rate_bps\": 4e6, \"burst_bit\": 8000, \
                 \"path\": [\"s1\"]}]";
    for (name, value) in elements(top, "flows", about, MOST_SERVED_FLOWS, problems) {
        let flow = read_flow(value, &name, servers, links, problems);
        if let Some((mut flow, trunk)) = flow {
            flow.branch_of = trunk.and_then(|trunk| {
                let object = value.object(&name, problems)?;
                read_trunk(&object, trunk, &flow, (&names, &network.flows), problems)
            });
            names.declare("flow", &flow.id, value, problems);
            network.flows.push(flow);
        }
    }
}

/// Reads the name of the flow of which another is a branch.
fn read_trunk(
    object: &Object<'_>,
    value: Value<'_>,
    flow: &ServedFlow,
    (names, before): (&Names, &[ServedFlow]),
    problems: &mut Problems,
) -> Option<usize> {
    let name = member(object, "branch_of");
    let id = value.string(&name, problems)?;
    let last = before.len().checked_sub(1);
    let trunk = last.map(|last| before[last].branch_of.unwrap_or(last));
    let Some(trunk) = trunk.filter(|trunk| names.name(*trunk) == id) else {
        let sentence = format!(
            "is a branch of `{}`, behind which it does not stand",
            quote(&id)
        );
        let help = "a flow stands first, and its branches right behind it".to_owned();
        value.report(&name, Mistake::Contradiction { sentence, help }, problems);
        return None;
    };
    let says = |flow: &ServedFlow| (flow.buckets.clone(), flow.max_packet, flow.priority);
    if says(flow) != says(&before[trunk]) {
        let sentence = format!("sends something else than `{}`", quote(&id));
        let help = "branches have the same buckets, packets and priority".to_owned();
        value.report(&name, Mistake::Contradiction { sentence, help }, problems);
    }
    Some(trunk)
}

/// Returns the elements of a list that has to be there, each with its name.
pub(super) fn elements<'a>(
    object: &Object<'a>,
    key: &'static str,
    about: &str,
    limit: usize,
    problems: &mut Problems,
) -> Vec<(String, Value<'a>)> {
    let Some(list) = object.need(key, about, problems) else {
        return Vec::new();
    };
    let values = list.list(key, problems).unwrap_or_default();
    let count = values.len();
    if count > limit {
        list.report(
            key,
            Mistake::TooMany {
                what: key,
                count,
                limit,
            },
            problems,
        );
        return Vec::new();
    }
    let named = values.into_iter().enumerate();
    named
        .map(|(at, value)| (format!("{key}[{at}]"), value))
        .collect()
}

fn read_server(
    value: Value<'_>,
    name: &str,
    of_file: Option<Multiplexing>,
    problems: &mut Problems,
) -> Option<Server> {
    let mut server = value.object(name, problems)?;
    let id = read_id(&mut server, problems)?;
    server.refuse_others(&SERVER_KEYS, &[], problems);
    let service = read_pieces(
        &server,
        "service",
        ["rate_bps", "latency_s"],
        read_curve,
        problems,
    )?;
    let link = server.get("link_bps");
    let link = link.and_then(|link| {
        let ubps = link.count(
            &member(&server, "link_bps"),
            MILLIONTHS,
            Rounding::Up,
            problems,
        );
        ubps.map(Rate::from_ubps)
    });
    refuse_faster_than_link(&server, &service, link, problems);
    let own = server
        .get("multiplexing")
        .and_then(|value| read_multiplexing(value, &member(&server, "multiplexing"), problems));
    if let (Some(own), Some(of_file)) = (own, of_file)
        && own != of_file
    {
        let (own, of_file) = (own.word(), of_file.word());
        let sentence = format!("serves in the order `{own}`, and the file says `{of_file}`");
        let help = "say it in one place: for the file, or for each server".to_owned();
        server.report(Mistake::Contradiction { sentence, help }, problems);
    }
    let multiplexing = own.or(of_file);
    Some(Server {
        id,
        service,
        link,
        multiplexing,
    })
}

/// Refuses a service that its own link could not carry.
pub(super) fn refuse_faster_than_link(
    server: &Object<'_>,
    service: &[(Rate, Time)],
    link: Option<Rate>,
    problems: &mut Problems,
) {
    let fastest = service.iter().map(|(rate, _)| *rate).max();
    if let (Some(link), Some(fastest)) = (link, fastest)
        && fastest > link
    {
        let sentence = "serves faster than the link behind it carries".to_owned();
        let help = "give the service no more than the rate of the link".to_owned();
        server.report(Mistake::Contradiction { sentence, help }, problems);
    }
    if fastest == Some(Rate::ZERO) {
        let (quantity, example) = ("service rate", "1e8");
        server.report(Mistake::Zero { quantity, example }, problems);
    }
}

fn read_curve(object: &Object<'_>, problems: &mut Problems) -> Option<(Rate, Time)> {
    let about = "the rate at which it serves, in bit/s, such as 1e8";
    let rate = object.need("rate_bps", about, problems)?;
    let rate = rate.count(
        &member(object, "rate_bps"),
        MILLIONTHS,
        Rounding::Down,
        problems,
    )?;
    let latency = match object.get("latency_s") {
        Some(value) => value.count(&member(object, "latency_s"), FEMTO, Rounding::Up, problems)?,
        None => 0,
    };
    Some((Rate::from_ubps(rate), Time::from_fs(latency)))
}

fn read_bucket(object: &Object<'_>, problems: &mut Problems) -> Option<(Rate, Data)> {
    let about = "the rate at which it arrives, in bit/s, such as 4e6";
    let rate = object.need("rate_bps", about, problems)?;
    let rate = rate.count(
        &member(object, "rate_bps"),
        MILLIONTHS,
        Rounding::Up,
        problems,
    )?;
    let about = "what may arrive at once, in bit, such as 8000";
    let burst = object.need("burst_bit", about, problems)?;
    let burst = burst.count(
        &member(object, "burst_bit"),
        MILLIONTHS,
        Rounding::Up,
        problems,
    )?;
    Some((Rate::from_ubps(rate), Data::from_ubits(burst)))
}

/// Reads a curve of one piece, whose keys stand in the object itself, or of
/// several, in a list under `key`.
fn read_pieces<T>(
    object: &Object<'_>,
    key: &'static str,
    own_keys: [&'static str; 2],
    read: fn(&Object<'_>, &mut Problems) -> Option<T>,
    problems: &mut Problems,
) -> Option<Vec<T>> {
    let Some(list) = object.get(key) else {
        return read(object, problems).map(|piece| vec![piece]);
    };
    if let Some(own) = own_keys.iter().find(|own| object.has(own)) {
        let sentence = format!("has both `{own}` and `{key}`");
        let help = format!("`{key}` is for curves of several pieces: put all of them there");
        object.report(Mistake::Contradiction { sentence, help }, problems);
        return None;
    }
    let name = member(object, key);
    let values = list.list(&name, problems)?;
    let (count, limit) = (values.len(), MOST_PIECES);
    if count > limit {
        list.report(
            &name,
            Mistake::TooMany {
                what: key,
                count,
                limit,
            },
            problems,
        );
        return None;
    }
    if values.is_empty() {
        let sentence = "has no piece".to_owned();
        let help = format!(
            "such as [{{\"{}\": 1e6, \"{}\": 0}}]",
            own_keys[0], own_keys[1]
        );
        list.report(&name, Mistake::Contradiction { sentence, help }, problems);
        return None;
    }
    let pieces = values.into_iter().enumerate().map(|(at, value)| {
        let piece = value.object(&format!("{name}[{at}]"), problems)?;
        piece.refuse_others(&own_keys, &[], problems);
        read(&piece, problems)
    });
    pieces.collect()
}

/// Reads a flow, and where the one is named of which it is a branch.
fn read_flow<'a>(
    value: Value<'a>,
    name: &str,
    servers: &Names,
    links: Option<&BTreeSet<(usize, usize)>>,
    problems: &mut Problems,
) -> Option<(ServedFlow, Option<Value<'a>>)> {
    let mut flow = value.object(name, problems)?;
    let id = read_id(&mut flow, problems)?;
    flow.refuse_others(&FLOW_KEYS, &[], problems);
    let buckets = read_pieces(
        &flow,
        "buckets",
        ["rate_bps", "burst_bit"],
        read_bucket,
        problems,
    )?;
    let about = "the servers that it crosses, in order, such as [\"s1\", \"s2\"]";
    let path = read_path(
        &flow,
        flow.need("path", about, problems)?,
        servers,
        problems,
    )?;
    if let Some(links) = links {
        refuse_gaps(&flow, &path, servers, links, problems);
    }
    let max_packet = match flow.get("max_packet_bit") {
        Some(value) => {
            let name = member(&flow, "max_packet_bit");
            value.count(&name, MILLIONTHS, Rounding::Up, problems)?
        }
        None => 0,
    };
    let max_packet = Data::from_ubits(max_packet);
    refuse_burst_below_packet(&flow, &buckets, max_packet, problems);
    let priority = match flow.get("priority") {
        Some(value) => read_priority(&flow, value, problems)?,
        None => 0,
    };
    let read = ServedFlow {
        id,
        buckets,
        path,
        max_packet,
        priority,
        branch_of: None,
    };
    Some((read, flow.get("branch_of")))
}

/// Refuses a flow that could never send its largest packet.
fn refuse_burst_below_packet(
    flow: &Object<'_>,
    buckets: &[(Rate, Data)],
    max_packet: Data,
    problems: &mut Problems,
) {
    if has_no_room_for_packet(buckets, max_packet) {
        let sentence = "its burst has no room for its largest packet".to_owned();
        let help = "a burst holds at least one packet".to_owned();
        flow.report(Mistake::Contradiction { sentence, help }, problems);
    }
}

/// Returns whether a flow could never send its largest packet.
pub(super) fn has_no_room_for_packet(buckets: &[(Rate, Data)], max_packet: Data) -> bool {
    buckets.iter().any(|(_, burst)| *burst < max_packet)
}

/// Reads the names of servers into their places.
pub(super) fn read_path(
    flow: &Object<'_>,
    value: Value<'_>,
    servers: &Names,
    problems: &mut Problems,
) -> Option<Vec<usize>> {
    let name = member(flow, "path");
    let steps = value.list(&name, problems)?;
    if steps.is_empty() {
        let sentence = "the path crosses no server".to_owned();
        let help = "name at least one".to_owned();
        flow.report(Mistake::Contradiction { sentence, help }, problems);
        return None;
    }
    let mut seen: BTreeMap<usize, TextSpan> = BTreeMap::new();
    let places = steps.into_iter().enumerate().map(|(at, step)| {
        let step_name = format!("{name}[{at}]");
        let id = step.string(&step_name, problems)?;
        let server = servers.find(&id, step, &step_name, problems)?;
        if let Some(first) = seen.insert(server, step.place()) {
            let (what, name) = ("server on the path", quote(&id));
            step.report(&step_name, Mistake::Twice { what, name, first }, problems);
            return None;
        }
        Some(server)
    });
    places.collect()
}

/// Refuses a path that takes a step where there is no link.
fn refuse_gaps(
    flow: &Object<'_>,
    path: &[usize],
    servers: &Names,
    links: &BTreeSet<(usize, usize)>,
    problems: &mut Problems,
) {
    let mut steps = path.windows(2).map(|step| (step[0], step[1]));
    if let Some((from, to)) = steps.find(|step| !links.contains(step)) {
        let (from, to) = (servers.name(from), servers.name(to));
        let sentence = format!("the path steps from `{from}` to `{to}`, where no link is");
        let help = format!("add [\"{from}\", \"{to}\"] to `links`, or leave `links` out");
        flow.report(Mistake::Contradiction { sentence, help }, problems);
    }
}

fn read_links(
    top: &Object<'_>,
    servers: &Names,
    problems: &mut Problems,
) -> Option<BTreeSet<(usize, usize)>> {
    let list = top.get("links")?.list("links", problems)?;
    let mut links = BTreeSet::new();
    for (at, link) in list.into_iter().enumerate() {
        let name = format!("links[{at}]");
        let ends = link.list(&name, problems).unwrap_or_default();
        let ends = ends.into_iter().map(|end| {
            let id = end.string(&name, problems)?;
            servers.find(&id, end, &name, problems)
        });
        let ends: Option<Vec<_>> = ends.collect();
        match ends.as_deref() {
            Some([from, to]) => {
                links.insert((*from, *to));
            }
            Some(_) => {
                let found = link.kind();
                let expected = "two servers, as in [\"s1\", \"s2\"]".to_owned();
                link.report(&name, Mistake::WrongType { expected, found }, problems);
            }
            None => {}
        }
    }
    Some(links)
}

fn read_priority(flow: &Object<'_>, value: Value<'_>, problems: &mut Problems) -> Option<u8> {
    let name = member(flow, "priority");
    let count = value.count(&name, 0, Rounding::Down, problems)?;
    let whole = value.count(&name, 0, Rounding::Up, problems)? == count;
    let priority = u8::try_from(count).ok().filter(|_| whole);
    if priority.is_none() {
        let mistake = Mistake::OutOfRange {
            value: quote(value.written()),
            least: "0, the most urgent,".to_owned(),
            most: "255, in whole numbers".to_owned(),
        };
        value.report(&name, mistake, problems);
    }
    priority
}

pub(super) fn read_multiplexing(
    value: Value<'_>,
    name: &str,
    problems: &mut Problems,
) -> Option<Multiplexing> {
    let text = value.string(name, problems)?;
    let words = Multiplexing::WORDS;
    let found = words.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let choices = words.map(|(word, _)| word);
        let mistake = Mistake::UnknownChoice {
            what: "multiplexing",
            text: quote(&text),
            nearest: nearest(&text, choices),
            choices: choices.join(", "),
        };
        value.report(name, mistake, problems);
    }
    found.map(|(_, multiplexing)| *multiplexing)
}

/// Reads the `id` of an object and adds it to what messages call the object.
fn read_id(object: &mut Object<'_>, problems: &mut Problems) -> Option<String> {
    let id = object.need("id", "a name that no other one has", problems)?;
    let id = id.string(&member(object, "id"), problems)?;
    object.name = format!("{} (`{}`)", object.name, quote(&id));
    Some(id)
}

/// Returns what messages call a member of an object.
pub(super) fn member(object: &Object<'_>, key: &str) -> String {
    format!("{}.{key}", object.name)
}
