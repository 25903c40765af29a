//! A comparison for people, in one page that needs nothing else.

use super::headline::headline;
use super::text::verdict_text;
use super::{Comparison, Row, effect_text, picture, setting_text, value_text};
use crate::report::html::{self, markup::Element};

#[must_use]
pub fn page(comparison: &Comparison) -> String {
    let [first, second] = &comparison.devices;
    let mut sentences = headline(comparison).into_iter();
    let lead = sentences.next().unwrap_or_default();
    let sentences = sentences.map(|sentence| Element::new("p").text(sentence));
    let sides = [("A", first), ("B", second)]
        .into_iter()
        .zip(&comparison.sides);
    let sides = sides.map(|((name, device), side)| {
        let text = format!("{name}: {device}. {}.", side.sentence());
        Element::new("p").class("note").text(text)
    });
    // Neither side of a comparison is good or bad as a whole.
    let head = Element::new("header")
        .child(Element::new("h1").text("Two devices beside each other"))
        .child(Element::new("p").class("summary").text(lead))
        .children(sentences)
        .children(sides);
    let drawn = picture::drawn(comparison).map(|drawn| {
        Element::new("section")
            .child(Element::new("h2").text("How they differ"))
            .child(Element::new("p").class("note").text(
                "Each dot says how many times larger the figure of B is, the line between which \
                 bounds that lies with 95 % confidence. Filled: B is better; hollow: A is; grey: \
                 no difference was shown.",
            ))
            .child(Element::new("div").class("wide").child(drawn))
    });
    let mut remarks = comparison.remarks.clone();
    if comparison.quick {
        remarks.push("Shortened: no figure of this is for publication.".to_owned());
    }
    for (name, only) in ["A", "B"].into_iter().zip(&comparison.only) {
        remarks.extend(only.iter().map(|what| format!("Only {name} has {what}.")));
    }
    let remarks = remarks.iter().map(|remark| Element::new("li").text(remark));
    let section = Element::new("section")
        .child(table(&comparison.rows))
        .child(Element::new("ul").children(remarks));
    let main = Element::new("main")
        .child(head)
        .children(drawn)
        .child(section);
    html::page("comparison", Element::new("body").child(main))
}

fn table(rows: &[Row]) -> Element {
    let heads = [
        "quantity",
        "setting",
        "source",
        "A",
        "B",
        "B / A (95 %)",
        "better",
    ];
    let head = heads.map(|text| Element::new("th").text(text));
    let lines = rows.iter().map(|row| {
        let cell = |text: String| Element::new("td").text(text);
        let effect = row.effect.as_ref();
        Element::new("tr")
            .child(cell(row.quantity.clone()))
            .child(cell(setting_text(&row.setting)))
            .child(cell(row.source.clone()))
            .child(cell(value_text(&row.values[0])).class("number"))
            .child(cell(value_text(&row.values[1])).class("number"))
            .child(cell(effect.map_or_else(|| "–".to_owned(), effect_text)).class("number"))
            .child(cell(verdict_text(row.verdict).to_owned()))
    });
    let table = Element::new("table")
        .child(Element::new("thead").child(Element::new("tr").children(head)))
        .child(Element::new("tbody").children(lines));
    Element::new("div").class("wide").child(table)
}
