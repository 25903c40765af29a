//! A measurement for people.

use super::{Conditions, Measurement, Value, layout};
use crate::document::quantity::{time, whole};
use crate::document::{Block, Document, Head, Rating, Section};
use crate::trial::Stamps;
use units::Duration;

impl Measurement {
    /// Returns what people are told of it: figures, plots, and the conditions below.
    #[must_use]
    pub fn document(&self) -> Document {
        let title = format!("{} of {}", self.method, self.device);
        // A measurement is neither good nor bad, but it may be a short one.
        let (state, quick) = match self.quick {
            true => (Rating::Narrow, ", shortened: no figure for publication"),
            false => (Rating::Plain, ""),
        };
        let note = "Shortened: no figure of it is for publication.".to_owned();
        let [first, rest] = self.plots();
        let sources = self.figures.iter();
        let sources = sources.map(|figure| (&*figure.quantity, &*figure.source));
        let below = vec![
            Block::Gap,
            Block::Remarks(self.remarks.clone()),
            Block::Lines(self.all_conditions()),
        ];
        let sections = [
            Some(Section::of_text(vec![Block::Paragraph(format!(
                "{title}{quick}"
            ))])),
            first,
            Some(Section::new(
                "figures",
                "Figures",
                layout::blocks(&self.figures),
            )),
            rest,
            Some(Section::of_sources(sources)),
            Some(Section::new("conditions", "Below the figures", below)),
        ];
        Document {
            head: Head {
                state,
                name: "Taktos".to_owned(),
                headline: title.clone(),
                notes: self.quick.then_some(note).into_iter().collect(),
                ..Head::default()
            },
            title,
            sections: sections.into_iter().flatten().collect(),
        }
    }

    /// Returns what the figures stand on, those of earlier runs included.
    fn all_conditions(&self) -> Vec<String> {
        let mut lines = conditions(&self.conditions);
        for earlier in &self.earlier {
            lines.push(format!(
                "{} of the points were measured by an earlier run, under these conditions:",
                whole(earlier.points)
            ));
            let theirs = conditions(&earlier.conditions);
            lines.extend(theirs.into_iter().map(|line| format!("  {line}")));
        }
        lines
    }
}

impl Value {
    /// Returns it in a few words: of lengths of time the median.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Times(times) => match times.quantile(500) {
                Some(median) => time(median.as_ns()),
                None => "none".to_owned(),
            },
            Self::Time(length) => time(length.as_ns()),
            Self::Rate(rate) => rate.to_string(),
            Self::RateAtLeast(rate) => format!("≥ {rate}"),
            Self::Size(size) => format!("{} bytes", whole(size.bytes_up())),
            Self::Count(count) => whole(*count),
            Self::CountAtLeast(count) => format!("≥ {}", whole(*count)),
            Self::Share(share) => format!("{:.4} %", share * 100.0),
            Self::Series(series) => format!(
                "{} intervals of {}",
                series.intervals().len(),
                time(series.length().as_ns())
            ),
            Self::Unknown(reason) => format!("unknown: {reason}"),
        }
    }
}

/// Returns what the figures stand on, a sentence each.
fn conditions(conditions: &Conditions) -> Vec<String> {
    let stamps = match conditions.stamps {
        Stamps::Virtual => "Stamps are of virtual time, exact.",
        Stamps::Hardware => "Stamps are those of the network cards.",
        Stamps::Kernel => "Stamps are the kernel's, at the driver.",
        Stamps::Program => "Stamps are those of the tester's own program.",
        Stamps::File => "Stamps are those of captures.",
    };
    let mut lines = vec![stamps.to_owned()];
    if conditions.clocks_apart > Duration::ZERO {
        lines.push(format!(
            "The clocks of the ports are brought to one, to within {}.",
            conditions.clocks_apart
        ));
    }
    if conditions.unstamped > 0 {
        lines.push(format!(
            "{} frames passed without a stamp that could be believed.",
            whole(conditions.unstamped)
        ));
    }
    if let Some(bias) = conditions.bias {
        lines.push(format!("The tester's bias by calibration: {bias}."));
    }
    if let Some(summary) = conditions.lateness.summary() {
        lines.push(format!(
            "{} frames left after their time by {} (p99), {} at most; {} came too late and were \
             left out, {} went by unseen.",
            whole(summary.count),
            time(summary.p99.as_ns()),
            time(summary.max.as_ns()),
            whole(conditions.skipped),
            whole(conditions.unseen)
        ));
    }
    lines.push(match conditions.stalls.summary() {
        Some(stalls) => format!(
            "The machine stood still {} times, {} at most.",
            whole(stalls.count),
            time(stalls.max.as_ns())
        ),
        None => "The machine did not stand still.".to_owned(),
    });
    if let Some(machine) = &conditions.machine {
        lines.push(format!(
            "Linux {} on {} x {}, clock {}, load {}.{:02} before and {}.{:02} after.",
            machine.kernel,
            machine.processors,
            machine.processor,
            machine.clock_source,
            machine.load_before / 100,
            machine.load_before % 100,
            machine.load_after / 100,
            machine.load_after % 100,
        ));
    }
    for (name, version) in &conditions.versions {
        lines.push(format!("{name} {version}."));
    }
    lines.push(format!(
        "Taktos {}, seed {}, {} long: {}",
        conditions.version, conditions.seed, conditions.took, conditions.command
    ));
    lines
}
