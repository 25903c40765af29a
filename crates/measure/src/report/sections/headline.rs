//! The run in one sentence, and the few figures that matter most.

use super::super::{Completion, NodeKind, Report, RunVerdict, Verdict};
use super::margins::NARROW_PER_MILLE;
use crate::document::quantity::{time, whole};
use crate::document::{Head, KeyFigure, Rating};

pub(super) fn head(report: &Report) -> Head {
    Head {
        state: state(report),
        is_verdict: true,
        name: report.title.clone(),
        headline: report.summary(),
        sentences: Vec::new(),
        notes: vec![about(report)],
        figures: figures(report),
    }
}

/// Green; amber if a margin is narrow, a promise is not judged or the run was cut short; red.
fn state(report: &Report) -> Rating {
    let narrow = report.flows.iter().any(|flow| {
        flow.margin_per_mille()
            .is_some_and(|share| share < NARROW_PER_MILLE)
    });
    let unknown = report
        .flows
        .iter()
        .any(|flow| flow.verdict == Verdict::NotJudged);
    match (report.verdict(), report.completion) {
        (RunVerdict::Broken | RunVerdict::Refused, _) => Rating::Bad,
        (RunVerdict::Exceeded | RunVerdict::NotJudged, _)
        | (RunVerdict::Held, Completion::Partial) => Rating::Narrow,
        (RunVerdict::Held, Completion::Complete) if narrow || unknown => Rating::Narrow,
        (RunVerdict::Held, Completion::Complete) => Rating::Good,
    }
}

fn about(report: &Report) -> String {
    let count = |kind| {
        let nodes = report.topology.nodes.iter();
        nodes.filter(|node| node.kind == kind).count()
    };
    let mut parts = vec![
        world(&report.world),
        format!("{} switches", count(NodeKind::Switch)),
        format!("{} hosts", count(NodeKind::Host)),
        format!("{} flows", report.flows.len()),
        format!("{} of traffic", time(report.duration_ns)),
        format!("seed {}", report.seed),
    ];
    if let Some(discovery) = report.discovery {
        parts.push(format!(
            "discovered {} switches, {} links and {} hosts in {}",
            discovery.switches,
            discovery.links,
            discovery.hosts,
            time(discovery.took_ns)
        ));
    }
    parts.join(" · ")
}

fn world(world: &str) -> String {
    match world {
        "lab" => "lab: real frames between Linux namespaces".to_owned(),
        "sim" => "sim: the same switches and controller in virtual time".to_owned(),
        other => other.to_owned(),
    }
}

/// Says what of the losses is accounted for.
fn lost_to(interruptions: u64, faults: u64) -> String {
    let parts = [
        (interruptions, "in interruptions after failures"),
        (faults, "to planted faults"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts
        .map(|(count, how)| format!("{} {how}", whole(*count)))
        .collect();
    match parts.is_empty() {
        true => "outside of interruptions".to_owned(),
        false => parts.join(", "),
    }
}

fn figures(report: &Report) -> Vec<KeyFigure> {
    let promised = || {
        report
            .flows
            .iter()
            .filter(|flow| flow.guarantee_ns.is_some())
    };
    let held = promised().filter(|flow| flow.verdict.is_held()).count();
    let refused = report.flows.iter().filter(|flow| !flow.admitted).count();
    let sum = |value: fn(&super::super::FlowReport) -> u64| promised().map(value).sum::<u64>();
    let lost = sum(|flow| flow.lost);
    let excused = sum(|flow| flow.lost_in_interruptions);
    let stalled = sum(|flow| flow.stalled.late + flow.stalled.lost);
    let longest = promised().max_by_key(|flow| flow.interruption_ns);
    let mut figures = vec![
        figure(
            "promises held",
            format!("{held} of {}", promised().count()),
            match refused {
                0 => "every flow was admitted".to_owned(),
                1 => "1 flow was refused".to_owned(),
                refused => format!("{refused} flows were refused"),
            },
        ),
        figure(
            "frames with a promise",
            whole(sum(|flow| flow.sent)),
            format!(
                "{} later than calculated, {} missed a deadline",
                whole(sum(|flow| flow.late)),
                whole(sum(|flow| flow.missed_deadline))
            ),
        ),
        figure(
            "of them lost",
            whole(lost),
            lost_to(excused, sum(|flow| flow.lost_to_faults)),
        ),
    ];
    if let Some(flow) = longest.filter(|flow| flow.interruption_ns > 0) {
        figures.push(figure(
            "longest interruption",
            time(flow.interruption_ns),
            format!(
                "{} allowed ({})",
                flow.interruption_allowed_ns
                    .map_or_else(|| "any".to_owned(), time),
                flow.facts.name
            ),
        ));
    }
    if let Some(taken) = report.platform.interruption_ns {
        figures.push(figure(
            "longest interruption of the machine",
            time(taken.max),
            format!(
                "{} interruptions, {} frames set apart",
                whole(taken.count),
                whole(stalled)
            ),
        ));
    }
    figures
}

fn figure(name: &'static str, value: String, note: String) -> KeyFigure {
    KeyFigure { name, value, note }
}
