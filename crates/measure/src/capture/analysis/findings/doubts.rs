//! What is wrong with captures, in sentences.

use units::Duration;

use super::super::clocks::{ClockStep, Trend};
use super::super::{Analysis, Capture, Clocks, Question, Side};
use super::{MOST_HOSTS, MOST_PAIRS, moment, side_of};
use crate::capture::reader::{Contents, End, MOST_INTERFACES};

/// Two steps of two directions are one if they are no further apart.
const SAME_MOMENT_NS: u64 = 1_000_000_000;
/// At most so many steps are told one by one.
const MOST_TOLD: usize = 8;

/// Says what is wrong with each capture by itself.
pub(super) fn of_each_capture(
    analysis: &Analysis,
    captures: &[(&str, &Contents)],
    remarks: &mut Vec<String>,
) {
    for ((name, contents), capture) in captures.iter().zip(&analysis.captures) {
        remarks.push(format!("{name}: {}.", extent(capture, contents)));
        remarks.extend(of_contents(name, contents));
        remarks.extend(of_frames(name, capture));
    }
}

/// Says what both captures together show to be wrong.
pub(super) fn of_both_captures(
    analysis: &Analysis,
    captures: &[(&str, &Contents)],
    remarks: &mut Vec<String>,
) {
    if analysis.common[0].is_none() {
        remarks.push(
            "The captures have no packet in common: they are of different times or places, or \
             addresses are translated between them, which has to be said."
                .to_owned(),
        );
        return;
    }
    for (capture, side) in captures.iter().zip([Side::First, Side::Second]) {
        remarks.extend(lacking(analysis, capture.0, side));
        remarks.extend(doubled(analysis, capture.0, side));
    }
    if analysis.captures.iter().any(|it| it.super_frames > 0) {
        remarks.push(
            "Segments of TCP without a partner do not count as lost: cards cut them or put them \
             together between the captures."
                .to_owned(),
        );
    }
    if analysis.hosts.others > 0 {
        remarks.push(format!(
            "{} packets are of hosts beyond the first {MOST_HOSTS} and are left out.",
            analysis.hosts.others
        ));
    }
    if analysis.hosts.left_out > 0 {
        remarks.push(format!(
            "Latencies are those of the first {MOST_PAIRS} packets; {} more are only counted.",
            analysis.hosts.left_out
        ));
    }
    if analysis.hosts.doubtful > 0 {
        remarks.push(format!(
            "{} packets of one capture were not found and are not judged: the other had to be \
             read further meanwhile, and its packets of that time are forgotten.",
            analysis.hosts.doubtful
        ));
    }
    remarks.extend(of_sides(analysis));
    if analysis.assumptions.clocks == Clocks::Unrelated {
        of_clocks(analysis, remarks);
    }
}

/// Says why nothing was found.
pub(super) fn why_nothing(analysis: &Analysis, is_single: bool) -> String {
    let frames: u64 = analysis.captures.iter().map(|it| it.frames).sum();
    let anonymous: u64 = analysis.captures.iter().map(|it| it.anonymous).sum();
    if frames == 0 {
        return "Nothing can be told: there are no frames.".to_owned();
    }
    if anonymous == frames {
        return format!(
            "Nothing can be told: none of the {frames} frames is an IP packet, Sampled Values or \
             GOOSE, and others cannot be told from each other."
        );
    }
    let lacking = match (analysis.question, is_single) {
        (Question::Latency, true) => {
            "no request with its reply is there: pings, TCP, or datagrams to a lower port and back"
        }
        (Question::FlowSetup, _) => {
            "no host made a request and got its reply, in each capture that was given"
        }
        (Question::Latency | Question::Jitter | Question::Loss | Question::Failover, _) => {
            "no packet is in both captures"
        }
        (Question::Throughput, _) => "no host sent anything that can be told",
    };
    format!(
        "Nothing can be told of {}: {lacking}.",
        analysis.question.method()
    )
}

/// Says of whom it is not known at which side they are, if there are several: they
/// cannot all be at the first.
fn of_sides(analysis: &Analysis) -> Option<String> {
    let sending = analysis.hosts.iter().filter(|(.., it)| it.matched > 0);
    let unknown = sending.filter(|(.., it)| it.side().is_none());
    let names: Vec<_> = unknown.map(|(host, ..)| host.to_string()).collect();
    let is_told = names.len() < 2 || analysis.assumptions.clocks == Clocks::One;
    (!is_told).then(|| {
        format!(
            "Nothing shows at whose side {} are: neither the directions of frames nor requests \
             and replies. They are taken to be at the first capture's.",
            names.join(", ")
        )
    })
}

/// Says how much there is of a capture.
fn extent(capture: &Capture, contents: &Contents) -> String {
    let length = capture.latest - capture.earliest.unwrap_or(capture.latest);
    format!(
        "{} frames in {}",
        contents.frames,
        Duration::from_ns(length)
    )
}

/// Says what the reader met in a file.
fn of_contents(name: &str, contents: &Contents) -> Vec<String> {
    let end = match &contents.end {
        End::Whole => None,
        End::CutOff { at } => Some(format!(
            "{name} was cut off within the record that begins at byte {at}: it was read up to \
             there."
        )),
        End::Damaged { at, damage } => Some(format!(
            "{name} cannot be read from byte {at} on ({damage}): it was read up to there."
        )),
    };
    let counts = [
        (
            contents.dropped(),
            "frames are missing, as the file itself says: whoever captured was too slow",
        ),
        (contents.shortened, "frames were kept only in part"),
        (
            contents.unstamped,
            "frames have no stamp and were passed over",
        ),
        (
            contents.foreign,
            "frames are of links that are not understood and were passed over",
        ),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, what)| format!("{name}: {count} {what}."));
    let many = (contents.interfaces.len() == MOST_INTERFACES)
        .then(|| format!("{name} has {MOST_INTERFACES} interfaces, the most that are read."));
    end.into_iter().chain(counts).chain(many).collect()
}

/// Says what the frames of a capture showed.
fn of_frames(name: &str, capture: &Capture) -> Vec<String> {
    let (times, greatest) = capture.set_back;
    let set_back = (times > 0).then(|| {
        format!(
            "{name}: the clock was set back {times} times, by {} at most.",
            Duration::from_ns(greatest)
        )
    });
    let counts = [
        (
            capture.disordered,
            "frames have an earlier stamp than the one before them: they were recorded out of \
             order",
        ),
        (
            capture.super_frames,
            "packets are longer than any frame: the card cuts them or puts them together (TSO, \
             GRO), so that their stamps are not those of frames. Switch that off to capture",
        ),
        (
            capture.fragments.seen(),
            "fragments of packets, which count when the last one is there",
        ),
        (
            capture.fragments.incomplete(),
            "packets lack a fragment and are left out",
        ),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, what)| format!("{name}: {count} {what}."));
    set_back.into_iter().chain(counts).collect()
}

/// Says which frames a capture lacks although the network carried them: what its own
/// hosts sent and the other capture received, and what was answered.
fn lacking(analysis: &Analysis, name: &str, side: Side) -> Option<String> {
    let (mut own, mut answered, mut sent) = (0, 0, 0);
    for (_, _, sender) in analysis.hosts.iter() {
        let missing = sender.missing[side.place()];
        match sender.side() {
            Some(at) if at == side => {
                own += missing.others;
                sent += sender.matched + missing.others;
            }
            Some(_) | None => answered += missing.answered,
        }
    }
    if own + answered == 0 {
        return None;
    }
    Some(format!(
        "{name} is itself incomplete: it lacks {own} of {sent} packets that its own side sent and \
         the other side has, and {answered} that arrived there, as they were answered. Packets \
         that only it lacks may be its own loss and not the network's."
    ))
}

/// Says which packets of its own side a capture has twice.
fn doubled(analysis: &Analysis, name: &str, side: Side) -> Option<String> {
    let own = analysis.hosts.iter().map(|(_, _, sender)| sender);
    let own = own.filter(|sender| side_of(analysis, sender) == side);
    let copies: u64 = own.map(|sender| sender.copies[side.place()]).sum();
    (copies > 0).then(|| {
        format!(
            "{name} has {copies} packets of its own side twice, and the other capture has each \
             once: it was taken at two places at once, as by a mirror of both directions. The \
             copies do not count as lost."
        )
    })
}

/// Says how the clocks differ.
fn of_clocks(analysis: &Analysis, remarks: &mut Vec<String>) {
    let mut trends: [Vec<Trend>; 2] = [Vec::new(), Vec::new()];
    let mut most = (0, None);
    for (_, _, sender) in analysis.hosts.iter() {
        if sender.pairs.is_empty() {
            continue;
        }
        let side = side_of(analysis, sender);
        let trend = Trend::of(&sender.pairs, side);
        if sender.matched > most.0 && trend.drift_ppb.is_some() {
            most = (sender.matched, trend.drift_ppb);
        }
        trends[side.place()].push(trend);
    }
    if let Some(ppb) = most.1 {
        remarks.push(format!(
            "The second clock gains {}.{:03} parts of a million on the first, estimated from the \
             least latencies; that was taken off.",
            match ppb < 0 {
                true => format!("-{}", ppb.unsigned_abs() / 1_000),
                false => (ppb / 1_000).to_string(),
            },
            ppb.unsigned_abs() % 1_000
        ));
    }
    let [there, back] = trends.map(|trends| {
        let steps = trends.into_iter().flat_map(|trend| trend.steps);
        let mut steps: Vec<ClockStep> = steps.collect();
        steps.sort_by_key(|step| step.at_unix_ns);
        steps.dedup_by(|later, first| is_same(first, later));
        steps
    });
    let all = there.iter().chain(back.iter().filter(|step| {
        // Told once, with the first direction.
        !there.iter().any(|other| is_same(other, step))
    }));
    for step in all.take(MOST_TOLD) {
        let both = [&there, &back].map(|steps| steps.iter().any(|other| is_same(other, step)));
        remarks.push(of_step(step, both == [true, true]));
    }
}

fn of_step(step: &ClockStep, is_seen_both_ways: bool) -> String {
    let by = Duration::from_ns(step.later_ns.unsigned_abs());
    let way = match step.later_ns > 0 {
        true => "later",
        false => "earlier",
    };
    let cause = match is_seen_both_ways {
        true => "Packets of both directions say so: a clock was set. It was taken off.",
        false => {
            "Packets of one direction say so, from which a clock that was set cannot be told from \
             a path that changed. It was taken off."
        }
    };
    format!(
        "From {} s on, by the first clock, stamps of the second capture are {by} {way}. {cause}",
        moment(step.at_unix_ns)
    )
}

/// Tells whether two steps are one: about the same time, and about the same size.
fn is_same(one: &ClockStep, other: &ClockStep) -> bool {
    let difference = one.later_ns.abs_diff(other.later_ns);
    one.at_unix_ns.abs_diff(other.at_unix_ns) <= SAME_MOMENT_NS
        && difference <= one.later_ns.unsigned_abs() / 4
}
