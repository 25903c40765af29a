//! Reads faults that begin and end: links that lose or corrupt frames while their ends see a
//! carrier, links that flap, and control channels that carry nothing.

use std::num::NonZeroU32;

use units::Duration;

use super::violations::contradict;
use super::{FaultStep, Order, link, switch};
use crate::limits::MOST_EVENTS;
use crate::mistake::Mistake;
use crate::plan::PlannedNetwork;
use crate::problem::Problems;
use crate::record::LayeredTable;
use crate::{Change, Direction, Impairment, LinkIndex};

pub(super) fn read(
    kind: &'static str,
    record: &LayeredTable<'_>,
    network: &PlannedNetwork,
    problems: &mut Problems,
) -> Option<Vec<FaultStep>> {
    let (at, until) = (record.time("at")?, record.time("until"));
    if let Some(until) = until.filter(|until| *until <= at) {
        let sentence = format!("the fault begins at {at} and ends at {until}");
        let help = "let it end after its beginning";
        contradict(record, "until", sentence, help, problems);
        return None;
    }
    let [begins, ends] = match kind {
        "flap" => {
            let link = link(record, network, problems)?;
            return flap(link, (at, until?), record, problems);
        }
        "isolate" => {
            let switch = switch(record, "switch", network, problems)?;
            [Change::Isolate(switch), Change::Rejoin(switch)]
        }
        "lose" => impair(Impairment::Loss, record, network, problems)?,
        "corrupt" => impair(Impairment::Corruption, record, network, problems)?,
        _ => unreachable!("the caller has no other word"),
    };
    let ends = until.map(|until| (until, Order::Ends, ends));
    Some(
        [(at, Order::AsWritten, begins)]
            .into_iter()
            .chain(ends)
            .collect(),
    )
}

/// Returns how an impairment begins and ends.
fn impair(
    impairment: Impairment,
    record: &LayeredTable<'_>,
    network: &PlannedNetwork,
    problems: &mut Problems,
) -> Option<[Change; 2]> {
    let link = link(record, network, problems)?;
    let direction = match record.text("from") {
        None if record.has("from") => return None,
        None => Direction::Both,
        Some(name) => {
            let place = record.place_of("from");
            let node = network.nodes.find(name, place.clone(), problems)?;
            let description = network.links.get(link.0)?;
            let end = description.ends.iter().position(|end| end.node == node);
            let Some(end) = end else {
                let sentence = format!("`{}` has no end at `{name}`", description.name);
                let help = "name a node that the link joins".to_owned();
                problems.report(place, Mistake::Contradiction { sentence, help });
                return None;
            };
            Direction::From(end)
        }
    };
    let one_in = match record.has("one_in") {
        true => NonZeroU32::new(record.integer("one_in")?),
        false => Some(NonZeroU32::MIN),
    };
    Some([one_in, None].map(|one_in| Change::Impair {
        link,
        direction,
        impairment,
        one_in,
    }))
}

/// Returns the cuts, each healed after half a period or at the end.
fn flap(
    link: LinkIndex,
    (at, until): (Duration, Duration),
    record: &LayeredTable<'_>,
    problems: &mut Problems,
) -> Option<Vec<FaultStep>> {
    let period = record.time("period")?;
    let half = Duration::from_ns(period.as_ns() / 2);
    let count = (until - at).as_ns().div_ceil(period.as_ns());
    if half == Duration::ZERO || count > MOST_EVENTS as u64 / 2 {
        let sentence = format!("the link would be cut {count} times");
        let help = format!("have at most {} events in all", MOST_EVENTS);
        contradict(record, "period", sentence, &help, problems);
        return None;
    }
    let cuts = (0..count).flat_map(|number| {
        let cut = at + period * number;
        [
            (cut, Order::AsWritten, Change::Cut(link)),
            ((cut + half).min(until), Order::Ends, Change::Heal(link)),
        ]
    });
    Some(cuts.collect())
}
