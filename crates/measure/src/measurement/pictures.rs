//! The plots of a measurement: boxes and quantiles of each quantity over the settings,
//! and the greatest latency over the run.

use units::Duration;

use super::{Figure, Measurement, Value};
use crate::document::picture::{
    BoxChart, BoxColumn, BoxSummary, Curve, CurveChart, Picture, Reference, for_plot,
};
use crate::document::quantity::{spelled, time};
use crate::document::{Block, Section};
use crate::method::point_name;
use crate::statistics::Distribution;
use crate::time_series::{Interval, TimeSeries};

/// The quantiles along the axis of a plot, in thousandths.
const QUANTILES: [u32; 13] = [
    1, 10, 50, 100, 250, 500, 750, 900, 950, 990, 995, 999, 1_000,
];
/// At most so many settings share a plot of quantiles.
const MOST_CURVES: usize = 6;
/// At most so many settings share a plot of boxes.
const MOST_BOXES: usize = 40;
/// At most so many pictures are drawn; tables have everything.
const MOST_PICTURES: usize = 60;
/// So many of them stand before the figures; the rest is below them, folded.
const FIRST_PICTURES: usize = 4;
/// At most so many points of a time line.
const MOST_POINTS: usize = 240;

impl Measurement {
    /// Returns a section of a handful of plots, and one of the rest, folded.
    pub(super) fn plots(&self) -> [Option<Section>; 2] {
        let mut first = self.pictures();
        let rest = first.split_off(first.len().min(FIRST_PICTURES));
        let folded = Block::Folded {
            summary: format!("{} more plots", rest.len()),
            is_open: false,
            blocks: vec![Block::Pictures(rest.clone())],
        };
        let spread = "How the values are spread";
        [
            (!first.is_empty())
                .then(|| Section::of_page("plots", spread, vec![Block::Pictures(first)])),
            (!rest.is_empty()).then(|| Section::of_page("more-plots", "", vec![folded])),
        ]
    }

    fn pictures(&self) -> Vec<Picture> {
        let mut quantities: Vec<&str> = Vec::new();
        for figure in &self.figures {
            if !quantities.contains(&figure.quantity.as_str()) {
                quantities.push(&figure.quantity);
            }
        }
        let mut pictures = Vec::new();
        for quantity in quantities {
            let figures: Vec<_> = self
                .figures
                .iter()
                .filter(|figure| figure.quantity == quantity)
                .collect();
            if let Some(spread) = Spread::of(quantity, &figures) {
                pictures.extend([spread.boxes(), spread.quantiles()]);
            }
            pictures.extend(figures.iter().filter_map(|figure| over_time(figure)));
        }
        pictures.truncate(MOST_PICTURES);
        pictures
    }
}

/// Distributions of one quantity, in the unit that fits the greatest of their values.
struct Spread<'a> {
    quantity: &'a str,
    /// What tells the settings apart, and each of them by that alone.
    names: String,
    distributions: Vec<(String, &'a Distribution)>,
    unit: TimeUnit,
}

impl<'a> Spread<'a> {
    /// Returns those of figures, or nothing if no figure has one.
    fn of(quantity: &'a str, figures: &[&'a Figure]) -> Option<Self> {
        let with_times: Vec<_> = figures
            .iter()
            .filter_map(|figure| match &figure.value {
                Value::Times(times) if times.count() > 0 => Some((&figure.setting, times)),
                Value::Times(_)
                | Value::Time(_)
                | Value::Rate(_)
                | Value::RateAtLeast(_)
                | Value::Size(_)
                | Value::Count(_)
                | Value::CountAtLeast(_)
                | Value::Share(_)
                | Value::Series(_)
                | Value::Unknown(_) => None,
            })
            .collect();
        let (first, _) = with_times.first()?;
        let differs = |name: &str, value: &str| {
            let mut others = with_times.iter().map(|(setting, _)| setting);
            others.any(|it| !it.iter().any(|(own, other)| own == name && other == value))
        };
        let differing = first.iter().filter(|(name, value)| differs(name, value));
        let differing: Vec<_> = differing.map(|(name, _)| name.as_str()).collect();
        let label = |setting: &[(String, String)]| {
            let values = setting
                .iter()
                .filter(|(name, _)| differing.contains(&name.as_str()));
            let values: Vec<_> = values.map(|(_, value)| spelled(value)).collect();
            values.join(", ")
        };
        let distributions = with_times.iter();
        let distributions = distributions.map(|(setting, times)| (label(setting), *times));
        let most = with_times.iter().filter_map(|(_, times)| times.max()).max();
        Some(Self {
            quantity,
            names: match differing.is_empty() {
                true => "all values".to_owned(),
                false => differing.join(", "),
            },
            distributions: distributions.collect(),
            unit: TimeUnit::for_up_to(most.unwrap_or_default()),
        })
    }

    fn boxes(&self) -> Picture {
        let columns = self.distributions.iter().take(MOST_BOXES);
        let columns = columns.map(|(setting, times)| BoxColumn {
            label: setting.clone(),
            summary: self.box_summary(times),
            lost_percent: None,
        });
        Picture::Boxes(BoxChart {
            name: format!("{}-boxes", file_name(self.quantity)),
            title: self.quantity.to_owned(),
            x_label: self.names.clone(),
            y_label: self.unit.name.to_owned(),
            columns: columns.collect(),
            references: Vec::<Reference>::new(),
        })
    }

    fn box_summary(&self, times: &Distribution) -> Option<BoxSummary> {
        let at = |per_mille| Some(self.unit.of(times.quantile(per_mille)?));
        let summary = times.summary()?;
        Some(BoxSummary {
            min: self.unit.of(summary.min),
            p1: at(10)?,
            q1: at(250)?,
            median: at(500)?,
            q3: at(750)?,
            p99: at(990)?,
            max: self.unit.of(summary.max),
        })
    }

    fn quantiles(&self) -> Picture {
        let share = |per_mille: &u32| f64::from(*per_mille) / 10.0;
        let curves = self.distributions.iter().take(MOST_CURVES);
        let curves = curves.map(|(setting, times)| Curve {
            label: match setting.is_empty() {
                true => self.quantity.to_owned(),
                false => setting.clone(),
            },
            values: QUANTILES
                .iter()
                .filter_map(|per_mille| times.quantile(*per_mille))
                .map(|time| self.unit.of(time))
                .collect(),
        });
        Picture::Curves(CurveChart {
            name: format!("{}-quantiles", file_name(self.quantity)),
            title: format!("{}: what a share does not exceed", self.quantity),
            x_label: "share, %".to_owned(),
            y_label: self.unit.name.to_owned(),
            x: QUANTILES.iter().map(share).collect(),
            curves: curves.collect(),
        })
    }
}

/// A unit of time, and how many nanoseconds it has.
#[derive(Clone, Copy)]
struct TimeUnit {
    name: &'static str,
    ns: f64,
}

impl TimeUnit {
    /// Returns the one in which values up to here are read most easily.
    fn for_up_to(most: Duration) -> Self {
        let unit = |name, ns| Self { name, ns };
        match most.as_ns() {
            0..1_000 => unit("ns", 1.0),
            1_000..10_000_000 => unit("µs", 1e3),
            10_000_000..10_000_000_000 => unit("ms", 1e6),
            _ => unit("s", 1e9),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a place in a plot")]
    fn of(self, time: Duration) -> f64 {
        for_plot(time.as_ns() as f64 / self.ns)
    }
}

/// Draws the greatest latency over the run, with a gap where nothing arrived.
fn over_time(figure: &Figure) -> Option<Picture> {
    let Value::Series(series) = &figure.value else {
        return None;
    };
    let intervals = series.intervals();
    if intervals.is_empty() {
        return None;
    }
    let every = intervals.len().div_ceil(MOST_POINTS);
    let greatest = |chunk: &[Interval]| {
        let arrived = chunk.iter().filter(|one| one.received > 0);
        arrived.map(|one| one.max).max()
    };
    let points: Vec<_> = intervals.chunks(every).map(greatest).collect();
    let unit = TimeUnit::for_up_to(points.iter().flatten().copied().max().unwrap_or_default());
    let lost: u64 = intervals.iter().map(|one| u64::from(one.lost)).sum();
    let setting = point_name(&figure.setting);
    let interval = series.length().as_ns().saturating_mul(every as u64);
    Some(Picture::Curves(CurveChart {
        name: format!("{}-{}", file_name(&figure.quantity), file_name(&setting)),
        title: format!("{}, {}: {lost} lost", figure.quantity, spelled(&setting)),
        x_label: "s".to_owned(),
        y_label: format!("{}, at most", unit.name),
        x: seconds(series, every, points.len()),
        curves: vec![Curve {
            label: format!("the greatest in {}", time(interval)),
            values: points
                .into_iter()
                .map(|point| point.map_or(f64::NAN, |greatest| unit.of(greatest)))
                .collect(),
        }],
    }))
}

#[expect(clippy::cast_precision_loss, reason = "places in a plot")]
fn seconds(series: &TimeSeries, every: usize, points: usize) -> Vec<f64> {
    let step = series.length().as_secs_f64() * every as f64;
    (0..points)
        .map(|point| for_plot(point as f64 * step))
        .collect()
}

/// Returns a text as a part of a file's name.
fn file_name(text: &str) -> String {
    let characters = text.chars();
    characters
        .map(|character| match character.is_ascii_alphanumeric() {
            true => character.to_ascii_lowercase(),
            false => '-',
        })
        .collect()
}
