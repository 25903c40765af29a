//! Values that follow from another, a curve for each way to get them.

use serde::Serialize;

use super::canvas;
use super::plot::{HEIGHT, Plane, WIDTH, number};
use crate::report::html::markup::Element;
use crate::report::html::svg::{count, label, line, polyline};

/// At most so many places have their name below them.
const MOST_NAMES: usize = 16;
/// The height of a line of the key.
const KEY_LINE: f64 = 17.0;

/// Values that follow from another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveChart {
    /// The name of its file.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What they follow from.
    pub x_label: String,
    /// What they are, with their unit.
    pub y_label: String,
    /// The places along the horizontal axis, at equal distances.
    pub x: Vec<f64>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// What it is.
    pub label: String,
    /// A value for each place.
    pub values: Vec<f64>,
}

impl CurveChart {
    pub(super) fn element(&self) -> Element {
        let values = self.curves.iter().flat_map(|curve| &curve.values);
        let plane = Plane::new(values.copied().fold(0.0, f64::max), 16.0);
        let description = format!("{} over {}.", self.y_label, self.x_label);
        let height = HEIGHT + KEY_LINE * count(self.curves.len());
        let svg = canvas((WIDTH, height), &self.title, &description);
        let mut svg = plane.draw(svg, &self.title, &self.x_label, &self.y_label);
        let every = self.x.len().div_ceil(MOST_NAMES).max(1);
        for (index, x) in self.x.iter().enumerate().step_by(every) {
            let at = (plane.column(index, self.x.len()), plane.bottom() + 16.0);
            svg = svg.child(label(at, number(*x)).class("axis middle"));
        }
        for (place, curve) in self.curves.iter().enumerate() {
            let points = curve.values.iter().enumerate();
            let points =
                points.map(|(index, value)| (plane.column(index, self.x.len()), plane.y(*value)));
            let class = format!("curve c{}", place % 6);
            let y = HEIGHT + KEY_LINE * count(place);
            let key = line((plane.left(), y), (plane.left() + 34.0, y));
            svg = svg
                .child(polyline(points).class(&class))
                .child(key.class(&class))
                .child(label((plane.left() + 42.0, y + 4.0), &curve.label).class("axis"));
        }
        svg
    }
}
