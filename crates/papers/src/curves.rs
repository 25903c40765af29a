//! Drawings of figures that stand in rows already, so that both say the same.

use measure::document::picture::{Curve, CurveChart, Picture, for_plot};
use measure::reproduction::Row;

/// What is drawn, and of what.
#[derive(Clone, Copy, Debug)]
pub struct Drawing<'a> {
    /// The name of its file.
    pub name: &'a str,
    pub title: &'a str,
    /// What the values follow from.
    pub x_label: &'a str,
    /// What they are, with their unit.
    pub y_label: &'a str,
}

/// Returns a drawing with a curve for each of `labels`: at each of `x` the value of the
/// row that `row` names. What lacks a value has no curve, and without any curve there
/// is no drawing.
pub fn of_rows(
    drawing: Drawing<'_>,
    x: &[f64],
    labels: &[&str],
    rows: &[Row],
    row: impl Fn(&str, usize) -> String,
) -> Option<Picture> {
    let value = |label: &str, place: usize| {
        let name = row(label, place);
        let found = rows.iter().find(|row| row.quantity == name)?;
        found.taktos.map(for_plot)
    };
    let curves = labels.iter().filter_map(|label| {
        let values = (0..x.len()).map(|place| value(label, place));
        Some(Curve {
            label: (*label).to_owned(),
            values: values.collect::<Option<_>>()?,
        })
    });
    let curves: Vec<_> = curves.collect();
    (!curves.is_empty()).then(|| {
        Picture::Curves(CurveChart {
            name: drawing.name.to_owned(),
            title: drawing.title.to_owned(),
            x_label: drawing.x_label.to_owned(),
            y_label: drawing.y_label.to_owned(),
            x: x.to_vec(),
            curves,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWING: Drawing<'_> = Drawing {
        name: "latency",
        title: "Latency",
        x_label: "spacing, us",
        y_label: "us",
    };

    #[test]
    fn a_curve_has_the_values_of_its_rows_or_is_left_out() {
        let row = |name: &str, value| Row::new(name, "us").ours(value);
        let rows = [row("a at 0", 1.0), row("a at 1", 2.0), row("b at 0", 3.0)];
        let name = |label: &str, place: usize| format!("{label} at {place}");

        let drawn = of_rows(DRAWING, &[125.0, 250.0], &["a", "b"], &rows, name);

        let Some(Picture::Curves(chart)) = drawn else {
            panic!("{drawn:?}");
        };
        assert_eq!(chart.curves.len(), 1, "b has no value at its second place");
        assert_eq!(chart.curves[0].values, [1.0, 2.0]);
        assert_eq!(of_rows(DRAWING, &[1.0], &["c"], &rows, name), None);
    }
}
