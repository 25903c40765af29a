//! What the run stood on, and what the guarantees rest on.

use super::super::{PlatformReport, Report};
use super::markup::Element;
use super::quantity::{time, whole};

pub(super) fn section(report: &Report) -> Element {
    let mut facts = vec![("stamps", report.platform.stamps.clone())];
    facts.extend(stalls(&report.platform));
    for (name, version) in &report.versions {
        facts.push(("version", format!("{name} {version}")));
    }
    for (name, value) in report.machine.iter().flatten() {
        facts.push(("machine", format!("{name}: {value}")));
    }
    let list = Element::new("dl")
        .class("facts")
        .children(facts.into_iter().flat_map(|(name, value)| {
            [
                Element::new("dt").text(name),
                Element::new("dd").text(value),
            ]
        }));
    let sentences = |sentences: &[String]| {
        let items = sentences.iter().map(|text| Element::new("li").text(text));
        Element::new("ul").children(items.collect::<Vec<_>>())
    };
    let mut section = Element::new("section")
        .with("id", "platform")
        .child(Element::new("h2").text("Below the figures"))
        .child(list)
        .child(sentences(&report.platform.notes));
    if !report.assumptions.is_empty() {
        section = section
            .child(Element::new("h3").text("The guarantees assume"))
            .child(sentences(&report.assumptions));
    }
    if !report.room.is_empty() {
        section = section
            .child(Element::new("h3").text("What deadlines leave"))
            .child(sentences(&report.room));
    }
    section
}

fn stalls(platform: &PlatformReport) -> Vec<(&'static str, String)> {
    let looks = platform.stall_ns.map(|stalls| {
        let text = format!(
            "{} looks at the clock were late by more than {}, for whatever reason, together {}; \
             longest {}. 99.9 % came within {}.",
            whole(stalls.count),
            time(stalls.threshold),
            time(stalls.total),
            time(stalls.max),
            time(stalls.p999)
        );
        ("looks", text)
    });
    let taken = platform.interruption_ns.map(|taken| {
        let text = format!(
            "Processors that frames needed were taken away {} times, together {}; longest {}.",
            whole(taken.count),
            time(taken.total),
            time(taken.max)
        );
        ("interruptions", text)
    });
    taken.into_iter().chain(looks).collect()
}
