//! Reads what happens to the network, and plays it through: a link that is cut
//! twice or healed before it was cut is a mistake.

mod errors;
mod violations;

use std::collections::{BTreeMap, BTreeSet};

use units::Duration;

use self::violations::Violations;
use crate::format::EVENT;
use crate::limits::MOST_EVENTS;
use crate::mistake::Mistake;
use crate::names::Names;
use crate::plan::PlannedNetwork;
use crate::problem::{Problems, TextSpan};
use crate::read::modes::Levels;
use crate::record::{LayeredTable, records};
use crate::shape::list;
use crate::{
    Change, End, Flow, FlowIndex, HostIndex, LinkIndex, Node, PlantedError, SwitchIndex,
    TimedEvent, Violation,
};

/// Returns the events in the order of their times; at the same time in the
/// order of the file.
pub(super) fn read(
    file: &LayeredTable<'_>,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> (Vec<TimedEvent>, Vec<Violation>, Vec<PlantedError>) {
    let list = file
        .item("events")
        .and_then(|events| events.get_ref().as_array());
    let count = list.map_or(0, |list| list.len());
    if count > MOST_EVENTS {
        let (what, limit) = ("events", MOST_EVENTS);
        let mistake = Mistake::TooMany { what, count, limit };
        problems.report(file.place_of("events"), mistake);
        return (Vec::new(), Vec::new(), Vec::new());
    }
    let mut violations = Violations::default();
    let (mut planned, mut errors) = (Vec::new(), Vec::new());
    for record in list.into_iter().flat_map(|list| records(list, &EVENT)) {
        let at = record.time("at");
        if let Some(at) = at.filter(|at| *at >= subjects.duration) {
            let (what, end) = ("an event", subjects.duration);
            let mistake = Mistake::AfterTheEnd { what, at, end };
            problems.report(record.place_of("at"), mistake);
        }
        let subject = subject(&record, subjects, problems);
        if let (Some(at), Some(subject)) = (at, subject) {
            match subject {
                Subject::Network(subject) => planned.push((at, subject, record.place_of("at"))),
                Subject::Flow(violation) => violations.add(violation, record.place_of("at")),
                Subject::Error(error) => {
                    errors::check_once(&errors, error, &record, subjects, problems);
                    errors.push(error);
                }
            }
        }
    }
    planned.sort_by_key(|(at, ..)| *at);
    errors.sort_by_key(|error| error.from);
    let mut state = NetworkState::new(subjects.network);
    let events = planned.into_iter().filter_map(|(at, subject, place)| {
        let change = state.apply(subject, place, problems)?;
        Some(TimedEvent { at, change })
    });
    (
        events.collect(),
        violations.in_order(subjects.flows, problems),
        errors,
    )
}

/// The keys that say what an event is about.
const KEYS: [&str; 17] = [
    "link",
    "host",
    "to",
    "switch",
    "flow",
    "level",
    "size",
    "period",
    "until",
    "extra",
    "by",
    "factor",
    "burst",
    "like",
    "priority",
    "rate",
    "destination",
];

/// What events may be about.
pub(super) struct Subjects<'a> {
    pub(super) network: &'a PlannedNetwork,
    pub(super) flows: &'a [Flow],
    pub(super) flow_names: &'a Names<FlowIndex>,
    pub(super) levels: &'a Levels,
    pub(super) duration: Duration,
}

/// What an event is about.
#[derive(Clone, Copy)]
enum Subject {
    Network(NetworkSubject),
    Flow(Violation),
    Error(PlantedError),
}

/// What happens to the network.
#[derive(Clone, Copy)]
enum NetworkSubject {
    Cut(LinkIndex),
    Heal(LinkIndex),
    HostMoves(HostIndex, SwitchIndex),
    SwitchCrash(SwitchIndex),
    SwitchKill(SwitchIndex),
    SwitchRestart(SwitchIndex),
}

fn subject(
    record: &LayeredTable<'_>,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<Subject> {
    let network = subjects.network;
    let kind = record.choice("kind")?;
    let (required, optional): (&[&'static str], &[&'static str]) = match kind {
        "cut" | "heal" => (&["link"], &[]),
        "host-moves" => (&["host", "to"], &[]),
        "violate" => (&["flow"], &["level", "size", "period", "until"]),
        "slow-switch" => (&["switch", "extra"], &["until"]),
        "slow-link" => (&["link", "by"], &["until"]),
        "exceed" => (&["flow"], &["factor", "burst", "until"]),
        "foreign" => (&["host", "rate"], &["like", "priority", "size", "until"]),
        "flood" => (&["host", "rate"], &["destination", "size", "until"]),
        _ => (&["switch"], &[]),
    };
    check_keys(record, kind, required, optional, problems);
    let of_network = match kind {
        "cut" => link(record, network, problems).map(NetworkSubject::Cut),
        "heal" => link(record, network, problems).map(NetworkSubject::Heal),
        "host-moves" => {
            let host = host(record, network, problems);
            let to = switch(record, "to", network, problems);
            Some(NetworkSubject::HostMoves(host?, to?))
        }
        "violate" => {
            return violations::read(record, subjects, problems).map(Subject::Flow);
        }
        "switch-crash" => {
            switch(record, "switch", network, problems).map(NetworkSubject::SwitchCrash)
        }
        "switch-kill" => {
            switch(record, "switch", network, problems).map(NetworkSubject::SwitchKill)
        }
        "switch-restart" => {
            switch(record, "switch", network, problems).map(NetworkSubject::SwitchRestart)
        }
        _ => return errors::read(kind, record, subjects, problems).map(Subject::Error),
    };
    of_network.map(Subject::Network)
}

fn check_keys(
    record: &LayeredTable<'_>,
    kind: &'static str,
    required: &[&'static str],
    optional: &[&'static str],
    problems: &mut Problems,
) {
    for key in KEYS {
        let place = record.place_of(key);
        let known = required.contains(&key) || optional.contains(&key);
        match (record.has(key), known) {
            (false, _) if required.contains(&key) => {
                problems.report(record.place.clone(), record.missing(key));
            }
            (true, false) => problems.report(
                place,
                Mistake::KeyOfAnotherKind {
                    key: key.to_owned(),
                    kind,
                    known: list(
                        ["at", "kind"]
                            .iter()
                            .chain(required)
                            .chain(optional)
                            .copied(),
                    ),
                },
            ),
            (true, true) | (false, _) => {}
        }
    }
}

fn link(
    record: &LayeredTable<'_>,
    network: &PlannedNetwork,
    problems: &mut Problems,
) -> Option<LinkIndex> {
    let place = record.place_of("link");
    network
        .link_names
        .find(record.text("link")?, place, problems)
}

fn host(
    record: &LayeredTable<'_>,
    network: &PlannedNetwork,
    problems: &mut Problems,
) -> Option<HostIndex> {
    let (name, place) = (record.text("host")?, record.place_of("host"));
    match network.nodes.find(name, place.clone(), problems)? {
        Node::Host(host) => Some(host),
        Node::Switch(_) => {
            let mistake = Mistake::Contradiction {
                sentence: format!("`{name}` is a switch, and this needs a host"),
                help: "name one of [hosts]".to_owned(),
            };
            problems.report(place, mistake);
            None
        }
    }
}

fn switch(
    record: &LayeredTable<'_>,
    key: &str,
    network: &PlannedNetwork,
    problems: &mut Problems,
) -> Option<SwitchIndex> {
    let (name, place) = (record.text(key)?, record.place_of(key));
    match network.nodes.find(name, place.clone(), problems)? {
        Node::Switch(switch) => Some(switch),
        Node::Host(_) => {
            let mistake = Mistake::Contradiction {
                sentence: format!("`{name}` is a host, and this needs a switch"),
                help: "name one of [switches]".to_owned(),
            };
            problems.report(place, mistake);
            None
        }
    }
}

/// The state of the network between events.
struct NetworkState<'a> {
    network: &'a PlannedNetwork,
    cut: BTreeSet<LinkIndex>,
    crashed: BTreeSet<SwitchIndex>,
    /// The switch of each host that has moved.
    moved: BTreeMap<HostIndex, SwitchIndex>,
    /// The ports that moved hosts have taken, by switch.
    added_ports: BTreeMap<SwitchIndex, u32>,
}

impl<'a> NetworkState<'a> {
    fn new(network: &'a PlannedNetwork) -> Self {
        Self {
            network,
            cut: BTreeSet::new(),
            crashed: BTreeSet::new(),
            moved: BTreeMap::new(),
            added_ports: BTreeMap::new(),
        }
    }

    fn apply(
        &mut self,
        subject: NetworkSubject,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Option<Change> {
        let link_name = |link: LinkIndex| &self.network.links[link.0].name;
        let switch_name = |switch: SwitchIndex| &self.network.switches[switch.0].name;
        let result = match subject {
            NetworkSubject::Cut(link) if !self.cut.insert(link) => {
                Err(format!("link `{}` is cut already", link_name(link)))
            }
            NetworkSubject::Heal(link) if !self.cut.remove(&link) => {
                Err(format!("link `{}` is not cut", link_name(link)))
            }
            NetworkSubject::SwitchCrash(switch) | NetworkSubject::SwitchKill(switch)
                if !self.crashed.insert(switch) =>
            {
                Err(format!(
                    "switch `{}` has crashed already",
                    switch_name(switch)
                ))
            }
            NetworkSubject::SwitchRestart(switch) if !self.crashed.remove(&switch) => {
                Err(format!("switch `{}` has not crashed", switch_name(switch)))
            }
            NetworkSubject::HostMoves(host, to) if self.switch_of(host) == Some(to) => {
                Err(format!(
                    "host `{}` is at `{}` already",
                    self.network.hosts[host.0].name,
                    switch_name(to)
                ))
            }
            NetworkSubject::Cut(link) => Ok(Change::Cut(link)),
            NetworkSubject::Heal(link) => Ok(Change::Heal(link)),
            NetworkSubject::SwitchCrash(switch) => Ok(Change::SwitchCrash(switch)),
            NetworkSubject::SwitchKill(switch) => Ok(Change::SwitchKill(switch)),
            NetworkSubject::SwitchRestart(switch) => Ok(Change::SwitchRestart(switch)),
            NetworkSubject::HostMoves(host, to) => Ok(self.move_host(host, to)),
        };
        result
            .map_err(|sentence| problems.report(place, Mistake::EventOutOfOrder { sentence }))
            .ok()
    }

    fn switch_of(&self, host: HostIndex) -> Option<SwitchIndex> {
        let moved = self.moved.get(&host).copied();
        moved.or_else(|| {
            let link = self.network.hosts[host.0].link;
            let link = self.network.links.get(link.0)?;
            match link.end_opposite(Node::Host(host)).node {
                Node::Switch(switch) => Some(switch),
                Node::Host(_) => None,
            }
        })
    }

    fn move_host(&mut self, host: HostIndex, to: SwitchIndex) -> Change {
        self.moved.insert(host, to);
        let added = self.added_ports.entry(to).or_default();
        *added += 1;
        let links = self.network.switches[to.0].ports.len();
        let links = u32::try_from(links).expect("the number of links has a limit");
        Change::HostMoves {
            host,
            to: End {
                node: Node::Switch(to),
                port: links + *added,
            },
        }
    }
}
