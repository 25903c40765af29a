//! A distribution for each of a list of cases: a box from the first to the third
//! quartile, whiskers to 1 % and 99 %, crosses at the extremes, as in LOKO section
//! 6.1. What was lost stands in blue, on an axis of its own.

use serde::Serialize;

use super::canvas;
use super::curve_chart::names;
use super::plot::{HEIGHT, Plane, WIDTH};
use crate::document::markup::Element;
use crate::document::svg::{circle, count, cross, label, line, polyline, rectangle, tip};

/// The margin to the right, with and without the axis of losses.
const WITH_LOSS: f64 = 52.0;
const WITHOUT_LOSS: f64 = 16.0;
/// The height of a line of the key.
const KEY_LINE: f64 = 17.0;
/// More cases than these have no key.
const MOST_KEYS: usize = 40;

/// A distribution for each of a list of cases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoxChart {
    /// The name of its file.
    pub name: String,
    pub title: String,
    /// What tells the cases apart.
    pub x_label: String,
    /// What the values are, with their unit.
    pub y_label: String,
    /// The cases, from left to right.
    pub columns: Vec<BoxColumn>,
    pub references: Vec<Reference>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoxColumn {
    pub label: String,
    /// Its distribution, if there is one.
    pub summary: Option<BoxSummary>,
    /// The percentage that was lost, where that is asked.
    pub lost_percent: Option<f64>,
}

/// Seven figures of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BoxSummary {
    pub min: f64,
    /// 1 % are lower.
    pub p1: f64,
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
    /// 1 % are higher.
    pub p99: f64,
    pub max: f64,
}

impl BoxSummary {
    /// Returns the figures of `samples`, or nothing if there are none. Sorts them.
    #[must_use]
    pub fn of(samples: &mut [f64]) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        let last = samples.len().checked_sub(1)?;
        // The sample at or above the share, as in a histogram.
        let at = |percent: usize| samples[(last * percent).div_ceil(100)];
        Some(Self {
            min: samples[0],
            p1: at(1),
            q1: at(25),
            median: at(50),
            q3: at(75),
            p99: at(99),
            max: samples[last],
        })
    }
}

/// A value to compare with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    pub label: String,
    pub value: f64,
    pub kind: ReferenceKind,
}

/// What a value to compare with says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceKind {
    /// Nothing may be above it.
    Guarantee,
    /// Nothing can be below it.
    Least,
}

impl BoxChart {
    pub(super) fn element(&self) -> Element {
        let has_loss = self
            .columns
            .iter()
            .any(|column| column.lost_percent.is_some());
        let margin = if has_loss { WITH_LOSS } else { WITHOUT_LOSS };
        let plane = Plane::of(self.values().into_iter(), margin);
        let key = self.key(&plane);
        let height = HEIGHT + KEY_LINE * count(key.len());
        let svg = canvas((WIDTH, height), &self.title, &self.description());
        let svg = plane.draw(svg, &self.title, &self.x_label, &self.y_label);
        let svg = match key.is_empty() {
            true => svg.children(self.names(&plane)),
            false => {
                let numbers: Vec<_> = (1..=self.columns.len()).map(|it| it.to_string()).collect();
                svg.children(names(&plane, &numbers)).children(key)
            }
        };
        let svg = svg.children(self.references(&plane));
        let svg = svg.children(self.boxes(&plane));
        match has_loss {
            true => self.losses(svg, &plane),
            false => svg,
        }
    }

    fn values(&self) -> Vec<f64> {
        let columns = self.columns.iter();
        let summaries = columns.filter_map(|column| column.summary);
        let references = self.references.iter().map(|reference| reference.value);
        let ends = summaries.flat_map(|summary| [summary.min, summary.max]);
        ends.chain(references).collect()
    }

    /// Returns a line for each case whose name does not fit below its column.
    fn key(&self, plane: &Plane) -> Vec<Element> {
        let columns = self.columns.len();
        let room = plane.letters(columns);
        let fits = |column: &BoxColumn| column.label.chars().count() < room;
        // What follows from one number to the next needs no name at each.
        let is_number = |column: &BoxColumn| column.label.parse::<f64>().is_ok();
        if columns > MOST_KEYS || self.columns.iter().all(|it| fits(it) || is_number(it)) {
            return Vec::new();
        }
        let lines = self.columns.iter().zip(1_usize..);
        let lines = lines.map(|(column, number)| {
            let at = (plane.left(), HEIGHT + KEY_LINE * count(number - 1) + 4.0);
            label(at, format!("{number}: {}", column.label)).class("axis")
        });
        lines.collect()
    }

    fn description(&self) -> String {
        format!(
            "{} over {}, {} cases.",
            self.y_label,
            self.x_label,
            self.columns.len()
        )
    }

    fn names(&self, plane: &Plane) -> Vec<Element> {
        let labels = self.columns.iter().map(|column| column.label.clone());
        names(plane, &labels.collect::<Vec<_>>())
    }

    fn references(&self, plane: &Plane) -> Vec<Element> {
        let draw = |reference: &Reference| {
            let y = plane.y(reference.value);
            let class = match reference.kind {
                ReferenceKind::Guarantee => "guarantee",
                ReferenceKind::Least => "least",
            };
            line((plane.left(), y), (plane.right(), y))
                .class(class)
                .child(tip(&reference.label))
        };
        let words = |reference: &Reference| {
            let beside = match reference.kind {
                ReferenceKind::Guarantee => -4.0,
                ReferenceKind::Least => 13.0,
            };
            let at = (plane.left() + 6.0, plane.y(reference.value) + beside);
            label(at, &reference.label).class("axis")
        };
        let both = self
            .references
            .iter()
            .flat_map(|reference| [draw(reference), words(reference)]);
        both.collect()
    }

    fn boxes(&self, plane: &Plane) -> Vec<Element> {
        let columns = self.columns.len();
        let half = ((plane.right() - plane.left()) / count(columns.max(1)) * 0.32).min(16.0);
        let mut shapes = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let Some(summary) = column.summary else {
                continue;
            };
            let x = plane.column(index, columns);
            let across = |value: f64, half: f64| {
                line((x - half, plane.y(value)), (x + half, plane.y(value)))
            };
            let along = |from: f64, to: f64| line((x, plane.y(from)), (x, plane.y(to)));
            let BoxSummary {
                min,
                p1,
                q1,
                median,
                q3,
                p99,
                max,
            } = summary;
            let height = plane.y(q1) - plane.y(q3);
            shapes.extend([
                along(p1, q1).class("whisker"),
                along(q3, p99).class("whisker"),
                across(p1, half / 2.0).class("whisker"),
                across(p99, half / 2.0).class("whisker"),
                rectangle((x - half, plane.y(q3)), half * 2.0, height).class("box"),
                across(median, half).class("median"),
                cross((x, plane.y(min)), 2.5),
                cross((x, plane.y(max)), 2.5),
            ]);
        }
        shapes
    }

    /// Draws what was lost: empty bullets for nothing, full ones for something.
    fn losses(&self, svg: Element, plane: &Plane) -> Element {
        let y = |percent: f64| {
            let height = plane.bottom() - plane.top();
            plane.bottom() - height * (percent / 100.0).clamp(0.0, 1.0)
        };
        let columns = self.columns.iter().enumerate();
        let points = columns.filter_map(|(index, column)| {
            let percent = column.lost_percent?;
            Some((plane.column(index, self.columns.len()), percent))
        });
        let points: Vec<(f64, f64)> = points.collect();
        let line = polyline(points.iter().map(|(x, percent)| (*x, y(*percent)))).class("loss");
        let bullets = points.iter().map(|(x, percent)| {
            let class = if *percent > 0.0 {
                "loss some"
            } else {
                "loss none"
            };
            circle((*x, y(*percent)), 3.5)
                .class(class)
                .child(tip(format!("{percent:.3} % lost")))
        });
        let marks = [0u32, 25, 50, 75, 100].map(|percent| {
            let at = (plane.right() + 6.0, y(f64::from(percent)) + 4.0);
            label(at, percent).class("axis loss")
        });
        let words = label((0.0, 0.0), "lost, %")
            .class("axis middle loss")
            .with("transform", plane.upright(WIDTH - 8.0));
        svg.child(line)
            .children(bullets)
            .children(marks)
            .child(words)
    }
}
