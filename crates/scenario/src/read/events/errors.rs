//! Reads events that plant an error: somebody is not what the file says.

use super::violations::contradict;
use super::{Subjects, host, link, switch};
use crate::format::BROADCAST;
use crate::mistake::Mistake;
use crate::problem::Problems;
use crate::record::LayeredTable;
use crate::{ErrorKind, Excess, FlowIndex, ForeignFrames, HostIndex, PlantedError};
use units::{BitRate, DataSize};

/// The size of a frame of no flow if nothing else is said: the shortest there is.
const SHORTEST_FRAME: DataSize = DataSize::from_bytes(60);
/// A full frame with a tag.
const LONGEST_FRAME: DataSize = DataSize::from_bytes(1518);

pub(super) fn read(
    kind: &'static str,
    record: &LayeredTable<'_>,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<PlantedError> {
    let network = subjects.network;
    let kind = match kind {
        "slow-switch" => switch(record, "switch", network, problems)
            .zip(record.delay("extra"))
            .map(|(switch, extra)| ErrorKind::SlowSwitch {
                switch,
                extra: extra.round_up(),
            }),
        "slow-link" => link(record, network, problems)
            .zip(record.percent("by"))
            .map(|(link, by_thousandths)| ErrorKind::SlowLink {
                link,
                by_thousandths,
            }),
        "exceed" => exceed(record, subjects, problems),
        "foreign" => foreign(record, subjects, problems),
        "flood" => {
            let frames = match record.choice("destination") {
                Some(BROADCAST) => ForeignFrames::FloodBroadcast,
                Some(_) | None => ForeignFrames::FloodRandom,
            };
            let host = host(record, network, problems);
            host.and_then(|host| sent(host, frames, record, subjects, problems))
        }
        _ => unreachable!("the shape of the key has no other word"),
    };
    let (from, until) = (record.time("at")?, record.time("until"));
    if let Some(until) = until.filter(|until| *until <= from) {
        let sentence = format!("the error begins at {from} and ends at {until}");
        let help = "let it end after its beginning";
        contradict(record, "until", sentence, help, problems);
    }
    kind.map(|kind| PlantedError { from, until, kind })
}

/// Reports a second error of a source: there is one clock that runs fast.
pub(super) fn check_once(
    before: &[PlantedError],
    error: PlantedError,
    record: &LayeredTable<'_>,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) {
    let source = |error: &PlantedError| match error.kind {
        ErrorKind::Exceed { flow, .. } => Some(flow),
        ErrorKind::SlowSwitch { .. } | ErrorKind::SlowLink { .. } | ErrorKind::Foreign { .. } => {
            None
        }
    };
    let Some(flow) = source(&error) else { return };
    if before.iter().any(|other| source(other) == Some(flow)) {
        let name = &subjects.flows[flow.0].name;
        let sentence = format!("`{name}` exceeds its contract already");
        contradict(record, "flow", sentence, "a flow does so once", problems);
    }
}

fn exceed(
    record: &LayeredTable<'_>,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<ErrorKind> {
    let flow = promised(record, "flow", subjects, problems);
    let excess = match (record.has("factor"), record.has("burst")) {
        (true, true) => {
            let sentence = "a `factor` and a `burst` are two errors".to_owned();
            contradict(record, "burst", sentence, "write two events", problems);
            None
        }
        (false, true) if record.has("until") => {
            let sentence = "a `burst` is over when it is sent".to_owned();
            contradict(record, "until", sentence, "remove it", problems);
            None
        }
        (false, true) => record.size("burst").map(Excess::Burst),
        (true, false) => record
            .factor("factor")
            .map(|thousandths| Excess::Factor { thousandths }),
        (false, false) => {
            problems.report(record.place.clone(), record.missing("factor"));
            None
        }
    };
    let (flow, excess) = flow.zip(excess)?;
    Some(ErrorKind::Exceed { flow, excess })
}

fn foreign(
    record: &LayeredTable<'_>,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<ErrorKind> {
    let host = host(record, subjects.network, problems)?;
    let frames = match (record.has("like"), record.integer("priority")) {
        (true, Some(_)) => {
            let sentence = "frames like those of a flow have its priority".to_owned();
            contradict(record, "priority", sentence, "remove it", problems);
            None
        }
        (true, None) => {
            let like = promised(record, "like", subjects, problems)?;
            let flow = &subjects.flows[like.0];
            if flow.source == host {
                let name = &flow.name;
                let sentence = format!("`{name}` is sent by that host, so nothing is foreign");
                let help = "name another host, or let the flow `exceed`";
                contradict(record, "host", sentence, help, problems);
            }
            Some(ForeignFrames::Like(like))
        }
        (false, Some(priority)) => {
            let priority = u8::try_from(priority).expect("at most 7");
            Some(ForeignFrames::Tagged { priority })
        }
        (false, None) => {
            problems.report(record.place.clone(), record.missing("like"));
            None
        }
    };
    sent(host, frames?, record, subjects, problems)
}

/// Returns what a host sends that belongs to no flow, if its link carries it.
fn sent(
    host: HostIndex,
    frames: ForeignFrames,
    record: &LayeredTable<'_>,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<ErrorKind> {
    let rate: BitRate = record.rate("rate")?;
    let size = record.size("size").unwrap_or(SHORTEST_FRAME);
    if !(SHORTEST_FRAME..=LONGEST_FRAME).contains(&size) {
        let mistake = Mistake::OutOfRange {
            value: size.to_string(),
            least: SHORTEST_FRAME.to_string(),
            most: LONGEST_FRAME.to_string(),
        };
        problems.report(record.place_of("size"), mistake);
        return None;
    }
    let sender = &subjects.network.hosts[host.0];
    let link = subjects.network.links.get(sender.link.0)?.rate;
    if rate > link {
        let host = sender.name.clone();
        let mistake = Mistake::AboveLinkRate { rate, host, link };
        problems.report(record.place_of("rate"), mistake);
        return None;
    }
    Some(ErrorKind::Foreign {
        host,
        frames,
        rate,
        size,
    })
}

/// Returns a flow that asks for a promise.
fn promised(
    record: &LayeredTable<'_>,
    key: &str,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<FlowIndex> {
    let (name, place) = (record.text(key)?, record.place_of(key));
    let flow = subjects.flow_names.find(name, place, problems)?;
    if subjects.flows[flow.0].deadline.is_none() {
        let sentence = format!("`{name}` asks for no promise, so it has no contract");
        let help = "name a flow with a deadline";
        contradict(record, key, sentence, help, problems);
        return None;
    }
    Some(flow)
}
