//! A measurement as lines for people.

use std::fmt::Write;

use units::Duration;

use super::{Conditions, Figure, Measurement, Value, layout};
use crate::method::point_name;
use crate::report::html::quantity::{spelled, time, whole};
use crate::trial::Stamps;

impl Measurement {
    /// Returns the figures as tables, with the conditions below.
    #[must_use]
    pub fn to_text(&self) -> String {
        let quick = match self.quick {
            true => ", shortened: no figure for publication",
            false => "",
        };
        let mut text = format!("{} of {}{quick}\n", self.method, self.device);
        text += &layout::tables(&self.figures);
        text.push('\n');
        for remark in &self.remarks {
            let _ = writeln!(text, "- {remark}");
        }
        for line in self.all_conditions() {
            let _ = writeln!(text, "{line}");
        }
        spelled(&text)
    }

    /// Returns what the figures stand on, those of earlier runs included.
    pub(super) fn all_conditions(&self) -> Vec<String> {
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

    /// Returns the figures by their setting, in the order in which settings come first.
    pub(super) fn by_setting(&self) -> Vec<(String, Vec<&Figure>)> {
        let mut groups: Vec<(String, Vec<&Figure>)> = Vec::new();
        for figure in &self.figures {
            let name = point_name(&figure.setting);
            match groups.iter_mut().find(|(setting, _)| *setting == name) {
                Some((_, figures)) => figures.push(figure),
                None => groups.push((name, vec![figure])),
            }
        }
        groups
    }
}

/// Returns the cells of a figure's row.
pub(super) fn row(figure: &Figure) -> Vec<String> {
    let mut cells = vec![figure.quantity.clone()];
    let Value::Times(times) = &figure.value else {
        cells.push(figure.value.shown());
        return cells;
    };
    let Some(summary) = times.summary() else {
        cells.push("none".to_owned());
        return cells;
    };
    let text = |duration: Duration| time(duration.as_ns());
    let interval = match times.confidence(500) {
        Some((low, high)) => format!("{} to {}", text(low), text(high)),
        None => "too few".to_owned(),
    };
    cells.push(text(summary.p50));
    cells.push(interval);
    cells.extend([summary.p99, summary.p999, summary.max].map(text));
    cells.push(whole(summary.count));
    cells
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
