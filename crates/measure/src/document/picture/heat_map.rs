//! A value for each place of a plane, as a colour; places without one are hatched.

use serde::Serialize;

use super::canvas;
use super::plot::number;
use crate::document::markup::Element;
use crate::document::svg::{count, label, line, rectangle};

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 34.0;
const RIGHT: f64 = 84.0;
const BOTTOM: f64 = 46.0;
/// How many colours tell values apart.
const COLOURS: u32 = 40;
/// From low to high: the colours of viridis, which print well in grey and which
/// nobody confuses (van der Walt and Smith, 2015).
const STOPS: [(f64, f64, f64); 6] = [
    (68.0, 1.0, 84.0),
    (65.0, 68.0, 135.0),
    (42.0, 120.0, 142.0),
    (34.0, 168.0, 132.0),
    (122.0, 209.0, 81.0),
    (253.0, 231.0, 37.0),
];

/// A value for each place of a plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatMap {
    /// The name of its file.
    pub name: String,
    pub title: String,
    /// The unit of the values.
    pub unit: String,
    pub scale: Scale,
    pub x: Axis,
    pub y: Axis,
    /// A row for each value of `y`, from bottom to top; nothing where there is no
    /// value.
    pub values: Vec<Vec<Option<f64>>>,
}

/// One side of the plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What it is, with its unit.
    pub label: String,
    pub values: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    Linear,
    Logarithmic,
}

impl Scale {
    fn apply(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.max(1e-12).ln(),
        }
    }

    fn undo(self, scaled: f64) -> f64 {
        match self {
            Self::Linear => scaled,
            Self::Logarithmic => scaled.exp(),
        }
    }
}

impl HeatMap {
    pub(super) fn element(&self) -> Element {
        let (low, high) = self.range();
        let title = format!("{} ({})", self.title, self.unit);
        let svg = canvas((WIDTH, HEIGHT), &title, &self.description())
            .child(self.hatching())
            .child(label((LEFT, 18.0), &title).class("name"));
        let svg = self.cells(svg, (low, high));
        let svg = self.axes(svg);
        self.key(svg, (low, high))
    }

    /// Returns the lowest and the highest value, scaled.
    fn range(&self) -> (f64, f64) {
        let values = self.values.iter().flatten().flatten();
        let scaled = values.map(|value| self.scale.apply(*value));
        let (low, high) = scaled.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        match low < high {
            true => (low, high),
            false => (0.0, 1.0),
        }
    }

    fn description(&self) -> String {
        let all = self.values.iter().flatten();
        let without = all.clone().filter(|value| value.is_none()).count();
        let (low, high) = self.range();
        format!(
            "From {} to {} {}; {without} of {} places have no value.",
            number(self.scale.undo(low)),
            number(self.scale.undo(high)),
            self.unit,
            all.count()
        )
    }

    /// Draws a rectangle for each run of equal colours in a row.
    fn cells(&self, mut svg: Element, range: (f64, f64)) -> Element {
        let width = (WIDTH - LEFT - RIGHT) / count(self.x.values.len().max(1));
        let height = (HEIGHT - TOP - BOTTOM) / count(self.values.len().max(1));
        for (row, values) in self.values.iter().enumerate() {
            let y = HEIGHT - BOTTOM - height * count(row + 1);
            let shades: Vec<_> = values
                .iter()
                .map(|value| self.shade(*value, range))
                .collect();
            let mut begin = 0;
            for run in shades.chunk_by(PartialEq::eq) {
                let x = LEFT + width * count(begin);
                // A little larger than the place: no seams between neighbours.
                let cell = rectangle((x, y), width * count(run.len()) + 0.3, height + 0.3);
                svg = svg.child(match run[0] {
                    Some(shade) => cell.class("cell").with("fill", colour(shade)),
                    None => cell.class("infeasible"),
                });
                if run[0].is_none() {
                    let hatched = rectangle((x, y), width * count(run.len()), height);
                    svg = svg.child(hatched.with("fill", format!("url(#hatching-{})", self.name)));
                }
                begin += run.len();
            }
        }
        svg
    }

    fn shade(&self, value: Option<f64>, (low, high): (f64, f64)) -> Option<u32> {
        let share = (self.scale.apply(value?) - low) / (high - low);
        (0..COLOURS)
            .rev()
            .find(|shade| share * f64::from(COLOURS) >= f64::from(*shade))
    }

    fn axes(&self, mut svg: Element) -> Element {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let upright = format!("translate(15 {}) rotate(-90)", (TOP + bottom) / 2.0);
        svg = svg
            .child(rectangle((LEFT, TOP), right - LEFT, bottom - TOP).class("outline"))
            .child(label(((LEFT + right) / 2.0, HEIGHT - 8.0), &self.x.label).class("axis middle"))
            .child(
                label((0.0, 0.0), &self.y.label)
                    .class("axis middle")
                    .with("transform", upright),
            );
        for (share, value) in marks(&self.x.values) {
            let x = LEFT + (right - LEFT) * share;
            svg = svg.child(label((x, bottom + 16.0), number(value)).class("axis middle"));
        }
        for (share, value) in marks(&self.y.values) {
            let y = bottom - (bottom - TOP) * share;
            svg = svg.child(label((LEFT - 6.0, y + 4.0), number(value)).class("axis end"));
        }
        svg
    }

    /// Returns the pattern of places without a value.
    fn hatching(&self) -> Element {
        let pattern = Element::new("pattern")
            .with("id", format!("hatching-{}", self.name))
            .with("width", "6")
            .with("height", "6")
            .with("patternUnits", "userSpaceOnUse")
            .child(line((0.0, 6.0), (6.0, 0.0)).class("stripe"));
        Element::new("defs").child(pattern)
    }

    /// Draws what the colours mean.
    fn key(&self, mut svg: Element, (low, high): (f64, f64)) -> Element {
        let (x, bottom) = (WIDTH - RIGHT + 16.0, HEIGHT - BOTTOM - 30.0);
        let step = (bottom - TOP) / f64::from(COLOURS);
        for shade in 0..COLOURS {
            let y = bottom - step * f64::from(shade + 1);
            svg = svg.child(rectangle((x, y), 14.0, step + 0.3).with("fill", colour(shade)));
        }
        for mark in 0..=4u32 {
            let share = f64::from(mark) / 4.0;
            let y = bottom - (bottom - TOP) * share;
            let value = self.scale.undo(low + (high - low) * share);
            svg = svg.child(label((x + 19.0, y + 4.0), number(value)).class("axis"));
        }
        let none = rectangle((x, bottom + 14.0), 14.0, 14.0);
        svg.child(none.clone().class("infeasible"))
            .child(none.with("fill", format!("url(#hatching-{})", self.name)))
            .child(label((x + 19.0, bottom + 25.0), "none").class("axis"))
    }
}

/// Returns five places along an axis, as a share of its length and a value.
fn marks(values: &[f64]) -> Vec<(f64, f64)> {
    let Some(last) = values.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut places: Vec<_> = (0..=4).map(|step| last * step / 4).collect();
    places.dedup();
    let share = |place: usize| (count(place) + 0.5) / count(values.len());
    places
        .into_iter()
        .map(|place| (share(place), values[place]))
        .collect()
}

fn colour(shade: u32) -> String {
    let place = f64::from(shade) / f64::from(COLOURS - 1) * 5.0;
    let below = (0..5u32)
        .rev()
        .find(|stop| place >= f64::from(*stop))
        .unwrap_or(0);
    let part = place - f64::from(below);
    let at = usize::try_from(below).unwrap_or(0);
    let (from, to) = (STOPS[at], STOPS[at + 1]);
    let mix = |from: f64, to: f64| format!("{:.0}", from + (to - from) * part);
    format!(
        "rgb({},{},{})",
        mix(from.0, to.0),
        mix(from.1, to.1),
        mix(from.2, to.2)
    )
}
