//! Values that follow from another, a curve for each way to get them.

use serde::Serialize;

use super::canvas;
use super::plot::{HEIGHT, Plane, WIDTH, number};
use crate::document::markup::Element;
use crate::document::svg::{count, label, line, polyline};

/// The height of a line of the key.
const KEY_LINE: f64 = 17.0;

/// Values that follow from another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveChart {
    /// The name of its file.
    pub name: String,
    pub title: String,
    pub x_label: String,
    /// What they are, with their unit.
    pub y_label: String,
    /// The places along the horizontal axis, at equal distances.
    pub x: Vec<f64>,
    pub curves: Vec<Curve>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    pub label: String,
    /// A value for each place; no number where there is none.
    pub values: Vec<f64>,
}

impl CurveChart {
    pub(super) fn element(&self) -> Element {
        let values = self.curves.iter().flat_map(|curve| &curve.values);
        let plane = Plane::of(values.copied(), 16.0);
        let description = format!("{} over {}.", self.y_label, self.x_label);
        let height = HEIGHT + KEY_LINE * count(self.curves.len());
        let svg = canvas((WIDTH, height), &self.title, &description);
        let mut svg = plane.draw(svg, &self.title, &self.x_label, &self.y_label);
        let places: Vec<_> = self.x.iter().map(|x| number(*x)).collect();
        svg = svg.children(names(&plane, &places));
        for (place, curve) in self.curves.iter().enumerate() {
            let class = format!("curve c{}", place % 6);
            let y = HEIGHT + KEY_LINE * count(place);
            let key = line((plane.left(), y), (plane.left() + 34.0, y));
            svg = svg
                .children(self.stretches(&plane, curve).map(|it| it.class(&class)))
                .child(key.class(&class))
                .child(label((plane.left() + 42.0, y + 4.0), &curve.label).class("axis"));
        }
        svg
    }

    /// Draws a line for each stretch without a gap; a single place is a short one.
    fn stretches(&self, plane: &Plane, curve: &Curve) -> impl Iterator<Item = Element> {
        const ALONE: f64 = 2.0;
        let places = self.x.len();
        let values = curve.values.iter().enumerate();
        let points: Vec<_> = values
            .map(|(index, value)| (plane.column(index, places), *value))
            .collect();
        let stretches = points.chunk_by(|one, other| one.1.is_nan() == other.1.is_nan());
        let drawn = stretches.filter(|stretch| !stretch[0].1.is_nan());
        let drawn = drawn.map(|stretch| {
            let points = stretch.iter().map(|(x, value)| (*x, plane.y(*value)));
            match stretch {
                [(x, value)] => {
                    let y = plane.y(*value);
                    polyline([(x - ALONE, y), (x + ALONE, y)])
                }
                _ => polyline(points),
            }
        });
        drawn.collect::<Vec<_>>().into_iter()
    }
}

/// Names the places along the horizontal axis, as many as fit beside each other.
pub(super) fn names(plane: &Plane, places: &[String]) -> Vec<Element> {
    let longest = places
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let fits = |every: &usize| longest < plane.letters(places.len().div_ceil(*every));
    let every = (1..=places.len().max(1))
        .find(fits)
        .unwrap_or(places.len().max(1));
    let shown = places.iter().enumerate().step_by(every);
    let name = |(index, name): (usize, &String)| {
        let at = (plane.column(index, places.len()), plane.bottom() + 16.0);
        label(at, name).class("axis middle")
    };
    shown.map(name).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However many places there are and however long their names: what is written
        /// does not run into its neighbour, and the first place has its name.
        #[test]
        fn names_do_not_run_into_each_other(
            lengths in prop::collection::vec(1_usize..40, 1..120),
        ) {
            const WIDEST_LETTER: f64 = 6.6;
            let plane = Plane::of([1.0].into_iter(), 16.0);
            let places: Vec<_> = lengths.iter().map(|length| "m".repeat(*length)).collect();

            let shown = names(&plane, &places);

            let number = |text: &str, name: &str| -> f64 {
                let from = text.split(&format!("{name}=\"")).nth(1).unwrap();
                from.split('"').next().unwrap().parse().unwrap()
            };
            let mut end = f64::NEG_INFINITY;
            for element in &shown {
                let text = element.to_string();
                let half = count(text.matches('m').count() - 1) * WIDEST_LETTER / 2.0;
                let x = number(&text, " x");
                prop_assert!(shown.len() == 1 || x - half >= end, "{}", text);
                end = x + half;
            }
            prop_assert!(!shown.is_empty());
        }
    }
}
