//! Drawings: shapes, axes, and the symbols that go with colours.

use super::markup::{Element, Pixels};
use super::quantity::short_time;
use crate::statistics::as_f64;

/// A drawing that scales with the page. `title` and `description` are for those
/// who cannot see it.
pub(crate) fn drawing(width: f64, height: f64, title: &str, description: &str) -> Element {
    Element::new("svg")
        .with(
            "viewBox",
            format!("0 0 {} {}", Pixels(width), Pixels(height)),
        )
        .with("role", "img")
        .with("preserveAspectRatio", "xMidYMid meet")
        .child(Element::new("title").text(title))
        .child(Element::new("desc").text(description))
}

pub(crate) fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Element {
    Element::new("line")
        .at("x1", x1)
        .at("y1", y1)
        .at("x2", x2)
        .at("y2", y2)
}

pub(crate) fn rectangle((x, y): (f64, f64), width: f64, height: f64) -> Element {
    Element::new("rect")
        .at("x", x)
        .at("y", y)
        .at("width", width.max(0.0))
        .at("height", height.max(0.0))
}

pub(crate) fn circle((x, y): (f64, f64), radius: f64) -> Element {
    Element::new("circle")
        .at("cx", x)
        .at("cy", y)
        .at("r", radius)
}

pub(crate) fn label((x, y): (f64, f64), text: impl std::fmt::Display) -> Element {
    Element::new("text").at("x", x).at("y", y).text(text)
}

pub(crate) fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> Element {
    Element::new("polyline").with("points", coordinates(points))
}

pub(crate) fn polygon(points: impl IntoIterator<Item = (f64, f64)>) -> Element {
    Element::new("polygon").with("points", coordinates(points))
}

/// A cross: something was cut or broken.
pub(crate) fn cross((x, y): (f64, f64), size: f64) -> Element {
    let path = format!(
        "M{} {}L{} {}M{} {}L{} {}",
        Pixels(x - size),
        Pixels(y - size),
        Pixels(x + size),
        Pixels(y + size),
        Pixels(x - size),
        Pixels(y + size),
        Pixels(x + size),
        Pixels(y - size),
    );
    Element::new("path").with("d", path).class("cross")
}

/// The text that appears under the pointer.
pub(crate) fn tip(text: impl std::fmt::Display) -> Element {
    Element::new("title").text(text)
}

fn coordinates(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points
        .into_iter()
        .map(|(x, y)| format!("{},{}", Pixels(x), Pixels(y)))
        .collect();
    points.join(" ")
}

/// A logarithmic scale of times from left to right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogScale {
    low: f64,
    decades: f64,
    left: f64,
    width: f64,
}

impl LogScale {
    /// Returns a scale that shows `low_ns` to `high_ns` between `left` and
    /// `left + width`, with a little room on both sides.
    pub(crate) fn new(low_ns: u64, high_ns: u64, left: f64, width: f64) -> Self {
        let low = log10(low_ns) - 0.06;
        let high = (log10(high_ns) + 0.06).max(low + 0.5);
        Self {
            low,
            decades: high - low,
            left,
            width,
        }
    }

    pub(crate) fn left(&self) -> f64 {
        self.left
    }

    pub(crate) fn x(&self, ns: u64) -> f64 {
        let share = (log10(ns) - self.low) / self.decades;
        self.left + self.width * share.clamp(0.0, 1.0)
    }

    /// Returns the marks of the scale: the powers of ten with their text, and
    /// with `fine` the twos and fives too.
    pub(crate) fn marks(&self, fine: bool) -> Vec<(f64, String)> {
        let steps: &[u64] = if fine { &[1, 2, 5] } else { &[1] };
        let mut marks = Vec::new();
        for power in 0..=12 {
            for step in steps {
                let ns = step * 10u64.pow(power);
                let log = log10(ns);
                if log >= self.low && log <= self.low + self.decades {
                    marks.push((self.x(ns), short_time(ns)));
                }
            }
        }
        marks
    }
}

fn log10(ns: u64) -> f64 {
    as_f64(ns.max(1)).log10()
}

/// Returns a number of things as a coordinate.
#[expect(clippy::cast_precision_loss, reason = "a place in a drawing")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}
