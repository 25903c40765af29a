//! Reads what happens to the network, and plays it through: a link that is cut
//! twice or healed before it was cut is a mistake.

mod errors;
mod faults;
mod network_state;
mod violations;

use units::Duration;

use self::network_state::NetworkState;
use self::violations::Violations;
use crate::format::EVENT;
use crate::limits::MOST_EVENTS;
use crate::mistake::Mistake;
use crate::names::Names;
use crate::plan::PlannedNetwork;
use crate::problem::Problems;
use crate::read::modes::Levels;
use crate::record::{LayeredTable, records};
use crate::shape::list;
use crate::{
    Change, Flow, FlowIndex, HostIndex, LinkIndex, Node, PlantedError, SwitchIndex, TimedEvent,
    Violation,
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
                Subject::Network(subject) => {
                    planned.push((at, Order::AsWritten, subject, record.place_of("at")));
                }
                Subject::Fault(fault) => {
                    let place = record.place_of("at");
                    let steps = fault.into_iter();
                    planned.extend(
                        steps.map(|(at, order, change)| (at, order, change.into(), place.clone())),
                    );
                }
                Subject::Flow(violation) => violations.add(violation, record.place_of("at")),
                Subject::Error(error) => {
                    errors::check_once(&errors, error, &record, subjects, problems);
                    errors.push(error);
                }
            }
        }
    }
    if planned.len() > MOST_EVENTS {
        let (what, count, limit) = ("events", planned.len(), MOST_EVENTS);
        let mistake = Mistake::TooMany { what, count, limit };
        problems.report(file.place_of("events"), mistake);
        return (Vec::new(), Vec::new(), Vec::new());
    }
    planned.sort_by_key(|(at, order, ..)| (*at, *order));
    errors.sort_by_key(|error| error.from);
    let mut state = NetworkState::new(subjects.network);
    let events = planned.into_iter().filter_map(|(at, _, subject, place)| {
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
const KEYS: [&str; 19] = [
    "link",
    "from",
    "one_in",
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
enum Subject {
    Network(NetworkSubject),
    /// What begins and ends by one event.
    Fault(Vec<FaultStep>),
    Flow(Violation),
    Error(PlantedError),
}

/// When what happens to the network.
type FaultStep = (Duration, Order, Change);

/// What comes first of what happens at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// What was to end then.
    Ends,
    AsWritten,
}

/// What happens to the network.
#[derive(Clone, Copy)]
enum NetworkSubject {
    Change(Change),
    /// The port is found when it is known who has moved before.
    HostMoves(HostIndex, SwitchIndex),
}

impl From<Change> for NetworkSubject {
    fn from(change: Change) -> Self {
        Self::Change(change)
    }
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
        "lose" | "corrupt" => (&["link"], &["from", "one_in", "until"]),
        "flap" => (&["link", "period", "until"], &[]),
        "isolate" => (&["switch"], &["until"]),
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
    let of_switch = |change: fn(SwitchIndex) -> Change, problems: &mut Problems| {
        switch(record, "switch", network, problems).map(|switch| change(switch).into())
    };
    let of_network = match kind {
        "cut" => link(record, network, problems).map(|link| Change::Cut(link).into()),
        "heal" => link(record, network, problems).map(|link| Change::Heal(link).into()),
        "host-moves" => {
            let host = host(record, network, problems);
            let to = switch(record, "to", network, problems);
            Some(NetworkSubject::HostMoves(host?, to?))
        }
        "lose" | "corrupt" | "flap" | "isolate" => {
            return faults::read(kind, record, network, problems).map(Subject::Fault);
        }
        "violate" => {
            return violations::read(record, subjects, problems).map(Subject::Flow);
        }
        "switch-crash" => of_switch(Change::SwitchCrash, problems),
        "switch-kill" => of_switch(Change::SwitchKill, problems),
        "switch-restart" => of_switch(Change::SwitchRestart, problems),
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
