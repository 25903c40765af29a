//! What the run stood on, and what the guarantees rest on.

use super::super::{PlatformReport, Report};
use crate::document::quantity::{time, whole};
use crate::document::{Block, Section};

pub(super) fn section(report: &Report) -> Section {
    let mut facts = vec![("stamps".to_owned(), report.platform.stamps.clone())];
    facts.extend(stalls(&report.platform));
    for (name, version) in &report.versions {
        facts.push(("version".to_owned(), format!("{name} {version}")));
    }
    for (name, value) in report.machine.iter().flatten() {
        facts.push(("machine".to_owned(), format!("{name}: {value}")));
    }
    let notes = Block::Lines(report.platform.notes.clone());
    let mut blocks = vec![Block::Facts(facts), notes];
    for (heading, sentences) in [
        ("The guarantees assume", &report.assumptions),
        ("What deadlines leave", &report.room),
    ] {
        if !sentences.is_empty() {
            blocks.push(Block::Heading(heading.to_owned()));
            blocks.push(Block::Lines(sentences.clone()));
        }
    }
    Section::of_page("platform", "Below the figures", blocks)
}

fn stalls(platform: &PlatformReport) -> Vec<(String, String)> {
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
        ("looks".to_owned(), text)
    });
    let taken = platform.interruption_ns.map(|taken| {
        let text = format!(
            "Processors that frames needed were taken away {} times, together {}; longest {}.",
            whole(taken.count),
            time(taken.total),
            time(taken.max)
        );
        ("interruptions".to_owned(), text)
    });
    taken.into_iter().chain(looks).collect()
}
