//! The plane that plots share: a frame, its marks and the words beside them.

use crate::document::markup::Element;
use crate::document::svg::{count, label, line, rectangle};

pub(super) const WIDTH: f64 = 620.0;
pub(super) const HEIGHT: f64 = 340.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;

/// From here on, how many times the greatest value is the least decides for a logarithmic
/// axis: on a linear one the least would lie on the floor.
const LOGARITHMIC_FROM: f64 = 100.0;
/// What a letter of the words beside a plane takes.
const LETTER: f64 = 6.6;

/// A plane whose vertical axis begins at zero, or is logarithmic where values are spread
/// over powers of ten.
pub(super) struct Plane {
    axis: AxisScale,
    right: f64,
}

enum AxisScale {
    Linear(f64),
    /// Between these powers of ten.
    Logarithmic(f64, f64),
}

impl Plane {
    /// Returns a plane that shows these values, but for those that are no numbers, with
    /// `margin` to its right.
    pub(super) fn of(values: impl Iterator<Item = f64> + Clone, margin: f64) -> Self {
        let values = values.filter(|value| value.is_finite());
        let highest = values.clone().fold(0.0, f64::max);
        let lowest = values.fold(f64::INFINITY, f64::min);
        let axis = match lowest > 0.0 && highest >= lowest * LOGARITHMIC_FROM {
            true => AxisScale::Logarithmic(lowest.log10().floor(), highest.log10().ceil()),
            false => AxisScale::Linear(round_up(highest)),
        };
        Self {
            axis,
            right: WIDTH - margin,
        }
    }

    /// Returns how many letters fit into a column of `columns`.
    pub(super) fn letters(&self, columns: usize) -> usize {
        let width = (self.right - LEFT) / count(columns.max(1));
        (1..200)
            .take_while(|letters| count(*letters) * LETTER <= width)
            .count()
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
        let share = match self.axis {
            AxisScale::Linear(highest) => value / highest,
            AxisScale::Logarithmic(low, high) => {
                (value.max(f64::MIN_POSITIVE).log10() - low) / (high - low)
            }
        };
        self.bottom() - (self.bottom() - TOP) * share.clamp(0.0, 1.0)
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
        for value in self.marks() {
            let y = self.y(value);
            svg = svg
                .child(line((LEFT, y), (self.right, y)).class("grid"))
                .child(label((LEFT - 6.0, y + 4.0), number(value)).class("axis end"));
        }
        let height = self.bottom() - TOP;
        svg.child(rectangle((LEFT, TOP), self.right - LEFT, height).class("outline"))
    }

    /// Returns the values that have a mark.
    fn marks(&self) -> Vec<f64> {
        match self.axis {
            AxisScale::Linear(highest) => {
                let steps = (0..=5u32).map(|step| highest * f64::from(step) / 5.0);
                steps.collect()
            }
            AxisScale::Logarithmic(low, high) => {
                let powers =
                    (-18..=18i32).filter(|power| (low..=high).contains(&f64::from(*power)));
                powers.map(|power| 10f64.powi(power)).collect()
            }
        }
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
        it if it > 0.0 && it < 0.01 => return format!("{value}"),
        0.0..1.0 => format!("{value:.2}"),
        1.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spread_over_powers_of_ten_has_a_logarithmic_axis() {
        let spread = [2.0, 40.0, f64::NAN, 2_500.0];
        let narrow = [2.0, 40.0, f64::NAN];
        let with_zero = [0.0, 2_500.0];

        let marks = |values: &[f64]| Plane::of(values.iter().copied(), 16.0).marks();

        assert_eq!(marks(&spread), [1.0, 10.0, 100.0, 1_000.0, 10_000.0]);
        assert_eq!(marks(&narrow), [0.0, 8.0, 16.0, 24.0, 32.0, 40.0]);
        assert_eq!(marks(&with_zero).len(), 6);
        let plane = Plane::of(spread.into_iter(), 16.0);
        let steps = [1.0, 10.0, 100.0].map(|it| plane.y(it));
        assert!(
            (steps[0] - steps[1] - (steps[1] - steps[2])).abs() < 1e-9,
            "{steps:?}"
        );
    }

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
            [0.0, 0.25, 0.1, 0.001, 2.0, 2.5, 300.0].map(number),
            ["0", "0.25", "0.1", "0.001", "2", "2.5", "300"]
        );
    }
}
