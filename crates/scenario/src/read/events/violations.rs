//! Reads events of flows that send otherwise than they agreed to.

use std::collections::BTreeMap;

use units::Duration;

use super::Subjects;
use crate::mistake::Mistake;
use crate::problem::{Problems, TextSpan};
use crate::record::LayeredTable;
use crate::{Flow, FlowIndex, Message, MessageContract, Traffic, Treatment, Violation};

/// The violations that were read, with their places.
#[derive(Default)]
pub(super) struct Violations(Vec<(Violation, TextSpan)>);

impl Violations {
    pub(super) fn add(&mut self, violation: Violation, place: TextSpan) {
        self.0.push((violation, place));
    }

    /// Returns them in order of time; reports one that begins while another of the same
    /// flow has not ended. One without an end is ended by the next.
    pub(super) fn in_order(mut self, flows: &[Flow], problems: &mut Problems) -> Vec<Violation> {
        self.0.sort_by_key(|(violation, _)| violation.from);
        let mut until: BTreeMap<FlowIndex, Option<Duration>> = BTreeMap::new();
        for (violation, place) in &self.0 {
            let before = until.insert(violation.flow, violation.until).flatten();
            if before.is_some_and(|until| until > violation.from) {
                let name = &flows[violation.flow.0].name;
                let sentence = format!("`{name}` already sends otherwise at that time");
                problems.report(place.clone(), Mistake::EventOutOfOrder { sentence });
            }
        }
        self.0.into_iter().map(|(violation, _)| violation).collect()
    }
}

pub(super) fn read(
    record: &LayeredTable<'_>,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<Violation> {
    let place = record.place_of("flow");
    let index = subjects
        .flow_names
        .find(record.text("flow")?, place.clone(), problems)?;
    let flow = &subjects.flows[index.0];
    let Traffic::Message(agreed) = &flow.traffic else {
        let sentence = format!("`{}` sends no messages", flow.name);
        let help = "only flows of kind \"message\" are monitored";
        contradict(record, "flow", sentence, help, problems);
        return None;
    };
    check_times(record, flow, subjects.duration, problems);
    let sent = sent(record, flow, agreed, subjects, problems)?;
    let own = MessageContract {
        size: agreed.size,
        period: agreed.period,
    };
    let key = ["level", "size", "period"]
        .into_iter()
        .find(|key| record.has(key))?;
    if own.grants(&sent) {
        let sentence = format!(
            "{} every {} is what `{}` may send anyway",
            sent.size, sent.period, flow.name
        );
        let help = "a violation is larger or comes more often";
        contradict(record, key, sentence, help, problems);
        return None;
    }
    check_rate(record, key, subjects, flow, sent, problems)?;
    Some(Violation {
        flow: index,
        sent,
        from: record.time("at")?,
        until: record.time("until"),
    })
}

/// Returns what the flow sends instead.
fn sent(
    record: &LayeredTable<'_>,
    flow: &Flow,
    agreed: &Message,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<MessageContract> {
    let own = record.has("size") || record.has("period");
    match (record.has("level"), own) {
        (true, true) => {
            let sentence = "`level` already says the size and the period".to_owned();
            contradict(record, "level", sentence, "remove one of them", problems);
            None
        }
        (true, false) => of_level(record, flow, subjects, problems),
        (false, true) => Some(MessageContract {
            size: record.size("size").unwrap_or(agreed.size),
            period: record.time("period").unwrap_or(agreed.period),
        }),
        (false, false) => {
            problems.report(record.place.clone(), record.missing("level"));
            None
        }
    }
}

fn of_level(
    record: &LayeredTable<'_>,
    flow: &Flow,
    subjects: &Subjects<'_>,
    problems: &mut Problems,
) -> Option<MessageContract> {
    let (name, place) = (record.text("level")?, record.place_of("level"));
    let level = subjects.levels.names.find(name, place, problems)?;
    match flow.by_level.get(level.0)? {
        Treatment::Served(service) => service.message,
        Treatment::Dropped => {
            let sentence = format!("`{}` is dropped at `{name}`", flow.name);
            let help = "name a level at which it is served, or a `size` and a `period`";
            contradict(record, "level", sentence, help, problems);
            None
        }
    }
}

fn check_times(record: &LayeredTable<'_>, flow: &Flow, end: Duration, problems: &mut Problems) {
    let Some(at) = record.time("at") else {
        return;
    };
    let stop = flow.stop.unwrap_or(end);
    if at < flow.start || at >= stop {
        let sentence = format!("`{}` does not send at {at}", flow.name);
        let help = format!("it sends from {} to {stop}", flow.start);
        contradict(record, "at", sentence, &help, problems);
    }
    let Some(until) = record.time("until") else {
        return;
    };
    if until <= at {
        let sentence = format!("the violation begins at {at} and ends at {until}");
        let help = "let it end after its beginning";
        contradict(record, "until", sentence, help, problems);
    } else if until >= end {
        let (what, at) = ("the end of a violation", until);
        let mistake = Mistake::AfterTheEnd { what, at, end };
        problems.report(record.place_of("until"), mistake);
    }
}

/// Returns nothing if the link of a host cannot carry what is sent, after reporting it.
fn check_rate(
    record: &LayeredTable<'_>,
    key: &str,
    subjects: &Subjects<'_>,
    flow: &Flow,
    sent: MessageContract,
    problems: &mut Problems,
) -> Option<()> {
    let Traffic::Message(agreed) = flow.traffic else {
        return None;
    };
    let message = Message {
        size: sent.size,
        period: sent.period,
        ..agreed
    };
    let rate = Traffic::Message(message).contract()?.rate;
    let ends = std::iter::once(flow.source).chain(flow.receivers.iter().copied());
    for host in ends.map(|host| &subjects.network.hosts[host.0]) {
        let link = subjects.network.links.get(host.link.0)?.rate;
        if rate > link {
            let host = host.name.clone();
            let mistake = Mistake::AboveLinkRate { rate, host, link };
            problems.report(record.place_of(key), mistake);
            return None;
        }
    }
    Some(())
}

pub(super) fn contradict(
    record: &LayeredTable<'_>,
    key: &str,
    sentence: String,
    help: &str,
    problems: &mut Problems,
) {
    let help = help.to_owned();
    let mistake = Mistake::Contradiction { sentence, help };
    problems.report(record.place_of(key), mistake);
}
