//! The plane that plots share: a frame, its marks and the words beside them.

use crate::report::html::markup::Element;
use crate::report::html::svg::{count, label, line, rectangle};

pub(super) const WIDTH: f64 = 620.0;
pub(super) const HEIGHT: f64 = 340.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;

/// A plane whose vertical axis begins at zero.
pub(super) struct Plane {
    highest: f64,
    right: f64,
}

impl Plane {
    /// Returns a plane that shows values up to `highest`, with `margin` to its
    /// right.
    pub(super) fn new(highest: f64, margin: f64) -> Self {
        Self {
            highest: round_up(highest),
            right: WIDTH - margin,
        }
    }

    pub(super) fn left(&self) -> f64 {
        LEFT
    }

    pub(super) fn right(&self) -> f64 {
        self.right
    }

    pub(super) fn top(&self) -> f64 {
        TOP
    }

    pub(super) fn bottom(&self) -> f64 {
        HEIGHT - BOTTOM
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        let share = (value / self.highest).clamp(0.0, 1.0);
        self.bottom() - (self.bottom() - TOP) * share
    }

    /// Returns the middle of the column `index` of `columns`.
    pub(super) fn column(&self, index: usize, columns: usize) -> f64 {
        let width = (self.right - LEFT) / count(columns.max(1));
        LEFT + width * (count(index) + 0.5)
    }

    /// Draws the grid, the marks of the vertical axis and the words.
    pub(super) fn draw(&self, svg: Element, title: &str, x_label: &str, y_label: &str) -> Element {
        let mut svg = svg
            .child(label((LEFT, 18.0), title).class("name"))
            .child(label(((LEFT + self.right) / 2.0, HEIGHT - 8.0), x_label).class("axis middle"))
            .child(
                label((0.0, 0.0), y_label)
                    .class("axis middle")
                    .with("transform", self.upright(15.0)),
            );
        for step in 0..=5u32 {
            let value = self.highest * f64::from(step) / 5.0;
            let y = self.y(value);
            svg = svg
                .child(line((LEFT, y), (self.right, y)).class("grid"))
                .child(label((LEFT - 6.0, y + 4.0), number(value)).class("axis end"));
        }
        let height = self.bottom() - TOP;
        svg.child(rectangle((LEFT, TOP), self.right - LEFT, height).class("outline"))
    }

    /// Returns the turn of words that stand beside the plane, at `x`.
    pub(super) fn upright(&self, x: f64) -> String {
        let middle = (TOP + self.bottom()) / 2.0;
        format!("translate({x} {middle}) rotate(-90)")
    }
}

/// Returns the next number above that divides well into five.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let fits = steps
        .into_iter()
        .find(|step| step * power >= value * (1.0 - 1e-9));
    fits.unwrap_or(10.0) * power
}

/// Returns a number as an axis writes it.
pub(super) fn number(value: f64) -> String {
    let text = match value.abs() {
        0.0..1.0 => format!("{value:.2}"),
        1.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    match text.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|digit| digit == b'0') => whole.to_owned(),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_above_the_highest_value() {
        for (highest, end) in [
            (11.84, 15.0),
            (0.98, 1.0),
            (4.13, 5.0),
            (100.0, 100.0),
            (0.0, 1.0),
        ] {
            assert!((round_up(highest) - end).abs() < 1e-9, "{highest}");
        }
    }

    #[test]
    fn numbers_at_axes_have_no_idle_zeros() {
        assert_eq!(
            [0.0, 0.25, 2.0, 2.5, 300.0].map(number),
            ["0", "0.25", "2", "2.5", "300"]
        );
    }
}
