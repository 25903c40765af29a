//! How a change went from switch to switch: a row for each change, a dot where each
//! switch entered, and the bound that no dot may cross.

use super::super::super::{ModeChangeReport, ModesReport};
use crate::document::markup::Element;
use crate::document::quantity::time;
use crate::document::svg::{circle, count, drawing, label, line, tip};
use crate::statistics::as_f64;

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 120.0;
const TOP: f64 = 8.0;
const ROW: f64 = 26.0;
const MARKS: u32 = 4;
/// The changes that are drawn, the first of them.
const MOST_ROWS: usize = 24;

pub(super) fn drawing_of(modes: &ModesReport) -> Element {
    let rows = modes.changes.len().min(MOST_ROWS);
    let bottom = TOP + ROW * count(rows);
    let longest = modes.changes.iter().map(|change| change.took_ns).max();
    let longest = longest.max(modes.change_bound_ns).unwrap_or(1).max(1);
    let x =
        |ns: u64| LEFT + (WIDTH - LEFT - RIGHT) * (as_f64(ns) / as_f64(longest)).clamp(0.0, 1.0);
    let mut svg = drawing(
        WIDTH,
        bottom + 24.0,
        "From switch to switch",
        "For each change of mode how long after it was demanded each switch entered.",
    )
    .class("modes");
    for mark in 0..=MARKS {
        let ns = longest / u64::from(MARKS) * u64::from(mark);
        svg = svg
            .child(line((x(ns), TOP), (x(ns), bottom)).class("grid"))
            .child(label((x(ns), bottom + 18.0), time(ns)).class("axis middle"));
    }
    if let Some(bound) = modes.change_bound_ns {
        let mark = line((x(bound), TOP), (x(bound), bottom)).class("bound");
        svg = svg.child(mark.child(tip(format!("bound {}", time(bound)))));
    }
    let shown = modes.changes.iter().take(MOST_ROWS).enumerate();
    svg.children(shown.map(|(place, change)| row(change, TOP + ROW * count(place), &x)))
}

fn row(change: &ModeChangeReport, top: f64, x: &dyn Fn(u64) -> f64) -> Element {
    let y = top + ROW / 2.0;
    let name = format!("{} at {}", change.level, time(change.at_ns));
    let dots = change.entered.iter().map(|one| {
        let text = format!("{} after {}", one.switch, time(one.after_ns));
        circle((x(one.after_ns), y), 4.0)
            .class("entered")
            .child(tip(text))
    });
    Element::new("g")
        .child(label((LEFT - 12.0, y + 4.0), name).class("end"))
        .child(line((x(0), y), (x(change.took_ns), y)).class("spread"))
        .children(dots)
        .child(label((x(change.took_ns) + 10.0, y + 4.0), time(change.took_ns)).class("strong"))
}
