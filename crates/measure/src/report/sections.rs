//! The document of a run: what it comes to first, and all that was seen below.

mod calculation;
mod distributions;
mod flow_table;
mod headline;
mod layout;
mod margins;
mod modes;
mod platform;
mod restoration;
mod time_line;
mod topology;

use super::text::{self, Details};
use super::{CulpritReport, Report, ShownFlows};
use crate::document::{Block, Document, Section};

impl Report {
    /// Returns what people are told of the run, with as many of its flows one by one.
    #[must_use]
    pub fn document(&self, details: Details, extent: ShownFlows) -> Document {
        let (shown, left_out) = self.shown(extent);
        let shown = &*shown;
        let sections = [
            Some(text::section(self, details, extent)),
            (left_out > 0).then(|| sums(self, shown.flows.len())),
            culprits(self),
            margins::section(shown),
            topology::section(shown),
            time_line::section(shown),
            modes::section(shown),
            distributions::section(shown),
            restoration::section(shown),
            Some(flow_table::section(shown)),
            calculation::section(shown),
            Some(platform::section(self)),
        ];
        Document {
            title: self.title.clone(),
            head: headline::head(self),
            sections: sections.into_iter().flatten().collect(),
        }
    }
}

/// Returns who is to blame, if anybody is named.
fn culprits(report: &Report) -> Option<Section> {
    let named = report.culprits.iter().map(CulpritReport::sentence);
    let lines = Block::Lines(named.collect());
    (!report.culprits.is_empty())
        .then(|| Section::of_page("culprits", "Who broke promises", vec![lines]))
}

/// Returns what all flows come to, by kind and queue, where not each of them is shown.
fn sums(report: &Report, shown: usize) -> Section {
    let note = format!(
        "Below are the {shown} flows that are worst off of {}: broken, exceeded, not judged, \
         refused, and then those with the smallest margins. `taktos run --all` shows all of them, \
         here and in report.json.",
        report.flows.len()
    );
    let blocks = vec![Block::Table(report.sums_table()), Block::Note(note)];
    Section::of_page("sums", "All flows", blocks)
}
