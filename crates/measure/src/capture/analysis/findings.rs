//! From what was seen to figures, and to sentences on what makes them doubtful.

mod doubts;
pub(super) mod flow_setup;
mod interruptions;
mod journeys;
mod rates;

use units::{Duration, Instant};

use super::clocks::Trend;
use super::hosts::{MOST_HOSTS, MOST_LOST, MOST_PAIRS, Sender};
use super::matching::Pair;
use super::packet::HostAddress;
use super::{Analysis, Clocks, ExchangeKind, Question, Side, Tally};
use crate::capture::reader::Contents;
use crate::measurement::Value;
use crate::method::{Findings, Setting, point_name};
use crate::statistics::{Distribution, ratio};
use journeys::Journeys;

pub(super) fn of(mut analysis: Analysis, captures: &[(&str, &Contents)]) -> Findings {
    let mut findings = Findings::default();
    doubts::of_each_capture(&analysis, captures, &mut findings.remarks);
    let is_single = captures.len() < 2;
    if !is_single {
        count_leftovers(&mut analysis);
        analysis.hosts.sort();
    }
    match (analysis.question, is_single) {
        (Question::Latency, true) => seen_here(&analysis, &mut findings),
        (Question::Latency, false) => {
            of_exchanges(&analysis, &mut findings);
            of_senders(&analysis, &mut findings);
        }
        (Question::FlowSetup, _) => flow_setup::of(&analysis, is_single, &mut findings),
        (Question::Jitter | Question::Loss, _) => of_senders(&analysis, &mut findings),
        (Question::Throughput, _) => rates::of(&analysis, is_single, &mut findings),
        (Question::Failover, _) => interruptions::of(&analysis, is_single, &mut findings),
    }
    if !is_single {
        doubts::of_both_captures(&analysis, captures, &mut findings.remarks);
    }
    if findings.figures.is_empty() {
        findings
            .remarks
            .insert(0, doubts::why_nothing(&analysis, is_single));
    }
    findings
}

/// Counts packets without a partner that lie within what both captures cover.
fn count_leftovers(analysis: &mut Analysis) {
    for side in [Side::First, Side::Second] {
        let Some((from, to)) = analysis.common[side.place()] else {
            continue;
        };
        let left = analysis.matcher.left(side);
        let within = left.filter(|entry| (from..=to).contains(&entry.at));
        for entry in within {
            analysis.hosts.missed(side.other(), entry);
        }
    }
}

/// What a single capture tells: how long replies took, as seen there.
fn seen_here(analysis: &Analysis, findings: &mut Findings) {
    for ((kind, caller), times) in &analysis.seen_here {
        let setting = setting_of(analysis, *kind, *caller);
        add(
            findings,
            ("request to reply, as seen here", "S3-2, ASYNC Eq. (2)"),
            &setting,
            times,
        );
    }
    for (side, sentence) in [
        (
            ExchangeKind::Opening,
            "The capture was taken at the caller's side: replies to a SYN took longer than ACKs \
             of a SYN-ACK.",
        ),
        (
            ExchangeKind::Handshake,
            "The capture was taken at the called side: the time from a SYN-ACK to its ACK holds \
             the path and the caller's turnaround (S3-2).",
        ),
    ] {
        if longer_handshake(analysis) == Some(side) {
            findings.remarks.push(sentence.to_owned());
        }
    }
}

/// Returns which part of a handshake holds the path.
fn longer_handshake(analysis: &Analysis) -> Option<ExchangeKind> {
    let median = |wanted: ExchangeKind| {
        let mut all = Distribution::default();
        let of_kind = analysis.seen_here.iter();
        let of_kind = of_kind.filter(|((kind, _), _)| *kind == wanted);
        of_kind.for_each(|(_, times)| all.merge(times));
        all.quantile(500)
    };
    let (opening, handshake) = (
        median(ExchangeKind::Opening)?,
        median(ExchangeKind::Handshake)?,
    );
    Some(match opening >= handshake {
        true => ExchangeKind::Opening,
        false => ExchangeKind::Handshake,
    })
}

/// Figures of exchanges that both captures have.
fn of_exchanges(analysis: &Analysis, findings: &mut Findings) {
    for ((kind, caller), [first, second]) in &analysis.tallies {
        let setting = setting_of(analysis, *kind, *caller);
        let (tally, less) = match first.two_way.count() >= second.two_way.count() {
            true => (first, second),
            false => (second, first),
        };
        for (name, source, times) in [
            ("round trip", "S3-2, ASYNC Eq. (2)", &tally.round_trip),
            (
                "time at the called side",
                "S3-1, ASYNC Eq. (1)",
                &tally.processing,
            ),
            ("two-way latency", "S3-1, ASYNC Eq. (3)", &tally.two_way),
            (
                "half of the two-way latency",
                "S3-1, ASYNC Eq. (4)",
                &tally.one_way,
            ),
        ] {
            add(findings, (name, source), &setting, times);
        }
        contradictions(tally, less, &setting, &mut findings.remarks);
    }
}

/// Says what contradicts a figure.
fn contradictions(tally: &Tally, less: &Tally, setting: &Setting, remarks: &mut Vec<String>) {
    let contrary = less.two_way.count() + less.backwards + tally.backwards;
    if contrary > 0 {
        let of = tally.two_way.count() + contrary;
        remarks.push(format!(
            "{contrary} of {of} exchanges ({}) took the called side longer than the caller \
             waited and are left out: stamps that are coarser than the path is long, or a clock \
             that was set meanwhile.",
            point_name(setting)
        ));
    }
}

/// Figures of what each host sent: how it varied, what was lost, or both.
fn of_senders(analysis: &Analysis, findings: &mut Findings) {
    for (host, _, sender) in analysis.hosts.iter() {
        if sender.matched == 0 {
            continue;
        }
        let setting = vec![("from".to_owned(), host.to_string())];
        let side = side_of(analysis, sender);
        let journeys = Journeys::of(analysis, sender, side);
        if analysis.question != Question::Jitter {
            counts(analysis, sender, side, &setting, findings);
        }
        if analysis.question == Question::Loss {
            runs(analysis, &journeys, &setting, findings);
            continue;
        }
        if analysis.question == Question::Latency && analysis.assumptions.clocks == Clocks::One {
            let latency = one_way(sender, side);
            let name = ("one-way latency", "RFC 7679 section 3");
            add(findings, name, &setting, &latency);
        }
        variations(&journeys, &setting, findings);
    }
}

/// How the latency of a sender's packets varied.
fn variations(journeys: &Journeys, setting: &Setting, findings: &mut Findings) {
    let mut variation = Distribution::default();
    for journey in &journeys.arrived {
        variation.record(Duration::from_ns(journey.above_ns));
    }
    let name = ("one-way latency above its least", "RFC 5481 section 4.2");
    add(findings, name, setting, &variation);
    let jitter = Duration::from_ns(journeys.jitter_ns());
    let name = ("jitter", "RFC 3550 section 6.4.1");
    findings.add(name, setting, Value::Time(jitter));
}

fn runs(analysis: &Analysis, journeys: &Journeys, setting: &Setting, findings: &mut Findings) {
    let (arrived, lost) = (journeys.arrived.len() as u64, journeys.lost.len() as u64);
    let share = Value::Share(ratio(lost, arrived + lost));
    findings.add(("share lost", "RFC 7680 section 2"), setting, share);
    let longest = Value::Count(journeys.longest_run());
    findings.add(("longest run of losses", "RFC 7680"), setting, longest);
    if analysis.hosts.has_forgotten_losses {
        findings.remark(format!(
            "Shares and runs are those of {MOST_LOST} losses at most, and of a pause those of its \
             beginning; more are only counted."
        ));
    }
}

/// Returns the latencies of what a host sent, as the stamps of one clock say.
fn one_way(sender: &Sender, side: Side) -> Distribution {
    let sign = match side {
        Side::First => 1,
        Side::Second => -1,
    };
    let mut latency = Distribution::default();
    for pair in &sender.pairs {
        if let Ok(ns) = u64::try_from(pair.later_ns.saturating_mul(sign)) {
            latency.record(Duration::from_ns(ns));
        }
    }
    latency
}

/// Returns at whose side a host is: what is known, else what one clock tells, else
/// the first, which the user calls the sender's.
fn side_of(analysis: &Analysis, sender: &Sender) -> Side {
    let told = || match analysis.assumptions.clocks {
        Clocks::Unrelated => None,
        Clocks::One => {
            let later = sender
                .pairs
                .iter()
                .filter(|pair| pair.later_ns >= 0)
                .count();
            Some(match later * 2 >= sender.pairs.len() {
                true => Side::First,
                false => Side::Second,
            })
        }
    };
    sender.side().or_else(told).unwrap_or(Side::First)
}

fn counts(
    analysis: &Analysis,
    sender: &Sender,
    side: Side,
    setting: &Setting,
    findings: &mut Findings,
) {
    let missing = sender.missing[side.other().place()];
    let is_cut_by_cards = analysis.captures.iter().any(|it| it.super_frames > 0);
    let lost = match is_cut_by_cards {
        true => missing.others,
        false => missing.others + missing.segments,
    };
    for (quantity, source, count) in [
        ("packets found in both captures", "S3-5", sender.matched),
        (
            "packets lost",
            "RFC 7680 section 2",
            lost.saturating_sub(missing.answered),
        ),
        (
            "packets that arrived twice",
            "RFC 5560 section 2",
            sender.copies[side.other().place()],
        ),
        (
            "packets reordered",
            "RFC 4737 section 3",
            reordered(&sender.pairs),
        ),
    ] {
        findings.add((quantity, source), setting, Value::Count(count));
    }
}

/// Returns how many packets arrived after one that was sent later.
fn reordered(pairs: &[Pair]) -> u64 {
    let mut arrivals: Vec<(u64, u64)> = pairs
        .iter()
        .map(|pair| {
            let second = pair.first_ns.wrapping_add(pair.later_ns.cast_unsigned());
            (second, pair.first_ns)
        })
        .collect();
    arrivals.sort_unstable();
    let (mut latest, mut count) = (0, 0);
    for (_, sent) in arrivals {
        count += u64::from(sent < latest);
        latest = latest.max(sent);
    }
    count
}

fn setting_of(analysis: &Analysis, kind: ExchangeKind, caller: u8) -> Setting {
    let caller: Option<HostAddress> = analysis.hosts.name(caller);
    let caller = caller.map_or("others".to_owned(), |host| host.to_string());
    vec![
        ("exchange".to_owned(), kind.name().to_owned()),
        ("caller".to_owned(), caller),
    ]
}

fn add(findings: &mut Findings, name: (&str, &str), setting: &Setting, times: &Distribution) {
    if times.count() > 0 {
        findings.add(name, setting, Value::Times(times.clone()));
    }
}

/// Returns a stamp as seconds since 1970 with all its digits.
fn moment(unix_ns: u64) -> String {
    let at = Instant::from_ns(unix_ns).as_ns();
    format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000)
}
