//! How long reception was interrupted (S0-3).
//!
//! Without losses and delays a packet arrives the least latency after it was sent. An
//! interruption lasts from when the first packet should have arrived that did not, or
//! late, until anything arrives: for a periodic stream that is the gap less a period.
//! A pause of the sender is none. What is shorter than [`LEAST_PERIODS`] is left to
//! jitter.

use units::Duration;

use super::journeys::Journeys;
use super::{Setting, moment, side_of};
use crate::capture::analysis::hosts::Sender;
use crate::capture::analysis::{Analysis, Side};
use crate::measurement::Value;
use crate::method::Findings;
use crate::statistics::{Distribution, middle};

/// So many periods have to pass without an arrival.
const LEAST_PERIODS: u64 = 3;
const SOURCE: &str = "S0-3";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PacketInterruption {
    /// When the first packet should have arrived, less the least latency.
    from: u64,
    length: u64,
}

pub(super) fn of(analysis: &Analysis, is_single: bool, findings: &mut Findings) {
    for (host, _, sender) in analysis.hosts.iter() {
        let setting: Setting = vec![("from".to_owned(), host.to_string())];
        if is_single {
            seen_here(sender, &setting, findings);
        } else if sender.matched > 0 {
            let side = side_of(analysis, sender);
            let journeys = Journeys::of(analysis, sender, side);
            describe(&journeys, &setting, findings);
        }
    }
    if is_single {
        findings.remark(
            "One capture does not tell an interruption from a pause of the sender: that takes \
             the capture of its own side.",
        );
    }
}

fn describe(journeys: &Journeys, setting: &Setting, findings: &mut Findings) {
    let Some(period) = period(journeys) else {
        let why = "fewer than two packets were sent";
        let name = ("interruption of reception", SOURCE);
        findings.add(name, setting, Value::Unknown(why.to_owned()));
        return;
    };
    let all = interruptions(journeys, period.as_ns().saturating_mul(LEAST_PERIODS));
    let mut lengths = Distribution::default();
    all.iter()
        .for_each(|it| lengths.record(Duration::from_ns(it.length)));
    let longest = all.iter().max_by_key(|it| it.length).copied();
    let why = format!("no {LEAST_PERIODS} periods passed without an arrival");
    findings.add_times(
        ("interruption of reception", SOURCE),
        setting,
        lengths,
        &why,
    );
    let counts = [
        (
            "interruptions",
            u64::try_from(all.len()).unwrap_or(u64::MAX),
        ),
        ("lost in the longest", lost_within(journeys, longest)),
    ];
    for (name, count) in counts {
        findings.add((name, SOURCE), setting, Value::Count(count));
    }
    findings.add(
        ("period of the sender, median", SOURCE),
        setting,
        Value::Time(period),
    );
    if let Some(longest) = longest {
        findings.remark(format!(
            "The longest interruption of what came from {} began at {} s, by the sender's clock.",
            setting[0].1,
            moment(longest.from)
        ));
    }
}

/// Returns the median time between two packets of the sender.
fn period(journeys: &Journeys) -> Option<Duration> {
    let arrived = journeys.arrived.iter().map(|it| it.sent);
    let mut sent: Vec<u64> = arrived.chain(journeys.lost.iter().copied()).collect();
    sent.sort_unstable();
    let mut gaps: Vec<u64> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    middle(&mut gaps, Ord::cmp).map(Duration::from_ns)
}

/// Returns all interruptions of at least `least` nanoseconds.
fn interruptions(journeys: &Journeys, least: u64) -> Vec<PacketInterruption> {
    let sent = journeys.arrived.iter().map(|it| it.sent);
    let mut expected: Vec<u64> = sent.chain(journeys.lost.iter().copied()).collect();
    expected.sort_unstable();
    let mut arrivals: Vec<u64> = journeys.arrived.iter().map(|it| it.arrived()).collect();
    arrivals.sort_unstable();
    let mut found = Vec::new();
    for pair in arrivals.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        let next = expected.partition_point(|at| *at <= before);
        let Some(from) = expected.get(next).copied() else {
            break;
        };
        let length = after.saturating_sub(from);
        if length > 0 && length >= least {
            found.push(PacketInterruption { from, length });
        }
    }
    found
}

fn lost_within(journeys: &Journeys, longest: Option<PacketInterruption>) -> u64 {
    let Some(PacketInterruption { from, length }) = longest else {
        return 0;
    };
    let within = |at: &&u64| (from..=from.saturating_add(length)).contains(*at);
    journeys.lost.iter().filter(within).count() as u64
}

/// What a single capture tells: the longest gap less the usual one.
fn seen_here(sender: &Sender, setting: &Setting, findings: &mut Findings) {
    let carried = &sender.carried[Side::First.place()];
    let name = ("longest gap less the median one", SOURCE);
    let (since, gap) = carried.longest_gap;
    match carried.gaps.quantile(500) {
        Some(period) => {
            let length = Duration::from_ns(gap).saturating_sub(period);
            findings.add(name, setting, Value::Time(length));
            findings.remark(format!(
                "The longest gap of what came from {} began at {} s.",
                setting[0].1,
                moment(since)
            ));
        }
        None => {
            let why = "fewer than two frames".to_owned();
            findings.add(name, setting, Value::Unknown(why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::journeys::Journey;
    use super::*;

    #[test]
    fn a_pause_of_the_sender_is_no_interruption_and_a_late_packet_is() {
        let journey = |sent, above_ns| Journey { sent, above_ns };
        let mut arrived: Vec<_> = (0..10).map(|number| journey(number * 10, 0)).collect();
        // It pauses, then a packet is 60 late and the next two with it.
        arrived.extend(
            [(500, 0), (510, 60), (520, 50), (530, 40), (580, 0)]
                .map(|(sent, above)| journey(sent, above)),
        );
        let mut journeys = Journeys {
            arrived,
            lost: Vec::new(),
        };

        let found = |journeys: &Journeys| interruptions(journeys, 30);
        let late = PacketInterruption {
            from: 510,
            length: 60,
        };
        assert_eq!(found(&journeys), [late]);

        journeys.lost = vec![540, 550];
        assert_eq!(found(&journeys), [late]);
        assert_eq!(period(&journeys), Some(Duration::from_ns(10)));

        journeys.arrived.push(journey(700, 0));
        journeys.lost.extend([600, 610]);
        let gap = PacketInterruption {
            from: 600,
            length: 100,
        };
        assert_eq!(found(&journeys), [late, gap]);
        assert_eq!(lost_within(&journeys, Some(gap)), 2);
    }
}
