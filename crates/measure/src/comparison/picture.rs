//! Effects as a drawing: how many times larger each figure of the second device is, with
//! the bounds of that, on a logarithmic axis.

use super::{Comparison, Row, Verdict, effect_text, setting_text};
use crate::document::markup::Element;
use crate::document::svg::{circle, count, drawing, label, line, tip};

/// The most effects that are drawn, those of what matters first.
const MOST: usize = 30;
const WIDTH: f64 = 440.0;
/// A row has a name above its mark, so that narrow pages show both.
const ROW: f64 = 38.0;
const TOP: f64 = 40.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 12.0;
/// The axis goes this far to each side at least, in powers of ten.
const LEAST_DECADES: f64 = 0.5;
const MOST_DECADES: f64 = 4.0;

/// Returns the drawing, or nothing if nothing has an effect.
pub(super) fn drawn(comparison: &Comparison) -> Option<Element> {
    let told = comparison
        .rows
        .iter()
        .filter(|row| row.verdict != Verdict::Open);
    let rows: Vec<_> = told.filter(|row| row.effect.is_some()).take(MOST).collect();
    if rows.is_empty() {
        return None;
    }
    let axis = DecadeAxis::of(&rows);
    let [first, second] = comparison.short_names();
    let height = TOP + ROW * count(rows.len()) + 12.0;
    let title = format!("{second} / {first}, with 95 % bounds");
    let mut svg = drawing(WIDTH, height, "How the two differ", &title)
        .class("effects")
        .child(label((LEFT, 16.0), title).class("name"));
    for (ratio, text) in axis.marks() {
        let x = axis.x(ratio);
        let class = if ratio == 1.0 { "deadline" } else { "grid" };
        svg = svg
            .child(line((x, TOP - 4.0), (x, height - 8.0)).class(class))
            .child(label((x, TOP - 9.0), text).class("axis middle"));
    }
    let lines = rows
        .iter()
        .enumerate()
        .map(|(place, row)| axis.row(place, row));
    Some(svg.children(lines))
}

struct DecadeAxis {
    decades: f64,
}

impl DecadeAxis {
    fn of(rows: &[&Row]) -> Self {
        let effects = rows.iter().filter_map(|row| row.effect);
        let ends = effects.flat_map(|effect| {
            let (low, high) = effect.bounds.unwrap_or((effect.ratio, effect.ratio));
            [effect.ratio, low, high].map(|it| it.max(1e-9).log10().abs())
        });
        Self {
            decades: ends.fold(LEAST_DECADES, f64::max).min(MOST_DECADES) * 1.05,
        }
    }

    fn x(&self, ratio: f64) -> f64 {
        let share = ratio.max(1e-9).log10() / self.decades / 2.0 + 0.5;
        LEFT + (WIDTH - LEFT - RIGHT) * share.clamp(0.0, 1.0)
    }

    fn marks(&self) -> impl Iterator<Item = (f64, &'static str)> {
        let all: [(f64, &str); 9] = [
            (0.001, "1/1000"),
            (0.01, "1/100"),
            (0.1, "1/10"),
            (0.5, "1/2"),
            (1.0, "1"),
            (2.0, "2"),
            (10.0, "10"),
            (100.0, "100"),
            (1000.0, "1000"),
        ];
        let narrow = self.decades < 2.0;
        all.into_iter().filter(move |(ratio, _)| {
            let at = ratio.log10().abs();
            at <= self.decades && (narrow || !(0.1..0.9).contains(&at))
        })
    }

    fn row(&self, place: usize, row: &Row) -> Element {
        let y = TOP + ROW * (count(place) + 0.68);
        let setting = setting_text(&row.setting);
        let name = match setting.is_empty() {
            true => row.quantity.clone(),
            false => format!("{} ({setting})", row.quantity),
        };
        let class = match row.verdict {
            Verdict::First => "first",
            Verdict::Second => "second",
            Verdict::Alike | Verdict::Open => "plain",
        };
        let mut drawn = Element::new("g")
            .class(class)
            .child(label((0.0, y - 11.0), shortened(&name)).class("axis"));
        if let Some(effect) = row.effect {
            let (low, high) = effect.bounds.unwrap_or((effect.ratio, effect.ratio));
            drawn = drawn
                .child(tip(format!("{name}: {}", effect_text(&effect))))
                .child(line((self.x(low), y), (self.x(high), y)).class("range"))
                .child(circle((self.x(effect.ratio), y), 4.5).class("dot"));
        }
        drawn
    }
}

/// Returns a name that fits above its mark.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 64;
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}
