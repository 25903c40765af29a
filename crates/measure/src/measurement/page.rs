//! A measurement as a page that needs nothing else: boxes and quantiles of each
//! quantity over the settings, the greatest latency over the run, tables with
//! confidence intervals, and the conditions.

use super::text::row;
use super::{Figure, Measurement, Value};
use crate::method::point_name;
use crate::report::html::{self, markup::Element, quantity::time};
use crate::reproduction::Picture;
use crate::reproduction::picture::{
    BoxChart, BoxSummary, Column, Curve, CurveChart, Reference, for_plot,
};
use crate::statistics::Distribution;
use crate::time_series::TimeSeries;

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
/// At most so many points of a time line.
const MOST_POINTS: usize = 240;
const NS_PER_US: f64 = 1_000.0;
const HEADS: [&str; 7] = ["quantity", "median", "95 %", "p99", "p99.9", "max", "count"];

impl Measurement {
    /// Returns the measurement as a page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = format!("{} of {}", self.method, self.device);
        let (class, note) = match self.quick {
            true => ("narrow", "Shortened: no figure of it is for publication."),
            false => ("good", ""),
        };
        let head = Element::new("header")
            .class(class)
            .child(Element::new("h1").text("Taktos"))
            .child(Element::new("p").class("summary").text(&title))
            .child(Element::new("p").class("note").text(note));
        let panels = Element::new("div")
            .class("panels")
            .children(self.pictures().iter().map(Picture::element));
        let plots = Element::new("section")
            .with("id", "plots")
            .child(Element::new("h2").text("How the values are spread"))
            .child(panels);
        let tables =
            Element::new("section")
                .with("id", "figures")
                .child(Element::new("h2").text("Figures"))
                .children(self.by_setting().iter().flat_map(|(setting, figures)| {
                    [Element::new("h3").text(setting), table(figures)]
                }));
        let main = Element::new("main")
            .child(head)
            .child(plots)
            .child(tables)
            .child(self.below());
        html::page(&title, Element::new("body").child(main))
    }

    fn below(&self) -> Element {
        let items = |lines: &[String]| {
            let items: Vec<_> = lines
                .iter()
                .map(|line| Element::new("li").text(line))
                .collect();
            Element::new("ul").children(items)
        };
        Element::new("section")
            .with("id", "conditions")
            .child(Element::new("h2").text("Below the figures"))
            .child(items(&self.remarks))
            .child(items(&self.all_conditions()))
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
            pictures.extend(boxes(quantity, &figures));
            pictures.extend(quantiles(quantity, &figures));
            pictures.extend(figures.iter().filter_map(|figure| over_time(figure)));
        }
        pictures.truncate(MOST_PICTURES);
        pictures
    }
}

fn table(figures: &[&Figure]) -> Element {
    let cell = |name: &'static str, column: usize, text: &str| {
        let cell = Element::new(name).text(text);
        match column {
            0 => cell,
            _ => cell.class("number"),
        }
    };
    let head = HEADS
        .iter()
        .enumerate()
        .map(|(column, text)| cell("th", column, text));
    let source = Element::new("th").text("source");
    let lines = figures.iter().map(|figure| {
        let cells = row(figure);
        let missing = HEADS.len().saturating_sub(cells.len());
        let cells = cells
            .into_iter()
            .chain(std::iter::repeat_n(String::new(), missing));
        Element::new("tr")
            .children(
                cells
                    .enumerate()
                    .map(|(column, text)| cell("td", column, &text)),
            )
            .child(Element::new("td").text(&figure.source))
    });
    let head = Element::new("tr").children(head).child(source);
    let table = Element::new("table")
        .child(Element::new("thead").child(head))
        .child(Element::new("tbody").children(lines));
    Element::new("div").class("wide").child(table)
}

/// Returns the distributions of a quantity with their settings.
fn distributions<'a>(figures: &[&'a Figure]) -> Vec<(String, &'a Distribution)> {
    let figures = figures.iter();
    figures
        .filter_map(|figure| match &figure.value {
            Value::Times(times) if times.count() > 0 => Some((point_name(&figure.setting), times)),
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
        .collect()
}

fn boxes(quantity: &str, figures: &[&Figure]) -> Option<Picture> {
    let distributions = distributions(figures);
    if distributions.is_empty() {
        return None;
    }
    let columns = distributions.into_iter().take(MOST_BOXES);
    Some(Picture::Boxes(BoxChart {
        name: format!("{}-boxes", file_name(quantity)),
        title: quantity.to_owned(),
        x_label: "setting".to_owned(),
        y_label: "µs".to_owned(),
        columns: columns
            .map(|(setting, times)| Column {
                label: setting,
                summary: box_summary(times),
                lost_percent: None,
            })
            .collect(),
        references: Vec::<Reference>::new(),
    }))
}

fn box_summary(times: &Distribution) -> Option<BoxSummary> {
    let at = |per_mille| {
        times
            .quantile(per_mille)
            .map(|time| microseconds(time.as_ns()))
    };
    let summary = times.summary()?;
    Some(BoxSummary {
        min: microseconds(summary.min.as_ns()),
        p1: at(10)?,
        q1: at(250)?,
        median: at(500)?,
        q3: at(750)?,
        p99: at(990)?,
        max: microseconds(summary.max.as_ns()),
    })
}

fn quantiles(quantity: &str, figures: &[&Figure]) -> Option<Picture> {
    let distributions = distributions(figures);
    if distributions.is_empty() {
        return None;
    }
    let curves = distributions.into_iter().take(MOST_CURVES);
    Some(Picture::Curves(CurveChart {
        name: format!("{}-quantiles", file_name(quantity)),
        title: format!("{quantity}: what a share does not exceed"),
        x_label: "share, %".to_owned(),
        y_label: "µs".to_owned(),
        x: QUANTILES
            .iter()
            .map(|per_mille| f64::from(*per_mille) / 10.0)
            .collect(),
        curves: curves
            .map(|(setting, times)| Curve {
                label: setting,
                values: QUANTILES
                    .iter()
                    .filter_map(|per_mille| times.quantile(*per_mille))
                    .map(|time| microseconds(time.as_ns()))
                    .collect(),
            })
            .collect(),
    }))
}

fn over_time(figure: &Figure) -> Option<Picture> {
    let Value::Series(series) = &figure.value else {
        return None;
    };
    let intervals = series.intervals();
    if intervals.is_empty() {
        return None;
    }
    let every = intervals.len().div_ceil(MOST_POINTS);
    let points: Vec<_> = intervals
        .chunks(every)
        .map(|chunk| chunk.iter().map(|one| one.max.as_ns()).max().unwrap_or(0))
        .collect();
    let lost: u64 = intervals.iter().map(|one| u64::from(one.lost)).sum();
    let setting = point_name(&figure.setting);
    Some(Picture::Curves(CurveChart {
        name: format!("{}-{}", file_name(&figure.quantity), file_name(&setting)),
        title: format!("{}, {setting}: {lost} lost", figure.quantity),
        x_label: "s".to_owned(),
        y_label: "µs, at most".to_owned(),
        x: seconds(series, every, points.len()),
        curves: vec![Curve {
            label: format!(
                "the greatest in {}",
                time(series.length().as_ns().saturating_mul(every as u64))
            ),
            values: points.into_iter().map(microseconds).collect(),
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

#[expect(clippy::cast_precision_loss, reason = "a place in a plot")]
fn microseconds(ns: u64) -> f64 {
    for_plot(ns as f64 / NS_PER_US)
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
