//! From what was seen to figures, and to sentences on what makes them doubtful.

mod doubts;

use units::{Duration, Instant};

use super::clocks::Trend;
use super::hosts::{MOST_HOSTS, MOST_PAIRS, Sender};
use super::matching::Pair;
use super::packet::Host;
use super::{Analysis, Clocks, Kind, Side, Tally};
use crate::capture::reader::Contents;
use crate::measurement::{Figure, Value};
use crate::method::Findings;
use crate::statistics::Distribution;

/// RFC 3550 section 6.4.1: each difference counts for a sixteenth.
const JITTER_SHARE: i64 = 16;

/// Who sent what, by name and value.
type Setting = Vec<(String, String)>;

/// Draws the figures.
pub(super) fn of(mut analysis: Analysis, captures: &[(&str, &Contents)]) -> Findings {
    let mut findings = Findings::default();
    doubts::of_each_capture(&analysis, captures, &mut findings.remarks);
    match captures.len() {
        0 | 1 => seen_here(&analysis, &mut findings),
        _ => {
            count_leftovers(&mut analysis);
            analysis.hosts.sort();
            of_exchanges(&analysis, &mut findings);
            of_senders(&analysis, &mut findings);
            doubts::of_both_captures(&analysis, captures, &mut findings.remarks);
        }
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
            analysis.hosts.missed(side.other(), &entry.what);
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
            Kind::Opening,
            "The capture was taken at the caller's side: replies to a SYN took longer than ACKs \
             of a SYN-ACK.",
        ),
        (
            Kind::Handshake,
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
fn longer_handshake(analysis: &Analysis) -> Option<Kind> {
    let median = |wanted: Kind| {
        let mut all = Distribution::default();
        let of_kind = analysis.seen_here.iter();
        let of_kind = of_kind.filter(|((kind, _), _)| *kind == wanted);
        of_kind.for_each(|(_, times)| all.merge(times));
        all.quantile(500)
    };
    let (opening, handshake) = (median(Kind::Opening)?, median(Kind::Handshake)?);
    Some(match opening >= handshake {
        true => Kind::Opening,
        false => Kind::Handshake,
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
            worded(setting)
        ));
    }
}

/// Figures of what each host sent.
fn of_senders(analysis: &Analysis, findings: &mut Findings) {
    for (host, _, sender) in analysis.hosts.iter() {
        if sender.matched == 0 {
            continue;
        }
        let setting = vec![("from".to_owned(), host.to_string())];
        let side = side_of(analysis, sender);
        counts(analysis, sender, side, &setting, findings);
        let (latency, variation, jitter) = latencies(analysis, sender, side);
        if analysis.assumptions.clocks == Clocks::One {
            add(
                findings,
                ("one-way latency", "RFC 7679 section 3"),
                &setting,
                &latency,
            );
        }
        let name = ("one-way latency above its least", "RFC 5481 section 4.2");
        add(findings, name, &setting, &variation);
        findings.figures.push(Figure {
            quantity: "jitter".to_owned(),
            source: "RFC 3550 section 6.4.1".to_owned(),
            setting,
            value: Value::Time(jitter),
        });
    }
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
            "packets reordered",
            "RFC 4737 section 3",
            reordered(&sender.pairs),
        ),
    ] {
        findings.figures.push(Figure {
            quantity: quantity.to_owned(),
            source: source.to_owned(),
            setting: setting.clone(),
            value: Value::Count(count),
        });
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

/// Returns the latencies of what a host sent as the stamps say, how much they are
/// above the least once the clocks are taken out, and the jitter.
fn latencies(
    analysis: &Analysis,
    sender: &Sender,
    side: Side,
) -> (Distribution, Distribution, Duration) {
    let sign = match side {
        Side::First => 1,
        Side::Second => -1,
    };
    let trend = match analysis.assumptions.clocks {
        Clocks::Unrelated => Trend::of(&sender.pairs, side),
        Clocks::One => Trend::default(),
    };
    let origin = sender.pairs.first().map_or(0, |pair| pair.first_ns);
    let level = |pair: &Pair| trend.level(pair, origin).saturating_mul(sign);
    let least = sender.pairs.iter().map(level).min().unwrap_or(0);
    let (mut latency, mut variation) = (Distribution::default(), Distribution::default());
    let (mut jitter, mut before) = (0_i64, None::<i64>);
    for pair in &sender.pairs {
        let level = level(pair);
        if let Ok(ns) = u64::try_from(pair.later_ns.saturating_mul(sign)) {
            latency.record(Duration::from_ns(ns));
        }
        let above = level.saturating_sub(least);
        variation.record(Duration::from_ns(above.unsigned_abs()));
        if let Some(before) = before.replace(level) {
            let difference = level.saturating_sub(before).saturating_abs();
            // Sixteen times the jitter, so that a division loses nothing.
            jitter = jitter.saturating_add(difference.saturating_sub(jitter / JITTER_SHARE));
        }
    }
    let jitter = (jitter / JITTER_SHARE).unsigned_abs();
    (latency, variation, Duration::from_ns(jitter))
}

fn setting_of(analysis: &Analysis, kind: Kind, caller: u8) -> Setting {
    let caller: Option<Host> = analysis.hosts.name(caller);
    let caller = caller.map_or("others".to_owned(), |host| host.to_string());
    vec![
        ("exchange".to_owned(), kind.name().to_owned()),
        ("caller".to_owned(), caller),
    ]
}

fn worded(setting: &Setting) -> String {
    let parts = setting
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    parts.collect::<Vec<_>>().join(", ")
}

fn add(
    findings: &mut Findings,
    (quantity, source): (&str, &str),
    setting: &Setting,
    times: &Distribution,
) {
    if times.count() == 0 {
        return;
    }
    findings.figures.push(Figure {
        quantity: quantity.to_owned(),
        source: source.to_owned(),
        setting: setting.clone(),
        value: Value::Times(times.clone()),
    });
}

/// Returns a stamp as seconds since 1970 with all its digits.
fn moment(unix_ns: u64) -> String {
    let at = Instant::from_ns(unix_ns).as_ns();
    format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000)
}
