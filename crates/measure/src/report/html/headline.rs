//! The run in one sentence, and the few figures that matter most.

use super::super::{Completion, Outcome, Report, RunVerdict};
use super::margins::NARROW_PER_MILLE;
use super::markup::Element;
use super::quantity::{time, whole};
use super::svg::{circle, cross, drawing, polygon, polyline};

pub(super) fn section(report: &Report) -> Element {
    let state = state(report);
    Element::new("header")
        .class(state)
        .child(
            Element::new("div")
                .class("verdict")
                .child(emblem(state))
                .child(
                    Element::new("div")
                        .child(Element::new("h1").text(&report.title))
                        .child(Element::new("p").class("summary").text(report.summary()))
                        .child(Element::new("p").class("note").text(about(report))),
                ),
        )
        .child(
            Element::new("dl")
                .class("figures")
                .children(figures(report)),
        )
}

/// Green; amber if a margin is narrow, a promise is not judged or the run was cut short; red.
fn state(report: &Report) -> &'static str {
    let narrow = report.flows.iter().any(|flow| {
        flow.margin_per_mille()
            .is_some_and(|share| share < NARROW_PER_MILLE)
    });
    let unknown = report
        .flows
        .iter()
        .any(|flow| flow.verdict == Outcome::NotJudged);
    match (report.verdict(), report.completion) {
        (RunVerdict::Broken | RunVerdict::Refused, _) => "bad",
        (RunVerdict::Exceeded | RunVerdict::NotJudged, _)
        | (RunVerdict::Held, Completion::Partial) => "narrow",
        (RunVerdict::Held, Completion::Complete) if narrow || unknown => "narrow",
        (RunVerdict::Held, Completion::Complete) => "good",
    }
}

fn emblem(state: &str) -> Element {
    let svg = drawing(48.0, 48.0, "Verdict", state).class("emblem");
    match state {
        "bad" => svg
            .child(circle((24.0, 24.0), 22.0).class("mark"))
            .child(cross((24.0, 24.0), 8.0)),
        "narrow" => svg
            .child(polygon([(24.0, 3.0), (46.0, 43.0), (2.0, 43.0)]).class("mark"))
            .child(polyline([(15.0, 30.0), (22.0, 37.0), (33.0, 22.0)]).class("tick")),
        _ => svg
            .child(circle((24.0, 24.0), 22.0).class("mark"))
            .child(polyline([(14.0, 25.0), (21.0, 32.0), (34.0, 17.0)]).class("tick")),
    }
}

fn about(report: &Report) -> String {
    use super::super::NodeKind;
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

fn figures(report: &Report) -> Vec<Element> {
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
            match excused {
                0 => "outside of interruptions".to_owned(),
                excused => format!("{} in interruptions after failures", whole(excused)),
            },
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

fn figure(name: &str, value: String, note: String) -> Element {
    Element::new("div")
        .child(Element::new("dt").text(name))
        .child(Element::new("dd").class("value").text(value))
        .child(Element::new("dd").class("note").text(note))
}
