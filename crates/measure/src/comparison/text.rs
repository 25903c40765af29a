//! A comparison as a table of text.

use std::fmt::Write;

use super::headline::headline;
use super::{Comparison, Verdict, effect_text, setting_text, value_text};
use crate::comparison::effect::Basis;

#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let mut lines =
        vec![["quantity", "setting", "A", "B", "B / A (95 %)", "better"].map(str::to_owned)];
    lines.extend(comparison.rows.iter().map(|row| {
        [
            row.quantity.clone(),
            setting_text(&row.setting),
            value_text(&row.values[0]),
            value_text(&row.values[1]),
            row.effect
                .as_ref()
                .map_or_else(|| "–".to_owned(), effect_text),
            verdict_text(row.verdict).to_owned(),
        ]
    }));
    let [first, second] = &comparison.devices;
    let mut out = format!("A: {first}\nB: {second}\n\n");
    for sentence in headline(comparison) {
        let _ = writeln!(out, "{sentence}");
    }
    out.push('\n');
    for (name, side) in ["A", "B"].into_iter().zip(&comparison.sides) {
        let _ = writeln!(out, "{name} was measured under: {}", side.sentence());
    }
    out.push('\n');
    out += &aligned(&lines);
    out.push('\n');
    let from_values = comparison.rows.iter().filter_map(|row| row.effect);
    if from_values
        .clone()
        .any(|effect| effect.basis == Basis::Values)
    {
        out += "* from the values of one round each, taken for independent; with --rounds the \
                bounds are from rounds\n";
    }
    for row in &comparison.rows {
        if let Some(superiority) = row.effect.and_then(|effect| effect.superiority) {
            let (low, high) = superiority.bounds;
            let _ = writeln!(
                out,
                "{} ({}): a value of B is below one of A in {:.1} % of all pairs ({:.1} to {:.1})",
                row.quantity.trim_end_matches(", median"),
                setting_text(&row.setting),
                superiority.share * 100.0,
                low * 100.0,
                high * 100.0,
            );
        }
    }
    for (name, only) in ["A", "B"].into_iter().zip(&comparison.only) {
        if !only.is_empty() {
            let _ = writeln!(out, "only {name} has: {}", only.join("; "));
        }
    }
    for remark in &comparison.remarks {
        let _ = writeln!(out, "{remark}");
    }
    if comparison.quick {
        out += "Shortened (--quick): no figure of this is for publication.\n";
    }
    out
}

/// Returns who is better, in a word.
#[must_use]
pub fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::First => "A",
        Verdict::Second => "B",
        Verdict::Alike => "alike",
        Verdict::Open => "–",
    }
}

/// Returns lines whose columns stand below each other.
fn aligned<const N: usize>(lines: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for line in lines {
        let mut row = String::new();
        for (width, cell) in widths.iter().zip(line) {
            let _ = write!(row, "{cell:width$}  ");
        }
        out += row.trim_end();
        out.push('\n');
    }
    out
}
